//! What the page shows, gathered by the verbs that the API uses.

use keyrack_distribution::Distribution;
use keyrack_distribution::accounts::standing::State;
use keyrack_distribution::accounts::status;
use keyrack_distribution::error::DistributionError;
use keyrack_ledger::catalog::{self, AccountRow, Property};
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::inventory::{self, TypeNights};
use keyrack_ledger::keys::ApiKey;
use keyrack_ledger::overbookings::case::{self, Listed};
use keyrack_ledger::overbookings::ground::Ground;
use keyrack_ledger::reservations::{self, Filter, Folio};
use keyrack_ledger::tail;
use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::stay::{Stay, StayDate, plus_days};
use thiserror::Error;
use uuid::Uuid;

/// The page could not be made.
#[derive(Debug, Error)]
pub enum Trouble {
    /// The ledger failed.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The engine failed.
    #[error(transparent)]
    Engine(#[from] DistributionError),
}

impl Trouble {
    /// The failure with all that caused it, for the log.
    pub fn chain(&self) -> String {
        let mut line = self.to_string();
        let mut cause = std::error::Error::source(self);
        while let Some(error) = cause {
            line.push_str(": ");
            line.push_str(&error.to_string());
            cause = error.source();
        }
        line
    }
}

/// What the page shows.
pub struct Board {
    /// Code and name of every property that the key sees.
    pub properties: Vec<(String, String)>,
    /// The one that is looked at.
    pub house: Option<House>,
}

/// One property.
pub struct House {
    /// Its code.
    pub code: String,
    /// For people.
    pub name: String,
    /// Its business day.
    pub today: StayDate,
    /// The nights from its business day.
    pub nights: Vec<TypeNights>,
    /// The newest reservations, the newest first.
    pub reservations: Vec<Line>,
    /// Its accounts.
    pub accounts: Vec<AccountLine>,
    /// Its open overbooking cases, the newest first.
    pub cases: Vec<CaseLine>,
}

/// An open overbooking case, without its guests.
pub struct CaseLine {
    /// Its id.
    pub id: String,
    /// Code of its room type.
    pub room_type: String,
    /// Its nights.
    pub nights: String,
    /// Why, in a word.
    pub cause: String,
    /// Who works it.
    pub owner: Option<String>,
    /// Until when, by the property's clock.
    pub deadline: Option<String>,
    /// The deadline has passed.
    pub is_late: bool,
}

/// A reservation, without its guest.
pub struct Line {
    /// Short, for people.
    pub number: String,
    /// Where it stands.
    pub status: &'static str,
    /// Where it came from.
    pub source: &'static str,
    /// The account's code, where it came through one.
    pub account: Option<String>,
    /// Stay and room type of each room.
    pub rooms: Vec<String>,
    /// What staff should see.
    pub flags: Vec<String>,
}

/// An account.
pub struct AccountLine {
    /// Its code.
    pub code: String,
    /// Code of its channel.
    pub channel: String,
    /// How it stands.
    pub state: &'static str,
    /// Why.
    pub reason: Option<String>,
    /// Cells still to be told.
    pub queue: i64,
    /// Milliseconds from change to acknowledgement: p50, p95, p99.
    pub lag_ms: (i64, i64, i64),
    /// Last push and last poll.
    pub last: (Option<String>, Option<String>),
    /// Nights on which the channel may show more than there is.
    pub at_risk: usize,
    /// Codes that no mapping knows.
    pub unmapped: usize,
}

/// Gathers the page.
pub async fn load(
    distribution: &Distribution,
    key: &ApiKey,
    code: Option<&str>,
) -> Result<Board, Trouble> {
    let ledger = distribution.ledger();
    let properties = properties(ledger, key).await?;
    let chosen = match code {
        Some(code) => properties.iter().find(|known| known.code == code),
        None => properties.first(),
    };
    let house = match chosen {
        Some(property) => Some(house(distribution, property).await?),
        None => None,
    };
    let named = properties.into_iter().map(|one| (one.code, one.setup.name));
    Ok(Board {
        properties: named.collect(),
        house,
    })
}

/// The properties that the key sees; the first of many.
async fn properties(ledger: &Ledger, key: &ApiKey) -> Result<Vec<Property>, LedgerError> {
    let Some(own) = key.property else {
        return catalog::properties(ledger, None, PROPERTIES_MAX).await;
    };
    let mut found = catalog::properties(ledger, Some(PropertyId(own.0 - 1)), 1).await?;
    found.retain(|property| property.id == own);
    Ok(found)
}

async fn house(distribution: &Distribution, property: &Property) -> Result<House, Trouble> {
    let ledger = distribution.ledger();
    let (today, _) = tail::business_day(ledger, property.id).await?;
    let nights = match Stay::new(today, plus_days(today, NIGHTS)) {
        Some(nights) => {
            inventory::availability(ledger, property.id, nights, None)
                .await?
                .1
        }
        None => Vec::new(),
    };
    let rows = catalog::accounts(ledger, property.id).await?;
    let reservations = newest(ledger, property.id).await?;
    let types = catalog::room_types(ledger, property.id).await?;
    let type_code = |id| {
        let known = types.iter().find(|known| known.id == id);
        known.map_or("(unmapped)", |known| known.code.as_str())
    };
    let lines = reservations
        .iter()
        .map(|folio| line(folio, &rows, type_code));
    let reservations = lines.collect();
    let mut accounts = Vec::new();
    for row in &rows {
        accounts.push(account(distribution, row).await?);
    }
    let cases = cases(ledger, property.id).await?;
    Ok(House {
        cases,
        code: property.code.clone(),
        name: property.setup.name.clone(),
        today,
        nights,
        reservations,
        accounts,
    })
}

async fn cases(ledger: &Ledger, property: PropertyId) -> Result<Vec<CaseLine>, LedgerError> {
    let Some(ground) = Ground::of(ledger, property).await? else {
        return Ok(Vec::new());
    };
    let listed = Listed {
        is_open: Some(true),
        before: None,
        limit: CASES,
    };
    let open = case::list(ledger, property, listed).await?;
    let line = |case: case::Case| {
        let nights: Vec<String> = case.live_nights().map(|night| night.to_string()).collect();
        let deadline = ground.deadline(&case);
        let shown = |at: jiff::Timestamp| {
            let local = at.to_zoned(ground.zone.clone());
            local.strftime("%m-%d %H:%M").to_string()
        };
        CaseLine {
            id: case.id.to_string(),
            nights: nights.join(" "),
            deadline: deadline.map(shown),
            is_late: deadline.is_some_and(|at| at < ground.now),
            room_type: case.room_type,
            cause: case.cause,
            owner: case.owner,
        }
    };
    Ok(open.into_iter().map(line).collect())
}

/// The newest reservations. Lists go forward in order of creation, and ids hold their time: so the
/// list begins a while ago, and longer ago where that shows too few.
async fn newest(ledger: &Ledger, property: PropertyId) -> Result<Vec<Folio>, LedgerError> {
    let mut found = Vec::new();
    for hours in [1, 24, 24 * 14, 24 * 365 * 50] {
        let filter = Filter {
            after: Some(made_before(Uuid::now_v7(), hours)),
            limit: 500,
            ..Filter::default()
        };
        found = reservations::list(ledger, property, &filter).await?;
        if found.len() >= RESERVATIONS {
            break;
        }
    }
    found.reverse();
    found.truncate(RESERVATIONS);
    Ok(found)
}

/// The least id that is made so many hours before another.
fn made_before(id: Uuid, hours: u64) -> ReservationId {
    let millis = u64::try_from(id.as_u128() >> 80).unwrap_or(0);
    let then = millis.saturating_sub(hours * 3_600_000);
    ReservationId(Uuid::from_u128(u128::from(then) << 80))
}

fn line<'a>(
    folio: &Folio,
    accounts: &[AccountRow],
    type_code: impl Fn(keyrack_model::id::RoomTypeId) -> &'a str,
) -> Line {
    let reservation = &folio.reservation;
    let account = reservation.account.and_then(|id| {
        let row = accounts.iter().find(|row| row.account.id == id);
        row.map(|row| row.account.code.clone())
    });
    let rooms = reservation.present_rooms().map(|room| {
        let code = room.room_type.map_or("(unmapped)", &type_code);
        format!(
            "{} × {code} {}..{}",
            room.quantity, room.arrival, room.departure
        )
    });
    Line {
        number: reservation.number.to_string(),
        status: reservation.status.as_str(),
        source: reservation.source.as_str(),
        account,
        rooms: rooms.collect(),
        flags: reservation.flags.clone(),
    }
}

async fn account(
    distribution: &Distribution,
    row: &AccountRow,
) -> Result<AccountLine, DistributionError> {
    let status = status::load(distribution, row).await?;
    let lag = status.lag;
    Ok(AccountLine {
        code: row.account.code.clone(),
        channel: row.account.channel.to_string(),
        state: match status.state {
            State::Setup => "setup",
            State::Ok => "ok",
            State::Degraded => "degraded",
            State::Failing => "failing",
            State::Paused => "paused",
            State::Closed => "closed",
        },
        reason: status.reason,
        queue: status.queue_depth,
        lag_ms: (lag.p50_ms, lag.p95_ms, lag.p99_ms),
        last: (
            status.last_push_at.map(|at| at.to_string()),
            status.last_poll_at.map(|at| at.to_string()),
        ),
        at_risk: status.nights_at_risk.len(),
        unmapped: status.unmapped.len(),
    })
}

/// A fortnight fits a screen.
const NIGHTS: i32 = 14;
const RESERVATIONS: usize = 20;
const CASES: u32 = 50;
const PROPERTIES_MAX: u32 = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_an_hour_ago_lies_before_every_id_of_now() {
        let now = Uuid::now_v7();
        let earlier = made_before(now, 1);
        assert!(earlier.0 < now);
        assert!(made_before(now, 2) < earlier);
        let gap = (now.as_u128() >> 80) - (earlier.0.as_u128() >> 80);
        assert_eq!(gap, 3_600_000);
    }
}
