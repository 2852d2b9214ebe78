//! Accounts as staff see and steer them: state and lag, going live, pausing, closing, ending,
//! mappings, and what was told.
//!
//! The ledger owns the account; here is what its channel makes of it.

mod asked;
pub mod go_live;
pub mod lifecycle;
pub mod listing;
pub mod mappings;
pub mod names;
pub mod standing;
pub mod status;
pub mod told;

use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_model::adapter::Verdict;
use keyrack_model::id::PropertyId;

use crate::connections;
use crate::error::DistributionError;
use crate::handle::Distribution;

/// The account of a code.
///
/// # Errors
///
/// Failures of the database.
pub async fn find(
    distribution: &Distribution,
    property: PropertyId,
    code: &str,
) -> Result<Option<AccountRow>, DistributionError> {
    let rows = catalog::accounts(&distribution.inner.ledger, property).await?;
    Ok(rows.into_iter().find(|row| row.account.code == code))
}

/// Asks the channel whether the login is good and the hotel is known there.
///
/// # Errors
///
/// Failures of ours; what stands in the way at the channel is a verdict.
pub async fn test(
    distribution: &Distribution,
    row: &AccountRow,
) -> Result<Verdict, DistributionError> {
    let hotels = [row.account.hotel_code.clone()];
    connections::test(distribution, row.account.connection, &hotels).await
}
