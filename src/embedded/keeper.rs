//! The keeper: a small shell between us and the server, which outlives neither.
//!
//! # Why
//!
//! A server that outlives its daemon blocks the next start. The kernel's "signal me when my
//! parent dies" needs `unsafe`, and means the thread that started it, not the process. A pipe
//! has neither fault: whatever ends us closes it, and the shell at its other end asks the server
//! to stop.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdin, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::account::Account;
use crate::binaries::Binaries;
use crate::error::EmbeddedError;
use crate::state::State;

/// A running keeper. Dropping it closes the pipe: the server then stops by itself.
#[derive(Debug)]
pub(crate) struct Keeper {
    child: Option<Child>,
    /// Held open as long as the server is wanted.
    pipe: Option<ChildStdin>,
    /// The pid of the server's first process.
    pub postmaster: u32,
}

impl Keeper {
    /// Starts the server; returns once it has a pid, before it is ready.
    pub fn start(
        state: &State,
        socket: &Path,
        binaries: &Binaries,
        account: &Account,
        settings: &[(String, String)],
    ) -> Result<Self, EmbeddedError> {
        let log = state.open_log(account)?;
        let mut command = account.command("/bin/sh");
        command
            .args(["-c", SCRIPT, "pg-keeper"])
            .arg(&binaries.folder)
            .arg(&state.data);
        command.args(flags(socket, settings));
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log);
        let shell = Path::new("/bin/sh");
        let mut child = command.spawn().map_err(EmbeddedError::io("run", shell))?;
        let pipe = child.stdin.take();
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            let read = BufReader::new(stdout).read_line(&mut line);
            read.map_err(EmbeddedError::io("hear from", shell))?;
        }
        let mut keeper = Self {
            child: Some(child),
            pipe,
            postmaster: 0,
        };
        match line.trim().parse() {
            Ok(pid) => keeper.postmaster = pid,
            Err(_) => {
                let status = keeper.wait(Duration::from_secs(1));
                return Err(EmbeddedError::failed(
                    "the server's keeper failed",
                    status,
                    &state.log,
                ));
            }
        }
        Ok(keeper)
    }

    /// Waits until the server says that it is ready, or has ended instead.
    ///
    /// It must be our server that says so: a connection that succeeds may have reached an old one.
    pub fn wait_until_ready(&mut self, state: &State) -> Result<(), EmbeddedError> {
        let what = "PostgreSQL did not start";
        let started = Instant::now();
        loop {
            if let Some(status) = self.ended() {
                return Err(EmbeddedError::failed(what, Some(status), &state.log));
            }
            let limit = match pid_file(&state.data) {
                Some(file) if file.pid != self.postmaster => START_LIMIT,
                Some(file) if file.ready => return Ok(()),
                Some(_) => RECOVERY_LIMIT,
                None => START_LIMIT,
            };
            if started.elapsed() > limit {
                return Err(EmbeddedError::failed(what, None, &state.log));
            }
            thread::sleep(POLL);
        }
    }

    /// Closes the pipe; the keeper sends the server SIGINT, its fast and clean shutdown.
    pub fn let_go(&mut self) {
        self.pipe = None;
    }

    /// Waits for the keeper's end, and with it the server's.
    pub fn wait(&mut self, limit: Duration) -> Option<ExitStatus> {
        let started = Instant::now();
        loop {
            let ended = self.ended();
            if ended.is_some() || started.elapsed() > limit {
                return ended;
            }
            thread::sleep(POLL);
        }
    }

    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.as_mut()?.try_wait().ok()?
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.let_go();
        if let Some(mut child) = self.child.take() {
            // Somebody has to collect it, or it stays a zombie as long as we live.
            thread::spawn(move || child.wait());
        }
    }
}

/// What the first lines of `postmaster.pid` say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PidFile {
    pub pid: u32,
    /// The folder of its socket.
    pub socket: String,
    pub ready: bool,
}

/// Reads `postmaster.pid`: line 1 is the pid, line 5 the socket's folder, line 8 the state.
pub(crate) fn pid_file(data: &Path) -> Option<PidFile> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    let lines: Vec<&str> = text.lines().collect();
    Some(PidFile {
        pid: lines.first()?.trim().parse().ok()?,
        socket: lines.get(4).copied().unwrap_or_default().to_owned(),
        ready: lines.get(7).is_some_and(|line| line.trim() == "ready"),
    })
}

/// Each setting as `-c name=value`. No network is listened on.
pub(crate) fn flags(socket: &Path, settings: &[(String, String)]) -> Vec<String> {
    // The value is a list: quoted, a comma in a path stays a comma.
    let folder = socket.display().to_string().replace('"', "\"\"");
    let own = [
        ("listen_addresses", String::new()),
        ("unix_socket_directories", format!("\"{folder}\"")),
        ("port", crate::socket::PORT.to_string()),
    ];
    let own = own.iter().map(|(name, value)| format!("{name}={value}"));
    let given = settings
        .iter()
        .map(|(name, value)| format!("{name}={value}"));
    own.chain(given)
        .flat_map(|setting| ["-c".to_owned(), setting])
        .collect()
}

/// Descriptor 3 is our pipe and 4 the way back; the server inherits neither, and writes to the log.
const SCRIPT: &str = r#"
trap '' INT HUP
exec 3<&0 </dev/null 4>&1 >&2
bin=$1 data=$2
shift 2
"$bin/postgres" -D "$data" "$@" 3<&- 4>&- & pg=$!
echo $pg >&4
exec 4>&-
{ read -r _ <&3; kill -INT $pg 2>/dev/null; } & watch=$!
exec 3<&-
wait $pg
status=$?
kill $watch 2>/dev/null
exit $status
"#;

const POLL: Duration = Duration::from_millis(10);
/// From the start to a pid file of its own.
const START_LIMIT: Duration = Duration::from_secs(30);
/// After a crash the server first repeats what its log holds, and says "starting" meanwhile.
const RECOVERY_LIMIT: Duration = Duration::from_secs(600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_comma_blank_and_quote_stays_one_folder() {
        let flags = flags(
            Path::new("/srv/a, \"b\""),
            &[("shared_buffers".into(), "1GB".into())],
        );
        assert_eq!(flags[3], "unix_socket_directories=\"/srv/a, \"\"b\"\"\"");
        assert_eq!(flags[6..], ["-c", "shared_buffers=1GB"]);
    }
}
