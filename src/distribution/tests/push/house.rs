//! A hotel with one account at the portal, and short ways to change it and to look at it.

use std::sync::Arc;

use jiff::civil::{Date, date};
use keyrack_distribution::accounts::{self, go_live, status::Status};
use keyrack_distribution::channels::Channels;
use keyrack_distribution::connections::{self, ConnectionSetup, Credentials};
use keyrack_distribution::poll::{self, PollOutcome};
use keyrack_distribution::seal::Seal;
use keyrack_distribution::settings::Settings;
use keyrack_distribution::{Distribution, notice, push};
use keyrack_embedded::{TestDatabase, test_database};
use keyrack_ledger::catalog::{
    self, AccountRow, MappingSetup, PropertySetup, RatePlanSetup, RoomTypeSetup,
};
use keyrack_ledger::command::{Asked, By, Command, Forced, Wish, WishedRoom};
use keyrack_ledger::handle::{Ledger, MIGRATOR};
use keyrack_ledger::rates::{self, RateChange};
use keyrack_ledger::reservations;
use keyrack_ledger::waitlist;
use keyrack_ledger::wish::{NewWish, Waiting};
use keyrack_model::adapter::Goal;
use keyrack_model::channel::AccountSettings;
use keyrack_model::id::{ChannelCode, PropertyId, RatePlanId, ReservationId, RoomTypeId};
use keyrack_model::money::Currency;
use keyrack_model::reservation::{Guest, Source};
use keyrack_model::stay::Stay;
use secrecy::SecretString;
use serde_json::json;
use sqlx::PgPool;
use uuid::Uuid;

use crate::channel::{Both, Deltas, Reopens, ReopensInSets, Sets, Silent};
use crate::portal::Portal;

/// A hotel; its clock stands on 20 February 2030, noon. Five doubles (`DBL`, plan `bar` as `BAR`),
/// two suites (`SUI`).
pub struct House {
    pub distribution: Distribution,
    pub ledger: Ledger,
    pub pool: PgPool,
    pub portal: Portal,
    pub property: PropertyId,
    pub double: RoomTypeId,
    pub suite: RoomTypeId,
    pub bar: RatePlanId,
    pub database: TestDatabase,
}

pub fn by() -> By {
    By {
        actor: "test".into(),
        request_id: None,
    }
}

/// A night of March 2030.
pub fn march(day: i8) -> Date {
    date(2030, 3, day)
}

pub fn settings() -> Settings {
    Settings {
        private_webhook_targets: true,
        ..Settings::default()
    }
}

impl House {
    /// Live at a channel that takes single nights, everything told.
    pub async fn live() -> Self {
        let house = Self::open("deltas", AccountSettings::default()).await;
        house.go_live().await;
        house
    }

    /// With an account in setup at a channel of that code.
    pub async fn open(channel: &str, account: AccountSettings) -> Self {
        Self::with(channel, account, settings()).await
    }

    pub async fn with(channel: &str, account: AccountSettings, settings: Settings) -> Self {
        let database = test_database(&MIGRATOR).await;
        let pool = PgPool::connect_with(database.options()).await.unwrap();
        sqlx::query(
            "update clock_shift set shift = timestamptz '2030-02-20 12:00+00' - clock_timestamp()",
        )
        .execute(&pool)
        .await
        .unwrap();
        let ledger = Ledger::open(database.options(), Default::default())
            .await
            .unwrap();
        let portal = Portal::open().await;
        let distribution = assemble(&ledger, &pool, settings);
        let (property, double, suite, bar) = hotel(&ledger).await;
        let house = Self {
            distribution,
            ledger,
            pool,
            portal,
            property,
            double,
            suite,
            bar,
            database,
        };
        house.list(channel, account).await;
        house.rates("amount_minor = 12000").await;
        push::drain(&house.distribution).await.unwrap();
        house
    }

    /// Another daemon on the same database.
    pub async fn twin(&self) -> Distribution {
        let ledger = Ledger::open(self.database.options(), Default::default())
            .await
            .unwrap();
        assemble(&ledger, &self.pool, settings())
    }

    async fn list(&self, channel: &str, settings: AccountSettings) {
        let setup = ConnectionSetup {
            channel: ChannelCode::from(channel.to_owned()),
            endpoint: Some(self.portal.url.clone()),
            credentials: Some(Credentials {
                user: "hotel".into(),
                secret: SecretString::from("s3cret"),
            }),
            settings: json!({}),
        };
        let put = connections::put(&self.distribution, "portal", setup, None).await;
        let (connection, _) = put.unwrap().unwrap();
        let (ledger, property) = (&self.ledger, self.property);
        let by = by();
        let put = catalog::put_account(
            ledger,
            property,
            &by,
            "portal",
            connection.id,
            channel,
            "H1",
            settings,
            None,
        );
        let (row, _) = put.await.unwrap().unwrap();
        catalog::put_mappings(ledger, row.account.id, &by, mappings())
            .await
            .unwrap()
            .unwrap();
        catalog::set_import_done(ledger, row.account.id, &by)
            .await
            .unwrap();
    }

    /// Goes live and tells everything; what the portal heard by then is forgotten.
    pub async fn go_live(&self) {
        let row = self.account().await;
        go_live::go_live(&self.distribution, &row, &by(), false)
            .await
            .unwrap()
            .unwrap();
        self.tell().await;
        self.polled().await;
        self.tell().await;
        self.portal.told();
    }

    pub async fn account(&self) -> AccountRow {
        accounts::find(&self.distribution, self.property, "portal")
            .await
            .unwrap()
            .unwrap()
    }

    pub async fn status(&self) -> Status {
        let row = self.account().await;
        accounts::status::load(&self.distribution, &row)
            .await
            .unwrap()
    }

    /// Turns the crank until nothing is due.
    pub async fn tell(&self) {
        push::drain(&self.distribution).await.unwrap();
    }

    /// A complete poll.
    pub async fn polled(&self) {
        let ended = poll::once(&self.distribution, "portal", Goal::Poll).await;
        assert!(matches!(ended.unwrap(), PollOutcome::Complete { .. }));
    }

    /// The listing is mapped otherwise.
    pub async fn map(&self, mappings: Vec<MappingSetup>) {
        let row = self.account().await;
        catalog::put_mappings(&self.ledger, row.account.id, &by(), mappings)
            .await
            .unwrap()
            .unwrap();
    }

    /// The desk takes rooms of a type for the nights `from..to` of March.
    pub async fn book(&self, room_type: RoomTypeId, from: i8, to: i8, quantity: i32) -> Uuid {
        self.book_by_force(room_type, from, to, quantity, None)
            .await
    }

    pub async fn book_by_force(
        &self,
        room_type: RoomTypeId,
        from: i8,
        to: i8,
        quantity: i32,
        force: Option<Forced>,
    ) -> Uuid {
        let id = Uuid::now_v7();
        let wish = Wish {
            reservation: ReservationId(id),
            hold: None,
            source: Source::Phone,
            rooms: vec![WishedRoom {
                room_stay: None,
                room_type,
                rate_plan: None,
                stay: Stay::new(march(from), march(to)).unwrap(),
                quantity,
                price: None,
                adults: None,
                children_ages: Vec::new(),
                guest_name: None,
                allotment: None,
            }],
            guest: None,
            note: None,
            owner_id: None,
            payment_reference: None,
            channel: None,
            guaranteed: false,
            force,
        };
        self.ask(Command::Request(Box::new(wish))).await;
        id
    }

    /// A guest waits for a double on a night of March.
    pub async fn waits(&self, day: i8) -> Waiting {
        let wish = NewWish {
            stay: Stay::new(march(day), march(day + 1)).unwrap(),
            room_types: vec![self.double],
            quantity: 1,
            adults: None,
            source: Source::Web,
            guest: Guest {
                name: "Anna".into(),
                email: Some("anna@example.com".into()),
                ..Guest::default()
            },
            note: None,
            answer_seconds: None,
        };
        let added = waitlist::add(&self.ledger, self.property, &wish).await;
        added.unwrap().unwrap()
    }

    pub async fn waiting(&self, id: Uuid) -> Waiting {
        let found = waitlist::find(&self.ledger, self.property, id).await;
        found.unwrap().unwrap()
    }

    pub async fn cancel(&self, id: Uuid) {
        self.ask(Command::Cancel {
            reservation: ReservationId(id),
            reason: None,
            told_channel: false,
            version: None,
        })
        .await;
    }

    pub async fn ask(&self, command: Command) {
        let asked = Asked::new(self.property, Arc::new(by()), command);
        reservations::ask(&self.ledger, asked)
            .await
            .unwrap()
            .unwrap();
    }

    /// Sets something of the plan `bar` of the doubles in March: `min_stay_arrival = 2`.
    pub async fn rates(&self, set: &str) {
        self.rate_nights(set, march(1), date(2030, 4, 1)).await;
    }

    pub async fn rate_nights(&self, set: &str, from: Date, to: Date) {
        let change = RateChange {
            room_type: Some(self.double),
            rate_plan: Some(self.bar),
            nights: Stay::new(from, to),
            ..change(set)
        };
        rates::set(&self.ledger, self.property, &by(), &[change], false)
            .await
            .unwrap()
            .unwrap();
    }

    /// The clock moves on.
    pub async fn pass(&self, interval: &str) {
        sqlx::query("update clock_shift set shift = shift + $1::text::interval")
            .bind(interval)
            .execute(&self.pool)
            .await
            .unwrap();
    }

    pub async fn count(&self, sql: &str) -> i64 {
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql.to_owned()))
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }

    /// The kinds of the notices that stand.
    pub async fn notices(&self) -> Vec<String> {
        let all = notice::list(&self.distribution, None, 99).await.unwrap();
        all.into_iter().map(|notice| notice.kind).collect()
    }

    /// Marks that are still to be told.
    pub async fn queue(&self) -> i64 {
        self.count("select count(*) from mark").await
    }

    /// Doubles that the ledger says are free on a night.
    pub async fn free(&self, night: Date) -> i64 {
        let nights = Stay::night(night).unwrap();
        let only = Some(self.double);
        let read =
            keyrack_ledger::inventory::availability(&self.ledger, self.property, nights, only);
        let (_, types) = read.await.unwrap();
        types[0].nights[0].free.into()
    }
}

fn change(set: &str) -> RateChange {
    let (field, value) = set.split_once(" = ").unwrap();
    let (days, amount) = (Some(value.parse().ok()), Some(value.parse().ok()));
    let flag = value.parse().ok();
    let mut change = RateChange::default();
    match field {
        "amount_minor" => change.rate_minor = amount,
        "min_stay_arrival" => change.min_stay_arrival = days,
        "min_stay_through" => change.min_stay_through = days,
        "max_stay" => change.max_stay = days,
        "closed_to_arrival" => change.closed_to_arrival = flag,
        "closed_to_departure" => change.closed_to_departure = flag,
        "min_advance_days" => change.min_advance_days = days,
        "max_advance_days" => change.max_advance_days = days,
        "stop_sell" => change.stop_sell = flag,
        _ => panic!("no field {field}"),
    }
    change
}

pub fn assemble(ledger: &Ledger, pool: &PgPool, settings: Settings) -> Distribution {
    let channels = Channels::new(vec![
        Arc::new(Deltas),
        Arc::new(Reopens),
        Arc::new(ReopensInSets),
        Arc::new(Sets),
        Arc::new(Both),
        Arc::new(Silent),
    ]);
    let seal = Seal::new(&SecretString::from("07".repeat(32))).unwrap();
    Distribution::assemble(ledger.clone(), pool.clone(), channels, seal, settings).unwrap()
}

/// The doubles with their plan, and the suites.
pub fn mappings() -> Vec<MappingSetup> {
    vec![
        map("double", Some("bar"), "DBL", Some("BAR")),
        map("suite", None, "SUI", None),
    ]
}

pub fn map(room_type: &str, plan: Option<&str>, room: &str, rate: Option<&str>) -> MappingSetup {
    MappingSetup {
        room_type: room_type.into(),
        rate_plan: plan.map(str::to_owned),
        channel_room_code: room.into(),
        channel_rate_code: rate.map(str::to_owned),
        pool: Default::default(),
        allotment: None,
    }
}

async fn hotel(ledger: &Ledger) -> (PropertyId, RoomTypeId, RoomTypeId, RatePlanId) {
    let setup = PropertySetup {
        name: "Seehof".into(),
        time_zone: "Europe/Rome".into(),
        currency: Currency::from_code("EUR").unwrap(),
        day_roll_over: jiff::civil::time(4, 0, 0, 0),
        horizon_days: 60,
        hold_seconds: 600,
        confirm_grace_seconds: 60,
        extensions_max: 2,
        late_confirm_retakes: false,
        bookable_from: None,
        rate_min_minor: None,
        rate_max_minor: None,
        policies: json!({}),
    };
    let put = catalog::put_property(ledger, &by(), "seehof", setup, None).await;
    let property = put.unwrap().unwrap().0.id;
    for (code, rooms) in [("double", 5), ("suite", 2)] {
        let setup = RoomTypeSetup {
            name: code.into(),
            rooms,
            counts_beds: false,
            adults_max: 2,
            children_max: 0,
            total_max: 2,
            hold_seconds: None,
            components: Vec::new(),
        };
        let put =
            catalog::put_room_type(ledger, property, &by(), code, setup, None, None, false).await;
        put.unwrap().unwrap();
    }
    let setup = RatePlanSetup {
        name: "Best available".into(),
        meal_plan: "breakfast".into(),
        derived_from: None,
        cancellation_terms: json!([]),
    };
    let put = catalog::put_rate_plan(ledger, property, &by(), "bar", setup, None).await;
    let bar = put.unwrap().unwrap().0.id;
    let types = catalog::room_types(ledger, property).await.unwrap();
    let id = |code: &str| types.iter().find(|one| one.code == code).unwrap().id;
    (property, id("double"), id("suite"), bar)
}
