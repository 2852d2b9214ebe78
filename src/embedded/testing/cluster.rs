//! The cluster that all tests of one run share.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;

use crate::account::{Account, own_ids};
use crate::binaries;
use crate::cluster::{self, Kind};
use crate::error::EmbeddedError;
use crate::folders::{self, Identity};
use crate::keeper::pid_file;
use crate::leftovers;
use crate::server;
use crate::socket;
use crate::state::{self, State};
use crate::testing::anchor;

/// How to connect to the cluster of this run, which is made if this is the first to ask.
pub(crate) fn open() -> Result<PgConnectOptions, EmbeddedError> {
    let account = Account::choose(&[])?;
    let base = base(&account)?;
    let _lock = lock(&base)?;
    sweep(&base, &account)?;
    let anchor = anchor::find();
    let state = State::at(&base.join(anchor.name()))?;
    let socket = socket::folder(&state.folder, &account)?;
    if !(ready(&state.folder).exists() && is_serving(&state, &account)) {
        folders::remove(&state.folder, &account)?;
        state::make_private(&state.folder, &account)?;
        start(&state, &socket, &account, anchor)?;
    }
    Ok(server::options(&socket, ""))
}

/// `TMP/keyrack-tests-UID`, for us alone.
fn base(account: &Account) -> Result<PathBuf, EmbeddedError> {
    let base = folders::temporary_top(account).join(format!("keyrack-tests-{}", own_ids().0));
    if let Err(error) = state::make_private(&base, account)
        && !base.exists()
    {
        return Err(error);
    }
    let found = fs::symlink_metadata(&base).map_err(EmbeddedError::io("look at", &base))?;
    // Two may make it at once; between its birth and its hand-over it is still ours.
    if found.uid() != own_ids().0 {
        state::check_owner(&base, found.uid(), account)?;
    }
    let mode = found.permissions().mode() & 0o7777;
    if !found.is_dir() || mode != 0o700 {
        return Err(EmbeddedError::WrongMode { path: base, mode });
    }
    account.give(&base)?;
    Ok(base)
}

/// Waits for whoever is making or sweeping clusters just now.
fn lock(base: &Path) -> Result<File, EmbeddedError> {
    let path = base.join("lock");
    let mut options = OpenOptions::new();
    let options = options.create(true).write(true).truncate(false).mode(0o600);
    let file = options
        .open(&path)
        .map_err(EmbeddedError::io("open", &path))?;
    file.lock().map_err(EmbeddedError::io("lock", &path))?;
    Ok(file)
}

/// Removes the clusters of runs that are over and whose keeper was killed.
fn sweep(base: &Path, account: &Account) -> Result<(), EmbeddedError> {
    let entries = fs::read_dir(base).map_err(EmbeddedError::io("list", base))?;
    for entry in entries.flatten() {
        let owner = entry.file_name().to_str().and_then(Identity::parse);
        if owner.is_some_and(|owner| !owner.lives()) {
            folders::remove(&entry.path(), account)?;
        }
    }
    Ok(())
}

fn ready(folder: &Path) -> PathBuf {
    folder.join("ready")
}

/// A cluster may have lost its server while the run goes on.
fn is_serving(state: &State, account: &Account) -> bool {
    let pid = pid_file(&state.data).map(|file| file.pid);
    !crate::process::has_proc()
        || leftovers::living(&state.data, account)
            .iter()
            .any(|found| Some(found.pid) == pid)
}

fn start(
    state: &State,
    socket: &Path,
    account: &Account,
    anchor: Identity,
) -> Result<(), EmbeddedError> {
    let binaries = binaries::find(None, &state.data)?;
    cluster::prepare(state, &binaries, account, Kind::Test)?;
    let log = state.open_log(account)?;
    let twin = log
        .try_clone()
        .map_err(EmbeddedError::io("open", &state.log))?;
    let mut command = account.command("/bin/sh");
    command
        .args(["-c", SCRIPT, "pg-keeper"])
        .arg(&binaries.folder)
        .arg(&state.data);
    command
        .arg(anchor.pid.to_string())
        .arg(anchor.born.to_string())
        .arg(&state.folder);
    let settings = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    command.args(crate::keeper::flags(socket, &settings));
    command.stdin(Stdio::null()).stdout(log).stderr(twin);
    let mut keeper = command
        .spawn()
        .map_err(EmbeddedError::io("run", Path::new("/bin/sh")))?;
    wait(&mut keeper, state)?;
    let ready = ready(&state.folder);
    fs::write(&ready, "").map_err(EmbeddedError::io("write", &ready))
}

/// Nobody else starts a server in this folder: the lock of the base is held.
fn wait(keeper: &mut Child, state: &State) -> Result<(), EmbeddedError> {
    let what = "the PostgreSQL for tests did not start";
    let started = Instant::now();
    while !pid_file(&state.data).is_some_and(|file| file.ready) {
        if let Ok(Some(status)) = keeper.try_wait() {
            return Err(EmbeddedError::failed(what, Some(status), &state.log));
        }
        if started.elapsed() > START_LIMIT {
            return Err(EmbeddedError::failed(what, None, &state.log));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// Nothing here has to outlive the run, and many tests connect at once.
const SETTINGS: [(&str, &str); 8] = [
    ("fsync", "off"),
    ("synchronous_commit", "off"),
    ("full_page_writes", "off"),
    ("autovacuum", "off"),
    ("wal_level", "minimal"),
    ("max_wal_senders", "0"),
    ("max_connections", "200"),
    ("shared_buffers", "64MB"),
];

/// Watches the anchor: same pid, same birth, no zombie. Then the server goes, and its folder.
/// Without `/proc` its birth is 0 and `ps` has to do.
const SCRIPT: &str = r#"
trap '' INT HUP TERM
bin=$1 data=$2 anchor=$3 born=$4 folder=$5
shift 5
"$bin/postgres" -D "$data" "$@" & pg=$!
while kill -0 $pg 2>/dev/null; do
    if [ "$born" = 0 ]; then
        ps -p "$anchor" >/dev/null 2>&1 || break
    else
        line=
        { read -r line <"/proc/$anchor/stat"; } 2>/dev/null || break
        set -- ${line##*) }
        case $1 in Z|X) break ;; esac
        shift 19
        [ "$1" = "$born" ] || break
    fi
    sleep 0.2
done
kill -QUIT $pg 2>/dev/null
wait $pg
rm -rf "$folder"
"#;

const START_LIMIT: Duration = Duration::from_secs(30);
