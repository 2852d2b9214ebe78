//! The table unmapped_code: codes of a channel that no mapping knows, while none does.

use keyrack_model::id::AccountId;
use sqlx::{PgConnection, PgPool};

use crate::error::DistributionError;

/// A code that no mapping knows. An empty rate code is the room alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, sqlx::FromRow)]
pub struct UnmappedCode {
    /// The channel's code of the room.
    pub channel_room_code: String,
    /// The channel's code of the rate.
    pub channel_rate_code: String,
}

/// Notes a code that was met, in the transaction that says which message waits for it.
pub(crate) async fn meet(
    conn: &mut PgConnection,
    account: AccountId,
    code: &UnmappedCode,
) -> Result<(), DistributionError> {
    sqlx::query(
        "insert into unmapped_code (account_id, channel_room_code, channel_rate_code,
             first_seen_at, last_seen_at)
         values ($1, $2, $3, ledger_now(), ledger_now())
         on conflict (account_id, channel_room_code, channel_rate_code)
         do update set last_seen_at = excluded.last_seen_at",
    )
    .bind(account.0)
    .bind(&code.channel_room_code)
    .bind(&code.channel_rate_code)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("noting an unmapped code"))?;
    Ok(())
}

/// Codes of an account that no mapping knows.
pub(crate) async fn list(
    pool: &PgPool,
    account: AccountId,
) -> Result<Vec<UnmappedCode>, DistributionError> {
    sqlx::query_as(
        "select channel_room_code, channel_rate_code
         from unmapped_code
         where account_id = $1
         order by channel_room_code, channel_rate_code",
    )
    .bind(account.0)
    .fetch_all(pool)
    .await
    .map_err(DistributionError::while_doing("listing unmapped codes"))
}

/// Accounts that have such codes.
pub(crate) async fn accounts(pool: &PgPool) -> Result<Vec<AccountId>, DistributionError> {
    let ids: Vec<i64> =
        sqlx::query_scalar("select distinct account_id from unmapped_code order by account_id")
            .fetch_all(pool)
            .await
            .map_err(DistributionError::while_doing(
                "finding accounts with unmapped codes",
            ))?;
    Ok(ids.into_iter().map(AccountId).collect())
}

/// Keeps others from noting the code until the transaction ends.
pub(crate) async fn hold(
    conn: &mut PgConnection,
    account: AccountId,
    code: &UnmappedCode,
) -> Result<(), DistributionError> {
    sqlx::query(
        "select from unmapped_code
         where account_id = $1 and channel_room_code = $2 and channel_rate_code = $3
         for update",
    )
    .bind(account.0)
    .bind(&code.channel_room_code)
    .bind(&code.channel_rate_code)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("holding an unmapped code"))?;
    Ok(())
}

/// A mapping knows the code now, and nothing waits for it any more.
pub(crate) async fn resolve(
    conn: &mut PgConnection,
    account: AccountId,
    code: &UnmappedCode,
) -> Result<(), DistributionError> {
    sqlx::query(
        "delete from unmapped_code
         where account_id = $1 and channel_room_code = $2 and channel_rate_code = $3",
    )
    .bind(account.0)
    .bind(&code.channel_room_code)
    .bind(&code.channel_rate_code)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing(
        "forgetting an unmapped code",
    ))?;
    Ok(())
}
