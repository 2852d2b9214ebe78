//! What a channel's word means as a command of a ledger.

use std::hash::{DefaultHasher, Hash, Hasher};

use keyrack_ledger::command::{Command, Fact};
use keyrack_model::money::{Currency, Money};
use keyrack_model::reservation::{
    Guest, ReportedRoom, ReservationReport, ReservationRevision, RevisionKind, RevisionRoom,
};
use keyrack_model::stay::plus_days;

use crate::ids::Ids;
use crate::shape::AccountShape;
use crate::step::{Record, Told};

/// A channel's reference.
pub(crate) fn reference(reference: u32) -> String {
    format!("ref-{reference}")
}

/// A fact, by the number of its step.
pub(crate) fn fact(record: &Record, number: usize, ids: &Ids) -> Command {
    let at = record.property;
    let account = &ids.shape(at).accounts[record.account];
    let rooms: Vec<RevisionRoom> = record
        .rooms
        .iter()
        .map(|told| revision_room(told, at, account, ids))
        .collect();
    let total = record.total.zip(Currency::from_code("EUR"));
    let report = ReservationReport {
        hotel_code: None,
        reference: reference(record.reference),
        kind: record.kind,
        order: record.order,
        booked_at: None,
        rooms: rooms.iter().map(|room| room.told.clone()).collect(),
        guest: Guest::default(),
        total: total.map(|(minor, currency)| Money::new(i64::from(minor), currency)),
        commission: None,
        payment_model: None,
        remarks: Vec::new(),
        is_quote: false,
        acknowledge_as: None,
    };
    Command::Record(Box::new(Fact {
        hash: content_hash(&report),
        reservation: ids.made_by(number),
        revision: ReservationRevision {
            property: ids.property(at).property,
            account: ids.property(at).accounts[record.account],
            report,
            rooms,
            is_snapshot: account.is_snapshot,
            received_at: ids.start(),
        },
    }))
}

fn revision_room(told: &Told, at: usize, account: &AccountShape, ids: &Ids) -> RevisionRoom {
    let arrival = ids.night(at, told.from);
    let types = &ids.property(at).types;
    let room_type = if told.is_mapped {
        Some(told.room_type)
    } else {
        account.fallback
    };
    RevisionRoom {
        told: ReportedRoom {
            room_key: account.has_room_keys.then(|| format!("room-{}", told.key)),
            room_code: format!("C{}", told.room_type),
            arrival: Some(arrival),
            departure: Some(plus_days(arrival, told.nights)),
            quantity: told.quantity,
            ..ReportedRoom::default()
        },
        room_type: room_type.map(|index| types[index]),
        is_fallback: !told.is_mapped && room_type.is_some(),
        rate_plan: None,
    }
}

/// The same content has the same hash, whatever its kind.
fn content_hash(report: &ReservationReport) -> String {
    let mut hasher = DefaultHasher::new();
    ReservationReport {
        kind: RevisionKind::New,
        ..report.clone()
    }
    .hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
