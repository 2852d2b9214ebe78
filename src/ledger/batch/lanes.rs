//! The queue before the batches.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::lane::{Held, Lane, Mood, Moods};
use crate::command::{Answer, Asked};
use crate::error::LedgerError;

/// A command that waits for its answer.
pub(crate) struct Pending {
    pub asked: Asked,
    pub lane: Lane,
    pub reply: oneshot::Sender<Result<Answer, LedgerError>>,
}

/// The lanes of a process.
pub(crate) struct Lanes {
    state: Mutex<State>,
    wake: Notify,
    pending_max: usize,
    /// How many take batches.
    workers: usize,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    busy: Held,
    moods: Moods,
    in_flight: usize,
    is_closed: bool,
}

/// What a batch holds until [`Lanes::release`].
#[derive(Debug)]
pub(crate) struct Hold {
    lanes: Held,
    /// Lanes that it shares: nothing was written in them lately.
    open: Held,
}

/// What a batch costs beside its commands is worth it from so many on: fewer are not shared out.
const SHARE_MIN: usize = 8;

impl Lanes {
    pub(crate) fn new(pending_max: usize, workers: usize) -> Self {
        Self {
            state: Mutex::default(),
            wake: Notify::new(),
            pending_max,
            workers,
        }
    }

    /// Puts a command at the end; says why where it cannot wait here.
    pub(crate) fn push(&self, pending: Pending) -> Result<(), LedgerError> {
        {
            let mut state = self.lock();
            if state.is_closed {
                return Err(LedgerError::Closing);
            }
            if state.pending.len() >= self.pending_max {
                return Err(LedgerError::Conflict);
            }
            state.pending.push_back(pending);
        }
        self.wake.notify_one();
        Ok(())
    }

    /// What is pending and whose lane is free, in order of arrival, at most `max`: all of it, or
    /// a share where other workers are idle, so that one executes while another waits for its
    /// commit. Its lanes are busy until [`Lanes::release`]. `None` once closed and empty.
    pub(crate) async fn take(&self, max: usize) -> Option<(Vec<Pending>, Hold)> {
        loop {
            let woken = self.wake.notified();
            {
                let mut state = self.lock();
                let idle = self.workers.saturating_sub(state.in_flight).max(1);
                let taken = state.take(max, idle);
                if taken.is_some() {
                    state.in_flight += 1;
                    if !state.pending.is_empty() {
                        // The share of another.
                        self.wake.notify_one();
                    }
                    return taken;
                }
                if state.is_closed && state.pending.is_empty() {
                    // The other workers must hear it too.
                    self.wake.notify_one();
                    return None;
                }
            }
            woken.await;
            // Whoever is about to ask asks first: the first of many who were answered together
            // would go alone, and the others wait for it.
            tokio::task::yield_now().await;
        }
    }

    /// Frees lanes after their batch, which says what the next may expect of them.
    pub(crate) fn release(&self, hold: &Hold, mood: Mood) {
        let more = {
            let mut state = self.lock();
            state.busy.free(&hold.lanes);
            state.moods.set(&hold.lanes, mood);
            state.moods.set(&hold.open, mood);
            state.in_flight = state.in_flight.saturating_sub(1);
            !state.pending.is_empty() || state.is_closed
        };
        if more {
            self.wake.notify_one();
        }
    }

    /// Takes no more; what waits is still carried out.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_waiters();
        self.wake.notify_one();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // A panic elsewhere leaves the queue whole: every change of it is a single step.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// At most `max`; once a share of `idle` workers is taken, only what follows in its lanes,
    /// where two batches cannot be in one lane. In one lane nobody overtakes: what meets something
    /// that is left is left.
    fn take(&mut self, max: usize, idle: usize) -> Option<(Vec<Pending>, Hold)> {
        let share = self.pending.len().div_ceil(idle).max(SHARE_MIN);
        let (mut taken, mut left) = (Held::default(), Held::default());
        let mut batch = Vec::new();
        let mut rest = VecDeque::new();
        while let Some(pending) = self.pending.pop_front() {
            let lane = &pending.lane;
            let is_of_share = batch.len() < share
                || (taken.meets(lane) && self.moods.of(lane) == Mood::Exclusive);
            if is_of_share && !left.meets(lane) && !self.busy.meets(lane) {
                taken.hold(lane);
                batch.push(pending);
                if batch.len() >= max {
                    break;
                }
            } else {
                left.hold(lane);
                rest.push_back(pending);
            }
        }
        rest.append(&mut self.pending);
        self.pending = rest;
        (!batch.is_empty()).then(|| {
            let hold = self.hold(&batch);
            (batch, hold)
        })
    }

    fn hold(&mut self, batch: &[Pending]) -> Hold {
        let (mut lanes, mut open) = (Held::default(), Held::default());
        for pending in batch {
            let is_open = self.moods.of(&pending.lane) == Mood::Open;
            let held = if is_open { &mut open } else { &mut lanes };
            held.hold(&pending.lane);
        }
        self.busy.hold_all(&lanes);
        Hold { lanes, open }
    }
}

#[cfg(test)]
mod tests;
