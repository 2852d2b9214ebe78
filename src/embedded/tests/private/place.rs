//! A state folder for one test, and looking at processes from outside.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use keyrack_embedded::{Server, Settings, temporary_state_dir};
use sqlx::{Connection, PgConnection};

/// Removes its folder at the end, after whatever still works in it.
pub struct Place {
    pub top: PathBuf,
}

impl Place {
    pub fn new() -> Self {
        Self {
            top: temporary_state_dir("embedded-test").unwrap(),
        }
    }

    /// Settings for a throw-away server right in the folder.
    pub fn settings(&self) -> Settings {
        settings(&self.top)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for _ in 0..100 {
            if fs::remove_dir_all(&self.top).is_ok() || !self.top.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

pub fn settings(state_dir: &Path) -> Settings {
    Settings {
        durable: false,
        ..Settings::new(state_dir)
    }
}

pub fn is_root() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:\t0\t"))
}

pub async fn connection(server: &Server) -> PgConnection {
    let options = server.database("hotel").await.unwrap();
    PgConnection::connect_with(&options).await.unwrap()
}

/// Writes one row into a table that it makes if need be.
pub async fn note(server: &Server, text: &str) {
    let mut connection = connection(server).await;
    let make = "create table if not exists note (body text)";
    sqlx::query(make).execute(&mut connection).await.unwrap();
    let insert = sqlx::query("insert into note values ($1)").bind(text);
    insert.execute(&mut connection).await.unwrap();
}

pub async fn notes(server: &Server) -> Vec<String> {
    let mut connection = connection(server).await;
    let select = sqlx::query_scalar("select body from note order by body");
    select.fetch_all(&mut connection).await.unwrap()
}

/// State, parent and name of a process.
pub fn stat(pid: u32) -> Option<(char, u32, String)> {
    let line = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (head, rest) = line.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let mut fields = rest.split(' ');
    let state = fields.next()?.chars().next()?;
    Some((state, fields.next()?.parse().ok()?, name))
}

pub fn lives(pid: u32) -> bool {
    stat(pid).is_some_and(|(state, _, _)| state != 'Z')
}

pub fn children(parent: u32) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| stat(*pid).is_some_and(|(_, found, _)| found == parent))
        .collect()
}

pub fn kill(pid: u32) {
    let pid = pid.to_string();
    let done = Command::new("/bin/sh")
        .args(["-c", "kill -9 \"$1\"", "sh", &pid])
        .status();
    assert!(done.unwrap().success());
}

/// Kills the keeper of a server, and the part of it that listens at the pipe.
pub fn kill_keeper(postmaster: u32) {
    let (_, keeper, name) = stat(postmaster).unwrap();
    assert!(matches!(name.as_str(), "postgres") && keeper != std::process::id());
    for pid in children(keeper)
        .into_iter()
        .filter(|pid| *pid != postmaster)
    {
        kill(pid);
    }
    kill(keeper);
}

/// Waits for something that happens by itself.
pub fn eventually(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(
            started.elapsed() < Duration::from_secs(60),
            "still not true: {what}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}
