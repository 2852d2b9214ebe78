//! Pools on paper: what the auditor must notice of them, and what dead holds must not keep.

use std::sync::Arc;

use keyrack_model::channel::PoolMode;
use keyrack_model::reservation::{RevisionKind, Source};
use keyrack_sim::auditor::compare::State;
use keyrack_sim::pool_shape::{AllotmentShape, OwnerShape, PoolShape};
use keyrack_sim::pool_step::Kept;
use keyrack_sim::rule_step::On;
use keyrack_sim::shape::{AccountShape, PropertyShape, Shape, TypeShape};
use keyrack_sim::step::{
    Agree, Change, Hold, Read, Record, Request, Room, Scripted, Step, Switches, Told,
};

use crate::run::{Run, Sides};

/// One house with three rooms and one listing, which lives on an allotment.
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
        types: vec![TypeShape {
            code: "T0".to_owned(),
            rooms: 3,
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
        pools: PoolShape {
            allotments: vec![AllotmentShape {
                code: "A0".to_owned(),
                owner: OwnerShape::Account(0),
                room_type: 0,
            }],
            group_cut_off: None,
            mapped: vec![(0, PoolMode::Allotment, 0)],
        },
        ..shape.properties[0].clone()
    }];
    Arc::new(shape)
}

fn agree(rooms: i32) -> Step {
    agree_until(rooms, 0)
}

/// The same, falling back so many days before the stay date.
fn agree_until(rooms: i32, release_days: i32) -> Step {
    let kept = Kept {
        from: 1,
        count: 2,
        weekdays: 0b111_1111,
        rooms,
    };
    Step::Agree(Agree {
        property: 0,
        allotment: 0,
        values: vec![kept],
        release_days,
        cut_off: None,
        force: Vec::new(),
        dry_run: false,
        version: Read::Last,
    })
}

fn room(named: bool) -> Room {
    Room {
        room_stay: None,
        room_type: 0,
        from: 1,
        nights: 1,
        quantity: 1,
        allotment: named.then_some(0),
    }
}

fn request(named: bool, hold: Option<Hold>) -> Step {
    Step::Request(Request {
        property: 0,
        hold,
        source: Source::Phone,
        rooms: vec![room(named)],
        payment: None,
        channel: None,
        guaranteed: false,
        force: Vec::new(),
    })
}

fn fact() -> Step {
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
    })
}

/// Its only account lives on its allotment from one free room on, until three are.
fn scarce() -> Step {
    let on = On {
        room_type: None,
        nights: None,
        weekdays: 0b111_1111,
    };
    Step::PoolRules {
        property: 0,
        rules: vec![Switches {
            account: 0,
            on,
            mode: PoolMode::Allotment,
            scarce: Some((1, 3)),
        }],
    }
}

fn scripted(steps: Vec<Step>) -> Vec<Scripted> {
    let scripted = |(number, step)| Scripted { number, step };
    steps.into_iter().enumerate().map(scripted).collect()
}

/// The answers to a script, which the auditor explains.
fn answered(steps: Vec<Step>) -> Vec<String> {
    let run = Run::of_script(&shape(), &scripted(steps));
    assert_eq!(run.failure, None);
    run.census.into_keys().collect()
}

#[test]
fn a_dead_hold_keeps_no_room_of_an_allotment() {
    let dead = || request(true, Some(Hold::Default));
    let wait = || Step::Wait { minutes: 30 };
    let answers = answered(vec![agree(1), dead(), wait(), request(true, None)]);
    let seen = [
        "agree: allotment_set",
        "request: confirmed",
        "request: held",
    ];
    assert_eq!(answers, seen);
    // And what it had may be given back to the hotel.
    let answers = answered(vec![agree(1), dead(), wait(), agree(0)]);
    assert_eq!(answers, ["agree: allotment_set", "request: held"]);
    // While it lives it keeps it.
    let answers = answered(vec![agree(1), dead(), request(true, None), agree(0)]);
    let seen = [
        "agree: allotment_set",
        "agree: needs_force",
        "request: allotment_exhausted",
        "request: held",
    ];
    assert_eq!(answers, seen);
}

#[test]
fn a_room_of_a_released_allotment_is_free_for_the_change_that_gives_it_back() {
    // Another room in its place, in a house that is full.
    let change = Step::Modify(Change {
        property: 0,
        of: 1,
        rooms: Some(vec![room(false)]),
        told_channel: false,
        force: Vec::new(),
        version: Read::Last,
    });
    let full = |release_days| {
        vec![
            agree(1),
            request(true, None),
            agree_until(1, release_days),
            request(false, None),
            request(false, None),
            change.clone(),
        ]
    };
    let answers = answered(full(30));
    let seen = [
        "agree: allotment_set",
        "modify: modified",
        "request: confirmed",
    ];
    assert_eq!(answers, seen);
    // What has not been released goes back to the allotment, and is free for nobody else.
    let answers = answered(full(0));
    assert!(
        answers.contains(&"modify: sold_out".to_owned()),
        "{answers:?}"
    );
}

/// What the auditor says of the state after a fault.
fn told(fault: impl FnOnce(&mut State)) -> String {
    let shape = shape();
    let mut sides = Sides::open(&shape);
    for step in scripted(vec![agree(1), fact(), request(false, None)]) {
        sides.ask(&[step]).expect("the auditor explains it");
        sides.compare(&shape).expect("all is well");
    }
    let property = sides.ids.property(0).property;
    let mut state = sides.paper.state(property);
    fault(&mut state);
    sides.books.compare(property, &state, sides.now).join("\n")
}

#[test]
fn an_allotment_that_has_fallen_back_before_its_time_is_noticed() {
    let words = told(|state| {
        let night = state.allotments.values_mut().last().expect("it is there");
        night.is_released = true;
        night.released = 1;
    });
    assert!(words.contains("allotment"), "{words}");
}

#[test]
fn a_room_that_came_from_the_wrong_pool_is_noticed() {
    let words = told(|state| {
        for known in state.reservations.values_mut() {
            known.detail.drawn.clear();
        }
    });
    assert!(words.contains("drawn is []"), "{words}");
    let words = told(|state| {
        let night = state.allotments.values_mut().next().expect("it is there");
        night.taken = 0;
        for night in state.nights.values_mut() {
            night.allotted = 1;
        }
    });
    assert!(words.contains("taken: 0"), "{words}");
    assert!(words.contains("allotted: 1"), "{words}");
}

#[test]
fn a_switch_without_hysteresis_is_noticed() {
    let shape = shape();
    let mut sides = Sides::open(&shape);
    let cancel = Step::Cancel {
        property: 0,
        of: 2,
        told_channel: true,
        version: Read::No,
    };
    let steps = vec![
        agree(1),
        scarce(),
        request(false, None),
        request(false, None),
        cancel,
    ];
    for step in scripted(steps) {
        if let Step::PoolRules { property, rules } = &step.step {
            sides.put_pool_rules(*property, rules).expect("put");
        } else {
            sides.ask(&[step]).expect("the auditor explains it");
        }
    }
    let property = sides.ids.property(0).property;
    let mut state = sides.paper.state(property);
    let now = sides.now;
    assert_eq!(state.switches.len(), 1, "{:?}", state.switches);
    assert_eq!(sides.books.compare(property, &state, now), [""; 0]);
    state.switches.clear();
    let words = sides.books.compare(property, &state, now).join("\n");
    assert!(
        words.contains("the switch of pool rule 0 is off"),
        "{words}"
    );
}
