//! The two tails of a property's history, read behind a cursor: `ledger_entry`, `rate_change`.
//!
//! Both are read in order of (transaction, sequence), and only below the snapshot's horizon: a
//! transaction that is still running may yet write lower sequences, but none below the horizon runs
//! any more. The horizon spans the cluster.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, ReservationId, RoomTypeId};
use keyrack_model::stay::Stay;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::tail::{Cursor, RateTailEntry, TailEntry};

#[derive(sqlx::FromRow)]
struct EntryRow {
    tx: String,
    seq: i64,
    property_id: i64,
    reservation_id: Option<Uuid>,
    version: Option<i64>,
    kind: String,
    room_type_id: Option<i64>,
    night_from: Option<Date>,
    night_until: Option<Date>,
    actor: String,
    reason: Option<String>,
    at: Timestamp,
}

/// Entries behind a cursor.
pub(crate) async fn entries(
    conn: &mut PgConnection,
    after: Cursor,
    limit: u32,
) -> Result<Vec<TailEntry>, LedgerError> {
    let rows: Vec<EntryRow> = sqlx::query_as(
        "select tx::text, seq, property_id, reservation_id, version, kind, room_type_id,
                night_from, night_until, actor, reason, at
         from ledger_entry
         where (tx, seq) > ($1::text::xid8, $2)
           and tx < pg_snapshot_xmin(pg_current_snapshot())
         order by ledger_entry.tx, seq limit $3",
    )
    .bind(after.tx.to_string())
    .bind(after.seq)
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading the tail"))?;
    rows.into_iter().map(TailEntry::try_from).collect()
}

/// How many entries and rate changes of a property lie behind the cursors, those beyond the horizon
/// as well. Of a long tail only the beginning is counted, and it is never nothing.
///
/// After a restore onto another cluster old entries are of transactions that have not begun here.
pub(crate) async fn unread(
    conn: &mut PgConnection,
    property: PropertyId,
    entries: Cursor,
    rates: Cursor,
) -> Result<i64, LedgerError> {
    sqlx::query_scalar(
        "select sum(greatest(own, (looked_at >= $6)::integer))::bigint from (
             select count(*) as looked_at, count(*) filter (where property_id = $1) as own from (
                 select property_id from ledger_entry
                 where (tx, seq) > ($2::text::xid8, $3)
                       and tx < pg_snapshot_xmax(pg_current_snapshot())
                 order by tx, seq limit $6) entry
             union all
             select count(*), count(*) filter (where property_id = $1) from (
                 select property_id from rate_change
                 where (tx, seq) > ($4::text::xid8, $5)
                       and tx < pg_snapshot_xmax(pg_current_snapshot())
                 order by tx, seq limit $6) rate) tail",
    )
    .bind(property.0)
    .bind(entries.tx.to_string())
    .bind(entries.seq)
    .bind(rates.tx.to_string())
    .bind(rates.seq)
    .bind(UNREAD_MAX)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("counting what is unread"))
}

/// So much of a tail is looked through.
const UNREAD_MAX: i64 = 1_000;

#[derive(sqlx::FromRow)]
struct RateRow {
    tx: String,
    seq: i64,
    property_id: i64,
    room_type_id: i64,
    rate_plan_id: i64,
    account_id: i64,
    night_from: Date,
    night_until: Date,
    fields: Vec<String>,
    at: Timestamp,
}

/// Changes of rates and rules behind a cursor.
pub(crate) async fn rate_changes(
    conn: &mut PgConnection,
    after: Cursor,
    limit: u32,
) -> Result<Vec<RateTailEntry>, LedgerError> {
    let rows: Vec<RateRow> = sqlx::query_as(
        "select tx::text, seq, property_id, room_type_id, rate_plan_id, account_id, night_from,
                night_until, fields, at
         from rate_change
         where (tx, seq) > ($1::text::xid8, $2)
           and tx < pg_snapshot_xmin(pg_current_snapshot())
         order by rate_change.tx, seq limit $3",
    )
    .bind(after.tx.to_string())
    .bind(after.seq)
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading the rates' tail"))?;
    rows.into_iter().map(RateTailEntry::try_from).collect()
}

/// The snapshot's horizon: every transaction below it has ended.
pub(crate) async fn horizon(conn: &mut PgConnection) -> Result<u64, LedgerError> {
    let tx: String = sqlx::query_scalar("select pg_snapshot_xmin(pg_current_snapshot())::text")
        .fetch_one(conn)
        .await
        .map_err(LedgerError::while_doing("reading the snapshot's horizon"))?;
    transaction(&tx)
}

/// The cluster's system identifier, the clock, and the age in seconds of the oldest transaction
/// that writes: until it ends, the tails stand still.
pub(crate) async fn cluster(
    conn: &mut PgConnection,
) -> Result<(String, jiff::Timestamp, i64), LedgerError> {
    let (identifier, now, age): (String, Timestamp, i64) = sqlx::query_as(
        "select (select system_identifier::text from pg_control_system()), ledger_now(),
                coalesce((select extract(epoch from clock_timestamp() - min(xact_start))::bigint
                          from pg_stat_activity where backend_xid is not null), 0)",
    )
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("asking the cluster"))?;
    Ok((identifier, now.to_jiff(), age))
}

fn transaction(text: &str) -> Result<u64, LedgerError> {
    text.parse()
        .map_err(|_| LedgerError::Unreadable(format!("the transaction {text:?}")))
}

impl TryFrom<EntryRow> for TailEntry {
    type Error = LedgerError;

    fn try_from(row: EntryRow) -> Result<Self, LedgerError> {
        let nights = row.night_from.zip(row.night_until);
        Ok(Self {
            cursor: Cursor {
                tx: transaction(&row.tx)?,
                seq: row.seq,
            },
            property: PropertyId(row.property_id),
            reservation: row.reservation_id.map(ReservationId),
            version: row.version,
            is_first_line: row.kind != "moved",
            kind: row.kind,
            room_type: row.room_type_id.map(RoomTypeId),
            nights: nights.and_then(|(from, to)| Stay::new(from.to_jiff(), to.to_jiff())),
            actor: row.actor,
            reason: row.reason,
            at: row.at.to_jiff(),
        })
    }
}

impl TryFrom<RateRow> for RateTailEntry {
    type Error = LedgerError;

    fn try_from(row: RateRow) -> Result<Self, LedgerError> {
        let named = |id: i64| (id != 0).then_some(id);
        let nights = Stay::new(row.night_from.to_jiff(), row.night_until.to_jiff());
        Ok(Self {
            cursor: Cursor {
                tx: transaction(&row.tx)?,
                seq: row.seq,
            },
            property: PropertyId(row.property_id),
            room_type: named(row.room_type_id).map(RoomTypeId),
            rate_plan: named(row.rate_plan_id).map(RatePlanId),
            account: named(row.account_id).map(AccountId),
            nights: nights
                .ok_or_else(|| LedgerError::Unreadable("the nights of a rate change".to_owned()))?,
            fields: row.fields,
            at: row.at.to_jiff(),
        })
    }
}
