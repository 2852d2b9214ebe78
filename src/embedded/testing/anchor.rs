//! Whose run this is: the cargo above us, or ourselves.

use crate::folders::Identity;
use crate::process::{self, Stat};

/// The process with whose end the test cluster ends.
pub(crate) fn find() -> Identity {
    let me = std::process::id();
    let pid = ancestor(me, process::stat).unwrap_or(me);
    process::stat(pid).map_or_else(Identity::own, |stat| Identity {
        pid,
        born: stat.born,
    })
}

/// The nearest ancestor that runs tests. Not the shell: it may live for days.
fn ancestor(me: u32, stat: impl Fn(u32) -> Option<Stat>) -> Option<u32> {
    let mut pid = stat(me)?.parent;
    // A child is younger than its parent, so this ends; the bound is for a table that changes.
    for _ in 0..DEPTH_MAX {
        let found = stat(pid)?;
        if RUNNERS.contains(&found.name.as_str()) {
            return Some(pid);
        }
        pid = found.parent;
    }
    None
}

const RUNNERS: [&str; 2] = ["cargo", "cargo-nextest"];
const DEPTH_MAX: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn table(pid: u32) -> Option<Stat> {
        let (name, parent) = match pid {
            1 => ("init", 0),
            5 => ("cargo", 1),
            6 => ("cargo", 5),
            7 => ("sh", 6),
            8 => ("tests", 7),
            9 => ("tests", 1),
            _ => return None,
        };
        Some(Stat {
            name: name.into(),
            parent,
            born: 1,
            alive: true,
        })
    }

    #[test]
    fn the_nearest_cargo_is_the_anchor() {
        assert_eq!(ancestor(8, table), Some(6));
    }

    #[test]
    fn a_test_started_by_hand_is_its_own_anchor() {
        assert_eq!(ancestor(9, table), None);
    }
}
