//! A hotel, its account at the portal, and short ways to look at what happened.

use jiff::civil::date;
use keyrack_distribution::connections::{self, ConnectionSetup, Credentials};
use keyrack_distribution::intake::IntakeOutcome;
use keyrack_distribution::messages::{self, MessageView};
use keyrack_distribution::poll::{self, PollOutcome};
use keyrack_distribution::seal::Seal;
use keyrack_distribution::settings::Settings;
use keyrack_distribution::{Distribution, intake, notice};
use keyrack_embedded::{TestDatabase, test_database};
use keyrack_ledger::catalog::{self, MappingSetup, PropertySetup, RoomTypeSetup};
use keyrack_ledger::command::By;
use keyrack_ledger::handle::{Ledger, MIGRATOR};
use keyrack_model::adapter::{Goal, Inbound};
use keyrack_model::channel::{Account, AccountSettings};
use keyrack_model::id::{ChannelCode, PropertyId};
use keyrack_model::money::Currency;
use keyrack_model::stay::Stay;
use secrecy::SecretString;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::channel;
use crate::portal::Portal;

/// A hotel behind a portal; its clock stands in February 2030.
pub struct Desk {
    pub distribution: Distribution,
    pub ledger: Ledger,
    pub pool: PgPool,
    pub portal: Portal,
    pub property: PropertyId,
    pub account: Account,
    pub database: TestDatabase,
}

pub fn by() -> By {
    By {
        actor: "test".into(),
        request_id: None,
    }
}

pub fn settings() -> Settings {
    Settings {
        reply_bytes_max: 1_000_000,
        ..Settings::default()
    }
}

impl Desk {
    pub async fn open() -> Self {
        Self::with(settings(), AccountSettings::default()).await
    }

    pub async fn with(settings: Settings, account: AccountSettings) -> Self {
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
        let channels = channel::all();
        let seal = Seal::new(&SecretString::from("07".repeat(32))).unwrap();
        let distribution =
            Distribution::assemble(ledger.clone(), pool.clone(), channels, seal, settings).unwrap();
        let property = hotel(&ledger, "seehof").await;
        connection(&distribution, "portal", "scripted", &portal.url).await;
        let account = listing(&distribution, property, "booking", "portal", "H1", account).await;
        map_double(&ledger, &account).await;
        Self {
            distribution,
            ledger,
            pool,
            portal,
            property,
            account,
            database,
        }
    }

    /// The same house after a restart: nothing is remembered but what is written.
    pub async fn restarted(&self) -> Distribution {
        let ledger = Ledger::open(self.database.options(), Default::default())
            .await
            .unwrap();
        let channels = channel::all();
        let seal = Seal::new(&SecretString::from("07".repeat(32))).unwrap();
        Distribution::assemble(ledger, self.pool.clone(), channels, seal, settings()).unwrap()
    }

    pub async fn poll(&self) -> PollOutcome {
        poll::once(&self.distribution, "portal", Goal::Poll)
            .await
            .unwrap()
    }

    /// Takes a message in as if the portal had answered with it.
    pub async fn take(&self, message: &Value) -> IntakeOutcome {
        self.take_bytes(message.to_string().into_bytes()).await
    }

    pub async fn take_bytes(&self, bytes: Vec<u8>) -> IntakeOutcome {
        let inbound = Inbound {
            bytes,
            topic: "reservations".into(),
            ..Inbound::default()
        };
        intake::take(&self.distribution, "portal", inbound)
            .await
            .unwrap()
    }

    /// Reference, status and room types of every reservation, in order of reference.
    pub async fn reservations(&self) -> Vec<(String, String, Vec<Option<i64>>)> {
        sqlx::query_as(
            "select channel_reference, status,
                    array(select room_type_id from room_stay as room
                          where room.reservation_id = known.reservation_id
                            and not room.is_given_back
                          order by room_stay_id) as rooms
             from reservation as known
             where property_id = $1
             order by channel_reference",
        )
        .bind(self.property.0)
        .fetch_all(&self.pool)
        .await
        .unwrap()
    }

    /// References in the ledger, in order.
    pub async fn references(&self) -> Vec<String> {
        let seen = self.reservations().await;
        seen.into_iter().map(|(reference, ..)| reference).collect()
    }

    /// Rooms sold on the nights 1 to 3 March 2030 of the double rooms.
    pub async fn sold(&self) -> Vec<i32> {
        let nights = Stay::new(date(2030, 3, 1), date(2030, 3, 4)).unwrap();
        let (_, types) =
            keyrack_ledger::inventory::availability(&self.ledger, self.property, nights, None)
                .await
                .unwrap();
        let double = types.iter().find(|of| of.room_type == "double").unwrap();
        double.nights.iter().map(|line| line.balance.sold).collect()
    }

    pub async fn messages(&self) -> Vec<MessageView> {
        let all = messages::list(&self.distribution, Default::default(), None, 500)
            .await
            .unwrap();
        all.into_iter()
            .filter(|view| view.direction == "in")
            .collect()
    }

    /// Kind and text of every notice that stands.
    pub async fn notices(&self) -> Vec<(String, String)> {
        let mut standing: Vec<_> = notice::list(&self.distribution, None, 500)
            .await
            .unwrap()
            .into_iter()
            .map(|notice| (notice.kind, notice.text))
            .collect();
        standing.sort();
        standing
    }

    pub async fn pass(&self, interval: &str) {
        sqlx::query("update clock_shift set shift = shift + $1::text::interval")
            .bind(interval)
            .execute(&self.pool)
            .await
            .unwrap();
    }

    pub async fn count(&self, table: &str) -> i64 {
        let sql = format!("select count(*) from {table}");
        sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .fetch_one(&self.pool)
            .await
            .unwrap()
    }
}

/// A reservation of a double room from 1 to 3 March 2030.
pub fn booking(reference: &str) -> Value {
    json!({
        "hotel": "H1", "ref": reference, "kind": "new", "order": 1, "room": "DBL", "rate": "BAR",
        "arrival": "2030-03-01", "departure": "2030-03-03", "guest": "Ada Example",
    })
}

/// A message that holds them.
pub fn message(reservations: &[Value]) -> Value {
    json!({"reservations": reservations})
}

/// The value with a field changed.
pub fn but(mut value: Value, key: &str, to: impl Into<Value>) -> Value {
    value[key] = to.into();
    value
}

pub async fn hotel(ledger: &Ledger, code: &str) -> PropertyId {
    let setup = PropertySetup {
        name: code.into(),
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
    let (property, _) = catalog::put_property(ledger, &by(), code, setup, None)
        .await
        .unwrap()
        .unwrap();
    for (code, rooms) in [("double", 60), ("suite", 5)] {
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
        catalog::put_room_type(ledger, property.id, &by(), code, setup, None, None, false)
            .await
            .unwrap()
            .unwrap();
    }
    property.id
}

pub async fn connection(distribution: &Distribution, code: &str, channel: &str, url: &str) {
    let setup = ConnectionSetup {
        channel: ChannelCode::from(channel.to_owned()),
        endpoint: Some(url.to_owned()),
        credentials: Some(Credentials {
            user: "hotel".into(),
            secret: SecretString::from("s3cret"),
        }),
        settings: json!({}),
    };
    connections::put(distribution, code, setup, None)
        .await
        .unwrap()
        .unwrap();
}

pub async fn listing(
    distribution: &Distribution,
    property: PropertyId,
    code: &str,
    connection: &str,
    hotel_code: &str,
    settings: AccountSettings,
) -> Account {
    let known = connections::find(distribution, connection)
        .await
        .unwrap()
        .unwrap();
    let (row, _) = catalog::put_account(
        distribution.ledger(),
        property,
        &by(),
        code,
        known.id,
        known.channel.as_str(),
        hotel_code,
        settings,
        None,
    )
    .await
    .unwrap()
    .unwrap();
    row.account
}

pub async fn map_double(ledger: &Ledger, account: &Account) {
    map(ledger, account, &[("DBL", "double")]).await;
}

pub async fn map(ledger: &Ledger, account: &Account, rooms: &[(&str, &str)]) {
    let mappings = rooms
        .iter()
        .map(|(channel_room_code, room_type)| MappingSetup {
            room_type: (*room_type).into(),
            rate_plan: None,
            channel_room_code: (*channel_room_code).into(),
            channel_rate_code: None,
            pool: Default::default(),
            allotment: None,
        });
    catalog::put_mappings(ledger, account.id, &by(), mappings.collect())
        .await
        .unwrap()
        .unwrap();
}
