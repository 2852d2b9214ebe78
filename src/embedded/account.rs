//! Who the server runs as. PostgreSQL refuses root, so root lends the job to somebody else.

use std::ffi::OsStr;
use std::fs::{self, Metadata};
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::EmbeddedError;

/// The account of the server and of every child we start for it.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    /// For messages; `uid N` where there is no name.
    pub name: String,
    /// Its number.
    pub uid: u32,
    /// Its first group.
    pub gid: u32,
    /// Whether /etc/passwd, or whatever stands behind it, knows the uid.
    pub listed: bool,
    /// We are root and must change to it.
    lent: bool,
}

impl Account {
    /// Ourselves; for root the owner of what is there already, else `postgres`, else `nobody`.
    ///
    /// `places` are asked in turn for an owner: the data folder, then the state folder.
    pub fn choose(places: &[&Path]) -> Result<Self, EmbeddedError> {
        let (uid, gid) = own_ids();
        if uid != 0 {
            return Ok(Self::known(uid, gid, false));
        }
        let owner = places
            .iter()
            .filter_map(|place| fs::metadata(place).ok())
            .find(not_root);
        if let Some(owner) = owner {
            return Ok(Self::known(owner.uid(), owner.gid(), true));
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| entry(&passwd, |found, _| found == *name))
            .map(|(name, uid, gid)| Self {
                name,
                uid,
                gid,
                listed: true,
                lent: true,
            })
            .ok_or(EmbeddedError::NoAccount)
    }

    fn known(uid: u32, gid: u32, lent: bool) -> Self {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        match entry(&passwd, |_, found| found == uid) {
            Some((name, uid, gid)) => Self {
                name,
                uid,
                gid,
                listed: true,
                lent,
            },
            None => {
                // Accounts may come from elsewhere than the file: `id` asks them all.
                let name = first_line("id", &["-un", &uid.to_string()]);
                let listed = name.is_some();
                let name = name.unwrap_or_else(|| format!("uid {uid}"));
                Self {
                    name,
                    uid,
                    gid,
                    listed,
                    lent,
                }
            }
        }
    }

    /// A child of this account: empty environment but for path, locale and zone, in `/`, and in
    /// a process group of its own, so that Ctrl-C reaches it only through us.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        command
            .env_clear()
            .env("PATH", path)
            .env("LC_ALL", "C.UTF-8")
            .env("TZ", "UTC");
        command
            .current_dir("/")
            .process_group(0)
            .stdin(Stdio::null());
        if self.lent {
            command.uid(self.uid).gid(self.gid);
        }
        command
    }

    /// Hands a file or folder that we made over to the account.
    pub fn give(&self, path: &Path) -> Result<(), EmbeddedError> {
        if !self.lent {
            return Ok(());
        }
        chown(path, Some(self.uid), Some(self.gid))
            .map_err(EmbeddedError::io("hand over (chown)", path))
    }

    /// Whether we are root and act for another account.
    pub fn is_lent(&self) -> bool {
        self.lent
    }

    /// Refuses a path that lies in a folder closed to the account. Only root needs to ask: it
    /// sees the folder itself, and the server then does not.
    pub fn check_way(&self, path: &Path, remedy: &'static str) -> Result<(), EmbeddedError> {
        if !self.lent {
            return Ok(());
        }
        match self.closed_folder(path) {
            None => Ok(()),
            Some(below) => {
                let (path, account) = (path.to_path_buf(), self.name.clone());
                Err(EmbeddedError::Closed {
                    path,
                    below,
                    account,
                    remedy,
                })
            }
        }
    }

    /// The highest folder above `path` that the account may not enter. Folders that do not exist
    /// yet are no hindrance.
    pub fn closed_folder(&self, path: &Path) -> Option<PathBuf> {
        let parent = path.parent()?;
        let real = parent
            .ancestors()
            .find_map(|folder| fs::canonicalize(folder).ok())?;
        let mut way: Vec<&Path> = real.ancestors().collect();
        way.reverse();
        let closed =
            |folder: &&&Path| fs::metadata(folder).is_ok_and(|metadata| !self.may_enter(&metadata));
        way.iter().find(closed).map(|folder| folder.to_path_buf())
    }

    /// std drops root's other groups with its uid, so owner, first group and the rest are all.
    fn may_enter(&self, folder: &Metadata) -> bool {
        let bit = if folder.uid() == self.uid {
            0o100
        } else if folder.gid() == self.gid {
            0o010
        } else {
            0o001
        };
        folder.mode() & bit != 0
    }
}

fn not_root(metadata: &Metadata) -> bool {
    metadata.uid() != 0
}

/// Our own effective uid and gid. std has no call for them; the kernel writes them down.
pub(crate) fn own_ids() -> (u32, u32) {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let effective = |field: &str| -> Option<u32> {
        let line = status.lines().find_map(|line| line.strip_prefix(field))?;
        line.split_ascii_whitespace().nth(1)?.parse().ok()
    };
    let asked = |flag: &str| first_line("id", &[flag])?.parse().ok();
    let uid = effective("Uid:").or_else(|| asked("-u"));
    let gid = effective("Gid:").or_else(|| asked("-g"));
    // Without an answer we are nobody special: the kernel refuses what we may not do.
    (uid.unwrap_or(NOBODY), gid.unwrap_or(NOBODY))
}

fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().next()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}

/// Name, uid and gid of the first line of a passwd file that `wanted` takes.
fn entry(passwd: &str, wanted: impl Fn(&str, u32) -> bool) -> Option<(String, u32, u32)> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let uid = fields.nth(1)?.parse().ok()?;
        let gid = fields.next()?.parse().ok()?;
        wanted(name, uid).then(|| (name.to_owned(), uid, gid))
    })
}

const NOBODY: u32 = 65534;

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
        # a comment\n\
        postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash\n";

    #[test]
    fn an_account_is_found_by_name_and_by_number() {
        let postgres = Some(("postgres".to_owned(), 101, 104));
        assert_eq!(entry(PASSWD, |name, _| name == "postgres"), postgres);
        assert_eq!(entry(PASSWD, |_, uid| uid == 101), postgres);
        assert_eq!(entry(PASSWD, |_, uid| uid == 4711), None);
    }

    #[test]
    fn a_folder_closed_to_others_is_named() {
        let stranger = Account {
            name: "stranger".into(),
            uid: 4711,
            gid: 4711,
            listed: false,
            lent: true,
        };
        let top = std::env::temp_dir().join(format!("keyrack-way-{}", std::process::id()));
        let closed = top.join("closed");
        fs::create_dir_all(&closed).unwrap();
        let set = |path: &Path, mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            fs::set_permissions(path, mode).unwrap();
        };
        set(&top, 0o755);
        set(&closed, 0o755);
        let goal = closed.join("not/there/yet");
        assert_eq!(stranger.closed_folder(&goal), None);
        set(&closed, 0o700);
        let real = fs::canonicalize(&closed).unwrap();
        assert_eq!(stranger.closed_folder(&goal), Some(real.clone()));
        let said = stranger
            .check_way(&goal, "move it.")
            .unwrap_err()
            .to_string();
        let expected = format!(
            "{} lies below {}, which the account stranger may not enter; move it.",
            goal.display(),
            real.display()
        );
        assert_eq!(said, expected);
        fs::remove_dir_all(top).unwrap();
    }
}
