//! Who of a rooming list is in already, so that a list that is sent again, mended or not, books
//! nobody twice.

use hex::encode;
use keyrack_ledger::command::Idempotency;
use keyrack_ledger::reservations::Folio;
use keyrack_model::id::{GroupId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::reservation::Status;
use keyrack_model::stay::Stay;
use sha2::{Digest, Sha256};

/// A guest as a list names him. Personal data.
#[derive(Clone, PartialEq, Eq)]
pub struct Named {
    /// Small letters.
    name: String,
    stay: Stay,
    room_type: RoomTypeId,
}

/// The guests who ever drew from the rooms of a group.
pub struct Known {
    group: (PropertyId, GroupId),
    guests: Vec<Guest>,
}

struct Guest {
    named: Named,
    reservation: ReservationId,
    number: String,
    /// He still comes.
    is_present: bool,
    /// A line of the list speaks of him.
    is_spoken_of: bool,
}

/// What is known of a line's guest.
pub enum Found {
    /// This very line made him, when the list was taken before.
    Own(ReservationId, String),
    /// He is in.
    Already(ReservationId, String),
    /// He is in for other nights.
    Otherwise(String),
    /// Nobody booked him, or it was cancelled.
    New,
}

impl Named {
    /// A guest of this name, in a room of this type.
    pub fn new(name: &str, stay: Stay, room_type: RoomTypeId) -> Self {
        Self {
            name: name.trim().to_lowercase(),
            stay,
            room_type,
        }
    }
}

impl Known {
    /// Of the reservations of a group.
    pub fn of(group: (PropertyId, GroupId), folios: &[Folio]) -> Self {
        let guests = folios.iter().flat_map(|folio| {
            let reservation = &folio.reservation;
            let is_present = !matches!(reservation.status, Status::Cancelled | Status::Expired);
            reservation.present_rooms().filter_map(move |room| {
                let own = folio.room_guests.iter().find(|(id, _)| *id == room.id);
                let name = own.map_or(folio.guest.name.as_str(), |(_, name)| name.0.as_str());
                Some(Guest {
                    named: Named::new(name, room.stay()?, room.room_type?),
                    reservation: reservation.id,
                    number: reservation.number.to_string(),
                    is_present,
                    is_spoken_of: false,
                })
            })
        });
        Self {
            group,
            guests: guests.collect(),
        }
    }

    /// What is known of each guest of a list: of two of a name each line finds another. What the
    /// line itself was made into goes first, then whoever is in for the very nights before one who
    /// is in for others.
    pub fn find(
        &mut self,
        lines: &[(u64, &Named)],
        is_own: impl Fn(ReservationId, u64) -> bool,
    ) -> Vec<Found> {
        let mut found: Vec<Option<Found>> = lines
            .iter()
            .map(|(line, _)| self.own(|id| is_own(id, *line)))
            .collect();
        let passes: [fn(&Named, &Named) -> bool; 3] = [
            |one, other| one == other,
            |one, other| one.stay == other.stay,
            |one, other| meet(one.stay, other.stay),
        ];
        for fits in passes {
            for ((_, line), found) in lines.iter().zip(&mut found) {
                if found.is_some() {
                    continue;
                }
                let guest = self.guests.iter_mut().find(|guest| {
                    let is_free = guest.is_present && !guest.is_spoken_of;
                    is_free && guest.named.name == line.name && fits(&guest.named, line)
                });
                *found = guest.map(|guest| guest.spoken_of(line));
            }
        }
        let found = found.into_iter();
        found.map(|found| found.unwrap_or(Found::New)).collect()
    }

    /// Whoever a line was made into, whatever has become of him.
    fn own(&mut self, is_own: impl Fn(ReservationId) -> bool) -> Option<Found> {
        let mut guests = self.guests.iter_mut();
        let guest = guests.find(|guest| is_own(guest.reservation))?;
        guest.is_spoken_of = true;
        Some(Found::Own(guest.reservation, guest.number.clone()))
    }

    /// How a new guest is known again by whoever takes the same list at the same moment: the
    /// `place`th of those new ones whom the list names alike, beside those who ever came.
    pub fn repeat(&self, named: &Named, place: usize) -> Idempotency {
        let (property, group) = self.group;
        let ever = self.guests.iter().filter(|guest| guest.named == *named);
        let place = ever.count() + place;
        let text = format!(
            "{}\n{}\n{}\n{place}",
            named.name, named.stay, named.room_type
        );
        let key = encode(Sha256::digest(text));
        Idempotency {
            scope: format!("rooming-list {property} {group}"),
            fingerprint: key.clone(),
            key,
        }
    }
}

impl Guest {
    fn spoken_of(&mut self, line: &Named) -> Found {
        self.is_spoken_of = true;
        if self.named.stay == line.stay {
            return Found::Already(self.reservation, self.number.clone());
        }
        let number = &self.number;
        Found::Otherwise(format!(
            "this guest has reservation {number} for {}: change that one, or take the line out",
            self.named.stay
        ))
    }
}

fn meet(one: Stay, other: Stay) -> bool {
    one.arrival() < other.departure() && other.arrival() < one.departure()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use uuid::Uuid;

    use super::*;

    const SGL: RoomTypeId = RoomTypeId(1);
    const DBL: RoomTypeId = RoomTypeId(2);

    fn named(name: &str, from: i8, to: i8, room_type: RoomTypeId) -> Named {
        let stay = Stay::new(date(2030, 6, from), date(2030, 6, to)).expect("a stay");
        Named::new(name, stay, room_type)
    }

    fn known(guests: &[(Named, i64, bool)]) -> Known {
        let each = guests.iter().map(|(named, number, is_present)| Guest {
            named: named.clone(),
            reservation: id(*number),
            number: number.to_string(),
            is_present: *is_present,
            is_spoken_of: false,
        });
        Known {
            group: (PropertyId(1), GroupId(1)),
            guests: each.collect(),
        }
    }

    fn id(number: i64) -> ReservationId {
        ReservationId(Uuid::from_u128(number.unsigned_abs().into()))
    }

    fn words(found: &Found) -> String {
        match found {
            Found::Own(_, number) => format!("own {number}"),
            Found::Already(_, number) => number.clone(),
            Found::Otherwise(why) => why.clone(),
            Found::New => "new".to_owned(),
        }
    }

    #[test]
    fn a_line_finds_its_guest_once_and_he_may_have_moved_to_another_room() {
        let ada = || named("Ada", 1, 3, SGL);
        for (guests, lines, meant) in [
            (vec![], vec![ada()], vec!["new"]),
            (
                vec![(ada(), 1, true)],
                vec![named(" ADA", 1, 3, SGL)],
                vec!["1"],
            ),
            (vec![(ada(), 1, true)], vec![ada(), ada()], vec!["1", "new"]),
            (vec![(ada(), 1, false)], vec![ada()], vec!["new"]),
            (
                vec![(ada(), 1, true)],
                vec![named("Bob", 1, 3, SGL)],
                vec!["new"],
            ),
            (
                vec![(ada(), 1, true)],
                vec![named("Ada", 1, 3, DBL)],
                vec!["1"],
            ),
            (
                vec![(named("Ada", 1, 3, DBL), 1, true), (ada(), 2, true)],
                vec![ada(), named("Ada", 1, 3, DBL)],
                vec!["2", "1"],
            ),
            (
                vec![(ada(), 1, true)],
                vec![named("Ada", 2, 4, SGL)],
                vec!["reservation 1 for 2030-06-01..2030-06-03"],
            ),
            (
                vec![(ada(), 1, true)],
                vec![named("Ada", 3, 4, SGL)],
                vec!["new"],
            ),
        ] {
            let lines: Vec<(u64, &Named)> = (2..).zip(&lines).collect();
            let found = known(&guests).find(&lines, |_, _| false);
            assert_eq!(found.len(), meant.len());
            for (found, meant) in found.iter().zip(meant) {
                assert!(words(found).contains(meant), "{meant}: {}", words(found));
            }
        }
    }

    #[test]
    fn a_line_that_made_a_guest_finds_him_also_when_he_moved_or_does_not_come() {
        let ada = || named("Ada", 1, 3, SGL);
        let moved = named("Ada", 5, 7, SGL);
        let guests = [(ada(), 1, true), (moved, 2, true), (ada(), 3, false)];
        let lines = [ada(), ada(), ada(), ada()];
        let lines: Vec<(u64, &Named)> = (2..).zip(&lines).collect();
        let own = |guest, line| [(id(2), 2), (id(3), 4)].contains(&(guest, line));
        let found = known(&guests).find(&lines, own);
        let said: Vec<String> = found.iter().map(words).collect();
        assert_eq!(said, ["own 2", "1", "own 3", "new"]);
    }

    #[test]
    fn each_new_guest_of_a_name_is_known_again_apart_and_anew_after_a_cancellation() {
        let ada = named("Ada", 1, 3, SGL);
        let key = |known: &Known, place| known.repeat(&ada, place).key;
        let (none, one) = (known(&[]), known(&[(ada.clone(), 1, false)]));
        assert_eq!(key(&none, 0), key(&none, 0));
        assert_ne!(key(&none, 0), key(&none, 1));
        assert_ne!(key(&none, 0), key(&one, 0));
        assert_ne!(key(&none, 0), none.repeat(&named("Ada", 1, 3, DBL), 0).key);
    }
}
