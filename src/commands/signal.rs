//! The signals that ask a process to end.

use anyhow::{Context as _, Result};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled by the first SIGTERM or SIGINT; a second one ends the process at once, which loses
/// nothing that was acknowledged.
pub fn stop() -> Result<CancellationToken> {
    let doing = "listening for signals";
    let mut terminate = signal(SignalKind::terminate()).context(doing)?;
    let mut interrupt = signal(SignalKind::interrupt()).context(doing)?;
    let stop = CancellationToken::new();
    let token = stop.clone();
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if token.is_cancelled() {
                std::process::exit(130);
            }
            token.cancel();
        }
    });
    Ok(stop)
}
