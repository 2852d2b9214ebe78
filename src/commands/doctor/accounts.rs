//! The accounts as the doctor sees them: set up, mapped, polled, acknowledged.

use std::collections::BTreeMap;

use anyhow::Result;
use keyrack_distribution::accounts::standing::State;
use keyrack_distribution::accounts::status::{self, Status};
use keyrack_distribution::messages::UnmappedCode;
use keyrack_distribution::poll::PollState;
use keyrack_distribution::{Distribution, connections, notice, poll};
use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_model::adapter::Goal;
use keyrack_model::channel::AccountState;
use keyrack_model::id::PropertyId;

use super::finding::Finding;

/// One finding an account, and one for each notice that stands.
pub async fn accounts(distribution: &Distribution) -> Result<Vec<Finding>> {
    let ledger = distribution.ledger();
    let mut codes: BTreeMap<PropertyId, String> = BTreeMap::new();
    for property in catalog::properties(ledger, None, u32::MAX >> 1).await? {
        codes.insert(property.id, property.code);
    }
    let mut found = Vec::new();
    let rows = catalog::all_accounts(ledger).await?;
    if rows.is_empty() {
        found.push(Finding::well("accounts", "none is set up yet"));
    }
    for row in &rows {
        let property = codes.get(&row.account.property).map_or("?", String::as_str);
        let name = format!("{property} {}", row.account.code);
        let (mappings, _) = catalog::mappings(ledger, row.account.id).await?;
        found.push(state(&name, row, mappings.len()));
        found.extend(health(&name, &status::load(distribution, row).await?));
    }
    for connection in connections::list(distribution).await? {
        for state in poll::states(distribution, connection.id).await? {
            found.extend(polled(&connection.code, &state));
        }
    }
    for notice in notice::list(distribution, None, NOTICES_MAX).await? {
        let what = format!(
            "{} (since {}, {} times)",
            notice.text, notice.raised_at, notice.times
        );
        let remedy = "do as it says; it goes away by itself when the trouble is over";
        found.push(Finding::unwise("notice", what, remedy));
    }
    Ok(found)
}

/// What of it needs a person.
fn health(name: &str, status: &Status) -> Vec<Finding> {
    let part = "accounts";
    let mut found = Vec::new();
    let reason = status.reason.as_deref().unwrap_or("no reason is known");
    let since = status.since;
    match status.state {
        State::Failing => found.push(Finding::wrong(
            part,
            format!("{name} is failing since {since}: {reason}"),
            "what it shows cannot be trusted: close its nights at the channel by hand if it lasts",
        )),
        State::Degraded => found.push(Finding::unwise(
            part,
            format!("{name} is degraded since {since}: {reason}"),
            "GET /v1/properties/{property}/accounts/{account} tells the whole",
        )),
        _ => {}
    }
    if let Some(night) = status.nights_at_risk.first() {
        let count = status.nights_at_risk.len();
        found.push(Finding::wrong(
            part,
            format!(
                "{name} may show too much on {count} nights, first {} {}: {} instead of {}",
                night.room_type, night.night, night.shown, night.truth
            ),
            "POST …/resync, and look at its queue; close the nights there by hand if it lasts",
        ));
    }
    found.extend(status.unmapped.iter().map(|code| {
        Finding::wrong(
            part,
            format!("{name} sells {}, which no mapping knows", told(code)),
            "map it: PUT …/mappings; what was sold is then mapped anew by itself",
        )
    }));
    found
}

fn told(code: &UnmappedCode) -> String {
    let room = format!("room {}", code.channel_room_code);
    match code.channel_rate_code.as_str() {
        "" => room,
        rate => format!("{room} at rate {rate}"),
    }
}

/// Only what fails: a channel that is not asked has nothing to tell.
fn polled(connection: &str, state: &PollState) -> Option<Finding> {
    let seconds = state.failing_seconds?;
    let why = state.last_error.as_deref().unwrap_or("no reason is known");
    let part = "connections";
    Some(match state.goal {
        // The rest arrives; a connection that fails as a whole is not polled either.
        Goal::PollMissed => Finding::unwise(
            part,
            format!(
                "{connection} could not be asked for what it gave up delivering for {seconds} s: \
                 {why}"
            ),
            "have the channel switch the recovery of reservations on; watch the mailbox until then",
        ),
        _ => Finding::wrong(
            part,
            format!("{connection} has not been polled for {seconds} s: {why}"),
            "look at endpoint and credentials: PUT /v1/connections/{connection}, then POST …/test",
        ),
    })
}

fn state(name: &str, row: &AccountRow, mappings: usize) -> Finding {
    let part = "accounts";
    let since = row.state_since;
    let because = row
        .state_reason
        .as_deref()
        .map_or(String::new(), |why| format!(": {why}"));
    match row.account.state {
        _ if mappings == 0 => Finding::wrong(
            part,
            format!("{name} maps no room: nothing is told, and what it sells takes no room"),
            "put its mappings: PUT /v1/properties/{property}/accounts/{account}/mappings",
        ),
        AccountState::Live => Finding::well(part, format!("{name} is live since {since}")),
        AccountState::Setup if !row.import_done => Finding::unwise(
            part,
            format!("{name} is in setup, and what it has sold before is not imported"),
            "run `keyrack import FILE --dry-run`, then `keyrack import FILE --done`",
        ),
        AccountState::Setup => Finding::unwise(
            part,
            format!("{name} is in setup: the channel is told nothing"),
            "look at POST …/go-live?dry_run=true, then go live",
        ),
        AccountState::Paused => Finding::unwise(
            part,
            format!("{name} is paused since {since}{because}: pushes rest"),
            "POST …/resume when the reason is gone",
        ),
        AccountState::Closed => {
            Finding::well(part, format!("{name} is closed since {since}{because}"))
        }
    }
}

/// The newest; whoever has more has other troubles first.
const NOTICES_MAX: u32 = 50;
