//! Ten minutes down: the daemon is killed and nobody starts it, while guests go on booking,
//! changing and cancelling by what the channels still show. Then it is started, and nothing rises
//! before it has asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use jiff::civil::Date;
use keyrack_commands::demo::calm;
use keyrack_commands::demo::hotel::{ALPINEBITS, BOOKING_COM, NIGHTS, TYPES, book};
use keyrack_commands::demo::stage::{Stage, shown};
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{
    Cause, Event, Faults, Guests, Habits, Journal, Latency, Message, NightChange, What,
};
use serde_json::{Value, json};

use crate::killed::world::{World, desk, seed};

/// How the ten minutes pass.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Time {
    /// The channels' clock is turned ahead.
    Turned,
    /// They are waited for.
    Waited,
}

#[tokio::test(flavor = "multi_thread")]
async fn after_ten_minutes_down_no_channel_shows_more_than_is_free_once_it_was_polled() {
    ten_minutes_down("down", Time::Turned).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes ten minutes"]
async fn after_ten_real_minutes_down_no_channel_shows_more_than_is_free_once_it_was_polled() {
    ten_minutes_down("long-down", Time::Waited).await;
}

async fn ten_minutes_down(label: &str, time: Time) {
    let mut world = World::open(label, seed()).await;
    let stage = Arc::clone(&world.stage);
    let mut guests = Everybody::at(&stage);
    let given_back = sold_for_a_while(&stage).await;
    // It is killed amid the traffic, with changes that nobody was told yet: those that raise wait
    // for a poll, and the channels are slow to be asked.
    let stop = Arc::new(AtomicBool::new(false));
    let busy = tokio::spawn(desk(Arc::clone(&stage), seed(), Arc::clone(&stop)));
    for _ in 0..15 {
        guests.step();
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    stop.store(true, Ordering::Relaxed);
    busy.await.expect("the desk closes");
    slow_to_be_asked(&stage, 500);
    for id in given_back {
        let path = format!("reservations/{id}/cancel");
        let cancelled = stage.client.post(&path, json!({})).await;
        cancelled.expect("it can be cancelled");
    }
    guests.step();
    told_anew(&stage).await;
    world.daemon.kill();
    guests.count = Count::default();
    for _ in 0..MINUTES_DOWN * 60 / PIECE_SECONDS {
        guests.step();
        guests.step();
        match time {
            Time::Turned => world.sandbox.clock().advance(PIECE_SECONDS * 1_000),
            Time::Waited => tokio::time::sleep(Duration::from_secs(PIECE_SECONDS.into())).await,
        }
    }
    guests.count.assert_many();
    // The database's clock is not turned: a daemon whose own clock is 30 s away from it is never
    // ready, and makes no holds. To the daemon what is past is told by the channels alone.
    let restarted_at = world.daemon.database_now().await;
    let unheard = stage.listings().map(|(_, c)| Unheard::of(&c.journal()));
    world.daemon.start_again();
    world.daemon.ready().await;
    while !are_polled_since(&stage, restarted_at).await {
        guests.step();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    slow_to_be_asked(&stage, 0);
    // The guests go home. What they did in the last moment is heard by the next poll, and told.
    let told = calm::calm(&stage).await;
    assert!(told.is_ok(), "untold: {:#?}", accounts(&stage).await);
    let above = above_the_truth(&stage).await;
    assert!(above.is_empty(), "shown above what is free: {above:#?}");
    for ((listing, channel), unheard) in stage.listings().into_iter().zip(&unheard) {
        let rises = unheard.rises(&channel.journal());
        let account = listing.account;
        assert!(rises.is_empty(), "{account} rose unheard: {rises:#?}");
    }
    world.judge().await;
}

/// Sells a double room at the desk on each of many quiet nights, and waits until that was told.
async fn sold_for_a_while(stage: &Stage) -> Vec<String> {
    let mut ids = Vec::new();
    for offset in 70..90 {
        let arrival = plus_days(stage.today, offset);
        let booked = book(&stage.client, TYPES[1].code, arrival, 1, 1).await;
        let booked = booked.expect("it is free");
        ids.push(booked["id"].as_str().expect("an id").to_owned());
    }
    calm::calm(stage).await.expect("it is told");
    ids
}

/// The portal is to be told everything again, which replaces all that it knows.
async fn told_anew(stage: &Stage) {
    let path = format!("accounts/{}/resync", ALPINEBITS.account);
    let asked = stage.client.post(&path, json!({})).await;
    asked.expect("it can be asked for");
}

/// Channels that take so long to say what they sold, and are told as quickly as ever.
fn slow_to_be_asked(stage: &Stage, ms: u32) {
    for (_, channel) in stage.listings() {
        channel.set_faults(Faults {
            latency: Latency::fixed(ms),
            only: vec!["OTA_HotelRes".to_owned(), "GuestRequests".to_owned()],
            ..Faults::default()
        });
    }
}

/// Guests of both channels.
struct Everybody {
    guests: [Guests; 2],
    count: Count,
}

/// What guests did.
#[derive(Default)]
struct Count {
    booked: usize,
    modified: usize,
    cancelled: usize,
}

impl Everybody {
    fn at(stage: &Stage) -> Self {
        let habits = |hotel: &str| Habits {
            hotel: Some(hotel.to_owned()),
            ..Habits::default()
        };
        let (booking_com, portal) = (habits(BOOKING_COM.hotel), habits(ALPINEBITS.hotel));
        Self {
            guests: [
                Guests::with_habits(&stage.booking_com, seed(), booking_com),
                Guests::with_habits(&stage.alpinebits, seed() + 1, portal),
            ],
            count: Count::default(),
        }
    }

    fn step(&mut self) {
        for guests in &mut self.guests {
            match guests.step() {
                Event::Booked(_) => self.count.booked += 1,
                Event::Modified(_) => self.count.modified += 1,
                Event::Cancelled(_) => self.count.cancelled += 1,
                Event::Asked(_) | Event::Nothing => {}
            }
        }
    }
}

impl Count {
    fn assert_many(&self) {
        let counts = [self.booked, self.modified, self.cancelled];
        let are_many = counts[0] >= 80 && counts[1] >= 10 && counts[2] >= 15;
        assert!(are_many, "booked, modified, cancelled: {counts:?}");
    }
}

/// What a channel had sold and nobody had heard of when the daemon came back.
struct Unheard {
    messages: usize,
    versions: BTreeSet<(String, u32)>,
}

impl Unheard {
    fn of(journal: &Journal) -> Self {
        let versions = journal.reservations.iter().flat_map(|reservation| {
            let waiting = reservation.versions.iter().filter(|v| v.is_waiting());
            waiting.map(|version| (reservation.reference.clone(), version.number))
        });
        Self {
            messages: journal.messages.len(),
            versions: versions.collect(),
        }
    }

    /// When all of it had been heard: before that no poll was complete.
    fn heard_at(&self, journal: &Journal) -> Timestamp {
        let mut heard = Vec::new();
        for reservation in &journal.reservations {
            for version in &reservation.versions {
                let key = (reservation.reference.clone(), version.number);
                if self.versions.contains(&key) && version.superseded_at.is_none() {
                    heard.push(version.acknowledged_at.expect("a poll was complete"));
                }
            }
        }
        assert!(heard.len() >= 40, "only {} were unheard", heard.len());
        heard.into_iter().max().expect("there are many")
    }

    /// Nights that were told more, or opened, after the daemon came back and before all that was
    /// unheard had been heard.
    fn rises(&self, journal: &Journal) -> Vec<String> {
        let heard_at = self.heard_at(journal);
        let mut told: BTreeMap<(&str, Date), u32> = BTreeMap::new();
        let mut rises = Vec::new();
        for (number, message) in journal.messages.iter().enumerate() {
            let is_before = number >= self.messages && message.at < heard_at;
            for ((room, night), rooms) in told_by(message) {
                let before = told.insert((room, night), rooms).unwrap_or(0);
                if is_before && rooms > before {
                    rises.push(format!("{room} {night}: {before} to {rooms}"));
                }
            }
        }
        let first = journal.messages.get(self.messages).map(|m| m.sequence);
        rises.extend(opened(journal, first.unwrap_or(u64::MAX), heard_at));
        rises
    }
}

/// What a message as a whole tells of each night: a complete set forgets a night and tells it anew.
fn told_by(message: &Message) -> BTreeMap<(&str, Date), u32> {
    let mut told = BTreeMap::new();
    for applied in &message.applied {
        let rooms = match applied.what {
            What::Number(rooms) => rooms,
            What::ClosingSeason | What::Forgotten => 0,
            _ => continue,
        };
        let mut night = applied.from;
        while night < applied.to {
            told.insert((applied.room.as_str(), night), rooms);
            night = plus_days(night, 1);
        }
    }
    told
}

/// Nights that were closed and told to be open, from a message on until an instant.
fn opened(journal: &Journal, first: u64, until: Timestamp) -> Vec<String> {
    let mut closed: BTreeMap<(&str, Date), bool> = BTreeMap::new();
    let mut opened = Vec::new();
    for change in &journal.nights {
        let was = closed.insert((&change.room, change.night), change.closed);
        let is_told = change.cause == Cause::Told && change.sequence > first && change.at < until;
        if is_told && was == Some(true) && !change.closed {
            opened.push(format!("{} {}: opened", change.room, change.night));
        }
    }
    opened
}

/// Whether a complete poll of each account has ended since an instant of the database.
async fn are_polled_since(stage: &Stage, since: Timestamp) -> bool {
    let mut are_polled = true;
    for account in accounts(stage).await {
        let at = account["last_poll_at"].as_str();
        let at: Option<Timestamp> = at.map(|at| at.parse().expect("an instant"));
        are_polled &= at.is_some_and(|at| at > since);
    }
    are_polled
}

async fn accounts(stage: &Stage) -> [Value; 2] {
    let [(booking, _), (portal, _)] = stage.listings();
    let paths = [booking, portal].map(|listing| format!("accounts/{}", listing.account));
    [
        stage.client.get(&paths[0]).await.expect("an account"),
        stage.client.get(&paths[1]).await.expect("an account"),
    ]
}

/// Nights on which a channel shows more than is free.
async fn above_the_truth(stage: &Stage) -> Vec<String> {
    let to = plus_days(stage.today, NIGHTS);
    let path = format!("availability?from={}&to={to}&fresh=true", stage.today);
    let answer = stage.client.get(&path).await.expect("what is free");
    let mut above = Vec::new();
    for room_type in answer["room_types"].as_array().into_iter().flatten() {
        let of_type = TYPES.iter().find(|t| room_type["room_type"] == t.code);
        let t = of_type.expect("a type of the hotel");
        for night in room_type["nights"].as_array().into_iter().flatten() {
            let date = night["stay_date"].as_str().expect("a date");
            let date: Date = date.parse().expect("a date");
            let free = night["free"].as_i64().expect("a number").max(0);
            for (listing, channel) in stage.listings() {
                let shows = shown(channel, listing, t.code_at(listing), date);
                if i64::from(shows) > free {
                    let code = t.code_at(listing);
                    above.push(format!(
                        "{} {} {date}: {shows} shown, {free} free; {:#?}",
                        listing.account,
                        t.code,
                        latest(&channel.journal(), code, date)
                    ));
                }
            }
        }
    }
    above
}

/// What happened to a night of a channel lately, for whoever has to find out why.
fn latest(journal: &Journal, room: &str, night: Date) -> Vec<String> {
    let of_it = |change: &&NightChange| change.room == room && change.night == night;
    let changes = journal.nights.iter().rev().filter(of_it).take(8);
    changes
        .map(|change| {
            let NightChange {
                at, number, cause, ..
            } = change;
            format!("{at}: {number:?} {cause:?}")
        })
        .collect()
}

/// How long nobody starts it.
const MINUTES_DOWN: u32 = 10;
/// Guests book twice in so many seconds at each channel.
const PIECE_SECONDS: u32 = 10;
