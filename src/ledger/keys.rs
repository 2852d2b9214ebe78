//! API keys: made, found again by their hash, revoked. The key itself is shown once and kept by nobody.

use keyrack_model::id::PropertyId;
use serde::{Deserialize, Serialize};

use crate::error::LedgerError;
use crate::handle::Ledger;

/// What a key may do; each may what the next may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks.
    ReadOnly,
    /// Books.
    FrontDesk,
    /// Sets rates and inventory, forces.
    Manager,
    /// Everything, of its property or of all.
    Admin,
}

/// A key as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id, for entries.
    pub id: i64,
    /// What it may.
    pub role: Role,
    /// Only this property; `None` is all.
    pub property: Option<PropertyId>,
    /// For people.
    pub name: String,
}

/// Makes a key; the returned text is shown once.
pub async fn create(
    _ledger: &Ledger,
    _role: Role,
    _property: Option<PropertyId>,
    _name: &str,
) -> Result<(ApiKey, String), LedgerError> {
    Err(LedgerError::Closing)
}

/// Makes sure that this very key exists (the bootstrap key), as an admin of all properties.
pub async fn ensure(_ledger: &Ledger, _key: &str, _name: &str) -> Result<ApiKey, LedgerError> {
    Err(LedgerError::Closing)
}

/// The key of a text, where it is known and not revoked; compared in constant time.
pub async fn find(_ledger: &Ledger, _key: &str) -> Result<Option<ApiKey>, LedgerError> {
    Err(LedgerError::Closing)
}

/// All keys, without their secrets.
pub async fn list(_ledger: &Ledger) -> Result<Vec<ApiKey>, LedgerError> {
    Err(LedgerError::Closing)
}

/// Revokes a key; says whether it was there.
pub async fn revoke(_ledger: &Ledger, _id: i64) -> Result<bool, LedgerError> {
    Err(LedgerError::Closing)
}
