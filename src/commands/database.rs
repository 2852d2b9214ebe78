//! Which database a command works on, and the private PostgreSQL that is kept when none is given.

use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use keyrack_embedded::Server;
use secrecy::ExposeSecret as _;
use sqlx::postgres::PgConnectOptions;
use sqlx::{Connection as _, PgConnection};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::config::Config;

/// A database that can be connected to, and whatever has to live as long as it.
pub struct Database {
    options: PgConnectOptions,
    place: String,
    kept: Option<Kept>,
}

/// A private server that this process keeps.
struct Kept {
    server: Arc<Mutex<Option<Server>>>,
    cancel: CancellationToken,
}

impl Database {
    /// The database of a daemon: the given one, or a private server that it keeps alive itself.
    pub async fn for_daemon(config: &Config) -> Result<Self> {
        match Self::given(config)? {
            Some(database) => database.reached().await,
            None => Self::keep(private(config)).await,
        }
    }

    /// The database of a command that looks at what is there: as [`Database::for_command`], but it
    /// makes none where there is none.
    pub async fn that_is_there(config: &Config) -> Result<Self> {
        let settings = private(config);
        if Self::given(config)?.is_none()
            && keyrack_embedded::attach(&settings).await?.is_none()
            && !keyrack_embedded::is_made(&settings)?
        {
            let folder = config.data_folder();
            bail!(
                "there is no database in {}: give --data-dir or DATABASE_URL of the daemon, or \
                 make one with `keyrack serve` or `keyrack migrate`",
                folder.display()
            );
        }
        Self::for_command(config).await
    }

    /// The database of a command beside the daemon: the given one, else the private server of a
    /// running keyrack, else the same server started for as long as the command works.
    pub async fn for_command(config: &Config) -> Result<Self> {
        if let Some(database) = Self::given(config)? {
            return database.reached().await;
        }
        let settings = private(config);
        match keyrack_embedded::attach(&settings).await? {
            Some(options) => Ok(Self {
                options: options.database(NAME),
                place: format!("{} (of a running keyrack)", place(&settings.state_dir)),
                kept: None,
            }),
            None => Self::keep(settings).await,
        }
    }

    /// Keeps a private server: started here, started again when it dies, stopped by
    /// [`Database::close`].
    pub async fn keep(settings: keyrack_embedded::Settings) -> Result<Self> {
        let place = place(&settings.state_dir);
        let server = Server::start(&settings).await?;
        let options = server.database(NAME).await?;
        let server = Arc::new(Mutex::new(Some(server)));
        let cancel = CancellationToken::new();
        tokio::spawn(watch(Arc::clone(&server), cancel.clone()));
        let kept = Some(Kept { server, cancel });
        Ok(Self {
            options,
            place,
            kept,
        })
    }

    /// A database that somebody else keeps.
    pub fn at(options: PgConnectOptions) -> Self {
        let name = options
            .get_database()
            .unwrap_or_else(|| options.get_username());
        let host = options.get_socket().map_or_else(
            || format!("{}:{}", options.get_host(), options.get_port()),
            |socket| socket.display().to_string(),
        );
        Self {
            place: format!("the database {name} at {host}"),
            options,
            kept: None,
        }
    }

    fn given(config: &Config) -> Result<Option<Self>> {
        let Some(url) = config.database_url() else {
            return Ok(None);
        };
        // The parser's words may quote the address, and with it the password.
        let options = PgConnectOptions::from_str(url.expose_secret()).map_err(|_| {
            anyhow::anyhow!(
                "DATABASE_URL (or database.url) is no address of a PostgreSQL, such as \
                 postgres://user:password@host/name"
            )
        })?;
        Ok(Some(Self::at(options)))
    }

    /// Waits a little for a server that is just starting; says what to do where there is none.
    async fn reached(self) -> Result<Self> {
        let begun = Instant::now();
        loop {
            let connecting = PgConnection::connect_with(&self.options);
            let why = match timeout(PATIENCE, connecting).await {
                Ok(Ok(connection)) => {
                    connection.close().await.context("closing a connection")?;
                    return Ok(self);
                }
                Ok(Err(sqlx::Error::Io(error))) => error.to_string(),
                Ok(Err(error)) => bail!("cannot use {}: {error}. {ADVICE}", self.place),
                Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
            };
            if begun.elapsed() > PATIENCE {
                bail!("cannot use {}: {why}. {ADVICE}", self.place);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// How to connect.
    pub fn options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// Where it is, for people; without secrets.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Whether it is a private server that this process keeps.
    pub fn is_kept(&self) -> bool {
        self.kept.is_some()
    }

    /// Stops the private server, where it is ours.
    pub async fn close(self) -> Result<()> {
        let Some(kept) = self.kept else {
            return Ok(());
        };
        kept.cancel.cancel();
        match kept.server.lock().await.take() {
            Some(server) => server
                .stop()
                .await
                .context("stopping the private PostgreSQL"),
            None => Ok(()),
        }
    }
}

impl Drop for Kept {
    /// Lets the watcher go, and with it the server, where nobody closed the database.
    fn drop(&mut self) {
        self.cancel.cancel();
    }
}

/// Starts a private server again when it has died: everything that was committed is in it.
async fn watch(server: Arc<Mutex<Option<Server>>>, cancel: CancellationToken) {
    let cancelled = cancel.cancelled();
    tokio::pin!(cancelled);
    loop {
        tokio::select! {
            () = &mut cancelled => return,
            () = tokio::time::sleep(LOOK) => {}
        }
        let mut held = server.lock().await;
        let Some(server) = held.as_mut() else {
            return;
        };
        if server.is_running() || cancel.is_cancelled() {
            continue;
        }
        tracing::warn!("the private PostgreSQL ended by itself; starting it again");
        match server.restart().await {
            Ok(()) => tracing::info!("the private PostgreSQL is back"),
            Err(error) => tracing::error!(
                error = &error as &dyn std::error::Error,
                "the private PostgreSQL does not come back"
            ),
        }
    }
}

fn private(config: &Config) -> keyrack_embedded::Settings {
    let folder = config.data_folder();
    let mut settings =
        keyrack_embedded::Settings::new(keyrack_embedded::default_state_dir(Some(&folder)));
    let bin = &config.postgres_bin;
    settings.postgres_bin = (!bin.as_os_str().is_empty()).then(|| bin.clone());
    settings
}

fn place(state_dir: &Path) -> String {
    format!("a private PostgreSQL in {}", state_dir.display())
}

/// The database in a private server.
const NAME: &str = "keyrack";
const ADVICE: &str = "Is it running, and does DATABASE_URL (or database.url) name it rightly? \
                      Without either keyrack keeps a private PostgreSQL";
/// A server that is just starting refuses for a moment.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(300);
