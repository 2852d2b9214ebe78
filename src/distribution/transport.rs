//! The only place that calls out over HTTP: time-outs, size limits, TLS; no redirect is followed.
//!
//! Nothing of a message is logged here: neither headers nor bodies, nor the address, which may
//! carry a key.

mod guard;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use keyrack_model::adapter::{Method, Outbound, Reply};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, Response};
use thiserror::Error;

use crate::error::DistributionError;
use crate::settings::Settings;
use crate::tls;
use crate::transport::guard::{GuardedResolver, PrivateTargetError, is_private};

/// Sends what adapters render, and webhooks.
pub struct Transport {
    open: Client,
    guarded: Client,
    private_targets: bool,
    reply_bytes_max: usize,
}

/// Why no answer came.
#[derive(Debug, Error)]
pub enum TransportError {
    /// The address is none that can be called.
    #[error("the address cannot be called")]
    BadAddress,
    /// The address leads into a private network, and that is not allowed.
    #[error("the address leads into a private network")]
    PrivateTarget,
    /// No connection came about: refused, no such name, no TLS, or no answer to the first knock.
    #[error("no connection could be made")]
    NotConnected(#[source] reqwest::Error),
    /// No answer, or not all of it, within the time allowed.
    #[error("no answer within {seconds} s")]
    TimedOut {
        /// How long it was waited for.
        seconds: u32,
    },
    /// The connection broke before the answer was whole.
    #[error("the connection broke before the answer was whole")]
    Broken(#[source] reqwest::Error),
    /// The answer is longer than allowed and was cut off.
    #[error("the answer is longer than {bytes_max} bytes and was cut off")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
        /// How the answer begins, for the raw log.
        beginning: Beginning,
    },
}

/// The first bytes of an answer that was cut off: never shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Beginning(pub Vec<u8>);

impl fmt::Debug for Beginning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Beginning({} bytes)", self.0.len())
    }
}

impl TransportError {
    /// Whether the other side may have done what the message asked for all the same.
    pub fn may_have_been_applied(&self) -> bool {
        match self {
            Self::BadAddress | Self::PrivateTarget | Self::NotConnected(_) => false,
            Self::TimedOut { .. } | Self::Broken(_) | Self::TooLarge { .. } => true,
        }
    }
}

impl Transport {
    /// The clients, once for the process.
    ///
    /// # Errors
    ///
    /// Where TLS cannot be set up.
    pub fn new(settings: &Settings) -> Result<Self, DistributionError> {
        tls::use_ring();
        let builder = || {
            Client::builder()
                .connect_timeout(Duration::from_millis(settings.connect_timeout_ms.into()))
                .redirect(Policy::none())
                .gzip(true)
                .user_agent(concat!("keyrack/", env!("CARGO_PKG_VERSION")))
        };
        let refused = |error: reqwest::Error| DistributionError::Settings(error.to_string());
        Ok(Self {
            open: builder().build().map_err(refused)?,
            guarded: builder()
                .no_proxy()
                .dns_resolver(Arc::new(GuardedResolver))
                .build()
                .map_err(refused)?,
            private_targets: settings.private_webhook_targets,
            reply_bytes_max: settings.reply_bytes_max,
        })
    }

    /// Sends a message to a channel.
    ///
    /// # Errors
    ///
    /// Every way in which no whole answer came.
    pub async fn send(&self, outbound: &Outbound) -> Result<Reply, TransportError> {
        self.exchange(&self.open, outbound).await
    }

    /// Sends to an address that a customer chose: private, loopback and link-local targets are
    /// refused unless the settings allow them, also where a public name resolves to one.
    ///
    /// # Errors
    ///
    /// Every way in which no whole answer came.
    pub async fn send_guarded(&self, outbound: &Outbound) -> Result<Reply, TransportError> {
        if self.private_targets {
            return self.exchange(&self.open, outbound).await;
        }
        // The resolver is not asked for literal addresses.
        self.check_target(&outbound.url)?;
        self.exchange(&self.guarded, outbound).await
    }

    /// Whether an address that a customer chose may be called, as far as can be told without
    /// resolving its name.
    ///
    /// # Errors
    ///
    /// [`TransportError::BadAddress`], [`TransportError::PrivateTarget`].
    pub fn check_target(&self, url: &str) -> Result<(), TransportError> {
        let url = reqwest::Url::parse(url).map_err(|_| TransportError::BadAddress)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(TransportError::BadAddress);
        }
        let host = url.host_str().ok_or(TransportError::BadAddress)?;
        let literal = host.trim_start_matches('[').trim_end_matches(']');
        let leads_inside =
            literal.parse::<IpAddr>().is_ok_and(is_private) || is_of_this_machine(literal);
        if leads_inside && !self.private_targets {
            return Err(TransportError::PrivateTarget);
        }
        Ok(())
    }

    async fn exchange(
        &self,
        client: &Client,
        outbound: &Outbound,
    ) -> Result<Reply, TransportError> {
        let request = request(client, outbound)?;
        let sent = request
            .send()
            .await
            .map_err(|error| sort(error, outbound.timeout_seconds))?;
        self.read(sent, outbound.timeout_seconds).await
    }

    /// Reads the answer piece by piece, so that one that is too long is never held.
    async fn read(&self, mut response: Response, seconds: u32) -> Result<Reply, TransportError> {
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| {
                let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
                (name.as_str().to_owned(), value)
            })
            .collect();
        let mut body = Vec::new();
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| sort(error, seconds))?
        {
            if body.len() + piece.len() > self.reply_bytes_max {
                body.extend_from_slice(&piece);
                body.truncate(BEGINNING_BYTES.min(self.reply_bytes_max));
                return Err(TransportError::TooLarge {
                    bytes_max: self.reply_bytes_max,
                    beginning: Beginning(body),
                });
            }
            body.extend_from_slice(&piece);
        }
        Ok(Reply {
            status,
            headers,
            body,
        })
    }
}

/// The names that mean this machine wherever they are resolved (RFC 6761, section 6.3).
fn is_of_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether the other side took the request at all; what it says of it stands in the body.
pub(crate) fn is_success(reply: &Reply) -> bool {
    (200..300).contains(&reply.status)
}

/// Whether the receiver of a webhook took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It did.
    Yes,
    /// It did not; the same again later may succeed.
    NotNow,
    /// It is gone for good.
    Never,
}

/// What a receiver's answer says. Only its status counts.
pub fn taken(reply: &Reply) -> Taken {
    match reply.status {
        200..=299 => Taken::Yes,
        410 => Taken::Never,
        _ => Taken::NotNow,
    }
}

fn request(client: &Client, outbound: &Outbound) -> Result<RequestBuilder, TransportError> {
    let url = reqwest::Url::parse(&outbound.url).map_err(|_| TransportError::BadAddress)?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(TransportError::BadAddress);
    }
    let mut request = match outbound.method {
        Method::Get => client.get(url),
        Method::Post => client.post(url).body(outbound.body.clone()),
    };
    for (name, value) in &outbound.headers {
        request = request.header(name, value);
    }
    let seconds = outbound.timeout_seconds.max(1);
    Ok(request.timeout(Duration::from_secs(seconds.into())))
}

/// Sorts a failure by whether the message may have arrived. The address is taken out of it.
fn sort(error: reqwest::Error, seconds: u32) -> TransportError {
    let error = error.without_url();
    if error.is_builder() {
        TransportError::BadAddress
    } else if is_private_target(&error) {
        TransportError::PrivateTarget
    } else if error.is_connect() {
        TransportError::NotConnected(error)
    } else if error.is_timeout() {
        TransportError::TimedOut { seconds }
    } else {
        TransportError::Broken(error)
    }
}

fn is_private_target(error: &reqwest::Error) -> bool {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.is::<PrivateTargetError>() {
            return true;
        }
        cause = error.source();
    }
    false
}

/// What the raw log keeps of an answer that was cut off.
const BEGINNING_BYTES: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::http::StatusCode;
    use axum::response::{IntoResponse, Redirect};
    use axum::routing::get;
    use keyrack_model::adapter::{Method, Outbound};

    use super::*;

    async fn server() -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let routes = Router::new()
            .route("/fine", get(|| async { ([("X-Trace", "t1")], "fine") }))
            .route(
                "/error",
                get(|| async { (StatusCode::BAD_GATEWAY, "sorry") }),
            )
            .route("/long", get(|| async { "x".repeat(5_000) }))
            .route(
                "/away",
                get(|| async { Redirect::temporary("/fine").into_response() }),
            )
            .route(
                "/slow",
                get(|| async { tokio::time::sleep(Duration::from_secs(5)).await }),
            );
        tokio::spawn(async move { axum::serve(listener, routes).await });
        url
    }

    fn transport() -> Transport {
        Transport::new(&Settings {
            reply_bytes_max: 1_000,
            ..Settings::default()
        })
        .expect("clients")
    }

    fn outbound(url: String) -> Outbound {
        Outbound {
            topic: "test".into(),
            method: Method::Get,
            url,
            headers: vec![("accept".into(), "*/*".into())],
            body: Vec::new(),
            timeout_seconds: 1,
        }
    }

    #[tokio::test]
    async fn an_answer_comes_back_with_its_status_headers_and_body() {
        let url = server().await;
        let reply = transport()
            .send(&outbound(format!("{url}/fine")))
            .await
            .expect("an answer");
        assert_eq!((reply.status, reply.header("x-trace")), (200, Some("t1")));
        assert!(is_success(&reply) && reply.body == b"fine");
        let reply = transport()
            .send(&outbound(format!("{url}/error")))
            .await
            .expect("an answer");
        assert_eq!((reply.status, is_success(&reply)), (502, false));
    }

    #[tokio::test]
    async fn a_redirect_is_an_answer_and_is_not_followed() {
        let url = server().await;
        let reply = transport()
            .send(&outbound(format!("{url}/away")))
            .await
            .expect("an answer");
        assert_eq!(reply.status, 307);
    }

    #[tokio::test]
    async fn an_answer_that_is_too_long_is_cut_off() {
        let url = server().await;
        let refused = transport().send(&outbound(format!("{url}/long"))).await;
        let Err(
            error @ TransportError::TooLarge {
                bytes_max: 1_000, ..
            },
        ) = refused
        else {
            panic!("{refused:?}");
        };
        assert!(error.may_have_been_applied());
        assert!(!format!("{error:?}").contains("xxx"));
    }

    #[tokio::test]
    async fn whether_a_message_may_have_arrived_is_known() {
        let url = server().await;
        let slow = transport().send(&outbound(format!("{url}/slow"))).await;
        assert!(
            matches!(slow, Err(TransportError::TimedOut { seconds: 1 })),
            "{slow:?}"
        );
        assert!(slow.is_err_and(|error| error.may_have_been_applied()));
        let nobody = transport()
            .send(&outbound("http://127.0.0.1:9/".into()))
            .await;
        assert!(nobody.is_err_and(|error| !error.may_have_been_applied()));
        for wrong in ["", "nowhere", "file:///etc/passwd", "http://"] {
            let refused = transport().send(&outbound(wrong.into())).await;
            assert!(
                matches!(refused, Err(TransportError::BadAddress)),
                "{wrong}: {refused:?}"
            );
        }
    }

    #[tokio::test]
    async fn a_customers_address_into_a_private_network_is_refused_before_it_is_called() {
        let url = server().await;
        let port = url.rsplit(':').next().expect("a port");
        let named = format!("http://localhost:{port}/fine");
        let dressed = format!("http://[::ffff:127.0.0.1]:{port}/fine");
        let octal = format!("http://0177.0.0.1:{port}/fine");
        for private in [format!("{url}/fine"), named.clone(), dressed, octal] {
            let refused = transport().send_guarded(&outbound(private.clone())).await;
            assert!(
                matches!(refused, Err(TransportError::PrivateTarget)),
                "{private}: {refused:?}"
            );
        }
        let allowed = Transport::new(&Settings {
            private_webhook_targets: true,
            ..Settings::default()
        });
        let reply = allowed
            .expect("clients")
            .send_guarded(&outbound(named))
            .await;
        assert_eq!(reply.expect("an answer").status, 200);
    }
}
