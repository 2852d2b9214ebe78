//! Addresses and headers of a request.

use keyrack_model::adapter::{Demand, Method, Outbound, RenderError, Session};
use secrecy::ExposeSecret;

use super::wire::{Credentials, SIGN_IN, TOKEN_HOST, TOKEN_PATH, Token};

/// A push or an acknowledgement.
const POST_TIMEOUT_SECONDS: u32 = 30;
/// A poll; a full queue takes the channel a while.
const GET_TIMEOUT_SECONDS: u32 = 60;

/// Asks with the token of the session.
pub(super) fn get(
    session: &Session,
    topic: &str,
    host: &str,
    path_and_query: &str,
) -> Result<Outbound, RenderError> {
    Ok(Outbound {
        topic: topic.to_owned(),
        method: Method::Get,
        url: address(session, host, path_and_query),
        headers: vec![
            bearer(session)?,
            ("Accept".to_owned(), "application/xml".to_owned()),
        ],
        body: Vec::new(),
        timeout_seconds: GET_TIMEOUT_SECONDS,
    })
}

/// Posts XML with the token of the session.
pub(super) fn post(
    session: &Session,
    topic: &str,
    host: &str,
    path: &str,
    body: Vec<u8>,
) -> Result<Outbound, RenderError> {
    Ok(Outbound {
        topic: topic.to_owned(),
        method: Method::Post,
        url: address(session, host, path),
        headers: vec![
            bearer(session)?,
            (
                "Content-Type".to_owned(),
                "application/xml; charset=utf-8".to_owned(),
            ),
            // 1.0 is answered with 400, "not acceptable".
            ("Accept-Version".to_owned(), "1.1".to_owned()),
        ],
        body,
        timeout_seconds: POST_TIMEOUT_SECONDS,
    })
}

/// The token exchange.
pub(super) fn exchange(session: &Session) -> Result<Outbound, RenderError> {
    let credentials = Credentials {
        client_id: &session.user,
        client_secret: session.secret.expose_secret(),
    };
    let body = serde_json::to_vec(&credentials)
        .map_err(|fault| RenderError::of(format!("the credentials are no JSON: {fault}")))?;
    Ok(Outbound {
        topic: SIGN_IN.to_owned(),
        method: Method::Post,
        url: address(session, TOKEN_HOST, TOKEN_PATH),
        headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
        body,
        timeout_seconds: POST_TIMEOUT_SECONDS,
    })
}

/// One base address stands in for all hosts of the channel.
fn address(session: &Session, host: &str, path: &str) -> String {
    let base = session.endpoint.as_deref().unwrap_or(host);
    format!("{}{path}", base.trim_end_matches('/'))
}

fn bearer(session: &Session) -> Result<(String, String), RenderError> {
    let token: Token = session.learned().ok_or_else(|| RenderError {
        why: "there is no token yet: sign in first".to_owned(),
        demand: Some(Demand::SignIn),
    })?;
    let value = format!("Bearer {}", token.jwt);
    Ok(("Authorization".to_owned(), value))
}
