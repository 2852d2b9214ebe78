//! Reservations that the roll-over must look at.

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::LedgerError;

/// Confirmed reservations that have departed by a day and whose check-in nobody told.
pub(crate) async fn departed(
    conn: &mut PgConnection,
    property: PropertyId,
    today: StayDate,
) -> Result<Vec<ReservationId>, LedgerError> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "select r.reservation_id from reservation r
         where r.property_id = $1 and r.status = 'confirmed'
           and exists (select from room_stay s
                       where s.property_id = r.property_id
                         and s.reservation_id = r.reservation_id and not s.is_given_back)
           and not exists (select from room_stay s
                           where s.property_id = r.property_id
                             and s.reservation_id = r.reservation_id and not s.is_given_back
                             and s.departure > $2)
         order by r.reservation_id",
    )
    .bind(property.0)
    .bind(Date::from(today))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for departed guests"))?;
    Ok(ids.into_iter().map(ReservationId).collect())
}

/// No-shows who were expected before a day, keep no nights, and still have more than the first.
pub(crate) async fn absent(
    conn: &mut PgConnection,
    property: PropertyId,
    today: StayDate,
) -> Result<Vec<ReservationId>, LedgerError> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "select distinct r.reservation_id
         from reservation r join room_stay s using (property_id, reservation_id)
         where r.property_id = $1 and r.status = 'no_show'
           and not 'no_show_keeps_nights' = any(r.flags)
           and not s.is_given_back and s.arrival < $2 and s.taken_until > s.taken_from + 1
         order by r.reservation_id",
    )
    .bind(property.0)
    .bind(Date::from(today))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for no-shows"))?;
    Ok(ids.into_iter().map(ReservationId).collect())
}

/// Guests in the house whose departure is before a day and whose room is not yet taken tonight.
pub(crate) async fn overdue(
    conn: &mut PgConnection,
    property: PropertyId,
    today: StayDate,
) -> Result<Vec<ReservationId>, LedgerError> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "select r.reservation_id
         from reservation r join room_stay s using (property_id, reservation_id)
         where r.property_id = $1 and r.status = 'checked_in' and not s.is_given_back
         group by r.reservation_id
         having max(s.departure) < $2 and max(s.taken_until) <= $2
         order by r.reservation_id",
    )
    .bind(property.0)
    .bind(Date::from(today))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for overdue guests"))?;
    Ok(ids.into_iter().map(ReservationId).collect())
}
