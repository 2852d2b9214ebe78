//! One database a test, one cluster a run.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use keyrack_embedded::test_database;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqlSafeStr};

use crate::place::eventually;

/// Asks the reparented program where its cluster lies.
const TOLD: &str = "KEYRACK_PLAY_RUN";

fn migrations(statement: &str) -> Migrator {
    let sql = AssertSqlSafe(statement.to_owned()).into_sql_str();
    let kind = MigrationType::Simple;
    Migrator::with_migrations(vec![Migration::new(1, "hotel".into(), kind, sql, false)])
}

async fn names(connection: &mut PgConnection) -> Vec<String> {
    let select = sqlx::query_scalar("select name from hotel order by name");
    select.fetch_all(connection).await.unwrap()
}

#[tokio::test]
async fn each_test_has_the_migrations_and_sees_nothing_of_the_others() {
    let migrator = migrations("create table hotel (name text)");
    let (first, second) = tokio::join!(test_database(&migrator), test_database(&migrator));
    assert_ne!(first.name(), second.name());
    let mut one = PgConnection::connect_with(&first.options()).await.unwrap();
    let mut two = PgConnection::connect_with(&second.options()).await.unwrap();
    sqlx::query("insert into hotel values ('Adler')")
        .execute(&mut one)
        .await
        .unwrap();
    assert_eq!(names(&mut one).await, ["Adler"]);
    assert!(names(&mut two).await.is_empty());
}

#[tokio::test]
async fn other_migrations_are_another_template() {
    let plain = migrations("create table hotel (name text)");
    let filled = migrations("create table hotel as select 'Krone'::text as name");
    let (plain, filled) = (test_database(&plain).await, test_database(&filled).await);
    let mut one = PgConnection::connect_with(&plain.options()).await.unwrap();
    let mut two = PgConnection::connect_with(&filled.options()).await.unwrap();
    assert!(names(&mut one).await.is_empty());
    assert_eq!(names(&mut two).await, ["Krone"]);
}

#[tokio::test]
async fn a_dropped_test_database_is_gone_though_somebody_was_connected() {
    let migrator = migrations("create table hotel (name text)");
    let (gone, other) = (
        test_database(&migrator).await,
        test_database(&migrator).await,
    );
    let _open = PgConnection::connect_with(&gone.options()).await.unwrap();
    let name = gone.name().to_owned();
    drop(gone);
    let mut connection = PgConnection::connect_with(&other.options()).await.unwrap();
    let known = sqlx::query_scalar("select exists (select from pg_database where datname = $1)");
    let known: bool = known.bind(name).fetch_one(&mut connection).await.unwrap();
    assert!(!known);
}

#[tokio::test]
async fn plays_a_run_of_its_own_when_told() {
    let Some(note) = std::env::var_os(TOLD) else {
        return;
    };
    let database = test_database(&migrations("create table hotel (name text)")).await;
    let socket = database.options().get_socket().unwrap().clone();
    let draft = PathBuf::from(&note).with_extension("new");
    fs::write(&draft, socket.to_str().unwrap()).unwrap();
    fs::rename(draft, note).unwrap();
    // Long enough for the parent to look; what is left of the database goes with the cluster.
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    std::mem::forget(database);
}

#[tokio::test]
async fn the_cluster_of_a_run_vanishes_with_the_run() {
    let note = std::env::temp_dir().join(format!("keyrack-run-{}", std::process::id()));
    // The shell ends at once, so that the program has no cargo above it.
    let done = Command::new("/bin/sh")
        .args([
            "-c",
            "\"$0\" --exact databases::plays_a_run_of_its_own_when_told >/dev/null 2>&1 &",
        ])
        .arg(std::env::current_exe().unwrap())
        .env(TOLD, &note)
        .env_remove("TEST_DATABASE_URL")
        .status();
    assert!(done.unwrap().success());
    eventually("the run has a cluster", || note.exists());
    let cluster = PathBuf::from(fs::read_to_string(&note).unwrap());
    assert!(cluster.join("ready").exists());
    let ours = test_database(&migrations("create table hotel (name text)")).await;
    assert_ne!(ours.options().get_socket(), Some(&cluster));
    eventually("the cluster is gone", || !cluster.exists());
    fs::remove_file(note).unwrap();
}
