//! What `keyrack bench` is told.

use clap::{Args, Subcommand};

use super::growth::Growth;

/// Arguments of `keyrack bench`.
#[derive(Debug, Args)]
pub struct BenchArguments {
    #[command(subcommand)]
    pub which: Which,
    /// The same figures as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// Seconds that each contender runs in each round.
    #[arg(long, global = true, default_value_t = 0.5)]
    pub seconds: f64,
    /// Measured rounds after the warm-up.
    #[arg(long, global = true, default_value_t = 3)]
    pub rounds: usize,
}

#[derive(Debug, Subcommand)]
pub enum Which {
    /// Holds per second against one plain transaction per reservation.
    Ledger {
        /// Only rows whose name has this in it.
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Holds per second through the API, against axum with the plain way inside.
    Http,
    /// Messages of the channels written and read, against lxml (where python3-lxml is installed).
    Xml,
    /// Availability as JSON against the same from SQL rows.
    Read,
    /// From a change to the message that tells a channel, and what pushing costs.
    Push,
    /// Dead holds let go per second, and what callers notice of it.
    Sweep,
    /// The ledger with many hotels, years of history and a long day behind it: by hand.
    Growth(Growth),
}
