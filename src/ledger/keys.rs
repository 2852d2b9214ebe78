//! API keys: made, found again by their hash, revoked. The key itself is shown once and kept by
//! nobody.

use keyrack_model::id::PropertyId;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::key::{self as store, KeyRow};
use crate::store::{connection, idempotency, kept_answer};

/// What a key may do; each may what the next may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Looks.
    ReadOnly,
    /// Books.
    FrontDesk,
    /// Sets rates and inventory, forces.
    Manager,
    /// Everything, of its property or of all.
    Admin,
}

impl Role {
    /// The role as the database spells it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read_only",
            Self::FrontDesk => "front_desk",
            Self::Manager => "manager",
            Self::Admin => "admin",
        }
    }

    /// The reverse of [`Role::as_str`].
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::ReadOnly, Self::FrontDesk, Self::Manager, Self::Admin]
            .into_iter()
            .find(|role| role.as_str() == name)
    }
}

/// A key as it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    /// Its id, for entries.
    pub id: i64,
    /// What it may.
    pub role: Role,
    /// Only this property; `None` is all.
    pub property: Option<PropertyId>,
    /// For people.
    pub name: String,
}

/// Makes a key; the returned text is shown once.
pub async fn create(
    ledger: &Ledger,
    role: Role,
    property: Option<PropertyId>,
    name: &str,
) -> Result<(ApiKey, String), LedgerError> {
    let text = fresh();
    let hash = hash(&text);
    let mut conn = connection::reader(ledger).await?;
    let property_id = property.map(|id| id.0);
    store::insert(&mut conn, &hash, role.as_str(), property_id, name).await?;
    let row = store::by_hash(&mut conn, &hash).await?;
    Ok((known(row)?, text))
}

/// Makes sure that this very key exists (the bootstrap key), as an admin of all properties. One
/// that was revoked stays revoked.
pub async fn ensure(ledger: &Ledger, key: &str, name: &str) -> Result<ApiKey, LedgerError> {
    let hash = hash(key);
    let mut conn = connection::reader(ledger).await?;
    store::insert(&mut conn, &hash, Role::Admin.as_str(), None, name).await?;
    known(store::by_hash(&mut conn, &hash).await?)
}

/// The key of a text, where it is known and not revoked; compared in constant time.
pub async fn find(ledger: &Ledger, key: &str) -> Result<Option<ApiKey>, LedgerError> {
    let hash = hash(key);
    let mut conn = connection::reader(ledger).await?;
    let row = store::live_by_hash(&mut conn, &hash).await?;
    // The index compared as fast as it could; what is let in is compared without telling how far
    // it was right.
    let equal = row.filter(|row| bool::from(row.hash.as_slice().ct_eq(hash.as_slice())));
    equal.map(ApiKey::try_from).transpose()
}

/// The hashes of all keys that are not revoked, as [`find`] hashes a text (SHA-256).
pub async fn hashes(ledger: &Ledger) -> Result<Vec<Vec<u8>>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rows = store::list(&mut conn).await?;
    Ok(rows.into_iter().map(|row| row.hash).collect())
}

/// All keys that are not revoked, without their secrets.
pub async fn list(ledger: &Ledger) -> Result<Vec<ApiKey>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rows = store::list(&mut conn).await?;
    rows.into_iter().map(ApiKey::try_from).collect()
}

/// Revokes a key; says whether it was there.
pub async fn revoke(ledger: &Ledger, id: i64) -> Result<bool, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::revoke(&mut conn, id).await
}

/// `kr_` and 64 hexadecimal digits, 244 of their bits by chance.
fn fresh() -> String {
    format!("kr_{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// A key has as much chance in it as its hash has bits, so that nothing slower is needed.
fn hash(key: &str) -> Vec<u8> {
    Sha256::digest(key.as_bytes()).to_vec()
}

fn known(row: Option<KeyRow>) -> Result<ApiKey, LedgerError> {
    let row = row.ok_or_else(|| LedgerError::Unreadable("a key is gone".to_owned()))?;
    ApiKey::try_from(row)
}

/// Takes away idempotency keys that are older than so many hours, at most `limit` of each kind;
/// says how many of the commoner kind. The API promises to keep them for 24.
pub async fn purge_idempotency(
    ledger: &Ledger,
    hours: u32,
    limit: u32,
) -> Result<u32, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let of_commands = idempotency::purge(&mut conn, hours, limit).await?;
    let of_answers = kept_answer::purge(&mut conn, hours, limit).await?;
    Ok(of_commands.max(of_answers))
}

impl TryFrom<KeyRow> for ApiKey {
    type Error = LedgerError;

    fn try_from(row: KeyRow) -> Result<Self, LedgerError> {
        let role = Role::from_name(&row.role)
            .ok_or_else(|| LedgerError::Unreadable(format!("the role {}", row.role)))?;
        Ok(Self {
            id: row.key_id,
            role,
            property: row.property_id.map(PropertyId),
            name: row.name,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_keys_are_never_alike_and_say_what_they_are() {
        let (one, two) = (fresh(), fresh());
        assert_ne!(one, two);
        assert_eq!((one.len(), &one[..3]), (67, "kr_"));
        assert_ne!(hash(&one), hash(&two));
    }
}
