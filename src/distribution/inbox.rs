//! Where push channels deliver: authenticated, taken in, answered in the channel's own words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use keyrack_model::adapter::{Inbound, Outbound, Receipt, ReceiptOutcome};
use secrecy::ExposeSecret;
use sha2::Sha256;

use crate::behind::Behind;
use crate::connections::{self, Credentials};
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake;
use crate::sign_in;
use crate::store::connection::{self, ConnectionRow};

/// What is answered to a delivery.
#[derive(Debug)]
pub enum Answer {
    /// The channel's own words: the bodies that the adapter rendered, of which the first is the
    /// answer. Empty where the dialect says nothing.
    Said(Vec<Outbound>),
    /// No such connection, or one whose channel does not deliver.
    NotFound,
    /// The login is not the connection's.
    Unauthenticated,
    /// We failed: the channel must deliver again.
    Again,
    /// Longer than is read: not taken, its beginning kept, staff told. The channel's own "no",
    /// empty where the dialect has none.
    TooLong(Vec<Outbound>),
}

/// Whether a delivery may come in: asked before its body is read. `Some` is the answer to one that
/// may not.
///
/// # Errors
///
/// Failures of the database or the seal.
pub async fn turned_away(
    distribution: &Distribution,
    connection: &str,
    headers: &[(String, String)],
) -> Result<Option<Answer>, DistributionError> {
    Ok(enter(distribution, connection, headers).await?.err())
}

/// The connection that delivers, where it is one and the login is its own.
async fn enter(
    distribution: &Distribution,
    connection: &str,
    headers: &[(String, String)],
) -> Result<Result<ConnectionRow, Answer>, DistributionError> {
    let inner = &distribution.inner;
    let Some(row) = connection::by_code(&inner.pool, connection).await? else {
        return Ok(Err(Answer::NotFound));
    };
    if inner
        .channels
        .adapter(&row.channel)?
        .capabilities()
        .is_polled
    {
        return Ok(Err(Answer::NotFound));
    }
    let login = connections::open(&inner.seal, &row.credentials)?;
    match is_login(&login, headers) {
        true => Ok(Ok(row)),
        false => Ok(Err(Answer::Unauthenticated)),
    }
}

/// Refuses a delivery that is longer than `bytes_max`, of which `inbound` has the beginning: it is
/// kept, staff are told, and the channel gets its own words. The same again is kept once.
///
/// # Errors
///
/// Where the beginning could not be kept.
pub async fn refuse_long(
    distribution: &Distribution,
    connection: &str,
    inbound: Inbound,
    bytes_max: usize,
) -> Result<Answer, DistributionError> {
    let row = match enter(distribution, connection, &inbound.headers).await? {
        Ok(row) => row,
        Err(answer) => return Ok(answer),
    };
    let adapter = distribution.inner.channels.adapter(&row.channel)?;
    let why = format!("it is longer than {bytes_max} bytes and was not taken");
    intake::keep_unread(distribution, &row, inbound.clone(), true, &why).await?;
    let refused = Receipt {
        reference: String::new(),
        acknowledge_as: None,
        outcome: ReceiptOutcome::Refused { why },
    };
    let login = sign_in::login(distribution, row.id).await?;
    // Where the dialect cannot say it, the status does.
    let said = adapter.acknowledge(&inbound, &[refused], &login.session);
    Ok(Answer::TooLong(said.unwrap_or_default()))
}

/// Takes a delivery in. The login is read from the `authorization` header (basic).
///
/// # Errors
///
/// Where the raw message could not be kept: the channel must deliver again.
pub async fn deliver(
    distribution: &Distribution,
    connection: &str,
    inbound: Inbound,
) -> Result<Answer, DistributionError> {
    let inner = &distribution.inner;
    let row = match enter(distribution, connection, &inbound.headers).await? {
        Ok(row) => row,
        Err(answer) => return Ok(answer),
    };
    let adapter = inner.channels.adapter(&row.channel)?;
    // A caller who hangs up stops nothing: what arrived is recorded all the same.
    let task = {
        let (distribution, row, inbound) = (distribution.clone(), row.clone(), inbound.clone());
        inner.tasks.spawn(async move {
            let behind = Behind::load(&distribution.inner.ledger, row.id).await?;
            intake::take_from(&distribution, &row, &behind, inbound).await
        })
    };
    let outcome = task.await.map_err(|_| DistributionError::Stopping)??;
    if outcome.failed > 0 {
        return Ok(Answer::Again);
    }
    let login = sign_in::login(distribution, row.id).await?;
    let said = adapter.acknowledge(&inbound, &outcome.receipts, &login.session)?;
    Ok(Answer::Said(said))
}

/// Compares in constant time, so that neither content nor length of the secret shows: both are
/// hashed, and the hashes are compared as signatures are.
fn is_login(known: &Credentials, headers: &[(String, String)]) -> bool {
    let given = headers
        .iter()
        .find(|(name, _)| name == "authorization")
        .and_then(|(_, value)| value.strip_prefix("Basic "))
        .and_then(|text| STANDARD.decode(text.trim()).ok());
    let wanted = format!("{}:{}", known.user, known.secret.expose_secret());
    let (Some(given), Some(wanted)) = (given, hash(wanted.as_bytes())) else {
        return false;
    };
    hash(&given).is_some_and(|given| given.verify(&wanted.finalize().into_bytes()).is_ok())
}

fn hash(text: &[u8]) -> Option<Hmac<Sha256>> {
    let mut hash = <Hmac<Sha256> as Mac>::new_from_slice(b"keyrack.inbox").ok()?;
    hash.update(text);
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(authorization: &str) -> Vec<(String, String)> {
        vec![("authorization".into(), authorization.into())]
    }

    #[test]
    fn only_the_connections_own_login_may_deliver() {
        let known = Credentials {
            user: "portal".into(),
            secret: "pass".to_owned().into(),
        };
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert!(is_login(&known, &headers(&basic("portal:pass"))));
        for wrong in ["portal:pas", "portal:passs", "other:pass", ""] {
            assert!(!is_login(&known, &headers(&basic(wrong))), "{wrong}");
        }
        assert!(!is_login(&known, &[]));
    }
}
