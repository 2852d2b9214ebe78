//! Rates and restrictions of nights: `rate_night`.

use jiff_sqlx::Date;
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::restriction::Restrictions;
use keyrack_model::stay::StayRange;
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::decide::sellable::RateNight;
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    room_type_id: i64,
    rate_plan_id: i64,
    account_id: i64,
    stay_date: Date,
    amount_minor: Option<i64>,
    occupancy_rates: Option<Json<Vec<(u8, i64)>>>,
    min_stay_arrival: Option<i32>,
    min_stay_through: Option<i32>,
    max_stay: Option<i32>,
    closed_to_arrival: Option<bool>,
    closed_to_departure: Option<bool>,
    min_advance_days: Option<i32>,
    max_advance_days: Option<i32>,
    stop_sell: Option<bool>,
}

/// What was set of the nights of some types, with what was set of the whole property. Pass the
/// departure date among the nights where a stay is checked.
pub(crate) async fn load(
    conn: &mut PgConnection,
    property: PropertyId,
    types: &[RoomTypeId],
    nights: StayRange,
) -> Result<Vec<RateNight>, LedgerError> {
    let mut ids: Vec<i64> = types.iter().map(|id| id.0).collect();
    ids.push(0);
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, rate_plan_id, account_id, stay_date, amount_minor, occupancy_rates,
                min_stay_arrival, min_stay_through, max_stay, closed_to_arrival,
                closed_to_departure, min_advance_days, max_advance_days, stop_sell
         from rate_night
         where property_id = $1 and room_type_id = any($2) and stay_date >= $3 and stay_date < $4",
    )
    .bind(property.0)
    .bind(ids)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading rates"))?;
    Ok(rows.into_iter().map(RateNight::from).collect())
}

impl From<Row> for RateNight {
    fn from(row: Row) -> Self {
        let named = |id: i64| (id != 0).then_some(id);
        Self {
            room_type: named(row.room_type_id).map(RoomTypeId),
            rate_plan: named(row.rate_plan_id).map(RatePlanId),
            account: named(row.account_id).map(AccountId),
            night: row.stay_date.to_jiff(),
            amount_minor: row.amount_minor,
            occupancy_rates: row.occupancy_rates.map(|Json(rates)| rates),
            restrictions: Restrictions {
                min_stay_arrival: row.min_stay_arrival,
                min_stay_through: row.min_stay_through,
                max_stay: row.max_stay,
                closed_to_arrival: row.closed_to_arrival.unwrap_or(false),
                closed_to_departure: row.closed_to_departure.unwrap_or(false),
                min_advance_days: row.min_advance_days,
                max_advance_days: row.max_advance_days,
                stop_sell: row.stop_sell.unwrap_or(false),
            },
        }
    }
}
