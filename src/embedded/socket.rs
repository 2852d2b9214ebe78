//! Where the server's socket lies. Its path has to fit into the kernel's 108 bytes.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::account::Account;
use crate::error::EmbeddedError;
use crate::state;

/// The port is only the suffix of the socket's name; nobody listens on a network.
pub(crate) const PORT: u16 = 5432;

/// A folder for the socket: the state folder where it is short enough, else one made from its
/// hash in the user's run-time folder or a temporary one.
pub(crate) fn folder(state_dir: &Path, account: &Account) -> Result<PathBuf, EmbeddedError> {
    if fits(state_dir) {
        return Ok(state_dir.to_path_buf());
    }
    let digest = Sha256::digest(state_dir.as_os_str().as_bytes());
    let hash = hex::encode(&digest[..4]);
    let run_time = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let run_time = run_time.map(|top| top.join(format!("keyrack-{hash}")));
    let temporary = |top: PathBuf| top.join(format!("keyrack-{}-{hash}", account.uid));
    let places = [
        run_time.filter(|folder| folder.is_absolute()),
        Some(temporary(std::env::temp_dir())),
        Some(temporary(PathBuf::from("/tmp"))),
    ];
    let usable = |folder: &PathBuf| {
        fits(folder)
            && folder.parent().is_some_and(Path::is_dir)
            && account.closed_folder(folder).is_none()
    };
    match places.into_iter().flatten().find(usable) {
        Some(folder) => open(folder, account),
        None => Err(EmbeddedError::SocketPath {
            dir: state_dir.to_path_buf(),
            max: BYTES_MAX,
        }),
    }
}

/// Makes the folder or takes the one that is there, if it is the account's alone: a temporary
/// folder is everybody's, and somebody may have been there first.
fn open(folder: PathBuf, account: &Account) -> Result<PathBuf, EmbeddedError> {
    if fs::symlink_metadata(&folder).is_err() {
        state::make_private(&folder, account)?;
    }
    let found = fs::symlink_metadata(&folder).map_err(EmbeddedError::io("look at", &folder))?;
    state::check_owner(&folder, found.uid(), account)?;
    let mode = found.permissions().mode() & 0o7777;
    if !found.is_dir() || mode != 0o700 {
        return Err(EmbeddedError::WrongMode { path: folder, mode });
    }
    Ok(folder)
}

fn fits(folder: &Path) -> bool {
    folder.as_os_str().len() <= BYTES_MAX
}

/// `DIR/.s.PGSQL.5432` may have 107 bytes, 103 on macOS.
const BYTES_MAX: usize = if cfg!(target_os = "linux") { 92 } else { 88 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_state_folder_holds_the_socket_itself() {
        let account = Account::choose(&[]).unwrap();
        let longest = PathBuf::from(format!("/{}", "s".repeat(BYTES_MAX - 1)));
        assert_eq!(folder(&longest, &account).unwrap(), longest);
    }

    #[test]
    fn a_long_state_folder_gets_a_private_socket_folder_of_its_own() {
        let account = Account::choose(&[]).unwrap();
        let long = PathBuf::from(format!("/{}", "s".repeat(BYTES_MAX)));
        let first = folder(&long, &account).unwrap();
        assert!(fits(&first) && first.is_dir());
        assert_eq!(folder(&long, &account).unwrap(), first);
        let other = folder(&long.join("other"), &account).unwrap();
        assert_ne!(other, first);
        fs::set_permissions(&other, PermissionsExt::from_mode(0o755)).unwrap();
        let said = folder(&long.join("other"), &account)
            .unwrap_err()
            .to_string();
        assert!(said.contains("has mode 0755"), "{said}");
        fs::remove_dir(first).unwrap();
        fs::remove_dir(other).unwrap();
    }
}
