//! The ledger's rules beside the auditor's books, without a database: a million commands of
//! chance, and faults that the auditor must notice.

mod notices;
mod paper;
mod paper_pools;
mod paper_rules;
mod pools;
mod run;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use keyrack_sim::shrink;
use run::Run;

/// Steps of one script.
const STEPS: usize = 300;

/// Commands in all; some of a script's steps only let time pass.
const COMMANDS: u64 = 1_000_000;

/// One seed alone, where it is named; the first of many else.
const SEED: &str = "KEYRACK_SIM_SEED";

#[test]
fn a_million_commands_of_chance_are_answered_as_the_auditor_would() {
    if let Ok(seed) = std::env::var(SEED) {
        let seed = seed.parse().expect("a seed is a number");
        report(Run::of_seed(seed, STEPS));
        return;
    }
    let began = Instant::now();
    let (next, commands) = (AtomicU64::new(0), AtomicU64::new(0));
    let work = || {
        let mut census = BTreeMap::<String, u64>::new();
        while commands.load(Ordering::Relaxed) < COMMANDS {
            let run = Run::of_seed(next.fetch_add(1, Ordering::Relaxed), STEPS);
            commands.fetch_add(run.commands, Ordering::Relaxed);
            for (what, count) in report(run) {
                *census.entry(what).or_insert(0) += count;
            }
        }
        census
    };
    let mut census = BTreeMap::<String, u64>::new();
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|_| scope.spawn(work)).collect();
        for each in threads {
            for (what, count) in each.join().expect("a failing seed has been printed") {
                *census.entry(what).or_insert(0) += count;
            }
        }
    });
    eprintln!(
        "{} commands of {} seeds in {:?}",
        commands.load(Ordering::Relaxed),
        next.load(Ordering::Relaxed),
        began.elapsed()
    );
    for (what, count) in &census {
        eprintln!("{count:>9} {what}");
    }
    for what in SEEN {
        let count = census.get(*what).copied().unwrap_or(0);
        assert!(
            count > 100,
            "{what} happened {count} times: chance is too tame"
        );
    }
}

const THREADS: usize = 2;

/// What must have happened, else the million proves little.
const SEEN: &[&str] = &[
    "agree: allotment_set",
    "agree: needs_force",
    "agree: version_mismatch",
    "cancel: cancelled",
    "cancel: illegal_transition",
    "confirm: already_confirmed",
    "confirm: confirmed",
    "confirm: hold_expired",
    "confirm: illegal_transition",
    "expire: expired",
    "extend: extended",
    "extend: hold_expired",
    "modify: modified",
    "modify: sold_out",
    "modify: version_mismatch",
    "progress: checked_in",
    "progress: completed",
    "progress: no_show",
    "progress: no_show_released",
    "progress: overdue",
    "progress: undone",
    "record: cancelled",
    "record: confirmed",
    "record: modified",
    "record: older",
    "record: repeated",
    "record: tombstone",
    "release_allotment: allotment_released",
    "request: allotment_exhausted",
    "request: confirmed",
    "request: held",
    "request: invalid",
    "request: needs_force",
    "request: not_yet_open",
    "request: sold_out",
    "set_blocks: blocks_set",
    "set_nights: inventory_set",
    "set_physical: capacity_set",
    "set_physical: needs_force",
];

/// What a run saw; where it failed, its seed and a short script that still fails.
fn report(run: Run) -> BTreeMap<String, u64> {
    let Some(failure) = &run.failure else {
        return run.census;
    };
    let again = |script: &[_]| Run::of_script(&run.shape, script);
    let short = shrink::shrink(&run.script, 2_000, |script| again(script).failure.is_some());
    let words = again(&short).failure.unwrap_or_default();
    panic!(
        "seed {} fails ({SEED}={} repeats it):\n{failure}\n\n\
         shrunk to {} steps:\n{}\n\n{words}\n\n{:#?}",
        run.shape.seed,
        run.shape.seed,
        short.len(),
        shrink::print(&short),
        run.shape.properties,
    );
}
