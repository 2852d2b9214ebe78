//! An account begins to fail, or recovers: staff and webhooks are told once.

use jiff::Timestamp;
use keyrack_ledger::catalog;
use keyrack_model::channel::Account;
use sqlx::PgConnection;

use crate::error::DistributionError;
use crate::feed::directory::property_code;
use crate::feed::events::{self, Event, Subject};
use crate::handle::Distribution;
use crate::notice::{self, About, Kind};
use crate::store::push_state::Bell;
use crate::store::webhook_delivery::NewDelivery;
use crate::store::{self, clock, mark_view, transaction, webhook_delivery};

/// What is new about an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Pushes fail, and why.
    Failing(String),
    /// They go through again.
    Recovered,
}

/// Writes the deliveries of an account's event, in the transaction that made it fail or recover.
pub(crate) async fn tell_webhooks(
    distribution: &Distribution,
    conn: &mut PgConnection,
    account: &Account,
    change: &Change,
    at: Timestamp,
) -> Result<(), DistributionError> {
    let name = match change {
        Change::Failing(_) => events::ACCOUNT_EVENTS[0],
        Change::Recovered => events::ACCOUNT_EVENTS[1],
    };
    let webhooks = store::webhook::all(&mut *conn).await?;
    let event = Event {
        id: format!("{name}-{}-{}", account.id, at.as_microsecond()),
        name,
        property: account.property,
        subject: Subject::Account(account.id, account.code.clone()),
        at,
        refund: None,
        wish: None,
    };
    let wanted: Vec<_> = webhooks
        .iter()
        .filter(|webhook| webhook.wants(name, account.property))
        .collect();
    if wanted.is_empty() {
        return Ok(());
    }
    let code = property_code(distribution, account.property).await?;
    let body = events::body(&event, &code, None);
    let deliveries: Vec<NewDelivery> = wanted
        .into_iter()
        .map(|webhook| NewDelivery {
            webhook: webhook.id,
            event_id: event.id.clone(),
            event: name.to_owned(),
            subject: events::subject_key(&event),
            body: body.clone(),
        })
        .collect();
    webhook_delivery::append(conn, &deliveries).await?;
    distribution.inner.wakes.webhooks.notify_one();
    Ok(())
}

/// Raises or clears the notice of an account.
pub(crate) async fn tell_staff(
    distribution: &Distribution,
    account: &Account,
    change: &Change,
) -> Result<(), DistributionError> {
    let key = format!("push {}", account.id);
    match change {
        Change::Failing(why) => {
            let text = format!(
                "Pushes to account {} ({}) fail: {why}. What it shows may be above the truth: \
                 look at its nights at risk, and close them at the channel by hand if this lasts.",
                account.code, account.channel
            );
            let about = About {
                property: Some(account.property),
                account: Some(account.id),
            };
            notice::raise(distribution, Kind::AccountFailing, &key, about, &text).await
        }
        Change::Recovered => {
            notice::clear(distribution, Kind::AccountFailing, &key).await?;
            Ok(())
        }
    }
}

/// An account fails before any message could be sent: tells webhooks and staff.
pub(crate) async fn failing(
    distribution: &Distribution,
    bell: Bell,
    why: String,
) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let rows = catalog::accounts(&inner.ledger, bell.property).await?;
    let Some(row) = rows.into_iter().find(|row| row.account.id == bell.account) else {
        return Ok(());
    };
    let change = Change::Failing(why);
    let now = clock::now(&inner.pool).await?;
    let mut tx = transaction::begin(&inner.pool).await?;
    tell_webhooks(distribution, &mut tx, &row.account, &change, now).await?;
    transaction::commit(tx).await?;
    tell_staff(distribution, &row.account, &change).await
}

/// The channel refuses some cells and takes others.
pub(crate) async fn refused(
    distribution: &Distribution,
    account: &Account,
    why: &str,
) -> Result<(), DistributionError> {
    let text = format!(
        "Account {} ({}) takes some nights and refuses others: {why}. Its page lists them; most \
         often a code is mapped that the channel does not know.",
        account.code, account.channel
    );
    let about = About {
        property: Some(account.property),
        account: Some(account.id),
    };
    let key = account.id.to_string();
    notice::raise(distribution, Kind::PushRefused, &key, about, &text).await
}

/// The channel took what it had refused; where nothing of that kind is left, the notice goes.
pub(crate) async fn taken(
    distribution: &Distribution,
    account: &Account,
) -> Result<(), DistributionError> {
    let queue = mark_view::queue(&distribution.inner.pool, account.id).await?;
    if queue.refused == 0 {
        let key = account.id.to_string();
        notice::clear(distribution, Kind::PushRefused, &key).await?;
    }
    Ok(())
}
