//! Room types, rooms and their blocks: what they count on the nights.

use keyrack_ledger::catalog::{self, Room, RoomTypeSetup};
use keyrack_ledger::command::{Asked, Command, Forced, NightChange, Wish, WishedRoom};
use keyrack_ledger::decide::refusal::{Force, Refusal};
use keyrack_ledger::inventory;
use keyrack_model::id::{ReservationId, RoomTypeId};
use keyrack_model::reservation::{Guest, Source};
use keyrack_model::stay::{Stay, StayRange};

use crate::hotel::{Hotel, room_type, stay};

/// Physical and out of order of each night from the business day on.
pub async fn nights(hotel: &Hotel, room_type: RoomTypeId, from: i32, to: i32) -> Vec<(i32, i32)> {
    let nights = stay(from, to);
    let read =
        inventory::availability(&hotel.ledger, hotel.property, nights, Some(room_type)).await;
    let (_, types) = read.expect("no failure");
    types[0]
        .nights
        .iter()
        .map(|n| (n.balance.physical, n.balance.out_of_order))
        .collect()
}

/// A wish of staff that is confirmed at once.
pub fn wish(
    hotel: &Hotel,
    room_type: RoomTypeId,
    stay: Stay,
    quantity: i32,
) -> (ReservationId, Asked) {
    let reservation = ReservationId(uuid::Uuid::now_v7());
    let wish = Wish {
        reservation,
        hold: None,
        source: Source::Phone,
        rooms: vec![WishedRoom {
            room_stay: None,
            room_type,
            rate_plan: None,
            stay,
            quantity,
            price: None,
            adults: None,
            children_ages: Vec::new(),
            guest_name: None,
            allotment: None,
        }],
        guest: Some(Guest {
            name: "Ada Example".into(),
            ..Guest::default()
        }),
        note: None,
        owner_id: None,
        payment_reference: None,
        channel: None,
        guaranteed: false,
        force: None,
    };
    let asked = Asked::new(
        hotel.property,
        hotel.by.clone().into(),
        Command::Request(Box::new(wish)),
    );
    (reservation, asked)
}

pub async fn sell(
    hotel: &Hotel,
    room_type: RoomTypeId,
    stay: Stay,
    quantity: i32,
) -> ReservationId {
    let (reservation, asked) = wish(hotel, room_type, stay, quantity);
    let answer = hotel.ledger.ask(asked).await.expect("no failure");
    answer.expect("no refusal");
    reservation
}

async fn put(
    hotel: &Hotel,
    code: &str,
    setup: RoomTypeSetup,
    force: Option<Forced>,
    dry_run: bool,
) -> Result<catalog::RoomTypeChange, Refusal> {
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    catalog::put_room_type(
        ledger,
        hotel.property,
        by,
        code,
        setup,
        None,
        force,
        dry_run,
    )
    .await
    .expect("no failure")
}

#[tokio::test]
async fn a_new_type_has_its_rooms_on_every_night_up_to_the_horizon() {
    let hotel = Hotel::open().await;
    let made = put(&hotel, "dbl", room_type("Double", 4), None, true)
        .await
        .expect("no refusal");
    assert_eq!((made.room_type, made.is_new), (None, true));
    let types = catalog::room_types(&hotel.ledger, hotel.property).await;
    assert_eq!(types.expect("no failure"), [], "a dry run makes nothing");

    let made = put(&hotel, "dbl", room_type("Double", 4), None, false)
        .await
        .expect("no refusal");
    let dbl = made.room_type.expect("made").id;
    assert_eq!(nights(&hotel, dbl, 0, 40).await, [(4, 0); 30]);
    assert_eq!(
        inventory::extend_horizon(&hotel.ledger, hotel.property)
            .await
            .expect("0"),
        0
    );
    hotel.proven().await;
}

#[tokio::test]
async fn a_cut_below_what_is_sold_needs_a_force_and_a_dry_run_says_who_is_hit() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    sell(&hotel, dbl, stay(3, 5), 3).await;
    let fewer = room_type("Double", 2);
    let tried = put(&hotel, "dbl", fewer.clone(), None, true)
        .await
        .expect("a dry run");
    let short: Vec<_> = tried.short.iter().map(|s| (s.night, s.rooms)).collect();
    assert_eq!(
        short,
        [(stay(3, 5).arrival(), 1), (stay(4, 5).arrival(), 1)]
    );
    let refusal = put(&hotel, "dbl", fewer.clone(), None, false)
        .await
        .expect_err("it hits");
    assert!(matches!(
        refusal,
        Refusal::NeedsForce {
            allow: Force::Oversell,
            ..
        }
    ));
    assert_eq!(nights(&hotel, dbl, 3, 4).await, [(4, 0)]);
    let types = catalog::room_types(&hotel.ledger, hotel.property)
        .await
        .expect("no failure");
    assert_eq!((types[0].setup.rooms, types[0].version), (4, 1));
    let force = Forced {
        reason: "fire".into(),
        allow: vec![Force::Oversell],
    };
    let cut = put(&hotel, "dbl", fewer, Some(force), false)
        .await
        .expect("forced");
    assert_eq!(cut.room_type.expect("there").version, 2);
    assert_eq!(nights(&hotel, dbl, 3, 4).await, [(2, 0)]);
    hotel.proven().await;
}

#[tokio::test]
async fn a_composed_type_is_made_of_plain_ones_and_holds_no_stock() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    let flat = |components: &[(&str, i32)]| RoomTypeSetup {
        components: components
            .iter()
            .map(|(c, n)| ((*c).to_owned(), *n))
            .collect(),
        ..room_type("Flat", 0)
    };
    let made = put(&hotel, "flat", flat(&[("dbl", 2)]), None, false)
        .await
        .expect("made");
    let flat_id = made.room_type.expect("made").id;
    for (code, setup, at) in [
        ("loft", flat(&[("nothing", 1)]), "/components/0/room_type"),
        ("loft", flat(&[("flat", 1)]), "/components/0/room_type"),
        ("flat", flat(&[("flat", 1)]), "/components/0/room_type"),
        ("dbl", flat(&[("flat", 1)]), "/components/0/room_type"),
        (
            "loft",
            RoomTypeSetup {
                rooms: 1,
                ..flat(&[("dbl", 1)])
            },
            "/rooms",
        ),
    ] {
        let refusal = put(&hotel, code, setup, None, false).await.expect_err(code);
        assert!(
            matches!(&refusal, Refusal::Invalid(f) if f[0].0 == at),
            "{code}: {refusal:?}"
        );
    }
    hotel.room_type("sgl", room_type("Single", 1)).await;
    let refusal = put(&hotel, "dbl", flat(&[("sgl", 1)]), None, false).await;
    assert!(refusal.is_err(), "it is a component of the flat");
    sell(&hotel, flat_id, stay(2, 3), 1).await;
    let read = inventory::availability(&hotel.ledger, hotel.property, stay(1, 4), None).await;
    let (_, types) = read.expect("no failure");
    let free = |code: &str| -> Vec<i32> {
        let of = types.iter().find(|t| t.room_type == code).expect("a type");
        of.nights.iter().map(|n| n.free).collect()
    };
    assert_eq!((free("dbl"), free("flat")), (vec![4, 2, 4], vec![2, 1, 2]));
    let _ = dbl;
    hotel.proven().await;
}

#[tokio::test]
async fn a_type_with_sold_nights_does_not_become_composed_and_an_empty_one_does() {
    let hotel = Hotel::open().await;
    hotel.room_type("dbl", room_type("Double", 4)).await;
    let sgl = hotel.room_type("sgl", room_type("Single", 2)).await;
    let composed = RoomTypeSetup {
        components: vec![("dbl".into(), 1)],
        ..room_type("Single use", 0)
    };
    sell(&hotel, sgl, stay(2, 3), 1).await;
    let refusal = put(&hotel, "sgl", composed.clone(), None, false)
        .await
        .expect_err("in use");
    assert!(matches!(&refusal, Refusal::Invalid(f) if f[0].0 == "/components"));
    let twin = hotel.room_type("twin", room_type("Twin", 2)).await;
    put(&hotel, "twin", composed, None, false)
        .await
        .expect("nothing is taken");
    let physical: i64 =
        sqlx::query_scalar("select sum(physical) from night where room_type_id = $1")
            .bind(twin.0)
            .fetch_one(&hotel.pool)
            .await
            .expect("a sum");
    assert_eq!(physical, 0);
    put(&hotel, "twin", room_type("Twin", 3), None, false)
        .await
        .expect("plain again");
    assert_eq!(nights(&hotel, twin, 0, 2).await, [(3, 0), (3, 0)]);
    hotel.proven().await;
}

pub fn room(room_type: &str, is_active: bool) -> Room {
    Room {
        code: String::new(),
        room_type: room_type.into(),
        name: "by the lake".into(),
        is_active,
        version: 0,
        blocks: Vec::new(),
    }
}

pub async fn list(hotel: &Hotel, code: &str, room: Room) -> Result<(Room, bool), Refusal> {
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    let put = catalog::put_room(ledger, hotel.property, by, code, room, None, None).await;
    put.expect("no failure")
}

#[tokio::test]
async fn once_rooms_are_listed_their_number_is_the_types_count() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 0)).await;
    let sgl = hotel.room_type("sgl", room_type("Single", 0)).await;
    for code in ["101", "102", "103"] {
        let (made, is_new) = list(&hotel, code, room("dbl", true)).await.expect("made");
        assert_eq!((made.code.as_str(), made.version, is_new), (code, 1, true));
    }
    assert_eq!(nights(&hotel, dbl, 0, 1).await, [(3, 0)]);
    let (off, _) = list(&hotel, "103", room("dbl", false))
        .await
        .expect("closed for good");
    assert_eq!((off.version, off.is_active), (2, false));
    assert_eq!(nights(&hotel, dbl, 0, 1).await, [(2, 0)]);
    list(&hotel, "102", room("sgl", true))
        .await
        .expect("another type's now");
    assert_eq!(nights(&hotel, dbl, 0, 1).await, [(1, 0)]);
    assert_eq!(nights(&hotel, sgl, 0, 1).await, [(1, 0)]);
    let change = put(&hotel, "dbl", room_type("Double room", 9), None, false).await;
    let setup = change.expect("a new name").room_type.expect("there").setup;
    assert_eq!((setup.rooms, setup.name.as_str()), (1, "Double room"));
    sell(&hotel, dbl, stay(4, 5), 1).await;
    let refusal = list(&hotel, "101", room("dbl", false))
        .await
        .expect_err("it is sold");
    assert!(matches!(refusal, Refusal::NeedsForce { .. }));
    let rooms = catalog::rooms(&hotel.ledger, hotel.property)
        .await
        .expect("no failure");
    assert!(rooms[0].is_active && rooms[0].code == "101");
    let refusal = list(&hotel, "104", room("suite", true))
        .await
        .expect_err("no such type");
    assert!(matches!(refusal, Refusal::Invalid(f) if f[0].0 == "/room_type"));
    hotel.proven().await;
}

pub async fn block(
    hotel: &Hotel,
    code: &str,
    blocks: &[(StayRange, &str)],
) -> Result<Room, Refusal> {
    let blocks = blocks
        .iter()
        .map(|(stay, kind)| (*stay, (*kind).to_owned(), Some("pipe".into())));
    let (ledger, by) = (&hotel.ledger, &hotel.by);
    let put = catalog::put_blocks(ledger, hotel.property, by, code, blocks.collect()).await;
    put.expect("no failure")
}

#[tokio::test]
async fn a_block_counts_out_of_order_beside_what_staff_stated() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 0)).await;
    for code in ["101", "102", "103", "104"] {
        list(&hotel, code, room("dbl", true)).await.expect("made");
    }
    let stated = Command::SetNights {
        changes: vec![NightChange {
            room_type: dbl,
            nights: stay(2, 4),
            out_of_order: Some(1),
            overbooking_limit: None,
            reason: None,
        }],
        dry_run: false,
    };
    let asked = Asked::new(hotel.property, hotel.by.clone().into(), stated);
    hotel
        .ledger
        .ask(asked)
        .await
        .expect("no failure")
        .expect("no refusal");
    let two = [(stay(1, 3), "out_of_order"), (stay(5, 6), "owner")];
    let room_101 = block(&hotel, "101", &two).await.expect("blocked");
    assert_eq!((room_101.version, room_101.blocks.len()), (2, 2));
    block(&hotel, "102", &[(stay(2, 3), "house_use")])
        .await
        .expect("blocked");
    let out = |nights: Vec<(i32, i32)>| nights.into_iter().map(|(_, out)| out).collect::<Vec<_>>();
    assert_eq!(out(nights(&hotel, dbl, 0, 7).await), [0, 1, 3, 1, 0, 1, 0]);
    block(&hotel, "101", &[(stay(2, 4), "out_of_order")])
        .await
        .expect("moved");
    assert_eq!(out(nights(&hotel, dbl, 0, 7).await), [0, 0, 3, 2, 0, 0, 0]);
    let refusal = list(&hotel, "101", room("dbl", false))
        .await
        .expect_err("it counts");
    assert!(matches!(refusal, Refusal::Invalid(_)));
    block(&hotel, "101", &[]).await.expect("free");
    block(&hotel, "102", &[]).await.expect("free");
    assert_eq!(out(nights(&hotel, dbl, 0, 7).await), [0, 0, 1, 1, 0, 0, 0]);
    for (blocks, at) in [
        (
            vec![(stay(1, 3), "owner"), (stay(2, 4), "owner")],
            "/blocks/1/from",
        ),
        (vec![(stay(1, 3), "party")], "/blocks/0/kind"),
    ] {
        let refusal = block(&hotel, "101", &blocks).await.expect_err(at);
        assert!(matches!(refusal, Refusal::Invalid(f) if f[0].0 == at));
    }
    assert_eq!(
        block(&hotel, "999", &[]).await,
        Err(Refusal::NotFound("room".into()))
    );
    hotel.proven().await;
}

#[tokio::test]
async fn a_block_beyond_the_horizon_counts_when_its_nights_are_born() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 0)).await;
    list(&hotel, "101", room("dbl", true)).await.expect("made");
    block(&hotel, "101", &[(stay(29, 32), "owner")])
        .await
        .expect("blocked");
    assert_eq!(nights(&hotel, dbl, 28, 40).await, [(1, 0), (1, 1)]);
    hotel.at("2030-06-03T10:00:00Z").await;
    let born = inventory::extend_horizon(&hotel.ledger, hotel.property).await;
    assert_eq!(born.expect("no failure"), 2);
    assert_eq!(
        nights(&hotel, dbl, 28, 40).await,
        [(1, 0), (1, 1), (1, 1), (1, 1)]
    );
    let last = hotel.rate_changes().await.pop().expect("the horizon moved");
    assert_eq!(last, "0 0 0 2030-07-01 2030-07-03 horizon");
    hotel.proven().await;
}

#[tokio::test]
async fn a_count_that_a_crash_left_behind_is_mended() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 2)).await;
    sell(&hotel, dbl, stay(1, 2), 2).await;
    sqlx::query("update room_type set rooms = 1")
        .execute(&hotel.pool)
        .await
        .expect("the row, and not its nights");
    inventory::extend_horizon(&hotel.ledger, hotel.property)
        .await
        .expect("no failure");
    assert_eq!(nights(&hotel, dbl, 0, 3).await, [(1, 0); 3]);
    hotel.proven().await;
}

#[tokio::test]
async fn r13_rooms_are_cut_while_they_are_sold_and_every_number_stays_proved() {
    let hotel = Hotel::open().await;
    let dbl = hotel.room_type("dbl", room_type("Double", 4)).await;
    let mut wishing = Vec::new();
    for _ in 0..12 {
        let (ledger, asked) = (hotel.ledger.clone(), wish(&hotel, dbl, stay(3, 5), 1).1);
        wishing.push(tokio::spawn(async move {
            ledger.ask(asked).await.expect("no failure")
        }));
    }
    let mut rooms = 4;
    for fewer in [3, 2, 3, 1] {
        if put(&hotel, "dbl", room_type("Double", fewer), None, false)
            .await
            .is_ok()
        {
            rooms = fewer;
        }
    }
    let mut sold = 0;
    for wish in wishing {
        match wish.await.expect("no panic") {
            Ok(_) => sold += 1,
            Err(refusal) => assert_eq!(refusal.code(), "sold_out"),
        }
    }
    let read = inventory::availability(&hotel.ledger, hotel.property, stay(3, 5), Some(dbl)).await;
    for night in &read.expect("no failure").1[0].nights {
        let balance = night.balance;
        assert_eq!(
            (balance.physical, balance.sold, balance.oversold),
            (rooms, sold, 0)
        );
    }
    hotel.proven().await;
}
