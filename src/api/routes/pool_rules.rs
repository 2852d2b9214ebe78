//! Pool rules: an account's pool switches by season, or when rooms grow scarce.

use axum::Json;
use axum::extract::State;
use keyrack_ledger::allotments;
use keyrack_ledger::catalog;
use keyrack_ledger::decide::pool_rule::{PoolRule, Scarcity};
use keyrack_ledger::lists::{self, list_version};
use keyrack_model::stay::Weekdays;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body};
use crate::names::{House, Names};
use crate::problem::{Problem, Problems};
use crate::routes::accounts::mappings::PoolBody;
use crate::routes::allotments::NightsAsk;
use crate::routes::properties::PropertyPath;
use crate::routes::rates::WeekdayShape;
use crate::state::ApiState;
use crate::wire::{self, Day, Wrongs, range};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(show, put))
        .routes(routes!(switches))
}

/// The rules of a property: the whole list. Of those that bind a night the last one says; where
/// none does, the mapping.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct PoolRulesBody {
    /// At most 200.
    rules: Vec<PoolRuleBody>,
}

/// A rule that switches the pool of an account: over dates and weekdays, or while few rooms of a
/// night are free.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = PoolRule)]
struct PoolRuleBody {
    /// Code of the account; it has an allotment to live on.
    account: String,
    /// Only for this room type; left out, for every type of which it has an allotment.
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
    /// From which pool it sells then.
    pool: PoolBody,
    /// Only once so many rooms of a night or fewer are free in the shared pool; with `until_free`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    when_free: Option<i32>,
    /// And until so many or more are free again: more than `when_free`, so that one cancellation
    /// turns nothing about.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 1)]
    until_free: Option<i32>,
}

/// Replaces the pool rules of a property. Channels are told anew of the nights that a rule binds
/// which was added, moved or taken away.
#[utoipa::path(put, path = "/v1/properties/{property}/pool-rules", tag = "pools",
    params(PropertyPath), request_body = PoolRulesBody,
    responses((status = 200, body = PoolRulesBody), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    IfMatch(read): IfMatch,
    body: Body<PoolRulesBody>,
) -> Result<Versioned<PoolRulesBody>, Problem> {
    let house = &at.house;
    let names = house.read_names().await?;
    let rules = wire::rules(body.value.rules, |rule, at, wrongs| {
        rule.rule(&names, at, wrongs)
    })?;
    let by = at.caller.by();
    match lists::change_pool_rules(state.ledger(), house.id, &by, &rules, read).await? {
        Ok(rules) => {
            let version = list_version(&rules);
            Ok(Versioned::of(version, shown(house, rules).await?))
        }
        Err(refusal) => Err(wire::of_list("/rules", house.refused(refusal).await)),
    }
}

/// The pool rules of a property, in order.
#[utoipa::path(get, path = "/v1/properties/{property}/pool-rules", tag = "pools",
    params(PropertyPath), responses((status = 200, body = PoolRulesBody), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Versioned<PoolRulesBody>, Problem> {
    let rules = catalog::pool_rules(state.ledger(), at.house.id).await?;
    let version = list_version(&rules);
    Ok(Versioned::of(version, shown(&at.house, rules).await?))
}

/// Where rules with `when_free` hold now.
#[derive(Debug, Serialize, ToSchema)]
struct PoolSwitchesView {
    /// In order of rule, room type and night.
    switches: Vec<PoolSwitchView>,
}

/// Nights on which a rule has switched.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PoolSwitch)]
struct PoolSwitchView {
    /// Which rule of the list, from 1.
    rule: usize,
    /// Code of the room type.
    room_type: String,
    /// First night.
    from: Day,
    /// The morning after the last night.
    to: Day,
}

/// The nights on which pool rules with `when_free` have switched now: few enough rooms became free,
/// and not enough again since. A rule without holds on every night that it binds.
#[utoipa::path(get, path = "/v1/properties/{property}/pool-rules/switches", tag = "pools",
    params(PropertyPath, NightsAsk),
    responses((status = 200, body = PoolSwitchesView), Problems))]
async fn switches(
    State(state): State<ApiState>,
    at: At<Looks>,
    Ask(ask): Ask<NightsAsk>,
) -> Result<Json<PoolSwitchesView>, Problem> {
    let nights = range(ask.from, ask.to)?;
    let held = allotments::switches(state.ledger(), at.house.id, nights).await?;
    let names = at.house.read_names().await?;
    let mut switches = Vec::new();
    for ((place, room_type), ranges) in held {
        switches.extend(ranges.into_iter().map(|nights| PoolSwitchView {
            rule: place + 1,
            room_type: names.room_types.shown(room_type),
            from: Day(nights.arrival()),
            to: Day(nights.departure()),
        }));
    }
    Ok(Json(PoolSwitchesView { switches }))
}

impl PoolRuleBody {
    fn rule(self, names: &Names, at: usize, wrongs: &mut Wrongs) -> Option<PoolRule> {
        let at = |name: &str| format!("/rules/{at}{name}");
        let account = names.accounts.id(&self.account);
        wrongs.unless(account.is_some(), at("/account"), "no such account");
        let room_type = self.room_type.map(|code| names.room_types.id(&code));
        let is_known = room_type != Some(None);
        wrongs.unless(is_known, at("/room_type"), "no such room type");
        let nights = wrongs.nights(self.from, self.to, at("/to"));
        let scarcity = self.when_free.zip(self.until_free);
        let is_paired = self.when_free.is_some() == self.until_free.is_some();
        let message = "when_free and until_free stand together";
        wrongs.unless(is_paired, at("/until_free"), message);
        let fits = |(at_most, again_at): (i32, i32)| {
            (0..=10_000).contains(&at_most) && (at_most + 1..=10_001).contains(&again_at)
        };
        let message = "more rooms than when_free, which is 0 to 10,000";
        wrongs.unless(scarcity.is_none_or(fits), at("/until_free"), message);
        Some(PoolRule {
            account: account?,
            room_type: room_type.flatten(),
            nights,
            weekdays: self.weekdays.unwrap_or(Weekdays::ALL),
            mode: self.pool.into(),
            scarcity: scarcity.map(|(at_most, again_at)| Scarcity { at_most, again_at }),
        })
    }
}

async fn shown(house: &House, rules: Vec<PoolRule>) -> Result<PoolRulesBody, Problem> {
    let names = house.read_names().await?;
    let rules = rules.into_iter().map(|rule| PoolRuleBody {
        account: names.accounts.shown(rule.account),
        room_type: rule.room_type.map(|id| names.room_types.shown(id)),
        from: rule.nights.map(|nights| Day(nights.arrival())),
        to: rule.nights.map(|nights| Day(nights.departure())),
        weekdays: Some(rule.weekdays).filter(|days| *days != Weekdays::ALL),
        pool: rule.mode.into(),
        when_free: rule.scarcity.map(|scarcity| scarcity.at_most),
        until_free: rule.scarcity.map(|scarcity| scarcity.again_at),
    });
    Ok(PoolRulesBody {
        rules: rules.collect(),
    })
}
