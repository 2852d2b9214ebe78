//! What a batch of commands needs to see.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::reservation::ReservationRevision;
use keyrack_model::stay::{Stay, plus_days};

use crate::command::{Asked, Command, WishedRoom};
use crate::decide::blocks::shifted;
use crate::decide::draft::{NightKey, SeenRooms};
use crate::decide::rules::Rules;
use crate::store::read::Keys;

/// Rules by property.
pub(super) type RulesOf = HashMap<PropertyId, Arc<Rules>>;

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
        if let Some(key) = &asked.idempotency {
            keys.receipts.insert((key.scope.clone(), key.key.clone()));
        }
        let Some(rules) = rules.get(&asked.property) else {
            continue;
        };
        keys.name(asked, rules, relook);
        keys.blocked(asked, rooms);
    }
    keys
}

impl Keys {
    fn name(&mut self, asked: &Asked, rules: &Rules, relook: bool) {
        let property = asked.property;
        match &asked.command {
            Command::Request(wish) => {
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
            // Named by what is known of their rooms.
            Command::SetBlocks { .. } => {}
            Command::Review { room_type, nights }
            | Command::SetPhysical {
                room_type, nights, ..
            } => {
                self.nights(rules, *room_type, *nights);
            }
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

/// Nights and types whose rates and restrictions wishes ask for: per property the types and one
/// span, the departure dates with it.
pub(super) fn rate_spans<'a>(
    commands: impl IntoIterator<Item = &'a Asked>,
    rules: &RulesOf,
) -> BTreeMap<PropertyId, (BTreeSet<RoomTypeId>, Stay)> {
    let mut spans: BTreeMap<PropertyId, (BTreeSet<RoomTypeId>, Stay)> = BTreeMap::new();
    for asked in commands {
        let rooms = match &asked.command {
            Command::Request(wish) => wish.rooms.as_slice(),
            Command::Modify(change) => change.rooms.as_deref().unwrap_or_default(),
            _ => &[],
        };
        if !rules
            .get(&asked.property)
            .is_some_and(|rules| rules.has_rates)
        {
            continue;
        }
        for room in rooms {
            let end = plus_days(room.stay.departure(), 1);
            let Some(asks) = Stay::new(room.stay.arrival(), end) else {
                continue;
            };
            let span = spans
                .entry(asked.property)
                .or_insert_with(|| (BTreeSet::new(), asks));
            span.0.insert(room.room_type);
            let arrival = span.1.arrival().min(asks.arrival());
            let departure = span.1.departure().max(asks.departure());
            span.1 = Stay::new(arrival, departure).unwrap_or(asks);
        }
    }
    spans
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
