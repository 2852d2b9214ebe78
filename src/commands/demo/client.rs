//! The demo's way to the daemon: over HTTP with a key, as anybody outside comes.

use anyhow::{Context as _, Result, bail};
use keyrack_distribution::tls;
use reqwest::{Method, RequestBuilder};
use serde_json::Value;

/// A caller of the admin API.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    key: String,
    property: String,
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
        })
    }

    /// Calls a path below `/v1`.
    pub async fn call(&self, method: Method, path: &str, body: Option<Value>) -> Result<Said> {
        let request = self.http.request(method, format!("{}/v1/{path}", self.url));
        self.send(request, body, &uuid::Uuid::new_v4().to_string())
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
        self.send(self.http.request(method, url), body, key).await
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

    async fn send(
        &self,
        request: RequestBuilder,
        body: Option<Value>,
        idempotency_key: &str,
    ) -> Result<Said> {
        let mut request = request
            .bearer_auth(&self.key)
            .header("Keyrack-Actor", "demo")
            .header("Idempotency-Key", idempotency_key);
        if let Some(body) = &body {
            request = request.json(body);
        }
        let answer = request.send().await.context("asking the daemon")?;
        let status = answer.status().as_u16();
        let text = answer.text().await.context("reading the daemon's answer")?;
        let body = serde_json::from_str(&text).unwrap_or(Value::String(text));
        Ok(Said { status, body })
    }
}
