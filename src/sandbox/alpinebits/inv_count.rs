//! FreeRooms as a message: reading it, and the rules that need nothing but the message.

use std::collections::BTreeMap;

use jiff::civil::Date;
use roxmltree::Node;

use crate::night::{PERIOD_MAX, date, length};
use crate::xml::{child, children};

use super::answer::Refusal;
use super::capability::{
    CATEGORIES, CLOSING_SEASONS, COMPLETE_SET, Capabilities, DELTAS, OUT_OF_MARKET, OUT_OF_ORDER,
    ROOMS,
};

/// A message that keeps every rule which it can break by itself.
pub(crate) struct FreeRooms {
    pub(crate) hotel: String,
    pub(crate) complete: bool,
    /// Closing seasons, ends excluded.
    pub(crate) seasons: Vec<(Date, Date)>,
    pub(crate) entries: Vec<Entry>,
}

/// The counts of one category or distinct room in one period, its end excluded.
pub(crate) struct Entry {
    pub(crate) category: String,
    pub(crate) room: Option<String>,
    pub(crate) from: Date,
    pub(crate) to: Date,
    /// Bookable rooms; what is not said is 0.
    pub(crate) bookable: u32,
    /// Of all types of counts.
    pub(crate) sum: u32,
}

/// Reads a message; why it is none, or uses what was not announced.
pub(crate) fn read(root: Node<'_, '_>, capabilities: &Capabilities) -> Result<FreeRooms, Refusal> {
    let needs = |name: &str| {
        capabilities
            .contains(name)
            .then_some(())
            .ok_or_else(|| Refusal::new(450, format!("{name} was not announced")))
    };
    if root.tag_name().name() != "OTA_HotelInvCountNotifRQ" {
        return Err(Refusal::new(
            450,
            "the root element is not OTA_HotelInvCountNotifRQ",
        ));
    }
    required(root, "Version")?;
    let complete = is_complete(root)?;
    needs(if complete { COMPLETE_SET } else { DELTAS })?;
    let mut lists = children(root, "Inventories");
    let (Some(list), None) = (lists.next(), lists.next()) else {
        return Err(Refusal::new(321, "exactly one Inventories is required"));
    };
    let hotel = required(list, "HotelCode")?;
    if hotel.is_empty() || hotel.chars().count() > 16 {
        return Err(Refusal::new(392, "HotelCode must have 1 to 16 characters"));
    }
    let mut message = FreeRooms {
        hotel: hotel.to_owned(),
        complete,
        seasons: Vec::new(),
        entries: Vec::new(),
    };
    let inventories: Vec<Node<'_, '_>> = children(list, "Inventory").collect();
    if inventories.is_empty() {
        return Err(Refusal::new(321, "no Inventory"));
    }
    if let [only] = inventories.as_slice()
        && only.children().all(|part| !part.is_element())
    {
        // The reset: only a complete set may say that nothing is known any more.
        return if complete {
            Ok(message)
        } else {
            Err(Refusal::new(
                450,
                "an empty Inventory without the mark of a complete set",
            ))
        };
    }
    for inventory in inventories {
        read_inventory(inventory, &mut message, &needs)?;
    }
    Ok(message)
}

fn is_complete(root: Node<'_, '_>) -> Result<bool, Refusal> {
    let Some(id) = child(root, "UniqueID") else {
        return Ok(false);
    };
    let kind = required(id, "Type")?;
    required(id, "ID")?;
    let instance = required(id, "Instance")?;
    if !matches!(kind, "16" | "35") || instance != "CompleteSet" {
        return Err(Refusal::new(320, "UniqueID does not mark a complete set"));
    }
    Ok(true)
}

fn read_inventory(
    inventory: Node<'_, '_>,
    message: &mut FreeRooms,
    needs: &impl Fn(&str) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let Some(control) = child(inventory, "StatusApplicationControl") else {
        return Err(Refusal::new(321, "StatusApplicationControl is missing"));
    };
    let (from, to) = period(control)?;
    let counts = child(inventory, "InvCounts");
    let category = control.attribute("InvTypeCode");
    let room = control.attribute("InvCode");
    if flag(control, "AllInvCode")? {
        needs(CLOSING_SEASONS)?;
        if !message.complete {
            return Err(Refusal::new(450, "a closing season outside a complete set"));
        }
        if category.is_some() || room.is_some() || counts.is_some() {
            return Err(Refusal::new(
                450,
                "a closing season with a category, room or counts",
            ));
        }
        if !message.entries.is_empty() {
            return Err(Refusal::new(450, "closing seasons must come first"));
        }
        message.seasons.push((from, to));
        return Ok(());
    }
    let Some(category) = category.filter(|code| (1..=8).contains(&code.chars().count())) else {
        return Err(Refusal::new(321, "InvTypeCode must have 1 to 8 characters"));
    };
    needs(if room.is_some() { ROOMS } else { CATEGORIES })?;
    let (bookable, sum) = read_counts(counts, room.is_some(), needs)?;
    message.entries.push(Entry {
        category: category.to_owned(),
        room: room.map(str::to_owned),
        from,
        to,
        bookable,
        sum,
    });
    Ok(())
}

/// Bookable rooms, and the sum of all types.
fn read_counts(
    counts: Option<Node<'_, '_>>,
    of_room: bool,
    needs: &impl Fn(&str) -> Result<(), Refusal>,
) -> Result<(u32, u32), Refusal> {
    let Some(counts) = counts else {
        return Ok((0, 0)); // Fully booked, not "as it was".
    };
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for count in children(counts, "InvCount") {
        let kind = required(count, "CountType")?;
        match kind {
            "2" => {}
            "6" => needs(OUT_OF_ORDER)?,
            "9" => needs(OUT_OF_MARKET)?,
            other => return Err(Refusal::new(320, format!("CountType {other} is not known"))),
        }
        let told = required(count, "Count")?;
        let digits = !told.is_empty() && told.bytes().all(|byte| byte.is_ascii_digit());
        let rooms = digits.then(|| told.parse().ok()).flatten();
        let Some(rooms) = rooms else {
            return Err(Refusal::new(
                320,
                format!("Count {told} is no count of rooms"),
            ));
        };
        if seen.insert(kind, rooms).is_some() {
            return Err(Refusal::new(
                320,
                format!("CountType {kind} is given twice"),
            ));
        }
    }
    if seen.is_empty() {
        return Err(Refusal::new(321, "InvCounts without InvCount"));
    }
    if of_room && seen.len() > 1 {
        return Err(Refusal::new(320, "more than one count for a distinct room"));
    }
    let sum = seen
        .values()
        .fold(0, |sum: u32, rooms| sum.saturating_add(*rooms));
    Ok((seen.get("2").copied().unwrap_or(0), sum))
}

/// The nights of a period, the end excluded although the message includes it.
fn period(control: Node<'_, '_>) -> Result<(Date, Date), Refusal> {
    let day = |name: &str| {
        let told = required(control, name)?;
        date(told).ok_or_else(|| Refusal::new(404, format!("{name} {told} is no date")))
    };
    let (start, end) = (day("Start")?, day("End")?);
    if start > end {
        return Err(Refusal::new(404, "Start is after End"));
    }
    let to = end
        .tomorrow()
        .map_err(|_| Refusal::new(404, "End is out of reach"))?;
    if length(start, to) > PERIOD_MAX {
        return Err(Refusal::new(404, "the period is too long"));
    }
    Ok((start, to))
}

fn flag(node: Node<'_, '_>, name: &str) -> Result<bool, Refusal> {
    match node.attribute(name) {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(other) => Err(Refusal::new(
            320,
            format!("{name}=\"{other}\" is no boolean"),
        )),
    }
}

fn required<'a>(node: Node<'a, '_>, name: &str) -> Result<&'a str, Refusal> {
    let missing = || Refusal::new(321, format!("{} lacks {name}", node.tag_name().name()));
    node.attribute(name).ok_or_else(missing)
}
