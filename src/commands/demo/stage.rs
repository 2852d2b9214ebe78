//! The demo's stage: the daemon, the fake channels, and how one waits for something to be seen.

use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{AlpineBits, BookingCom, Channel};
use serde_json::Value;

use super::client::Client;
use super::hotel::{ALPINEBITS, BOOKING_COM, Listing, Type};
use super::tell::Teller;

/// What every scene needs.
pub struct Stage {
    pub client: Client,
    pub booking_com: BookingCom,
    pub alpinebits: AlpineBits,
    pub teller: Teller,
    pub today: Date,
}

/// How long a scene waits for what must happen: a killed daemon's turn at a channel is held for
/// 15 s, and the next one may be killed as well.
const PATIENCE: Duration = Duration::from_secs(60);

impl Stage {
    /// Both listings with their channels.
    pub fn listings(&self) -> [(&'static Listing, &Channel); 2] {
        [
            (&BOOKING_COM, &self.booking_com),
            (&ALPINEBITS, &self.alpinebits),
        ]
    }

    /// Rooms of a type that are free to the desk.
    pub async fn free(&self, room_type: &str, night: Date) -> Result<i32> {
        let path = format!(
            "availability?from={night}&to={}&room_type={room_type}&fresh=true",
            plus_days(night, 1)
        );
        let answer = self.client.get(&path).await?;
        let free = &answer["room_types"][0]["nights"][0]["free"];
        Ok(i32::try_from(free.as_i64().unwrap_or(-1))?)
    }

    /// Waits until so many rooms are free to the desk.
    pub async fn free_becomes(&self, room_type: &str, night: Date, rooms: i32) -> Result<()> {
        let what = format!("{room_type} on {night}: {rooms} rooms free");
        until(&what, || async move {
            Ok((self.free(room_type, night).await? == rooms).then_some(()))
        })
        .await
    }

    /// Waits until a channel shows so many rooms.
    pub async fn shown_becomes(
        &self,
        listing: &Listing,
        channel: &Channel,
        t: &Type,
        night: Date,
        rooms: i32,
    ) -> Result<()> {
        let what = format!("{} shows {rooms} of {} on {night}", listing.channel, t.code);
        let code = t.code_at(listing);
        until(&what, || async move {
            Ok((shown(channel, listing, code, night) == rooms).then_some(()))
        })
        .await
    }

    /// Waits for an open case on a night, with the cause worked out.
    pub async fn open_case(&self, room_type: &str, night: Date) -> Result<Value> {
        let is_it = |case: &Value| {
            let nights = case["nights"].as_array();
            let on_night = nights.is_some_and(|nights| {
                nights
                    .iter()
                    .any(|n| n["stay_date"].as_str() == Some(&night.to_string()))
            });
            case["room_type"] == room_type && on_night
        };
        let what = format!("a case for {room_type} on {night}");
        let case = until(&what, || async move {
            let cases = self
                .client
                .get("overbooking-cases?status=open&limit=500")
                .await?;
            let found = cases["items"]
                .as_array()
                .and_then(|c| c.iter().find(|c| is_it(c)).cloned());
            Ok(found.filter(|case| case["cause"] != "undetermined"))
        });
        case.await
    }
}

/// Rooms that a channel shows.
pub fn shown(channel: &Channel, listing: &Listing, code: &str, night: Date) -> i32 {
    let shown = channel.shown(listing.hotel, code, night);
    shown.map_or(0, |shown| i32::try_from(shown.rooms).unwrap_or(i32::MAX))
}

/// Asks until there is an answer.
pub async fn until<T, F>(what: &str, mut ask: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<Option<T>>>,
{
    let begun = Instant::now();
    loop {
        if let Some(answer) = ask().await? {
            return Ok(answer);
        }
        if begun.elapsed() > PATIENCE {
            bail!("waited {} s in vain: {what}", PATIENCE.as_secs());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
