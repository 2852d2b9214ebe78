//! A message that is kept is read: parsed, mapped, recorded, settled.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::adapter::{
    ChannelAdapter, Inbound, ParseFault, Parsed, Receipt, ReceiptOutcome,
};
use keyrack_model::id::{AccountId, MessageId};
use keyrack_model::reservation::ReservationReport;
use uuid::Uuid;

use crate::behind::{Behind, MappingsRead};
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake::outcome::{IntakeOutcome, Recorded};
use crate::intake::record::{self, Outcome, Sorted, Work};
use crate::intake::{map, raw, reopened, say};
use crate::store::connection::ConnectionRow;
use crate::store::message::{self, Settled};
use crate::store::push_state::Bell;
use crate::store::{transaction, unmapped};

/// A message that is kept and not yet read.
pub(super) struct Arrival<'a> {
    pub(super) distribution: &'a Distribution,
    pub(super) row: &'a ConnectionRow,
    pub(super) behind: &'a Behind,
    pub(super) adapter: Arc<dyn ChannelAdapter>,
    pub(super) message: MessageId,
    pub(super) span: Uuid,
    pub(super) received_at: Timestamp,
    pub(super) is_replay: bool,
}

impl Arrival<'_> {
    /// Parse, map, record, settle.
    pub(super) async fn finish(
        self,
        inbound: Arc<Inbound>,
    ) -> Result<IntakeOutcome, DistributionError> {
        let parsed = self.parse(Arc::clone(&inbound)).await;
        let pool = &self.distribution.inner.pool;
        if !parsed.is_unreadable && parsed.reports.is_empty() && parsed.faults.is_empty() {
            message::forget(pool, self.message).await?;
            return Ok(IntakeOutcome {
                has_more: parsed.has_more,
                span: self.span,
                ..IntakeOutcome::default()
            });
        }
        let overtaken = self.overtaken(&parsed).await?;
        let sorted = self.sort(&parsed, &overtaken).await?;
        let outcomes = record::record_all(self.distribution, self.span, sorted.work).await;
        self.say_oddities(&parsed, &outcomes).await?;
        let mut faults = parsed.faults.clone();
        faults.extend(sorted.faults);
        let reopening = match self.adapter.capabilities().reopens_by_itself {
            true => reopened::listings(&parsed.reports, &outcomes),
            false => BTreeSet::new(),
        };
        let mut outcome = self.gather(&parsed, outcomes, sorted.receipts, faults);
        outcome.unmapped = sorted.unmapped.into_iter().collect();
        self.settle(&parsed, &outcome, &sorted.named, &reopening)
            .await?;
        if parsed.is_unreadable {
            let why = first_reason(&outcome.faults);
            say::unreadable(
                self.distribution,
                self.row,
                &inbound.topic,
                self.message,
                &why,
            )
            .await?;
        } else {
            say::faults(self.distribution, self.row, self.message, &parsed.faults).await?;
        }
        outcome.message = Some(self.message);
        Ok(outcome)
    }

    async fn parse(&self, inbound: Arc<Inbound>) -> Parsed {
        let adapter = Arc::clone(&self.adapter);
        let parsed = raw::off_the_loop(move || adapter.parse(&inbound)).await;
        parsed.unwrap_or_else(|error| Parsed {
            is_unreadable: true,
            faults: vec![ParseFault {
                at: String::new(),
                why: error.to_string(),
                raw: String::new(),
                reference: None,
            }],
            ..Parsed::default()
        })
    }

    /// References of which a later message tells, in what is read again: an older state must not
    /// undo a later one, and where states are whole it has nothing to add to it.
    async fn overtaken(&self, parsed: &Parsed) -> Result<HashSet<String>, DistributionError> {
        let are_whole = self.adapter.capabilities().snapshot_revisions;
        let asked: Vec<String> = parsed
            .reports
            .iter()
            .filter(|report| self.is_replay && (are_whole || report.order.is_none()))
            .map(|report| report.reference.clone())
            .collect();
        if asked.is_empty() {
            return Ok(HashSet::new());
        }
        let pool = &self.distribution.inner.pool;
        let (connection, id) = (self.row.id, self.message);
        let later = message::named_later(pool, connection, id, self.received_at, &asked).await?;
        Ok(later.into_iter().collect())
    }

    /// What is to be recorded, and what is answered without that.
    async fn sort(
        &self,
        parsed: &Parsed,
        overtaken: &HashSet<String>,
    ) -> Result<Sorted, DistributionError> {
        let inner = &self.distribution.inner;
        let mut sorted = Sorted::default();
        let mut mappings = MappingsRead::default();
        for (index, report) in parsed.reports.iter().enumerate() {
            if overtaken.contains(&report.reference) {
                continue;
            }
            if report.is_quote {
                let hotel = report.hotel_code.as_deref();
                let account = hotel.and_then(|code| self.behind.of_hotel(code));
                if let Some(account) = account {
                    sorted.name(account.id);
                }
                say::quote(self.distribution, self.row, self.message, report, account).await?;
                let number = format!("message {}", self.message);
                sorted.receipts.push((index, recorded_as(report, number)));
                continue;
            }
            let account = match record::account_of(&inner.ledger, self.behind, report).await? {
                Ok(account) => account,
                Err(why) => {
                    let fault = fault(report, why.clone());
                    self.say_nobodys(report, &fault).await?;
                    sorted.faults.push(fault);
                    sorted.receipts.push((index, refused(report, why)));
                    continue;
                }
            };
            let (known, fallback) = mappings.of(&inner.ledger, account.id).await?;
            let codes = map::Codes {
                account,
                mappings: known,
                fallback: *fallback,
                is_snapshot: self.adapter.capabilities().snapshot_revisions,
            };
            let mapped = map::map(report.clone(), &codes, self.received_at);
            if !mapped.unmapped.is_empty() {
                say::unmapped(
                    self.distribution,
                    account,
                    &report.reference,
                    &mapped.unmapped,
                )
                .await?;
                let missing = mapped.unmapped.into_iter();
                sorted
                    .unmapped
                    .extend(missing.map(|code| (account.id, code)));
            }
            sorted.name(account.id);
            sorted.work.push(Work {
                index,
                account: account.clone(),
                revision: mapped.revision,
            });
        }
        Ok(sorted)
    }

    /// A report that belongs to no account here.
    async fn say_nobodys(
        &self,
        report: &ReservationReport,
        fault: &ParseFault,
    ) -> Result<(), DistributionError> {
        let (distribution, row) = (self.distribution, self.row);
        match &report.hotel_code {
            Some(code) => say::unknown_hotel(distribution, row, code, &report.reference).await,
            None => {
                let only = std::slice::from_ref(fault);
                say::faults(distribution, row, self.message, only).await
            }
        }
    }

    /// Facts that are recorded and that a person must look at.
    async fn say_oddities(
        &self,
        parsed: &Parsed,
        outcomes: &[Outcome],
    ) -> Result<(), DistributionError> {
        for outcome in outcomes {
            let Ok(done) = &outcome.result else {
                continue;
            };
            let reference = &parsed.reports[outcome.index].reference;
            say::oddities(self.distribution, &outcome.account, reference, &done.flags).await?;
        }
        Ok(())
    }

    fn gather(
        &self,
        parsed: &Parsed,
        outcomes: Vec<Outcome>,
        mut receipts: Vec<(usize, Receipt)>,
        faults: Vec<ParseFault>,
    ) -> IntakeOutcome {
        let mut recorded = Vec::new();
        let mut failed = 0;
        for outcome in outcomes {
            let report = &parsed.reports[outcome.index];
            match outcome.result {
                Ok(done) => {
                    receipts.push((outcome.index, recorded_as(report, done.number)));
                    recorded.push(Recorded {
                        account: outcome.account.id,
                        reference: report.reference.clone(),
                        did: done.did,
                    });
                }
                Err(()) => failed += 1,
            }
        }
        receipts.sort_by_key(|(index, _)| *index);
        let mut receipts: Vec<Receipt> = receipts.into_iter().map(|(_, receipt)| receipt).collect();
        receipts.extend(unread(parsed));
        IntakeOutcome {
            message: None,
            receipts,
            faults,
            is_unreadable: parsed.is_unreadable,
            has_more: parsed.has_more,
            recorded,
            failed,
            unmapped: Vec::new(),
            span: self.span,
        }
    }

    async fn settle(
        &self,
        parsed: &Parsed,
        outcome: &IntakeOutcome,
        accounts: &[AccountId],
        reopening: &BTreeSet<Bell>,
    ) -> Result<(), DistributionError> {
        let mut named: Vec<String> = parsed
            .reports
            .iter()
            .map(|report| report.reference.clone())
            .chain(
                parsed
                    .faults
                    .iter()
                    .filter_map(|fault| fault.reference.clone()),
            )
            .collect();
        named.sort_unstable();
        named.dedup();
        let answered = outcome.recorded.len()
            + parsed
                .reports
                .iter()
                .filter(|report| report.is_quote)
                .count();
        let status = match (outcome.failed, answered, outcome.faults.is_empty()) {
            _ if outcome.is_unreadable => "unreadable",
            (1.., ..) => "received",
            (0, 0, false) => "refused",
            (0, _, false) => "partly",
            (0, _, true) => "recorded",
        };
        let settled = Settled {
            status,
            accounts,
            reports: parsed.reports.len(),
            named: &named,
            faults: &outcome.faults,
            unmapped: &outcome.unmapped,
            trace: parsed.trace.as_deref(),
        };
        // In one: what waits is never without its code, and no code goes while something waits.
        let mut tx = transaction::begin(&self.distribution.inner.pool).await?;
        message::settle(&mut tx, self.message, &settled).await?;
        for (account, code) in &outcome.unmapped {
            unmapped::meet(&mut tx, *account, code).await?;
        }
        reopened::tell_again(&mut tx, reopening).await?;
        transaction::commit(tx).await
    }
}

/// Pieces that could not be read at all are refused in the channel's own words, so that its staff
/// see them too. Where the rest of a reservation was read it is recorded, odd as it is.
fn unread(parsed: &Parsed) -> impl Iterator<Item = Receipt> {
    let reports = parsed.reports.iter();
    let mut seen: HashSet<&str> = reports.map(|report| &*report.reference).collect();
    let mut receipts = Vec::new();
    for fault in &parsed.faults {
        let Some(reference) = fault.reference.as_deref() else {
            continue;
        };
        if !seen.insert(reference) {
            continue;
        }
        receipts.push(Receipt {
            reference: reference.to_owned(),
            acknowledge_as: None,
            outcome: ReceiptOutcome::Refused {
                why: fault.why.clone(),
            },
        });
    }
    receipts.into_iter()
}

fn recorded_as(report: &ReservationReport, number: String) -> Receipt {
    Receipt {
        reference: report.reference.clone(),
        acknowledge_as: report.acknowledge_as.clone(),
        outcome: ReceiptOutcome::Recorded { number },
    }
}

fn refused(report: &ReservationReport, why: String) -> Receipt {
    Receipt {
        reference: report.reference.clone(),
        acknowledge_as: report.acknowledge_as.clone(),
        outcome: ReceiptOutcome::Refused { why },
    }
}

fn fault(report: &ReservationReport, why: String) -> ParseFault {
    ParseFault {
        at: format!("reservation {}", report.reference),
        why,
        raw: String::new(),
        reference: Some(report.reference.clone()),
    }
}

fn first_reason(faults: &[ParseFault]) -> String {
    faults.first().map_or_else(
        || "no message of this dialect".into(),
        |fault| fault.why.clone(),
    )
}
