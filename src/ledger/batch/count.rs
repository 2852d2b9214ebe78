//! What is counted of commands and their answers (ledger, section 8: the metrics).

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::command::{Answer, Asked, Command};
use crate::decide::hold::{IN_GRACE, RETAKEN};

/// Counts what became of commands; one per ledger.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    wishes: Mutex<Wishes>,
}

/// How a confirm after the end of its hold can end.
const LATE: [&str; 3] = ["in_grace", "retaken", "refused"];

impl Counts {
    /// Shows what may never happen from the start: an alarm must see a first one.
    pub(crate) fn begun() -> Self {
        for outcome in LATE {
            metrics::counter!("reservation_confirm_late_total", "outcome" => outcome).increment(0);
        }
        metrics::counter!("oversell_prevented_total").increment(0);
        metrics::gauge!("reservation_expiry_lag_seconds_p95").set(0.0);
        Self::default()
    }

    /// A command was answered.
    pub(crate) fn answered(&self, asked: &Asked, answer: &Answer) {
        match answer {
            Ok(receipt) => {
                metrics::counter!("ledger_commands_total", "did" => receipt.did.clone())
                    .increment(1);
            }
            Err(refusal) => {
                let code = refusal.code();
                metrics::counter!("ledger_refusals_total", "code" => code).increment(1);
                if code == "sold_out" {
                    metrics::counter!("oversell_prevented_total").increment(1);
                }
            }
        }
        match &asked.command {
            Command::Request(_) => self.wish(made(answer)),
            Command::Confirm { .. } => {
                if let Some(outcome) = late(answer) {
                    metrics::counter!("reservation_confirm_late_total", "outcome" => outcome)
                        .increment(1);
                }
            }
            _ => {}
        }
    }

    /// A command could not be answered.
    pub(crate) fn failed(&self, asked: &Asked) {
        if matches!(asked.command, Command::Request(_)) {
            self.wish(Some("failed"));
        }
    }

    /// Demand that finds nothing left, or may not be met, is an answer and no fault: it is counted,
    /// and is no part of the rate (ledger, section 3).
    fn wish(&self, outcome: Option<&'static str>) {
        let Some(outcome) = outcome else { return };
        metrics::counter!("reservation_create_total", "outcome" => outcome).increment(1);
        if !matches!(outcome, "made" | "failed") {
            return;
        }
        let mut wishes = self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        let rate = wishes.rate_with(outcome == "made");
        metrics::gauge!("reservation_create_success_rate").set(rate);
    }
}

/// What became of a wish for a reservation; a repeat is counted with its first.
fn made(answer: &Answer) -> Option<&'static str> {
    match answer {
        Ok(receipt) if receipt.is_replay => None,
        Ok(_) => Some("made"),
        Err(refusal) if refusal.code() == "sold_out" => Some("sold_out"),
        Err(_) => Some("refused"),
    }
}

/// How a confirm after the end of its hold ended; `None` where it was in time.
fn late(answer: &Answer) -> Option<&'static str> {
    match answer {
        Ok(receipt) if receipt.is_replay => None,
        Ok(receipt) if receipt.did == IN_GRACE => Some("in_grace"),
        Ok(receipt) if receipt.did == RETAKEN => Some("retaken"),
        Err(refusal) if refusal.code() == "hold_expired" => Some("refused"),
        _ => None,
    }
}

/// Whether the latest wishes got a reservation.
#[derive(Debug, Default)]
struct Wishes {
    latest: VecDeque<bool>,
    made: u32,
}

impl Wishes {
    /// Adds one; says the share of the latest that got what they wished, 0 to 1.
    #[expect(
        clippy::float_arithmetic,
        reason = "a figure for a dashboard; nothing is decided by it"
    )]
    fn rate_with(&mut self, is_made: bool) -> f64 {
        if self.latest.len() == LATEST
            && let Some(oldest) = self.latest.pop_front()
        {
            self.made -= u32::from(oldest);
        }
        self.latest.push_back(is_made);
        self.made += u32::from(is_made);
        let all = u32::try_from(self.latest.len()).unwrap_or(u32::MAX);
        f64::from(self.made) / f64::from(all)
    }
}

/// Wishes, answered with a reservation or with a fault, that the rate is of.
const LATEST: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_of_the_latest_wishes() {
        let mut wishes = Wishes::default();
        assert_eq!(wishes.rate_with(true), 1.0);
        assert_eq!(wishes.rate_with(false), 0.5);
        let refused = (0..LATEST).map(|_| wishes.rate_with(false));
        assert_eq!(refused.last(), Some(0.0));
        assert_eq!(wishes.rate_with(true), 0.001);
        assert_eq!(wishes.latest.len(), LATEST);
    }
}
