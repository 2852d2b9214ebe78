//! Composed types: what is free of them is the least over their parts.

use std::collections::{BTreeMap, HashMap};

use keyrack_model::id::RoomTypeId;
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::StayDate;

/// Balances by plain type and night.
pub type Present = BTreeMap<(RoomTypeId, StayDate), NightBalance>;

/// The plain types that one unit of a type takes; a plain type is its own only part.
pub fn parts(
    compositions: &HashMap<RoomTypeId, Vec<(RoomTypeId, i32)>>,
    room_type: RoomTypeId,
) -> Vec<(RoomTypeId, i32)> {
    compositions
        .get(&room_type)
        .cloned()
        .unwrap_or_else(|| vec![(room_type, 1)])
}

/// Units free on a night: the least over the parts. `None` where a part has no such night.
pub fn free(present: &Present, parts: &[(RoomTypeId, i32)], night: StayDate) -> Option<i32> {
    least(present, parts, night, NightBalance::free)
}

/// The least over the parts of any count of rooms, in units. `None` where a part has no such night.
pub fn least(
    present: &Present,
    parts: &[(RoomTypeId, i32)],
    night: StayDate,
    rooms: impl Fn(NightBalance) -> i32,
) -> Option<i32> {
    let mut least: Option<i32> = None;
    for (part, quantity) in parts {
        let units = rooms(*present.get(&(*part, night))?).div_euclid((*quantity).max(1));
        least = Some(least.map_or(units, |least| least.min(units)));
    }
    least
}

/// What a unit is made of, each part with its code, its count and what is free of it.
pub fn in_words<'a>(parts: impl Iterator<Item = (&'a str, i32, i32)>) -> String {
    let each = parts.map(|(code, quantity, free)| format!("{quantity} of {code} ({free} free)"));
    let each: Vec<String> = each.collect();
    format!("each takes {}: the scarcest decides", each.join(" and "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_unit_is_made_of_is_a_sentence() {
        let parts = [("blue", 1, 0), ("green", 2, 5)];
        assert_eq!(
            in_words(parts.into_iter()),
            "each takes 1 of blue (0 free) and 2 of green (5 free): the scarcest decides"
        );
    }

    #[test]
    fn a_flat_of_two_rooms_is_free_as_often_as_its_scarcest_part() {
        let night = jiff::civil::date(2030, 1, 1);
        let (dbl, sgl, flat) = (RoomTypeId(1), RoomTypeId(2), RoomTypeId(3));
        let rooms = |physical, sold| NightBalance {
            physical,
            sold,
            ..Default::default()
        };
        let present = Present::from([((dbl, night), rooms(5, 0)), ((sgl, night), rooms(3, 2))]);
        let compositions = HashMap::from([(flat, vec![(dbl, 2), (sgl, 1)])]);
        assert_eq!(free(&present, &parts(&compositions, flat), night), Some(1));
        assert_eq!(free(&present, &parts(&compositions, dbl), night), Some(5));
        let next = jiff::civil::date(2030, 1, 2);
        assert_eq!(free(&present, &parts(&compositions, flat), next), None);
    }
}
