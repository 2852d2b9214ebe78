//! What channels tell by chance: news, changes, cancels, repeats, older states, and cancels that
//! come first.

use keyrack_model::reservation::RevisionKind;

use super::dice::Dice;
use crate::shape::{AccountShape, PropertyShape, Shape};
use crate::step::{Record, Told};

/// All that channels have told so far.
#[derive(Clone, Debug)]
pub struct Channel {
    references: Vec<Reference>,
    accounts: Vec<usize>,
    next: u32,
}

#[derive(Clone, Debug)]
struct Reference {
    property: usize,
    account: usize,
    reference: u32,
    order: i64,
    next_key: u32,
    told: Vec<Record>,
}

impl Channel {
    pub fn new(shape: &Shape) -> Self {
        Self {
            references: Vec::new(),
            accounts: shape.properties.iter().map(|p| p.accounts.len()).collect(),
            next: 0,
        }
    }

    /// A reference that staff type: mostly one that the channel has not told yet.
    pub fn typed(&mut self, dice: &mut Dice, property: usize) -> (usize, u32) {
        if dice.percent(15)
            && let Some(known) = self.known(dice, property)
        {
            return (known.account, known.reference);
        }
        let account = dice.below(self.accounts[property]);
        let known = self.begin(property, account);
        (known.account, known.reference)
    }

    fn begin(&mut self, property: usize, account: usize) -> &mut Reference {
        self.next += 1;
        self.references.push(Reference {
            property,
            account,
            reference: self.next,
            order: 10,
            next_key: 0,
            told: Vec::new(),
        });
        let last = self.references.len() - 1;
        &mut self.references[last]
    }

    /// One of the last references of a property.
    fn known(&mut self, dice: &mut Dice, property: usize) -> Option<&mut Reference> {
        let of = self.references.iter_mut().rev();
        let mut of: Vec<_> = of.filter(|r| r.property == property).take(12).collect();
        let index = dice.below(of.len());
        (index < of.len()).then(|| of.swap_remove(index))
    }

    /// The next thing that a channel tells.
    pub fn tell(&mut self, dice: &mut Dice, shape: &Shape, property: usize, today: i32) -> Record {
        let house = &shape.properties[property];
        if dice.percent(40) || self.known(dice, property).is_none() {
            let account = dice.below(house.accounts.len());
            self.begin(property, account);
            let last = self.references.len() - 1;
            let kind = match dice.below(20) {
                0 => RevisionKind::Cancelled,
                1 => RevisionKind::Modified,
                _ => RevisionKind::New,
            };
            return self.references[last].first(dice, house, kind, today);
        }
        let known = self.known(dice, property);
        let known = known.expect("the property has a known reference, asked just before");
        known.again(dice, house, today)
    }
}

impl Reference {
    fn account<'a>(&self, house: &'a PropertyShape) -> &'a AccountShape {
        &house.accounts[self.account]
    }

    fn keep(&mut self, record: Record) -> Record {
        self.told.push(record.clone());
        record
    }

    fn first(
        &mut self,
        dice: &mut Dice,
        house: &PropertyShape,
        kind: RevisionKind,
        today: i32,
    ) -> Record {
        let mut rooms = Vec::new();
        if kind != RevisionKind::Cancelled {
            for _ in 0..dice.one(&[1, 1, 1, 2, 3]) {
                self.add(dice, house, today, &mut rooms);
            }
        }
        let record = Record {
            property: self.property,
            account: self.account,
            reference: self.reference,
            kind,
            order: self.account(house).tells_order.then_some(self.order),
            rooms,
            total: Some(10_000),
        };
        self.keep(record)
    }

    /// A further room; without keys, each of another code, else nobody could tell them apart.
    fn add(&mut self, dice: &mut Dice, house: &PropertyShape, today: i32, rooms: &mut Vec<Told>) {
        let room_type = dice.below(house.types.len());
        let is_there = rooms.iter().any(|room| room.room_type == room_type);
        if is_there && !self.account(house).has_room_keys {
            return;
        }
        self.next_key += 1;
        let first = today - i32::from(dice.percent(10));
        rooms.push(Told {
            key: self.next_key,
            room_type,
            is_mapped: dice.percent(85),
            from: dice.between(first, house.nights),
            nights: match dice.below(40) {
                0 => 0,
                1 => -1,
                _ => dice.between(1, 4),
            },
            quantity: if dice.percent(8) { 2 } else { 1 },
        });
    }

    /// A later word of a known reference.
    fn again(&mut self, dice: &mut Dice, house: &PropertyShape, today: i32) -> Record {
        let Some(last) = self.told.last().cloned() else {
            return self.first(dice, house, RevisionKind::New, today);
        };
        match dice.below(20) {
            // A repeat, perhaps of an old state; perhaps its codes are mapped by now.
            0..5 => {
                let index = dice.below(self.told.len());
                let at = if dice.percent(50) {
                    index
                } else {
                    self.told.len() - 1
                };
                let mut record = self.told[at].clone();
                if dice.percent(50) {
                    record
                        .rooms
                        .iter_mut()
                        .for_each(|room| room.is_mapped = true);
                }
                record
            }
            5..9 => self.cancel(dice, last),
            // The next state, or one that overtook another.
            _ => {
                let mut record = self.changed(dice, house, today, last);
                record.kind = if dice.percent(85) {
                    RevisionKind::Modified
                } else {
                    RevisionKind::New
                };
                self.ordered(dice, record)
            }
        }
    }

    fn cancel(&mut self, dice: &mut Dice, last: Record) -> Record {
        let mut record = Record {
            kind: RevisionKind::Cancelled,
            ..last
        };
        if dice.percent(50) {
            record.rooms.clear();
        }
        self.ordered(dice, record)
    }

    /// Mostly a newer order; sometimes the same, sometimes an older one.
    fn ordered(&mut self, dice: &mut Dice, mut record: Record) -> Record {
        if record.order.is_some() {
            let step = match dice.below(12) {
                0 => 0,
                1 => -1,
                2 => -2,
                _ => i64::from(dice.between(1, 2)),
            };
            record.order = Some(self.order + step);
            self.order = self.order.max(self.order + step);
        }
        self.keep(record)
    }

    fn changed(
        &mut self,
        dice: &mut Dice,
        house: &PropertyShape,
        today: i32,
        mut record: Record,
    ) -> Record {
        if record.rooms.is_empty() {
            self.add(dice, house, today, &mut record.rooms);
        }
        for _ in 0..dice.one(&[1, 1, 2]) {
            let at = dice.below(record.rooms.len());
            let has_keys = self.account(house).has_room_keys;
            let Some(room) = record.rooms.get_mut(at) else {
                continue;
            };
            match dice.below(10) {
                0..2 => room.from += dice.one(&[-1, 1, 2]),
                2..4 => room.nights = dice.between(1, 4),
                4 if has_keys => room.room_type = dice.below(house.types.len()),
                5 => room.quantity = dice.between(1, 2),
                6 => room.is_mapped = !room.is_mapped,
                7 => {
                    record.rooms.remove(at);
                }
                8 => self.add(dice, house, today, &mut record.rooms),
                _ => record.total = Some(10_000 + dice.one(&[0, 1, 2])),
            }
        }
        record
    }
}
