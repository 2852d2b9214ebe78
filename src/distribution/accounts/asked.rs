//! What an account's listing is asked with.

use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_ledger::tail::Listing;
use keyrack_model::channel::{Capabilities, ChannelMapping};

use crate::error::DistributionError;
use crate::handle::Distribution;

/// What an account's listing is asked with.
pub(crate) struct Asked {
    /// The account, as it is to be looked at.
    pub(crate) row: AccountRow,
    /// Its mappings.
    pub(crate) mappings: Vec<ChannelMapping>,
    /// Its channel's abilities.
    pub(crate) capabilities: &'static Capabilities,
}

impl Asked {
    /// Of an account as it is now.
    pub(crate) async fn of(
        distribution: &Distribution,
        row: &AccountRow,
    ) -> Result<Self, DistributionError> {
        let inner = &distribution.inner;
        let (mappings, _) = catalog::mappings(&inner.ledger, row.account.id).await?;
        let adapter = inner.channels.adapter(&row.account.channel)?;
        Ok(Self {
            row: row.clone(),
            mappings,
            capabilities: adapter.capabilities(),
        })
    }

    /// For the ledger's tail.
    pub(crate) fn listing(&self) -> Listing<'_> {
        Listing {
            account: &self.row.account,
            mappings: &self.mappings,
            capabilities: self.capabilities,
        }
    }
}
