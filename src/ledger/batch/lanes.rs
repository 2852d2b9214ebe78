//! The queue before the batches: one lane a property.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::{Mutex, PoisonError};

use keyrack_model::id::PropertyId;
use tokio::sync::{Notify, oneshot};

use crate::command::{Answer, Asked};
use crate::error::LedgerError;

/// A command that waits for its answer.
pub(crate) struct Pending {
    pub asked: Asked,
    pub reply: oneshot::Sender<Result<Answer, LedgerError>>,
}

/// The lanes of a process.
pub(crate) struct Lanes {
    state: Mutex<State>,
    wake: Notify,
    pending_max: usize,
}

#[derive(Default)]
struct State {
    pending: VecDeque<Pending>,
    busy: HashSet<PropertyId>,
    is_closed: bool,
}

impl Lanes {
    pub(crate) fn new(pending_max: usize) -> Self {
        Self {
            state: Mutex::default(),
            wake: Notify::new(),
            pending_max,
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

    /// Everything pending whose lane is free, in order of arrival, at most `max`; its lanes are
    /// busy until [`Lanes::release`]. `None` once closed and empty.
    pub(crate) async fn take(&self, max: usize) -> Option<Vec<Pending>> {
        loop {
            let woken = self.wake.notified();
            {
                let mut state = self.lock();
                let batch = state.take(max);
                if !batch.is_empty() {
                    return Some(batch);
                }
                if state.is_closed && state.pending.is_empty() {
                    // The other workers must hear it too.
                    self.wake.notify_one();
                    return None;
                }
            }
            woken.await;
        }
    }

    /// Frees lanes after their batch.
    pub(crate) fn release(&self, lanes: &BTreeSet<PropertyId>) {
        let more = {
            let mut state = self.lock();
            state.busy.retain(|lane| !lanes.contains(lane));
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
    fn take(&mut self, max: usize) -> Vec<Pending> {
        if self.busy.is_empty() && self.pending.len() <= max {
            let batch: Vec<Pending> = self.pending.drain(..).collect();
            self.busy
                .extend(batch.iter().map(|pending| pending.asked.property));
            return batch;
        }
        let mut batch = Vec::new();
        let mut lanes = HashSet::new();
        let mut rest = VecDeque::with_capacity(self.pending.len());
        for pending in self.pending.drain(..) {
            let lane = pending.asked.property;
            if batch.len() < max && !self.busy.contains(&lane) {
                lanes.insert(lane);
                batch.push(pending);
            } else {
                rest.push_back(pending);
            }
        }
        self.pending = rest;
        self.busy.extend(lanes);
        batch
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::id::ReservationId;

    use super::*;
    use crate::command::Command;

    fn pending(property: i64) -> Pending {
        let command = Command::Expire {
            reservation: ReservationId(uuid::Uuid::nil()),
        };
        let asked = Asked::new(PropertyId(property), std::sync::Arc::default(), command);
        Pending {
            asked,
            reply: oneshot::channel().0,
        }
    }

    fn push(lanes: &Lanes, property: i64) {
        assert!(lanes.push(pending(property)).is_ok());
    }

    async fn taken(lanes: &Lanes, max: usize) -> Vec<i64> {
        let batch = lanes.take(max).await.expect("open");
        batch
            .iter()
            .map(|pending| pending.asked.property.0)
            .collect()
    }

    #[tokio::test]
    async fn a_lane_has_one_batch_in_flight() {
        let lanes = Lanes::new(10);
        push(&lanes, 1);
        assert_eq!(taken(&lanes, 128).await, [1]);
        push(&lanes, 1);
        push(&lanes, 2);
        assert_eq!(taken(&lanes, 128).await, [2]);
        lanes.release(&BTreeSet::from([PropertyId(1)]));
        assert_eq!(taken(&lanes, 128).await, [1]);
    }

    #[tokio::test]
    async fn what_waits_is_carried_out_after_closing_and_nothing_is_let_in() {
        let lanes = Lanes::new(10);
        push(&lanes, 1);
        lanes.close();
        assert!(lanes.push(pending(1)).is_err());
        assert_eq!(taken(&lanes, 128).await, [1]);
        lanes.release(&BTreeSet::from([PropertyId(1)]));
        assert!(lanes.take(128).await.is_none());
    }

    #[tokio::test]
    async fn the_queue_has_an_end() {
        let lanes = Lanes::new(1);
        push(&lanes, 1);
        let refused = lanes.push(pending(1)).expect_err("full");
        assert!(matches!(refused, LedgerError::Conflict));
    }
}
