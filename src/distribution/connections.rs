//! Connections: one login at a channel, for one hotel or many. Its secrets are sealed when they are
//! put and never given back.

use jiff::Timestamp;
use keyrack_model::adapter::{Exchange, Goal, Outbound, Outcome, Reply, Session, Step, Verdict};
use keyrack_model::id::{ChannelCode, Code, ConnectionId};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::pace;
use crate::seal::{Purpose, Seal};
use crate::sign_in::{self, Login};
use crate::store::connection::{self, ConnectionChange, ConnectionRow};
use crate::store::poll;

/// What a caller says of a connection.
#[derive(Clone, Debug)]
pub struct ConnectionSetup {
    /// Which dialect; cannot be changed later.
    pub channel: ChannelCode,
    /// Base address in place of the channel's own.
    pub endpoint: Option<String>,
    /// The login; `None` leaves it as it is.
    pub credentials: Option<Credentials>,
    /// The adapter's own keys, and the engine's: see [`Pace`].
    pub settings: Value,
}

/// The login at a channel.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// `client_id`, `user` or the like.
    pub user: String,
    /// `client_secret`, `password` or the like.
    pub secret: SecretString,
}

/// A connection as it is shown: without its secrets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionView {
    /// Its id.
    pub id: ConnectionId,
    /// Its code.
    pub code: String,
    /// Which dialect.
    pub channel: ChannelCode,
    /// Base address in place of the channel's own.
    pub endpoint: Option<String>,
    /// The adapter's own keys, and the engine's.
    pub settings: Value,
    /// When signing in last taught something.
    pub signed_in_at: Option<Timestamp>,
    /// Counts changes.
    pub version: i64,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Why a connection is not put.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutRefusal {
    /// Readable and wrong: JSON pointer and message.
    Invalid(&'static str, String),
    /// Changed since it was read; the present version.
    VersionMismatch(i64),
}

/// How a connection is paced other than its channel says: a portal may be quicker or slower than
/// the dialect's custom. Keys of the connection's settings that the adapter does not see.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct Pace {
    /// Seconds from one complete poll to the next.
    pub poll_seconds: Option<u32>,
    /// Seconds to wait after an acknowledgement before the next question.
    pub settle_after_acknowledge_seconds: Option<u32>,
    /// Seconds from one question for missed reservations to the next.
    pub missed_seconds: Option<u32>,
    /// Requests per minute, of polls and pushes together.
    pub requests_per_minute: Option<u32>,
}

/// Makes or changes a connection; says whether it is new. A change forgets what signing in taught;
/// what is put as it stands changes nothing.
///
/// # Errors
///
/// Failures of the database or the seal.
pub async fn put(
    distribution: &Distribution,
    code: &str,
    setup: ConnectionSetup,
    version: Option<i64>,
) -> Result<Result<(ConnectionView, bool), PutRefusal>, DistributionError> {
    let inner = &distribution.inner;
    let known = connection::by_code(&inner.pool, code).await?;
    if let Err(refusal) = check(distribution, code, &setup, known.as_ref(), version) {
        return Ok(Err(refusal));
    }
    if let Some(row) = known.as_ref().filter(|row| stays(&inner.seal, row, &setup)) {
        return Ok(Ok((view(row.clone()), false)));
    }
    let credentials = match (&setup.credentials, &known) {
        (None, Some(row)) => row.credentials.clone(),
        (given, _) => seal(&inner.seal, &given.clone().unwrap_or_default())?,
    };
    let change = ConnectionChange {
        code,
        channel: setup.channel.as_str(),
        endpoint: setup.endpoint.as_deref(),
        credentials: &credentials,
        settings: &setup.settings,
    };
    let done = match &known {
        None => connection::insert(&inner.pool, &change).await?,
        Some(row) => connection::update(&inner.pool, &change, row.version).await?,
    };
    let row = connection::by_code(&inner.pool, code)
        .await?
        .ok_or_else(|| DistributionError::UnknownConnection(code.to_owned()))?;
    if !done {
        return Ok(Err(PutRefusal::VersionMismatch(row.version)));
    }
    plan(distribution, &row).await?;
    inner.wakes.poll.notify_one();
    Ok(Ok((view(row), known.is_none())))
}

/// Whether a connection is put as it stands. Credentials that cannot be opened any more differ.
fn stays(seal: &Seal, row: &ConnectionRow, setup: &ConnectionSetup) -> bool {
    let same_login = setup.credentials.as_ref().is_none_or(|told| {
        open(seal, &row.credentials).is_ok_and(|known| {
            known.user == told.user && known.secret.expose_secret() == told.secret.expose_secret()
        })
    });
    row.endpoint == setup.endpoint && row.settings == setup.settings && same_login
}

fn check(
    distribution: &Distribution,
    code: &str,
    setup: &ConnectionSetup,
    known: Option<&ConnectionRow>,
    version: Option<i64>,
) -> Result<(), PutRefusal> {
    let invalid = |at, why: String| Err(PutRefusal::Invalid(at, why));
    if Code::new(code).is_none() {
        return invalid(
            "",
            "a code is 1 to 40 of the characters A-Z a-z 0-9 . _ -".into(),
        );
    }
    if distribution.inner.channels.find(&setup.channel).is_none() {
        return invalid("/channel", format!("no adapter speaks {}", setup.channel));
    }
    if known.is_some_and(|row| row.channel != setup.channel) {
        return invalid("/channel", "a connection stays with its channel".into());
    }
    if known.is_none() && setup.credentials.is_none() {
        return invalid("/credentials", "a new connection needs credentials".into());
    }
    if !setup.settings.is_object() {
        return invalid("/settings", "settings are an object".into());
    }
    if let Err(error) = serde_json::from_value::<Pace>(setup.settings.clone()) {
        return invalid("/settings", error.to_string());
    }
    let is_address = |text: &str| text.starts_with("https://") || text.starts_with("http://");
    if setup
        .endpoint
        .as_deref()
        .is_some_and(|text| !is_address(text))
    {
        return invalid(
            "/endpoint",
            "an endpoint begins with https:// or http://".into(),
        );
    }
    match (known, version) {
        (Some(row), Some(version)) if row.version != version => {
            Err(PutRefusal::VersionMismatch(row.version))
        }
        _ => Ok(()),
    }
}

/// The connection of a code.
///
/// # Errors
///
/// Failures of the database.
pub async fn find(
    distribution: &Distribution,
    code: &str,
) -> Result<Option<ConnectionView>, DistributionError> {
    let row = connection::by_code(&distribution.inner.pool, code).await?;
    Ok(row.map(view))
}

/// The connection of an id.
///
/// # Errors
///
/// Failures of the database.
pub async fn find_by_id(
    distribution: &Distribution,
    id: ConnectionId,
) -> Result<Option<ConnectionView>, DistributionError> {
    let row = connection::by_id(&distribution.inner.pool, id).await?;
    Ok(row.map(view))
}

/// Every connection, in order of code.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(distribution: &Distribution) -> Result<Vec<ConnectionView>, DistributionError> {
    let rows = connection::all(&distribution.inner.pool).await?;
    Ok(rows.into_iter().map(view).collect())
}

/// Asks the channel whether the login is good and the hotels are known. What stands in the way is
/// a verdict, also where the network does.
///
/// # Errors
///
/// Failures of ours.
pub async fn test(
    distribution: &Distribution,
    id: ConnectionId,
    hotel_codes: &[String],
) -> Result<Verdict, DistributionError> {
    let login = match sign_in::login(distribution, id).await {
        Ok(login) => login,
        Err(DistributionError::SignIn(why)) => {
            return Ok(Verdict::of(Outcome::Unauthenticated, why));
        }
        Err(DistributionError::Transport(error)) => return Ok(unreachable_now(&error)),
        Err(error @ DistributionError::Unreachable(_)) => return Ok(not_now(error.to_string())),
        Err(error) => return Err(error),
    };
    converse(distribution, &login, hotel_codes).await
}

async fn converse(
    distribution: &Distribution,
    login: &Login,
    hotel_codes: &[String],
) -> Result<Verdict, DistributionError> {
    let inner = &distribution.inner;
    let mut last: Option<(Outbound, Reply)> = None;
    for round in 0..TEST_ROUNDS_MAX {
        let step = Step {
            goal: Goal::Test,
            round,
            last: last.as_ref().map(|(sent, reply)| (sent, reply)),
            hotel_codes,
            has_more: false,
        };
        match login.adapter.next(&login.session, &step) {
            Exchange::Send(outbound) => {
                pace::until_free(distribution, login).await?;
                match inner.transport.send(&outbound).await {
                    Ok(reply) => last = Some((outbound, reply)),
                    Err(error) => return Ok(unreachable_now(&error)),
                }
            }
            Exchange::Done { .. } => return Ok(Verdict::of(Outcome::Accepted, None)),
            Exchange::Failed(verdict) => return Ok(verdict),
        }
    }
    let endless = "the test did not end".to_owned();
    Ok(Verdict::of(Outcome::Refused, endless))
}

fn unreachable_now(error: &crate::transport::TransportError) -> Verdict {
    not_now(DistributionError::Unreachable(error.to_string()).to_string())
}

fn not_now(why: String) -> Verdict {
    let later = Outcome::Later {
        after_seconds: None,
    };
    Verdict::of(later, why)
}

/// What an adapter may know of a login.
pub(crate) fn session(seal: &Seal, row: &ConnectionRow) -> Result<Session, DistributionError> {
    let credentials = open(seal, &row.credentials)?;
    let learned = match &row.learned {
        Some(sealed) => text(seal.open(Purpose::Learned, sealed)?)?,
        None => SecretString::default(),
    };
    let mut settings = row.settings.clone();
    if let Some(keys) = settings.as_object_mut() {
        keys.retain(|key, _| !PACE_KEYS.contains(&key.as_str()));
    }
    Ok(Session {
        endpoint: row.endpoint.clone(),
        user: credentials.user,
        secret: credentials.secret,
        learned,
        settings,
    })
}

/// How the connection is paced.
pub(crate) fn pace(row: &ConnectionRow) -> Pace {
    serde_json::from_value(row.settings.clone()).unwrap_or_default()
}

/// Makes sure that what the channel is asked for has its row.
pub(crate) async fn plan(
    distribution: &Distribution,
    row: &ConnectionRow,
) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let capabilities = inner.channels.adapter(&row.channel)?.capabilities();
    if capabilities.is_polled {
        poll::ensure(&inner.pool, row.id, Goal::Poll).await?;
        if capabilities.missed_seconds.is_some() {
            poll::ensure(&inner.pool, row.id, Goal::PollMissed).await?;
        }
    }
    Ok(())
}

/// User and secret as they are sealed.
#[derive(Serialize, Deserialize)]
struct SealedCredentials {
    user: String,
    secret: String,
}

fn seal(seal: &Seal, credentials: &Credentials) -> Result<Vec<u8>, DistributionError> {
    let plain = serde_json::to_vec(&SealedCredentials {
        user: credentials.user.clone(),
        secret: credentials.secret.expose_secret().to_owned(),
    })
    .map_err(|error| DistributionError::Unreadable(error.to_string()))?;
    Ok(seal.seal(Purpose::Credentials, &plain)?)
}

pub(crate) fn open(seal: &Seal, sealed: &[u8]) -> Result<Credentials, DistributionError> {
    let plain = seal.open(Purpose::Credentials, sealed)?;
    // The error of the JSON reader could quote the secret.
    let known: SealedCredentials = serde_json::from_slice(&plain)
        .map_err(|_| DistributionError::Unreadable("credentials".into()))?;
    Ok(Credentials {
        user: known.user,
        secret: SecretString::from(known.secret),
    })
}

fn text(bytes: Vec<u8>) -> Result<SecretString, DistributionError> {
    String::from_utf8(bytes)
        .map(SecretString::from)
        .map_err(|_| DistributionError::Unreadable("what signing in learned".into()))
}

fn view(row: ConnectionRow) -> ConnectionView {
    ConnectionView {
        id: row.id,
        code: row.code,
        channel: row.channel,
        endpoint: row.endpoint,
        settings: row.settings,
        signed_in_at: row.learned_at,
        version: row.version,
        created_at: row.created_at,
    }
}

/// What the engine reads of a connection's settings, and the adapter does not see.
const PACE_KEYS: [&str; 4] = [
    "poll_seconds",
    "settle_after_acknowledge_seconds",
    "missed_seconds",
    "requests_per_minute",
];
/// No test of a login takes more.
const TEST_ROUNDS_MAX: u32 = 8;
