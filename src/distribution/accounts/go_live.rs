//! Going live: what would be told is shown before anything is.

use std::collections::{BTreeMap, HashMap, HashSet};

use keyrack_ledger::catalog::{self, AccountRow};
use keyrack_ledger::command::By;
use keyrack_ledger::{inventory, tail};
use keyrack_model::ari::{AriCell, AriKey, AriValues};
use keyrack_model::channel::AccountState;
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::{Stay, StayDate, StayRange};
use serde::Serialize;

use crate::accounts::asked::Asked;
use crate::accounts::names::Names;
use crate::error::DistributionError;
use crate::feed;
use crate::handle::Distribution;
use crate::messages;
use crate::store::poll;

/// What would be told of some nights, all alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Code of the room type.
    pub room_type: String,
    /// Code of the rate plan; `None` is the room itself.
    pub rate_plan: Option<String>,
    /// The nights.
    pub nights: StayRange,
    /// What would be told; `None` where nothing can be.
    pub values: Option<AriValues>,
    /// What stands in the way of selling.
    pub problems: Vec<Problem>,
}

/// What stands in the way of selling some nights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Problem {
    /// No positive rate: told closed.
    NoPrice,
    /// The type or plan has no code at the channel: told nothing.
    NoMapping,
    /// More is sold than there is.
    Oversold,
}

/// What going live does, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GoLive {
    /// What would be told, per type, plan and range of nights.
    pub lines: Vec<Line>,
    /// What was sold before has been imported, or that was waived.
    pub import_done: bool,
    /// The account is live now.
    pub is_live: bool,
}

/// Why an account does not go live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoLiveRefusal {
    /// What is sold already has neither been imported nor been waived: the channel would be shown
    /// rooms that are taken.
    ImportNeeded,
    /// Nothing is mapped.
    NothingMapped,
    /// Only an account in setup, or one that was closed, goes live.
    WrongState(AccountState),
}

/// Goes live, or shows what that would tell. Raises wait for a complete poll; what is closed is
/// told at once.
///
/// # Errors
///
/// Failures of the database.
pub async fn go_live(
    distribution: &Distribution,
    row: &AccountRow,
    by: &By,
    dry_run: bool,
) -> Result<Result<GoLive, GoLiveRefusal>, DistributionError> {
    // Guests that came while their codes were not mapped yet take their rooms before anything is
    // told.
    messages::replay_mapped(distribution, &row.account).await?;
    let mut asked = Asked::of(distribution, row).await?;
    let lines = lines(distribution, &mut asked).await?;
    let mut answer = GoLive {
        lines,
        import_done: row.import_done,
        is_live: row.account.state == AccountState::Live,
    };
    if dry_run {
        return Ok(Ok(answer));
    }
    match row.account.state {
        AccountState::Setup | AccountState::Closed => {}
        AccountState::Live => return Ok(Ok(answer)),
        AccountState::Paused => {
            return Ok(Err(GoLiveRefusal::WrongState(AccountState::Paused)));
        }
    }
    if !row.import_done {
        return Ok(Err(GoLiveRefusal::ImportNeeded));
    }
    if asked.mappings.is_empty() {
        return Ok(Err(GoLiveRefusal::NothingMapped));
    }
    let inner = &distribution.inner;
    let (ledger, id) = (&inner.ledger, row.account.id);
    catalog::set_account_state(ledger, id, by, AccountState::Live, None).await?;
    poll::ring(&inner.pool, Some(row.account.connection)).await?;
    inner.wakes.poll.notify_one();
    feed::wake(distribution);
    answer.is_live = true;
    Ok(Ok(answer))
}

async fn lines(
    distribution: &Distribution,
    asked: &mut Asked,
) -> Result<Vec<Line>, DistributionError> {
    let ledger = &distribution.inner.ledger;
    let property = asked.row.account.property;
    // As it would be once it is live.
    asked.row.account.state = AccountState::Live;
    let names = Names::of(distribution, property).await?;
    let keys = tail::keys(ledger, &asked.listing()).await?;
    let cells = tail::cells(ledger, &asked.listing(), &keys).await?;
    let (day, end) = tail::business_day(ledger, property).await?;
    let nights = StayRange::new(day, end);
    let oversold = oversold(distribution, asked, nights).await?;
    let takes_rates = asked.capabilities.takes_rates && asked.capabilities.knows_rate_plans;
    let mut lines = joined(cells, &names, |cell| problems(cell, &oversold, takes_rates));
    let mapped: HashSet<RoomTypeId> = asked.mappings.iter().map(|one| one.room_type).collect();
    let types = catalog::room_types(ledger, property).await?;
    lines.extend(
        types
            .into_iter()
            .filter(|known| !mapped.contains(&known.id))
            .filter_map(|unmapped| {
                Some(Line {
                    room_type: unmapped.code,
                    rate_plan: None,
                    nights: nights?,
                    values: None,
                    problems: vec![Problem::NoMapping],
                })
            }),
    );
    Ok(lines)
}

fn problems(
    cell: &AriCell,
    oversold: &HashSet<(RoomTypeId, StayDate)>,
    takes_rates: bool,
) -> Vec<Problem> {
    let key = cell.key;
    let mut problems = Vec::new();
    let has_price = cell.values.rate.is_some_and(|rate| rate.minor > 0)
        || !cell.values.occupancy_rates.is_empty();
    if takes_rates && key.rate_plan.is_some() && !has_price {
        problems.push(Problem::NoPrice);
    }
    if key.rate_plan.is_none() && oversold.contains(&(key.room_type, key.night)) {
        problems.push(Problem::Oversold);
    }
    problems
}

/// The nights with more sold than there is.
async fn oversold(
    distribution: &Distribution,
    asked: &Asked,
    nights: Option<StayRange>,
) -> Result<HashSet<(RoomTypeId, StayDate)>, DistributionError> {
    let Some(nights) = nights else {
        return Ok(HashSet::new());
    };
    let ledger = &distribution.inner.ledger;
    let property = asked.row.account.property;
    let (_, types) = inventory::availability(ledger, property, nights, None).await?;
    let short = types.into_iter().flat_map(|one| {
        let id = one.id;
        one.nights.into_iter().filter_map(move |line| {
            let night = &line.balance;
            (night.is_overbooked() || night.oversold > 0).then_some((id, line.night))
        })
    });
    Ok(short.collect())
}

/// Equal neighbours as one line.
fn joined(
    cells: Vec<AriCell>,
    names: &Names,
    problems: impl Fn(&AriCell) -> Vec<Problem>,
) -> Vec<Line> {
    let mut by_key: BTreeMap<_, Vec<(StayDate, AriValues, Vec<Problem>)>> = BTreeMap::new();
    for cell in cells {
        let AriKey {
            room_type,
            rate_plan,
            night,
        } = cell.key;
        let found = problems(&cell);
        let nights = by_key.entry((room_type, rate_plan)).or_default();
        nights.push((night, cell.values, found));
    }
    let mut lines = Vec::new();
    for ((room_type, rate_plan), mut nights) in by_key {
        nights.sort_by_key(|(night, ..)| *night);
        let mut runs: Vec<(StayRange, AriValues, Vec<Problem>)> = Vec::new();
        for (night, values, problems) in nights {
            let Some(one) = Stay::night(night) else {
                continue;
            };
            match runs.last_mut() {
                Some((run, told, known))
                    if run.departure() == night && *told == values && *known == problems =>
                {
                    *run = Stay::new(run.arrival(), one.departure()).unwrap_or(*run);
                }
                _ => runs.push((one, values, problems)),
            }
        }
        lines.extend(runs.into_iter().map(|(nights, values, problems)| Line {
            room_type: names.room_type(room_type),
            rate_plan: names.rate_plan(rate_plan),
            nights,
            values: Some(values),
            problems,
        }));
    }
    lines
}

/// How many nights of an answer are told open, closed, and stand in each problem: for people.
pub fn counted(answer: &GoLive) -> HashMap<&'static str, i32> {
    let mut counted = HashMap::new();
    for line in &answer.lines {
        let word = match &line.values {
            None => "untold",
            Some(values) if values.closed || values.rooms == Some(0) => "closed",
            Some(_) => "open",
        };
        *counted.entry(word).or_default() += line.nights.length();
        for problem in &line.problems {
            let word = match problem {
                Problem::NoPrice => "no_price",
                Problem::NoMapping => "no_mapping",
                Problem::Oversold => "oversold",
            };
            *counted.entry(word).or_default() += line.nights.length();
        }
    }
    counted
}
