//! At most so many reservations of one guest for one arrival date.
//!
//! A guest is known by an e-mail address or a telephone number, spelled alike; names are shared by
//! strangers and limit nobody. Each reservation takes a numbered place for each of these and each
//! of its arrival dates: the lowest that nobody has. The database has each place once, so that two
//! daemons cannot both take the last one. Facts and forced wishes take places beyond the limit; a
//! place falls free by itself when its reservation has ended or arrives on another day. What comes
//! back from the dead by a late confirm or an undo was let in once, and is not asked again.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::reservation::{Guest, Status};
use keyrack_model::stay::StayDate;

use super::draft::{Draft, ReservationKey};
use super::refusal::{Force, Refusal};
use super::state::Reservation;
use crate::command::Forced;

/// By what a guest is known again. Personal data: never shown, stored as a hash.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GuestKey(String);

impl GuestKey {
    /// Its text, for the hash that is stored.
    pub fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for GuestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GuestKey(..)")
    }
}

/// By what a guest is known: the e-mail address in lower case, the telephone number as digits.
pub fn guest_keys(guest: &Guest) -> BTreeSet<GuestKey> {
    let email = guest
        .email
        .as_deref()
        .map(str::trim)
        .filter(|email| email.contains('@'));
    let email = email.map(|email| GuestKey(format!("mailto:{}", email.to_lowercase())));
    let phone = guest.phone.as_deref().and_then(digits);
    email.into_iter().chain(phone).collect()
}

/// `+39 0471 123` and `0039-0471-123` are one number; one with few digits is none.
fn digits(phone: &str) -> Option<GuestKey> {
    let digits: String = phone.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.strip_prefix("00").unwrap_or(&digits);
    (digits.len() >= DIGITS_MIN).then(|| GuestKey(format!("tel:{digits}")))
}

/// A guest on an arrival date.
pub type ArrivalKey = (PropertyId, GuestKey, StayDate);

/// A place as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// From 0 on.
    pub number: i32,
    /// Whose it is, or was.
    pub reservation: ReservationId,
    /// The reservation stands, and arrives on that day.
    pub is_taken: bool,
}

/// The places of the guests of a batch.
pub type Places = BTreeMap<ArrivalKey, Vec<Place>>;

/// What a batch saw of guests.
#[derive(Clone, Debug, Default)]
pub struct Limited {
    /// Their places on arrival dates.
    pub places: Places,
    /// The guests of reservations that are changed, as they are stored.
    pub guests: BTreeMap<ReservationKey, Guest>,
}

/// The places with the changes so far.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    places: Places,
    pub(super) taken: Vec<Taken>,
}

impl Limits {
    /// Over what was seen.
    pub(super) fn over(seen: &mut Limited) -> Self {
        Self {
            places: std::mem::take(&mut seen.places),
            taken: Vec::new(),
        }
    }
}

/// The guest of a reservation as it is stored, or as this batch changed it.
pub fn guest_of(draft: &Draft, key: ReservationKey) -> Option<Guest> {
    let changed = draft.guests.get(&key);
    let changed = changed.and_then(|change| change.guest.clone());
    changed.or_else(|| draft.seen.limited.guests.get(&key).cloned())
}

/// A place that a reservation takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Of which guest and day.
    pub key: ArrivalKey,
    /// Which.
    pub number: i32,
    /// Whose it was before, and has fallen free.
    pub before: Option<ReservationId>,
    /// Whose it is.
    pub reservation: ReservationId,
}

/// The dates on which rooms of a reservation arrive.
pub fn arrivals(reservation: &Reservation) -> BTreeSet<StayDate> {
    reservation
        .present_rooms()
        .map(|room| room.arrival)
        .collect()
}

/// Refuses a reservation by which a guest would have more than the property's limit, unless
/// restrictions are forced; else takes its places. `after` is the reservation as it will be.
pub fn admit(
    draft: &mut Draft,
    after: &Reservation,
    guest: Option<&Guest>,
    force: Option<&Forced>,
) -> Result<(), Refusal> {
    let Some(most) = draft.rules(after.property).policies.guest_arrivals_max else {
        return Ok(());
    };
    let may = force.is_some_and(|force| force.allow.contains(&Force::Restriction));
    let full = full(draft, after, guest, most);
    if !full.is_empty() && !may {
        let nights = after
            .present_rooms()
            .filter(|room| full.contains(&room.arrival));
        return Err(Refusal::Restriction {
            why: format!(
                "this guest has {most} reservations for that arrival date already, and more are \
                 not taken"
            ),
            nights: nights
                .filter_map(|room| Some((room.room_type?, room.arrival)))
                .collect(),
        });
    }
    take(draft, after, guest);
    Ok(())
}

/// Counts a fact, which is never refused; says whether it is one too many.
pub fn count(draft: &mut Draft, after: &Reservation, guest: &Guest) -> bool {
    let Some(most) = draft.rules(after.property).policies.guest_arrivals_max else {
        return false;
    };
    let is_over = !full(draft, after, Some(guest), most).is_empty();
    take(draft, after, Some(guest));
    is_over
}

/// Arrival dates on which a guest has as many other reservations as may be.
fn full(
    draft: &Draft,
    after: &Reservation,
    guest: Option<&Guest>,
    most: i32,
) -> BTreeSet<StayDate> {
    let most = usize::try_from(most).unwrap_or(0);
    let keys = guest.map(guest_keys).unwrap_or_default();
    let dates = arrivals(after).into_iter().filter(|arrival| {
        keys.iter().any(|key| {
            let places = draft
                .limits
                .places
                .get(&(after.property, key.clone(), *arrival));
            let mut places = places.into_iter().flatten();
            // Who has a place there already has been let in.
            let is_in = places.clone().any(|place| place.reservation == after.id);
            let taken = |place: &&Place| is_taken(draft, after.property, place, *arrival);
            !is_in && places.by_ref().filter(taken).count() >= most
        })
    });
    dates.collect()
}

/// A place is free again where its reservation has ended in this very batch.
fn is_taken(draft: &Draft, property: PropertyId, place: &Place, arrival: StayDate) -> bool {
    match draft.reservation((property, place.reservation)) {
        Some(known) => {
            !matches!(known.status, Status::Cancelled | Status::Expired)
                && arrivals(known).contains(&arrival)
        }
        None => place.is_taken,
    }
}

fn take(draft: &mut Draft, after: &Reservation, guest: Option<&Guest>) {
    for key in guest.map(guest_keys).unwrap_or_default() {
        for arrival in arrivals(after) {
            let key = (after.property, key.clone(), arrival);
            let places = draft.limits.places.get(&key).map_or(&[][..], Vec::as_slice);
            if places.iter().any(|place| place.reservation == after.id) {
                continue;
            }
            let free = |place: &&Place| !is_taken(draft, after.property, place, arrival);
            let before = places.iter().find(free).copied();
            let unused = |number: &i32| !places.iter().any(|place| place.number == *number);
            let number = before.map(|place| place.number);
            let Some(number) = number.or_else(|| (0..).find(unused)) else {
                continue;
            };
            let places = draft.limits.places.entry(key.clone()).or_default();
            places.retain(|place| place.number != number);
            places.push(Place {
                number,
                reservation: after.id,
                is_taken: true,
            });
            places.sort_unstable_by_key(|place| place.number);
            draft.limits.taken.push(Taken {
                key,
                number,
                before: before.map(|place| place.reservation),
                reservation: after.id,
            });
        }
    }
}

/// Fewer digits are an extension in the house or a slip.
const DIGITS_MIN: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn known(email: Option<&str>, phone: Option<&str>) -> Vec<String> {
        let guest = Guest {
            name: "Anna Muster".to_owned(),
            email: email.map(str::to_owned),
            phone: phone.map(str::to_owned),
            language: None,
        };
        guest_keys(&guest).into_iter().map(|key| key.0).collect()
    }

    #[test]
    fn a_guest_is_known_by_address_and_number_however_they_are_spelled() {
        for (email, phone, keys) in [
            (
                Some(" Anna@Example.COM "),
                None,
                vec!["mailto:anna@example.com"],
            ),
            (Some("anna"), None, vec![]),
            (None, Some("+39 (0471) 12-34"), vec!["tel:3904711234"]),
            (None, Some("0039 0471 1234"), vec!["tel:3904711234"]),
            (None, Some("ext. 12345"), vec![]),
            (None, None, vec![]),
            (
                Some("a@b.c"),
                Some("123456"),
                vec!["mailto:a@b.c", "tel:123456"],
            ),
        ] {
            assert_eq!(known(email, phone), keys, "{email:?} {phone:?}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = GuestKey("mailto:a@b.c".to_owned());
        assert_eq!(format!("{key:?}"), "GuestKey(..)");
    }
}
