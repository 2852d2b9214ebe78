//! Guests who leave the house for a case: whole or one room of theirs, at what cost, and with whose
//! leave.

use keyrack_ledger::command::By;
use keyrack_ledger::decide::overbooking::end::{CaseEnd, CaseMove};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::overbookings::{self, Work};
use keyrack_model::id::RoomStayId;
use keyrack_model::money::{Currency, Money};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::{RevisionKind, Status};
use serde_json::json;

use crate::full::{Full, ending, to};
use crate::hotel::{Hotel, report};

#[tokio::test]
async fn a_walk_cancels_here_and_costs_what_the_table_says() {
    let full = Full::of(2).await;
    full.policy(json!({
        "compensation": [{"amount_minor": 10_000, "per_night_minor": 2_000}],
        "approval_above_minor": 13_999,
    }))
    .await;
    let case = full.case().await;
    let mut end = ending(case.id, Ending::Walk, vec![to(&full.sold_there, None)]);
    assert_eq!(full.end(end.clone()).await, Err(Refusal::NeedsToldChannel));
    end.told_channel = true;
    let refused = full.end(end.clone()).await;
    assert_eq!(
        refused,
        Err(Refusal::NeedsApproval {
            cost: Money::new(14_000, Currency::from_code("EUR").unwrap()),
            above: Money::new(13_999, Currency::from_code("EUR").unwrap()),
        })
    );
    let boss = By {
        actor: "key:2 (Boss)".to_owned(),
        request_id: None,
    };
    let work = Work {
        property: full.hotel.property,
        case: case.id,
        by: &boss,
        version: None,
    };
    let nothing = overbookings::approve(&full.hotel.ledger, work, None, None).await;
    assert!(matches!(nothing.unwrap(), Err(Refusal::Invalid(_))));
    let proposal = json!({"ending": "walk", "cost_minor": 14_000});
    overbookings::propose(&full.hotel.ledger, work, proposal)
        .await
        .unwrap()
        .unwrap();
    overbookings::approve(&full.hotel.ledger, work, None, None)
        .await
        .unwrap()
        .unwrap();
    let ended = full.end(end).await.unwrap();
    assert_eq!(ended.cost, Some((14_000, "EUR".to_owned())));
    assert_eq!(
        ended.resolution.unwrap()["moves"][0]["number"],
        full.sold_there.number
    );
    let gone = full.reservation(&full.sold_there).await;
    assert_eq!(gone.status, Status::Cancelled);
    full.proven().await;
}

/// A family has three rooms, of which one is too many: it leaves, the others stay, and only it is
/// paid for.
#[tokio::test]
async fn one_room_of_several_leaves_and_the_others_stay() {
    let hotel = Hotel::of(2).await;
    hotel.confirmed(0, 2).await;
    let mut told = report("R1", RevisionKind::New, 0, 2);
    told.rooms.push(told.rooms[0].clone());
    let family = *hotel.record(told).await.reservation.unwrap();
    let full = Full {
        suite: hotel.double,
        desk: family.clone(),
        sold_there: family.clone(),
        hotel,
    };
    full.policy(json!({"compensation": [{"amount_minor": 10_000}]}))
        .await;
    let case = full.case().await;
    let room = |id: i32| CaseMove {
        room_stay: Some(RoomStayId(id)),
        ..to(&family, None)
    };
    let walk = |moves: Vec<CaseMove>| CaseEnd {
        told_channel: true,
        ..ending(case.id, Ending::Walk, moves)
    };
    for (moves, pointer) in [
        (vec![room(7)], "/moves/0/room_stay_id"),
        (vec![room(1), room(1)], "/moves/1/reservation"),
        (vec![room(1), to(&family, None)], "/moves/1/reservation"),
    ] {
        let Err(Refusal::Invalid(wrong)) = full.end(walk(moves)).await else {
            panic!("{pointer} was taken")
        };
        assert_eq!(wrong[0].0, pointer);
    }
    let ended = full.end(walk(vec![room(2)])).await.unwrap();
    assert_eq!(ended.cost, Some((10_000, "EUR".to_owned())));
    assert_eq!(ended.resolution.unwrap()["moves"][0]["room_stay_id"], 2);
    let here = full.reservation(&family).await;
    assert_eq!(here.status, Status::Confirmed);
    let left: Vec<i32> = here.present_rooms().map(|room| room.id.0).collect();
    assert_eq!(left, [1]);
    assert_eq!(full.hotel.night(0).await.sold, 2);
    full.end(walk(vec![room(2)])).await.expect("a repeat");
    let other = full.end(walk(vec![room(1)])).await;
    assert!(
        matches!(other, Err(Refusal::IllegalTransition(_))),
        "{other:?}"
    );
    full.proven().await;
}

/// Who says that it costs nothing needs the manager all the same, and a channel finds rooms for its
/// own guests only.
#[tokio::test]
async fn no_ending_goes_round_the_approval() {
    let full = Full::of(1).await;
    full.policy(json!({
        "compensation": [{"amount_minor": 10_000}],
        "approval_above_minor": 9_999,
    }))
    .await;
    let case = full.case().await;
    // What a channel bills only the channel knows: said, it counts.
    for (way, said) in [(Ending::Walk, Some(0)), (Ending::RelocatedByChannel, None)] {
        let end = CaseEnd {
            told_channel: true,
            cost_minor: said,
            ..ending(case.id, way, vec![to(&full.sold_there, None)])
        };
        let refused = full.end(end).await;
        assert!(
            matches!(refused, Err(Refusal::NeedsApproval { .. })),
            "{refused:?}"
        );
    }
    let end = CaseEnd {
        may_approve: true,
        ..ending(
            case.id,
            Ending::RelocatedByChannel,
            vec![to(&full.desk, None)],
        )
    };
    let Err(Refusal::Invalid(wrong)) = full.end(end).await else {
        panic!("a guest of no channel")
    };
    assert_eq!(wrong[0].0, "/moves/0/reservation");
    full.proven().await;
}
