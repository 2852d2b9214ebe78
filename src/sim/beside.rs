//! What a daemon does beside the lanes.

use keyrack_ledger::command::{Answer, By, Receipt};
use keyrack_ledger::decide::buffer_rule::BufferRule;
use keyrack_ledger::decide::overbooking::end::CaseEnd;
use keyrack_ledger::decide::pool_rule::PoolRule;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::overbookings::{self, Work};
use keyrack_ledger::{allotments, catalog};
use keyrack_model::id::{CaseId, PropertyId};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::case_step::Does;
use crate::daemon::Post;

/// What comes of a setting; as the answer to a command.
pub type Setting = JoinHandle<Result<Answer, LedgerError>>;

impl Post {
    /// Its worker releases what is due; of how many allotments.
    pub fn release_due(&self) -> Option<JoinHandle<Result<u32, LedgerError>>> {
        self.does(|ledger| async move { allotments::release_due(&ledger).await })
    }

    /// Replaces the pool rules of a property.
    pub fn put_pool_rules(&self, property: PropertyId, rules: Vec<PoolRule>) -> Option<Setting> {
        self.does(move |ledger| async move {
            let by = desk();
            Ok(set(
                catalog::put_pool_rules(&ledger, property, &by, &rules).await?
            ))
        })
    }

    /// Replaces the buffer rules of a property.
    pub fn put_buffers(&self, property: PropertyId, rules: Vec<BufferRule>) -> Option<Setting> {
        self.does(move |ledger| async move {
            let by = desk();
            Ok(set(catalog::put_buffer_rules(
                &ledger, property, &by, rules,
            )
            .await?))
        })
    }

    /// Ends an overbooking case.
    pub fn end_case(&self, property: PropertyId, end: CaseEnd) -> Option<Setting> {
        self.does(move |ledger| async move {
            Ok(set(overbookings::end(&ledger, property, desk(), end).await?))
        })
    }

    /// Works an overbooking case without moving anybody.
    pub fn work_case(&self, property: PropertyId, case: CaseId, does: Does) -> Option<Setting> {
        self.does(move |ledger| async move {
            let by = desk();
            let work = Work {
                property,
                case,
                by: &by,
                version: None,
            };
            let worked = match does {
                Does::Assign => overbookings::assign(&ledger, work, "Sim", None).await?,
                Does::Propose => {
                    let proposal = json!({ "ending": "walk", "cost_minor": 9_000 });
                    overbookings::propose(&ledger, work, proposal).await?
                }
                Does::Approve => overbookings::approve(&ledger, work, Some(9_000), None).await?,
                Does::Note => overbookings::note(&ledger, work, "because of chance").await?,
                Does::Reopen | Does::End { .. } => {
                    overbookings::reopen(&ledger, work, "because of chance").await?
                }
            };
            Ok(set(worked))
        })
    }
}

fn desk() -> By {
    By {
        actor: "key:1 (Sim)".to_owned(),
        request_id: None,
    }
}

/// As the answer to a command.
fn set<T>(done: Result<T, Refusal>) -> Answer {
    done.map(|_| Receipt {
        reservation: None,
        did: "set".to_owned(),
        nights: Vec::new(),
        short: Vec::new(),
        is_replay: false,
    })
}
