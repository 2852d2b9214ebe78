//! The rules that switch pools, put as a whole.
//!
//! A rule that stays keeps its switches; of a new one they are turned by looking at every night
//! through the lanes, once the rule is known there.

use std::collections::BTreeSet;

use keyrack_model::channel::PoolMode;
use keyrack_model::id::{PoolRuleId, PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayRange};
use sqlx::PgConnection;

use crate::command::{Asked, By, Command};
use crate::decide::allotment::Owner;
use crate::decide::pool_rule::{self as rules_of, PoolRule};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::check::Faults;
use crate::setup::check_pools;
use crate::setup::list_version::as_read;
use crate::store::rate_change::{self, Touched};
use crate::store::{allotment, connection, night, pool_rule, property, room_type};

/// Replaces the pool rules of a property.
pub(crate) async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    rules: &[PoolRule],
    read: Option<i64>,
) -> Result<Result<Vec<PoolRule>, Refusal>, LedgerError> {
    if let Err(refusal) = check_pools::pool_rules(rules) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    let Some(calendar) = property::lock(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    if let Err(refusal) = fit(&mut tx, id, rules).await? {
        return Ok(Err(refusal));
    }
    let known = pool_rule::list(&mut tx, id).await?;
    let before: Vec<PoolRule> = known.iter().map(|(_, rule)| rule.clone()).collect();
    if let Err(refusal) = as_read(&before, read) {
        return Ok(Err(refusal));
    }
    replace(&mut tx, id, &known, rules).await?;
    rate_change::raise_rules(&mut tx, id).await?;
    let open = calendar.open_nights();
    let touched = touched(&before, rules, open);
    rate_change::note(&mut tx, id, by, &touched).await?;
    connection::commit(tx).await?;
    // Also for rules that stay: whoever put them may have been cut off before he looked.
    if rules.iter().any(|rule| rule.scarcity.is_some()) {
        review(ledger, id, by, open).await?;
        // What was told meanwhile was told before the switches were turned.
        let mut tx = connection::begin(ledger).await?;
        rate_change::note(&mut tx, id, by, &touched).await?;
        connection::commit(tx).await?;
    }
    Ok(Ok(rules.to_vec()))
}

/// Rules that stay keep their ids, and so their switches.
async fn replace(
    conn: &mut PgConnection,
    id: PropertyId,
    known: &[(PoolRuleId, PoolRule)],
    rules: &[PoolRule],
) -> Result<(), LedgerError> {
    let mut left: Vec<&(PoolRuleId, PoolRule)> = known.iter().collect();
    for (place, rule) in (0..).zip(rules) {
        match left.iter().position(|(_, known)| known == rule) {
            Some(at) => pool_rule::place(conn, id, left.remove(at).0, place).await?,
            None => pool_rule::insert(conn, id, rule, place).await?,
        }
    }
    for (gone, _) in left {
        pool_rule::delete(conn, id, *gone).await?;
    }
    Ok(())
}

/// Each rule is of an account that has an allotment to live on.
async fn fit(
    conn: &mut PgConnection,
    id: PropertyId,
    rules: &[PoolRule],
) -> Result<Result<(), Refusal>, LedgerError> {
    let allotments = allotment::list(conn, id).await?;
    let mut faults = Faults::default();
    for (i, rule) in rules.iter().enumerate() {
        let is_of_it = |one: &crate::allotments::AllotmentRow| {
            one.version > 0
                && one.owner == Owner::Account(rule.account)
                && rule.room_type.is_none_or(|of| of == one.room_type)
        };
        let has_one = rule.mode == PoolMode::Shared || allotments.iter().any(is_of_it);
        let sentence = "the account has no allotment of it: agree one first";
        faults.unless(has_one, &format!("/{i}/account"), sentence);
    }
    Ok(faults.done())
}

fn touched(before: &[PoolRule], after: &[PoolRule], open: StayRange) -> Vec<Touched> {
    let scopes = rules_of::touched(before, after, open);
    let count: usize = scopes.values().map(Vec::len).sum();
    if count > SCOPES_MAX {
        return vec![Touched::everything(open, FIELD)];
    }
    let each = scopes
        .into_iter()
        .flat_map(|((account, room_type), nights)| {
            nights.into_iter().map(move |nights| Touched {
                account: Some(account),
                room_type,
                ..Touched::everything(nights, FIELD)
            })
        });
    each.collect()
}

/// Turns the switches of nights by what is free on them now.
pub(crate) async fn review(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    nights: StayRange,
) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rules = pool_rule::list(&mut conn, id).await?;
    if rules.iter().all(|(_, rule)| rule.scarcity.is_none()) {
        return Ok(());
    }
    let allotments = allotment::list(&mut conn, id).await?;
    let of_allotments: BTreeSet<RoomTypeId> = allotments.iter().map(|one| one.room_type).collect();
    let mut born = Vec::new();
    for known in room_type::list(&mut conn, id).await? {
        if of_allotments.contains(&known.id) {
            let span = night::span(&mut conn, id, known.id, nights.arrival()).await?;
            born.extend(span.map(|span| (known.id, span)));
        }
    }
    drop(conn);
    for (room_type, span) in born {
        let until = span.departure().min(nights.departure());
        let Some(nights) = Stay::new(span.arrival().max(nights.arrival()), until) else {
            continue;
        };
        let command = Command::Review { room_type, nights };
        let asked = Asked::new(id, by.clone().into(), command);
        if let Err(refusal) = ledger.ask(asked).await? {
            tracing::debug!(refusal = refusal.code(), "nothing to review");
        }
    }
    Ok(())
}

/// What a channel is told again for.
const FIELD: &str = "pool_rule";
/// Runs of nights that are worth telling apart.
const SCOPES_MAX: usize = 2_000;
