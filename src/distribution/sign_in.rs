//! Signing in: once for all who wait, kept sealed, learned anew when it is old or refused.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use keyrack_model::adapter::{ChannelAdapter, Exchange, Goal, Outbound, Reply, Session, Step};
use keyrack_model::id::ConnectionId;
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::Instant;

use crate::connections;
use crate::error::{DistributionError, Fault};
use crate::handle::Distribution;
use crate::pace;
use crate::seal::Purpose;
use crate::store::connection::{self, ConnectionRow};

/// A connection with everything that sending through it needs.
#[derive(Clone)]
pub(crate) struct Login {
    /// Its row.
    pub(crate) row: ConnectionRow,
    /// Its dialect.
    pub(crate) adapter: Arc<dyn ChannelAdapter>,
    /// What the adapter may know.
    pub(crate) session: Session,
}

/// Who is signing in, and who failed to just now.
#[derive(Default)]
pub(crate) struct SignIns {
    turns: Mutex<HashMap<ConnectionId, Turn>>,
}

/// One connection's turn to sign in, and how the last try failed.
type Turn = Arc<AsyncMutex<Option<Failure>>>;

/// A sign-in that failed.
struct Failure {
    /// Not tried again before.
    until: Instant,
    /// With the login of this version of the connection.
    version: i64,
    /// Nobody answered: that says nothing about the login.
    is_unreachable: bool,
    why: String,
}

impl SignIns {
    fn turn(&self, id: ConnectionId) -> Turn {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(turns.entry(id).or_default())
    }
}

/// The login of a connection, signed in where its channel wants that and the last time is too
/// long ago.
pub(crate) async fn login(
    distribution: &Distribution,
    id: ConnectionId,
) -> Result<Login, DistributionError> {
    let login = load(distribution, id).await?;
    if is_fresh(&login) {
        return Ok(login);
    }
    renew(distribution, &login).await
}

/// Signs in anew because what was learned is too old or was refused. Who comes while another signs
/// in gets what that one learned; after a failure nobody tries again for half a minute, since
/// channels count.
pub(crate) async fn renew(
    distribution: &Distribution,
    stale: &Login,
) -> Result<Login, DistributionError> {
    let turn = distribution.inner.sign_ins.turn(stale.row.id);
    let mut failure = turn.lock().await;
    let login = load(distribution, stale.row.id).await?;
    let is_newer = login.row.learned_at > stale.row.learned_at
        || login.row.version > stale.row.version && is_fresh(&login);
    if is_newer {
        return Ok(login);
    }
    if let Some(failure) = failure.as_ref()
        && Instant::now() < failure.until
        && login.row.version == failure.version
    {
        let why = failure.why.clone();
        return Err(match failure.is_unreachable {
            true => DistributionError::Unreachable(why),
            false => DistributionError::SignIn(why),
        });
    }
    let learned = match converse(distribution, &login).await {
        Ok(learned) => learned,
        // No word of the channel's: whoever comes next tries himself.
        Err(error) if error.fault() != Fault::Channel => return Err(error),
        Err(error) => {
            *failure = Some(Failure {
                until: Instant::now() + FAILURE_REST,
                version: login.row.version,
                is_unreachable: matches!(error, DistributionError::Transport(_)),
                why: match &error {
                    DistributionError::SignIn(why) => why.clone(),
                    error => error.to_string(),
                },
            });
            return Err(error);
        }
    };
    *failure = None;
    keep(distribution, &login, &learned).await?;
    load(distribution, stale.row.id).await
}

/// Keeps what a conversation learned, sealed.
pub(crate) async fn keep(
    distribution: &Distribution,
    login: &Login,
    learned: &SecretString,
) -> Result<(), DistributionError> {
    let sealed = distribution
        .inner
        .seal
        .seal(Purpose::Learned, learned.expose_secret().as_bytes())?;
    let (pool, row) = (&distribution.inner.pool, &login.row);
    if !connection::save_learned(pool, row.id, row.version, &sealed).await? {
        tracing::info!(connection.id = %row.id, "the connection was changed while it signed in");
    }
    Ok(())
}

async fn load(distribution: &Distribution, id: ConnectionId) -> Result<Login, DistributionError> {
    let row = connection::by_id(&distribution.inner.pool, id)
        .await?
        .ok_or_else(|| DistributionError::UnknownConnection(id.to_string()))?;
    let adapter = distribution.inner.channels.adapter(&row.channel)?;
    let session = connections::session(&distribution.inner.seal, &row)?;
    Ok(Login {
        row,
        adapter,
        session,
    })
}

fn is_fresh(login: &Login) -> bool {
    let capabilities = login.adapter.capabilities();
    let seconds = i64::from(capabilities.sign_in_seconds);
    !capabilities.signs_in || login.row.learned_seconds.is_some_and(|age| age < seconds)
}

/// The exchanges of a sign-in. Nothing of them is kept but what they learned.
async fn converse(
    distribution: &Distribution,
    login: &Login,
) -> Result<SecretString, DistributionError> {
    let inner = &distribution.inner;
    let mut last: Option<(Outbound, Reply)> = None;
    for round in 0..ROUNDS_MAX {
        let step = Step {
            goal: Goal::SignIn,
            round,
            last: last.as_ref().map(|(sent, reply)| (sent, reply)),
            hotel_codes: &[],
            has_more: false,
        };
        match login.adapter.next(&login.session, &step) {
            Exchange::Send(outbound) => {
                pace::until_free(distribution, login).await?;
                let reply = inner.transport.send(&outbound).await?;
                last = Some((outbound, reply));
            }
            Exchange::Done { learned } => {
                let nothing = || DistributionError::SignIn("it taught nothing".into());
                return learned.ok_or_else(nothing);
            }
            Exchange::Failed(verdict) => {
                let why = verdict.why.unwrap_or_else(|| "the channel refused".into());
                return Err(DistributionError::SignIn(why));
            }
        }
    }
    let endless = format!("it did not end within {ROUNDS_MAX} exchanges");
    Err(DistributionError::SignIn(endless))
}

/// No handshake takes more.
const ROUNDS_MAX: u32 = 8;
/// A channel counts failed logins, and some lock an account after a few.
const FAILURE_REST: Duration = Duration::from_secs(30);
