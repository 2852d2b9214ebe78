//! Where a person must act: a row, then a mail.
//!
//! A notice is raised under a kind and a key; while it stands, raising it again counts up and mails
//! nothing (once a day at most). The text names references and codes, never a guest. Mails leave by
//! SMTP, or into a folder at a desk, or not at all.

mod mailer;

use std::time::Duration;

use jiff::Timestamp;
use keyrack_model::id::{AccountId, PropertyId};
use sha2::{Digest, Sha256};

use crate::behind::property_of;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::backoff;
use crate::store::notice::{self, NoticeRow, Raised};

pub(crate) use self::mailer::{Mail, Mailer};

/// What kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A code that no mapping knows.
    Unmapped,
    /// A reservation for a hotel that is not connected here.
    UnknownHotel,
    /// A message that cannot be read at all.
    Unreadable,
    /// A reservation of which a part cannot be read.
    Faulty,
    /// Recorded as it was told, and odd.
    OddFact,
    /// Recorded, and the channel does not take our word for it.
    Unacknowledged,
    /// The channel does not tell which reservations fell back to e-mail.
    MissedUnavailable,
    /// The channel does not let us ask for one of its hotels.
    HotelRefused,
    /// Polls or pushes fail for too long.
    AccountFailing,
    /// The channel refused something that will not pass by itself.
    PushRefused,
    /// More sold than there is.
    OverbookingCase,
    /// Still so, though the deadline has passed.
    OverbookingEscalated,
    /// A guest asks for an offer.
    Quote,
    /// The ledger cannot prove a number.
    LedgerMismatch,
    /// The clock, the oldest writer, the restore of a backup: the house itself.
    House,
}

impl Kind {
    /// The kind as it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unmapped => "unmapped",
            Self::UnknownHotel => "unknown_hotel",
            Self::Unreadable => "unreadable",
            Self::Faulty => "faulty",
            Self::OddFact => "odd_fact",
            Self::Unacknowledged => "unacknowledged",
            Self::MissedUnavailable => "missed_unavailable",
            Self::HotelRefused => "hotel_refused",
            Self::AccountFailing => "account_failing",
            Self::PushRefused => "push_refused",
            Self::OverbookingCase => "overbooking_case",
            Self::OverbookingEscalated => "overbooking_escalated",
            Self::Quote => "quote",
            Self::LedgerMismatch => "ledger_mismatch",
            Self::House => "house",
        }
    }
}

/// Whom a notice concerns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// The property, where it is one's.
    pub property: Option<PropertyId>,
    /// The account, where it is one's.
    pub account: Option<AccountId>,
}

/// A notice that stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What kind of trouble.
    pub kind: String,
    /// Whom it concerns.
    pub about: About,
    /// What happened and what to do.
    pub text: String,
    /// How often it was raised.
    pub times: i32,
    /// First raised.
    pub raised_at: Timestamp,
    /// Mailed.
    pub sent_at: Option<Timestamp>,
}

/// Raises a notice. `key` says what it is about, within its kind; `text` what happened and what to
/// do, without personal data.
///
/// # Errors
///
/// Failures of the database.
pub async fn raise(
    distribution: &Distribution,
    kind: Kind,
    key: &str,
    about: About,
    text: &str,
) -> Result<(), DistributionError> {
    raise_to(distribution, kind, key, about, text, &[]).await
}

/// Raises a notice that some learn of beside those whom the settings name.
///
/// # Errors
///
/// Failures of the database.
pub(crate) async fn raise_to(
    distribution: &Distribution,
    kind: Kind,
    key: &str,
    about: About,
    text: &str,
    also_to: &[String],
) -> Result<(), DistributionError> {
    metrics::counter!("notice_raised_total", "kind" => kind.as_str()).increment(1);
    let raised = Raised {
        kind: kind.as_str(),
        key,
        property: about.property,
        account: about.account,
        text,
        also_to,
    };
    // What stands already and happens again is no news.
    match notice::raise(&distribution.inner.pool, &raised).await? {
        1 => tracing::warn!(notice.kind = kind.as_str(), notice.key = key, "{text}"),
        times => tracing::info!(
            notice.kind = kind.as_str(),
            notice.key = key,
            times,
            "{text}"
        ),
    }
    distribution.inner.wakes.notices.notify_one();
    Ok(())
}

/// The trouble is over; says whether it stood.
///
/// # Errors
///
/// Failures of the database.
pub async fn clear(
    distribution: &Distribution,
    kind: Kind,
    key: &str,
) -> Result<bool, DistributionError> {
    let stood = notice::clear(&distribution.inner.pool, kind.as_str(), key).await?;
    if stood {
        tracing::info!(notice.kind = kind.as_str(), notice.key = key, "no longer");
    }
    Ok(stood)
}

/// Of a kind of trouble, among the keys that begin so, only these still stand; says how many
/// notices went.
///
/// # Errors
///
/// Failures of the database.
pub async fn clear_others(
    distribution: &Distribution,
    kind: Kind,
    beginning: &str,
    standing: &[String],
) -> Result<u64, DistributionError> {
    let pool = &distribution.inner.pool;
    notice::clear_others(pool, kind.as_str(), beginning, standing).await
}

/// The notices that stand, newest first: of one property, or all.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(
    distribution: &Distribution,
    property: Option<PropertyId>,
    limit: u32,
) -> Result<Vec<Notice>, DistributionError> {
    let rows = notice::list(&distribution.inner.pool, property, limit).await?;
    Ok(rows.into_iter().map(view).collect())
}

fn view(row: NoticeRow) -> Notice {
    Notice {
        kind: row.kind,
        about: About {
            property: row.property,
            account: row.account,
        },
        text: row.text,
        times: row.times,
        raised_at: row.raised_at,
        sent_at: row.sent_at,
    }
}

/// Mails what is due until the engine stops.
pub(crate) async fn run(distribution: Distribution) {
    let inner = &distribution.inner;
    if !inner.mailer.is_on() {
        tracing::warn!("no mails leave: neither an SMTP server nor a folder is configured");
        return;
    }
    while !inner.cancel.is_cancelled() {
        if let Err(error) = mail_due(&distribution).await {
            tracing::error!(
                error = &error as &dyn std::error::Error,
                "mails could not be sent"
            );
        }
        tokio::select! {
            () = inner.cancel.cancelled() => {}
            () = inner.wakes.notices.notified() => {}
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
    }
}

/// Mails everything that is due now, one mail per property; says how many mails left.
///
/// # Errors
///
/// Failures of the database. A mail that does not leave is tried again later.
pub async fn mail_due(distribution: &Distribution) -> Result<u32, DistributionError> {
    let inner = &distribution.inner;
    if !inner.mailer.is_on() {
        return Ok(0);
    }
    let mut claimed = notice::claim(&inner.pool, NOTICES_MAX, LEASE_SECONDS).await?;
    claimed.sort_by(|one, next| {
        let place = |row: &NoticeRow| (row.property, row.also_to.clone(), row.id);
        place(one).cmp(&place(next))
    });
    let mut mails = 0;
    let together = |one: &NoticeRow, next: &NoticeRow| {
        one.property == next.property && one.also_to == next.also_to
    };
    for group in claimed.chunk_by(together) {
        // The mail before this one may have taken long: what another has taken is his to send.
        let ours = notice::keep(&inner.pool, group, LEASE_SECONDS).await?;
        let group: Vec<NoticeRow> = group
            .iter()
            .filter(|row| ours.contains(&row.id))
            .cloned()
            .collect();
        let Some(first) = group.first() else { continue };
        let (subject, body) = compose(distribution, &group).await?;
        let mail = Mail {
            subject: &subject,
            body,
            id: mail_id(&group),
            also_to: &first.also_to,
        };
        match inner.mailer.send(mail).await {
            Ok(()) => {
                mails += 1;
                for row in &group {
                    notice::sent(&inner.pool, row.id).await?;
                }
            }
            Err(error) => {
                let why = error.to_string();
                tracing::error!(why, "a mail did not leave; it is tried again");
                for row in &group {
                    let seed = row.id.unsigned_abs();
                    let wait = backoff::due_after_ms(row.attempt.unsigned_abs(), None, seed);
                    notice::not_sent(&inner.pool, row.id, &why, wait).await?;
                }
            }
        }
    }
    Ok(mails)
}

/// The same for the same notices, whoever mails them.
fn mail_id(rows: &[NoticeRow]) -> String {
    let mut hash = Sha256::new();
    for row in rows {
        hash.update(format!("{} {}\n", row.id, row.raised_at));
    }
    hex::encode(hash.finalize())
}

async fn compose(
    distribution: &Distribution,
    rows: &[NoticeRow],
) -> Result<(String, String), DistributionError> {
    let property = match rows.first().and_then(|row| row.property) {
        Some(id) => property_of(&distribution.inner.ledger, id).await?,
        None => None,
    };
    let place = property.map_or_else(|| "all hotels".to_owned(), |property| property.code);
    let subject = match rows {
        [only] => format!("keyrack, {place}: {}", only.kind.replace('_', " ")),
        several => format!("keyrack, {place}: {} things to look at", several.len()),
    };
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            format!(
                "{} ({})\n{}\n",
                row.kind.replace('_', " "),
                row.raised_at,
                row.text
            )
        })
        .collect();
    Ok((subject, lines.join("\n")))
}

/// Notices in one look at most.
const NOTICES_MAX: u32 = 100;
/// Nobody else mails what a dead process had taken before that.
const LEASE_SECONDS: u32 = 120;
/// What another process raised, and what was to be tried again.
const LOOK_EVERY: Duration = Duration::from_secs(5);
