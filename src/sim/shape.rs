//! What a seed makes: properties of random shape, with rules that are likely to quarrel.

use jiff::Timestamp;
use jiff::civil::{Date, time};
use jiff::tz::TimeZone;
use keyrack_model::stay::{StayDate, business_day};
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::pool_shape::PoolShape;

/// The world of a seed.
///
/// Time stands at half a minute at the start and jumps by whole minutes, holds live an odd number
/// of half minutes, graces and options end on whole minutes: so every boundary is half a minute
/// away from any step, and the milliseconds of a real run never decide. A runner whose steps take
/// real time sets the database's clock to the script's time at each jump.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Where it came from.
    pub seed: u64,
    /// When it begins: half past a minute.
    pub start: Timestamp,
    /// Its properties.
    pub properties: Vec<PropertyShape>,
}

/// A property.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PropertyShape {
    /// Its code, unique within the shape.
    pub code: String,
    /// Name of its time zone; the day rolls over at 04:00.
    pub zone: String,
    /// The business day at the start: night 0 of the script.
    pub first_night: StayDate,
    /// Nights that the script plays on, from night 0.
    pub nights: i32,
    /// Nights ahead that can be sold.
    pub horizon_days: i32,
    /// First night that may be booked, as an offset from night 0.
    pub bookable_from: Option<i32>,
    /// How long a hold lives.
    pub hold_seconds: i32,
    /// How long a hold from the hotel's own site lives, where that differs.
    pub web_hold_seconds: Option<i32>,
    /// How long its rooms stay kept after that: 0 or 60.
    pub confirm_grace_seconds: i32,
    /// How often it may be extended.
    pub extensions_max: i32,
    /// A confirm after the death takes the rooms anew.
    pub late_confirm_retakes: bool,
    /// `guaranteed`, `all` or `none`: which no-shows keep their other nights.
    pub no_show_keeps: String,
    /// What was meant opens a case only when the arrival is nearer than so many days.
    pub meant_overbooking_case_days: i32,
    /// Its room types: plain ones first.
    pub types: Vec<TypeShape>,
    /// Its listings at channels.
    pub accounts: Vec<AccountShape>,
    /// What is kept for some of them, and for a group.
    pub pools: PoolShape,
}

/// A room type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypeShape {
    /// Its code, unique within the property.
    pub code: String,
    /// Rooms; 0 where it is composed.
    pub rooms: i32,
    /// Set on all nights by the script's first steps.
    pub overbooking_limit: i32,
    /// Holds of this type live so long at most.
    pub hold_seconds: Option<i32>,
    /// Where it is composed: which types, and how many rooms of each one unit takes.
    pub components: Vec<(usize, i32)>,
}

impl TypeShape {
    /// Whether it has rooms of its own.
    pub fn is_plain(&self) -> bool {
        self.components.is_empty()
    }
}

/// A listing at a channel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AccountShape {
    /// Its code, unique within the shape.
    pub code: String,
    /// A room that a revision leaves out is cancelled; else unchanged.
    pub is_snapshot: bool,
    /// Its rooms have keys of their own.
    pub has_room_keys: bool,
    /// Its revisions have an order.
    pub tells_order: bool,
    /// What an unmapped code takes.
    pub fallback: Option<usize>,
}

impl Shape {
    /// The world of a seed.
    pub fn from_seed(seed: u64) -> Self {
        let mut rng = SmallRng::seed_from_u64(seed);
        let start = start(&mut rng);
        let count = *[1, 1, 2, 3].choose(&mut rng).unwrap_or(&1);
        let properties = (0..count)
            .map(|index| PropertyShape::chosen(&mut rng, start, index))
            .collect();
        Self {
            seed,
            start,
            properties,
        }
    }
}

/// Half past some minute, at some hour of some day: also shortly before a day rolls over.
fn start(rng: &mut SmallRng) -> Timestamp {
    let day = Date::constant(2030, 5, 6).at(0, 0, 30, 0);
    let day = TimeZone::UTC.to_timestamp(day);
    let midnight = day.unwrap_or(Timestamp::UNIX_EPOCH);
    let minutes = rng.random_range(0..3 * 24 * 60_i64);
    midnight
        .checked_add(jiff::SignedDuration::from_mins(minutes))
        .unwrap_or(midnight)
}

/// Half minutes that are no whole minutes.
fn seconds(rng: &mut SmallRng) -> i32 {
    *[90, 330, 630, 930, 1830].choose(rng).unwrap_or(&90)
}

impl PropertyShape {
    fn chosen(rng: &mut SmallRng, start: Timestamp, index: usize) -> Self {
        let zones = ["UTC", "Europe/Rome", "Pacific/Auckland", "America/New_York"];
        let zone = zones.choose(rng).copied().unwrap_or("UTC");
        let tz = TimeZone::get(zone).unwrap_or(TimeZone::UTC);
        let nights = rng.random_range(8..=16);
        let types = types(rng);
        let fallback = |rng: &mut SmallRng| {
            rng.random_bool(0.5)
                .then(|| rng.random_range(0..types.len()))
        };
        let accounts: Vec<AccountShape> = (0..rng.random_range(1..=2))
            .map(|account| AccountShape {
                code: format!("listing-{index}-{account}"),
                is_snapshot: rng.random_bool(0.5),
                has_room_keys: rng.random_bool(0.6),
                tells_order: rng.random_bool(0.7),
                fallback: fallback(rng),
            })
            .collect();
        Self {
            code: format!("house-{index}"),
            zone: zone.to_owned(),
            first_night: business_day(start, &tz, time(4, 0, 0, 0)),
            nights,
            horizon_days: if rng.random_bool(0.3) { nights - 2 } else { 60 },
            bookable_from: rng.random_bool(0.2).then(|| rng.random_range(1..4)),
            hold_seconds: seconds(rng),
            web_hold_seconds: rng.random_bool(0.3).then(|| seconds(rng)),
            confirm_grace_seconds: if rng.random_bool(0.5) { 0 } else { 60 },
            extensions_max: rng.random_range(0..=2),
            late_confirm_retakes: rng.random_bool(0.5),
            no_show_keeps: ["guaranteed", "all", "none"]
                .choose(rng)
                .copied()
                .unwrap_or("all")
                .to_owned(),
            meant_overbooking_case_days: rng.random_range(0..=5),
            pools: PoolShape::chosen(
                rng,
                types.iter().filter(|one| one.is_plain()).count(),
                accounts.len(),
            ),
            types,
            accounts,
        }
    }

    /// The code of a room, by index of its type and from 0.
    pub fn room_code(&self, room_type: usize, room: i32) -> String {
        format!("{}-{room}", self.types[room_type].code)
    }

    /// The nights that are there before the script begins, as offsets from night 0, the end
    /// excluded. Others are born when they are asked for.
    pub fn born(&self) -> std::ops::Range<i32> {
        -3..self.nights + 10
    }

    /// Indexes of the types that have rooms of their own.
    pub fn plain_types(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.types.len()).filter(|index| self.types[*index].is_plain())
    }
}

fn types(rng: &mut SmallRng) -> Vec<TypeShape> {
    let plain: usize = rng.random_range(1..=4);
    let mut types: Vec<TypeShape> = (0..plain)
        .map(|index| TypeShape {
            code: format!("T{index}"),
            rooms: *[1, 1, 2, 2, 3, 6].choose(rng).unwrap_or(&1),
            overbooking_limit: *[0, 0, 0, 1, 2].choose(rng).unwrap_or(&0),
            hold_seconds: rng.random_bool(0.3).then(|| seconds(rng)),
            components: Vec::new(),
        })
        .collect();
    if rng.random_bool(0.5) {
        let mut parts: Vec<usize> = (0..plain).collect();
        while parts.len() > 2 {
            parts.remove(rng.random_range(0..parts.len()));
        }
        types.push(TypeShape {
            code: "FLAT".to_owned(),
            rooms: 0,
            overbooking_limit: 0,
            hold_seconds: None,
            components: parts
                .into_iter()
                .map(|part| (part, rng.random_range(1..=2)))
                .collect(),
        });
    }
    types
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_seed_makes_one_world() {
        assert_eq!(Shape::from_seed(7), Shape::from_seed(7));
        assert_ne!(Shape::from_seed(7), Shape::from_seed(8));
    }

    #[test]
    fn every_hold_ends_half_a_minute_from_any_step() {
        for seed in 0..200 {
            let shape = Shape::from_seed(seed);
            assert_eq!(shape.start.as_second().rem_euclid(60), 30);
            for house in &shape.properties {
                let of_types = house.types.iter().filter_map(|t| t.hold_seconds);
                let lengths = of_types
                    .chain([house.hold_seconds])
                    .chain(house.web_hold_seconds);
                for seconds in lengths {
                    assert_eq!(seconds % 60, 30, "{house:?}");
                }
                assert_eq!(house.confirm_grace_seconds % 60, 0);
            }
        }
    }
}
