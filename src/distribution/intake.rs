//! Bytes in: raw log, parse, map, ledger, receipts. Every way in leads through here.
//!
//! # What holds
//!
//! The raw message is committed before anything else is done, so nothing is ever lost. Each report
//! is recorded on its own: one that is broken, unknown or failing never hides its neighbours. A
//! report that the ledger could not take has no receipt, so it is not acknowledged and comes again;
//! a repeat changes nothing. Whoever dies in between leaves a row that is taken up again.

mod arrival;
pub(crate) mod map;
mod outcome;
pub(crate) mod raw;
mod record;
mod reopened;
pub(crate) mod say;

use std::sync::Arc;

use keyrack_model::adapter::{Inbound, ParseFault};
use keyrack_model::id::MessageId;
use tracing::Instrument as _;
use uuid::Uuid;

use crate::behind::Behind;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake::arrival::Arrival;
use crate::messages;
use crate::store::connection::{self, ConnectionRow};
use crate::store::message::{self, Settled};
use crate::store::transaction;

pub use self::outcome::{IntakeOutcome, Recorded};

/// Takes a message in.
///
/// # Errors
///
/// Only where the raw message could not be kept, or where nothing at all could be asked of the
/// ledger: then nothing must be acknowledged.
pub async fn take(
    distribution: &Distribution,
    connection_code: &str,
    inbound: Inbound,
) -> Result<IntakeOutcome, DistributionError> {
    let row = connection::by_code(&distribution.inner.pool, connection_code)
        .await?
        .ok_or_else(|| DistributionError::UnknownConnection(connection_code.to_owned()))?;
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
    async {
        let outcome = arrival.finish(inbound).await?;
        map_anew(distribution, behind, &outcome).await;
        Ok(outcome)
    }
    .instrument(logged)
    .await
}

/// A mapping may have been made while a message was read with the one before it: whoever made it
/// found the message not waiting yet. So whoever let a message wait looks once more. Either of the
/// two comes second and sees what the other wrote.
async fn map_anew(distribution: &Distribution, behind: &Behind, outcome: &IntakeOutcome) {
    if outcome.unmapped.is_empty() {
        return;
    }
    for account in behind.accounts() {
        let codes: Vec<_> = outcome
            .unmapped
            .iter()
            .filter(|(of, _)| *of == account.id)
            .map(|(_, code)| code)
            .collect();
        // What fails here waits in the database, and the timetable looks again.
        if let Err(error) = messages::replay_known(distribution, account, &codes).await {
            tracing::error!(account.id = %account.id, error = &error as &dyn std::error::Error,
                "what a mapping knows by now was not read again");
        }
    }
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
    let mut tx = transaction::begin(&inner.pool).await?;
    message::settle(&mut tx, written.id, &settled).await?;
    transaction::commit(tx).await?;
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
/// [`DistributionError::UnknownMessage`] where there is none whose body is kept,
/// [`DistributionError::NotReadAgain`] where it went out or was cut.
pub async fn replay(
    distribution: &Distribution,
    id: MessageId,
) -> Result<IntakeOutcome, DistributionError> {
    let (behind, outcome) = replay_once(distribution, id).await?;
    map_anew(distribution, &behind, &outcome).await;
    Ok(outcome)
}

/// The same, and whoever asks looks himself whether a mapping was made meanwhile.
pub(crate) async fn replay_once(
    distribution: &Distribution,
    id: MessageId,
) -> Result<(Behind, IntakeOutcome), DistributionError> {
    let inner = &distribution.inner;
    let kept = message::load(&inner.pool, id)
        .await?
        .ok_or(DistributionError::UnknownMessage(id))?;
    if kept.direction != "in" || kept.is_cut {
        return Err(DistributionError::NotReadAgain(id));
    }
    let row = connection::by_id(&inner.pool, kept.connection)
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
    let outcome = arrival.finish(inbound).instrument(logged).await?;
    Ok((behind, outcome))
}
