//! What has moved since an earlier picture, in one statement.

use jiff_sqlx::Timestamp;
use keyrack_model::id::PropertyId;
use sqlx::PgConnection;

use crate::error::LedgerError;

/// A look at all that moves.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct MovedRow {
    /// The database's clock.
    pub now: Timestamp,
    /// The picture that this look had: the next one asks from here.
    pub picture: String,
    /// Entries that were looked at; from [`ENTRIES_MAX`] on there may be more.
    pub entries: i64,
    /// Properties of entries that were not in the earlier picture.
    pub moved: Vec<i64>,
    /// The properties that were asked for and are there, and the versions of their rules.
    pub properties: Vec<i64>,
    pub versions: Vec<i64>,
}

/// Looks. `since` is the picture of the last look; without one nothing is known.
///
/// An entry is new when its transaction was running or not begun in the earlier picture. By
/// sequence, or by the horizon alone, some would be missed or come late.
///
/// The instant is that at which the statement came in, before its picture was taken: what another
/// commits while it runs is not in the picture, and an instant of the end would promise it.
pub(crate) async fn since(
    conn: &mut PgConnection,
    since: Option<&str>,
    asked: &[PropertyId],
) -> Result<MovedRow, LedgerError> {
    let asked: Vec<i64> = asked.iter().map(|id| id.0).collect();
    sqlx::query_as(
        "with seen as materialized (
             select property_id, tx from ledger_entry
              where tx >= pg_snapshot_xmin($1::text::pg_snapshot)
              order by tx, seq limit $2),
         asked as materialized (
             select property_id, rules_version as version from property where property_id = any($3))
         select now() + (ledger_now() - clock_timestamp()) as now,
                pg_current_snapshot()::text as picture,
                (select count(*) from seen) as entries,
                array(select distinct property_id from seen
                       where not pg_visible_in_snapshot(tx, $1::text::pg_snapshot)) as moved,
                array(select property_id from asked order by property_id) as properties,
                array(select version from asked order by property_id) as versions",
    )
    .bind(since)
    .bind(ENTRIES_MAX)
    .bind(asked)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking for what has moved"))
}

/// Entries that one look reads at most. Beyond, everything counts as moved.
pub(crate) const ENTRIES_MAX: i64 = 5_000;
