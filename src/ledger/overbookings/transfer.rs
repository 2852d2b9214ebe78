//! Guests who go to a hotel of the same owner: their rooms are taken there first, then given back
//! here, joined by a row.
//!
//! Each step is known again by a key of its own, so that whoever takes up what another has left
//! does nothing twice: a kill between two steps leaves a row that the next look of any daemon goes
//! on from.

use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::Source;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::command::{Asked, By, Command, Idempotency, Wish, WishedRoom};
use crate::decide::overbooking::end::{CaseEnd, CaseMove};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::advice::sister;
use crate::overbookings::case::{Case, load};
use crate::reservations::Folio;
use crate::store::overbooking_transfer::{self as store, Step, Transfer};
use crate::store::{connection, folio, overbooking, property, room_type};

/// A guest goes to a hotel of the same owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Which reservation.
    pub reservation: ReservationId,
    /// The version that was read, where the caller says.
    pub version: Option<i64>,
    /// Code of the hotel.
    pub property: String,
    /// Code of a room type there.
    pub room_type: String,
}

/// The same, with where it goes by id, as it lies in the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Leg {
    pub reservation: ReservationId,
    /// The version that was read: whoever has changed it since keeps it.
    pub version: i64,
    pub property: PropertyId,
    pub code: String,
    pub room_type: RoomTypeId,
    /// The reservation that it will be there.
    pub taken_as: ReservationId,
}

/// What was said of the whole, as it lies in the row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Terms {
    pub cost_minor: Option<i64>,
    pub note: Option<String>,
    pub told_channel: bool,
    pub may_approve: bool,
}

/// Ends a case by guests who go to hotels of the same owner.
pub async fn end(
    ledger: &Ledger,
    property: PropertyId,
    by: By,
    end: CaseEnd,
    departures: &[Departure],
) -> Result<Result<Case, Refusal>, LedgerError> {
    let missing = || Refusal::NotFound("overbooking case".to_owned());
    let Some(case) = load(ledger, property, end.case).await? else {
        return Ok(Err(missing()));
    };
    if case.outcome.as_deref() == Some(Ending::SisterProperty.as_str()) {
        return Ok(Ok(case));
    }
    if let Err(refusal) = check(&case, &end) {
        return Ok(Err(refusal));
    }
    let legs = match legs(ledger, property, departures).await? {
        Ok(legs) => legs,
        Err(refusal) => return Ok(Err(refusal)),
    };
    // What would be refused here is refused before anything is taken there.
    if let Err(refusal) = rehearse(ledger, property, &case, &end, &legs).await? {
        return Ok(Err(refusal));
    }
    let transfer = Transfer {
        property,
        id: Uuid::now_v7(),
        case: case.id,
        step: Step::Taking,
        version: None,
        legs,
        terms: Terms {
            cost_minor: end.cost_minor,
            note: end.note,
            told_channel: end.told_channel,
            may_approve: end.may_approve,
        },
        actor: by.actor,
        why: None,
    };
    let mut conn = connection::reader(ledger).await?;
    if !store::insert(&mut conn, &transfer).await? {
        let words = "guests of this case are on their way to another hotel already";
        return Ok(Err(Refusal::IllegalTransition(words.to_owned())));
    }
    drop(conn);
    match go_on(ledger, transfer).await? {
        Some(refusal) => Ok(Err(refusal)),
        None => Ok(load(ledger, property, case.id).await?.ok_or_else(missing)),
    }
}

/// Takes up what daemons have left half done; says how many.
pub async fn resume_due(ledger: &Ledger) -> Result<u32, LedgerError> {
    let mut resumed = 0;
    loop {
        let mut conn = connection::reader(ledger).await?;
        let Some(transfer) = store::claim(&mut conn).await? else {
            return Ok(resumed);
        };
        drop(conn);
        tracing::info!(case = %transfer.case, "guests on their way are taken up");
        go_on(ledger, transfer).await?;
        resumed += 1;
    }
}

fn check(case: &Case, end: &CaseEnd) -> Result<(), Refusal> {
    if end.version.is_some_and(|read| read != case.version) {
        return Err(Refusal::VersionMismatch {
            current: case.version,
        });
    }
    if !case.is_open() {
        let words = format!(
            "overbooking case {} is closed: open it again first",
            case.id
        );
        return Err(Refusal::IllegalTransition(words));
    }
    Ok(())
}

/// Where each goes, by id.
async fn legs(
    ledger: &Ledger,
    property: PropertyId,
    departures: &[Departure],
) -> Result<Result<Vec<Leg>, Refusal>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(own) = property::by_id(&mut conn, property).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let mut legs = Vec::new();
    for (at, one) in departures.iter().enumerate() {
        let wrong = |field: &str, words: &str| {
            Ok(Err(Refusal::invalid(format!("/moves/{at}/{field}"), words)))
        };
        let Some(there) = sister(&mut conn, &own.code, &one.property).await? else {
            let words = "no sister property: both hotels must name each other in sister_properties";
            return wrong("property", words);
        };
        let types = room_type::list(&mut conn, there.id).await?;
        let Some(kind) = types.into_iter().find(|kind| kind.code == one.room_type) else {
            return wrong("room_type", "no such room type there");
        };
        let found = folio::by_ids(&mut conn, property, &[one.reservation.0]).await?;
        let Some(guest) = found.first() else {
            return Ok(Err(Refusal::NotFound("reservation".to_owned())));
        };
        legs.push(Leg {
            reservation: one.reservation,
            version: one.version.unwrap_or(guest.reservation.version),
            property: there.id,
            code: there.code,
            room_type: kind.id,
            taken_as: ReservationId(Uuid::now_v7()),
        });
    }
    Ok(Ok(legs))
}

/// Asks whether the release would be refused, and does nothing.
async fn rehearse(
    ledger: &Ledger,
    property: PropertyId,
    case: &Case,
    end: &CaseEnd,
    legs: &[Leg],
) -> Result<Result<(), Refusal>, LedgerError> {
    let release = CaseEnd {
        case: case.id,
        moves: legs.iter().map(Leg::release).collect(),
        rehearses: true,
        ..end.clone()
    };
    let by = By {
        actor: "rehearsal".to_owned(),
        request_id: None,
    };
    let command = Command::EndCase(Box::new(release));
    let asked = Asked::new(property, by.into(), command);
    Ok(ledger.ask(asked).await?.map(drop))
}

/// Goes on from where the row stands to its end; gives the refusal by which it was given up.
async fn go_on(ledger: &Ledger, mut transfer: Transfer) -> Result<Option<Refusal>, LedgerError> {
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
            Step::GivingBack => {
                give_back(ledger, &transfer).await?;
                Step::GivenUp
            }
            Step::Done | Step::GivenUp => return Ok(refused),
        };
        let why = refused.as_ref().map(|refusal| refusal.code().to_owned());
        transfer.why = transfer.why.or(why);
        let mut tx = connection::begin(ledger).await?;
        store::advance(&mut tx, &transfer, next).await?;
        if next == Step::GivenUp {
            let detail = serde_json::json!({ "why": transfer.why });
            let (property, case) = (transfer.property, transfer.case);
            let actor = &transfer.actor;
            let kind = "transfer_given_up";
            overbooking::insert_event(&mut tx, property, case, kind, actor, &detail).await?;
        }
        connection::commit(tx).await?;
        transfer.step = next;
    }
}

/// Takes every guest's room in the other house, or says why not.
async fn take_all(
    ledger: &Ledger,
    transfer: &Transfer,
) -> Result<Result<(), Refusal>, LedgerError> {
    for leg in &transfer.legs {
        let mut conn = connection::reader(ledger).await?;
        let found = folio::by_ids(&mut conn, transfer.property, &[leg.reservation.0]).await?;
        drop(conn);
        let Some(guest) = found.first() else {
            return Ok(Err(Refusal::NotFound("reservation".to_owned())));
        };
        if guest.reservation.version != leg.version {
            return Ok(Err(Refusal::VersionMismatch {
                current: guest.reservation.version,
            }));
        }
        let Some(wish) = wish(guest, transfer, leg) else {
            let words = "it has no nights that could be slept elsewhere";
            return Ok(Err(Refusal::IllegalTransition(words.to_owned())));
        };
        let command = Command::Request(Box::new(wish));
        let key = format!("take:{}", leg.taken_as);
        let asked = transfer.asked(leg.property, command, key);
        if let Err(refusal) = ledger.ask(asked).await? {
            // Its nights are of types there, which nobody here knows.
            let words = format!(
                "{} cannot take the guest of reservation {}: {}",
                leg.code,
                guest.reservation.number,
                refusal.code().replace('_', " ")
            );
            return Ok(Err(Refusal::IllegalTransition(words)));
        }
    }
    Ok(Ok(()))
}

/// The same guests and nights in the other house, at the price that was agreed.
fn wish(guest: &Folio, transfer: &Transfer, leg: &Leg) -> Option<Wish> {
    let here = &guest.reservation;
    let rooms: Option<Vec<WishedRoom>> = here
        .present_rooms()
        .map(|room| {
            let stay = room.taken()?;
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
    let rooms = rooms.filter(|rooms| !rooms.is_empty())?;
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
    let key = format!("release:{}", transfer.id);
    let asked = transfer.asked(transfer.property, command, key);
    Ok(ledger.ask(asked).await?.map(drop))
}

/// Here it could not be done: the rooms there are given back. One that was never taken is no
/// trouble.
async fn give_back(ledger: &Ledger, transfer: &Transfer) -> Result<(), LedgerError> {
    for leg in &transfer.legs {
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
    Ok(())
}

impl Leg {
    fn release(&self) -> CaseMove {
        CaseMove {
            reservation: self.reservation,
            version: Some(self.version),
            room_stay: None,
            to: None,
            elsewhere: Some(self.code.clone()),
        }
    }
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
