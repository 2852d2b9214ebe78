//! Rate plans: base ones, and those that follow another by percent, amount and rounding.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::catalog::{self, Derivation, RatePlan, RatePlanSetup};
use keyrack_model::money::{Currency, Money};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Body, Segments};
use crate::page::Page;
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::{MoneyShape, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(list))
        .routes(routes!(show, put))
}

/// Which rate plan.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct RatePlanPath {
    /// Code of the rate plan: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    #[param(example = "flex")]
    rate_plan: String,
}

/// A rate plan as the hotel sets it up, and as it is shown.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct RatePlanBody {
    /// For people.
    name: String,
    /// What is eaten.
    #[serde(default)]
    meal_plan: MealPlan,
    /// The plan that it follows, and how.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    derived_from: Option<DerivedFrom>,
    /// What a cancellation costs, by when.
    #[serde(default)]
    #[schema(required = false)]
    cancellation_terms: Vec<CancellationTerm>,
}

/// What is eaten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum MealPlan {
    /// Nothing.
    #[default]
    RoomOnly,
    /// Breakfast.
    Breakfast,
    /// Breakfast and dinner.
    HalfBoard,
    /// Three meals.
    FullBoard,
    /// Everything.
    AllInclusive,
}

/// How a rate follows from another plan's: first the percent, then the amount, then the rounding.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct DerivedFrom {
    /// Code of the plan that it follows.
    rate_plan: String,
    /// Percent on top, a decimal string with at most two digits after the point.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "-10.00")]
    percent: Option<String>,
    /// On top, in the property's currency.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    amount: Option<Money>,
    /// Rounded, half away from zero, to a multiple of this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<MoneyShape>, nullable = false)]
    round_to: Option<Money>,
}

/// What a cancellation costs until a moment.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CancellationTerm {
    /// How long before the arrival it holds, as an ISO 8601 duration; `P0D` is until the arrival.
    #[schema(example = "P7D")]
    until: String,
    /// What it costs: an amount, a percent of the total, or a number of nights.
    fee: Fee,
}

/// A fee: exactly one of `amount` (with `currency`), `percent` and `nights`.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Fee {
    /// A decimal string.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    amount: Option<String>,
    /// ISO 4217, with `amount`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    currency: Option<Currency>,
    /// Of the total, a decimal string.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "80.00")]
    percent: Option<String>,
    /// So many nights.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    nights: Option<u32>,
}

/// A rate plan as it is.
#[derive(Debug, Serialize, ToSchema)]
struct RatePlanView {
    /// Its code.
    code: String,
    /// Its setup.
    #[serde(flatten)]
    setup: RatePlanBody,
    /// Counts changes; also the ETag.
    version: i64,
}

/// Creates or changes a rate plan.
#[utoipa::path(put, path = "/v1/properties/{property}/rate-plans/{rate_plan}", tag = "hotel",
    params(PropertyPath, RatePlanPath), request_body = RatePlanBody,
    responses((status = 200, body = RatePlanView), (status = 201, body = RatePlanView), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<RatePlanPath>,
    IfMatch(version): IfMatch,
    body: Body<RatePlanBody>,
) -> Result<Versioned<RatePlanView>, Problem> {
    let currency = currency(&state, &at.house.code).await?;
    let setup = body.value.setup(currency)?;
    let (house, by, code) = (&at.house, at.caller.by(), &path.rate_plan);
    match catalog::put_rate_plan(state.ledger(), house.id, &by, code, setup, version).await? {
        Ok((plan, is_new)) => {
            let version = plan.version;
            Ok(Versioned::put(version, is_new, shown(plan, currency)))
        }
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

/// A rate plan.
#[utoipa::path(get, path = "/v1/properties/{property}/rate-plans/{rate_plan}", tag = "hotel",
    params(PropertyPath, RatePlanPath), responses((status = 200, body = RatePlanView), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<RatePlanPath>,
) -> Result<Versioned<RatePlanView>, Problem> {
    let currency = currency(&state, &at.house.code).await?;
    let mut all = catalog::rate_plans(state.ledger(), at.house.id)
        .await?
        .into_iter();
    let found = all.find(|one| one.code == path.rate_plan);
    let found = found.ok_or_else(|| Problem::not_found("rate plan"))?;
    Ok(Versioned::of(found.version, shown(found, currency)))
}

/// The rate plans of a property, in order of code.
#[utoipa::path(get, path = "/v1/properties/{property}/rate-plans", tag = "hotel",
    params(PropertyPath), responses((status = 200, body = Page<RatePlanView>), Problems))]
async fn list(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Json<Page<RatePlanView>>, Problem> {
    let currency = currency(&state, &at.house.code).await?;
    let all = catalog::rate_plans(state.ledger(), at.house.id).await?;
    Ok(Json(Page::whole(
        all.into_iter().map(|plan| shown(plan, currency)).collect(),
    )))
}

/// The currency of a property.
pub async fn currency(state: &ApiState, code: &str) -> Result<Currency, Problem> {
    let property = catalog::property(state.ledger(), code).await?;
    let property = property.ok_or_else(|| Problem::not_found("property"))?;
    Ok(property.setup.currency)
}

impl RatePlanBody {
    fn setup(self, currency: Currency) -> Result<RatePlanSetup, Problem> {
        let mut wrongs = Wrongs::default();
        wrongs.named(&self.name, 200, "/name");
        let terms = &self.cancellation_terms;
        wrongs.unless(terms.len() <= 20, "/cancellation_terms", "at most 20");
        for (at, term) in terms.iter().enumerate() {
            let pointer = format!("/cancellation_terms/{at}");
            let span = term.until.parse::<jiff::Span>();
            let is_span = span.is_ok_and(|span| !span.is_negative());
            let message = "an ISO 8601 duration before the arrival, such as P7D, not negative";
            wrongs.unless(is_span, format!("{pointer}/until"), message);
            let message = "exactly one of amount with currency, percent from 0 to 100, and nights \
                           from 1 to 366";
            wrongs.unless(term.fee.is_one(), format!("{pointer}/fee"), message);
        }
        let derived_from = self
            .derived_from
            .map(|derived| derived.setup(currency, &mut wrongs));
        wrongs.finish()?;
        Ok(RatePlanSetup {
            name: self.name,
            meal_plan: self.meal_plan.as_str().to_owned(),
            derived_from,
            cancellation_terms: serde_json::to_value(&self.cancellation_terms).unwrap_or_default(),
        })
    }
}

impl DerivedFrom {
    fn setup(self, currency: Currency, wrongs: &mut Wrongs) -> (String, Derivation) {
        let mut minor = |money: Option<Money>, name: &str| {
            let money = money?;
            let pointer = format!("/derived_from/{name}");
            let message = "must be in the property's currency";
            wrongs.unless(money.currency == currency, pointer, message);
            Some(money.minor)
        };
        let add_minor = minor(self.amount, "amount").unwrap_or(0);
        let step_minor = minor(self.round_to, "round_to").unwrap_or(1);
        let percent = self.percent.as_deref().unwrap_or("0");
        let percent_hundredths = hundredths(percent);
        let message = "a decimal string with at most two digits after the point, above -100";
        let pointer = "/derived_from/percent";
        wrongs.unless(percent_hundredths.is_some(), pointer, message);
        let message = "must be above 0";
        wrongs.unless(step_minor > 0, "/derived_from/round_to", message);
        let derivation = Derivation {
            percent_hundredths: percent_hundredths.unwrap_or(0),
            add_minor,
            step_minor,
        };
        (self.rate_plan, derivation)
    }
}

/// Hundredths of a percent, from above -100 to 1,000 percent.
fn hundredths(percent: &str) -> Option<i64> {
    let euro = Currency::from_code("EUR")?;
    let hundredths = Money::from_decimal(percent, euro)?.minor;
    (-9_999..=100_000)
        .contains(&hundredths)
        .then_some(hundredths)
}

impl Fee {
    fn is_one(&self) -> bool {
        let money = match (&self.amount, self.currency) {
            (Some(amount), Some(currency)) => {
                Money::from_decimal(amount, currency).is_some_and(|money| money.minor >= 0)
            }
            (None, None) => false,
            _ => return false,
        };
        let percent = self.percent.as_deref().map(hundredths);
        let is_percent =
            percent.is_some_and(|percent| percent.is_some_and(|p| (0..=10_000).contains(&p)));
        let told = [money, percent.is_some(), self.nights.is_some()];
        told.iter().filter(|one| **one).count() == 1
            && (money || is_percent || self.nights.is_some_and(|n| (1..=366).contains(&n)))
    }
}

impl MealPlan {
    const ALL: [Self; 5] = [
        Self::RoomOnly,
        Self::Breakfast,
        Self::HalfBoard,
        Self::FullBoard,
        Self::AllInclusive,
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::RoomOnly => "room_only",
            Self::Breakfast => "breakfast",
            Self::HalfBoard => "half_board",
            Self::FullBoard => "full_board",
            Self::AllInclusive => "all_inclusive",
        }
    }
}

fn shown(plan: RatePlan, currency: Currency) -> RatePlanView {
    let setup = plan.setup;
    let meal_plan = MealPlan::ALL
        .into_iter()
        .find(|known| known.as_str() == setup.meal_plan);
    let derived_from = setup.derived_from.map(|(rate_plan, how)| {
        let percent = Currency::from_code("EUR")
            .map(|euro| Money::new(how.percent_hundredths, euro).to_decimal());
        let money = |minor| Some(Money::new(minor, currency));
        DerivedFrom {
            rate_plan,
            percent: percent.filter(|_| how.percent_hundredths != 0),
            amount: money(how.add_minor).filter(|money| money.minor != 0),
            round_to: money(how.step_minor).filter(|money| money.minor > 1),
        }
    });
    RatePlanView {
        code: plan.code,
        setup: RatePlanBody {
            name: setup.name,
            meal_plan: meal_plan.unwrap_or_default(),
            derived_from,
            cancellation_terms: serde_json::from_value(setup.cancellation_terms)
                .unwrap_or_default(),
        },
        version: plan.version,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percent_is_a_decimal_and_takes_no_price_below_nothing() {
        assert_eq!(hundredths("-10.00"), Some(-1_000));
        assert_eq!(hundredths("12.5"), Some(1_250));
        for wrong in ["-100", "1e2", "12.345", "", "ten"] {
            assert_eq!(hundredths(wrong), None, "{wrong}");
        }
    }
}
