//! The demo's hotel: four room types, two rate plans, a listing at each of two channels, and a good
//! part of it sold before either is connected.

use anyhow::{Context as _, Result};
use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{AlpineBits, BookingCom, Room, Wish};
use reqwest::Method;
use serde_json::{Value, json};

use super::client::Client;
use super::tell::Teller;

/// The demo's property.
pub const PROPERTY: &str = "seehof";
/// Nights that are open from today.
pub const NIGHTS: i32 = 130;

/// A room type and what both channels call it.
pub struct Type {
    pub code: &'static str,
    pub name: &'static str,
    pub rooms: i32,
    pub guests: i32,
    pub price: i32,
    pub booking_com: &'static str,
    pub alpinebits: &'static str,
}

/// The four room types.
pub const TYPES: [Type; 4] = [
    Type {
        code: "single",
        name: "Single",
        rooms: 8,
        guests: 1,
        price: 85,
        booking_com: "101",
        alpinebits: "SGL",
    },
    Type {
        code: "double",
        name: "Double",
        rooms: 14,
        guests: 2,
        price: 130,
        booking_com: "102",
        alpinebits: "DBL",
    },
    Type {
        code: "family",
        name: "Family room",
        rooms: 5,
        guests: 4,
        price: 190,
        booking_com: "103",
        alpinebits: "FAM",
    },
    Type {
        code: "suite",
        name: "Lake suite",
        rooms: 3,
        guests: 2,
        price: 280,
        booking_com: "104",
        alpinebits: "STE",
    },
];

/// Rate plans and what Booking.com calls them.
const PLANS: [(&str, &str, &str); 2] = [("flex", "Flexible", "901"), ("saver", "Saver", "902")];

/// A listing: the account's code, and the channel's code of the hotel.
pub struct Listing {
    pub account: &'static str,
    pub channel: &'static str,
    pub hotel: &'static str,
}

/// At the fake Booking.com.
pub const BOOKING_COM: Listing = Listing {
    account: "booking",
    channel: "booking_com",
    hotel: "7200",
};
/// At the fake portal that speaks AlpineBits.
pub const ALPINEBITS: Listing = Listing {
    account: "portal",
    channel: "alpinebits",
    hotel: "SEEHOF",
};

impl Type {
    /// What a channel calls it.
    pub fn code_at(&self, listing: &Listing) -> &'static str {
        if listing.channel == BOOKING_COM.channel {
            self.booking_com
        } else {
            self.alpinebits
        }
    }
}

/// Makes the hotels of the fake channels.
pub fn open_channels(booking_com: &BookingCom, alpinebits: &AlpineBits) -> Result<()> {
    let rooms = |code: fn(&Type) -> &'static str, rates: &[&str]| -> Result<Vec<Room>> {
        let room = |t: &Type| Ok(Room::new(code(t), rates, t.rooms.try_into()?));
        TYPES.iter().map(room).collect()
    };
    let rates: Vec<&str> = PLANS.iter().map(|(_, _, rate)| *rate).collect();
    booking_com.add_hotel(BOOKING_COM.hotel, &rooms(|t| t.booking_com, &rates)?);
    alpinebits.add_hotel(ALPINEBITS.hotel, &rooms(|t| t.alpinebits, &["STD"])?);
    Ok(())
}

/// Sets the hotel up over the API: property, types, plans, rates.
pub async fn set_up(client: &Client, today: Date) -> Result<()> {
    let property = json!({
        "name": "Hotel Seehof", "time_zone": "Europe/Rome", "currency": "EUR", "horizon_days":
        NIGHTS,
        "hold": {"hold_seconds": 900, "confirm_grace_seconds": 60, "extensions_max": 2,
                 "late_confirm": "refuse"},
    });
    client.put("", property).await?;
    for t in &TYPES {
        let body = json!({
            "name": t.name, "rooms": t.rooms, "counts": "rooms",
            "occupancy": {"adults_max": t.guests, "children_max": t.guests - 1, "total_max":
            t.guests},
        });
        client.put(&format!("room-types/{}", t.code), body).await?;
    }
    for (code, name, _) in PLANS {
        let body = json!({"name": name, "meal_plan": "breakfast"});
        client.put(&format!("rate-plans/{code}"), body).await?;
    }
    let mut values = Vec::new();
    for t in &TYPES {
        for (index, (plan, _, _)) in (0..).zip(PLANS) {
            values.push(json!({
                "room_type": t.code, "rate_plan": plan, "from": today, "to": plus_days(today,
                NIGHTS + 5),
                "rate": {"amount": format!("{}.00", t.price - 15 * index), "currency": "EUR"},
            }));
        }
    }
    client.post("rates", json!({"values": values})).await?;
    Ok(())
}

/// Where a fake channel stands and how one signs in there.
pub struct Login {
    pub endpoint: String,
    pub user: String,
    pub secret: String,
}

/// Connects a listing: login, account, mapping. It polls and records, and tells nothing yet.
pub async fn connect(client: &Client, listing: &Listing, login: Login) -> Result<()> {
    let connection = json!({
        "channel": listing.channel, "endpoint": login.endpoint,
        "credentials": {"user": login.user, "secret": login.secret},
        // The channels' own rhythm is 20 seconds and more; a demo has a minute for a day.
        "settings": {"poll_seconds": 1, "settle_after_acknowledge_seconds": 0,
                     "requests_per_minute": 6000},
    });
    let path = format!("connections/{}", listing.account);
    client
        .call(Method::PUT, &path, Some(connection))
        .await?
        .ok()
        .context("a connection")?;
    let account =
        json!({"connection": listing.account, "hotel_code": listing.hotel, "settings": {}});
    client
        .put(&format!("accounts/{}", listing.account), account)
        .await?;
    let mut mappings = Vec::new();
    for t in &TYPES {
        mappings.push(json!({
            "room_type": t.code, "channel_room_code": t.code_at(listing), "pool": "shared",
        }));
        if listing.channel == BOOKING_COM.channel {
            mappings.extend(PLANS.iter().map(|(plan, _, rate)| {
                json!({
                    "room_type": t.code, "rate_plan": plan, "channel_room_code": t.booking_com,
                    "channel_rate_code": rate, "pool": "shared",
                })
            }));
        }
    }
    client
        .put(
            &format!("accounts/{}/mappings", listing.account),
            Value::Array(mappings),
        )
        .await?;
    Ok(())
}

/// What going live would tell a listing.
pub async fn plan_go_live(client: &Client, listing: &Listing) -> Result<Value> {
    client
        .post(
            &format!("accounts/{}/go-live?dry_run=true", listing.account),
            waived(),
        )
        .await
}

/// Goes live: from now on the listing is told.
pub async fn go_live(client: &Client, listing: &Listing) -> Result<Value> {
    client
        .post(&format!("accounts/{}/go-live", listing.account), waived())
        .await
}

fn waived() -> Value {
    // What was sold before came through the desk and the channel itself.
    json!({"waive_import": true})
}

/// What was sold before the hotel came to us: by telephone, and at Booking.com.
pub async fn sell_before(
    client: &Client,
    booking_com: &BookingCom,
    teller: &Teller,
    today: Date,
) -> Result<()> {
    let mut desk = 0;
    for (index, t) in (0_i32..).zip(&TYPES) {
        for n in 0..t.rooms {
            let arrival = plus_days(today, 2 + (n * 7 + index * 3) % 50);
            let nights = 2 + (n + index) % 5;
            book(client, t.code, arrival, nights, 1).await?;
            desk += 1;
        }
    }
    let mut channel = 0;
    for (index, t) in (0_i32..).zip(&TYPES) {
        for n in 0..3 {
            let arrival = plus_days(today, 5 + n * 11 + index);
            let room = t.booking_com;
            let wish = Wish::one(BOOKING_COM.hotel, room, arrival, plus_days(arrival, 3));
            booking_com
                .sell(&wish.regardless())
                .context("an earlier guest of Booking.com")?;
            channel += 1;
        }
    }
    teller.line(&format!(
        "{desk} reservations were taken by telephone before, {channel} stand at Booking.com"
    ));
    Ok(())
}

/// A reservation taken at the desk.
pub async fn book(
    client: &Client,
    room_type: &str,
    arrival: Date,
    nights: i32,
    quantity: i32,
) -> Result<Value> {
    client
        .post(
            "reservations",
            wish(room_type, arrival, nights, quantity, "confirmed"),
        )
        .await
}

/// The body of a wish.
pub fn wish(room_type: &str, arrival: Date, nights: i32, quantity: i32, status: &str) -> Value {
    json!({
        "status": status, "source": "phone",
        "rooms": [{"room_type": room_type, "arrival": arrival, "departure": plus_days(arrival,
        nights),
                   "quantity": quantity, "adults": 1}],
        "guest": {"name": "Guest of the demo"},
    })
}
