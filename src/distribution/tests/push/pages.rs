//! The hottest queries beside ten thousand hotels: how many pages each touches, and by which
//! indexes. The server itself writes down the plans of what really runs, under the settings of the
//! connections that run it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use keyrack_distribution::timetable::sweep;
use keyrack_distribution::{feed, poll, push};
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

/// What of a query's text names it, the most pages that it may touch, and the indexes by which it
/// reads tables of ten thousand rows and more.
type Pin = (&'static str, i64, &'static [&'static str]);

const PINS: &[Pin] = &[];

/// From so many rows on a table is large.
const LARGE_ROWS: f32 = 5_000.0;

/// What was seen of one query.
#[derive(Default)]
struct Seen {
    runs: usize,
    pages_max: i64,
    shape: BTreeSet<String>,
    odd: BTreeSet<String>,
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hottest_queries_touch_a_few_pages_beside_ten_thousand_hotels() {
    let house = House::live().await;
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
    let log = log_of(&house.pool).await;
    let before = std::fs::read(&log).expect("a log").len();

    work(&house).await;

    let text = std::fs::read(&log).expect("a log");
    let text = String::from_utf8_lossy(&text[before..]).into_owned();
    let seen = seen(&text, &large);
    let mut shown: Vec<String> = Vec::new();
    let mut hottest: Vec<(&String, &Seen)> = seen.iter().collect();
    hottest.sort_by_key(|(_, seen)| std::cmp::Reverse(seen.runs));
    for (query, seen) in hottest {
        shown.push(format!(
            "{} runs, {} pages, {:?} {:?}: {query}",
            seen.runs, seen.pages_max, seen.shape, seen.odd
        ));
    }
    let shown = shown.join("\n");
    assert!(PINS.len() == 10, "{shown}");
    for (name, pages_max, indexes) in PINS {
        let mut of_name = seen.iter().filter(|(query, _)| query.contains(name));
        let Some((query, seen)) = of_name.next() else {
            panic!("nobody asked {name}:\n{shown}");
        };
        assert!(seen.runs >= 5, "{name} ran {} times", seen.runs);
        assert!(seen.odd.is_empty(), "{query}: {:?}", seen.odd);
        let shape: Vec<&str> = seen.shape.iter().map(String::as_str).collect();
        assert_eq!(shape, *indexes, "{query}");
        assert!(
            seen.pages_max <= *pages_max,
            "{query}: {} pages",
            seen.pages_max
        );
    }
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
    let sql = sqlx::raw_sql(sqlx::AssertSqlSafe(format!("analyze; {telling}")));
    sql.execute(pool).await.expect("the server tells");
    let folder = PathBuf::from(folder);
    folder.parent().expect("a place for the state").join("log")
}

/// What the daemon does all day, some times over: desk, feed, pushes, polls, sweeps, looks.
async fn work(house: &House) {
    let options = house.database.options();
    let ledger = Ledger::open(options.clone(), Default::default())
        .await
        .unwrap();
    let pool = PgPool::connect_with(options).await.unwrap();
    let engine = assemble(&ledger, &pool, settings());
    let ask = |command| {
        let asked = Asked::new(house.property, Arc::new(by()), command);
        reservations::ask(&ledger, asked)
    };
    for day in 1..=8 {
        let id = ReservationId(Uuid::now_v7());
        let nights = Stay::new(march(day), march(day + 3)).unwrap();
        ask(Command::Request(Box::new(wish(house, id, nights))))
            .await
            .unwrap()
            .unwrap();
        let confirm = Command::Confirm {
            reservation: id,
            payment_reference: None,
            version: None,
        };
        ask(confirm).await.unwrap().unwrap();
        let cancel = Command::Cancel {
            reservation: id,
            reason: None,
            told_channel: false,
            version: None,
        };
        ask(cancel).await.unwrap().unwrap();
        assert!(keys::find(&ledger, "kr_nobody").await.unwrap().is_none());
        let month = Stay::new(march(1), march(30)).unwrap();
        inventory::availability(&ledger, house.property, month, None)
            .await
            .unwrap();
        let arriving = reservations::Filter {
            arrival_from: Some(march(day)),
            arrival_to: Some(march(day + 3)),
            limit: 50,
            ..Default::default()
        };
        reservations::list(&ledger, house.property, &arriving)
            .await
            .unwrap();
        feed::drain(&engine).await.unwrap();
        push::drain(&engine).await.unwrap();
        poll::once(&engine, "portal", Goal::Poll).await.unwrap();
        sweep::sweep_once(&engine).await.unwrap();
    }
    ledger.close().await;
    pool.close().await;
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
        of_query.runs += 1;
        let root = &plan["Plan"];
        let pages = |name: &str| root[name].as_i64().unwrap_or(0);
        let pages = pages("Shared Hit Blocks") + pages("Shared Read Blocks");
        of_query.pages_max = of_query.pages_max.max(pages);
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
