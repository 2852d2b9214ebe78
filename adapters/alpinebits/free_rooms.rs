//! OTA_HotelInvCountNotifRQ: free rooms, written and read. Read for `inspect` and for the tests:
//! portals send none. A message is taken as a whole or not at all.

use std::collections::HashMap;

use keyrack_model::ari::{AriPush, AriSpan, AriValues};
use keyrack_model::stay::StayRange;

use super::wire::{
    CATEGORIES, CLOSING_SEASONS, COMPLETE_SET, DELTAS, HOTEL_CODE_MAX, OUT_OF_MARKET, OUT_OF_ORDER,
    ROOM_CODE_MAX, ROOMS,
};
use crate::ota2003::message::{EndRule, NAMESPACE};
use crate::xml::Element;
use crate::xml::write::Writer;

/// Both ends of a FreeRooms period are nights.
const END: EndRule = EndRule::IsNight;
/// What a closing season speaks of: every room of the hotel.
pub(super) const ALL_ROOMS: &str = "*";

/// Bytes of an element, as a rule.
const COUNT_LENGTH: usize = 170;

/// Equal rooms over a range of nights.
pub(super) struct Count<'a> {
    pub(super) room: &'a str,
    pub(super) nights: StayRange,
    pub(super) rooms: i32,
}

/// Writes a message for one hotel: single nights, or the complete set. A complete set of nothing
/// empties the hotel.
pub(super) fn write(hotel: &str, is_complete: bool, counts: &[Count<'_>]) -> Vec<u8> {
    let attributes = [("xmlns", NAMESPACE), ("Version", "4")];
    let length = (counts.len() + 4) * COUNT_LENGTH;
    Writer::long_message(length, "OTA_HotelInvCountNotifRQ", &attributes, |w| {
        if is_complete {
            let id = [("Type", "16"), ("ID", "1"), ("Instance", "CompleteSet")];
            w.empty("UniqueID", &id);
        }
        w.element("Inventories", &[("HotelCode", hotel)], |w| {
            for count in counts {
                w.tag("Inventory").holding(|w| write_count(w, count));
            }
            if counts.is_empty() {
                w.empty("Inventory", &[]);
            }
        });
    })
}

fn write_count(w: &mut Writer, count: &Count<'_>) {
    let (start, end) = END.write(count.nights);
    w.tag("StatusApplicationControl")
        .day("Start", start)
        .day("End", end)
        .text("InvTypeCode", count.room)
        .empty();
    w.tag("InvCounts").holding(|w| {
        w.tag("InvCount")
            .word("CountType", "2")
            .number("Count", count.rooms)
            .empty();
    });
}

/// An element Inventory that passed on its own.
struct Inventory {
    nights: StayRange,
    kind: Kind,
    /// Bookable rooms.
    rooms: i32,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Kind {
    Season,
    Category(String),
    /// A distinct room: its category and its own code.
    Room(String, String),
}

/// What a message tells, where `announced` says which capabilities were agreed on. Nights are
/// bookable rooms only; rooms that are out of order or not for sale here count as none.
pub(super) fn read(root: Element<'_>, announced: &dyn Fn(&str) -> bool) -> Result<AriPush, String> {
    let is_complete = completeness(root, announced)?;
    let mut outer = root.children("Inventories");
    let (Some(list), None) = (outer.next(), outer.next()) else {
        return Err("exactly one Inventories, of one hotel, is needed".to_owned());
    };
    let hotel_code = list
        .attribute("HotelCode")
        .filter(|code| code.chars().count() <= HOTEL_CODE_MAX)
        .ok_or("Inventories needs HotelCode, of at most 16 characters")?;
    let elements: Vec<Element<'_>> = list.children("Inventory").collect();
    let spans = match elements.as_slice() {
        [] => return Err("at least one Inventory is needed".to_owned()),
        [only] if only.all().next().is_none() && is_complete => Vec::new(),
        _ => {
            let inventories = inventories(&elements, is_complete, announced)?;
            no_mixture(&inventories)?;
            no_overlap(&inventories)?;
            inventories.iter().map(span).collect()
        }
    };
    Ok(AriPush {
        hotel_code: hotel_code.to_owned(),
        complete: is_complete,
        spans,
    })
}

fn completeness(root: Element<'_>, announced: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let is_complete = match root.child("UniqueID") {
        None => false,
        Some(id) => {
            let typed = matches!(id.attribute("Type"), Some("16" | "35"));
            if !typed || id.attribute("Instance") != Some("CompleteSet") {
                return Err("UniqueID needs Type 16 or 35 and Instance CompleteSet".to_owned());
            }
            true
        }
    };
    needs(announced, if is_complete { COMPLETE_SET } else { DELTAS })?;
    Ok(is_complete)
}

fn needs(announced: &dyn Fn(&str) -> bool, capability: &str) -> Result<(), String> {
    announced(capability)
        .then_some(())
        .ok_or_else(|| format!("{capability} was not agreed on"))
}

fn inventories(
    elements: &[Element<'_>],
    is_complete: bool,
    announced: &dyn Fn(&str) -> bool,
) -> Result<Vec<Inventory>, String> {
    let mut read: Vec<Inventory> = Vec::new();
    let mut are_seasons = true;
    for (number, element) in elements.iter().copied().enumerate() {
        let at = |why: String| format!("Inventory {}: {why}", number + 1);
        let inventory = inventory(element, announced).map_err(at)?;
        if inventory.kind == Kind::Season {
            needs(announced, CLOSING_SEASONS).map_err(at)?;
            if !is_complete || !are_seasons {
                return Err(at(
                    "closing seasons stand in complete sets only, before the rest".to_owned(),
                ));
            }
        }
        are_seasons &= inventory.kind == Kind::Season;
        read.push(inventory);
    }
    Ok(read)
}

fn inventory(element: Element<'_>, announced: &dyn Fn(&str) -> bool) -> Result<Inventory, String> {
    let control = element
        .child("StatusApplicationControl")
        .ok_or("an empty Inventory stands alone in a complete set, where it resets the hotel")?;
    let nights = END.read(control)?;
    let counts = element.child("InvCounts");
    let category = control.attribute("InvTypeCode");
    let room = control.attribute("InvCode");
    if matches!(control.attribute("AllInvCode"), Some("true" | "1")) {
        if counts.is_some() || category.is_some() || room.is_some() {
            return Err("a closing season has neither counts nor codes".to_owned());
        }
        return Ok(Inventory {
            nights,
            kind: Kind::Season,
            rooms: 0,
        });
    }
    let category = category
        .filter(|code| code.chars().count() <= ROOM_CODE_MAX)
        .ok_or("InvTypeCode, of at most 8 characters, is needed")?;
    let kind = match room {
        None => {
            needs(announced, CATEGORIES)?;
            Kind::Category(category.to_owned())
        }
        Some(room) => {
            needs(announced, ROOMS)?;
            Kind::Room(category.to_owned(), room.to_owned())
        }
    };
    let counted = counts.map_or(Ok(Vec::new()), |counts| count_types(counts, announced))?;
    if counted.len() > 1 && matches!(kind, Kind::Room(..)) {
        return Err("a distinct room has one count at most".to_owned());
    }
    let bookable = counted.iter().find(|(kind, _)| *kind == "2");
    Ok(Inventory {
        nights,
        kind,
        rooms: bookable.map_or(0, |(_, rooms)| *rooms),
    })
}

fn count_types<'a>(
    counts: Element<'a>,
    announced: &dyn Fn(&str) -> bool,
) -> Result<Vec<(&'a str, i32)>, String> {
    let mut read: Vec<(&str, i32)> = Vec::new();
    for count in counts.children("InvCount") {
        let kind = match count.attribute("CountType") {
            Some("2") => "2",
            Some("6") => {
                needs(announced, OUT_OF_ORDER)?;
                "6"
            }
            Some("9") => {
                needs(announced, OUT_OF_MARKET)?;
                "9"
            }
            other => return Err(format!("CountType {other:?} is none of 2, 6 and 9")),
        };
        if read.iter().any(|(known, _)| *known == kind) {
            return Err(format!("CountType {kind} stands twice"));
        }
        let text = count.attribute("Count").unwrap_or_default();
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let rooms = digits.then(|| text.parse().ok()).flatten();
        let rooms = rooms.ok_or_else(|| format!("Count {text:?} is no number of rooms"))?;
        read.push((kind, rooms));
    }
    if read.is_empty() {
        return Err("InvCounts holds at least one InvCount".to_owned());
    }
    Ok(read)
}

fn no_mixture(inventories: &[Inventory]) -> Result<(), String> {
    let has = |wanted: fn(&Kind) -> bool| inventories.iter().any(|each| wanted(&each.kind));
    let categories = has(|kind| matches!(kind, Kind::Category(_)));
    if categories && has(|kind| matches!(kind, Kind::Room(..))) {
        return Err("rooms and categories are not mixed in one message".to_owned());
    }
    Ok(())
}

/// Neither within one category or room, nor of seasons, nor of seasons with bookable rooms. Ends
/// are nights: a period that starts on the day on which another ends does overlap it.
fn no_overlap(inventories: &[Inventory]) -> Result<(), String> {
    let mut by_kind: HashMap<&Kind, Vec<StayRange>> = HashMap::new();
    for inventory in inventories {
        by_kind
            .entry(&inventory.kind)
            .or_default()
            .push(inventory.nights);
    }
    let all_apart = by_kind.into_values().all(|mut nights| {
        nights.sort_unstable();
        nights
            .windows(2)
            .all(|pair| pair[0].departure() <= pair[1].arrival())
    });
    if !all_apart {
        return Err("periods of one room, category or season overlap".to_owned());
    }
    // Apart from each other, so that in their order the ends are in order as well.
    let mut seasons: Vec<StayRange> = inventories
        .iter()
        .filter(|each| each.kind == Kind::Season)
        .map(|each| each.nights)
        .collect();
    seasons.sort_unstable();
    let is_closed = |nights: StayRange| {
        let at = seasons.partition_point(|season| season.departure() <= nights.arrival());
        let season = seasons.get(at);
        season.is_some_and(|season| season.intersection(nights).is_some())
    };
    let mut bookable = inventories.iter().filter(|each| each.rooms > 0);
    if bookable.any(|each| is_closed(each.nights)) {
        return Err("a night of a closing season has bookable rooms".to_owned());
    }
    Ok(())
}

fn span(inventory: &Inventory) -> AriSpan {
    let code = match &inventory.kind {
        Kind::Season => ALL_ROOMS.to_owned(),
        Kind::Category(category) => category.clone(),
        Kind::Room(category, room) => format!("{category}/{room}"),
    };
    AriSpan {
        nights: inventory.nights,
        channel_room_code: code,
        channel_rate_code: None,
        values: AriValues {
            rooms: Some(inventory.rooms),
            closed: inventory.kind == Kind::Season,
            ..AriValues::default()
        },
    }
}
