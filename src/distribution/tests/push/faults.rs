//! Answers that are late, lost, refused, partial; daemons that die.

use std::time::Duration;

use keyrack_distribution::accounts::standing::State;
use keyrack_model::channel::AccountSettings;
use serde_json::json;

use crate::house::{House, map, march};
use crate::portal::Answer;

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_slow_push_is_waited_for_and_the_newest_number_lands_last() {
    let house = House::live().await;
    house.portal.answers([Answer {
        delay_ms: 400,
        applied_after_ms: Some(390),
        ..Answer::ok()
    }]);
    house.book(house.double, 3, 4, 2).await;
    let telling = house.tell();
    let booking = async {
        house.portal.hears(1).await;
        house.book(house.double, 3, 4, 1).await;
        house.book(house.double, 3, 4, 1).await;
    };
    tokio::join!(telling, booking);
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["DBL 03-03..03-04 3", "DBL 03-03..03-04 1"]
    );
    assert_eq!(house.portal.shows("DBL", march(3)), 1);
    assert_eq!(house.portal.in_flight_max(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_lost_push_that_lands_late_is_told_over() {
    let house = House::live().await;
    // No answer within the second that we wait; it lands after the next one.
    house.portal.answers([Answer {
        delay_ms: 3_000,
        applied_after_ms: Some(2_000),
        ..Answer::ok()
    }]);
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    let status = house.status().await;
    assert_eq!(status.state, State::Degraded);
    assert!(status.reason.unwrap().contains("no answer within 1 s"));
    house.book(house.double, 3, 4, 2).await;
    house.pass("10 seconds").await;
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["DBL 03-03..03-04 4", "DBL 03-03..03-04 2"]
    );
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert_eq!(
        house.portal.shows("DBL", march(3)),
        4,
        "the lost one has landed"
    );
    assert_eq!(house.queue().await, 1, "its echo is still to be told");
    house.pass("61 seconds").await;
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 2);
    assert_eq!(house.queue().await, 0);
    let lag = house.status().await.lag;
    assert_eq!(lag.count, 1, "the echo answers no change: {lag:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_push_that_was_taken_and_reported_as_failed_is_told_again() {
    let house = House::live().await;
    house.portal.answers([Answer {
        applied_after_ms: Some(0),
        ..Answer::refusing(500)
    }]);
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house.book(house.double, 3, 4, 1).await;
    house.pass("10 seconds").await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 3);
    assert_eq!(
        house.portal.shows("DBL", march(3)),
        house.free(march(3)).await
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn r25_a_close_that_was_taken_and_reported_as_failed_is_undone_after_a_poll() {
    let house = House::live().await;
    house.portal.answers([Answer {
        applied_after_ms: Some(0),
        ..Answer::refusing(500)
    }]);
    let stay = house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    house.cancel(stay).await;
    house.pass("10 seconds").await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0, "raises wait");
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn r27_a_channel_that_refuses_everything_is_failing_at_once_with_its_nights_at_risk() {
    let house = House::live().await;
    house.portal.always(Answer::refusing(403));
    house.book(house.double, 3, 5, 5).await;
    house.tell().await;
    let status = house.status().await;
    assert_eq!(status.state, State::Failing);
    assert_eq!(
        status.reason.as_deref(),
        Some("pushes fail: the portal said 403")
    );
    let at_risk: Vec<String> = status
        .nights_at_risk
        .iter()
        .map(|night| {
            format!(
                "{} {} {}>{}",
                night.room_type, night.night, night.shown, night.truth
            )
        })
        .collect();
    assert_eq!(at_risk, ["double 2030-03-03 5>0", "double 2030-03-04 5>0"]);
    assert_eq!(status.refused.len(), 2);
    let notices = keyrack_distribution::notice::list(&house.distribution, None, 9)
        .await
        .unwrap();
    assert_eq!(notices.len(), 1);
    assert_eq!(notices[0].kind, "account_failing");
    assert!(
        notices[0]
            .text
            .contains("close them at the channel by hand")
    );
    house.portal.always(Answer::ok());
    house.pass("1 hour").await;
    house.tell().await;
    let status = house.status().await;
    assert_eq!((status.state, status.nights_at_risk.len()), (State::Ok, 0));
    let notices = keyrack_distribution::notice::list(&house.distribution, None, 9)
        .await
        .unwrap();
    assert_eq!(notices, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_is_busy_is_left_in_peace_as_long_as_it_asks() {
    let house = House::live().await;
    house.portal.answers([Answer {
        retry_after: Some(120),
        ..Answer::refusing(429)
    }]);
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house.book(house.double, 4, 5, 1).await;
    house.pass("119 seconds").await;
    house.tell().await;
    assert_eq!(house.portal.told().len(), 1);
    house.pass("14 seconds").await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-05 4"]);
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_part_stays_marked_and_shown_while_the_rest_is_told() {
    let house = House::live().await;
    house.portal.answers([Answer {
        body: json!({"refused": [{"span": 1, "why": "no such room"}]}),
        ..Answer::ok()
    }]);
    house.book(house.double, 3, 4, 1).await;
    house.book(house.suite, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["DBL 03-03..03-04 4; SUI 03-03..03-04 1"]
    );
    let status = house.status().await;
    assert_eq!(status.state, State::Degraded);
    assert_eq!(status.refused.len(), 1);
    let refused = &status.refused[0];
    assert_eq!(
        (refused.room_type.as_str(), refused.why.as_str()),
        ("suite", "no such room")
    );
    let notices = house.notices().await;
    assert_eq!(notices, ["push_refused"]);
    house.pass("1 minute").await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["SUI 03-03..03-04 1"]);
    assert_eq!(house.status().await.state, State::Ok);
    assert!(house.notices().await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_refused_whole_is_halved_until_the_spoiler_stands_alone() {
    let house = House::live().await;
    for day in [3, 5, 7, 9] {
        house.book(house.double, day, day + 1, 1).await;
    }
    house
        .portal
        .answers([Answer::refusing(400), Answer::refusing(400)]);
    house.tell().await;
    house.pass("1 hour").await;
    house.tell().await;
    house.pass("1 hour").await;
    house.tell().await;
    let told = house.portal.told();
    let spans: Vec<usize> = told
        .iter()
        .map(|message| message.split("; ").count())
        .collect();
    assert_eq!(spans[..2], [4, 4], "{told:?}");
    assert_eq!(spans[2], 2, "{told:?}");
    assert_eq!(house.queue().await, 0);
    for day in [3, 5, 7, 9] {
        assert_eq!(house.portal.shows("DBL", march(day)), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_refused_is_renewed_and_the_same_told_again() {
    let house = House::live().await;
    let before = house.portal.tokens();
    house.portal.answers([Answer::refusing(401)]);
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"; 2]);
    assert_eq!(house.portal.tokens(), before + 1);
    assert_eq!(house.status().await.state, State::Ok);
    house.portal.always(Answer::refusing(401));
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(house.status().await.state, State::Failing);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_that_dies_between_send_and_settle_costs_a_repeat() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 1).await;
    house.portal.answers([Answer {
        delay_ms: 900,
        ..Answer::ok()
    }]);
    tokio::select! {
        () = house.tell() => panic!("it was answered before it died"),
        () = house.portal.hears(1) => {}
    }
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"]);
    let unsure = "select count(*) from told where acknowledged_at is null";
    assert_eq!(house.count(unsure).await, 1);
    let other = house.twin().await;
    keyrack_distribution::push::drain(&other).await.unwrap();
    assert_eq!(
        house.portal.told(),
        [""; 0],
        "the dead one's turn lasts a little"
    );
    house.pass("2 minutes").await;
    keyrack_distribution::push::drain(&other).await.unwrap();
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"]);
    assert_eq!(house.count(unsure).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_an_outage_nothing_rises_before_a_poll() {
    let house = House::live().await;
    let stay = house.book(house.double, 3, 4, 2).await;
    house.tell().await;
    house.cancel(stay).await;
    house.tell().await;
    house.polled().await;
    house.portal.told();
    house.portal.answers([Answer::refusing(503)]);
    house.tell().await;
    house.pass("1 minute").await;
    house.tell().await;
    assert_eq!(
        house.portal.told().len(),
        1,
        "the raise that failed waits anew"
    );
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_lacks_our_numbers_gets_them_all() {
    let house = House::live().await;
    house.portal.answers([Answer {
        body: json!({"demands": ["availability"]}),
        ..Answer::ok()
    }]);
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house.portal.told();
    keyrack_distribution::resync::step(&house.distribution)
        .await
        .unwrap();
    house.tell().await;
    house.polled().await;
    house.tell().await;
    let told = house.portal.told().join("; ");
    for piece in [
        "DBL 02-20..03-03 5",
        "DBL 03-03..03-04 4",
        "DBL 03-04..03-22 5",
        "SUI",
    ] {
        assert!(told.contains(piece), "{piece}: {told}");
    }
}

/// A message of a channel holds so many spans, and one of them was a number that the second code
/// of its type never heard.
#[tokio::test(flavor = "multi_thread")]
async fn a_type_under_two_codes_is_told_to_both_where_messages_are_full() {
    let house = House::open("deltas", AccountSettings::default()).await;
    house
        .map(vec![
            map("double", None, "A", None),
            map("double", None, "B", None),
        ])
        .await;
    house.go_live().await;
    for day in 1..20 {
        house
            .book(house.double, day, day + 1, (day % 2 + 1).into())
            .await;
    }
    house.tell().await;
    for day in 1..20 {
        let free = house.free(march(day)).await;
        assert_eq!(house.portal.shows("A", march(day)), free, "A on {day}");
        assert_eq!(house.portal.shows("B", march(day)), free, "B on {day}");
    }
    assert_eq!(house.queue().await, 0);
}
