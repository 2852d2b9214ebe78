//! The other side of the wire: takes what is pushed, in the channel's words, and notes when.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Uri};
use axum::response::{IntoResponse, Response};
use tokio::task::JoinHandle;

/// A channel that takes everything.
pub struct Endpoint {
    pub url: String,
    heard: Arc<Heard>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct Heard {
    messages: AtomicU64,
    bytes: AtomicU64,
    kept: Mutex<Vec<Message>>,
}

/// A message of availability.
pub struct Message {
    /// When all of it had arrived.
    pub at: Instant,
    pub body: Bytes,
}

impl Endpoint {
    pub async fn open() -> Result<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let heard = Arc::new(Heard::default());
        let routes = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&heard));
        let serving = tokio::spawn(async move {
            if let Err(error) = axum::serve(listener, routes).await {
                tracing::error!(%error, "the bench's channel is gone");
            }
        });
        Ok(Self {
            url,
            heard,
            serving,
        })
    }

    /// Messages that told something, so far.
    pub fn messages(&self) -> u64 {
        self.heard.messages.load(Ordering::Relaxed)
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.heard.bytes.load(Ordering::Relaxed)
    }

    /// The messages of availability since the last time, in order of arrival.
    pub fn take(&self) -> Vec<Message> {
        let mut kept = self
            .heard
            .kept
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut kept)
    }

    pub fn close(&self) {
        self.serving.abort();
    }
}

async fn answer(
    State(heard): State<Arc<Heard>>,
    method: Method,
    uri: Uri,
    body: Bytes,
) -> Response {
    let at = Instant::now();
    let path = uri.path();
    if path.ends_with("/exchange") {
        return ([(CONTENT_TYPE, "application/json")], r#"{"jwt":"bench"}"#).into_response();
    }
    let (root, inside) = match (method, path) {
        (Method::GET, path) if path.contains("Modify") => ("OTA_HotelResModifyNotifRQ", ""),
        (Method::GET, _) => ("OTA_HotelResNotifRQ", ""),
        (_, path) if path.ends_with("OTA_HotelAvailNotif") => {
            heard.bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
            heard.messages.fetch_add(1, Ordering::Relaxed);
            let mut kept = heard.kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(Message { at, body });
            ("OTA_HotelAvailNotifRS", "<Success/>")
        }
        _ => {
            heard.bytes.fetch_add(body.len() as u64, Ordering::Relaxed);
            heard.messages.fetch_add(1, Ordering::Relaxed);
            ("OTA_HotelRateAmountNotifRS", "<Success/>")
        }
    };
    let body = format!(
        "<{root} xmlns=\"http://www.opentravel.org/OTA/2003/05\" Version=\"1.0\">{inside}</{root}>"
    );
    ([(CONTENT_TYPE, "application/xml")], body).into_response()
}
