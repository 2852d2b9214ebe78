//! The fake channels as a story meets them: connected to the hotel of the story, and looked at
//! until they show what they should.

use std::time::Duration;

use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{Channel, Room, Sandbox, Secret, Settings, Sold, Wish};
use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{TestApp, said};

/// A listing of the story's hotel at a fake channel.
pub struct Listing {
    /// Code of the hotel here.
    pub property: &'static str,
    /// Code of account and connection.
    pub account: &'static str,
    /// The other side of the wire.
    pub channel: Channel,
    /// The channel's code of the hotel.
    pub hotel: &'static str,
    /// The channel's code of the double room.
    pub room: &'static str,
}

/// Both fake channels, each with a listing of the hotel that is live.
pub struct Stage {
    /// Both behind one address.
    pub sandbox: Sandbox,
    /// The fake Booking.com.
    pub booking: Listing,
    /// The fake portal.
    pub portal: Listing,
}

impl Stage {
    /// A hotel `linde` with `rooms` double rooms, live at both.
    pub async fn live(app: &TestApp, rooms: u32) -> Self {
        let sandbox = Sandbox::start(Settings::default())
            .await
            .expect("the fake channels start");
        let (booking_com, alpinebits) = (sandbox.booking_com(), sandbox.alpinebits());
        let stage = Self {
            booking: Listing {
                property: "linde",
                account: "booking",
                channel: (*booking_com).clone(),
                hotel: "7200",
                room: "102",
            },
            portal: Listing {
                property: "linde",
                account: "portal",
                channel: (*alpinebits).clone(),
                hotel: "LINDE",
                room: "DBL",
            },
            sandbox,
        };
        app.hotel("linde", rooms).await;
        priced(app, "linde", app.night(-30), app.night(120)).await;
        let login = login(booking_com.credentials());
        let url = stage.sandbox.url();
        stage
            .booking
            .connect(app, &url, login, rooms, Some("901"))
            .await;
        let login = self::login(alpinebits.credentials());
        stage
            .portal
            .connect(app, &format!("{url}/alpinebits"), login, rooms, None)
            .await;
        for listing in [&stage.booking, &stage.portal] {
            listing.shows(app, app.night(0), rooms).await;
        }
        stage
    }
}

/// A plan and a price for the double rooms of a hotel.
pub async fn priced(app: &TestApp, property: &str, from: Date, to: Date) {
    let plan = json!({"name": "Flexible", "meal_plan": "breakfast"});
    let path = format!("/v1/properties/{property}");
    app.put(&format!("{path}/rate-plans/flex"), plan)
        .await
        .expect(201);
    let rates = json!({"values": [{
        "room_type": "double", "rate_plan": "flex", "from": from, "to": to,
        "rate": {"amount": "130.00", "currency": "EUR"},
    }]});
    app.post(&format!("{path}/rates"), rates).await.expect(200);
}

/// A channel's login as a connection takes it.
pub fn login((user, secret): (String, Secret)) -> Value {
    json!({"user": user, "secret": secret.reveal()})
}

impl Listing {
    /// Lists the hotel's double rooms there, and goes live.
    pub async fn connect(
        &self,
        app: &TestApp,
        endpoint: &str,
        credentials: Value,
        rooms: u32,
        rate: Option<&str>,
    ) {
        // What the portal sells at its own list price has a rate of the portal's own.
        let rates = [rate.unwrap_or("LIST")];
        self.channel
            .add_hotel(self.hotel, &[Room::new(self.room, &rates, rooms)]);
        let connection = json!({
            "channel": self.channel.code(), "endpoint": endpoint, "credentials": credentials,
            "settings": {"poll_seconds": 1, "settle_after_acknowledge_seconds": 0,
                         "requests_per_minute": 6000},
        });
        let account = self.account;
        let login = format!("/v1/connections/{account}");
        let put = app.put(&login, connection).await;
        assert!(put.status < 300, "a login, for one hotel or many");
        let path = self.path();
        let body = json!({"connection": account, "hotel_code": self.hotel, "settings": {}});
        app.put(&path, body).await.expect(201);
        let mut mappings = vec![json!({
            "room_type": "double", "channel_room_code": self.room, "pool": "shared",
        })];
        mappings.extend(rate.map(|rate| {
            json!({
                "room_type": "double", "rate_plan": "flex", "channel_room_code": self.room,
                "channel_rate_code": rate, "pool": "shared",
            })
        }));
        app.put(&format!("{path}/mappings"), Value::Array(mappings))
            .await
            .expect(200);
        let live = app
            .post(&format!("{path}/go-live"), json!({"waive_import": true}))
            .await;
        live.expect(200);
    }

    /// The account's path.
    pub fn path(&self) -> String {
        format!("/v1/properties/{}/accounts/{}", self.property, self.account)
    }

    /// A guest books a double room there for the nights `from..to` of [`TestApp::night`].
    pub fn sells(&self, app: &TestApp, from: i32, to: i32) -> Option<Sold> {
        let (from, to) = (app.night(from), app.night(to));
        let wish = Wish::one(self.hotel, self.room, from, to);
        self.channel.sell(&wish)
    }

    /// Rooms that guests see there on a night.
    pub fn shown(&self, night: Date) -> u32 {
        let shown = self.channel.shown(self.hotel, self.room, night);
        shown.map_or(0, |shown| shown.rooms)
    }

    /// Waits until guests see so many rooms there.
    pub async fn shows(&self, app: &TestApp, night: Date, rooms: u32) {
        let what = format!("{} shows {rooms} on {night}", self.account);
        let seen = until(|| async { (self.shown(night) == rooms).then_some(()) }).await;
        if seen.is_none() {
            let path = self.path();
            let account = said(app.request(Method::GET, &path)).await.body;
            let told = format!("{path}/told?from={night}&to={}", plus_days(night, 1));
            let told = app.get(&told).await.body;
            let shown = self.channel.shown(self.hotel, self.room, night);
            panic!("waited in vain: {what}, not {shown:?}; told was {told:#} of {account:#}");
        }
    }
}

/// Asks again and again; `None` when the patience is at its end. What the daemon does by itself is
/// not waited for in any other way.
pub async fn until<T, F>(mut ask: impl FnMut() -> F) -> Option<T>
where
    F: Future<Output = Option<T>>,
{
    for _ in 0..1_500 {
        if let Some(answer) = ask().await {
            return Some(answer);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    None
}
