//! A round: some steps at once, spread over the daemons, while something may break; and then all
//! that must be true.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::{join_all, try_join_all};
use jiff::Timestamp;
use keyrack_ledger::command::{Asked, Command};
use keyrack_ledger::handle::Ledger;
use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::stay::{Stay, StayDate};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::asking::{Caller, Dealt};
use crate::audit::Of;
use crate::auditor::books::Books;
use crate::daemon::Post;
use crate::error::SimError;
use crate::faults::{Night, Target};
use crate::ids::Ids;
use crate::listings::Listings;
use crate::look;
use crate::lot::{ECHO, Fault, Lots};
use crate::stage::{Ground, Stage};
use crate::step::Scripted;
use crate::tally::Tally;
use crate::telling::kind;

/// A world in which a script runs.
pub struct World<'a> {
    /// The server.
    pub stage: &'a mut Stage,
    /// The seed's database.
    pub ground: Ground,
    /// The daemons.
    pub posts: Vec<Post>,
    /// A ledger that only looks.
    pub observer: Ledger,
    /// The auditor's books.
    pub books: Books,
    /// The script's time.
    pub now: Timestamp,
    /// The listings of each property, in the order of the shape.
    pub listings: Vec<Listings>,
    /// The reader of the tail rests: nobody writes.
    pub rests: Arc<AtomicBool>,
    /// Postgres was restarted since everything was proved.
    pub was_restarted: bool,
    /// Something broke in the round, or was done unseen: it may be anywhere.
    pub went_unseen: bool,
    /// What chance adds.
    pub lots: Lots,
    /// What has been seen.
    pub tally: Tally,
}

/// What must not happen, in words; the simulation itself may fail as well.
pub type Found = Result<Result<(), String>, SimError>;

impl World<'_> {
    /// Runs the steps at once and proves everything.
    pub async fn round(&mut self, steps: &[Scripted]) -> Found {
        let began = Instant::now();
        self.begin().await?;
        let dealt = match self.run(steps).await? {
            Ok(dealt) => dealt,
            Err(words) => return Ok(Err(words)),
        };
        self.settle(&dealt).await?;
        self.rests.store(true, Ordering::Relaxed);
        self.tally.spend("commands", began.elapsed());
        self.audit(&dealt, Of::Deeds).await
    }

    /// The script's time comes, and the reader of the tail awakes.
    pub(crate) async fn begin(&mut self) -> Result<(), SimError> {
        self.ground.set_clock(self.now).await?;
        self.rests.store(false, Ordering::Relaxed);
        self.tally.rounds += 1;
        Ok(())
    }

    async fn run(&mut self, steps: &[Scripted]) -> Result<Result<Vec<Dealt>, String>, SimError> {
        let (lots, posts) = (self.lots, &self.posts);
        let all = with_echoes(lots, steps);
        let callers = all.iter().map(|step| Caller {
            ids: &self.ground.ids,
            posts,
            lots,
            step,
        });
        let callers: Vec<Caller<'_>> = callers.collect();
        let asking = try_join_all(callers.iter().map(Caller::deal));
        let sweeping = sweep(&self.ground, posts, lots, steps);
        let tidying = tidy(&self.ground, posts, lots, steps);
        let breaking = strike(self.stage, &self.ground, posts, lots, &self.books, steps);
        let (dealt, swept, tidied, broken) = tokio::join!(asking, sweeping, tidying, breaking);
        let broken = broken?;
        self.saw(broken);
        self.went_unseen |= swept + tidied.0 + tidied.1 > 0;
        self.tally.swept += swept;
        self.tally.archived += tidied.0;
        self.tally.checkpoints += tidied.1;
        let dealt = dealt.map(|dealt| dealt.into_iter().flatten().collect::<Vec<_>>());
        if let Ok(dealt) = &dealt {
            self.count(dealt);
        }
        Ok(dealt)
    }

    /// Counts what broke.
    pub(crate) fn saw(&mut self, broken: Option<Fault>) {
        if let Some(fault) = broken {
            *self.tally.faults.entry(fault.name()).or_insert(0) += 1;
            self.went_unseen = true;
            self.was_restarted |= fault == Fault::Crash;
        }
    }

    fn count(&mut self, dealt: &[Dealt]) {
        for one in dealt {
            self.tally.commands += 1;
            self.tally.untold += one.untold;
            self.tally.hang_ups += u64::from(one.hung_up);
            for deed in &one.deeds {
                let Some(answer) = &deed.answer else { continue };
                self.tally.replays += u64::from(answer.as_ref().is_ok_and(|r| r.is_replay));
                let word = match answer {
                    Ok(receipt) => receipt.did.clone(),
                    Err(refusal) => refusal.code().to_owned(),
                };
                let key = (kind(&deed.command), word);
                *self.tally.census.entry(key).or_insert(0) += 1;
            }
        }
    }

    /// Waits until what was begun is done: a lane is empty when what came later is answered, and
    /// a backend may outlive its daemon.
    async fn settle(&self, dealt: &[Dealt]) -> Result<(), SimError> {
        if dealt.iter().any(|one| one.hung_up) {
            let mut waiting = Vec::new();
            for post in &self.posts {
                for property in self.properties() {
                    let nobody = Command::Expire {
                        reservation: ReservationId(Uuid::nil()),
                    };
                    let by = Arc::default();
                    waiting.extend(post.ask(Asked::new(property, by, nobody)));
                }
            }
            let _ = timeout(Duration::from_secs(20), join_all(waiting)).await;
        }
        if dealt.iter().any(|one| one.untold > 0) {
            look::quiet(&self.ground.pool).await?;
        }
        Ok(())
    }

    pub(crate) fn properties(&self) -> Vec<PropertyId> {
        self.ground
            .ids
            .properties()
            .map(|ids| ids.property)
            .collect()
    }
}

/// Something breaks while the steps run, where chance has it.
pub(crate) async fn strike(
    stage: &mut Stage,
    ground: &Ground,
    posts: &[Post],
    lots: Lots,
    books: &Books,
    steps: &[Scripted],
) -> Result<Option<Fault>, SimError> {
    let of_step = |step: &Scripted| {
        let (fault, after) = lots.fault(step.number)?;
        let night = wanted(books, &ground.ids, step);
        Some((fault, after, lots.victim(step.number, 64), night))
    };
    let Some((fault, after, victim, night)) = steps.iter().find_map(of_step) else {
        return Ok(None);
    };
    sleep(after).await;
    let mut target = Target {
        stage,
        ground,
        posts,
        victim,
        night,
    };
    target.strike(fault).await?;
    Ok(Some(fault))
}

/// The steps, and those that others ask as well.
fn with_echoes(lots: Lots, steps: &[Scripted]) -> Vec<Scripted> {
    let mut all = steps.to_vec();
    for step in steps {
        for echo in 1..=lots.echoes(step.number) {
            if all.len() < CALLERS_MAX {
                all.push(Scripted {
                    number: step.number + echo * ECHO,
                    step: step.step.clone(),
                });
            }
        }
    }
    all
}

/// Callers of one round, at most: the orders of more are too many.
const CALLERS_MAX: usize = 9;

/// A night in the middle of what a step wants.
fn wanted(books: &Books, ids: &Ids, step: &Scripted) -> Option<Night> {
    let asked = ids.asked(step)?;
    let (room_type, stay) = match &asked.command {
        Command::Request(wish) => wish.rooms.first().map(|room| (room.room_type, room.stay)),
        Command::Modify(change) => {
            let room = change.rooms.as_ref().and_then(|rooms| rooms.first());
            room.map(|room| (room.room_type, room.stay))
        }
        Command::Record(fact) => fact.revision.rooms.iter().find_map(|room| {
            let stay = Stay::new(room.told.arrival?, room.told.departure?);
            room.room_type.zip(stay)
        }),
        Command::SetNights { changes, .. } => {
            let change = changes.first();
            change.map(|change| (change.room_type, change.nights))
        }
        Command::SetPhysical {
            room_type, nights, ..
        } => Some((*room_type, *nights)),
        _ => None,
    }?;
    let house = books.house(asked.property)?;
    let (plain, _) = house.rules.types.get(&room_type)?.parts.first()?;
    let nights: Vec<StayDate> = stay.nights().collect();
    Some((asked.property, *plain, nights[nights.len() / 2]))
}

/// Sweepers come by, each from the daemon that chance has; how many holds they let go.
async fn sweep(ground: &Ground, posts: &[Post], lots: Lots, steps: &[Scripted]) -> u64 {
    let mut sweeping = Vec::new();
    for post in steps.iter().filter_map(|step| lots.sweeps(step.number)) {
        for ids in ground.ids.properties() {
            sweeping.extend(posts[post].sweep(ids.property));
        }
    }
    let swept = join_all(sweeping).await;
    // A sweeper that was cut off comes again another time.
    let swept = swept.into_iter().flatten().flatten();
    swept.map(u64::from).sum()
}

/// Others archive and close nights meanwhile; how many reservations and nights, as far as it was
/// told.
async fn tidy(ground: &Ground, posts: &[Post], lots: Lots, steps: &[Scripted]) -> (u64, u64) {
    let chosen = steps.iter().filter_map(|step| lots.tidies(step.number));
    let each = chosen.map(|(post, delay, closed_after)| async move {
        sleep(delay).await;
        let houses = ground.ids.properties();
        let tidying = houses.filter_map(|ids| posts[post].tidy(ids.property, closed_after));
        join_all(tidying.collect::<Vec<_>>()).await
    });
    let tidied = join_all(each).await.into_iter().flatten();
    // Who was cut off comes again another time.
    let told = tidied.filter_map(|one| one.ok()?.ok());
    told.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
}
