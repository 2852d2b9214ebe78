//! The stage: a private Postgres for a whole run, and a database for each seed.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use keyrack_embedded::{Server, Settings, temporary_state_dir};
use keyrack_ledger::handle::MIGRATOR;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, PgPool};

use crate::error::SimError;
use crate::hotel;
use crate::ids::Ids;
use crate::shape::Shape;

/// A private Postgres that is thrown away.
pub struct Stage {
    server: Server,
    folder: PathBuf,
    log_read: u64,
    built: u32,
}

/// The database of one seed, with its hotels.
pub struct Ground {
    /// Its name on the server.
    pub name: String,
    /// What the script's names stand for.
    pub ids: Ids,
    /// Connections of the simulation itself, never cut.
    pub pool: PgPool,
}

impl Stage {
    /// Starts the server and migrates the template.
    pub async fn open() -> Result<Self, SimError> {
        let folder = temporary_state_dir("sim")?;
        let mut settings = Settings::new(&folder);
        settings.durable = false;
        let extra = EXTRA.map(|(name, value)| (name.to_owned(), value.to_owned()));
        settings.extra.extend(extra);
        let server = Server::start(&settings).await?;
        let template = server.database(TEMPLATE).await?;
        let mut inside = connect(&template).await?;
        MIGRATOR.run(&mut inside).await?;
        for post in 0..POSTS_MAX {
            let role = role(post);
            let password = ROLE_PASSWORD;
            let make = format!("create role {role} superuser login password '{password}'");
            run(&mut inside, make).await?;
        }
        inside
            .close()
            .await
            .map_err(SimError::look("closing the template"))?;
        Ok(Self {
            server,
            folder,
            log_read: 0,
            built: 0,
        })
    }

    /// A database for a seed, with the hotels of its shape.
    pub async fn ground(&mut self, shape: &Arc<Shape>) -> Result<Ground, SimError> {
        self.built += 1;
        let name = format!("seed_{}_{}", shape.seed, self.built);
        let mut outside = connect(&self.server.options("postgres")).await?;
        let make = format!("create database {name} template {TEMPLATE} strategy file_copy");
        run(&mut outside, make).await?;
        let _ = outside.close().await;
        let options = self.server.options(&name).application_name(OURS);
        let pool = PgPoolOptions::new()
            .max_connections(2)
            .acquire_timeout(Duration::from_secs(20))
            .connect_lazy_with(options);
        set_clock(&pool, shape.start).await?;
        let properties = hotel::write(&pool, shape).await?;
        Ok(Ground {
            name,
            ids: Ids::new(Arc::clone(shape), properties),
            pool,
        })
    }

    /// How the daemon of a post connects: each has a role of its own, so that its connections can
    /// be told from others'.
    pub fn options(&self, ground: &Ground, post: usize) -> PgConnectOptions {
        let options = self.server.options(&ground.name);
        options.username(&role(post)).password(ROLE_PASSWORD)
    }

    /// How the simulation's own ledger connects, which only looks.
    pub fn observer(&self, ground: &Ground) -> PgConnectOptions {
        self.server.options(&ground.name)
    }

    /// Ends the server without a checkpoint, as a crash of the machine's memory would, and starts
    /// it again on the same data.
    pub async fn crash(&mut self) -> Result<(), SimError> {
        if let Some(pid) = self.server.pid() {
            signal("-QUIT", pid)?;
        }
        Ok(self.server.restart().await?)
    }

    /// Lines of the server's log since the last look that must never be there.
    pub fn complaints(&mut self) -> Result<Vec<String>, SimError> {
        let reading = SimError::system("reading the server's log");
        let mut file = std::fs::File::open(self.folder.join("log")).map_err(&reading)?;
        file.seek(SeekFrom::Start(self.log_read))
            .map_err(&reading)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(&reading)?;
        self.log_read += u64::try_from(bytes.len()).unwrap_or(0);
        let text = String::from_utf8_lossy(&bytes);
        let mut said = Vec::new();
        let mut left = 0;
        for line in text.lines() {
            let is_wrong = NEVER.iter().any(|never| line.contains(never));
            let goes_on = left > 0 && !BEGINS.iter().any(|begins| line.contains(begins));
            left = if is_wrong { LINES_MAX } else { left };
            if is_wrong || goes_on {
                left -= 1;
                said.push(line.chars().take(COLUMNS_MAX).collect());
            }
        }
        Ok(said)
    }

    /// Drops the database of a seed, whoever is still connected.
    pub async fn tear_down(&self, ground: Ground) -> Result<(), SimError> {
        ground.pool.close().await;
        let mut outside = connect(&self.server.options("postgres")).await?;
        let drop = format!("drop database {} with (force)", ground.name);
        run(&mut outside, drop).await?;
        let _ = outside.close().await;
        Ok(())
    }

    /// Stops the server and removes what it left.
    pub async fn close(self) -> Result<(), SimError> {
        self.server.stop().await?;
        std::fs::remove_dir_all(&self.folder).map_err(SimError::system("removing the folder"))
    }
}

impl Ground {
    /// Sets the database's clock to the script's time.
    pub async fn set_clock(&self, now: Timestamp) -> Result<(), SimError> {
        set_clock(&self.pool, now).await
    }
}

async fn set_clock(pool: &PgPool, now: Timestamp) -> Result<(), SimError> {
    sqlx::query("update clock_shift set shift = $1 - clock_timestamp()")
        .bind(jiff_sqlx::Timestamp::from(now))
        .execute(pool)
        .await
        .map_err(SimError::look("setting the clock"))?;
    Ok(())
}

/// Sends a signal to a process of the server.
pub fn signal(name: &str, pid: u32) -> Result<(), SimError> {
    let sent = Command::new("kill").args([name, &pid.to_string()]).output();
    // One that has ended meanwhile needs none.
    sent.map(|_| ())
        .map_err(SimError::system("sending a signal"))
}

/// The role of a post's daemon.
pub fn role(post: usize) -> String {
    format!("daemon_{post}")
}

async fn connect(options: &PgConnectOptions) -> Result<PgConnection, SimError> {
    let connecting = PgConnection::connect_with(options).await;
    connecting.map_err(SimError::look("connecting"))
}

async fn run(conn: &mut PgConnection, statement: String) -> Result<(), SimError> {
    let done = sqlx::query(AssertSqlSafe(statement)).execute(conn).await;
    done.map(|_| ())
        .map_err(SimError::look("preparing a database"))
}

/// Daemons at once, at most.
pub const POSTS_MAX: usize = 3;

/// How the simulation's own connections are called.
pub const OURS: &str = "keyrack-sim";

const TEMPLATE: &str = "empty_house";
/// The cluster is private, its socket closed to others, and it is gone with the run.
const ROLE_PASSWORD: &str = "simulated";

/// What no order of locks and no rule may ever make the server say.
const NEVER: [&str; 2] = ["deadlock detected", "violates check constraint"];

/// How a message of the server begins that is not more of the last.
const BEGINS: [&str; 3] = ["LOG:", "ERROR:", "FATAL:"];
/// Of one message, at most.
const LINES_MAX: usize = 30;
const COLUMNS_MAX: usize = 200;

const EXTRA: [(&str, &str); 6] = [
    ("autovacuum", "off"),
    // A wait for a lock is looked at early, since there must be no ring of waits.
    ("deadlock_timeout", "100ms"),
    // Who waited for whom; no real guest is in it.
    ("log_error_verbosity", "default"),
    ("log_line_prefix", "%d "),
    ("max_connections", "60"),
    ("shared_buffers", "64MB"),
];
