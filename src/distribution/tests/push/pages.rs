//! The hottest queries beside ten thousand hotels: how many pages each touches, and by which
//! indexes. The server itself writes down the plans of what really runs, under the settings of the
//! connections that run it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use keyrack_distribution::{Distribution, feed, poll, push, timetable};
use keyrack_ledger::command::{Asked, Command, HoldEnd, Wish, WishedRoom};
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::{inventory, keys, reservations};
use keyrack_model::adapter::Goal;
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::Source;
use keyrack_model::stay::Stay;
use serde_json::Value;
use sqlx::PgPool;
use uuid::Uuid;

use crate::house::{House, assemble, by, march, settings};

/// What of a query's text names it, the most pages that it may touch once its connection is warm,
/// and the indexes by which alone it may read large tables.
struct Pin(&'static str, i64, &'static [&'static str]);

/// The bounds are what the keys cost that are asked for, twice: a row by its key is three or four
/// pages, whatever the size of its table.
const PINS: [Pin; 11] = [
    // A property, its dead holds, a key, and three nights.
    Pin(
        "-- What a batch of wishes needs",
        60,
        &[
            "idempotency_key_pkey",
            "night_pkey",
            "property_pkey",
            "reservation_hold_dead_at",
        ],
    ),
    // As above, a reservation and its room.
    Pin(
        "-- What a batch needs",
        80,
        &[
            "idempotency_key_pkey",
            "night_pkey",
            "property_pkey",
            "reservation_hold_dead_at",
            "reservation_pkey",
            "room_stay_pkey",
        ],
    ),
    // All nights of a type that is asked for again and again, at most two years.
    Pin("select stay_date, ctid as place", 40, &["night_pkey"]),
    // Three nights, written where they were read.
    Pin("update night n set physical", 30, &["ctid"]),
    Pin("from api_key where hash", 6, &["api_key_hash_is_unique"]),
    // The entries since the last look, at most a handful here.
    Pin(
        "from ledger_entry where (tx, seq)",
        60,
        &["ledger_entry_tail"],
    ),
    // The next account whose turn it is, found and claimed.
    Pin(
        "update push_state set claimed_by",
        40,
        &["push_state_next", "push_state_pkey"],
    ),
    Pin(
        "from mark where account_id = $1 and not waits",
        30,
        &["mark_due", "mark_pkey"],
    ),
    // The index of the holds alone, some two hundred a page: there are ten thousand, none of them
    // dead.
    Pin(
        "ledger_now() - min(hold_dead_at)",
        100,
        &["reservation_hold_dead_at"],
    ),
    // Two types of a month: their nights lie side by side.
    Pin(
        "overbooking_limit, allotted, held, sold, oversold from night where",
        40,
        &["night_pkey"],
    ),
    Pin(
        "select r.reservation_id from (select distinct",
        60,
        &["reservation_pkey", "room_stay_by_departure"],
    ),
];

/// From so many rows on a table is large.
const LARGE_ROWS: f32 = 2_000.0;

/// What was seen of one query.
#[derive(Default)]
struct Seen {
    pages: Vec<i64>,
    shape: BTreeSet<String>,
    odd: BTreeSet<String>,
}

impl Seen {
    /// Of the run in the middle: the first ones of a connection look into the catalog as well.
    fn pages(&self) -> i64 {
        let mut pages = self.pages.clone();
        pages.sort_unstable();
        pages.get(pages.len() / 2).copied().unwrap_or(0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hottest_queries_touch_a_few_pages_beside_ten_thousand_hotels() {
    let house = House::live().await;
    let log = log_of(&house.pool).await;
    let daemon = Daemon::of(&house).await;
    // It has read who is behind which listing before there are many.
    push::drain(&daemon.engine).await.unwrap();
    let fill = sqlx::raw_sql(include_str!("pages.sql"));
    fill.execute(&house.pool)
        .await
        .expect("ten thousand hotels");
    let large: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class
          where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples >= $1",
    )
    .bind(LARGE_ROWS)
    .fetch_all(&house.pool)
    .await
    .expect("the large tables");
    assert!(large.len() >= 12, "a chain of large tables: {large:?}");
    let _reader = confirm_thousands(&house).await;
    let before = std::fs::read(&log).expect("a log").len();

    work(&house, &daemon).await;
    daemon.ledger.close().await;
    daemon.pool.close().await;

    let text = std::fs::read(&log).expect("a log");
    let text = String::from_utf8_lossy(&text[before..]).into_owned();
    let seen = seen(&text, &large);
    let mut wrong = Vec::new();
    for Pin(name, pages_max, indexes) in &PINS {
        let of_name = seen.iter().find(|(query, _)| query.contains(name));
        let Some((_, seen)) = of_name else {
            panic!("nobody asked {name}: {:#?}", seen.keys());
        };
        let shape: Vec<&str> = seen.shape.iter().map(String::as_str).collect();
        let (runs, pages) = (seen.pages.len(), seen.pages());
        println!("{pages} pages of at most {pages_max}, {runs} runs: {name}");
        let by_index = !shape.is_empty() && shape.iter().all(|index| indexes.contains(index));
        if runs < 5 || pages > *pages_max || !by_index || !seen.odd.is_empty() {
            wrong.push(format!("{name}: {pages} pages, {shape:?}, {:?}", seen.odd));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Holds that were confirmed and that no vacuum has tidied up yet: their entries are still at the
/// head of the index of holds, as long as somebody reads what was before. That is who is returned.
async fn confirm_thousands(house: &House) -> sqlx::Transaction<'static, sqlx::Postgres> {
    let mut reader = house.pool.begin().await.expect("a transaction");
    let look = "set transaction isolation level repeatable read; select from property";
    let looking = sqlx::raw_sql(look).execute(&mut *reader);
    looking.await.expect("a snapshot");
    for sql in [
        "insert into reservation (property_id, reservation_id, number, status, source, hold_until,
                hold_dead_at, created_at, updated_at)
         select $1, gen_random_uuid(), nextval('reservation_number'), 'held', 'phone',
                ledger_now() + interval '1 hour', ledger_now() + interval '1 hour',
                ledger_now(), ledger_now()
           from generate_series(1, 4000)",
        "update reservation set status = 'confirmed', hold_until = null, hold_dead_at = null
          where property_id = $1 and status = 'held'",
    ] {
        let query = sqlx::query(sql).bind(house.property.0);
        query
            .execute(&house.pool)
            .await
            .expect("thousands of holds");
    }
    reader
}

/// From here on new connections have their plans written down; returns where.
async fn log_of(pool: &PgPool) -> PathBuf {
    let (database, folder): (String, String) =
        sqlx::query_as("select current_database()::text, current_setting('data_directory')")
            .fetch_one(pool)
            .await
            .expect("a database");
    let telling: String = [
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_nested_statements", "on"),
        ("auto_explain.log_format", "json"),
        ("auto_explain.log_analyze", "on"),
        ("auto_explain.log_buffers", "on"),
        ("auto_explain.log_timing", "off"),
    ]
    .iter()
    .map(|(name, value)| format!("alter database \"{database}\" set {name} = '{value}';"))
    .collect();
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(telling));
    sql.execute(pool).await.expect("the server tells");
    let folder = PathBuf::from(folder);
    folder.parent().expect("a place for the state").join("log")
}

/// A daemon whose connections have their plans written down.
struct Daemon {
    ledger: Ledger,
    pool: PgPool,
    engine: Distribution,
}

impl Daemon {
    async fn of(house: &House) -> Self {
        let options = house.database.options();
        let ledger = Ledger::open(options.clone(), Default::default()).await;
        let ledger = ledger.expect("a ledger");
        let pool = PgPool::connect_with(options).await.expect("a pool");
        let engine = assemble(&ledger, &pool, settings());
        Self {
            ledger,
            pool,
            engine,
        }
    }
}

/// What it does all day, some times over: desk, feed, pushes, polls, sweeps, looks.
async fn work(house: &House, Daemon { ledger, engine, .. }: &Daemon) {
    let ask = |command| {
        let asked = Asked::new(house.property, Arc::new(by()), command);
        reservations::ask(ledger, asked)
    };
    let held = async |nights| {
        let id = ReservationId(Uuid::now_v7());
        let wish = Command::Request(Box::new(wish(house, id, nights)));
        ask(wish).await.unwrap().unwrap();
        id
    };
    let cancelled = async |reservation| {
        let cancel = Command::Cancel {
            reservation,
            reason: None,
            told_channel: false,
            version: None,
        };
        ask(cancel).await.unwrap().unwrap();
    };
    for day in 1..=8 {
        let nights = Stay::new(march(day), march(day + 3)).unwrap();
        // Each of these reads, for nothing is remembered.
        ledger.forget_rows();
        let id = held(nights).await;
        let confirm = Command::Confirm {
            reservation: id,
            payment_reference: None,
            version: None,
        };
        ledger.forget_rows();
        ask(confirm).await.unwrap().unwrap();
        ledger.forget_rows();
        cancelled(id).await;
        // These are so many that the nights are read ahead.
        for _ in 0..4 {
            cancelled(held(nights).await).await;
        }
        assert!(keys::find(ledger, "kr_nobody").await.unwrap().is_none());
        let month = Stay::new(march(1), march(30)).unwrap();
        inventory::availability(ledger, house.property, month, None)
            .await
            .unwrap();
        let arriving = reservations::Filter {
            arrival_from: Some(march(day)),
            arrival_to: Some(march(day + 3)),
            limit: 50,
            ..Default::default()
        };
        reservations::list(ledger, house.property, &arriving)
            .await
            .unwrap();
        feed::drain(engine).await.unwrap();
        push::drain(engine).await.unwrap();
        poll::once(engine, "portal", Goal::Poll).await.unwrap();
        timetable::sweep_once(engine).await.unwrap();
    }
}

fn wish(house: &House, reservation: ReservationId, stay: Stay) -> Wish {
    Wish {
        reservation,
        hold: Some(HoldEnd::Default),
        source: Source::Phone,
        rooms: vec![WishedRoom {
            room_stay: None,
            room_type: house.double,
            rate_plan: None,
            stay,
            quantity: 1,
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
        force: None,
    }
}

/// The plans of a log by their query: each begins behind `plan:` and goes on in lines that are
/// indented.
fn seen(log: &str, large: &[String]) -> BTreeMap<String, Seen> {
    let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
    for block in log.split("  plan:\n").skip(1) {
        let lines = block.lines().take_while(|line| line.starts_with('\t'));
        let text = lines.collect::<Vec<_>>().join("\n");
        let Ok(plan) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let query = plan["Query Text"].as_str().unwrap_or_default();
        let words: Vec<&str> = query.split_whitespace().take(40).collect();
        let of_query = seen.entry(words.join(" ")).or_default();
        let root = &plan["Plan"];
        let pages = |name: &str| root[name].as_i64().unwrap_or(0);
        let pages = pages("Shared Hit Blocks") + pages("Shared Read Blocks");
        of_query.pages.push(pages);
        look(root, "", large, of_query);
    }
    seen
}

fn look(node: &Value, parent: &str, large: &[String], seen: &mut Seen) {
    let text = |name: &str| node[name].as_str().unwrap_or_default();
    let (kind, table) = (text("Node Type"), text("Relation Name"));
    if large.iter().any(|name| name == table) && !kind.starts_with("Bitmap") {
        if kind == "Seq Scan" {
            seen.odd.insert(format!("{kind} of {table}"));
        } else if kind.starts_with("Index") {
            seen.shape.insert(text("Index Name").to_owned());
        } else if kind == "Tid Scan" {
            seen.shape.insert("ctid".to_owned());
        }
    }
    if kind == "Bitmap Index Scan" {
        seen.shape.insert(text("Index Name").to_owned());
    }
    let sorted = node["Actual Rows"].as_f64().unwrap_or(0.0);
    if kind.ends_with("Sort") && sorted > ROWS_SORTED_MAX {
        seen.odd
            .insert(format!("{kind} of {sorted} rows below {parent}"));
    }
    for child in node["Plans"].as_array().into_iter().flatten() {
        look(child, kind, large, seen);
    }
}

/// What a page of an answer or a batch may sort; a table would be more.
const ROWS_SORTED_MAX: f64 = 1_000.0;
