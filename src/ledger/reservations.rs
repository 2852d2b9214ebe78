//! Reservations: the two doors, the verbs of staff, and what is read of them.

use jiff::Timestamp;
use jiff::civil::Date;
use keyrack_model::id::{AccountId, PropertyId, ReservationId, RoomStayId};
use keyrack_model::reservation::{
    Guest, ReservationReport, ReservationRevision, RevisionKind, Source, Status,
};
use serde::{Deserialize, Serialize};

use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::command::{Answer, Asked, By, Command, Fact, Receipt};
use crate::decide::refusal::Refusal;
use crate::decide::state::Reservation;
use crate::desk;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::{connection, folio, line, reference as stored};

/// Records what a channel says is true. Never refused for want of rooms, mapping, price or data.
pub async fn record(
    ledger: &Ledger,
    by: By,
    revision: ReservationRevision,
) -> Result<Receipt, LedgerError> {
    let property = revision.property;
    let fact = Fact {
        hash: content_hash(&revision)?,
        reservation: ReservationId(Uuid::now_v7()),
        revision,
    };
    let asked = Asked::new(property, by.into(), Command::Record(Box::new(fact)));
    ledger.ask(asked).await?.map_err(|refusal| {
        LedgerError::Unreadable(format!("a fact was refused: {}", refusal.code()))
    })
}

/// Hash of what a report says, whatever queue it came through and however often.
fn content_hash(revision: &ReservationRevision) -> Result<String, LedgerError> {
    let report = ReservationReport {
        kind: RevisionKind::New,
        acknowledge_as: None,
        ..revision.report.clone()
    };
    let unreadable = |error: serde_json::Error| LedgerError::Unreadable(error.to_string());
    let text = serde_json::to_vec(&report).map_err(unreadable)?;
    Ok(hex::encode(Sha256::digest(text)))
}

/// Those of the accounts that know a channel's reference, tombstones among them: for a cancel that
/// says nothing but the reference.
pub async fn accounts_of_reference(
    ledger: &Ledger,
    accounts: &[AccountId],
    reference: &str,
) -> Result<Vec<AccountId>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    stored::accounts(&mut conn, accounts, reference).await
}

/// Asks any command; wishes, confirms, cancels and the rest.
pub async fn ask(ledger: &Ledger, asked: Asked) -> Result<Answer, LedgerError> {
    ledger.ask(asked).await
}

/// A reservation with its guests: what an answer of the API is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folio {
    /// The reservation.
    pub reservation: Reservation,
    /// Who comes. Personal data.
    pub guest: Guest,
    /// Name per room stay. Personal data.
    pub room_guests: Vec<(RoomStayId, keyrack_model::reservation::GuestName)>,
    /// Staff's note.
    pub note: Option<String>,
    /// The guest's remarks. Personal data.
    pub remarks: Vec<keyrack_model::reservation::GuestName>,
    /// Room codes by room stay.
    pub assigned: Vec<(RoomStayId, String)>,
    /// The database's clock at the read.
    pub now: Timestamp,
}

/// One reservation, or `None`.
pub async fn load(
    ledger: &Ledger,
    property: PropertyId,
    id: ReservationId,
) -> Result<Option<Folio>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    Ok(folio::by_ids(&mut conn, property, &[id.0]).await?.pop())
}

/// The reservations of these ids, in any order; those that are not there are left out.
pub async fn load_all(
    ledger: &Ledger,
    property: PropertyId,
    ids: &[ReservationId],
) -> Result<Vec<Folio>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    folio::by_ids(&mut conn, property, &ids).await
}

/// Which reservations a list shows; every `None` lets all through.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of these states.
    pub status: Vec<Status>,
    /// Arriving in `from..to`.
    pub arrival_from: Option<Date>,
    /// Arriving before.
    pub arrival_to: Option<Date>,
    /// Departing in `from..to`.
    pub departure_from: Option<Date>,
    /// Departing before.
    pub departure_to: Option<Date>,
    /// Sleeping here on this night.
    pub staying_on: Option<Date>,
    /// From there.
    pub source: Option<Source>,
    /// Through this listing.
    pub account: Option<AccountId>,
    /// Number, channel reference, owner, or the beginning of a guest's name.
    pub q: Option<String>,
    /// Only after this id, in order of id (which is order of creation).
    pub after: Option<ReservationId>,
    /// At most so many; at most 500.
    pub limit: u32,
}

/// A page of reservations in order of id.
pub async fn list(
    ledger: &Ledger,
    property: PropertyId,
    filter: &Filter,
) -> Result<Vec<Folio>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let ids = folio::filtered(&mut conn, property, filter).await?;
    folio::by_ids(&mut conn, property, &ids).await
}

/// One line of the ledger, for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryLine {
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// The request that brought it.
    pub request_id: Option<String>,
    /// Unique per command.
    pub command_id: uuid::Uuid,
    /// What.
    pub kind: String,
    /// Of which reservation.
    pub reservation: Option<ReservationId>,
    /// And which version of it.
    pub version: Option<i64>,
    /// Code of the room type.
    pub room_type: Option<String>,
    /// First night.
    pub from: Option<Date>,
    /// End of the nights.
    pub to: Option<Date>,
    /// Rooms moved; 0 tells only.
    pub quantity: i32,
    /// From which pool.
    pub from_pool: Option<String>,
    /// To which pool.
    pub to_pool: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// Everything that was written of a reservation, in order.
pub async fn entries(
    ledger: &Ledger,
    property: PropertyId,
    id: ReservationId,
) -> Result<Vec<EntryLine>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    line::of_reservation(&mut conn, property, id).await
}

/// Puts a room stay into a room or takes it out. A stay of one room changes rooms; one of several
/// rooms gets one more, until it has them all.
pub async fn assign(
    ledger: &Ledger,
    property: PropertyId,
    by: By,
    id: ReservationId,
    room_stay: RoomStayId,
    room: AutoRoom,
    version: Option<i64>,
) -> Result<Result<(), Refusal>, LedgerError> {
    let assign = desk::Assign {
        property,
        by: &by,
        reservation: id,
        stay: room_stay,
        room: &room,
        version,
    };
    desk::assign(ledger, &assign).await
}

/// Which room a stay gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AutoRoom {
    /// This one, by code.
    Room(String),
    /// Any that is free for the whole stay.
    Any,
    /// None: the room becomes free.
    Nothing,
}

/// The desk's sheet of a day.
#[derive(Clone, Debug)]
pub struct DaySheet {
    /// The day.
    pub date: Date,
    /// Who arrives.
    pub arrivals: Vec<Folio>,
    /// Who leaves.
    pub departures: Vec<Folio>,
    /// Who sleeps here and came before.
    pub in_house: Vec<Folio>,
    /// Whose departure is past and who did not check out.
    pub overdue: Vec<Folio>,
    /// Who arrives without a room.
    pub unassigned: Vec<Folio>,
    /// Room type code and rooms beyond what can be slept in tonight.
    pub oversold: Vec<(String, i32)>,
}

/// The desk's sheet of a day.
pub async fn day_sheet(
    ledger: &Ledger,
    property: PropertyId,
    date: Date,
) -> Result<DaySheet, LedgerError> {
    desk::day_sheet(ledger, property, date).await
}
