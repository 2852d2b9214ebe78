//! Plans follow their rooms: a channel that opens a sold-out night by itself is told the night's
//! plans closed as well. A booking marks its rooms alone, so what its plans need is found here,
//! when the rooms are looked at.

use std::collections::{BTreeSet, HashMap, HashSet};

use jiff::Timestamp;
use keyrack_ledger::tail;
use keyrack_model::ari::{AriCell, AriKey};
use keyrack_model::id::{RatePlanId, RoomTypeId};

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::look::Listener;
use crate::push::urgency::openness;
use crate::store::mark::Mark;
use crate::store::push_state::Turn;
use crate::store::told::Told;
use crate::store::{mark, push_state, told, transaction};

/// The plans that may show otherwise than their rooms and are told otherwise than they are now,
/// each with its room's mark; those that are marked as late as their rooms left out.
///
/// What counts is what the plans were told, not what the rooms were: a channel may have taken one
/// and refused the other.
pub(crate) async fn turned(
    distribution: &Distribution,
    listener: &Listener,
    marks: &[Mark],
    cells: &[AriCell],
) -> Result<Vec<(AriKey, Mark)>, DistributionError> {
    let capabilities = listener.capabilities;
    if !capabilities.knows_rate_plans || !capabilities.reopens_by_itself {
        return Ok(Vec::new());
    }
    let inner = &distribution.inner;
    let rooms = cells.iter().filter(|cell| cell.key.rate_plan.is_none());
    let is_open: HashMap<AriKey, bool> = rooms
        .map(|cell| (cell.key, openness(&cell.values) > 0))
        .collect();
    let mut pairs = unmarked_pairs(listener, marks);
    pairs.retain(|(_, mark)| is_open.contains_key(&mark.key));
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    let keys: Vec<AriKey> = pairs.iter().map(|(key, _)| *key).collect();
    let told = told::load(&inner.pool, listener.account.id, &keys).await?;
    pairs.retain(|(key, mark)| is_otherwise(is_open[&mark.key], told.get(key)));
    if pairs.is_empty() {
        return Ok(Vec::new());
    }
    // A plan may be closed by itself while its rooms are open, and has been told so.
    let keys: Vec<AriKey> = pairs.iter().map(|(key, _)| *key).collect();
    let present = tail::cells(&inner.ledger, &listener.listing(), &keys).await?;
    let due: HashSet<AriKey> = present
        .iter()
        .filter(|cell| told.get(&cell.key).is_none_or(|told| !shows(told, cell)))
        .map(|cell| cell.key)
        .collect();
    let turned = pairs.into_iter().filter(|(key, _)| due.contains(key));
    Ok(turned.map(|(key, mark)| (key, mark.clone())).collect())
}

/// Marks of rooms with each plan of their types that is not marked as late.
fn unmarked_pairs<'a>(listener: &Listener, marks: &'a [Mark]) -> Vec<(AriKey, &'a Mark)> {
    let mut plans: HashMap<RoomTypeId, BTreeSet<RatePlanId>> = HashMap::new();
    // A plan without a code at the channel is told to nobody.
    for mapping in listener.mappings.iter() {
        if let (Some(plan), Some(_)) = (mapping.rate_plan, &mapping.channel_rate_code) {
            plans.entry(mapping.room_type).or_default().insert(plan);
        }
    }
    let marked: HashMap<AriKey, Timestamp> = marks
        .iter()
        .map(|mark| (mark.key, mark.marked_at))
        .collect();
    let rooms = marks.iter().filter(|mark| mark.key.rate_plan.is_none());
    let pairs = rooms.flat_map(|mark| {
        let plans = plans.get(&mark.key.room_type).into_iter().flatten();
        plans.map(move |plan| {
            let rate_plan = Some(*plan);
            let key = AriKey {
                rate_plan,
                ..mark.key
            };
            (key, mark)
        })
    });
    pairs
        .filter(|(key, mark)| marked.get(key).is_none_or(|at| *at < mark.marked_at))
        .collect()
}

/// Whether a plan may show otherwise than its rooms.
fn is_otherwise(is_open: bool, told: Option<&Told>) -> bool {
    told.is_none_or(|told| {
        !told.shown.is_acknowledged || (openness(&told.shown.values) > 0) != is_open
    })
}

fn shows(told: &Told, cell: &AriCell) -> bool {
    told.shown.is_acknowledged && told.shown.values == cell.values
}

/// Marks them and says how many were not marked as late as their rooms; `None` where the turn is
/// ours no more.
pub(crate) async fn mark_turned(
    distribution: &Distribution,
    turn: &Turn,
    turned: &[(AriKey, Mark)],
) -> Result<Option<u64>, DistributionError> {
    if turned.is_empty() {
        return Ok(Some(0));
    }
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    if !push_state::is_ours(&mut tx, turn).await? {
        return Ok(None);
    }
    let added = mark::add(&mut tx, turn.bell.account, turned).await?;
    transaction::commit(tx).await?;
    Ok(Some(added))
}
