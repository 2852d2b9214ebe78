//! Properties: `PUT`, `GET` and the list of those that a key may see.

use axum::Json;
use axum::extract::State;
use jiff::civil::Time;
use keyrack_ledger::catalog::{self, Property, PropertySetup};
use keyrack_model::id::{Code, PropertyId};
use keyrack_model::money::{Currency, Money};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Anywhere, At, Founder, Looks};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body, Segments};
use crate::page::{self, Page, PageAsk};
use crate::problem::{Problem, Problems};
use crate::refused::refused_without_nights;
use crate::state::ApiState;
use crate::wire::{Day, MoneyShape, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put))
}

/// Which property.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct PropertyPath {
    /// Code of the property: `[a-z0-9-]{2,40}`.
    #[param(example = "seehof", pattern = "^[a-z0-9-]{2,40}$")]
    pub property: String,
}

/// A property as the hotel sets it up.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PropertyBody {
    /// For people.
    #[schema(example = "Seehof")]
    name: String,
    /// IANA name.
    #[schema(example = "Europe/Rome")]
    time_zone: String,
    /// ISO 4217.
    #[schema(value_type = String, example = "EUR")]
    currency: Currency,
    /// When last night ends, `HH:MM` in its own zone; 04:00 where it is not said.
    #[schema(example = "04:00")]
    day_roll_over: Option<String>,
    /// Nights ahead that can be sold: 1 to 2000, 730 where it is not said.
    #[schema(minimum = 1, maximum = 2000)]
    horizon_days: Option<i32>,
    /// How holds live.
    hold: Option<HoldBody>,
    /// First night that may be booked.
    bookable_from: Option<Day>,
    /// No rate below, in its currency.
    #[schema(value_type = Option<MoneyShape>)]
    rate_min: Option<Money>,
    /// No rate above, in its currency.
    #[schema(value_type = Option<MoneyShape>)]
    rate_max: Option<Money>,
    /// What has no field of its own: `no_show_keeps` (`guaranteed`, `all`, `none`),
    /// `hold_seconds_by_source` (seconds by source), `meant_overbooking_case_days`,
    /// `guest_arrivals_max` (reservations of one guest, known by e-mail address or telephone
    /// number, for one arrival date at most), `safety_one_in` (rules of safety let at most one of
    /// so many scarce room nights be sold twice; 1,000 where nothing is said), and
    /// `overbooking`, how overbookings are resolved. In it, all optional: `rank` (what decides who
    /// is moved, the most telling first: `received`, `channel_priority`, `guaranteed`,
    /// `length_of_stay`, `vip`), `channel_priority` (codes of accounts whose guests stay first,
    /// `direct` for own sales), `vip_rate_plans` (codes), `compensation` (of a walk, the first line
    /// that fits: `nights_min?`, `lead_days_max?`, `amount_minor`, `per_night_minor`),
    /// `upgrade_per_night_minor`, `sister_per_night_minor`, `approval_above_minor` (what costs more
    /// takes a manager), `deadline` (`{"hours_before": 24}` before `check_in_at`, or
    /// `{"at": "18:00"}` on the day of arrival), `check_in_at` (`15:00`), `escalate_to` (mail
    /// addresses), `sister_properties` (codes of hotels of the same owner, which must name this one
    /// too). Amounts are minor units of the property's currency; times are the property's own.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    policies: Option<Map<String, Value>>,
}

/// How holds live.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldBody {
    /// How long a hold lives.
    #[serde(default = "hold_seconds")]
    #[schema(minimum = 1)]
    hold_seconds: i32,
    /// How long its rooms stay kept after that.
    #[serde(default = "confirm_grace_seconds")]
    #[schema(minimum = 0)]
    confirm_grace_seconds: i32,
    /// How often it may be extended.
    #[serde(default = "extensions_max")]
    #[schema(minimum = 0)]
    extensions_max: i32,
    /// What a confirm after the end gets.
    #[serde(default)]
    late_confirm: LateConfirm,
}

/// What a confirm after a hold's end gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LateConfirm {
    /// `hold_expired`.
    #[default]
    Refuse,
    /// The rooms anew, where they are free.
    Retake,
}

/// A property as it is.
#[derive(Debug, Serialize, ToSchema)]
pub struct PropertyView {
    /// Its code.
    code: String,
    /// For people.
    name: String,
    /// IANA name.
    time_zone: String,
    /// ISO 4217.
    #[schema(value_type = String)]
    currency: Currency,
    /// When last night ends.
    day_roll_over: String,
    /// Nights ahead that can be sold.
    horizon_days: i32,
    /// How holds live.
    hold: HoldBody,
    /// First night that may be booked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    bookable_from: Option<Day>,
    /// No rate below.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    rate_min: Option<Money>,
    /// No rate above.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    rate_max: Option<Money>,
    /// What has no field of its own.
    #[schema(value_type = std::collections::HashMap<String, Value>)]
    policies: Value,
    /// Counts changes; also the ETag.
    version: i64,
}

/// Creates or changes a property.
#[utoipa::path(put, path = "/v1/properties/{property}", tag = "hotel",
    params(PropertyPath), request_body = PropertyBody,
    responses((status = 200, body = PropertyView), (status = 201, body = PropertyView), Problems))]
async fn put(
    State(state): State<ApiState>,
    founder: Founder,
    Segments(path): Segments<PropertyPath>,
    IfMatch(version): IfMatch,
    body: Body<PropertyBody>,
) -> Result<Versioned<PropertyView>, Problem> {
    let code = &path.property;
    if Code::property(code).is_none() {
        let words = "the code of a property is 2 to 40 of the characters a-z 0-9 -";
        return Err(Problem::invalid("/property", words));
    }
    let setup = body.value.setup()?;
    let by = founder.caller.by();
    match catalog::put_property(state.ledger(), &by, code, setup, version).await? {
        Ok((property, is_new)) => {
            let version = property.version;
            Ok(Versioned::put(version, is_new, property.into()))
        }
        Err(refusal) => Err(refused_without_nights(refusal)),
    }
}

/// A property.
#[utoipa::path(get, path = "/v1/properties/{property}", tag = "hotel", params(PropertyPath),
    responses((status = 200, body = PropertyView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Versioned<PropertyView>, Problem> {
    let property = catalog::property(state.ledger(), &at.house.code).await?;
    let property = property.ok_or_else(|| Problem::not_found("property"))?;
    Ok(Versioned::of(property.version, property.into()))
}

/// The properties that the key may see.
#[utoipa::path(get, path = "/v1/properties", tag = "hotel", params(PageAsk),
    responses((status = 200, body = Page<PropertyView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    anyone: Anywhere<Looks>,
    Ask(ask): Ask<PageAsk>,
) -> Result<Json<Page<PropertyView>>, Problem> {
    let limit = page::limit(ask.limit)?;
    let after: Option<i64> = page::after(ask.cursor.as_deref())?;
    let (after, asked) = match anyone.caller.key.property {
        Some(own) => (Some(PropertyId(own.0 - 1)), 1),
        None => (after.map(PropertyId), limit),
    };
    let mut found = catalog::properties(state.ledger(), after, asked).await?;
    if let Some(own) = anyone.caller.key.property {
        found.retain(|property| property.id == own);
    }
    let page = page::cut(found, limit, |last| last.id.to_string());
    Ok(Json(Page {
        items: page.items.into_iter().map(PropertyView::from).collect(),
        next_cursor: page.next_cursor,
    }))
}

impl PropertyBody {
    fn setup(self) -> Result<PropertySetup, Problem> {
        let mut wrongs = Wrongs::default();
        wrongs.named(&self.name, 200, "/name");
        let day_roll_over = self.day_roll_over.as_deref().unwrap_or("04:00");
        let day_roll_over = clock_time(day_roll_over);
        wrongs.unless(day_roll_over.is_some(), "/day_roll_over", "must be HH:MM");
        let mut minor = |limit: Option<Money>, pointer: &str| {
            let limit = limit?;
            let same = limit.currency == self.currency && limit.minor >= 0;
            wrongs.unless(
                same,
                pointer,
                "must be in the property's currency, and not negative",
            );
            Some(limit.minor)
        };
        let policies = self.policies.unwrap_or_default();
        let rate_min_minor = minor(self.rate_min, "/rate_min");
        let rate_max_minor = minor(self.rate_max, "/rate_max");
        for key in policies
            .keys()
            .filter(|key| !POLICIES.contains(&key.as_str()))
        {
            let message = format!("there is no such policy; known are {}", POLICIES.join(", "));
            wrongs.add(format!("/policies/{key}"), message);
        }
        wrongs.finish()?;
        let hold = self.hold.unwrap_or_default();
        Ok(PropertySetup {
            name: self.name,
            time_zone: self.time_zone,
            currency: self.currency,
            day_roll_over: day_roll_over.unwrap_or_default(),
            horizon_days: self.horizon_days.unwrap_or(730),
            hold_seconds: hold.hold_seconds,
            confirm_grace_seconds: hold.confirm_grace_seconds,
            extensions_max: hold.extensions_max,
            late_confirm_retakes: hold.late_confirm == LateConfirm::Retake,
            bookable_from: self.bookable_from.map(|day| day.0),
            rate_min_minor,
            rate_max_minor,
            policies: Value::Object(policies),
        })
    }
}

/// The policies that there are.
const POLICIES: [&str; 6] = [
    "no_show_keeps",
    "hold_seconds_by_source",
    "meant_overbooking_case_days",
    "overbooking",
    "safety_one_in",
    "guest_arrivals_max",
];

fn clock_time(text: &str) -> Option<Time> {
    let (hour, minute) = text.split_once(':')?;
    (hour.len() == 2 && minute.len() == 2).then_some(())?;
    Time::new(hour.parse().ok()?, minute.parse().ok()?, 0, 0).ok()
}

impl Default for HoldBody {
    fn default() -> Self {
        Self {
            hold_seconds: hold_seconds(),
            confirm_grace_seconds: confirm_grace_seconds(),
            extensions_max: extensions_max(),
            late_confirm: LateConfirm::Refuse,
        }
    }
}

const fn hold_seconds() -> i32 {
    900
}

const fn confirm_grace_seconds() -> i32 {
    120
}

const fn extensions_max() -> i32 {
    2
}

impl From<Property> for PropertyView {
    fn from(property: Property) -> Self {
        let setup = property.setup;
        let money = |minor| Money::new(minor, setup.currency);
        Self {
            code: property.code,
            name: setup.name,
            time_zone: setup.time_zone,
            currency: setup.currency,
            day_roll_over: format!(
                "{:02}:{:02}",
                setup.day_roll_over.hour(),
                setup.day_roll_over.minute()
            ),
            horizon_days: setup.horizon_days,
            hold: HoldBody {
                hold_seconds: setup.hold_seconds,
                confirm_grace_seconds: setup.confirm_grace_seconds,
                extensions_max: setup.extensions_max,
                late_confirm: match setup.late_confirm_retakes {
                    true => LateConfirm::Retake,
                    false => LateConfirm::Refuse,
                },
            },
            bookable_from: setup.bookable_from.map(Day),
            rate_min: setup.rate_min_minor.map(money),
            rate_max: setup.rate_max_minor.map(money),
            policies: setup.policies,
            version: property.version,
        }
    }
}
