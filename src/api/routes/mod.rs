//! Every route of the contract, one file a subject.

pub mod accounts;
pub mod all_messages;
pub mod allotments;
pub mod availability;
pub mod buffer_rules;
pub mod channel_inbox;
pub mod channels;
pub mod day_sheet;
pub mod groups;
pub mod health;
pub mod hits;
pub mod inventory;
pub mod messages;
pub mod overbookings;
pub mod pool_rules;
pub mod properties;
pub mod rate_plans;
pub mod rates;
pub mod reservations;
pub mod room_type;
pub mod rooming_list;
pub mod rooms;
pub mod turn_aways;
pub mod waitlist;
pub mod webhooks;
