//! Bytes in: raw log, parse, map, ledger, receipts. Every way in leads through here.
//!
//! # What holds
//!
//! The raw message is committed before anything else is done, so nothing is ever lost. Each report
//! is recorded on its own: one that is broken, unknown or failing never hides its neighbours. A
//! report that the ledger could not take has no receipt, so it is not acknowledged and comes again;
//! a repeat changes nothing. Whoever dies in between leaves a row that is taken up again.

pub(crate) mod map;
pub(crate) mod raw;
mod record;
mod say;

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::adapter::{
    ChannelAdapter, Inbound, ParseFault, Parsed, Receipt, ReceiptOutcome,
};
use keyrack_model::id::{AccountId, MessageId};
use keyrack_model::reservation::ReservationReport;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::behind::{Behind, MappingsRead};
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake::record::{Outcome, Sorted, Work};
use crate::store::connection::ConnectionRow;
use crate::store::message::{self, Settled};

pub(crate) use self::say::unmapped_key;

/// What became of a message.
#[derive(Clone, Debug, Default)]
pub struct IntakeOutcome {
    /// The raw message; `None` where it held nothing and was not kept.
    pub message: Option<MessageId>,
    /// For the acknowledgement, in the order of the reports. What the ledger could not take is
    /// missing: it comes again.
    pub receipts: Vec<Receipt>,
    /// What could not be read, and what is for nobody here.
    pub faults: Vec<ParseFault>,
    /// The whole could not be read.
    pub is_unreadable: bool,
    /// The channel says that more is waiting.
    pub has_more: bool,
    /// What the ledger has now.
    pub recorded: Vec<Recorded>,
    /// Reports that the ledger could not take.
    pub failed: usize,
    /// The walk's id: logs and the raw message carry the same.
    pub span: Uuid,
}

/// A report that the ledger has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Through which listing.
    pub account: AccountId,
    /// The channel's reference.
    pub reference: String,
    /// What the ledger did, in one word.
    pub did: String,
}

impl IntakeOutcome {
    /// Whether the message held anything that was new to nobody's surprise: asking again at once
    /// makes sense only then.
    pub fn made_progress(&self) -> bool {
        !self.recorded.is_empty()
    }
}

/// Takes a message in.
///
/// # Errors
///
/// Only where the raw message could not be kept, or where nothing at all could be asked of the
/// ledger: then nothing must be acknowledged.
pub async fn take(
    distribution: &Distribution,
    connection: &str,
    inbound: Inbound,
) -> Result<IntakeOutcome, DistributionError> {
    let row = crate::store::connection::by_code(&distribution.inner.pool, connection)
        .await?
        .ok_or_else(|| DistributionError::UnknownConnection(connection.to_owned()))?;
    let behind = Behind::load(&distribution.inner.ledger, row.id).await?;
    take_from(distribution, &row, &behind, inbound).await
}

/// Takes a message in from a connection that is already known.
pub(crate) async fn take_from(
    distribution: &Distribution,
    row: &ConnectionRow,
    behind: &Behind,
    mut inbound: Inbound,
) -> Result<IntakeOutcome, DistributionError> {
    let inner = &distribution.inner;
    let adapter = inner.channels.adapter(&row.channel)?;
    let span = Uuid::now_v7();
    if inbound.time_zone.is_none() {
        inbound.time_zone = behind.time_zone(&inner.ledger).await?;
    }
    let inbound = Arc::new(inbound);
    let written = raw::keep(&inner.pool, &adapter, row.id, span, &inbound, false).await?;
    if written.copies > 1 {
        metrics::counter!("channel_message_repeats_total").increment(1);
    }
    let arrival = Arrival {
        distribution,
        row,
        behind,
        adapter,
        message: written.id,
        span,
        received_at: written.now,
        is_replay: false,
    };
    let logged = tracing::info_span!("intake", span.id = %span, channel.code = %row.channel,
        connection.code = row.code, topic = inbound.topic, message.id = %written.id);
    arrival.finish(inbound).instrument(logged).await
}

/// Keeps what is no message of the dialect and will not be read, such as the beginning of an
/// answer that was cut off for its size.
pub(crate) async fn keep_unread(
    distribution: &Distribution,
    row: &ConnectionRow,
    inbound: Inbound,
    is_cut: bool,
    why: &str,
) -> Result<MessageId, DistributionError> {
    let inner = &distribution.inner;
    let adapter = inner.channels.adapter(&row.channel)?;
    let inbound = Arc::new(inbound);
    let span = Uuid::now_v7();
    let written = raw::keep(&inner.pool, &adapter, row.id, span, &inbound, is_cut).await?;
    let fault = ParseFault {
        at: String::new(),
        why: why.to_owned(),
        raw: String::new(),
        reference: None,
    };
    let settled = Settled {
        status: if is_cut { "unreadable" } else { "refused" },
        faults: &[fault],
        ..Settled::default()
    };
    message::settle(&inner.pool, written.id, &settled).await?;
    if is_cut {
        say::unreadable(distribution, row, &inbound.topic, written.id, why).await?;
    }
    Ok(written.id)
}

/// Reads a kept message again and records what it holds; what is already recorded stays as it is.
/// Nothing is acknowledged: the channel asks for that by repeating.
///
/// # Errors
///
/// [`DistributionError::UnknownMessage`] where there is none whose whole body is kept.
pub async fn replay(
    distribution: &Distribution,
    id: MessageId,
) -> Result<IntakeOutcome, DistributionError> {
    let inner = &distribution.inner;
    let kept = message::load(&inner.pool, id)
        .await?
        .filter(|kept| kept.direction == "in" && !kept.is_cut)
        .ok_or(DistributionError::UnknownMessage(id))?;
    let row = crate::store::connection::by_id(&inner.pool, kept.connection)
        .await?
        .ok_or(DistributionError::UnknownMessage(id))?;
    let behind = Behind::load(&inner.ledger, row.id).await?;
    let received_at = kept.repeated_at.unwrap_or(kept.received_at);
    let inbound = Arc::new(Inbound {
        bytes: raw::unpack(&kept.encoding, kept.body)?,
        headers: kept.headers,
        topic: kept.topic,
        received_at,
        time_zone: kept.time_zone,
    });
    let arrival = Arrival {
        distribution,
        row: &row,
        behind: &behind,
        adapter: inner.channels.adapter(&row.channel)?,
        message: id,
        span: Uuid::now_v7(),
        received_at,
        is_replay: true,
    };
    let logged = tracing::info_span!("replay", span.id = %arrival.span, message.id = %id,
        channel.code = %row.channel, connection.code = row.code);
    arrival.finish(inbound).instrument(logged).await
}

/// A message that is kept and not yet read.
struct Arrival<'a> {
    distribution: &'a Distribution,
    row: &'a ConnectionRow,
    behind: &'a Behind,
    adapter: Arc<dyn ChannelAdapter>,
    message: MessageId,
    span: Uuid,
    received_at: Timestamp,
    is_replay: bool,
}

impl Arrival<'_> {
    /// Parse, map, record, settle.
    async fn finish(self, inbound: Arc<Inbound>) -> Result<IntakeOutcome, DistributionError> {
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
        let mut faults = parsed.faults.clone();
        faults.extend(sorted.faults);
        let mut outcome = self.gather(&parsed, outcomes, sorted.receipts, faults);
        self.settle(&parsed, &outcome, &sorted.named, sorted.is_unmapped)
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
            say::faults(self.distribution, self.row, self.message, &outcome.faults).await?;
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
    async fn overtaken(&self, parsed: &Parsed) -> Result<Vec<String>, DistributionError> {
        let are_whole = self.adapter.capabilities().snapshot_revisions;
        let asked: Vec<String> = parsed
            .reports
            .iter()
            .filter(|report| self.is_replay && (are_whole || report.order.is_none()))
            .map(|report| report.reference.clone())
            .collect();
        if asked.is_empty() {
            return Ok(asked);
        }
        let pool = &self.distribution.inner.pool;
        let (connection, id) = (self.row.id, self.message);
        message::named_later(pool, connection, id, self.received_at, &asked).await
    }

    /// What is to be recorded, and what is answered without that.
    async fn sort(
        &self,
        parsed: &Parsed,
        overtaken: &[String],
    ) -> Result<Sorted, DistributionError> {
        let inner = &self.distribution.inner;
        let mut sorted = Sorted::default();
        let mut mappings = MappingsRead::default();
        for (index, report) in parsed.reports.iter().enumerate() {
            if overtaken.contains(&report.reference) {
                continue;
            }
            if report.is_quote {
                say::quote(self.distribution, self.row, self.message, report).await?;
                let number = format!("message {}", self.message);
                sorted.receipts.push((index, recorded_as(report, number)));
                continue;
            }
            let account = record::account_of(&inner.ledger, self.behind, report).await?;
            let account = match account {
                Ok(account) => account,
                Err(why) => {
                    if let Some(code) = &report.hotel_code {
                        say::unknown_hotel(self.distribution, self.row, code, &report.reference)
                            .await?;
                    }
                    sorted.faults.push(fault(report, why.clone()));
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
                sorted.is_unmapped = true;
                say::unmapped(
                    self.distribution,
                    account,
                    &report.reference,
                    &mapped.unmapped,
                )
                .await?;
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
                Ok((number, did)) => {
                    receipts.push((outcome.index, recorded_as(report, number)));
                    recorded.push(Recorded {
                        account: outcome.account,
                        reference: report.reference.clone(),
                        did,
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
            span: self.span,
        }
    }

    async fn settle(
        &self,
        parsed: &Parsed,
        outcome: &IntakeOutcome,
        accounts: &[AccountId],
        is_unmapped: bool,
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
            is_unmapped,
            trace: parsed.trace.as_deref(),
        };
        message::settle(&self.distribution.inner.pool, self.message, &settled).await
    }
}

/// Pieces that could not be read at all are refused in the channel's own words, so that its staff
/// see them too. Where the rest of a reservation was read it is recorded, odd as it is.
fn unread(parsed: &Parsed) -> impl Iterator<Item = Receipt> {
    let is_read = |reference: &str| parsed.reports.iter().any(|r| r.reference == reference);
    let mut seen: Vec<&str> = Vec::new();
    let mut receipts = Vec::new();
    for fault in &parsed.faults {
        let Some(reference) = fault.reference.as_deref() else {
            continue;
        };
        if is_read(reference) || seen.contains(&reference) {
            continue;
        }
        seen.push(reference);
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
