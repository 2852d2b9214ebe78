//! How far hotels mean to sell: `overbooking_limit_rule`.

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, Weekdays};
use sqlx::PgConnection;

use crate::decide::overbooking::limits::{Limit, LimitRule};
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    room_type_id: i64,
    night_from: Date,
    night_until: Date,
    weekdays: i16,
    lead_days_min: i32,
    lead_days_max: Option<i32>,
    rooms: Option<i32>,
    percent: Option<i32>,
}

/// The rules of a property, in the order in which they were given.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<LimitRule>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select * from overbooking_limit_rule where property_id = $1 order by rule_id",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading overbooking limits"))?;
    rows.into_iter().map(LimitRule::try_from).collect()
}

/// Takes the rules of a property away.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<(), LedgerError> {
    sqlx::query("delete from overbooking_limit_rule where property_id = $1")
        .bind(property.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking overbooking limits away"))?;
    Ok(())
}

/// Adds a rule.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    rule: &LimitRule,
) -> Result<(), LedgerError> {
    let (rooms, percent) = match rule.limit {
        Limit::Rooms(rooms) => (Some(rooms), None),
        Limit::Percent(percent) => (None, Some(percent)),
    };
    sqlx::query(
        "insert into overbooking_limit_rule (property_id, room_type_id, night_from, night_until,
                                             weekdays, lead_days_min, lead_days_max, rooms, percent)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
    )
    .bind(property.0)
    .bind(rule.room_type.0)
    .bind(Date::from(rule.nights.arrival()))
    .bind(Date::from(rule.nights.departure()))
    .bind(i16::from(rule.weekdays.bits()))
    .bind(rule.lead_days_min)
    .bind(rule.lead_days_max)
    .bind(rooms)
    .bind(percent)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("adding an overbooking limit"))?;
    Ok(())
}

impl TryFrom<Row> for LimitRule {
    type Error = LedgerError;

    fn try_from(row: Row) -> Result<Self, LedgerError> {
        let unreadable = || LedgerError::Unreadable("an overbooking limit".to_owned());
        let limit = match (row.rooms, row.percent) {
            (Some(rooms), None) => Limit::Rooms(rooms),
            (None, Some(percent)) => Limit::Percent(percent),
            _ => return Err(unreadable()),
        };
        let nights = Stay::new(row.night_from.to_jiff(), row.night_until.to_jiff());
        let weekdays = u8::try_from(row.weekdays).map_err(|_| unreadable())?;
        Ok(Self {
            room_type: RoomTypeId(row.room_type_id),
            nights: nights.ok_or_else(unreadable)?,
            weekdays: Weekdays::from_bits(weekdays),
            lead_days_min: row.lead_days_min,
            lead_days_max: row.lead_days_max,
            limit,
        })
    }
}
