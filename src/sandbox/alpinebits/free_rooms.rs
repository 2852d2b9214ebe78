//! `OTA_HotelInvCountNotif:FreeRooms`: the rules that need the hotel, and applying it.
//!
//! A message is taken whole or not at all. Start and End are nights, both included.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use rand::Rng;

use crate::edge::Heard;
use crate::hotel::{Applied, Hotel, What};
use crate::state::State;
use crate::xml::{text, tree};

use super::answer::{INV_COUNT, Refusal, Warning, error, success};
use super::capability::Capabilities;
use super::inv_count::{FreeRooms, read};

/// A message that was applied, still without its answer.
pub(crate) struct Taken {
    pub(crate) hotel: String,
    pub(crate) complete: bool,
    applied: Vec<Applied>,
    warnings: Vec<Warning>,
    whole: bool,
}

impl Taken {
    /// The answer to it, with what else there is to say.
    pub(crate) fn answer(mut self, more: Vec<Warning>) -> Heard {
        self.warnings.extend(more);
        let mut heard = success(INV_COUNT, &self.warnings, |_| {});
        heard.accepted = self.whole;
        heard.hotel = Some(self.hotel);
        heard.applied = self.applied;
        heard
    }
}

/// Applies a message; the answer at once if it is refused. `partial` leaves one entry without
/// effect, and says so.
pub(crate) fn receive(
    state: &mut State,
    body: &[u8],
    capabilities: &Capabilities,
    partial: bool,
    now: Timestamp,
) -> Result<Taken, Box<Heard>> {
    let refuse = |refusal: &Refusal| Box::new(error(INV_COUNT, refusal));
    let document = text(body).and_then(tree);
    let document = document.map_err(|why| refuse(&Refusal::new(450, why)))?;
    let read = read(document.root_element(), capabilities);
    let mut message = read.map_err(|refusal| refuse(&refusal))?;
    let known = state
        .hotels
        .get(&message.hotel)
        .filter(|hotel| hotel.linked);
    let Some(hotel) = known else {
        let why = format!("hotel {} is not known or not yours", message.hotel);
        return Err(refuse(&Refusal::new(392, why)));
    };
    let mut warnings = judge(&message, hotel).map_err(|refusal| {
        let mut heard = refuse(&refusal);
        heard.hotel = Some(message.hotel.clone());
        heard
    })?;
    let spoil = partial && message.entries.len() > 1;
    if spoil {
        let place = state.rng.random_range(0..message.entries.len());
        let left = message.entries.remove(place);
        let why = format!(
            "{} from {} could not be processed",
            left.category, left.from
        );
        warnings.push(Warning::no_effect(&left.category, why));
    }
    let applied = applied(&message, hotel);
    state.tell(&message.hotel, &applied, now);
    if message.complete
        && let Some(hotel) = state.hotels.get_mut(&message.hotel)
    {
        hotel.complete_set_at = Some(now);
    }
    Ok(Taken {
        hotel: message.hotel,
        complete: message.complete,
        applied,
        warnings,
        whole: !spoil,
    })
}

/// Nights, the end excluded.
type Period = (Date, Date);

/// The rules that need the whole message and the hotel; remarks if it may pass.
fn judge(message: &FreeRooms, hotel: &Hotel) -> Result<Vec<Warning>, Refusal> {
    let rooms = message
        .entries
        .iter()
        .filter(|entry| entry.room.is_some())
        .count();
    if rooms > 0 && rooms < message.entries.len() {
        return Err(Refusal::new(450, "rooms and categories in one message"));
    }
    overlaps(message.seasons.iter().copied(), "closing seasons")?;
    let mut periods: BTreeMap<(&str, Option<&str>), Vec<Period>> = BTreeMap::new();
    for entry in &message.entries {
        let key = (entry.category.as_str(), entry.room.as_deref());
        periods.entry(key).or_default().push((entry.from, entry.to));
    }
    for ((category, _), periods) in periods {
        overlaps(periods.into_iter(), &format!("periods of {category}"))?;
    }
    let mut warnings = Vec::new();
    for entry in &message.entries {
        let meets = |(from, to): &(Date, Date)| *from < entry.to && entry.from < *to;
        if entry.bookable > 0 && message.seasons.iter().any(meets) {
            return Err(Refusal::new(450, "bookable rooms in a closing season"));
        }
        let Some(known) = hotel.rooms.get(&entry.category) else {
            let why = format!("category {} is not known for this hotel", entry.category);
            return Err(Refusal::new(402, why));
        };
        if entry.room.is_none() && entry.sum > known.physical {
            let why = format!("{} has only {} rooms", entry.category, known.physical);
            return Err(Refusal::new(320, why));
        }
        if let Some(room) = entry.room.as_deref().filter(|_| entry.sum > 1) {
            // The official samples count three in a distinct room and expect it to pass.
            warnings.push(Warning::no_effect(
                room,
                "a distinct room counts at most one",
            ));
        }
    }
    Ok(warnings)
}

/// Refuses periods that share a night. Ends are excluded here, so one that starts on the day
/// another ended in the message does share it.
fn overlaps(periods: impl Iterator<Item = (Date, Date)>, of: &str) -> Result<(), Refusal> {
    let mut periods: Vec<(Date, Date)> = periods.collect();
    periods.sort();
    let clash = periods.windows(2).any(|pair| pair[1].0 < pair[0].1);
    if clash {
        return Err(Refusal::new(404, format!("{of} overlap")));
    }
    Ok(())
}

/// The message as things told: a complete set first forgets every night it does not list.
fn applied(message: &FreeRooms, hotel: &Hotel) -> Vec<Applied> {
    let mut applied = Vec::new();
    let mut tell = |room: &str, from: Date, to: Date, what: What| {
        applied.push(Applied {
            room: room.to_owned(),
            rate: None,
            from,
            to,
            what,
        });
    };
    if message.complete {
        for (room, from, to) in known_spans(hotel) {
            tell(room, from, to, What::Forgotten);
        }
    }
    for (from, to) in &message.seasons {
        for room in hotel.rooms.keys() {
            tell(room, *from, *to, What::ClosingSeason);
        }
    }
    for entry in &message.entries {
        if entry.bookable > 0 && !message.complete {
            tell(&entry.category, entry.from, entry.to, What::Closed(false));
        }
        let what = match &entry.room {
            Some(room) => What::DistinctNumber(room.clone(), entry.bookable),
            None => What::Number(entry.bookable),
        };
        tell(&entry.category, entry.from, entry.to, what);
    }
    applied
}

/// The nights of which the portal holds a number, joined where they touch.
fn known_spans(hotel: &Hotel) -> Vec<(&str, Date, Date)> {
    let mut spans: Vec<(&str, Date, Date)> = Vec::new();
    for (room, night) in hotel.nights.keys() {
        let Ok(next) = night.tomorrow() else { continue };
        match spans.last_mut() {
            Some((last, _, to)) if *last == room && *to == *night => *to = next,
            _ => spans.push((room, *night, next)),
        }
    }
    spans
}
