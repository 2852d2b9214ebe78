//! What can go wrong with a private server, in sentences that name the way out.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

/// Why there is no private server. The message is meant for the person at the desk.
#[derive(Debug, thiserror::Error)]
pub enum EmbeddedError {
    /// No server on this machine.
    #[error(
        "no PostgreSQL server found (looked in PATH, pg_config, /usr/lib/postgresql/*/bin; \
         need 14 or newer). Install it (Debian: apt install postgresql), or set DATABASE_URL, \
         or set postgres_bin."
    )]
    NoServer,

    /// The setting names a folder without a server.
    #[error(
        "postgres_bin is {}, which does not hold both postgres and initdb. Correct it, or leave \
         it out to have the server looked for.", .bin.display()
    )]
    NoServerIn {
        /// The folder named by the setting.
        bin: PathBuf,
    },

    /// Only servers that are too old.
    #[error(
        "the PostgreSQL in {} is {found}; need 14 or newer. Install one (Debian: apt install \
         postgresql), or set DATABASE_URL, or set postgres_bin.", .bin.display()
    )]
    TooOld {
        /// Its folder.
        bin: PathBuf,
        /// Its version, as it says it.
        found: String,
    },

    /// The data belong to another major version.
    #[error(
        "{} was made by PostgreSQL {made_by}; this machine has {found} ({}). Install {made_by}, \
         or dump and restore, or choose another data_dir. Nothing was changed.",
        .data.display(), .bin.display()
    )]
    Major {
        /// The data folder.
        data: PathBuf,
        /// The major version in it.
        made_by: u32,
        /// The highest major version on this machine.
        found: u32,
        /// Its folder.
        bin: PathBuf,
    },

    /// Somebody else holds the lock.
    #[error(
        "another keyrack (pid {pid}) is using {}. Stop it, or choose another data_dir.",
        .state_dir.display()
    )]
    InUse {
        /// Who holds it, as written into the lock file.
        pid: String,
        /// The state folder.
        state_dir: PathBuf,
    },

    /// A folder on the way is closed for the account that must pass.
    #[error(
        "{} lies below {}, which the account {account} may not enter; {remedy}",
        .path.display(), .below.display()
    )]
    Closed {
        /// Where the account must go.
        path: PathBuf,
        /// The folder that keeps it out.
        below: PathBuf,
        /// The account's name.
        account: String,
        /// What to set.
        remedy: &'static str,
    },

    /// A file stands where the state folder, or a folder above it, should be.
    #[error("{} is no folder; choose another data_dir, e.g. /var/lib/keyrack.", .path.display())]
    NoFolder {
        /// The file.
        path: PathBuf,
    },

    /// Root without anybody to become.
    #[error(
        "PostgreSQL does not run as root, and /etc/passwd knows neither postgres nor nobody. \
         Add one, or start keyrack as an ordinary user, or set DATABASE_URL."
    )]
    NoAccount,

    /// The account has no name.
    #[error("uid {uid} has no entry in /etc/passwd; initdb needs one. Add it or set DATABASE_URL.")]
    NoEntry {
        /// The uid that was looked up.
        uid: u32,
    },

    /// An old server that does not end.
    #[error(
        "an old PostgreSQL (pid {pid}) still works in {} and did not stop within {seconds} s.",
        .data.display()
    )]
    Leftover {
        /// One of its processes.
        pid: u32,
        /// Its data folder.
        data: PathBuf,
        /// How long it was waited for.
        seconds: u64,
    },

    /// A folder of somebody else's.
    #[error(
        "{} belongs to uid {owner}, but the server would run as {account} (uid {uid}). Give it \
         back with chown, or choose another data_dir.", .path.display()
    )]
    WrongOwner {
        /// The folder.
        path: PathBuf,
        /// Who owns it.
        owner: u32,
        /// The account the server would use.
        account: String,
        /// Its uid.
        uid: u32,
    },

    /// A data folder that is open to others.
    #[error(
        "{} has mode {mode:04o}; PostgreSQL wants 0700 or 0750. Set it with chmod.",
        .path.display()
    )]
    WrongMode {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },

    /// Something that is no cluster stands where the data should be.
    #[error(
        "{} is no PostgreSQL data folder (no PG_VERSION in it). Move it away, or choose another \
         data_dir. Nothing was changed.", .data.display()
    )]
    NotData {
        /// The folder.
        data: PathBuf,
    },

    /// A cluster whose password is gone.
    #[error(
        "{} exists, but {} does not, and the server asks for it. Put it back from a backup, or \
         choose another data_dir.", .data.display(), .password.display()
    )]
    PasswordLost {
        /// The data folder.
        data: PathBuf,
        /// The file that is missing.
        password: PathBuf,
    },

    /// No folder for the socket has a path that is short enough.
    #[error(
        "no folder for the server's socket: {} is too long (a socket's folder has at most {max} \
         bytes), and so are the temporary folders. Choose a shorter data_dir.", .dir.display()
    )]
    SocketPath {
        /// The folder that was wanted.
        dir: PathBuf,
        /// Bytes allowed.
        max: usize,
    },

    /// A child ended badly; its own words are in the log.
    #[error("{what} ({status}). The end of {}:\n{tail}", .log.display())]
    Failed {
        /// Our sentence.
        what: &'static str,
        /// Its exit status, or what we waited for in vain.
        status: String,
        /// The whole log.
        log: PathBuf,
        /// Its last lines.
        tail: String,
    },

    /// A file or folder that did not do as asked.
    #[error("cannot {what} {}", .path.display())]
    Io {
        /// The verb.
        what: &'static str,
        /// The object.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },

    /// The server runs, but a connection failed.
    #[error("cannot {what} at the private PostgreSQL")]
    Connection {
        /// What was being done.
        what: &'static str,
        /// The cause.
        source: sqlx::Error,
    },
}

impl EmbeddedError {
    /// Makes an `io::Error` say what was being done to which path.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self::Io { what, path, source }
    }

    /// Makes a failed query say what it was for.
    pub(crate) fn connection(what: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Connection { what, source }
    }

    /// A child's bad end, with the last words of its log.
    pub(crate) fn failed(what: &'static str, status: Option<ExitStatus>, log: &Path) -> Self {
        let status = status.map_or_else(|| "no answer".to_owned(), |status| status.to_string());
        Self::Failed {
            what,
            status,
            log: log.to_path_buf(),
            tail: tail(log),
        }
    }
}

/// The last lines of a log, as far as it can be read.
fn tail(log: &Path) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// Enough for a FATAL with its hints, little enough for a screen.
const TAIL_LINES: usize = 20;
