//! Why a night was oversold: what each channel was told, when it was sent and acknowledged, when
//! the guest booked, when we heard.

mod cause;

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::overbookings::case::{self, Case};
use keyrack_ledger::overbookings::ground::Ground;
use keyrack_ledger::reservations::EntryLine;
use keyrack_ledger::{catalog, inventory, overbookings, reservations, tail};
use keyrack_model::channel::Account;
use keyrack_model::id::{AccountId, CaseId, PropertyId};
use keyrack_model::inventory::Pool;
use keyrack_model::stay::{StayDate, plus_days};
use serde_json::{Value, json};

use crate::error::DistributionError;
use crate::evidence::cause::{Facts, NightFacts, Shown, Sold, cause};
use crate::handle::Distribution;
use crate::notice::{self, About, Kind};
use crate::push::urgency::openness;
use crate::store::evidence::{self, EvidenceDue};
use crate::store::told_history::{self, Telling};
use crate::store::{mark_view, push_attempt};

/// Gathers what is due.
pub(crate) async fn step(distribution: &Distribution) -> Result<(), DistributionError> {
    for due in evidence::claim(&distribution.inner.pool, AT_ONCE).await? {
        if let Err(error) = gather(distribution, &due).await {
            tracing::warn!(case = %due.case, error = %error.chain(), "evidence not gathered");
        }
    }
    Ok(())
}

/// What is known of a case now. Gathered a second time a while later, when what was under way has
/// been answered.
async fn gather(distribution: &Distribution, due: &EvidenceDue) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let rows = catalog::accounts(&inner.ledger, due.property).await?;
    let accounts: Vec<Account> = rows.into_iter().map(|row| row.account).collect();
    let ids: Vec<AccountId> = accounts.iter().map(|account| account.id).collect();
    let touched = tail::types_touched(&inner.ledger, due.property, due.room_type).await?;
    let tellings =
        told_history::of_rooms(&inner.pool, &ids, &touched, due.nights, TELLINGS_MAX).await?;
    let folio = match due.reservation {
        Some(id) => reservations::load(&inner.ledger, due.property, id).await?,
        None => None,
    };
    let reservation = folio.map(|folio| folio.reservation);
    let seller = reservation
        .as_ref()
        .and_then(|reservation| reservation.account);
    let booked_at = reservation
        .as_ref()
        .map(|reservation| reservation.booked_at.unwrap_or(reservation.created_at));
    let nights = match seller {
        Some(seller) => nights(distribution, due, seller, &tellings, booked_at).await?,
        None => Vec::new(),
    };
    let case = case::load(&inner.ledger, due.property, due.case).await?;
    let is_meant = match &case {
        Some(case) => is_meant(distribution, due, case).await?,
        None => false,
    };
    let facts = Facts {
        sold: match (&reservation, seller) {
            (None, _) => Sold::Nothing,
            (Some(_), None) => Sold::ByStaff,
            (Some(_), Some(_)) => Sold::ByChannel,
        },
        is_meant,
        is_unmapped: reservation.as_ref().is_some_and(|sold| {
            sold.detail.was_unmapped || sold.flags.iter().any(|flag| flag == "unmapped")
        }),
        booked_at,
        nights,
    };
    let found = cause(&facts);
    let reason = match (&case, facts.sold) {
        (Some(case), Sold::Nothing | Sold::ByStaff) => reason(distribution, due, case).await?,
        _ => None,
    };
    let most = case.iter().flat_map(|case| &case.nights);
    let mut text = json!({
        "told": told(&accounts, &tellings),
        "booked_at": booked_at.map(|at| at.to_string()),
        "received_at": reservation.as_ref().map(|sold| sold.created_at.to_string()),
        "sold_by": seller.and_then(|id| code(&accounts, id)),
        "opened_at": due.opened_at.to_string(),
        "rooms": most.map(|night| night.1).max(),
        "codes": reservation.as_ref().map(unmapped_codes).unwrap_or_default(),
    });
    if let Some(reason) = reason {
        text["reason"] = json!(reason);
    }
    let ledger = &inner.ledger;
    overbookings::add_evidence(ledger, due.property, due.case, text, found).await?;
    let again = (due.attempt == 0).then_some(AGAIN_SECONDS);
    if due.attempt == 0 {
        tell_staff(distribution, due).await?;
    }
    evidence::gathered(&inner.pool, due, again).await
}

/// What was said of the command that oversold the nights, by whoever gave it.
async fn reason(
    distribution: &Distribution,
    due: &EvidenceDue,
    case: &Case,
) -> Result<Option<String>, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let night = due.nights.arrival();
    let entries = inventory::entries(ledger, due.property, due.room_type, night).await?;
    let mut lines = entries.into_iter().filter(|line| {
        let is_ours = case.evidence["command_id"] == line.command_id.to_string();
        // A line that tells of the case itself names its id.
        is_ours && !line.kind.starts_with("overbooking_")
    });
    let reason = lines.find_map(|line| line.reason);
    Ok(reason.map(|reason| match reason.strip_prefix("forced: ") {
        Some(reason) => reason.to_owned(),
        None => reason,
    }))
}

/// The channel's codes of rooms that no mapping knew when it told them.
fn unmapped_codes(reservation: &Reservation) -> Vec<String> {
    let booked = reservation
        .present_rooms()
        .filter_map(|room| room.booked.as_ref());
    let unmapped = booked.filter(|booked| booked.room_type.is_none());
    let mut codes: Vec<String> = unmapped.map(|booked| booked.room_code.clone()).collect();
    codes.sort();
    codes.dedup();
    codes
}

/// Night by night: what the seller was told, what waited, what failed.
async fn nights(
    distribution: &Distribution,
    due: &EvidenceDue,
    seller: AccountId,
    tellings: &[Telling],
    booked_at: Option<Timestamp>,
) -> Result<Vec<NightFacts>, DistributionError> {
    let pool = &distribution.inner.pool;
    let mut by_night: HashMap<StayDate, Vec<Shown>> = HashMap::new();
    for telling in tellings.iter().filter(|telling| telling.account == seller) {
        by_night.entry(telling.key.night).or_default().push(Shown {
            open: openness(&telling.values),
            due_at: telling.due_at,
            acknowledged_at: telling.acknowledged_at,
        });
    }
    let until = booked_at.unwrap_or(due.opened_at);
    let day = SignedDuration::from_hours(24);
    let from = until.saturating_sub(day).unwrap_or(until);
    let failed_at = push_attempt::failed_between(pool, seller, from, until).await?;
    let pending = mark_view::pending(pool, seller, due.room_type, due.nights).await?;
    Ok(due
        .nights
        .nights()
        .map(|night| NightFacts {
            told: by_night.remove(&night).unwrap_or_default(),
            pending_since: pending.get(&night).copied(),
            failed_at: failed_at.clone(),
        })
        .collect())
}

/// Whether what was sold beyond the rooms was meant to be: within the limits that stood when the
/// case was opened. What has become of the nights since says nothing about why.
async fn is_meant(
    distribution: &Distribution,
    due: &EvidenceDue,
    case: &Case,
) -> Result<bool, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let only = Some(due.room_type);
    let (_, types) = inventory::availability(ledger, due.property, due.nights, only).await?;
    let limits: HashMap<StayDate, i32> = types
        .iter()
        .flat_map(|one| &one.nights)
        .map(|line| (line.night, line.balance.overbooking_limit))
        .collect();
    for (night, rooms, ..) in &case.nights {
        let lines = inventory::entries(ledger, due.property, due.room_type, *night).await?;
        let since = lines.iter().filter(|line| line.at > due.opened_at);
        let raised: i32 = since.map(raised_by).sum();
        let limit = limits.get(night).copied().unwrap_or(0) - raised;
        if *rooms > limit {
            return Ok(false);
        }
    }
    Ok(!case.nights.is_empty())
}

/// By how many rooms a line raises the overbooking limit.
fn raised_by(line: &EntryLine) -> i32 {
    let is_limit = |pool: &Option<String>| pool.as_deref() == Some(Pool::Limit.as_str());
    line.quantity * (i32::from(is_limit(&line.from_pool)) - i32::from(is_limit(&line.to_pool)))
}

/// What every account was told, for people.
fn told(accounts: &[Account], tellings: &[Telling]) -> Value {
    tellings
        .iter()
        .map(|telling| {
            json!({
                "account": code(accounts, telling.account),
                "stay_date": telling.key.night.to_string(),
                "rooms": telling.values.rooms,
                "closed": telling.values.closed,
                "due_at": telling.due_at.to_string(),
                "sent_at": telling.sent_at.to_string(),
                "acknowledged_at": telling.acknowledged_at.map(|at| at.to_string()),
                "why": telling.why,
            })
        })
        .collect()
}

fn code(accounts: &[Account], id: AccountId) -> Option<&str> {
    let found = accounts.iter().find(|account| account.id == id);
    found.map(|account| account.code.as_str())
}

/// The mail says what the case says, but for words that people have typed: they may name a guest.
async fn tell_staff(
    distribution: &Distribution,
    due: &EvidenceDue,
) -> Result<(), DistributionError> {
    let ledger = &distribution.inner.ledger;
    let ground = Ground::of(ledger, due.property).await?;
    let case = case::load(ledger, due.property, due.case).await?;
    let (Some(ground), Some(mut case)) = (ground, case) else {
        return Ok(());
    };
    if let Some(evidence) = case.evidence.as_object_mut() {
        evidence.remove("reason");
    }
    let last = plus_days(due.nights.departure(), -1);
    let nights = match due.nights.arrival() {
        night if night == last => format!("on {night}"),
        first => format!("from {first} to {last}"),
    };
    let until = match ground.deadline(&case) {
        Some(until) => until
            .to_zoned(ground.zone.clone())
            .strftime("%Y-%m-%d %H:%M")
            .to_string(),
        None => "the arrival".to_owned(),
    };
    let text = format!(
        "More rooms of the type {} are sold than there are {nights}: overbooking case {} is open. \
         Why: {} Look at it, and decide before {until} who is moved.",
        case.room_type,
        due.case,
        ground.cause_in_words(&case)
    );
    let about = About {
        property: Some(due.property),
        account: None,
    };
    let key = notice_key(due.property, due.case);
    notice::raise(distribution, Kind::OverbookingCase, &key, about, &text).await
}

/// The key of a case's notice.
pub(crate) fn notice_key(property: PropertyId, case: CaseId) -> String {
    format!("{property}:{case}")
}

/// Cases of one look.
const AT_ONCE: i64 = 20;
/// Tellings of one case at most, the newest.
const TELLINGS_MAX: i64 = 500;
/// What was under way is answered after this long.
const AGAIN_SECONDS: u32 = 90;
