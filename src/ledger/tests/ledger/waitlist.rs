//! The waitlist: offered in order, one hold at a time, whoever looks and whatever breaks.

use futures_util::future::join_all;
use keyrack_ledger::command::By;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::turn_aways;
use keyrack_ledger::waitlist;
use keyrack_ledger::wish::{NewWish, Waiting};
use keyrack_model::id::{ReservationId, RoomTypeId};
use keyrack_model::reservation::{Guest, Source, Status};
use uuid::Uuid;

use crate::hotel::{Hotel, stay};

impl Hotel {
    async fn waits(&self, from: i32, nights: i32, room_types: &[RoomTypeId]) -> Waiting {
        let wish = NewWish {
            stay: stay(from, nights),
            room_types: room_types.to_vec(),
            quantity: 1,
            adults: Some(2),
            source: Source::Phone,
            guest: Guest {
                name: "Anna".to_owned(),
                email: Some("anna@example.com".to_owned()),
                ..Guest::default()
            },
            note: None,
            answer_seconds: Some(3_600),
        };
        let added = waitlist::add(&self.ledger, self.property, &wish).await;
        added.expect("no failure").expect("no refusal")
    }

    /// With nights: here they are born when somebody asks for them.
    async fn with_nights(rooms: i32) -> Self {
        let hotel = Hotel::of(rooms).await;
        let made = hotel.confirmed(0, 30).await;
        hotel.cancel(made.id).await.expect("cancelled");
        hotel
    }

    async fn looked(&self) -> u32 {
        let looked = waitlist::look(&self.ledger, self.property).await;
        looked.expect("no failure")
    }

    async fn statuses(&self, wishes: &[&Waiting]) -> Vec<String> {
        let each = wishes.iter().map(|wish| self.wish_of(wish.id));
        let wishes = join_all(each).await;
        wishes.into_iter().map(|wish| wish.status).collect()
    }

    async fn wish_of(&self, id: Uuid) -> Waiting {
        let found = waitlist::find(&self.ledger, self.property, id).await;
        found.expect("no failure").expect("the wish")
    }

    async fn offers_told(&self) -> i64 {
        self.count("select count(*) from ledger_entry where kind = 'waitlist_offered'")
            .await
    }

    async fn live_holds(&self) -> i64 {
        self.count(
            "select count(*) from reservation
             where status = 'held' and hold_dead_at > ledger_now() and owner_id like 'waitlist:%'",
        )
        .await
    }
}

fn hold(wish: &Waiting) -> ReservationId {
    wish.offer.expect("an offer").0
}

#[tokio::test]
async fn what_comes_free_is_offered_in_order_and_the_next_when_nobody_answers() {
    let hotel = Hotel::with_nights(1).await;
    let taken = hotel.confirmed(0, 3).await;
    let first = hotel.waits(0, 2, &[hotel.double]).await;
    let second = hotel.waits(1, 2, &[hotel.double]).await;
    let elsewhere = hotel.waits(5, 1, &[hotel.double]).await;
    assert_eq!(hotel.looked().await, 1, "the fifth night is free");
    let all = [&first, &second, &elsewhere];
    assert_eq!(
        hotel.statuses(&all).await,
        ["waiting", "waiting", "offered"]
    );
    hotel.cancel(taken.id).await.expect("cancelled");
    assert_eq!(hotel.looked().await, 1);
    assert_eq!(hotel.looked().await, 0);
    assert_eq!(
        hotel.statuses(&all).await,
        ["offered", "waiting", "offered"]
    );
    let offered = hotel.wish_of(first.id).await;
    let (_, _, until) = offered.offer.expect("an offer");
    assert!(until.is_some());
    assert_eq!(hotel.offers_told().await, 2);

    hotel.pass("2 hours").await;
    hotel.looked().await;
    hotel.looked().await;
    assert_eq!(
        hotel.statuses(&[&first, &second]).await,
        ["waiting", "offered"]
    );
    // Confirmed: accepted, and the first waits on for what is taken.
    let offered = hotel.wish_of(second.id).await;
    hotel
        .confirm(hold(&offered), None)
        .await
        .expect("confirmed");
    hotel.looked().await;
    assert_eq!(
        hotel.statuses(&[&first, &second]).await,
        ["waiting", "accepted"]
    );
    hotel.assert_proven().await;
}

/// Nothing was offered: the wish keeps its three offers, and no demand was turned away.
#[tokio::test]
async fn a_hold_that_was_not_to_be_had_is_no_offer_and_no_demand_turned_away() {
    let hotel = Hotel::with_nights(1).await;
    let wish = hotel.waits(0, 1, &[hotel.double]).await;
    hotel.set("bookable_from", "'2031-01-01'").await;
    for _ in 0..4 {
        assert_eq!(hotel.looked().await, 0, "not yet open");
        hotel.pass("20 minutes").await;
    }
    let waiting = hotel.wish_of(wish.id).await;
    assert_eq!((waiting.status.as_str(), waiting.offers), ("waiting", 0));
    let counted = turn_aways::add(&hotel.ledger).await.expect("no failure");
    assert_eq!(counted, 0, "nobody asked");
    hotel.set("bookable_from", "null").await;
    for offer in 1..=3 {
        assert_eq!(hotel.looked().await, 1, "offer {offer}");
        assert_eq!(hotel.wish_of(wish.id).await.offers, offer);
        hotel.pass("2 hours").await;
        assert_eq!(hotel.looked().await, 0);
    }
    assert_eq!(hotel.statuses(&[&wish]).await, ["ended"]);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn many_wishes_that_cannot_be_met_hide_nobody_behind_them() {
    let hotel = Hotel::with_nights(1).await;
    hotel.waits(0, 1, &[hotel.double]).await;
    sqlx::query(
        "insert into waitlist (property_id, wish_id, arrival, departure, room_types, quantity,
                               source, guest)
         select property_id, gen_random_uuid(), arrival, departure, room_types, 9, source, guest
           from waitlist cross join generate_series(1, 1001)",
    )
    .execute(&hotel.pool)
    .await
    .expect("wishes");
    let last = hotel.waits(5, 1, &[hotel.double]).await;
    assert_eq!(hotel.looked().await, 2, "the first and the last");
    assert_eq!(hotel.statuses(&[&last]).await, ["offered"]);
}

#[tokio::test]
async fn three_unanswered_offers_end_a_wish_and_so_does_its_date() {
    let hotel = Hotel::with_nights(1).await;
    let wish = hotel.waits(0, 1, &[hotel.double]).await;
    for _ in 0..3 {
        hotel.looked().await;
        hotel.looked().await;
        assert_eq!(hotel.statuses(&[&wish]).await, ["offered"]);
        hotel.pass("2 hours").await;
    }
    hotel.looked().await;
    let ended = hotel.wish_of(wish.id).await;
    assert_eq!(
        (ended.status.as_str(), ended.outcome.as_deref()),
        ("ended", Some("unanswered"))
    );
    hotel.confirmed(1, 1).await;
    let late = hotel.waits(1, 1, &[hotel.double]).await;
    hotel.pass("20 days").await;
    hotel.looked().await;
    let ended = hotel.wish_of(late.id).await;
    assert_eq!(
        (ended.status.as_str(), ended.outcome.as_deref()),
        ("ended", Some("date_passed"))
    );
}

#[tokio::test]
async fn the_dearest_type_that_is_free_is_offered() {
    let hotel = Hotel::with_nights(1).await;
    let suite = Hotel::room_type(&hotel.pool, hotel.property.0, "suite", 1).await;
    hotel.set("bookable_from", "null").await;
    hotel.confirmed(0, 1).await;
    // Nights are born when somebody asks for them.
    let wish = crate::hotel::wish_for(suite, 0, 1, None);
    let made = crate::hotel::reservation(hotel.ask(wish).await);
    hotel.cancel(made.id).await.expect("cancelled");
    let wish = hotel.waits(0, 1, &[hotel.double, suite]).await;
    hotel.looked().await;
    let offered = hotel.wish_of(wish.id).await;
    assert_eq!(offered.offer.expect("an offer").1, suite);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_daemons_that_look_at_once_offer_one_hold() {
    let hotel = Hotel::with_nights(1).await;
    let second = hotel.second_daemon().await;
    for round in 0..5 {
        let taken = hotel.confirmed(round, 1).await;
        let wishes = [
            hotel.waits(round, 1, &[hotel.double]).await,
            hotel.waits(round, 1, &[hotel.double]).await,
        ];
        hotel.cancel(taken.id).await.expect("cancelled");
        let looks = (0..8).map(|n| {
            let ledger = if n % 2 == 0 { &hotel.ledger } else { &second };
            waitlist::look(ledger, hotel.property)
        });
        for looked in join_all(looks).await {
            looked.expect("no failure");
        }
        let mut statuses = hotel.statuses(&[&wishes[0], &wishes[1]]).await;
        statuses.sort_unstable();
        assert_eq!(statuses, ["offered", "waiting"], "round {round}");
        assert_eq!(
            hotel.live_holds().await,
            i64::from(round) + 1,
            "round {round}"
        );
        assert_eq!(
            hotel.offers_told().await,
            i64::from(round) + 1,
            "round {round}"
        );
        // Two that ask at the same moment may find the second first.
        for wish in &wishes {
            if hotel.wish_of(wish.id).await.status == "waiting" {
                cancel(&hotel, wish.id).await;
            }
        }
    }
    hotel.assert_proven().await;
}

async fn cancel(hotel: &Hotel, wish: Uuid) -> Waiting {
    let by = By {
        actor: "test".to_owned(),
        request_id: None,
    };
    let gone = waitlist::cancel(&hotel.ledger, hotel.property, wish, &by).await;
    gone.expect("no failure").expect("the wish")
}

#[tokio::test]
async fn r31_a_daemon_that_died_after_claiming_or_before_telling_leaves_one_hold_and_one_word() {
    let hotel = Hotel::with_nights(2).await;
    hotel.confirmed(0, 1).await;
    let wish = hotel.waits(0, 1, &[hotel.double]).await;
    // Died between the claim and the hold.
    let id = Uuid::now_v7();
    sqlx::query(
        "update waitlist set status = 'offered', version = version + 1, offers = 1,
                offer_reservation = $1, offer_room_type = room_types[1], offered_at = ledger_now()",
    )
    .bind(id)
    .execute(&hotel.pool)
    .await
    .expect("a claim");
    hotel.looked().await;
    assert_eq!(hotel.live_holds().await, 0, "it may still be asking");
    hotel.pass("1 minute").await;
    hotel.looked().await;
    assert_eq!(hotel.live_holds().await, 1);
    assert_eq!(hold(&hotel.wish_of(wish.id).await), ReservationId(id));
    assert_eq!(hotel.offers_told().await, 1);
    // Died between the hold and the word of it.
    sqlx::query("update waitlist set answer_until = null, version = version + 1")
        .execute(&hotel.pool)
        .await
        .expect("a crash");
    sqlx::query("delete from ledger_entry where kind = 'waitlist_offered'")
        .execute(&hotel.pool)
        .await
        .expect("a crash");
    hotel.looked().await;
    hotel.looked().await;
    assert_eq!(
        (hotel.live_holds().await, hotel.offers_told().await),
        (1, 1)
    );
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_wish_that_is_taken_back_gives_its_hold_back_and_a_repeat_changes_nothing() {
    let hotel = Hotel::with_nights(1).await;
    hotel.confirmed(3, 1).await;
    let wish = hotel.waits(0, 1, &[hotel.double]).await;
    hotel.looked().await;
    let offered = hotel.wish_of(wish.id).await;
    assert_eq!(offered.status, "offered");
    assert_eq!(cancel(&hotel, wish.id).await.status, "cancelled");
    assert_eq!(hotel.live_holds().await, 0);
    let again = cancel(&hotel, wish.id).await;
    assert_eq!(again.version, hotel.wish_of(wish.id).await.version);
    let kept = keyrack_ledger::reservations::load(&hotel.ledger, hotel.property, hold(&offered));
    let kept = kept.await.expect("no failure").expect("the hold");
    assert_eq!(kept.reservation.status, Status::Cancelled);
}

#[tokio::test]
async fn what_was_confirmed_is_not_given_back_with_the_wish() {
    let hotel = Hotel::with_nights(1).await;
    let wish = hotel.waits(0, 1, &[hotel.double]).await;
    hotel.looked().await;
    let offered = hotel.wish_of(wish.id).await;
    hotel
        .confirm(hold(&offered), None)
        .await
        .expect("confirmed");
    // Nobody has looked at the offer since: the wish still says that it waits for an answer.
    let taken_back = cancel(&hotel, wish.id).await;
    assert_eq!(taken_back.status, "accepted");
    let kept = keyrack_ledger::reservations::load(&hotel.ledger, hotel.property, hold(&offered));
    let kept = kept.await.expect("no failure").expect("the reservation");
    assert_eq!(kept.reservation.status, Status::Confirmed);
    hotel.assert_proven().await;
}

#[tokio::test]
async fn a_confirm_and_a_taking_back_at_once_agree_on_what_became_of_the_wish() {
    let hotel = Hotel::with_nights(1).await;
    for night in 0..24 {
        let wish = hotel.waits(night, 1, &[hotel.double]).await;
        hotel.looked().await;
        let offered = hotel.wish_of(wish.id).await;
        let confirming = hotel.confirm(hold(&offered), None);
        let (confirmed, taken_back) = tokio::join!(confirming, cancel(&hotel, wish.id));
        let kept =
            keyrack_ledger::reservations::load(&hotel.ledger, hotel.property, hold(&offered));
        let kept = kept.await.expect("no failure").expect("the reservation");
        let (became, is) = match confirmed {
            Ok(_) => ("accepted", Status::Confirmed),
            Err(_) => ("cancelled", Status::Cancelled),
        };
        assert_eq!(
            (taken_back.status.as_str(), kept.reservation.status),
            (became, is)
        );
    }
    hotel.assert_proven().await;
}

#[tokio::test]
async fn what_a_rule_forbids_is_not_offered_and_not_asked_for_again_at_once() {
    let hotel = Hotel::with_nights(1).await;
    hotel.set("bookable_from", "date '2031-01-01'").await;
    let wish = hotel.waits(0, 1, &[hotel.double]).await;
    assert_eq!(hotel.looked().await, 0);
    let waiting = hotel.wish_of(wish.id).await;
    assert_eq!((waiting.status.as_str(), waiting.offers), ("waiting", 0));
    hotel.looked().await;
    assert_eq!(hotel.wish_of(wish.id).await, waiting, "not asked for again");
    hotel.set("bookable_from", "null").await;
    hotel.pass("11 minutes").await;
    assert_eq!(hotel.looked().await, 1);
}

#[tokio::test]
async fn a_wish_that_nobody_could_ever_meet_is_refused() {
    let hotel = Hotel::with_nights(3).await;
    let ask = async |from: i32, nights: i32, quantity: i32| {
        let wish = NewWish {
            stay: stay(from, nights),
            room_types: vec![hotel.double],
            quantity,
            adults: None,
            source: Source::Phone,
            guest: Guest::default(),
            note: None,
            answer_seconds: None,
        };
        let added = waitlist::add(&hotel.ledger, hotel.property, &wish).await;
        match added.expect("no failure") {
            Ok(_) => String::new(),
            Err(Refusal::Invalid(wrong)) => wrong[0].0.clone(),
            Err(other) => panic!("{other:?}"),
        }
    };
    assert_eq!(ask(0, 1, 3).await, "");
    assert_eq!(ask(0, 1, 4).await, "/quantity");
    assert_eq!(ask(5_000, 1, 1).await, "/departure");
    assert_eq!(ask(-40, 1, 1).await, "/arrival");
}
