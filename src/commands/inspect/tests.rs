//! Whatever stands in a file that is inspected: it is shown, or why not is.

use keyrack_strangers::{Message, grows_with_its_input, hostile};
use proptest::prelude::{prop_assert, proptest};

use super::*;

/// What channels sent, from the adapters' own fixtures.
fn samples() -> Vec<Vec<u8>> {
    let adapters = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../adapters");
    let folders = keyrack_adapters::all().into_iter().map(|adapter| {
        let folder = adapters.join(adapter.channel().as_str()).join("fixtures");
        fs::read_dir(folder).expect("fixtures")
    });
    let paths = folders
        .flatten()
        .map(|entry| entry.expect("a fixture").path());
    let paths = paths.filter(|path| path.extension().is_some_and(|ending| ending == "xml"));
    paths
        .map(|path| fs::read(path).expect("a fixture"))
        .collect()
}

fn shown(channel: &str, messages: &[&[u8]]) -> String {
    let adapter = adapter(channel).expect("a channel");
    let states: Vec<(String, Parsed)> = messages
        .iter()
        .map(|bytes| {
            let inbound = Inbound {
                bytes: bytes.to_vec(),
                ..Inbound::default()
            };
            ("a file".to_owned(), adapter.parse(&inbound))
        })
        .collect();
    let all = successive(adapter.as_ref(), &states);
    serde_json::to_string_pretty(&all).expect("JSON")
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 150, ..Default::default() })]

    #[test]
    fn any_message_is_shown_alone_and_after_another(
        Message(first) in hostile(samples()), Message(second) in hostile(samples()),
    ) {
        for channel in ["booking_com", "alpinebits"] {
            let json = shown(channel, &[&first, &second]);
            prop_assert!(json.len() < 80 * (first.len() + second.len()) + 2_000_000);
        }
    }
}

#[test]
fn the_work_grows_with_the_reservations_of_a_queue() {
    let booking = |n: usize| {
        format!(
            "<HotelReservation><ResGlobalInfo><HotelReservationIDs><HotelReservationID \
             ResID_Value='R{n}'/></HotelReservationIDs></ResGlobalInfo><RoomStays><RoomStay>\
             <TimeSpan Start='2030-01-01' End='2030-01-02'/></RoomStay></RoomStays>\
             </HotelReservation>"
        )
    };
    let queue = |n: usize| {
        let bookings: String = (0..n).map(booking).collect();
        format!(
            "<OTA_HotelResNotifRQ><HotelReservations>{bookings}</HotelReservations>\
             </OTA_HotelResNotifRQ>"
        )
    };
    grows_with_its_input("reservations", 3_000, queue, |text| {
        let bytes = text.as_bytes();
        assert!(shown("booking_com", &[bytes, bytes]).contains("R2999"));
    });
}
