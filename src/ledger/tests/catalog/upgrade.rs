//! A guest who was put into a room of another type keeps it until the stay itself changes type.

use keyrack_ledger::command::{Asked, Command, Modification, Progress, WishedRoom};
use keyrack_ledger::reservations::{self, AutoRoom};
use keyrack_model::id::{ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::stay::Stay;

use crate::desk::{assigned, load, step};
use crate::hotel::{Hotel, room_type, stay};
use crate::rooms::{list, room, sell};

/// Doubles `101`, `102`, a suite `201`, a junior suite `301`.
struct House {
    hotel: Hotel,
    dbl: RoomTypeId,
    suite: RoomTypeId,
    junior: RoomTypeId,
}

impl House {
    async fn open() -> Self {
        let hotel = Hotel::open().await;
        let mut types = Vec::new();
        for code in ["dbl", "suite", "junior"] {
            types.push(hotel.room_type(code, room_type(code, 0)).await);
        }
        for (code, of) in [
            ("101", "dbl"),
            ("102", "dbl"),
            ("201", "suite"),
            ("301", "junior"),
        ] {
            list(&hotel, code, room(of, true)).await.expect("made");
        }
        Self {
            hotel,
            dbl: types[0],
            suite: types[1],
            junior: types[2],
        }
    }

    /// A stay in a double that sleeps in the suite.
    async fn upgraded(&self, nights: Stay) -> ReservationId {
        let id = sell(&self.hotel, self.dbl, nights, 1).await;
        self.assign(id, 1, "201").await;
        id
    }

    async fn assign(&self, id: ReservationId, room_stay: i32, code: &str) {
        let (ledger, by) = (&self.hotel.ledger, self.hotel.by.clone());
        let (stay, room) = (RoomStayId(room_stay), AutoRoom::Room(code.into()));
        let put = reservations::assign(ledger, self.hotel.property, by, id, stay, room, None);
        put.await.expect("no failure").expect("the room");
    }

    async fn modify(&self, id: ReservationId, note: Option<&str>, rooms: Option<Vec<WishedRoom>>) {
        let change = Modification {
            reservation: id,
            version: load(&self.hotel, id).await.reservation.version,
            rooms,
            guest: None,
            note: note.map(str::to_owned),
            told_channel: false,
            force: None,
        };
        let command = Command::Modify(Box::new(change));
        let asked = Asked::new(self.hotel.property, self.hotel.by.clone().into(), command);
        let answer = self.hotel.ledger.ask(asked).await.expect("no failure");
        answer.expect("no refusal");
    }
}

fn wished(room_stay: Option<i32>, room_type: RoomTypeId, stay: Stay) -> WishedRoom {
    WishedRoom {
        room_stay: room_stay.map(RoomStayId),
        room_type,
        rate_plan: None,
        stay,
        quantity: 1,
        price: None,
        adults: None,
        children_ages: Vec::new(),
        guest_name: None,
        allotment: None,
    }
}

#[tokio::test]
async fn an_upgraded_guest_keeps_the_room_through_a_note_other_dates_and_the_check_in() {
    let house = House::open().await;
    let (hotel, dbl) = (&house.hotel, house.dbl);
    let id = house.upgraded(stay(0, 4)).await;
    house.modify(id, Some("arrives late"), None).await;
    assert_eq!(assigned(hotel, id).await, ["201"], "a note");
    let longer = wished(Some(1), dbl, stay(0, 6));
    house.modify(id, None, Some(vec![longer])).await;
    assert_eq!(assigned(hotel, id).await, ["201"], "other dates");
    let taken: bool = sqlx::query_scalar("select upper(stay) = $1 from room_assignment")
        .bind(jiff_sqlx::Date::from(stay(0, 6).departure()))
        .fetch_one(&hotel.pool)
        .await
        .expect("the assignment");
    assert!(taken, "the room is taken for the nights that were added");
    step(hotel, id, Progress::CheckIn).await;
    assert_eq!(assigned(hotel, id).await, ["201"], "the check-in");
    hotel.proven().await;
}

#[tokio::test]
async fn an_upgraded_guest_keeps_the_room_when_another_room_is_given_back() {
    let house = House::open().await;
    let (hotel, dbl) = (&house.hotel, house.dbl);
    let id = house.upgraded(stay(2, 4)).await;
    let nights = stay(2, 4);
    let both = vec![wished(Some(1), dbl, nights), wished(None, dbl, nights)];
    house.modify(id, None, Some(both)).await;
    house.assign(id, 2, "301").await;
    assert_eq!(assigned(hotel, id).await, ["201", "301"]);
    let first = vec![wished(Some(1), dbl, nights)];
    house.modify(id, None, Some(first)).await;
    assert_eq!(assigned(hotel, id).await, ["201"]);
    hotel.proven().await;
}

#[tokio::test]
async fn a_stay_of_fewer_rooms_leaves_the_one_that_it_got_last() {
    let house = House::open().await;
    let (hotel, nights) = (&house.hotel, stay(2, 4));
    let id = sell(hotel, house.dbl, nights, 2).await;
    house.assign(id, 1, "102").await;
    house.assign(id, 1, "101").await;
    let one = vec![wished(Some(1), house.dbl, nights)];
    house.modify(id, None, Some(one)).await;
    assert_eq!(assigned(hotel, id).await, ["102"]);
    hotel.proven().await;
}

#[tokio::test]
async fn a_stay_that_comes_to_another_type_leaves_a_room_that_is_not_of_it() {
    let house = House::open().await;
    let (hotel, nights) = (&house.hotel, stay(2, 4));
    let id = house.upgraded(nights).await;
    let suite = vec![wished(Some(1), house.suite, nights)];
    house.modify(id, None, Some(suite)).await;
    assert_eq!(assigned(hotel, id).await, ["201"], "the room's own type");
    let junior = vec![wished(Some(1), house.junior, nights)];
    house.modify(id, None, Some(junior)).await;
    assert_eq!(assigned(hotel, id).await, [""; 0], "another type's room");
    hotel.proven().await;
}
