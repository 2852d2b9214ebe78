//! What a channel may be told of a night, and why, step by step:
//!
//! pool rooms → minus buffer rules → never above what can be slept in → closed by the layers →
//! clipped to what the channel can express.
//!
//! Every step stands alone: each closure is worked out from its own cause, so lifting one never opens
//! another.

use keyrack_model::ari::{AriValues, OccupancyRate};
use keyrack_model::channel::{Capabilities, Inexpressible};
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::money::Money;
use keyrack_model::restriction::{RestrictionKind, Restrictions};
use keyrack_model::stay::{StayDate, StayRange, Weekdays, days_between};

use super::price::Price;
use super::sellable::NightRules;

/// A rule that keeps rooms back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeepRule {
    /// Only this account.
    pub account: Option<AccountId>,
    /// Only this type.
    pub room_type: Option<RoomTypeId>,
    /// Only these nights.
    pub nights: Option<StayRange>,
    /// Only these weekdays.
    pub weekdays: Weekdays,
    /// Only so many days ahead or more.
    pub lead_days_min: Option<i32>,
    /// Only so many days ahead or fewer.
    pub lead_days_max: Option<i32>,
    /// What it does.
    pub keep: Keep,
}

/// What a rule does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// Tells so many rooms fewer.
    Back(i32),
    /// Tells 0 when so many or fewer are left.
    CloseAt(i32),
}

impl KeepRule {
    fn applies(&self, cell: &Cell<'_>) -> bool {
        let lead = days_between(cell.business_day, cell.night);
        self.account.is_none_or(|account| account == cell.account)
            && self
                .room_type
                .is_none_or(|room_type| room_type == cell.room_type)
            && self.nights.is_none_or(|nights| nights.contains(cell.night))
            && self.weekdays.contains(cell.night)
            && self.lead_days_min.is_none_or(|least| lead >= least)
            && self.lead_days_max.is_none_or(|most| lead <= most)
    }

    fn rooms(&self, free: i32) -> i32 {
        match self.keep {
            Keep::Back(rooms) => (free - rooms).max(0),
            Keep::CloseAt(rooms) if free <= rooms => 0,
            Keep::CloseAt(_) => free,
        }
    }
}

/// The rooms of a night, in units of the type: of a composed type the least over its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Free in the shared pool, meant overbooking included.
    pub free: i32,
    /// Rooms that stand and can be slept in.
    pub usable: i32,
}

/// How the account is told.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// What its channel can express.
    pub channel: &'static Capabilities,
    /// What to do where it cannot.
    pub inexpressible: Inexpressible,
    /// Hundredths of a percent on top of each rate.
    pub markup_percent_hundredths: i64,
    /// The account is closed: told zero and closed everywhere.
    pub is_closed: bool,
    /// The first night that is not told open: by property, account and channel.
    pub horizon_end: StayDate,
    /// The first night that may be booked at all.
    pub bookable_from: Option<StayDate>,
    /// No rate below, in minor units.
    pub rate_min_minor: Option<i64>,
    /// No rate above.
    pub rate_max_minor: Option<i64>,
}

/// A cell with everything that its number rests on.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// To whom.
    pub account: AccountId,
    /// Of which type.
    pub room_type: RoomTypeId,
    /// The night.
    pub night: StayDate,
    /// The property's business day.
    pub business_day: StayDate,
    /// The rooms; `None` where the night is not there.
    pub stock: Option<Stock>,
    /// The rules of the night.
    pub rules: &'a NightRules,
    /// The rules of the next date: who leaves then has slept here.
    pub next: &'a NightRules,
    /// The price, of a cell of a rate plan.
    pub price: Option<&'a Price>,
    /// The cell carries the restrictions: one of a plan, or of a type that is told without plans.
    pub restricts: bool,
}

/// A line of the calculation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Which step.
    pub step: &'static str,
    /// In words, with the numbers.
    pub why: String,
    /// Rooms after it.
    pub rooms: Option<i32>,
    /// Closed after it.
    pub closed: bool,
}

/// What is to be told of a cell. `lines` gathers why, where somebody wants to know.
pub fn tell(
    cell: &Cell<'_>,
    rules: &[KeepRule],
    listening: &Listening,
    lines: Option<&mut Vec<Line>>,
) -> AriValues {
    let mut draft = Draft {
        rooms: 0,
        closed: false,
        lines,
    };
    pool(&mut draft, cell, rules);
    for (step, why) in closures(cell, listening) {
        draft.closed = true;
        draft.say(step, || why);
    }
    let restrictions = restrict(&mut draft, cell, listening);
    let (rate, occupancy_rates) = priced(&mut draft, cell, listening);
    settle(&mut draft, cell, listening);
    let is_room = cell.price.is_none();
    AriValues {
        rooms: is_room.then_some(draft.rooms),
        closed: draft.closed,
        rate,
        occupancy_rates,
        restrictions,
    }
}

/// The number so far.
struct Draft<'a> {
    rooms: i32,
    closed: bool,
    lines: Option<&'a mut Vec<Line>>,
}

impl Draft<'_> {
    fn say(&mut self, step: &'static str, why: impl FnOnce() -> String) {
        let (rooms, closed) = (Some(self.rooms), self.closed);
        if let Some(lines) = &mut self.lines {
            lines.push(Line {
                step,
                why: why(),
                rooms,
                closed,
            });
        }
    }
}

/// Pool rooms, minus buffer rules (the strictest wins), never above what can be slept in.
fn pool(draft: &mut Draft<'_>, cell: &Cell<'_>, rules: &[KeepRule]) {
    let Some(stock) = cell.stock else {
        draft.say("pool", || "the night has no rooms yet".to_owned());
        return;
    };
    draft.rooms = stock.free;
    draft.say("pool", || {
        format!("{} rooms are free in the shared pool", stock.free)
    });
    let mut least = stock.free;
    for rule in rules.iter().filter(|rule| rule.applies(cell)) {
        least = least.min(rule.rooms(stock.free));
        draft.rooms = least;
        draft.say("buffer_rule", || match rule.keep {
            Keep::Back(rooms) => format!("{rooms} of {} are kept back", stock.free),
            Keep::CloseAt(rooms) => {
                format!(
                    "nothing is told when {rooms} or fewer of {} are left",
                    stock.free
                )
            }
        });
    }
    if draft.rooms > stock.usable {
        draft.rooms = stock.usable.max(0);
        draft.say("physical_cap", || {
            format!(
                "never more than the {} rooms that can be slept in",
                stock.usable
            )
        });
    }
}

/// Every closure of the cell that has a cause of its own.
fn closures(cell: &Cell<'_>, listening: &Listening) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut close = |why: String| found.push(("closure", why));
    if listening.is_closed {
        close("the account is closed".to_owned());
    }
    if cell.night < cell.business_day {
        close(format!(
            "the night is past: the business day is {}",
            cell.business_day
        ));
    }
    if cell.night >= listening.horizon_end {
        close(format!(
            "beyond the horizon, which ends with {}",
            listening.horizon_end
        ));
    }
    if let Some(from) = listening.bookable_from.filter(|from| cell.night < *from) {
        close(format!("the hotel can be booked from {from} on"));
    }
    for layer in &cell.rules.closed_by {
        close(format!("stop sell of the {}", layer.as_str()));
    }
    found
}

/// The restrictions that the channel can express; what it cannot closes the night, is told
/// stricter, or is left to the hotel at the channel, as the account says.
fn restrict(draft: &mut Draft<'_>, cell: &Cell<'_>, listening: &Listening) -> Restrictions {
    if !cell.restricts {
        return Restrictions::default();
    }
    let mut told = Restrictions {
        stop_sell: false,
        ..cell.rules.restrictions
    };
    let expresses = |kind| listening.channel.restrictions.contains(&kind);
    for kind in told.kinds() {
        if expresses(kind) {
            continue;
        }
        let stricter = (listening.inexpressible == Inexpressible::Approximate)
            && kind == RestrictionKind::MinStayArrival
            && expresses(RestrictionKind::MinStayThrough);
        if stricter {
            // Whoever sleeps here must stay as long as who arrives here.
            told.min_stay_through = told.min_stay_through.max(told.min_stay_arrival);
            draft.say("inexpressible", || {
                "the minimum stay on arrival is told as one through the stay".to_owned()
            });
        } else if listening.inexpressible == Inexpressible::KeptAtChannel {
            draft.say("inexpressible", || {
                format!("{} is kept at the channel", words(kind))
            });
        } else if binds(kind, cell) {
            draft.closed = true;
            draft.say("inexpressible", || {
                format!("closed: the channel cannot express {}", words(kind))
            });
        }
        forget(&mut told, kind);
    }
    let departs = RestrictionKind::ClosedToDeparture;
    let closes = listening.inexpressible != Inexpressible::KeptAtChannel;
    let leaves = cell.next.restrictions.closed_to_departure;
    if leaves && closes && !expresses(departs) {
        draft.closed = true;
        draft.say("inexpressible", || {
            "closed: nobody departs the morning after, which the channel cannot express".to_owned()
        });
    }
    told
}

/// Whether closing the night is what the rule asks for now: rules of booking ahead bind only on
/// some days, and who may not depart on a date must not sleep on the night before it.
fn binds(kind: RestrictionKind, cell: &Cell<'_>) -> bool {
    let lead = days_between(cell.business_day, cell.night);
    let rules = cell.rules.restrictions;
    match kind {
        RestrictionKind::MinAdvanceDays => rules.min_advance_days.is_some_and(|days| lead < days),
        RestrictionKind::MaxAdvanceDays => rules.max_advance_days.is_some_and(|days| lead > days),
        RestrictionKind::ClosedToDeparture => false,
        _ => true,
    }
}

fn forget(told: &mut Restrictions, kind: RestrictionKind) {
    match kind {
        RestrictionKind::MinStayArrival => told.min_stay_arrival = None,
        RestrictionKind::MinStayThrough => told.min_stay_through = None,
        RestrictionKind::MaxStay => told.max_stay = None,
        RestrictionKind::ClosedToArrival => told.closed_to_arrival = false,
        RestrictionKind::ClosedToDeparture => told.closed_to_departure = false,
        RestrictionKind::MinAdvanceDays => told.min_advance_days = None,
        RestrictionKind::MaxAdvanceDays => told.max_advance_days = None,
        RestrictionKind::StopSell => told.stop_sell = false,
    }
}

fn words(kind: RestrictionKind) -> &'static str {
    match kind {
        RestrictionKind::MinStayArrival => "a minimum stay on arrival",
        RestrictionKind::MinStayThrough => "a minimum stay through the stay",
        RestrictionKind::MaxStay => "a maximum stay",
        RestrictionKind::ClosedToArrival => "closed to arrival",
        RestrictionKind::ClosedToDeparture => "closed to departure",
        RestrictionKind::MinAdvanceDays => "a minimum of days in advance",
        RestrictionKind::MaxAdvanceDays => "a maximum of days in advance",
        RestrictionKind::StopSell => "a stop sell",
    }
}

/// The price with the account's markup. A night without a positive price within the property's
/// bounds is closed, where the channel takes prices.
fn priced(
    draft: &mut Draft<'_>,
    cell: &Cell<'_>,
    listening: &Listening,
) -> (Option<Money>, Vec<OccupancyRate>) {
    let Some(price) = cell.price.filter(|_| listening.channel.takes_rates) else {
        return (None, Vec::new());
    };
    let all = || {
        price
            .rate
            .iter()
            .chain(price.by_guests.iter().map(|(_, money)| money))
    };
    let too_low = |money: &&Money| {
        listening
            .rate_min_minor
            .is_some_and(|min| money.minor < min)
    };
    let too_high = |money: &&Money| {
        listening
            .rate_max_minor
            .is_some_and(|max| money.minor > max)
    };
    let wrong = if !price.is_positive() {
        Some("the night has no price".to_owned())
    } else if let Some(money) = all().find(too_low) {
        Some(format!("{money} is below the lowest rate of the property"))
    } else {
        let high = all().find(too_high);
        high.map(|money| format!("{money} is above the highest rate of the property"))
    };
    if let Some(why) = wrong {
        draft.closed = true;
        draft.say("closure", || why);
        return (None, Vec::new());
    }
    let markup = listening.markup_percent_hundredths;
    let marked = |money: Money| {
        if markup == 0 {
            Some(money)
        } else {
            money.derive(markup, 0, 1)
        }
    };
    let rate = price.rate.and_then(marked);
    if markup != 0 {
        draft.say("markup", || {
            format!(
                "{}.{:02} % on top of each rate",
                markup / 100,
                (markup % 100).abs()
            )
        });
    }
    let by_guests = price.by_guests.iter();
    let by_guests = by_guests.filter_map(|(guests, money)| {
        Some(OccupancyRate {
            guests: *guests,
            rate: marked(*money)?,
        })
    });
    (rate, by_guests.collect())
}

/// A closed room is told 0, a number is clipped to what the channel takes, and "nothing to sell" is
/// told closed where the channel reopens a 0 by itself.
fn settle(draft: &mut Draft<'_>, cell: &Cell<'_>, listening: &Listening) {
    if draft.closed && draft.rooms != 0 {
        draft.rooms = 0;
        draft.say("closure", || {
            "what is closed has nothing to sell".to_owned()
        });
    }
    if draft.rooms > listening.channel.rooms_max {
        draft.rooms = listening.channel.rooms_max;
        draft.say("channel_limit", || {
            "the channel takes no larger number".to_owned()
        });
    }
    if draft.rooms <= 0 && !draft.closed && listening.channel.reopens_by_itself {
        draft.closed = true;
        draft.say("closure", || {
            "sold out, and the channel would reopen the night by itself".to_owned()
        });
    }
    let what = if cell.price.is_none() {
        "room"
    } else {
        "rate plan"
    };
    let state = if draft.closed { "closed" } else { "open" };
    let rooms = draft.rooms;
    draft.say("told", || {
        format!("the {what} is told {state}, {rooms} rooms to sell")
    });
}

#[cfg(test)]
mod tests;
