//! Allotments: who has one, agreeing rooms, and giving back in time what is unsold.

use std::collections::{BTreeMap, HashMap};

use keyrack_model::allotment::{AllotmentNight, Release, calendar_day};
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, AllotmentId, GroupId, PoolRuleId, PropertyId, RoomTypeId};
use keyrack_model::inventory::Pool;
use keyrack_model::stay::{StayDate, StayRange, Weekdays};

use super::allotting::{Differences, Terms};
use super::capacity::{check_plain, shifts, told};
use super::draft::Draft;
use super::pool_rule::PoolRule;
use super::refusal::{Force, Refusal};
use crate::command::{Answer, Forced, ShortNight};

/// The pools of a property beside the shared one.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    /// Its allotments.
    pub allotments: BTreeMap<AllotmentId, Allotment>,
    /// How accounts sell the types that they do not sell from the shared pool alone.
    pub mapped: HashMap<(AccountId, RoomTypeId), (PoolMode, AllotmentId)>,
    /// Rules that switch how they sell, in order: the last that binds says.
    pub rules: Vec<(PoolRuleId, PoolRule)>,
}

/// An allotment as it is agreed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allotment {
    /// Its code.
    pub code: String,
    /// Whose.
    pub owner: Owner,
    /// Of which plain type.
    pub room_type: RoomTypeId,
    /// When it falls back, by its own terms.
    pub release: Release,
    /// And when its group's rooms do, whichever comes first.
    pub group_cut_off: Option<StayDate>,
    /// Its account is no longer there: it falls back at once.
    pub is_orphan: bool,
    /// Counts changes.
    pub version: i64,
}

impl Allotment {
    /// Whether a night has fallen back on a calendar day of the property.
    fn is_due(&self, night: StayDate, today: StayDate) -> bool {
        self.is_orphan
            || self.release.is_due(night, today)
            || self.group_cut_off.is_some_and(|at| at <= today)
    }
}

/// Whose an allotment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// An account's.
    Account(AccountId),
    /// A group's.
    Group(GroupId),
}

impl Pools {
    /// Whether any rule turns with the number of free rooms.
    pub fn has_switches(&self) -> bool {
        self.rules.iter().any(|(_, rule)| rule.scarcity.is_some())
    }

    /// The allotments from which a fact of an account takes rooms of a type, in order: that of its
    /// mapping first.
    pub fn of_account(&self, account: AccountId, room_type: RoomTypeId) -> Vec<AllotmentId> {
        let mapped = self.mapped.get(&(account, room_type)).map(|(_, id)| *id);
        let is_its_own = |one: &Allotment| {
            one.owner == Owner::Account(account) && one.room_type == room_type && !one.is_orphan
        };
        let own = self.allotments.iter().filter(|(_, one)| is_its_own(one));
        let others = own.map(|(id, _)| *id).filter(|id| Some(*id) != mapped);
        mapped.into_iter().chain(others).collect()
    }
}

/// What is agreed over nights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgreedRooms {
    /// Which nights.
    pub nights: StayRange,
    /// Which of them.
    pub weekdays: Weekdays,
    /// Rooms, 0 or more.
    pub rooms: i32,
}

/// An allotment as it is to be: its nights from today on are those of the values, and no others.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// Which; its code is kept already.
    pub allotment: AllotmentId,
    /// As it is to be; `version` is the one that was read.
    pub terms: Allotment,
    /// Everything that may change: from the first night to the last, of the values and of what was
    /// agreed before.
    pub nights: Option<StayRange>,
    /// A later one overrides an earlier.
    pub values: Vec<AgreedRooms>,
    /// May agree more than is free (`oversell`) or cut below what is taken (`allotment`).
    pub force: Option<Forced>,
    /// Only says what would happen.
    pub dry_run: bool,
}

impl Agreement {
    fn rooms(&self, night: StayDate) -> i32 {
        let binds =
            |value: &&AgreedRooms| value.nights.contains(night) && value.weekdays.contains(night);
        self.values.iter().rev().find(binds).map_or(0, |v| v.rooms)
    }

    fn may(&self, what: Force) -> bool {
        let force = self.force.as_ref();
        self.dry_run || force.is_some_and(|force| force.allow.contains(&what))
    }
}

/// What an agreement changes.
#[derive(Default)]
struct Plan {
    nights: Vec<(StayDate, AllotmentNight)>,
    /// Nights with fewer free rooms than are newly kept.
    short: Vec<ShortNight>,
    /// Nights cut below what is taken.
    cut: Vec<ShortNight>,
    starves: bool,
}

/// Agrees rooms: takes them from free sale, or gives them back. What is past stays as it was.
pub fn agree(draft: &mut Draft, property: PropertyId, agreement: &Agreement) -> Answer {
    let room_type = agreement.terms.room_type;
    check_plain(draft, property, room_type)?;
    let rules = draft.rules(property);
    let known = rules.pools.allotments.get(&agreement.allotment);
    let current = known.map_or(0, |known| known.version);
    if current != agreement.terms.version {
        return Err(Refusal::VersionMismatch { current });
    }
    let today = calendar_day(draft.now(), &rules.zone);
    let plan = plan(draft, property, agreement, today);
    if plan.starves {
        draft.starve(property);
    }
    let needed = [
        (
            Force::Allotment,
            &plan.cut,
            "more is taken of the allotment on these nights than would be agreed",
        ),
        (
            Force::Oversell,
            &plan.short,
            "fewer rooms are free on these nights than would be kept",
        ),
    ];
    for (allow, nights, why) in needed {
        if !nights.is_empty() && !agreement.may(allow) {
            return Err(Refusal::NeedsForce {
                allow,
                why: why.to_owned(),
                nights: nights.iter().map(|s| (s.room_type, s.night)).collect(),
            });
        }
    }
    let short = plan.short.into_iter().chain(plan.cut).collect();
    let same_terms = known.is_some_and(|known| known.release == agreement.terms.release);
    if agreement.dry_run || same_terms && plan.nights.is_empty() {
        return Ok(told("repeated", Vec::new(), short));
    }
    put(draft, property, agreement, plan.nights, short)
}

fn plan(draft: &mut Draft, property: PropertyId, agreement: &Agreement, today: StayDate) -> Plan {
    let mut plan = Plan::default();
    let room_type = agreement.terms.room_type;
    let nights = agreement.nights.into_iter().flat_map(StayRange::nights);
    for night in nights.filter(|night| *night >= today) {
        let key = (property, agreement.allotment, night);
        let agreed = agreement.rooms(night);
        if agreed == 0 && !draft.has_allotment_night(key) {
            continue;
        }
        let was = draft.allotment_night(key);
        let is = AllotmentNight {
            agreed,
            is_released: agreement.terms.is_due(night, today),
            ..was
        };
        let is = is.settled();
        if was == is && draft.has_allotment_night(key) {
            continue;
        }
        let balance = draft.night(property, (room_type, night));
        let missing = is.left() - was.left() - balance.free();
        let short = |rooms| ShortNight {
            room_type,
            night,
            rooms,
        };
        if is.left() > was.left() && missing > 0 {
            plan.starves |= balance.held > 0;
            plan.short.push(short(missing));
        }
        if is.agreed < was.agreed && is.agreed < is.taken {
            plan.starves |= balance.held > 0;
            plan.cut.push(short(is.taken - is.agreed));
        }
        plan.nights.push((night, is));
    }
    plan
}

fn put(
    draft: &mut Draft,
    property: PropertyId,
    agreement: &Agreement,
    nights: Vec<(StayDate, AllotmentNight)>,
    short: Vec<ShortNight>,
) -> Answer {
    let reason = match &agreement.force {
        Some(force) => format!("{}; forced: {}", agreement.terms.code, force.reason),
        None => agreement.terms.code.clone(),
    };
    let id = (property, agreement.allotment, agreement.terms.room_type);
    let nights = count(draft, id, nights, "allotment_set", reason);
    draft.allotting.terms.push(Terms {
        property,
        allotment: agreement.allotment,
        version: agreement.terms.version,
        release: agreement.terms.release,
    });
    let terms = Allotment {
        version: agreement.terms.version + 1,
        ..agreement.terms.clone()
    };
    draft.know_allotment(property, agreement.allotment, terms);
    Ok(told("allotment_set", nights, short))
}

/// Puts new counts of nights down, and moves what is left of them out of free sale or into it.
fn count(
    draft: &mut Draft,
    (property, allotment, room_type): (PropertyId, AllotmentId, RoomTypeId),
    nights: Vec<(StayDate, AllotmentNight)>,
    kind: &'static str,
    reason: String,
) -> Vec<(RoomTypeId, StayRange)> {
    let mut gathered = Differences::new();
    let mut left = BTreeMap::new();
    for (night, is) in nights {
        let key = (property, allotment, night);
        let by = draft.put_allotment_night(key, room_type, is, &mut gathered);
        left.insert(night, by);
    }
    let moved = shifts(room_type, &left, Pool::Free, Pool::Allotted);
    for m in &moved {
        draft.carry_out(property, m);
    }
    let nights = moved.iter().map(|m| (m.room_type, m.nights)).collect();
    draft.write_allotments(property, None, gathered);
    draft.write(property, None, kind, moved, Some(reason));
    nights
}

/// What is unsold falls back to the shared pool where it is due. Done once, whoever comes and how
/// late: what has fallen back is passed over.
pub fn release(
    draft: &mut Draft,
    property: PropertyId,
    allotment: AllotmentId,
    nights: StayRange,
) -> Answer {
    let rules = draft.rules(property);
    let Some(known) = rules.pools.allotments.get(&allotment) else {
        return Err(Refusal::NotFound("allotment".to_owned()));
    };
    let today = calendar_day(draft.now(), &rules.zone);
    let mut due = Vec::new();
    for night in nights.nights() {
        let key = (property, allotment, night);
        let was = draft.allotment_night(key);
        let is_due = known.is_due(night, today);
        if draft.has_allotment_night(key) && !was.is_released && is_due {
            let is = AllotmentNight {
                is_released: true,
                ..was
            };
            due.push((night, is));
        }
    }
    if due.is_empty() {
        return Ok(told("repeated", Vec::new(), Vec::new()));
    }
    let id = (property, allotment, known.room_type);
    let nights = count(draft, id, due, "allotment_released", known.code.clone());
    Ok(told("allotment_released", nights, Vec::new()))
}
