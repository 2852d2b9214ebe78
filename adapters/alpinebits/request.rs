//! The form, its headers and its address.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyrack_model::adapter::{Method, Outbound, RenderError, Session};
use secrecy::ExposeSecret;

use super::wire::VERSION;

const TIMEOUT_SECONDS: u32 = 60;
/// How we are called where the connection's setting `client_id` says nothing else.
const CLIENT_ID: &str = "keyrack";

/// A form with an action and its message.
pub(super) fn post(
    session: &Session,
    topic: &str,
    action: &str,
    message: &[u8],
) -> Result<Outbound, RenderError> {
    let url = session.endpoint.clone().ok_or_else(|| {
        RenderError::of("the portal's address is missing: set the endpoint of the connection")
    })?;
    let boundary = boundary(message);
    let credentials = format!("{}:{}", session.user, session.secret.expose_secret());
    let client_id = session.settings.get("client_id");
    let client_id = client_id.and_then(|id| id.as_str()).unwrap_or(CLIENT_ID);
    let header = |name: &str, value: String| (name.to_owned(), value);
    Ok(Outbound {
        topic: topic.to_owned(),
        method: Method::Post,
        url,
        headers: vec![
            header(
                "Authorization",
                format!("Basic {}", STANDARD.encode(credentials)),
            ),
            header(
                "Content-Type",
                format!("multipart/form-data; boundary={boundary}"),
            ),
            header("X-AlpineBits-ClientProtocolVersion", VERSION.to_owned()),
            // Optional in the standard; a widely used server refuses without it.
            header("X-AlpineBits-ClientID", client_id.to_owned()),
        ],
        body: form(&boundary, action, message),
        timeout_seconds: TIMEOUT_SECONDS,
    })
}

fn form(boundary: &str, action: &str, message: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(message.len() + 400);
    for (name, value) in [("action", action.as_bytes()), ("request", message)] {
        let head =
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(value);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    body
}

/// A boundary that the message does not hold. The same message has the same boundary.
fn boundary(message: &[u8]) -> String {
    // A boundary begins a line, and lines end in CR LF: what is written here has no CR in it.
    let may_hold = message.contains(&b'\r');
    let mut boundaries = (0_u64..).map(|number| format!("keyrack-{number:016x}"));
    let held = |boundary: &String| {
        let mut windows = message.windows(boundary.len());
        may_hold && windows.any(|window| window == boundary.as_bytes())
    };
    let free = boundaries.find(|boundary| !held(boundary));
    free.expect("no message holds them all")
}

/// The message within a form that [`post`] made.
#[cfg(test)]
pub(super) fn message_of(body: &[u8]) -> String {
    let body = String::from_utf8(body.to_vec()).expect("a form of text");
    let (_, after) = body
        .split_once("name=\"request\"\r\n\r\n")
        .expect("a request");
    let (message, _) = after.rsplit_once("\r\n--").expect("an end");
    message.to_owned()
}
