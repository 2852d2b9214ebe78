//! Rates and restrictions over nights; offers: what can be sold now, and what stands in the way.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::rates::{self, Offer, RateChange};
use keyrack_model::money::{Currency, Money};
use keyrack_model::stay::{Stay, Weekdays};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, Sets};
use crate::extract::{Ask, Body};
use crate::names::{House, Names};
use crate::problem::{Problem, Problems};
use crate::routes::hits::{HitsView, on_closed_nights};
use crate::routes::properties::PropertyPath;
use crate::routes::rate_plans::currency;
use crate::routes::room_type::DryRun;
use crate::state::ApiState;
use crate::wire::{Day, MoneyShape, NightPrice, Wrongs, present};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(set))
        .routes(routes!(offers))
}

/// Changes over nights, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RatesBody {
    /// At most 1,000, carried out in order.
    values: Vec<RateValue>,
}

/// A change over nights. An absent field stays as it is; `null` clears it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RateValue {
    /// Code of the room type; left out: the whole property (for `stop_sell` only).
    room_type: Option<String>,
    /// Code of the rate plan; left out: the room type itself.
    rate_plan: Option<String>,
    /// Code of the account; left out: every account and the desk.
    account: Option<String>,
    /// First night.
    from: Day,
    /// The morning after the last night.
    to: Day,
    /// Only these weekdays.
    #[schema(value_type = Option<Vec<WeekdayShape>>)]
    weekdays: Option<Weekdays>,
    /// Price of the room at standard occupancy.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<MoneyShape>)]
    rate: Option<Option<Money>>,
    /// Price of the room by number of guests; `[]` clears them.
    occupancy_rates: Option<Vec<OccupancyRateBody>>,
    /// Nights a stay must have when it arrives on this night.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<i32>, minimum = 1)]
    min_stay_arrival: Option<Option<i32>>,
    /// Nights a stay must have when it touches this night.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<i32>, minimum = 1)]
    min_stay_through: Option<Option<i32>>,
    /// Nights a stay may have at most when it arrives on this night.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<i32>, minimum = 1)]
    max_stay: Option<Option<i32>>,
    /// Nobody arrives on this night.
    closed_to_arrival: Option<bool>,
    /// Nobody departs on this date.
    closed_to_departure: Option<bool>,
    /// Days before the arrival from which it is too late to book.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<i32>, minimum = 0)]
    min_advance_days: Option<Option<i32>>,
    /// Days before the arrival from which it may be booked at the earliest.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<i32>, minimum = 0)]
    max_advance_days: Option<Option<i32>>,
    /// Closed for sale.
    stop_sell: Option<bool>,
}

/// The price for a number of guests.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct OccupancyRateBody {
    /// Number of guests.
    #[schema(minimum = 1)]
    guests: u8,
    /// For the whole room and night.
    #[schema(value_type = MoneyShape)]
    rate: Money,
}

/// A weekday.
#[derive(Serialize, ToSchema)]
#[schema(as = Weekday)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's set in the OpenAPI document"
)]
pub enum WeekdayShape {
    Mon,
    Tue,
    Wed,
    Thu,
    Fri,
    Sat,
    Sun,
}

/// What a change of rates did, or would do.
#[derive(Debug, Serialize, ToSchema)]
struct RatesView {
    /// Nights of cells that changed.
    changed: u32,
    /// Nothing was done.
    dry_run: bool,
    /// Who sleeps on the nights that would be closed, and keeps the room all the same, and who
    /// sells them; only in a dry run that closes nights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hits: Option<HitsView>,
}

/// Sets rates and restrictions, all or none. A repeat changes nothing.
#[utoipa::path(post, path = "/v1/properties/{property}/rates", tag = "hotel",
    params(PropertyPath, DryRun),
    request_body = RatesBody, responses((status = 200, body = RatesView), Problems))]
async fn set(
    State(state): State<ApiState>,
    at: At<Sets>,
    Ask(DryRun { dry_run }): Ask<DryRun>,
    body: Body<RatesBody>,
) -> Result<Json<RatesView>, Problem> {
    let house = &at.house;
    let currency = currency(&state, &house.code).await?;
    let changes = changes(house, body.value, currency).await?;
    let by = at.caller.by();
    match rates::set(state.ledger(), house.id, &by, &changes, dry_run).await? {
        Ok(changed) => {
            let hits = match dry_run {
                true => on_closed_nights(&state, house, &changes).await?,
                false => None,
            };
            Ok(Json(RatesView {
                changed,
                dry_run,
                hits,
            }))
        }
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

async fn changes(
    house: &House,
    body: RatesBody,
    currency: Currency,
) -> Result<Vec<RateChange>, Problem> {
    let values = body.values;
    if !(1..=VALUES_MAX).contains(&values.len()) {
        return Err(Problem::invalid("/values", format!("1 to {VALUES_MAX}")));
    }
    let names = house
        .names_with(|names| values.iter().all(|value| value.is_known(names)))
        .await?;
    let mut wrongs = Wrongs::default();
    let changes = values
        .into_iter()
        .enumerate()
        .filter_map(|(at, value)| value.change(&names, currency, at, &mut wrongs))
        .collect();
    wrongs.finish()?;
    Ok(changes)
}

impl RateValue {
    fn is_known(&self, names: &Names) -> bool {
        let room_type = self.room_type.as_deref();
        let rate_plan = self.rate_plan.as_deref();
        let account = self.account.as_deref();
        room_type.is_none_or(|code| names.room_types.id(code).is_some())
            && rate_plan.is_none_or(|code| names.rate_plans.id(code).is_some())
            && account.is_none_or(|code| names.accounts.id(code).is_some())
    }

    fn change(
        self,
        names: &Names,
        currency: Currency,
        at: usize,
        wrongs: &mut Wrongs,
    ) -> Option<RateChange> {
        let at = |name: &str| format!("/values/{at}/{name}");
        let room_type = self.room_type.map(|code| names.room_types.id(&code));
        let rate_plan = self.rate_plan.map(|code| names.rate_plans.id(&code));
        let account = self.account.map(|code| names.accounts.id(&code));
        wrongs.unless(
            room_type != Some(None),
            at("room_type"),
            "no such room type",
        );
        wrongs.unless(
            rate_plan != Some(None),
            at("rate_plan"),
            "no such rate plan",
        );
        wrongs.unless(account != Some(None), at("account"), "no such account");
        let nights = Stay::new(self.from.0, self.to.0);
        let message = "must be after from (the end is excluded), by at most 2,200 nights";
        wrongs.unless(nights.is_some(), at("to"), message);
        let mut minor = |money: Money, pointer: String| {
            let message = "must be in the property's currency, and not negative";
            let fits = money.currency == currency && money.minor >= 0;
            wrongs.unless(fits, pointer, message);
            money.minor
        };
        let rate_minor = self
            .rate
            .map(|rate| rate.map(|money| minor(money, at("rate"))));
        let occupancy_rates = self.occupancy_rates.map(|rates| {
            let rates = rates.into_iter().enumerate();
            rates
                .map(|(i, one)| {
                    let pointer = at(&format!("occupancy_rates/{i}/rate"));
                    (one.guests, minor(one.rate, pointer))
                })
                .collect()
        });
        let mut days = |told: Option<Option<i32>>, least: i32, name: &str| {
            if let Some(Some(days)) = told {
                let fits = (least..=2_000).contains(&days);
                wrongs.unless(fits, at(name), &format!("{least} to 2,000"));
            }
            told
        };
        Some(RateChange {
            room_type: room_type.flatten(),
            rate_plan: rate_plan.flatten(),
            account: account.flatten(),
            nights: Some(nights?),
            weekdays: self.weekdays,
            rate_minor,
            occupancy_rates,
            min_stay_arrival: days(self.min_stay_arrival, 1, "min_stay_arrival"),
            min_stay_through: days(self.min_stay_through, 1, "min_stay_through"),
            max_stay: days(self.max_stay, 1, "max_stay"),
            closed_to_arrival: self.closed_to_arrival,
            closed_to_departure: self.closed_to_departure,
            min_advance_days: days(self.min_advance_days, 0, "min_advance_days"),
            max_advance_days: days(self.max_advance_days, 0, "max_advance_days"),
            stop_sell: self.stop_sell,
        })
    }
}

/// Which stay, for whom.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct OffersAsk {
    /// First night.
    #[param(value_type = String, format = Date)]
    arrival: Day,
    /// The morning after the last night.
    #[param(value_type = String, format = Date)]
    departure: Day,
    /// Adults.
    #[param(minimum = 1)]
    adults: i32,
    /// Children; none where it is not said.
    #[serde(default)]
    #[param(required = false, minimum = 0)]
    children: i32,
    /// Only this plan.
    rate_plan: Option<String>,
}

/// What can be sold now, and what cannot with its reasons.
#[derive(Debug, Serialize, ToSchema)]
struct OffersView {
    /// Per room type and rate plan.
    offers: Vec<OfferView>,
}

/// A stay that can be sold, or what stands in the way.
#[derive(Debug, Serialize, ToSchema)]
struct OfferView {
    /// Code of the room type.
    room_type: String,
    /// Code of the rate plan; absent where the type has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_plan: Option<String>,
    /// Whether it can be sold now.
    is_sellable: bool,
    /// Rooms free on its scarcest night.
    free: i32,
    /// Price of each night, where every night has one.
    nightly: Vec<NightPrice>,
    /// Sum of the nights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    total: Option<Money>,
    /// What stands in the way; empty where it can be sold.
    hindrances: Vec<String>,
}

/// What can be sold now for a stay and its guests.
#[utoipa::path(get, path = "/v1/properties/{property}/offers", tag = "hotel",
    params(PropertyPath, OffersAsk), responses((status = 200, body = OffersView), Problems))]
async fn offers(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<OffersAsk>,
) -> Result<Json<OffersView>, Problem> {
    let mut wrongs = Wrongs::default();
    let stay = wrongs.stay(ask.arrival, ask.departure, "");
    wrongs.unless((1..=100).contains(&ask.adults), "/adults", "1 to 100");
    wrongs.unless((0..=100).contains(&ask.children), "/children", "0 to 100");
    let rate_plan = match ask.rate_plan {
        None => None,
        Some(code) => {
            let knows = |names: &Names| names.rate_plans.id(&code).is_some();
            let names = at.house.names_with(knows).await?;
            let found = names.rate_plans.id(&code);
            wrongs.unless(found.is_some(), "/rate_plan", "no such rate plan");
            found
        }
    };
    wrongs.finish()?;
    let Some(stay) = stay else {
        return Ok(Json(OffersView { offers: Vec::new() }));
    };
    let (adults, children) = (ask.adults, ask.children);
    let house = at.house.id;
    let found = rates::offers(state.ledger(), house, stay, adults, children, rate_plan).await?;
    Ok(Json(OffersView {
        offers: found.into_iter().map(OfferView::from).collect(),
    }))
}

impl From<Offer> for OfferView {
    fn from(offer: Offer) -> Self {
        let nightly = offer.nightly.into_iter();
        Self {
            room_type: offer.room_type,
            rate_plan: offer.rate_plan,
            is_sellable: offer.hindrances.is_empty(),
            free: offer.free,
            nightly: nightly
                .map(|(night, price)| NightPrice {
                    stay_date: Day(night),
                    price,
                })
                .collect(),
            total: offer.total,
            hindrances: offer.hindrances,
        }
    }
}

const VALUES_MAX: usize = 1_000;
