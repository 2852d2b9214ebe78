//! This test program once more, as a process that holds a server until it is killed.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use keyrack_embedded::Server;

use crate::place::{Place, settings};

/// Names the state folder, and so turns `plays_the_daemon_when_told` into one.
const TOLD: &str = "KEYRACK_PLAY_DAEMON";

#[tokio::test]
async fn plays_the_daemon_when_told() {
    let Some(folder) = std::env::var_os(TOLD) else {
        return;
    };
    match Server::start(&settings(Path::new(&folder))).await {
        Ok(server) => {
            println!("\nserver {}", server.pid().unwrap());
            // Killed from outside; the limit is for a parent that failed.
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        }
        Err(error) => println!("\nerror {error}"),
    }
}

/// Starts a program that was copied just now: while another test's child has not yet begun its own
/// program, it still has the copy open for writing, and the copy is busy.
fn spawned(command: &mut Command) -> Child {
    for _ in 0..100 {
        match command.spawn() {
            Err(error) if error.kind() == ErrorKind::ExecutableFileBusy => {
                std::thread::sleep(Duration::from_millis(20));
            }
            other => return other.unwrap(),
        }
    }
    panic!("the copied program stayed busy for two seconds");
}

/// A daemon that was told to start a server.
pub struct Daemon {
    child: Child,
    /// The server's pid, or why there is none.
    pub outcome: Result<u32, String>,
}

impl Daemon {
    /// Starts one on `folder` by `command`, which is the program with what comes before it.
    fn run(mut command: Command, folder: &Path) -> Self {
        command.args([
            "daemon::plays_the_daemon_when_told",
            "--exact",
            "--nocapture",
        ]);
        command
            .env(TOLD, folder)
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = spawned(&mut command);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        for line in lines.map_while(Result::ok) {
            if let Some(pid) = line.strip_prefix("server ") {
                return Self {
                    child,
                    outcome: Ok(pid.parse().unwrap()),
                };
            }
            if let Some(error) = line.strip_prefix("error ") {
                return Self {
                    child,
                    outcome: Err(error.to_owned()),
                };
            }
        }
        panic!("the daemon said nothing: {:?}", child.wait());
    }

    pub fn start(folder: &Path) -> Self {
        Self::run(Command::new(std::env::current_exe().unwrap()), folder)
    }

    /// As another account. The program is copied to where that account can reach it.
    pub fn start_as(uid: u32, place: &Place, folder: &Path) -> Self {
        let mut command = Command::new(copy(place));
        command.uid(uid).gid(uid).current_dir("/");
        Self::run(command, folder)
    }

    /// Without the right to look into other accounts' processes, as root in a container.
    pub fn start_in_container(folder: &Path) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--bounding-set", "-sys_ptrace", "--inh-caps", "-all", "--"]);
        command.arg(std::env::current_exe().unwrap());
        Self::run(command, folder)
    }

    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn copy(place: &Place) -> PathBuf {
    let program = place.top.join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    open_to_all(&place.top);
    open_to_all(&program);
    program
}

fn open_to_all(path: &Path) {
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(path, mode).unwrap();
}
