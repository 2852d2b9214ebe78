//! Keys of the API, by their hash: `api_key`.

use sqlx::PgConnection;

use crate::error::LedgerError;

/// A key as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct KeyRow {
    pub key_id: i64,
    pub hash: Vec<u8>,
    pub role: String,
    pub property_id: Option<i64>,
    pub name: String,
}

/// Stores a key; leaves one with the same hash as it is.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    hash: &[u8],
    role: &str,
    property_id: Option<i64>,
    name: &str,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into api_key (hash, role, property_id, name) values ($1, $2, $3, $4)
         on conflict (hash) do nothing",
    )
    .bind(hash)
    .bind(role)
    .bind(property_id)
    .bind(name)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("storing a key"))?;
    Ok(())
}

/// The key of a hash, revoked or not.
pub(crate) async fn by_hash(
    conn: &mut PgConnection,
    hash: &[u8],
) -> Result<Option<KeyRow>, LedgerError> {
    sqlx::query_as("select key_id, hash, role, property_id, name from api_key where hash = $1")
        .bind(hash)
        .fetch_optional(conn)
        .await
        .map_err(LedgerError::while_doing("finding a key"))
}

/// The key of a hash that is not revoked.
pub(crate) async fn live_by_hash(
    conn: &mut PgConnection,
    hash: &[u8],
) -> Result<Option<KeyRow>, LedgerError> {
    sqlx::query_as(
        "select key_id, hash, role, property_id, name from api_key
         where hash = $1 and revoked_at is null",
    )
    .bind(hash)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("finding a key"))
}

/// Every key that is not revoked, in order of making.
pub(crate) async fn list(conn: &mut PgConnection) -> Result<Vec<KeyRow>, LedgerError> {
    sqlx::query_as(
        "select key_id, hash, role, property_id, name from api_key
         where revoked_at is null order by key_id",
    )
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("listing keys"))
}

/// Revokes a key; says whether there was one to revoke.
pub(crate) async fn revoke(conn: &mut PgConnection, id: i64) -> Result<bool, LedgerError> {
    sqlx::query(
        "update api_key set revoked_at = ledger_now() where key_id = $1 and revoked_at is null",
    )
    .bind(id)
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
    .map_err(LedgerError::while_doing("revoking a key"))
}
