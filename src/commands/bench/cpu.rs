//! Processor time: of the server (its first process and all that it has started), of a thread.

use std::time::Duration;

use anyhow::{Context, Result};

/// Ticks of `/proc` in a second, on every Linux that keyrack runs on (`USER_HZ`).
const TICKS_PER_SECOND: u64 = 100;

/// Milliseconds of processor time, user and system, of the server under `postmaster`: of those of
/// its processes that live and of those that it has waited for.
pub fn of_server(postmaster: u32) -> Result<u64> {
    let mut ticks = 0;
    for entry in std::fs::read_dir("/proc").context("/proc, where processor time is told")? {
        let name = entry?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse::<u32>().ok()) else {
            continue;
        };
        // A process may end while we look.
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            continue;
        };
        let Some(stat) = Stat::parse(&stat) else {
            continue;
        };
        if pid == postmaster {
            ticks += stat.own + stat.waited_for;
        } else if stat.parent == postmaster {
            ticks += stat.own;
        }
    }
    Ok(ticks * 1_000 / TICKS_PER_SECOND)
}

/// Processor time of this thread, as exact as the scheduler counts it.
pub fn of_thread() -> Result<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat")
        .context("/proc, where processor time is told")?;
    let nanoseconds = told.split_whitespace().next().context("a figure")?;
    Ok(Duration::from_nanos(nanoseconds.parse()?))
}

/// What a line of `/proc/<pid>/stat` says (proc(5)).
struct Stat {
    parent: u32,
    own: u64,
    waited_for: u64,
}

impl Stat {
    /// The name in brackets may hold anything: fields are counted from the last bracket on.
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            waited_for: ticks(13)? + ticks(14)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_moves_no_field() {
        let line = "7 (a) b (c)) S 3 7 7 0 -1 4194560 1 2 3 4 50 6 700 8 20 0 1 0 9";
        let stat = Stat::parse(line).expect("a line");
        assert_eq!((stat.parent, stat.own, stat.waited_for), (3, 56, 708));
    }
}
