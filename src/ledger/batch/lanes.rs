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
mod tests {
    use std::time::Duration;

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

    /// What holds all of its property.
    fn push(lanes: &Lanes, property: i64) {
        let lane = Lane::Whole(PropertyId(property));
        assert!(lanes.push(pending(property, lane)).is_ok());
    }

    fn of_type(property: i64, room_type: i64) -> Lane {
        Lane::Types(PropertyId(property), vec![RoomTypeId(room_type)])
    }

    /// A wish for rooms of a type.
    fn wish(lanes: &Lanes, property: i64, room_type: i64) {
        assert!(
            lanes
                .push(pending(property, of_type(property, room_type)))
                .is_ok()
        );
    }

    /// Takes a batch of these properties.
    async fn take(lanes: &Lanes, expected: &[i64]) -> Hold {
        let (batch, hold) = lanes.take(128).await.expect("open");
        let of = |one: &Pending| one.asked.property.0;
        assert_eq!(batch.iter().map(of).collect::<Vec<_>>(), expected);
        hold
    }

    async fn nobody_is_free(lanes: &Lanes) {
        let taken = tokio::time::timeout(Duration::from_millis(20), lanes.take(128));
        assert!(taken.await.is_err(), "something was taken");
    }

    #[tokio::test]
    async fn a_lane_has_one_batch_in_flight() {
        let lanes = Lanes::new(10, 1);
        push(&lanes, 1);
        let first = take(&lanes, &[1]).await;
        push(&lanes, 1);
        push(&lanes, 2);
        take(&lanes, &[2]).await;
        lanes.release(&first, Mood::Exclusive);
        take(&lanes, &[1]).await;
    }

    #[tokio::test]
    async fn what_waits_is_carried_out_after_closing_and_nothing_is_let_in() {
        let lanes = Lanes::new(10, 1);
        push(&lanes, 1);
        lanes.close();
        let again = pending(1, Lane::Whole(PropertyId(1)));
        assert!(lanes.push(again).is_err());
        let last = take(&lanes, &[1]).await;
        lanes.release(&last, Mood::Exclusive);
        assert!(lanes.take(128).await.is_none());
    }

    #[tokio::test]
    async fn the_queue_has_an_end() {
        let lanes = Lanes::new(1, 1);
        push(&lanes, 1);
        let again = pending(1, Lane::Whole(PropertyId(1)));
        let refused = lanes.push(again).expect_err("full");
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
        take(&lanes, &[1, 2, 3].repeat(SHARE_MIN)).await;
        for property in [1, 4, 4] {
            push(&lanes, property);
        }
        take(&lanes, &[4, 4]).await;

        let lanes = Lanes::new(100, 2);
        for property in [5, 6] {
            (0..SHARE_MIN).for_each(|_| push(&lanes, property));
        }
        let fifth = take(&lanes, &[5; SHARE_MIN]).await;
        let sixth = take(&lanes, &[6; SHARE_MIN]).await;
        lanes.release(&fifth, Mood::Exclusive);
        lanes.release(&sixth, Mood::Exclusive);
        push(&lanes, 5);
        push(&lanes, 6);
        take(&lanes, &[5, 6]).await;
    }

    #[tokio::test]
    async fn types_of_one_property_go_side_by_side_and_in_one_lane_nobody_overtakes() {
        let lanes = Lanes::new(10, 2);
        wish(&lanes, 1, 7);
        let seventh = take(&lanes, &[1]).await;
        wish(&lanes, 1, 8);
        let eighth = take(&lanes, &[1]).await;
        push(&lanes, 1);
        wish(&lanes, 1, 9);
        push(&lanes, 2);
        // A wish does not overtake what waits for all of its property.
        take(&lanes, &[2]).await;
        lanes.release(&seventh, Mood::Exclusive);
        nobody_is_free(&lanes).await;
        lanes.release(&eighth, Mood::Exclusive);
        take(&lanes, &[1, 1]).await;
    }

    #[tokio::test]
    async fn an_open_lane_is_shared_until_something_is_written_in_it() {
        let lanes = Lanes::new(100, 2);
        wish(&lanes, 1, 7);
        let first = take(&lanes, &[1]).await;
        lanes.release(&first, Mood::Open);
        (0..2 * SHARE_MIN).for_each(|_| wish(&lanes, 1, 7));
        let half = take(&lanes, &[1; SHARE_MIN]).await;
        let other = take(&lanes, &[1; SHARE_MIN]).await;
        lanes.release(&half, Mood::Exclusive);
        lanes.release(&other, Mood::Exclusive);
        (0..2 * SHARE_MIN).for_each(|_| wish(&lanes, 1, 7));
        take(&lanes, &[1; 2 * SHARE_MIN]).await;
        wish(&lanes, 1, 7);
        nobody_is_free(&lanes).await;
    }
}
