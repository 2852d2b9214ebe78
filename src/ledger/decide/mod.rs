//! Where the rules stand: values in, entries or a refusal out. No clock, no database, no `async`.

pub mod refusal;
pub mod sellable;
pub mod state;
