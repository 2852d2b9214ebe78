//! Killed at random moments of the demo's day, ten times the daemon and ten times its Postgres:
//! nothing that anybody was told is lost, nothing is counted twice, and when the world is quiet
//! every channel shows what is free.
//!
//! Judged by the journals: of the fake channels (every reservation with what was acknowledged of
//! it) and of the clients (every state of a reservation that the API acknowledged).

mod daemon;
mod down;
mod world;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use keyrack_commands::demo::day;
use keyrack_commands::demo::stage::Stage;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};

use daemon::Daemon;
use world::{World, desk, seed};

#[derive(Clone, Copy)]
enum Victim {
    Daemon,
    Postgres,
}

/// Ten kills of each in random order, spread over the whole day: one in each of its scenes, the
/// others anywhere, some while the last one is still being recovered from.
async fn kills(daemon: &mut Daemon, stage: &Stage, seed: u64) {
    let mut dice = SmallRng::seed_from_u64(seed);
    let mut victims = [[Victim::Daemon; KILLS], [Victim::Postgres; KILLS]].concat();
    victims.shuffle(&mut dice);
    let mut steps = day::SCENES.to_vec();
    steps.resize_with(victims.len(), || dice.random_range(0..day::STEPS));
    steps.sort_unstable();
    for (victim, step) in victims.into_iter().zip(steps) {
        while stage.teller.steps_done() < step {
            daemon.stand_up_if_fallen();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        tokio::time::sleep(Duration::from_millis(dice.random_range(0..1_500))).await;
        match victim {
            Victim::Daemon => {
                daemon.kill();
                daemon.start_again();
            }
            Victim::Postgres => daemon.kill_postgres().await,
        }
        if dice.random_range(0..4) > 0 {
            daemon.ready().await;
        }
    }
    daemon.ready().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_kills_of_the_daemon_and_ten_of_postgres_lose_nothing_and_count_nothing_twice() {
    let seed = seed();
    let mut world = World::open("killed", seed).await;
    let stage = Arc::clone(&world.stage);
    let stop = Arc::new(AtomicBool::new(false));
    let desks: Vec<_> = (0..2)
        .map(|n| tokio::spawn(desk(Arc::clone(&stage), seed + n, Arc::clone(&stop))))
        .collect();
    let day = async {
        let lived = day::live(&stage, seed).await;
        lived.expect("the day is lived to its end");
    };
    tokio::join!(day, kills(&mut world.daemon, &stage, seed));
    stop.store(true, Ordering::Relaxed);
    for desk in desks {
        desk.await.expect("the desk closes");
    }
    let (daemon, postgres) = (world.daemon.kills, world.daemon.postgres_kills);
    assert_eq!((daemon, postgres), (10, 10), "kills that happened");
    world.judge().await;
}

/// Kills of each.
const KILLS: usize = 10;
