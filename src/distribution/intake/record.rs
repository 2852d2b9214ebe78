//! Reports go to the ledger: side by side where they are strangers, one after the other where they
//! speak of the same reservation, and begun in the order in which they were told.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use keyrack_ledger::command::{By, Receipt};
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::reservations;
use keyrack_model::adapter::{self, ParseFault};
use keyrack_model::channel::Account;
use keyrack_model::id::AccountId;
use keyrack_model::reservation::{ReservationReport, ReservationRevision};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::behind::Behind;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::store::unmapped::UnmappedCode;

/// A message's reports, sorted by what is to be done with them.
#[derive(Default)]
pub(super) struct Sorted {
    pub(super) work: Vec<Work>,
    /// Receipts of what is not recorded, by the index of their report.
    pub(super) receipts: Vec<(usize, adapter::Receipt)>,
    pub(super) faults: Vec<ParseFault>,
    /// Accounts that are spoken of.
    pub(super) named: Vec<AccountId>,
    /// Codes that no mapping knows.
    pub(super) unmapped: BTreeSet<(AccountId, UnmappedCode)>,
}

impl Sorted {
    pub(super) fn name(&mut self, account: AccountId) {
        if !self.named.contains(&account) {
            self.named.push(account);
        }
    }
}

/// A fact to record.
pub(super) struct Work {
    pub(super) index: usize,
    pub(super) account: Account,
    pub(super) revision: ReservationRevision,
}

/// What became of it; a failure was logged.
pub(super) struct Outcome {
    pub(super) index: usize,
    pub(super) account: Account,
    pub(super) result: Result<Done, ()>,
}

/// What the ledger did.
pub(super) struct Done {
    /// Our short number.
    pub(super) number: String,
    /// In one word.
    pub(super) did: String,
    /// What staff should see of the reservation; empty where nothing was done.
    pub(super) flags: Vec<String>,
}

/// Records every fact; a failure of one leaves the others alone.
pub(super) async fn record_all(
    distribution: &Distribution,
    span: Uuid,
    work: Vec<Work>,
) -> Vec<Outcome> {
    let parallel = distribution.inner.settings.intake_parallel_max.max(1);
    let turns = Arc::new(Semaphore::new(parallel));
    let mut tasks = JoinSet::new();
    let mut outcomes = Vec::new();
    for group in by_reference(work) {
        // The turn is taken before the task begins, so that groups begin in their order. Tasks of
        // their own live on when the caller goes away.
        let turn = Arc::clone(&turns).acquire_owned().await;
        let ledger = distribution.inner.ledger.clone();
        let task = async move {
            let _turn = turn;
            record_in_order(&ledger, span, group).await
        };
        tasks.spawn(task.in_current_span());
    }
    while let Some(done) = tasks.join_next().await {
        // What a broken task held has no outcome, so it is not acknowledged.
        outcomes.extend(done.unwrap_or_default());
    }
    outcomes.sort_by_key(|outcome| outcome.index);
    outcomes
}

async fn record_in_order(ledger: &Ledger, span: Uuid, group: Vec<Work>) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for work in group {
        let by = By {
            actor: By::actor_of_account(&work.account.code),
            request_id: Some(span.to_string()),
        };
        let reference = work.revision.report.reference.clone();
        let result = match reservations::record(ledger, by, work.revision).await {
            Ok(receipt) => {
                note(&work.account, &reference, &receipt);
                Ok(done(receipt, &reference))
            }
            Err(error) => {
                metrics::counter!("intake_reports_total", "outcome" => "failed").increment(1);
                tracing::error!(
                    reservation.reference = reference,
                    account.id = %work.account.id,
                    error = &error as &dyn std::error::Error,
                    "a report was not recorded; it is not acknowledged and comes again"
                );
                Err(())
            }
        };
        outcomes.push(Outcome {
            index: work.index,
            account: work.account,
            result,
        });
    }
    outcomes
}

/// Work of one reference stays together and in order; groups stand in the order of their first.
fn by_reference(work: Vec<Work>) -> Vec<Vec<Work>> {
    let mut groups: Vec<Vec<Work>> = Vec::new();
    let mut places: HashMap<(AccountId, String), usize> = HashMap::new();
    for item in work {
        let reference = item.revision.report.reference.clone();
        let next = groups.len();
        let place = *places.entry((item.account.id, reference)).or_insert(next);
        match groups.get_mut(place) {
            Some(group) => group.push(item),
            None => groups.push(vec![item]),
        }
    }
    groups
}

fn note(account: &Account, reference: &str, receipt: &Receipt) {
    metrics::counter!("intake_reports_total", "outcome" => receipt.did.clone()).increment(1);
    tracing::info!(
        reservation.reference = reference,
        account.id = %account.id,
        did = receipt.did,
        "recorded"
    );
}

/// A tombstone has no number, so the channel hears its own reference.
fn done(receipt: Receipt, reference: &str) -> Done {
    let is_news = !matches!(receipt.did.as_str(), "repeated" | "older");
    let (number, flags) = match receipt.reservation {
        Some(known) => (known.number.to_string(), known.flags),
        None => (reference.to_owned(), Vec::new()),
    };
    Done {
        number,
        did: receipt.did,
        flags: if is_news { flags } else { Vec::new() },
    }
}

/// Whose reservation a report tells of, or why that cannot be said, for staff and channel.
///
/// A cancel that names no hotel belongs to the account that knows its reference.
pub(super) async fn account_of<'a>(
    ledger: &Ledger,
    behind: &'a Behind,
    report: &ReservationReport,
) -> Result<Result<&'a Account, String>, DistributionError> {
    if let Some(code) = &report.hotel_code {
        let unknown = || format!("the hotel {code} is not connected here");
        return Ok(behind.of_hotel(code).ok_or_else(unknown));
    }
    if let Some(only) = behind.only() {
        return Ok(Ok(only));
    }
    let accounts: Vec<AccountId> = behind.accounts().iter().map(|account| account.id).collect();
    let known = reservations::accounts_of_reference(ledger, &accounts, &report.reference).await?;
    if let [only] = known.as_slice()
        && let Some(account) = behind.of_id(*only)
    {
        return Ok(Ok(account));
    }
    Ok(Err(
        "it names no hotel, and no hotel here knows this reservation".to_owned(),
    ))
}
