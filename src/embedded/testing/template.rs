//! The template: a database with all migrations in it, made once for each state of theirs.

use std::collections::BTreeSet;
use std::sync::Mutex;

use sha2::{Digest, Sha256};
use sqlx::migrate::Migrator;
use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::error::EmbeddedError;
use crate::server::{connect, quoted};

/// The name of the template for these migrations, which is made if it is missing.
pub(crate) async fn ensure(
    server: &PgConnectOptions,
    migrator: &Migrator,
) -> Result<String, EmbeddedError> {
    let digest = digest(migrator);
    let name = format!("keyrack_template_{}", hex::encode(&digest[..8]));
    if known().contains(&name) {
        return Ok(name);
    }
    let mut connection = connect(server).await?;
    let what = "make the template";
    let key = i64::from_be_bytes(std::array::from_fn(|at| digest[at]));
    let locked = sqlx::query("select pg_advisory_lock($1)").bind(key);
    locked
        .execute(&mut connection)
        .await
        .map_err(EmbeddedError::connection(what))?;
    if !exists(&mut connection, &name)
        .await
        .map_err(EmbeddedError::connection(what))?
    {
        make(&mut connection, server, migrator, &name).await?;
    }
    // The lock goes with the connection.
    connection
        .close()
        .await
        .map_err(EmbeddedError::connection(what))?;
    known().insert(name.clone());
    Ok(name)
}

/// Made under another name and renamed when it is whole: a test that was killed leaves no half.
async fn make(
    connection: &mut PgConnection,
    server: &PgConnectOptions,
    migrator: &Migrator,
    name: &str,
) -> Result<(), EmbeddedError> {
    let draft = format!("{name}_new");
    let (draft_name, full_name) = (quoted(&draft), quoted(name));
    run(
        connection,
        format!("drop database if exists {draft_name} with (force)"),
    )
    .await?;
    run(connection, format!("create database {draft_name}")).await?;
    let mut inside = connect(&server.clone().database(&draft)).await?;
    let migrated = migrator.run(&mut inside).await;
    migrated.map_err(|error| {
        EmbeddedError::connection("migrate the template")(sqlx::Error::Migrate(Box::new(error)))
    })?;
    inside
        .close()
        .await
        .map_err(EmbeddedError::connection("close the template"))?;
    empty(connection, &draft)
        .await
        .map_err(EmbeddedError::connection("close the template"))?;
    run(
        connection,
        format!("alter database {draft_name} rename to {full_name}"),
    )
    .await?;
    let seal = format!("alter database {full_name} with is_template true allow_connections false");
    run(connection, seal).await
}

/// A connection that has said goodbye may still be there for a moment.
async fn empty(connection: &mut PgConnection, draft: &str) -> Result<(), sqlx::Error> {
    sqlx::query("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1")
        .bind(draft)
        .execute(connection)
        .await?;
    Ok(())
}

async fn exists(connection: &mut PgConnection, name: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
        .bind(name)
        .fetch_one(connection)
        .await
}

pub(crate) async fn run(
    connection: &mut PgConnection,
    statement: String,
) -> Result<(), EmbeddedError> {
    let done = sqlx::query(AssertSqlSafe(statement))
        .execute(connection)
        .await;
    done.map(|_| ())
        .map_err(EmbeddedError::connection("prepare a database for a test"))
}

/// Every migration's number, kind and contents: another set is another template.
fn digest(migrator: &Migrator) -> [u8; 32] {
    let mut hash = Sha256::new();
    for migration in migrator.iter() {
        hash.update(migration.version.to_be_bytes());
        hash.update([u8::from(migration.migration_type.is_down_migration())]);
        hash.update(&migration.checksum);
    }
    hash.finalize().into()
}

/// What this process has already seen. A poisoned lock holds names as good as any.
fn known() -> std::sync::MutexGuard<'static, BTreeSet<String>> {
    static KNOWN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    KNOWN
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
