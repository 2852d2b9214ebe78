//! What an answer must be.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_ledger::command::{Answer, Receipt};
use keyrack_ledger::decide::refusal::{Force, Refusal};
use keyrack_ledger::decide::state::{Reservation, RoomStay};
use keyrack_model::id::{ReservationId, RoomTypeId};
use keyrack_model::stay::StayDate;

use super::entry::{Cell, Drawn, Entry, Room, nights};

/// What an answer must be.
#[derive(Clone, Debug)]
pub enum Expected {
    /// Refused.
    No(No),
    /// Carried out.
    Yes(Yes),
}

/// A refusal.
#[derive(Clone, Debug, Default)]
pub struct No {
    /// Its stable word.
    pub code: &'static str,
    /// Which nights it must name.
    pub nights: Option<BTreeSet<Cell>>,
    /// What a force would have to name.
    pub allow: Option<Force>,
    /// The version that is the present one.
    pub current: Option<i64>,
}

/// A success.
#[derive(Clone, Debug, Default)]
pub struct Yes {
    /// The reservation after it.
    pub reservation: Option<(ReservationId, Arc<Entry>)>,
    /// Nights whose counts changed: the answer names them all.
    pub touched: BTreeSet<Cell>,
    /// Nights that fall short, and by how many rooms.
    pub short: Option<BTreeMap<Cell, i32>>,
}

impl Expected {
    /// A refusal by this word.
    pub fn no(code: &'static str) -> Self {
        Self::No(No {
            code,
            ..No::default()
        })
    }

    /// A refusal that names these nights.
    pub fn no_on(code: &'static str, nights: BTreeSet<Cell>) -> Self {
        Self::No(No {
            code,
            nights: Some(nights),
            ..No::default()
        })
    }

    /// A refusal that a force would overcome.
    pub fn needs(allow: Force, nights: BTreeSet<Cell>) -> Self {
        Self::No(No {
            code: "needs_force",
            nights: Some(nights),
            allow: Some(allow),
            current: None,
        })
    }

    /// What differs between what must be and what was answered; nothing where it agrees. A refusal
    /// is a look that locks nothing: the nights `moving` at the time it may name as they were at
    /// different moments.
    pub fn differences(&self, answer: &Answer, moving: &BTreeSet<Cell>) -> Vec<String> {
        let mut found = Vec::new();
        match (self, answer) {
            (Self::No(no), Err(refusal)) => no.compare(refusal, moving, &mut found),
            (Self::Yes(yes), Ok(receipt)) => yes.compare(receipt, &mut found),
            (Self::No(no), Ok(receipt)) => {
                found.push(format!(
                    "must be refused as {}, did {}",
                    no.code, receipt.did
                ));
            }
            (Self::Yes(_), Err(refusal)) => {
                found.push(format!("must be carried out, was refused: {refusal:?}"));
            }
        }
        found
    }
}

impl No {
    fn compare(&self, refusal: &Refusal, moving: &BTreeSet<Cell>, found: &mut Vec<String>) {
        if refusal.code() != self.code {
            found.push(format!("must be refused as {}, not {refusal:?}", self.code));
            return;
        }
        let (nights, allow, current) = match refusal {
            Refusal::NeedsForce { allow, nights, .. } => (Some(nights), Some(*allow), None),
            Refusal::NotYetOpen(nights)
            | Refusal::SoldOut(nights)
            | Refusal::AllotmentExhausted(nights) => (Some(nights), None, None),
            Refusal::VersionMismatch { current } => (None, None, Some(*current)),
            _ => (None, None, None),
        };
        let named = nights.map(|nights| nights.iter().copied().collect::<BTreeSet<_>>());
        let agrees = match (&self.nights, &named) {
            (Some(must), Some(named)) => {
                let different: BTreeSet<Cell> = must ^ named;
                different.is_empty() || different.is_subset(moving) && !must.is_disjoint(named)
            }
            (must, _) => must.is_none(),
        };
        if !agrees {
            let words = format!("{} names {named:?}, not {:?}", self.code, self.nights);
            found.push(words);
        }
        if self.allow.is_some() && allow != self.allow {
            found.push(format!("allow {allow:?}, not {:?}", self.allow));
        }
        if self.current.is_some() && current != self.current {
            found.push(format!("current {current:?}, not {:?}", self.current));
        }
    }
}

impl Yes {
    fn compare(&self, receipt: &Receipt, found: &mut Vec<String>) {
        match (&self.reservation, &receipt.reservation) {
            (None, None) => {}
            (Some((id, entry)), Some(answered)) => {
                if answered.id != *id {
                    found.push(format!("answers with {}, not {id}", answered.id));
                }
                found.extend(of_entry(entry, answered));
            }
            (wanted, answered) => found.push(format!(
                "answers with {:?}, not {:?}",
                answered.as_ref().map(|r| r.id),
                wanted.as_ref().map(|(id, _)| id)
            )),
        }
        let mut named = BTreeSet::new();
        for (room_type, range) in &receipt.nights {
            let each = nights(range.arrival(), range.departure());
            named.extend(each.map(|night| (*room_type, night)));
        }
        if !receipt.is_replay && !self.touched.is_subset(&named) {
            let missing: Vec<_> = self.touched.difference(&named).collect();
            found.push(format!("nights changed that it does not name: {missing:?}"));
        }
        let short = receipt.short.iter();
        let short: BTreeMap<Cell, i32> = short.map(|s| ((s.room_type, s.night), s.rooms)).collect();
        if self.short.as_ref().is_some_and(|wanted| *wanted != short) {
            found.push(format!("short is {short:?}, not {:?}", self.short));
        }
    }
}

/// What differs between an entry of the books and a reservation of the ledger.
pub fn of_entry(entry: &Entry, known: &Reservation) -> Vec<String> {
    let mut found = Vec::new();
    let all = &mut found;
    differ(all, "status", known.status, entry.status);
    differ(all, "version", known.version, entry.version);
    differ(all, "source", known.source, entry.source);
    let account = entry.channel.as_ref().map(|(account, _)| *account);
    differ(all, "account", known.account, account);
    let reference = entry.channel.as_ref().map(|(_, reference)| reference);
    differ(
        all,
        "reference",
        known.channel_reference.as_ref(),
        reference,
    );
    differ(all, "extensions", known.extensions, entry.extensions);
    let payment = &known.payment_reference;
    differ(all, "payment", payment, &entry.payment);
    let owed: BTreeSet<_> = known.detail.refunds_due.iter().collect();
    differ(all, "refund_due", owed, entry.refunds.iter().collect());
    let successor_of = known.detail.successor_of;
    differ(all, "successor_of", successor_of, entry.successor_of);
    let shouts = known.flags.iter().any(|flag| flag == "unmapped");
    differ(all, "unmapped", shouts, entry.has_unmapped());
    let hold = [entry.hold.map(|h| h.0), entry.hold.map(|h| h.1)];
    let known_hold = [known.hold_until, known.hold_dead_at];
    if !(0..2).all(|at| is_near(known_hold[at], hold[at])) {
        differ(all, "hold", known_hold, hold);
    }
    let ids: Vec<i32> = entry.rooms.iter().map(|room| room.id).collect();
    let mut known_ids: Vec<i32> = known.rooms.iter().map(|room| room.id.0).collect();
    known_ids.sort_unstable();
    differ(all, "rooms", known_ids, ids);
    for room in &entry.rooms {
        let same = known.rooms.iter().find(|known| known.id.0 == room.id);
        let (is, must) = (same.map(Taken::of_ledger), Taken::of_books(room));
        if is != Some(must) {
            differ(all, &format!("room {}", room.id), is, Some(must));
        }
    }
    let mut drawn: Vec<Drawn> = known.detail.drawn.iter().map(drawn).collect();
    let mut must = entry.drawn.clone();
    drawn.sort_unstable();
    must.sort_unstable();
    differ(all, "drawn", drawn, must);
    found
}

fn drawn(one: &keyrack_ledger::decide::drawn::Drawn) -> Drawn {
    Drawn {
        room: one.room.0,
        allotment: one.allotment,
        room_type: one.room_type,
        night: one.night,
        rooms: one.rooms,
    }
}

fn differ<T: PartialEq + Debug>(found: &mut Vec<String>, what: &str, is: T, must: T) {
    if is != must {
        found.push(format!("{what} is {is:?}, must be {must:?}"));
    }
}

/// The same instant but for the milliseconds of a real run.
fn is_near(is: Option<Timestamp>, must: Option<Timestamp>) -> bool {
    match (is, must) {
        (Some(is), Some(must)) => is.duration_since(must).as_secs().abs() < 20,
        (is, must) => is == must,
    }
}

/// What a room takes; of one that is given back nothing matters.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Taken {
    is_gone: bool,
    room_type: Option<RoomTypeId>,
    stay: (StayDate, StayDate),
    /// Of nights that are none, where they lie does not matter.
    nights: Option<(StayDate, StayDate)>,
    quantity: i32,
}

impl Taken {
    fn of_ledger(room: &RoomStay) -> Self {
        let nights = (room.taken_from, room.taken_until);
        Self {
            is_gone: false,
            room_type: room.room_type,
            stay: (room.arrival, room.departure),
            nights: (nights.0 < nights.1).then_some(nights),
            quantity: room.quantity,
        }
        .unless_gone(room.is_given_back)
    }

    fn of_books(room: &Room) -> Self {
        let nights = (room.from, room.until);
        Self {
            is_gone: false,
            room_type: room.room_type,
            stay: (room.arrival, room.departure),
            nights: (nights.0 < nights.1).then_some(nights),
            quantity: room.quantity,
        }
        .unless_gone(room.is_gone)
    }

    fn unless_gone(self, is_gone: bool) -> Self {
        if !is_gone {
            return self;
        }
        Self {
            is_gone,
            room_type: None,
            stay: (StayDate::MIN, StayDate::MIN),
            nights: None,
            quantity: 0,
        }
    }
}
