//! Buffer rules: rooms kept back from what channels are told.

use axum::extract::State;
use keyrack_ledger::catalog;
use keyrack_ledger::decide::buffer_rule::{BufferKind, BufferRule};
use keyrack_ledger::lists::{self, list_version};
use keyrack_model::stay::Weekdays;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::Body;
use crate::names::{House, Names};
use crate::problem::{Problem, Problems};
use crate::routes::properties::PropertyPath;
use crate::routes::rates::WeekdayShape;
use crate::state::ApiState;
use crate::wire::{self, Day, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show, put))
}

/// The rules of a property: the whole list. The strictest of those that apply wins.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BufferRulesBody {
    /// At most 200.
    rules: Vec<BufferRuleBody>,
}

/// A rule that keeps rooms back. Exactly one of `keep_back`, `close_at`, `cap`, `share_percent` and
/// `safety`.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct BufferRuleBody {
    /// Only for this account.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// Only for this room type.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    room_type: Option<String>,
    /// Only from this night; with `to`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    from: Option<Day>,
    /// Only before this date; with `from`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    to: Option<Day>,
    /// Only on these weekdays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<WeekdayShape>>, nullable = false)]
    weekdays: Option<Weekdays>,
    /// Only so many days ahead or more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    lead_days_min: Option<i32>,
    /// Only so many days ahead or fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    lead_days_max: Option<i32>,
    /// Tells so many rooms fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    keep_back: Option<i32>,
    /// Tells 0 when so many or fewer are left.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    close_at: Option<i32>,
    /// Tells so many rooms at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    cap: Option<i32>,
    /// Tells so many percent of the free rooms, rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0, maximum = 100)]
    share_percent: Option<i32>,
    /// Tells as many rooms fewer as could still be sold on stale numbers, measured for each
    /// account, room type and kind of night.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    safety: Option<SafetyBody>,
}

/// How safe: at most one of `one_in` scarce room nights is sold twice.
#[derive(Clone, Copy, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SafetyBody {
    /// Left out, the property's `safety_one_in`, or else 1,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 10, maximum = 1_000_000)]
    one_in: Option<i32>,
}

/// Replaces the buffer rules of a property. Channels are told anew of the nights that a rule binds
/// which was added or taken away.
#[utoipa::path(put, path = "/v1/properties/{property}/buffer-rules", tag = "pools",
    params(PropertyPath), request_body = BufferRulesBody,
    responses((status = 200, body = BufferRulesBody), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    IfMatch(read): IfMatch,
    body: Body<BufferRulesBody>,
) -> Result<Versioned<BufferRulesBody>, Problem> {
    let house = &at.house;
    let names = house.read_names().await?;
    let rules = wire::rules(body.value.rules, |rule, at, wrongs| {
        rule.rule(&names, at, wrongs)
    })?;
    let by = at.caller.by();
    match lists::change_buffer_rules(state.ledger(), house.id, &by, rules, read).await? {
        Ok(rules) => {
            let version = list_version(&rules);
            Ok(Versioned::of(version, shown(house, rules).await?))
        }
        Err(refusal) => Err(wire::of_list("/rules", house.refused(refusal).await)),
    }
}

/// The buffer rules of a property.
#[utoipa::path(get, path = "/v1/properties/{property}/buffer-rules", tag = "pools",
    params(PropertyPath), responses((status = 200, body = BufferRulesBody), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Versioned<BufferRulesBody>, Problem> {
    let rules = catalog::buffer_rules(state.ledger(), at.house.id).await?;
    let version = list_version(&rules);
    Ok(Versioned::of(version, shown(&at.house, rules).await?))
}

impl BufferRuleBody {
    fn rule(self, names: &Names, at: usize, wrongs: &mut Wrongs) -> Option<BufferRule> {
        let at = |name: &str| format!("/rules/{at}{name}");
        let room_type = self.room_type.map(|code| names.room_types.id(&code));
        let account = self.account.map(|code| names.accounts.id(&code));
        wrongs.unless(
            room_type != Some(None),
            at("/room_type"),
            "no such room type",
        );
        wrongs.unless(account != Some(None), at("/account"), "no such account");
        let nights = wrongs.nights(self.from, self.to, at("/to"));
        let days = |told: Option<i32>| told.is_none_or(|days| (0..=2_000).contains(&days));
        wrongs.unless(days(self.lead_days_min), at("/lead_days_min"), "0 to 2,000");
        wrongs.unless(days(self.lead_days_max), at("/lead_days_max"), "0 to 2,000");
        let told = [
            self.keep_back.map(BufferKind::KeepBack),
            self.close_at.map(BufferKind::CloseAt),
            self.cap.map(BufferKind::Cap),
            self.share_percent.map(BufferKind::SharePercent),
            self.safety
                .map(|safety| BufferKind::Safety(safety.one_in.unwrap_or(0))),
        ];
        let mut told = told.into_iter().flatten();
        let kind = told.next().filter(|_| told.next().is_none());
        let fits = |kind| match kind {
            BufferKind::SharePercent(percent) => (0..=100).contains(&percent),
            BufferKind::Safety(0) => self.safety.is_some_and(|safety| safety.one_in.is_none()),
            BufferKind::Safety(one_in) => (10..=1_000_000).contains(&one_in),
            other => (0..=10_000).contains(&other.number()),
        };
        let message = "exactly one of keep_back, close_at and cap, 0 to 10,000, or share_percent, \
                       0 to 100, or safety, one_in 10 to 1,000,000";
        wrongs.unless(kind.is_some_and(fits), at(""), message);
        Some(BufferRule {
            account: account.flatten(),
            room_type: room_type.flatten(),
            nights,
            weekdays: self.weekdays.unwrap_or(Weekdays::ALL),
            lead_days_min: self.lead_days_min,
            lead_days_max: self.lead_days_max,
            kind: kind?,
        })
    }
}

async fn shown(house: &House, rules: Vec<BufferRule>) -> Result<BufferRulesBody, Problem> {
    let names = house.read_names().await?;
    let rules = rules.into_iter().map(|rule| {
        let mut body = BufferRuleBody {
            account: rule.account.map(|id| names.accounts.shown(id)),
            room_type: rule.room_type.map(|id| names.room_types.shown(id)),
            from: rule.nights.map(|nights| Day(nights.arrival())),
            to: rule.nights.map(|nights| Day(nights.departure())),
            weekdays: Some(rule.weekdays).filter(|days| *days != Weekdays::ALL),
            lead_days_min: rule.lead_days_min,
            lead_days_max: rule.lead_days_max,
            keep_back: None,
            close_at: None,
            cap: None,
            share_percent: None,
            safety: None,
        };
        match rule.kind {
            BufferKind::KeepBack(rooms) => body.keep_back = Some(rooms),
            BufferKind::CloseAt(rooms) => body.close_at = Some(rooms),
            BufferKind::Cap(rooms) => body.cap = Some(rooms),
            BufferKind::SharePercent(percent) => body.share_percent = Some(percent),
            BufferKind::Safety(one_in) => {
                let one_in = Some(one_in).filter(|one_in| *one_in > 0);
                body.safety = Some(SafetyBody { one_in });
            }
        }
        body
    });
    Ok(BufferRulesBody {
        rules: rules.collect(),
    })
}
