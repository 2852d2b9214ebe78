//! `keyrack sim`: seeds of commands and crashes on a private Postgres; status 1 on a finding.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use keyrack_sim::buffers::{self, Outcome, Trial};
use keyrack_sim::campaign::{Campaign, Summary};
use keyrack_sim::lot::Faults;
use keyrack_sim::run::{Failure, Options};
use keyrack_sim::shrink;

use crate::say;

/// Arguments of `keyrack sim`.
#[derive(Debug, Args)]
pub struct SimArguments {
    /// Something else than seeds of commands.
    #[command(subcommand)]
    what: Option<What>,
    /// How many seeds.
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// No seed is begun after so many minutes.
    #[arg(long, value_name = "M")]
    minutes: Option<u64>,
    /// The first seed; the others follow it.
    #[arg(long, value_name = "S", default_value_t = 0)]
    first_seed: u64,
    /// Steps of each script.
    #[arg(long, default_value_t = Options::default().steps)]
    steps: usize,
    /// Seeds at once, each on a Postgres of its own.
    #[arg(long, default_value_t = 2)]
    at_once: usize,
    /// Nothing breaks.
    #[arg(long)]
    calm: bool,
}

/// What else is simulated.
#[derive(Debug, Subcommand)]
enum What {
    /// What buffer rules are worth: scarce room nights sold twice, and rooms left empty.
    Buffers(BuffersArguments),
}

/// Arguments of `keyrack sim buffers`.
#[derive(Debug, Args)]
struct BuffersArguments {
    /// Scarce room nights.
    #[arg(long, default_value_t = 100_000)]
    nights: usize,
    /// Of what chance.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// At most one of so many is to be sold twice.
    #[arg(long, default_value_t = 1_000)]
    one_in: i32,
}

/// Sells scarce nights; says whether `safety` kept its promise.
fn of_buffers(arguments: &BuffersArguments) -> bool {
    let trial = Trial {
        nights: arguments.nights,
        seed: arguments.seed,
        one_in: arguments.one_in,
    };
    let allowed = 1_000_000 / u64::try_from(trial.one_in.max(1)).unwrap_or(1);
    let outcomes = buffers::run(trial);
    for outcome in &outcomes {
        say::line(&in_figures(outcome));
    }
    say::line(&format!("allowed are {allowed} in a million"));
    let safety = outcomes.iter().find(|outcome| outcome.rule == "safety");
    safety.is_some_and(|outcome| outcome.twice_per_million() <= allowed)
}

fn in_figures(outcome: &Outcome) -> String {
    let unsold = outcome.unsold_per_ten_thousand();
    let (cold, cold_twice) = outcome.cold;
    format!(
        "{:<11} {} nights, {} sold twice ({} in a million), {} rooms; {} of {} rooms left empty \
         though asked for ({}.{:02} %); of {cold} nights of new hotels {cold_twice} sold twice",
        outcome.rule,
        outcome.nights,
        outcome.sold_twice,
        outcome.twice_per_million(),
        outcome.rooms_twice,
        outcome.unsold,
        outcome.rooms,
        unsold / 100,
        unsold % 100,
    )
}

/// Runs the seeds; says whether nothing was found.
pub async fn sim(arguments: &SimArguments) -> Result<bool> {
    if let Some(What::Buffers(arguments)) = &arguments.what {
        return Ok(of_buffers(arguments));
    }
    let campaign = Campaign {
        first_seed: arguments.first_seed,
        seeds: arguments.seeds,
        limit: arguments.minutes.map(|m| Duration::from_secs(m * 60)),
        threads: arguments.at_once.max(1),
        options: Options {
            steps: arguments.steps,
            faults: if arguments.calm {
                Faults::None
            } else {
                Faults::All
            },
            ..Options::default()
        },
    };
    // It has runtimes of its own, which must not lie within this one.
    let running = tokio::task::spawn_blocking(move || {
        let bar = progress(campaign.seeds);
        let summary = campaign.run(&|summary| follow(&bar, summary));
        bar.finish_and_clear();
        summary
    });
    let summary = running.await.context("the simulation panicked")??;
    for (after, failure) in &summary.failures {
        say::line(&format!("after {:.1} s:", after.as_secs_f64()));
        say::line(&failed(failure));
    }
    say::line(&in_words(&summary));
    Ok(summary.failures.is_empty())
}

fn progress(seeds: u64) -> ProgressBar {
    let bar = ProgressBar::new(seeds);
    let style = "{bar:30} {pos}/{len} seeds  {elapsed}  {msg}";
    if let Ok(style) = ProgressStyle::with_template(style) {
        bar.set_style(style);
    }
    bar
}

fn follow(bar: &ProgressBar, summary: &Summary) {
    bar.set_position(summary.seeds);
    let tally = &summary.tally;
    bar.set_message(format!(
        "{} commands, {} broken",
        tally.commands,
        tally.broken()
    ));
}

fn failed(failure: &Failure) -> String {
    let (again, of) = failure.again;
    format!(
        "seed {} found something ({again} of {of} times again):\n{}\n\n\
         shrunk to {} steps, of one line each:\n{}\n\nwhich found:\n{}\n",
        failure.seed,
        failure.words,
        failure.script.len(),
        shrink::print(&failure.script),
        failure.shrunk_words,
    )
}

fn in_words(summary: &Summary) -> String {
    let tally = &summary.tally;
    let mut text = String::new();
    let mut put = |line: String| {
        // A string takes whatever is written.
        let _ = writeln!(text, "{line}");
    };
    put(format!(
        "{} seeds, {} commands in {} rounds, {:.1} s",
        summary.seeds,
        tally.commands,
        tally.rounds,
        summary.took.as_secs_f64()
    ));
    put(format!("  asked     {}", list(tally.by_kind())));
    put(format!("  answered  {}", list(tally.by_answer())));
    put(format!("  broken    {}", list(tally.faults.clone())));
    put(format!(
        "  {} callers hung up, {} attempts had no answer, {} answers came from an earlier attempt",
        tally.hang_ups, tally.untold, tally.replays
    ));
    put(format!(
        "  {} holds swept, {} reservations archived and {} brought back, {} nights closed, {} \
         entries seen by the feed, each once",
        tally.swept, tally.archived, tally.brought_back, tally.checkpoints, tally.entries
    ));
    let findings = summary.failures.len();
    put(format!("  {findings} findings"));
    text.trim_end().to_owned()
}

fn list<K: std::fmt::Display>(counts: std::collections::BTreeMap<K, u64>) -> String {
    let each = counts.iter().map(|(what, count)| format!("{count} {what}"));
    each.collect::<Vec<_>>().join(", ")
}
