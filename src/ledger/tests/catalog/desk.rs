//! Reservations as they are read, rooms that are assigned, the sheet of a day.

use keyrack_ledger::catalog::{self, Room};
use keyrack_ledger::command::{Asked, Command, Progress};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::inventory;
use keyrack_ledger::reservations::{self, AutoRoom, Filter, Folio};
use keyrack_model::id::{ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::reservation::{Source, Status};

use crate::hotel::{Hotel, day, room_type, stay};
use crate::rooms::sell;

pub async fn load(hotel: &Hotel, id: ReservationId) -> Folio {
    let read = reservations::load(&hotel.ledger, hotel.property, id).await;
    read.expect("no failure").expect("it is there")
}

async fn list(hotel: &Hotel, filter: Filter) -> Vec<ReservationId> {
    let filter = Filter {
        limit: if filter.limit == 0 { 100 } else { filter.limit },
        ..filter
    };
    let read = reservations::list(&hotel.ledger, hotel.property, &filter).await;
    read.expect("no failure")
        .into_iter()
        .map(|folio| folio.reservation.id)
        .collect()
}

pub async fn step(hotel: &Hotel, reservation: ReservationId, step: Progress) {
    let command = Command::Progress {
        reservation,
        step,
        version: None,
    };
    let asked = Asked::new(hotel.property, hotel.by.clone().into(), command);
    hotel
        .ledger
        .ask(asked)
        .await
        .expect("no failure")
        .expect("no refusal");
}

async fn cancel(hotel: &Hotel, reservation: ReservationId) {
    let command = Command::Cancel {
        reservation,
        reason: None,
        told_channel: false,
        version: None,
    };
    let asked = Asked::new(hotel.property, hotel.by.clone().into(), command);
    hotel
        .ledger
        .ask(asked)
        .await
        .expect("no failure")
        .expect("no refusal");
}

#[tokio::test]
async fn a_reservation_reads_back_with_its_guest_and_its_history() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    let id = sell(&hotel, dbl, stay(3, 5), 2).await;
    let folio = load(&hotel, id).await;
    assert_eq!(folio.guest.name, "Ada Example");
    let reservation = &folio.reservation;
    assert_eq!(
        (reservation.status, reservation.version),
        (Status::Confirmed, 1)
    );
    assert_eq!(
        (
            reservation.rooms[0].quantity,
            reservation.rooms[0].room_type
        ),
        (2, Some(dbl))
    );
    assert!(folio.now >= reservation.created_at);
    cancel(&hotel, id).await;
    let entries = reservations::entries(&hotel.ledger, hotel.property, id).await;
    let entries = entries.expect("no failure");
    let lines: Vec<(&str, Option<i64>, i32)> = entries
        .iter()
        .map(|e| (e.kind.as_str(), e.version, e.quantity))
        .collect();
    assert_eq!(
        lines,
        [("confirmed", Some(1), 2), ("cancelled", Some(2), 2)]
    );
    assert_eq!(entries[0].actor, "key:1 (Anna)");
    assert_eq!(entries[0].request_id.as_deref(), Some("request-1"));
    assert_eq!(
        (entries[0].from, entries[0].to),
        (Some(day(3)), Some(day(5)))
    );
    let night = inventory::entries(&hotel.ledger, hotel.property, dbl, day(4)).await;
    let kinds: Vec<String> = night
        .expect("no failure")
        .into_iter()
        .map(|e| e.kind)
        .collect();
    assert_eq!(kinds, ["night_born", "confirmed", "cancelled"]);
    let nobody = ReservationId(uuid::Uuid::now_v7());
    let read = reservations::load(&hotel.ledger, hotel.property, nobody).await;
    assert!(read.expect("no failure").is_none());
}

/// Three stays, the second cancelled; their ids in order.
async fn three(hotel: &Hotel) -> Vec<ReservationId> {
    let dbl = hotel.room_type("dbl", room_type("Double", 9)).await;
    let mut ids = Vec::new();
    for (from, to) in [(1, 3), (2, 5), (6, 8)] {
        ids.push(sell(hotel, dbl, stay(from, to), 1).await);
    }
    cancel(hotel, ids[1]).await;
    ids
}

#[tokio::test]
async fn a_list_lets_through_what_it_is_asked_for_page_by_page() {
    let hotel = Hotel::open().await;
    let ids = three(&hotel).await;
    let first = ids[0];
    type Narrow<'a> = &'a dyn Fn(&mut Filter);
    let cases: [(Narrow<'_>, &[ReservationId]); 10] = [
        (&|_| {}, &ids),
        (&|f| f.limit = 2, &ids[..2]),
        (&|f| (f.after, f.limit) = (Some(first), 1), &ids[1..2]),
        (&|f| f.status = vec![Status::Cancelled], &ids[1..2]),
        (
            &|f| (f.arrival_from, f.arrival_to) = (Some(day(2)), Some(day(7))),
            &ids[1..],
        ),
        (
            &|f| (f.departure_from, f.departure_to) = (Some(day(3)), Some(day(5))),
            &ids[..1],
        ),
        (&|f| f.staying_on = Some(day(2)), &ids[..1]),
        (&|f| f.staying_on = Some(day(3)), &[]),
        (&|f| f.source = Some(Source::Web), &[]),
        (&|f| f.source = Some(Source::Phone), &ids),
    ];
    for (narrow, found) in cases {
        let mut filter = Filter::default();
        narrow(&mut filter);
        assert_eq!(list(&hotel, filter.clone()).await, found, "{filter:?}");
    }
}

#[tokio::test]
async fn a_list_is_searched_by_number_owner_and_the_beginning_of_a_name() {
    let hotel = Hotel::open().await;
    let ids = three(&hotel).await;
    sqlx::query("update reservation set owner_id = 'agency-7' where reservation_id = $1")
        .bind(ids[0].0)
        .execute(&hotel.pool)
        .await
        .expect("an owner");
    let number = load(&hotel, ids[2]).await.reservation.number.to_string();
    for (q, found) in [
        (number.as_str(), &ids[2..]),
        ("ada ex", &ids[..]),
        (" Ada Example", &ids[..]),
        ("a%", &[]),
        ("nobody", &[]),
        ("agency-7", &ids[..1]),
    ] {
        let filter = Filter {
            q: Some(q.into()),
            ..Filter::default()
        };
        assert_eq!(list(&hotel, filter).await, found, "{q}");
    }
}

#[tokio::test]
async fn a_list_is_searched_by_account_and_by_the_channels_reference() {
    let told = crate::told::Told::open().await;
    let (hotel, account) = (&told.hotel, told.account.id);
    let id = sell(hotel, told.dbl, stay(1, 2), 1).await;
    sell(hotel, told.dbl, stay(1, 2), 1).await;
    sqlx::query("update reservation set account_id = $1 where reservation_id = $2")
        .bind(account.0)
        .bind(id.0)
        .execute(&hotel.pool)
        .await
        .expect("its account");
    sqlx::query(
        "insert into channel_reference
             (property_id, account_id, reference, reservation_id, last_kind, last_hash)
         values ($1, $2, 'BC-77', $3, 'new', '')",
    )
    .bind(hotel.property.0)
    .bind(account.0)
    .bind(id.0)
    .execute(&hotel.pool)
    .await
    .expect("its reference");
    let by_account = Filter {
        account: Some(account),
        ..Filter::default()
    };
    assert_eq!(list(hotel, by_account).await, [id]);
    let by_reference = Filter {
        q: Some("BC-77".into()),
        ..Filter::default()
    };
    assert_eq!(list(hotel, by_reference).await, [id]);
}

#[tokio::test]
async fn a_room_with_a_guest_is_not_blocked() {
    let hotel = Hotel::open().await;
    let dbl = rooms(&hotel, &["101"]).await;
    let id = sell(&hotel, dbl, stay(3, 6), 1).await;
    assign(&hotel, id, room("101")).await.expect("a room");
    let number = load(&hotel, id).await.reservation.number;
    let block = |stay| {
        let blocks = vec![(stay, "owner".to_owned(), None)];
        catalog::put_blocks(&hotel.ledger, hotel.property, &hotel.by, "101", blocks)
    };
    let refusal = block(stay(5, 7))
        .await
        .expect("no failure")
        .expect_err("taken");
    let words = format!("the room is taken by reservation {number}");
    assert_eq!(refusal, Refusal::invalid("/blocks", words));
    block(stay(6, 7))
        .await
        .expect("no failure")
        .expect("it is free on that day");
    hotel.proven().await;
}

async fn rooms(hotel: &Hotel, codes: &[&str]) -> RoomTypeId {
    let dbl = hotel.room_type("dbl", room_type("Double", 0)).await;
    for code in codes {
        let room = Room {
            code: String::new(),
            room_type: "dbl".into(),
            name: String::new(),
            is_active: true,
            version: 0,
            blocks: Vec::new(),
        };
        let (ledger, by) = (&hotel.ledger, &hotel.by);
        let put = catalog::put_room(ledger, hotel.property, by, code, room, None, None).await;
        put.expect("no failure").expect("no refusal");
    }
    dbl
}

async fn assign(hotel: &Hotel, id: ReservationId, room: AutoRoom) -> Result<(), Refusal> {
    let (ledger, by) = (&hotel.ledger, hotel.by.clone());
    reservations::assign(ledger, hotel.property, by, id, RoomStayId(1), room, None)
        .await
        .expect("no failure")
}

pub async fn assigned(hotel: &Hotel, id: ReservationId) -> Vec<String> {
    load(hotel, id)
        .await
        .assigned
        .into_iter()
        .map(|(_, code)| code)
        .collect()
}

fn room(code: &str) -> AutoRoom {
    AutoRoom::Room(code.into())
}

#[tokio::test]
async fn a_stay_gets_a_room_that_nobody_else_has() {
    let hotel = Hotel::open().await;
    let dbl = rooms(&hotel, &["101", "102", "103"]).await;
    let first = sell(&hotel, dbl, stay(3, 6), 1).await;
    let second = sell(&hotel, dbl, stay(5, 7), 1).await;
    let after = sell(&hotel, dbl, stay(6, 8), 1).await;
    assert_eq!(assign(&hotel, first, room("101")).await, Ok(()));
    assert_eq!(assign(&hotel, first, room("101")).await, Ok(()), "a repeat");
    assert_eq!(load(&hotel, first).await.reservation.version, 2);
    let refusal = assign(&hotel, second, room("101"))
        .await
        .expect_err("taken");
    let number = load(&hotel, first).await.reservation.number;
    let words = format!(
        "room 101 is taken by reservation {number}: choose another. Free for the whole stay: 102, \
         103"
    );
    assert_eq!(refusal, Refusal::IllegalTransition(words));
    assert_eq!(
        assign(&hotel, after, room("101")).await,
        Ok(()),
        "it is free on that day"
    );
    assert_eq!(assign(&hotel, second, AutoRoom::Any).await, Ok(()));
    assert_eq!(assigned(&hotel, second).await, ["102"]);
    assert_eq!(
        assign(&hotel, second, room("103")).await,
        Ok(()),
        "it moves"
    );
    assert_eq!(assigned(&hotel, second).await, ["103"]);
    assert_eq!(assign(&hotel, second, AutoRoom::Nothing).await, Ok(()));
    assert_eq!(assigned(&hotel, second).await, [""; 0]);
    assert!(assign(&hotel, second, room("999")).await.is_err());
    let entries = reservations::entries(&hotel.ledger, hotel.property, second).await;
    let told: Vec<Option<String>> = entries
        .expect("no failure")
        .into_iter()
        .skip(1)
        .map(|e| e.reason)
        .collect();
    let expected = ["room 102", "room 103", "out of room 103"];
    assert_eq!(told, expected.map(|words| Some(words.to_owned())));
    let (ledger, by) = (&hotel.ledger, hotel.by.clone());
    let stale = reservations::assign(
        ledger,
        hotel.property,
        by,
        second,
        RoomStayId(1),
        room("102"),
        Some(1),
    );
    let refusal = stale
        .await
        .expect("no failure")
        .expect_err("an older version");
    assert_eq!(refusal, Refusal::VersionMismatch { current: 4 });
    cancel(&hotel, after).await;
    assert!(
        assign(&hotel, after, room("102")).await.is_err(),
        "it sleeps nowhere"
    );
    hotel.proven().await;
}

#[tokio::test]
async fn several_who_look_for_any_room_at_once_get_one_each() {
    let hotel = Hotel::open().await;
    let dbl = rooms(&hotel, &["101", "102", "103", "104", "105"]).await;
    let group = sell(&hotel, dbl, stay(3, 6), 2).await;
    let mut looking = Vec::new();
    for _ in 0..3 {
        let id = sell(&hotel, dbl, stay(3, 6), 1).await;
        let (ledger, by, property) = (hotel.ledger.clone(), hotel.by.clone(), hotel.property);
        looking.push(tokio::spawn(async move {
            reservations::assign(
                &ledger,
                property,
                by,
                id,
                RoomStayId(1),
                AutoRoom::Any,
                None,
            )
            .await
            .expect("no failure")
        }));
    }
    assert_eq!(assign(&hotel, group, AutoRoom::Any).await, Ok(()));
    for looking in looking {
        assert_eq!(looking.await.expect("no panic"), Ok(()));
    }
    let taken: i64 = sqlx::query_scalar("select count(distinct room_id) from room_assignment")
        .fetch_one(&hotel.pool)
        .await
        .expect("a count");
    assert_eq!(taken, 5);
    assert_eq!(assigned(&hotel, group).await.len(), 2);
    let has = assigned(&hotel, group).await;
    let other = ["101", "102", "103"]
        .into_iter()
        .find(|code| !has.contains(&(*code).to_owned()));
    let refusal = assign(&hotel, group, room(other.expect("it has two"))).await;
    assert!(refusal.is_err(), "it has its two rooms");
}

#[tokio::test]
async fn the_sheet_of_a_day_says_who_comes_goes_and_stays_too_long() {
    let hotel = Hotel::open().await;
    let dbl = rooms(&hotel, &["101", "102", "103", "104", "105"]).await;
    let late = sell(&hotel, dbl, stay(0, 1), 1).await;
    let leaves = sell(&hotel, dbl, stay(0, 2), 1).await;
    let stays = sell(&hotel, dbl, stay(1, 4), 1).await;
    let comes = sell(&hotel, dbl, stay(2, 4), 2).await;
    let gone = sell(&hotel, dbl, stay(2, 4), 1).await;
    cancel(&hotel, gone).await;
    step(&hotel, late, Progress::CheckIn).await;
    step(&hotel, leaves, Progress::CheckIn).await;
    hotel.at("2030-06-03T10:00:00Z").await;
    let sheet = reservations::day_sheet(&hotel.ledger, hotel.property, day(2)).await;
    let sheet = sheet.expect("no failure");
    let ids = |folios: &[Folio]| folios.iter().map(|f| f.reservation.id).collect::<Vec<_>>();
    assert_eq!(ids(&sheet.arrivals), [comes]);
    assert_eq!(ids(&sheet.unassigned), [comes]);
    assert_eq!(ids(&sheet.departures), [leaves]);
    assert_eq!(ids(&sheet.in_house), [stays]);
    assert_eq!(ids(&sheet.overdue), [late]);
    assert_eq!(sheet.oversold, []);
    assign(&hotel, comes, room("103")).await.expect("a room");
    assign(&hotel, comes, room("104"))
        .await
        .expect("its second");
    sqlx::query("update night set physical = 2, oversold = 1 where stay_date = $1")
        .bind(jiff_sqlx::Date::from(day(2)))
        .execute(&hotel.pool)
        .await
        .expect("rooms burn");
    let sheet = reservations::day_sheet(&hotel.ledger, hotel.property, day(2)).await;
    let sheet = sheet.expect("no failure");
    assert_eq!(ids(&sheet.unassigned), []);
    assert_eq!(sheet.oversold, [("dbl".to_owned(), 1)]);
}
