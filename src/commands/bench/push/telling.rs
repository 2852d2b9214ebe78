//! What the channel was told, beside what the ledger wrote: from which message on an account knows
//! of a change, and whether what it heard last is true.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jiff::civil::Date;
use keyrack_model::stay::{days_between, plus_days};
use sqlx::{PgPool, Row as _};
use uuid::Uuid;

use super::super::contender::NIGHTS;
use super::super::ground::FIRST;
use super::endpoint::Message;

/// A type on a night, counted from the first of the ground.
type Cell = (i64, i32);

/// When an account was told how many rooms of a cell are left, in order of arrival.
type Tellings = Vec<(Instant, i32)>;

/// All that was told: by the channel's code of the hotel.
#[derive(Default)]
pub struct Telling {
    by_hotel: HashMap<String, HashMap<Cell, Tellings>>,
}

/// A change that its caller was told of.
#[derive(Clone, Copy, Debug)]
pub struct Change {
    pub id: Uuid,
    pub answered: Instant,
}

impl Telling {
    /// Adds messages, the later last.
    pub fn hear(&mut self, messages: &[Message]) -> Result<()> {
        for message in messages {
            let body = std::str::from_utf8(&message.body)?;
            let hotel = attribute(body, "HotelCode").context("a message without a hotel")?;
            let cells = self.by_hotel.entry(hotel.to_owned()).or_default();
            // The switch of the sale stands beside the limit, which says it all: 0 where closed.
            for status in body.split("<AvailStatusMessage ").skip(1) {
                let Some(limit) = attribute(status, "BookingLimit") else {
                    continue;
                };
                let rooms: i32 = limit.parse()?;
                let room: i64 = attribute(status, "InvTypeCode")
                    .context("a room")?
                    .parse()?;
                let night = |name| {
                    Ok::<_, anyhow::Error>(attribute(status, name).context("a date")?.parse()?)
                };
                let (from, to): (Date, Date) = (night("Start")?, night("End")?);
                for day in days_between(FIRST, from)..=days_between(FIRST, to) {
                    cells
                        .entry((room, day))
                        .or_default()
                        .push((message.at, rooms));
                }
            }
        }
        Ok(())
    }

    /// How long each account took to hear of each change: from its answer to the first message
    /// after which all its nights were told with it. An error where one was never told.
    pub async fn lags(&self, pool: &PgPool, changes: &[Change]) -> Result<Vec<Duration>> {
        let wanted: HashMap<Uuid, Instant> = changes
            .iter()
            .map(|change| (change.id, change.answered))
            .collect();
        let hotels = hotels(pool).await?;
        let mut left: HashMap<Cell, i32> = HashMap::new();
        let mut lags = Vec::new();
        for row in holds(pool).await? {
            let (property, room_type): (i64, i64) = (row.get(1), row.get(2));
            let from = days_between(FIRST, row.get::<jiff_sqlx::Date, _>(3).to_jiff());
            let rooms: i32 = row.get(4);
            let mut nights = [(0, 0); 3];
            for (night, at) in nights.iter_mut().zip(from..from + NIGHTS) {
                let left = left.entry((room_type, at)).or_insert(rooms);
                *left -= 1;
                *night = (at, *left);
            }
            let Some(answered) = wanted.get(&row.get(0)) else {
                continue;
            };
            for hotel in hotels.get(&property).into_iter().flatten() {
                let told = self.told(hotel, room_type, &nights).with_context(|| {
                    format!("hotel {hotel} was never told of a hold of type {room_type}")
                })?;
                lags.push(told.saturating_duration_since(*answered));
            }
        }
        Ok(lags)
    }

    /// When the last of some nights was told with so many rooms left or fewer.
    fn told(&self, hotel: &str, room_type: i64, nights: &[(i32, i32)]) -> Option<Instant> {
        let cells = self.by_hotel.get(hotel)?;
        let mut last = None;
        for (night, left) in nights {
            let tellings = cells.get(&(room_type, *night))?;
            // Rooms only ever go: what was told never rises.
            let at = tellings.partition_point(|(_, rooms)| rooms > left);
            last = last.max(Some(tellings.get(at)?.0));
        }
        last
    }

    /// What every hotel heard last of each cell must be what the ledger has; says how many cells.
    pub async fn must_be_true(&self, pool: &PgPool) -> Result<usize> {
        let rows = sqlx::query(
            "select room_type_id, stay_date, physical - held - sold from night
              where held + sold > 0",
        );
        let mut free: HashMap<Cell, i32> = HashMap::new();
        for row in rows.fetch_all(pool).await? {
            let night = days_between(FIRST, row.get::<jiff_sqlx::Date, _>(1).to_jiff());
            free.insert((row.get(0), night), row.get(2));
        }
        let mut compared = 0;
        for (hotel, cells) in &self.by_hotel {
            for ((room_type, night), tellings) in cells {
                let (told, is) = (tellings.last(), free.get(&(*room_type, *night)));
                let told = told.map(|(_, rooms)| rooms);
                let date = plus_days(FIRST, *night);
                ensure!(
                    told == is,
                    "{hotel}: type {room_type} on {date} was told as {told:?} and is {is:?}"
                );
                compared += 1;
            }
        }
        Ok(compared)
    }
}

/// The value of the first attribute of that name.
fn attribute<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, behind) = text.split_once(&format!(" {name}=\"")).or_else(|| {
        let behind = text.strip_prefix(name)?.strip_prefix("=\"")?;
        Some(("", behind))
    })?;
    behind.split_once('"').map(|(value, _)| value)
}

/// The listings of each property, by the channel's codes.
async fn hotels(pool: &PgPool) -> Result<HashMap<i64, Vec<String>>> {
    let rows = sqlx::query("select property_id, hotel_code from account where state = 'live'");
    let mut hotels: HashMap<i64, Vec<String>> = HashMap::new();
    for row in rows.fetch_all(pool).await? {
        hotels.entry(row.get(0)).or_default().push(row.get(1));
    }
    Ok(hotels)
}

/// Every hold in the ledger's order.
async fn holds(pool: &PgPool) -> Result<Vec<sqlx::postgres::PgRow>> {
    let rows = sqlx::query(
        "select reservation_id, property_id, room_type_id, night_from, rooms
           from ledger_entry join room_type using (property_id, room_type_id)
          where kind = 'held' order by tx, seq",
    );
    Ok(rows.fetch_all(pool).await?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attribute_is_found_by_its_whole_name() {
        let status = "BookingLimit=\"7\" LocatorID=\"1\"><StatusApplicationControl \
                      Start=\"2030-01-10\" End=\"2030-01-11\" InvTypeCode=\"12\"/>";
        assert_eq!(attribute(status, "BookingLimit"), Some("7"));
        assert_eq!(attribute(status, "End"), Some("2030-01-11"));
        assert_eq!(attribute(status, "Code"), None);
    }
}
