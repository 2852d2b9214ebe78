//! Holds and their ends: confirm, extend, expire; and cancel, which ends anything.

use keyrack_model::reservation::{Source, Status};

use super::draft::{Draft, ReservationKey};
use super::drawn::{self, draw_as_fact};
use super::refusal::Refusal;
use super::request::{has_rooms, receipt, until};
use super::revise::Claim;
use super::state::Reservation;
use crate::command::{Answer, HoldEnd};

/// The reservation, in the version that the caller read where he says one.
pub fn present(
    draft: &Draft,
    key: ReservationKey,
    version: Option<i64>,
) -> Result<Reservation, Refusal> {
    let found = draft.reservation(key).cloned();
    let found = found.ok_or_else(|| Refusal::NotFound("reservation".to_owned()))?;
    match version {
        Some(read) if read != found.version => Err(Refusal::VersionMismatch {
            current: found.version,
        }),
        _ => Ok(found),
    }
}

/// What a receipt says of a confirm within the grace after its hold.
pub(crate) const IN_GRACE: &str = "confirmed_in_grace";
/// What a receipt says of a confirm that took the rooms of a dead hold anew.
pub(crate) const RETAKEN: &str = "retaken";

/// A hold becomes a stay. In the grace it is honoured; after its death `hold_expired`, or taken
/// anew where the property says `retake` and rooms are free. A payment that cannot be used
/// is owed back.
pub fn confirm(
    draft: &mut Draft,
    key: ReservationKey,
    payment: Option<&str>,
    version: Option<i64>,
) -> Answer {
    let present = present(draft, key, version)?;
    match present.status {
        Status::Held if is_alive(draft, &present) => {
            let is_late = present.hold_until.is_some_and(|end| end <= draft.now());
            let did = if is_late { IN_GRACE } else { "confirmed" };
            Ok(confirmed(draft, present, payment, did, None))
        }
        Status::Held | Status::Expired => late(draft, present, payment),
        Status::Confirmed | Status::CheckedIn | Status::Completed | Status::NoShow => {
            if payment.is_none() || payment == present.payment_reference.as_deref() {
                return Ok(receipt(present, "repeated", Vec::new()));
            }
            refund_due(
                draft,
                present,
                payment,
                "confirmed with another payment before",
            );
            Err(Refusal::AlreadyConfirmed)
        }
        Status::Cancelled => {
            refund_due(
                draft,
                present,
                payment,
                "the reservation was cancelled before",
            );
            Err(Refusal::IllegalTransition(
                "it was cancelled before and stays so: book anew if the guest comes after all"
                    .to_owned(),
            ))
        }
    }
}

fn is_alive(draft: &Draft, hold: &Reservation) -> bool {
    hold.hold_dead_at
        .is_some_and(|dead_at| draft.now() < dead_at)
}

fn confirmed(
    draft: &mut Draft,
    mut hold: Reservation,
    payment: Option<&str>,
    did: &str,
    reason: Option<String>,
) -> crate::command::Receipt {
    hold.status = Status::Confirmed;
    hold.payment_reference = payment.map(str::to_owned);
    hold.detail.guaranteed |= payment.is_some();
    let (hold, nights) = draft.put(hold, "confirmed", reason);
    receipt(hold, did, nights)
}

fn late(draft: &mut Draft, hold: Reservation, payment: Option<&str>) -> Answer {
    let expired = expired(draft, hold);
    let rules = draft.rules(expired.property);
    // A payment that is owed back pays nothing any more: a repeat is answered as the first.
    let owed = &expired.detail.refunds_due;
    let is_owed = payment.is_some_and(|payment| owed.iter().any(|known| known == payment));
    if rules.late_confirm_retakes && !is_owed {
        let mut claim = Claim::default();
        expired
            .present_rooms()
            .for_each(|room| claim.add_room(room));
        let mut anew = expired.clone();
        draw_as_fact(draft, Some(&expired), &mut anew);
        let property = expired.property;
        let shared = drawn::shared(draft, property, claim.0, None, &anew.detail.drawn);
        if has_rooms(draft, expired.property, &shared, None).is_ok() {
            let reason = Some("taken anew after the hold had died".to_owned());
            return Ok(confirmed(draft, anew, payment, RETAKEN, reason));
        }
    }
    refund_due(
        draft,
        expired,
        payment,
        "the hold had died before the payment came",
    );
    Err(Refusal::HoldExpired)
}

/// A dead hold without its rooms, as the sweeper would leave it; anything else as it is. Dead from
/// its instant, whoever tidies up.
pub fn expired(draft: &mut Draft, mut hold: Reservation) -> Reservation {
    if hold.status == Status::Held && !is_alive(draft, &hold) {
        hold.status = Status::Expired;
        hold = draft.put(hold, "expired", None).0;
    }
    hold
}

/// Writes that a payment is owed back, once for each payment.
fn refund_due(draft: &mut Draft, mut owed: Reservation, payment: Option<&str>, why: &str) {
    let Some(payment) = payment else { return };
    if owed.detail.refunds_due.iter().any(|known| known == payment) {
        return;
    }
    owed.detail.refunds_due.push(payment.to_owned());
    owed.flag("refund_due");
    draft.put(
        owed,
        "refund_due",
        Some(format!("payment {payment}: {why}")),
    );
}

/// A dead hold gives its rooms back.
pub fn expire(draft: &mut Draft, key: ReservationKey) -> Answer {
    let hold = present(draft, key, None)?;
    if hold.status != Status::Held || is_alive(draft, &hold) {
        return Err(Refusal::IllegalTransition(
            "the hold still stands: let it run out, or cancel it".to_owned(),
        ));
    }
    let mut hold = hold;
    hold.status = Status::Expired;
    let (hold, nights) = draft.put(hold, "expired", None);
    Ok(receipt(hold, "expired", nights))
}

/// A hold lives longer, a bounded number of times.
pub fn extend(
    draft: &mut Draft,
    key: ReservationKey,
    end: HoldEnd,
    version: Option<i64>,
) -> Answer {
    let mut hold = present(draft, key, version)?;
    if hold.status == Status::Expired || hold.status == Status::Held && !is_alive(draft, &hold) {
        return Err(Refusal::HoldExpired);
    }
    if hold.status != Status::Held {
        let words = format!(
            "only a hold is extended, and this reservation is {}: look at it again",
            hold.status.in_words()
        );
        return Err(Refusal::IllegalTransition(words));
    }
    let rules = draft.rules(hold.property);
    if hold.extensions >= rules.extensions_max {
        let words = format!(
            "a hold is extended at most {} times: confirm it, or let it run out",
            rules.extensions_max
        );
        return Err(Refusal::IllegalTransition(words));
    }
    let types = hold
        .present_rooms()
        .filter_map(|room| room.room_type)
        .collect::<Vec<_>>();
    let default = rules.hold_seconds(hold.source, types.into_iter());
    let (hold_until, dead_at) = until(&rules, draft.now(), end, default)?;
    hold.hold_until = Some(hold_until);
    hold.hold_dead_at = Some(dead_at);
    hold.extensions += 1;
    let (hold, nights) = draft.put(hold, "extended", None);
    Ok(receipt(hold, "extended", nights))
}

/// How a cancel comes.
#[derive(Clone, Copy, Debug)]
pub struct Cancel<'a> {
    /// Why.
    pub reason: Option<&'a str>,
    /// The channel knows.
    pub told_channel: bool,
}

/// The rooms come back, exactly once; a repeat gets the same success.
pub fn cancel(
    draft: &mut Draft,
    key: ReservationKey,
    how: &Cancel<'_>,
    version: Option<i64>,
) -> Answer {
    let present = present(draft, key, version)?;
    let present = expired(draft, present);
    match present.status {
        Status::Cancelled | Status::Expired => Ok(receipt(present, "cancelled", Vec::new())),
        Status::Held | Status::Confirmed => {
            if present.source == Source::Channel && !how.told_channel {
                return Err(Refusal::NeedsToldChannel);
            }
            let (gone, nights) = cancelled(draft, present, how.reason);
            Ok(receipt(gone, "cancelled", nights))
        }
        Status::CheckedIn => Err(Refusal::IllegalTransition(
            "the guest is in the house: check the guest out instead".to_owned(),
        )),
        Status::Completed | Status::NoShow => Err(Refusal::IllegalTransition(format!(
            "a reservation that is {} is not cancelled: undo that first",
            present.status.in_words()
        ))),
    }
}

/// Puts the cancelled reservation down: its rooms come back.
pub fn cancelled(
    draft: &mut Draft,
    mut gone: Reservation,
    reason: Option<&str>,
) -> (
    Reservation,
    Vec<(keyrack_model::id::RoomTypeId, keyrack_model::stay::Stay)>,
) {
    gone.status = Status::Cancelled;
    gone.detail.cancel_reason = reason.map(str::to_owned);
    draft.put(gone, "cancelled", reason.map(str::to_owned))
}
