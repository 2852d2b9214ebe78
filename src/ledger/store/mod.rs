//! SQL, one file per table family.

pub(crate) mod account;
pub(crate) mod apply;
pub(crate) mod assignment;
pub(crate) mod buffer_rule;
pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod constraint;
pub(crate) mod entry;
pub(crate) mod folio;
pub(crate) mod idempotency;
pub(crate) mod key;
pub(crate) mod line;
pub(crate) mod mapping;
pub(crate) mod night;
pub(crate) mod property;
pub(crate) mod rate;
pub(crate) mod rate_change;
pub(crate) mod rate_plan;
pub(crate) mod read;
pub(crate) mod reference;
pub(crate) mod room;
pub(crate) mod room_type;
pub(crate) mod row;
pub(crate) mod rules;
pub(crate) mod tail;
pub(crate) mod verify;
