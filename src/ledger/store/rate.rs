//! Rates and restrictions of nights: `rate_night`.

use std::collections::BTreeSet;

use jiff_sqlx::Date;
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::restriction::Restrictions;
use keyrack_model::stay::{StayDate, StayRange};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::decide::layer::RateNight;
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

/// Nights of a type, or (`None`) of a whole property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RateRange {
    pub property: PropertyId,
    pub room_type: Option<RoomTypeId>,
    pub from: StayDate,
    /// The first night that is not asked for.
    pub until: StayDate,
}

#[derive(sqlx::FromRow)]
struct RowOf {
    property_id: i64,
    #[sqlx(flatten)]
    row: Row,
}

/// What was set of nights of many properties; ranges must not meet. Each is looked up along the
/// key.
pub(crate) async fn load_ranges(
    conn: &mut PgConnection,
    ranges: &[RateRange],
) -> Result<Vec<(PropertyId, RateNight)>, LedgerError> {
    let each = ranges.iter();
    let rows: Vec<RowOf> = sqlx::query_as(
        "select r.property_id, r.room_type_id, r.rate_plan_id, r.account_id, r.stay_date,
                r.amount_minor, r.occupancy_rates, r.min_stay_arrival, r.min_stay_through,
                r.max_stay, r.closed_to_arrival, r.closed_to_departure, r.min_advance_days,
                r.max_advance_days, r.stop_sell
         from unnest($1::bigint[], $2::bigint[], $3::date[], $4::date[]) k(p, t, f, u)
         cross join lateral (
             select * from rate_night
             where property_id = k.p and room_type_id = k.t and stay_date >= k.f and stay_date < k.u
             offset 0) r",
    )
    .bind(
        each.clone()
            .map(|range| range.property.0)
            .collect::<Vec<_>>(),
    )
    .bind(
        each.clone()
            .map(|range| range.room_type.map_or(0, |id| id.0))
            .collect::<Vec<_>>(),
    )
    .bind(
        each.clone()
            .map(|range| Date::from(range.from))
            .collect::<Vec<_>>(),
    )
    .bind(
        each.map(|range| Date::from(range.until))
            .collect::<Vec<_>>(),
    )
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading rates"))?;
    let each = rows.into_iter();
    Ok(each
        .map(|one| (PropertyId(one.property_id), one.row.into()))
        .collect())
}

/// What was set of single nights of types, with what was set of the whole property on those
/// nights; of plans only where `with_plans`.
pub(crate) async fn load_of(
    conn: &mut PgConnection,
    property: PropertyId,
    cells: &BTreeSet<(RoomTypeId, StayDate)>,
    with_plans: bool,
) -> Result<Vec<RateNight>, LedgerError> {
    let nights: BTreeSet<StayDate> = cells.iter().map(|(_, night)| *night).collect();
    let of_types = cells.iter().map(|(id, night)| (id.0, *night));
    let of_property = nights.into_iter().map(|night| (0, night));
    let (ids, nights): (Vec<i64>, Vec<Date>) = of_types
        .chain(of_property)
        .map(|(id, night)| (id, Date::from(night)))
        .unzip();
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, rate_plan_id, account_id, stay_date, amount_minor, occupancy_rates,
                min_stay_arrival, min_stay_through, max_stay, closed_to_arrival,
                closed_to_departure, min_advance_days, max_advance_days, stop_sell
         from unnest($2::bigint[], $3::date[]) as cell (t, d)
         join rate_night on property_id = $1 and room_type_id = t and stay_date = d
         where $4 or rate_plan_id = 0",
    )
    .bind(property.0)
    .bind(ids)
    .bind(nights)
    .bind(with_plans)
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

/// Which cell of rates; `None` is all, or the thing itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CellKey {
    pub room_type: Option<RoomTypeId>,
    pub rate_plan: Option<RatePlanId>,
    pub account: Option<AccountId>,
    pub night: StayDate,
}

/// A change of a cell: `None` leaves a field as it is, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Patch {
    pub amount_minor: Option<Option<i64>>,
    pub occupancy_rates: Option<Option<Vec<(u8, i64)>>>,
    pub min_stay_arrival: Option<Option<i32>>,
    pub min_stay_through: Option<Option<i32>>,
    pub max_stay: Option<Option<i32>>,
    pub closed_to_arrival: Option<bool>,
    pub closed_to_departure: Option<bool>,
    pub min_advance_days: Option<Option<i32>>,
    pub max_advance_days: Option<Option<i32>>,
    pub stop_sell: Option<bool>,
}

impl Patch {
    /// Lays a later change over this one.
    pub(crate) fn add(&mut self, later: &Self) {
        fn over<T: Clone>(known: &mut Option<T>, later: &Option<T>) {
            if later.is_some() {
                known.clone_from(later);
            }
        }
        over(&mut self.amount_minor, &later.amount_minor);
        over(&mut self.occupancy_rates, &later.occupancy_rates);
        over(&mut self.min_stay_arrival, &later.min_stay_arrival);
        over(&mut self.min_stay_through, &later.min_stay_through);
        over(&mut self.max_stay, &later.max_stay);
        over(&mut self.closed_to_arrival, &later.closed_to_arrival);
        over(&mut self.closed_to_departure, &later.closed_to_departure);
        over(&mut self.min_advance_days, &later.min_advance_days);
        over(&mut self.max_advance_days, &later.max_advance_days);
        over(&mut self.stop_sell, &later.stop_sell);
    }

    /// Each field with its name and whether it is changed, in the order of the mask's bits.
    fn named(&self) -> [(&'static str, bool); 10] {
        [
            ("rate", self.amount_minor.is_some()),
            ("occupancy_rates", self.occupancy_rates.is_some()),
            ("min_stay_arrival", self.min_stay_arrival.is_some()),
            ("min_stay_through", self.min_stay_through.is_some()),
            ("max_stay", self.max_stay.is_some()),
            ("closed_to_arrival", self.closed_to_arrival.is_some()),
            ("closed_to_departure", self.closed_to_departure.is_some()),
            ("min_advance_days", self.min_advance_days.is_some()),
            ("max_advance_days", self.max_advance_days.is_some()),
            ("stop_sell", self.stop_sell.is_some()),
        ]
    }

    /// Names of the fields that it changes.
    pub(crate) fn fields(&self) -> Vec<&'static str> {
        let named = self.named().into_iter();
        named
            .filter_map(|(name, is_changed)| is_changed.then_some(name))
            .collect()
    }

    fn mask(&self) -> i32 {
        let named = self.named().into_iter().enumerate();
        named.fold(0, |mask, (bit, (_, is_changed))| {
            mask | (i32::from(is_changed) << bit)
        })
    }
}

/// Lays changes over cells; says which of them are other than before. The caller holds the
/// property's lock, so nobody changes a cell between the look at it and the write.
pub(crate) async fn upsert(
    conn: &mut PgConnection,
    property: PropertyId,
    patches: &[(CellKey, Patch)],
) -> Result<Vec<CellKey>, LedgerError> {
    fn column<T>(patches: &[(CellKey, Patch)], of: impl Fn(&Patch) -> Option<T>) -> Vec<Option<T>> {
        patches.iter().map(|(_, patch)| of(patch)).collect()
    }
    let keys = || patches.iter().map(|(key, _)| key);
    let by_guests = column(patches, |p| p.occupancy_rates.clone().flatten().map(Json));
    let rows: Vec<(i64, i64, i64, Date)> = sqlx::query_as(include_str!("sql/upsert_rates.sql"))
        .bind(property.0)
        .bind(
            keys()
                .map(|key| key.room_type.map_or(0, |id| id.0))
                .collect::<Vec<i64>>(),
        )
        .bind(
            keys()
                .map(|key| key.rate_plan.map_or(0, |id| id.0))
                .collect::<Vec<i64>>(),
        )
        .bind(
            keys()
                .map(|key| key.account.map_or(0, |id| id.0))
                .collect::<Vec<i64>>(),
        )
        .bind(keys().map(|key| key.night.into()).collect::<Vec<Date>>())
        .bind(
            patches
                .iter()
                .map(|(_, patch)| patch.mask())
                .collect::<Vec<i32>>(),
        )
        .bind(column(patches, |p| p.amount_minor.flatten()))
        .bind(by_guests)
        .bind(column(patches, |p| p.min_stay_arrival.flatten()))
        .bind(column(patches, |p| p.min_stay_through.flatten()))
        .bind(column(patches, |p| p.max_stay.flatten()))
        .bind(column(patches, |p| p.closed_to_arrival))
        .bind(column(patches, |p| p.closed_to_departure))
        .bind(column(patches, |p| p.min_advance_days.flatten()))
        .bind(column(patches, |p| p.max_advance_days.flatten()))
        .bind(column(patches, |p| p.stop_sell))
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("setting rates"))?;
    let named = |id: i64| (id != 0).then_some(id);
    let changed = rows
        .into_iter()
        .map(|(room_type, rate_plan, account, night)| CellKey {
            room_type: named(room_type).map(RoomTypeId),
            rate_plan: named(rate_plan).map(RatePlanId),
            account: named(account).map(AccountId),
            night: night.to_jiff(),
        });
    Ok(changed.collect())
}

/// Whether anything of a property's rates or buffer rules depends on how far ahead a night is: then
/// every new business day may tell something else.
pub(crate) async fn depends_on_lead(
    conn: &mut PgConnection,
    property: PropertyId,
    nights: StayRange,
) -> Result<bool, LedgerError> {
    sqlx::query_scalar(
        "select exists (select from buffer_rule where property_id = $1
                        and (lead_days_min is not null or lead_days_max is not null))
             or exists (select from rate_night
                        where property_id = $1 and stay_date >= $2 and stay_date < $3
                          and (min_advance_days is not null or max_advance_days is not null))",
    )
    .bind(property.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking for rules of lead time"))
}
