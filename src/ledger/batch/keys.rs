//! What a batch of commands needs to see.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use keyrack_model::id::{CaseId, PropertyId, RoomTypeId};
use keyrack_model::reservation::{Guest, ReservationRevision};
use keyrack_model::stay::{Stay, StayDate, plus_days};

use crate::command::{Asked, Command, Wish, WishedRoom};
use crate::decide::allotting::AllotmentKey;
use crate::decide::blocks::shifted;
use crate::decide::draft::{Night, NightKey, ReservationKey, Seen, SeenRooms};
use crate::decide::guest_limit::{ArrivalKey, arrivals, guest_keys};
use crate::decide::rules::Rules;
use crate::store::rate::RateRange;
use crate::store::read::Keys;
use keyrack_model::id_map::IdMap;

/// Rules by property.
pub(super) type RulesOf = IdMap<PropertyId, Arc<Rules>>;

/// What the commands name: keys, reservations, references, nights, numbers. `relook` asks whether
/// a wish has been carried out before its connection broke.
pub(super) fn of<'a>(
    commands: impl IntoIterator<Item = &'a Asked>,
    rules: &RulesOf,
    rooms: &SeenRooms,
    relook: bool,
) -> Keys {
    let mut keys = Keys::default();
    for asked in commands {
        keys.properties.insert(asked.property);
        keys.raises_rules |= asked.command.raises_rules();
        if let Some(key) = &asked.idempotency {
            keys.receipts.insert((key.scope.clone(), key.key.clone()));
        }
        let Some(rules) = rules.get(&asked.property) else {
            continue;
        };
        keys.name(asked, rules, relook);
        keys.blocked(asked, rooms);
        keys.rooms = keys.rooms.saturating_add(wanted(asked, rules));
    }
    keys
}

/// Reservations whose guest must be known: they change where guests are limited.
pub(super) fn limited_changes<'a>(
    commands: impl IntoIterator<Item = &'a Asked>,
    rules: &RulesOf,
) -> BTreeSet<ReservationKey> {
    let changed = commands
        .into_iter()
        .filter_map(|asked| match &asked.command {
            Command::Modify(change) if change.rooms.is_some() || change.guest.is_some() => {
                limits(rules, asked.property).then_some((asked.property, change.reservation))
            }
            _ => None,
        });
    changed.collect()
}

/// Whether rows that batches write are read beside nights and keys: of allotments, of switches, and
/// places of guests.
pub(super) fn are_read_apart(rules: &RulesOf) -> bool {
    rules.iter().any(|(property, known)| {
        let pools = &known.pools;
        !pools.allotments.is_empty() || pools.has_switches() || limits(rules, *property)
    })
}

/// The guests whose places the commands may take, where their property limits them: of a wish and a
/// fact as they are told, of a change as it is and will be.
pub(super) fn guest_arrivals<'a>(
    commands: impl IntoIterator<Item = &'a Asked>,
    rules: &RulesOf,
    seen: &Seen,
) -> BTreeSet<ArrivalKey> {
    let mut keys = BTreeSet::new();
    let limited = commands
        .into_iter()
        .filter(|asked| limits(rules, asked.property));
    for asked in limited {
        let wished = |rooms: &[WishedRoom]| {
            let rooms = rooms.iter().map(|room| room.stay.arrival());
            rooms.collect::<BTreeSet<_>>()
        };
        let (guest, dates): (Option<&Guest>, BTreeSet<_>) = match &asked.command {
            Command::Request(wish) => (wish.guest.as_ref(), wished(&wish.rooms)),
            Command::Record(fact) => {
                let report = &fact.revision.report;
                let told = report.rooms.iter().filter_map(|room| room.arrival);
                let known = seen
                    .references
                    .get(&(fact.revision.account, report.reference.clone()));
                let known = known.and_then(|known| known.reservation);
                let known = known.and_then(|id| seen.reservations.get(&(asked.property, id)));
                let stays = known.map(arrivals).unwrap_or_default();
                (Some(&report.guest), told.chain(stays).collect())
            }
            Command::Modify(change) => {
                let key = (asked.property, change.reservation);
                let guest = change
                    .guest
                    .as_ref()
                    .or_else(|| seen.limited.guests.get(&key));
                let stays = seen
                    .reservations
                    .get(&key)
                    .map(arrivals)
                    .unwrap_or_default();
                let wished = change.rooms.as_deref().map(wished).unwrap_or_default();
                (guest, stays.into_iter().chain(wished).collect())
            }
            _ => continue,
        };
        for key in guest.map(guest_keys).unwrap_or_default() {
            let each = dates
                .iter()
                .map(|date| (asked.property, key.clone(), *date));
            keys.extend(each);
        }
    }
    keys
}

fn limits(rules: &RulesOf, property: PropertyId) -> bool {
    let rules = rules.get(&property);
    rules.is_some_and(|rules| rules.policies.guest_arrivals_max.is_some())
}

/// Rooms of one type on one night that a wish takes at most; other commands may find rooms wanting
/// that they do not name.
fn wanted(asked: &Asked, rules: &Rules) -> i32 {
    let Command::Request(wish) = &asked.command else {
        return i32::MAX;
    };
    wish.rooms.iter().fold(0, |sum, room| {
        let parts = rules.parts(room.room_type).unwrap_or_default();
        let per_unit = parts.iter().map(|(_, rooms)| *rooms).max().unwrap_or(1);
        sum.saturating_add(room.quantity.max(0).saturating_mul(per_unit))
    })
}

impl Keys {
    fn name(&mut self, asked: &Asked, rules: &Rules, relook: bool) {
        let property = asked.property;
        match &asked.command {
            Command::Request(wish) => self.wish(rules, wish, relook),
            Command::RequestAll(wishes) => {
                for wish in wishes {
                    self.wish(rules, wish, relook);
                }
            }
            Command::Record(fact) => {
                self.numbers += 1;
                let revision = &fact.revision;
                let reference = revision.report.reference.clone();
                self.references
                    .insert((property, revision.account, reference));
                self.told(rules, revision);
            }
            Command::Modify(change) => {
                self.reservations.insert((property, change.reservation));
                self.wished(rules, change.rooms.as_deref().unwrap_or_default());
            }
            Command::Confirm { reservation, .. }
            | Command::Cancel { reservation, .. }
            | Command::Extend { reservation, .. }
            | Command::Progress { reservation, .. }
            | Command::Expire { reservation } => {
                self.reservations.insert((property, *reservation));
            }
            Command::SetNights { changes, .. } => {
                for change in changes {
                    self.nights(rules, change.room_type, change.nights);
                }
            }
            Command::Agree(agreement) => {
                if let Some(nights) = agreement.nights {
                    self.nights(rules, agreement.terms.room_type, nights);
                }
            }
            Command::ReleaseAllotment { allotment, nights } => {
                if let Some(known) = rules.pools.allotments.get(allotment) {
                    self.nights(rules, known.room_type, *nights);
                }
            }
            Command::EndCase(end) => {
                let moved = end.moves.iter().map(|one| (property, one.reservation));
                self.reservations.extend(moved);
            }
            // Named by what is known of their rooms.
            Command::SetBlocks { .. } => {}
            Command::OpenCase { room_type, nights }
            | Command::Review { room_type, nights }
            | Command::SetPhysical {
                room_type, nights, ..
            } => {
                self.nights(rules, *room_type, *nights);
            }
        }
    }

    fn wish(&mut self, rules: &Rules, wish: &Wish, relook: bool) {
        let property = rules.property;
        self.numbers += 1;
        self.wished(rules, &wish.rooms);
        if relook {
            self.reservations.insert((property, wish.reservation));
        }
        if let Some((account, reference)) = &wish.channel {
            self.references
                .insert((property, *account, reference.clone()));
        }
    }

    /// The nights on which new blocks count otherwise than the old.
    fn blocked(&mut self, asked: &Asked, rooms: &SeenRooms) {
        let Command::SetBlocks { room, blocks } = &asked.command else {
            return;
        };
        let Some(known) = rooms.get(&(asked.property, room.clone())) else {
            return;
        };
        let nights = shifted(known, blocks).into_keys();
        self.nights
            .extend(nights.map(|night| (asked.property, known.room_type, night)));
    }

    fn wished(&mut self, rules: &Rules, rooms: &[WishedRoom]) {
        for room in rooms {
            self.nights(rules, room.room_type, room.stay);
        }
    }

    fn told(&mut self, rules: &Rules, revision: &ReservationRevision) {
        for room in &revision.rooms {
            let (Some(arrival), Some(departure)) = (room.told.arrival, room.told.departure) else {
                continue;
            };
            if let (Some(room_type), Some(stay)) = (room.room_type, Stay::new(arrival, departure)) {
                self.nights(rules, room_type, stay);
            }
        }
    }

    fn nights(&mut self, rules: &Rules, room_type: RoomTypeId, nights: Stay) {
        for (part, _) in rules.parts(room_type).unwrap_or_default() {
            let each = |night| (rules.property, part, night);
            self.nights.extend(nights.nights().map(each));
        }
    }
}

/// Nights of allotments that lie on nights which were read, by the rules; none where no hotel of
/// the batch has an allotment.
pub(super) fn allotments(nights: &BTreeMap<NightKey, Night>, rules: &RulesOf) -> Vec<AllotmentKey> {
    let mut keys = Vec::new();
    let with_allotments = rules.values().filter(|r| !r.pools.allotments.is_empty());
    for rules in with_allotments {
        for (id, allotment) in &rules.pools.allotments {
            let from = (rules.property, allotment.room_type, StayDate::MIN);
            let until = (rules.property, allotment.room_type, StayDate::MAX);
            let each = nights.range(from..=until);
            keys.extend(each.map(|((property, _, night), _)| (*property, *id, *night)));
        }
    }
    keys.sort_unstable();
    keys
}

/// Nights that were read of hotels with rules that turn with what is free.
pub(super) fn switched(nights: &BTreeMap<NightKey, Night>, rules: &RulesOf) -> Vec<NightKey> {
    let has_switches = |id: &PropertyId| rules.get(id).is_some_and(|r| r.pools.has_switches());
    if !rules.values().any(|rules| rules.pools.has_switches()) {
        return Vec::new();
    }
    let keys = nights.keys().filter(|(id, ..)| has_switches(id));
    keys.copied().collect()
}

/// Physical rooms whose blocks are set.
pub(super) fn rooms<'a>(
    commands: impl IntoIterator<Item = &'a Asked>,
) -> Vec<(PropertyId, &'a str)> {
    let named = commands
        .into_iter()
        .filter_map(|asked| match &asked.command {
            Command::SetBlocks { room, .. } => Some((asked.property, room.as_str())),
            _ => None,
        });
    named.collect()
}

/// Overbooking cases that are ended.
pub(super) fn cases<'a>(
    commands: impl IntoIterator<Item = &'a Asked>,
) -> Vec<(PropertyId, CaseId)> {
    let named = commands
        .into_iter()
        .filter_map(|asked| match &asked.command {
            Command::EndCase(end) => Some((asked.property, end.case)),
            _ => None,
        });
    named.collect()
}

/// Nights whose rates and restrictions wishes ask for, the departure dates among them: of each type
/// and of its whole property, in ranges that do not meet.
pub(super) fn rate_ranges<'a>(
    commands: impl IntoIterator<Item = &'a Asked>,
    rules: &RulesOf,
) -> Vec<RateRange> {
    let mut asked = BTreeSet::new();
    let mut together: Vec<WishedRoom>;
    for one in commands {
        let rooms = match &one.command {
            Command::Request(wish) => wish.rooms.as_slice(),
            Command::Modify(change) => change.rooms.as_deref().unwrap_or_default(),
            Command::RequestAll(wishes) => {
                together = wishes.iter().flat_map(|wish| wish.rooms.clone()).collect();
                together.as_slice()
            }
            _ => &[],
        };
        let property = one.property;
        if !rules.get(&property).is_some_and(|rules| rules.has_rates) {
            continue;
        }
        for room in rooms {
            asked.extend([None, Some(room.room_type)].map(|room_type| RateRange {
                property,
                room_type,
                from: room.stay.arrival(),
                until: plus_days(room.stay.departure(), 1),
            }));
        }
    }
    merged(asked)
}

/// Ranges that meet become one: what lies in two would be read twice.
fn merged(asked: BTreeSet<RateRange>) -> Vec<RateRange> {
    let mut ranges: Vec<RateRange> = Vec::new();
    for next in asked {
        match ranges.last_mut() {
            Some(last)
                if (last.property, last.room_type) == (next.property, next.room_type)
                    && next.from <= last.until =>
            {
                last.until = last.until.max(next.until);
            }
            _ => ranges.push(next),
        }
    }
    ranges
}

/// Everything that was seen, as keys to lock.
pub(super) fn of_sight(seen: &crate::decide::draft::Seen, keys: &Keys) -> Keys {
    let nights: BTreeSet<NightKey> = seen
        .nights
        .keys()
        .copied()
        .chain(keys.nights.iter().copied())
        .collect();
    let reservations = seen.reservations.keys().copied().collect();
    Keys {
        nights,
        reservations,
        ..keys.clone()
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn ranges_that_meet_are_read_once() {
        let range = |(property, room_type, from, until)| RateRange {
            property,
            room_type,
            from: date(2030, 7, from),
            until: date(2030, 7, until),
        };
        let (one, two) = (PropertyId(1), PropertyId(2));
        let (dbl, sgl) = (Some(RoomTypeId(1)), Some(RoomTypeId(2)));
        let asked = [
            (one, dbl, 1, 9),
            (one, dbl, 2, 4),
            (one, dbl, 9, 11),
            (one, dbl, 20, 22),
            (one, sgl, 3, 5),
            (one, None, 1, 5),
            (two, None, 2, 6),
        ];
        let expected = [
            (one, None, 1, 5),
            (one, dbl, 1, 11),
            (one, dbl, 20, 22),
            (one, sgl, 3, 5),
            (two, None, 2, 6),
        ];
        let ranges = merged(BTreeSet::from(asked.map(range)));
        assert_eq!(ranges, expected.map(range));
    }
}
