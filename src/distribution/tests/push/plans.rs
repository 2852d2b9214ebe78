//! Plans follow their rooms, where a channel opens a sold-out night by itself: whatever was
//! refused, lost or changed in between.

use keyrack_distribution::settings::Settings;
use keyrack_model::channel::AccountSettings;
use serde_json::json;

use crate::house::{House, map, march, settings};
use crate::portal::Answer;

#[tokio::test(flavor = "multi_thread")]
async fn a_night_that_sells_out_closes_its_plans_and_opens_them_with_the_rooms() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    house.book(house.double, 3, 4, 4).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 1"]);
    let last = house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["DBL 03-03..03-04 closed; DBL/BAR 03-03..03-04 closed"]
    );
    house.cancel(last).await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    let told = house.portal.told().join("; ");
    assert!(
        told.contains("DBL 03-03..03-04 1") && told.contains("DBL/BAR 03-03..03-04 open"),
        "{told}"
    );
    assert_eq!(house.queue().await, 0);
}

/// A channel that takes the plan and refuses the room has to open the plan with the next change,
/// though the room was never told closed.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_was_closed_beside_a_refused_room_opens_again() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    house.portal.answers([refusing(0)]);
    let stay = house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5, "refused");
    assert!(is_plan_closed(&house), "taken");
    house.cancel(stay).await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    assert!(!is_plan_closed(&house), "{:?}", house.portal.told());
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_stood_open_beside_a_closed_room_closes_at_the_next_look() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    house.portal.answers([refusing(1)]);
    house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0, "taken");
    assert!(!is_plan_closed(&house), "refused");
    house.pass("1 hour").await;
    house.tell().await;
    assert!(is_plan_closed(&house), "{:?}", house.portal.told());
    assert_eq!(house.queue().await, 0);
}

/// The poll answers for what was marked before it: a room that was sold and came back since waits
/// for the next, and its plan with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_change_between_the_poll_and_the_turn_holds_the_plan_back_with_its_room() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    let first = house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    house.portal.told();
    house.cancel(first).await;
    house.tell().await;
    house.polled().await;
    house.pass("1 second").await;
    let second = house.book(house.double, 3, 4, 1).await;
    house.cancel(second).await;
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0], "both wait for another poll");
    house.polled().await;
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["DBL 03-03..03-04 5; DBL/BAR 03-03..03-04 open"]
    );
    assert_eq!(house.queue().await, 0);
}

/// A turn that reads one mark at a time meets the plan before its room, and after.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_told_while_its_rooms_mark_is_unread_ends_as_its_room() {
    let one_by_one = Settings {
        push_marks_max: 1,
        ..settings()
    };
    let house = House::with("reopens", AccountSettings::default(), one_by_one).await;
    house.go_live().await;
    let stay = house.book(house.double, 3, 4, 5).await;
    house.rates("amount_minor = 13000").await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
    assert!(is_plan_closed(&house));
    house.rates("amount_minor = 14000").await;
    house.cancel(stay).await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert!(!is_plan_closed(&house));
    assert_eq!(
        house.portal.rate("DBL", "BAR", march(3))["rate"]["amount"],
        "140.00"
    );
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn in_complete_sets_plans_close_and_open_with_their_rooms() {
    let house = House::open("reopens_in_sets", AccountSettings::default()).await;
    house.go_live().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    let stay = house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
    assert!(is_plan_closed(&house));
    house.cancel(stay).await;
    house.tell().await;
    assert!(is_plan_closed(&house), "raises wait");
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert!(!is_plan_closed(&house));
    assert_eq!(house.queue().await, 0);
}

/// A plan may be mapped that has no code there: nobody can be told of it, and it keeps nothing
/// else from being told.
#[tokio::test(flavor = "multi_thread")]
async fn a_plan_without_a_code_at_the_channel_holds_up_nothing() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house
        .map(vec![map("double", Some("bar"), "DBL", None)])
        .await;
    house.go_live().await;
    house.portal.answers([refusing(0)]);
    let stay = house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    house.pass("5 minutes").await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
    house.rates("stop_sell = true").await;
    house.cancel(stay).await;
    house.tell().await;
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert_eq!(house.queue().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_is_closed_by_itself_costs_a_booking_nothing() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    house.rates("stop_sell = true").await;
    house.tell().await;
    house.portal.told();
    let last = house.count("select last_value from mark_seq").await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"]);
    let marked = house.count("select last_value from mark_seq").await - last;
    assert_eq!(marked, 1, "the room and no plan");
}

/// A night sells out and opens again; either telling is taken, refused in part or whole, lost, or
/// taken and reported as failed; the second begins before the first was tried again, or after.
/// Then the world is quiet and the channel shows the truth.
#[tokio::test(flavor = "multi_thread")]
async fn whatever_becomes_of_two_tellings_the_plans_end_as_their_rooms() {
    let house = House::open("reopens", AccountSettings::default()).await;
    house.go_live().await;
    for (closing, opening, is_tried_again) in ways() {
        let way = format!("{closing} {opening} {is_tried_again}");
        let stay = house.book(house.double, 3, 4, 5).await;
        house.portal.answers([answer(closing)]);
        house.tell().await;
        if is_tried_again {
            house.pass("5 minutes").await;
            house.tell().await;
            assert!(is_plan_closed(&house), "{way}");
            assert_eq!(house.portal.shows("DBL", march(3)), 0, "{way}");
        }
        house.cancel(stay).await;
        house.portal.answers([answer(opening)]);
        house.tell().await;
        for _ in 0..2 {
            house.pass("5 minutes").await;
            house.polled().await;
            house.tell().await;
        }
        assert!(!is_plan_closed(&house), "{way}: {:?}", house.portal.told());
        assert_eq!(house.portal.shows("DBL", march(3)), 5, "{way}");
        assert_eq!(house.queue().await, 0, "{way}");
        house.portal.clear();
        house.portal.told();
    }
}

const ANSWERS: [&str; 6] = ["taken", "room", "plan", "refused", "lost", "unsure"];

fn ways() -> impl Iterator<Item = (&'static str, &'static str, bool)> {
    ANSWERS
        .into_iter()
        .flat_map(|closing| ANSWERS.map(|opening| (closing, opening)))
        .flat_map(|(closing, opening)| [false, true].map(|again| (closing, opening, again)))
}

fn answer(way: &str) -> Answer {
    match way {
        "room" => refusing(0),
        "plan" => refusing(1),
        "refused" => Answer::refusing(403),
        "lost" => Answer::refusing(500),
        "unsure" => Answer {
            applied_after_ms: Some(0),
            ..Answer::refusing(500)
        },
        _ => Answer::ok(),
    }
}

/// All is taken but one span.
fn refusing(span: usize) -> Answer {
    Answer {
        body: json!({"refused": [{"span": span, "why": "not now"}]}),
        ..Answer::ok()
    }
}

fn is_plan_closed(house: &House) -> bool {
    house.portal.rate("DBL", "BAR", march(3))["closed"] == true
}
