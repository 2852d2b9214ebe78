//! Rules that switch pools, and where they hold: `pool_rule`, `pool_switch`.

use std::collections::HashMap;

use jiff_sqlx::Date;
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, PoolRuleId, PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayRange, Weekdays};
use sqlx::PgConnection;

use crate::decide::draft::NightKey;
use crate::decide::pool_rule::{PoolRule, Scarcity, Switches};
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    rule_id: i64,
    account_id: i64,
    room_type_id: Option<i64>,
    night_from: Option<Date>,
    night_until: Option<Date>,
    weekdays: i16,
    mode: String,
    free_at_most: Option<i32>,
    free_again_at: Option<i32>,
}

/// The pool rules of a property in order.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<(PoolRuleId, PoolRule)>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select rule_id, account_id, room_type_id, night_from, night_until, weekdays, mode,
                free_at_most, free_again_at
           from pool_rule where property_id = $1 order by place, rule_id",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading pool rules"))?;
    rows.into_iter().map(Row::into_rule).collect()
}

impl Row {
    fn into_rule(self) -> Result<(PoolRuleId, PoolRule), LedgerError> {
        let unreadable = |what: String| LedgerError::Unreadable(format!("a pool rule: {what}"));
        let nights = self.night_from.zip(self.night_until);
        let scarcity = self.free_at_most.zip(self.free_again_at);
        let weekdays = u8::try_from(self.weekdays)
            .map_err(|_| unreadable(format!("weekdays {}", self.weekdays)))?;
        let rule = PoolRule {
            account: AccountId(self.account_id),
            room_type: self.room_type_id.map(RoomTypeId),
            nights: nights.and_then(|(from, to)| Stay::new(from.to_jiff(), to.to_jiff())),
            weekdays: Weekdays::from_bits(weekdays),
            mode: PoolMode::from_name(&self.mode).ok_or_else(|| unreadable(self.mode.clone()))?,
            scarcity: scarcity.map(|(at_most, again_at)| Scarcity { at_most, again_at }),
        };
        Ok((PoolRuleId(self.rule_id), rule))
    }
}

/// Takes a rule away, and its switches with it.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    property: PropertyId,
    rule: PoolRuleId,
) -> Result<(), LedgerError> {
    sqlx::query("delete from pool_rule where property_id = $1 and rule_id = $2")
        .bind(property.0)
        .bind(rule.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking a pool rule away"))?;
    Ok(())
}

/// Takes the rules of an account away.
pub(crate) async fn delete_of(
    conn: &mut PgConnection,
    property: PropertyId,
    account: AccountId,
) -> Result<(), LedgerError> {
    sqlx::query("delete from pool_rule where property_id = $1 and account_id = $2")
        .bind(property.0)
        .bind(account.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking pool rules away"))?;
    Ok(())
}

/// Gives a rule that stays another place.
pub(crate) async fn place(
    conn: &mut PgConnection,
    property: PropertyId,
    rule: PoolRuleId,
    place: i32,
) -> Result<(), LedgerError> {
    sqlx::query("update pool_rule set place = $3 where property_id = $1 and rule_id = $2")
        .bind(property.0)
        .bind(rule.0)
        .bind(place)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("placing a pool rule"))?;
    Ok(())
}

/// Adds a rule.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    rule: &PoolRule,
    place: i32,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into pool_rule (property_id, place, account_id, room_type_id, night_from,
                                night_until, weekdays, mode, free_at_most, free_again_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(property.0)
    .bind(place)
    .bind(rule.account.0)
    .bind(rule.room_type.map(|id| id.0))
    .bind(rule.nights.map(|nights| Date::from(nights.arrival())))
    .bind(rule.nights.map(|nights| Date::from(nights.departure())))
    .bind(i16::from(rule.weekdays.bits()))
    .bind(rule.mode.as_str())
    .bind(rule.scarcity.map(|scarcity| scarcity.at_most))
    .bind(rule.scarcity.map(|scarcity| scarcity.again_at))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("adding a pool rule"))?;
    Ok(())
}

/// Switches that are on, of the nights that a batch looks at.
pub(crate) async fn seen(
    conn: &mut PgConnection,
    nights: &[NightKey],
) -> Result<HashMap<PropertyId, Switches>, LedgerError> {
    let rows: Vec<(i64, i64, i64, Date)> = sqlx::query_as(
        "select s.property_id, s.rule_id, s.room_type_id, s.stay_date
           from (select distinct unnest($1::bigint[]) as property_id) p
           join pool_rule q on q.property_id = p.property_id and q.free_at_most is not null
           join unnest($1::bigint[], $2::bigint[], $3::date[]) k(property_id, room_type_id,
                stay_date) on k.property_id = q.property_id
          cross join lateral (select * from pool_switch s
                               where s.property_id = q.property_id and s.rule_id = q.rule_id
                                 and s.room_type_id = k.room_type_id
                                 and s.stay_date = k.stay_date offset 0) s",
    )
    .bind(nights.iter().map(|key| key.0.0).collect::<Vec<_>>())
    .bind(nights.iter().map(|key| key.1.0).collect::<Vec<_>>())
    .bind(
        nights
            .iter()
            .map(|key| Date::from(key.2))
            .collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading switches"))?;
    let mut seen: HashMap<PropertyId, Switches> = HashMap::new();
    for (property, rule, room_type, night) in rows {
        let of = seen.entry(PropertyId(property)).or_default();
        of.insert((PoolRuleId(rule), (RoomTypeId(room_type), night.to_jiff())));
    }
    Ok(seen)
}

/// Switches of a property that are on over some nights.
pub(crate) async fn switches(
    conn: &mut PgConnection,
    property: PropertyId,
    nights: StayRange,
) -> Result<Switches, LedgerError> {
    let rows: Vec<(i64, i64, Date)> = sqlx::query_as(
        "select rule_id, room_type_id, stay_date from pool_switch
          where property_id = $1 and stay_date >= $2 and stay_date < $3",
    )
    .bind(property.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading switches"))?;
    let each = rows.into_iter().map(|(rule, room_type, night)| {
        (PoolRuleId(rule), (RoomTypeId(room_type), night.to_jiff()))
    });
    Ok(each.collect())
}
