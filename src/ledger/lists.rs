//! Lists of a hotel that are put as a whole by who has read them: each has a version that follows
//! from what is in it, and is replaced only where it is still the one that was read.

use keyrack_model::id::{AccountId, PropertyId};

use crate::catalog::MappingSetup;
use crate::command::By;
use crate::decide::buffer_rule::BufferRule;
use crate::decide::pool_rule::PoolRule;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup;
pub use crate::setup::list_version::list_version;

/// Replaces the mappings of an account; `read` is the version that was read, where it is said. A
/// `reason` of doing it although guests are to come under codes that change is written down.
pub async fn change_mappings(
    ledger: &Ledger,
    account: AccountId,
    by: &By,
    mappings: Vec<MappingSetup>,
    (read, reason): (Option<i64>, Option<&str>),
) -> Result<Result<Vec<MappingSetup>, Refusal>, LedgerError> {
    setup::account::put_mappings(ledger, account, by, &mappings, (read, reason)).await
}

/// Whether mappings would be refused; nothing is changed.
pub async fn check_mappings(
    ledger: &Ledger,
    account: AccountId,
    mappings: &[MappingSetup],
) -> Result<Result<(), Refusal>, LedgerError> {
    setup::account::check_mappings(ledger, account, mappings).await
}

/// Replaces the buffer rules of a property; `read` is the version that was read, where it is said.
pub async fn change_buffer_rules(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    rules: Vec<BufferRule>,
    read: Option<i64>,
) -> Result<Result<Vec<BufferRule>, Refusal>, LedgerError> {
    setup::buffer_rules::put(ledger, property, by, &rules, read).await
}

/// Replaces the pool rules of a property; `read` is the version that was read, where it is said.
pub async fn change_pool_rules(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    rules: &[PoolRule],
    read: Option<i64>,
) -> Result<Result<Vec<PoolRule>, Refusal>, LedgerError> {
    setup::pool_rules::put(ledger, property, by, rules, read).await
}
