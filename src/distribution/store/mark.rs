//! The marks: which cells must be told.
