//! The paces at which the nights of a type are sold.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::StayDate;

use super::estimate::{Parts, Sale};
use super::risk::{Counted, LONG_MS, Pace, SHORT_MS};
use super::safety::NightKind;

/// The paces of a type.
pub(super) struct Paces {
    by_kind: BTreeMap<NightKind, Pace>,
    all: Pace,
    of_house: Pace,
}

impl Paces {
    /// The pace of a kind of night; where too little was sold on those, that of the type, or of the
    /// house: with its name.
    pub(super) fn on(&self, kind: NightKind) -> (Pace, &'static str) {
        let own = self.by_kind.get(&kind).copied().unwrap_or_default();
        if own.sales >= SALES_MIN {
            (own, kind.in_words())
        } else if self.all.sales >= SALES_MIN {
            (self.all, "nights of the type")
        } else {
            (self.of_house, "nights of the house")
        }
    }

    /// The paces at which a type, or whatever shares a part with it, was sold.
    pub(super) fn of(sales: &[Sale], of_types: &Parts, room_type: RoomTypeId) -> Self {
        let parts = |id: RoomTypeId| {
            let own = of_types.get(&id).cloned();
            own.unwrap_or_else(|| BTreeSet::from([id]))
        };
        let own = parts(room_type);
        let touching = sales
            .iter()
            .filter(|sale| !parts(sale.room_type).is_disjoint(&own));
        let mut by_kind: BTreeMap<NightKind, Pace> = BTreeMap::new();
        let mut all = Pace::default();
        for (night, sold) in by_night(touching) {
            for (kind, pace) in looked_back(night, &sold) {
                by_kind.entry(kind).or_default().add(pace);
                all.add(pace);
            }
        }
        let mut of_house = Pace::default();
        let mut types: BTreeMap<RoomTypeId, Vec<&Sale>> = BTreeMap::new();
        for sale in sales {
            types.entry(sale.room_type).or_default().push(sale);
        }
        for sales in types.into_values() {
            for (night, sold) in by_night(sales.into_iter()) {
                for (_, pace) in looked_back(night, &sold) {
                    of_house.add(pace);
                }
            }
        }
        Self {
            by_kind,
            all,
            of_house,
        }
    }
}

/// The sales of each night, in order of booking.
fn by_night<'a>(sales: impl Iterator<Item = &'a Sale>) -> BTreeMap<StayDate, Vec<&'a Sale>> {
    let mut nights: BTreeMap<StayDate, Vec<&Sale>> = BTreeMap::new();
    for sale in sales {
        for night in sale.nights.nights() {
            nights.entry(night).or_default().push(sale);
        }
    }
    for sold in nights.values_mut() {
        sold.sort_by_key(|sale| sale.booked_ms);
    }
    nights
}

/// Of each sale of a night the rooms that were sold shortly and within a longer time before it,
/// with the kind that the night was of then.
fn looked_back(night: StayDate, sold: &[&Sale]) -> impl Iterator<Item = (NightKind, Pace)> {
    sold.iter().enumerate().map(move |(at, sale)| {
        let before = |within_ms: i64| {
            let since = sale.booked_ms.saturating_sub(within_ms);
            let near = sold[..at].iter().rev();
            let near = near.take_while(|other| other.booked_ms >= since);
            near.map(|other| other.rooms).sum()
        };
        let pace = Pace {
            sales: 1,
            short: Counted::one(before(SHORT_MS)),
            long: Counted::one(before(LONG_MS)),
        };
        (NightKind::of(night, sale.booked_on), pace)
    })
}

/// Below so many sales a pace is not believed.
pub(super) const SALES_MIN: u32 = 30;

#[cfg(test)]
mod tests {
    use keyrack_model::id::AccountId;
    use keyrack_model::stay::StayRange;

    use super::*;
    use crate::decide::cell_samples::night;

    const DBL: RoomTypeId = RoomTypeId(1);
    const HOUR_MS: i64 = 3_600_000;

    fn sale(booked_ms: i64, from: i32) -> Sale {
        Sale {
            seller: Some(AccountId(1)),
            booked_ms,
            booked_on: night(0),
            heard_ms: booked_ms,
            room_type: DBL,
            nights: StayRange::new(night(from), night(from + 1)).expect("a range"),
            rooms: 1,
        }
    }

    #[test]
    fn sales_shortly_before_one_another_are_a_pace_and_those_of_other_nights_are_not() {
        let sold = [
            sale(0, 30),
            sale(60_000, 30),
            sale(60_001, 31),
            sale(HOUR_MS, 30),
            sale(HOUR_MS * 9, 30),
        ];
        let paces = Paces::of(&sold, &Parts::new(), DBL);
        let meant = Pace {
            sales: 5,
            short: Counted {
                rooms: 1,
                squares: 1,
            },
            long: Counted {
                rooms: 3,
                squares: 5,
            },
        };
        assert_eq!((paces.all, paces.of_house), (meant, meant));
        assert_eq!(
            Paces::of(&sold, &Parts::new(), RoomTypeId(9)).all,
            Pace::default()
        );
    }

    #[test]
    fn a_composed_type_is_sold_by_whoever_sells_one_of_its_parts() {
        let flat = RoomTypeId(7);
        let parts = Parts::from([(flat, BTreeSet::from([DBL, RoomTypeId(2)]))]);
        let sold = [sale(0, 3), sale(0, 4), sale(0, 5)];
        assert_eq!(Paces::of(&sold, &parts, flat).all.sales, 3);
        assert_eq!(Paces::of(&sold, &parts, RoomTypeId(2)).all.sales, 0);
    }
}
