//! The other side of the wire: keeps a queue until it is acknowledged, and fails as it is told.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

/// A portal on a port of its own.
#[derive(Clone)]
pub struct Portal {
    pub url: String,
    state: Arc<Mutex<Inside>>,
}

#[derive(Default)]
struct Inside {
    queue: Vec<Value>,
    missed: Vec<Value>,
    faults: BTreeMap<String, VecDeque<Fault>>,
    requests: Vec<(String, String)>,
    tokens: u32,
    refused: Vec<(String, String)>,
    recorded: Vec<(String, String)>,
}

/// What goes wrong with the next request for a path.
#[derive(Clone)]
pub enum Fault {
    Status(u16),
    /// With so many seconds to wait.
    Busy(u32),
    Body(Vec<u8>),
    /// So many bytes, made as they are sent.
    Huge(usize),
    /// It is done, and its answer never comes.
    Lost,
}

impl Portal {
    pub async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(Inside::default()));
        let routes = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&state));
        tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { url, state }
    }

    /// A message waits until it is acknowledged.
    pub fn waits(&self, message: Value) {
        self.state.lock().unwrap().queue.push(message);
    }

    /// A message fell back to e-mail.
    pub fn missed(&self, message: Value) {
        self.state.lock().unwrap().missed.push(message);
    }

    /// The next request for the path goes wrong.
    pub fn fails(&self, path: &str, fault: Fault) {
        let mut state = self.state.lock().unwrap();
        state
            .faults
            .entry(path.into())
            .or_default()
            .push_back(fault);
    }

    /// Path and body of every request.
    pub fn requests(&self, path: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let of_path = state.requests.iter().filter(|(asked, _)| asked == path);
        of_path.map(|(_, body)| body.clone()).collect()
    }

    /// References that still wait.
    pub fn waiting(&self) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let name = |message: &Value| message["ref"].as_str().unwrap_or_default().to_owned();
        state.queue.iter().map(name).collect()
    }

    /// Reference and number, or reason, of what was acknowledged.
    pub fn recorded(&self) -> Vec<(String, String)> {
        self.state.lock().unwrap().recorded.clone()
    }

    pub fn refused(&self) -> Vec<(String, String)> {
        self.state.lock().unwrap().refused.clone()
    }
}

async fn answer(
    State(state): State<Arc<Mutex<Inside>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let path = uri.path().to_owned();
    let (fault, answer) = {
        let mut state = state.lock().unwrap();
        let text = String::from_utf8_lossy(&body).into_owned();
        state.requests.push((path.clone(), text.clone()));
        let fault = state.faults.get_mut(&path).and_then(VecDeque::pop_front);
        let answer = match fault {
            None | Some(Fault::Lost) => state.take(&method, &path, &headers, &text),
            _ => StatusCode::OK.into_response(),
        };
        (fault, answer)
    };
    match fault {
        None => answer,
        Some(Fault::Lost) => {
            tokio::time::sleep(Duration::from_secs(4)).await;
            answer
        }
        Some(Fault::Status(status)) => StatusCode::from_u16(status).unwrap().into_response(),
        Some(Fault::Busy(seconds)) => {
            let wait = [("retry-after", seconds.to_string())];
            (StatusCode::TOO_MANY_REQUESTS, wait).into_response()
        }
        Some(Fault::Body(bytes)) => bytes.into_response(),
        Some(Fault::Huge(bytes)) => huge(bytes),
    }
}

/// Written piece by piece: neither side ever holds it whole.
fn huge(bytes: usize) -> Response {
    let (mut write, read) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async move {
        let piece = vec![b'x'; 64 * 1024];
        let mut sent = 0;
        while sent < bytes {
            if tokio::io::AsyncWriteExt::write_all(&mut write, &piece)
                .await
                .is_err()
            {
                return;
            }
            sent += piece.len();
        }
    });
    Body::from_stream(tokio_util::io::ReaderStream::new(read)).into_response()
}

impl Inside {
    fn take(&mut self, method: &Method, path: &str, headers: &HeaderMap, text: &str) -> Response {
        if path == "/token" {
            if text != "hotel:s3cret" {
                return StatusCode::UNAUTHORIZED.into_response();
            }
            self.tokens += 1;
            return format!("token-{}", self.tokens).into_response();
        }
        let token = format!("Bearer token-{}", self.tokens);
        let given = headers
            .get("authorization")
            .and_then(|value| value.to_str().ok());
        if given != Some(&token) || self.tokens == 0 {
            return StatusCode::UNAUTHORIZED.into_response();
        }
        match (method.as_str(), path) {
            ("GET", "/queue") => json!({"reservations": self.queue})
                .to_string()
                .into_response(),
            ("GET", of_hotel) if of_hotel.starts_with("/queue/") => {
                let hotel = of_hotel.trim_start_matches("/queue/");
                let is_its = |message: &&Value| message["hotel"] == hotel;
                let its: Vec<&Value> = self.queue.iter().filter(is_its).collect();
                json!({"reservations": its}).to_string().into_response()
            }
            ("GET", "/missed") => json!({"reservations": self.missed})
                .to_string()
                .into_response(),
            ("GET", "/test") => "fine".into_response(),
            ("POST", "/ack") => self.acknowledged(text),
            _ => StatusCode::NOT_FOUND.into_response(),
        }
    }

    fn acknowledged(&mut self, text: &str) -> Response {
        let body: Value = serde_json::from_str(text).unwrap();
        let pairs = |key: &str| -> Vec<(String, String)> {
            serde_json::from_value(body[key].clone()).unwrap()
        };
        for (reference, number) in pairs("recorded") {
            let is_it = |message: &Value| message["ref"] == reference.as_str();
            self.queue.retain(|message| !is_it(message));
            self.missed.retain(|message| !is_it(message));
            self.recorded.push((reference, number));
        }
        self.refused.extend(pairs("refused"));
        StatusCode::OK.into_response()
    }
}
