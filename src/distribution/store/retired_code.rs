//! Remote codes that a change of mappings left behind. The table retired_code.

use jiff_sqlx::Timestamp;
use keyrack_model::id::AccountId;
use sqlx::{PgConnection, PgExecutor};

use crate::error::DistributionError;

/// A remote code that must be closed before anything else is told.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, sqlx::FromRow)]
pub(crate) struct RetiredCode {
    /// The channel's code of the room.
    pub(crate) channel_room_code: String,
    /// The channel's code of the rate; empty is the room itself.
    pub(crate) channel_rate_code: String,
    /// What it stood for.
    pub(crate) room_type_id: i64,
    /// What it stood for; 0 is the room itself.
    pub(crate) rate_plan_id: i64,
    /// Refusals so far.
    pub(crate) attempt: i32,
}

/// Retires codes, to be closed in `after_seconds`; one that is retired already comes due anew.
pub(crate) async fn retire(
    conn: &mut PgConnection,
    account: AccountId,
    codes: &[RetiredCode],
    after_seconds: u32,
) -> Result<(), DistributionError> {
    let rooms: Vec<&str> = codes
        .iter()
        .map(|code| code.channel_room_code.as_str())
        .collect();
    let rates: Vec<&str> = codes
        .iter()
        .map(|code| code.channel_rate_code.as_str())
        .collect();
    let room_types: Vec<i64> = codes.iter().map(|code| code.room_type_id).collect();
    let rate_plans: Vec<i64> = codes.iter().map(|code| code.rate_plan_id).collect();
    sqlx::query(
        "insert into retired_code (account_id, channel_room_code, channel_rate_code,
                                   room_type_id, rate_plan_id, retired_at, due_at)
         select $1, r, q, t, p, clock.now, clock.now + $6 * interval '1 second'
         from unnest($2::text[], $3::text[], $4::bigint[], $5::bigint[]) as code(r, q, t, p),
              (select ledger_now() as now) clock
         on conflict (account_id, channel_room_code, channel_rate_code) do update set
             due_at = excluded.due_at",
    )
    .bind(account.0)
    .bind(rooms)
    .bind(rates)
    .bind(room_types)
    .bind(rate_plans)
    .bind(i32::try_from(after_seconds).unwrap_or(i32::MAX))
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("retiring remote codes"))?;
    Ok(())
}

/// The codes of an account that are still to be closed: all, or those due at `now`.
pub(crate) async fn pending(
    db: impl PgExecutor<'_>,
    account: AccountId,
    due_by: Option<jiff::Timestamp>,
) -> Result<Vec<RetiredCode>, DistributionError> {
    sqlx::query_as(
        "select channel_room_code, channel_rate_code, room_type_id, rate_plan_id, attempt
         from retired_code
         where account_id = $1 and ($2::timestamptz is null or due_at <= $2)
         order by channel_room_code, channel_rate_code",
    )
    .bind(account.0)
    .bind(due_by.map(Timestamp::from))
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading retired codes"))
}

/// A code has been closed.
pub(crate) async fn closed(
    db: impl PgExecutor<'_>,
    account: AccountId,
    code: &RetiredCode,
) -> Result<(), DistributionError> {
    sqlx::query(
        "delete from retired_code
         where account_id = $1 and channel_room_code = $2 and channel_rate_code = $3",
    )
    .bind(account.0)
    .bind(&code.channel_room_code)
    .bind(&code.channel_rate_code)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("closing a retired code"))?;
    Ok(())
}

/// A code could not be closed.
pub(crate) async fn failed(
    db: impl PgExecutor<'_>,
    account: AccountId,
    code: &RetiredCode,
    why: &str,
    wait_ms: u64,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update retired_code
         set attempt = attempt + 1, last_error = $4,
             due_at = ledger_now() + $5 * interval '1 millisecond'
         where account_id = $1 and channel_room_code = $2 and channel_rate_code = $3",
    )
    .bind(account.0)
    .bind(&code.channel_room_code)
    .bind(&code.channel_rate_code)
    .bind(why)
    .bind(i64::try_from(wait_ms).unwrap_or(i64::MAX))
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("noting a retired code"))?;
    Ok(())
}

/// Forgets the codes of an account that is gone.
pub(crate) async fn forget(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<(), DistributionError> {
    sqlx::query("delete from retired_code where account_id = $1")
        .bind(account.0)
        .execute(db)
        .await
        .map_err(DistributionError::while_doing("forgetting retired codes"))?;
    Ok(())
}
