//! How far a hotel means to sell: rules, put on the nights when they change and at every roll-over.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange, ranges};
use sqlx::PgConnection;

use crate::command::{Asked, By, Command, NightChange};
use crate::decide::overbooking::limits::{Limit, LimitRule, limit_of};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::check::Faults;
use crate::setup::list_version::as_read;
use crate::store::{connection, night, overbooking_limit as store, property, room_type};

/// The rules of a property, in order: the first that applies to a night wins.
pub async fn list(ledger: &Ledger, id: PropertyId) -> Result<Vec<LimitRule>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::list(&mut conn, id).await
}

/// Replaces the rules of a property, and puts them on its nights. A night that no rule speaks of
/// any more gets 0; one of which none ever spoke keeps what it has. `read` is the version of the
/// list that was read, where the caller says.
pub async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: By,
    rules: &[LimitRule],
    read: Option<i64>,
) -> Result<Result<(), Refusal>, LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    let types = room_type::list(&mut tx, id).await?;
    let mut faults = Faults::default();
    for (at, rule) in rules.iter().enumerate() {
        let known = types.iter().find(|kind| kind.id == rule.room_type);
        let plain = known.is_some_and(|kind| kind.setup.components.is_empty());
        let words = "a room type of its own stock: a composed one has none";
        faults.unless(plain, &format!("/rules/{at}/room_type"), words);
    }
    if let Err(refusal) = faults.done() {
        return Ok(Err(refusal));
    }
    let before = store::list(&mut tx, id).await?;
    if let Err(refusal) = as_read(&before, read) {
        return Ok(Err(refusal));
    }
    let fading = before.into_iter().map(faded);
    let whole: Vec<LimitRule> = rules.iter().copied().chain(fading).collect();
    replace(&mut tx, id, &whole).await?;
    connection::commit(tx).await?;
    apply(ledger, id, by).await?;
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    // Unless somebody has replaced them meanwhile.
    if store::list(&mut tx, id).await? == whole {
        replace(&mut tx, id, rules).await?;
        connection::commit(tx).await?;
    }
    Ok(Ok(()))
}

/// What takes the place of a rule that is gone until its nights have 0: whoever dies before that
/// leaves it behind, and the next roll-over puts it on.
fn faded(rule: LimitRule) -> LimitRule {
    LimitRule {
        lead_days_min: 0,
        lead_days_max: None,
        limit: Limit::Rooms(0),
        ..rule
    }
}

async fn replace(
    conn: &mut PgConnection,
    id: PropertyId,
    rules: &[LimitRule],
) -> Result<(), LedgerError> {
    store::delete(conn, id).await?;
    for rule in rules {
        store::insert(conn, id, rule).await?;
    }
    Ok(())
}

/// Puts the rules on the nights that are open. Says how many nights changed.
pub(crate) async fn apply(ledger: &Ledger, id: PropertyId, by: By) -> Result<usize, LedgerError> {
    // One after the other, each by the rules that are there then.
    let mut tx = connection::begin(ledger).await?;
    property::take_turn(&mut tx, id).await?;
    let rules = store::list(&mut tx, id).await?;
    if rules.is_empty() {
        return Ok(0);
    }
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(0);
    };
    let open = calendar.open_nights();
    let types: BTreeSet<RoomTypeId> = rules.iter().map(|rule| rule.room_type).collect();
    let types: Vec<RoomTypeId> = types.into_iter().collect();
    let balances = night::balances(&mut tx, id, &types, open).await?;
    let mut wanted: BTreeMap<(RoomTypeId, i32), Vec<StayDate>> = BTreeMap::new();
    for (room_type, day, balance) in balances {
        let key = (room_type, day);
        let told = limit_of(&rules, key, balance.physical, calendar.business_day);
        if let Some(limit) = told.filter(|limit| *limit != balance.overbooking_limit) {
            wanted.entry((room_type, limit)).or_default().push(day);
        }
    }
    let nights: usize = wanted.values().map(Vec::len).sum();
    let mut changes = Vec::new();
    for ((room_type, limit), days) in wanted {
        let each = |nights: StayRange| NightChange {
            room_type,
            nights,
            out_of_order: None,
            overbooking_limit: Some(limit),
            reason: Some("by the overbooking limits".to_owned()),
        };
        changes.extend(ranges(days).into_iter().map(each));
    }
    for some in changes.chunks(CHANGES_AT_ONCE) {
        let command = Command::SetNights {
            changes: some.to_vec(),
            dry_run: false,
        };
        let asked = Asked::new(id, by.clone().into(), command);
        if let Err(refusal) = ledger.ask(asked).await? {
            tracing::warn!(refusal = refusal.code(), "overbooking limits were not put");
        }
    }
    connection::commit(tx).await?;
    Ok(nights)
}

/// Ranges of one command: a year of weekends.
const CHANGES_AT_ONCE: usize = 60;
