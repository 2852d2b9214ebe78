//! How long to wait before a batch is tried again: short, in this process, with jitter.

use std::time::Duration;

use backoff::ExponentialBackoff;
use backoff::backoff::Backoff as _;

/// Pauses between the tries of one batch.
pub(super) struct Pauses(ExponentialBackoff);

impl Pauses {
    pub(super) fn new() -> Self {
        Self(ExponentialBackoff {
            current_interval: FIRST,
            initial_interval: FIRST,
            max_interval: Duration::from_millis(200),
            max_elapsed_time: None,
            ..ExponentialBackoff::default()
        })
    }

    pub(super) async fn wait(&mut self) {
        let pause = self.0.next_backoff().unwrap_or(FIRST);
        tokio::time::sleep(pause).await;
    }
}

const FIRST: Duration = Duration::from_millis(5);

/// A connection at rest so long may have been cut off unheard.
pub(crate) const RESTED: Duration = Duration::from_secs(1);

/// Makes the first connection, which may meet a server that is still starting.
pub(crate) async fn connect<T, F>(mut attempt: impl FnMut() -> F) -> Result<T, sqlx::Error>
where
    F: Future<Output = Result<T, sqlx::Error>>,
{
    let mut pauses = Pauses::new();
    for _ in 0..20 {
        match attempt().await {
            Err(sqlx::Error::Io(_)) => pauses.wait().await,
            Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("57P03") => {
                pauses.wait().await;
            }
            other => return other,
        }
    }
    attempt().await
}
