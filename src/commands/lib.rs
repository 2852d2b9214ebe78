//! Under the roof: one file per subcommand. Sees all floors; nothing sees it but `main`.

mod bench;
mod say;

use std::process::ExitCode;

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
    /// Measure the ledger beside the plain way.
    Bench(bench::BenchArguments),
}

/// Parses the arguments, carries the command out and turns its end into an exit code.
pub async fn run() -> ExitCode {
    let arguments = Arguments::parse();
    let done = match &arguments.command {
        Command::Bench(arguments) => bench::bench(arguments).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::warn(&format!("keyrack: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
