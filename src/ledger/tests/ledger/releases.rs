//! What is unsold of an allotment falls back in time: by the property's own calendar, once, also
//! when nobody looked.

use futures_util::future::join;
use keyrack_ledger::allotments::{Put, release_due};
use keyrack_ledger::command::Command;
use keyrack_model::allotment::Release;
use keyrack_model::reservation::RevisionKind;
use keyrack_model::stay::{Stay, StayDate, plus_days};

use super::allotments::{agreed, agreement, counts, proven, put};
use super::hotel::{FIRST, Hotel, report};

async fn at(hotel: &Hotel, instant: &str) {
    sqlx::query("update clock_shift set shift = $1::timestamptz - clock_timestamp()")
        .bind(instant)
        .execute(&hotel.pool)
        .await
        .expect("the clock moves");
}

async fn with_release(hotel: &Hotel, release: Release) -> keyrack_model::id::AllotmentId {
    let asked = Put {
        release,
        ..agreement(hotel, 3, 2)
    };
    let change = put(hotel, asked).await.expect("agreed");
    change.allotment.expect("there").id
}

#[tokio::test]
async fn unsold_rooms_fall_back_once_and_what_comes_free_later_follows_them() {
    let hotel = Hotel::of(3).await;
    let release = Release {
        period_days: 7,
        cut_off: None,
    };
    let tour = with_release(&hotel, release).await;
    hotel.record(report("A", RevisionKind::New, 0, 1)).await;
    assert_eq!(release_due(&hotel.ledger).await.expect("looked"), 0);
    assert_eq!(counts(&hotel, tour, 0).await, (2, 1, 1, 0));
    // The clock of the hotel says 22 February: seven days before the first night.
    at(&hotel, "2030-02-21T23:00:00Z").await;
    let second = hotel.second_daemon().await;
    let (one, two) = join(release_due(&hotel.ledger), release_due(&second)).await;
    assert_eq!(one.expect("looked") + two.expect("looked"), 1, "once");
    assert_eq!(counts(&hotel, tour, 0).await, (2, 1, 0, 1));
    assert_eq!(
        counts(&hotel, tour, 1).await,
        (2, 0, 2, 0),
        "the next night"
    );
    assert_eq!(hotel.night(0).await.free(), 2);
    proven(&hotel).await;
    // The allotment sells nothing of that night any more, and what it sold is free when it comes.
    hotel.record(report("B", RevisionKind::New, 0, 1)).await;
    assert_eq!(counts(&hotel, tour, 0).await, (2, 1, 0, 1));
    hotel
        .record(report("A", RevisionKind::Cancelled, 0, 1))
        .await;
    assert_eq!(counts(&hotel, tour, 0).await, (2, 0, 0, 2));
    assert_eq!(hotel.night(0).await.free(), 2);
    assert_eq!(release_due(&hotel.ledger).await.expect("looked"), 0);
    proven(&hotel).await;
    // Days slept through are caught up in one go.
    at(&hotel, "2030-03-05T12:00:00Z").await;
    assert_eq!(release_due(&hotel.ledger).await.expect("looked"), 1);
    assert_eq!(counts(&hotel, tour, 1).await, (2, 0, 0, 2));
    assert_eq!(counts(&hotel, tour, 2).await, (2, 0, 0, 2));
    let lines = "select count(*) from ledger_entry where kind = 'allotment_released'";
    assert_eq!(hotel.count(lines).await, 2);
    proven(&hotel).await;
}

#[tokio::test]
async fn a_cut_off_gives_all_nights_back_when_its_day_begins() {
    let hotel = Hotel::of(3).await;
    let release = Release {
        period_days: 0,
        cut_off: Some(plus_days(FIRST, -5)),
    };
    let tour = with_release(&hotel, release).await;
    at(&hotel, "2030-02-23T22:59:00Z").await;
    assert_eq!(release_due(&hotel.ledger).await.expect("looked"), 0);
    at(&hotel, "2030-02-23T23:00:00Z").await;
    assert_eq!(release_due(&hotel.ledger).await.expect("looked"), 1);
    for night in 0..3 {
        assert_eq!(counts(&hotel, tour, night).await, (2, 0, 0, 2));
    }
    proven(&hotel).await;
}

#[tokio::test]
async fn a_shorter_release_period_takes_back_what_had_fallen_and_is_still_free() {
    let hotel = Hotel::of(3).await;
    let release = |period_days| Release {
        period_days,
        cut_off: None,
    };
    let tour = with_release(&hotel, release(30)).await;
    assert_eq!(counts(&hotel, tour, 0).await, (2, 0, 0, 2), "due at once");
    assert_eq!(hotel.night(0).await.free(), 3);
    with_release(&hotel, release(3)).await;
    assert_eq!(counts(&hotel, tour, 0).await, (2, 0, 2, 0));
    assert_eq!(hotel.night(0).await.free(), 1);
    proven(&hotel).await;
}

#[tokio::test]
async fn a_command_to_release_what_is_not_due_does_nothing() {
    let hotel = Hotel::of(3).await;
    let tour = agreed(&hotel, 3, 2).await;
    let nights = Stay::new(FIRST, plus_days(FIRST, 3)).expect("nights");
    let answer = hotel
        .ask(Command::ReleaseAllotment {
            allotment: tour,
            nights,
        })
        .await;
    assert_eq!(answer.expect("looked").did, "repeated");
    assert_eq!(counts(&hotel, tour, 0).await, (2, 0, 2, 0));
}

/// A hotel in a zone, with one night that falls back seven days before.
async fn falls_back(zone: &str, night: StayDate, before: &str, at_midnight: &str) {
    let hotel = Hotel::of(3).await;
    hotel.set("time_zone", &format!("'{zone}'")).await;
    at(&hotel, "2026-01-10T12:00:00Z").await;
    let mut asked = Put {
        release: Release {
            period_days: 7,
            cut_off: None,
        },
        ..agreement(&hotel, 1, 2)
    };
    asked.values[0].nights = Stay::night(night).expect("a night");
    let change = put(&hotel, asked).await.expect("agreed");
    let tour = change.allotment.expect("there").id;
    let kept = "select allotted::bigint from night where allotted > 0 or version > 2";
    at(&hotel, before).await;
    assert_eq!(
        release_due(&hotel.ledger).await.expect("looked"),
        0,
        "{zone}"
    );
    assert_eq!(hotel.count(kept).await, 2, "{zone} {night}");
    at(&hotel, at_midnight).await;
    assert_eq!(
        release_due(&hotel.ledger).await.expect("looked"),
        1,
        "{zone}"
    );
    assert_eq!(hotel.count(kept).await, 0, "{zone} {night} {tour}");
    proven(&hotel).await;
}

#[tokio::test]
async fn r07_nights_fall_back_at_midnight_of_kiritimati_and_honolulu() {
    let night = jiff::civil::date(2026, 4, 5);
    let (before, at) = ("2026-03-28T09:59:30Z", "2026-03-28T10:00:00Z");
    falls_back("Pacific/Kiritimati", night, before, at).await;
    let (before, at) = ("2026-03-29T09:59:30Z", "2026-03-29T10:00:00Z");
    falls_back("Pacific/Honolulu", night, before, at).await;
}

#[tokio::test]
async fn r07_nights_fall_back_at_midnight_of_berlin_on_both_days_of_a_clock_change() {
    for (night, before, at) in [
        ((2026, 4, 5), "2026-03-28T22:59:30Z", "2026-03-28T23:00:00Z"),
        ((2026, 4, 6), "2026-03-29T21:59:30Z", "2026-03-29T22:00:00Z"),
        (
            (2026, 11, 1),
            "2026-10-24T21:59:30Z",
            "2026-10-24T22:00:00Z",
        ),
        (
            (2026, 11, 2),
            "2026-10-25T22:59:30Z",
            "2026-10-25T23:00:00Z",
        ),
    ] {
        let night = jiff::civil::date(night.0, night.1, night.2);
        falls_back("Europe/Berlin", night, before, at).await;
    }
}
