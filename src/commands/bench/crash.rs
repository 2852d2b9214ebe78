//! What speed must not cost: after `kill -9` of Postgres in the middle of a hot night every hold
//! that a caller was told of is there.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use futures_util::future::join_all;
use sqlx::Row as _;
use uuid::Uuid;

use super::contender::{Ask, Contender as _};
use super::ground::Ground;
use super::keyrack::{self, Ours};

/// What a crash left.
#[derive(Clone, Copy, Debug, Default)]
pub struct Survived {
    told: usize,
}

impl Survived {
    pub fn in_words(self) -> String {
        format!(
            "kill -9 of Postgres in the middle: all {} holds that callers were told of are there",
            self.told
        )
    }
}

/// Callers ask, the server is killed, and what they were told is looked up after its start.
pub async fn survive(ground: &mut Ground) -> Result<Survived> {
    ground.reset().await?;
    let ours = keyrack::open(ground, 1).await?;
    let stop = AtomicBool::new(false);
    let asking = join_all((0..CALLERS).map(|_| told(&ours, &stop)));
    let crashing = async {
        tokio::time::sleep(BEFORE).await;
        let crashed = ground.crash().await;
        stop.store(true, Ordering::Relaxed);
        crashed
    };
    let (told, crashed) = tokio::join!(asking, crashing);
    crashed?;
    ours.close().await;
    let told: Vec<Uuid> = told.into_iter().flatten().collect();
    ensure!(!told.is_empty(), "nobody was told anything before the kill");
    let rows = sqlx::query("select reservation_id from reservation");
    let rows = rows.fetch_all(&ground.pool).await?;
    let kept: HashSet<Uuid> = rows.iter().map(|row| row.get(0)).collect();
    let lost = told.iter().filter(|id| !kept.contains(*id)).count();
    ensure!(lost == 0, "{lost} holds that callers were told of are lost");
    let wrong = ground.wrong_sums().await?;
    ensure!(wrong.is_empty(), "after the kill: {}", wrong.join("; "));
    Ok(Survived { told: told.len() })
}

/// The holds that one caller was told of; it stops at the first failure after the kill.
async fn told(ours: &Ours, stop: &AtomicBool) -> Vec<Uuid> {
    let mut told = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        match ours.hold(HOT).await {
            Ok(Some(taken)) => told.push(taken.id),
            Ok(None) => {}
            Err(_) => break,
        }
    }
    told
}

const CALLERS: usize = 64;
const BEFORE: Duration = Duration::from_millis(500);
/// The same nights for everybody.
const HOT: Ask = Ask {
    property: 0,
    room_type: 0,
    from: 0,
};
