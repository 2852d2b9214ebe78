//! What a batch saw of cases, and what becomes of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyrack_model::id::{CaseId, PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::money::Currency;
use keyrack_model::overbooking::Ending;
use keyrack_model::stay::StayDate;
use uuid::Uuid;

use crate::command::By;
use crate::decide::changes::Changes;
use crate::decide::draft::NightKey;
use crate::decide::refusal::Refusal;

/// A case as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenCase {
    /// Its id.
    pub id: CaseId,
    /// Counts changes; it is ended in this version only.
    pub version: i64,
    /// Nobody has ended it.
    pub is_open: bool,
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Its nights that are not cured.
    pub nights: Vec<StayDate>,
    /// A manager has approved so much, in minor units.
    pub approved_minor: Option<i64>,
}

/// Nothing more is done with a case that has ended.
pub fn closed(id: CaseId) -> Refusal {
    Refusal::IllegalTransition(format!(
        "overbooking case {id} has ended: look at how. One that was accepted as it is can be \
         opened again"
    ))
}

/// A command and who asks it.
pub type Asking = (Uuid, Arc<By>);

/// Cases of properties.
pub type SeenCases = BTreeMap<(PropertyId, CaseId), SeenCase>;

/// A case that is ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Whose.
    pub property: PropertyId,
    /// Which.
    pub case: CaseId,
    /// The version that was read.
    pub version: i64,
    /// Of which type.
    pub room_type: RoomTypeId,
    /// Its nights, with the rooms that stay beyond what can be slept in: 0 but where it is
    /// accepted.
    pub beyond: Vec<(StayDate, i32)>,
    /// How.
    pub ending: Ending,
    /// What it cost, in minor units.
    pub cost: Option<(i64, Currency)>,
    /// Who was moved.
    pub moves: Vec<EndedMove>,
    /// In words.
    pub note: Option<String>,
    /// The command and who asked it.
    pub by: Asking,
}

/// A guest who was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndedMove {
    /// Which.
    pub reservation: ReservationId,
    /// Its short number.
    pub number: i64,
    /// Which of its rooms, where that was said.
    pub room_stay: Option<RoomStayId>,
    /// Into which type; `None` is out of the house.
    pub room_type: Option<RoomTypeId>,
    /// Where he sleeps instead.
    pub elsewhere: Option<String>,
}

/// What becomes of cases in a batch.
#[derive(Clone, Debug, Default)]
pub struct CaseSheet {
    by_hand: BTreeMap<NightKey, Asking>,
    ended: Vec<Ended>,
}

impl CaseSheet {
    /// A person opens a case for a night.
    pub fn open_by_hand(&mut self, key: NightKey, by: Asking) {
        self.by_hand.insert(key, by);
    }

    /// A case is ended.
    pub fn end(&mut self, ended: Ended) {
        self.ended.push(ended);
    }

    /// Puts it beside what the nights themselves demand.
    pub fn put_on(self, changes: &mut Changes) {
        for (key, by) in self.by_hand {
            let at = changes.nights.binary_search_by_key(&key, |(key, ..)| *key);
            let Ok(at) = at else { continue };
            let night = changes.nights[at].2;
            changes.by_hand.insert(key, by);
            if !changes.overbooked.iter().any(|(known, _)| *known == key) {
                changes.overbooked.push((key, night.beyond()));
            }
        }
        for one in &self.ended {
            // Cases are looked at where nights say so: the nights of one that is ended do.
            let keys = one.beyond.iter();
            for key in keys.map(|(night, _)| (one.property, one.room_type, *night)) {
                let is_there = changes.overbooked.iter().any(|(known, _)| *known == key);
                if !is_there && !changes.cured.contains(&key) {
                    changes.cured.push(key);
                }
            }
        }
        changes.ended = self.ended;
    }
}
