//! Four times the message costs four times the work and not sixteen, in its worst shapes; and what
//! a message can blow up is bounded.

use keyrack_adapters::{all, by_code};
use keyrack_model::adapter::{Inbound, Parsed, Reply};
use keyrack_strangers::grows_with_its_input;

mod fixture;

use fixture::case::{inbound, session};
use fixture::sent::{a_push, everything_sent};

/// A name, how many pieces the small message has, and the message of so many pieces.
type Shape = (&'static str, usize, fn(usize) -> Vec<u8>);

/// A piece with its number, so many times.
fn many(pieces: usize, piece: impl Fn(usize) -> String) -> String {
    (0..pieces).map(piece).collect()
}

fn bookings(inside: &str) -> Vec<u8> {
    let list = format!("<HotelReservations>{inside}</HotelReservations>");
    format!("<OTA_HotelResNotifRQ>{list}</OTA_HotelResNotifRQ>").into_bytes()
}

fn requests(inside: &str) -> Vec<u8> {
    let list = format!("<ReservationsList>{inside}</ReservationsList>");
    format!("<OTA_ResRetrieveRS><Success/>{list}</OTA_ResRetrieveRS>").into_bytes()
}

/// A guest request with that inside its only room.
fn request(number: usize, inside: &str) -> String {
    format!(
        "<HotelReservation ResStatus='Reserved'><UniqueID Type='14' ID='R{number}'/><RoomStays>\
         <RoomStay><TimeSpan Start='2030-01-01' End='2035-12-31'/>{inside}</RoomStay></RoomStays>\
         </HotelReservation>"
    )
}

const RATE: &str = "<Rate EffectiveDate='2030-01-01' ExpireDate='2035-12-30'>\
                    <Base AmountAfterTax='1' CurrencyCode='EUR'/></Rate>";

fn rates(pieces: usize) -> String {
    let rates = RATE.repeat(pieces);
    format!("<RoomRates><RoomRate><Rates>{rates}</Rates></RoomRate></RoomRates>")
}

fn free_rooms(inside: &str) -> Vec<u8> {
    format!(
        "<OTA_HotelInvCountNotifRQ><UniqueID Type='16' ID='1' Instance='CompleteSet'/>\
         <Inventories HotelCode='H'>{inside}</Inventories></OTA_HotelInvCountNotifRQ>"
    )
    .into_bytes()
}

/// The night of a number, four hundred years long enough.
fn night(number: usize) -> String {
    let days = i32::try_from(number).expect("few");
    keyrack_model::stay::plus_days("2030-01-01".parse().expect("a date"), days).to_string()
}

fn seasons(pieces: usize) -> String {
    many(pieces, |n| {
        let night = night(2 * n);
        format!(
            "<Inventory><StatusApplicationControl Start='{night}' End='{night}' AllInvCode='1'/>\
             </Inventory>"
        )
    })
}

fn counts(pieces: usize) -> String {
    many(pieces, |n| {
        let night = night(2 * n + 1);
        format!(
            "<Inventory><StatusApplicationControl Start='{night}' End='{night}' InvTypeCode='A'/>\
             <InvCounts><InvCount CountType='2' Count='1'/></InvCounts></Inventory>"
        )
    })
}

const SHAPES: [Shape; 16] = [
    ("bookings without anything", 8_000, |n| {
        bookings(&"<HotelReservation/>".repeat(n))
    }),
    ("rooms of one booking", 8_000, |n| {
        let rooms = "<RoomStay IndexNumber='1'/>".repeat(n);
        bookings(&format!(
            "<HotelReservation><RoomStays>{rooms}</RoomStays></HotelReservation>"
        ))
    }),
    ("guests of one booking", 8_000, |n| {
        let guests = many(n, |n| format!("<ResGuest ResGuestRPH='{n}'/>"));
        bookings(&format!(
            "<HotelReservation><ResGuests>{guests}</ResGuests></HotelReservation>"
        ))
    }),
    ("remarks of one request", 4_000, |n| {
        let remarks = many(n, |n| format!("<Comment><Text>remark {n}</Text></Comment>"));
        requests(&request(1, &format!("<Comments>{remarks}</Comments>")))
    }),
    ("requests", 3_000, |n| {
        requests(&many(n, |n| request(n, "")))
    }),
    ("rates of years", 4_000, |n| {
        requests(&request(1, &rates(n)))
    }),
    ("closing seasons", 8_000, |n| free_rooms(&seasons(n))),
    ("rooms beside closing seasons", 6_000, |n| {
        free_rooms(&(seasons(n) + &counts(n)))
    }),
    ("statuses", 5_000, |n| {
        let statuses = many(n, |n| {
            let (night, room) = (night(n), n % 50);
            format!(
                "<AvailStatusMessage BookingLimit='1'><StatusApplicationControl Start='{night}' \
                 End='{night}' InvTypeCode='R{room}'/></AvailStatusMessage>"
            )
        });
        let list = format!("<AvailStatusMessages HotelCode='H'>{statuses}</AvailStatusMessages>");
        format!("<OTA_HotelAvailNotifRQ>{list}</OTA_HotelAvailNotifRQ>").into_bytes()
    }),
    ("errors", 8_000, |n| {
        let errors = many(n, |n| {
            format!("<Error Code='448' RecordID='{n}'>no</Error>")
        });
        format!("<OTA_HotelAvailNotifRS><Errors>{errors}</Errors></OTA_HotelAvailNotifRS>")
            .into_bytes()
    }),
    ("nests", 150, |n| {
        let nest = ["<a>".repeat(12), "</a>".repeat(12)].concat();
        bookings(&nest.repeat(n * 10))
    }),
    ("attributes", 800, |n| {
        let attributes = many(60, |n| format!(" a{n}='{n}'"));
        bookings(&format!("<HotelReservation{attributes}/>").repeat(n))
    }),
    ("a text", 200_000, |n| {
        bookings(&format!("<a>{}</a>", "x ".repeat(n)))
    }),
    ("entities", 40_000, |n| {
        bookings(&format!("<a>{}</a>", "&amp;&#65;".repeat(n)))
    }),
    ("open pieces", 40_000, |n| {
        bookings(&"<!--<![CDATA[ Start=\"Start='CardNumber<cc_cvc>".repeat(n))
    }),
    ("digits", 15_000, |n| {
        bookings(&"4111-1111 &#52; 1 2030-01-01".repeat(n))
    }),
];

#[test]
fn the_work_grows_with_the_message_in_its_worst_shapes() {
    for adapter in all() {
        let sent = adapter
            .render(&a_push(true), &session(&*adapter))
            .expect("a push");
        for (what, pieces, made) in SHAPES {
            let what = format!("{what} at {}", adapter.channel());
            grows_with_its_input(&what, pieces, made, |bytes| {
                adapter.parse(&inbound(bytes, ""));
                let body = bytes.clone();
                let reply = Reply {
                    status: 200,
                    headers: Vec::new(),
                    body,
                };
                adapter.judge(&sent[0], &reply);
            });
        }
    }
}

#[test]
fn an_answer_to_anything_is_read_with_work_of_its_length() {
    for adapter in all() {
        for sent in everything_sent(&*adapter) {
            let what = format!("{} at {}", sent.topic, adapter.channel());
            let nest = |n: usize| "{\"versions\":[".repeat(n).into_bytes();
            grows_with_its_input(&what, 10_000, nest, |bytes| {
                let body = bytes.clone();
                let reply = Reply {
                    status: 200,
                    headers: Vec::new(),
                    body,
                };
                adapter.judge(&sent, &reply);
            });
        }
    }
}

fn taken(channel: &str, bytes: Vec<u8>) -> Parsed {
    let adapter = by_code(channel).expect("a channel");
    adapter.parse(&Inbound {
        bytes,
        ..Inbound::default()
    })
}

#[test]
fn rates_of_years_make_no_more_prices_than_a_message_may_tell() {
    let each = request(1, &rates(20));
    let parsed = taken("alpinebits", requests(&each.repeat(200)));
    let prices = |parsed: &Parsed| -> usize {
        let rooms = parsed.reports.iter().flat_map(|report| &report.rooms);
        rooms.map(|room| room.nightly.len()).sum()
    };
    assert_eq!(parsed.reports.len(), 200, "no guest loses the room");
    assert!(
        (190_000..=200_000).contains(&prices(&parsed)),
        "{}",
        prices(&parsed)
    );
    let one = taken("alpinebits", requests(&request(1, &rates(3))));
    assert_eq!(prices(&one), 2_190, "each night once");
}

#[test]
fn a_count_of_guests_is_bounded_however_often_it_is_told() {
    let child = "<GuestCount Count='99' Age='5'/><GuestCount Count='99'/>".repeat(1_000);
    let guests = format!("<GuestCounts>{child}</GuestCounts>");
    let parsed = taken("alpinebits", requests(&request(1, &guests)));
    let room = &parsed.reports[0].rooms[0];
    assert_eq!((room.adults, room.children_ages.len()), (Some(99), 99));
}

#[test]
fn a_reservation_of_hundreds_of_rooms_is_refused_in_words() {
    let stay = "<RoomStay><TimeSpan Start='2030-01-01' End='2030-01-02'/></RoomStay>".repeat(201);
    let alpine = format!(
        "<HotelReservation ResStatus='Reserved'><UniqueID Type='14' ID='R'/><RoomStays>{stay}\
         </RoomStays></HotelReservation>"
    );
    let booking = format!(
        "<HotelReservation><ResGlobalInfo><HotelReservationIDs><HotelReservationID \
         ResID_Value='R'/></HotelReservationIDs></ResGlobalInfo><RoomStays>{stay}</RoomStays>\
         </HotelReservation>"
    );
    for (channel, bytes) in [
        ("alpinebits", requests(&alpine)),
        ("booking_com", bookings(&booking)),
    ] {
        let parsed = taken(channel, bytes);
        assert_eq!(
            (parsed.reports.len(), parsed.faults.len()),
            (0, 1),
            "{channel}"
        );
        assert!(parsed.faults[0].why.contains("at most 200"), "{channel}");
        assert_eq!(
            parsed.faults[0].reference.as_deref(),
            Some("R"),
            "{channel}"
        );
    }
}

#[test]
fn a_broken_name_costs_nobody_else_and_no_code_is_too_long_for_a_row() {
    let long = "Ä".repeat(30_000);
    let bytes = format!(
        "<OTA_ResRetrieveRS><Success/><ReservationsList><HotelReservation ResStatus='Reserved'>\
         <UniqueID Type='14' ID='R1'/><RoomStays><RoomStay><RoomTypes><RoomType \
         RoomTypeCode='{long}'/></RoomTypes><RatePlans><RatePlan RatePlanCode='{long}'/>\
         </RatePlans><TimeSpan Start='2030-01-01' End='2030-01-02'/></RoomStay></RoomStays>\
         <ResGuests><ResGuest><Profiles><ProfileInfo><Profile><Customer><PersonName><Surname>\
         Mu\0ster</Surname></PersonName></Customer></Profile></ProfileInfo></Profiles></ResGuest>\
         </ResGuests><ResGlobalInfo><BasicPropertyInfo HotelCode='{long}'/></ResGlobalInfo>\
         </HotelReservation><HotelReservation><UniqueID ID='{long}'/></HotelReservation>\
         </ReservationsList></OTA_ResRetrieveRS>"
    );
    let parsed = taken("alpinebits", bytes.into_bytes());
    let report = &parsed.reports[0];
    assert_eq!(report.guest.name, "Mu\u{fffd}ster");
    let room = &report.rooms[0];
    let codes = [
        report.hotel_code.as_ref(),
        Some(&room.room_code),
        room.rate_code.as_ref(),
    ];
    for code in codes {
        assert_eq!(code.map(|code| code.chars().count()), Some(64));
    }
    assert_eq!(
        parsed.faults[0].reference, None,
        "an ID of that length is none"
    );
    let refused = taken("alpinebits", b"ERROR: a\0b".to_vec());
    assert!(refused.faults[0].why.ends_with("ERROR: a\u{fffd}b"));
}
