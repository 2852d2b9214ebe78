//! Start, work, restart, stop; and paths that are no obstacle.

use std::fs;

use keyrack_embedded::{Server, Settings, attach};
use sqlx::{Connection, PgConnection};

use crate::place::{Place, eventually, lives, note, notes, settings};

#[tokio::test]
async fn what_was_written_is_there_after_restart_and_after_stop_and_start() {
    let place = Place::new();
    // What a killed initdb leaves behind is no hindrance.
    fs::create_dir(place.top.join("data.new")).unwrap();
    fs::write(place.top.join("data.new/PG_VERSION"), "15\n").unwrap();

    let mut server = Server::start(&place.settings()).await.unwrap();
    note(&server, "first").await;
    let first = server.pid().unwrap();
    server.restart().await.unwrap();
    assert_ne!(server.pid(), Some(first));
    assert_eq!(notes(&server).await, ["first"]);
    note(&server, "second").await;
    let second = server.pid().unwrap();
    server.stop().await.unwrap();
    assert!(!lives(second));
    assert!(!place.top.join("data/postmaster.pid").exists());

    let server = Server::start(&place.settings()).await.unwrap();
    assert_eq!(notes(&server).await, ["first", "second"]);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_kept_server_is_durable_and_takes_settings_of_its_owner() {
    let place = Place::new();
    let mut settings = Settings::new(&place.top);
    settings.extra.push(("max_connections".into(), "23".into()));
    let server = Server::start(&settings).await.unwrap();
    let mut connection = PgConnection::connect_with(&server.options("postgres"))
        .await
        .unwrap();
    for (name, value) in [
        ("fsync", "on"),
        ("full_page_writes", "on"),
        ("synchronous_commit", "on"),
        ("max_connections", "23"),
        ("listen_addresses", ""),
        ("server_encoding", "UTF8"),
        ("TimeZone", "UTC"),
    ] {
        let shown: String = sqlx::query_scalar("select current_setting($1)")
            .bind(name)
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(shown, value, "{name}");
    }
    let wrong = server.options("postgres").password("wrong");
    let refused = PgConnection::connect_with(&wrong)
        .await
        .unwrap_err()
        .to_string();
    assert!(
        refused.contains("password authentication failed"),
        "{refused}"
    );
    server.stop().await.unwrap();
}

#[tokio::test]
async fn dropping_a_server_shuts_it_down_cleanly() {
    let place = Place::new();
    let server = Server::start(&place.settings()).await.unwrap();
    let pid = server.pid().unwrap();
    drop(server);
    eventually("the server is gone", || !lives(pid));
    eventually("its pid file is gone", || {
        !place.top.join("data/postmaster.pid").exists()
    });
}

#[tokio::test]
async fn blanks_commas_and_quotes_in_a_path_are_no_obstacle() {
    let place = Place::new();
    let folder = place.top.join("a b, \"c\" d'e");
    let server = Server::start(&settings(&folder)).await.unwrap();
    note(&server, "here").await;
    assert_eq!(notes(&server).await, ["here"]);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_gets_its_socket_elsewhere() {
    let place = Place::new();
    let folder = place.top.join("long".repeat(30));
    let server = Server::start(&settings(&folder)).await.unwrap();
    note(&server, "far").await;
    let socket = server.options("hotel").get_socket().unwrap().clone();
    assert!(!socket.starts_with(&place.top) && socket.as_os_str().len() <= 92);
    // Somebody else finds it without knowing the rule.
    let options = attach(&settings(&folder)).await.unwrap().unwrap();
    assert_eq!(options.get_socket(), Some(&socket));
    server.stop().await.unwrap();
    fs::remove_dir_all(socket).unwrap();
}
