//! The price of a night: a plan's own, or followed from another plan's.

use std::collections::HashMap;

use keyrack_model::id::{AccountId, RatePlanId, RoomTypeId};
use keyrack_model::money::{Currency, Money};
use keyrack_model::stay::StayDate;

use super::layer::RateTable;
use super::rules::DerivedPlan;

/// How each plan of a property follows another, where it does.
pub type Plans = HashMap<RatePlanId, Option<DerivedPlan>>;

/// The price of one night of a product, for the whole room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Price {
    /// At standard occupancy.
    pub rate: Option<Money>,
    /// By number of guests.
    pub by_guests: Vec<(u8, Money)>,
}

/// Whose price is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Product {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Of which plan; `None` is the room type itself.
    pub plan: Option<RatePlanId>,
    /// To whom: an account, or the desk.
    pub account: Option<AccountId>,
}

/// The price of a night. What was set for the plan itself wins over what follows from another.
pub fn price(
    table: &RateTable,
    plans: &Plans,
    product: Product,
    currency: Currency,
    night: StayDate,
) -> Price {
    followed(table, plans, product, currency, night, CHAIN_MAX)
}

/// Longest chain of plans that follow one another: a ring is refused when plans are set up.
const CHAIN_MAX: usize = 16;

fn followed(
    table: &RateTable,
    plans: &Plans,
    product: Product,
    currency: Currency,
    night: StayDate,
    left: usize,
) -> Price {
    let rules = table.rules(product.room_type, product.plan, product.account, night);
    let money = |minor| Money::new(minor, currency);
    let own = Price {
        rate: rules.rate_minor.map(money),
        by_guests: rules
            .occupancy_rates
            .iter()
            .map(|(guests, minor)| (*guests, money(*minor)))
            .collect(),
    };
    let base = product.plan.and_then(|plan| *plans.get(&plan)?);
    let Some(how) = base.filter(|_| own == Price::default() && left > 0) else {
        return own;
    };
    let of = Product {
        plan: Some(how.base),
        ..product
    };
    let base = followed(table, plans, of, currency, night, left - 1);
    let derive = |money: Money| {
        let derived = money.derive(how.percent_hundredths, how.add_minor, how.step_minor)?;
        (derived.minor >= 0).then_some(derived)
    };
    let by_guests = base.by_guests.into_iter();
    Price {
        rate: base.rate.and_then(derive),
        by_guests: by_guests
            .filter_map(|(n, money)| Some((n, derive(money)?)))
            .collect(),
    }
}

impl Price {
    /// The price for so many guests: theirs where it was set, else the room's.
    pub fn of(&self, guests: i32) -> Option<Money> {
        let set = self.by_guests.iter().find(|(n, _)| i32::from(*n) == guests);
        set.map(|(_, money)| *money).or(self.rate)
    }

    /// Whether the night can be sold at it: there is a price, and none is 0 or below.
    pub fn is_positive(&self) -> bool {
        let known = self
            .rate
            .iter()
            .chain(self.by_guests.iter().map(|(_, money)| money));
        known.clone().next().is_some() && known.clone().all(|money| money.minor > 0)
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::restriction::Restrictions;

    use super::*;
    use crate::decide::layer::RateNight;

    const FLEX: RatePlanId = RatePlanId(1);
    const SAVER: RatePlanId = RatePlanId(2);
    const LAST: RatePlanId = RatePlanId(3);

    fn euro() -> Currency {
        Currency::from_code("EUR").expect("known")
    }

    fn row(plan: RatePlanId, amount: Option<i64>, by_guests: Option<Vec<(u8, i64)>>) -> RateNight {
        RateNight {
            room_type: Some(RoomTypeId(1)),
            rate_plan: Some(plan),
            account: None,
            night: jiff::civil::date(2030, 1, 1),
            amount_minor: amount,
            occupancy_rates: by_guests,
            restrictions: Restrictions::default(),
        }
    }

    fn priced(rows: Vec<RateNight>, plan: RatePlanId) -> Price {
        let follows = |base, percent_hundredths, add_minor, step_minor| {
            Some(DerivedPlan {
                base,
                percent_hundredths,
                add_minor,
                step_minor,
            })
        };
        let plans = Plans::from([
            (FLEX, None),
            (SAVER, follows(FLEX, -1000, 0, 50)),
            (LAST, follows(SAVER, 0, -500, 1)),
        ]);
        let product = Product {
            room_type: RoomTypeId(1),
            plan: Some(plan),
            account: None,
        };
        let night = jiff::civil::date(2030, 1, 1);
        price(&rows.into_iter().collect(), &plans, product, euro(), night)
    }

    #[test]
    fn a_plan_follows_another_step_by_step() {
        let rows = || vec![row(FLEX, Some(12_345), Some(vec![(1, 10_000)]))];
        let minor = |plan| priced(rows(), plan).rate.map(|money| money.minor);
        assert_eq!(minor(FLEX), Some(12_345));
        assert_eq!(minor(SAVER), Some(11_100), "90 % is 111.105, to half euros");
        assert_eq!(minor(LAST), Some(10_600));
        assert_eq!(
            priced(rows(), LAST).of(1).map(|money| money.minor),
            Some(8_500)
        );
        assert_eq!(
            priced(rows(), LAST).of(2).map(|money| money.minor),
            Some(10_600)
        );
    }

    #[test]
    fn a_price_of_its_own_wins_over_the_one_that_follows() {
        let rows = vec![row(FLEX, Some(10_000), None), row(SAVER, Some(9_900), None)];
        assert_eq!(
            priced(rows.clone(), SAVER).rate.map(|money| money.minor),
            Some(9_900)
        );
        assert_eq!(
            priced(rows, LAST).rate.map(|money| money.minor),
            Some(9_400)
        );
    }

    #[test]
    fn no_price_and_one_below_nothing_are_no_price() {
        assert!(!priced(Vec::new(), SAVER).is_positive());
        let cheap = vec![row(FLEX, Some(100), None)];
        assert_eq!(priced(cheap, LAST), Price::default(), "1.00 less 5.00");
        assert!(!priced(vec![row(FLEX, Some(0), None)], FLEX).is_positive());
    }
}
