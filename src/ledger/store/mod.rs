//! SQL, one file per table family.

pub(crate) mod apply;
pub(crate) mod rate;
pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod rules;
