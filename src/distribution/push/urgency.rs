//! What must happen with a mark: nothing, now, or only after the channel has been asked.
//!
//! Pure. The danger is a sale at the channel that we have not heard of: an absolute number told
//! over it gives the room away a second time. So what lowers or closes goes at once, and what
//! raises, or repeats a scarce number, waits for a complete poll begun after the mark.

use jiff::{SignedDuration, Timestamp};
use keyrack_model::ari::AriValues;
use keyrack_model::channel::Capabilities;

/// What the channel may be showing of a cell, as far as it was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What was sent last.
    pub values: AriValues,
    /// The channel said that it took it.
    pub is_acknowledged: bool,
    /// The least that it may show, of all that was sent since the last acknowledgement.
    pub openness_min: i32,
    /// The most that it may show, likewise.
    pub openness_max: i32,
}

/// Why a cell is looked at again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Repeat {
    /// A guest cancelled here: channels reopen rooms by themselves.
    pub is_cancellation: bool,
    /// A resync, or the echo of an exchange whose outcome is unknown.
    pub is_full: bool,
}

/// What must happen with a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// The channel shows it already: settled without a message.
    Settled,
    /// Told at once: nothing rises by it.
    Now,
    /// The channel may show more than is true, or less: the least of it is told at once, the rest
    /// waits as a raise.
    HeldAt(i32),
    /// Told after a complete poll begun after the mark.
    AfterPoll {
        /// A raise is also gathered; a repeat is not.
        is_raise: bool,
    },
}

/// How much of a cell can be bought: rooms of a room, 1 or 0 of a rate plan; 0 where closed.
pub fn openness(values: &AriValues) -> i32 {
    if values.closed {
        0
    } else {
        values.rooms.unwrap_or(1)
    }
}

/// What must happen with a cell that is to be told as `present`.
///
/// `scarcity_rooms` is the account's: repeating a number of so many rooms or fewer waits. A rate
/// plan's price and restrictions carry no number and never wait; opening it does.
pub fn urgency(
    present: &AriValues,
    shown: Option<&Shown>,
    repeat: Repeat,
    scarcity_rooms: i32,
) -> Urgency {
    let open = openness(present);
    let Some(shown) = shown else {
        return if open == 0 {
            Urgency::Now
        } else {
            Urgency::AfterPoll { is_raise: true }
        };
    };
    let is_equal = shown.is_acknowledged && shown.values == *present;
    if is_equal && !repeat.is_cancellation && !repeat.is_full {
        return Urgency::Settled;
    }
    if open == 0 || open < shown.openness_max {
        return if open > shown.openness_min {
            Urgency::HeldAt(shown.openness_min)
        } else {
            Urgency::Now
        };
    }
    if open > shown.openness_min {
        return Urgency::AfterPoll { is_raise: true };
    }
    if present.rooms.is_some_and(|rooms| rooms <= scarcity_rooms) {
        return Urgency::AfterPoll { is_raise: false };
    }
    Urgency::Now
}

/// `present` with no more than `openness` to buy; what reaches 0 is closed.
pub fn held_at(present: &AriValues, openness: i32) -> AriValues {
    let mut held = present.clone();
    held.closed |= openness <= 0;
    held.rooms = held.rooms.map(|rooms| rooms.min(openness.max(0)));
    held
}

/// What is known of a channel's ear when something waits to be raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hearing {
    /// The present instant, by the database's clock.
    pub now: Timestamp,
    /// When the last complete poll of the account began.
    pub polled_at: Option<Timestamp>,
    /// Nothing rises before a poll begun after this: start of the engine, resume of the account,
    /// last outage.
    pub quiet_since: Timestamp,
}

/// Whether a cell marked at `marked_at` may rise now.
///
/// A channel that is polled: after a complete poll begun after the mark and after the last start,
/// resume and outage, and no older than [`POLL_FRESH_SECONDS`]. One that cannot be polled: once it
/// has been quiet for its declared lag.
pub fn may_rise(capabilities: &Capabilities, hearing: Hearing, marked_at: Timestamp) -> bool {
    let since = marked_at.max(hearing.quiet_since);
    if capabilities.is_polled {
        return hearing.polled_at.is_some_and(|polled| {
            polled > since
                && hearing.now.duration_since(polled)
                    <= SignedDuration::from_secs(POLL_FRESH_SECONDS)
        });
    }
    let lag = capabilities
        .settle_seconds
        .unwrap_or(capabilities.fallback_seconds);
    hearing.now.duration_since(since) >= SignedDuration::from_secs(lag.into())
}

/// What a poll has heard is no proof any more after this long: the alarm for silent polls is as
/// old.
pub const POLL_FRESH_SECONDS: i64 = 600;

#[cfg(test)]
mod tests {
    use super::*;

    fn room(rooms: i32) -> AriValues {
        AriValues {
            rooms: Some(rooms),
            closed: rooms == 0,
            ..AriValues::default()
        }
    }

    fn shown(values: AriValues) -> Shown {
        let open = openness(&values);
        Shown {
            values,
            is_acknowledged: true,
            openness_min: open,
            openness_max: open,
        }
    }

    const PLAIN: Repeat = Repeat {
        is_cancellation: false,
        is_full: false,
    };
    const CANCELLATION: Repeat = Repeat {
        is_cancellation: true,
        is_full: false,
    };
    const FULL: Repeat = Repeat {
        is_cancellation: false,
        is_full: true,
    };
    const RAISE: Urgency = Urgency::AfterPoll { is_raise: true };
    const SCARCE: Urgency = Urgency::AfterPoll { is_raise: false };

    #[test]
    fn what_lowers_or_closes_goes_at_once_and_what_raises_waits() {
        for (was, is, repeat, meant) in [
            (5, 5, PLAIN, Urgency::Settled),
            (5, 4, PLAIN, Urgency::Now),
            (5, 0, PLAIN, Urgency::Now),
            (5, 6, PLAIN, RAISE),
            (0, 1, PLAIN, RAISE),
            (5, 5, CANCELLATION, Urgency::Now),
            (5, 5, FULL, Urgency::Now),
            (2, 2, CANCELLATION, SCARCE),
            (2, 2, FULL, SCARCE),
            (3, 2, FULL, Urgency::Now),
            (0, 0, FULL, Urgency::Now),
            (0, 0, CANCELLATION, Urgency::Now),
        ] {
            let found = urgency(&room(is), Some(&shown(room(was))), repeat, 2);
            assert_eq!(found, meant, "{was} -> {is} {repeat:?}");
        }
    }

    #[test]
    fn a_night_never_told_is_closed_at_once_and_opened_after_a_poll() {
        assert_eq!(urgency(&room(0), None, PLAIN, 2), Urgency::Now);
        assert_eq!(urgency(&room(9), None, PLAIN, 2), RAISE);
    }

    #[test]
    fn after_an_unknown_outcome_the_channel_is_trusted_with_the_least() {
        let unsure = Shown {
            values: room(5),
            is_acknowledged: false,
            openness_min: 1,
            openness_max: 5,
        };
        assert_eq!(urgency(&room(0), Some(&unsure), PLAIN, 2), Urgency::Now);
        assert_eq!(urgency(&room(5), Some(&unsure), PLAIN, 2), RAISE);
        assert_eq!(urgency(&room(1), Some(&unsure), PLAIN, 2), Urgency::Now);
        let held = urgency(&room(3), Some(&unsure), PLAIN, 2);
        assert_eq!(held, Urgency::HeldAt(1));
        assert_eq!(held_at(&room(3), 1), room(1));
        assert_eq!(held_at(&room(3), 0), room(0));
    }

    #[test]
    fn a_price_never_waits_and_opening_a_plan_does() {
        let mut dear = AriValues::default();
        dear.restrictions.min_stay_arrival = Some(3);
        let open = shown(AriValues::default());
        assert_eq!(urgency(&dear, Some(&open), PLAIN, 2), Urgency::Now);
        let closed = shown(AriValues {
            closed: true,
            ..AriValues::default()
        });
        assert_eq!(
            urgency(&AriValues::default(), Some(&closed), PLAIN, 2),
            RAISE
        );
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(2_000_000_000 + second).expect("an instant")
    }

    fn channel(is_polled: bool, settle_seconds: Option<u32>) -> Capabilities {
        Capabilities {
            is_polled,
            polls_whole_connection: true,
            poll_seconds: 20,
            settle_after_acknowledge_seconds: 5,
            missed_seconds: None,
            fallback_seconds: 1_800,
            snapshot_revisions: true,
            takes_deltas: true,
            takes_complete_sets: false,
            takes_rates: true,
            knows_rate_plans: true,
            restrictions: &[],
            reopens_by_itself: false,
            rooms_max: 254,
            spans_per_message_max: 1_000,
            horizon_nights_max: 730,
            requests_per_minute: 600,
            settle_seconds,
            signs_in: false,
            sign_in_seconds: 0,
        }
    }

    #[test]
    fn nothing_rises_before_a_poll_begun_after_mark_start_resume_and_outage() {
        let polled = channel(true, None);
        for (polled_at, quiet_since, now, meant) in [
            (None, 0, 60, false),
            (Some(40), 0, 60, false),
            (Some(50), 0, 60, false),
            (Some(51), 0, 60, true),
            (Some(51), 55, 60, false),
            (Some(56), 55, 60, true),
            (Some(56), 55, 56 + 601, false),
        ] {
            let hearing = Hearing {
                now: at(now),
                polled_at: polled_at.map(at),
                quiet_since: at(quiet_since),
            };
            let found = may_rise(&polled, hearing, at(50));
            assert_eq!(found, meant, "{polled_at:?} {quiet_since} {now}");
        }
    }

    #[test]
    fn a_channel_that_cannot_be_polled_is_raised_once_it_was_quiet_for_its_lag() {
        let hearing = |now| Hearing {
            now: at(now),
            polled_at: None,
            quiet_since: at(0),
        };
        assert!(may_rise(&channel(false, Some(0)), hearing(50), at(50)));
        assert!(!may_rise(&channel(false, Some(30)), hearing(79), at(50)));
        assert!(may_rise(&channel(false, Some(30)), hearing(80), at(50)));
        assert!(!may_rise(&channel(false, None), hearing(80), at(50)));
    }
}
