//! The queue before the batches.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use tokio::sync::{Notify, oneshot};

use super::lane::{Held, Lane};
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
    in_flight: usize,
    is_closed: bool,
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
    pub(crate) async fn take(&self, max: usize) -> Option<Vec<Pending>> {
        loop {
            let woken = self.wake.notified();
            {
                let mut state = self.lock();
                let idle = self.workers.saturating_sub(state.in_flight).max(1);
                let batch = state.take(max, idle);
                if !batch.is_empty() {
                    state.in_flight += 1;
                    if !state.pending.is_empty() {
                        // The share of another.
                        self.wake.notify_one();
                    }
                    return Some(batch);
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

    /// Frees lanes after their batch.
    pub(crate) fn release(&self, lanes: &[Lane]) {
        let more = {
            let mut state = self.lock();
            state.busy.free(lanes);
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
    /// At most `max`; once a share of `idle` workers is taken, only what follows in its lanes. In
    /// one lane nobody overtakes: what meets something that is left is left.
    fn take(&mut self, max: usize, idle: usize) -> Vec<Pending> {
        let share = self.pending.len().div_ceil(idle).max(SHARE_MIN);
        let (mut taken, mut left) = (Held::default(), Held::default());
        let mut batch = Vec::new();
        let mut rest = VecDeque::new();
        while let Some(pending) = self.pending.pop_front() {
            let lane = &pending.lane;
            let is_of_share = batch.len() < share || taken.meets(lane);
            if is_of_share && !self.busy.meets(lane) && !left.meets(lane) {
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
        for pending in &batch {
            self.busy.hold(&pending.lane);
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};

    use super::*;
    use crate::command::Command;

    fn pending(property: i64, lane: Lane) -> Pending {
        let command = Command::Expire {
            reservation: ReservationId(uuid::Uuid::nil()),
        };
        let asked = Asked::new(PropertyId(property), std::sync::Arc::default(), command);
        Pending {
            asked,
            lane,
            reply: oneshot::channel().0,
        }
    }

    fn whole(property: i64) -> Lane {
        Lane::Whole(PropertyId(property))
    }

    fn push(lanes: &Lanes, property: i64) {
        assert!(lanes.push(pending(property, whole(property))).is_ok());
    }

    /// A wish for rooms of a type.
    fn wish(lanes: &Lanes, property: i64, room_type: i64) {
        let lane = Lane::Types(PropertyId(property), vec![RoomTypeId(room_type)]);
        assert!(lanes.push(pending(property, lane)).is_ok());
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
        let lanes = Lanes::new(10, 1);
        push(&lanes, 1);
        assert_eq!(taken(&lanes, 128).await, [1]);
        push(&lanes, 1);
        push(&lanes, 2);
        assert_eq!(taken(&lanes, 128).await, [2]);
        lanes.release(&[whole(1)]);
        assert_eq!(taken(&lanes, 128).await, [1]);
    }

    #[tokio::test]
    async fn what_waits_is_carried_out_after_closing_and_nothing_is_let_in() {
        let lanes = Lanes::new(10, 1);
        push(&lanes, 1);
        lanes.close();
        assert!(lanes.push(pending(1, whole(1))).is_err());
        assert_eq!(taken(&lanes, 128).await, [1]);
        lanes.release(&[whole(1)]);
        assert!(lanes.take(128).await.is_none());
    }

    #[tokio::test]
    async fn the_queue_has_an_end() {
        let lanes = Lanes::new(1, 1);
        push(&lanes, 1);
        let refused = lanes.push(pending(1, whole(1))).expect_err("full");
        assert!(matches!(refused, LedgerError::Conflict));
    }

    #[tokio::test]
    async fn idle_workers_get_a_share_each_and_no_lane_is_divided() {
        let lanes = Lanes::new(100, 2);
        for _ in 0..SHARE_MIN {
            push(&lanes, 1);
            push(&lanes, 2);
            push(&lanes, 3);
        }
        // Half of them is reached amid the third lane: what follows of begun lanes comes along.
        assert_eq!(taken(&lanes, 128).await.len(), 3 * SHARE_MIN);
        for property in [1, 4, 4] {
            push(&lanes, property);
        }
        assert_eq!(taken(&lanes, 128).await, [4, 4], "all that is free");

        let lanes = Lanes::new(100, 2);
        for property in [5, 6] {
            (0..SHARE_MIN).for_each(|_| push(&lanes, property));
        }
        assert_eq!(taken(&lanes, 128).await, [5; SHARE_MIN]);
        assert_eq!(taken(&lanes, 128).await, [6; SHARE_MIN]);
        lanes.release(&[whole(5)]);
        lanes.release(&[whole(6)]);
        push(&lanes, 5);
        push(&lanes, 6);
        assert_eq!(taken(&lanes, 128).await, [5, 6], "too few to share out");
    }

    #[tokio::test]
    async fn types_of_one_property_go_side_by_side_and_in_one_lane_nobody_overtakes() {
        let lanes = Lanes::new(10, 2);
        wish(&lanes, 1, 7);
        assert_eq!(taken(&lanes, 128).await, [1]);
        wish(&lanes, 1, 8);
        assert_eq!(taken(&lanes, 128).await, [1], "another type");
        push(&lanes, 1);
        wish(&lanes, 1, 9);
        push(&lanes, 2);
        assert_eq!(
            taken(&lanes, 128).await,
            [2],
            "a wish does not overtake what waits for all of its property"
        );
        lanes.release(&[Lane::Types(PropertyId(1), vec![RoomTypeId(7)])]);
        lanes.release(&[Lane::Types(PropertyId(1), vec![RoomTypeId(8)])]);
        assert_eq!(taken(&lanes, 128).await, [1, 1]);
    }
}
