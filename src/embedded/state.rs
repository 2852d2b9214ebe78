//! The state folder `S`: `S/lock`, `S/data`, `S/password` and `S/log`.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::account::Account;
use crate::error::EmbeddedError;

/// Where things lie in a state folder. Making one touches nothing.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// `S` itself, absolute.
    pub folder: PathBuf,
    /// The cluster.
    pub data: PathBuf,
    /// The superuser's password.
    pub password: PathBuf,
    /// What the server and `initdb` say.
    pub log: PathBuf,
    lock: PathBuf,
}

impl State {
    pub fn at(folder: &Path) -> Result<Self, EmbeddedError> {
        let folder =
            std::path::absolute(folder).map_err(EmbeddedError::io("find the folder", folder))?;
        Ok(Self {
            data: folder.join("data"),
            password: folder.join("password"),
            log: folder.join("log"),
            lock: folder.join("lock"),
            folder,
        })
    }

    /// Makes the folder, or checks the one that is there.
    pub fn open(&self, account: &Account) -> Result<(), EmbeddedError> {
        if let Some(path) = self.file_in_the_way() {
            return Err(EmbeddedError::NoFolder { path });
        }
        account.check_way(&self.folder, "set data_dir, e.g. /var/lib/keyrack.")?;
        match fs::metadata(&self.folder) {
            Ok(found) if found.uid() == 0 && account.is_lent() => account.give(&self.folder),
            Ok(found) => check_owner(&self.folder, found.uid(), account),
            Err(_) => make_private(&self.folder, account),
        }
    }

    /// The nearest of the folder and those above it that exists, where it is a file.
    fn file_in_the_way(&self) -> Option<PathBuf> {
        let exists = |path: &&Path| fs::metadata(path).is_ok();
        let nearest = self.folder.ancestors().find(exists)?;
        (!nearest.is_dir()).then(|| nearest.to_path_buf())
    }

    /// Takes the folder for ourselves until the file is closed, and writes our pid into it.
    ///
    /// Tried for half a second: whoever only looks whether it is held holds it for an instant.
    pub fn lock(&self, account: &Account) -> Result<File, EmbeddedError> {
        let mut file = OpenOptions::new()
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .mode(0o600)
            .open(&self.lock)
            .map_err(EmbeddedError::io("open", &self.lock))?;
        for _ in 0..LOCK_TRIES {
            match file.try_lock() {
                Ok(()) => {
                    account.give(&self.lock)?;
                    self.sign(&mut file)?;
                    return Ok(file);
                }
                Err(TryLockError::WouldBlock) => thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(source)) => {
                    return Err(EmbeddedError::io("lock", &self.lock)(source));
                }
            }
        }
        let mut pid = String::new();
        file.read_to_string(&mut pid)
            .map_err(EmbeddedError::io("read", &self.lock))?;
        let (pid, state_dir) = (pid.trim().to_owned(), self.folder.clone());
        Err(EmbeddedError::InUse { pid, state_dir })
    }

    fn sign(&self, file: &mut File) -> Result<(), EmbeddedError> {
        let pid = format!("{}\n", std::process::id());
        let written = file
            .set_len(0)
            .and_then(|()| file.write_all(pid.as_bytes()));
        written.map_err(EmbeddedError::io("write", &self.lock))
    }

    /// Whether somebody holds the lock. Nothing is made and nothing is kept.
    pub fn is_held(&self) -> Result<bool, EmbeddedError> {
        let file = match File::open(&self.lock) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(EmbeddedError::io("open", &self.lock)(error)),
        };
        match file.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(source)) => Err(EmbeddedError::io("lock", &self.lock)(source)),
        }
    }

    /// The superuser's password, made where there is neither one nor a cluster.
    pub fn secure(&self, account: &Account) -> Result<String, EmbeddedError> {
        if !self.password.exists() {
            if self.data.exists() {
                let (data, password) = (self.data.clone(), self.password.clone());
                return Err(EmbeddedError::PasswordLost { data, password });
            }
            self.make_password(account)?;
        }
        self.read_password()
    }

    pub fn read_password(&self) -> Result<String, EmbeddedError> {
        let text = fs::read_to_string(&self.password)
            .map_err(EmbeddedError::io("read", &self.password))?;
        Ok(text.trim().to_owned())
    }

    /// Written beside and renamed, and made before the cluster: no crash in between loses it.
    fn make_password(&self, account: &Account) -> Result<(), EmbeddedError> {
        let source = Path::new("/dev/urandom");
        let mut secret = [0_u8; SECRET_BYTES];
        File::open(source)
            .and_then(|mut file| file.read_exact(&mut secret))
            .map_err(EmbeddedError::io("read", source))?;
        let draft = self.folder.join("password.new");
        OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .and_then(|mut file| {
                writeln!(file, "{}", hex::encode(secret))?;
                file.sync_all()
            })
            .map_err(EmbeddedError::io("write", &draft))?;
        account.give(&draft)?;
        fs::rename(&draft, &self.password).map_err(EmbeddedError::io("rename", &draft))
    }

    /// The log, opened so that every writer appends. A log that has grown large is put aside.
    pub fn open_log(&self, account: &Account) -> Result<File, EmbeddedError> {
        if fs::metadata(&self.log).is_ok_and(|log| log.len() > LOG_BYTES_MAX) {
            let aside = self.folder.join("log.old");
            fs::rename(&self.log, &aside).map_err(EmbeddedError::io("put aside", &self.log))?;
        }
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&self.log)
            .map_err(EmbeddedError::io("open", &self.log))?;
        account.give(&self.log)?;
        Ok(file)
    }
}

/// Makes a folder for the account alone. The folders above it that are missing are made so that
/// the account may pass.
pub(crate) fn make_private(folder: &Path, account: &Account) -> Result<(), EmbeddedError> {
    if let Some(parent) = folder.parent() {
        let missing: Vec<&Path> = parent.ancestors().take_while(|way| !way.exists()).collect();
        for way in missing.into_iter().rev() {
            make(way, 0o755)?;
        }
    }
    make(folder, 0o700)?;
    account.give(folder)
}

/// The mode is set twice: what the umask took away at birth must be there for the account.
fn make(folder: &Path, mode: u32) -> Result<(), EmbeddedError> {
    let made = DirBuilder::new().mode(mode).create(folder);
    made.and_then(|()| fs::set_permissions(folder, PermissionsExt::from_mode(mode)))
        .map_err(EmbeddedError::io("make the folder", folder))
}

/// Refuses a folder that belongs to neither the account nor, by hand-over, to us.
pub(crate) fn check_owner(
    folder: &Path,
    owner: u32,
    account: &Account,
) -> Result<(), EmbeddedError> {
    if owner == account.uid {
        return Ok(());
    }
    let (path, account, uid) = (folder.to_path_buf(), account.name.clone(), account.uid);
    Err(EmbeddedError::WrongOwner {
        path,
        owner,
        account,
        uid,
    })
}

const LOCK_TRIES: u32 = 25;
const LOCK_PAUSE: Duration = Duration::from_millis(20);
const SECRET_BYTES: usize = 32;
/// About a year of an undisturbed server.
const LOG_BYTES_MAX: u64 = 10 << 20;
