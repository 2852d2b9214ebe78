//! Where state folders lie when nobody says otherwise.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::account::{Account, own_ids};
use crate::error::EmbeddedError;
use crate::leftovers::{self, Haste};
use crate::process;
use crate::state;

/// The state folder for data that are kept: `D/postgres` for `--data-dir D`, else the place that
/// the system has for such things.
pub fn default_state_dir(app_data_dir: Option<&Path>) -> PathBuf {
    let top = match app_data_dir {
        Some(top) => top.to_path_buf(),
        None if own_ids().0 == 0 => PathBuf::from("/var/lib/keyrack"),
        None => home_of_data().join("keyrack"),
    };
    top.join("postgres")
}

fn home_of_data() -> PathBuf {
    let named = std::env::var_os("XDG_DATA_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/share"));
    let absolute = |path: &PathBuf| path.is_absolute();
    named
        .filter(absolute)
        .or_else(home)
        .filter(absolute)
        .unwrap_or_else(std::env::temp_dir)
}

/// Makes a state folder to throw away, in a temporary place that the server's account may enter.
///
/// Whoever asks for it removes it after the stop. Folders of the same label whose process is
/// gone are removed first, with the server that may still be in them.
pub fn temporary_state_dir(label: &str) -> Result<PathBuf, EmbeddedError> {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let account = Account::choose(&[])?;
    let top = temporary_top(&account);
    let prefix = format!("keyrack-{label}-");
    sweep(&top, &prefix, &account)?;
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = top.join(format!("{prefix}{}-{count}", Identity::own().name()));
    state::make_private(&folder, &account)?;
    Ok(folder)
}

/// The first temporary place that is open to the account; TMPDIR may be somebody's own.
pub(crate) fn temporary_top(account: &Account) -> PathBuf {
    let places = [
        std::env::temp_dir(),
        PathBuf::from("/var/tmp"),
        PathBuf::from("/tmp"),
    ];
    let open = |top: &&PathBuf| top.is_dir() && account.closed_folder(&top.join("x")).is_none();
    let chosen = places.iter().find(open).unwrap_or(&places[0]);
    fs::canonicalize(chosen).unwrap_or_else(|_| chosen.clone())
}

fn sweep(top: &Path, prefix: &str, account: &Account) -> Result<(), EmbeddedError> {
    let Ok(entries) = fs::read_dir(top) else {
        return Ok(());
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(prefix)) else {
            continue;
        };
        let owner = rest
            .rsplit_once('-')
            .and_then(|(key, _)| Identity::parse(key));
        let ours = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() == account.uid);
        if ours && owner.is_some_and(|owner| !owner.lives()) {
            remove(&entry.path(), account)?;
        }
    }
    Ok(())
}

/// Ends what still works in a throw-away folder, and removes it.
pub(crate) fn remove(folder: &Path, account: &Account) -> Result<(), EmbeddedError> {
    leftovers::settle(&folder.join("data"), folder, account, Haste::AtOnce)?;
    for _ in 0..REMOVE_TRIES {
        // Its keeper may be removing it as well.
        match fs::remove_dir_all(folder) {
            Ok(()) => return Ok(()),
            Err(_) if !folder.exists() => return Ok(()),
            Err(_) => std::thread::sleep(std::time::Duration::from_millis(20)),
        }
    }
    fs::remove_dir_all(folder).map_err(EmbeddedError::io("remove", folder))
}

/// A process, beyond the reuse of its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub pid: u32,
    /// Zero where there is no `/proc`.
    pub born: u64,
}

impl Identity {
    pub fn own() -> Self {
        let pid = std::process::id();
        Self {
            pid,
            born: process::stat(pid).map_or(0, |stat| stat.born),
        }
    }

    /// `PID-BORN`, as folders are called after it.
    pub fn name(self) -> String {
        format!("{}-{}", self.pid, self.born)
    }

    pub fn parse(name: &str) -> Option<Self> {
        let (pid, born) = name.split_once('-')?;
        Some(Self {
            pid: pid.parse().ok()?,
            born: born.parse().ok()?,
        })
    }

    /// Without `/proc` nobody is ever taken for dead.
    pub fn lives(self) -> bool {
        !process::has_proc()
            || process::stat(self.pid).is_some_and(|stat| stat.alive && stat.born == self.born)
    }
}

const REMOVE_TRIES: u32 = 50;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_folder_of_the_command_line_holds_the_state() {
        let given = default_state_dir(Some(Path::new("/srv/hotel")));
        assert_eq!(given, Path::new("/srv/hotel/postgres"));
        assert!(default_state_dir(None).ends_with("keyrack/postgres"));
    }

    #[test]
    fn a_pid_that_was_used_again_is_another_process() {
        let me = Identity::own();
        assert_eq!(Identity::parse(&me.name()), Some(me));
        assert!(me.lives());
        assert!(
            !Identity {
                born: me.born + 1,
                ..me
            }
            .lives()
        );
    }

    #[test]
    fn a_throw_away_folder_is_swept_when_its_process_is_gone() {
        let kept = temporary_state_dir("sweeping").unwrap();
        let gone = kept.with_file_name(format!("keyrack-sweeping-{}-1-0", std::process::id()));
        fs::create_dir(&gone).unwrap();
        Account::choose(&[]).unwrap().give(&gone).unwrap();
        let second = temporary_state_dir("sweeping").unwrap();
        assert!(kept.is_dir() && second.is_dir() && kept != second);
        assert!(!gone.exists());
        fs::remove_dir(kept).unwrap();
        fs::remove_dir(second).unwrap();
    }
}
