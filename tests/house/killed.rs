//! Killed at random moments, ten times the daemon and ten times its Postgres: nothing that anybody
//! was told is lost, nothing is counted twice, and when the world is quiet every channel shows what
//! is free.

use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyrack_commands::demo::client::Client;
use keyrack_commands::demo::hotel::{self, ALPINEBITS, BOOKING_COM, Login, PROPERTY, TYPES, wish};
use keyrack_commands::demo::stage::{Stage, until};
use keyrack_commands::demo::tell::Teller;
use keyrack_commands::demo::{audit, calm};
use keyrack_embedded::temporary_state_dir;
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{Guests, Habits, Sandbox, Settings as SandboxSettings};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use reqwest::Method;

/// A daemon in a process of its own, on a private Postgres of its own.
struct Daemon {
    child: Child,
    data_dir: PathBuf,
    port: u16,
}

const KEY: &str = "kr_the-key-of-the-crash-test-0123456789abcdef";

impl Daemon {
    fn start(data_dir: PathBuf, port: u16) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_keyrack"))
            .args([
                "serve",
                "--listen",
                &format!("127.0.0.1:{port}"),
                "--data-dir",
            ])
            .arg(&data_dir)
            .env("KEYRACK_BOOTSTRAP_KEY", KEY)
            .env_remove("DATABASE_URL")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the daemon starts");
        Self {
            child,
            data_dir,
            port,
        }
    }

    /// `kill -9`, and another one in its place.
    fn killed(mut self) -> Self {
        self.child.kill().expect("the daemon can be killed");
        let status = self.child.wait().expect("the daemon is gone");
        assert_eq!(
            status.signal(),
            Some(9),
            "it was killed and did not fall by itself"
        );
        Self::start(self.data_dir.clone(), self.port)
    }

    /// `kill -9` of the postmaster; the daemon must bring it back.
    fn postgres_killed(&self) {
        let file = self.data_dir.join("postgres/data/postmaster.pid");
        let Ok(text) = std::fs::read_to_string(file) else {
            return;
        };
        let Some(pid) = text.lines().next() else {
            return;
        };
        let _ = Command::new("kill").args(["-9", pid]).status();
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    async fn ready(&self) {
        // The client below speaks no TLS, and is built with it all the same.
        keyrack_distribution::tls::use_ring();
        let url = format!("{}/readyz", self.url());
        until("the daemon is ready", || async {
            let answer = reqwest::get(&url).await;
            Ok(answer
                .is_ok_and(|answer| answer.status().is_success())
                .then_some(()))
        })
        .await
        .expect("the daemon gets ready");
    }

    /// SIGTERM: it must end by itself within 15 s.
    fn stopped(mut self) {
        let _ = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        for _ in 0..150 {
            if let Some(status) = self.child.try_wait().expect("the daemon can be asked") {
                assert!(status.success(), "it ends cleanly on SIGTERM: {status}");
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the daemon did not end within 15 s of SIGTERM");
    }
}

/// What the desk was told: ids of reservations under keys of its own.
#[derive(Default)]
struct Desk {
    acknowledged: Vec<String>,
}

/// Books until told to stop; a booking whose answer was lost is asked again under the same key.
async fn book_on(
    client: Client,
    today: jiff::civil::Date,
    seed: u64,
    stop: Arc<AtomicBool>,
) -> Desk {
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut desk = Desk::default();
    while !stop.load(Ordering::Relaxed) {
        let t = &TYPES[dice.random_range(0..TYPES.len())];
        let arrival = plus_days(today, dice.random_range(0..60));
        let body = wish(t.code, arrival, dice.random_range(1..4), 1, "confirmed");
        let key = uuid::Uuid::new_v4().to_string();
        loop {
            let said = client
                .at_with_key(Method::POST, "reservations", Some(body.clone()), &key)
                .await;
            match said {
                Ok(said) if said.status == 201 => {
                    let id = said.body["id"].as_str().expect("an id").to_owned();
                    desk.acknowledged.push(id);
                    break;
                }
                Ok(said) if said.status == 409 && said.code() == "sold_out" => break,
                Ok(said) => assert!(said.status >= 500, "{}: {}", said.status, said.body),
                Err(_) => {}
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        tokio::time::sleep(Duration::from_millis(dice.random_range(20..120))).await;
    }
    desk
}

/// Guests who book at both channels until told to stop.
pub async fn guests_on(stage: Arc<Stage>, seed: u64, stop: Arc<AtomicBool>) {
    let habits = |hotel: &str| Habits {
        window_nights: 60,
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

/// A hotel that is live at both channels, with nothing left to tell.
pub async fn open(stage: &Stage, sandbox: &Sandbox) {
    hotel::open_channels(&stage.booking_com, &stage.alpinebits).expect("channels");
    hotel::set_up(&stage.client, stage.today)
        .await
        .expect("a hotel");
    let (user, secret) = stage.booking_com.credentials();
    let login = Login {
        endpoint: sandbox.url(),
        user,
        secret: secret.reveal().to_owned(),
    };
    hotel::connect(&stage.client, &BOOKING_COM, login)
        .await
        .expect("a connection");
    let (user, secret) = stage.alpinebits.credentials();
    let endpoint = format!("{}/alpinebits", sandbox.url());
    let login = Login {
        endpoint,
        user,
        secret: secret.reveal().to_owned(),
    };
    hotel::connect(&stage.client, &ALPINEBITS, login)
        .await
        .expect("a connection");
    for (listing, _) in stage.listings() {
        hotel::go_live(&stage.client, listing).await.expect("live");
    }
    calm::calm(stage).await.expect("calm");
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_of_the_daemon_and_ten_of_postgres_lose_nothing_and_count_nothing_twice() {
    let data_dir = temporary_state_dir("killed").expect("a folder");
    let port = free_port();
    let mut daemon = Daemon::start(data_dir.clone(), port);
    daemon.ready().await;
    let sandbox = Sandbox::start(SandboxSettings::default())
        .await
        .expect("a sandbox");
    let stage = Arc::new(Stage {
        client: Client::new(daemon.url(), KEY.to_owned(), PROPERTY).expect("a client"),
        booking_com: sandbox.booking_com(),
        alpinebits: sandbox.alpinebits(),
        teller: Teller::silent(),
        today: sandbox.clock().today(),
    });
    open(&stage, &sandbox).await;
    let stop = Arc::new(AtomicBool::new(false));
    let guests = tokio::spawn(guests_on(Arc::clone(&stage), 7, Arc::clone(&stop)));
    let desks: Vec<_> = (0..3)
        .map(|n| {
            tokio::spawn(book_on(
                stage.client.clone(),
                stage.today,
                n,
                Arc::clone(&stop),
            ))
        })
        .collect();
    let mut dice = SmallRng::seed_from_u64(42);
    for round in 0..10 {
        tokio::time::sleep(Duration::from_millis(dice.random_range(200..1_500))).await;
        daemon = daemon.killed();
        if round == 4 {
            // Ten minutes down: guests go on booking what the channels still show.
            sandbox.clock().advance(600_000);
        }
        daemon.ready().await;
        tokio::time::sleep(Duration::from_millis(dice.random_range(200..1_500))).await;
        daemon.postgres_killed();
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    stop.store(true, Ordering::Relaxed);
    guests.await.expect("the guests go home");
    let mut acknowledged = Vec::new();
    for desk in desks {
        acknowledged.extend(desk.await.expect("the desk closes").acknowledged);
    }
    daemon.ready().await;
    calm::calm(&stage).await.expect("calm after the storm");
    judge(&stage, &acknowledged).await;
    daemon.stopped();
    verify(&data_dir);
    sandbox.stop().await;
    let _ = std::fs::remove_dir_all(&data_dir);
}

async fn judge(stage: &Stage, acknowledged: &[String]) {
    let audit = audit::audit(stage, None).await.expect("an audit");
    assert!(audit.is_clean(), "{:#?}", audit.findings);
    assert!(
        audit.reservations >= 30,
        "only {} reservations",
        audit.reservations
    );
    let all = stage
        .client
        .all("reservations?source=phone")
        .await
        .expect("a list");
    let known: Vec<&str> = all.iter().filter_map(|r| r["id"].as_str()).collect();
    for id in acknowledged {
        assert!(
            known.contains(&id.as_str()),
            "{id} was acknowledged and is lost"
        );
    }
    assert_eq!(
        known.len(),
        acknowledged.len(),
        "every booking of the desk exactly once"
    );
    assert!(!acknowledged.is_empty());
}

fn verify(data_dir: &std::path::Path) {
    let verified = Command::new(env!("CARGO_BIN_EXE_keyrack"))
        .args(["verify", "--data-dir"])
        .arg(data_dir)
        .env_remove("DATABASE_URL")
        .output()
        .expect("verify runs");
    let said = String::from_utf8_lossy(&verified.stdout).into_owned();
    assert!(
        verified.status.success() && said.contains("0 differences"),
        "{said}"
    );
}

/// A port that nobody listens on; between asking and using it somebody else might, which a retry
/// of the start would show.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}
