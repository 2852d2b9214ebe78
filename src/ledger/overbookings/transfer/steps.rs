//! The steps of a transfer: each is known again by a key of its own, and nobody undoes what another
//! has done meanwhile.
//!
//! # Why
//!
//! Two may be at work on one transfer: a daemon that was held up for longer than its turn, and
//! whoever took up its row. Before rooms are given back, the keys of what must not happen any more
//! are used up by a command that does nothing: whoever asks for it later gets that answer and takes
//! or releases nothing, and where it has happened already the key says so.

use keyrack_model::id::PropertyId;
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::Source;
use keyrack_model::stay::StayDate;

use super::leg::Leg;
use crate::command::{Asked, By, Command, Idempotency, Receipt, Wish, WishedRoom};
use crate::decide::overbooking::end::CaseEnd;
use crate::decide::overbooking::way::to_come;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::case::load;
use crate::reservations::Folio;
use crate::store::overbooking_transfer::{self as store, Step, Transfer};
use crate::store::{connection, folio, overbooking, property};

/// Goes on from where the row stands to its end; gives the refusal by which it was given up.
pub(super) async fn go_on(
    ledger: &Ledger,
    mut transfer: Transfer,
) -> Result<Option<Refusal>, LedgerError> {
    let mut refused = None;
    loop {
        let next = match transfer.step {
            Step::Taking => match take_all(ledger, &transfer).await? {
                Ok(()) => Step::Releasing,
                Err(refusal) => {
                    refused = Some(refusal);
                    Step::GivingBack
                }
            },
            Step::Releasing => match release(ledger, &transfer).await? {
                Ok(()) => Step::Done,
                Err(refusal) => {
                    refused = Some(refusal);
                    Step::GivingBack
                }
            },
            Step::GivingBack => match give_back(ledger, &transfer).await? {
                true => Step::GivenUp,
                false => Step::Done,
            },
            Step::Done => return Ok(None),
            Step::GivenUp => return Ok(Some(refused.unwrap_or_else(given_up))),
        };
        let why = refused.as_ref().map(|refusal| refusal.code().to_owned());
        transfer.why = transfer.why.or(why);
        transfer.step = advance(ledger, &transfer, next).await?;
    }
}

/// Writes down that a step is done; says where the row stands now, which is elsewhere where
/// somebody else has gone on with it meanwhile.
async fn advance(ledger: &Ledger, transfer: &Transfer, next: Step) -> Result<Step, LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    if !store::advance(&mut tx, transfer, next).await? {
        return store::step(&mut tx, transfer).await;
    }
    if next == Step::GivenUp {
        let detail = serde_json::json!({ "why": transfer.why });
        let (property, case) = (transfer.property, transfer.case);
        let actor = &transfer.actor;
        let kind = "transfer_given_up";
        overbooking::insert_event(&mut tx, property, case, kind, actor, &detail).await?;
    }
    connection::commit(tx).await?;
    Ok(next)
}

fn given_up() -> Refusal {
    let words = "the guests stay here, since not all of them could be moved: look at the case and \
                 choose another way";
    Refusal::IllegalTransition(words.to_owned())
}

/// Takes every guest's room in the other house, or says why not.
async fn take_all(
    ledger: &Ledger,
    transfer: &Transfer,
) -> Result<Result<(), Refusal>, LedgerError> {
    for leg in &transfer.legs {
        let mut conn = connection::reader(ledger).await?;
        let found = folio::by_ids(&mut conn, transfer.property, &[leg.reservation.0]).await?;
        let there = property::calendar(&mut conn, leg.property).await?;
        drop(conn);
        let (Some(guest), Some(there)) = (found.first(), there) else {
            return Ok(Err(Refusal::NotFound("reservation".to_owned())));
        };
        if guest.reservation.version != leg.version {
            return Ok(Err(Refusal::VersionMismatch {
                current: guest.reservation.version,
            }));
        }
        let Some(wish) = wish(guest, transfer, leg, there.business_day) else {
            return Ok(Err(leg.no_night_left(guest.reservation.number)));
        };
        let command = Command::Request(Box::new(wish));
        let asked = transfer.asked(leg.property, command, take_key(leg));
        match ledger.ask(asked).await? {
            Ok(receipt) if receipt.reservation.is_some() => {}
            Ok(_) => return Ok(Err(given_up())),
            Err(refusal) => {
                let number = guest.reservation.number;
                return Ok(Err(leg.refused_there(number, refusal.code())));
            }
        }
    }
    Ok(Ok(()))
}

/// The same rooms in the other house, on the nights that are still to come there, at the price that
/// was agreed. `None` where there is none.
pub(super) fn rooms_there(guest: &Folio, leg: &Leg, today: StayDate) -> Option<Vec<WishedRoom>> {
    let rooms: Option<Vec<WishedRoom>> = guest
        .reservation
        .present_rooms()
        .filter(|room| leg.room_stay.is_none_or(|id| id == room.id))
        .map(|room| {
            let stay = to_come(today, room.taken()?)?;
            let first = room.nightly.first().map(|(_, price)| *price);
            let is_same = room.nightly.iter().all(|(_, price)| Some(*price) == first);
            let names = guest.room_guests.iter();
            let name = names.clone().find(|(id, _)| *id == room.id);
            Some(WishedRoom {
                room_stay: None,
                room_type: leg.room_type,
                allotment: None,
                rate_plan: None,
                stay,
                quantity: room.quantity,
                price: first.filter(|_| is_same),
                adults: room.adults,
                children_ages: room.children_ages.clone(),
                guest_name: name.map(|(_, name)| name.clone()),
            })
        })
        .collect();
    rooms.filter(|rooms| !rooms.is_empty())
}

/// The same guests in the other house.
fn wish(guest: &Folio, transfer: &Transfer, leg: &Leg, today: StayDate) -> Option<Wish> {
    let here = &guest.reservation;
    let rooms = rooms_there(guest, leg, today)?;
    Some(Wish {
        reservation: leg.taken_as,
        hold: None,
        // A channel sells nothing there.
        source: match here.source {
            Source::Channel => Source::Phone,
            source => source,
        },
        rooms,
        guest: Some(guest.guest.clone()),
        note: Some(format!(
            "comes from a hotel of the same owner: reservation {} there, overbooking case {}",
            here.number, transfer.case
        )),
        owner_id: None,
        payment_reference: None,
        channel: None,
        guaranteed: true,
        force: None,
    })
}

/// Gives the rooms here back and ends the case, in one.
async fn release(ledger: &Ledger, transfer: &Transfer) -> Result<Result<(), Refusal>, LedgerError> {
    let end = CaseEnd {
        case: transfer.case,
        version: None,
        ending: Ending::SisterProperty,
        moves: transfer.legs.iter().map(Leg::release).collect(),
        cost_minor: transfer.terms.cost_minor,
        note: transfer.terms.note.clone(),
        told_channel: transfer.terms.told_channel,
        may_approve: transfer.terms.may_approve,
        rehearses: false,
    };
    let command = Command::EndCase(Box::new(end));
    let asked = transfer.asked(transfer.property, command, release_key(transfer));
    match ledger.ask(asked).await? {
        Ok(receipt) if has_released(&receipt) => Ok(Ok(())),
        Ok(_) => Ok(Err(given_up())),
        // Keys are forgotten after some days, what they did is not.
        Err(_) if is_released(ledger, transfer).await? => Ok(Ok(())),
        Err(refusal) => Ok(Err(refusal)),
    }
}

fn has_released(receipt: &Receipt) -> bool {
    receipt.did == "case_ended"
}

/// Whether the case has ended by these very guests' going.
async fn is_released(ledger: &Ledger, transfer: &Transfer) -> Result<bool, LedgerError> {
    let case = load(ledger, transfer.property, transfer.case).await?;
    let leaving = || {
        transfer
            .legs
            .iter()
            .map(|leg| (leg.reservation, leg.room_stay))
    };
    Ok(case.is_some_and(|case| case.has_ended_by(Ending::SisterProperty, leaving())))
}

/// Here it could not be done: the rooms there are given back, and cannot be taken any more. `false`
/// where the guests have left after all: then everything stays as it is.
async fn give_back(ledger: &Ledger, transfer: &Transfer) -> Result<bool, LedgerError> {
    let released = use_up(ledger, transfer, transfer.property, release_key(transfer)).await?;
    if released.is_some_and(|receipt| has_released(&receipt)) {
        return Ok(false);
    }
    if is_released(ledger, transfer).await? {
        return Ok(false);
    }
    for leg in &transfer.legs {
        use_up(ledger, transfer, leg.property, take_key(leg)).await?;
        let command = Command::Cancel {
            reservation: leg.taken_as,
            reason: Some("the guest stays where he was booked".to_owned()),
            told_channel: true,
            version: None,
        };
        let key = format!("give_back:{}", leg.taken_as);
        let asked = transfer.asked(leg.property, command, key);
        if let Err(refusal) = ledger.ask(asked).await? {
            tracing::debug!(refusal = refusal.code(), "nothing was taken there");
        }
    }
    Ok(true)
}

/// Uses a key up for nothing, or tells what was done under it before.
async fn use_up(
    ledger: &Ledger,
    transfer: &Transfer,
    property: PropertyId,
    key: String,
) -> Result<Option<Receipt>, LedgerError> {
    let nothing = Command::SetNights {
        changes: Vec::new(),
        dry_run: true,
    };
    let asked = transfer.asked(property, nothing, key);
    Ok(ledger.ask(asked).await?.ok())
}

fn take_key(leg: &Leg) -> String {
    format!("take:{}", leg.taken_as)
}

fn release_key(transfer: &Transfer) -> String {
    format!("release:{}", transfer.id)
}

impl Transfer {
    /// A command under a key of its own: asked again, it answers as the first time.
    fn asked(&self, property: PropertyId, command: Command, key: String) -> Asked {
        let by = By {
            actor: self.actor.clone(),
            request_id: None,
        };
        Asked {
            idempotency: Some(Idempotency {
                scope: "overbooking_transfer".to_owned(),
                fingerprint: key.clone(),
                key,
            }),
            ..Asked::new(property, by.into(), command)
        }
    }
}
