//! The key under which secrets lie in the database: from the configuration, else from a file that
//! is made once.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use keyrack_distribution::seal::Seal;
use secrecy::{ExposeSecret as _, SecretString};

use crate::config::Config;

/// The seal, and the file that was made for it just now.
pub fn open(config: &Config) -> Result<(Seal, Option<PathBuf>)> {
    if let Some(seal) = find(config)? {
        return Ok((seal, None));
    }
    let folder = config.data_folder();
    let path = place(&folder);
    make(&folder, &path)?;
    let seal = find(config)?.with_context(|| format!("{} is gone again", path.display()))?;
    Ok((seal, Some(path)))
}

/// The seal, where there is a key.
pub fn find(config: &Config) -> Result<Option<Seal>> {
    let configured = &config.secrets.seal_key;
    if !configured.expose_secret().is_empty() {
        let seal = Seal::new(configured).context("secrets.seal_key cannot be used")?;
        return Ok(Some(seal));
    }
    let path = place(&config.data_folder());
    let found = match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found.with_context(|| format!("looking at {}", path.display()))?,
    };
    ensure!(
        found.permissions().mode() & 0o077 == 0,
        "{} may be read by others; close it with chmod 600",
        path.display()
    );
    let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let seal = Seal::new(&SecretString::from(text))
        .with_context(|| format!("{} cannot be used", path.display()))?;
    Ok(Some(seal))
}

/// Which key is meant, for people.
pub fn whence(config: &Config) -> String {
    if config.secrets.seal_key.expose_secret().is_empty() {
        format!("the seal key in {}", place(&config.data_folder()).display())
    } else {
        "secrets.seal_key of the configuration".to_owned()
    }
}

/// What to do where a database is sealed with another key.
pub fn wrong(config: &Config, database: &str) -> String {
    let file = place(&config.data_folder());
    format!(
        "{} does not open what is sealed in {database}: another key sealed it. Give this daemon \
         the key of the first one: its seal.key as {}, or the same secrets.seal_key. Where that \
         key is lost, start once with --give-up-sealed and put the login of every connection and \
         the secret of every webhook anew",
        whence(config),
        file.display()
    )
}

fn place(folder: &Path) -> PathBuf {
    folder.join("seal.key")
}

/// Made whole under another name and linked into its place: of two daemons that start at once, both
/// take the key of the first.
fn make(folder: &Path, path: &Path) -> Result<()> {
    let doing = || format!("making {}", path.display());
    fs::create_dir_all(folder).with_context(doing)?;
    let draft = folder.join(format!("seal.key.{}", std::process::id()));
    let mut file = OpenOptions::new()
        .create(true)
        .write(true)
        .truncate(true)
        .mode(0o600)
        .open(&draft)
        .with_context(doing)?;
    let key = Seal::fresh_key();
    writeln!(file, "{}", key.expose_secret()).with_context(doing)?;
    file.sync_all().with_context(doing)?;
    let linked = fs::hard_link(&draft, path);
    fs::remove_file(&draft).with_context(doing)?;
    match linked {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error).with_context(doing),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seal_key_is_made_once_and_for_its_owner_only() {
        let folder = std::env::temp_dir().join(format!("keyrack-seal-{}", std::process::id()));
        let mut config = Config::compiled_in().unwrap();
        config.data_dir = folder.clone();
        let (_, made) = open(&config).unwrap();
        let path = made.expect("made");
        let first = fs::read_to_string(&path).unwrap();
        assert_eq!(
            fs::metadata(&path).unwrap().permissions().mode() & 0o777,
            0o600
        );
        assert!(open(&config).unwrap().1.is_none());
        assert_eq!(fs::read_to_string(&path).unwrap(), first);
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "no draft is left"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert!(open(&config).is_err(), "others may read it");
        fs::remove_dir_all(folder).unwrap();
    }
}
