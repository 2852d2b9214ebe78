//! One test's database.

use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use sqlx::Connection;
use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnectOptions;

use crate::error::EmbeddedError;
use crate::folders::Identity;
use crate::server::{blocking, connect, quoted};
use crate::testing::{cluster, template};

/// A database for one test, with all migrations in it. Dropping it drops the database, whoever
/// may still be connected.
pub struct TestDatabase {
    server: PgConnectOptions,
    name: String,
}

impl TestDatabase {
    /// How to connect to it.
    pub fn options(&self) -> PgConnectOptions {
        self.server.clone().database(&self.name)
    }

    /// Its name on the server.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A fresh database with the migrations of `migrator`.
///
/// Lies on the cluster of this run of cargo, or on the server that `TEST_DATABASE_URL` names,
/// whose account must be allowed to create databases.
///
/// # Panics
///
/// When there is no server, with the sentence that says why: a test cannot go on without one.
pub async fn test_database(migrator: &Migrator) -> TestDatabase {
    match make(migrator).await {
        Ok(database) => database,
        Err(error) => {
            let cause = std::error::Error::source(&error);
            let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
            panic!("no database for this test: {error}{cause}");
        }
    }
}

async fn make(migrator: &Migrator) -> Result<TestDatabase, EmbeddedError> {
    let server = server().await?;
    let template = template::ensure(&server, migrator).await?;
    let name = fresh_name();
    let mut connection = connect(&server).await?;
    let version: i32 = sqlx::query_scalar("select current_setting('server_version_num')::int")
        .fetch_one(&mut connection)
        .await
        .map_err(EmbeddedError::connection("ask for the version"))?;
    // Copying files beats copying through the log by far, once syncing is off.
    let strategy = if version >= STRATEGY_SINCE {
        " strategy file_copy"
    } else {
        ""
    };
    let (fresh, model) = (quoted(&name), quoted(&template));
    let create = format!("create database {fresh} template {model}{strategy}");
    template::run(&mut connection, create).await?;
    connection
        .close()
        .await
        .map_err(EmbeddedError::connection("close a connection"))?;
    Ok(TestDatabase { server, name })
}

/// Looked for once in a process; what it said then, it says again.
async fn server() -> Result<PgConnectOptions, EmbeddedError> {
    static SERVER: OnceLock<PgConnectOptions> = OnceLock::new();
    if let Some(server) = SERVER.get() {
        return Ok(server.clone());
    }
    let server = match std::env::var("TEST_DATABASE_URL") {
        Ok(url) => PgConnectOptions::from_str(&url)
            .map_err(EmbeddedError::connection("read TEST_DATABASE_URL"))?,
        Err(_) => blocking(cluster::open).await?,
    };
    Ok(SERVER.get_or_init(|| server).clone())
}

/// Unique on the server, also when runs in several containers share one.
fn fresh_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let me = Identity::own();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("keyrack_test_{}_{}_{count}", me.pid, me.born)
}

impl std::fmt::Debug for TestDatabase {
    /// The options may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestDatabase")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl Drop for TestDatabase {
    /// On a thread and a runtime of its own: the test's may be the one that is being torn down.
    fn drop(&mut self) {
        let server = self.server.clone();
        let statement = format!(
            "drop database if exists {} with (force)",
            quoted(&self.name)
        );
        let dropping = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            let runtime = runtime.map_err(|error| error.to_string())?;
            runtime.block_on(async {
                let mut connection = connect(&server).await.map_err(|error| error.to_string())?;
                let dropped = template::run(&mut connection, statement).await;
                dropped.map_err(|error| error.to_string())
            })
        });
        if let Ok(Err(reason)) = dropping.join() {
            eprintln!("the database {} was not dropped: {reason}", self.name);
        }
    }
}

/// PostgreSQL 15.
const STRATEGY_SINCE: i32 = 150_000;
