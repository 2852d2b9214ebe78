//! Plans follow their rooms: a channel that opens a sold-out night by itself is told the night's
//! plans closed as well. A booking marks its rooms alone, so what its plans need is found here,
//! when the rooms are looked at.

use std::collections::{BTreeSet, HashMap};

use keyrack_model::ari::{AriCell, AriKey};
use keyrack_model::id::{RatePlanId, RoomTypeId};

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::look::Listener;
use crate::push::urgency::openness;
use crate::store::mark::Mark;
use crate::store::told::Told;
use crate::store::{mark, push_state, told, transaction};

/// The plans that were told otherwise than their rooms are now, each with its room's mark.
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
    let rooms = cells.iter().filter(|cell| cell.key.rate_plan.is_none());
    let is_open: HashMap<AriKey, bool> = rooms
        .map(|cell| (cell.key, openness(&cell.values) > 0))
        .collect();
    let plans = plans_by_type(listener);
    let mut pairs = Vec::new();
    for mark in marks.iter().filter(|mark| is_open.contains_key(&mark.key)) {
        for rate_plan in plans.get(&mark.key.room_type).into_iter().flatten() {
            let rate_plan = Some(*rate_plan);
            let key = AriKey {
                rate_plan,
                ..mark.key
            };
            pairs.push((key, mark));
        }
    }
    let keys: Vec<AriKey> = pairs.iter().map(|(key, _)| *key).collect();
    let told = told::load(&distribution.inner.pool, listener.account.id, &keys).await?;
    let turned = pairs
        .into_iter()
        .filter(|(key, mark)| is_otherwise(is_open[&mark.key], told.get(key)));
    Ok(turned.map(|(key, mark)| (key, mark.clone())).collect())
}

fn plans_by_type(listener: &Listener) -> HashMap<RoomTypeId, BTreeSet<RatePlanId>> {
    let mut plans: HashMap<RoomTypeId, BTreeSet<RatePlanId>> = HashMap::new();
    for mapping in &listener.mappings {
        let of_type = plans.entry(mapping.room_type).or_default();
        of_type.extend(mapping.rate_plan);
    }
    plans
}

/// Whether a plan may show otherwise than its rooms.
fn is_otherwise(is_open: bool, told: Option<&Told>) -> bool {
    told.is_none_or(|told| {
        !told.shown.is_acknowledged || (openness(&told.shown.values) > 0) != is_open
    })
}

/// Marks them; `true` where some were not marked as late as their rooms.
pub(crate) async fn mark_turned(
    distribution: &Distribution,
    listener: &Listener,
    turned: &[(AriKey, Mark)],
) -> Result<bool, DistributionError> {
    if turned.is_empty() {
        return Ok(false);
    }
    let mut tx = transaction::begin(&distribution.inner.pool).await?;
    push_state::lock(&mut tx, listener.account.id).await?;
    let added = mark::add(&mut tx, listener.account.id, turned).await?;
    transaction::commit(tx).await?;
    Ok(added > 0)
}
