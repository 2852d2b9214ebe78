//! The page from outside, on a real Postgres.

use axum::Router;
use axum::body::Body;
use axum::http::{Request, StatusCode};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyrack_distribution::Distribution;
use keyrack_distribution::channels::Channels;
use keyrack_distribution::seal::Seal;
use keyrack_embedded::{TestDatabase, test_database};
use keyrack_ledger::catalog::{self, PropertySetup, RoomTypeSetup};
use keyrack_ledger::command::{Asked, By, Command, NightChange, Wish, WishedRoom};
use keyrack_ledger::handle::{Ledger, MIGRATOR};
use keyrack_ledger::keys::{self, Role};
use keyrack_ledger::tail;
use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::money::Currency;
use keyrack_model::reservation::{Guest, Source};
use keyrack_model::stay::{Stay, plus_days};
use sqlx::PgPool;
use tower::ServiceExt;
use uuid::Uuid;

struct Desk {
    router: Router,
    ledger: Ledger,
    seehof: PropertyId,
    _database: TestDatabase,
}

impl Desk {
    /// Two hotels; in the first a room is taken tonight.
    async fn open() -> Self {
        let database = test_database(&MIGRATOR).await;
        let pool = PgPool::connect_with(database.options())
            .await
            .expect("a pool");
        let ledger = Ledger::open(
            database.options(),
            keyrack_ledger::settings::Settings::default(),
        );
        let ledger = ledger.await.expect("a ledger");
        let seehof = hotel(&ledger, "seehof", "Seehof").await;
        hotel(&ledger, "bergblick", "Bergblick").await;
        let engine = Distribution::assemble(
            ledger.clone(),
            pool,
            Channels::new(Vec::new()),
            Seal::new(&Seal::fresh_key()).expect("a fresh key is a key"),
            keyrack_distribution::settings::Settings::default(),
        );
        let router = keyrack_console::router(engine.expect("an engine"));
        Self {
            router,
            ledger,
            seehof,
            _database: database,
        }
    }

    async fn book(&self) {
        let (today, _) = tail::business_day(&self.ledger, self.seehof)
            .await
            .expect("a day");
        let types = catalog::room_types(&self.ledger, self.seehof)
            .await
            .expect("types");
        let wish = Wish {
            reservation: ReservationId(Uuid::now_v7()),
            hold: None,
            source: Source::Phone,
            rooms: vec![WishedRoom {
                room_stay: None,
                room_type: types[0].id,
                rate_plan: None,
                stay: Stay::new(today, plus_days(today, 1)).expect("a night"),
                quantity: 1,
                price: None,
                adults: None,
                children_ages: Vec::new(),
                guest_name: None,
                allotment: None,
            }],
            guest: Some(Guest {
                name: "Ada Example".into(),
                ..Guest::default()
            }),
            note: None,
            owner_id: None,
            payment_reference: None,
            channel: None,
            guaranteed: false,
            force: None,
        };
        let command = Command::Request(Box::new(wish));
        let asked = Asked::new(self.seehof, By::default().into(), command);
        self.ledger
            .ask(asked)
            .await
            .expect("no failure")
            .expect("no refusal");
    }

    async fn look(&self, path: &str, login: Option<&str>) -> (StatusCode, String) {
        let mut request = Request::get(path);
        if let Some(key) = login {
            let basic = STANDARD.encode(format!("anna:{key}"));
            request = request.header("authorization", format!("Basic {basic}"));
        }
        let request = request.body(Body::empty()).expect("a request");
        let response = self
            .router
            .clone()
            .oneshot(request)
            .await
            .expect("an answer");
        let status = response.status();
        let is_asked = response.headers().contains_key("www-authenticate");
        assert_eq!(is_asked, status == StatusCode::UNAUTHORIZED);
        assert_eq!(response.headers()["cache-control"], "no-store");
        let body = axum::body::to_bytes(response.into_body(), usize::MAX).await;
        (
            status,
            String::from_utf8_lossy(&body.expect("a body")).into_owned(),
        )
    }
}

async fn hotel(ledger: &Ledger, code: &str, name: &str) -> PropertyId {
    let by = By::default();
    let setup = PropertySetup {
        name: name.into(),
        time_zone: "Europe/Rome".into(),
        currency: Currency::from_code("EUR").expect("known"),
        day_roll_over: Default::default(),
        horizon_days: 30,
        hold_seconds: 900,
        confirm_grace_seconds: 120,
        extensions_max: 2,
        late_confirm_retakes: false,
        bookable_from: None,
        rate_min_minor: None,
        rate_max_minor: None,
        policies: serde_json::json!({}),
    };
    let put = catalog::put_property(ledger, &by, code, setup, None).await;
    let (property, _) = put.expect("no failure").expect("no refusal");
    let double = RoomTypeSetup {
        name: "Double".into(),
        rooms: 7,
        counts_beds: false,
        adults_max: 2,
        children_max: 0,
        total_max: 2,
        hold_seconds: None,
        components: Vec::new(),
    };
    let id = property.id;
    let put = catalog::put_room_type(ledger, id, &by, "DBL", double, None, None, false).await;
    put.expect("no failure").expect("no refusal");
    id
}

#[tokio::test]
async fn the_page_asks_for_a_key_and_shows_nights_and_reservations_without_guests() {
    let desk = Desk::open().await;
    desk.book().await;
    let (_, key) = keys::create(&desk.ledger, Role::ReadOnly, None, "")
        .await
        .expect("a key");
    for login in [None, Some("kr_guessed"), Some("")] {
        let (status, body) = desk.look("/", login).await;
        assert_eq!(status, StatusCode::UNAUTHORIZED);
        assert!(!body.contains("Seehof"));
    }
    let (status, body) = desk.look("/?property=seehof", Some(&key)).await;
    assert_eq!(status, StatusCode::OK);
    for word in [
        "Seehof",
        "Bergblick",
        "DBL",
        "confirmed",
        "phone",
        "<b>6</b> / 1 / 0",
    ] {
        assert!(body.contains(word), "{word}: {body}");
    }
    assert!(!body.contains("Ada"), "guests are not shown");
}

#[tokio::test]
async fn a_key_of_one_property_sees_that_property() {
    let desk = Desk::open().await;
    let own = Some(desk.seehof);
    let (_, key) = keys::create(&desk.ledger, Role::Admin, own, "")
        .await
        .expect("a key");
    let (_, body) = desk.look("/", Some(&key)).await;
    assert!(
        body.contains("Seehof") && !body.contains("Bergblick"),
        "{body}"
    );
    let (status, body) = desk.look("/?property=bergblick", Some(&key)).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(!body.contains("Bergblick"), "{body}");
    let hostile = "/?property=%3Cscript%3E&x=%00";
    let (status, body) = desk.look(hostile, Some(&key)).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(!body.contains("<script>"));
}

#[tokio::test]
async fn open_overbooking_cases_stand_first_with_owner_and_deadline() {
    let desk = Desk::open().await;
    let (_, key) = keys::create(&desk.ledger, Role::ReadOnly, None, "")
        .await
        .expect("a key");
    let (_, body) = desk.look("/?property=seehof", Some(&key)).await;
    assert!(!body.contains("Overbookings to resolve"));
    desk.book().await;
    let (today, _) = tail::business_day(&desk.ledger, desk.seehof)
        .await
        .expect("a day");
    let types = catalog::room_types(&desk.ledger, desk.seehof)
        .await
        .expect("types");
    let burnt = Command::SetNights {
        changes: vec![NightChange {
            room_type: types[0].id,
            nights: Stay::new(today, plus_days(today, 1)).expect("a night"),
            out_of_order: Some(7),
            overbooking_limit: None,
            reason: Some("fire".into()),
        }],
        dry_run: false,
    };
    let asked = Asked::new(desk.seehof, By::default().into(), burnt);
    let done = desk.ledger.ask(asked).await.expect("no failure");
    done.expect("no refusal");
    let (_, body) = desk.look("/?property=seehof", Some(&key)).await;
    for word in [
        "Overbookings to resolve",
        "nobody",
        "undetermined",
        &today.to_string(),
    ] {
        assert!(body.contains(word), "{word}: {body}");
    }
}
