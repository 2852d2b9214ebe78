//! Under the roof: one file per subcommand. Sees all floors; nothing sees it but `main`.
//!
//! What the commands share: [`config`] joins the floors' settings, [`database`] finds or keeps
//! the database, [`startup`] is the only place that sees all floors at once, `say` is the only
//! file that prints; `desk` asks the API from inside the process.

mod bench;
pub mod config;
pub mod database;
pub mod demo;
mod desk;
mod doctor;
mod gauges;
mod header;
mod import;
mod inspect;
mod key;
mod migrate;
mod openapi;
mod place;
mod pools;
mod queue;
mod refused;
mod rooming_list;
mod sandbox;
mod say;
mod seal_key;
mod serve;
mod signal;
mod sim;
pub mod startup;
mod table;
mod telemetry;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// Keeps every channel of a hotel honest: one reservation ledger, every night told everywhere.
#[derive(Debug, Parser)]
#[command(name = "keyrack", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure the daemon's parts beside the plain way.
    Bench(bench::arguments::BenchArguments),
    /// A private Postgres, two fake channels, a hotel and a day of its life; ends with the audit.
    Demo(demo::DemoArguments),
    /// Look at configuration, database, clock and accounts, and say what to do.
    Doctor(place::Place),
    /// Record what a hotel has already sold, from CSV.
    Import(import::ImportArguments),
    /// Show what is understood of a channel's message, as JSON.
    Inspect(inspect::InspectArguments),
    /// Make, list and revoke keys.
    Key(key::KeyArguments),
    /// Bring the database to this program's state.
    Migrate(place::Place),
    /// Print the OpenAPI document of the HTTP contract.
    Openapi,
    /// What is kept for whom, which rules switch it, and why a channel is told what it is told.
    Pools(pools::PoolsArguments),
    /// Nights on which too much is sold: why, who is moved, and what is done about it.
    Queue(queue::QueueArguments),
    /// Book a group's guests from CSV, drawn from the group's blocks.
    RoomingList(rooming_list::RoomingListArguments),
    /// Run the fake channels, or ask one what it would answer.
    Sandbox(sandbox::SandboxArguments),
    /// Run the daemon.
    Serve(serve::ServeArguments),
    /// Run seeds of commands and crashes against an auditor; status 1 on a finding.
    Sim(sim::SimArguments),
    /// Replay the ledger against the sums; status 1 where they differ.
    Verify(verify::VerifyArguments),
}

/// Parses the arguments, carries the command out and turns its end into an exit code.
pub async fn run() -> ExitCode {
    match carry_out(Arguments::parse().command).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say::warn(&format!("keyrack: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Says whether what was looked at is as it should be; an error where it could not be looked at.
async fn carry_out(command: Command) -> Result<bool> {
    let done = |()| true;
    match &command {
        Command::Bench(arguments) => bench::bench(arguments).await.map(done),
        Command::Demo(arguments) => demo::demo(arguments).await,
        Command::Doctor(place) => doctor::doctor(place).await,
        Command::Import(arguments) => import::import(arguments).await,
        Command::Inspect(arguments) => inspect::inspect(arguments),
        Command::Key(arguments) => key::key(arguments).await.map(done),
        Command::Migrate(place) => migrate::migrate(place).await.map(done),
        Command::Openapi => openapi::openapi().map(done),
        Command::Pools(arguments) => pools::pools(arguments).await,
        Command::Queue(arguments) => queue::queue(arguments).await,
        Command::RoomingList(arguments) => rooming_list::rooming_list(arguments).await,
        Command::Sandbox(arguments) => sandbox::sandbox(arguments).await.map(done),
        Command::Serve(arguments) => serve::serve(arguments).await.map(done),
        Command::Sim(arguments) => sim::sim(arguments).await,
        Command::Verify(arguments) => verify::verify(arguments).await,
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::Arguments;

    #[test]
    fn no_flag_of_any_command_contradicts_another() {
        Arguments::command().debug_assert();
    }
}
