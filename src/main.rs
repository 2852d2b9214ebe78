//! Hands the arguments to a command and its end to the exit code.

use std::process::ExitCode;

/// A daemon answers many small questions on several threads, and its memory lives for months.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    keyrack_commands::run().await
}
