//! The rules alone, by example and with the right values, without a database: what chance found
//! wrong once.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::civil::{date, time};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::command::{
    Answer, Asked, Command, Fact, HoldEnd, Modification, NightChange, Progress, Receipt, Wish,
    WishedRoom,
};
use keyrack_ledger::decide::all;
use keyrack_ledger::decide::draft::{Draft, Night, Seen};
use keyrack_ledger::decide::rules::{Policies, Rules, TypeRules};
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::id::{AccountId, PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::money::Currency;
use keyrack_model::reservation::{
    Guest, ReportedRoom, ReservationReport, ReservationRevision, RevisionKind, RevisionRoom,
    Source, Status,
};
use keyrack_model::stay::{Stay, StayDate, plus_days};
use uuid::Uuid;

const HOTEL: PropertyId = PropertyId(1);
const DOUBLE: RoomTypeId = RoomTypeId(1);
const SUITE: RoomTypeId = RoomTypeId(2);
const LISTING: AccountId = AccountId(1);

/// One double and one suite, on the nights from today on.
struct Hotel {
    seen: Seen,
    made: u128,
}

fn night(offset: i32) -> StayDate {
    plus_days(date(2030, 5, 6), offset)
}

fn stay(from: i32, to: i32) -> Stay {
    Stay::new(night(from), night(to)).expect("a stay")
}

impl Hotel {
    fn new() -> Self {
        let one = |code: &str| TypeRules {
            code: code.to_owned(),
            rooms: 1,
            ..TypeRules::default()
        };
        let rules = Rules {
            property: HOTEL,
            version: 1,
            zone: TimeZone::UTC,
            day_roll_over: time(4, 0, 0, 0),
            currency: Currency::from_code("EUR").expect("a currency"),
            horizon_days: 60,
            hold_seconds: 600,
            confirm_grace_seconds: 0,
            extensions_max: 1,
            late_confirm_retakes: true,
            bookable_from: None,
            policies: Policies::default(),
            types: [(DOUBLE, one("double")), (SUITE, one("suite"))].into(),
            plans: Default::default(),
            has_rates: false,
            pools: Default::default(),
        };
        let mut seen = Seen {
            now: "2030-05-06T12:00:00Z"
                .parse::<Timestamp>()
                .expect("an instant"),
            rules: std::iter::once((HOTEL, Arc::new(rules))).collect(),
            numbers: VecDeque::from_iter(1..100),
            ..Seen::default()
        };
        for offset in -2..20 {
            for room_type in [DOUBLE, SUITE] {
                let balance = NightBalance {
                    physical: 1,
                    ..NightBalance::default()
                };
                let born = Night {
                    balance,
                    version: 1,
                };
                seen.nights.insert((HOTEL, room_type, night(offset)), born);
            }
        }
        Self { seen, made: 0 }
    }

    fn pass(&mut self, seconds: i64) {
        self.seen.now += SignedDuration::from_secs(seconds);
    }

    /// Asks, and keeps what was decided. Says whether a want of rooms that holds take was noted.
    fn ask(&mut self, command: Command) -> (Answer, bool) {
        let asked = Asked::new(HOTEL, Arc::default(), command);
        let mut draft = Draft::new(self.seen.clone());
        let answer = all(&mut draft, [&asked]).remove(0);
        let starved = !draft.starved().is_empty();
        let changes = draft.changes();
        let changed = changes.changed.into_iter().map(|changed| changed.after);
        for reservation in changed.chain(changes.new) {
            let key = (HOTEL, reservation.id);
            self.seen.reservations.insert(key, reservation);
        }
        for (_, account, reference, _, known) in changes.references {
            self.seen.references.insert((account, reference), known);
        }
        for (key, version, balance) in changes.nights {
            let version = version + 1;
            self.seen.nights.insert(key, Night { balance, version });
        }
        (answer, starved)
    }

    fn done(&mut self, command: Command) -> Receipt {
        self.ask(command).0.expect("carried out")
    }

    fn after(&mut self, command: Command) -> Reservation {
        *self.done(command).reservation.expect("a reservation")
    }

    fn refused(&mut self, command: Command) -> &'static str {
        self.ask(command).0.expect_err("refused").code()
    }

    fn id(&mut self) -> ReservationId {
        self.made += 1;
        ReservationId(Uuid::from_u128(self.made))
    }

    fn wish(&mut self, hold: bool, room_type: RoomTypeId, nights: Stay) -> Reservation {
        let wish = Wish {
            reservation: self.id(),
            hold: hold.then_some(HoldEnd::Default),
            source: Source::Phone,
            rooms: vec![room(None, room_type, nights)],
            guest: None,
            note: None,
            owner_id: None,
            payment_reference: None,
            channel: None,
            guaranteed: false,
            force: None,
        };
        self.after(Command::Request(Box::new(wish)))
    }

    fn tell(&mut self, order: i64, kind: RevisionKind, rooms: Vec<RevisionRoom>) -> Reservation {
        let report = ReservationReport {
            hotel_code: None,
            reference: "R1".to_owned(),
            kind,
            order: Some(order),
            booked_at: None,
            rooms: rooms.iter().map(|room| room.told.clone()).collect(),
            guest: Guest::default(),
            total: None,
            commission: None,
            payment_model: None,
            remarks: Vec::new(),
            is_quote: false,
            acknowledge_as: None,
        };
        let fact = Fact {
            hash: format!("{order} {:?}", report.rooms),
            reservation: self.id(),
            revision: ReservationRevision {
                property: HOTEL,
                account: LISTING,
                report,
                rooms,
                is_snapshot: false,
                received_at: self.seen.now,
            },
        };
        self.after(Command::Record(Box::new(fact)))
    }

    fn step(&mut self, reservation: &Reservation, step: Progress) -> Reservation {
        self.after(Command::Progress {
            reservation: reservation.id,
            step,
            version: None,
        })
    }

    fn change(&mut self, before: &Reservation, rooms: Vec<WishedRoom>) -> Reservation {
        self.after(Command::Modify(Box::new(Modification {
            reservation: before.id,
            version: before.version,
            rooms: Some(rooms),
            guest: None,
            note: None,
            told_channel: true,
            force: None,
        })))
    }

    fn sold(&self, room_type: RoomTypeId) -> Vec<i32> {
        let of = |offset| self.seen.nights[&(HOTEL, room_type, night(offset))];
        (0..5).map(|offset| of(offset).balance.sold).collect()
    }
}

fn room(id: Option<i32>, room_type: RoomTypeId, nights: Stay) -> WishedRoom {
    WishedRoom {
        room_stay: id.map(RoomStayId),
        room_type,
        rate_plan: None,
        stay: nights,
        quantity: 1,
        price: None,
        adults: None,
        children_ages: Vec::new(),
        guest_name: None,
        allotment: None,
    }
}

fn told(key: &str, room_type: Option<RoomTypeId>, nights: Stay) -> RevisionRoom {
    RevisionRoom {
        told: ReportedRoom {
            room_key: Some(key.to_owned()),
            room_code: "C".to_owned(),
            arrival: Some(nights.arrival()),
            departure: Some(nights.departure()),
            quantity: 1,
            ..ReportedRoom::default()
        },
        room_type,
        is_fallback: false,
        rate_plan: None,
    }
}

fn confirm(of: &Reservation, payment: &str) -> Command {
    Command::Confirm {
        reservation: of.id,
        payment_reference: Some(payment.to_owned()),
        version: None,
    }
}

fn cancel(of: &Reservation) -> Command {
    Command::Cancel {
        reservation: of.id,
        reason: None,
        told_channel: true,
        version: None,
    }
}

#[test]
fn a_payment_that_is_owed_back_confirms_nothing_when_it_is_told_again() {
    let mut hotel = Hotel::new();
    let late = hotel.wish(true, DOUBLE, stay(0, 1));
    hotel.pass(700);
    hotel.done(Command::Expire {
        reservation: late.id,
    });
    let other = hotel.wish(false, DOUBLE, stay(0, 1));
    assert_eq!(hotel.refused(confirm(&late, "P1")), "hold_expired");
    hotel.done(cancel(&other));
    assert_eq!(hotel.refused(confirm(&late, "P1")), "hold_expired");
    let retaken = hotel.after(confirm(&late, "P2"));
    assert_eq!(retaken.status, Status::Confirmed);
    assert_eq!(retaken.detail.refunds_due, ["P1"]);
}

#[test]
fn a_dead_hold_that_is_cancelled_is_expired_whether_it_was_swept_or_not() {
    for is_swept in [false, true] {
        let mut hotel = Hotel::new();
        let hold = hotel.wish(true, DOUBLE, stay(0, 1));
        hotel.pass(700);
        if is_swept {
            hotel.done(Command::Expire {
                reservation: hold.id,
            });
        }
        let gone = hotel.after(cancel(&hold));
        assert_eq!((gone.status, gone.version), (Status::Expired, 2));
    }
}

#[test]
fn a_cut_that_only_a_dead_hold_hinders_waits_for_it_to_be_let_go() {
    let mut hotel = Hotel::new();
    let hold = hotel.wish(true, DOUBLE, stay(0, 1));
    hotel.pass(700);
    let cut = Command::SetPhysical {
        room_type: DOUBLE,
        nights: stay(0, 1),
        rooms: 0,
        force: None,
        dry_run: false,
    };
    let (answer, starved) = hotel.ask(cut.clone());
    assert!(answer.is_err() && starved, "the batch lets dead holds go");
    hotel.done(Command::Expire {
        reservation: hold.id,
    });
    hotel.done(cut);
    let burst = NightChange {
        room_type: DOUBLE,
        nights: stay(1, 2),
        out_of_order: Some(1),
        overbooking_limit: None,
        reason: None,
    };
    let burst = Command::SetNights {
        changes: vec![burst],
        dry_run: true,
    };
    assert!(hotel.done(burst).short.is_empty());
}

#[test]
fn what_changed_after_the_arrival_outlives_the_undo_of_the_arrival() {
    let mut hotel = Hotel::new();
    let booked = hotel.wish(false, DOUBLE, stay(0, 2));
    let arrived = hotel.step(&booked, Progress::CheckIn);
    let longer = hotel.change(&arrived, vec![room(Some(1), DOUBLE, stay(0, 4))]);
    let undone = hotel.step(&longer, Progress::Undo);
    assert_eq!(undone.status, Status::Confirmed);
    assert_eq!(undone.rooms[0].stay(), Some(stay(0, 4)));
    assert_eq!(hotel.sold(DOUBLE), [1, 1, 1, 1, 0]);
}

#[test]
fn a_change_beside_it_leaves_an_overdue_guest_the_room_for_tonight() {
    let mut hotel = Hotel::new();
    let booked = hotel.wish(false, DOUBLE, stay(0, 1));
    hotel.step(&booked, Progress::CheckIn);
    hotel.pass(24 * 3_600);
    let overdue = hotel.step(&booked, Progress::Overdue);
    assert_eq!(hotel.sold(DOUBLE), [1, 1, 0, 0, 0]);
    let rooms = vec![
        room(Some(1), DOUBLE, stay(0, 1)),
        room(None, SUITE, stay(1, 2)),
    ];
    hotel.change(&overdue, rooms);
    assert_eq!(hotel.sold(DOUBLE), [1, 1, 0, 0, 0]);
    assert_eq!(hotel.sold(SUITE), [0, 1, 0, 0, 0]);
}

#[test]
fn an_older_state_that_is_mapped_by_now_says_the_type_and_not_the_dates() {
    let mut hotel = Hotel::new();
    hotel.tell(1, RevisionKind::New, vec![told("a", None, stay(0, 1))]);
    hotel.tell(2, RevisionKind::Modified, vec![told("a", None, stay(2, 4))]);
    let old = vec![told("a", Some(DOUBLE), stay(0, 1))];
    let mapped = hotel.tell(1, RevisionKind::New, old);
    assert_eq!(mapped.rooms[0].stay(), Some(stay(2, 4)));
    assert!(mapped.flags.is_empty(), "{:?}", mapped.flags);
    assert_eq!(hotel.sold(DOUBLE), [0, 0, 1, 1, 0]);
}

#[test]
fn a_room_stays_unmapped_while_the_channel_speaks_of_another() {
    let mut hotel = Hotel::new();
    hotel.tell(1, RevisionKind::New, vec![told("a", None, stay(0, 1))]);
    let other = vec![told("b", Some(SUITE), stay(0, 1))];
    let still = hotel.tell(2, RevisionKind::Modified, other);
    assert_eq!(still.flags, ["unmapped"]);
    let mapped = vec![told("a", Some(DOUBLE), stay(0, 1))];
    let whole = hotel.tell(1, RevisionKind::New, mapped);
    assert!(whole.flags.is_empty(), "{:?}", whole.flags);
    assert_eq!(hotel.sold(DOUBLE), [1, 0, 0, 0, 0]);
}

#[test]
fn a_room_that_the_desk_gave_back_is_not_unmapped_and_no_repeat_brings_it_back() {
    let mut hotel = Hotel::new();
    let rooms = |mapped| {
        vec![
            told("a", mapped, stay(0, 1)),
            told("b", Some(SUITE), stay(0, 1)),
        ]
    };
    let both = hotel.tell(1, RevisionKind::New, rooms(None));
    let one = hotel.change(&both, vec![room(Some(2), SUITE, stay(0, 1))]);
    assert!(one.flags.is_empty(), "{:?}", one.flags);
    let repeated = hotel.tell(1, RevisionKind::New, rooms(Some(DOUBLE)));
    assert_eq!(repeated.version, one.version);
    assert_eq!(hotel.sold(DOUBLE), [0, 0, 0, 0, 0]);
}

#[test]
fn a_room_that_the_desk_added_does_not_become_the_channels_next_one() {
    let mut hotel = Hotel::new();
    let first = told("a", Some(DOUBLE), stay(0, 1));
    let one = hotel.tell(1, RevisionKind::New, vec![first.clone()]);
    let added = vec![
        room(Some(1), DOUBLE, stay(0, 1)),
        room(None, SUITE, stay(0, 1)),
    ];
    hotel.change(&one, added);
    let second = told("b", Some(DOUBLE), stay(2, 3));
    let all = hotel.tell(2, RevisionKind::Modified, vec![first, second]);
    assert_eq!(all.present_rooms().count(), 3);
    assert_eq!(hotel.sold(DOUBLE), [1, 0, 1, 0, 0]);
    assert_eq!(hotel.sold(SUITE), [1, 0, 0, 0, 0]);
}
