//! Whether a key is the one that seals this database: asked before anything is begun, since with
//! another one every login fails, and takes the polls from the daemon whose key is right.

use sqlx::PgPool;

use crate::error::DistributionError;
use crate::seal::{Purpose, Seal};
use crate::store::{connection, sealed as store};

/// Whether the key opens what lies in the database. The first key that asks seals it, so that two
/// first daemons with a key each never both work.
///
/// # Errors
///
/// Failures of the database, which must be migrated.
pub async fn fits(pool: &PgPool, seal: &Seal) -> Result<bool, DistributionError> {
    if store::probe(pool).await?.is_none() {
        // Of an earlier version: its logins say it. One that opens is enough, the others may have
        // been given up.
        let logins = connection::all(pool).await?;
        let opens = |row: &connection::ConnectionRow| {
            seal.open(Purpose::Credentials, &row.credentials).is_ok()
        };
        if !logins.is_empty() && !logins.iter().any(opens) {
            return Ok(false);
        }
        store::write_first(pool, &seal.seal(Purpose::Probe, WORD)?).await?;
    }
    let probe = store::probe(pool).await?;
    Ok(probe.is_some_and(|probe| seal.open(Purpose::Probe, &probe).is_ok()))
}

/// Whether a key seals this database already; of one that is not migrated, too.
///
/// # Errors
///
/// Failures of the database.
pub async fn is_sealed(pool: &PgPool) -> Result<bool, DistributionError> {
    store::is_proven(pool).await
}

/// From now on this key seals the database; what an earlier one sealed is given up.
///
/// # Errors
///
/// Failures of the database, which must be migrated.
pub async fn give_up(pool: &PgPool, seal: &Seal) -> Result<(), DistributionError> {
    store::write_over(pool, &seal.seal(Purpose::Probe, WORD)?).await
}

/// No secret.
const WORD: &[u8] = b"keyrack";
