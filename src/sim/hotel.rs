//! The hotels of a shape, written into an empty database.

use std::collections::BTreeMap;

use jiff_sqlx::Date;
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, AllotmentId, GroupId, PropertyId, RoomTypeId};
use keyrack_model::stay::plus_days;
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool};

use crate::error::SimError;
use crate::ids::PropertyIds;
use crate::pool_shape::OwnerShape;
use crate::shape::{PropertyShape, Shape, TypeShape};

/// Writes every property of a shape, with its rooms and the nights that are there from the
/// beginning; others are born when they are asked for.
pub async fn write(pool: &PgPool, shape: &Shape) -> Result<Vec<PropertyIds>, SimError> {
    let writing = SimError::look("writing the hotels");
    let mut tx = pool.begin().await.map_err(&writing)?;
    let connection = connection(&mut tx).await.map_err(&writing)?;
    let mut all = Vec::new();
    for house in &shape.properties {
        let ids = property(&mut tx, house, connection).await;
        all.push(ids.map_err(&writing)?);
    }
    tx.commit().await.map_err(&writing)?;
    Ok(all)
}

async fn connection(conn: &mut PgConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar(
        "insert into connection (code, channel, credentials) values ('sim', 'sim', '')
         returning connection_id",
    )
    .fetch_one(conn)
    .await
}

async fn property(
    conn: &mut PgConnection,
    house: &PropertyShape,
    connection: i64,
) -> Result<PropertyIds, sqlx::Error> {
    let first = house.bookable_from;
    let late = if house.late_confirm_retakes {
        "retake"
    } else {
        "refuse"
    };
    let id: i64 = sqlx::query_scalar(
        "insert into property (code, name, time_zone, currency, horizon_days, hold_seconds,
                               confirm_grace_seconds, extensions_max, late_confirm, bookable_from,
                               policies)
         values ($1, $1, $2, 'EUR', $3, $4, $5, $6, $7, $8, $9) returning property_id",
    )
    .bind(&house.code)
    .bind(&house.zone)
    .bind(house.horizon_days)
    .bind(house.hold_seconds)
    .bind(house.confirm_grace_seconds)
    .bind(house.extensions_max)
    .bind(late)
    .bind(first.map(|offset| Date::from(plus_days(house.first_night, offset))))
    .bind(Json(policies(house)))
    .fetch_one(&mut *conn)
    .await?;
    let mut types = Vec::new();
    for room_type in &house.types {
        types.push(self::room_type(conn, id, room_type, &types).await?);
    }
    for at in house.plain_types() {
        furnish(conn, id, house, at, types[at]).await?;
    }
    let mut accounts = Vec::new();
    for account in &house.accounts {
        let account: i64 = sqlx::query_scalar(
            "insert into account (property_id, code, connection_id, channel, hotel_code)
             values ($1, $2, $3, 'sim', $2) returning account_id",
        )
        .bind(id)
        .bind(&account.code)
        .bind(connection)
        .fetch_one(&mut *conn)
        .await?;
        accounts.push(AccountId(account));
    }
    let mut ids = PropertyIds {
        property: PropertyId(id),
        types,
        accounts,
        group: GroupId(0),
        allotments: Vec::new(),
    };
    pools(conn, house, &mut ids).await?;
    map(conn, house, &ids).await?;
    Ok(ids)
}

/// The group and the allotments, with nothing agreed yet.
async fn pools(
    conn: &mut PgConnection,
    house: &PropertyShape,
    ids: &mut PropertyIds,
) -> Result<(), sqlx::Error> {
    let cut_off = house.pools.group_cut_off;
    let group: i64 = sqlx::query_scalar(
        "insert into room_group (property_id, code, name, cut_off)
         values ($1, 'choir', 'A choir', $2) returning group_id",
    )
    .bind(ids.property.0)
    .bind(cut_off.map(|offset| Date::from(plus_days(house.first_night, offset))))
    .fetch_one(&mut *conn)
    .await?;
    ids.group = GroupId(group);
    for allotment in &house.pools.allotments {
        let (account, group) = match allotment.owner {
            OwnerShape::Account(at) => (Some(ids.accounts[at].0), None),
            OwnerShape::Group => (None, Some(group)),
        };
        let id: i64 = sqlx::query_scalar(
            "insert into allotment (property_id, code, account_id, group_id, room_type_id, version)
             values ($1, $2, $3, $4, $5, 1) returning allotment_id",
        )
        .bind(ids.property.0)
        .bind(&allotment.code)
        .bind(account)
        .bind(group)
        .bind(ids.types[allotment.room_type].0)
        .fetch_one(&mut *conn)
        .await?;
        ids.allotments.push(AllotmentId(id));
    }
    Ok(())
}

/// Every account is mapped to every type.
async fn map(
    conn: &mut PgConnection,
    house: &PropertyShape,
    ids: &PropertyIds,
) -> Result<(), sqlx::Error> {
    for (at, account) in ids.accounts.iter().enumerate() {
        for (of, room_type) in ids.types.iter().enumerate() {
            let pool = house.pools.mapping(at, of);
            let (mode, allotment) = pool.map_or((PoolMode::Shared, None), |(mode, allotment)| {
                (mode, Some(ids.allotments[allotment].0))
            });
            sqlx::query(
                "insert into mapping (property_id, account_id, room_type_id, channel_room_code,
                                      pool, allotment_id)
                 values ($1, $2, $3, $4, $5, $6)",
            )
            .bind(ids.property.0)
            .bind(account.0)
            .bind(room_type.0)
            .bind(format!("C{of}"))
            .bind(mode.as_str())
            .bind(allotment)
            .execute(&mut *conn)
            .await?;
        }
    }
    Ok(())
}

/// What has no column of its own.
fn policies(house: &PropertyShape) -> serde_json::Value {
    let by_source: BTreeMap<&str, i32> = house
        .web_hold_seconds
        .map(|s| ("web", s))
        .into_iter()
        .collect();
    serde_json::json!({
        "no_show_keeps": house.no_show_keeps,
        "hold_seconds_by_source": by_source,
        "meant_overbooking_case_days": house.meant_overbooking_case_days,
    })
}

async fn room_type(
    conn: &mut PgConnection,
    property: i64,
    shape: &TypeShape,
    plain: &[RoomTypeId],
) -> Result<RoomTypeId, sqlx::Error> {
    let id: i64 = sqlx::query_scalar(
        "insert into room_type (property_id, code, name, rooms, hold_seconds)
         values ($1, $2, $2, $3, $4) returning room_type_id",
    )
    .bind(property)
    .bind(&shape.code)
    .bind(shape.rooms)
    .bind(shape.hold_seconds)
    .fetch_one(&mut *conn)
    .await?;
    for (part, quantity) in &shape.components {
        sqlx::query(
            "insert into room_type_component (property_id, room_type_id, component_id, quantity)
             values ($1, $2, $3, $4)",
        )
        .bind(property)
        .bind(id)
        .bind(plain[*part].0)
        .bind(quantity)
        .execute(&mut *conn)
        .await?;
    }
    Ok(RoomTypeId(id))
}

/// The rooms of a type, and its first nights.
async fn furnish(
    conn: &mut PgConnection,
    property: i64,
    house: &PropertyShape,
    at: usize,
    room_type: RoomTypeId,
) -> Result<(), sqlx::Error> {
    let rooms = 0..house.types[at].rooms;
    sqlx::query(
        "insert into room (property_id, room_type_id, code)
         select $1, $2, code from unnest($3) as code",
    )
    .bind(property)
    .bind(room_type.0)
    .bind(
        rooms
            .map(|room| house.room_code(at, room))
            .collect::<Vec<_>>(),
    )
    .execute(&mut *conn)
    .await?;
    let nights = house
        .born()
        .map(|offset| Date::from(plus_days(house.first_night, offset)));
    let nights: Vec<Date> = nights.collect();
    sqlx::query("select ledger_give_birth($1, $2, $3)")
        .bind(vec![property; nights.len()])
        .bind(vec![room_type.0; nights.len()])
        .bind(nights)
        .execute(conn)
        .await?;
    Ok(())
}
