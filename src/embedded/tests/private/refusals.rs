//! What is refused, and in which words.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use keyrack_embedded::{EmbeddedError, Server, attach};
use sqlx::{Connection, PgConnection};

use crate::daemon::Daemon;
use crate::place::{Place, is_root, settings};

async fn refusal(folder: &Path) -> String {
    Server::start(&settings(folder))
        .await
        .unwrap_err()
        .to_string()
}

#[tokio::test]
async fn a_second_keyrack_on_one_folder_is_told_who_has_it_and_a_reader_may_attach() {
    let place = Place::new();
    let folder = place.top.display();
    assert!(attach(&place.settings()).await.unwrap().is_none());

    let daemon = Daemon::start(&place.top);
    daemon.outcome.clone().unwrap();
    let expected = format!(
        "another keyrack (pid {}) is using {folder}. Stop it, or choose another data_dir.",
        daemon.pid()
    );
    assert_eq!(refusal(&place.top).await, expected);

    let options = attach(&place.settings()).await.unwrap().unwrap();
    let mut connection = PgConnection::connect_with(&options).await.unwrap();
    let one: i32 = sqlx::query_scalar("select 1")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(one, 1);
    daemon.kill();
    assert!(attach(&place.settings()).await.unwrap().is_none());
}

#[tokio::test]
async fn data_that_cannot_be_served_are_left_alone() {
    let place = Place::new();
    Server::start(&place.settings())
        .await
        .unwrap()
        .stop()
        .await
        .unwrap();
    let data = place.top.join("data");
    let said = data.display();

    let password = place.top.join("password");
    let aside = place.top.join("aside");
    fs::rename(&password, &aside).unwrap();
    let lost = refusal(&place.top).await;
    assert!(lost.starts_with(&format!(
        "{said} exists, but {} does not",
        password.display()
    )));
    fs::rename(&aside, &password).unwrap();

    fs::set_permissions(&data, PermissionsExt::from_mode(0o755)).unwrap();
    let expected = format!("{said} has mode 0755; PostgreSQL wants 0700 or 0750.");
    let open = refusal(&place.top).await;
    assert!(open.starts_with(&expected), "{open}");
    fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).unwrap();

    fs::write(data.join("PG_VERSION"), "99\n").unwrap();
    let major = refusal(&place.top).await;
    let start = format!("{said} was made by PostgreSQL 99; this machine has ");
    assert!(
        major.starts_with(&start) && major.ends_with("Nothing was changed."),
        "{major}"
    );
    assert_eq!(fs::read_to_string(data.join("PG_VERSION")).unwrap(), "99\n");

    fs::remove_file(data.join("PG_VERSION")).unwrap();
    let foreign = refusal(&place.top).await;
    assert!(
        foreign.starts_with(&format!("{said} is no PostgreSQL data folder")),
        "{foreign}"
    );
}

#[tokio::test]
async fn a_setting_that_the_server_refuses_is_shown_with_the_servers_own_words() {
    let place = Place::new();
    let mut settings = place.settings();
    settings
        .extra
        .push(("max_connections".into(), "many".into()));
    let error = Server::start(&settings).await.unwrap_err();
    assert!(matches!(error, EmbeddedError::Failed { .. }));
    let said = error.to_string();
    assert!(
        said.starts_with("PostgreSQL did not start (exit status: 1). The end of "),
        "{said}"
    );
    assert!(
        said.contains("invalid value for parameter \"max_connections\": \"many\""),
        "{said}"
    );
}

#[tokio::test]
async fn a_file_in_the_place_of_a_folder_is_named() {
    let place = Place::new();
    let file = place.top.join("file");
    fs::write(&file, "").unwrap();
    for folder in [file.clone(), file.join("below/postgres")] {
        let expected = format!(
            "{} is no folder; choose another data_dir, e.g. /var/lib/keyrack.",
            file.display()
        );
        assert_eq!(refusal(&folder).await, expected);
    }
}

#[tokio::test]
async fn root_is_told_that_the_servers_account_cannot_pass_a_private_folder() {
    if !is_root() {
        println!("skipped: only root lends its work to another account");
        return;
    }
    let place = Place::new();
    let closed = place.top.join("root");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, PermissionsExt::from_mode(0o700)).unwrap();
    let folder = closed.join("keyrack/postgres");
    let expected = format!(
        "{} lies below {}, which the account postgres may not enter; set data_dir, e.g. \
         /var/lib/keyrack.",
        folder.display(),
        closed.display()
    );
    let said = refusal(&folder).await;
    assert_eq!(said.replace("account nobody", "account postgres"), expected);
    assert!(!closed.join("keyrack").exists());
}
