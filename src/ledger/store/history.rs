//! What became of stays that were expected: `known_reservation`, `known_room_stay`.

use jiff_sqlx::Date;
use keyrack_model::id::PropertyId;
use keyrack_model::stay::StayDate;
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
