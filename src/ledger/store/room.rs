//! Physical rooms, and the stays in which they are blocked: `room`, `room_assignment`.

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, RoomId, RoomTypeId};
use keyrack_model::stay::{Stay, StayRange};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::catalog::Room;
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    room_id: i64,
    room_type_id: i64,
    code: String,
    room_type: String,
    name: String,
    is_active: bool,
    version: i64,
    blocks: Json<Vec<Block>>,
}

/// First night, end, kind, reason.
type Block = (jiff::civil::Date, jiff::civil::Date, String, Option<String>);

/// A room with its ids.
#[derive(Clone, Debug)]
pub(crate) struct KnownRoom {
    pub id: RoomId,
    pub room_type: RoomTypeId,
    pub room: Room,
}

/// The rooms of a property with their blocks, in order of code; one only, where a code is given.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
    code: Option<&str>,
) -> Result<Vec<KnownRoom>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select r.room_id, r.room_type_id, r.code, t.code as room_type, r.name, r.is_active,
                r.version, coalesce(
                    (select jsonb_agg(jsonb_build_array(lower(a.stay), upper(a.stay),
                                                        a.block_kind, a.reason) order by a.stay)
                     from room_assignment a
                     where a.property_id = r.property_id and a.room_id = r.room_id
                       and a.block_kind is not null), '[]') as blocks
         from room r join room_type t using (property_id, room_type_id)
         where r.property_id = $1 and ($2::text is null or r.code = $2)
         order by r.code",
    )
    .bind(property.0)
    .bind(code)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading rooms"))?;
    Ok(rows.into_iter().map(KnownRoom::from).collect())
}

/// Number of active rooms that are listed for a type; `None` where none is listed at all.
pub(crate) async fn active_count(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
) -> Result<Option<i32>, LedgerError> {
    let (listed, active): (i64, i64) = sqlx::query_as(
        "select count(*), count(*) filter (where is_active) from room
         where property_id = $1 and room_type_id = $2",
    )
    .bind(property.0)
    .bind(room_type.0)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("counting rooms"))?;
    let active = i32::try_from(active)
        .map_err(|_| LedgerError::Unreadable(format!("{active} rooms of one type")))?;
    Ok((listed > 0).then_some(active))
}

/// Makes a room.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    room: &Room,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into room (property_id, room_type_id, code, name, is_active)
         values ($1, $2, $3, $4, $5)",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(&room.code)
    .bind(&room.name)
    .bind(room.is_active)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("making a room"))?;
    Ok(())
}

/// Changes a room and counts its version up.
pub(crate) async fn update(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomId,
    room_type: RoomTypeId,
    room: &Room,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update room set room_type_id = $3, name = $4, is_active = $5, version = version + 1
         where property_id = $1 and room_id = $2",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(room_type.0)
    .bind(&room.name)
    .bind(room.is_active)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("changing a room"))?;
    Ok(())
}

/// Counts a room's version up.
pub(crate) async fn count_up(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomId,
) -> Result<(), LedgerError> {
    sqlx::query("update room set version = version + 1 where property_id = $1 and room_id = $2")
        .bind(property.0)
        .bind(id.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("changing a room"))?;
    Ok(())
}

/// Takes the blocks of a room away.
pub(crate) async fn delete_blocks(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomId,
) -> Result<(), LedgerError> {
    sqlx::query(
        "delete from room_assignment
         where property_id = $1 and room_id = $2 and block_kind is not null",
    )
    .bind(property.0)
    .bind(id.0)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("taking blocks away"))?;
    Ok(())
}

/// Blocks a room; a stay in which it is taken already is an error of `room_taken_once`.
pub(crate) async fn insert_blocks(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomId,
    blocks: &[(StayRange, String, Option<String>)],
) -> Result<(), LedgerError> {
    let from: Vec<Date> = blocks
        .iter()
        .map(|(stay, ..)| stay.arrival().into())
        .collect();
    let until: Vec<Date> = blocks
        .iter()
        .map(|(stay, ..)| stay.departure().into())
        .collect();
    let kinds: Vec<&str> = blocks.iter().map(|(_, kind, _)| kind.as_str()).collect();
    let reasons: Vec<Option<&str>> = blocks.iter().map(|(.., why)| why.as_deref()).collect();
    sqlx::query(
        "insert into room_assignment (property_id, room_id, stay, block_kind, reason)
         select $1, $2, daterange(b.night_from, b.night_until), b.kind, b.reason
         from unnest($3::date[], $4::date[], $5::text[], $6::text[])
              as b (night_from, night_until, kind, reason)",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(from)
    .bind(until)
    .bind(kinds)
    .bind(reasons)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("blocking a room"))?;
    Ok(())
}

/// Numbers of the reservations that have a room in one of some stays.
pub(crate) async fn taken_by(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomId,
    stays: &[StayRange],
) -> Result<Vec<i64>, LedgerError> {
    let from: Vec<Date> = stays.iter().map(|stay| stay.arrival().into()).collect();
    let until: Vec<Date> = stays.iter().map(|stay| stay.departure().into()).collect();
    sqlx::query_scalar(
        "select distinct r.number
         from room_assignment a
         join unnest($3::date[], $4::date[]) as s (night_from, night_until)
              on a.stay && daterange(s.night_from, s.night_until)
         join reservation r on r.property_id = a.property_id
                           and r.reservation_id = a.reservation_id
         where a.property_id = $1 and a.room_id = $2
         order by r.number",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(from)
    .bind(until)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking who has a room"))
}

impl From<Row> for KnownRoom {
    fn from(row: Row) -> Self {
        let blocks = row.blocks.0.into_iter();
        let blocks = blocks.filter_map(|(from, until, kind, reason)| {
            Some((Stay::new(from, until)?, kind, reason))
        });
        Self {
            id: RoomId(row.room_id),
            room_type: RoomTypeId(row.room_type_id),
            room: Room {
                code: row.code,
                room_type: row.room_type,
                name: row.name,
                is_active: row.is_active,
                version: row.version,
                blocks: blocks.collect(),
            },
        }
    }
}
