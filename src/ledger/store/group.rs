//! Groups: `room_group`.

use jiff_sqlx::Date;
use keyrack_model::id::{GroupId, PropertyId, ReservationId};
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::groups::{Group, GroupSetup};

#[derive(sqlx::FromRow)]
struct Row {
    group_id: i64,
    code: String,
    name: String,
    contact: Option<String>,
    cut_off: Option<Date>,
    version: i64,
}

impl From<Row> for Group {
    fn from(row: Row) -> Self {
        Self {
            id: GroupId(row.group_id),
            code: row.code,
            setup: GroupSetup {
                name: row.name,
                contact: row.contact,
                cut_off: row.cut_off.map(Date::to_jiff),
            },
            version: row.version,
        }
    }
}

/// The groups of a property in order of code.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<Group>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select group_id, code, name, contact, cut_off, version
           from room_group where property_id = $1 order by code",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading groups"))?;
    Ok(rows.into_iter().map(Group::from).collect())
}

/// Those after a code in order of code, at most so many.
pub(crate) async fn page(
    conn: &mut PgConnection,
    property: PropertyId,
    after: &str,
    limit: u32,
) -> Result<Vec<Group>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select group_id, code, name, contact, cut_off, version
           from room_group where property_id = $1 and code > $2 order by code limit $3",
    )
    .bind(property.0)
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading groups"))?;
    Ok(rows.into_iter().map(Group::from).collect())
}

/// The one of a code.
pub(crate) async fn by_code(
    conn: &mut PgConnection,
    property: PropertyId,
    code: &str,
) -> Result<Option<Group>, LedgerError> {
    let row: Option<Row> = sqlx::query_as(
        "select group_id, code, name, contact, cut_off, version
           from room_group where property_id = $1 and code = $2",
    )
    .bind(property.0)
    .bind(code)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading a group"))?;
    Ok(row.map(Group::from))
}

/// When the rooms of a group fall back.
pub(crate) async fn cut_off(
    conn: &mut PgConnection,
    property: PropertyId,
    group: GroupId,
) -> Result<Option<StayDate>, LedgerError> {
    let found: Option<Option<Date>> = sqlx::query_scalar(
        "select cut_off from room_group where property_id = $1 and group_id = $2",
    )
    .bind(property.0)
    .bind(group.0)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading a group"))?;
    Ok(found.flatten().map(Date::to_jiff))
}

/// Makes a group.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    code: &str,
    setup: &GroupSetup,
) -> Result<Group, LedgerError> {
    let row: Row = sqlx::query_as(
        "insert into room_group (property_id, code, name, contact, cut_off)
         values ($1, $2, $3, $4, $5)
         returning group_id, code, name, contact, cut_off, version",
    )
    .bind(property.0)
    .bind(code)
    .bind(&setup.name)
    .bind(&setup.contact)
    .bind(setup.cut_off.map(Date::from))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("making a group"))?;
    Ok(row.into())
}

/// Changes a group and counts its version up.
pub(crate) async fn update(
    conn: &mut PgConnection,
    property: PropertyId,
    group: GroupId,
    setup: &GroupSetup,
) -> Result<Group, LedgerError> {
    let row: Row = sqlx::query_as(
        "update room_group set name = $3, contact = $4, cut_off = $5, version = version + 1
          where property_id = $1 and group_id = $2
         returning group_id, code, name, contact, cut_off, version",
    )
    .bind(property.0)
    .bind(group.0)
    .bind(&setup.name)
    .bind(&setup.contact)
    .bind(setup.cut_off.map(Date::from))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("changing a group"))?;
    Ok(row.into())
}

/// Reservations that ever drew from the allotments of a group, in order of id.
pub(crate) async fn reservations(
    conn: &mut PgConnection,
    property: PropertyId,
    group: GroupId,
    limit: u32,
) -> Result<Vec<ReservationId>, LedgerError> {
    let ids: Vec<Uuid> = sqlx::query_scalar(
        "select distinct e.reservation_id
           from allotment a join allotment_entry e using (property_id, allotment_id)
          where a.property_id = $1 and a.group_id = $2 and e.reservation_id is not null
          order by 1 limit $3",
    )
    .bind(property.0)
    .bind(group.0)
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading a group's reservations"))?;
    Ok(ids.into_iter().map(ReservationId).collect())
}
