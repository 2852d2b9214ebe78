//! How the catalog is written: one transaction a verb, the property's row locked first.

pub(crate) mod account;
pub(crate) mod allotment;
pub(crate) mod buffer_rules;
pub(crate) mod check;
pub(crate) mod check_pools;
pub(crate) mod horizon;
pub(crate) mod list_version;
pub(crate) mod pool_rules;
pub(crate) mod property;
pub(crate) mod rate_plan;
pub(crate) mod rates;
pub(crate) mod roll_over;
pub(crate) mod room;
pub(crate) mod room_type;
