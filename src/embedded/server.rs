//! The private server: start, connect, restart, stop.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgSslMode};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::account::Account;
use crate::binaries::{self, Binaries};
use crate::cluster::{self, Kind, SUPERUSER};
use crate::error::EmbeddedError;
use crate::keeper::Keeper;
use crate::leftovers::{self, Haste};
use crate::settings::Settings;
use crate::socket;
use crate::state::State;

/// A started private server and the lock of its state folder.
///
/// Dropping it, or dying, closes the keeper's pipe; a clean shutdown follows by itself.
#[derive(Debug)]
pub struct Server {
    place: Arc<Place>,
    keeper: Option<Keeper>,
    /// Held, not read: whoever has the file locked has the folder.
    _lock: File,
}

/// All that a start needs and that stays the same between two of them. Knows the password, so
/// its `Debug` tells the folder only.
struct Place {
    state: State,
    socket: PathBuf,
    binaries: Binaries,
    account: Account,
    password: String,
    settings: Vec<(String, String)>,
}

impl Server {
    /// Takes the state folder, makes a cluster if there is none, settles leftovers, starts the
    /// server and waits until a connection to it succeeds.
    pub async fn start(settings: &Settings) -> Result<Self, EmbeddedError> {
        let settings = settings.clone();
        let (place, lock, keeper) = blocking(move || open(&settings)).await?;
        let server = Self {
            place: Arc::new(place),
            keeper: Some(keeper),
            _lock: lock,
        };
        server.greet().await?;
        Ok(server)
    }

    /// How to connect to `database` as the superuser, over the socket.
    pub fn options(&self, database: &str) -> PgConnectOptions {
        options(&self.place.socket, &self.place.password).database(database)
    }

    /// How to connect to `name`, which is created if it is missing.
    pub async fn database(&self, name: &str) -> Result<PgConnectOptions, EmbeddedError> {
        let mut connection = connect(&self.options(MAINTENANCE)).await?;
        create_database(&mut connection, name)
            .await
            .map_err(EmbeddedError::connection("create a database"))?;
        connection
            .close()
            .await
            .map_err(EmbeddedError::connection("close a connection"))?;
        Ok(self.options(name))
    }

    /// The pid of the server's first process.
    pub fn pid(&self) -> Option<u32> {
        self.keeper.as_ref().map(|keeper| keeper.postmaster)
    }

    /// Whether it still runs; one that ended by itself, or whose keeper did, wants a
    /// [`Server::restart`].
    pub fn is_running(&mut self) -> bool {
        let keeper = self.keeper.as_mut();
        keeper.is_some_and(|keeper| keeper.ended().is_none())
    }

    /// Starts again on the same data, whatever became of the server meanwhile.
    pub async fn restart(&mut self) -> Result<(), EmbeddedError> {
        let (place, keeper) = (Arc::clone(&self.place), self.keeper.take());
        let keeper = blocking(move || {
            place.end(keeper)?;
            place.launch()
        });
        self.keeper = Some(keeper.await?);
        self.greet().await
    }

    /// Stops the server cleanly and waits for its end; connections are cut.
    pub async fn stop(mut self) -> Result<(), EmbeddedError> {
        let (place, keeper) = (Arc::clone(&self.place), self.keeper.take());
        blocking(move || place.end(keeper)).await
    }

    async fn greet(&self) -> Result<(), EmbeddedError> {
        let connection = connect(&self.options(MAINTENANCE)).await?;
        connection
            .close()
            .await
            .map_err(EmbeddedError::connection("close a connection"))
    }
}

/// The lock comes first: nothing in the folder may be judged while somebody else works on it.
fn open(settings: &Settings) -> Result<(Place, File, Keeper), EmbeddedError> {
    let state = State::at(&settings.state_dir)?;
    let account = Account::choose(&[&state.data, &state.folder])?;
    state.open(&account)?;
    let lock = state.lock(&account)?;
    let binaries = binaries::find(settings.postgres_bin.as_deref(), &state.data)?;
    let socket = socket::folder(&state.folder, &account)?;
    leftovers::settle(
        &state.data,
        &socket,
        &account,
        Haste::Clean(OLD_SERVER_PATIENCE),
    )?;
    let password = state.secure(&account)?;
    let kind = if settings.durable {
        Kind::Kept
    } else {
        Kind::ThrowAway
    };
    cluster::prepare(&state, &binaries, &account, kind)?;
    let settings = server_settings(settings);
    let place = Place {
        state,
        socket,
        binaries,
        account,
        password,
        settings,
    };
    let keeper = place.start()?;
    Ok((place, lock, keeper))
}

impl Place {
    fn launch(&self) -> Result<Keeper, EmbeddedError> {
        let haste = Haste::Clean(OLD_SERVER_PATIENCE);
        leftovers::settle(&self.state.data, &self.socket, &self.account, haste)?;
        self.start()
    }

    fn start(&self) -> Result<Keeper, EmbeddedError> {
        let mut keeper = Keeper::start(
            &self.state,
            &self.socket,
            &self.binaries,
            &self.account,
            &self.settings,
        )?;
        keeper.wait_until_ready(&self.state)?;
        Ok(keeper)
    }

    /// The pipe is closed first; then whatever still works in the folder is waited for. That
    /// also ends a server whose keeper was killed.
    fn end(&self, keeper: Option<Keeper>) -> Result<(), EmbeddedError> {
        let Some(mut keeper) = keeper else {
            return Ok(());
        };
        keeper.let_go();
        let haste = Haste::Clean(STOP_PATIENCE);
        leftovers::settle(&self.state.data, &self.socket, &self.account, haste)?;
        keeper.wait(KEEPER_PATIENCE);
        Ok(())
    }
}

impl std::fmt::Debug for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Place")
            .field("state_dir", &self.state.folder)
            .finish_non_exhaustive()
    }
}

/// Everything is set, since `PGHOST`, `PGUSER` and their like would fill the gaps.
pub(crate) fn options(socket: &std::path::Path, password: &str) -> PgConnectOptions {
    PgConnectOptions::new_without_pgpass()
        .socket(socket)
        .port(socket::PORT)
        .username(SUPERUSER)
        .password(password)
        .database(MAINTENANCE)
        .ssl_mode(PgSslMode::Disable)
        .application_name("keyrack")
}

pub(crate) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, EmbeddedError> {
    let connecting = PgConnection::connect_with(options);
    match tokio::time::timeout(CONNECT_LIMIT, connecting).await {
        Ok(connection) => connection.map_err(EmbeddedError::connection("connect")),
        Err(late) => {
            let late = std::io::Error::new(std::io::ErrorKind::TimedOut, late);
            Err(EmbeddedError::connection("connect")(sqlx::Error::Io(late)))
        }
    }
}

/// Two may want the same database at once; the second finds it made.
async fn create_database(connection: &mut PgConnection, name: &str) -> Result<(), sqlx::Error> {
    let known: bool =
        sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
            .bind(name)
            .fetch_one(&mut *connection)
            .await?;
    if known {
        return Ok(());
    }
    let create = format!("create database {}", quoted(name));
    match sqlx::query(AssertSqlSafe(create)).execute(connection).await {
        Err(sqlx::Error::Database(error)) if made_meanwhile(error.code().as_deref()) => Ok(()),
        made => made.map(|_| ()),
    }
}

/// `duplicate_database`, or the same found by the catalogue's unique index.
fn made_meanwhile(code: Option<&str>) -> bool {
    matches!(code, Some("42P04" | "23505"))
}

/// A name as SQL takes it, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn server_settings(settings: &Settings) -> Vec<(String, String)> {
    let mut own = vec![
        ("unix_socket_permissions", "0700"),
        ("log_checkpoints", "off"),
        // DETAIL quotes the row at fault, and with it a guest.
        ("log_error_verbosity", "terse"),
    ];
    if !settings.durable {
        // synchronous_commit stays: without it a killed server loses what was committed.
        own.extend([("fsync", "off"), ("full_page_writes", "off")]);
    } else if cfg!(target_os = "linux") {
        own.push(("recovery_init_sync_method", "syncfs"));
    }
    let own = own
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    own.chain(settings.extra.iter().cloned()).collect()
}

/// Runs what waits and forks off the runtime's threads. A panic in it is the caller's panic.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, EmbeddedError> + Send + 'static,
) -> Result<T, EmbeddedError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(cancelled) => {
                let source = std::io::Error::other(cancelled);
                let path = PathBuf::from("the private PostgreSQL");
                Err(EmbeddedError::Io {
                    what: "wait for",
                    path,
                    source,
                })
            }
        },
    }
}

/// Every cluster has it, and nobody keeps anything in it.
pub(crate) const MAINTENANCE: &str = "postgres";
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
/// An old server may still be writing its last checkpoint.
const OLD_SERVER_PATIENCE: Duration = Duration::from_secs(30);
/// The leave that the daemon gives everything at its end.
const STOP_PATIENCE: Duration = Duration::from_secs(15);
const KEEPER_PATIENCE: Duration = Duration::from_secs(5);
