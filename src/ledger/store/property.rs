//! Properties: `property`.

use jiff::tz::TimeZone;
use jiff_sqlx::{Date, Time, Timestamp as SqlTimestamp};
use keyrack_model::id::PropertyId;
use keyrack_model::money::Currency;
use keyrack_model::stay::{Stay, StayDate, StayRange, business_day, plus_days};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::catalog::{Property, PropertySetup};
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    property_id: i64,
    code: String,
    name: String,
    time_zone: String,
    currency: String,
    day_roll_over: Time,
    horizon_days: i32,
    hold_seconds: i32,
    confirm_grace_seconds: i32,
    extensions_max: i32,
    late_confirm: String,
    bookable_from: Option<Date>,
    rate_min_minor: Option<i64>,
    rate_max_minor: Option<i64>,
    policies: Json<serde_json::Value>,
    version: i64,
}

/// The property of a code.
pub(crate) async fn by_code(
    conn: &mut PgConnection,
    code: &str,
) -> Result<Option<Property>, LedgerError> {
    let row: Option<Row> = sqlx::query_as("select * from property where code = $1")
        .bind(code)
        .fetch_optional(conn)
        .await
        .map_err(LedgerError::while_doing("finding a property"))?;
    row.map(Property::try_from).transpose()
}

/// The property of an id.
pub(crate) async fn by_id(
    conn: &mut PgConnection,
    id: PropertyId,
) -> Result<Option<Property>, LedgerError> {
    let row: Option<Row> = sqlx::query_as("select * from property where property_id = $1")
        .bind(id.0)
        .fetch_optional(conn)
        .await
        .map_err(LedgerError::while_doing("reading a property"))?;
    row.map(Property::try_from).transpose()
}

/// All properties in order of id, after `after`.
pub(crate) async fn page(
    conn: &mut PgConnection,
    after: Option<PropertyId>,
    limit: u32,
) -> Result<Vec<Property>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select * from property where property_id > $1 order by property_id limit $2",
    )
    .bind(after.map_or(0, |id| id.0))
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("listing properties"))?;
    rows.into_iter().map(Property::try_from).collect()
}

/// Makes a property; `None` where the code is taken.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    code: &str,
    setup: &PropertySetup,
) -> Result<Option<Property>, LedgerError> {
    let row: Option<Row> = sqlx::query_as(
        "insert into property (code, name, time_zone, currency, day_roll_over, horizon_days,
                               hold_seconds, confirm_grace_seconds, extensions_max, late_confirm,
                               bookable_from, rate_min_minor, rate_max_minor, policies)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
         on conflict (code) do nothing
         returning *",
    )
    .bind(code)
    .bind(&setup.name)
    .bind(&setup.time_zone)
    .bind(setup.currency.code())
    .bind(Time::from(setup.day_roll_over))
    .bind(setup.horizon_days)
    .bind(setup.hold_seconds)
    .bind(setup.confirm_grace_seconds)
    .bind(setup.extensions_max)
    .bind(late_confirm(setup))
    .bind(setup.bookable_from.map(Date::from))
    .bind(setup.rate_min_minor)
    .bind(setup.rate_max_minor)
    .bind(&setup.policies)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("making a property"))?;
    row.map(Property::try_from).transpose()
}

/// Changes a property and counts its version up.
pub(crate) async fn update(
    conn: &mut PgConnection,
    id: PropertyId,
    setup: &PropertySetup,
) -> Result<Property, LedgerError> {
    let row: Row = sqlx::query_as(
        "update property
         set name = $2, time_zone = $3, currency = $4, day_roll_over = $5, horizon_days = $6,
             hold_seconds = $7, confirm_grace_seconds = $8, extensions_max = $9,
             late_confirm = $10, bookable_from = $11, rate_min_minor = $12, rate_max_minor = $13,
             policies = $14, version = version + 1
         where property_id = $1
         returning *",
    )
    .bind(id.0)
    .bind(&setup.name)
    .bind(&setup.time_zone)
    .bind(setup.currency.code())
    .bind(Time::from(setup.day_roll_over))
    .bind(setup.horizon_days)
    .bind(setup.hold_seconds)
    .bind(setup.confirm_grace_seconds)
    .bind(setup.extensions_max)
    .bind(late_confirm(setup))
    .bind(setup.bookable_from.map(Date::from))
    .bind(setup.rate_min_minor)
    .bind(setup.rate_max_minor)
    .bind(&setup.policies)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("changing a property"))?;
    Property::try_from(row)
}

/// Whether any night of the property has a price.
pub(crate) async fn has_prices(
    conn: &mut PgConnection,
    id: PropertyId,
) -> Result<bool, LedgerError> {
    sqlx::query_scalar(
        "select exists (select from rate_night where property_id = $1
                        and (amount_minor is not null or occupancy_rates is not null))",
    )
    .bind(id.0)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking for prices"))
}

/// Keeps all other verbs of the catalog that reach into the lanes away from a property until the
/// transaction ends. Commands in the lanes do not wait for it, so that such a verb may ask them.
pub(crate) async fn take_turn(conn: &mut PgConnection, id: PropertyId) -> Result<(), LedgerError> {
    sqlx::query("select pg_advisory_xact_lock($1, ($2 % 2147483647)::int)")
        .bind(TURN)
        .bind(id.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("waiting for a property's turn"))?;
    Ok(())
}

/// First half of the advisory lock of a property's turn; nothing else in the house takes one of it.
const TURN: i32 = 0x6b72;

/// A property's place in time: what a change of it, or a look at its nights, must know.
#[derive(Clone, Debug)]
pub(crate) struct Calendar {
    pub currency: Currency,
    pub business_day: StayDate,
    /// The first night that is not yet open.
    pub horizon_end: StayDate,
    /// Nights are born up to here (excluded).
    pub nights_until: Option<StayDate>,
    /// Nights before here have been rolled over.
    pub rolled_over_to: Option<StayDate>,
    pub rate_min_minor: Option<i64>,
    pub rate_max_minor: Option<i64>,
    /// The first night that may be booked.
    pub bookable_from: Option<StayDate>,
    /// Whether a rule switches the pool of an account.
    pub has_pool_rules: bool,
}

impl Calendar {
    /// The nights that are open: from the business day to the horizon.
    pub(crate) fn open_nights(&self) -> StayRange {
        Stay::new(self.business_day, self.horizon_end)
            .expect("a property's horizon is 1 to 2000 days, by check")
    }

    /// Those, and what lies beyond where nights are born already or were told before.
    pub(crate) fn all_nights(&self, horizon_before: StayDate) -> StayRange {
        let end = self.horizon_end.max(horizon_before);
        let end = self.nights_until.map_or(end, |until| end.max(until));
        Stay::new(self.business_day, end).unwrap_or_else(|| self.open_nights())
    }
}

#[derive(sqlx::FromRow)]
struct CalendarRow {
    time_zone: String,
    currency: String,
    day_roll_over: Time,
    horizon_days: i32,
    nights_until: Option<Date>,
    rolled_over_to: Option<Date>,
    rate_min_minor: Option<i64>,
    rate_max_minor: Option<i64>,
    bookable_from: Option<Date>,
    has_pool_rules: bool,
    now: SqlTimestamp,
}

/// Where a property stands in time.
pub(crate) async fn calendar(
    conn: &mut PgConnection,
    id: PropertyId,
) -> Result<Option<Calendar>, LedgerError> {
    let row: Option<CalendarRow> = sqlx::query_as(
        "select time_zone, currency, day_roll_over, horizon_days, nights_until, rolled_over_to,
                rate_min_minor, rate_max_minor, bookable_from, ledger_now() as now,
                exists (select from pool_rule q where q.property_id = property.property_id)
                    as has_pool_rules
         from property where property_id = $1",
    )
    .bind(id.0)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading a property's calendar"))?;
    row.map(Calendar::try_from).transpose()
}

/// The same, with the property's row locked: the first lock of every change of rules.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    id: PropertyId,
) -> Result<Option<Calendar>, LedgerError> {
    let row: Option<CalendarRow> = sqlx::query_as(
        "select time_zone, currency, day_roll_over, horizon_days, nights_until, rolled_over_to,
                rate_min_minor, rate_max_minor, bookable_from, ledger_now() as now,
                exists (select from pool_rule q where q.property_id = property.property_id)
                    as has_pool_rules
         from property where property_id = $1 for no key update",
    )
    .bind(id.0)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("locking a property"))?;
    row.map(Calendar::try_from).transpose()
}

/// Remembers how far nights are born.
pub(crate) async fn set_nights_until(
    conn: &mut PgConnection,
    id: PropertyId,
    until: StayDate,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update property set nights_until = greatest(nights_until, $2) where property_id = $1",
    )
    .bind(id.0)
    .bind(Date::from(until))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("remembering the horizon"))?;
    Ok(())
}

/// Remembers how far the days have been rolled over.
pub(crate) async fn set_rolled_over_to(
    conn: &mut PgConnection,
    id: PropertyId,
    day: StayDate,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update property set rolled_over_to = greatest(rolled_over_to, $2) where property_id = $1",
    )
    .bind(id.0)
    .bind(Date::from(day))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("remembering the roll-over"))?;
    Ok(())
}

fn late_confirm(setup: &PropertySetup) -> &'static str {
    if setup.late_confirm_retakes {
        "retake"
    } else {
        "refuse"
    }
}

/// A currency that was valid when it was stored.
pub(crate) fn currency(code: &str) -> Result<Currency, LedgerError> {
    Currency::from_code(code)
        .ok_or_else(|| LedgerError::Unreadable(format!("the currency {code:?}")))
}

impl TryFrom<Row> for Property {
    type Error = LedgerError;

    fn try_from(row: Row) -> Result<Self, LedgerError> {
        Ok(Self {
            id: PropertyId(row.property_id),
            code: row.code,
            setup: PropertySetup {
                name: row.name,
                time_zone: row.time_zone,
                currency: currency(&row.currency)?,
                day_roll_over: row.day_roll_over.to_jiff(),
                horizon_days: row.horizon_days,
                hold_seconds: row.hold_seconds,
                confirm_grace_seconds: row.confirm_grace_seconds,
                extensions_max: row.extensions_max,
                late_confirm_retakes: row.late_confirm == "retake",
                bookable_from: row.bookable_from.map(Date::to_jiff),
                rate_min_minor: row.rate_min_minor,
                rate_max_minor: row.rate_max_minor,
                policies: row.policies.0,
            },
            version: row.version,
        })
    }
}

impl TryFrom<CalendarRow> for Calendar {
    type Error = LedgerError;

    fn try_from(row: CalendarRow) -> Result<Self, LedgerError> {
        let zone = TimeZone::get(&row.time_zone)
            .map_err(|_| LedgerError::Unreadable(format!("the time zone {:?}", row.time_zone)))?;
        let now = row.now.to_jiff();
        let day = business_day(now, &zone, row.day_roll_over.to_jiff());
        Ok(Self {
            currency: currency(&row.currency)?,
            business_day: day,
            horizon_end: plus_days(day, row.horizon_days),
            nights_until: row.nights_until.map(Date::to_jiff),
            rolled_over_to: row.rolled_over_to.map(Date::to_jiff),
            rate_min_minor: row.rate_min_minor,
            rate_max_minor: row.rate_max_minor,
            bookable_from: row.bookable_from.map(Date::to_jiff),
            has_pool_rules: row.has_pool_rules,
        })
    }
}
