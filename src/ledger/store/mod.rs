//! SQL, one file per table family.

pub(crate) mod rate;
