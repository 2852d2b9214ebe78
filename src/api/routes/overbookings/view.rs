//! A case as it is shown.

use jiff::Timestamp;
use keyrack_ledger::decide::overbooking::way::WayOut;
use keyrack_ledger::overbookings::advice::{Advice, Place};
use keyrack_ledger::overbookings::case::Case;
use keyrack_ledger::overbookings::ground::Ground;
use keyrack_model::money::{Currency, Money};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::body::{CaseMoveBody, EndingShape};
use crate::wire::{Day, MoneyShape};

/// A case: oversold nights, why, who is concerned, and what can be done.
#[derive(Debug, Serialize, ToSchema)]
pub struct CaseView {
    /// Its id.
    id: i64,
    /// Code of the room type.
    room_type: String,
    /// Where it stands.
    status: String,
    /// Why, as far as known: `undetermined`, `sold_before_close_could_arrive`, `push_failed`,
    /// `unmapped`, `channel_reopened`, `staff_forced`, `capacity_cut`, `meant`.
    cause: String,
    /// The same in words, with the times at the property.
    cause_in_words: String,
    /// What was told when, when the guest booked, when we heard.
    #[schema(value_type = Object)]
    evidence: Value,
    /// Who works it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    owner: Option<String>,
    /// Until when it must be resolved; then it escalates, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    deadline: Option<Timestamp>,
    /// When its deadline was found to have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    escalated_at: Option<Timestamp>,
    /// A person opened it.
    by_hand: bool,
    /// When it was opened.
    opened_at: Timestamp,
    /// When it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    closed_at: Option<Timestamp>,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<EndingShape>)]
    outcome: Option<String>,
    /// What it cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<MoneyShape>)]
    cost: Option<Money>,
    /// Who was moved, and what was said of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    resolution: Option<Value>,
    /// What was proposed last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    proposal: Option<Value>,
    /// What a manager has approved.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<Object>)]
    approval: Option<Value>,
    /// Its nights.
    nights: Vec<CaseNightView>,
    /// Reservations on its nights, in order of booking.
    concerned: Vec<Uuid>,
    /// The same, who is moved first coming first. Only of a single case.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ranked: Option<Vec<RankedView>>,
    /// What can be done, the cheapest first. Only of a single open case.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    ways_out: Option<Vec<WayOutView>>,
    /// What happened to it, in order.
    events: Vec<CaseEventView>,
    /// Counts changes; also the ETag.
    pub version: i64,
}

/// A night of a case.
#[derive(Debug, Serialize, ToSchema)]
struct CaseNightView {
    /// The night.
    stay_date: Day,
    /// Rooms beyond what can be slept in, at most.
    rooms: i32,
    /// Rooms beyond now. Only of a single open case.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rooms_now: Option<i32>,
    /// Accepted with so many rooms beyond.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    accepted_rooms: Option<i32>,
    /// When a cancellation or a change cured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    cured_at: Option<Timestamp>,
}

/// A reservation and its place among those who may be moved.
#[derive(Debug, Serialize, ToSchema)]
struct RankedView {
    /// 1 is moved first.
    rank: usize,
    /// Which reservation.
    reservation: Uuid,
    /// Its short number.
    number: String,
    /// Its version.
    version: i64,
    /// Why it has this place.
    why: String,
    /// When the guest booked; else when we heard.
    received_at: Timestamp,
    /// Code of the account that it came through.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    account: Option<String>,
    /// Prepaid or guaranteed.
    guaranteed: bool,
    /// A VIP by the rate plan.
    vip: bool,
    /// The guest is in the house.
    in_house: bool,
    /// First night.
    arrival: Day,
    /// Nights.
    nights: i32,
}

/// A way out of a case.
#[derive(Debug, Serialize, ToSchema)]
struct WayOutView {
    /// How the case would end by it.
    #[schema(value_type = EndingShape)]
    ending: &'static str,
    /// What to do.
    what: String,
    /// What it costs; of waiting, on average. Absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, value_type = Option<MoneyShape>)]
    cost: Option<Money>,
    /// Takes a manager's approval.
    needs_approval: bool,
    /// The `moves` to send with `/resolve`.
    moves: Vec<CaseMoveBody>,
}

/// Something that happened to a case.
#[derive(Debug, Serialize, ToSchema)]
struct CaseEventView {
    /// What.
    kind: String,
    /// Who.
    actor: String,
    /// With which numbers.
    #[schema(value_type = Object)]
    detail: Value,
    /// When.
    at: Timestamp,
}

impl CaseView {
    /// As a list shows it.
    pub fn of(case: Case, ground: &Ground) -> Self {
        let deadline = ground.deadline(&case).filter(|_| case.is_open());
        let cause_in_words = ground.cause_in_words(&case);
        let cost = case.cost.and_then(|(minor, code)| {
            let currency = Currency::from_code(&code)?;
            Some(Money::new(minor, currency))
        });
        let nights = case.nights.into_iter();
        let events = case.events.into_iter();
        Self {
            id: case.id.0,
            room_type: case.room_type,
            status: case.status,
            cause: case.cause,
            cause_in_words,
            evidence: case.evidence,
            owner: case.owner,
            deadline,
            escalated_at: case.escalated_at,
            by_hand: case.by_hand,
            opened_at: case.opened_at,
            closed_at: case.closed_at,
            outcome: case.outcome,
            cost,
            resolution: case.resolution,
            proposal: case.proposal,
            approval: case.approval,
            nights: nights
                .map(|(night, rooms, cured_at, accepted_rooms)| CaseNightView {
                    stay_date: Day(night),
                    rooms,
                    rooms_now: None,
                    accepted_rooms,
                    cured_at,
                })
                .collect(),
            concerned: case.concerned.into_iter().map(|id| id.0).collect(),
            ranked: None,
            ways_out: None,
            events: events
                .map(|(kind, actor, detail, at)| CaseEventView {
                    kind,
                    actor,
                    detail,
                    at,
                })
                .collect(),
            version: case.version,
        }
    }

    /// With what to do about it.
    pub fn advised(case: Case, ground: &Ground, advice: Advice) -> Self {
        let is_open = case.is_open();
        let mut view = Self::of(case, ground);
        for night in view.nights.iter_mut().filter(|_| is_open) {
            let now = advice
                .beyond
                .iter()
                .find(|(day, _)| *day == night.stay_date.0);
            night.rooms_now = Some(now.map_or(0, |(_, rooms)| *rooms));
        }
        let ranked = (1..)
            .zip(advice.ranked)
            .map(|(rank, place)| ranked(rank, place));
        view.ranked = Some(ranked.collect());
        let currency = ground.currency();
        let ways = advice.ways.into_iter().map(|way| way_out(way, currency));
        view.ways_out = is_open.then(|| ways.collect());
        view
    }
}

fn ranked(rank: usize, place: Place) -> RankedView {
    let facts = place.facts;
    RankedView {
        rank,
        reservation: place.reservation.0,
        number: place.number.to_string(),
        version: place.version,
        why: place.why,
        received_at: facts.received_at,
        account: facts.account,
        guaranteed: facts.guaranteed,
        vip: facts.is_vip,
        in_house: facts.in_house,
        arrival: Day(facts.arrival),
        nights: facts.nights,
    }
}

fn way_out(way: WayOut, currency: Currency) -> WayOutView {
    let (sister, there) = way.sister.unzip();
    let moves = way.moves.into_iter().map(|(guest, to)| CaseMoveBody {
        reservation: guest.reservation.0,
        version: Some(guest.version),
        room_stay_id: Some(guest.room_stay.0),
        room_type: to.or_else(|| there.clone()),
        property: sister.clone(),
        elsewhere: None,
    });
    WayOutView {
        ending: way.ending.as_str(),
        what: way.words,
        cost: way.cost_minor.map(|minor| Money::new(minor, currency)),
        needs_approval: way.needs_approval,
        moves: moves.collect(),
    }
}
