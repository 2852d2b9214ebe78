//! What is to be written for each cell of an answered push: what is told now, the history of it,
//! and what becomes of its mark.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use keyrack_model::ari::AriKey;

use crate::handle::Distribution;
use crate::push::backoff::due_after_ms;
use crate::push::fate::Fate;
use crate::push::plan::Pick;
use crate::push::settle::Sending;
use crate::push::urgency::{Shown, openness};
use crate::store::mark::Rest;
use crate::store::told::Told;
use crate::store::told_history::Telling;

/// What is to be written for the cells of an answered push.
#[derive(Default)]
pub(crate) struct Outcome {
    pub(crate) told: Vec<Told>,
    pub(crate) forgotten: Vec<AriKey>,
    pub(crate) history: Vec<Telling>,
    pub(crate) settled: Vec<(AriKey, i64)>,
    pub(crate) rests: Vec<Rest>,
}

/// What is to be written, cell by cell.
pub(crate) fn outcome(
    distribution: &Distribution,
    sending: &Sending,
    fates: &[Fate],
    adrift: &BTreeSet<i64>,
    now: Timestamp,
) -> Outcome {
    let mut outcome = Outcome::default();
    let echo = SignedDuration::from_secs(distribution.inner.settings.push_echo_seconds.into());
    let echo_at = now.saturating_add(echo).unwrap_or(Timestamp::MAX);
    for (pick, fate) in sending.picks.iter().zip(fates) {
        match fate {
            Fate::Taken => {
                let before = pick.before.as_ref();
                let is_adrift = before.is_some_and(|told| adrift.contains(&told.attempt));
                outcome.taken(sending, pick, now, is_adrift.then_some(echo_at));
            }
            Fate::Refused(why) => {
                outcome.restore(pick);
                outcome.untaken(sending, pick, why);
                outcome.again(sending, pick, why, now);
            }
            Fate::Doubtful(why) => {
                outcome.untaken(sending, pick, why);
                outcome.again(sending, pick, why, now);
            }
            Fate::Unsure(why) => outcome.untaken(sending, pick, why),
            Fate::NotApplied => outcome.restore(pick),
        }
    }
    outcome
}

impl Outcome {
    /// The channel shows it. Where an earlier message went unanswered it may still be on its way,
    /// so the number is told once more later.
    fn taken(
        &mut self,
        sending: &Sending,
        pick: &Pick,
        now: Timestamp,
        echo_at: Option<Timestamp>,
    ) {
        let open = openness(&pick.cell.values);
        let told = Told {
            key: pick.cell.key,
            shown: Shown {
                values: pick.cell.values.clone(),
                is_acknowledged: true,
                openness_min: open,
                openness_max: open,
            },
            due_at: due_at(pick, sending.sent_at),
            sent_at: sending.sent_at,
            acknowledged_at: Some(now),
            attempt: sending.attempt,
        };
        let before = pick.before.as_ref();
        let is_known = before.is_some_and(|before| {
            before.shown.is_acknowledged && before.shown.values == pick.cell.values
        });
        if !is_known {
            self.history.push(telling(sending, pick, Some(now), None));
        }
        self.told.push(told);
        let Some(mark) = &pick.mark else { return };
        if pick.is_held || echo_at.is_some() {
            self.rests.push(Rest {
                key: mark.key,
                seq: mark.seq,
                waits_for_poll: pick.is_held,
                due_at: echo_at.filter(|_| !pick.is_held).unwrap_or(now),
                attempt: 0,
                is_full: mark.repeat.is_full || echo_at.is_some(),
                // What is held is still to be told; an echo tells it a second time.
                changed_at: mark.changed_at.filter(|_| pick.is_held),
                error: None,
            });
        } else {
            self.settled.push((mark.key, mark.seq));
        }
    }

    /// It had no effect: what was told before is what the channel shows.
    fn restore(&mut self, pick: &Pick) {
        match &pick.before {
            Some(before) => self.told.push(before.clone()),
            None => self.forgotten.push(pick.cell.key),
        }
    }

    /// The history keeps the first of several vain tries.
    fn untaken(&mut self, sending: &Sending, pick: &Pick, why: &str) {
        let is_repeat = pick.before.as_ref().is_some_and(|before| {
            !before.shown.is_acknowledged && before.shown.values == pick.cell.values
        });
        if pick.attempt() == 0 && !is_repeat {
            self.history.push(telling(sending, pick, None, Some(why)));
        }
    }

    /// The mark stays, shown to staff, and comes due again.
    fn again(&mut self, sending: &Sending, pick: &Pick, why: &str, now: Timestamp) {
        let Some(mark) = &pick.mark else { return };
        let attempt = mark.attempt.saturating_add(1);
        let wait = due_after_ms(attempt, None, seed(sending, pick));
        let wait = SignedDuration::from_millis(i64::try_from(wait).unwrap_or(i64::MAX));
        self.rests.push(Rest {
            key: mark.key,
            seq: mark.seq,
            waits_for_poll: false,
            due_at: now.saturating_add(wait).unwrap_or(Timestamp::MAX),
            attempt,
            is_full: mark.repeat.is_full,
            changed_at: mark.changed_at,
            error: Some(why.to_owned()),
        });
    }
}

/// Cells of one message come back together, those of different accounts do not.
fn seed(sending: &Sending, pick: &Pick) -> u64 {
    let account = u64::try_from(sending.account.id.0).unwrap_or(0);
    account ^ u64::from(pick.attempt()).rotate_left(32)
}

fn telling(
    sending: &Sending,
    pick: &Pick,
    acknowledged_at: Option<Timestamp>,
    why: Option<&str>,
) -> Telling {
    Telling {
        account: sending.account.id,
        key: pick.cell.key,
        values: pick.cell.values.clone(),
        due_at: due_at(pick, sending.sent_at),
        changed_at: pick.mark.as_ref().and_then(|mark| mark.changed_at),
        sent_at: sending.sent_at,
        acknowledged_at,
        why: why.map(str::to_owned),
        attempt: sending.attempt,
        is_raise: pick.is_raise(),
        basis: pick.basis.clone(),
    }
}

/// The change that a cell tells.
pub(crate) fn due_at(pick: &Pick, sent_at: Timestamp) -> Timestamp {
    let mark = pick.mark.as_ref();
    mark.map_or(sent_at, |mark| mark.first_marked_at.min(sent_at))
}
