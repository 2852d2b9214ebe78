//! Commands by chance.

use jiff::SignedDuration;
use keyrack_ledger::command::{
    Command, Fact, Forced, HoldEnd, Modification, NightChange, Progress, Wish, WishedRoom,
};
use keyrack_ledger::decide::allotment::{AgreedRooms, Agreement};
use keyrack_ledger::decide::refusal::Force;
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::allotment::Release;
use keyrack_model::id::{ReservationId, RoomStayId};
use keyrack_model::reservation::{
    Guest, ReportedRoom, ReservationReport, ReservationRevision, RevisionKind, RevisionRoom, Source,
};
use keyrack_model::stay::{Stay, Weekdays};
use uuid::Uuid;

use super::allotment_paper::{ALLOTMENTS, DOUBLE, HOTEL, PORTAL, Paper, SUITE, night};

/// Numbers by chance, the same for the same seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, n: i32) -> i32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005);
        self.0 = self.0.wrapping_add(1_442_695_040_888_963_407);
        let roll = (self.0 >> 33) % u64::from(n.unsigned_abs().max(1));
        i32::try_from(roll).expect("below an i32")
    }

    fn stay(&mut self) -> Stay {
        let from = self.below(10);
        let until = from + 1 + self.below(4);
        Stay::new(night(from), night(until)).expect("a stay")
    }

    fn force(&mut self) -> Option<Forced> {
        let allow = match self.below(4) {
            0 => vec![Force::Allotment],
            1 => vec![Force::Oversell, Force::Allotment, Force::Past],
            _ => return None,
        };
        Some(Forced {
            reason: "chance".to_owned(),
            allow,
        })
    }
}

impl Paper {
    fn id(&mut self) -> ReservationId {
        self.made += 1;
        ReservationId(Uuid::from_u128(self.made))
    }

    fn some(&mut self) -> Option<Reservation> {
        let count = i32::try_from(self.reservations.len()).expect("few");
        let at = usize::try_from(self.dice.below(count)).expect("an index");
        let id = self.reservations.get(at)?;
        Some(self.seen.reservations[&(HOTEL, *id)].clone())
    }

    fn room(&mut self, id: Option<RoomStayId>) -> WishedRoom {
        let room_type = if self.dice.below(5) == 0 {
            SUITE
        } else {
            DOUBLE
        };
        let at = usize::try_from(self.dice.below(3)).expect("an index");
        let is_named = room_type == DOUBLE && self.dice.below(2) == 0;
        WishedRoom {
            room_stay: id,
            room_type,
            rate_plan: None,
            stay: self.dice.stay(),
            quantity: 1 + self.dice.below(3),
            price: None,
            adults: None,
            children_ages: Vec::new(),
            guest_name: None,
            allotment: is_named.then_some(ALLOTMENTS[at]),
        }
    }

    fn agree(&mut self) -> Command {
        let at = usize::try_from(self.dice.below(3)).expect("an index");
        let allotment = ALLOTMENTS[at];
        let rules = &self.seen.rules[&HOTEL];
        let mut terms = rules.pools.allotments[&allotment].clone();
        terms.release = Release {
            period_days: self.dice.below(4),
            cut_off: (self.dice.below(5) == 0).then(|| night(self.dice.below(20))),
        };
        let values = (0..=self.dice.below(2)).map(|_| AgreedRooms {
            nights: self.dice.stay(),
            weekdays: Weekdays::ALL,
            rooms: self.dice.below(4),
        });
        Command::Agree(Box::new(Agreement {
            allotment,
            terms,
            values: values.collect(),
            nights: Stay::new(night(0), night(30)),
            force: self.dice.force(),
            dry_run: self.dice.below(8) == 0,
        }))
    }

    fn wish(&mut self) -> Command {
        let rooms = (0..=self.dice.below(2)).map(|_| self.room(None)).collect();
        let reference = format!("W{}", self.dice.below(500));
        Command::Request(Box::new(Wish {
            reservation: self.id(),
            hold: (self.dice.below(2) == 0).then_some(HoldEnd::Default),
            source: Source::Phone,
            rooms,
            guest: None,
            note: None,
            owner_id: None,
            payment_reference: None,
            channel: (self.dice.below(3) == 0).then_some((PORTAL, reference)),
            guaranteed: false,
            force: self.dice.force(),
        }))
    }

    fn fact(&mut self) -> Command {
        let kind = match self.dice.below(4) {
            0 => RevisionKind::Cancelled,
            1 => RevisionKind::Modified,
            _ => RevisionKind::New,
        };
        let rooms = (0..=self.dice.below(2)).map(|key| RevisionRoom {
            told: ReportedRoom {
                room_key: Some(key.to_string()),
                room_code: "C".to_owned(),
                arrival: Some(night(self.dice.below(12) - 2)),
                departure: Some(night(self.dice.below(14))),
                quantity: 1 + self.dice.below(2),
                ..ReportedRoom::default()
            },
            room_type: match self.dice.below(6) {
                0 => None,
                1 => Some(SUITE),
                _ => Some(DOUBLE),
            },
            is_fallback: false,
            rate_plan: None,
        });
        let rooms: Vec<RevisionRoom> = rooms.collect();
        let order = i64::try_from(self.made).expect("few");
        let report = ReservationReport {
            hotel_code: None,
            reference: format!("R{}", self.dice.below(12)),
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
        Command::Record(Box::new(Fact {
            hash: format!("{order} {:?}", report.rooms),
            reservation: self.id(),
            revision: ReservationRevision {
                property: HOTEL,
                account: PORTAL,
                report,
                rooms,
                is_snapshot: self.dice.below(2) == 0,
                received_at: self.seen.now,
            },
        }))
    }

    fn of_one(&mut self, one: &Reservation) -> Command {
        let reservation = one.id;
        let version = None;
        match self.dice.below(9) {
            0 => Command::Confirm {
                reservation,
                payment_reference: None,
                version,
            },
            1 | 2 => Command::Cancel {
                reservation,
                reason: None,
                told_channel: true,
                version,
            },
            3 => Command::Expire { reservation },
            4 | 5 => {
                let ids = one.present_rooms().map(|room| room.id);
                let mut rooms: Vec<WishedRoom> = ids.map(|id| self.room(Some(id))).collect();
                if self.dice.below(3) == 0 {
                    rooms.push(self.room(None));
                }
                Command::Modify(Box::new(Modification {
                    reservation,
                    version: one.version,
                    rooms: Some(rooms),
                    guest: None,
                    note: None,
                    told_channel: true,
                    force: self.dice.force(),
                }))
            }
            step => Command::Progress {
                reservation,
                step: match (step, self.dice.below(4)) {
                    (6, 0) => Progress::NoShow { keep: Some(false) },
                    (6, _) => Progress::CheckIn,
                    (7, 0) => Progress::Overdue,
                    (7, 1) => Progress::ReleaseNoShow,
                    (7, _) => Progress::CheckOut,
                    (_, 0) => Progress::Complete,
                    _ => Progress::Undo,
                },
                version,
            },
        }
    }

    pub fn step(&mut self) {
        let command = match self.dice.below(12) {
            0 => self.agree(),
            1 => Command::ReleaseAllotment {
                allotment: ALLOTMENTS[usize::try_from(self.dice.below(3)).expect("an index")],
                nights: Stay::new(night(-5), night(30)).expect("nights"),
            },
            2 => Command::SetNights {
                changes: vec![NightChange {
                    room_type: DOUBLE,
                    nights: self.dice.stay(),
                    out_of_order: Some(self.dice.below(3)),
                    overbooking_limit: Some(self.dice.below(2)),
                    reason: None,
                }],
                dry_run: false,
            },
            3..=5 => self.fact(),
            6..=7 => self.wish(),
            _ => match self.some() {
                Some(one) => self.of_one(&one),
                None => self.wish(),
            },
        };
        if self.dice.below(6) == 0 {
            let minutes = i64::from(self.dice.below(240));
            self.seen.now += SignedDuration::from_mins(minutes);
        }
        let before = self.seen.clone();
        let words = format!("{command:?}");
        let answer = self.ask(command.clone());
        self.compare(&before, &command, &answer, &words);
    }
}
