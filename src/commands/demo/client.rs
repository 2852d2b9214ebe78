//! The demo's way to the daemon: over HTTP with a key, as anybody outside comes, with a journal of
//! what was acknowledged.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use keyrack_distribution::tls;
use reqwest::Method;
use serde_json::Value;

/// A caller of the admin API. Clones write into one journal.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    key: String,
    property: String,
    patience: Duration,
    journal: Arc<Mutex<Vec<Acknowledged>>>,
}

/// A state of a reservation that the API said it had made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// The reservation's.
    pub id: String,
    /// `held`, `confirmed`, `cancelled` …
    pub status: String,
    /// It was made by this request, not changed.
    pub is_made: bool,
}

/// What the API said: status and body.
pub struct Said {
    pub status: u16,
    pub body: Value,
}

impl Said {
    /// The body of a success.
    pub fn ok(self) -> Result<Value> {
        if (200..300).contains(&self.status) {
            return Ok(self.body);
        }
        bail!("the API answered {}: {}", self.status, self.body);
    }

    /// The code of a problem.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

impl Client {
    pub fn new(url: String, key: String, property: &str) -> Result<Self> {
        tls::use_ring();
        let http = reqwest::Client::builder()
            .build()
            .context("an HTTP client")?;
        Ok(Self {
            http,
            url,
            key,
            property: property.to_owned(),
            patience: Duration::ZERO,
            journal: Arc::default(),
        })
    }

    /// The same caller, who asks the same again under the same idempotency key for so long as
    /// nobody answers, or the answer is a failure of the daemon's.
    pub fn patient(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// What was acknowledged of reservations to this caller and its clones, in order.
    pub fn acknowledged(&self) -> Vec<Acknowledged> {
        let journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.clone()
    }

    /// Calls a path below `/v1`.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Said> {
        let key = uuid::Uuid::new_v4().to_string();
        self.send(method, &format!("{}/v1/{path}", self.url), body, &key)
            .await
    }

    /// Calls a path below the property under an idempotency key of the caller's own.
    pub async fn at_with_key(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
        key: &str,
    ) -> Result<Said> {
        let url = format!("{}/v1/properties/{}/{path}", self.url, self.property);
        self.send(method, &url, body, key).await
    }

    /// Calls a path below the property.
    pub async fn at(&self, method: Method, path: &str, body: Option<Value>) -> Result<Said> {
        let whole = format!("properties/{}/{path}", self.property);
        self.call(method, whole.trim_end_matches('/'), body).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Result<Value> {
        let said = self.at(Method::PUT, path, Some(body)).await?;
        said.ok().with_context(|| format!("PUT {path}"))
    }

    pub async fn post(&self, path: &str, body: Value) -> Result<Value> {
        let said = self.at(Method::POST, path, Some(body)).await?;
        said.ok().with_context(|| format!("POST {path}"))
    }

    pub async fn get(&self, path: &str) -> Result<Value> {
        let said = self.at(Method::GET, path, None).await?;
        said.ok().with_context(|| format!("GET {path}"))
    }

    /// Every item of a list, page by page.
    pub async fn all(&self, path: &str) -> Result<Vec<Value>> {
        let mut items = Vec::new();
        let mut cursor = String::new();
        let joint = if path.contains('?') { '&' } else { '?' };
        loop {
            let from = if cursor.is_empty() {
                String::new()
            } else {
                format!("&cursor={cursor}")
            };
            let page = self.get(&format!("{path}{joint}limit=500{from}")).await?;
            items.extend(page["items"].as_array().cloned().unwrap_or_default());
            match page["next_cursor"].as_str() {
                Some(next) => cursor = next.to_owned(),
                None => return Ok(items),
            }
        }
    }

    /// Asks until there is an answer or the patience is at its end.
    async fn send(
        &self,
        method: Method,
        url: &str,
        body: Option<Value>,
        idempotency_key: &str,
    ) -> Result<Said> {
        let begun = Instant::now();
        loop {
            let said = self
                .ask(method.clone(), url, body.as_ref(), idempotency_key)
                .await;
            let is_answer = said.as_ref().is_ok_and(|said| said.status < 500);
            if is_answer && method == Method::POST && url.contains("/reservations") {
                self.note(said.as_ref().ok());
            }
            if is_answer || begun.elapsed() >= self.patience {
                return said;
            }
            tokio::time::sleep(AGAIN).await;
        }
    }

    async fn ask(
        &self,
        method: Method,
        url: &str,
        body: Option<&Value>,
        idempotency_key: &str,
    ) -> Result<Said> {
        let mut request = self
            .http
            .request(method, url)
            .bearer_auth(&self.key)
            .header("Keyrack-Actor", "demo")
            .header("Idempotency-Key", idempotency_key);
        if let Some(body) = body {
            request = request.json(body);
        }
        let answer = request.send().await.context("asking the daemon")?;
        let status = answer.status().as_u16();
        let text = answer.text().await.context("reading the daemon's answer")?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Said { status, body })
    }

    /// Writes down what was acknowledged of a reservation.
    fn note(&self, said: Option<&Said>) {
        let Some(said) = said.filter(|said| (200..300).contains(&said.status)) else {
            return;
        };
        let (Some(id), Some(status)) = (said.body["id"].as_str(), said.body["status"].as_str())
        else {
            return;
        };
        let acknowledged = Acknowledged {
            id: id.to_owned(),
            status: status.to_owned(),
            is_made: said.status == 201,
        };
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        journal.push(acknowledged);
    }
}

/// Between two tries of the same.
const AGAIN: Duration = Duration::from_millis(100);
