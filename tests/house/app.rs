//! The daemon as a story meets it: built by the roof's own start-up on a database of its own, asked
//! over HTTP.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use futures_util::future::join_all;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff_sqlx::ToSqlx as _;
use keyrack_commands::config::Config;
use keyrack_commands::database::Database;
use keyrack_commands::demo::client::Client;
use keyrack_commands::startup::Application;
use keyrack_distribution::Distribution;
use keyrack_distribution::seal::Seal;
use keyrack_embedded::{TestDatabase, test_database};
use keyrack_ledger::handle::{Ledger, MIGRATOR};
use keyrack_ledger::keys::{self, Role};
use keyrack_ledger::tail;
use keyrack_model::stay::plus_days;
use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, PgPool};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A daemon on a database of its own.
pub struct TestApp {
    /// What its addresses begin with.
    pub url: String,
    /// What is true, to look at it from behind.
    pub ledger: Ledger,
    /// The engine, to turn its crank.
    pub distribution: Distribution,
    client: reqwest::Client,
    key: String,
    today: Date,
    stop: CancellationToken,
    running: Mutex<Vec<Running>>,
    config: Config,
    seal: Seal,
    // Where the story looks, and turns the clock.
    behind: PgPool,
    // Last: dropped when nobody is connected any more.
    database: TestDatabase,
}

type Running = JoinHandle<anyhow::Result<()>>;

/// An answer, read whole.
pub struct Said {
    /// HTTP status.
    pub status: u16,
    /// Headers.
    pub headers: reqwest::header::HeaderMap,
    /// The body as JSON; `null` where it is none.
    pub body: Value,
}

impl Said {
    /// The stable word of a problem.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// A header's text.
    pub fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .and_then(|value| value.to_str().ok())
            .unwrap_or_default()
    }

    /// The body, where the status is the given one.
    pub fn expect(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{:#}", self.body);
        self.body
    }
}

impl TestApp {
    /// Starts a daemon with the settings of the manual.
    pub async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// Starts a daemon after `change` was made to the settings of the manual.
    pub async fn start_with(change: impl FnOnce(&mut Config)) -> Self {
        let database = test_database(&MIGRATOR).await;
        let mut config = Config::compiled_in().expect("the manual is a configuration");
        config.listen = ([127, 0, 0, 1], 0).into();
        change(&mut config);
        let seal = Seal::new(&Seal::fresh_key()).expect("a fresh key is a key");
        let application = built(&config, &database, &seal).await;
        let (url, ledger) = (application.url(), application.ledger().clone());
        let (_, key) = keys::create(&ledger, Role::Admin, None, "story")
            .await
            .expect("a key");
        let (_, now, _) = tail::cluster(&ledger).await.expect("the database's clock");
        let stop = CancellationToken::new();
        Self {
            today: now.to_zoned(TimeZone::UTC).date(),
            url,
            ledger,
            distribution: application.distribution().clone(),
            client: reqwest::Client::new(),
            key,
            running: Mutex::new(vec![tokio::spawn(
                application.run_until_stopped(stop.clone()),
            )]),
            stop,
            config,
            behind: PgPool::connect_lazy_with(database.options()),
            database,
            seal,
        }
    }

    /// Stops the daemon, and those beside it; time goes on.
    pub async fn fall_asleep(&self) {
        self.stop.cancel();
        let running = std::mem::take(&mut *self.running());
        for daemon in running {
            let ended = daemon.await.expect("the daemon does not panic");
            ended.expect("the daemon ends well");
        }
    }

    /// Starts so many daemons at once, on other ports; the first of them is the story's.
    pub async fn wake(&mut self, daemons: usize) {
        self.stop = CancellationToken::new();
        let each = (0..daemons).map(|_| built(&self.config, &self.database, &self.seal));
        let applications = join_all(each).await;
        if let Some(first) = applications.first() {
            self.url = first.url();
            self.ledger = first.ledger().clone();
            self.distribution = first.distribution().clone();
        }
        for application in applications {
            let running = tokio::spawn(application.run_until_stopped(self.stop.clone()));
            self.running().push(running);
        }
    }

    /// Time passes at the hotel.
    pub async fn pass(&self, interval: &str) {
        sqlx::query("update clock_shift set shift = shift + $1::text::interval")
            .bind(interval)
            .execute(&self.behind)
            .await
            .expect("time passes");
    }

    /// It is this instant at the hotel, and time goes on from there.
    pub async fn set_clock(&self, instant: Timestamp) {
        sqlx::query("update clock_shift set shift = $1::text::timestamptz - clock_timestamp()")
            .bind(instant.to_string())
            .execute(&self.behind)
            .await
            .expect("the clock moves");
    }

    /// What time it is at the hotel.
    pub async fn now(&self) -> Timestamp {
        let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select ledger_now()")
            .fetch_one(&self.behind)
            .await
            .expect("the hotel's clock");
        now.to_jiff()
    }

    /// A night of the stories, a month from now: `night(0)` is the first.
    pub fn night(&self, number: i32) -> Date {
        plus_days(self.today, 30 + number)
    }

    /// A wish for one double room for the nights `from..to` of [`TestApp::night`].
    pub fn wish(&self, status: &str, from: i32, to: i32) -> Value {
        json!({
            "status": status, "source": "phone", "guest": {"name": "Ada Example"},
            "rooms": [{
                "room_type": "double", "quantity": 1,
                "arrival": self.night(from), "departure": self.night(to),
            }],
        })
    }

    /// A second daemon on the same database: its address, and its engine to turn the crank of.
    pub async fn twin(&self) -> (String, Distribution) {
        let application = built(&self.config, &self.database, &self.seal).await;
        let twin = (application.url(), application.distribution().clone());
        let running = tokio::spawn(application.run_until_stopped(self.stop.clone()));
        self.running().push(running);
        twin
    }

    /// A second daemon on the same database, and a caller of it.
    pub async fn second_daemon(&self, property: &str) -> Client {
        let (url, _) = self.twin().await;
        Client::new(url, self.key.clone(), property).expect("a client")
    }

    /// A caller of this daemon for one property.
    pub fn caller(&self, property: &str) -> Client {
        Client::new(self.url.clone(), self.key.clone(), property).expect("a client")
    }

    /// The database from behind: to move its clock, to count its rows.
    pub async fn pool(&self) -> PgPool {
        PgPool::connect_with(self.database.options())
            .await
            .expect("a pool")
    }

    /// A request with the story's admin key; changes carry an `Idempotency-Key` of their own.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.request_at(&self.url, method, path)
    }

    /// The same of another daemon.
    pub fn request_at(&self, url: &str, method: Method, path: &str) -> RequestBuilder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let request = self
            .client
            .request(method.clone(), format!("{url}{path}"))
            .bearer_auth(&self.key);
        if method != Method::POST {
            return request;
        }
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        request.header("Idempotency-Key", format!("story-{count}"))
    }

    /// A request that names nobody.
    pub fn stranger(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    /// Reads.
    pub async fn get(&self, path: &str) -> Said {
        said(self.request(Method::GET, path)).await
    }

    /// Puts.
    pub async fn put(&self, path: &str, body: Value) -> Said {
        said(self.request(Method::PUT, path).json(&body)).await
    }

    /// Posts.
    pub async fn post(&self, path: &str, body: Value) -> Said {
        said(self.request(Method::POST, path).json(&body)).await
    }

    /// Its database's address, for a program beside it.
    pub fn database_url(&self) -> String {
        self.database.options().to_url_lossy().to_string()
    }

    /// A hotel with `rooms` double rooms, without rates.
    pub async fn hotel(&self, property: &str, rooms: u32) {
        let hotel = json!({
            "name": "Zur Linde", "time_zone": "Europe/Vienna", "currency": "EUR",
        });
        self.put(&format!("/v1/properties/{property}"), hotel)
            .await
            .expect(201);
        let double = json!({
            "name": "Double", "rooms": rooms, "counts": "rooms",
            "occupancy": {"adults_max": 2, "children_max": 1, "total_max": 3},
        });
        let path = format!("/v1/properties/{property}/room-types/double");
        self.put(&path, double).await.expect(201);
    }

    /// Free double rooms of each of the nights `from..to`.
    pub async fn free(&self, property: &str, from: Date, to: Date) -> Vec<i64> {
        let path = format!("/v1/properties/{property}/availability?from={from}&to={to}&fresh=true");
        let body = self.get(&path).await.expect(200);
        let types = body["room_types"].as_array().expect("room types");
        let nights = types[0]["nights"].as_array().expect("nights");
        nights
            .iter()
            .map(|night| night["free"].as_i64().expect("a number"))
            .collect()
    }

    /// Spoils a night behind the ledger's back, which nothing but a proof can notice.
    pub async fn spoil(&self, statement: &'static str, night: i32) {
        let mut connection = PgConnection::connect_with(&self.database.options())
            .await
            .expect("a connection");
        sqlx::query(statement)
            .bind(self.night(night).to_sqlx())
            .execute(&mut connection)
            .await
            .expect("spoilt");
    }

    /// Stops the daemon, proves every number of its ledger, and leaves.
    pub async fn end(self) {
        let verified = keyrack_ledger::verify::verify(
            &self.ledger,
            None,
            keyrack_ledger::verify::Extent::Whole,
        )
        .await
        .expect("a proof");
        assert_eq!(verified.differences, [], "the ledger proves its sums");
        self.fall_asleep().await;
        self.behind.close().await;
    }

    fn running(&self) -> std::sync::MutexGuard<'_, Vec<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn built(config: &Config, database: &TestDatabase, seal: &Seal) -> Application {
    let (at, seal) = (Database::at(database.options()), seal.clone());
    Application::build(config, at, seal, Box::new(String::new))
        .await
        .expect("the daemon is built")
}

/// Sends and reads the whole answer.
pub async fn said(request: RequestBuilder) -> Said {
    let answer = request.send().await.expect("an answer");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let bytes = answer.bytes().await.expect("a whole answer");
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Said {
        status,
        headers,
        body,
    }
}
