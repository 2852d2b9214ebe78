//! The prices of nights, out of rates that hold for ranges of them.

use keyrack_model::money::Money;
use keyrack_model::stay::{Stay, StayDate, days_between, plus_days};

use crate::ota2003::message::{amount, date};
use crate::xml::Element;

/// How many prices of nights a message may still tell: rates of a few bytes that hold for years
/// each could make gigabytes of them. What is beyond is not told, and costs no guest the room.
pub(super) struct Allowance(usize);

impl Allowance {
    /// Of a whole message: years of each of fifty rooms.
    pub(super) const PRICES_MAX: usize = 200_000;
}

impl Default for Allowance {
    fn default() -> Self {
        Self(Self::PRICES_MAX)
    }
}

/// The prices of nights, where they are told day by day. A price holds up to its last day, or up
/// to the day before where that is said to be excluded; of two for a night the first counts.
pub(super) fn nightly(
    stay: Element<'_>,
    period: Stay,
    allowance: &mut Allowance,
) -> Vec<(StayDate, Money)> {
    let rates = stay.every(["RoomRates", "RoomRate", "Rates", "Rate"]);
    let mut rates = rates.peekable();
    let length = usize::try_from(period.length()).unwrap_or(0);
    if rates.peek().is_none() || length > allowance.0 {
        return Vec::new();
    }
    let mut nights = Nights::of(length);
    for (first, after, price) in rates.filter_map(rate) {
        let within = (first.max(period.arrival()), after.min(period.departure()));
        let Some(held) = Stay::new(within.0, within.1) else {
            continue;
        };
        let place = |day| usize::try_from(days_between(period.arrival(), day)).unwrap_or(0);
        nights.tell(place(held.arrival()), place(held.departure()), price);
    }
    let each = period.nights().zip(nights.prices);
    let told: Vec<(StayDate, Money)> = each
        .filter_map(|(night, price)| Some((night, price?)))
        .collect();
    allowance.0 -= told.len();
    told
}

/// The first night for which a rate holds, the day after the last, and its price.
fn rate(rate: Element<'_>) -> Option<(StayDate, StayDate, Money)> {
    let by_the_day = matches!(rate.attribute("RateTimeUnit"), None | Some("Day"))
        && matches!(rate.attribute("UnitMultiplier"), None | Some("1"));
    let day = |name: &str| rate.attribute(name).and_then(date);
    let first = day("EffectiveDate").filter(|_| by_the_day)?;
    let price = rate.child("Base").and_then(amount)?;
    let is_excluded = matches!(rate.attribute("ExpireDateExclusiveInd"), Some("true" | "1"));
    let after = match day("ExpireDate") {
        Some(end) if is_excluded => end,
        Some(end) => plus_days(end, 1),
        None => plus_days(first, 1),
    };
    Some((first, after, price))
}

/// Prices of the nights of a stay. Each night is told once, however many rates speak of it.
struct Nights {
    prices: Vec<Option<Money>>,
    /// Of each night, one that is nearer to the next night without a price, or the night itself.
    open: Vec<usize>,
}

impl Nights {
    fn of(length: usize) -> Self {
        Self {
            prices: vec![None; length],
            open: (0..=length).collect(),
        }
    }

    fn tell(&mut self, from: usize, until: usize, price: Money) {
        let mut at = self.next_open(from);
        while at < until {
            self.prices[at] = Some(price);
            self.open[at] = at + 1;
            at = self.next_open(at + 1);
        }
    }

    fn next_open(&mut self, mut at: usize) -> usize {
        while self.open[at] != at {
            self.open[at] = self.open[self.open[at]];
            at = self.open[at];
        }
        at
    }
}
