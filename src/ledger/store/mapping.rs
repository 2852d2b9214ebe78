//! Our codes and a channel's: `mapping`.

use keyrack_model::channel::ChannelMapping;
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, RoomTypeId};
use sqlx::PgConnection;

use crate::catalog::MappingSetup;
use crate::error::LedgerError;

/// The mappings of an account by codes, in order of the channel's.
pub(crate) async fn codes(
    conn: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<MappingSetup>, LedgerError> {
    let rows: Vec<(String, Option<String>, String, Option<String>)> = sqlx::query_as(
        "select t.code, p.code, m.channel_room_code, m.channel_rate_code
         from account a
         join mapping m using (property_id, account_id)
         join room_type t using (property_id, room_type_id)
         left join rate_plan p on p.property_id = m.property_id and p.rate_plan_id = m.rate_plan_id
         where a.account_id = $1
         order by m.channel_room_code, m.channel_rate_code nulls first",
    )
    .bind(account.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading mappings"))?;
    let mappings = rows.into_iter();
    Ok(mappings
        .map(
            |(room_type, rate_plan, channel_room_code, channel_rate_code)| MappingSetup {
                room_type,
                rate_plan,
                channel_room_code,
                channel_rate_code,
            },
        )
        .collect())
}

/// The mappings of an account by ids, in order of the channel's codes.
pub(crate) async fn ids(
    conn: &mut PgConnection,
    account: AccountId,
) -> Result<Vec<ChannelMapping>, LedgerError> {
    let rows: Vec<(i64, Option<i64>, String, Option<String>)> = sqlx::query_as(
        "select m.room_type_id, m.rate_plan_id, m.channel_room_code, m.channel_rate_code
         from account a join mapping m using (property_id, account_id)
         where a.account_id = $1
         order by m.channel_room_code, m.channel_rate_code nulls first",
    )
    .bind(account.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading mappings"))?;
    let mappings = rows.into_iter();
    Ok(mappings
        .map(
            |(room_type, plan, channel_room_code, channel_rate_code)| ChannelMapping {
                room_type: RoomTypeId(room_type),
                rate_plan: plan.map(RatePlanId),
                channel_room_code,
                channel_rate_code,
            },
        )
        .collect())
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
    sqlx::query(
        "insert into mapping (property_id, account_id, room_type_id, rate_plan_id,
                              channel_room_code, channel_rate_code)
         select $1, $2, m.room_type_id, m.rate_plan_id, m.room_code, m.rate_code
         from unnest($3::bigint[], $4::bigint[], $5::text[], $6::text[])
              as m (room_type_id, rate_plan_id, room_code, rate_code)",
    )
    .bind(property.0)
    .bind(account.0)
    .bind(types)
    .bind(plans)
    .bind(rooms)
    .bind(rates)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("giving an account mappings"))?;
    Ok(())
}
