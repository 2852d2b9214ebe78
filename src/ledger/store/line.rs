//! Lines of the ledger as people read them.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::reservations::EntryLine;

#[derive(sqlx::FromRow)]
struct Row {
    at: Timestamp,
    actor: String,
    request_id: Option<String>,
    command_id: Uuid,
    kind: String,
    reservation_id: Option<Uuid>,
    version: Option<i64>,
    room_type: Option<String>,
    night_from: Option<Date>,
    night_until: Option<Date>,
    quantity: i32,
    from_pool: Option<String>,
    to_pool: Option<String>,
    reason: Option<String>,
}

/// Everything that was written of a reservation, in order.
pub(crate) async fn of_reservation(
    conn: &mut PgConnection,
    property: PropertyId,
    id: ReservationId,
) -> Result<Vec<EntryLine>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select e.*, t.code as room_type
         from ledger_entry e left join room_type t using (property_id, room_type_id)
         where e.property_id = $1 and e.reservation_id = $2 order by e.seq",
    )
    .bind(property.0)
    .bind(id.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading a reservation's entries"))?;
    Ok(rows.into_iter().map(EntryLine::from).collect())
}

/// Everything that was written of a night, in order.
pub(crate) async fn of_night(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    night: jiff::civil::Date,
) -> Result<Vec<EntryLine>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select e.*, t.code as room_type
         from ledger_entry e join room_type t using (property_id, room_type_id)
         where e.property_id = $1 and e.room_type_id = $2
           and e.night_from <= $3 and e.night_until > $3
           and e.command_id >= (select ledger_beginning($1, $3))
         order by e.seq",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(Date::from(night))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading a night's entries"))?;
    Ok(rows.into_iter().map(EntryLine::from).collect())
}

impl From<Row> for EntryLine {
    fn from(row: Row) -> Self {
        Self {
            at: row.at.to_jiff(),
            actor: row.actor,
            request_id: row.request_id,
            command_id: row.command_id,
            kind: row.kind,
            reservation: row.reservation_id.map(ReservationId),
            version: row.version,
            room_type: row.room_type,
            from: row.night_from.map(Date::to_jiff),
            to: row.night_until.map(Date::to_jiff),
            quantity: row.quantity,
            from_pool: row.from_pool,
            to_pool: row.to_pool,
            reason: row.reason,
        }
    }
}
