//! Whether work grows with its input, or with its square: small and large side by side in one run.

use std::time::{Duration, Instant};

/// The large input has so many times the pieces of the small one.
const TIMES: usize = 4;
/// Four times the input may cost up to so many times the work: linear work costs about four, that
/// of the square sixteen.
const RATIO_MAX: u32 = 8;
/// At such a ratio nothing has to be measured again.
const RATIO_FINE: u32 = 6;
/// Work that is over so soon says nothing about its growth, and harms nobody.
const HARMLESS: Duration = Duration::from_millis(25);
const ROUNDS: usize = 3;
/// On a machine that others use as well, a bad ratio is measured anew before it counts.
const TRIES: usize = 4;

/// Asserts that four times the pieces cost less than eight times the work.
///
/// `made` makes an input of so many pieces and `work` is done on it; both are called with `pieces`
/// and four times as many. The best of several rounds counts.
///
/// # Panics
///
/// Where the work grows faster, naming `what`.
pub fn grows_with_its_input<I>(
    what: &str,
    pieces: usize,
    made: impl Fn(usize) -> I,
    mut work: impl FnMut(&I),
) {
    let (small, large) = (made(pieces), made(pieces * TIMES));
    let mut told = String::new();
    for _ in 0..TRIES {
        let (mut of_small, mut of_large) = (Duration::MAX, Duration::MAX);
        for _ in 0..ROUNDS {
            of_small = of_small.min(taken(&small, &mut work));
            of_large = of_large.min(taken(&large, &mut work));
            if of_large < HARMLESS || of_large < of_small * RATIO_FINE {
                return;
            }
        }
        if of_large < of_small * RATIO_MAX {
            return;
        }
        told = format!("{of_small:?} for {pieces}, {of_large:?} for {TIMES} times as many");
    }
    panic!("{what}: the work grows faster than its input: {told}");
}

/// Processor time of one piece of work: on a busy machine others' turns are no work of ours. It is
/// counted in ticks of some milliseconds, so what is short is done many times.
fn taken<I>(input: &I, work: &mut impl FnMut(&I)) -> Duration {
    let (began, start) = (Instant::now(), of_this_thread());
    let mut times = 0;
    loop {
        work(input);
        times += 1;
        let spent = match (start, of_this_thread()) {
            (Some(start), Some(now)) => now.saturating_sub(start),
            _ => began.elapsed(),
        };
        if spent >= LONG_ENOUGH || times == TIMES_MAX {
            return spent / times;
        }
    }
}

/// Processor time of this thread so far, where the system tells (proc(5), `schedstat`).
fn of_this_thread() -> Option<Duration> {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = told.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

/// Many ticks.
const LONG_ENOUGH: Duration = Duration::from_millis(60);
/// Work that is nothing at all ends here.
const TIMES_MAX: u32 = 10_000;

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn work_of_the_input_passes() {
        grows_with_its_input(
            "a sum",
            200_000,
            |pieces| (0..pieces).collect::<Vec<usize>>(),
            |numbers| {
                let sum = |_| {
                    numbers
                        .iter()
                        .fold(0, |sum, number| black_box(sum ^ number))
                };
                black_box((0..10).map(sum).max());
            },
        );
    }

    #[test]
    #[should_panic(expected = "faster than its input")]
    fn work_of_the_square_is_found() {
        grows_with_its_input(
            "pairs",
            6_000,
            |pieces| (0..pieces).collect::<Vec<usize>>(),
            |numbers| {
                let known = |number: &&usize| numbers.iter().rev().any(|other| other == *number);
                black_box(numbers.iter().filter(known).count());
            },
        );
    }
}
