//! A cell of ARI with everything that its number rests on.

use keyrack_model::channel::{Capabilities, Inexpressible, PoolMode};
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::StayDate;

use super::layer::NightRules;
use super::price::Price;
use super::safety::SafetyNumbers;

/// The rooms of a night, in units of the type: of a composed type the least over its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Free in the shared pool, meant overbooking included.
    pub free: i32,
    /// Rooms that stand and can be slept in.
    pub usable: i32,
    /// How the account sells, and what is left of its allotment, where it does not sell from the
    /// shared pool alone.
    pub own: Option<(PoolMode, i32)>,
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
    /// The account is being set up: nothing is told yet.
    pub is_in_setup: bool,
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
    /// What `safety` rules keep back; empty where there are none, or nothing is measured.
    pub safety: &'a SafetyNumbers,
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

/// The number so far.
pub(super) struct Draft<'a> {
    pub(super) rooms: i32,
    pub(super) closed: bool,
    pub(super) lines: Option<&'a mut Vec<Line>>,
}

impl Draft<'_> {
    /// Writes a line where somebody wants to know.
    pub(super) fn say(&mut self, step: &'static str, why: impl FnOnce() -> String) {
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
