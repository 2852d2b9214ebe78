//! Codes for ids: what people read.

use std::collections::HashMap;

use keyrack_ledger::catalog;
use keyrack_model::id::{PropertyId, RatePlanId, RoomTypeId};

use crate::error::DistributionError;
use crate::handle::Distribution;

/// The codes of a property's room types and rate plans.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    room_types: HashMap<RoomTypeId, String>,
    rate_plans: HashMap<RatePlanId, String>,
}

impl Names {
    /// Of a property as it is now.
    pub(crate) async fn of(
        distribution: &Distribution,
        property: PropertyId,
    ) -> Result<Self, DistributionError> {
        let ledger = &distribution.inner.ledger;
        let room_types = catalog::room_types(ledger, property).await?;
        let rate_plans = catalog::rate_plans(ledger, property).await?;
        Ok(Self {
            room_types: room_types
                .into_iter()
                .map(|one| (one.id, one.code))
                .collect(),
            rate_plans: rate_plans
                .into_iter()
                .map(|one| (one.id, one.code))
                .collect(),
        })
    }

    /// The code of a type; its id where it is gone.
    pub fn room_type(&self, id: RoomTypeId) -> String {
        let found = self.room_types.get(&id).cloned();
        found.unwrap_or_else(|| id.to_string())
    }

    /// The code of a plan; its id where it is gone.
    pub fn rate_plan(&self, id: Option<RatePlanId>) -> Option<String> {
        id.map(|id| {
            let found = self.rate_plans.get(&id).cloned();
            found.unwrap_or_else(|| id.to_string())
        })
    }
}
