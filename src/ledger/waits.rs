//! How long those wait who ask the ledger, lately: what the sweeper minds.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The waits of a window, the latest of them where there are many.
#[derive(Debug, Default)]
pub(crate) struct Waits(Mutex<Window>);

#[derive(Debug, Default)]
struct Window {
    latest: Vec<Duration>,
    /// All of the window, also those that were written over.
    count: usize,
}

impl Waits {
    /// Somebody was answered.
    pub(crate) fn add(&self, wait: Duration) {
        let mut window = self.window();
        if window.latest.len() < KEPT_MAX {
            window.latest.push(wait);
        } else {
            let at = window.count % KEPT_MAX;
            window.latest[at] = wait;
        }
        window.count += 1;
    }

    /// Ends the window and begins the next: the wait that 95 % of its callers did not exceed.
    /// `None` where they were too few to say.
    pub(crate) fn end_window(&self) -> Option<Duration> {
        let mut latest = {
            let mut window = self.window();
            window.count = 0;
            std::mem::take(&mut window.latest)
        };
        if latest.len() < SAMPLES_MIN {
            return None;
        }
        let at = latest.len() * 95 / 100;
        let (_, p95, _) = latest.select_nth_unstable(at);
        Some(*p95)
    }

    /// How many have been answered in this window.
    pub(crate) fn count(&self) -> usize {
        self.window().count
    }

    fn window(&self) -> MutexGuard<'_, Window> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of fewer, one slow caller would be the whole figure.
pub(crate) const SAMPLES_MIN: usize = 100;
const KEPT_MAX: usize = 4_096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_tells_what_95_of_100_did_not_exceed() {
        let waits = Waits::default();
        for millis in (0..200).rev() {
            waits.add(Duration::from_millis(millis));
        }
        assert_eq!(waits.count(), 200);
        assert_eq!(waits.end_window(), Some(Duration::from_millis(190)));
        assert_eq!((waits.count(), waits.end_window()), (0, None));
    }

    #[test]
    fn of_too_few_nothing_is_said_and_of_very_many_the_latest_count() {
        let waits = Waits::default();
        (1..SAMPLES_MIN).for_each(|_| waits.add(Duration::from_secs(1)));
        assert_eq!(waits.end_window(), None);
        for millis in [900, 1] {
            (0..KEPT_MAX).for_each(|_| waits.add(Duration::from_millis(millis)));
        }
        assert_eq!(waits.end_window(), Some(Duration::from_millis(1)));
    }
}
