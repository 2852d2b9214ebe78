//! An auditor that notices nothing proves nothing: each of these faults must be told.

use std::collections::BTreeSet;
use std::sync::Arc;

use keyrack_ledger::command::Answer;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_model::id::RoomTypeId;
use keyrack_model::reservation::{RevisionKind, Source, Status};
use keyrack_model::stay::StayDate;
use keyrack_sim::auditor::compare::State;
use keyrack_sim::auditor::expected::Expected;
use keyrack_sim::pool_shape::PoolShape;
use keyrack_sim::shape::{AccountShape, PropertyShape, Shape, TypeShape};
use keyrack_sim::step::{Hold, Read, Record, Request, Room, Scripted, Step, Told};

use crate::run::Sides;

/// One house with one room, a grace of a minute, and one listing.
fn shape() -> Arc<Shape> {
    let mut shape = Shape::from_seed(1);
    shape.properties = vec![PropertyShape {
        nights: 8,
        horizon_days: 60,
        bookable_from: None,
        hold_seconds: 330,
        web_hold_seconds: None,
        confirm_grace_seconds: 60,
        late_confirm_retakes: false,
        meant_overbooking_case_days: 0,
        types: vec![TypeShape {
            code: "T0".to_owned(),
            rooms: 1,
            overbooking_limit: 0,
            hold_seconds: None,
            components: Vec::new(),
        }],
        accounts: vec![AccountShape {
            code: "listing".to_owned(),
            is_snapshot: true,
            has_room_keys: true,
            tells_order: true,
            fallback: None,
        }],
        pools: PoolShape::default(),
        ..shape.properties[0].clone()
    }];
    Arc::new(shape)
}

/// A hold on night 1, a fact on night 1 as well (which oversells it when the hold is confirmed),
/// and a second payment.
fn script() -> Vec<Scripted> {
    let confirm = |payment| Step::Confirm {
        property: 0,
        of: 0,
        payment: Some(payment),
        version: Read::No,
    };
    let steps = [
        Step::Request(Request {
            property: 0,
            hold: Some(Hold::Default),
            source: Source::Phone,
            rooms: vec![Room {
                room_stay: None,
                room_type: 0,
                from: 1,
                nights: 1,
                quantity: 1,
                allotment: None,
            }],
            payment: None,
            channel: None,
            guaranteed: false,
            force: Vec::new(),
        }),
        Step::Record(Record {
            property: 0,
            account: 0,
            reference: 1,
            kind: RevisionKind::New,
            order: Some(1),
            rooms: vec![Told {
                key: 1,
                room_type: 0,
                is_mapped: true,
                from: 1,
                nights: 1,
                quantity: 1,
            }],
            total: None,
        }),
        confirm(1),
        confirm(2),
    ];
    let scripted = |(number, step)| Scripted { number, step };
    steps.into_iter().enumerate().map(scripted).collect()
}

/// Both sides after the script: they agree.
fn agreed() -> (Arc<Shape>, Sides) {
    let shape = shape();
    let mut sides = Sides::open(&shape);
    for step in script() {
        sides.ask(&[step]).expect("the auditor explains it");
        sides.compare(&shape).expect("all is well");
    }
    (shape, sides)
}

/// What the auditor says of the state after a fault.
fn told(fault: impl FnOnce(&mut State)) -> String {
    let (_, sides) = agreed();
    let property = sides.ids.property(0).property;
    let mut state = sides.paper.state(property);
    fault(&mut state);
    sides.books.compare(property, &state, sides.now).join("\n")
}

#[test]
fn a_night_that_is_released_twice_is_noticed() {
    let words = told(|state| {
        let night = state.nights.values_mut().next().expect("it is there");
        night.sold -= 1;
        night.oversold -= 1;
    });
    assert!(words.contains("its reservations take"), "{words}");
    assert!(words.contains("must be"), "{words}");
}

#[test]
fn an_overdraft_that_is_not_exact_is_noticed() {
    let words = told(|state| {
        state
            .nights
            .values_mut()
            .next()
            .expect("it is there")
            .oversold += 1
    });
    assert!(words.contains("the sum is not the rooms"), "{words}");
}

#[test]
fn a_lost_reservation_is_noticed() {
    let words = told(|state| drop(state.reservations.pop_first()));
    assert!(words.contains("is lost"), "{words}");
}

#[test]
fn a_state_that_nobody_was_told_of_is_noticed() {
    let words = told(|state| {
        for known in state.reservations.values_mut() {
            known.status = Status::CheckedIn;
        }
    });
    assert!(words.contains("status is CheckedIn"), "{words}");
}

#[test]
fn an_oversold_night_without_a_case_is_noticed() {
    let words = told(|state| state.cases.clear());
    assert!(words.contains("a case is not open"), "{words}");
}

#[test]
fn a_refund_that_nobody_was_told_of_is_noticed() {
    let words = told(|state| state.refunds.clear());
    assert!(words.contains("0 times refund_due"), "{words}");
}

#[test]
fn a_lost_tombstone_is_noticed() {
    let words = told(|state| state.references.clear());
    assert!(words.contains("reference"), "{words}");
}

#[test]
fn a_wrong_answer_is_noticed() {
    let (_, mut sides) = agreed();
    let step = Step::Cancel {
        property: 0,
        of: 0,
        told_channel: false,
        version: Read::No,
    };
    let step = Scripted { number: 4, step };
    let asked = sides.ids.asked(&step).expect("it is there");
    let refused: Answer = Err(Refusal::HoldExpired);
    let different = sides.books.explain(
        asked.property,
        &asked.command,
        sides.now,
        &refused,
        &BTreeSet::new(),
    );
    assert_eq!(different.len(), 1, "{different:?}");
}

#[test]
fn a_refusal_names_each_night_as_it_was_at_some_moment() {
    let night = |day: i8| (RoomTypeId(1), StayDate::constant(2030, 2, day));
    let nights = |days: &[i8]| days.iter().map(|day| night(*day)).collect::<BTreeSet<_>>();
    let must = Expected::no_on("sold_out", nights(&[1, 2]));
    let agrees = |named: &[i8], moving: &[i8]| {
        let answer: Answer = Err(Refusal::SoldOut(nights(named).into_iter().collect()));
        must.differences(&answer, &nights(moving)).is_empty()
    };
    assert!(agrees(&[1, 2], &[]));
    assert!(agrees(&[1, 3], &[2, 3]));
    assert!(!agrees(&[1, 3], &[2]), "3 stood still and was free");
    assert!(!agrees(&[1], &[3]), "2 stood still and was sold out");
    assert!(!agrees(&[3], &[1, 2, 3]), "never refused for 3 alone");
}
