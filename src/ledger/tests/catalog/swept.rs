//! The sweeper's set lets a hold go exactly as the command does, whatever the hold is made of.

use std::collections::BTreeMap;
use std::sync::Arc;

use keyrack_ledger::command::{Asked, Command, HoldEnd, Wish, WishedRoom};
use keyrack_ledger::{holds, reservations};
use keyrack_model::id::{ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::stay::Stay;

use crate::hotel::{Hotel, room_type, stay};
use crate::rooms::{list, room, wish};

/// Type, night; held, sold, oversold.
type Night = (i64, String, i32, i32, i32);
/// Night, type; rooms moved; from one pool to the other.
type Line = (String, i64, i64, String, String);

struct House {
    hotel: Hotel,
    double: RoomTypeId,
    single: RoomTypeId,
    flat: RoomTypeId,
}

impl House {
    async fn open() -> Self {
        let hotel = Hotel::open().await;
        let double = hotel.room_type("dbl", room_type("Double", 12)).await;
        let single = hotel.room_type("sgl", room_type("Single", 6)).await;
        let mut flat = room_type("Flat", 0);
        flat.components = vec![("dbl".into(), 2), ("sgl".into(), 1)];
        let flat = hotel.room_type("flat", flat).await;
        Self {
            hotel,
            double,
            single,
            flat,
        }
    }

    /// A hold of doubles in two stays, a flat and singles.
    async fn hold(&self) -> ReservationId {
        let (id, asked) = wish(&self.hotel, self.double, stay(2, 5), 1);
        let Command::Request(mut wish) = asked.command else {
            panic!("a wish");
        };
        wish.hold = Some(HoldEnd::Seconds(600));
        wish.rooms.extend([
            of(&wish, self.flat, stay(3, 4), 1),
            of(&wish, self.single, stay(2, 3), 2),
            of(&wish, self.double, stay(2, 4), 1),
        ]);
        self.ask(Command::Request(wish)).await;
        id
    }

    async fn ask(&self, command: Command) {
        let by = Arc::new(self.hotel.by.clone());
        let asked = Asked::new(self.hotel.property, by, command);
        let answer = self.hotel.ledger.ask(asked).await.expect("no failure");
        answer.expect("no refusal");
    }

    async fn die(&self, holds: &[ReservationId]) {
        sqlx::query(
            "update reservation set hold_until = ledger_now(), hold_dead_at = ledger_now()
              where reservation_id = any($1)",
        )
        .bind(holds.iter().map(|id| id.0).collect::<Vec<_>>())
        .execute(&self.hotel.pool)
        .await
        .expect("dead");
    }

    async fn nights(&self) -> Vec<Night> {
        sqlx::query_as(
            "select room_type_id, stay_date::text, held, sold, oversold from night
             where held > 0 or sold > 0 order by 1, 2",
        )
        .fetch_all(&self.hotel.pool)
        .await
        .expect("nights")
    }

    /// What the entries of its end moved, whatever the lines.
    async fn moved(&self, id: ReservationId) -> Vec<Line> {
        sqlx::query_as(
            "select (night_from + d)::text, room_type_id, sum(quantity), from_pool, to_pool
               from ledger_entry
              cross join lateral generate_series(0, night_until - night_from - 1) d
              where reservation_id = $1 and to_pool = 'free'
              group by 1, 2, 4, 5 order by 1, 2",
        )
        .bind(id.0)
        .fetch_all(&self.hotel.pool)
        .await
        .expect("lines")
    }

    async fn count(&self, sql: &'static str, id: ReservationId) -> i64 {
        let count = sqlx::query_scalar(sql).bind(id.0);
        count.fetch_one(&self.hotel.pool).await.expect("a count")
    }
}

fn of(wish: &Wish, room_type: RoomTypeId, stay: Stay, quantity: i32) -> WishedRoom {
    WishedRoom {
        room_type,
        stay,
        quantity,
        ..wish.rooms[0].clone()
    }
}

#[tokio::test]
async fn a_hold_of_many_kinds_is_let_go_by_the_set_as_by_the_command() {
    let house = House::open().await;
    for code in 101..=112 {
        list(&house.hotel, &code.to_string(), room("dbl", true))
            .await
            .expect("made");
    }
    let (one, other, alive) = (house.hold().await, house.hold().await, house.hold().await);
    for (id, code) in [(one, "101"), (other, "102")] {
        let (ledger, by) = (&house.hotel.ledger, house.hotel.by.clone());
        let (first, room) = (RoomStayId(1), reservations::AutoRoom::Room(code.into()));
        let property = house.hotel.property;
        let put = reservations::assign(ledger, property, by, id, first, room, None).await;
        put.expect("no failure").expect("the room");
    }
    let all = house.nights().await;
    house.die(&[one, other]).await;
    house.ask(Command::Expire { reservation: one }).await;
    let without_one = house.nights().await;
    assert_ne!(without_one, all);
    let only = BTreeMap::from([(house.hotel.property, 500)]);
    let swept = holds::expire_due(&house.hotel.ledger, &only).await;
    assert_eq!(swept.expect("no failure").let_go, 1);

    assert_eq!(house.moved(other).await, house.moved(one).await);
    assert!(!house.moved(one).await.is_empty());
    for id in [one, other] {
        let first =
            "select count(*) from ledger_entry where reservation_id = $1 and kind = 'expired'";
        assert_eq!(house.count(first, id).await, 1, "one event");
        let room = "select count(*) from room_assignment where reservation_id = $1";
        assert_eq!(house.count(room, id).await, 0);
    }
    let version = "select version from reservation
                    where reservation_id = $1 and status = 'expired'";
    assert_eq!(
        house.count(version, other).await,
        house.count(version, one).await
    );
    // Each took as much as the one that lives.
    let difference = |more: &[Night], less: &[Night]| -> i32 {
        let held = |nights: &[Night]| nights.iter().map(|night| night.2).sum::<i32>();
        held(more) - held(less)
    };
    let last = house.nights().await;
    assert_eq!(
        difference(&without_one, &last),
        difference(&all, &without_one)
    );
    let living = "select count(*) from reservation where reservation_id = $1 and status = 'held'";
    assert_eq!(house.count(living, alive).await, 1);
    house.hotel.proven().await;
}

/// The next batch takes it.
#[tokio::test(flavor = "multi_thread")]
async fn the_set_passes_over_a_hold_that_somebody_changes() {
    let house = House::open().await;
    let (one, other) = (house.hold().await, house.hold().await);
    house.die(&[one, other]).await;
    let mut tx = house.hotel.pool.begin().await.expect("a transaction");
    sqlx::query("select from reservation where reservation_id = $1 for update")
        .bind(one.0)
        .execute(&mut *tx)
        .await
        .expect("locked");
    let only = BTreeMap::from([(house.hotel.property, 500)]);
    let swept = holds::expire_due(&house.hotel.ledger, &only).await;
    assert_eq!(swept.expect("no failure").let_go, 1);
    let gone = "select count(*) from reservation where reservation_id = $1 and status = 'expired'";
    assert_eq!(
        (house.count(gone, one).await, house.count(gone, other).await),
        (0, 1)
    );
    tx.rollback().await.expect("free again");
    let swept = holds::expire_due(&house.hotel.ledger, &only).await;
    assert_eq!(swept.expect("no failure").let_go, 1);
    assert_eq!(house.nights().await, []);
    house.hotel.proven().await;
}
