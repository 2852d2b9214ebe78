//! Everything that can be killed, killed.

use std::fs;
use std::process::{Command, Stdio};

use keyrack_embedded::Server;

use crate::daemon::Daemon;
use crate::place::{Place, eventually, kill, kill_keeper, lives, note, notes};

#[tokio::test]
async fn a_killed_server_starts_again_with_all_that_was_committed() {
    let place = Place::new();
    let mut server = Server::start(&place.settings()).await.unwrap();
    for round in 0..3 {
        note(&server, &format!("round {round}")).await;
        kill(server.pid().unwrap());
        server.restart().await.unwrap();
    }
    assert_eq!(notes(&server).await, ["round 0", "round 1", "round 2"]);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_without_its_keeper_is_stopped_and_restarted() {
    let place = Place::new();
    let mut server = Server::start(&place.settings()).await.unwrap();
    note(&server, "kept").await;
    let orphan = server.pid().unwrap();
    kill_keeper(orphan);
    assert!(lives(orphan));
    server.restart().await.unwrap();
    assert!(!lives(orphan));
    assert_eq!(notes(&server).await, ["kept"]);

    let orphan = server.pid().unwrap();
    kill_keeper(orphan);
    server.stop().await.unwrap();
    assert!(!lives(orphan));

    let server = Server::start(&place.settings()).await.unwrap();
    let orphan = server.pid().unwrap();
    kill_keeper(orphan);
    drop(server);
    let server = Server::start(&place.settings()).await.unwrap();
    assert!(!lives(orphan));
    assert_eq!(notes(&server).await, ["kept"]);
    server.stop().await.unwrap();
}

#[tokio::test]
async fn a_daemon_killed_with_9_leaves_no_server() {
    let place = Place::new();
    let daemon = Daemon::start(&place.top);
    let server = daemon.outcome.clone().unwrap();
    assert!(lives(server));
    daemon.kill();
    eventually("the server is gone", || !lives(server));
    assert!(
        !place.top.join("data/postmaster.pid").exists(),
        "the shutdown was not clean"
    );
}

#[tokio::test]
async fn a_daemon_started_right_after_a_kill_waits_for_the_old_server() {
    let place = Place::new();
    for _ in 0..2 {
        let daemon = Daemon::start(&place.top);
        let old = daemon.outcome.clone().unwrap();
        daemon.kill();
        let server = Server::start(&place.settings()).await.unwrap();
        assert!(!lives(old));
        server.stop().await.unwrap();
    }
}

#[tokio::test]
async fn a_pid_file_that_names_an_innocent_process_harms_neither() {
    let place = Place::new();
    let server = Server::start(&place.settings()).await.unwrap();
    note(&server, "safe").await;
    kill(server.pid().unwrap());
    drop(server);

    // One of the same account, since that is what the server would believe.
    let mut innocent = sleeper(&place);
    let pid_file = place.top.join("data/postmaster.pid");
    eventually("the old server is gone", || {
        fs::read_to_string(&pid_file).is_ok_and(|text| {
            let old = text.lines().next().unwrap().parse().unwrap();
            !lives(old)
        })
    });
    let old = fs::read_to_string(&pid_file).unwrap();
    let (_, rest) = old.split_once('\n').unwrap();
    fs::write(&pid_file, format!("{}\n{rest}", innocent.id())).unwrap();
    fs::write(
        place.top.join(".s.PGSQL.5432.lock"),
        format!("{}\n{rest}", innocent.id()),
    )
    .unwrap();

    let server = Server::start(&place.settings()).await.unwrap();
    assert_eq!(notes(&server).await, ["safe"]);
    server.stop().await.unwrap();
    assert!(lives(innocent.id()));
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

fn sleeper(place: &Place) -> std::process::Child {
    use std::os::unix::fs::MetadataExt;
    use std::os::unix::process::CommandExt;
    let owner = fs::metadata(place.top.join("data")).unwrap();
    let mut command = Command::new("sleep");
    command.arg("60").stdin(Stdio::null()).current_dir("/");
    if crate::place::is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
    command.spawn().unwrap()
}
