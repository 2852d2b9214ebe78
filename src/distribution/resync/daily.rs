//! When an account is told everything: once a day, at its hour, spread over the hour.
//!
//! Pure.

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use keyrack_model::id::AccountId;
use keyrack_model::stay::plus_days;

/// What is to be done about a daily resync.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Daily {
    /// Now.
    pub(crate) is_due: bool,
    /// The local day that it counts for.
    pub(crate) day: Date,
    /// When it is looked at again.
    pub(crate) next_at: Timestamp,
}

/// Whether the daily resync is due at `now`, and when it is looked at next.
///
/// `resynced_on` is the local day of the last one; without one it is due at once. The accounts of
/// one hour are spread over it by their ids, so that a channel is not flooded on the hour.
pub(crate) fn daily(
    now: Timestamp,
    zone: &TimeZone,
    hour: u8,
    account: AccountId,
    resynced_on: Option<Date>,
) -> Daily {
    let today = zone.to_datetime(now).date();
    let at = |day: Date| moment(day, zone, hour, account).unwrap_or(now);
    let tomorrow = at(plus_days(today, 1));
    match resynced_on {
        Some(last) if last >= today => Daily {
            is_due: false,
            day: today,
            next_at: tomorrow,
        },
        Some(_) if now < at(today) => Daily {
            is_due: false,
            day: today,
            next_at: at(today),
        },
        _ => Daily {
            is_due: true,
            day: today,
            next_at: tomorrow,
        },
    }
}

/// The instant of a day's resync. An hour that the clock skips or repeats is taken as it comes.
fn moment(day: Date, zone: &TimeZone, hour: u8, account: AccountId) -> Option<Timestamp> {
    let hour = i8::try_from(hour.min(23)).ok()?;
    let begins = day
        .at(hour, 0, 0, 0)
        .to_zoned(zone.clone())
        .ok()?
        .timestamp();
    begins.checked_add(spread(account)).ok()
}

/// A place within the hour that is an account's own, in seconds.
fn spread(account: AccountId) -> SignedDuration {
    // A golden-ratio step lays neighbours far apart.
    let place = account.0.unsigned_abs().wrapping_mul(2_654_435_761) % 3_600;
    SignedDuration::from_secs(i64::try_from(place).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn rome() -> TimeZone {
        TimeZone::get("Europe/Rome").expect("a zone of the database")
    }

    fn at(instant: &str) -> Timestamp {
        instant.parse().expect("an instant")
    }

    /// Its place within the hour is 0 s.
    const FIRST: AccountId = AccountId(0);

    #[test]
    fn it_comes_once_a_day_at_the_hour_of_the_property() {
        let yesterday = Some(date(2030, 6, 30));
        let today = Some(date(2030, 7, 1));
        for (now, last, is_due, next) in [
            (
                "2030-07-01T00:59:00Z",
                yesterday,
                false,
                "2030-07-01T01:00:00Z",
            ),
            (
                "2030-07-01T01:00:00Z",
                yesterday,
                true,
                "2030-07-02T01:00:00Z",
            ),
            (
                "2030-07-01T09:00:00Z",
                yesterday,
                true,
                "2030-07-02T01:00:00Z",
            ),
            ("2030-07-01T09:00:00Z", today, false, "2030-07-02T01:00:00Z"),
            ("2030-07-01T00:10:00Z", None, true, "2030-07-02T01:00:00Z"),
        ] {
            let found = daily(at(now), &rome(), 3, FIRST, last);
            assert_eq!(
                (found.is_due, found.next_at),
                (is_due, at(next)),
                "{now} {last:?}"
            );
        }
    }

    #[test]
    fn it_comes_also_on_the_days_when_the_clock_changes() {
        let spring = daily(
            at("2030-03-31T01:00:00Z"),
            &rome(),
            2,
            FIRST,
            Some(date(2030, 3, 30)),
        );
        assert!(spring.is_due, "02:00 does not exist that day");
        let autumn = daily(
            at("2030-10-27T01:30:00Z"),
            &rome(),
            2,
            FIRST,
            Some(date(2030, 10, 26)),
        );
        assert!(autumn.is_due);
        assert_eq!(autumn.next_at, at("2030-10-28T01:00:00Z"));
    }

    #[test]
    fn accounts_of_one_hour_are_spread_over_it() {
        let seconds: std::collections::BTreeSet<i64> = (1..=600)
            .map(|id| spread(AccountId(id)).as_secs())
            .collect();
        assert!(seconds.len() > 500, "{}", seconds.len());
        let halves = seconds.iter().filter(|second| **second < 1_800).count();
        assert!((200..400).contains(&halves), "{halves}");
        assert!(seconds.iter().all(|second| (0..3_600).contains(second)));
    }
}
