//! Who stands behind a connection: its accounts, by the channel's codes of their hotels.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use keyrack_ledger::catalog;
use keyrack_ledger::handle::Ledger;
use keyrack_model::channel::{Account, ChannelMapping};
use keyrack_model::id::{AccountId, ConnectionId, PropertyId, RoomTypeId};

use crate::error::DistributionError;

/// The accounts behind a connection, as they are now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Behind {
    accounts: Vec<Account>,
}

/// The mappings of an account by ids, and its fallback type.
pub(crate) type Mappings = (Vec<ChannelMapping>, Option<RoomTypeId>);

impl Behind {
    /// Asks the ledger.
    pub(crate) async fn load(
        ledger: &Ledger,
        connection: ConnectionId,
    ) -> Result<Self, DistributionError> {
        let rows = catalog::accounts_behind(ledger, connection).await?;
        let accounts = rows.into_iter().map(|row| row.account).collect();
        Ok(Self { accounts })
    }

    /// Nobody: nothing of it could be recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    /// Every account.
    pub(crate) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// The account of a hotel.
    pub(crate) fn of_hotel(&self, hotel_code: &str) -> Option<&Account> {
        self.accounts
            .iter()
            .find(|account| account.hotel_code == hotel_code)
    }

    /// The account of an id.
    pub(crate) fn of_id(&self, id: AccountId) -> Option<&Account> {
        self.accounts.iter().find(|account| account.id == id)
    }

    /// The only one there is.
    pub(crate) fn only(&self) -> Option<&Account> {
        match self.accounts.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The channel's codes of the hotels, sorted.
    pub(crate) fn hotel_codes(&self) -> Vec<String> {
        let mut codes: Vec<String> = self
            .accounts
            .iter()
            .map(|account| account.hotel_code.clone())
            .collect();
        codes.sort_unstable();
        codes
    }

    /// The zone of the hotels, where it is one.
    pub(crate) async fn time_zone(
        &self,
        ledger: &Ledger,
    ) -> Result<Option<String>, DistributionError> {
        let mut properties: Vec<PropertyId> = self
            .accounts
            .iter()
            .map(|account| account.property)
            .collect();
        properties.sort_unstable();
        properties.dedup();
        let mut zones: Vec<String> = Vec::new();
        for property in properties {
            zones.extend(
                property_of(ledger, property)
                    .await?
                    .map(|p| p.setup.time_zone),
            );
        }
        zones.dedup();
        Ok(match zones.as_slice() {
            [zone] => Some(zone.clone()),
            _ => None,
        })
    }
}

/// The property of an id.
pub(crate) async fn property_of(
    ledger: &Ledger,
    id: PropertyId,
) -> Result<Option<catalog::Property>, DistributionError> {
    let page = catalog::properties(ledger, Some(PropertyId(id.0 - 1)), 1).await?;
    Ok(page.into_iter().find(|property| property.id == id))
}

/// Mappings as they are now, each account's asked for once per message.
#[derive(Default)]
pub(crate) struct MappingsRead {
    by_account: HashMap<AccountId, Mappings>,
}

impl MappingsRead {
    /// The mappings of an account.
    pub(crate) async fn of(
        &mut self,
        ledger: &Ledger,
        account: AccountId,
    ) -> Result<&Mappings, DistributionError> {
        match self.by_account.entry(account) {
            Entry::Occupied(read) => Ok(read.into_mut()),
            Entry::Vacant(place) => {
                let read = catalog::mappings(ledger, account).await?;
                Ok(place.insert(read))
            }
        }
    }
}
