//! Rates and restrictions of nights, in layers.

use keyrack_model::id::{AccountId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::money::Money;
use keyrack_model::restriction::Restrictions;
use keyrack_model::stay::{Stay, StayDate, StayRange, Weekdays};

use crate::command::By;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::offers::{self, Guests};
use crate::setup::rates;

/// A change over nights. `None` leaves a field as it is, `Some(None)` clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RateChange {
    /// `None` is the whole property (stop sell only).
    pub room_type: Option<RoomTypeId>,
    /// `None` is the room type itself.
    pub rate_plan: Option<RatePlanId>,
    /// `None` is every account and the desk.
    pub account: Option<AccountId>,
    /// Which nights; required.
    pub nights: Option<StayRange>,
    /// Which weekdays of them.
    pub weekdays: Option<Weekdays>,
    /// Price of the room at standard occupancy, minor units of the property's currency.
    pub rate_minor: Option<Option<i64>>,
    /// Price by guests, minor units.
    pub occupancy_rates: Option<Vec<(u8, i64)>>,
    /// Restrictions, field by field.
    pub min_stay_arrival: Option<Option<i32>>,
    /// See [`Restrictions::min_stay_through`].
    pub min_stay_through: Option<Option<i32>>,
    /// See [`Restrictions::max_stay`].
    pub max_stay: Option<Option<i32>>,
    /// See [`Restrictions::closed_to_arrival`].
    pub closed_to_arrival: Option<bool>,
    /// See [`Restrictions::closed_to_departure`].
    pub closed_to_departure: Option<bool>,
    /// See [`Restrictions::min_advance_days`].
    pub min_advance_days: Option<Option<i32>>,
    /// See [`Restrictions::max_advance_days`].
    pub max_advance_days: Option<Option<i32>>,
    /// See [`Restrictions::stop_sell`].
    pub stop_sell: Option<bool>,
}

/// Sets rates and restrictions, all or none; says how many nights of how many cells change. Raises
/// the rules version and writes rate changes for the feed, in one transaction.
pub async fn set(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    changes: &[RateChange],
    dry_run: bool,
) -> Result<Result<u32, Refusal>, LedgerError> {
    rates::set(ledger, property, by, changes, dry_run).await
}

/// A stay that could be sold now, with its price, or what stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Code of the room type.
    pub room_type: String,
    /// Code of the rate plan; `None` where the type has no plan.
    pub rate_plan: Option<String>,
    /// Rooms free on its scarcest night.
    pub free: i32,
    /// Price of each night, where every night has one.
    pub nightly: Vec<(StayDate, Money)>,
    /// Sum of the nights.
    pub total: Option<Money>,
    /// What stands in the way, in words; empty where it can be sold.
    pub hindrances: Vec<String>,
}

/// What can be sold now for a stay and its guests.
pub async fn offers(
    ledger: &Ledger,
    property: PropertyId,
    stay: Stay,
    adults: i32,
    children: i32,
    rate_plan: Option<RatePlanId>,
) -> Result<Vec<Offer>, LedgerError> {
    let guests = Guests { adults, children };
    offers::offers(ledger, property, stay, guests, rate_plan).await
}

/// Rate and restrictions of one cell after all layers, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellRules {
    /// Price at standard occupancy.
    pub rate: Option<Money>,
    /// Price by guests.
    pub occupancy_rates: Vec<(u8, Money)>,
    /// The stricter of every layer.
    pub restrictions: Restrictions,
}
