//! How an account stands, in one word with its reason.
//!
//! Pure.

use jiff::{SignedDuration, Timestamp};
use keyrack_model::channel::AccountState;
use serde::Serialize;

/// How an account stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Polls and records, tells nothing.
    Setup,
    /// Told and polled, all well.
    Ok,
    /// Told and polled, with something that staff should look at.
    Degraded,
    /// It does not hear us, or we do not hear it: a person must act.
    Failing,
    /// Pushes rest.
    Paused,
    /// Told zero and closed everywhere.
    Closed,
}

/// What is known of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Signs {
    /// Since when a person must look at its pushes, and why.
    pub(crate) push_failing: Option<(Timestamp, String)>,
    /// Failures in a row, and the last one.
    pub(crate) push_failures: i32,
    /// The last failure in words.
    pub(crate) push_why: Option<String>,
    /// Since when polls fail, and why.
    pub(crate) poll_failing: Option<(Timestamp, String)>,
    /// Cells that the channel refused.
    pub(crate) refused: i64,
    /// Codes that no mapping knows.
    pub(crate) unmapped: usize,
    /// Since when the oldest change is untold.
    pub(crate) untold_since: Option<Timestamp>,
}

/// How an account stands: the word, the reason, since when it is known to be so.
pub(crate) fn standing(
    state: AccountState,
    state_since: Timestamp,
    state_reason: Option<&str>,
    signs: &Signs,
    now: Timestamp,
    poll_failing_seconds: u32,
) -> (State, Option<String>, Timestamp) {
    let own = |word| (word, state_reason.map(str::to_owned), state_since);
    match state {
        AccountState::Setup => return own(State::Setup),
        AccountState::Paused => return own(State::Paused),
        AccountState::Live | AccountState::Closed => {}
    }
    let limit = SignedDuration::from_secs(poll_failing_seconds.into());
    if let Some((since, why)) = &signs.push_failing {
        return (State::Failing, Some(format!("pushes fail: {why}")), *since);
    }
    if let Some((since, why)) = &signs.poll_failing
        && now.duration_since(*since) >= limit
    {
        return (State::Failing, Some(format!("polls fail: {why}")), *since);
    }
    if state == AccountState::Closed {
        return own(State::Closed);
    }
    match doubt(signs, now, limit) {
        Some((why, since)) => (State::Degraded, Some(why), since.unwrap_or(state_since)),
        None => own(State::Ok),
    }
}

fn doubt(
    signs: &Signs,
    now: Timestamp,
    limit: SignedDuration,
) -> Option<(String, Option<Timestamp>)> {
    if signs.push_failures > 0 {
        let why = signs.push_why.as_deref().unwrap_or("no reason is known");
        return Some((format!("the last push failed: {why}"), None));
    }
    if let Some((since, why)) = &signs.poll_failing {
        return Some((format!("the last poll failed: {why}"), Some(*since)));
    }
    if signs.refused > 0 {
        return Some((format!("the channel refused {} cells", signs.refused), None));
    }
    if signs.unmapped > 0 {
        let why = format!("{} codes of the channel are not mapped", signs.unmapped);
        return Some((why, None));
    }
    let untold = signs
        .untold_since
        .filter(|since| now.duration_since(*since) >= limit)?;
    Some(("changes have not been told for long".into(), Some(untold)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(2_000_000_000 + second).expect("an instant")
    }

    fn found(state: AccountState, signs: &Signs) -> (State, i64) {
        let (word, _, since) = standing(state, at(0), None, signs, at(1_000), 600);
        (word, since.as_second() - 2_000_000_000)
    }

    #[test]
    fn a_live_account_is_as_well_as_its_worst_sign() {
        let quiet = Signs::default();
        let push = Signs {
            push_failing: Some((at(990), "403".into())),
            ..Signs::default()
        };
        let poll = |since| Signs {
            poll_failing: Some((at(since), "no answer".into())),
            ..Signs::default()
        };
        let refused = Signs {
            refused: 3,
            ..Signs::default()
        };
        let untold = |since| Signs {
            untold_since: Some(at(since)),
            ..Signs::default()
        };
        for (signs, meant) in [
            (quiet, (State::Ok, 0)),
            (push, (State::Failing, 990)),
            (poll(100), (State::Failing, 100)),
            (poll(900), (State::Degraded, 900)),
            (refused, (State::Degraded, 0)),
            (untold(100), (State::Degraded, 100)),
            (untold(900), (State::Ok, 0)),
        ] {
            assert_eq!(found(AccountState::Live, &signs), meant, "{signs:?}");
        }
    }

    #[test]
    fn a_closed_account_that_cannot_be_told_so_is_failing() {
        let push = Signs {
            push_failing: Some((at(990), "403".into())),
            ..Signs::default()
        };
        assert_eq!(found(AccountState::Closed, &push).0, State::Failing);
        assert_eq!(
            found(AccountState::Closed, &Signs::default()).0,
            State::Closed
        );
        assert_eq!(found(AccountState::Paused, &push).0, State::Paused);
        assert_eq!(found(AccountState::Setup, &push).0, State::Setup);
    }
}
