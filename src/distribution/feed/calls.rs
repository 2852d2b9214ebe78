//! Which webhooks are to be called for which events.

use std::collections::HashMap;
use std::sync::Arc;

use keyrack_ledger::reservations;
use keyrack_model::id::PropertyId;

use crate::error::DistributionError;
use crate::feed::derive::House;
use crate::feed::events::{self, Event, Known, Subject};
use crate::handle::Distribution;
use crate::store;
use crate::store::webhook_delivery::NewDelivery;

/// The deliveries of some events to the webhooks that want them.
pub(crate) async fn deliveries(
    distribution: &Distribution,
    events: &[Event],
    houses: &HashMap<PropertyId, Arc<House>>,
) -> Result<Vec<NewDelivery>, DistributionError> {
    if events.is_empty() {
        return Ok(Vec::new());
    }
    let webhooks = store::webhook::all(&distribution.inner.pool).await?;
    let mut deliveries = Vec::new();
    for event in events {
        let wanted = webhooks
            .iter()
            .filter(|webhook| webhook.wants(event.name, event.property))
            .collect::<Vec<_>>();
        if wanted.is_empty() {
            continue;
        }
        let known = known(distribution, event).await?;
        let code = houses.get(&event.property).map_or("", |house| &house.code);
        let body = events::body(event, code, known.as_ref());
        deliveries.extend(wanted.into_iter().map(|webhook| NewDelivery {
            webhook: webhook.id,
            event_id: event.id.clone(),
            event: event.name.to_owned(),
            subject: events::subject_key(event),
            body: body.clone(),
        }));
    }
    Ok(deliveries)
}

/// What an entry does not say of its reservation.
async fn known(
    distribution: &Distribution,
    event: &Event,
) -> Result<Option<Known>, DistributionError> {
    let Subject::Reservation(id, _) = event.subject else {
        return Ok(None);
    };
    let ledger = &distribution.inner.ledger;
    let folio = reservations::load(ledger, event.property, id).await?;
    Ok(folio.map(|folio| Known {
        number: folio.reservation.number,
        status: folio.reservation.status.as_str().to_owned(),
        version: folio.reservation.version,
    }))
}
