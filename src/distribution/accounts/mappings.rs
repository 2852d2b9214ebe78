//! Changing mappings: a remote code that is left behind, or stands for something else, is closed
//! before anything else is told.
//!
//! # The order of things
//!
//! The codes are retired first, due in a while; then the ledger changes the mappings; then they
//! come due at once. A crash in between leaves them to be looked at later, and a code that still
//! stands for what it stood for is left alone then.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use keyrack_ledger::catalog::{self, AccountRow, MappingSetup};
use keyrack_ledger::command::By;
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::hits::{self, Hit};
use keyrack_ledger::{lists, tail};
use keyrack_model::channel::AccountState;

use crate::error::DistributionError;
use crate::feed;
use crate::handle::Distribution;
use crate::messages;
use crate::resync;
use crate::store::retired_code::{self, RetiredCode};
use crate::store::{told, transaction};

/// A remote code: of a room, or of a rate of it.
type Remote = (String, Option<String>);
/// What it stands for: codes of our type and plan.
type Own = (String, Option<String>);

/// Guests to come whom the account has sold under codes of rooms that would be gone, or stand for
/// another type: the channel's next word of them would move them, or find no mapping. While an
/// account is set up nothing is refused, and nobody is asked for.
///
/// # Errors
///
/// Failures of the database.
pub async fn guests_hit(
    distribution: &Distribution,
    row: &AccountRow,
    mappings: &[MappingSetup],
    limit: u32,
) -> Result<Vec<Hit>, DistributionError> {
    if row.account.state == AccountState::Setup {
        return Ok(Vec::new());
    }
    let (ledger, account) = (&distribution.inner.ledger, &row.account);
    let before = meanings(&catalog::mapping_codes(ledger, account.id).await?);
    let after = meanings(mappings);
    let changes = |(remote, own): &(&Remote, &Own)| after.get(*remote) != Some(*own);
    let changed = before.iter().filter(changes);
    let rooms = changed.filter(|((_, rate), _)| rate.is_none());
    let codes: Vec<String> = rooms.map(|((room, _), _)| room.clone()).collect();
    if codes.is_empty() {
        return Ok(Vec::new());
    }
    Ok(hits::under_codes(ledger, account.property, account.id, &codes, limit).await?)
}

/// Replaces the mappings of an account. `how` says the version of the list that was read, and why
/// although guests are to come under codes that change; each where there is one.
///
/// # Errors
///
/// Failures of the database.
pub async fn put(
    distribution: &Distribution,
    row: &AccountRow,
    by: &By,
    mappings: Vec<MappingSetup>,
    how: (Option<i64>, Option<&str>),
) -> Result<Result<Vec<MappingSetup>, Refusal>, DistributionError> {
    let inner = &distribution.inner;
    let account = row.account.id;
    if row.account.state == AccountState::Setup {
        let answer = lists::change_mappings(&inner.ledger, account, by, mappings, how).await?;
        if answer.is_ok() {
            messages::replay_mapped(distribution, &row.account).await?;
        }
        return Ok(answer);
    }
    let before = meanings(&catalog::mapping_codes(&inner.ledger, account).await?);
    let after = meanings(&mappings);
    let ids = Ids::of(distribution, row).await?;
    let retired = retired(&before, &after, &ids);
    if !retired.is_empty() {
        let mut tx = transaction::begin(&inner.pool).await?;
        retired_code::retire(&mut tx, account, &retired, CRASH_SECONDS).await?;
        transaction::commit(tx).await?;
    }
    let answered = lists::change_mappings(&inner.ledger, account, by, mappings, how).await?;
    let answer = match answered {
        Ok(answer) => answer,
        Err(refusal) => {
            for code in &retired {
                retired_code::closed(&inner.pool, account, code).await?;
            }
            return Ok(Err(refusal));
        }
    };
    tell(distribution, row, &retired, &before, &after, &ids).await?;
    // What waited for these codes takes its rooms now and not at the next look.
    messages::replay_mapped(distribution, &row.account).await?;
    Ok(Ok(answer))
}

/// What follows once the ledger has the new mappings.
async fn tell(
    distribution: &Distribution,
    row: &AccountRow,
    retired: &[RetiredCode],
    before: &BTreeMap<Remote, Own>,
    after: &BTreeMap<Remote, Own>,
    ids: &Ids,
) -> Result<(), DistributionError> {
    let inner = &distribution.inner;
    let (day, _) = tail::business_day(&inner.ledger, row.account.property).await?;
    let mut tx = transaction::begin(&inner.pool).await?;
    if !retired.is_empty() {
        retired_code::retire(&mut tx, row.account.id, retired, 0).await?;
    }
    let gained: BTreeSet<&Own> = after
        .iter()
        .filter(|(remote, own)| before.get(*remote) != Some(*own))
        .map(|(_, own)| own)
        .collect();
    for own in gained {
        if let Some((room_type, rate_plan)) = ids.find(own) {
            told::doubt(&mut *tx, row.account.id, room_type, rate_plan, day).await?;
        }
    }
    resync::mark_all(distribution, &mut tx, &row.account).await?;
    transaction::commit(tx).await?;
    inner.wakes.push.notify_one();
    feed::wake(distribution);
    Ok(())
}

/// What each remote code stands for. A rate's mapping speaks of its room as well.
fn meanings(mappings: &[MappingSetup]) -> BTreeMap<Remote, Own> {
    let mut meanings = BTreeMap::new();
    for mapping in mappings {
        let room = (mapping.channel_room_code.clone(), None);
        meanings.insert(room, (mapping.room_type.clone(), None));
        if let (Some(rate), Some(plan)) = (&mapping.channel_rate_code, &mapping.rate_plan) {
            let remote = (mapping.channel_room_code.clone(), Some(rate.clone()));
            meanings.insert(remote, (mapping.room_type.clone(), Some(plan.clone())));
        }
    }
    meanings
}

/// The codes that are gone or stand for something else.
fn retired(
    before: &BTreeMap<Remote, Own>,
    after: &BTreeMap<Remote, Own>,
    ids: &Ids,
) -> Vec<RetiredCode> {
    before
        .iter()
        .filter(|(remote, own)| after.get(*remote) != Some(*own))
        .filter_map(|((room, rate), own)| {
            let (room_type_id, rate_plan_id) = ids.find(own)?;
            Some(RetiredCode {
                channel_room_code: room.clone(),
                channel_rate_code: rate.clone().unwrap_or_default(),
                room_type_id,
                rate_plan_id,
                attempt: 0,
            })
        })
        .collect()
}

/// Ids by codes.
struct Ids {
    room_types: HashMap<String, i64>,
    rate_plans: HashMap<String, i64>,
}

impl Ids {
    async fn of(distribution: &Distribution, row: &AccountRow) -> Result<Self, DistributionError> {
        let (ledger, property) = (&distribution.inner.ledger, row.account.property);
        let room_types = catalog::room_types(ledger, property).await?;
        let rate_plans = catalog::rate_plans(ledger, property).await?;
        Ok(Self {
            room_types: room_types
                .into_iter()
                .map(|one| (one.code, one.id.0))
                .collect(),
            rate_plans: rate_plans
                .into_iter()
                .map(|one| (one.code, one.id.0))
                .collect(),
        })
    }

    /// Type and plan; 0 is the room itself.
    fn find(&self, (room_type, rate_plan): &Own) -> Option<(i64, i64)> {
        let room_type = self.room_types.get(room_type)?;
        let rate_plan = match rate_plan {
            None => 0,
            Some(plan) => *self.rate_plans.get(plan)?,
        };
        Some((*room_type, rate_plan))
    }
}

/// Codes whose change of mappings broke off are looked at after this.
const CRASH_SECONDS: u32 = 60;

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(
        room_type: &str,
        plan: Option<&str>,
        room: &str,
        rate: Option<&str>,
    ) -> MappingSetup {
        MappingSetup {
            room_type: room_type.into(),
            rate_plan: plan.map(str::to_owned),
            channel_room_code: room.into(),
            channel_rate_code: rate.map(str::to_owned),
            pool: Default::default(),
            allotment: None,
        }
    }

    fn left_behind(before: &[MappingSetup], after: &[MappingSetup]) -> Vec<String> {
        let ids = Ids {
            room_types: HashMap::from([("dbl".into(), 1), ("sgl".into(), 2)]),
            rate_plans: HashMap::from([("bar".into(), 5), ("nrf".into(), 6)]),
        };
        retired(&meanings(before), &meanings(after), &ids)
            .into_iter()
            .map(|code| {
                let (room, rate) = (code.channel_room_code, code.channel_rate_code);
                format!("{room}/{rate} {}/{}", code.room_type_id, code.rate_plan_id)
            })
            .collect()
    }

    #[test]
    fn a_code_that_is_gone_or_means_something_else_is_left_behind() {
        let before = [
            mapping("dbl", Some("bar"), "A", Some("1")),
            mapping("dbl", Some("nrf"), "A", Some("2")),
            mapping("sgl", Some("bar"), "B", Some("3")),
        ];
        let same = before.to_vec();
        assert_eq!(left_behind(&before, &same), [""; 0]);
        let without_plan = &before[..1];
        assert_eq!(
            left_behind(&before, without_plan),
            ["A/2 1/6", "B/ 2/0", "B/3 2/5"]
        );
        let mut moved = before.to_vec();
        moved[2].room_type = "dbl".into();
        assert_eq!(left_behind(&before, &moved), ["B/ 2/0", "B/3 2/5"]);
        let mut swapped = before.to_vec();
        swapped[0].rate_plan = Some("nrf".into());
        assert_eq!(left_behind(&before, &swapped), ["A/1 1/5"]);
    }
}
