//! Meant overbooking: how far beyond its rooms a hotel means to sell.

use axum::extract::State;
use keyrack_ledger::decide::overbooking::limits::{Limit, LimitRule};
use keyrack_ledger::lists::list_version;
use keyrack_ledger::overbookings::limits;
use keyrack_model::stay::{Stay, Weekdays};
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
use crate::wire::{Day, Wrongs};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show, put))
}

/// The limits of a property: the whole list, in order. Of several that apply to a night the first
/// wins.
#[derive(Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LimitsBody {
    /// At most 200.
    rules: Vec<LimitBody>,
}

/// How far beyond its rooms a type is sold. Exactly one of `rooms` and `percent`.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct LimitBody {
    /// Code of the room type.
    room_type: String,
    /// First night.
    from: Day,
    /// End of the nights, excluded.
    to: Day,
    /// Only on these weekdays.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<WeekdayShape>>, nullable = false)]
    weekdays: Option<Weekdays>,
    /// Only so many days ahead or more; 1 where it is not said, so that nobody is sold beyond on
    /// the day of arrival.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    lead_days_min: Option<i32>,
    /// Only so many days ahead or fewer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    lead_days_max: Option<i32>,
    /// So many rooms.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0)]
    rooms: Option<i32>,
    /// So many percent of the rooms that there are, rounded down.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0, maximum = 100)]
    percent: Option<i32>,
}

/// Replaces the limits of a property and puts them on its nights, now and at every roll-over. A
/// night that no rule speaks of any more gets 0. Manager.
#[utoipa::path(put, path = "/v1/properties/{property}/overbooking-limits", tag = "pools",
    params(PropertyPath), request_body = LimitsBody,
    responses((status = 200, body = LimitsBody), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    IfMatch(read): IfMatch,
    body: Body<LimitsBody>,
) -> Result<Versioned<LimitsBody>, Problem> {
    let house = &at.house;
    let rules = rules(house, body.value.rules).await?;
    let by = at.caller.by();
    match limits::put(state.ledger(), house.id, by, &rules, read).await? {
        Ok(()) => {
            let version = list_version(&rules);
            Ok(Versioned::of(version, shown(house, rules).await?))
        }
        Err(refusal) => Err(house.refused(refusal).await),
    }
}

/// The limits of a property.
#[utoipa::path(get, path = "/v1/properties/{property}/overbooking-limits", tag = "pools",
    params(PropertyPath), responses((status = 200, body = LimitsBody), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
) -> Result<Versioned<LimitsBody>, Problem> {
    let rules = limits::list(state.ledger(), at.house.id).await?;
    let version = list_version(&rules);
    Ok(Versioned::of(version, shown(&at.house, rules).await?))
}

async fn rules(house: &House, told: Vec<LimitBody>) -> Result<Vec<LimitRule>, Problem> {
    let names = house.read_names().await?;
    let mut wrongs = Wrongs::default();
    wrongs.unless(told.len() <= 200, "/rules", "at most 200");
    let rules = told
        .into_iter()
        .enumerate()
        .filter_map(|(at, rule)| rule.rule(&names, at, &mut wrongs))
        .collect();
    wrongs.finish()?;
    Ok(rules)
}

impl LimitBody {
    fn rule(self, names: &Names, at: usize, wrongs: &mut Wrongs) -> Option<LimitRule> {
        let at = |name: &str| format!("/rules/{at}{name}");
        let room_type = names.room_types.id(&self.room_type);
        wrongs.unless(room_type.is_some(), at("/room_type"), "no such room type");
        let nights = Stay::new(self.from.0, self.to.0);
        wrongs.unless(nights.is_some(), at("/to"), "after from, the end excluded");
        let days = |told: Option<i32>| told.is_none_or(|days| (0..=2_000).contains(&days));
        wrongs.unless(days(self.lead_days_min), at("/lead_days_min"), "0 to 2,000");
        wrongs.unless(days(self.lead_days_max), at("/lead_days_max"), "0 to 2,000");
        let limit = match (self.rooms, self.percent) {
            (Some(rooms), None) if (0..=10_000).contains(&rooms) => Some(Limit::Rooms(rooms)),
            (None, Some(percent)) if (0..=100).contains(&percent) => Some(Limit::Percent(percent)),
            _ => None,
        };
        let words = "exactly one of rooms, 0 to 10,000, and percent, 0 to 100";
        wrongs.unless(limit.is_some(), at(""), words);
        Some(LimitRule {
            room_type: room_type?,
            nights: nights?,
            weekdays: self.weekdays.unwrap_or(Weekdays::ALL),
            lead_days_min: self.lead_days_min.unwrap_or(1),
            lead_days_max: self.lead_days_max,
            limit: limit?,
        })
    }
}

async fn shown(house: &House, rules: Vec<LimitRule>) -> Result<LimitsBody, Problem> {
    let names = house.read_names().await?;
    let rules = rules.into_iter().map(|rule| {
        let (rooms, percent) = match rule.limit {
            Limit::Rooms(rooms) => (Some(rooms), None),
            Limit::Percent(percent) => (None, Some(percent)),
        };
        LimitBody {
            room_type: names.room_types.shown(rule.room_type),
            from: Day(rule.nights.arrival()),
            to: Day(rule.nights.departure()),
            weekdays: Some(rule.weekdays).filter(|days| *days != Weekdays::ALL),
            lead_days_min: Some(rule.lead_days_min),
            lead_days_max: rule.lead_days_max,
            rooms,
            percent,
        }
    });
    Ok(LimitsBody {
        rules: rules.collect(),
    })
}
