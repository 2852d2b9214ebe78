//! How far this process's clock is from the database's: the one place where the ledger looks at it.

use jiff::Timestamp;

use crate::error::LedgerError;

/// From here a warning (ledger, section 8).
const WARN_SECONDS: i64 = 2;
/// From here no holds.
const REFUSE_SECONDS: i64 = 30;

/// From here nothing: command ids begin with their instant, and what was written lately is found by
/// them.
const REFUSE_ALL_SECONDS: i64 = 24 * 3_600;

/// Measures the distance; a failure where holds would end at times that nobody here understands, or
/// where entries would stand in the wrong place.
pub(super) fn check(wall: Timestamp, makes_holds: bool) -> Result<(), LedgerError> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the distance of the two clocks is the question"
    )]
    let here = Timestamp::now();
    let seconds = here.duration_since(wall).as_secs().abs();
    if seconds >= WARN_SECONDS {
        metrics::gauge!("clock_drift_seconds")
            .set(f64::from(i32::try_from(seconds).unwrap_or(i32::MAX)));
        tracing::warn!(seconds, "this process's clock is away from the database's");
    }
    if seconds >= REFUSE_ALL_SECONDS || (seconds >= REFUSE_SECONDS && makes_holds) {
        return Err(LedgerError::ClockDrift(seconds));
    }
    Ok(())
}
