//! An example hotel in a database of its own.

use keyrack_embedded::{TestDatabase, test_database};
use keyrack_ledger::catalog::{self, Property, PropertySetup, RatePlanSetup, RoomTypeSetup};
use keyrack_ledger::command::By;
use keyrack_ledger::handle::{Ledger, MIGRATOR};
use keyrack_ledger::settings::Settings;
use keyrack_ledger::verify::{self, Extent};
use keyrack_model::id::{ConnectionId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::money::Currency;
use keyrack_model::stay::{Stay, StayDate, plus_days};
use sqlx::PgPool;

/// A ledger with one property, on the business day 2030-06-01.
pub struct Hotel {
    pub ledger: Ledger,
    pub property: PropertyId,
    pub by: By,
    /// To look behind the door, and to move the clock.
    pub pool: PgPool,
    database: TestDatabase,
}

/// The business day on which every test begins.
pub fn today() -> StayDate {
    jiff::civil::date(2030, 6, 1)
}

/// So many days after [`today`].
pub fn day(offset: i32) -> StayDate {
    plus_days(today(), offset)
}

pub fn stay(from: i32, to: i32) -> Stay {
    Stay::new(day(from), day(to)).expect("a stay")
}

pub fn setup() -> PropertySetup {
    PropertySetup {
        name: "Seehof".into(),
        time_zone: "Europe/Rome".into(),
        currency: Currency::from_code("EUR").expect("known"),
        day_roll_over: jiff::civil::time(4, 0, 0, 0),
        horizon_days: 30,
        hold_seconds: 900,
        confirm_grace_seconds: 120,
        extensions_max: 2,
        late_confirm_retakes: false,
        bookable_from: None,
        rate_min_minor: None,
        rate_max_minor: None,
        policies: serde_json::json!({}),
    }
}

pub fn room_type(name: &str, rooms: i32) -> RoomTypeSetup {
    RoomTypeSetup {
        name: name.into(),
        rooms,
        counts_beds: false,
        adults_max: 2,
        children_max: 1,
        total_max: 3,
        hold_seconds: None,
        components: Vec::new(),
    }
}

pub fn rate_plan(name: &str) -> RatePlanSetup {
    RatePlanSetup {
        name: name.into(),
        meal_plan: "room_only".into(),
        derived_from: None,
        cancellation_terms: serde_json::json!([]),
    }
}

impl Hotel {
    pub async fn open() -> Self {
        let database = test_database(&MIGRATOR).await;
        let pool = PgPool::connect_with(database.options())
            .await
            .expect("a pool");
        set_clock(&pool, "2030-06-01T10:00:00Z").await;
        let ledger = Ledger::open(database.options(), Settings::default())
            .await
            .expect("a ledger");
        let by = By {
            actor: "key:1 (Anna)".into(),
            request_id: Some("request-1".into()),
        };
        let put = catalog::put_property(&ledger, &by, "seehof", setup(), None).await;
        let (property, is_new) = put.expect("no failure").expect("no refusal");
        assert!(is_new);
        Self {
            ledger,
            property: property.id,
            by,
            pool,
            database,
        }
    }

    /// A second daemon on the same database.
    pub async fn second_daemon(&self) -> Ledger {
        Ledger::open(self.database.options(), Settings::default())
            .await
            .expect("a second ledger")
    }

    /// Waits until so many connections wait for a lock.
    pub async fn waiting(&self, connections: i64) {
        for _ in 0..2_000 {
            let waiting: i64 = sqlx::query_scalar(
                "select count(*) from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock'",
            )
            .fetch_one(&self.pool)
            .await
            .expect("a count");
            if waiting >= connections {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        panic!("nobody waits");
    }

    /// Moves the database's clock to an instant.
    pub async fn at(&self, instant: &str) {
        set_clock(&self.pool, instant).await;
    }

    pub async fn property(&self) -> Property {
        let found = catalog::property(&self.ledger, "seehof")
            .await
            .expect("no failure");
        found.expect("the property")
    }

    pub async fn room_type(&self, code: &str, setup: RoomTypeSetup) -> RoomTypeId {
        let (ledger, by) = (&self.ledger, &self.by);
        let put =
            catalog::put_room_type(ledger, self.property, by, code, setup, None, None, false).await;
        let change = put.expect("no failure").expect("no refusal");
        change.room_type.expect("a type").id
    }

    pub async fn rate_plan(&self, code: &str, setup: RatePlanSetup) -> RatePlanId {
        let put =
            catalog::put_rate_plan(&self.ledger, self.property, &self.by, code, setup, None).await;
        put.expect("no failure").expect("no refusal").0.id
    }

    pub async fn connection(&self, code: &str) -> ConnectionId {
        let id: i64 = sqlx::query_scalar(
            "insert into connection (code, channel, credentials) values ($1, 'fake', '') \
             returning connection_id",
        )
        .bind(code)
        .fetch_one(&self.pool)
        .await
        .expect("a connection");
        ConnectionId(id)
    }

    pub async fn rules_version(&self) -> i64 {
        sqlx::query_scalar("select rules_version from property where property_id = $1")
            .bind(self.property.0)
            .fetch_one(&self.pool)
            .await
            .expect("a version")
    }

    /// Every number is proved.
    pub async fn proven(&self) {
        let proof = verify::verify(&self.ledger, Some(self.property), Extent::Whole)
            .await
            .expect("no failure");
        assert_eq!(
            proof.differences,
            [],
            "the ledger does not prove its numbers"
        );
        assert!(proof.nights > 0);
    }

    /// What the feed would read: type, plan, account, from, until, fields.
    pub async fn rate_changes(&self) -> Vec<String> {
        sqlx::query_scalar(
            "select concat_ws(' ', room_type_id, rate_plan_id, account_id, night_from, night_until,
             array_to_string(fields, ',')) from rate_change where property_id = $1 order by seq",
        )
        .bind(self.property.0)
        .fetch_all(&self.pool)
        .await
        .expect("rate changes")
    }
}

async fn set_clock(pool: &PgPool, instant: &str) {
    sqlx::query("update clock_shift set shift = $1::timestamptz - clock_timestamp()")
        .bind(instant)
        .execute(pool)
        .await
        .expect("the clock moves");
}
