//! A reservation as its channel tells it: money, guests, and what is odd about it.

use keyrack_model::id::ReservationId;
use keyrack_model::reservation::{ReservationReport, ReservationRevision, Source, Status};
use keyrack_model::stay::plus_days;

use super::draft::{Draft, GuestChange};
use super::record_rooms::{Clip, guest_names, new_rooms};
use super::rules::Rules;
use super::state::{Detail, Reservation};
use crate::command::Fact;

/// A confirmed reservation as the channel tells it.
pub fn blank(draft: &mut Draft, fact: &Fact, successor_of: Option<ReservationId>) -> Reservation {
    let ReservationRevision {
        property,
        account,
        report,
        ..
    } = &fact.revision;
    let now = draft.now();
    let rules = draft.rules(*property);
    let clip = Clip::around(rules.business_day(now));
    let mut new = Reservation {
        property: *property,
        id: fact.reservation,
        number: draft.next_number(),
        status: Status::Confirmed,
        version: 0,
        source: Source::Channel,
        account: Some(*account),
        channel_reference: Some(report.reference.clone()),
        hold_until: None,
        hold_dead_at: None,
        extensions: 0,
        owner_id: None,
        payment_reference: None,
        booked_at: report.booked_at,
        created_at: now,
        updated_at: now,
        flags: Vec::new(),
        detail: Detail {
            successor_of,
            ..Detail::default()
        },
        rooms: Vec::new(),
    };
    new.rooms = new_rooms(&rules, &fact.revision.rooms, clip, 1);
    tell(&mut new, report);
    flag_oddities(&mut new, fact, &rules, clip);
    new
}

/// Money and links as the channel tells them.
pub fn tell(reservation: &mut Reservation, report: &ReservationReport) {
    let detail = &mut reservation.detail;
    detail.total = report.total.or(detail.total);
    detail.commission = report.commission.or(detail.commission);
    detail.payment_model = report.payment_model.clone().or(detail.payment_model.take());
    reservation.booked_at = report.booked_at.or(reservation.booked_at);
}

/// What staff should look at.
pub fn flag_oddities(reservation: &mut Reservation, fact: &Fact, rules: &Rules, clip: Clip) {
    // Also a room that this revision does not speak of.
    if reservation.has_unmapped_room() {
        reservation.flag("unmapped");
    }
    let told = fact.revision.rooms.iter().map(|room| &room.told);
    if told.clone().any(|room| clip.is_odd(room)) {
        reservation.flag("odd_dates");
    }
    if told
        .clone()
        .any(|room| room.arrival.is_some_and(|arrival| arrival < clip.today))
    {
        reservation.flag("in_the_past");
    }
    let horizon = plus_days(clip.today, rules.horizon_days);
    if told
        .clone()
        .any(|room| room.departure.is_some_and(|departure| departure > horizon))
    {
        reservation.flag("beyond_horizon");
    }
    let foreign = fact
        .revision
        .report
        .total
        .is_some_and(|m| m.currency != rules.currency);
    if foreign {
        reservation.flag("foreign_currency");
    }
}

/// Who comes, as the channel tells it.
pub fn guests(fact: &Fact) -> GuestChange {
    let report = &fact.revision.report;
    GuestChange {
        guest: Some(report.guest.clone()),
        room_guests: Some(guest_names(&fact.revision.rooms)),
        note: None,
        remarks: Some(report.remarks.clone()),
    }
}
