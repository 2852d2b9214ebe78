//! Hotels, their sellers and their guests, by chance.

use keyrack_model::stay::{StayDate, Weekdays, plus_days};

use crate::generate::dice::Dice;

/// A hotel with its sellers: the desk first.
pub(super) struct Hotel {
    pub(super) sellers: Vec<Seller>,
    /// Guests of a scarce night, beyond its rooms.
    surplus: i32,
    /// Guests of one burst at most, and how many of a hundred parties are one.
    burst_max: i32,
    bursts: u32,
    /// Days over which the last rooms of a night sell, at most.
    days_max: i32,
}

/// Somebody who sells.
pub(super) struct Seller {
    /// Of a hundred guests.
    share: usize,
    /// Asked every so many milliseconds; 0 for one that tells by itself.
    poll_ms: i64,
    /// Fetches what it may sell every so many milliseconds; 0 for one that is pushed to.
    fetch_ms: i64,
    /// How long a message takes, in the middle.
    way_ms: i64,
    /// Of ten thousand messages so many meet an outage.
    outages: i32,
    pub(super) declared_ms: i64,
}

impl Hotel {
    pub(super) fn throw(dice: &mut Dice) -> Self {
        let desk = Seller {
            share: 20 + dice.below(15),
            poll_ms: 0,
            fetch_ms: 0,
            way_ms: 0,
            outages: 0,
            declared_ms: 0,
        };
        let mut sellers = vec![desk];
        for _ in 0..2 + dice.below(3) {
            let poll_ms = dice.one(&[0, 20_000, 20_000, 60_000]);
            // Every tenth channel fetches from us.
            let fetch_ms = if dice.percent(10) {
                dice.one(&[300_000, 900_000])
            } else {
                0
            };
            sellers.push(Seller {
                share: 5 + dice.below(40),
                poll_ms,
                fetch_ms,
                way_ms: i64::from(dice.between(300, 3_000)),
                outages: dice.between(0, 40),
                declared_ms: poll_ms.max(fetch_ms).max(5_000),
            });
        }
        Self {
            sellers,
            surplus: dice.between(1, 6),
            burst_max: dice.between(2, 6),
            bursts: dice.one(&[0, 5, 20]),
            days_max: dice.one(&[1, 3, 14]),
        }
    }

    fn seller(&self, dice: &mut Dice) -> usize {
        let all: usize = self.sellers.iter().map(|seller| seller.share).sum();
        let mut at = dice.below(all);
        for (number, seller) in self.sellers.iter().enumerate() {
            if at < seller.share {
                return number;
            }
            at -= seller.share;
        }
        0
    }
}

impl Seller {
    /// From a booking there to our hearing of it.
    pub(super) fn hearing_ms(&self, dice: &mut Dice, is_busy: bool) -> i64 {
        if self.way_ms == 0 {
            return 0;
        }
        let waited = if self.poll_ms > 0 {
            below(dice, self.poll_ms)
        } else {
            0
        };
        waited + self.message_ms(dice, is_busy)
    }

    /// From our change to its acknowledgement.
    pub(super) fn telling_ms(&self, dice: &mut Dice, is_busy: bool) -> i64 {
        let waited = if self.fetch_ms > 0 {
            below(dice, self.fetch_ms)
        } else {
            0
        };
        waited + self.message_ms(dice, is_busy)
    }

    /// Skewed like the lags of networks: the product of chances, and now and then an outage whose
    /// length has no mean. Everybody is slower while everybody books.
    fn message_ms(&self, dice: &mut Dice, is_busy: bool) -> i64 {
        let mut way = self.way_ms;
        for _ in 0..3 {
            way = way * i64::from(dice.between(60, 165)) / 100;
        }
        if is_busy {
            way *= 3;
        }
        if dice.between(1, 10_000) <= self.outages {
            // 1/u, cut off at four hours: a Pareto law of exponent 1.
            let part = i64::from(dice.between(1, 1_000));
            way += (60_000 * 1_000 / part).min(4 * 3_600_000);
        }
        way
    }
}

fn below(dice: &mut Dice, end: i64) -> i64 {
    i64::try_from(dice.below(usize::try_from(end).unwrap_or(0))).unwrap_or(0)
}

/// A scarce room night with everybody who asks for it on one day.
pub(super) struct Night {
    pub(super) date: StayDate,
    /// Rooms left in the morning.
    pub(super) rooms: i32,
    /// In order of time.
    pub(super) guests: Vec<Guest>,
    /// What the night throws its lags with.
    pub(super) seed: u64,
}

/// Somebody who asks for a room.
#[derive(Clone, Copy, Debug)]
pub(super) struct Guest {
    pub(super) at_ms: i64,
    pub(super) seller: usize,
    /// Comes with others.
    pub(super) is_of_burst: bool,
}

impl Night {
    /// A night that is in play on a day.
    pub(super) fn throw(dice: &mut Dice, hotel: &Hotel, today: StayDate, from_ms: i64) -> Self {
        let ahead = match dice.below(3) {
            0 => dice.between(0, 2),
            1 => dice.between(3, 13),
            _ => dice.between(14, 60),
        };
        let date = plus_days(today, ahead);
        let rooms = dice.between(3, 12);
        let mut asked = rooms + dice.between(0, hotel.surplus * 2);
        if Weekdays::from_bits(0b011_0000).contains(date) {
            asked += asked * dice.between(0, 150) / 100;
        }
        let days = i64::from(dice.between(1, hotel.days_max));
        let mut guests = Vec::new();
        while asked > 0 {
            let at_ms = from_ms + below(dice, days) * DAY_MS + time_of_day(dice);
            let together = if dice.percent(hotel.bursts) {
                dice.between(2, hotel.burst_max)
            } else {
                1
            };
            for _ in 0..together.min(asked) {
                guests.push(Guest {
                    at_ms: at_ms + apart(dice, together),
                    seller: hotel.seller(dice),
                    is_of_burst: together > 1,
                });
            }
            asked -= together;
        }
        guests.sort_by_key(|guest| guest.at_ms);
        let seed = u64::try_from(dice.between(0, i32::MAX)).unwrap_or(0);
        Self {
            date,
            rooms,
            guests,
            seed,
        }
    }
}

/// More in the evening than at night.
fn time_of_day(dice: &mut Dice) -> i64 {
    below(dice, DAY_MS).max(below(dice, DAY_MS))
}

/// Those who come together come within a quarter of an hour, most of them soon.
fn apart(dice: &mut Dice, together: i32) -> i64 {
    if together > 1 {
        below(dice, 900_000)
            .min(below(dice, 900_000))
            .min(below(dice, 900_000))
    } else {
        0
    }
}

const DAY_MS: i64 = 86_400_000;
