//! Which room a stay has: `room_assignment`.

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, ReservationId, RoomId, RoomStayId, RoomTypeId};
use keyrack_model::stay::StayRange;
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Takes a stay out of its rooms; says how many it had.
pub(crate) async fn release(
    conn: &mut PgConnection,
    property: PropertyId,
    id: ReservationId,
    stay: RoomStayId,
) -> Result<u64, LedgerError> {
    sqlx::query(
        "delete from room_assignment
         where property_id = $1 and reservation_id = $2 and room_stay_id = $3",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(stay.0)
    .execute(conn)
    .await
    .map(|done| done.rows_affected())
    .map_err(LedgerError::while_doing("taking a stay out of its room"))
}

/// Codes of the rooms that a stay has.
pub(crate) async fn of_stay(
    conn: &mut PgConnection,
    property: PropertyId,
    id: ReservationId,
    stay: RoomStayId,
) -> Result<Vec<String>, LedgerError> {
    sqlx::query_scalar(
        "select o.code from room_assignment a join room o using (property_id, room_id)
         where a.property_id = $1 and a.reservation_id = $2 and a.room_stay_id = $3
         order by o.code",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(stay.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading a stay's rooms"))
}

/// Puts a stay into a room; one that is taken is an error of `room_taken_once`.
pub(crate) async fn put(
    conn: &mut PgConnection,
    property: PropertyId,
    id: ReservationId,
    stay: RoomStayId,
    room: RoomId,
    nights: StayRange,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into room_assignment (property_id, room_id, stay, reservation_id, room_stay_id)
         values ($1, $2, daterange($3, $4), $5, $6)",
    )
    .bind(property.0)
    .bind(room.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .bind(id.0)
    .bind(stay.0)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("putting a stay into a room"))?;
    Ok(())
}

/// The first room of a type that is free for the whole stay and that nobody else is just taking,
/// locked; with its code.
pub(crate) async fn lock_free(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    nights: StayRange,
) -> Result<Option<(RoomId, String)>, LedgerError> {
    let row: Option<(i64, String)> = sqlx::query_as(
        "select r.room_id, r.code from room r
         where r.property_id = $1 and r.room_type_id = $2 and r.is_active
           and not exists (select from room_assignment a
                           where a.property_id = r.property_id and a.room_id = r.room_id
                             and a.stay && daterange($3, $4))
         order by r.code limit 1
         for update of r skip locked",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("looking for a free room"))?;
    Ok(row.map(|(id, code)| (RoomId(id), code)))
}

/// Codes of the rooms of a type that are free for a whole stay.
pub(crate) async fn free_codes(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    nights: StayRange,
) -> Result<Vec<String>, LedgerError> {
    sqlx::query_scalar(
        "select r.code from room r
         where r.property_id = $1 and r.room_type_id = $2 and r.is_active
           and not exists (select from room_assignment a
                           where a.property_id = r.property_id and a.room_id = r.room_id
                             and a.stay && daterange($3, $4))
         order by r.code",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("listing free rooms"))
}

/// Who has a room in some nights: numbers of reservations, or the kind of a block.
pub(crate) async fn takers(
    conn: &mut PgConnection,
    property: PropertyId,
    room: RoomId,
    nights: StayRange,
) -> Result<Vec<String>, LedgerError> {
    sqlx::query_scalar(
        "select coalesce('reservation ' || r.number, 'a block: ' || a.block_kind)
         from room_assignment a
         left join reservation r on r.property_id = a.property_id
                                and r.reservation_id = a.reservation_id
         where a.property_id = $1 and a.room_id = $2 and a.stay && daterange($3, $4)
         order by a.stay",
    )
    .bind(property.0)
    .bind(room.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking who has a room"))
}
