//! Makes a cluster once and checks it ever after.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, ExitStatus};

use crate::account::Account;
use crate::binaries::Binaries;
use crate::error::EmbeddedError;
use crate::state::{State, check_owner};

/// The superuser of every cluster made here.
pub(crate) const SUPERUSER: &str = "keyrack";

/// How a new cluster is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Synced to disk, password asked.
    Kept,
    /// Not synced, password asked.
    ThrowAway,
    /// Not synced, no password: its folder lets nobody else in.
    Test,
}

/// Makes `S/data` if there is none, and sees to it that the server will accept it.
pub(crate) fn prepare(
    state: &State,
    binaries: &Binaries,
    account: &Account,
    kind: Kind,
) -> Result<(), EmbeddedError> {
    let remedy = "set postgres_bin to a folder that it may enter.";
    account.check_way(&binaries.folder.join("postgres"), remedy)?;
    let draft = state.folder.join("data.new");
    if draft.exists() {
        // An initdb that was killed leaves a folder that nobody accepts.
        fs::remove_dir_all(&draft).map_err(EmbeddedError::io("remove", &draft))?;
    }
    if !state.data.exists() {
        create(state, &draft, binaries, account, kind)?;
    }
    check(&state.data, account)
}

fn create(
    state: &State,
    draft: &Path,
    binaries: &Binaries,
    account: &Account,
    kind: Kind,
) -> Result<(), EmbeddedError> {
    if !account.listed {
        return Err(EmbeddedError::NoEntry { uid: account.uid });
    }
    let mut status = initdb(state, draft, binaries, account, kind, "C.UTF-8")?;
    if !status.success() && locale_is_missing(&state.log) {
        status = initdb(state, draft, binaries, account, kind, "C")?;
    }
    if !status.success() {
        return Err(EmbeddedError::failed(
            "initdb failed",
            Some(status),
            &state.log,
        ));
    }
    fs::rename(draft, &state.data).map_err(EmbeddedError::io("rename", draft))?;
    if kind == Kind::Kept {
        let synced = File::open(&state.folder).and_then(|folder| folder.sync_all());
        synced.map_err(EmbeddedError::io("sync", &state.folder))?;
    }
    Ok(())
}

fn initdb(
    state: &State,
    draft: &Path,
    binaries: &Binaries,
    account: &Account,
    kind: Kind,
    locale: &str,
) -> Result<ExitStatus, EmbeddedError> {
    let program = binaries.folder.join("initdb");
    let mut command: Command = account.command(&program);
    command.env("LC_ALL", locale);
    command
        .arg("-D")
        .arg(draft)
        .args(["-U", SUPERUSER, "-E", "UTF8", "--no-instructions"]);
    command.arg(format!("--locale={locale}"));
    if kind == Kind::Test {
        command.args(["-A", "trust"]);
    } else {
        command
            .args(["-A", "scram-sha-256"])
            .arg("--pwfile")
            .arg(&state.password);
    }
    if kind != Kind::Kept {
        command.arg("--no-sync");
    }
    let log = state.open_log(account)?;
    let twin = log
        .try_clone()
        .map_err(EmbeddedError::io("open", &state.log))?;
    command
        .stdout(log)
        .stderr(twin)
        .status()
        .map_err(EmbeddedError::io("run", &program))
}

/// Small systems come without `C.UTF-8`.
fn locale_is_missing(log: &Path) -> bool {
    fs::read(log).is_ok_and(|bytes| String::from_utf8_lossy(&bytes).contains("invalid locale"))
}

/// The server refuses data of another owner or open to others, in words of its own; these are ours.
fn check(data: &Path, account: &Account) -> Result<(), EmbeddedError> {
    let found = fs::metadata(data).map_err(EmbeddedError::io("look at", data))?;
    check_owner(data, found.uid(), account)?;
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o7 != 0 || mode & 0o020 != 0 || mode & 0o700 != 0o700 {
        return Err(EmbeddedError::WrongMode {
            path: data.to_path_buf(),
            mode,
        });
    }
    Ok(())
}
