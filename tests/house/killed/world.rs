//! The world in which daemons are killed: the demo's hotel and both channels, a desk that goes on
//! working, and the judgement at the end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyrack_commands::demo::client::{Acknowledged, Client};
use keyrack_commands::demo::hotel::{PROPERTY, TYPES, wish};
use keyrack_commands::demo::stage::Stage;
use keyrack_commands::demo::tell::Teller;
use keyrack_commands::demo::{self, audit, calm};
use keyrack_model::stay::plus_days;
use keyrack_sandbox::Sandbox;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::killed::daemon::{Daemon, KEY};

/// The demo's hotel, partly sold and live at both fake channels, under a daemon that can be killed.
pub struct World {
    pub daemon: Daemon,
    pub sandbox: Sandbox,
    pub stage: Arc<Stage>,
}

impl World {
    pub async fn open(label: &str, seed: u64) -> Self {
        let mut daemon = Daemon::start(label);
        daemon.ready().await;
        let sandbox = Sandbox::start(demo::channels(seed))
            .await
            .expect("the fake channels start");
        let database = daemon.database().await;
        let pool = PgPool::connect_with(database.options())
            .await
            .expect("a connection");
        let client = Client::new(daemon.url(), KEY.to_owned(), PROPERTY).expect("a client");
        let stage = Stage {
            client: client.patient(PATIENCE),
            booking_com: sandbox.booking_com(),
            alpinebits: sandbox.alpinebits(),
            teller: Teller::silent(),
            today: demo::today(&pool).await.expect("a day"),
        };
        pool.close().await;
        demo::open(&stage, &sandbox).await.expect("an open hotel");
        Self {
            daemon,
            sandbox,
            stage: Arc::new(stage),
        }
    }

    /// Waits for calm; then everybody's journal is compared with the ledger, and every channel
    /// with what is free; at last the ledger is proved.
    pub async fn judge(mut self) {
        self.daemon.ready().await;
        let stage = &self.stage;
        calm::calm(stage).await.expect("calm after the storm");
        let audit = audit::audit(stage, None).await.expect("an audit");
        assert!(audit.is_clean(), "{:#?}", audit.findings);
        assert!(audit.nights >= 1_000, "{} nights", audit.nights);
        let count = audit.reservations;
        assert!(count >= 60, "only {count} reservations of the channels");
        let known = stage.client.all("reservations?source=phone").await;
        let count = compare(&stage.client.acknowledged(), &known.expect("a list"));
        assert!(count >= 30, "only {count} reservations of the desk");
        self.daemon.stopped_and_verified();
        self.sandbox.stop().await;
    }
}

/// Compares a client's journal with all that the ledger knows of its source: every reservation
/// once, in the state that was acknowledged last. Says how many there are.
fn compare(acknowledged: &[Acknowledged], known: &[Value]) -> usize {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let states: BTreeMap<String, String> = known
        .iter()
        .map(|one| (text(&one["id"]), text(&one["status"])))
        .collect();
    let made: BTreeSet<&String> = acknowledged
        .iter()
        .filter(|one| one.is_made)
        .map(|one| &one.id)
        .collect();
    let lost: Vec<&&String> = made
        .iter()
        .filter(|id| !states.contains_key(**id))
        .collect();
    assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
    assert_eq!(known.len(), made.len(), "every booking exactly once");
    let last: BTreeMap<&String, &String> = acknowledged
        .iter()
        .map(|one| (&one.id, &one.status))
        .collect();
    for (id, status) in last {
        // Holds run out by themselves.
        let is_so = states[id] == *status || *status == "held" && states[id] == "expired";
        let is = &states[id];
        assert!(is_so, "{id} was acknowledged as {status}, and is {is}");
    }
    made.len()
}

/// A desk beside that of the day: books, and cancels some of it, until told to stop.
pub async fn desk(stage: Arc<Stage>, seed: u64, stop: Arc<AtomicBool>) {
    let mut dice = SmallRng::seed_from_u64(seed);
    while !stop.load(Ordering::Relaxed) {
        let t = &TYPES[dice.random_range(0..TYPES.len())];
        let arrival = plus_days(stage.today, dice.random_range(0..60));
        let body = wish(t.code, arrival, dice.random_range(1..4), 1, "confirmed");
        let ask = stage.client.at(Method::POST, "reservations", Some(body));
        let said = ask.await.expect("an answer in the end");
        match (said.status, said.code()) {
            (201, _) if dice.random_range(0..3) == 0 => {
                let id = said.body["id"].as_str().expect("an id");
                let path = format!("reservations/{id}/cancel");
                let cancelled = stage.client.post(&path, json!({})).await;
                cancelled.expect("it can be cancelled");
            }
            (201, _) | (409, "sold_out") => {}
            other => panic!("{other:?}: {}", said.body),
        }
        tokio::time::sleep(Duration::from_millis(dice.random_range(100..600))).await;
    }
}

/// Where the dice begin; another number in `KEYRACK_KILLED_SEED` kills at other moments.
pub fn seed() -> u64 {
    let set = std::env::var("KEYRACK_KILLED_SEED").ok();
    set.map_or(42, |seed| seed.parse().expect("a number"))
}

/// The longest that a client asks the same again.
const PATIENCE: Duration = Duration::from_secs(60);
