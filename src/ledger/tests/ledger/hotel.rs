//! A hotel on a database of its own, and short ways to ask its ledger.

use std::sync::Arc;

use jiff::civil::date;
use keyrack_embedded::{TestDatabase, test_database};
use keyrack_ledger::command::{Answer, Asked, By, Command, Forced, HoldEnd, Wish, WishedRoom};
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::handle::{Ledger, MIGRATOR};
use keyrack_ledger::settings::Settings;
use keyrack_model::id::{AccountId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::reservation::{
    ReportedRoom, ReservationReport, ReservationRevision, RevisionKind, RevisionRoom, Source,
};
use keyrack_model::stay::{Stay, StayDate, plus_days};
use sqlx::PgPool;
use uuid::Uuid;

/// A hotel with one room type and one account.
pub struct Hotel {
    pub ledger: Ledger,
    pub property: PropertyId,
    pub double: RoomTypeId,
    pub account: AccountId,
    pub pool: PgPool,
    pub database: TestDatabase,
}

/// The first night of the tests; the database's clock is moved before it.
pub const FIRST: StayDate = date(2030, 3, 1);

impl Hotel {
    /// A hotel with so many double rooms on the nights from [`FIRST`].
    pub async fn of(rooms: i32) -> Self {
        let database = test_database(&MIGRATOR).await;
        let ledger = Ledger::open(database.options(), Settings::default())
            .await
            .expect("a ledger");
        let pool = PgPool::connect_with(database.options())
            .await
            .expect("a pool");
        sqlx::query(
            "update clock_shift set shift = timestamptz '2030-02-20 12:00+00' - clock_timestamp()",
        )
        .execute(&pool)
        .await
        .expect("the clock moves");
        let (property,): (i64,) = sqlx::query_as(
            "insert into property (code, name, time_zone, currency, hold_seconds,
            confirm_grace_seconds)
             values ('seehof', 'Seehof', 'Europe/Rome', 'EUR', 600, 60) returning property_id",
        )
        .fetch_one(&pool)
        .await
        .expect("a property");
        let double = Self::room_type(&pool, property, "double", rooms).await;
        let (account,): (i64,) = sqlx::query_as(
            "with c as (insert into connection (code, channel, credentials) values ('c', 'test', '')
                        returning connection_id)
             insert into account (property_id, code, connection_id, channel, hotel_code)
             select $1, 'test', connection_id, 'test', 'H1' from c returning account_id",
        )
        .bind(property)
        .fetch_one(&pool)
        .await
        .expect("an account");
        let (property, account) = (PropertyId(property), AccountId(account));
        Self {
            ledger,
            property,
            double,
            account,
            pool,
            database,
        }
    }

    /// Adds a room type of so many rooms, without nights: they are born when they are asked for.
    pub async fn room_type(pool: &PgPool, property: i64, code: &str, rooms: i32) -> RoomTypeId {
        let (id,): (i64,) = sqlx::query_as(
            "insert into room_type (property_id, code, name, rooms) values ($1, $2, $2, $3)
             returning room_type_id",
        )
        .bind(property)
        .bind(code)
        .bind(rooms)
        .fetch_one(pool)
        .await
        .expect("a room type");
        RoomTypeId(id)
    }

    /// A second daemon on the same database.
    pub async fn second_daemon(&self) -> Ledger {
        self.daemon(Settings::default()).await
    }

    /// Another daemon with settings of its own.
    pub async fn daemon(&self, settings: Settings) -> Ledger {
        let ledger = Ledger::open(self.database.options(), settings).await;
        ledger.expect("another ledger")
    }

    pub async fn set(&self, column: &str, value: &str) {
        let sql =
            format!("update property set {column} = {value}, rules_version = rules_version + 1");
        sqlx::query(sqlx::AssertSqlSafe(sql))
            .execute(&self.pool)
            .await
            .expect("a setting");
    }

    pub async fn pass(&self, interval: &str) {
        sqlx::query("update clock_shift set shift = shift + $1::interval")
            .bind(sqlx::types::Text(interval.to_owned()).0)
            .execute(&self.pool)
            .await
            .expect("time passes");
    }

    pub async fn ask(&self, command: Command) -> Answer {
        ask(&self.ledger, self.property, command)
            .await
            .expect("no failure")
    }

    /// A wish for so many nights from [`FIRST`] plus an offset, in one double room.
    pub fn wish(&self, from: i32, nights: i32, hold: Option<HoldEnd>) -> Command {
        wish_for(self.double, from, nights, hold)
    }

    pub async fn hold(&self, from: i32, nights: i32) -> Answer {
        self.ask(self.wish(from, nights, Some(HoldEnd::Default)))
            .await
    }

    pub async fn held(&self, from: i32, nights: i32) -> Reservation {
        reservation(self.hold(from, nights).await)
    }

    pub async fn confirmed(&self, from: i32, nights: i32) -> Reservation {
        reservation(self.ask(self.wish(from, nights, None)).await)
    }

    pub async fn confirm(&self, id: ReservationId, payment: Option<&str>) -> Answer {
        let payment_reference = payment.map(str::to_owned);
        self.ask(Command::Confirm {
            reservation: id,
            payment_reference,
            version: None,
        })
        .await
    }

    pub async fn cancel(&self, id: ReservationId) -> Answer {
        self.ask(cancel(id)).await
    }

    pub async fn night(&self, offset: i32) -> NightBalance {
        night(&self.pool, self.double, plus_days(FIRST, offset)).await
    }

    /// Entries against sums, reservations against sums: nothing may differ.
    pub async fn assert_proven(&self) {
        let wrong: Vec<(String,)> = sqlx::query_as(include_str!("proof.sql"))
            .fetch_all(&self.pool)
            .await
            .expect("the proof runs");
        assert!(
            wrong.is_empty(),
            "the ledger does not prove its numbers: {wrong:#?}"
        );
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql)
            .fetch_one(&self.pool)
            .await
            .expect("a count")
    }
}

pub async fn ask(
    ledger: &Ledger,
    property: PropertyId,
    command: Command,
) -> Result<Answer, LedgerError> {
    let by = By {
        actor: "test".to_owned(),
        request_id: None,
    };
    ledger
        .ask(Asked::new(property, Arc::new(by), command))
        .await
}

pub async fn night(pool: &PgPool, room_type: RoomTypeId, night: StayDate) -> NightBalance {
    let row: Option<(i32, i32, i32, i32, i32, i32, i32)> = sqlx::query_as(
        "select physical, out_of_order, overbooking_limit, allotted, held, sold, oversold
           from night where room_type_id = $1 and stay_date = $2",
    )
    .bind(room_type.0)
    .bind(jiff_sqlx::Date::from(night))
    .fetch_optional(pool)
    .await
    .expect("a night");
    let (physical, out_of_order, overbooking_limit, allotted, held, sold, oversold) =
        row.unwrap_or_default();
    NightBalance {
        physical,
        out_of_order,
        overbooking_limit,
        allotted,
        held,
        sold,
        oversold,
    }
}

pub fn cancel(reservation: ReservationId) -> Command {
    Command::Cancel {
        reservation,
        reason: None,
        told_channel: true,
        version: None,
    }
}

pub fn stay(from: i32, nights: i32) -> Stay {
    Stay::new(plus_days(FIRST, from), plus_days(FIRST, from + nights)).expect("a stay")
}

pub fn wished(room_type: RoomTypeId, stay: Stay) -> WishedRoom {
    WishedRoom {
        room_stay: None,
        room_type,
        rate_plan: None,
        stay,
        quantity: 1,
        price: None,
        adults: Some(2),
        children_ages: Vec::new(),
        guest_name: None,
        allotment: None,
    }
}

pub fn wish_for(room_type: RoomTypeId, from: i32, nights: i32, hold: Option<HoldEnd>) -> Command {
    Command::Request(Box::new(Wish {
        reservation: ReservationId(Uuid::now_v7()),
        hold,
        source: Source::Phone,
        rooms: vec![wished(room_type, stay(from, nights))],
        guest: None,
        note: None,
        owner_id: None,
        payment_reference: None,
        channel: None,
        guaranteed: false,
        force: None::<Forced>,
    }))
}

pub fn reservation(answer: Answer) -> Reservation {
    let told = answer.expect("carried out").reservation;
    *told.expect("a reservation")
}

/// A report of one double room.
pub fn report(reference: &str, kind: RevisionKind, from: i32, nights: i32) -> ReservationReport {
    let room = ReportedRoom {
        room_key: Some("1".to_owned()),
        room_code: "DBL".to_owned(),
        arrival: Some(plus_days(FIRST, from)),
        departure: Some(plus_days(FIRST, from + nights)),
        quantity: 1,
        ..ReportedRoom::default()
    };
    ReservationReport {
        hotel_code: Some("H1".to_owned()),
        reference: reference.to_owned(),
        kind,
        order: None,
        booked_at: None,
        rooms: if kind == RevisionKind::Cancelled {
            Vec::new()
        } else {
            vec![room]
        },
        guest: keyrack_model::reservation::Guest {
            name: "A".into(),
            ..Default::default()
        },
        total: None,
        commission: None,
        payment_model: None,
        remarks: Vec::new(),
        is_quote: false,
        acknowledge_as: None,
    }
}

impl Hotel {
    pub fn revision(&self, report: ReservationReport) -> ReservationRevision {
        let map = |told: &ReportedRoom| RevisionRoom {
            told: told.clone(),
            room_type: (told.room_code == "DBL").then_some(self.double),
            is_fallback: false,
            rate_plan: None,
        };
        ReservationRevision {
            property: self.property,
            account: self.account,
            rooms: report.rooms.iter().map(map).collect(),
            report,
            is_snapshot: true,
            received_at: jiff::Timestamp::UNIX_EPOCH,
        }
    }

    pub async fn record(&self, report: ReservationReport) -> keyrack_ledger::command::Receipt {
        let by = By {
            actor: "account:test".to_owned(),
            request_id: None,
        };
        keyrack_ledger::reservations::record(&self.ledger, by, self.revision(report))
            .await
            .expect("a fact is recorded")
    }
}
