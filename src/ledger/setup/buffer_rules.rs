//! The rules that keep rooms back, put as a whole.

use keyrack_model::id::PropertyId;
use keyrack_model::stay::{StayDate, StayRange};

use crate::command::By;
use crate::decide::buffer_rule::{self as rules_of, BufferRule};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::check::Faults;
use crate::setup::check_pools;
use crate::setup::list_version::as_read;
use crate::store::rate_change::{self, Touched};
use crate::store::{account, buffer_rule, connection, property, room_type};

/// Replaces the buffer rules of a property.
pub(crate) async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    rules: &[BufferRule],
    read: Option<i64>,
) -> Result<Result<Vec<BufferRule>, Refusal>, LedgerError> {
    if let Err(refusal) = check_pools::buffer_rules(rules) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    let Some(calendar) = property::lock(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let accounts = account::list(&mut tx, id).await?;
    let types = room_type::list(&mut tx, id).await?;
    let mut faults = Faults::default();
    for (i, rule) in rules.iter().enumerate() {
        let known = rule
            .account
            .is_none_or(|id| accounts.iter().any(|a| a.account.id == id));
        faults.unless(known, &format!("/{i}/account"), "no such account");
        let known = rule
            .room_type
            .is_none_or(|id| types.iter().any(|t| t.id == id));
        faults.unless(known, &format!("/{i}/room_type"), "no such room type");
    }
    if let Err(refusal) = faults.done() {
        return Ok(Err(refusal));
    }
    let before = buffer_rule::list(&mut tx, id).await?;
    if let Err(refusal) = as_read(&before, read) {
        return Ok(Err(refusal));
    }
    buffer_rule::delete(&mut tx, id).await?;
    for rule in rules {
        buffer_rule::insert(&mut tx, id, rule).await?;
    }
    rate_change::raise_rules(&mut tx, id).await?;
    let put = buffer_rule::list(&mut tx, id).await?;
    let (open, today) = (calendar.open_nights(), calendar.business_day);
    // Between the change of day and the roll-over nights may still be told as of yesterday.
    let is_even = calendar.rolled_over_to == Some(today);
    let touched = touched(&before, &put, (open, today))
        .filter(|_| is_even)
        .unwrap_or_else(|| vec![Touched::everything(open, FIELD)]);
    rate_change::note(&mut tx, id, by, &touched).await?;
    connection::commit(tx).await?;
    Ok(Ok(put))
}

/// The cells that the change may tell otherwise, unless they lie in too many runs.
fn touched(
    before: &[BufferRule],
    after: &[BufferRule],
    days: (StayRange, StayDate),
) -> Option<Vec<Touched>> {
    let scopes = rules_of::touched(before, after, days, SCOPES_MAX)?;
    let touched = scopes.into_iter().map(|scope| Touched {
        room_type: scope.room_type,
        account: scope.account,
        ..Touched::everything(scope.nights, FIELD)
    });
    Some(touched.collect())
}

/// What a channel is told again for.
const FIELD: &str = "buffer_rule";
/// Runs of nights that are worth telling apart.
const SCOPES_MAX: usize = 2_000;
