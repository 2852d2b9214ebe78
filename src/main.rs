//! Hands the arguments to a command and its end to the exit code.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    keyrack_commands::run().await
}
