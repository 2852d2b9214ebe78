//! The cause of an oversold night, as far as it follows from what is known.
//!
//! Pure.

use jiff::Timestamp;
use keyrack_model::overbooking::Cause;

/// What oversold a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sold {
    /// No reservation: rooms were taken away.
    Nothing,
    /// A person at the desk, by force.
    ByStaff,
    /// A channel.
    ByChannel,
}

/// Something that the selling channel was told of a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    /// Rooms that it could sell by it.
    pub(crate) open: i32,
    /// When it was to be told.
    pub(crate) due_at: Timestamp,
    /// When the channel said that it took it.
    pub(crate) acknowledged_at: Option<Timestamp>,
}

/// What is known of a night at the selling channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NightFacts {
    /// In the order of telling.
    pub(crate) told: Vec<Shown>,
    /// Since when something is still to be told.
    pub(crate) pending_since: Option<Timestamp>,
    /// When messages to the channel failed.
    pub(crate) failed_at: Vec<Timestamp>,
}

/// What is known of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Facts {
    /// What oversold it.
    pub(crate) sold: Sold,
    /// Within the overbooking limit.
    pub(crate) is_meant: bool,
    /// The reservation came under a code without a mapping.
    pub(crate) is_unmapped: bool,
    /// When the guest booked; else when we heard.
    pub(crate) booked_at: Option<Timestamp>,
    /// Its nights at the channel that sold.
    pub(crate) nights: Vec<NightFacts>,
}

/// The cause, where it follows. A fault on one night outweighs bad luck on the others.
pub(crate) fn cause(facts: &Facts) -> Option<Cause> {
    if facts.is_meant {
        return Some(Cause::Meant);
    }
    match facts.sold {
        Sold::Nothing => return Some(Cause::CapacityCut),
        Sold::ByStaff => return Some(Cause::StaffForced),
        Sold::ByChannel if facts.is_unmapped => return Some(Cause::Unmapped),
        Sold::ByChannel => {}
    }
    let booked_at = facts.booked_at?;
    let causes: Vec<Cause> = facts
        .nights
        .iter()
        .filter_map(|night| of_night(night, booked_at))
        .collect();
    [
        Cause::ChannelReopened,
        Cause::PushFailed,
        Cause::SoldBeforeCloseCouldArrive,
    ]
    .into_iter()
    .find(|weighed| causes.contains(weighed))
}

fn of_night(night: &NightFacts, booked_at: Timestamp) -> Option<Cause> {
    let shown = night
        .told
        .iter()
        .rfind(|shown| shown.acknowledged_at.is_some_and(|at| at < booked_at));
    if shown.is_some_and(|shown| shown.open == 0) {
        return Some(Cause::ChannelReopened);
    }
    // The lowering that would have prevented it: told later, or still to be told.
    let later = night
        .told
        .iter()
        .filter(|shown| shown.acknowledged_at.is_none_or(|at| at >= booked_at))
        .map(|shown| shown.due_at)
        .chain(night.pending_since)
        .min();
    let due_at = later?;
    let has_failed = due_at < booked_at
        && night
            .failed_at
            .iter()
            .any(|failed| due_at <= *failed && *failed <= booked_at);
    Some(if has_failed {
        Cause::PushFailed
    } else {
        Cause::SoldBeforeCloseCouldArrive
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(2_000_000_000 + second).expect("an instant")
    }

    fn shown(open: i32, due: i64, acknowledged: Option<i64>) -> Shown {
        Shown {
            open,
            due_at: at(due),
            acknowledged_at: acknowledged.map(at),
        }
    }

    fn sold_at_100(night: NightFacts) -> Facts {
        Facts {
            sold: Sold::ByChannel,
            is_meant: false,
            is_unmapped: false,
            booked_at: Some(at(100)),
            nights: vec![night],
        }
    }

    #[test]
    fn the_cause_follows_from_what_was_told_and_when() {
        let told = |told: &[Shown], pending: Option<i64>, failed: &[i64]| NightFacts {
            told: told.to_vec(),
            pending_since: pending.map(at),
            failed_at: failed.iter().map(|second| at(*second)).collect(),
        };
        let open = shown(1, 1, Some(2));
        for (name, night, meant) in [
            (
                "closed and taken before the guest booked",
                told(&[open, shown(0, 50, Some(51))], None, &[]),
                Some(Cause::ChannelReopened),
            ),
            (
                "the close was on its way",
                told(&[open, shown(0, 99, Some(101))], None, &[]),
                Some(Cause::SoldBeforeCloseCouldArrive),
            ),
            (
                "the room went elsewhere after the guest booked",
                told(&[open, shown(0, 120, Some(121))], None, &[]),
                Some(Cause::SoldBeforeCloseCouldArrive),
            ),
            (
                "the close was refused again and again",
                told(&[open, shown(0, 40, None)], Some(40), &[41, 60]),
                Some(Cause::PushFailed),
            ),
            (
                "the close failed, and went through after the guest booked",
                told(&[open, shown(0, 40, Some(300))], None, &[41]),
                Some(Cause::PushFailed),
            ),
            (
                "still to be told, nothing failed",
                told(&[open], Some(98), &[]),
                Some(Cause::SoldBeforeCloseCouldArrive),
            ),
            (
                "failures long before the close do not count",
                told(&[open], Some(98), &[5, 90]),
                Some(Cause::SoldBeforeCloseCouldArrive),
            ),
            ("nothing is known", told(&[open], None, &[]), None),
        ] {
            assert_eq!(cause(&sold_at_100(night)), meant, "{name}");
        }
    }

    #[test]
    fn what_the_hotel_did_itself_is_named_first() {
        let facts = sold_at_100(NightFacts::default());
        let by = |sold, is_meant, is_unmapped| {
            cause(&Facts {
                sold,
                is_meant,
                is_unmapped,
                ..facts.clone()
            })
        };
        assert_eq!(by(Sold::ByChannel, true, false), Some(Cause::Meant));
        assert_eq!(by(Sold::Nothing, false, false), Some(Cause::CapacityCut));
        assert_eq!(by(Sold::ByStaff, false, false), Some(Cause::StaffForced));
        assert_eq!(by(Sold::ByChannel, false, true), Some(Cause::Unmapped));
    }

    #[test]
    fn a_fault_on_one_night_outweighs_bad_luck_on_the_others() {
        let mut facts = sold_at_100(NightFacts {
            told: vec![shown(0, 99, Some(101))],
            ..NightFacts::default()
        });
        facts.nights.push(NightFacts {
            told: vec![shown(0, 50, Some(51))],
            ..NightFacts::default()
        });
        assert_eq!(cause(&facts), Some(Cause::ChannelReopened));
    }
}
