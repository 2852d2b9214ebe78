//! The database as the doctor sees it: server, settings, clock, migrations, oldest writer, logins.
//! Changes nothing.

use std::collections::BTreeMap;

use anyhow::Result;
use jiff::Timestamp;
use keyrack_distribution::seal::{Purpose, Seal};
use keyrack_ledger::handle::MIGRATOR;
use sqlx::PgConnection;

use super::finding::Finding;
use crate::config::Config;
use crate::startup::clock;

/// Server and its settings.
pub async fn server(conn: &mut PgConnection, config: &Config) -> Result<Vec<Finding>> {
    let part = "database";
    let (version, connections): (i32, i32) = sqlx::query_as(
        "select current_setting('server_version_num')::int,
                current_setting('max_connections')::int",
    )
    .fetch_one(&mut *conn)
    .await?;
    let mut found = Vec::new();
    let major = version / 10_000;
    found.push(if major >= MAJOR_MIN {
        Finding::well(part, format!("PostgreSQL {major} answers"))
    } else {
        let what = format!("PostgreSQL {major} is too old");
        Finding::wrong(part, what, format!("move to {MAJOR_MIN} or newer"))
    });
    let ledger = &config.ledger;
    let ours = ledger.batch_connections
        + ledger.read_connections
        + config.distribution.database_connections;
    if i64::from(ours) + SPARE > i64::from(connections) {
        found.push(Finding::unwise(
            part,
            format!("one daemon may use {ours} of {connections} connections"),
            "raise max_connections of the server, or lower ledger.read_connections and \
             distribution.database_connections",
        ));
    }
    for setting in ["fsync", "full_page_writes", "synchronous_commit"] {
        let value: String = sqlx::query_scalar("select current_setting($1)")
            .bind(setting)
            .fetch_one(&mut *conn)
            .await?;
        if value == "off" {
            found.push(Finding::wrong(
                part,
                format!("{setting} is off: what was acknowledged may be lost"),
                format!("set {setting} = on at the server"),
            ));
        }
    }
    Ok(found)
}

/// This machine's clock against the database's, which is the one that counts.
pub async fn clocks(conn: &mut PgConnection) -> Result<Finding> {
    let before = clock();
    let (database,): (jiff_sqlx::Timestamp,) = sqlx::query_as("select clock_timestamp()")
        .fetch_one(conn)
        .await?;
    let (after, database) = (clock(), database.to_jiff());
    let seconds = apart(before, database, after);
    let what = format!("this machine's is {seconds} s away from the database's");
    Ok(match seconds {
        0..2 => Finding::well("clock", what),
        2..DRIFT_MAX => Finding::unwise("clock", what, "let both keep time by NTP"),
        _ => Finding::wrong(
            "clock",
            what,
            format!("let both keep time by NTP; from {DRIFT_MAX} s on no holds are made"),
        ),
    })
}

/// Whole seconds that an instant lies outside of the two around it.
fn apart(before: Timestamp, told: Timestamp, after: Timestamp) -> i64 {
    let early = before.as_second() - told.as_second();
    let late = told.as_second() - after.as_second();
    early.max(late).max(0)
}

/// Whether the database is in this program's state.
pub async fn migrations(conn: &mut PgConnection) -> Result<Finding> {
    let part = "migrations";
    let known: bool = sqlx::query_scalar("select to_regclass('_sqlx_migrations') is not null")
        .fetch_one(&mut *conn)
        .await?;
    let mut applied = BTreeMap::new();
    if known {
        let rows: Vec<(i64, bool, Vec<u8>)> =
            sqlx::query_as("select version, success, checksum from _sqlx_migrations")
                .fetch_all(&mut *conn)
                .await?;
        applied.extend(
            rows.into_iter()
                .map(|(version, done, sum)| (version, (done, sum))),
        );
    }
    let ours: BTreeMap<i64, &[u8]> = MIGRATOR
        .iter()
        .map(|migration| (migration.version, migration.checksum.as_ref()))
        .collect();
    let remedy = "run `keyrack migrate` (the daemon does it at its start as well)";
    if let Some((version, _)) = applied.iter().find(|(_, (done, _))| !done) {
        let what = format!("{version:04} failed half-way");
        return Ok(Finding::wrong(
            part,
            what,
            "restore the backup from before it",
        ));
    }
    if let Some(version) = applied.keys().find(|version| !ours.contains_key(version)) {
        return Ok(Finding::wrong(
            part,
            format!("the database knows {version:04}, this program does not"),
            "use the newer program that made it",
        ));
    }
    let differs = |version: &i64, sum: &&[u8]| {
        applied
            .get(version)
            .is_some_and(|(_, applied)| applied.as_slice() != *sum)
    };
    if let Some((version, _)) = ours.iter().find(|(version, sum)| differs(version, sum)) {
        return Ok(Finding::wrong(
            part,
            format!("{version:04} was applied with another text than this program's"),
            "use the program that applied it, or a database of another name",
        ));
    }
    let missing = ours
        .keys()
        .filter(|version| !applied.contains_key(version))
        .count();
    let all = ours.len();
    Ok(match missing {
        0 => Finding::well(part, format!("all {all} are applied")),
        missing => Finding::wrong(part, format!("{missing} of {all} are missing"), remedy),
    })
}

/// The oldest transaction that writes, in the whole cluster: it holds the feed back.
pub async fn oldest_writer(conn: &mut PgConnection) -> Result<Vec<Finding>> {
    let part = "oldest writer";
    let row: Option<(i32, Option<String>, Option<String>, i64)> = sqlx::query_as(
        "select pid, datname, application_name,
                extract(epoch from clock_timestamp() - xact_start)::bigint
         from pg_stat_activity where backend_xid is not null and xact_start is not null
         order by xact_start limit 1",
    )
    .fetch_optional(&mut *conn)
    .await?;
    let mut found = Vec::new();
    found.push(match row {
        Some((pid, database, application, seconds)) if seconds > WRITER_SECONDS_MAX => {
            let (database, application) = (
                database.unwrap_or_default(),
                application.unwrap_or_default(),
            );
            Finding::wrong(
                part,
                format!(
                    "process {pid} ({application}) has been writing in {database} for {seconds} s: \
                     no channel is told of anything newer"
                ),
                format!("end it with: select pg_terminate_backend({pid})"),
            )
        }
        Some((_, _, _, seconds)) => Finding::well(part, format!("{seconds} s old")),
        None => Finding::well(part, "nobody is writing"),
    });
    let prepared: Vec<String> = sqlx::query_scalar("select gid from pg_prepared_xacts")
        .fetch_all(conn)
        .await?;
    found.extend(prepared.into_iter().map(|gid| {
        let remedy = format!(
            "finish it with: rollback prepared '{}'",
            gid.replace('\'', "''")
        );
        Finding::wrong(
            part,
            format!("the prepared transaction {gid} holds the feed back"),
            remedy,
        )
    }));
    Ok(found)
}

/// Whether the seal key opens what lies in the database.
pub async fn logins(conn: &mut PgConnection, seal: Option<&Seal>) -> Result<Vec<Finding>> {
    let part = "seal key";
    let rows: Vec<(String, Vec<u8>)> =
        sqlx::query_as("select code, credentials from connection order by code")
            .fetch_all(conn)
            .await?;
    let Some(seal) = seal else {
        return Ok(vec![match rows.len() {
            0 => Finding::well(part, "there is none yet, and nothing to open"),
            count => Finding::wrong(
                part,
                format!("there is none, and {count} logins are sealed"),
                "set secrets.seal_key, or put seal.key back into data_dir",
            ),
        }]);
    };
    let shut: Vec<&str> = rows
        .iter()
        .filter(|(_, sealed)| seal.open(Purpose::Credentials, sealed).is_err())
        .map(|(code, _)| code.as_str())
        .collect();
    if shut.is_empty() {
        let what = format!("opens all of {} logins", rows.len());
        return Ok(vec![Finding::well(part, what)]);
    }
    let wrong = |code: &&str| {
        Finding::wrong(
            part,
            format!("does not open the login of the connection {code}"),
            "set the key it was sealed with, or put the connection's credentials anew",
        )
    };
    Ok(shut.iter().map(wrong).collect())
}

const MAJOR_MIN: i32 = 14;
/// For people and backups.
const SPARE: i64 = 10;
/// The ledger's rule.
const DRIFT_MAX: i64 = 30;
const WRITER_SECONDS_MAX: i64 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_as_far_as_it_lies_outside_of_the_question() {
        let at = |second| Timestamp::from_second(second).unwrap();
        assert_eq!(apart(at(10), at(11), at(12)), 0);
        assert_eq!(apart(at(10), at(7), at(12)), 3);
        assert_eq!(apart(at(10), at(50), at(12)), 38);
    }
}
