//! Room types and what composed ones are made of: `room_type`, `room_type_component`.

use std::collections::HashMap;

use keyrack_model::id::{PropertyId, RoomTypeId};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::catalog::{RoomType, RoomTypeSetup};
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    room_type_id: i64,
    code: String,
    name: String,
    rooms: i32,
    counts: String,
    adults_max: i32,
    children_max: i32,
    total_max: i32,
    hold_seconds: Option<i32>,
    version: i64,
    components: Json<Vec<(String, i32)>>,
}

/// The room types of a property, in order of code.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<RoomType>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select t.*, coalesce(
                    (select jsonb_agg(jsonb_build_array(part.code, c.quantity) order by part.code)
                     from room_type_component c
                     join room_type part on part.property_id = c.property_id
                                        and part.room_type_id = c.component_id
                     where c.property_id = t.property_id and c.room_type_id = t.room_type_id),
                    '[]') as components
         from room_type t where t.property_id = $1 order by t.code",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading room types"))?;
    Ok(rows.into_iter().map(RoomType::from).collect())
}

/// Makes a room type, without its components. A taken code is an error of the constraint.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    code: &str,
    setup: &RoomTypeSetup,
) -> Result<RoomTypeId, LedgerError> {
    let id: i64 = sqlx::query_scalar(
        "insert into room_type (property_id, code, name, rooms, counts, adults_max, children_max,
                                total_max, hold_seconds)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         returning room_type_id",
    )
    .bind(property.0)
    .bind(code)
    .bind(&setup.name)
    .bind(setup.rooms)
    .bind(counts(setup))
    .bind(setup.adults_max)
    .bind(setup.children_max)
    .bind(setup.total_max)
    .bind(setup.hold_seconds)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("making a room type"))?;
    Ok(RoomTypeId(id))
}

/// Changes a room type, without its components, and counts its version up.
pub(crate) async fn update(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomTypeId,
    setup: &RoomTypeSetup,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update room_type
         set name = $3, rooms = $4, counts = $5, adults_max = $6, children_max = $7,
             total_max = $8, hold_seconds = $9, version = version + 1
         where property_id = $1 and room_type_id = $2",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(&setup.name)
    .bind(setup.rooms)
    .bind(counts(setup))
    .bind(setup.adults_max)
    .bind(setup.children_max)
    .bind(setup.total_max)
    .bind(setup.hold_seconds)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("changing a room type"))?;
    Ok(())
}

/// Sets a type's physical count to the number of its listed rooms, where it differs.
pub(crate) async fn set_rooms(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomTypeId,
    rooms: i32,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update room_type set rooms = $3, version = version + 1
         where property_id = $1 and room_type_id = $2 and rooms <> $3",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(rooms)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("counting a type's rooms"))?;
    Ok(())
}

/// Takes the components of a type away.
pub(crate) async fn delete_components(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomTypeId,
) -> Result<(), LedgerError> {
    sqlx::query("delete from room_type_component where property_id = $1 and room_type_id = $2")
        .bind(property.0)
        .bind(id.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking components away"))?;
    Ok(())
}

/// Gives a type its components.
pub(crate) async fn insert_components(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RoomTypeId,
    components: &[(RoomTypeId, i32)],
) -> Result<(), LedgerError> {
    let ids: Vec<i64> = components.iter().map(|(id, _)| id.0).collect();
    let quantities: Vec<i32> = components.iter().map(|(_, n)| *n).collect();
    sqlx::query(
        "insert into room_type_component (property_id, room_type_id, component_id, quantity)
         select $1, $2, c.id, c.quantity from unnest($3::bigint[], $4::int[]) as c (id, quantity)",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(ids)
    .bind(quantities)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("giving a type its components"))?;
    Ok(())
}

/// What each composed type of a property is made of: plain types and rooms per unit.
pub(crate) async fn compositions(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<HashMap<RoomTypeId, Vec<(RoomTypeId, i32)>>, LedgerError> {
    let rows: Vec<(i64, i64, i32)> = sqlx::query_as(
        "select room_type_id, component_id, quantity from room_type_component
         where property_id = $1 order by room_type_id, component_id",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading compositions"))?;
    let mut compositions: HashMap<_, Vec<_>> = HashMap::new();
    for (composed, part, quantity) in rows {
        let parts = compositions.entry(RoomTypeId(composed)).or_default();
        parts.push((RoomTypeId(part), quantity));
    }
    Ok(compositions)
}

/// Codes of the plain types of which composed types are made.
pub(crate) async fn codes_of_parts(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<HashMap<RoomTypeId, String>, LedgerError> {
    let rows: Vec<(i64, String)> = sqlx::query_as(
        "select distinct t.room_type_id, t.code
           from room_type_component c
           join room_type t on t.property_id = c.property_id and t.room_type_id = c.component_id
          where c.property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading the codes of parts"))?;
    let codes = rows.into_iter().map(|(id, code)| (RoomTypeId(id), code));
    Ok(codes.collect())
}

fn counts(setup: &RoomTypeSetup) -> &'static str {
    if setup.counts_beds { "beds" } else { "rooms" }
}

impl From<Row> for RoomType {
    fn from(row: Row) -> Self {
        Self {
            id: RoomTypeId(row.room_type_id),
            code: row.code,
            setup: RoomTypeSetup {
                name: row.name,
                rooms: row.rooms,
                counts_beds: row.counts == "beds",
                adults_max: row.adults_max,
                children_max: row.children_max,
                total_max: row.total_max,
                hold_seconds: row.hold_seconds,
                components: row.components.0,
            },
            version: row.version,
        }
    }
}
