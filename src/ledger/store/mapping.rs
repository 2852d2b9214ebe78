//! Our codes and a channel's: `mapping`.

use keyrack_model::channel::{ChannelMapping, PoolMode};
use keyrack_model::id::{AccountId, AllotmentId, PropertyId, RatePlanId, RoomTypeId};
use sqlx::PgConnection;

use crate::catalog::MappingSetup;
use crate::error::LedgerError;

/// The mappings of an account by codes, in order of the channel's.
pub(crate) async fn codes(
    conn: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<MappingSetup>, LedgerError> {
    let rows: Vec<CodesRow> = sqlx::query_as(
        "select t.code as room_type, p.code as rate_plan, m.channel_room_code, m.channel_rate_code,
                m.pool, l.code as allotment
         from account a
         join mapping m using (property_id, account_id)
         join room_type t using (property_id, room_type_id)
         left join rate_plan p on p.property_id = m.property_id and p.rate_plan_id = m.rate_plan_id
         left join allotment l on l.property_id = m.property_id
                              and l.allotment_id = m.allotment_id
         where a.account_id = $1
         order by m.channel_room_code, m.channel_rate_code nulls first",
    )
    .bind(account.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading mappings"))?;
    let each = rows.into_iter().map(|row| {
        Ok(MappingSetup {
            room_type: row.room_type,
            rate_plan: row.rate_plan,
            channel_room_code: row.channel_room_code,
            channel_rate_code: row.channel_rate_code,
            pool: mode(&row.pool)?,
            allotment: row.allotment,
        })
    });
    each.collect()
}

#[derive(sqlx::FromRow)]
struct CodesRow {
    room_type: String,
    rate_plan: Option<String>,
    channel_room_code: String,
    channel_rate_code: Option<String>,
    pool: String,
    allotment: Option<String>,
}

fn mode(name: &str) -> Result<PoolMode, LedgerError> {
    PoolMode::from_name(name).ok_or_else(|| LedgerError::Unreadable(format!("the pool {name:?}")))
}

#[derive(sqlx::FromRow)]
struct IdsRow {
    room_type_id: i64,
    rate_plan_id: Option<i64>,
    channel_room_code: String,
    channel_rate_code: Option<String>,
    pool: String,
    allotment_id: Option<i64>,
}

/// The mappings of an account by ids, in order of the channel's codes.
pub(crate) async fn ids(
    conn: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<ChannelMapping>, LedgerError> {
    let rows: Vec<IdsRow> = sqlx::query_as(
        "select m.room_type_id, m.rate_plan_id, m.channel_room_code, m.channel_rate_code, m.pool,
                m.allotment_id
         from account a join mapping m using (property_id, account_id)
         where a.account_id = $1
         order by m.channel_room_code, m.channel_rate_code nulls first",
    )
    .bind(account.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading mappings"))?;
    let each = rows.into_iter().map(|row| {
        Ok(ChannelMapping {
            room_type: RoomTypeId(row.room_type_id),
            rate_plan: row.rate_plan_id.map(RatePlanId),
            channel_room_code: row.channel_room_code,
            channel_rate_code: row.channel_rate_code,
            pool: mode(&row.pool)?,
            allotment: row.allotment_id.map(AllotmentId),
        })
    });
    each.collect()
}

/// The room type that an account's unmapped rooms take, where one is set.
pub(crate) async fn fallback(
    conn: &mut PgConnection,
    account: AccountId,
) -> Result<Option<RoomTypeId>, LedgerError> {
    let id: Option<i64> = sqlx::query_scalar(
        "select t.room_type_id from account a
         join room_type t on t.property_id = a.property_id
                         and t.code = a.settings ->> 'fallback_room_type'
         where a.account_id = $1",
    )
    .bind(account.0)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading a fallback type"))?;
    Ok(id.map(RoomTypeId))
}

/// Takes the mappings of an account away.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    property: PropertyId,
    account: AccountId,
) -> Result<(), LedgerError> {
    sqlx::query("delete from mapping where property_id = $1 and account_id = $2")
        .bind(property.0)
        .bind(account.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking mappings away"))?;
    Ok(())
}

/// Gives an account mappings, whose codes are known to exist.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    account: AccountId,
    mappings: &[ChannelMapping],
) -> Result<(), LedgerError> {
    let types: Vec<i64> = mappings.iter().map(|m| m.room_type.0).collect();
    let plans: Vec<Option<i64>> = mappings.iter().map(|m| m.rate_plan.map(|p| p.0)).collect();
    let rooms: Vec<&str> = mappings
        .iter()
        .map(|m| m.channel_room_code.as_str())
        .collect();
    let rates: Vec<Option<&str>> = mappings
        .iter()
        .map(|m| m.channel_rate_code.as_deref())
        .collect();
    let allotments: Vec<Option<i64>> = mappings.iter().map(|m| m.allotment.map(|a| a.0)).collect();
    sqlx::query(
        "insert into mapping (property_id, account_id, room_type_id, rate_plan_id,
                              channel_room_code, channel_rate_code, pool, allotment_id)
         select $1, $2, m.room_type_id, m.rate_plan_id, m.room_code, m.rate_code, m.pool,
                m.allotment_id
         from unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::text[], $8::bigint[])
              as m (room_type_id, rate_plan_id, room_code, rate_code, pool, allotment_id)",
    )
    .bind(property.0)
    .bind(account.0)
    .bind(types)
    .bind(plans)
    .bind(rooms)
    .bind(rates)
    .bind(mappings.iter().map(|m| m.pool.as_str()).collect::<Vec<_>>())
    .bind(allotments)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("giving an account mappings"))?;
    Ok(())
}
