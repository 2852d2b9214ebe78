//! When to try again: attempt number, what the channel asked, and a seed for the jitter.
//!
//! Pure. The answer is written into a row (`due_at`); nobody sleeps for it.

/// The first wait.
const FIRST_MS: u64 = 1_000;
/// The longest wait of our own choice: a channel that comes back is told within five minutes.
const LONGEST_MS: u64 = 300_000;
/// The longest wait that a channel may ask for: no answer, however odd, silences a hotel longer.
const ASKED_LONGEST_MS: u64 = 3_600_000;

/// Milliseconds until the next try after `attempt` failures (1 is the first).
///
/// Doubles from a second to five minutes. Half of each wait is fixed and half is jitter from
/// `seed`, so that the accounts of one channel do not come back together. What the channel asked
/// for (`asked_seconds`) is never undercut, up to an hour; a tenth of it is jitter on top.
pub fn due_after_ms(attempt: u32, asked_seconds: Option<u32>, seed: u64) -> u64 {
    let doublings = attempt.saturating_sub(1).min(16);
    let whole = (FIRST_MS << doublings).min(LONGEST_MS);
    let own = whole / 2 + scattered(seed, attempt) % (whole / 2 + 1);
    let Some(asked) = asked_seconds else {
        return own;
    };
    let asked_ms = (u64::from(asked) * 1_000).min(ASKED_LONGEST_MS);
    asked_ms + scattered(seed, attempt) % (asked_ms / 10 + 1)
}

/// Bits of `seed` and `attempt` spread over the whole word (the finaliser of splitmix64).
fn scattered(seed: u64, attempt: u32) -> u64 {
    let mut word = seed.wrapping_add(u64::from(attempt).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    #[test]
    fn the_waits_double_until_five_minutes() {
        let longest = |attempt| {
            (0..2_000)
                .map(|seed| due_after_ms(attempt, None, seed))
                .max()
                .expect("seeds")
        };
        for (attempt, whole) in [(1, 1_000), (2, 2_000), (5, 16_000), (9, 256_000)] {
            let waited = longest(attempt);
            assert!(waited <= whole && waited > whole * 9 / 10, "{attempt}");
        }
        assert!(longest(10) <= LONGEST_MS && longest(u32::MAX) > LONGEST_MS * 9 / 10);
    }

    #[test]
    fn accounts_of_one_channel_do_not_come_back_together() {
        let waits: std::collections::BTreeSet<u64> =
            (0..1_000).map(|seed| due_after_ms(6, None, seed)).collect();
        assert!(waits.len() > 900, "{}", waits.len());
    }

    proptest! {
        #[test]
        fn a_channel_that_asks_to_wait_is_never_undercut(
            attempt in any::<u32>(), asked in 0..3_600_u32, seed in any::<u64>()
        ) {
            let waited = due_after_ms(attempt, Some(asked), seed);
            prop_assert!(waited >= u64::from(asked) * 1_000);
            prop_assert!(waited <= u64::from(asked) * 1_100);
        }

        #[test]
        fn the_same_failure_waits_the_same(attempt in any::<u32>(), seed in any::<u64>()) {
            let waited = due_after_ms(attempt, None, seed);
            prop_assert_eq!(waited, due_after_ms(attempt, None, seed));
            prop_assert!((FIRST_MS / 2..=LONGEST_MS).contains(&waited));
        }

        #[test]
        fn no_answer_silences_a_hotel_for_longer_than_an_hour(asked in any::<u32>()) {
            prop_assert!(due_after_ms(1, Some(asked), 7) <= ASKED_LONGEST_MS * 11 / 10);
        }
    }
}
