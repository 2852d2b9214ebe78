//! Physical rooms, and the stays in which they are blocked: `room`, `room_assignment`.

use keyrack_model::id::{PropertyId, RoomId, RoomTypeId};
use keyrack_model::stay::Stay;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::catalog::Room;
use crate::command::Block;
use crate::decide::blocks::SeenRoom;
use crate::decide::draft::SeenRooms;
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
    blocks: Json<Vec<Blocked>>,
}

/// First night, end, kind, reason.
type Blocked = (jiff::civil::Date, jiff::civil::Date, String, Option<String>);

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

/// Changes a room that is still the one that was read, and counts its version up; says whether it
/// was.
pub(crate) async fn update(
    conn: &mut PgConnection,
    property: PropertyId,
    known: &KnownRoom,
    room_type: RoomTypeId,
    room: &Room,
) -> Result<bool, LedgerError> {
    sqlx::query(
        "update room set room_type_id = $3, name = $4, is_active = $5, version = version + 1
         where property_id = $1 and room_id = $2 and version = $6",
    )
    .bind(property.0)
    .bind(known.id.0)
    .bind(room_type.0)
    .bind(&room.name)
    .bind(room.is_active)
    .bind(known.room.version)
    .execute(conn)
    .await
    .map(|done| done.rows_affected() == 1)
    .map_err(LedgerError::while_doing("changing a room"))
}

#[derive(sqlx::FromRow)]
struct SeenRow {
    property_id: i64,
    code: String,
    room_id: i64,
    room_type_id: i64,
    is_active: bool,
    version: i64,
    taken: Json<Vec<Taken>>,
}

/// First night, end, and a block's kind and reason or a reservation's number.
type Taken = (
    jiff::civil::Date,
    jiff::civil::Date,
    Option<String>,
    Option<String>,
    Option<i64>,
);

/// Rooms by code with all that takes them; asks nothing where none is named.
pub(crate) async fn seen(
    conn: &mut PgConnection,
    named: &[(PropertyId, &str)],
) -> Result<SeenRooms, LedgerError> {
    if named.is_empty() {
        return Ok(SeenRooms::new());
    }
    let rows: Vec<SeenRow> = sqlx::query_as(
        "select r.property_id, r.code, r.room_id, r.room_type_id, r.is_active, r.version, coalesce(
                    (select jsonb_agg(jsonb_build_array(lower(a.stay), upper(a.stay), a.block_kind,
                                                        a.reason, s.number) order by a.stay)
                     from room_assignment a
                     left join reservation s on s.property_id = a.property_id
                                            and s.reservation_id = a.reservation_id
                     where a.property_id = r.property_id and a.room_id = r.room_id), '[]') as taken
         from (select distinct * from unnest($1::bigint[], $2::text[])) k (property_id, code)
         join room r using (property_id, code)",
    )
    .bind(named.iter().map(|(id, _)| id.0).collect::<Vec<_>>())
    .bind(named.iter().map(|(_, code)| *code).collect::<Vec<_>>())
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading rooms"))?;
    Ok(rows.into_iter().map(SeenRow::into_room).collect())
}

impl SeenRow {
    fn into_room(self) -> ((PropertyId, String), SeenRoom) {
        let (mut blocks, mut guests) = (Vec::new(), Vec::new());
        for (from, until, kind, reason, number) in self.taken.0 {
            let Some(nights) = Stay::new(from, until) else {
                continue;
            };
            match (kind, number) {
                (Some(kind), _) => blocks.push(Block {
                    nights,
                    kind,
                    reason,
                }),
                (None, number) => guests.push((nights, number.unwrap_or_default())),
            }
        }
        let room = SeenRoom {
            id: RoomId(self.room_id),
            room_type: RoomTypeId(self.room_type_id),
            is_active: self.is_active,
            version: self.version,
            blocks,
            guests,
        };
        ((PropertyId(self.property_id), self.code), room)
    }
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
