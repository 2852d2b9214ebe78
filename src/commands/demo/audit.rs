//! The audit: what the ledger says against its own entries, against what every channel shows, and
//! against what every channel's journal remembers.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use jiff::civil::Date;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::verify::{Extent, Verification, verify};
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{Channel, Journal, Reservation, VersionState};
use serde_json::Value;

use super::closes;
use super::hotel::{Listing, NIGHTS, TYPES};
use super::stage::{Stage, shown};

/// What was compared, and what did not agree.
#[derive(Default)]
pub struct Audit {
    /// Nights of channels compared with the ledger.
    pub nights: usize,
    /// Nights whose sums were replayed.
    pub proven: u64,
    /// Reservations of the channels' journals looked up in the ledger.
    pub reservations: usize,
    /// Closes that were acknowledged and watched until the next word.
    pub closes: usize,
    /// What does not agree: account, type and night by name.
    pub findings: Vec<String>,
}

/// Compares everything. Where the ledger is given, it is replayed, and the channels' clock is taken
/// for its own.
pub async fn audit(stage: &Stage, ledger: Option<&Ledger>) -> Result<Audit> {
    let mut audit = Audit::default();
    let verification = match ledger {
        Some(ledger) => verify(ledger, None, Extent::Whole).await?,
        None => Verification::default(),
    };
    audit.proven = verification.nights;
    for difference in verification.differences {
        let night = difference
            .night
            .map_or_else(String::new, |night| night.to_string());
        audit.findings.push(format!(
            "ledger: account -, type {}, night {night}: {}",
            difference.room_type.unwrap_or_else(|| "-".to_owned()),
            difference.what
        ));
    }
    let truth = truth(stage).await?;
    let known = recorded(stage).await?;
    for (listing, channel) in stage.listings() {
        audit.compare_nights(listing, channel, stage.today, &truth);
        let journal = channel.journal();
        audit.compare_reservations(listing, &journal, &known);
        let watched = closes::watch(stage, listing, &journal, ledger.is_some()).await?;
        audit.closes += watched.closes;
        audit.findings.extend(watched.findings);
    }
    Ok(audit)
}

/// Free rooms by type and night, as the API tells the desk.
async fn truth(stage: &Stage) -> Result<HashMap<(String, Date), i32>> {
    let to = plus_days(stage.today, NIGHTS);
    let path = format!("availability?from={}&to={to}&fresh=true", stage.today);
    let answer = stage.client.get(&path).await?;
    let mut truth = HashMap::new();
    for room_type in answer["room_types"].as_array().into_iter().flatten() {
        let code = room_type["room_type"].as_str().unwrap_or_default();
        for night in room_type["nights"].as_array().into_iter().flatten() {
            let free = i32::try_from(night["free"].as_i64().unwrap_or(-1))?;
            let usable = night["physical"].as_i64().unwrap_or(0)
                - night["out_of_order"].as_i64().unwrap_or(0);
            let date: Date = night["stay_date"].as_str().unwrap_or_default().parse()?;
            truth.insert((code.to_owned(), date), free.min(i32::try_from(usable)?));
        }
    }
    Ok(truth)
}

/// Every reservation of the ledger by account and channel reference.
async fn recorded(stage: &Stage) -> Result<BTreeMap<(String, String), Vec<Value>>> {
    let mut known: BTreeMap<(String, String), Vec<Value>> = BTreeMap::new();
    for reservation in stage.client.all("reservations").await? {
        let account = reservation["account"].as_str();
        let reference = reservation["channel_reference"].as_str();
        if let (Some(account), Some(reference)) = (account, reference) {
            let key = (account.to_owned(), reference.to_owned());
            known.entry(key).or_default().push(reservation);
        }
    }
    Ok(known)
}

/// A room that is slept in: type, arrival, departure.
type Slept = (String, String, String);

impl Audit {
    fn compare_nights(
        &mut self,
        listing: &Listing,
        channel: &Channel,
        today: Date,
        truth: &HashMap<(String, Date), i32>,
    ) {
        for t in &TYPES {
            for offset in 0..NIGHTS {
                let night = plus_days(today, offset);
                let says = truth.get(&(t.code.to_owned(), night)).copied().unwrap_or(0);
                let shows = shown(channel, listing, t.code_at(listing), night);
                self.nights += 1;
                if shows != says {
                    self.findings.push(format!(
                        "account {}, type {}, night {night}: the channel shows {shows}, the ledger \
                         says {says}",
                        listing.account, t.code
                    ));
                }
            }
        }
    }

    fn compare_reservations(
        &mut self,
        listing: &Listing,
        journal: &Journal,
        known: &BTreeMap<(String, String), Vec<Value>>,
    ) {
        for sold in &journal.reservations {
            let key = (listing.account.to_owned(), sold.reference.clone());
            let found = known.get(&key).map_or(&[][..], Vec::as_slice);
            let latest = sold.latest();
            if latest.state == VersionState::Requested {
                if !found.is_empty() {
                    self.findings
                        .push(self::named(listing, sold, "a mere question was recorded"));
                }
                continue;
            }
            self.reservations += 1;
            match found {
                [one] => {
                    let expected = slept(listing, sold);
                    let actual = slept_here(one);
                    if expected != actual {
                        let words = format!("the channel says {expected:?}, the ledger {actual:?}");
                        self.findings.push(named(listing, sold, &words));
                    }
                }
                [] if never_taken(sold) => {}
                others => {
                    let words = format!("is {} times in the ledger, not once", others.len());
                    self.findings.push(named(listing, sold, &words));
                }
            }
        }
    }

    /// Nothing disagrees, and enough was compared to mean something.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// Cancelled before we had taken any state of it: the ledger keeps a tombstone and no reservation.
fn never_taken(sold: &Reservation) -> bool {
    let (last, earlier) = match sold.versions.split_last() {
        Some(split) => split,
        None => return false,
    };
    last.state == VersionState::Cancelled && earlier.iter().all(|v| v.acknowledged_at.is_none())
}

fn named(listing: &Listing, sold: &Reservation, what: &str) -> String {
    let room = sold.latest().rooms.first().or_else(|| {
        sold.versions
            .iter()
            .rev()
            .find_map(|version| version.rooms.first())
    });
    let code = room.map_or("-", |room| {
        TYPES
            .iter()
            .find(|t| t.code_at(listing) == room.room)
            .map_or("-", |t| t.code)
    });
    let night = room.map_or_else(String::new, |room| room.arrival.to_string());
    format!(
        "account {}, type {code}, night {night}: {} {what}",
        listing.account, sold.reference
    )
}

fn slept(listing: &Listing, sold: &Reservation) -> BTreeSet<(Slept, usize)> {
    let latest = sold.latest();
    if latest.state == VersionState::Cancelled {
        return BTreeSet::new();
    }
    let rooms = latest.rooms.iter().map(|room| {
        let code = TYPES
            .iter()
            .find(|t| t.code_at(listing) == room.room)
            .map_or("?", |t| t.code);
        (
            code.to_owned(),
            room.arrival.to_string(),
            room.departure.to_string(),
        )
    });
    counted(rooms)
}

fn slept_here(reservation: &Value) -> BTreeSet<(Slept, usize)> {
    let status = reservation["status"].as_str().unwrap_or_default();
    if matches!(status, "cancelled" | "expired") {
        return BTreeSet::new();
    }
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let rooms = reservation["rooms"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|room| {
            let quantity = usize::try_from(room["quantity"].as_u64().unwrap_or(1)).unwrap_or(1);
            let slept = (
                text(&room["room_type"]),
                text(&room["arrival"]),
                text(&room["departure"]),
            );
            std::iter::repeat_n(slept, quantity)
        });
    counted(rooms)
}

fn counted(rooms: impl Iterator<Item = Slept>) -> BTreeSet<(Slept, usize)> {
    let mut counts: BTreeMap<Slept, usize> = BTreeMap::new();
    for room in rooms {
        *counts.entry(room).or_default() += 1;
    }
    counts.into_iter().collect()
}
