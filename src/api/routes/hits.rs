//! Whom a change would hit, as its dry run tells it: the guests who sleep on the nights, and the
//! channels that sell them.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_ledger::command::ShortNight;
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::hits::{self, Hit, Hits, Span};
use keyrack_ledger::rates::RateChange;
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::{Stay, StayDate, Weekdays, ranges};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::names::House;
use crate::state::ApiState;
use crate::wire::Day;

/// Whom a change would hit.
#[derive(Debug, Serialize, ToSchema)]
pub struct HitsView {
    /// Guests who sleep on the nights, in order of arrival; at most 100.
    reservations: Vec<HitView>,
    /// There are more of them.
    more: bool,
    /// Codes of the accounts that sell the nights, and would be told.
    accounts: Vec<String>,
}

/// A guest who would be hit.
#[derive(Debug, Serialize, ToSchema)]
struct HitView {
    /// Which reservation.
    reservation: Uuid,
    /// Its short number.
    number: String,
    /// `held`, `confirmed` or `checked_in`.
    status: &'static str,
    /// Code of the account that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// Its first night.
    arrival: Day,
    /// The morning after the last.
    departure: Day,
}

/// Whom a change of some nights would hit.
pub async fn on_nights(
    state: &ApiState,
    house: &House,
    spans: &[Span],
) -> Result<HitsView, LedgerError> {
    let found = hits::on_nights(state.ledger(), house.id, spans, SHOWN + 1).await?;
    view(house, found).await
}

/// The same of nights that would be short.
pub async fn on_short_nights(
    state: &ApiState,
    house: &House,
    short: &[ShortNight],
) -> Result<HitsView, LedgerError> {
    let mut by_type: BTreeMap<RoomTypeId, BTreeSet<StayDate>> = BTreeMap::new();
    for one in short {
        by_type.entry(one.room_type).or_default().insert(one.night);
    }
    let spans = by_type.into_iter().flat_map(|(room_type, nights)| {
        let runs = ranges(nights).into_iter();
        runs.map(move |nights| Span {
            room_type: Some(room_type),
            rate_plan: None,
            account: None,
            nights,
        })
    });
    on_nights(state, house, &spans.collect::<Vec<_>>()).await
}

/// The same of nights that changes close; `None` where they close nothing.
pub async fn on_closed_nights(
    state: &ApiState,
    house: &House,
    changes: &[RateChange],
) -> Result<Option<HitsView>, LedgerError> {
    let closing = changes.iter().filter(|one| one.stop_sell == Some(true));
    let spans = closing.flat_map(|one| {
        let weekdays = one.weekdays.unwrap_or(Weekdays::ALL);
        let all = one.nights.into_iter().flat_map(Stay::nights);
        let runs = ranges(all.filter(|night| weekdays.contains(*night)));
        runs.into_iter().map(|nights| Span {
            room_type: one.room_type,
            rate_plan: one.rate_plan,
            account: one.account,
            nights,
        })
    });
    let spans: Vec<Span> = spans.collect();
    match spans.is_empty() {
        true => Ok(None),
        false => on_nights(state, house, &spans).await.map(Some),
    }
}

/// Those who would be hit, by codes.
pub async fn view(house: &House, mut found: Hits) -> Result<HitsView, LedgerError> {
    let more = found.guests.len() > SHOWN as usize;
    found.guests.truncate(SHOWN as usize);
    let of_guests = found.guests.iter().filter_map(|hit| hit.account);
    let all: Vec<_> = of_guests.chain(found.accounts.iter().copied()).collect();
    let names = house
        .names_with(|names| all.iter().all(|id| names.accounts.code(*id).is_some()))
        .await?;
    let guest = |hit: Hit| HitView {
        reservation: hit.reservation.0,
        number: hit.number.to_string(),
        status: hit.status.as_str(),
        account: hit.account.map(|id| names.accounts.shown(id)),
        arrival: Day(hit.arrival),
        departure: Day(hit.departure),
    };
    Ok(HitsView {
        reservations: found.guests.into_iter().map(guest).collect(),
        more,
        accounts: found
            .accounts
            .into_iter()
            .map(|id| names.accounts.shown(id))
            .collect(),
    })
}

/// Guests that are told at most.
pub const SHOWN: u32 = 100;
