//! A way out of an overbooking, and what it is made from.

use keyrack_model::id::{ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::stay::{Stay, StayDate, StayRange};

use super::policy::{OverbookingPolicy, lead_days, nights_ahead};
use super::rooms::Rooms;

/// A guest who may be moved, by the room that he has on an oversold night.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sleeper {
    /// Which reservation.
    pub reservation: ReservationId,
    /// Its short number.
    pub number: i64,
    /// Its version.
    pub version: i64,
    /// Which of its rooms.
    pub room_stay: RoomStayId,
    /// The plain type that it takes.
    pub room_type: RoomTypeId,
    /// Its nights that are still to come.
    pub nights: StayRange,
    /// Rooms.
    pub quantity: i32,
    /// Adults and children, where they are known.
    pub heads: Option<(i32, i32)>,
    /// Code of the account that it came through.
    pub account: Option<String>,
    /// The guest is in the house.
    pub in_house: bool,
}

/// What is known around a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Situation<'a> {
    /// The property's policy.
    pub policy: &'a OverbookingPolicy,
    /// The business day.
    pub today: StayDate,
    /// Nights of the case, with rooms beyond.
    pub beyond: Vec<(StayDate, i32)>,
    /// Own rooms.
    pub rooms: Rooms,
    /// Who sleeps in other types around the nights.
    pub others: Vec<Sleeper>,
    /// Hotels of the same owner, by code.
    pub sisters: Vec<(String, Rooms)>,
    /// Percent of cases like this that cancellations cure before the deadline; else why it is not
    /// known.
    pub cure_percent: Result<i32, String>,
}

/// A way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WayOut {
    /// How the case would end.
    pub ending: Ending,
    /// Who is moved: the guest, and the type that he gets.
    pub moves: Vec<(Sleeper, Option<String>)>,
    /// Hotel of the same owner that takes the guest, and its type.
    pub sister: Option<(String, String)>,
    /// What it costs, in minor units; of waiting: what it costs on average. `None` is not known.
    pub cost_minor: Option<i64>,
    /// Takes a manager.
    pub needs_approval: bool,
    /// What to do, in words.
    pub words: String,
}

/// A way that ends so, at a cost.
pub(super) fn way(
    situation: &Situation<'_>,
    ending: Ending,
    cost_minor: Option<i64>,
    words: String,
) -> WayOut {
    WayOut {
        ending,
        moves: Vec::new(),
        sister: None,
        cost_minor,
        needs_approval: cost_minor.is_some_and(|cost| situation.policy.needs_approval(cost)),
        words,
    }
}

/// So much a night and room, over the nights that are still to come.
pub(super) fn per_night(situation: &Situation<'_>, guest: &Sleeper, minor: i64) -> i64 {
    let nights = nights_ahead(
        situation.today,
        guest.nights.arrival(),
        guest.nights.departure(),
    );
    minor.saturating_mul(i64::from(nights) * i64::from(guest.quantity))
}

/// What a walk costs, by the policy.
pub(super) fn walk_minor(situation: &Situation<'_>, guest: &Sleeper) -> Option<i64> {
    let arrival = guest.nights.arrival();
    let nights = nights_ahead(situation.today, arrival, guest.nights.departure());
    let lead = lead_days(situation.today, arrival);
    situation.policy.walk_minor(nights, lead, guest.quantity)
}

/// Nights as people say them.
pub(super) fn spoken(nights: StayRange) -> String {
    format!("from {} to {}", nights.arrival(), nights.departure())
}

/// The nights of a stay that are still to come. `None` where none are.
pub fn to_come(today: StayDate, taken: StayRange) -> Option<StayRange> {
    Stay::new(taken.arrival().max(today), taken.departure())
}
