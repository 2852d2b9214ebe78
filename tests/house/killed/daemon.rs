//! A daemon in a process of its own, on a private Postgres of its own, and how both are killed.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use jiff::Timestamp;
use keyrack_commands::config::Config;
use keyrack_commands::database::Database;
use keyrack_embedded::temporary_state_dir;
use sqlx::PgPool;

/// The daemon, and how often it and its Postgres were killed.
pub struct Daemon {
    child: Child,
    data_dir: PathBuf,
    port: u16,
    /// `kill -9` of the daemon that ended it.
    pub kills: u32,
    /// `kill -9` of a postmaster that was alive.
    pub postgres_kills: u32,
    last_postmaster: Option<String>,
    /// Since this daemon was started.
    postgres_was_killed: bool,
    /// What its predecessors said.
    log_bytes: usize,
}

/// Its admin key.
pub const KEY: &str = "kr_the-key-of-the-crash-test-0123456789abcdef";

impl Daemon {
    /// Starts one on an empty folder.
    pub fn start(label: &str) -> Self {
        let data_dir = temporary_state_dir(label).expect("a folder");
        let port = free_port();
        Self {
            child: spawn(&data_dir, port),
            data_dir,
            port,
            kills: 0,
            postgres_kills: 0,
            last_postmaster: None,
            postgres_was_killed: false,
            log_bytes: 0,
        }
    }

    /// `kill -9`, and nobody in its place. Its Postgres notices and stops.
    pub fn kill(&mut self) {
        loop {
            self.child.kill().expect("the daemon can be killed");
            let status = self.child.wait().expect("the daemon is gone");
            if status.signal() == Some(9) {
                break;
            }
            self.stand_up(status);
        }
        self.kills += 1;
    }

    /// Another one in the place of one that was killed.
    pub fn start_again(&mut self) {
        self.log_bytes = self.said().len();
        self.postgres_was_killed = false;
        self.child = spawn(&self.data_dir, self.port);
    }

    /// What supervises a daemon starts one again that could not start since its Postgres was killed
    /// under it. One that had started may never fall.
    pub fn stand_up_if_fallen(&mut self) {
        if let Some(status) = self.child.try_wait().expect("the daemon can be asked") {
            self.stand_up(status);
        }
    }

    fn stand_up(&mut self, status: ExitStatus) {
        let log = self.said();
        let said = &log[self.log_bytes..];
        let is_excused = self.postgres_was_killed && !said.contains("Listening on");
        assert!(is_excused, "it fell by itself, {status}: {said}");
        self.start_again();
    }

    fn said(&self) -> String {
        let log = std::fs::read(self.data_dir.join("daemon.log")).expect("what it said");
        String::from_utf8_lossy(&log).into_owned()
    }

    /// `kill -9` of the postmaster, as soon as one lives that was not killed yet; the daemon must
    /// bring it back.
    pub async fn kill_postgres(&mut self) {
        let file = self.data_dir.join("postgres/data/postmaster.pid");
        for _ in 0..LOOKS {
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let pid = text.lines().next().unwrap_or_default().to_owned();
            // The file of one that is gone names nobody who could be signalled.
            if !pid.is_empty() && self.last_postmaster.as_ref() != Some(&pid) && is_killed(&pid) {
                self.last_postmaster = Some(pid);
                self.postgres_kills += 1;
                self.postgres_was_killed = true;
                return;
            }
            self.stand_up_if_fallen();
            tokio::time::sleep(LOOK).await;
        }
        panic!("Postgres is not brought back: {}", self.said());
    }

    /// What its addresses begin with.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Waits until it says that it is ready.
    pub async fn ready(&mut self) {
        // The client below speaks no TLS, and is built with it all the same.
        keyrack_distribution::tls::use_ring();
        let url = format!("{}/readyz", self.url());
        for _ in 0..LOOKS {
            let answer = reqwest::get(&url).await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                return;
            }
            self.stand_up_if_fallen();
            tokio::time::sleep(LOOK).await;
        }
        panic!("it does not get ready: {}", self.said());
    }

    /// Its database: that of the running daemon, or started for the moment where none runs.
    pub async fn database(&self) -> Database {
        let mut config = Config::compiled_in().expect("the manual is a configuration");
        config.data_dir.clone_from(&self.data_dir);
        let database = Database::that_is_there(&config).await;
        database.expect("its database can be reached")
    }

    /// The instant by the database's clock.
    pub async fn database_now(&self) -> Timestamp {
        let database = self.database().await;
        let pool = PgPool::connect_with(database.options())
            .await
            .expect("a connection");
        let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select ledger_now()")
            .fetch_one(&pool)
            .await
            .expect("an instant");
        pool.close().await;
        database.close().await.expect("the database is left");
        now.to_jiff()
    }

    /// SIGTERM: it must end by itself within 15 s. Then its numbers are proved and its folder goes.
    pub fn stopped_and_verified(mut self) {
        let _ = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status();
        let is_clean = (0..150).any(|_| {
            std::thread::sleep(Duration::from_millis(100));
            let ended = self.child.try_wait().expect("the daemon can be asked");
            ended.is_some_and(|status| {
                assert!(status.success(), "it ends cleanly on SIGTERM: {status}");
                true
            })
        });
        assert!(is_clean, "the daemon did not end within 15 s of SIGTERM");
        let verified = Command::new(env!("CARGO_BIN_EXE_keyrack"))
            .args(["verify", "--data-dir"])
            .arg(&self.data_dir)
            .env_remove("DATABASE_URL")
            .output()
            .expect("verify runs");
        let said = String::from_utf8_lossy(&verified.stdout).into_owned();
        assert!(
            verified.status.success() && said.starts_with("0 differences"),
            "{said}"
        );
        let _ = std::fs::remove_dir_all(&self.data_dir);
    }
}

impl Drop for Daemon {
    /// A story that failed leaves nobody behind.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(data_dir: &std::path::Path, port: u16) -> Child {
    let log = File::options()
        .create(true)
        .append(true)
        .open(data_dir.join("daemon.log"))
        .expect("a file for what it says");
    Command::new(env!("CARGO_BIN_EXE_keyrack"))
        .args(["serve", "--listen", &format!("127.0.0.1:{port}")])
        .arg("--data-dir")
        .arg(data_dir)
        .env("KEYRACK_BOOTSTRAP_KEY", KEY)
        // What was in flight at a kill is told once more a minute later; a story has not so long.
        .env("KEYRACK__DISTRIBUTION__PUSH_ECHO_SECONDS", "10")
        .env_remove("DATABASE_URL")
        .stdout(log.try_clone().expect("the same file"))
        .stderr(log)
        .spawn()
        .expect("the daemon starts")
}

/// A port that nobody listens on; between asking and using it somebody else might, which the first
/// wait for the daemon would show.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("an address").port()
}

fn is_killed(pid: &str) -> bool {
    let kill = Command::new("kill")
        .args(["-9", pid])
        .stderr(Stdio::null())
        .status();
    kill.is_ok_and(|status| status.success())
}

/// A minute of looks, for what must happen after a kill.
const LOOKS: u32 = 1_200;
const LOOK: Duration = Duration::from_millis(50);
