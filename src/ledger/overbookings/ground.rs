//! What is known of a property that its cases are judged by.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use keyrack_model::id::PropertyId;
use keyrack_model::money::Currency;
use keyrack_model::stay::{StayDate, business_day};

use crate::catalog::Property;
use crate::decide::overbooking::policy::OverbookingPolicy;
use crate::decide::overbooking::words::{Evidence, cause_in_words};
use crate::decide::rules::Policies;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::case::Case;
use crate::store::{clock, connection, property};

/// What is known of a property that its cases are judged by.
pub struct Ground {
    /// The property.
    pub property: Property,
    /// Its policy.
    pub policy: OverbookingPolicy,
    /// Its zone.
    pub zone: TimeZone,
    /// The database's clock.
    pub now: Timestamp,
    /// Its business day.
    pub today: StayDate,
}

impl Ground {
    /// That of a property; `None` where there is none.
    pub async fn of(ledger: &Ledger, id: PropertyId) -> Result<Option<Self>, LedgerError> {
        let mut conn = connection::reader(ledger).await?;
        let Some(property) = property::by_id(&mut conn, id).await? else {
            return Ok(None);
        };
        let now = clock::now(&mut conn).await?;
        let zone = TimeZone::get(&property.setup.time_zone)
            .map_err(|_| LedgerError::Unreadable("a time zone".to_owned()))?;
        let policies: Policies = serde_json::from_value(property.setup.policies.clone())
            .map_err(|error| LedgerError::Unreadable(format!("policies: {error}")))?;
        Ok(Some(Self {
            today: business_day(now, &zone, property.setup.day_roll_over),
            policy: policies.overbooking,
            property,
            zone,
            now,
        }))
    }

    /// Its currency.
    pub fn currency(&self) -> Currency {
        self.property.setup.currency
    }

    /// Until when a case must be resolved: what a person has set, else the policy's. `None` where
    /// it has no night left.
    pub fn deadline(&self, case: &Case) -> Option<Timestamp> {
        let first = case.live_nights().min()?;
        let by_policy = self.policy.deadline(first, &self.zone, case.opened_at);
        Some(case.deadline_set.unwrap_or(by_policy))
    }

    /// Why it came about, in words.
    pub fn cause_in_words(&self, case: &Case) -> String {
        let evidence: Evidence = serde_json::from_value(case.evidence.clone()).unwrap_or_default();
        cause_in_words(&case.cause, &evidence, &self.zone)
    }
}
