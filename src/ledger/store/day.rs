//! The desk's sheet of a day: who arrives, departs and sleeps, and which types are oversold.

use jiff_sqlx::Date;
use keyrack_model::id::PropertyId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::LedgerError;

/// A room stay as the desk's sheet of a day sorts it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct DayRow {
    pub reservation_id: Uuid,
    pub status: String,
    pub arrival: Date,
    pub departure: Date,
    pub quantity: i32,
    pub assigned: i64,
}

/// Room stays that arrive, depart or sleep on a date, or should have left before it.
pub(crate) async fn of_day(
    conn: &mut PgConnection,
    property: PropertyId,
    date: jiff::civil::Date,
) -> Result<Vec<DayRow>, LedgerError> {
    sqlx::query_as(
        "select s.reservation_id, r.status, s.arrival, s.departure, s.quantity,
                (select count(*) from room_assignment a
                 where a.property_id = s.property_id and a.reservation_id = s.reservation_id
                   and a.room_stay_id = s.room_stay_id) as assigned
         from room_stay s join reservation r using (property_id, reservation_id)
         where s.property_id = $1 and s.departure >= $2 and s.arrival <= $2
           and not s.is_given_back
           and r.status in ('held', 'confirmed', 'checked_in', 'completed')
           and (r.status <> 'held' or r.hold_dead_at > (select ledger_now()))
         union all
         select s.reservation_id, r.status, s.arrival, s.departure, s.quantity, 0
         from archived_room_stay s join archived_reservation r using (property_id, reservation_id)
         where s.property_id = $1 and s.departure >= $2 and s.arrival <= $2
           and not s.is_given_back and r.status = 'completed'
         union all
         select s.reservation_id, r.status, s.arrival, s.departure, s.quantity, 0
         from reservation r join room_stay s using (property_id, reservation_id)
         where r.property_id = $1 and r.status = 'checked_in' and s.departure < $2
           and not s.is_given_back",
    )
    .bind(property.0)
    .bind(Date::from(date))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading a day"))
}

/// Room types with more sold on a night than can be slept in, and by how much.
pub(crate) async fn oversold(
    conn: &mut PgConnection,
    property: PropertyId,
    night: jiff::civil::Date,
) -> Result<Vec<(String, i32)>, LedgerError> {
    sqlx::query_as(
        "select t.code, n.sold - greatest(n.physical - n.out_of_order, 0)
         from room_type t join night n using (property_id, room_type_id)
         where t.property_id = $1 and n.stay_date = $2
               and n.sold > greatest(n.physical - n.out_of_order, 0)
         order by t.code",
    )
    .bind(property.0)
    .bind(Date::from(night))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading oversold rooms"))
}
