//! Rooms of a reservation that came from allotments: which may be drawn, and where they go back to.
//!
//! A reservation remembers, night by night, which of its rooms it drew from which allotment; what
//! it does not remember came from the shared pool. A room goes back to where it came from, or to
//! the shared pool where that allotment has been released for the night (ledger, section 5).

use std::collections::BTreeMap;

use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, AllotmentId, PropertyId, RoomStayId, RoomTypeId};
use keyrack_model::inventory::Pool;
use keyrack_model::stay::StayDate;
use serde::{Deserialize, Serialize};

use super::allotment::Pools;
use super::allotting::Differences;
use super::draft::Draft;
use super::entry::Move;
use super::pool_rule::sells;
use super::refusal::{Force, Refusal};
use super::revise::{Claim, TypeNight, claim_moves, move_claim, moves, pool_of};
use super::state::{Reservation, RoomStay};
use crate::command::{Forced, Wish};

/// Rooms of a room stay that were drawn from an allotment on a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drawn {
    /// For which room stay.
    pub room: RoomStayId,
    /// From which allotment.
    pub allotment: AllotmentId,
    /// Of which type.
    pub room_type: RoomTypeId,
    /// On which night.
    pub night: StayDate,
    /// How many rooms, at least 1.
    pub rooms: i32,
}

/// Where a room may come from on a night.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Allotments, in order.
    pub from: Vec<AllotmentId>,
    /// From nowhere else.
    pub is_only: bool,
}

/// Rooms by allotment, type and night.
type Sums = BTreeMap<(AllotmentId, TypeNight), i32>;

/// What a reservation has drawn, where it takes rooms.
fn sums(reservation: Option<&Reservation>) -> Sums {
    let taking = reservation.filter(|r| r.takes_rooms());
    sum(taking.map_or(&[], |r| r.detail.drawn.as_slice()))
}

fn sum(drawn: &[Drawn]) -> Sums {
    let mut sums = Sums::new();
    for one in drawn {
        let key = (one.allotment, (one.room_type, one.night));
        *sums.entry(key).or_insert(0) += one.rooms;
    }
    sums
}

fn drawn_by(drawn: &[Drawn], room: &RoomStay, night: StayDate) -> i32 {
    let of_it = drawn
        .iter()
        .filter(|d| d.room == room.id && d.night == night);
    of_it.map(|d| d.rooms).sum()
}

/// Lets go what its rooms no longer take: nights that are not taken, another type, fewer rooms.
pub fn settle(rooms: &[RoomStay], drawn: &mut Vec<Drawn>) {
    let mut left: BTreeMap<(RoomStayId, StayDate), i32> = BTreeMap::new();
    drawn.retain_mut(|one| {
        let is_taken = |room: &&RoomStay| {
            room.id == one.room
                && !room.is_given_back
                && room.room_type == Some(one.room_type)
                && room.components.is_none()
                && room.taken().is_some_and(|taken| taken.contains(one.night))
        };
        let Some(room) = rooms.iter().find(is_taken) else {
            return false;
        };
        let left = left.entry((one.room, one.night)).or_insert(room.quantity);
        one.rooms = one.rooms.min(*left);
        *left -= one.rooms;
        one.rooms > 0
    });
}

/// Draws what rooms newly take from where `source` says, as far as it reaches; a room that is taken
/// already keeps its pool. Says on which nights a room that may come from nowhere else found too
/// little.
pub fn draw(
    draft: &Draft,
    property: PropertyId,
    before: Option<&Reservation>,
    (rooms, drawn): (&[RoomStay], &mut Vec<Drawn>),
    source: &dyn Fn(&RoomStay, StayDate) -> Source,
) -> Vec<TypeNight> {
    if draft.rules(property).pools.allotments.is_empty() {
        return Vec::new();
    }
    settle(rooms, drawn);
    let before = before.filter(|b| b.takes_rooms());
    let was = sums(before);
    let mut is = sum(drawn);
    let mut short = Vec::new();
    let plain = rooms
        .iter()
        .filter(|room| !room.is_given_back && room.components.is_none());
    for room in plain {
        let (Some(room_type), Some(taken)) = (room.room_type, room.taken()) else {
            continue;
        };
        for night in taken.nights() {
            let had = before.map_or(0, |b| shared_of(b, room, night));
            let mut fresh = room.quantity - drawn_by(drawn, room, night);
            fresh -= had.min(fresh);
            if fresh <= 0 {
                continue;
            }
            let source = source(room, night);
            for allotment in source.from {
                let key = (allotment, (room_type, night));
                let mut count = draft.allotment_night((property, allotment, night));
                let now = is.entry(key).or_insert(0);
                count.taken += *now - was.get(&key).copied().unwrap_or(0);
                let rooms = fresh.min(count.left());
                if rooms <= 0 {
                    continue;
                }
                *now += rooms;
                fresh -= rooms;
                drawn.push(Drawn {
                    room: room.id,
                    allotment,
                    room_type,
                    night,
                    rooms,
                });
            }
            if fresh > 0 && source.is_only {
                short.push((room_type, night));
            }
        }
    }
    short
}

/// Rooms that a room stay had of the shared pool on a night.
fn shared_of(before: &Reservation, room: &RoomStay, night: StayDate) -> i32 {
    let is_same = |old: &&RoomStay| {
        old.id == room.id
            && old.room_type == room.room_type
            && old.components.is_none()
            && old.taken().is_some_and(|taken| taken.contains(night))
    };
    let old = before.present_rooms().find(is_same);
    old.map_or(0, |old| {
        old.quantity - drawn_by(&before.detail.drawn, old, night)
    })
}

/// Where a fact takes rooms: its account's allotments, then what is shared, whatever the mapping
/// says (ledger, section 3).
fn of_fact(pools: &Pools, account: Option<AccountId>, room: &RoomStay) -> Source {
    let account = account.zip(room.room_type);
    Source {
        from: account.map_or_else(Vec::new, |(account, t)| pools.of_account(account, t)),
        is_only: false,
    }
}

/// Where a stay that staff lengthen takes rooms: whence it has some already, then what is shared.
pub fn goes_on(before: &Reservation, room: &RoomStay) -> Source {
    let mut source = Source::default();
    for one in before.detail.drawn.iter().filter(|d| d.room == room.id) {
        if Some(one.room_type) == room.room_type && !source.from.contains(&one.allotment) {
            source.from.push(one.allotment);
        }
    }
    source
}

/// Draws what a stay takes beyond its present state as a fact: whence it has or had rooms, or from
/// the allotments of its account, then from what is shared.
pub fn draw_as_fact(draft: &Draft, before: Option<&Reservation>, after: &mut Reservation) {
    let rules = draft.rules(after.property);
    if rules.pools.allotments.is_empty() {
        return;
    }
    let account = after.account;
    let source = |room: &RoomStay, _| {
        let mut source = before.map_or_else(Source::default, |b| goes_on(b, room));
        for allotment in of_fact(&rules.pools, account, room).from {
            if !source.from.contains(&allotment) {
                source.from.push(allotment);
            }
        }
        source
    };
    if before.is_none_or(|b| !b.takes_rooms()) {
        // What it remembers went back.
        after.detail.drawn.clear();
    }
    let rooms = (after.rooms.as_slice(), &mut after.detail.drawn);
    draw(draft, after.property, before, rooms, &source);
}

/// Where a wish takes rooms: the allotment that it names, or by the mode in which its account
/// sells. `may_pass` lets it take more than the allotment has.
pub fn of_wish(
    named: Option<AllotmentId>,
    sold: Option<(PoolMode, AllotmentId)>,
    may_pass: bool,
) -> Source {
    let (from, is_only) = match (named, sold) {
        (Some(allotment), _) => (Some(allotment), true),
        (None, Some((PoolMode::Allotment, allotment))) => (Some(allotment), true),
        (None, Some((PoolMode::AllotmentThenShared, allotment))) => (Some(allotment), false),
        (None, Some((PoolMode::Shared, _)) | None) => (None, false),
    };
    Source {
        from: from.into_iter().collect(),
        is_only: is_only && !may_pass,
    }
}

/// What a wish draws from the allotments that it names, or that its account sells from. The desk
/// sells from the shared pool alone.
pub fn draw_wished(
    draft: &mut Draft,
    property: PropertyId,
    wish: &Wish,
    rooms: &[RoomStay],
) -> Result<Vec<Drawn>, Refusal> {
    let rules = draft.rules(property);
    let account = wish.channel.as_ref().map(|(account, _)| *account);
    let may_pass = may_pass(wish.force.as_ref());
    let switches = draft.switches(property);
    let source = |room: &RoomStay, night| {
        let index = usize::try_from(room.id.0 - 1).unwrap_or(usize::MAX);
        let named = wish.rooms.get(index).and_then(|wished| wished.allotment);
        let sold = account
            .zip(room.room_type)
            .and_then(|(account, room_type)| {
                let night = (room_type, night);
                let (mode, allotment, _) = sells(&rules.pools, &switches, account, night)?;
                Some((mode, allotment))
            });
        of_wish(named, sold, may_pass)
    };
    let mut drawn = Vec::new();
    let short = draw(draft, property, None, (rooms, &mut drawn), &source);
    if short.is_empty() {
        Ok(drawn)
    } else {
        Err(exhausted(draft, property, short))
    }
}

/// The refusal of rooms that an allotment does not have. Where holds take rooms of those nights,
/// dead ones among them are let go before it counts.
pub fn exhausted(draft: &mut Draft, property: PropertyId, short: Vec<TypeNight>) -> Refusal {
    let mut nights = short.iter();
    if nights.any(|night| draft.night(property, *night).held > 0) {
        draft.starve(property);
    }
    Refusal::AllotmentExhausted(short)
}

/// Whether a force lets a room come from elsewhere than its allotment.
pub fn may_pass(force: Option<&Forced>) -> bool {
    force.is_some_and(|force| force.allow.contains(&Force::Allotment))
}

/// What a change takes of the shared pool: what it takes at all, with what allotments then keep
/// more or fewer. A room of one that has been released goes back to the shared pool.
pub fn shared(
    draft: &Draft,
    property: PropertyId,
    mut delta: BTreeMap<TypeNight, i32>,
    before: Option<&Reservation>,
    drawn: &[Drawn],
) -> BTreeMap<TypeNight, i32> {
    let mut by = sum(drawn);
    for (key, rooms) in sums(before) {
        *by.entry(key).or_insert(0) -= rooms;
    }
    for ((allotment, night), rooms) in by {
        let now = draft.allotment_night((property, allotment, night.1));
        let mut then = now;
        then.taken += rooms;
        *delta.entry(night).or_insert(0) += then.left() - now.left();
    }
    delta
}

/// Whether a change of a reservation concerns allotments at all.
fn concerns(before: Option<&Reservation>, after: &Reservation) -> bool {
    before.is_some_and(|b| !b.detail.drawn.is_empty()) || !after.detail.drawn.is_empty()
}

impl Draft {
    /// The moves from one state of a reservation to another, with what is written of allotments;
    /// what its rooms no longer take of these is let go.
    pub(super) fn moves_of(
        &mut self,
        before: Option<&Reservation>,
        after: &mut Reservation,
    ) -> Vec<Move> {
        if !concerns(before, after) {
            return move_claim(before, after);
        }
        if after.takes_rooms() {
            settle(&after.rooms, &mut after.detail.drawn);
        }
        let (moved, gathered) = self.draw_moves(before, after);
        self.write_allotments(after.property, Some(after.id), gathered);
        moved
    }

    /// The moves from one state of a reservation that draws to another; counts what its allotments
    /// lose and get back.
    fn draw_moves(
        &mut self,
        before: Option<&Reservation>,
        after: &Reservation,
    ) -> (Vec<Move>, Differences) {
        let (was, is) = (sums(before), sums(Some(after)));
        let pools = (
            before.and_then(|b| pool_of(b.status)),
            pool_of(after.status),
        );
        let claim = |of: Option<&Reservation>, drawn: &Sums| {
            let mut claim = of.map(Claim::of).unwrap_or_default();
            for ((_, night), rooms) in drawn {
                *claim.0.entry(*night).or_insert(0) -= rooms;
            }
            claim.0.retain(|_, rooms| *rooms != 0);
            claim
        };
        let shared = (claim(before, &was), claim(Some(after), &is));
        let mut moved = claim_moves(pools, &shared.0, &shared.1);
        let mut by_pools: BTreeMap<(Pool, Pool), BTreeMap<TypeNight, i32>> = BTreeMap::new();
        let mut add = |from: Pool, to: Pool, night: TypeNight, rooms: i32| {
            if rooms > 0 && from != to {
                let rooms_of = by_pools.entry((from, to)).or_default();
                *rooms_of.entry(night).or_insert(0) += rooms;
            }
        };
        let mut gathered = Differences::new();
        let mut keys: Vec<_> = was.keys().chain(is.keys()).copied().collect();
        keys.sort_unstable();
        keys.dedup();
        for key @ (allotment, night) in keys {
            let count = |sums: &Sums| sums.get(&key).copied().unwrap_or(0);
            let (w, i) = (count(&was), count(&is));
            if let (Some(from), Some(to)) = pools {
                add(from, to, night, w.min(i));
            }
            if w == i {
                continue;
            }
            let of_night = (after.property, allotment, night.1);
            let mut counts = self.allotment_night(of_night);
            counts.taken += i - w;
            let left = self.put_allotment_night(of_night, night.0, counts, &mut gathered);
            match pools {
                (_, Some(pool)) if i > w => {
                    add(Pool::Allotted, pool, night, -left);
                    add(Pool::Free, pool, night, i - w + left);
                }
                (Some(pool), _) => {
                    add(pool, Pool::Allotted, night, left);
                    add(pool, Pool::Free, night, w - i - left);
                }
                _ => {}
            }
        }
        for ((from, to), delta) in by_pools {
            moved.extend(moves(&delta, from, to));
        }
        (moved, gathered)
    }
}
