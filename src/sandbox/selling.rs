//! Selling, changing and cancelling, on the number that a channel holds itself.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;

use crate::hotel::Hotel;
use crate::journal::Cause;
use crate::night::nights;
use crate::people;
use crate::reservation::{
    Change, Guest, Reservation, RoomStay, Sold, Version, VersionState, Wish, WishedRoom,
};
use crate::state::State;

/// How many rooms of a type a stay takes on a night, or gives back if negative.
type Needs = BTreeMap<(String, Date), i64>;

impl State {
    /// Sells what the guest wants; `None` if it is not shown.
    pub(crate) fn sell(&mut self, wish: &Wish, now: Timestamp) -> Option<Sold> {
        if wish.rooms.is_empty() || !wish.rooms.iter().all(is_sound) {
            return None;
        }
        let regardless = wish.regardless || wish.quote;
        let mut rooms = Vec::new();
        let mut currency = self.terms.currency.clone();
        for wished in &wish.rooms {
            let (stays, told) = self.rooms_for(&wish.hotel, wished, regardless)?;
            rooms.extend(stays);
            currency = told;
        }
        if !wish.quote {
            let needs = difference(&[], &rooms);
            self.take(&wish.hotel, &needs, regardless, now)?;
        }
        let guest = wish
            .guest
            .clone()
            .unwrap_or_else(|| people::anybody(&mut self.rng, self.terms.card_percent));
        let state = if wish.quote {
            VersionState::Requested
        } else {
            VersionState::Booked
        };
        let reservation = Reservation {
            reference: self.next_reference(),
            hotel: wish.hotel.clone(),
            booked_at: now,
            versions: vec![Version::new(1, state, now, rooms, guest, currency)],
        };
        Some(self.keep(reservation))
    }

    /// Changes a reservation; `None` if it is not to be had, unknown, or cancelled.
    pub(crate) fn modify(
        &mut self,
        reference: &str,
        change: &Change,
        now: Timestamp,
    ) -> Option<Sold> {
        let reservation = self.reservations.get(reference)?.clone();
        let latest = reservation.latest();
        if reservation.taken().is_empty() {
            return None;
        }
        let mut guest = latest.guest.clone();
        let rooms = self.changed_rooms(&reservation, change, &mut guest)?;
        let needs = difference(&latest.rooms, &rooms);
        self.take(&reservation.hotel, &needs, false, now)?;
        let (state, currency) = (VersionState::Modified, latest.currency.clone());
        self.add_version(reference, now, |number, at| {
            Version::new(number, state, at, rooms, guest, currency)
        })
    }

    /// Cancels a reservation; `None` if it is unknown or cancelled already.
    pub(crate) fn cancel(&mut self, reference: &str, now: Timestamp) -> Option<Sold> {
        let reservation = self.reservations.get(reference)?.clone();
        let latest = reservation.latest().clone();
        if latest.state == VersionState::Cancelled {
            return None;
        }
        let needs = difference(reservation.taken(), &[]);
        self.take(&reservation.hotel, &needs, false, now)?;
        self.add_version(reference, now, |number, at| {
            let state = VersionState::Cancelled;
            Version::new(
                number,
                state,
                at,
                latest.rooms,
                latest.guest,
                latest.currency,
            )
        })
    }

    fn add_version(
        &mut self,
        reference: &str,
        now: Timestamp,
        make: impl FnOnce(u32, Timestamp) -> Version,
    ) -> Option<Sold> {
        let separate = self.delivers_each_version;
        let reservation = self.reservations.get_mut(reference)?;
        let last = reservation.latest_mut();
        // Two changes in one millisecond still have an order.
        let at = now.max(last.at + jiff::SignedDuration::from_millis(1));
        if !separate && last.is_waiting() {
            last.superseded_at = Some(at);
        }
        let number = last.number + 1;
        reservation.versions.push(make(number, at));
        let sold = reservation.sold();
        self.log.sold(&sold);
        Some(sold)
    }

    fn keep(&mut self, reservation: Reservation) -> Sold {
        let sold = reservation.sold();
        self.log.sold(&sold);
        self.reservations
            .insert(reservation.reference.clone(), reservation);
        sold
    }

    fn rooms_for(
        &mut self,
        hotel: &str,
        wished: &WishedRoom,
        regardless: bool,
    ) -> Option<(Vec<RoomStay>, String)> {
        let at = self.hotels.get(hotel)?;
        let offer = match at.offer(wished, &self.terms) {
            Some(offer) => offer,
            None if regardless => at.offer_regardless(wished, &self.terms),
            None => return None,
        };
        let stays = (0..wished.quantity)
            .map(|_| RoomStay {
                instance: self.next_instance(),
                room: wished.room.clone(),
                rate: offer.rate.clone(),
                arrival: wished.arrival,
                departure: wished.departure,
                prices_minor: offer.prices_minor.clone(),
                adults: wished.adults,
                child_ages: wished.child_ages.clone(),
            })
            .collect();
        Some((stays, offer.currency))
    }

    fn changed_rooms(
        &mut self,
        reservation: &Reservation,
        change: &Change,
        guest: &mut Guest,
    ) -> Option<Vec<RoomStay>> {
        let rooms = reservation.latest().rooms.clone();
        match change {
            Change::Guest(other) => {
                *guest = other.clone();
                Some(rooms)
            }
            Change::AddRoom(wished) => {
                let (added, _) = is_sound(wished)
                    .then(|| self.rooms_for(&reservation.hotel, wished, false))??;
                Some([rooms, added].concat())
            }
            Change::DropRoom { instance } => {
                let left: Vec<RoomStay> = rooms
                    .iter()
                    .filter(|r| r.instance != *instance)
                    .cloned()
                    .collect();
                (!left.is_empty() && left.len() < rooms.len()).then_some(left)
            }
            Change::Dates { arrival, departure } => {
                let hotel = self.hotels.get(&reservation.hotel)?;
                let moved =
                    |stay: &RoomStay| self.moved(hotel, stay, &stay.room, *arrival, *departure);
                rooms.iter().map(moved).collect()
            }
            Change::Room { room } => {
                let hotel = self.hotels.get(&reservation.hotel)?;
                let moved =
                    |stay: &RoomStay| self.moved(hotel, stay, room, stay.arrival, stay.departure);
                rooms.iter().map(moved).collect()
            }
        }
    }

    /// The same room of the reservation on other nights or of another type. Nights that stay as
    /// they were keep their price and ask nobody; new ones must be open.
    fn moved(
        &self,
        hotel: &Hotel,
        stay: &RoomStay,
        room: &str,
        arrival: Date,
        departure: Date,
    ) -> Option<RoomStay> {
        if arrival >= departure {
            return None;
        }
        let old: BTreeMap<Date, i64> = stay.nights().zip(stay.prices_minor.clone()).collect();
        let kept = |night: Date| old.get(&night).filter(|_| room == stay.room).copied();
        let prices_minor = nights(arrival, departure)
            .map(|night| {
                kept(night).or_else(|| {
                    let shown = hotel.shown(room, night, &self.terms)?;
                    if shown.closed {
                        None
                    } else {
                        shown.price_minor
                    }
                })
            })
            .collect::<Option<Vec<i64>>>()?;
        Some(RoomStay {
            room: room.to_owned(),
            arrival,
            departure,
            prices_minor,
            ..stay.clone()
        })
    }

    /// Takes rooms off the channel's own number, or puts them back where it does so by itself;
    /// all of it or, if something is not shown, nothing.
    fn take(&mut self, hotel: &str, needs: &Needs, regardless: bool, now: Timestamp) -> Option<()> {
        let at = self.hotels.get(hotel)?;
        let has_all = needs.iter().all(|((room, night), rooms)| {
            let shown = at.shown(room, *night, &self.terms).map_or(0, |s| s.rooms);
            *rooms <= i64::from(shown)
        });
        if !has_all && !regardless {
            return None;
        }
        for ((room, night), rooms) in needs {
            let cause = self.move_number(hotel, room, *night, *rooms);
            if let Some(cause) = cause {
                self.record_night(hotel, room, *night, cause, now);
            }
        }
        Some(())
    }

    /// Lowers the number of a night by `rooms`, or raises it if they are negative and the
    /// channel does that by itself. A night never told has no number to move.
    fn move_number(&mut self, hotel: &str, room: &str, night: Date, rooms: i64) -> Option<Cause> {
        let hotel = self.hotels.get_mut(hotel)?;
        let physical = hotel.rooms.get(room).map_or(0, |known| known.physical);
        let here = hotel.nights.get_mut(&(room.to_owned(), night))?;
        let number = here.number?;
        let moved = u32::try_from(rooms.unsigned_abs()).unwrap_or(u32::MAX);
        if rooms > 0 {
            here.number = Some(number.saturating_sub(moved));
            Some(Cause::Sold)
        } else if self.terms.reopens_by_itself {
            here.number = Some(number.saturating_add(moved).min(physical.max(number)));
            Some(Cause::Reopened)
        } else {
            None
        }
    }
}

/// What `after` takes beyond `before`, night by night; nights that both take alike are left out.
fn difference(before: &[RoomStay], after: &[RoomStay]) -> Needs {
    let mut needs = Needs::new();
    for (stays, sign) in [(before, -1), (after, 1)] {
        for stay in stays {
            for night in stay.nights() {
                *needs.entry((stay.room.clone(), night)).or_default() += sign;
            }
        }
    }
    needs.retain(|_, rooms| *rooms != 0);
    needs
}

fn is_sound(wished: &WishedRoom) -> bool {
    wished.arrival < wished.departure && (1..=QUANTITY_MAX).contains(&wished.quantity)
}

/// More rooms than any wish of a test.
const QUANTITY_MAX: u32 = 1_000;
