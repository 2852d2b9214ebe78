//! Every route of the contract, one file a subject.

pub mod buffer_rules;
pub mod day_sheet;
pub mod health;
pub mod inventory;
pub mod overbookings;
pub mod properties;
pub mod rate_plans;
pub mod rates;
pub mod reservations;
pub mod room_type;
pub mod rooms;
