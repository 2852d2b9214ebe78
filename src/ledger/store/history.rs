//! What became of stays that were expected: `known_reservation`, `known_room_stay`.

use std::collections::BTreeMap;

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::money::Currency;
use keyrack_model::stay::{StayDate, StayRange};
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Between which days before the arrival one looks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    /// Stays that were expected so many days before they should arrive.
    pub lead_days: i32,
    /// A cancellation comes in time if it comes so many days before, or earlier.
    pub until_days: i32,
}

/// Stays of one source that arrived (or should have) on one weekday.
#[derive(Clone, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct FateRow {
    /// From where.
    pub source: String,
    /// 1 is Monday.
    pub weekday: i32,
    /// Stays that were expected.
    pub expected: i64,
    /// Of these, cancelled afterwards.
    pub cancelled: i64,
    /// Of these, until the end of the window.
    pub cancelled_in_time: i64,
    /// Guests who did not come.
    pub no_shows: i64,
}

/// The fates of the stays of the last year, by source and weekday of arrival. A hold that nobody
/// paid was never expected. When a reservation ended is when it was last changed.
pub(crate) async fn fates(
    conn: &mut PgConnection,
    property: PropertyId,
    (today, zone): (StayDate, &str),
    window: Window,
) -> Result<Vec<FateRow>, LedgerError> {
    sqlx::query_as(
        "with past as (
             select r.source, r.status, min(s.arrival) as arrival,
                    (coalesce(r.booked_at, r.created_at) at time zone $3)::date as booked_on,
                    (r.updated_at at time zone $3)::date as ended_on
               from known_room_stay s join known_reservation r using (property_id, reservation_id)
              where s.property_id = $1 and not s.is_given_back
                and s.arrival >= $2::date - 365 and s.arrival < $2::date
                and r.status in ('confirmed', 'checked_in', 'completed', 'no_show', 'cancelled')
                and not (r.status = 'cancelled' and r.hold_until is not null
                         and r.payment_reference is null)
              group by r.reservation_id, r.source, r.status, r.booked_at, r.created_at,
                       r.updated_at)
         select source, extract(isodow from arrival)::integer as weekday, count(*) as expected,
                count(*) filter (where status = 'cancelled') as cancelled,
                count(*) filter (where status = 'cancelled' and ended_on <= arrival - $5::integer)
                    as cancelled_in_time,
                count(*) filter (where status = 'no_show') as no_shows
           from past
          where booked_on <= arrival - $4::integer
            and not (status = 'cancelled' and ended_on <= arrival - $4::integer)
          group by 1, 2 order by 1, 2",
    )
    .bind(property.0)
    .bind(Date::from(today))
    .bind(zone)
    .bind(window.lead_days)
    .bind(window.until_days)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading what became of stays"))
}

/// What became of the rooms of a night.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NightFates {
    /// Rooms that are sold, by source.
    pub sold: BTreeMap<String, i64>,
    /// Rooms cancelled.
    pub cancelled: i64,
    /// Rooms of guests who did not come.
    pub no_shows: i64,
}

/// What became of the rooms of some nights of a type.
pub(crate) async fn of_nights(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    nights: StayRange,
) -> Result<BTreeMap<StayDate, NightFates>, LedgerError> {
    let rows: Vec<(Date, String, String, i64)> = sqlx::query_as(
        "select d.night::date, r.source, r.status, sum(s.quantity)::bigint
           from known_room_stay s
           join known_reservation r using (property_id, reservation_id)
          cross join lateral generate_series(greatest(s.arrival, $3::date)::timestamp,
                                             least(s.departure, $4::date)::timestamp
                                                 - interval '1 day',
                                             interval '1 day') d(night)
          where s.property_id = $1 and s.room_type_id = $2 and not s.is_given_back
            and s.arrival < $4 and s.departure > $3
            and r.status in ('confirmed', 'checked_in', 'completed', 'no_show', 'cancelled')
          group by 1, 2, 3",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading what became of nights"))?;
    let mut found: BTreeMap<StayDate, NightFates> = BTreeMap::new();
    for (night, source, status, rooms) in rows {
        let fates = found.entry(night.to_jiff()).or_default();
        match status.as_str() {
            "cancelled" => fates.cancelled += rooms,
            "no_show" => fates.no_shows += rooms,
            _ => *fates.sold.entry(source).or_default() += rooms,
        }
    }
    Ok(found)
}

/// What a night of a type was sold for on average in the last year, in minor units. `None` where no
/// price in that currency is known.
pub(crate) async fn paid(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    (today, currency): (StayDate, Currency),
) -> Result<Option<i64>, LedgerError> {
    sqlx::query_scalar(
        "select round(avg((n -> 1 ->> 'amount')::numeric) * power(10, $5::integer))::bigint
           from known_room_stay s cross join lateral jsonb_array_elements(s.nightly) n
          where s.property_id = $1 and s.room_type_id = $2 and s.arrival >= $3::date - 365
            and n -> 1 ->> 'currency' = $4",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(Date::from(today))
    .bind(currency.code())
    .bind(i32::try_from(currency.exponent()).unwrap_or(2))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("reading what was paid"))
}
