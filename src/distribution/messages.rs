//! The raw messages, for people: listed, shown, replayed. Card data is masked in all of them.

use jiff::Timestamp;
use keyrack_ledger::catalog;
use keyrack_model::adapter::ParseFault;
use keyrack_model::channel::Account;
use keyrack_model::id::{AccountId, ConnectionId, MessageId};

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake::IntakeOutcome;
use crate::intake::say::unmapped_key;
use crate::intake::{self, map, raw};
use crate::notice::{self, Kind};
use crate::store::message::{self, MessageRow};
use crate::store::{transaction, unmapped};

pub use crate::store::unmapped::UnmappedCode;

/// A raw message as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageView {
    /// Its id.
    pub id: MessageId,
    /// Through which connection.
    pub connection: ConnectionId,
    /// Accounts that it speaks of.
    pub accounts: Vec<AccountId>,
    /// `in` or `out`.
    pub direction: String,
    /// What it is, in the adapter's words.
    pub topic: String,
    /// The walk's id, as in the logs.
    pub span: uuid::Uuid,
    /// When it came first.
    pub received_at: Timestamp,
    /// When the same came again.
    pub repeated_at: Option<Timestamp>,
    /// How often the same came.
    pub copies: i32,
    /// `received`, `recorded`, `partly`, `unreadable`, `refused`; of answers `sent`, `accepted`,
    /// `refused`, `unanswered`.
    pub status: String,
    /// Reports in it.
    pub reports: i32,
    /// The channel's references in it.
    pub references: Vec<String>,
    /// What could not be read.
    pub faults: Vec<ParseFault>,
    /// A code in it has no mapping.
    pub is_unmapped: bool,
    /// Bytes of the body as it came.
    pub body_bytes: i64,
    /// Only the beginning is kept.
    pub is_cut: bool,
    /// The channel's own id of the exchange.
    pub trace: Option<String>,
    /// The body, masked; `None` in lists, and where it speaks of hotels that the viewer may not
    /// see. Personal data: never logged.
    pub body: Option<Body>,
}

/// A body: `Debug` does not show it.
#[derive(Clone, PartialEq, Eq)]
pub struct Body(pub Vec<u8>);

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Body({} bytes)", self.0.len())
    }
}

/// Which messages are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Which<'a> {
    /// Only those that speak of one of these.
    pub accounts: Option<&'a [AccountId]>,
    /// Only those of this connection.
    pub connection: Option<ConnectionId>,
    /// Only those that speak of no account.
    pub of_no_account: bool,
}

/// Messages, newest first, before an id.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(
    distribution: &Distribution,
    which: Which<'_>,
    before: Option<MessageId>,
    limit: u32,
) -> Result<Vec<MessageView>, DistributionError> {
    let rows = message::list(&distribution.inner.pool, which, before, limit.min(500)).await?;
    Ok(rows.into_iter().map(|row| view(row, None)).collect())
}

/// One message. A viewer of some accounts sees it where it speaks of one of them, and its body
/// only where it speaks of no other.
///
/// # Errors
///
/// Failures of the database.
pub async fn load(
    distribution: &Distribution,
    id: MessageId,
    within: Option<&[AccountId]>,
) -> Result<Option<MessageView>, DistributionError> {
    let Some(mut row) = message::load(&distribution.inner.pool, id).await? else {
        return Ok(None);
    };
    let sees = |account: &AccountId| within.is_none_or(|within| within.contains(account));
    if within.is_some() && !row.accounts.iter().any(sees) {
        return Ok(None);
    }
    let body = std::mem::take(&mut row.body);
    let body = match row.accounts.iter().all(sees) {
        true => Some(Body(raw::unpack(&row.encoding, body)?)),
        false => None,
    };
    Ok(Some(view(row, body)))
}

/// Reads a kept message again: see [`intake::replay`].
///
/// # Errors
///
/// [`DistributionError::UnknownMessage`] where there is none whose body is kept,
/// [`DistributionError::NotReadAgain`] where it went out or was cut.
pub async fn replay(
    distribution: &Distribution,
    id: MessageId,
) -> Result<IntakeOutcome, DistributionError> {
    intake::replay(distribution, id).await
}

/// Codes of an account that no mapping knows.
///
/// # Errors
///
/// Failures of the database.
pub async fn unmapped_codes(
    distribution: &Distribution,
    account: AccountId,
) -> Result<Vec<UnmappedCode>, DistributionError> {
    unmapped::list(&distribution.inner.pool, account).await
}

/// Mappings of an account changed: what waits for a code that is known now is read again. Says how
/// many messages were.
///
/// What waits is what the database says to wait, and a code is listed for as long as a message
/// waits for it: so it may be asked as often as one likes, and asking again cures what was missed.
///
/// # Errors
///
/// Failures of the database.
pub async fn replay_mapped(
    distribution: &Distribution,
    account: &Account,
) -> Result<usize, DistributionError> {
    let inner = &distribution.inner;
    let (mappings, _) = catalog::mappings(&inner.ledger, account.id).await?;
    let mut replayed = 0;
    for (id, codes) in message::unmapped(&inner.pool, account.id).await? {
        let is_known = codes.iter().any(|code| map::knows(&mappings, code));
        // Of what waited before the codes were kept with it they are not known.
        if !is_known && !codes.is_empty() {
            continue;
        }
        match intake::replay_once(distribution, id).await {
            Ok(_) => replayed += 1,
            Err(
                error @ (DistributionError::UnknownMessage(_) | DistributionError::NotReadAgain(_)),
            ) => {
                tracing::error!(message.id = %id, error = &error as &dyn std::error::Error,
                    "a message that waits for a mapping cannot be read again");
            }
            Err(error) => return Err(error),
        }
    }
    // Only now: a crash in between reads them once more.
    for code in unmapped::list(&inner.pool, account.id).await? {
        if map::knows(&mappings, &code) && resolve(distribution, account, &code).await? {
            notice::clear(distribution, Kind::Unmapped, &unmapped_key(account, &code)).await?;
        }
    }
    Ok(replayed)
}

/// The same, where a mapping knows one of the codes by now.
pub(crate) async fn replay_known(
    distribution: &Distribution,
    account: &Account,
    codes: &[&UnmappedCode],
) -> Result<(), DistributionError> {
    if codes.is_empty() {
        return Ok(());
    }
    let (mappings, _) = catalog::mappings(&distribution.inner.ledger, account.id).await?;
    if codes.iter().any(|code| map::knows(&mappings, code)) {
        replay_mapped(distribution, account).await?;
    }
    Ok(())
}

/// Strikes a code off the list unless a message waits for it; says whether it did.
async fn resolve(
    distribution: &Distribution,
    account: &Account,
    code: &UnmappedCode,
) -> Result<bool, DistributionError> {
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    // First, so that a message that begins to wait is either seen or notes the code anew.
    unmapped::hold(&mut tx, account.id, code).await?;
    if message::waits_for(&mut tx, account.id, code).await? {
        return Ok(false);
    }
    unmapped::resolve(&mut tx, account.id, code).await?;
    transaction::commit(tx).await?;
    Ok(true)
}

/// The same for every account of which something waits.
///
/// # Errors
///
/// Failures of the database.
pub async fn replay_all_mapped(distribution: &Distribution) -> Result<usize, DistributionError> {
    let inner = &distribution.inner;
    let mut waiting = unmapped::accounts(&inner.pool).await?;
    waiting.extend(message::accounts_that_wait(&inner.pool).await?);
    if waiting.is_empty() {
        return Ok(0);
    }
    let mut replayed = 0;
    for row in catalog::all_accounts(&inner.ledger).await? {
        if waiting.contains(&row.account.id) {
            replayed += replay_mapped(distribution, &row.account).await?;
        }
    }
    Ok(replayed)
}

/// Reads messages again of which a daemon died before it knew what they held; says how many.
///
/// # Errors
///
/// Failures of the database.
pub async fn replay_unfinished(
    distribution: &Distribution,
    older_than_seconds: u32,
) -> Result<usize, DistributionError> {
    let ids = message::unfinished(&distribution.inner.pool, older_than_seconds).await?;
    for id in &ids {
        if let Err(error) = intake::replay(distribution, *id).await {
            tracing::error!(message.id = %id, error = &error as &dyn std::error::Error,
                "a message that was left unfinished could not be read again");
        }
    }
    Ok(ids.len())
}

fn view(row: MessageRow, body: Option<Body>) -> MessageView {
    MessageView {
        id: row.id,
        connection: row.connection,
        accounts: row.accounts,
        direction: row.direction,
        topic: row.topic,
        span: row.span,
        received_at: row.received_at,
        repeated_at: row.repeated_at,
        copies: row.copies,
        status: row.status,
        reports: row.reports,
        references: row.named,
        faults: row.faults,
        is_unmapped: row.is_unmapped,
        body_bytes: row.body_bytes,
        is_cut: row.is_cut,
        trace: row.trace,
        body,
    }
}
