//! Out of order and overbooking limits over nights.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use keyrack_ledger::command::{Asked, Command, NightChange};
use keyrack_model::stay::StayRange;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{At, Sets};
use crate::extract::{Ask, Body};
use crate::names::{House, Names};
use crate::problem::{Problem, Problems};
use crate::routes::hits::{HitsView, on_short_nights};
use crate::routes::properties::PropertyPath;
use crate::routes::room_type::{DryRun, ShortNightView, short_nights};
use crate::state::ApiState;
use crate::wire::{Day, Wrongs, of_list};

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new().routes(routes!(set))
}

/// Changes over nights: all of them, in order, or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct InventoryBody {
    /// At most 100, over 20,000 nights together. A later value starts from what the earlier made.
    values: Vec<InventoryValue>,
}

/// A change over nights. An absent field stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct InventoryValue {
    /// Code of the room type.
    room_type: String,
    /// First night.
    from: Day,
    /// The morning after the last night.
    to: Day,
    /// Rooms that cannot be sold: a fact, never refused for what is sold. Of more rooms than there
    /// are on a night it is no fact: that is `invalid`.
    #[schema(minimum = 0)]
    out_of_order: Option<i32>,
    /// How far beyond physical the hotel means to sell.
    #[schema(minimum = 0)]
    overbooking_limit: Option<i32>,
    /// Why.
    reason: Option<String>,
}

/// What a change did, or would do.
#[derive(Debug, Serialize, ToSchema)]
struct InventoryView {
    /// Nothing was done.
    dry_run: bool,
    /// Nights with more taken than there is.
    short: Vec<ShortNightView>,
    /// Whom it would hit on these nights; in a dry run, where there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    hits: Option<HitsView>,
}

/// Sets out of order and overbooking limits. A repeat changes nothing.
#[utoipa::path(post, path = "/v1/properties/{property}/inventory", tag = "hotel",
    params(PropertyPath, DryRun),
    request_body = InventoryBody, responses((status = 200, body = InventoryView), Problems))]
async fn set(
    State(state): State<ApiState>,
    at: At<Sets>,
    Ask(DryRun { dry_run }): Ask<DryRun>,
    body: Body<InventoryBody>,
) -> Result<Json<InventoryView>, Problem> {
    let house = &at.house;
    let changes = changes(house, body.value).await?;
    let command = Command::SetNights { changes, dry_run };
    let asked = Asked::new(house.id, Arc::new(at.caller.by()), command);
    match state.ledger().ask(asked).await? {
        Ok(receipt) => {
            let hits = match dry_run && !receipt.short.is_empty() {
                true => Some(on_short_nights(&state, house, &receipt.short).await?),
                false => None,
            };
            let short = short_nights(house, receipt.short).await?;
            Ok(Json(InventoryView {
                dry_run,
                short,
                hits,
            }))
        }
        Err(refusal) => Err(of_list("/values", house.refused(refusal).await)),
    }
}

async fn changes(house: &House, body: InventoryBody) -> Result<Vec<NightChange>, Problem> {
    let values = body.values;
    if !(1..=VALUES_MAX).contains(&values.len()) {
        return Err(Problem::invalid("/values", format!("1 to {VALUES_MAX}")));
    }
    let nights = |value: &InventoryValue| {
        let nights = StayRange::new(value.from.0, value.to.0);
        nights.map_or(0, StayRange::length)
    };
    if values.iter().map(nights).sum::<i32>() > NIGHTS_MAX {
        let words = format!("{NIGHTS_MAX} nights together at most: send it in parts");
        return Err(Problem::invalid("/values", words));
    }
    let known = |names: &Names| {
        let known = |value: &InventoryValue| names.room_types.id(&value.room_type).is_some();
        values.iter().all(known)
    };
    let names = house.names_with(known).await?;
    let mut wrongs = Wrongs::default();
    let mut changes = Vec::new();
    for (at, value) in values.into_iter().enumerate() {
        let at = |name: &str| format!("/values/{at}/{name}");
        let room_type = names.room_types.id(&value.room_type);
        wrongs.unless(room_type.is_some(), at("room_type"), "no such room type");
        let nights = StayRange::new(value.from.0, value.to.0);
        let message = "must be after from (the end is excluded), by at most 2,200 nights";
        wrongs.unless(nights.is_some(), at("to"), message);
        for (told, name) in [
            (value.out_of_order, "out_of_order"),
            (value.overbooking_limit, "overbooking_limit"),
        ] {
            let fits = told.is_none_or(|rooms| (0..=10_000).contains(&rooms));
            wrongs.unless(fits, at(name), "0 to 10,000");
        }
        wrongs.longest(value.reason.as_deref(), 500, at("reason"));
        if let (Some(room_type), Some(nights)) = (room_type, nights) {
            changes.push(NightChange {
                room_type,
                nights,
                out_of_order: value.out_of_order,
                overbooking_limit: value.overbooking_limit,
                reason: value.reason,
            });
        }
    }
    wrongs.finish()?;
    Ok(changes)
}

const VALUES_MAX: usize = 100;

/// Nights that one request changes at most: they are read, judged and written in one piece.
const NIGHTS_MAX: i32 = 20_000;
