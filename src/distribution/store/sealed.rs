//! The table seal_probe: a word under the key that seals this database.

use sqlx::PgPool;

use crate::error::DistributionError;

/// Whether the table is there and holds a word; of a database that is not migrated yet, too.
pub(crate) async fn is_proven(pool: &PgPool) -> Result<bool, DistributionError> {
    let there: bool = sqlx::query_scalar("select to_regclass('seal_probe') is not null")
        .fetch_one(pool)
        .await
        .map_err(DistributionError::while_doing(
            "looking for the seal's word",
        ))?;
    Ok(there && probe(pool).await?.is_some())
}

/// The word, still sealed.
pub(crate) async fn probe(pool: &PgPool) -> Result<Option<Vec<u8>>, DistributionError> {
    sqlx::query_scalar("select sealed from seal_probe")
        .fetch_optional(pool)
        .await
        .map_err(DistributionError::while_doing("reading the seal's word"))
}

/// Writes the word unless somebody was first.
pub(crate) async fn write_first(pool: &PgPool, sealed: &[u8]) -> Result<(), DistributionError> {
    sqlx::query("insert into seal_probe (sealed) values ($1) on conflict do nothing")
        .bind(sealed)
        .execute(pool)
        .await
        .map_err(DistributionError::while_doing("writing the seal's word"))?;
    Ok(())
}

/// Writes the word over the one that is there.
pub(crate) async fn write_over(pool: &PgPool, sealed: &[u8]) -> Result<(), DistributionError> {
    sqlx::query(
        "insert into seal_probe (sealed) values ($1)
         on conflict (is_only) do update set sealed = excluded.sealed, made_at = ledger_now()",
    )
    .bind(sealed)
    .execute(pool)
    .await
    .map_err(DistributionError::while_doing("writing the seal's word"))?;
    Ok(())
}
