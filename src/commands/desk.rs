//! The API asked from inside this process, for commands that are given at a shell.
//!
//! What such a command says and refuses is what the API says and refuses, word for word, since it
//! is the API that answers: the same rules, dry runs, reasons of force and sentences, and nothing
//! of them is written down a second time here.

use anyhow::{Context as _, Result, bail, ensure};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderValue, Method, Request, header};
use clap::Args;
use jiff::civil::Date;
use keyrack_api::auth::OfCommand;
use keyrack_api::state::{ApiState, Outside};
use keyrack_distribution::seal::Seal;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::{catalog, tail};
use reqwest::Url;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::database::Database;
use crate::place::Place;
use crate::refused::Refused;
use crate::startup::{assemble_engine, clock, open_ledger};
use crate::{say, seal_key};

/// Flags of every command that asks the API.
#[derive(Debug, Args)]
pub struct Asker {
    /// Which property, by its code; needed where there are several.
    #[arg(long, value_name = "CODE")]
    property: Option<String>,
    /// Who you are: what is changed is written down under this name.
    #[arg(long, value_name = "NAME")]
    actor: Option<String>,
    /// The answer as JSON, in the API's own shapes; a refusal as its problem.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

/// What a subcommand takes, and the flags of all.
#[derive(Debug, Args)]
pub struct With<T: Args> {
    #[command(flatten)]
    pub what: T,
    #[command(flatten)]
    pub asker: Asker,
}

/// What came of it: for programs and for people.
pub struct Answer {
    /// In the API's own shapes.
    pub json: Value,
    /// Lines to read.
    pub text: String,
    /// Nothing stands in the way of what was tried.
    pub is_well: bool,
}

impl Answer {
    /// Nothing stands in the way.
    pub fn of(json: Value, text: String) -> Self {
        Self {
            json,
            text,
            is_well: true,
        }
    }
}

/// Somebody's place at a property.
pub struct Desk {
    ledger: Ledger,
    router: Router,
    property: String,
    command: &'static str,
    actor: Option<HeaderValue>,
}

/// Opens a desk, lets `work` ask at it, and says what came of it; whether all was well.
pub async fn ask(
    asker: &Asker,
    command: &'static str,
    work: impl AsyncFnOnce(&Desk) -> Result<Answer>,
) -> Result<bool> {
    let config = asker.place.config()?;
    let database = Database::that_is_there(&config).await?;
    let ledger = open_ledger(&config, &database).await?;
    // Nothing is sealed or opened here: any key will do.
    let seal = match seal_key::find(&config)? {
        Some(seal) => seal,
        None => Seal::new(&Seal::fresh_key())?,
    };
    let engine = assemble_engine(&config, &database, &ledger, seal)?;
    let outside = Outside {
        metrics: Box::new(String::new),
        clock,
    };
    let router = keyrack_api::router(ApiState::new(engine, config.api.clone(), outside));
    let done = async {
        let desk = Desk::at(ledger.clone(), router, asker, command).await?;
        work(&desk).await
    };
    let done = done.await;
    ledger.close().await;
    database.close().await?;
    match done {
        Ok(answer) if asker.json => {
            say::line(&serde_json::to_string_pretty(&answer.json)?);
            Ok(answer.is_well)
        }
        Ok(answer) => {
            say::line(answer.text.trim_end());
            Ok(answer.is_well)
        }
        Err(error) => match error.downcast::<Refused>() {
            Ok(Refused(problem)) if asker.json => {
                say::line(&serde_json::to_string_pretty(&problem)?);
                Ok(false)
            }
            Ok(refused) => Err(refused.into()),
            Err(error) => Err(error),
        },
    }
}

impl Desk {
    async fn at(
        ledger: Ledger,
        router: Router,
        asker: &Asker,
        command: &'static str,
    ) -> Result<Self> {
        let actor = asker.actor.as_deref().map(HeaderValue::from_str);
        let mut desk = Self {
            ledger,
            router,
            property: asker.property.clone().unwrap_or_default(),
            command,
            actor: actor.transpose().context("--actor is a name")?,
        };
        if asker.property.is_none() {
            desk.property = desk.only_property().await?;
        }
        Ok(desk)
    }

    /// The property, where there is one alone.
    async fn only_property(&self) -> Result<String> {
        let all = catalog::properties(&self.ledger, None, SHOWN).await?;
        match all.as_slice() {
            [] => bail!("there is no property yet: put one through the API first"),
            [only] => Ok(only.code.clone()),
            several => {
                let codes: Vec<&str> = several.iter().map(|one| one.code.as_str()).collect();
                bail!("say which property with --property: {}", codes.join(", "))
            }
        }
    }

    /// Code of the property.
    pub fn property(&self) -> &str {
        &self.property
    }

    /// The property as the API shows it.
    pub async fn hotel(&self) -> Result<Value> {
        self.read(&[], &[]).await
    }

    /// The business day of the property.
    pub async fn today(&self) -> Result<Date> {
        // Asked of the API first: it says what is wrong with the code.
        self.hotel().await?;
        let found = catalog::property(&self.ledger, &self.property).await?;
        let found = found.with_context(|| format!("there is no property {}", self.property))?;
        Ok(tail::business_day(&self.ledger, found.id).await?.0)
    }

    /// What stands at a path below the property.
    pub async fn read(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value> {
        let url = self.url(path, query)?;
        self.send(request(Method::GET, &url), Body::empty()).await
    }

    /// The same, or `None` where it is not there.
    pub async fn look(&self, path: &[&str]) -> Result<Option<Value>> {
        match self.read(path, &[]).await {
            Ok(found) => Ok(Some(found)),
            Err(error) => match error.downcast_ref::<Refused>() {
                Some(refused) if refused.code() == "not_found" => Ok(None),
                _ => Err(error),
            },
        }
    }

    /// A list, every page of it, as one page.
    pub async fn all(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Value> {
        let mut items = Vec::new();
        let mut cursor: Option<String> = None;
        loop {
            let mut query = query.to_vec();
            query.push(("limit", "500"));
            query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
            let mut page = self.read(path, &query).await?;
            if let Value::Array(more) = page["items"].take() {
                items.extend(more);
            }
            cursor = page["next_cursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                return Ok(json!({ "items": items }));
            }
        }
    }

    /// Changes something, of the version that was read where one is given.
    pub async fn change(
        &self,
        method: Method,
        (path, query): (&[&str], &[(&str, &str)]),
        body: &Value,
        version: Option<i64>,
    ) -> Result<Value> {
        let mut request = request(method, &self.url(path, query)?)
            .header(header::CONTENT_TYPE, "application/json");
        if let Some(version) = version {
            request = request.header(header::IF_MATCH, format!("\"{version}\""));
        }
        self.send(request, Body::from(body.to_string())).await
    }

    /// Sends a file, under a key by which a repeat of it is known.
    pub async fn file(
        &self,
        (path, query): (&[&str], &[(&str, &str)]),
        media: &str,
        key: &str,
        bytes: Vec<u8>,
    ) -> Result<Value> {
        let request = request(Method::POST, &self.url(path, query)?)
            .header(header::CONTENT_TYPE, media)
            .header("idempotency-key", key);
        self.send(request, Body::from(bytes)).await
    }

    fn url(&self, path: &[&str], query: &[(&str, &str)]) -> Result<Url> {
        let mut url = Url::parse("http://inside/v1/properties")?;
        for part in [self.property.as_str()].iter().chain(path) {
            ensure!(!matches!(*part, "" | "." | ".."), "{part:?} is no code");
            if let Ok(mut parts) = url.path_segments_mut() {
                parts.push(part);
            }
        }
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        Ok(url)
    }

    async fn send(&self, request: axum::http::request::Builder, body: Body) -> Result<Value> {
        let mut request = request.body(body).context("asking the API")?;
        request.extensions_mut().insert(OfCommand(self.command));
        if let Some(actor) = &self.actor {
            request.headers_mut().insert("keyrack-actor", actor.clone());
        }
        let Ok(response) = self.router.clone().oneshot(request).await;
        let status = response.status();
        let bytes = to_bytes(response.into_body(), usize::MAX).await?;
        let value = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
        if !status.is_success() {
            return Err(Refused(value).into());
        }
        Ok(value)
    }
}

fn request(method: Method, url: &Url) -> axum::http::request::Builder {
    let path = match url.query() {
        Some(query) => format!("{}?{query}", url.path()),
        None => url.path().to_owned(),
    };
    Request::builder().method(method).uri(path)
}

/// Properties that are named where it must be said which.
const SHOWN: u32 = 20;
