//! The other side: keeps its stock as told, answers as told, and remembers every message.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use jiff::civil::Date;
use serde_json::{Value, json};

/// How the portal treats one message.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Value,
    pub retry_after: Option<u32>,
    /// The answer comes so much later.
    pub delay_ms: u64,
    /// The message is applied, this long after the answer; `None` is not at all.
    pub applied_after_ms: Option<u64>,
}

impl Answer {
    pub fn ok() -> Self {
        Self {
            status: 200,
            body: json!({}),
            retry_after: None,
            delay_ms: 0,
            applied_after_ms: Some(0),
        }
    }

    pub fn refusing(status: u16) -> Self {
        Self {
            status,
            applied_after_ms: None,
            ..Self::ok()
        }
    }
}

#[derive(Default)]
struct Books {
    answers: VecDeque<Answer>,
    otherwise: Option<Answer>,
    messages: Vec<Value>,
    stock: BTreeMap<(String, String, Date), Value>,
    in_flight: usize,
    in_flight_max: usize,
    tokens: usize,
}

/// A channel behind HTTP.
#[derive(Clone)]
pub struct Portal {
    pub url: String,
    books: Arc<Mutex<Books>>,
}

impl Portal {
    pub async fn open() -> Self {
        let books = Arc::new(Mutex::new(Books::default()));
        let router = Router::new()
            .route("/ari", post(ari))
            .route("/token", post(token))
            .with_state(Arc::clone(&books));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        Self { url, books }
    }

    /// The next messages are treated so, in order; then all is well again.
    pub fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        self.books.lock().unwrap().answers.extend(answers);
    }

    /// All is well from now on.
    pub fn clear(&self) {
        self.books.lock().unwrap().answers.clear();
    }

    /// Every message is treated so from now on.
    pub fn always(&self, answer: Answer) {
        self.books.lock().unwrap().otherwise = Some(answer);
    }

    /// The spans of every message since the last look, one text a message.
    pub fn told(&self) -> Vec<String> {
        let mut books = self.books.lock().unwrap();
        let messages = std::mem::take(&mut books.messages);
        messages.iter().map(in_words).collect()
    }

    /// Waits until so many messages have come since the last look.
    pub async fn hears(&self, count: usize) {
        while self.books.lock().unwrap().messages.len() < count {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The raw messages since the last look.
    pub fn messages(&self) -> Vec<Value> {
        std::mem::take(&mut self.books.lock().unwrap().messages)
    }

    /// What it would sell: rooms of a code on a night, 0 where closed.
    pub fn shows(&self, room: &str, night: Date) -> i64 {
        let books = self.books.lock().unwrap();
        let key = (room.to_owned(), String::new(), night);
        let Some(values) = books.stock.get(&key) else {
            return 0;
        };
        if values["closed"] == true {
            return 0;
        }
        values["rooms"].as_i64().unwrap_or(0)
    }

    /// The values of a rate on a night.
    pub fn rate(&self, room: &str, rate: &str, night: Date) -> Value {
        let books = self.books.lock().unwrap();
        let key = (room.to_owned(), rate.to_owned(), night);
        books.stock.get(&key).cloned().unwrap_or_default()
    }

    pub fn in_flight_max(&self) -> usize {
        self.books.lock().unwrap().in_flight_max
    }

    pub fn tokens(&self) -> usize {
        self.books.lock().unwrap().tokens
    }
}

/// `DBL 03-01..03-03 5; DBL/BAR 03-01..03-02 open`, a complete set begins with `all:`.
fn in_words(message: &Value) -> String {
    let spans = message["spans"].as_array().unwrap();
    let words: Vec<String> = spans
        .iter()
        .map(|span| {
            let short = |key: &str| span["nights"][key].as_str().unwrap()[5..].to_owned();
            let rate = span["channel_rate_code"].as_str();
            let code = span["channel_room_code"].as_str().unwrap();
            let name = rate.map_or_else(|| code.to_owned(), |rate| format!("{code}/{rate}"));
            let values = &span["values"];
            let state = match (values["closed"].as_bool(), values["rooms"].as_i64()) {
                (Some(true), _) => "closed".to_owned(),
                (_, Some(rooms)) => rooms.to_string(),
                (_, None) => "open".to_owned(),
            };
            format!(
                "{name} {}..{} {state}",
                short("arrival"),
                short("departure")
            )
        })
        .collect();
    let all = if message["complete"] == true {
        "all: "
    } else {
        ""
    };
    format!("{all}{}", words.join("; "))
}

fn apply(books: &Mutex<Books>, message: &Value, refused: &Value) {
    let mut books = books.lock().unwrap();
    if message["complete"] == true {
        books.stock.clear();
    }
    let spans = message["spans"].as_array().unwrap();
    for (index, span) in spans.iter().enumerate() {
        let is_refused = refused
            .as_array()
            .is_some_and(|parts| parts.iter().any(|part| part["span"] == index));
        if is_refused {
            continue;
        }
        let date = |key: &str| -> Date { span["nights"][key].as_str().unwrap().parse().unwrap() };
        let room = span["channel_room_code"].as_str().unwrap().to_owned();
        let rate = span["channel_rate_code"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let mut night = date("arrival");
        while night < date("departure") {
            let key = (room.clone(), rate.clone(), night);
            books.stock.insert(key, span["values"].clone());
            night = night.tomorrow().unwrap();
        }
    }
}

async fn ari(State(books): State<Arc<Mutex<Books>>>, headers: HeaderMap, body: Bytes) -> Response {
    let message: Value = serde_json::from_slice(&body).unwrap();
    let answer = {
        let mut known = books.lock().unwrap();
        known.in_flight += 1;
        known.in_flight_max = known.in_flight_max.max(known.in_flight);
        known.messages.push(message.clone());
        let next = known.answers.pop_front();
        next.or_else(|| known.otherwise.clone())
            .unwrap_or_else(Answer::ok)
    };
    assert!(headers.contains_key("authorization"));
    let (twin, refused) = (Arc::clone(&books), answer.body["refused"].clone());
    match answer.applied_after_ms {
        Some(0) => apply(&books, &message, &refused),
        Some(later) => {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(later)).await;
                apply(&twin, &message, &refused);
            });
        }
        None => {}
    }
    // A caller that gives up does not take the message back: it is counted until it is answered.
    let counted = Arc::clone(&books);
    let answered = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
        counted.lock().unwrap().in_flight -= 1;
        answer
    });
    let answer = answered.await.unwrap();
    let mut response = axum::Json(answer.body).into_response();
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap();
    if let Some(seconds) = answer.retry_after {
        response.headers_mut().insert("retry-after", seconds.into());
    }
    response
}

async fn token(State(books): State<Arc<Mutex<Books>>>) -> String {
    let mut books = books.lock().unwrap();
    books.tokens += 1;
    format!("token-{}", books.tokens)
}
