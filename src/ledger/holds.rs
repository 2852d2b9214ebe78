//! Holds whose time is over.

use keyrack_model::id::PropertyId;

use crate::error::LedgerError;
use crate::handle::Ledger;

/// Lets go at most `limit` dead holds of a property; says how many it let go.
pub async fn expire_due(
    _ledger: &Ledger,
    _property: PropertyId,
    _limit: u32,
) -> Result<u32, LedgerError> {
    Err(LedgerError::Closing)
}

/// Properties that have dead holds now, with how long the oldest is dead, in seconds.
pub async fn due(_ledger: &Ledger) -> Result<Vec<(PropertyId, i64)>, LedgerError> {
    Err(LedgerError::Closing)
}
