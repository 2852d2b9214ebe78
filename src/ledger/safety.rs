//! What `safety` rules keep back: measured off the booking path, written where it changed.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_model::id::{PropertyId, RoomTypeId};

use crate::command::By;
use crate::decide::buffer_rule::{BufferKind, BufferRule};
use crate::decide::estimate::{DAYS, Ear, Measured, numbers};
use crate::decide::safety::changed;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::rate_change::{self, Touched};
use crate::store::{self, buffer_rule, connection, property};

/// Properties with a `safety` rule that have not been measured for so many seconds.
///
/// # Errors
///
/// Failures of the database.
pub async fn due(ledger: &Ledger, every_seconds: u32) -> Result<Vec<PropertyId>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::safety::due(&mut conn, every_seconds.into()).await
}

/// The `safety` rules of a property.
///
/// # Errors
///
/// Failures of the database.
pub async fn rules(ledger: &Ledger, id: PropertyId) -> Result<Vec<BufferRule>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let mut rules = buffer_rule::list(&mut conn, id).await?;
    rules.retain(|rule| matches!(rule.kind, BufferKind::Safety(_)));
    Ok(rules)
}

/// Works the numbers of a property out anew from its sales of the last weeks and from how its
/// accounts (`ears`) listen, and has exactly those nights told again whose number is another. Says
/// how many runs of nights that were; `None` where another daemon measured within
/// `every_seconds`.
///
/// # Errors
///
/// Failures of the database.
pub async fn measure(
    ledger: &Ledger,
    id: PropertyId,
    ears: Vec<Ear>,
    every_seconds: u32,
) -> Result<Option<usize>, LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    if !store::safety::take_turn(&mut tx, id, every_seconds.into()).await? {
        return Ok(None);
    }
    let Some(calendar) = property::calendar(&mut tx, id).await? else {
        return Ok(None);
    };
    let rules = buffer_rule::list(&mut tx, id).await?;
    let mut measured = Measured {
        sales: store::safety::sales(&mut tx, id, DAYS, SALES_MAX).await?,
        one_in: store::safety::one_in(&mut tx, id).await?.unwrap_or(ONE_IN),
        parts: parts(&mut tx, id).await?,
        ears,
        ..Measured::default()
    };
    for ear in &measured.ears {
        let mappings = store::mapping::ids(&mut tx, ear.account).await?;
        let cells = mappings
            .iter()
            .map(|mapping| (ear.account, mapping.room_type));
        measured.cells.extend(cells);
    }
    let before = store::safety::numbers(&mut tx, id, None).await?;
    let after = numbers(&measured, &rules, &before);
    store::safety::replace(&mut tx, id, &after).await?;
    // Between the change of day and the roll-over nights may still be told as of yesterday, when
    // some were of another kind: all of it is told again then.
    let (open, today) = (calendar.open_nights(), calendar.business_day);
    let from = calendar.rolled_over_to.unwrap_or(today).min(today);
    let mut scopes = changed(&before, &after, &rules, (open, today));
    if from < today && !scopes.is_empty() {
        scopes.extend(changed(&before, &after, &rules, (open, from)));
    }
    let touched: Vec<Touched> = scopes
        .iter()
        .map(|scope| Touched {
            room_type: scope.room_type,
            account: scope.account,
            ..Touched::everything(scope.nights, FIELD)
        })
        .collect();
    if !touched.is_empty() {
        let by = By {
            actor: "worker:safety".to_owned(),
            request_id: None,
        };
        rate_change::note(&mut tx, id, &by, &touched).await?;
    }
    connection::commit(tx).await?;
    Ok(Some(touched.len()))
}

/// The plain types that each composed type takes.
async fn parts(
    conn: &mut sqlx::PgConnection,
    id: PropertyId,
) -> Result<BTreeMap<RoomTypeId, BTreeSet<RoomTypeId>>, LedgerError> {
    let compositions = store::room_type::compositions(conn, id).await?;
    let parts = compositions
        .into_iter()
        .map(|(composed, parts)| (composed, parts.into_iter().map(|(part, _)| part).collect()));
    Ok(parts.collect())
}

/// What a channel is told again for.
const FIELD: &str = "safety";
/// One of so many scarce room nights, where the property says nothing else.
const ONE_IN: i32 = 1_000;
/// Rooms sold that are looked at.
const SALES_MAX: i64 = 5_000;
