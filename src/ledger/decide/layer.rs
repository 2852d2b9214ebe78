//! What was set of a night, in layers: the whole property, a room type, a rate plan, an account.
//!
//! Restrictions of all layers hold together, the stricter of each; so lifting one never opens
//! another.

use std::collections::HashMap;

use keyrack_model::id::{AccountId, RatePlanId, RoomTypeId};
use keyrack_model::restriction::Restrictions;
use keyrack_model::stay::StayDate;

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
            table.push(row);
        }
        table
    }
}

impl RateTable {
    /// Adds a row that is not in it.
    pub fn push(&mut self, row: RateNight) {
        let place = (row.room_type, row.night);
        self.rows.entry(place).or_default().push(row);
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn night(offset: i8) -> StayDate {
        jiff::civil::date(2030, 7, 1 + offset)
    }

    fn row(restrictions: Restrictions) -> RateNight {
        RateNight {
            room_type: Some(RoomTypeId(1)),
            rate_plan: None,
            account: None,
            night: night(0),
            amount_minor: None,
            occupancy_rates: None,
            restrictions,
        }
    }

    #[test]
    fn lifting_one_closure_never_opens_another() {
        let stop = Restrictions {
            stop_sell: true,
            ..Default::default()
        };
        let property = RateNight {
            room_type: None,
            ..row(stop)
        };
        let plan = RateNight {
            rate_plan: Some(RatePlanId(7)),
            ..row(stop)
        };
        let account = RateNight {
            account: Some(AccountId(3)),
            ..row(stop)
        };
        let table = RateTable::from_iter([account, property, plan, row(Restrictions::default())]);
        let closed_by = |plan, account| {
            table
                .rules(RoomTypeId(1), plan, account, night(0))
                .closed_by
        };
        let (seven, three) = (Some(RatePlanId(7)), Some(AccountId(3)));
        assert_eq!(closed_by(None, None), [Layer::Property]);
        assert_eq!(closed_by(seven, None), [Layer::Property, Layer::RatePlan]);
        assert_eq!(
            closed_by(seven, three),
            [Layer::Property, Layer::RatePlan, Layer::Account]
        );
        assert_eq!(
            closed_by(Some(RatePlanId(8)), three),
            [Layer::Property, Layer::Account]
        );
    }

    #[test]
    fn a_price_is_the_products_own_and_the_accounts_wins() {
        let priced = |plan, account, amount| RateNight {
            rate_plan: plan,
            account,
            amount_minor: Some(amount),
            ..row(Restrictions::default())
        };
        let (plan, account) = (Some(RatePlanId(7)), Some(AccountId(3)));
        let table = RateTable::from_iter([
            priced(plan, account, 90),
            priced(plan, None, 100),
            priced(None, None, 50),
        ]);
        let rate = |plan, account| {
            table
                .rules(RoomTypeId(1), plan, account, night(0))
                .rate_minor
        };
        assert_eq!(rate(plan, account), Some(90));
        assert_eq!(rate(plan, None), Some(100));
        assert_eq!(rate(None, None), Some(50));
        assert_eq!(rate(Some(RatePlanId(8)), None), None);
    }
}
