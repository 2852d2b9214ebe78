//! A flat that is sold whole and by the room, family rooms of two doubles, a dormitory by the bed
//! and as a room: whatever is sold, at the desk or by a channel, every number of every channel is
//! right after it.

use keyrack_sandbox::{Channel, Room, Sandbox, Settings, Wish};
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::channel::{login, until};

const LINDE: &str = "/v1/properties/linde";

/// Room type, the channels' code of it, the rooms that a channel may show.
const TYPES: [(&str, &str, u32); 7] = [
    ("blue", "BLU", 1),
    ("green", "GRN", 1),
    ("flat", "FLT", 1),
    ("double", "DBL", 5),
    ("family", "FAM", 2),
    ("bed", "BED", 8),
    ("dormitory", "DRM", 1),
];

/// Two channels that list all of it.
struct Two {
    app: TestApp,
    sandbox: Sandbox,
    channels: [(&'static str, Channel, &'static str); 2],
}

impl Two {
    async fn live() -> Self {
        let app = TestApp::start().await;
        house(&app).await;
        let sandbox = Sandbox::start(Settings::default())
            .await
            .expect("the fake channels start");
        let (booking, portal) = (sandbox.booking_com(), sandbox.alpinebits());
        let url = sandbox.url();
        let at = [
            (url.clone(), login(booking.credentials())),
            (format!("{url}/alpinebits"), login(portal.credentials())),
        ];
        let channels = [
            ("booking", (*booking).clone(), "7200"),
            ("portal", (*portal).clone(), "LINDE"),
        ];
        for ((account, channel, hotel), (endpoint, login)) in channels.iter().zip(at) {
            // The portal sells at a list price of its own.
            let rate = (*account == "booking").then_some("901");
            let rooms =
                TYPES.map(|(_, code, rooms)| Room::new(code, &[rate.unwrap_or("LIST")], rooms));
            channel.add_hotel(hotel, &rooms);
            let account = (*account, rate);
            connect(&app, account, channel.code(), hotel, (endpoint, login)).await;
        }
        Self {
            app,
            sandbox,
            channels,
        }
    }

    /// All channels show so many of each type on a night, in the order of [`TYPES`].
    async fn show(&self, night: i32, rooms: [u32; 7], after: &str) {
        for (account, channel, hotel) in &self.channels {
            let shown = || {
                TYPES.map(|(_, code, _)| {
                    let shown = channel.shown(hotel, code, self.app.night(night));
                    shown.map_or(0, |shown| shown.rooms)
                })
            };
            let seen = until(|| async { (shown() == rooms).then_some(()) }).await;
            assert!(
                seen.is_some(),
                "after {after} {account} shows {:?} of {:?}, not {rooms:?}",
                shown(),
                TYPES.map(|(name, ..)| name)
            );
        }
    }

    /// The desk sells so many; gives the reservation's path.
    async fn desk(&self, room_type: &str, rooms: u32, night: i32) -> String {
        let said = self.ask(room_type, rooms, night).await;
        let id = said.expect(201)["id"].clone();
        format!("{LINDE}/reservations/{}", id.as_str().expect("an id"))
    }

    async fn ask(&self, room_type: &str, rooms: u32, night: i32) -> crate::app::Said {
        let mut wish = self.app.wish("confirmed", night, night + 1);
        wish["rooms"][0]["room_type"] = json!(room_type);
        wish["rooms"][0]["quantity"] = json!(rooms);
        self.app.post(&format!("{LINDE}/reservations"), wish).await
    }

    /// A guest books so many at a channel.
    fn sells(&self, channel: usize, code: &str, rooms: u32, night: i32) -> keyrack_sandbox::Sold {
        let (_, channel, hotel) = &self.channels[channel];
        let (from, to) = (self.app.night(night), self.app.night(night + 1));
        let wish = Wish::one(hotel, code, from, to).rooms(rooms);
        channel.sell(&wish).expect("it shows them")
    }

    async fn end(self) {
        self.app.end().await;
        self.sandbox.stop().await;
    }
}

/// Two rooms that are a flat together, five doubles of which two are a family room, eight beds that
/// are one dormitory.
async fn house(app: &TestApp) {
    app.hotel("linde", 5).await;
    let kind = |name: &str, rooms: u32, parts: &[(&str, u32)]| {
        let parts = parts
            .iter()
            .map(|(room_type, quantity)| json!({"room_type": room_type, "quantity": quantity}));
        json!({
            "name": name, "rooms": rooms, "counts": if name == "Bed" { "beds" } else { "rooms" },
            "occupancy": {"adults_max": 8, "children_max": 4, "total_max": 8},
            "components": parts.collect::<Vec<_>>(),
        })
    };
    for (code, body) in [
        ("blue", kind("Blue room", 1, &[])),
        ("green", kind("Green room", 1, &[])),
        ("flat", kind("Flat", 0, &[("blue", 1), ("green", 1)])),
        ("family", kind("Family room", 0, &[("double", 2)])),
        ("bed", kind("Bed", 8, &[])),
        ("dormitory", kind("Dormitory", 0, &[("bed", 8)])),
    ] {
        app.put(&format!("{LINDE}/room-types/{code}"), body)
            .await
            .expect(201);
    }
    let plan = json!({"name": "Flexible", "meal_plan": "breakfast"});
    app.put(&format!("{LINDE}/rate-plans/flex"), plan)
        .await
        .expect(201);
    let prices = TYPES.map(|(room_type, ..)| {
        json!({
            "room_type": room_type, "rate_plan": "flex", "from": app.night(-30),
            "to": app.night(60), "rate": {"amount": "130.00", "currency": "EUR"},
        })
    });
    app.post(&format!("{LINDE}/rates"), json!({"values": prices}))
        .await
        .expect(200);
}

/// Lists all types at a channel, and goes live.
async fn connect(
    app: &TestApp,
    (account, rate): (&str, Option<&str>),
    channel: &str,
    hotel: &str,
    (endpoint, credentials): (String, Value),
) {
    let connection = json!({
        "channel": channel, "endpoint": endpoint, "credentials": credentials,
        "settings": {"poll_seconds": 1, "settle_after_acknowledge_seconds": 0,
                     "requests_per_minute": 6000},
    });
    app.put(&format!("/v1/connections/{account}"), connection)
        .await
        .expect(201);
    let path = format!("{LINDE}/accounts/{account}");
    let body = json!({"connection": account, "hotel_code": hotel, "settings": {}});
    app.put(&path, body).await.expect(201);
    let mut mappings = Vec::new();
    for (room_type, code, _) in TYPES {
        let room = json!({"room_type": room_type, "channel_room_code": code, "pool": "shared"});
        mappings.push(room.clone());
        if let Some(rate) = rate {
            let mut product = room;
            product["rate_plan"] = json!("flex");
            product["channel_rate_code"] = json!(rate);
            mappings.push(product);
        }
    }
    app.put(&format!("{path}/mappings"), json!(mappings))
        .await
        .expect(200);
    let waive = json!({"waive_import": true});
    app.post(&format!("{path}/go-live"), waive)
        .await
        .expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn whole_or_by_the_room_every_channel_is_right_after_each_sale() {
    let two = Two::live().await;
    let all = [1, 1, 1, 5, 2, 8, 1];
    two.show(0, all, "the start").await;
    two.show(1, all, "the start").await;

    // A room takes the flat, and brings it back.
    let blue = two.desk("blue", 1, 0).await;
    two.show(0, [0, 1, 0, 5, 2, 8, 1], "the blue room").await;
    two.app
        .post(&format!("{blue}/cancel"), json!({}))
        .await
        .expect(200);
    two.show(0, all, "its cancellation").await;
    // The flat takes both rooms, at the channel that sold it too.
    two.sells(0, "FLT", 1, 0);
    two.show(0, [0, 0, 0, 5, 2, 8, 1], "the flat").await;

    // An odd double leaves one family room of two.
    two.sells(1, "DBL", 1, 0);
    two.sells(0, "FAM", 1, 0);
    two.show(0, [0, 0, 0, 2, 1, 8, 1], "a double and a family room")
        .await;
    let double = two.desk("double", 1, 0).await;
    two.show(0, [0, 0, 0, 1, 0, 8, 1], "one double more").await;
    let refused = two.ask("family", 1, 0).await;
    assert_eq!((refused.status, refused.code()), (409, "sold_out"));
    two.app
        .post(&format!("{double}/cancel"), json!({}))
        .await
        .expect(200);

    // A bed takes the dormitory; the dormitory takes all of the beds.
    two.sells(1, "BED", 3, 0);
    two.show(0, [0, 0, 0, 2, 1, 5, 0], "three beds").await;
    two.sells(1, "DRM", 1, 1);
    two.show(1, [1, 1, 1, 5, 2, 0, 0], "the dormitory").await;
    two.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_agreed_or_broken_of_a_part_is_missing_from_the_whole() {
    let two = Two::live().await;
    two.show(0, [1, 1, 1, 5, 2, 8, 1], "the start").await;
    // Agreed with one channel: two doubles of five. Three are left for the family room.
    let agreed = json!({
        "account": "booking", "room_type": "double", "release_period_days": 0,
        "values": [{"from": two.app.night(0), "to": two.app.night(1), "rooms": 2}],
    });
    two.app
        .put(&format!("{LINDE}/allotments/booking"), agreed)
        .await
        .expect(201);
    two.show(0, [1, 1, 1, 3, 1, 8, 1], "two doubles agreed")
        .await;
    // The blue room is out of order: no flat.
    let broken = json!({"values": [{
        "room_type": "blue", "from": two.app.night(0), "to": two.app.night(1), "out_of_order": 1,
        "reason": "a burst pipe",
    }]});
    two.app
        .post(&format!("{LINDE}/inventory"), broken)
        .await
        .expect(200);
    two.show(0, [0, 1, 0, 3, 1, 8, 1], "a burst pipe").await;
    // Two beds are kept back from every channel. A rule is of the type that it names: whoever wants
    // to keep the dormitory back names it too.
    let rules = json!({"rules": [{"room_type": "bed", "keep_back": 2}]});
    two.app
        .put(&format!("{LINDE}/buffer-rules"), rules)
        .await
        .expect(200);
    two.show(0, [0, 1, 0, 3, 1, 6, 1], "two beds kept back")
        .await;
    let explain = format!(
        "{LINDE}/explain?account=portal&room_type=flat&stay_date={}",
        two.app.night(0)
    );
    let lines = two.app.get(&explain).await.expect(200)["lines"].to_string();
    let words = "each takes 1 of blue (0 free) and 1 of green (1 free): the scarcest decides";
    assert!(lines.contains(words), "{lines}");
    two.end().await;
}
