//! Short numbers of reservations, drawn ahead.
//!
//! # Why
//!
//! Drawing from a sequence is logged, and every now and then whoever draws waits for the disk. So a
//! read that draws waits as long as a commit, also where all its wishes are refused. Numbers that
//! were drawn and not used are kept for the next batch, and a call that commits anyway draws as
//! many as its batch used. What is in stock when the process ends, rests, or loses a connection
//! is skipped: a server that came back from a crash may draw it again.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Numbers in stock, the lowest first.
#[derive(Default)]
pub(crate) struct Numbers(Mutex<Stock>);

#[derive(Default)]
struct Stock {
    numbers: VecDeque<i64>,
    kept_at: Option<Instant>,
    asked_at: Option<Instant>,
    /// One batch follows the other.
    is_busy: bool,
}

impl Numbers {
    /// A batch begins that makes reservations.
    pub fn begin(&self) {
        let mut stock = self.lock();
        let asked_at = stock.asked_at.replace(Instant::now());
        stock.is_busy = asked_at.is_some_and(|at| at.elapsed() < BUSY_WITHIN);
    }

    /// As many as there are, at most so many.
    pub fn draw(&self, at_most: usize) -> Drawn<'_> {
        let mut stock = self.lock();
        if stock.kept_at.is_some_and(|at| at.elapsed() > STOCK_AGE_MAX) {
            stock.numbers.clear();
        }
        let count = at_most.min(stock.numbers.len());
        Drawn(stock.numbers.drain(..count).collect(), self)
    }

    /// Skips all: the server may be another.
    pub fn clear(&self) {
        self.lock().numbers.clear();
    }

    /// Keeps some for later; beyond [`STOCK_MAX`] they are skipped.
    pub fn keep(&self, numbers: impl IntoIterator<Item = i64>) {
        let mut numbers = numbers.into_iter().peekable();
        if numbers.peek().is_none() {
            return;
        }
        let mut stock = self.lock();
        stock.numbers.extend(numbers);
        // Numbers rise as reservations are made.
        stock.numbers.make_contiguous().sort_unstable();
        stock.numbers.truncate(STOCK_MAX);
        stock.kept_at = Some(Instant::now());
    }

    /// How many a call draws ahead that makes so many reservations and commits anyway: as many,
    /// but none for a few after a rest, which would leave a gap behind each.
    pub fn ahead_of(&self, made: usize) -> usize {
        if made >= DRAWS_AHEAD_FROM || self.lock().is_busy {
            made
        } else {
            0
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stock> {
        // Numbers are whole whatever panicked beside them.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Numbers in the hands of a batch; those that are not used up go back.
///
/// Only numbers that were drawn by what was committed may be here: the sequence gives the others
/// again after a crash of the server.
pub(crate) struct Drawn<'a>(pub VecDeque<i64>, &'a Numbers);

impl Drawn<'_> {
    /// The first so many have reservations.
    pub fn use_up(&mut self, count: usize) {
        self.0.drain(..count.min(self.0.len()));
    }
}

impl Drop for Drawn<'_> {
    fn drop(&mut self) {
        self.1.keep(self.0.drain(..));
    }
}

/// Between batches that follow each other.
const STOCK_AGE_MAX: Duration = Duration::from_secs(5);

/// Batches that follow each other so closely are worth a gap behind the last of them.
const BUSY_WITHIN: Duration = Duration::from_millis(200);

/// Reservations of one call that are worth a gap behind them also where it comes alone.
const DRAWS_AHEAD_FROM: usize = 4;

/// More than a few batches of the largest size use.
const STOCK_MAX: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_were_not_used_come_first_and_each_comes_once() {
        let numbers = Numbers::default();
        assert!(numbers.draw(2).0.is_empty());
        numbers.keep([3, 4, 5]);
        let mut drawn = numbers.draw(2);
        assert_eq!(drawn.0, [3, 4]);
        drawn.use_up(1);
        numbers.keep([6]);
        drop(drawn);
        assert_eq!(numbers.draw(9).0, [4, 5, 6]);
        let mut drawn = numbers.draw(9);
        drawn.use_up(4);
        drop(drawn);
        assert!(numbers.draw(9).0.is_empty());
    }

    #[test]
    fn what_is_skipped_never_comes() {
        let numbers = Numbers::default();
        numbers.keep([3, 4]);
        numbers.clear();
        assert!(numbers.draw(9).0.is_empty());
        numbers.keep([5]);
        let age = STOCK_AGE_MAX + Duration::from_secs(1);
        numbers.lock().kept_at = Instant::now().checked_sub(age);
        assert!(numbers.draw(9).0.is_empty());
    }

    #[test]
    fn a_few_reservations_draw_ahead_only_where_batches_follow_each_other() {
        let numbers = Numbers::default();
        numbers.begin();
        let ahead = |made| numbers.ahead_of(made);
        assert_eq!((ahead(1), ahead(DRAWS_AHEAD_FROM)), (0, DRAWS_AHEAD_FROM));
        numbers.begin();
        assert_eq!(ahead(1), 1);
        numbers.lock().asked_at = Instant::now().checked_sub(BUSY_WITHIN);
        numbers.begin();
        assert_eq!(ahead(1), 0);
    }

    #[test]
    fn a_stock_has_an_end() {
        let numbers = Numbers::default();
        numbers.keep(0..5000);
        assert_eq!(numbers.draw(9999).0.len(), STOCK_MAX);
    }
}
