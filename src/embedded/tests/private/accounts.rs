//! Under accounts other than the one that runs the tests. Only root can change accounts; others
//! skip, having run everything else as an ordinary user anyway.

use std::fs;
use std::os::unix::fs::chown;

use keyrack_embedded::Server;

use crate::daemon::Daemon;
use crate::place::{Place, eventually, is_root, kill_keeper, lives, note, notes};

const NOBODY: u32 = 65534;
/// In no passwd file.
const NAMELESS: u32 = 54_321;

#[tokio::test]
async fn an_ordinary_user_runs_a_server_of_his_own() {
    if !is_root() {
        println!("skipped: needs root to become somebody else");
        return;
    }
    let place = Place::new();
    let folder = place.top.join("home");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(NOBODY), Some(NOBODY)).unwrap();
    let daemon = Daemon::start_as(NOBODY, &place, &folder);
    let server = daemon.outcome.clone().unwrap();
    daemon.kill();
    eventually("the server is gone", || !lives(server));

    // Root takes over without taking the data away from their owner.
    let server = Server::start(&crate::place::settings(&folder))
        .await
        .unwrap();
    note(&server, "by root").await;
    assert_eq!(notes(&server).await, ["by root"]);
    server.stop().await.unwrap();
    let daemon = Daemon::start_as(NOBODY, &place, &folder);
    daemon.outcome.clone().unwrap();
    daemon.kill();
}

#[tokio::test]
async fn a_uid_without_a_name_is_told_what_initdb_needs() {
    if !is_root() {
        println!("skipped: needs root to become somebody else");
        return;
    }
    let place = Place::new();
    let folder = place.top.join("home");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(NAMELESS), Some(NAMELESS)).unwrap();
    let daemon = Daemon::start_as(NAMELESS, &place, &folder);
    let expected = format!(
        "uid {NAMELESS} has no entry in /etc/passwd; initdb needs one. Add it or set DATABASE_URL."
    );
    assert_eq!(daemon.outcome.clone(), Err(expected));
}

#[tokio::test]
async fn somebody_elses_folder_is_refused_with_both_names() {
    if !is_root() {
        println!("skipped: needs root to become somebody else");
        return;
    }
    let place = Place::new();
    let folder = place.top.join("theirs");
    fs::create_dir(&folder).unwrap();
    chown(&folder, Some(1), Some(1)).unwrap();
    let daemon = Daemon::start_as(NOBODY, &place, &folder);
    let expected = format!(
        "{} belongs to uid 1, but the server would run as nobody (uid {NOBODY}). Give it back \
         with chown, or choose another data_dir.",
        folder.display()
    );
    assert_eq!(daemon.outcome.clone(), Err(expected));
}

#[tokio::test]
async fn root_without_the_right_to_trace_still_finds_an_orphaned_server() {
    if !is_root() || !std::path::Path::new("/usr/bin/setpriv").exists() {
        println!("skipped: needs root and setpriv");
        return;
    }
    let place = Place::new();
    let server = Server::start(&place.settings()).await.unwrap();
    let orphan = server.pid().unwrap();
    kill_keeper(orphan);
    drop(server);
    assert!(lives(orphan));
    let daemon = Daemon::start_in_container(&place.top);
    daemon.outcome.clone().unwrap();
    assert!(!lives(orphan));
    daemon.kill();
}
