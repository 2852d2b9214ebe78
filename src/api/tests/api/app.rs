//! The API on a database of its own, asked without a socket.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use http::{HeaderMap, Method, Request, StatusCode};
use keyrack_api::settings::Settings;
use keyrack_api::state::{ApiState, Outside};
use keyrack_distribution::Distribution;
use keyrack_distribution::channels::Channels;
use keyrack_distribution::seal::Seal;
use keyrack_embedded::{TestDatabase, test_database};
use keyrack_ledger::handle::{Ledger, MIGRATOR};
use keyrack_ledger::keys::{self, Role};
use keyrack_model::id::PropertyId;
use serde_json::{Value, json};
use sqlx::PgPool;
use tower::ServiceExt;

use crate::portal::Portal;

/// The API with a key of each kind.
pub struct App {
    pub router: Router,
    pub ledger: Ledger,
    pub pool: PgPool,
    /// An admin's key.
    pub admin: String,
    pub database: TestDatabase,
}

/// An answer.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub bytes: Vec<u8>,
}

/// A question, built bit by bit.
pub struct Ask<'a> {
    app: &'a App,
    request: http::request::Builder,
    body: Vec<u8>,
}

/// The business day on which every test begins is 2030-06-01.
pub const NOW: &str = "2030-06-01T10:00:00Z";

impl App {
    /// An API without a hotel.
    pub async fn open() -> Self {
        Self::with(Settings::default()).await
    }

    /// An API with settings of its own.
    pub async fn with(settings: Settings) -> Self {
        let database = test_database(&MIGRATOR).await;
        let pool = PgPool::connect_with(database.options())
            .await
            .expect("a pool");
        let ledger = Ledger::open(
            database.options(),
            keyrack_ledger::settings::Settings::default(),
        );
        let ledger = ledger.await.expect("a ledger");
        set_clock(&pool, NOW).await;
        let router = router(&ledger, &pool, settings);
        let (_, admin) = keys::create(&ledger, Role::Admin, None, "tests")
            .await
            .expect("a key");
        Self {
            router,
            ledger,
            pool,
            admin,
            database,
        }
    }

    /// An API with the hotel `seehof`: 2 rooms of the type `DBL`, 5 of `SGL`.
    pub async fn with_hotel() -> Self {
        let app = Self::open().await;
        app.hotel("seehof").await;
        app
    }

    /// Makes a hotel.
    pub async fn hotel(&self, code: &str) {
        let put = self
            .put(&format!("/v1/properties/{code}"), property())
            .await;
        assert_eq!(put.status, 201, "{put:?}");
        for (room_type, rooms) in [("DBL", 2), ("SGL", 5)] {
            let path = format!("/v1/properties/{code}/room-types/{room_type}");
            let put = self.put(&path, self::room_type(rooms)).await;
            assert_eq!(put.status, 201, "{put:?}");
        }
    }

    /// The id of a property.
    pub async fn property(&self, code: &str) -> PropertyId {
        let found = keyrack_ledger::catalog::property(&self.ledger, code).await;
        found.expect("no failure").expect("the property").id
    }

    /// A key.
    pub async fn key(&self, role: Role, property: Option<PropertyId>) -> String {
        let made = keys::create(&self.ledger, role, property, "").await;
        made.expect("a key").1
    }

    /// A question with the admin's key.
    pub fn ask(&self, method: Method, path: &str) -> Ask<'_> {
        let bearer = format!("Bearer {}", self.admin);
        self.anonymous(method, path)
            .header("authorization", &bearer)
    }

    /// A question without a key.
    pub fn anonymous(&self, method: Method, path: &str) -> Ask<'_> {
        Ask {
            app: self,
            request: Request::builder().method(method).uri(path),
            body: Vec::new(),
        }
    }

    pub async fn read(&self, path: &str) -> Answer {
        self.ask(Method::GET, path).send().await
    }

    pub async fn put(&self, path: &str, body: Value) -> Answer {
        self.ask(Method::PUT, path).json(&body).send().await
    }

    /// A POST with a fresh idempotency key.
    pub async fn post(&self, path: &str, body: Value) -> Answer {
        let key = uuid::Uuid::new_v4().to_string();
        let ask = self.ask(Method::POST, path).json(&body);
        ask.header("idempotency-key", &key).send().await
    }

    /// A confirmed reservation of one double room.
    pub async fn book(&self, arrival: &str, departure: &str) -> Value {
        let path = "/v1/properties/seehof/reservations";
        let made = self.post(path, wish("confirmed", arrival, departure)).await;
        assert_eq!(made.status, 201, "{}", made.text());
        made.json()
    }

    /// What is free of a type on a night.
    pub async fn free(&self, room_type: &str, night: &str) -> i64 {
        let (year, rest) = night.split_at(8);
        let next = rest.parse::<u32>().expect("a day") + 1;
        let nights = format!("from={night}&to={year}{next:02}");
        let path = format!("/v1/properties/seehof/availability?{nights}&room_type={room_type}");
        let read = self.read(&path).await;
        assert_eq!(read.status, 200, "{}", read.text());
        let free = &read.json()["room_types"][0]["nights"][0]["free"];
        free.as_i64().expect("a number")
    }
}

/// The router over a ledger; the engine's loops stand still.
pub fn router(ledger: &Ledger, pool: &PgPool, settings: Settings) -> Router {
    let seal = Seal::new(&Seal::fresh_key()).expect("a fresh key is a key");
    let engine = Distribution::assemble(
        ledger.clone(),
        pool.clone(),
        Channels::new(vec![Arc::new(Portal)]),
        seal,
        keyrack_distribution::settings::Settings::default(),
    );
    let outside = Outside {
        metrics: Box::new(|| "# nothing counted\n".to_owned()),
        clock: || NOW.parse().expect("an instant"),
    };
    let engine = engine.expect("an engine");
    keyrack_api::router(ApiState::new(engine, settings, outside))
}

/// Moves the database's clock.
pub async fn set_clock(pool: &PgPool, instant: &str) {
    sqlx::query("update clock_shift set shift = $1::text::timestamptz - clock_timestamp()")
        .bind(instant)
        .execute(pool)
        .await
        .expect("the clock moves");
}

/// A property as it is put.
pub fn property() -> Value {
    json!({
        "name": "Seehof", "time_zone": "Europe/Rome", "currency": "EUR", "horizon_days": 60,
        "hold": {"hold_seconds": 600, "confirm_grace_seconds": 60}
    })
}

/// A room type as it is put.
pub fn room_type(rooms: i32) -> Value {
    json!({
        "name": "Room", "rooms": rooms, "counts": "rooms",
        "occupancy": {"adults_max": 2, "children_max": 1, "total_max": 3}
    })
}

/// A wish for one double room.
pub fn wish(status: &str, arrival: &str, departure: &str) -> Value {
    json!({
        "status": status, "source": "phone",
        "rooms": [{"room_type": "DBL", "arrival": arrival, "departure": departure, "quantity": 1}],
        "guest": {"name": "Ada Example", "email": "ada@example.org"}
    })
}

impl Ask<'_> {
    pub fn header(mut self, name: &str, value: &str) -> Self {
        if name == "authorization" {
            let headers = self.request.headers_mut().expect("a good request");
            headers.remove("authorization");
        }
        self.request = self.request.header(name, value);
        self
    }

    pub fn key(self, key: &str) -> Self {
        self.header("authorization", &format!("Bearer {key}"))
    }

    pub fn json(self, body: &Value) -> Self {
        self.text("application/json", &body.to_string())
    }

    pub fn text(self, kind: &str, body: &str) -> Self {
        self.raw(kind, body.as_bytes())
    }

    pub fn raw(mut self, kind: &str, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self.header("content-type", kind)
    }

    pub async fn send(self) -> Answer {
        let router = self.app.router.clone();
        let response = router.oneshot(self.request()).await;
        answered(response.expect("an answer")).await
    }

    /// The question itself, for another router.
    pub fn request(self) -> Request<Body> {
        self.request.body(Body::from(self.body)).expect("a request")
    }
}

/// An answer, whole. No answer may be a fault of ours: that is held everywhere.
pub async fn answered(response: axum::response::Response) -> Answer {
    let (parts, body) = response.into_parts();
    let bytes = axum::body::to_bytes(body, usize::MAX)
        .await
        .expect("a body");
    let answer = Answer {
        status: parts.status,
        headers: parts.headers,
        bytes: bytes.to_vec(),
    };
    assert_ne!(answer.status, 500, "{}", answer.text());
    answer
}

impl Answer {
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.bytes).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    /// The code of a problem, which must look as problems look.
    pub fn code(&self) -> String {
        let body = self.json();
        let kind = &self.headers["content-type"];
        assert_eq!(kind, "application/problem+json", "{body}");
        assert_eq!(body["status"], self.status.as_u16(), "{body}");
        for field in ["type", "title", "detail", "request_id"] {
            let text = body[field].as_str().unwrap_or_default();
            assert!(!text.is_empty(), "{field} of {body}");
        }
        assert_eq!(body["request_id"], self.header("x-request-id"));
        body["code"].as_str().expect("a code").to_owned()
    }

    /// Where the first wrong field is.
    pub fn pointer(&self) -> String {
        let body = self.json();
        body["errors"][0]["pointer"]
            .as_str()
            .unwrap_or("none")
            .to_owned()
    }

    pub fn header(&self, name: &str) -> &str {
        let value = self.headers.get(name);
        value.and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}
