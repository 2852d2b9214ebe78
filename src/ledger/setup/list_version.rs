//! The version of a list that is put as a whole: it follows from what is in it.

use std::fmt::Debug;

use sha2::{Digest, Sha256};

use crate::decide::refusal::Refusal;

/// Of a list as it is; never 0.
pub fn list_version(list: &impl Debug) -> i64 {
    let hash = Sha256::digest(format!("{list:?}"));
    let part = hash.iter().take(6);
    part.fold(0, |sum, byte| sum << 8 | i64::from(*byte)) + 1
}

/// Refuses a change of a list that is another by now than the one that was read.
pub(crate) fn as_read(list: &impl Debug, read: Option<i64>) -> Result<(), Refusal> {
    let current = list_version(list);
    match read.is_none_or(|read| read == current) {
        true => Ok(()),
        false => Err(Refusal::VersionMismatch { current }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_list_has_another_version() {
        let versions = [
            list_version(&[1, 2]),
            list_version(&[2, 1]),
            list_version(&[0; 0]),
        ];
        assert!(versions[0] != versions[1] && versions[1] != versions[2]);
        assert!(
            versions
                .iter()
                .all(|version| (1..=1 << 48).contains(version))
        );
        assert_eq!(list_version(&[1, 2]), versions[0]);
        assert!(as_read(&[1, 2], None).is_ok() && as_read(&[1, 2], Some(versions[0])).is_ok());
        let current = versions[0];
        assert_eq!(
            as_read(&[1, 2], Some(7)),
            Err(Refusal::VersionMismatch { current })
        );
    }
}
