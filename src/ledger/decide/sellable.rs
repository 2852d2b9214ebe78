//! May this stay be sold? Restrictions of its nights, in layers, and what stands in the way.
//!
//! A layer is a row: the whole property, a room type, a rate plan, an account. Restrictions of all
//! layers hold together, the stricter of each; so lifting one never opens another.

use std::collections::HashMap;

use keyrack_model::id::{AccountId, RatePlanId, RoomTypeId};
use keyrack_model::restriction::{RestrictionKind, Restrictions};
use keyrack_model::stay::{Stay, StayDate, days_between};

/// What was set of one night at one layer; an absent field says nothing there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RateNight {
    /// `None` is the whole property.
    pub room_type: Option<RoomTypeId>,
    /// `None` is the room type itself.
    pub rate_plan: Option<RatePlanId>,
    /// `None` is every account and the desk.
    pub account: Option<AccountId>,
    /// Which night.
    pub night: StayDate,
    /// Price at standard occupancy, minor units of the property's currency.
    pub amount_minor: Option<i64>,
    /// Price by guests, minor units.
    pub occupancy_rates: Option<Vec<(u8, i64)>>,
    /// The restrictions; `false` and `None` say nothing.
    pub restrictions: Restrictions,
}

/// Which layer speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The whole property.
    Property,
    /// The room type.
    RoomType,
    /// The rate plan.
    RatePlan,
    /// The account.
    Account,
}

impl Layer {
    /// The layer in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Property => "property",
            Self::RoomType => "room type",
            Self::RatePlan => "rate plan",
            Self::Account => "account",
        }
    }
}

impl RateNight {
    /// At which layer it speaks: the narrowest that it names.
    pub fn layer(&self) -> Layer {
        match (self.account, self.rate_plan, self.room_type) {
            (Some(_), _, _) => Layer::Account,
            (None, Some(_), _) => Layer::RatePlan,
            (None, None, Some(_)) => Layer::RoomType,
            (None, None, None) => Layer::Property,
        }
    }
}

/// The rules of one night after all layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NightRules {
    /// The stricter of every layer.
    pub restrictions: Restrictions,
    /// Layers with a stop sell, the widest first.
    pub closed_by: Vec<Layer>,
    /// Price at standard occupancy, minor units; of the plan itself, never of its room type.
    pub rate_minor: Option<i64>,
    /// Price by guests, minor units.
    pub occupancy_rates: Vec<(u8, i64)>,
}

/// The rules that the given layers of one night make together for a product: the plan, or the room
/// type itself (`None`). A price counts only where it was set for that very product; the account's
/// own wins over everybody's.
pub fn merge<'a>(
    layers: impl IntoIterator<Item = &'a RateNight>,
    plan: Option<RatePlanId>,
) -> NightRules {
    let mut rules = NightRules::default();
    let (mut rate, mut by_guests) = (None, None);
    for row in layers {
        rules.restrictions = rules.restrictions.stricter(row.restrictions);
        if row.restrictions.stop_sell {
            rules.closed_by.push(row.layer());
        }
        if row.rate_plan == plan {
            let rank = row.account.is_some();
            rate = narrower(rate, row.amount_minor.map(|amount| (rank, amount)));
            let set = row.occupancy_rates.as_ref().map(|rates| (rank, rates));
            by_guests = narrower(by_guests, set);
        }
    }
    rules.closed_by.sort_unstable();
    rules.closed_by.dedup();
    rules.rate_minor = rate.map(|(_, amount)| amount);
    rules.occupancy_rates = by_guests.map_or_else(Vec::new, |(_, rates)| rates.clone());
    rules
}

/// The one of the narrower layer; the later where both are alike.
fn narrower<T>(known: Option<(bool, T)>, new: Option<(bool, T)>) -> Option<(bool, T)> {
    match (known, new) {
        (Some(known), Some(new)) if new.0 >= known.0 => Some(new),
        (Some(known), _) => Some(known),
        (None, new) => new,
    }
}

/// Rows of many nights and types, found by type and night.
#[derive(Clone, Debug, Default)]
pub struct RateTable {
    rows: HashMap<(Option<RoomTypeId>, StayDate), Vec<RateNight>>,
}

impl FromIterator<RateNight> for RateTable {
    fn from_iter<I: IntoIterator<Item = RateNight>>(rows: I) -> Self {
        let mut table = Self::default();
        for row in rows {
            let place = (row.room_type, row.night);
            table.rows.entry(place).or_default().push(row);
        }
        table
    }
}

impl RateTable {
    /// The rules of one night for a type, a plan of it, and who asks: an account, or the desk.
    pub fn rules(
        &self,
        room_type: RoomTypeId,
        plan: Option<RatePlanId>,
        account: Option<AccountId>,
        night: StayDate,
    ) -> NightRules {
        merge(self.layers(room_type, plan, account, night), plan)
    }

    fn layers(
        &self,
        room_type: RoomTypeId,
        plan: Option<RatePlanId>,
        account: Option<AccountId>,
        night: StayDate,
    ) -> impl Iterator<Item = &RateNight> {
        [None, Some(room_type)]
            .into_iter()
            .filter_map(move |room_type| self.rows.get(&(room_type, night)))
            .flatten()
            .filter(move |row| row.rate_plan.is_none() || row.rate_plan == plan)
            .filter(move |row| row.account.is_none() || row.account == account)
    }
}

/// Something that stands in the way of a stay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hindrance {
    /// What kind.
    pub kind: HindranceKind,
    /// In words, with the numbers.
    pub why: String,
    /// The nights that say so; of a closed departure, the departure date.
    pub nights: Vec<StayDate>,
}

/// What kind of hindrance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HindranceKind {
    /// Stop sell.
    Closed,
    /// A stay rule.
    Restriction(RestrictionKind),
}

/// Everything in the rules that stands in the way of a stay booked on `business_day`; nothing where
/// it may be sold. `rules` answers for each night of the stay and for its departure date.
pub fn hindrance(
    rules: &dyn Fn(StayDate) -> NightRules,
    stay: Stay,
    business_day: StayDate,
) -> Vec<Hindrance> {
    let nights: Vec<(StayDate, NightRules)> =
        stay.nights().map(|night| (night, rules(night))).collect();
    let mut found = Vec::new();
    found.extend(closed(&nights));
    let arrival = nights[0].1.restrictions;
    found.extend(on_arrival(stay, arrival));
    found.extend(through(stay, &nights));
    if rules(stay.departure()).restrictions.closed_to_departure {
        found.push(restriction(
            RestrictionKind::ClosedToDeparture,
            "nobody departs on this date".to_owned(),
            stay.departure(),
        ));
    }
    found.extend(in_advance(stay, arrival, business_day));
    found
}

/// Stop sell on any night that is slept.
fn closed(nights: &[(StayDate, NightRules)]) -> Option<Hindrance> {
    let stopped: Vec<_> = nights
        .iter()
        .filter(|(_, rules)| rules.restrictions.stop_sell)
        .collect();
    let mut layers: Vec<Layer> = stopped
        .iter()
        .flat_map(|(_, rules)| rules.closed_by.iter().copied())
        .collect();
    layers.sort_unstable();
    layers.dedup();
    let layers: Vec<&str> = layers.into_iter().map(Layer::as_str).collect();
    (!stopped.is_empty()).then(|| Hindrance {
        kind: HindranceKind::Closed,
        why: format!("closed for sale by {}", layers.join(", ")),
        nights: stopped.iter().map(|(night, _)| *night).collect(),
    })
}

/// What the arrival's night asks of a stay that begins on it.
fn on_arrival(stay: Stay, rules: Restrictions) -> impl Iterator<Item = Hindrance> {
    let length = stay.length();
    let least = rules.min_stay_arrival.filter(|least| length < *least);
    let most = rules.max_stay.filter(|most| length > *most);
    [
        least.map(|least| {
            let why = format!("arrivals on this night stay {least} nights or more, not {length}");
            (RestrictionKind::MinStayArrival, why)
        }),
        most.map(|most| {
            let why = format!("arrivals on this night stay {most} nights at most, not {length}");
            (RestrictionKind::MaxStay, why)
        }),
        rules.closed_to_arrival.then(|| {
            let why = "nobody arrives on this night".to_owned();
            (RestrictionKind::ClosedToArrival, why)
        }),
    ]
    .into_iter()
    .flatten()
    .map(move |(kind, why)| restriction(kind, why, stay.arrival()))
}

/// What each night asks of whoever sleeps on it.
fn through(stay: Stay, nights: &[(StayDate, NightRules)]) -> Option<Hindrance> {
    let length = stay.length();
    let binding: Vec<(StayDate, i32)> = nights
        .iter()
        .filter_map(|(night, rules)| Some((*night, rules.restrictions.min_stay_through?)))
        .filter(|(_, least)| length < *least)
        .collect();
    let least = binding.iter().map(|(_, least)| *least).max()?;
    Some(Hindrance {
        kind: HindranceKind::Restriction(RestrictionKind::MinStayThrough),
        why: format!("who sleeps on these nights stays {least} nights or more, not {length}"),
        nights: binding.into_iter().map(|(night, _)| night).collect(),
    })
}

/// How early and how late the arrival may be booked.
fn in_advance(
    stay: Stay,
    rules: Restrictions,
    business_day: StayDate,
) -> impl Iterator<Item = Hindrance> {
    let lead = days_between(business_day, stay.arrival());
    let late = rules.min_advance_days.filter(|days| lead < *days);
    let early = rules.max_advance_days.filter(|days| lead > *days);
    [
        late.map(|days| {
            let why = format!("must be booked {days} days before arrival or more, not {lead}");
            (RestrictionKind::MinAdvanceDays, why)
        }),
        early.map(|days| {
            let why = format!("can be booked {days} days before arrival at most, not {lead}");
            (RestrictionKind::MaxAdvanceDays, why)
        }),
    ]
    .into_iter()
    .flatten()
    .map(move |(kind, why)| restriction(kind, why, stay.arrival()))
}

fn restriction(kind: RestrictionKind, why: String, night: StayDate) -> Hindrance {
    Hindrance {
        kind: HindranceKind::Restriction(kind),
        why,
        nights: vec![night],
    }
}

#[cfg(test)]
mod tests;
