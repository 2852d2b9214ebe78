//! Overbooking cases in the auditor's books: which nights have one, and what ends it. Their ids are
//! the ledger's to give; one that is new was opened by somebody who took rooms, or took some away.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use keyrack_ledger::decide::overbooking::end::{CaseEnd, CaseMove};
use keyrack_model::id::{CaseId, ReservationId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::reservation::{Source, Status};
use keyrack_model::stay::{StayDate, days_between};

use super::entry::{Cell, Entry, Rooms};
use super::expected::{Expected, Yes};
use super::house::{Case, House, Night};

/// A case, as it was seen last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Nobody has ended it.
    pub is_open: bool,
    /// How it ended.
    pub outcome: Option<String>,
    /// Its nights that are not cured, with the rooms that were accepted.
    pub nights: BTreeMap<StayDate, Option<i32>>,
    /// What opened it, and whose.
    pub evidence: (Option<String>, Option<ReservationId>),
}

/// Cases by id.
pub type Files = BTreeMap<CaseId, File>;

impl House {
    /// The case of a night that is not cured.
    pub fn case_of(&self, (room_type, night): Cell) -> Option<(CaseId, &File)> {
        let is_of_it =
            |file: &File| file.room_type == room_type && file.nights.contains_key(&night);
        let found = self.cases.iter().find(|(_, file)| is_of_it(file));
        found.map(|(id, file)| (*id, file))
    }

    /// Whether a night needs a case: more is sold than was meant, or it is near.
    fn needs_case(&self, cell: Cell, night: &Night, now: Timestamp) -> bool {
        let is_near = days_between(self.rules.today(now), cell.1) < self.rules.meant_days;
        night.beyond() > 0 && (night.beyond() > night.limit || is_near)
    }

    /// What becomes of a night's case after a change. What was accepted opens again when it grows
    /// worse, and with it the whole case; where it grew worse only for a moment nobody may have
    /// looked.
    pub fn judge(&mut self, cell: Cell, night: &Night, now: Timestamp) -> Case {
        if let Case::Accepted(rooms) = night.case {
            self.accepted.insert(cell, rooms);
        }
        let needs = self.needs_case(cell, night, now);
        if let Some(accepted) = self.accepted.get(&cell).copied() {
            return match night.beyond() {
                ..=0 => Case::Closed,
                _ if !needs => Case::Either,
                beyond if beyond > accepted => {
                    self.doubt_siblings(cell);
                    Case::Open
                }
                _ if night.case == Case::Accepted(accepted) => night.case,
                _ => Case::Either,
            };
        }
        match night.beyond() {
            ..=0 => Case::Closed,
            _ if needs => Case::Open,
            _ if night.case == Case::Closed => Case::Closed,
            _ => Case::Either,
        }
    }

    fn doubt_siblings(&mut self, cell: Cell) {
        let Some((_, file)) = self.case_of(cell) else {
            return;
        };
        let nights: Vec<StayDate> = file.nights.keys().copied().collect();
        for night in nights.into_iter().filter(|night| *night != cell.1) {
            if let Some(known) = self.nights.get_mut(&(cell.0, night))
                && let Case::Accepted(rooms) = known.case
            {
                known.case = Case::Either;
                self.accepted.insert((cell.0, night), rooms);
            }
        }
    }

    /// The cases as they were seen; of nights that were accepted it is known again how they stand.
    pub fn adopt_cases(&mut self, files: &Files) {
        self.cases.clone_from(files);
        for (cell, _) in std::mem::take(&mut self.accepted) {
            let case = match self.case_of(cell) {
                None => Case::Closed,
                Some((_, file)) if file.is_open => Case::Open,
                Some((_, file)) => Case::Accepted(file.nights[&cell.1].unwrap_or(0)),
            };
            if let Some(night) = self.nights.get_mut(&cell)
                && night.case == Case::Either
            {
                night.case = case;
            }
        }
    }

    /// What is wrong with the cases: one that opened without a cause, one that ended otherwise.
    pub fn compare_cases(&self, files: &Files, found: &mut Vec<String>) {
        for (id, file) in files {
            let is_new = !self.cases.contains_key(id);
            if is_new && !self.may_have_opened(file) {
                found.push(format!("case {id} has no such cause: {file:?}"));
            }
            if file.is_open && file.nights.is_empty() {
                found.push(format!(
                    "case {id} is open, and all its nights are cured: {file:?}"
                ));
            }
            let known = self.cases.get(id).and_then(|known| known.outcome.as_ref());
            if !file.is_open && known.is_some_and(|known| file.outcome.as_ref() != Some(known)) {
                found.push(format!("case {id} must have ended as {known:?}: {file:?}"));
            }
        }
        for id in self.cases.keys().filter(|id| !files.contains_key(id)) {
            found.push(format!("case {id} is lost"));
        }
    }

    /// Whoever is named took rooms of its nights, or nobody is named and rooms were taken away.
    fn may_have_opened(&self, file: &File) -> bool {
        let (kind, reservation) = &file.evidence;
        let Some(id) = reservation else {
            let kinds = ["inventory_set", "capacity_set", "blocks_set", "moved"];
            return kind.as_deref().is_none_or(|kind| kinds.contains(&kind));
        };
        // It may have left since, and come and gone within a round.
        self.entries.contains_key(id)
    }
}

/// A case ends: its guests are moved and it is closed, or neither.
pub fn end(house: &mut House, asked: &CaseEnd, now: Timestamp) -> Expected {
    let Some(file) = house.cases.get(&asked.case).cloned() else {
        return Expected::no("not_found");
    };
    if !file.is_open {
        return Expected::no("illegal_transition");
    }
    let least = match asked.ending {
        Ending::AcceptedAsIs | Ending::Cured => 0,
        Ending::Swap => 2,
        _ => 1,
    };
    if asked.moves.len() < least {
        return Expected::no("invalid");
    }
    let mut moved: BTreeMap<ReservationId, Entry> = BTreeMap::new();
    for one in &asked.moves {
        let known = moved.get(&one.reservation).cloned();
        let known = known.or_else(|| Some(Entry::clone(house.entries.get(&one.reservation)?)));
        let Some(mut entry) = known else {
            return Expected::no("not_found");
        };
        if let Some(no) = moves(house, &mut entry, one, asked) {
            return no;
        }
        moved.insert(one.reservation, entry);
    }
    let (delta, sold) = shifts(house, &moved);
    let dead = house.dead(now);
    let is_short = |(cell, rooms): &(&Cell, &i32)| {
        let night = house.night(**cell);
        let held = night.held - dead.on(**cell);
        let taken = night.sold + held + house.allotted_alive(**cell, &dead);
        **rooms > 0 && taken + **rooms > night.physical - night.out_of_order
    };
    let short: BTreeSet<Cell> = delta
        .iter()
        .filter(is_short)
        .map(|(cell, _)| *cell)
        .collect();
    if !short.is_empty() {
        return Expected::no_on("sold_out", short);
    }
    let beyond = |sold: &Rooms| -> BTreeMap<StayDate, i32> {
        let each = file.nights.keys().map(|night| {
            let cell = (file.room_type, *night);
            let rooms = house.night(cell).beyond() + sold.get(&cell).unwrap_or(&0);
            (*night, rooms)
        });
        each.filter(|(_, rooms)| *rooms > 0).collect()
    };
    let left = beyond(&sold);
    let is_accepted = asked.ending == Ending::AcceptedAsIs;
    if beyond(&Rooms::new()).is_empty() || !is_accepted && !left.is_empty() {
        return Expected::no("illegal_transition");
    }
    for (id, mut entry) in moved {
        if house.entries[&id].status != Status::Cancelled {
            entry.version += 1;
            house.write(id, entry, now);
        }
    }
    close(house, asked, &left, now);
    Expected::Yes(Yes::default())
}

fn close(house: &mut House, asked: &CaseEnd, left: &BTreeMap<StayDate, i32>, now: Timestamp) {
    let Some(file) = house.cases.get_mut(&asked.case) else {
        return;
    };
    file.is_open = false;
    file.outcome = Some(asked.ending.as_str().to_owned());
    let cells: Vec<Cell> = file.nights.keys().map(|n| (file.room_type, *n)).collect();
    for cell in cells {
        house.change_night(cell, now, |_| {});
        let night = house.night(cell);
        let needs = house.needs_case(cell, &night, now);
        if let Some(rooms) = left.get(&cell.1)
            && let Some(night) = house.nights.get_mut(&cell)
        {
            night.case = if needs {
                Case::Accepted(*rooms)
            } else {
                Case::Either
            };
        }
    }
}

/// Moves a guest to a room of another type, or out of the house.
fn moves(house: &House, entry: &mut Entry, one: &CaseMove, asked: &CaseEnd) -> Option<Expected> {
    let Some(to) = one.to else {
        let is_channels = entry.source == Source::Channel;
        if asked.ending == Ending::RelocatedByChannel && !is_channels {
            return Some(Expected::no("invalid"));
        }
        return match entry.status {
            Status::Held | Status::Confirmed | Status::Cancelled => {
                let must_be_told = is_channels && !asked.told_channel;
                entry.status = Status::Cancelled;
                must_be_told.then(|| Expected::no("invalid"))
            }
            _ => Some(Expected::no("illegal_transition")),
        };
    };
    if !matches!(
        entry.status,
        Status::Held | Status::Confirmed | Status::CheckedIn
    ) {
        return Some(Expected::no("illegal_transition"));
    }
    if !house.rules.types.contains_key(&to) {
        return Some(Expected::no("invalid"));
    }
    let alone = entry.present().count() == 1;
    let named = one.room_stay.map(|id| id.0);
    let mut rooms = entry.present_mut();
    let room = rooms.find(|room| named.map_or(alone, |id| id == room.id));
    match room {
        Some(room) => {
            room.room_type = Some(to);
            None
        }
        None => Some(Expected::no("invalid")),
    }
}

/// By how much the moves change what is taken of nights, and of that what is sold.
fn shifts(house: &House, moved: &BTreeMap<ReservationId, Entry>) -> (Rooms, Rooms) {
    let (mut delta, mut sold) = (Rooms::new(), Rooms::new());
    for (id, after) in moved {
        let before = &house.entries[id];
        for (sign, entry) in [(-1, &**before), (1, after)] {
            if !entry.takes() {
                continue;
            }
            for (cell, rooms) in house.rules.taken(entry.rooms.iter()) {
                *delta.entry(cell).or_insert(0) += sign * rooms;
                if before.status != Status::Held {
                    *sold.entry(cell).or_insert(0) += sign * rooms;
                }
            }
        }
    }
    (delta, sold)
}

/// What was accepted is worked again, where any of its nights is beyond.
pub fn reopen(house: &mut House, case: CaseId) -> Expected {
    let Some(file) = house.cases.get(&case).cloned() else {
        return Expected::no("not_found");
    };
    if file.is_open {
        return Expected::Yes(Yes::default());
    }
    let cells = file.nights.keys().map(|night| (file.room_type, *night));
    let cells: Vec<Cell> = cells.collect();
    if cells.iter().all(|cell| house.night(*cell).beyond() <= 0) {
        return Expected::no("illegal_transition");
    }
    for cell in cells {
        if let Some(night) = house.nights.get_mut(&cell) {
            night.case = Case::Open;
        }
    }
    if let Some(file) = house.cases.get_mut(&case) {
        file.is_open = true;
        file.outcome = None;
    }
    Expected::Yes(Yes::default())
}
