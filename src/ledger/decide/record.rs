//! A fact: a channel has confirmed a guest. Never refused for want of rooms, mapping, price or
//! data.

use keyrack_model::id::{AccountId, PropertyId, ReservationId};
use keyrack_model::reservation::{ReservationRevision, RevisionKind, Status};

use super::draft::{Draft, Reference};
use super::drawn::draw_as_fact;
use super::guest_limit;
use super::hold::{cancelled, expired};
use super::record_rooms::{Clip, map_rooms, reopened_there, revise_rooms};
use super::record_told::{blank, flag_oddities, guests, tell};
use super::request::receipt;
use super::state::Reservation;
use crate::command::{Answer, Fact, Receipt};

/// Decides a fact.
pub fn record(draft: &mut Draft, fact: &Fact) -> Answer {
    let revision = &fact.revision;
    let known = draft
        .reference(revision.account, &revision.report.reference)
        .cloned();
    let receipt = match known {
        None => first(draft, fact),
        Some(known) => again(draft, fact, known),
    };
    Ok(receipt)
}

/// The first word of a reference: a reservation, or the tombstone of a cancel that came first.
fn first(draft: &mut Draft, fact: &Fact) -> Receipt {
    if fact.revision.report.kind == RevisionKind::Cancelled {
        remember(draft, fact, None, true);
        let reason = Some(format!("reference {}", fact.revision.report.reference));
        draft.write(
            fact.revision.property,
            None,
            "tombstone",
            Vec::new(),
            reason,
        );
        return without_reservation("tombstone");
    }
    create(draft, fact, None)
}

/// A later word of a known reference.
fn again(draft: &mut Draft, fact: &Fact, known: Reference) -> Receipt {
    let revision = &fact.revision;
    let kind = revision.report.kind;
    let present = known
        .reservation
        .and_then(|id| draft.reservation((revision.property, id)).cloned());
    let maps_anew = present.as_ref().is_some_and(|r| maps_anew(r, revision));
    if is_repeat(&known, fact) && !maps_anew {
        return repeated(present, "repeated");
    }
    if is_older(&known, revision) {
        return match present {
            Some(present) if maps_anew => map(draft, fact, present),
            None if kind != RevisionKind::Cancelled => keep_cancelled(draft, fact, known),
            present => repeated(present, "older"),
        };
    }
    if known.is_cancelled && !revives(&known, revision) {
        return after_cancel(draft, fact, known, present);
    }
    let present = present.map(|present| expired(draft, present));
    match (present, kind) {
        (None, RevisionKind::Cancelled) => repeated(None, "tombstone"),
        (None, _) => create(draft, fact, None),
        (Some(present), RevisionKind::Cancelled) => cancel(draft, fact, present),
        (Some(present), _) if is_over(&present) => create(draft, fact, Some(present.id)),
        (Some(present), _) => revise(draft, fact, &known, present),
    }
}

fn is_repeat(known: &Reference, fact: &Fact) -> bool {
    known.last_hash == fact.hash
        && known.is_cancelled == (fact.revision.report.kind == RevisionKind::Cancelled)
}

/// Older by the channel's own order; where it tells none, a first state after a later one.
fn is_older(known: &Reference, revision: &ReservationRevision) -> bool {
    match (revision.report.order, known.last_order) {
        (Some(new), Some(last)) => new < last,
        _ => revision.report.kind == RevisionKind::New && known.last_kind == RevisionKind::Modified,
    }
}

/// Strictly newer than the cancel, by the channel's own order: the guest comes after all.
fn revives(known: &Reference, revision: &ReservationRevision) -> bool {
    revision.report.kind != RevisionKind::Cancelled
        && matches!((revision.report.order, known.last_order), (Some(new), Some(last)) if new >
        last)
}

/// The desk cancelled or the hold ran out, and the channel still believes in the guest.
fn is_over(present: &Reservation) -> bool {
    matches!(present.status, Status::Cancelled | Status::Expired)
}

/// Its codes were not mapped when it was recorded, and now they are.
fn maps_anew(present: &Reservation, revision: &ReservationRevision) -> bool {
    present.has_unmapped_room()
        && !is_over(present)
        && revision.report.kind != RevisionKind::Cancelled
        && revision.unmapped().next().is_none()
}

/// What comes after the channel's cancel stays cancelled. A newer cancel is remembered, so that
/// nothing older brings the guest back; one without an order is the oldest.
fn after_cancel(
    draft: &mut Draft,
    fact: &Fact,
    known: Reference,
    present: Option<Reservation>,
) -> Receipt {
    let is_cancel = fact.revision.report.kind == RevisionKind::Cancelled;
    if is_cancel && fact.revision.report.order > known.last_order {
        remember(draft, fact, known.reservation, true);
    }
    if is_cancel || present.is_some() {
        return repeated(present, "repeated");
    }
    keep_cancelled(draft, fact, known)
}

/// A state that comes after its own cancel, and before any other, is kept as a cancelled
/// reservation; the cancel stays the last word of its reference.
fn keep_cancelled(draft: &mut Draft, fact: &Fact, known: Reference) -> Receipt {
    let mut late = blank(draft, fact, None);
    late.status = Status::Cancelled;
    late.flag("cancel_came_first");
    let key = (late.property, late.id);
    let reason = Some("the cancel of this reference came first".to_owned());
    let (late, nights) = draft.put(late, "cancelled", reason);
    draft.put_guests(key, guests(fact));
    let revision = &fact.revision;
    let reference = Reference {
        reservation: Some(late.id),
        ..known
    };
    draft.put_reference(
        revision.property,
        revision.account,
        &revision.report.reference,
        reference,
    );
    receipt(late, "cancelled", nights)
}

fn create(draft: &mut Draft, fact: &Fact, successor_of: Option<ReservationId>) -> Receipt {
    let mut new = blank(draft, fact, successor_of);
    draw_as_fact(draft, None, &mut new);
    if guest_limit::count(draft, &new, &fact.revision.report.guest) {
        new.flag(GUEST_LIMIT);
    }
    let key = (new.property, new.id);
    let reason = successor_of.map(|id| format!("continues {id}, which had ended"));
    let (new, nights) = draft.put(new, "confirmed", reason);
    draft.put_guests(key, guests(fact));
    remember(draft, fact, Some(new.id), false);
    receipt(new, "confirmed", nights)
}

fn cancel(draft: &mut Draft, fact: &Fact, mut present: Reservation) -> Receipt {
    let staff_cancelled = is_over(&present);
    let reopened = reopened_there(&draft.rules(present.property), &present.rooms);
    if let Some(fee) = fact.revision.report.total {
        present.detail.cancellation_fee = Some(fee);
    }
    let (gone, nights) = match present.status {
        Status::Held | Status::Confirmed => {
            cancelled(draft, present, Some("cancelled by the channel"))
        }
        _ if staff_cancelled => (present, Vec::new()),
        // The guest is or was here: the rooms were slept in. Staff must look at it.
        _ => {
            present.flag("cancelled_by_channel");
            draft.put(
                present,
                "modified",
                Some("the channel cancelled it".to_owned()),
            )
        }
    };
    draft.tell_again(&gone, reopened);
    remember(draft, fact, Some(gone.id), true);
    receipt(gone, "cancelled", nights)
}

fn revise(draft: &mut Draft, fact: &Fact, known: &Reference, before: Reservation) -> Receipt {
    let report = &fact.revision.report;
    let rules = draft.rules(before.property);
    let clip = Clip::around(rules.business_day(draft.now()));
    let reopened = reopened_there(&rules, &before.rooms);
    let rooms_before = before.rooms.clone();
    let mut after = before.clone();
    let key = (after.property, after.id);
    let by_both = revise_rooms(&rules, &mut after.rooms, &fact.revision, clip);
    after.keep_changes_since(&rooms_before);
    if by_both {
        after.flag("changed_by_both");
    }
    let is_other = known.last_hash != fact.hash;
    if is_other && report.order.is_some() && report.order == known.last_order {
        after.flag("same_order_other_content");
    }
    if after.status == Status::Held {
        after.status = Status::Confirmed;
    }
    tell(&mut after, report);
    after.unflag_unmapped();
    flag_oddities(&mut after, fact, &rules, clip);
    draw_as_fact(draft, Some(&before), &mut after);
    if guest_limit::count(draft, &after, &report.guest) {
        after.flag(GUEST_LIMIT);
    } else {
        after.unflag(GUEST_LIMIT);
    }
    let (after, nights) = draft.put(after, "modified", None);
    draft.tell_again(&after, reopened);
    draft.put_guests(key, guests(fact));
    remember(draft, fact, Some(after.id), false);
    receipt(after, "modified", nights)
}

/// An older state whose codes are mapped by now: it says which types were meant, and nothing that
/// a newer state has not overtaken.
fn map(draft: &mut Draft, fact: &Fact, mut present: Reservation) -> Receipt {
    let rules = draft.rules(present.property);
    let before = present.clone();
    if !map_rooms(&rules, &mut present.rooms, &fact.revision) {
        return repeated(Some(present), "older");
    }
    if !present.has_unmapped_room() {
        present.unflag_unmapped();
    }
    draw_as_fact(draft, Some(&before), &mut present);
    let reason = Some("the codes of an older state are mapped now".to_owned());
    let (present, nights) = draft.put(present, "modified", reason);
    receipt(present, "modified", nights)
}

fn remember(
    draft: &mut Draft,
    fact: &Fact,
    reservation: Option<ReservationId>,
    is_cancelled: bool,
) {
    let ReservationRevision {
        property,
        account,
        report,
        ..
    } = &fact.revision;
    let (property, account): (PropertyId, AccountId) = (*property, *account);
    let last = draft
        .reference(account, &report.reference)
        .and_then(|known| known.last_order);
    let reference = Reference {
        reservation,
        last_order: report.order.or(last),
        last_kind: report.kind,
        last_hash: fact.hash.clone(),
        is_cancelled,
        version: 0,
    };
    draft.put_reference(property, account, &report.reference, reference);
}

/// The guest has more reservations for the arrival date than the property takes.
const GUEST_LIMIT: &str = "guest_limit";

fn repeated(present: Option<Reservation>, did: &str) -> Receipt {
    match present {
        Some(present) => receipt(present, did, Vec::new()),
        None => without_reservation(did),
    }
}

fn without_reservation(did: &str) -> Receipt {
    Receipt {
        reservation: None,
        did: did.to_owned(),
        nights: Vec::new(),
        short: Vec::new(),
        is_replay: false,
    }
}
