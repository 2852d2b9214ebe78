//! The rules of a property as a batch sees them: everything that its rules version vouches for.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::civil::Time;
use jiff::tz::TimeZone;
use keyrack_model::id::{PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::money::Currency;
use keyrack_model::reservation::Source;
use keyrack_model::stay::{StayDate, business_day, plus_days};
use serde::Deserialize;

use super::allotment::Pools;
use super::overbooking::policy::OverbookingPolicy;
use super::revise::Parts;

/// The rules of one property at one rules version.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Whose.
    pub property: PropertyId,
    /// Which version; a decision is applied only while it is the present one.
    pub version: i64,
    /// Where the hotel stands in the day.
    pub zone: TimeZone,
    /// When last night ends.
    pub day_roll_over: Time,
    /// Its currency.
    pub currency: Currency,
    /// Nights ahead that can be sold.
    pub horizon_days: i32,
    /// How long a hold lives.
    pub hold_seconds: i32,
    /// How long its rooms stay kept after that.
    pub confirm_grace_seconds: i32,
    /// How often it may be extended.
    pub extensions_max: i32,
    /// A confirm after the death takes the rooms anew where they are free.
    pub late_confirm_retakes: bool,
    /// First night that may be booked.
    pub bookable_from: Option<StayDate>,
    /// What has no column.
    pub policies: Policies,
    /// Its room types.
    pub types: HashMap<RoomTypeId, TypeRules>,
    /// Its rate plans; the plan and its derivation, where it follows another.
    pub plans: HashMap<RatePlanId, Option<DerivedPlan>>,
    /// Whether any night has a rate or a restriction.
    pub has_rates: bool,
    /// Its allotments, and who sells from them.
    pub pools: Pools,
}

/// How a plan follows another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivedPlan {
    /// The plan that it follows.
    pub base: RatePlanId,
    /// Hundredths of a percent on top.
    pub percent_hundredths: i64,
    /// Minor units on top.
    pub add_minor: i64,
    /// Rounded to a multiple of so many minor units.
    pub step_minor: i64,
}

/// Policies of a property, from its JSON; unknown keys belong to other floors.
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
pub struct Policies {
    /// `guaranteed`, `all` or `none`: which no-shows keep their other nights.
    pub no_show_keeps: String,
    /// Hold times by source.
    pub hold_seconds_by_source: HashMap<String, i32>,
    /// What was meant opens a case only when the arrival is nearer than so many days.
    pub meant_overbooking_case_days: i32,
    /// Who is moved, what that costs, until when.
    pub overbooking: OverbookingPolicy,
    /// Reservations of one guest for one arrival date at most; `None` limits nobody.
    pub guest_arrivals_max: Option<i32>,
}

impl Default for Policies {
    fn default() -> Self {
        Self {
            no_show_keeps: "guaranteed".to_owned(),
            hold_seconds_by_source: HashMap::new(),
            meant_overbooking_case_days: 3,
            overbooking: OverbookingPolicy::default(),
            guest_arrivals_max: None,
        }
    }
}

/// The rules of a room type.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeRules {
    /// Its code.
    pub code: String,
    /// Physical count.
    pub rooms: i32,
    /// Holds of this type live so long.
    pub hold_seconds: Option<i32>,
    /// Rooms of plain types per unit, where it is composed; empty where it is plain.
    pub components: Parts,
}

impl Rules {
    /// The business day at an instant.
    pub fn business_day(&self, now: Timestamp) -> StayDate {
        business_day(now, &self.zone, self.day_roll_over)
    }

    /// The first night that is not yet open.
    pub fn horizon_end(&self, now: Timestamp) -> StayDate {
        plus_days(self.business_day(now), self.horizon_days)
    }

    /// The plain types that one unit of a type takes. `None` where the type is unknown.
    pub fn parts(&self, room_type: RoomTypeId) -> Option<Parts> {
        let rules = self.types.get(&room_type)?;
        Some(if rules.components.is_empty() {
            vec![(room_type, 1)]
        } else {
            rules.components.clone()
        })
    }

    /// How long a hold lives: by source, else the shortest of its types, else the property's.
    pub fn hold_seconds(&self, source: Source, types: impl Iterator<Item = RoomTypeId>) -> i32 {
        let by_type = types
            .filter_map(|id| self.types.get(&id)?.hold_seconds)
            .min();
        let by_source = self
            .policies
            .hold_seconds_by_source
            .get(source.as_str())
            .copied();
        let seconds = by_source.unwrap_or(self.hold_seconds);
        by_type.map_or(seconds, |scarce| scarce.min(seconds))
    }
}
