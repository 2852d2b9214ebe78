//! What `/proc` tells of a process: name, state, parent, time of birth.

use std::fs;
use std::path::Path;

/// One process, as `/proc/N/stat` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stat {
    /// The program's name, cut to 15 bytes by the kernel.
    pub name: String,
    /// The pid of its parent.
    pub parent: u32,
    /// Clock ticks between boot and its birth: with the pid, an identity.
    pub born: u64,
    /// Not a zombie, not being buried.
    pub alive: bool,
}

/// Looks a process up; `None` when there is none of that number, or no `/proc`.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    let bytes = fs::read(format!("/proc/{pid}/stat")).ok()?;
    parse(&String::from_utf8_lossy(&bytes))
}

/// All pids, in no order.
pub(crate) fn pids() -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Whether this system shows its processes as files.
pub(crate) fn has_proc() -> bool {
    Path::new("/proc/self/stat").exists()
}

/// The name stands in parentheses and may itself hold blanks and parentheses: the last one ends it.
fn parse(line: &str) -> Option<Stat> {
    let (head, rest) = line.rsplit_once(')')?;
    let (_, name) = head.split_once('(')?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        name: name.to_owned(),
        parent: fields.get(1)?.parse().ok()?,
        born: fields.get(BORN)?.parse().ok()?,
        alive: !matches!(*fields.first()?, "Z" | "X"),
    })
}

/// Field 22 of proc(5), counted from the state, which is field 3.
const BORN: usize = 19;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_parentheses_is_read_whole() {
        let line = "7 (a) b (c) S 3 7 7 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 4711 5 6";
        let expected = Stat {
            name: "a) b (c".into(),
            parent: 3,
            born: 4711,
            alive: true,
        };
        assert_eq!(parse(line), Some(expected));
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let line = "7 (postgres) Z 3 7 7 0 -1 4 0 0 0 0 1 2 3 4 20 0 1 0 4711 5 6";
        assert!(!parse(line).unwrap().alive);
    }

    #[test]
    fn we_find_ourselves() {
        let me = stat(std::process::id()).unwrap();
        assert!(me.alive && me.born > 0);
        assert!(pids().contains(&std::process::id()));
    }
}
