//! What the daemon asks of a large database: every plan of every query is written down by the
//! server while two channels and a desk work, and none reads a large table whole.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyrack_commands::config::Config;
use keyrack_commands::database::Database;
use keyrack_commands::demo::client::Client;
use keyrack_commands::demo::hotel::{ALPINEBITS, BOOKING_COM, PROPERTY, TYPES, wish};
use keyrack_commands::demo::stage::Stage;
use keyrack_commands::demo::tell::Teller;
use keyrack_commands::demo::{self, audit, calm};
use keyrack_commands::startup::Application;
use keyrack_distribution::seal::Seal;
use keyrack_distribution::sealed;
use keyrack_embedded::{Server, Settings, temporary_state_dir};
use keyrack_ledger::handle::MIGRATOR;
use keyrack_ledger::keys::{self, Role};
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{Guests, Habits, Sandbox, Settings as SandboxSettings};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

/// From so many rows on a table is large.
const LARGE_ROWS: f32 = 5_000.0;

#[tokio::test(flavor = "multi_thread")]
async fn no_query_of_a_working_day_reads_a_large_table_whole() {
    let state_dir = temporary_state_dir("plans").expect("a folder");
    let server = Server::start(&telling(&state_dir)).await.expect("a server");
    let options = server.database("chain").await.expect("a database");
    let pool = PgPool::connect_with(options.clone()).await.expect("a pool");
    MIGRATOR.run(&pool).await.expect("migrations");
    // The chain's login is not sealed: the key must be known before it is there.
    let seal = Seal::new(&Seal::fresh_key()).expect("a fresh key is a key");
    let fits = sealed::fits(&pool, &seal).await;
    assert!(fits.expect("a database"), "the first key seals");
    let chain = sqlx::raw_sql(include_str!("chain.sql"));
    chain.execute(&pool).await.expect("a chain");
    let large: Vec<String> = sqlx::query_scalar(
        "select relname::text from pg_class
          where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples >= $1",
    )
    .bind(LARGE_ROWS)
    .fetch_all(&pool)
    .await
    .expect("the large tables");
    assert!(large.len() >= 10, "a chain of large tables: {large:?}");
    let told_before = log(&state_dir).len();

    work(options, seal).await;

    pool.close().await;
    server.stop().await.expect("the server stops");
    let log = log(&state_dir);
    let plans = plans(&log[told_before..]);
    assert!(plans.len() > 1_000, "only {} plans were told", plans.len());
    let mut wholes: Vec<String> = plans.iter().flat_map(|plan| wholes(plan, &large)).collect();
    wholes.sort();
    wholes.dedup();
    assert!(wholes.is_empty(), "{}", wholes.join("\n\n"));
    let _ = std::fs::remove_dir_all(&state_dir);
}

/// A server that writes down the plan of every statement, also within functions.
fn telling(state_dir: &Path) -> Settings {
    let mut settings = Settings::new(state_dir);
    settings.durable = false;
    settings.extra = [
        ("session_preload_libraries", "auto_explain"),
        ("auto_explain.log_min_duration", "0"),
        ("auto_explain.log_nested_statements", "on"),
        ("auto_explain.log_format", "json"),
        ("autovacuum", "off"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()))
    .into();
    settings
}

fn log(state_dir: &Path) -> String {
    let bytes = std::fs::read(state_dir.join("log")).expect("the server's log");
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A day with both channels and the desk.
async fn work(options: sqlx::postgres::PgConnectOptions, seal: Seal) {
    let mut config = Config::compiled_in().expect("the manual is a configuration");
    config.listen = ([127, 0, 0, 1], 0).into();
    let at = Database::at(options);
    let application = Application::build(&config, at, seal, Box::new(String::new))
        .await
        .expect("the daemon is built");
    let (_, key) = keys::create(application.ledger(), Role::Admin, None, "plans")
        .await
        .expect("a key");
    let url = application.url();
    let stop = CancellationToken::new();
    let running = tokio::spawn(application.run_until_stopped(stop.clone()));
    let sandbox = Sandbox::start(SandboxSettings::default())
        .await
        .expect("a sandbox");
    let stage = Arc::new(Stage {
        client: Client::new(url, key, PROPERTY).expect("a client"),
        booking_com: sandbox.booking_com(),
        alpinebits: sandbox.alpinebits(),
        teller: Teller::silent(),
        today: sandbox.clock().today(),
    });
    demo::open(&stage, &sandbox).await.expect("an open hotel");
    let stopped = Arc::new(AtomicBool::new(false));
    let guests = tokio::spawn(guests_on(Arc::clone(&stage), 3, Arc::clone(&stopped)));
    for number in 0..12 {
        staff(&stage, number).await;
    }
    stopped.store(true, Ordering::Relaxed);
    guests.await.expect("the guests go home");
    calm::calm(&stage).await.expect("calm");
    let audit = audit::audit(&stage, None).await.expect("an audit");
    assert!(audit.is_clean(), "{:#?}", audit.findings);
    stop.cancel();
    let ended = running.await.expect("the daemon does not panic");
    ended.expect("the daemon ends well");
    sandbox.stop().await;
}

/// Guests who book at both channels until told to stop.
async fn guests_on(stage: Arc<Stage>, seed: u64, stop: Arc<AtomicBool>) {
    let habits = |hotel: &str| Habits {
        hotel: Some(hotel.to_owned()),
        ..Habits::default()
    };
    let mut booking = Guests::with_habits(&stage.booking_com, seed, habits(BOOKING_COM.hotel));
    let mut portal = Guests::with_habits(&stage.alpinebits, seed + 1, habits(ALPINEBITS.hotel));
    while !stop.load(Ordering::Relaxed) {
        booking.step();
        portal.step();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A booking with all that may follow, and what staff look at.
async fn staff(stage: &Stage, number: i32) {
    let client = &stage.client;
    let t = &TYPES[usize::try_from(number).unwrap_or(0) % TYPES.len()];
    let arrival = plus_days(stage.today, 10 + number * 3);
    let post = |path: String, body: Value| async move {
        let key = uuid::Uuid::new_v4().to_string();
        let said = client.at_with_key(Method::POST, &path, Some(body), &key);
        said.await.expect("an answer")
    };
    let held = post("reservations".into(), wish(t.code, arrival, 2, 1, "held")).await;
    if held.status != 201 {
        assert_eq!(held.code(), "sold_out", "{}", held.body);
        return;
    }
    let id = held.body["id"].as_str().expect("an id").to_owned();
    let confirmed = post(format!("reservations/{id}/confirm"), json!({})).await;
    assert_eq!(confirmed.status, 200, "{}", confirmed.body);
    if number % 2 == 0 {
        let cancelled = post(format!("reservations/{id}/cancel"), json!({})).await;
        assert_eq!(cancelled.status, 200, "{}", cancelled.body);
    }
    let until = plus_days(arrival, 30);
    for path in [
        format!("reservations/{id}"),
        format!("reservations/{id}/ledger"),
        format!("nights/{}/{arrival}/ledger", t.code),
        format!("availability?from={arrival}&to={until}"),
        "reservations?limit=50".to_owned(),
        "overbooking-cases?status=open".to_owned(),
    ] {
        client.get(&path).await.expect("something to look at");
    }
}

/// The plans of a server's log: each begins behind `plan:` and goes on in lines that are indented.
fn plans(log: &str) -> Vec<Value> {
    let blocks = log.split("  plan:\n").skip(1);
    let text = |block: &str| -> String {
        let lines = block.lines().take_while(|line| line.starts_with('\t'));
        lines.collect::<Vec<_>>().join("\n")
    };
    blocks
        .filter_map(|block| serde_json::from_str(&text(block)).ok())
        .collect()
}

/// Indexes that may be read whole: they have only those rows that are looked for, and these are
/// few.
const SMALL: [&str; 3] = [
    "reservation_hold_dead_at",
    "channel_message_unfinished",
    "channel_message_unmapped",
];

/// What a plan reads whole of the large tables: without an index, or all of an index.
fn wholes(plan: &Value, large: &[String]) -> Vec<String> {
    let query = plan["Query Text"].as_str().unwrap_or_default();
    let query: Vec<&str> = query.split_whitespace().take(40).collect();
    let mut found = Vec::new();
    walk(&plan["Plan"], "", &mut |node, parent| {
        let kind = node["Node Type"].as_str().unwrap_or_default();
        let table = node["Relation Name"].as_str().unwrap_or_default();
        if SMALL.contains(&node["Index Name"].as_str().unwrap_or_default()) {
            return;
        }
        let by_index = matches!(kind, "Index Scan" | "Index Only Scan");
        let whole =
            kind == "Seq Scan" || by_index && node["Index Cond"].is_null() && parent != "Limit";
        if whole && large.iter().any(|name| name == table) {
            found.push(format!("{kind} of all of {table}: {}", query.join(" ")));
        }
    });
    found
}

fn walk(node: &Value, parent: &str, look: &mut impl FnMut(&Value, &str)) {
    look(node, parent);
    let kind = node["Node Type"].as_str().unwrap_or_default();
    for child in node["Plans"].as_array().into_iter().flatten() {
        walk(child, kind, look);
    }
}
