//! SQL, one file per table family.
