//! Mappings: our room types and rate plans under the channel's codes.

use axum::extract::State;
use keyrack_distribution::accounts::mappings;
use keyrack_ledger::catalog::{self, MappingSetup};
use keyrack_ledger::hits::{Hit, Hits};
use keyrack_ledger::lists::{self, list_version};
use keyrack_model::channel::PoolMode;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Looks, REASON_MAX, Sets};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Ask, Body, Segments};
use crate::problem::kind::Kind;
use crate::problem::{Problem, Problems};
use crate::routes::accounts::account::{AccountPath, found};
use crate::routes::hits::{self, HitsView, SHOWN};
use crate::routes::properties::PropertyPath;
use crate::state::ApiState;
use crate::wire::Wrongs;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(show, put))
}

/// A mapping. The pair of remote codes is unique; a remote room belongs to one type.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Mapping)]
struct MappingBody {
    /// Code of our room type.
    room_type: String,
    /// Code of our rate plan; left out, the room alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_plan: Option<String>,
    /// The channel's code of the room.
    channel_room_code: String,
    /// The channel's code of the rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    channel_rate_code: Option<String>,
    /// From which pool it sells; one for all mappings of a room type.
    #[serde(default)]
    pool: PoolBody,
    /// Code of its allotment, where the pool is not `shared`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    allotment: Option<String>,
}

/// From which pool an account sells.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PoolBody {
    /// First come, first served.
    #[default]
    Shared,
    /// What is left of its allotment, and nothing else.
    Allotment,
    /// What is left of its allotment, then what is free.
    AllotmentThenShared,
}

impl From<PoolBody> for PoolMode {
    fn from(body: PoolBody) -> Self {
        match body {
            PoolBody::Shared => Self::Shared,
            PoolBody::Allotment => Self::Allotment,
            PoolBody::AllotmentThenShared => Self::AllotmentThenShared,
        }
    }
}

impl From<PoolMode> for PoolBody {
    fn from(mode: PoolMode) -> Self {
        match mode {
            PoolMode::Shared => Self::Shared,
            PoolMode::Allotment => Self::Allotment,
            PoolMode::AllotmentThenShared => Self::AllotmentThenShared,
        }
    }
}

/// Whether anything is done, and whether it is meant although guests are to come.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct RemapAsk {
    /// `true` says whom it would hit and does nothing.
    #[serde(default)]
    #[param(required = false)]
    dry_run: bool,
    /// Changes what codes stand for although guests are to come under them: the channel's next word
    /// of each would move the guest to the new type.
    #[serde(default)]
    #[param(required = false)]
    force: bool,
    /// Why; a force needs it.
    reason: Option<String>,
}

/// What a dry run of mappings tells.
#[derive(Debug, Serialize, ToSchema)]
struct RemapView {
    /// Nothing was done.
    dry_run: bool,
    /// Guests to come under codes that would be gone or stand for another type, and the account.
    hits: HitsView,
}

/// The mappings as they are, or what a dry run tells.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
enum PutView {
    Done(Vec<MappingBody>),
    Rehearsed(RemapView),
}

/// Replaces the mappings of an account: the whole list. Codes that are left behind are closed at
/// the channel first; what waited for a code is read again. Where guests are to come under a room
/// code that would be gone or stand for another type, it takes a force with a reason.
#[utoipa::path(put, path = "/v1/properties/{property}/accounts/{account}/mappings",
    tag = "channels", params(PropertyPath, AccountPath, RemapAsk),
    request_body = Vec<MappingBody>, responses((status = 200, body = PutView), Problems))]
async fn put(
    State(state): State<ApiState>,
    at: At<Sets>,
    Segments(path): Segments<AccountPath>,
    Ask(ask): Ask<RemapAsk>,
    IfMatch(read): IfMatch,
    body: Body<Vec<MappingBody>>,
) -> Result<Versioned<PutView>, Problem> {
    let row = found(&state, &at.house, &path).await?;
    let mut wrongs = Wrongs::default();
    wrongs.unless(body.value.len() <= 1_000, "", "at most 1,000 mappings");
    for (at, mapping) in body.value.iter().enumerate() {
        let pointer = format!("/{at}/channel_room_code");
        wrongs.named(&mapping.channel_room_code, 100, pointer);
        let rate = mapping.channel_rate_code.as_deref();
        wrongs.longest(rate, 100, format!("/{at}/channel_rate_code"));
    }
    let reason = ask.reason.as_deref().map(str::trim).unwrap_or_default();
    let is_said = !reason.is_empty() && reason.chars().count() <= REASON_MAX;
    let words = "say why in 1 to 500 characters: it is written down with the force";
    wrongs.unless(!ask.force || is_said, "/reason", words);
    wrongs.finish()?;
    let told: Vec<MappingSetup> = body.value.into_iter().map(MappingSetup::from).collect();
    let engine = state.distribution();
    let guests = mappings::guests_hit(engine, &row, &told, SHOWN + 1).await?;
    if ask.dry_run {
        let checked = lists::check_mappings(state.ledger(), row.account.id, &told).await?;
        if let Err(refusal) = checked {
            return Err(at.house.refused(refusal).await);
        }
        let found = Hits {
            guests,
            accounts: vec![row.account.id],
        };
        let hits = hits::view(&at.house, found).await?;
        let dry_run = true;
        let kept = catalog::mapping_codes(state.ledger(), row.account.id).await?;
        let told = PutView::Rehearsed(RemapView { dry_run, hits });
        return Ok(Versioned::of(list_version(&kept), told));
    }
    if !guests.is_empty() && !ask.force {
        return Err(needs_force(&guests));
    }
    let (by, reason) = (at.caller.by(), (!guests.is_empty()).then_some(reason));
    match mappings::put(engine, &row, &by, told, (read, reason)).await? {
        Ok(kept) => {
            let version = list_version(&kept);
            let kept = kept.into_iter().map(MappingBody::from).collect();
            Ok(Versioned::of(version, PutView::Done(kept)))
        }
        Err(refusal) => Err(at.house.refused(refusal).await),
    }
}

/// The refusal that names the guests.
fn needs_force(guests: &[Hit]) -> Problem {
    const NAMED: usize = 5;
    let numbers = guests.iter().take(NAMED).map(|one| one.number.to_string());
    let more = match guests.len().checked_sub(NAMED) {
        None | Some(0) => "",
        Some(_) => " and more",
    };
    let detail = format!(
        "guests are to come under room codes that would be gone or stand for another type \
         (reservations {}{more}): the channel's next word of them would move them. Ask with \
         dry_run=true to see them all; if it is meant, send force=true and a reason",
        numbers.collect::<Vec<_>>().join(", ")
    );
    Problem::new(Kind::NeedsForce, detail)
}

/// The mappings of an account.
#[utoipa::path(get, path = "/v1/properties/{property}/accounts/{account}/mappings",
    tag = "channels", params(PropertyPath, AccountPath),
    responses((status = 200, body = Vec<MappingBody>), Problems))]
async fn show(
    State(state): State<ApiState>,
    at: At<Looks>,
    Segments(path): Segments<AccountPath>,
) -> Result<Versioned<Vec<MappingBody>>, Problem> {
    let row = found(&state, &at.house, &path).await?;
    let kept = catalog::mapping_codes(state.ledger(), row.account.id).await?;
    let version = list_version(&kept);
    let kept = kept.into_iter().map(MappingBody::from).collect();
    Ok(Versioned::of(version, kept))
}

impl From<MappingBody> for MappingSetup {
    fn from(body: MappingBody) -> Self {
        Self {
            room_type: body.room_type,
            rate_plan: body.rate_plan,
            channel_room_code: body.channel_room_code,
            channel_rate_code: body.channel_rate_code,
            pool: body.pool.into(),
            allotment: body.allotment,
        }
    }
}

impl From<MappingSetup> for MappingBody {
    fn from(setup: MappingSetup) -> Self {
        Self {
            room_type: setup.room_type,
            rate_plan: setup.rate_plan,
            channel_room_code: setup.channel_room_code,
            channel_rate_code: setup.channel_rate_code,
            pool: setup.pool.into(),
            allotment: setup.allotment,
        }
    }
}
