//! Claims: the rooms that a reservation takes, night by night; and the difference of two claims.

use std::collections::BTreeMap;

use keyrack_model::id::RoomTypeId;
use keyrack_model::inventory::Pool;
use keyrack_model::reservation::Status;
use keyrack_model::stay::{Stay, StayDate, ranges};

use super::entry::Move;
use super::state::{Reservation, RoomStay};

/// Rooms of plain types per unit.
pub type Parts = Vec<(RoomTypeId, i32)>;

/// A night of a plain room type.
pub type TypeNight = (RoomTypeId, StayDate);

/// Rooms taken on each night of each plain type; no zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claim(pub BTreeMap<TypeNight, i32>);

impl Claim {
    /// What a reservation takes in its present state.
    pub fn of(reservation: &Reservation) -> Self {
        let mut claim = Self::default();
        if reservation.takes_rooms() {
            reservation
                .present_rooms()
                .for_each(|room| claim.add_room(room));
        }
        claim
    }

    /// Adds what a room stay takes.
    pub fn add_room(&mut self, room: &RoomStay) {
        let (Some(room_type), Some(taken)) = (room.room_type, room.taken()) else {
            return;
        };
        match &room.components {
            Some(parts) => self.add(parts, taken, room.quantity),
            None => self.add(&[(room_type, 1)], taken, room.quantity),
        }
    }

    /// Adds rooms over nights.
    pub fn add(&mut self, parts: &[(RoomTypeId, i32)], nights: Stay, quantity: i32) {
        for (room_type, per_unit) in parts {
            for night in nights.nights() {
                *self.0.entry((*room_type, night)).or_insert(0) += per_unit * quantity;
            }
        }
    }

    /// The nights with their rooms.
    pub fn iter(&self) -> impl Iterator<Item = (TypeNight, i32)> + '_ {
        self.0.iter().map(|(night, rooms)| (*night, *rooms))
    }
}

/// Rooms that `after` takes beyond `before` (positive) or lets go (negative), per night. Nights
/// that both hold are left alone, so a guest who stays one day longer never gives up a night.
pub fn difference(before: &Claim, after: &Claim) -> BTreeMap<TypeNight, i32> {
    let mut delta = after.0.clone();
    for (night, rooms) in before.iter() {
        *delta.entry(night).or_insert(0) -= rooms;
    }
    delta.retain(|_, rooms| *rooms != 0);
    delta
}

/// The pool in which a reservation's rooms lie. `None` where it takes none.
pub fn pool_of(status: Status) -> Option<Pool> {
    match status {
        Status::Held => Some(Pool::Held),
        Status::Confirmed | Status::CheckedIn | Status::Completed | Status::NoShow => {
            Some(Pool::Sold)
        }
        Status::Cancelled | Status::Expired => None,
    }
}

/// The moves of a difference: additions out of `from` into `to`, the rest the other way, joined
/// over consecutive nights of one type and count.
pub fn moves(delta: &BTreeMap<TypeNight, i32>, from: Pool, to: Pool) -> Vec<Move> {
    let mut by_count: BTreeMap<(RoomTypeId, i32), Vec<StayDate>> = BTreeMap::new();
    for ((room_type, night), rooms) in delta {
        by_count
            .entry((*room_type, *rooms))
            .or_default()
            .push(*night);
    }
    let mut moves = Vec::new();
    for ((room_type, rooms), nights) in by_count {
        let (from, to) = if rooms > 0 { (from, to) } else { (to, from) };
        let quantity = rooms.abs();
        let each = |nights| Move {
            room_type,
            nights,
            quantity,
            from,
            to,
        };
        moves.extend(ranges(nights).into_iter().map(each));
    }
    moves
}

/// The moves from one state of a reservation to another.
pub fn move_claim(before: Option<&Reservation>, after: &Reservation) -> Vec<Move> {
    let was = before.map(Claim::of).unwrap_or_default();
    let pools = (
        before.and_then(|b| pool_of(b.status)),
        pool_of(after.status),
    );
    claim_moves(pools, &was, &Claim::of(after))
}

/// The moves from one claim on the shared pool to another, each in its pool.
pub fn claim_moves(pools: (Option<Pool>, Option<Pool>), was: &Claim, is: &Claim) -> Vec<Move> {
    match pools {
        (Some(from), Some(to)) if from != to => {
            let mut moved = moves(&was.0, from, to);
            moved.extend(moves(&difference(was, is), Pool::Free, to));
            moved
        }
        (_, Some(pool)) | (Some(pool), None) => moves(&difference(was, is), Pool::Free, pool),
        (None, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn claim(from: i8, to: i8, rooms: i32) -> Claim {
        let stay = Stay::new(date(2030, 3, from), date(2030, 3, to)).expect("a stay");
        let mut claim = Claim::default();
        claim.add(&[(RoomTypeId(1), 1)], stay, rooms);
        claim
    }

    fn difference_in_words(before: &Claim, after: &Claim) -> Vec<String> {
        moves(&difference(before, after), Pool::Free, Pool::Sold)
            .iter()
            .map(|m| {
                format!(
                    "{} {} {}>{}",
                    m.quantity,
                    m.nights,
                    m.from.as_str(),
                    m.to.as_str()
                )
            })
            .collect()
    }

    #[test]
    fn extending_a_stay_claims_only_the_new_night() {
        let words = difference_in_words(&claim(1, 3, 1), &claim(1, 4, 1));
        assert_eq!(words, ["1 2030-03-03..2030-03-04 free>sold"]);
    }

    #[test]
    fn r01_moving_a_stay_a_day_earlier_frees_one_night_and_takes_one() {
        let words = difference_in_words(&claim(24, 28, 1), &claim(23, 27, 1));
        assert_eq!(
            words,
            [
                "1 2030-03-27..2030-03-28 sold>free",
                "1 2030-03-23..2030-03-24 free>sold"
            ]
        );
    }

    #[test]
    fn a_shift_inside_a_full_house_asks_for_nothing() {
        let mut before = claim(1, 3, 1);
        before.add(
            &[(RoomTypeId(1), 1)],
            Stay::night(date(2030, 3, 3)).expect("a night"),
            1,
        );
        assert_eq!(difference(&before, &claim(1, 4, 1)), BTreeMap::new());
    }
}
