//! The waitlist: wishes for rooms that were not to be had, offered a hold in their order when rooms
//! come free.
//!
//! A wish is offered one hold at a time. Its row is claimed by its version and names the
//! reservation before the hold is asked for, under an idempotency key made of the wish and the
//! number of the offer: whoever goes on after a crash, or beside another daemon, asks for the very
//! same hold. Confirming the hold accepts the offer. An offer that is not answered in time puts the
//! wish at the end of the queue, and the third ends it.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use keyrack_model::reservation::{Guest, Source};
use keyrack_model::stay::{Stay, StayDate};
use uuid::Uuid;

use crate::command::{Asked, By, Command, HoldEnd, Idempotency, Wish, WishedRoom};
use crate::decide::composed::{Present, free, parts};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::waitlist::Hold;
use crate::store::{self, connection, night, property, waitlist as table};

/// A wish as it is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewWish {
    /// Its nights.
    pub stay: Stay,
    /// The types that would do, in order of preference.
    pub room_types: Vec<RoomTypeId>,
    /// Rooms.
    pub quantity: i32,
    /// Adults in each.
    pub adults: Option<i32>,
    /// Where it comes from.
    pub source: Source,
    /// Whom to tell: with an e-mail address or a telephone number.
    pub guest: Guest,
    /// Staff's note.
    pub note: Option<String>,
    /// How long an offer stands; `None` takes the property's time of a hold.
    pub answer_seconds: Option<i32>,
}

/// A wish as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Its id.
    pub id: Uuid,
    /// Whose.
    pub property: PropertyId,
    /// `waiting`, `offered`, `accepted`, `cancelled`, `ended`.
    pub status: String,
    /// Counts changes.
    pub version: i64,
    /// What is wished.
    pub wish: NewWish,
    /// When it was made.
    pub created_at: Timestamp,
    /// How often it was offered something.
    pub offers: i32,
    /// The present offer, or the last: its hold, of which type, until when.
    pub offer: Option<(ReservationId, RoomTypeId, Option<Timestamp>)>,
    /// When it was claimed for the offer.
    pub offered_at: Option<Timestamp>,
    /// Not looked at before.
    pub look_after: Option<Timestamp>,
    /// How it ended: `date_passed`, `unanswered`.
    pub outcome: Option<String>,
    /// When.
    pub ended_at: Option<Timestamp>,
}

/// Puts a wish at the end of the queue. `Invalid` where a type is not there or the nights are over.
///
/// # Errors
///
/// Failures of the database.
pub async fn add(
    ledger: &Ledger,
    id: PropertyId,
    wish: &NewWish,
) -> Result<Result<Waiting, Refusal>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(calendar) = property::calendar(&mut conn, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    if wish.stay.arrival() < calendar.business_day {
        let message = format!("is past: the business day is {}", calendar.business_day);
        return Ok(Err(Refusal::invalid("/arrival", message)));
    }
    let known = store::room_type::list(&mut conn, id).await?;
    for (at, room_type) in wish.room_types.iter().enumerate() {
        if !known.iter().any(|one| one.id == *room_type) {
            let pointer = format!("/room_types/{at}");
            return Ok(Err(Refusal::invalid(pointer, "no such room type")));
        }
    }
    let wish_id = Uuid::now_v7();
    table::insert(&mut conn, id, wish_id, wish).await?;
    let made = table::find(&mut conn, id, wish_id).await?;
    let made = made.ok_or_else(|| LedgerError::Unreadable("a wish just made".to_owned()))?;
    Ok(Ok(made))
}

/// The wishes of a property in their order, open ones first; only the open ones where asked.
///
/// # Errors
///
/// Failures of the database.
pub async fn list(
    ledger: &Ledger,
    id: PropertyId,
    only_open: bool,
    limit: u32,
) -> Result<Vec<Waiting>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    table::list(&mut conn, id, only_open, limit).await
}

/// One wish.
///
/// # Errors
///
/// Failures of the database.
pub async fn find(
    ledger: &Ledger,
    id: PropertyId,
    wish: Uuid,
) -> Result<Option<Waiting>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    table::find(&mut conn, id, wish).await
}

/// Takes a wish back, and the hold that it was offered with it; a repeat changes nothing. `None`
/// where there is no such wish.
///
/// # Errors
///
/// Failures of the database.
pub async fn cancel(
    ledger: &Ledger,
    id: PropertyId,
    wish: Uuid,
    by: &By,
) -> Result<Option<Waiting>, LedgerError> {
    loop {
        let mut conn = connection::reader(ledger).await?;
        let Some(known) = table::find(&mut conn, id, wish).await? else {
            return Ok(None);
        };
        if !matches!(known.status.as_str(), "waiting" | "offered") {
            return Ok(Some(known));
        }
        if table::end(&mut conn, &known, "cancelled", None).await? {
            drop(conn);
            if known.status == "offered" {
                give_back(ledger, &known, by).await?;
            }
            return find(ledger, id, wish).await;
        }
    }
}

/// Properties where somebody waits.
///
/// # Errors
///
/// Failures of the database.
pub async fn properties(ledger: &Ledger) -> Result<Vec<PropertyId>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    table::properties(&mut conn).await
}

/// Looks at the queue of a property: settles what was offered, ends what is over, and offers what
/// is free to whom it suits, in their order. Says how many were offered something. It is right also
/// when several look at once.
///
/// # Errors
///
/// Failures of the database.
pub async fn look(ledger: &Ledger, id: PropertyId) -> Result<u32, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(calendar) = property::calendar(&mut conn, id).await? else {
        return Ok(0);
    };
    let now = store::clock::now(&mut conn).await?;
    let wishes = table::open(&mut conn, id, WISHES_MAX).await?;
    drop(conn);
    let mut waiting = Vec::new();
    for wish in wishes {
        if wish.status == "offered" {
            settle(ledger, &wish, now).await?;
        } else if wish.wish.stay.arrival() < calendar.business_day {
            let mut conn = connection::reader(ledger).await?;
            table::end(&mut conn, &wish, "ended", Some("date_passed")).await?;
        } else if wish.look_after.is_none_or(|after| after <= now) {
            waiting.push(wish);
        }
    }
    if waiting.is_empty() {
        return Ok(0);
    }
    let mut conn = connection::reader(ledger).await?;
    let compositions = store::room_type::compositions(&mut conn, id).await?;
    let parts_of = |room_type| parts(&compositions, room_type);
    let mut present = rooms(&mut conn, id, &waiting, &parts_of).await?;
    drop(conn);
    let mut offered = 0;
    for wish in waiting {
        let (stay, quantity) = (wish.wish.stay, wish.wish.quantity);
        let is_free = |room_type: &&RoomTypeId| {
            let parts = parts_of(**room_type);
            stay.nights()
                .all(|night| free(&present, &parts, night).unwrap_or(0) >= quantity)
        };
        let Some(room_type) = wish.wish.room_types.iter().find(is_free).copied() else {
            continue;
        };
        if offer(ledger, &wish, room_type).await? {
            offered += 1;
            for (part, rooms) in parts_of(room_type) {
                for night in stay.nights() {
                    if let Some(balance) = present.get_mut(&(part, night)) {
                        balance.held += rooms * quantity;
                    }
                }
            }
        }
    }
    Ok(offered)
}

/// What is free of everything that somebody waits for.
async fn rooms(
    conn: &mut sqlx::PgConnection,
    id: PropertyId,
    waiting: &[Waiting],
    parts_of: &impl Fn(RoomTypeId) -> Vec<(RoomTypeId, i32)>,
) -> Result<Present, LedgerError> {
    let mut wanted: BTreeSet<(RoomTypeId, StayDate)> = BTreeSet::new();
    for wish in waiting {
        for room_type in &wish.wish.room_types {
            for (part, _) in parts_of(*room_type) {
                wanted.extend(wish.wish.stay.nights().map(|night| (part, night)));
            }
        }
    }
    let stays = || waiting.iter().map(|wish| wish.wish.stay);
    let first = stays().map(Stay::arrival).min();
    let last = stays().map(Stay::departure).max();
    let Some(nights) = first
        .zip(last)
        .and_then(|(first, last)| Stay::new(first, last))
    else {
        return Ok(Present::new());
    };
    night::present_of(conn, id, &wanted, nights).await
}

/// Claims a wish and asks for its hold; says whether it was offered.
async fn offer(
    ledger: &Ledger,
    wish: &Waiting,
    room_type: RoomTypeId,
) -> Result<bool, LedgerError> {
    let hold = ReservationId(Uuid::now_v7());
    let mut conn = connection::reader(ledger).await?;
    let Some(claimed) = table::claim(&mut conn, wish, hold, room_type).await? else {
        return Ok(false);
    };
    drop(conn);
    ask(ledger, &claimed).await
}

/// Asks for the hold of a claimed wish, and tells of it once.
async fn ask(ledger: &Ledger, wish: &Waiting) -> Result<bool, LedgerError> {
    let Some((reservation, room_type, _)) = wish.offer else {
        return Ok(false);
    };
    let wished = Wish {
        reservation,
        hold: Some(match wish.wish.answer_seconds {
            Some(seconds) => HoldEnd::Seconds(seconds.unsigned_abs()),
            None => HoldEnd::Default,
        }),
        source: wish.wish.source,
        rooms: vec![WishedRoom {
            room_stay: None,
            room_type,
            allotment: None,
            rate_plan: None,
            stay: wish.wish.stay,
            quantity: wish.wish.quantity,
            price: None,
            adults: wish.wish.adults,
            children_ages: Vec::new(),
            guest_name: None,
        }],
        guest: Some(wish.wish.guest.clone()),
        note: wish.wish.note.clone(),
        owner_id: Some(format!("waitlist:{}", wish.id)),
        payment_reference: None,
        channel: None,
        guaranteed: false,
        force: None,
    };
    let command = Command::Request(Box::new(wished));
    let mut asked = Asked::new(wish.property, Arc::new(worker()), command);
    asked.idempotency = Some(Idempotency {
        scope: format!("waitlist:{}", wish.property),
        key: format!("{}:{}", wish.id, wish.offers),
        fingerprint: "offer".to_owned(),
    });
    match ledger.ask(asked).await? {
        Ok(_) => told(ledger, wish).await,
        Err(refusal) => {
            let wait = if refusal.code() == "sold_out" {
                SOLD_OUT_SECONDS
            } else {
                REFUSED_SECONDS
            };
            let mut conn = connection::reader(ledger).await?;
            table::wait_on(&mut conn, wish, wait).await?;
            Ok(false)
        }
    }
}

/// The hold is there: says so once, in the ledger's tail. Where the wish was taken back meanwhile,
/// the hold is given back.
async fn told(ledger: &Ledger, wish: &Waiting) -> Result<bool, LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    let hold = table::hold(&mut tx, wish).await?;
    let Some(hold) = hold.filter(|hold| hold.is_alive) else {
        return Ok(false);
    };
    let is_told = table::tell(&mut tx, wish, &hold).await?;
    if is_told {
        let by = worker();
        let id = wish.id.to_string();
        let lines = store::entry::Lines {
            property: wish.property,
            by: &by,
            kind: OFFERED,
            reservation: Some((hold.reservation, hold.version)),
            reason: Some(&id),
            moved: &[],
        };
        store::entry::insert(&mut tx, &lines).await?;
        connection::commit(tx).await?;
        return Ok(true);
    }
    drop(tx);
    let now = find(ledger, wish.property, wish.id).await?;
    if now.is_some_and(|now| now.status == "cancelled") {
        give_back(ledger, wish, &worker()).await?;
    }
    Ok(false)
}

/// What became of an offer.
async fn settle(ledger: &Ledger, wish: &Waiting, now: Timestamp) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    match table::hold(&mut conn, wish).await? {
        None => {
            // Claimed, and the hold never came: whoever claimed it may still be asking.
            let claimed = wish.offered_at.unwrap_or(now);
            if now.duration_since(claimed).as_secs().abs() < CLAIM_SECONDS {
                return Ok(());
            }
            if let Some(taken) = table::take_over(&mut conn, wish).await? {
                drop(conn);
                ask(ledger, &taken).await?;
            }
        }
        Some(Hold { is_alive: true, .. }) => {
            drop(conn);
            if matches!(wish.offer, Some((_, _, None))) {
                told(ledger, wish).await?;
            }
        }
        Some(Hold { is_kept: true, .. }) => {
            table::end(&mut conn, wish, "accepted", None).await?;
        }
        Some(_) if wish.offers >= OFFERS_MAX => {
            table::end(&mut conn, wish, "ended", Some("unanswered")).await?;
        }
        Some(_) => table::queue_again(&mut conn, wish).await?,
    }
    Ok(())
}

async fn give_back(ledger: &Ledger, wish: &Waiting, by: &By) -> Result<(), LedgerError> {
    let Some((reservation, ..)) = wish.offer else {
        return Ok(());
    };
    let command = Command::Cancel {
        reservation,
        reason: Some("the wish was taken back".to_owned()),
        told_channel: false,
        version: None,
    };
    let asked = Asked::new(wish.property, Arc::new(by.clone()), command);
    if let Err(refusal) = ledger.ask(asked).await? {
        tracing::debug!(refusal = refusal.code(), "no hold to give back");
    }
    Ok(())
}

fn worker() -> By {
    By {
        actor: "worker:waitlist".to_owned(),
        request_id: None,
    }
}

/// The kind of the entry that tells of an offer; its reason is the wish.
const OFFERED: &str = "waitlist_offered";
/// Wishes of one look.
const WISHES_MAX: u32 = 500;
/// Offers that go unanswered until a wish ends.
const OFFERS_MAX: i32 = 3;
/// Somebody else was quicker: the next look may find a room.
const SOLD_OUT_SECONDS: i64 = 5;
/// A stop sell or a stay rule stands in the way: it will stand for a while.
const REFUSED_SECONDS: i64 = 600;
/// A claim whose hold is not there after so long has lost its daemon.
const CLAIM_SECONDS: i64 = 30;
