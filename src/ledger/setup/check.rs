//! What is wrong with a setup, field by field. Pure.

use std::collections::BTreeSet;

use jiff::tz::TimeZone;
use keyrack_model::channel::PoolMode;
use keyrack_model::id::Code;
use keyrack_model::reservation::Source;
use keyrack_model::stay::StayRange;

use crate::catalog::{Derivation, RoomTypeSetup};
use crate::catalog::{MappingSetup, PropertySetup, RatePlanSetup};
use crate::decide::overbooking::policy::OverbookingPolicy;
use crate::decide::refusal::Refusal;

/// Gathers what is wrong: JSON pointer and sentence.
#[derive(Default)]
pub(crate) struct Faults(Vec<(String, String)>);

impl Faults {
    /// Notes a fault where the claim does not hold.
    pub(crate) fn unless(&mut self, claim: bool, pointer: &str, sentence: &str) {
        if !claim {
            self.0.push((pointer.to_owned(), sentence.to_owned()));
        }
    }

    /// The refusal, where anything is wrong.
    pub(crate) fn done(self) -> Result<(), Refusal> {
        if self.0.is_empty() {
            Ok(())
        } else {
            Err(Refusal::Invalid(self.0))
        }
    }
}

/// A property's code and setup.
pub(crate) fn property(code: &str, setup: &PropertySetup) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    let is_code = Code::property(code).is_some();
    faults.unless(
        is_code,
        "/property",
        "a property's code is [a-z0-9-], 2 to 40 of them",
    );
    name(&mut faults, &setup.name);
    let zone = TimeZone::get(&setup.time_zone).is_ok();
    faults.unless(
        zone,
        "/time_zone",
        "no such time zone; write it as IANA does, Europe/Rome",
    );
    let horizon = (1..=2000).contains(&setup.horizon_days);
    faults.unless(horizon, "/horizon_days", "1 to 2000 nights");
    faults.unless(
        setup.hold_seconds >= 1,
        "/hold/hold_seconds",
        "at least 1 second",
    );
    let grace = setup.confirm_grace_seconds >= 0;
    faults.unless(grace, "/hold/confirm_grace_seconds", "0 seconds or more");
    faults.unless(
        setup.extensions_max >= 0,
        "/hold/extensions_max",
        "0 or more",
    );
    let (min, max) = (setup.rate_min_minor, setup.rate_max_minor);
    faults.unless(min.is_none_or(|rate| rate >= 0), "/rate_min", "not below 0");
    faults.unless(max.is_none_or(|rate| rate >= 0), "/rate_max", "not below 0");
    let ordered = min.zip(max).is_none_or(|(min, max)| min <= max);
    faults.unless(ordered, "/rate_max", "not below rate_min");
    policies(&mut faults, &setup.policies);
    faults.done()
}

/// Policies that the ledger knows; others belong to other floors and pass.
fn policies(faults: &mut Faults, policies: &serde_json::Value) {
    let Some(policies) = policies.as_object() else {
        faults.unless(false, "/policies", "an object");
        return;
    };
    if let Some(keeps) = policies.get("no_show_keeps") {
        let known = ["guaranteed", "all", "none"]
            .iter()
            .any(|known| keeps == known);
        faults.unless(known, "/policies/no_show_keeps", "guaranteed, all or none");
    }
    if let Some(days) = policies.get("meant_overbooking_case_days") {
        let whole = days.as_i64().is_some_and(|days| (0..=2000).contains(&days));
        faults.unless(
            whole,
            "/policies/meant_overbooking_case_days",
            "0 to 2000 days",
        );
    }
    if let Some(told) = policies.get("overbooking") {
        overbooking(faults, told);
    }
    if let Some(most) = policies.get("guest_arrivals_max") {
        let fits = most
            .as_i64()
            .is_some_and(|most| (1..=1_000).contains(&most));
        let sentence = "1 to 1000 reservations of one guest for one arrival date";
        faults.unless(fits, "/policies/guest_arrivals_max", sentence);
    }
    if let Some(one_in) = policies.get("safety_one_in") {
        let range = i64::from(ONE_IN_MIN)..=i64::from(ONE_IN_MAX);
        let fits = one_in
            .as_i64()
            .is_some_and(|one_in| range.contains(&one_in));
        let sentence = "one of so many scarce room nights: 10 to 1000000";
        faults.unless(fits, "/policies/safety_one_in", sentence);
    }
    let Some(by_source) = policies.get("hold_seconds_by_source") else {
        return;
    };
    let pointer = "/policies/hold_seconds_by_source";
    let Some(by_source) = by_source.as_object() else {
        faults.unless(false, pointer, "an object of source and seconds");
        return;
    };
    for (source, seconds) in by_source {
        let pointer = format!("{pointer}/{source}");
        faults.unless(
            Source::from_name(source).is_some(),
            &pointer,
            "no such source",
        );
        let whole = seconds
            .as_i64()
            .is_some_and(|s| (1..=i64::from(i32::MAX)).contains(&s));
        faults.unless(whole, &pointer, "at least 1 second");
    }
}

/// Targets beyond are a mistake: nothing would be kept back, or everything.
const ONE_IN_MIN: i32 = 10;
pub(super) const ONE_IN_MAX: i32 = 1_000_000;

/// How overbookings are resolved.
fn overbooking(faults: &mut Faults, told: &serde_json::Value) {
    let pointer = "/policies/overbooking";
    let Some(fields) = told.as_object() else {
        faults.unless(false, pointer, "an object");
        return;
    };
    for field in fields.keys() {
        let known = OverbookingPolicy::FIELDS.contains(&field.as_str());
        let words = format!(
            "no such field; known are {}",
            OverbookingPolicy::FIELDS.join(", ")
        );
        faults.unless(known, &format!("{pointer}/{field}"), &words);
    }
    for (field, value) in fields {
        let alone = serde_json::json!({ field.as_str(): value });
        let reads = serde_json::from_value::<OverbookingPolicy>(alone).is_ok();
        let shape = OverbookingPolicy::shape(field);
        faults.unless(reads, &format!("{pointer}/{field}"), shape);
    }
    if let Ok(policy) = serde_json::from_value::<OverbookingPolicy>(told.clone()) {
        for (field, words) in policy.faults() {
            faults.unless(false, &format!("{pointer}/{field}"), &words);
        }
    }
}

fn name(faults: &mut Faults, name: &str) {
    let fits = !name.trim().is_empty() && name.chars().count() <= NAME_MAX;
    faults.unless(fits, "/name", "1 to 200 characters, not only blanks");
}

/// Longest name, in characters: longer ones are a mistake, and break pages.
const NAME_MAX: usize = 200;

/// Most rooms of one type: beyond every hotel, and far from where sums overflow.
pub(super) const ROOMS_MAX: i32 = 100_000;

fn code(faults: &mut Faults, pointer: &str, code: &str) {
    let sentence = "a code is 1 to 40 of the characters A-Z a-z 0-9 . _ -";
    faults.unless(Code::new(code).is_some(), pointer, sentence);
}

/// A room type's code and setup, but for what its neighbours say.
pub(crate) fn room_type(code_text: &str, setup: &RoomTypeSetup) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    code(&mut faults, "/room_type", code_text);
    name(&mut faults, &setup.name);
    let count = (0..=ROOMS_MAX).contains(&setup.rooms);
    faults.unless(count, "/rooms", "0 to 100000");
    faults.unless(setup.adults_max >= 1, "/occupancy/adults_max", "at least 1");
    faults.unless(
        setup.children_max >= 0,
        "/occupancy/children_max",
        "0 or more",
    );
    let total = setup.total_max >= setup.adults_max && setup.total_max <= GUESTS_MAX;
    faults.unless(
        total,
        "/occupancy/total_max",
        "adults_max or more, 1000 at most",
    );
    faults.unless(
        setup.children_max <= GUESTS_MAX,
        "/occupancy/children_max",
        "1000 at most",
    );
    faults.unless(
        setup.hold_seconds.is_none_or(|s| s >= 1),
        "/hold_seconds",
        "at least 1",
    );
    if !setup.components.is_empty() {
        let sentence = "a composed type has no rooms of its own: 0";
        faults.unless(setup.rooms == 0, "/rooms", sentence);
    }
    let mut seen = BTreeSet::new();
    for (i, (part, quantity)) in setup.components.iter().enumerate() {
        let pointer = format!("/components/{i}/room_type");
        faults.unless(part != code_text, &pointer, "a type is no part of itself");
        faults.unless(seen.insert(part), &pointer, "named twice");
        let pointer = format!("/components/{i}/quantity");
        faults.unless((1..=1000).contains(quantity), &pointer, "1 to 1000");
    }
    faults.done()
}

const GUESTS_MAX: i32 = 1000;

/// A room's code and name.
pub(crate) fn room(code_text: &str, room_name: &str) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    code(&mut faults, "/room", code_text);
    let fits = room_name.chars().count() <= NAME_MAX;
    faults.unless(fits, "/name", "200 characters at most");
    faults.done()
}

/// Blocks of one room: known kinds, and no night twice.
pub(crate) fn blocks(blocks: &[(StayRange, String, Option<String>)]) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    for (i, (stay, kind, _)) in blocks.iter().enumerate() {
        let known = BLOCK_KINDS.contains(&kind.as_str());
        let sentence = format!("one of {}", BLOCK_KINDS.join(", "));
        faults.unless(known, &format!("/blocks/{i}/kind"), &sentence);
        let apart = blocks[..i]
            .iter()
            .all(|(other, ..)| stay.intersection(*other).is_none());
        faults.unless(
            apart,
            &format!("/blocks/{i}/from"),
            "two blocks have a night in common",
        );
    }
    let nights: i32 = blocks.iter().map(|(stay, ..)| stay.length()).sum();
    let sentence = format!("at most {BLOCKED_NIGHTS_MAX} nights together");
    faults.unless(nights <= BLOCKED_NIGHTS_MAX, "/blocks", &sentence);
    faults.done()
}

/// Nights in which one room is blocked at most, some ten years: they are judged and written in one
/// piece.
const BLOCKED_NIGHTS_MAX: i32 = 4_000;

const BLOCK_KINDS: [&str; 3] = ["out_of_order", "owner", "house_use"];

/// A rate plan's code and setup, but for what its neighbours say.
pub(crate) fn rate_plan(code_text: &str, setup: &RatePlanSetup) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    code(&mut faults, "/rate_plan", code_text);
    name(&mut faults, &setup.name);
    let known = MEAL_PLANS.contains(&setup.meal_plan.as_str());
    faults.unless(
        known,
        "/meal_plan",
        &format!("one of {}", MEAL_PLANS.join(", ")),
    );
    if let Some((base, derivation)) = &setup.derived_from {
        let sentence = "a plan does not follow itself";
        faults.unless(base != code_text, "/derived_from/rate_plan", sentence);
        let Derivation {
            percent_hundredths,
            step_minor,
            ..
        } = *derivation;
        let percent = (-10_000..=1_000_000).contains(&percent_hundredths);
        faults.unless(percent, "/derived_from/percent", "-100 to 10000 percent");
        faults.unless(step_minor >= 0, "/derived_from/round_to", "0 or more");
    }
    let terms = &setup.cancellation_terms;
    faults.unless(
        terms.is_array(),
        "/cancellation_terms",
        "a list of {until, fee}",
    );
    faults.done()
}

/// What a guest is fed, as OTA lists name it.
const MEAL_PLANS: [&str; 5] = [
    "room_only",
    "breakfast",
    "half_board",
    "full_board",
    "all_inclusive",
];

/// An account's code and the hotel's code at the channel.
pub(crate) fn account(code_text: &str, hotel_code: &str) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    code(&mut faults, "/account", code_text);
    channel_code(&mut faults, "/hotel_code", hotel_code);
    faults.done()
}

/// Codes of channels are theirs: anything short that can be seen.
fn channel_code(faults: &mut Faults, pointer: &str, code: &str) {
    let fits = !code.trim().is_empty() && code.len() <= 200 && !code.chars().any(char::is_control);
    faults.unless(fits, pointer, "1 to 200 characters that can be seen");
}

/// Mappings of one account: pairs of remote codes are unique, a remote room belongs to one type,
/// and one product of ours is told under one pair only.
pub(crate) fn mappings(mappings: &[MappingSetup]) -> Result<(), Refusal> {
    let mut faults = Faults::default();
    let (mut pairs, mut products) = (BTreeSet::new(), BTreeSet::new());
    for (i, mapping) in mappings.iter().enumerate() {
        let at = |field: &str| format!("/{i}/{field}");
        let room = &mapping.channel_room_code;
        channel_code(&mut faults, &at("channel_room_code"), room);
        if let Some(rate) = &mapping.channel_rate_code {
            channel_code(&mut faults, &at("channel_rate_code"), rate);
        }
        let rate = mapping.channel_rate_code.as_deref().unwrap_or("");
        let sentence = "the pair of room and rate code is mapped twice";
        faults.unless(
            pairs.insert((room, rate)),
            &at("channel_room_code"),
            sentence,
        );
        let product = (room, &mapping.room_type, &mapping.rate_plan);
        let sentence = "the rate plan is mapped twice for this room";
        faults.unless(products.insert(product), &at("rate_plan"), sentence);
        let other = mappings[..i]
            .iter()
            .find(|other| other.channel_room_code == *room && other.room_type != mapping.room_type);
        let sentence = "a remote room belongs to one room type";
        faults.unless(other.is_none(), &at("room_type"), sentence);
        let is_shared = mapping.pool == PoolMode::Shared;
        let sentence = "names the allotment where the pool is not shared, and only there";
        let fits = is_shared == mapping.allotment.is_none();
        faults.unless(fits, &at("allotment"), sentence);
    }
    faults.done()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hotel() -> PropertySetup {
        PropertySetup {
            name: "Seehof".into(),
            time_zone: "Europe/Rome".into(),
            currency: keyrack_model::money::Currency::from_code("EUR").expect("known"),
            day_roll_over: jiff::civil::time(4, 0, 0, 0),
            horizon_days: 730,
            hold_seconds: 900,
            confirm_grace_seconds: 120,
            extensions_max: 2,
            late_confirm_retakes: false,
            bookable_from: None,
            rate_min_minor: None,
            rate_max_minor: None,
            policies: serde_json::json!({}),
        }
    }

    fn pointers(answer: Result<(), Refusal>) -> Vec<String> {
        match answer {
            Err(Refusal::Invalid(faults)) => faults.into_iter().map(|(at, _)| at).collect(),
            Err(other) => panic!("{other:?}"),
            Ok(()) => Vec::new(),
        }
    }

    #[test]
    fn everything_wrong_with_a_property_is_said_at_once() {
        assert_eq!(property("seehof", &hotel()), Ok(()));
        let wrong = PropertySetup {
            name: " ".into(),
            time_zone: "Europe/Atlantis".into(),
            horizon_days: 2001,
            hold_seconds: 0,
            rate_min_minor: Some(200),
            rate_max_minor: Some(100),
            policies: serde_json::json!({"no_show_keeps": "some",
                                         "hold_seconds_by_source": {"fax": 60, "web": 0}}),
            ..hotel()
        };
        let pointers = pointers(property("Seehof", &wrong));
        let expected = [
            "/property",
            "/name",
            "/time_zone",
            "/horizon_days",
            "/hold/hold_seconds",
            "/rate_max",
            "/policies/no_show_keeps",
            "/policies/hold_seconds_by_source/fax",
            "/policies/hold_seconds_by_source/web",
        ];
        assert_eq!(pointers, expected);
    }

    #[test]
    fn a_remote_room_belongs_to_one_type_and_a_pair_of_codes_is_mapped_once() {
        let mapping =
            |room_type: &str, plan: Option<&str>, room: &str, rate: Option<&str>| MappingSetup {
                room_type: room_type.into(),
                rate_plan: plan.map(str::to_owned),
                channel_room_code: room.into(),
                channel_rate_code: rate.map(str::to_owned),
                pool: Default::default(),
                allotment: None,
            };
        let good = [
            mapping("dbl", Some("flex"), "R1", Some("A")),
            mapping("dbl", Some("nonref"), "R1", Some("B")),
            mapping("dbl", None, "R2", None),
        ];
        assert_eq!(mappings(&good), Ok(()));
        let twice = [good[0].clone(), mapping("dbl", None, "R1", Some("A"))];
        assert_eq!(pointers(mappings(&twice)), ["/1/channel_room_code"]);
        let two_types = [
            good[0].clone(),
            mapping("sgl", Some("flex"), "R1", Some("B")),
        ];
        assert_eq!(pointers(mappings(&two_types)), ["/1/room_type"]);
        let blank = [mapping("dbl", None, " ", None)];
        assert_eq!(pointers(mappings(&blank)), ["/0/channel_room_code"]);
    }
}
