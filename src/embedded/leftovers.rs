//! What an earlier run may have left: a server without its keeper, and files that name pids.
//!
//! Found by folder, never by the pid file: every process of a server works in its data folder,
//! while the pid in the file may by now belong to somebody else.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::error::EmbeddedError;
use crate::process::{self, Stat};
use crate::socket;

/// How a server is asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Haste {
    /// SIGINT, a clean shutdown; SIGQUIT when it has not ended after so long.
    Clean(Duration),
    /// SIGQUIT at once, for data that nobody wants.
    AtOnce,
}

/// Ends every server process that works in `data`, then removes the files that would make the
/// next one stumble: with a pid used by somebody else the server refuses to start, for ever.
///
/// The caller holds the lock of the state folder. Without `/proc` nothing is looked for and
/// nothing removed: the server's own check of its lock file has to do.
pub(crate) fn settle(
    data: &Path,
    socket: &Path,
    account: &Account,
    haste: Haste,
) -> Result<(), EmbeddedError> {
    if !process::has_proc() || !data.exists() {
        return Ok(());
    }
    end(data, account, haste)?;
    let name = format!(".s.PGSQL.{}", socket::PORT);
    let stale = [
        data.join("postmaster.pid"),
        socket.join(&name),
        socket.join(format!("{name}.lock")),
    ];
    for file in stale {
        match fs::remove_file(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(EmbeddedError::io("remove", &file)(error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn end(data: &Path, account: &Account, haste: Haste) -> Result<(), EmbeddedError> {
    let started = Instant::now();
    let patience = match haste {
        Haste::Clean(patience) => patience,
        Haste::AtOnce => Duration::ZERO,
    };
    let mut told: Vec<(u32, &str)> = Vec::new();
    loop {
        let living = living(data, account);
        let Some(first) = living.first() else {
            return Ok(());
        };
        let waited = started.elapsed();
        if waited > patience + QUIT_PATIENCE {
            let (pid, seconds) = (first.pid, waited.as_secs());
            return Err(EmbeddedError::Leftover {
                pid,
                data: data.to_path_buf(),
                seconds,
            });
        }
        for (pid, name) in signals(&living, waited >= patience) {
            // Once each: a second SIGINT would be harmless, a thousand are a waste.
            if !told.contains(&(pid, name)) {
                signal(pid, name, account);
                told.push((pid, name));
            }
        }
        thread::sleep(POLL);
    }
}

/// The first process is asked and ends its children; children without one are told to quit.
fn signals(living: &[Found], impatient: bool) -> Vec<(u32, &'static str)> {
    let first: Vec<u32> = living
        .iter()
        .filter(|found| found.leads(living))
        .map(|found| found.pid)
        .collect();
    match (first.is_empty(), impatient) {
        (true, _) => living.iter().map(|found| (found.pid, "QUIT")).collect(),
        (false, true) => first.into_iter().map(|pid| (pid, "QUIT")).collect(),
        (false, false) => first.into_iter().map(|pid| (pid, "INT")).collect(),
    }
}

/// A live server process in the folder that was asked about.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub pid: u32,
    parent: u32,
    /// It calls itself `postgres: checkpointer` or the like.
    titled: bool,
}

impl Found {
    /// The server's first process: no other one's child, and still under its own command line.
    fn leads(&self, living: &[Found]) -> bool {
        !self.titled && living.iter().all(|other| other.pid != self.parent)
    }
}

/// The live server processes that work in `data`.
pub(crate) fn living(data: &Path, account: &Account) -> Vec<Found> {
    let candidates: Vec<(u32, Stat)> = process::pids()
        .into_iter()
        .filter(|pid| owner(*pid) == Some(account.uid))
        .filter_map(|pid| Some((pid, process::stat(pid)?)))
        .filter(|(_, stat)| stat.alive && stat.name.contains("postgres"))
        .collect();
    if candidates.is_empty() {
        return Vec::new();
    }
    let pids: Vec<u32> = candidates.iter().map(|(pid, _)| *pid).collect();
    let inside = working_in(data, &pids, account);
    let here = candidates
        .into_iter()
        .filter(|(pid, _)| inside.contains(pid));
    here.map(|(pid, stat)| Found {
        pid,
        parent: stat.parent,
        titled: is_titled(pid),
    })
    .collect()
}

/// The shell looks, as the account itself: in a container root may lack the right to see where
/// another account's process works, while that account always may.
fn working_in(folder: &Path, pids: &[u32], account: &Account) -> Vec<u32> {
    let mut command = account.command("/bin/sh");
    command.args(["-c", WORKING_IN, "sh"]).arg(folder);
    command
        .args(pids.iter().map(u32::to_string))
        .stderr(Stdio::null());
    let text = command
        .output()
        .map(|output| output.stdout)
        .unwrap_or_default();
    String::from_utf8_lossy(&text)
        .lines()
        .filter_map(|line| line.parse().ok())
        .collect()
}

/// As the account, so that it can never reach a process of anybody else's.
fn signal(pid: u32, name: &str, account: &Account) {
    let mut command = account.command("/bin/sh");
    command
        .args(["-c", "kill -s \"$1\" \"$2\"", "sh", name])
        .arg(pid.to_string());
    // It may have ended meanwhile; the next look decides.
    let _ = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn owner(pid: u32) -> Option<u32> {
    fs::metadata(format!("/proc/{pid}"))
        .ok()
        .map(|found| found.uid())
}

fn is_titled(pid: u32) -> bool {
    fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.starts_with(b"postgres: "))
}

const WORKING_IN: &str = r#"
folder=$1
shift
for pid in "$@"; do
    if [ "/proc/$pid/cwd" -ef "$folder" ]; then echo "$pid"; fi
done
"#;

const POLL: Duration = Duration::from_millis(20);
/// What SIGQUIT needs on a busy machine.
const QUIT_PATIENCE: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pid: u32, parent: u32, titled: bool) -> Found {
        Found {
            pid,
            parent,
            titled,
        }
    }

    #[test]
    fn only_the_first_process_is_asked_to_stop() {
        let server = [found(7, 1, false), found(8, 7, true), found(9, 7, false)];
        assert_eq!(signals(&server, false), [(7, "INT")]);
        assert_eq!(signals(&server, true), [(7, "QUIT")]);
    }

    #[test]
    fn children_that_outlived_the_first_process_are_told_to_quit() {
        let orphans = [found(8, 1, true), found(9, 1, true)];
        assert_eq!(signals(&orphans, false), [(8, "QUIT"), (9, "QUIT")]);
    }
}
