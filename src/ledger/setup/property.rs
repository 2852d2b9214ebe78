//! Writing a property.

use jiff::civil::Date;
use keyrack_model::id::PropertyId;
use sqlx::PgConnection;

use crate::catalog::{Property, PropertySetup};
use crate::command::By;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::inventory;
use crate::setup::check;
use crate::store::rate_change::{self, Touched};
use crate::store::{connection, guest_place, property as store};

/// Creates or changes a property; says whether it is new.
pub(crate) async fn put(
    ledger: &Ledger,
    by: &By,
    code: &str,
    setup: PropertySetup,
    version: Option<i64>,
) -> Result<Result<(Property, bool), Refusal>, LedgerError> {
    if let Err(refusal) = check::property(code, &setup) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    let known = match store::by_code(&mut tx, code).await? {
        Some(known) => known,
        None if version.is_some() => return Ok(Err(Refusal::VersionMismatch { current: 0 })),
        None => match store::insert(&mut tx, code, &setup).await? {
            Some(made) => {
                begin_today(&mut tx, made.id).await?;
                connection::commit(tx).await?;
                return Ok(Ok((made, true)));
            }
            // Somebody made it between the two looks.
            None => store::by_code(&mut tx, code)
                .await?
                .ok_or(LedgerError::Conflict)?,
        },
    };
    let id = known.id;
    let changed = change(&mut tx, by, id, &setup, version).await?;
    if changed.is_ok() {
        connection::commit(tx).await?;
        // Nights that a longer horizon opens.
        inventory::extend_horizon(ledger, id).await?;
    }
    Ok(changed.map(|property| (property, false)))
}

/// A hotel that is new has no yesterday to roll over, and without a room type all its nights are
/// born.
async fn begin_today(conn: &mut PgConnection, id: PropertyId) -> Result<(), LedgerError> {
    let calendar = store::calendar(conn, id)
        .await?
        .ok_or(LedgerError::Conflict)?;
    store::set_nights_until(conn, id, calendar.horizon_end).await?;
    store::set_rolled_over_to(conn, id, calendar.business_day).await
}

async fn change(
    conn: &mut PgConnection,
    by: &By,
    id: PropertyId,
    setup: &PropertySetup,
    version: Option<i64>,
) -> Result<Result<Property, Refusal>, LedgerError> {
    let before = store::lock(conn, id).await?.ok_or(LedgerError::Conflict)?;
    let known = store::by_id(conn, id).await?.ok_or(LedgerError::Conflict)?;
    if version.is_some_and(|version| version != known.version) {
        return Ok(Err(Refusal::VersionMismatch {
            current: known.version,
        }));
    }
    if known.setup == *setup {
        return Ok(Ok(known));
    }
    if known.setup.currency != setup.currency && store::has_prices(conn, id).await? {
        let sentence = "the currency stays as it is once there are rates";
        return Ok(Err(Refusal::invalid("/currency", sentence)));
    }
    let property = store::update(conn, id, setup).await?;
    if limits(setup) && !limits(&known.setup) {
        guest_place::give(conn, id, before.business_day).await?;
    }
    rate_change::raise_rules(conn, id).await?;
    let after = store::calendar(conn, id)
        .await?
        .ok_or(LedgerError::Conflict)?;
    if tells_otherwise(&known.setup, setup) {
        let last: Date = before.horizon_end;
        let touched = Touched::everything(after.all_nights(last), "property");
        rate_change::note(conn, id, by, &[touched]).await?;
    }
    Ok(Ok(property))
}

/// Whether reservations of one guest for one arrival date are limited.
fn limits(setup: &PropertySetup) -> bool {
    setup.policies.get("guest_arrivals_max").is_some()
}

/// Whether channels may have to be told something else: a name or a hold time is none of theirs.
fn tells_otherwise(before: &PropertySetup, after: &PropertySetup) -> bool {
    let told = |setup: &PropertySetup| {
        (
            setup.time_zone.clone(),
            setup.currency,
            setup.day_roll_over,
            setup.horizon_days,
            setup.bookable_from,
        )
    };
    told(before) != told(after)
}
