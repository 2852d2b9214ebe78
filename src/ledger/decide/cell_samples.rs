//! Channels, cells and nights for the tables of what is told.

use jiff::civil::date;
use keyrack_model::channel::{Capabilities, Inexpressible};
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::restriction::{RestrictionKind, Restrictions};
use keyrack_model::stay::{StayDate, plus_days};

use super::cell::{Cell, Listening, Stock};
use super::layer::NightRules;
use super::safety::SafetyNumbers;

const ALL: &[RestrictionKind] = &[
    RestrictionKind::MinStayArrival,
    RestrictionKind::MinStayThrough,
    RestrictionKind::MaxStay,
    RestrictionKind::ClosedToArrival,
    RestrictionKind::ClosedToDeparture,
    RestrictionKind::MinAdvanceDays,
    RestrictionKind::MaxAdvanceDays,
];

pub static ABLE: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: true,
    poll_seconds: 20,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: None,
    fallback_seconds: 1800,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: false,
    takes_rates: true,
    knows_rate_plans: true,
    restrictions: ALL,
    reopens_by_itself: false,
    rooms_max: 254,
    spans_per_message_max: 100,
    horizon_nights_max: 700,
    requests_per_minute: 60,
    settle_seconds: None,
    signs_in: false,
    sign_in_seconds: 0,
};

pub static POOR: Capabilities = Capabilities {
    restrictions: &[RestrictionKind::MinStayThrough],
    ..ABLE
};

pub static DUMB: Capabilities = Capabilities {
    restrictions: &[],
    takes_rates: false,
    ..ABLE
};

pub static EAGER: Capabilities = Capabilities {
    reopens_by_itself: true,
    rooms_max: 3,
    ..ABLE
};

pub fn night(offset: i32) -> StayDate {
    plus_days(date(2030, 7, 1), offset)
}

pub fn listening(channel: &'static Capabilities) -> Listening {
    Listening {
        channel,
        inexpressible: Inexpressible::Close,
        markup_percent_hundredths: 0,
        is_closed: false,
        is_in_setup: false,
        horizon_end: night(100),
        bookable_from: None,
        rate_min_minor: None,
        rate_max_minor: None,
    }
}

pub const NONE: Restrictions = Restrictions {
    min_stay_arrival: None,
    min_stay_through: None,
    max_stay: None,
    closed_to_arrival: false,
    closed_to_departure: false,
    min_advance_days: None,
    max_advance_days: None,
    stop_sell: false,
};

pub const OPEN: NightRules = NightRules {
    restrictions: NONE,
    closed_by: Vec::new(),
    rate_minor: None,
    occupancy_rates: Vec::new(),
};

static QUIET: NightRules = OPEN;
static UNMEASURED: SafetyNumbers = SafetyNumbers::new();

/// A room of a night ten days ahead.
pub fn room(free: i32, usable: i32) -> Cell<'static> {
    Cell {
        account: AccountId(1),
        room_type: RoomTypeId(1),
        night: night(10),
        business_day: night(0),
        stock: Some(Stock {
            free,
            usable,
            own: None,
        }),
        rules: &QUIET,
        next: &QUIET,
        safety: &UNMEASURED,
        price: None,
        restricts: false,
    }
}
