//! A wish is offered a hold: claimed, asked for, told, answered.

use std::sync::Arc;

use jiff::Timestamp;
use keyrack_model::id::{ReservationId, RoomTypeId};
use uuid::Uuid;

use crate::command::{Asked, By, Command, HoldEnd, Idempotency, Wish, WishedRoom};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::waitlist::{self as table, Hold};
use crate::store::{connection, entry};
use crate::wish::Waiting;

/// Claims a wish and asks for its hold; says whether it was offered.
pub(crate) async fn offer(
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
        key: format!("{}:{reservation}", wish.id),
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
        let lines = entry::Lines {
            property: wish.property,
            by: &by,
            kind: OFFERED,
            reservation: Some((hold.reservation, hold.version)),
            reason: Some(&id),
            moved: &[],
        };
        entry::insert(&mut tx, &lines).await?;
        connection::commit(tx).await?;
        return Ok(true);
    }
    drop(tx);
    let mut conn = connection::reader(ledger).await?;
    let now = table::find(&mut conn, wish.property, wish.id).await?;
    drop(conn);
    if now.is_some_and(|now| now.status == "cancelled") {
        give_back(ledger, wish, &worker()).await?;
    }
    Ok(false)
}

/// What became of an offer.
pub(crate) async fn settle(
    ledger: &Ledger,
    wish: &Waiting,
    now: Timestamp,
) -> Result<(), LedgerError> {
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

/// Gives the hold of a wish that was taken back to others. Only a hold: what the guest has
/// confirmed in the same moment is his, and the wish is accepted.
pub(crate) async fn give_back(ledger: &Ledger, wish: &Waiting, by: &By) -> Result<(), LedgerError> {
    loop {
        let mut conn = connection::reader(ledger).await?;
        let hold = match table::hold(&mut conn, wish).await? {
            Some(hold) if hold.is_kept => return table::accept_after_all(&mut conn, wish).await,
            Some(hold) if hold.is_alive => hold,
            _ => return Ok(()),
        };
        drop(conn);
        let command = Command::Cancel {
            reservation: hold.reservation,
            reason: Some("the wish was taken back".to_owned()),
            told_channel: false,
            version: Some(hold.version),
        };
        let asked = Asked::new(wish.property, Arc::new(by.clone()), command);
        match ledger.ask(asked).await? {
            // It was extended or confirmed since it was read: looked at again.
            Err(Refusal::VersionMismatch { .. }) => {}
            Err(refusal) => {
                tracing::warn!(refusal = refusal.code(), "a hold is not given back");
                return Ok(());
            }
            Ok(_) => return Ok(()),
        }
    }
}

fn worker() -> By {
    By {
        actor: "worker:waitlist".to_owned(),
        request_id: None,
    }
}

/// The kind of the entry that tells of an offer; its reason is the wish.
const OFFERED: &str = "waitlist_offered";
/// Offers that go unanswered until a wish ends.
const OFFERS_MAX: i32 = 3;
/// Somebody else was quicker: the next look may find a room.
const SOLD_OUT_SECONDS: i64 = 5;
/// A stop sell or a stay rule stands in the way: it will stand for a while.
const REFUSED_SECONDS: i64 = 600;
/// A claim whose hold is not there after so long has lost its daemon.
const CLAIM_SECONDS: i64 = 30;
