//! How far a hotel could mean to sell its nights, by its own history: computed, never applied
//! unasked.

use std::collections::BTreeMap;

use keyrack_model::id::RoomTypeId;
use keyrack_model::money::Currency;
use keyrack_model::stay::{StayDate, StayRange, days_between};
use sqlx::PgConnection;

use crate::decide::overbooking::forecast::{Fate, limit, lost_hundredths, too_little};
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::ground::Ground;
use crate::store::history::{self, FateRow, NightFates, Window};
use crate::store::{connection, night};

/// What is asked.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// For which nights.
    pub nights: StayRange,
    /// What a sold room is worth, in minor units; `None` takes what was paid on average.
    pub value_minor: Option<i64>,
    /// What a walk costs, in minor units; `None` takes the policy's for one night at the last
    /// moment.
    pub walk_minor: Option<i64>,
}

/// What is suggested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggestion {
    /// What a sold room is worth, in minor units.
    pub value_minor: i64,
    /// What a walk costs, in minor units.
    pub walk_minor: i64,
    /// Their currency.
    pub currency: Currency,
    /// Night by night.
    pub nights: Vec<NightSuggestion>,
    /// What became of stays, by the lead time that was looked at, source and weekday.
    pub history: Vec<History>,
}

/// What is suggested of a night.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NightSuggestion {
    /// Which.
    pub night: StayDate,
    /// Days ahead; negative for a night that is past.
    pub lead_days: i32,
    /// Rooms that can be slept in.
    pub rooms: i32,
    /// Rooms sold.
    pub sold: i32,
    /// Of these, rooms that are expected to be lost, in hundredths; `None` where the history tells
    /// nothing.
    pub expected_lost_hundredths: Option<i64>,
    /// Rooms cancelled so far, whenever they were sold.
    pub cancelled: i64,
    /// Rooms of guests who did not come.
    pub no_shows: i64,
    /// The limit that the night has.
    pub limit_now: i32,
    /// The limit that would be best; `None` where the history tells nothing, or it is past.
    pub limit: Option<i32>,
    /// Why there is none.
    pub why_not: Option<String>,
}

/// What became of the stays of the last year.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// So many days before the arrival they were expected.
    pub lead_days: i32,
    /// From where.
    pub source: String,
    /// 1 is Monday.
    pub weekday: i32,
    /// Stays that were expected.
    pub expected: i64,
    /// Of these, cancelled afterwards.
    pub cancelled: i64,
    /// Of these, did not come.
    pub no_shows: i64,
}

/// What is suggested, or what must be told first.
pub async fn suggest(
    ledger: &Ledger,
    ground: &Ground,
    question: Question,
) -> Result<Result<Suggestion, Refusal>, LedgerError> {
    let id = ground.property.id;
    let mut conn = connection::reader(ledger).await?;
    let (value_minor, walk_minor) = match worth(&mut conn, ground, question).await? {
        Ok(worth) => worth,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let leads = leads(ground.today, question.nights);
    let mut pasts = BTreeMap::new();
    for lead_days in leads {
        let window = Window {
            lead_days,
            until_days: 0,
        };
        let zone = &ground.property.setup.time_zone;
        let rows = history::fates(&mut conn, id, (ground.today, zone), window).await?;
        pasts.insert(lead_days, rows);
    }
    let fates = history::of_nights(&mut conn, id, question.room_type, question.nights).await?;
    let types = [question.room_type];
    let balances = night::balances(&mut conn, id, &types, question.nights).await?;
    let worth = (value_minor, walk_minor);
    let nights = balances.into_iter().map(|(_, day, balance)| {
        let lead_days = days_between(ground.today, day);
        let past = pasts
            .get(&step_of(lead_days))
            .map_or(&[][..], Vec::as_slice);
        let told = fates.get(&day).cloned().unwrap_or_default();
        let mut one = NightSuggestion {
            night: day,
            lead_days,
            rooms: balance.usable(),
            sold: balance.sold,
            expected_lost_hundredths: expected(past, day, &told),
            cancelled: told.cancelled,
            no_shows: told.no_shows,
            limit_now: balance.overbooking_limit,
            limit: None,
            why_not: None,
        };
        suggest_limit(&mut one, past, worth);
        one
    });
    Ok(Ok(Suggestion {
        value_minor,
        walk_minor,
        currency: ground.currency(),
        nights: nights.collect(),
        history: pasts.into_iter().flat_map(told).collect(),
    }))
}

fn told((lead_days, rows): (i32, Vec<FateRow>)) -> impl Iterator<Item = History> {
    rows.into_iter().map(move |row| History {
        lead_days,
        source: row.source,
        weekday: row.weekday,
        expected: row.expected,
        cancelled: row.cancelled,
        no_shows: row.no_shows,
    })
}

/// What a sold room is worth, and what a walk costs.
async fn worth(
    conn: &mut PgConnection,
    ground: &Ground,
    question: Question,
) -> Result<Result<(i64, i64), Refusal>, LedgerError> {
    let value = match question.value_minor {
        Some(minor) => Some(minor),
        None => {
            let (id, currency) = (ground.property.id, ground.currency());
            history::paid(conn, id, question.room_type, (ground.today, currency)).await?
        }
    };
    let Some(value) = value else {
        let words = "say what a sold room is worth: no price of one is known";
        return Ok(Err(Refusal::invalid("/value", words)));
    };
    let walk = question
        .walk_minor
        .or_else(|| ground.policy.walk_minor(1, 0, 1));
    let Some(walk) = walk else {
        let words = "say what a walk costs: the policy's table of compensations does not";
        return Ok(Err(Refusal::invalid("/walk_cost", words)));
    };
    Ok(Ok((value, walk)))
}

fn suggest_limit(one: &mut NightSuggestion, past: &[FateRow], (value, walk): (i64, i64)) {
    if one.lead_days < 0 {
        one.why_not = Some("the night is past".to_owned());
        return;
    }
    let weekday = i32::from(one.night.weekday().to_monday_one_offset());
    let same_day = sum(past.iter().filter(|row| row.weekday == weekday));
    let all = sum(past.iter());
    let fate = if same_day.is_telling() { same_day } else { all };
    one.limit = limit(one.rooms, fate, value, walk);
    if one.limit.is_none() {
        one.why_not = Some(match fate.is_telling() {
            true => "neither a room is worth anything nor a walk costs anything".to_owned(),
            false => too_little(fate),
        });
    }
}

/// Rooms of those that are sold that are expected to be lost: by source and weekday where that
/// tells something, else by source, else by all that is known.
fn expected(past: &[FateRow], night: StayDate, told: &NightFates) -> Option<i64> {
    let all = sum(past.iter());
    all.is_telling().then_some(())?;
    let weekday = i32::from(night.weekday().to_monday_one_offset());
    let each = told.sold.iter().map(|(source, rooms)| {
        let of_source = || past.iter().filter(|row| row.source == *source);
        let narrow = sum(of_source().filter(|row| row.weekday == weekday));
        let wide = sum(of_source());
        let fate = [narrow, wide].into_iter().find(|fate| fate.is_telling());
        lost_hundredths(
            i32::try_from(*rooms).unwrap_or(i32::MAX),
            fate.unwrap_or(all),
        )
    });
    Some(each.sum())
}

fn sum<'a>(rows: impl Iterator<Item = &'a FateRow>) -> Fate {
    rows.fold(Fate::default(), |sum, row| {
        sum.and(Fate {
            expected: row.expected,
            lost: row.cancelled + row.no_shows,
        })
    })
}

/// The lead times that are looked at for some nights.
fn leads(today: StayDate, nights: StayRange) -> Vec<i32> {
    let mut leads: Vec<i32> = nights
        .nights()
        .map(|night| step_of(days_between(today, night)))
        .collect();
    leads.sort_unstable();
    leads.dedup();
    leads
}

/// The nearest lead time below that the history is asked for: a query each.
fn step_of(lead_days: i32) -> i32 {
    let below = STEPS.iter().rev().find(|step| **step <= lead_days);
    below.copied().unwrap_or(0)
}

const STEPS: [i32; 12] = [0, 1, 2, 3, 5, 7, 10, 14, 21, 30, 60, 90];

/// On what the suggestion rests, in words.
pub const ASSUMPTIONS: [&str; 6] = [
    "each guest is lost by himself and with the same probability, so a group that cancels together \
     is more than is reckoned with",
    "whoever was expected in the last year tells what becomes of whoever is expected now, by the \
     days left, the weekday of the arrival, and for what is sold the source",
    "the demand is there: a room more on sale is sold",
    "a sold room is worth its value and nothing else, and a guest too many costs the walk and \
     nothing else: what he tells others is not in it",
    "a guest who is lost pays nothing",
    "a reservation that was cancelled was last changed then",
];

/// Where the rule comes from.
pub const SOURCE: &str = "the newsvendor's rule: the smallest y with P(lost <= y) >= value / \
     (value + walk cost), the number of the lost being binomial; S. Netessine and R. Shumsky, \
     Introduction to the Theory and Practice of Yield Management, INFORMS Transactions on \
     Education 3(1), 2002";
