//! What a channel does with its own number, and what its journal says of it.

use keyrack_sandbox::{
    BookingComSettings, Cause, Change, Event, Guests, Habits, Settings, VersionState, Wish,
    WishedRoom,
};

use crate::client::{
    Alpine, Booking, DOUBLE, FRIDAY, HOTEL, MONDAY, SATURDAY, SUNDAY, count, sandbox, settings,
};

#[tokio::test]
async fn a_channel_sells_down_to_nothing_and_no_further() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(2).await;
    let wish = Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY);
    assert!(channel.sell(&wish.clone().rooms(3)).is_none());
    assert!(channel.sell(&wish.clone().rooms(2)).is_some());
    assert_eq!(channel.shown(HOTEL, DOUBLE, FRIDAY).unwrap().rooms, 0);
    assert!(channel.sell(&wish).is_none());
    assert!(
        channel.sell(&wish.clone().regardless()).is_some(),
        "its number was out of date"
    );
    assert_eq!(
        channel.shown(HOTEL, DOUBLE, FRIDAY).unwrap().number,
        Some(0)
    );
    let mixed = Wish {
        rooms: vec![
            WishedRoom::new(DOUBLE, FRIDAY, MONDAY),
            WishedRoom::new("4712", FRIDAY, MONDAY),
        ],
        ..wish
    };
    assert!(channel.sell(&mixed).is_none(), "all or nothing");
}

#[tokio::test]
async fn a_guest_who_leaves_reopens_the_room_but_no_closed_night() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(1).await;
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    let close = r#"<AvailStatusMessage BookingLimit="0"><StatusApplicationControl
        Start="2030-03-02" End="2030-03-02" InvTypeCode="4711"/>
        <RestrictionStatus Status="Close"/></AvailStatusMessage>"#;
    client.avail(close).await;
    channel.modify(
        &sold.reference,
        &Change::Dates {
            arrival: FRIDAY,
            departure: SUNDAY,
        },
    );
    let rooms = |night| channel.shown(HOTEL, DOUBLE, night).unwrap().rooms;
    assert_eq!(
        (rooms(FRIDAY), rooms(SATURDAY), rooms(SUNDAY)),
        (0, 0, 1),
        "shortened"
    );
    let gone = channel.cancel(&sold.reference).unwrap();
    assert_eq!((gone.state, gone.rooms.len()), (VersionState::Cancelled, 1));
    assert_eq!((rooms(FRIDAY), rooms(SATURDAY), rooms(SUNDAY)), (1, 0, 1));
    assert_eq!(
        channel.shown(HOTEL, DOUBLE, SATURDAY).unwrap().number,
        Some(1)
    );
    assert!(channel.cancel(&sold.reference).is_none(), "once");
    let friday: Vec<(Cause, Option<u32>, u32)> = channel
        .journal()
        .nights
        .iter()
        .filter(|change| change.night == FRIDAY)
        .map(|change| (change.cause, change.number, change.shown))
        .collect();
    let told = (Cause::Told, Some(1));
    assert_eq!(
        friday,
        [
            (told.0, told.1, 0),
            (told.0, told.1, 1),
            (Cause::Sold, Some(0), 0),
            (Cause::Reopened, Some(1), 1),
        ]
    );
}

#[tokio::test]
async fn without_reopening_the_number_waits_for_the_hotel() {
    let booking_com = BookingComSettings {
        reopens_by_itself: false,
        ..BookingComSettings::default()
    };
    let sandbox = sandbox(Settings {
        booking_com,
        ..settings()
    })
    .await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(1).await;
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, MONDAY))
        .unwrap();
    channel.cancel(&sold.reference).unwrap();
    assert_eq!(channel.shown(HOTEL, DOUBLE, FRIDAY).unwrap().rooms, 0);
    let portal = sandbox.alpinebits();
    let client = Alpine::connect(&sandbox);
    client
        .free_rooms(true, &count("DBL", "2030-03-01", "2030-03-03", 1))
        .await;
    let sold = portal
        .sell(&Wish::one("HTL1", "DBL", FRIDAY, MONDAY))
        .unwrap();
    portal.cancel(&sold.reference).unwrap();
    assert_eq!(portal.shown("HTL1", "DBL", FRIDAY).unwrap().rooms, 0);
}

#[tokio::test]
async fn a_change_needs_the_new_nights_only() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    client.open(1).await;
    let sold = channel
        .sell(&Wish::one(HOTEL, DOUBLE, FRIDAY, SUNDAY))
        .unwrap();
    let longer = Change::Dates {
        arrival: FRIDAY,
        departure: MONDAY,
    };
    let changed = channel.modify(&sold.reference, &longer).unwrap();
    assert_eq!(
        changed.rooms[0].instance, sold.rooms[0].instance,
        "the same room"
    );
    assert_eq!((changed.version, changed.total_minor), (2, 45_000));
    let beyond = Change::Dates {
        arrival: FRIDAY,
        departure: MONDAY.tomorrow().unwrap(),
    };
    assert!(channel.modify(&sold.reference, &beyond).is_none());
    let more = Change::AddRoom(WishedRoom::new(DOUBLE, FRIDAY, SATURDAY));
    assert!(
        channel.modify(&sold.reference, &more).is_none(),
        "none left"
    );
    let last = Change::DropRoom {
        instance: sold.rooms[0].instance,
    };
    assert!(
        channel.modify(&sold.reference, &last).is_none(),
        "that would be a cancellation"
    );
}

#[tokio::test]
async fn the_same_seed_brings_the_same_guests() {
    let mut days = Vec::new();
    for seed in [7, 7, 8] {
        let sandbox = sandbox(settings()).await;
        let client = Alpine::connect(&sandbox);
        let all = count("DBL", "2030-01-05", "2030-04-30", 8)
            + &count("SGL", "2030-01-05", "2030-04-30", 2);
        client.free_rooms(true, &all).await;
        let habits = Habits {
            quote_percent: 10,
            ..Habits::default()
        };
        let mut guests = Guests::with_habits(&sandbox.alpinebits(), seed, habits);
        let day: Vec<String> = (0..80)
            .map(|_| match guests.step() {
                Event::Booked(sold) => format!("booked {:?}", sold.rooms),
                Event::Asked(sold) => format!("asked {}", sold.reference),
                Event::Modified(sold) => format!("modified {} {:?}", sold.reference, sold.rooms),
                Event::Cancelled(sold) => format!("cancelled {}", sold.reference),
                Event::Nothing => "nothing".to_owned(),
            })
            .collect();
        for kind in ["booked", "asked", "modified", "cancelled"] {
            assert!(
                day.iter().any(|event| event.starts_with(kind)),
                "{kind} never happened"
            );
        }
        days.push(day);
    }
    assert_eq!(days[0], days[1]);
    assert_ne!(days[0], days[2]);
}
