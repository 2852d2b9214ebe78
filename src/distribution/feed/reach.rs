//! How far the feed has come.

use keyrack_ledger::tail;
use keyrack_model::id::PropertyId;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::store;

/// How many changes of a property nobody has looked at yet: they have no marks so far. Where the
/// feed never read, everything is told when it begins.
pub(crate) async fn unread(
    distribution: &Distribution,
    property: PropertyId,
) -> Result<i64, DistributionError> {
    let inner = &distribution.inner;
    let Some(place) = store::feed::load(&inner.pool).await? else {
        return Ok(0);
    };
    let cursors = (place.entries, place.rates);
    Ok(tail::unread(&inner.ledger, property, cursors).await?)
}
