//! Where push channels deliver: authenticated, taken in, answered in the channel's own words.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, Mac};
use keyrack_model::adapter::{Inbound, Outbound};
use secrecy::ExposeSecret;
use sha2::Sha256;

use crate::behind::Behind;
use crate::connections::{self, Credentials};
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake;
use crate::sign_in;
use crate::store::connection;

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
    let Some(row) = connection::by_code(&inner.pool, connection).await? else {
        return Ok(Answer::NotFound);
    };
    let adapter = inner.channels.adapter(&row.channel)?;
    if adapter.capabilities().is_polled {
        return Ok(Answer::NotFound);
    }
    let login = connections::open(&inner.seal, &row.credentials)?;
    if !is_login(&login, &inbound) {
        return Ok(Answer::Unauthenticated);
    }
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
fn is_login(known: &Credentials, inbound: &Inbound) -> bool {
    let given = inbound
        .headers
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

    fn inbound(authorization: &str) -> Inbound {
        Inbound {
            headers: vec![("authorization".into(), authorization.into())],
            ..Inbound::default()
        }
    }

    #[test]
    fn only_the_connections_own_login_may_deliver() {
        let known = Credentials {
            user: "portal".into(),
            secret: "pass".to_owned().into(),
        };
        let basic = |text: &str| format!("Basic {}", STANDARD.encode(text));
        assert!(is_login(&known, &inbound(&basic("portal:pass"))));
        for wrong in ["portal:pas", "portal:passs", "other:pass", ""] {
            assert!(!is_login(&known, &inbound(&basic(wrong))), "{wrong}");
        }
        assert!(!is_login(&known, &Inbound::default()));
    }
}
