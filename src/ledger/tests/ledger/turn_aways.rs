//! What is turned away is counted, off the booking path.

use keyrack_ledger::command::Command;
use keyrack_ledger::turn_aways::{self, TurnAway};
use keyrack_model::reservation::Source;

use crate::hotel::{FIRST, Hotel, ask, stay};

async fn listed(hotel: &Hotel) -> Vec<TurnAway> {
    let list = turn_aways::list(&hotel.ledger, hotel.property, stay(0, 30), 100).await;
    list.expect("no failure")
}

async fn added(ledger: &keyrack_ledger::handle::Ledger) -> usize {
    turn_aways::add(ledger).await.expect("no failure")
}

#[tokio::test]
async fn refusals_are_summed_by_what_they_are_about_and_sales_and_mistakes_are_not() {
    let hotel = Hotel::of(1).await;
    hotel.confirmed(0, 3).await;
    for _ in 0..3 {
        hotel
            .ask(hotel.wish(0, 2, None))
            .await
            .expect_err("sold out");
    }
    let mut web = hotel.wish(1, 1, None);
    if let Command::Request(wish) = &mut web {
        wish.source = Source::Web;
        wish.rooms[0].quantity = 2;
    }
    hotel.ask(web).await.expect_err("sold out");
    let mut wrong = hotel.wish(5, 1, None);
    if let Command::Request(wish) = &mut wrong {
        wish.rooms[0].quantity = 0;
    }
    hotel.ask(wrong).await.expect_err("invalid");
    assert_eq!(listed(&hotel).await, [], "nothing is written yet");
    assert_eq!(added(&hotel.ledger).await, 2);
    assert_eq!(added(&hotel.ledger).await, 0, "once");
    let found = listed(&hotel).await;
    assert_eq!(found.len(), 2);
    let first = &found[0];
    assert_eq!(
        (first.arrival, first.wishes, first.room_nights),
        (FIRST, 3, 6)
    );
    assert_eq!(
        (first.reason.as_str(), first.source.as_str()),
        ("sold_out", "phone")
    );
    assert_eq!(first.asked_on, jiff::civil::date(2030, 2, 20));
    assert_eq!((found[1].source.as_str(), found[1].room_nights), ("web", 2));
}

#[tokio::test]
async fn two_daemons_add_to_the_same_sums_and_a_close_adds_what_is_left() {
    let hotel = Hotel::of(1).await;
    hotel.confirmed(0, 1).await;
    let second = hotel.second_daemon().await;
    for ledger in [&hotel.ledger, &second] {
        let wish = hotel.wish(0, 1, None);
        let answer = ask(ledger, hotel.property, wish).await.expect("no failure");
        answer.expect_err("sold out");
    }
    assert_eq!(added(&hotel.ledger).await, 1);
    second.close().await;
    let found = listed(&hotel).await;
    assert_eq!((found.len(), found[0].wishes), (1, 2));
}
