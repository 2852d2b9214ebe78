//! The simulation on the real thing: seeds with two and three daemons on a private Postgres, and
//! everything breaking that can.

use keyrack_sim::campaign::{Campaign, Summary};
use keyrack_sim::run::{Failure, Options};
use keyrack_sim::shrink;

/// One seed alone, where it is named; the first of many else.
const SEED: &str = "KEYRACK_SIM_SEED";
/// How many seeds, where it is said.
const SEEDS: &str = "KEYRACK_SIM_SEEDS";

/// How often a failing script is run at most to make it shorter, where it is said.
const TRIES: &str = "KEYRACK_SIM_TRIES";

const SEEDS_DEFAULT: u64 = 200;

#[test]
fn two_hundred_seeds_of_commands_and_crashes_leave_every_number_proved() {
    let named = |name: &str| std::env::var(name).ok();
    let number = |text: String| text.parse::<u64>().expect("a number");
    let first = named(SEED).map(number);
    let seeds = named(SEEDS).map(number);
    let mut options = Options::default();
    if let Some(tries) = named(TRIES) {
        options.shrink_tries = tries.parse().expect("a number");
    }
    let campaign = Campaign {
        first_seed: first.unwrap_or(0),
        seeds: seeds.unwrap_or(if first.is_some() { 1 } else { SEEDS_DEFAULT }),
        limit: None,
        threads: 2,
        options,
    };
    let summary = campaign.run(&follow).expect("the simulation runs");
    tell(&summary);
    if let Some((after, failure)) = summary.failures.first() {
        panic!("after {after:?}: {}", failed(failure));
    }
    // Few seeds, by name, show what they show.
    if summary.seeds == SEEDS_DEFAULT {
        assert_everything_happened(&summary);
    }
}

/// A sign of life now and then.
fn follow(summary: &Summary) {
    if summary.seeds.is_multiple_of(20) {
        eprintln!("{} seeds after {:?}", summary.seeds, summary.took);
    }
}

/// What must have happened, else the seeds prove little.
fn assert_everything_happened(summary: &Summary) {
    let tally = &summary.tally;
    for what in BREAKS {
        let count = tally.faults.get(what).copied().unwrap_or(0);
        assert!(count >= 10, "{what}: {count} times");
    }
    let answers = tally.by_answer();
    for what in ANSWERS {
        let count = answers.get(what).copied().unwrap_or(0);
        assert!(count >= 10, "{what} was answered {count} times");
    }
    for (kind, answer) in WORKED {
        let key = (kind, answer.to_owned());
        let count = tally.census.get(&key).copied().unwrap_or(0);
        assert!(count >= 10, "{kind} was answered {answer} {count} times");
    }
    // A case seldom finds a room for the guest whom it moves, and a dead hold is mostly swept.
    let moved = MOVES.map(|ending| tally.census.get(&(ending, "set".to_owned())));
    let moved: u64 = moved.into_iter().flatten().sum();
    assert!(moved > 0, "no case ended by a guest's move");
    assert!(
        answers.contains_key("expired"),
        "nobody expired a hold by name"
    );
    for (what, count) in [
        ("allotments released by workers", tally.releases),
        ("looks at what accounts are told", tally.told),
        ("replays", tally.replays),
        ("hang-ups", tally.hang_ups),
        ("holds swept", tally.swept),
        ("reservations archived", tally.archived),
        ("reservations brought back", tally.brought_back),
        ("nights closed", tally.checkpoints),
    ] {
        assert!(count >= 10, "{what}: {count}");
    }
}

const BREAKS: [&str; 6] = [
    "backends stalled",
    "nights crowded",
    "connections cut",
    "daemons cut off",
    "daemons killed",
    "restarts of Postgres",
];

const ANSWERS: [&str; 15] = [
    "already_confirmed",
    "cancelled",
    "checked_in",
    "confirmed",
    "held",
    "hold_expired",
    "illegal_transition",
    "inventory_set",
    "modified",
    "needs_force",
    "not_yet_open",
    "repeated",
    "sold_out",
    "tombstone",
    "version_mismatch",
];

/// What happens to pools, to rules and to cases.
const WORKED: [(&str, &str); 7] = [
    ("agree", "allotment_set"),
    ("release_allotment", "allotment_released"),
    ("request", "allotment_exhausted"),
    ("pool_rules", "set"),
    ("buffer_rules", "set"),
    ("work_case", "set"),
    ("accepted_as_is", "set"),
];

/// Ways out of a case that move a guest.
const MOVES: [&str; 4] = ["upgrade", "swap", "walk", "relocated_by_channel"];

fn failed(failure: &Failure) -> String {
    let (again, of) = failure.again;
    format!(
        "seed {} fails ({SEED}={0} repeats it), again {again} of {of} times:\n{}\n\n\
         shrunk to {} steps:\n{}\n\n{}",
        failure.seed,
        failure.words,
        failure.script.len(),
        shrink::print(&failure.script),
        failure.shrunk_words,
    )
}

fn tell(summary: &Summary) {
    let tally = &summary.tally;
    eprintln!(
        "{} seeds, {} commands in {} rounds, {:?}; {} attempts untold, {} replays, {} hung up, \
         {} swept, {} archived, {} brought back, {} nights closed, {} entries in the feed, \
         {} allotments released, {} proofs, {} looks at what is told",
        summary.seeds,
        tally.commands,
        tally.rounds,
        summary.took,
        tally.untold,
        tally.replays,
        tally.hang_ups,
        tally.swept,
        tally.archived,
        tally.brought_back,
        tally.checkpoints,
        tally.entries,
        tally.releases,
        tally.proofs,
        tally.told,
    );
    for (what, time) in &tally.spent {
        eprintln!("{:>9.1} s of threads' time: {what}", time.as_secs_f64());
    }
    for (what, count) in &tally.faults {
        eprintln!("{count:>9} {what}");
    }
    for ((kind, answer), count) in &tally.census {
        eprintln!("{count:>9} {kind}: {answer}");
    }
}
