//! Why a night was oversold, as far as it follows from what was told.

use jiff::Timestamp;
use keyrack_distribution::{notice, resync};
use keyrack_ledger::command::{Command, Forced, NightChange};
use keyrack_ledger::decide::refusal::Force;
use keyrack_ledger::overbookings::case::{self, Case, Listed};
use keyrack_ledger::reservations;
use keyrack_model::id::RoomTypeId;
use keyrack_model::overbooking::Cause;
use keyrack_model::reservation::{
    Guest, ReportedRoom, ReservationReport, ReservationRevision, RevisionKind, RevisionRoom,
};
use keyrack_model::stay::Stay;

use crate::house::{House, by, march};
use crate::portal::Answer;

impl House {
    async fn now(&self) -> Timestamp {
        let now: jiff_sqlx::Timestamp = sqlx::query_scalar("select ledger_now()")
            .fetch_one(&self.pool)
            .await
            .unwrap();
        now.to_jiff()
    }

    /// The channel sold a double for the night of 3 March, just now.
    async fn sold_there(&self, room_code: &str, booked_at: Timestamp) {
        let mapped = (Some(self.double), room_code != "DBL");
        self.told_there(room_code, booked_at, mapped).await;
    }

    /// The same, with the type that its code means, and whether that is only the fallback.
    async fn told_there(
        &self,
        room_code: &str,
        booked_at: Timestamp,
        (room_type, is_fallback): (Option<RoomTypeId>, bool),
    ) {
        let told = ReportedRoom {
            room_code: room_code.into(),
            arrival: Some(march(3)),
            departure: Some(march(4)),
            quantity: 1,
            ..ReportedRoom::default()
        };
        let revision = ReservationRevision {
            property: self.property,
            account: self.account().await.account.id,
            report: ReservationReport {
                hotel_code: Some("H1".into()),
                reference: "R1".into(),
                kind: RevisionKind::New,
                order: Some(1),
                booked_at: Some(booked_at),
                rooms: vec![told.clone()],
                guest: Guest::default(),
                total: None,
                commission: None,
                payment_model: None,
                remarks: Vec::new(),
                is_quote: false,
                acknowledge_as: None,
            },
            rooms: vec![RevisionRoom {
                told,
                room_type,
                is_fallback,
                rate_plan: None,
            }],
            is_snapshot: true,
            received_at: self.now().await,
        };
        reservations::record(&self.ledger, by(), revision)
            .await
            .unwrap();
    }

    /// The only case, once its evidence has been gathered.
    async fn case(&self) -> Case {
        self.tell().await;
        resync::step(&self.distribution).await.unwrap();
        let mut cases = case::list(
            &self.ledger,
            self.property,
            Listed {
                limit: 9,
                ..Listed::default()
            },
        )
        .await
        .unwrap();
        assert_eq!(cases.len(), 1);
        cases.pop().unwrap()
    }

    async fn limit_of_3_march(&self, rooms: i32) {
        let change = NightChange {
            room_type: self.double,
            nights: Stay::new(march(3), march(4)).unwrap(),
            out_of_order: None,
            overbooking_limit: Some(rooms),
            reason: Some("a fair".into()),
        };
        self.ask(Command::SetNights {
            changes: vec![change],
            dry_run: false,
        })
        .await;
    }

    async fn overbooking_notices(&self) -> usize {
        let all = notice::list(&self.distribution, None, 9).await.unwrap();
        all.iter()
            .filter(|notice| notice.kind == "overbooking_case")
            .count()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sold_there_before_the_close_could_arrive() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 5).await;
    house.sold_there("DBL", house.now().await).await;
    let case = house.case().await;
    assert_eq!(case.cause, Cause::SoldBeforeCloseCouldArrive.as_str());
    assert_eq!(case.evidence["sold_by"], "portal");
    let told = case.evidence["told"].as_array().unwrap();
    let rooms: Vec<_> = told
        .iter()
        .map(|one| one["rooms"].as_i64().unwrap())
        .collect();
    assert_eq!(rooms, [5, 0], "{told:?}");
    assert!(told[1]["acknowledged_at"].as_str() > case.evidence["booked_at"].as_str());
    assert_eq!(house.overbooking_notices().await, 1);
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_channel_that_sells_what_it_took_as_closed_has_reopened_it() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    house.pass("1 minute").await;
    house.sold_there("DBL", house.now().await).await;
    assert_eq!(house.case().await.cause, Cause::ChannelReopened.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_that_the_channel_did_not_take_is_a_failed_push() {
    let house = House::live().await;
    house.portal.always(Answer::refusing(503));
    house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    house.pass("1 minute").await;
    house.sold_there("DBL", house.now().await).await;
    assert_eq!(house.case().await.cause, Cause::PushFailed.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unmapped_room_is_named_as_the_cause() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    house.sold_there("DBL-NEW", house.now().await).await;
    assert_eq!(house.case().await.cause, Cause::Unmapped.as_str());
}

/// It took no room while nobody knew its code, and one too many when somebody mapped it.
#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_is_mapped_afterwards_still_has_the_missing_mapping_as_its_cause() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 5).await;
    let booked_at = house.now().await;
    house.told_there("DBL-NEW", booked_at, (None, false)).await;
    let open = "select count(*) from overbooking_case";
    assert_eq!(house.count(open).await, 0);
    house.pass("1 hour").await;
    let mapped = (Some(house.double), false);
    house.told_there("DBL-NEW", booked_at, mapped).await;
    assert_eq!(house.case().await.cause, Cause::Unmapped.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_desk_forced_is_its_own_doing() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 5).await;
    let force = Forced {
        reason: "a guest of the house".into(),
        allow: vec![Force::Oversell],
    };
    let stay = house
        .book_by_force(house.double, 3, 4, 1, Some(force))
        .await;
    assert_eq!(house.case().await.cause, Cause::StaffForced.as_str());
    assert_eq!(house.overbooking_notices().await, 1);
    house.cancel(stay).await;
    let case = house.case().await;
    assert_eq!(case.outcome.as_deref(), Some("cured"));
    assert_eq!(house.overbooking_notices().await, 0, "over is over");
    // What was under way has been answered by now: looked at again.
    house.pass("2 minutes").await;
    assert_eq!(house.case().await.cause, Cause::StaffForced.as_str());
}

/// It was over, and within a limit that came afterwards, before anybody had looked why.
#[tokio::test(flavor = "multi_thread")]
async fn why_it_came_does_not_change_with_what_became_of_it() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    house.pass("1 minute").await;
    house.sold_there("DBL", house.now().await).await;
    house.limit_of_3_march(2).await;
    let case = house.case().await;
    assert_eq!(case.cause, Cause::ChannelReopened.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_within_its_limit_was_meant_and_stays_so() {
    let house = House::live().await;
    house.limit_of_3_march(1).await;
    house.book(house.double, 3, 4, 5).await;
    house.sold_there("DBL", house.now().await).await;
    let nights = Stay::new(march(3), march(4)).unwrap();
    let room_type = house.double;
    house.ask(Command::OpenCase { room_type, nights }).await;
    house.limit_of_3_march(0).await;
    assert_eq!(house.case().await.cause, Cause::Meant.as_str());
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_that_were_taken_away_are_a_cut() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 5).await;
    house
        .ask(Command::SetNights {
            changes: vec![NightChange {
                room_type: house.double,
                nights: Stay::new(march(3), march(4)).unwrap(),
                out_of_order: Some(1),
                overbooking_limit: None,
                reason: Some("a burst pipe".into()),
            }],
            dry_run: false,
        })
        .await;
    assert_eq!(house.case().await.cause, Cause::CapacityCut.as_str());
}
