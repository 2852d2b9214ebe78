//! Finds the server's programs on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::EmbeddedError;

/// A folder with `postgres` and `initdb`, and what it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Binaries {
    /// The real folder; links are followed.
    pub folder: PathBuf,
    /// The major version.
    pub major: u32,
}

/// Takes the binaries that fit `data`: its own major version if it exists, else the highest.
///
/// `named` is the setting; when given, no other folder is looked at.
pub(crate) fn find(named: Option<&Path>, data: &Path) -> Result<Binaries, EmbeddedError> {
    let candidates = match named {
        Some(folder) => {
            let bin = real_folder(folder).ok_or_else(|| EmbeddedError::NoServerIn {
                bin: folder.to_path_buf(),
            })?;
            vec![bin]
        }
        None => candidates(),
    };
    choose(&candidates, made_by(data)?, data)
}

/// The major version that made `data`; `None` while there is no such folder.
pub(crate) fn made_by(data: &Path) -> Result<Option<u32>, EmbeddedError> {
    if !data.exists() {
        return Ok(None);
    }
    let version = fs::read_to_string(data.join("PG_VERSION")).unwrap_or_default();
    let no_data = || EmbeddedError::NotData {
        data: data.to_path_buf(),
    };
    version.trim().parse().map(Some).map_err(|_| no_data())
}

fn choose(
    folders: &[PathBuf],
    made_by: Option<u32>,
    data: &Path,
) -> Result<Binaries, EmbeddedError> {
    let mut found: Vec<Binaries> = Vec::new();
    let mut too_old = None;
    for folder in folders {
        let Some(said) = version(folder) else {
            continue;
        };
        match major(&said) {
            Some(major) if major >= MAJOR_MIN => {
                found.push(Binaries {
                    folder: folder.clone(),
                    major,
                });
            }
            _ => too_old = Some((folder.clone(), said)),
        }
    }
    let Some(highest) = found.iter().rev().max_by_key(|binaries| binaries.major) else {
        return Err(match too_old {
            Some((bin, found)) => EmbeddedError::TooOld { bin, found },
            None => EmbeddedError::NoServer,
        });
    };
    let Some(made_by) = made_by else {
        return Ok(highest.clone());
    };
    found
        .iter()
        .find(|binaries| binaries.major == made_by)
        .cloned()
        .ok_or_else(|| {
            let (bin, found) = (highest.folder.clone(), highest.major);
            EmbeddedError::Major {
                data: data.to_path_buf(),
                made_by,
                found,
                bin,
            }
        })
}

/// All folders that hold both programs, in the order of the search, each once.
fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Some(path) = std::env::var_os("PATH") {
        folders.extend(std::env::split_paths(&path));
    }
    folders.extend(folder_of_pg_config());
    folders.extend(children("/usr/lib/postgresql", "", "bin"));
    folders.extend(children("/usr", "pgsql-", "bin"));
    folders.extend(children("/opt/homebrew/opt", "postgresql@", "bin"));
    let mut seen = BTreeSet::new();
    let real = folders.iter().filter_map(|folder| real_folder(folder));
    real.filter(|folder| seen.insert(folder.clone())).collect()
}

/// pg_config comes with the client's headers and may name a folder without a server.
fn folder_of_pg_config() -> Option<PathBuf> {
    let output = Command::new("pg_config")
        .arg("--bindir")
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| PathBuf::from(text.trim()))
}

/// `top/<prefix…>/inner` for each entry of `top` that begins so.
fn children(top: &str, prefix: &str, inner: &str) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(top) else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| Some(entry.ok()?.file_name()));
    let mut folders: Vec<PathBuf> = names
        .filter(|name| name.to_str().is_some_and(|name| name.starts_with(prefix)))
        .map(|name| Path::new(top).join(name).join(inner))
        .collect();
    folders.sort();
    folders
}

/// The folder in which the programs really stand: the server looks for its other files from there.
fn real_folder(folder: &Path) -> Option<PathBuf> {
    let both = ["postgres", "initdb"]
        .iter()
        .all(|name| executable(&folder.join(name)));
    if !both {
        return None;
    }
    let server = fs::canonicalize(folder.join("postgres")).ok()?;
    let real = server.parent()?;
    if executable(&real.join("initdb")) {
        return Some(real.to_path_buf());
    }
    fs::canonicalize(folder).ok()
}

fn executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// What the server says of itself, such as `15.18 (Debian 15.18-0+deb12u1)`.
fn version(folder: &Path) -> Option<String> {
    let output = Command::new(folder.join("postgres"))
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (_, version) = text.trim().split_once(") ")?;
    output.status.success().then(|| version.to_owned())
}

/// `15.18 (…)`, `17beta1` and `18devel` all begin with the major version.
fn major(version: &str) -> Option<u32> {
    let digits = version
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(version.len());
    version[..digits].parse().ok()
}

/// The oldest version with all that is used here and in the schema.
const MAJOR_MIN: u32 = 14;

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder whose server says it is of `version`.
    fn pretend(top: &Path, name: &str, version: &str) -> PathBuf {
        let folder = top.join(name);
        fs::create_dir_all(&folder).unwrap();
        for program in ["postgres", "initdb"] {
            let file = folder.join(program);
            fs::write(
                &file,
                format!("#!/bin/sh\necho '{program} (PostgreSQL) {version}'\n"),
            )
            .unwrap();
            fs::set_permissions(&file, PermissionsExt::from_mode(0o755)).unwrap();
        }
        fs::canonicalize(folder).unwrap()
    }

    fn top(name: &str) -> PathBuf {
        let top = std::env::temp_dir().join(format!("keyrack-bin-{name}-{}", std::process::id()));
        fs::create_dir_all(&top).unwrap();
        top
    }

    #[test]
    fn new_data_take_the_highest_version_and_old_data_their_own() {
        let top = top("choose");
        let folders = ["14.11", "16.2 (Debian 16.2-1)", "15.18"]
            .map(|version| pretend(&top, version.split_once('.').unwrap().0, version));
        let data = Path::new("/srv/data");
        let taken = |made_by| choose(&folders, made_by, data).unwrap().major;
        assert_eq!(taken(None), 16);
        assert_eq!(taken(Some(14)), 14);
        assert_eq!(taken(Some(15)), 15);
        let said = choose(&folders, Some(13), data).unwrap_err().to_string();
        let expected = format!(
            "/srv/data was made by PostgreSQL 13; this machine has 16 ({}). Install 13, or dump \
             and restore, or choose another data_dir. Nothing was changed.",
            folders[1].display()
        );
        assert_eq!(said, expected);
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn a_server_that_is_too_old_is_named_with_its_version() {
        let top = top("old");
        let old = pretend(&top, "old", "12.19");
        let said = choose(std::slice::from_ref(&old), None, Path::new("/srv/data")).unwrap_err();
        let start = format!(
            "the PostgreSQL in {} is 12.19; need 14 or newer.",
            old.display()
        );
        assert!(said.to_string().starts_with(&start), "{said}");
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn without_a_server_the_message_names_apt() {
        let said = choose(&[], None, Path::new("/srv/data"))
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("no PostgreSQL server found (looked in PATH, pg_config,"));
        assert!(said.contains("apt install postgresql"));
    }

    #[test]
    fn a_named_folder_without_a_server_is_refused_by_name() {
        let said = find(Some(Path::new("/nowhere/bin")), Path::new("/nowhere/data")).unwrap_err();
        assert!(
            said.to_string()
                .starts_with("postgres_bin is /nowhere/bin, which"),
            "{said}"
        );
    }

    #[test]
    fn a_link_leads_to_the_folder_of_the_real_programs() {
        let top = top("link");
        let real = pretend(&top, "real", "15.1");
        let links = top.join("links");
        fs::create_dir_all(&links).unwrap();
        for program in ["postgres", "initdb"] {
            std::os::unix::fs::symlink(real.join(program), links.join(program)).unwrap();
        }
        assert_eq!(real_folder(&links), Some(real));
        fs::remove_dir_all(top).unwrap();
    }

    #[test]
    fn versions_are_read_with_whatever_follows_them() {
        assert_eq!(major("15.18 (Debian 15.18-0+deb12u1)"), Some(15));
        assert_eq!(major("17beta1"), Some(17));
        assert_eq!(major("devel"), None);
    }
}
