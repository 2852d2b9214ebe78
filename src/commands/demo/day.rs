//! A day in the hotel's life: guests come by both channels and at the desk, and four scenes show
//! what a channel manager is for.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use jiff::civil::Date;
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{Chance, Channel, Event, Faults, Guests, Habits, Latency, Sold, Wish};
use rand::{Rng as _, SeedableRng as _, rngs::SmallRng};
use reqwest::Method;
use serde_json::json;

use super::hotel::{ALPINEBITS, BOOKING_COM, Listing, TYPES, Type, book, wish};
use super::stage::Stage;

/// Steps of the day.
pub const STEPS: u64 = 110;
/// Steps before which a scene is played.
pub const SCENES: [u64; 4] = [25, 50, 75, 95];

/// Guests of both channels and of the desk, a step each.
pub async fn live(stage: &Stage, seed: u64) -> Result<()> {
    let habits = |hotel: &str| Habits {
        window_nights: 60,
        hotel: Some(hotel.to_owned()),
        ..Habits::default()
    };
    let mut booking = Guests::with_habits(&stage.booking_com, seed, habits(BOOKING_COM.hotel));
    let mut portal = Guests::with_habits(&stage.alpinebits, seed + 1, habits(ALPINEBITS.hotel));
    let mut dice = SmallRng::seed_from_u64(seed);
    for step in 0..STEPS {
        match SCENES.iter().position(|scene| *scene == step) {
            Some(0) => last_room_at_one_channel(stage).await?,
            Some(1) => last_room_at_the_desk(stage).await?,
            Some(2) => cancelled_twice(stage).await?,
            Some(_) => sold_in_the_lag(stage).await?,
            None => {}
        }
        match step % 5 {
            0 | 1 => tell(stage, "Booking.com", booking.step()),
            2 | 3 => tell(stage, "the portal", portal.step()),
            _ => at_the_desk(stage, &mut dice).await?,
        }
        stage.teller.step("a day at the Seehof");
        tokio::time::sleep(Duration::from_millis(dice.random_range(150..450))).await;
    }
    Ok(())
}

fn tell(stage: &Stage, channel: &str, event: Event) {
    let line = match event {
        Event::Booked(sold) => format!("a guest books at {channel}: {}", in_words(&sold)),
        Event::Asked(sold) => format!("a guest only asks at {channel}: {}", sold.reference),
        Event::Modified(sold) => format!("a guest changes at {channel}: {}", in_words(&sold)),
        Event::Cancelled(sold) => format!("a guest cancels at {channel}: {}", sold.reference),
        Event::Nothing => return,
    };
    stage.teller.line(&line);
}

fn in_words(sold: &Sold) -> String {
    let rooms: Vec<String> = sold
        .rooms
        .iter()
        .map(|room| format!("{} {}..{}", room.room, room.arrival, room.departure))
        .collect();
    format!("{} ({})", sold.reference, rooms.join(", "))
}

/// A telephone call: a hold that is confirmed or not, a walk-in, a cancellation.
async fn at_the_desk(stage: &Stage, dice: &mut SmallRng) -> Result<()> {
    let t = &TYPES[dice.random_range(0..TYPES.len())];
    let arrival = plus_days(stage.today, dice.random_range(0..60));
    let nights = dice.random_range(1..4);
    let status = if dice.random_range(0..3) == 0 {
        "held"
    } else {
        "confirmed"
    };
    let body = wish(t.code, arrival, nights, 1, status);
    let said = stage
        .client
        .at(Method::POST, "reservations", Some(body))
        .await?;
    let stay = format!("{} {arrival} for {nights} nights", t.code);
    if said.status == 409 {
        let other = said.body["alternatives"][0].clone();
        let instead = other["room_type"]
            .as_str()
            .map_or_else(String::new, |room_type| {
                format!(
                    ", {room_type} from {} would be free",
                    other["arrival"].as_str().unwrap_or("?")
                )
            });
        stage.teller.line(&format!(
            "the desk is asked for a {stay}: {}{instead}",
            said.code()
        ));
        return Ok(());
    }
    let booked = said.ok()?;
    let number = booked["number"].as_str().unwrap_or_default();
    stage
        .teller
        .line(&format!("the desk takes {number}: {stay}, {status}"));
    let id = booked["id"].as_str().context("an id")?;
    if status == "held" && dice.random_range(0..2) == 0 {
        let paid = json!({"payment_reference": format!("pay-{number}")});
        stage
            .client
            .post(&format!("reservations/{id}/confirm"), paid)
            .await?;
        stage
            .teller
            .line(&format!("the guest of {number} pays: confirmed"));
    } else if dice.random_range(0..4) == 0 {
        stage
            .client
            .post(
                &format!("reservations/{id}/cancel"),
                json!({"reason": "changed plans"}),
            )
            .await?;
        stage
            .teller
            .line(&format!("the guest of {number} calls again: cancelled"));
    }
    Ok(())
}

/// A night in the demo's quiet month with exactly `left` rooms of a type, wherever it is shown.
async fn night_with(stage: &Stage, t: &Type, offset: i32, left: i32) -> Result<Date> {
    let night = plus_days(stage.today, offset);
    let free = stage.free(t.code, night).await?;
    if free > left {
        book(&stage.client, t.code, night, 1, free - left).await?;
    }
    for (listing, channel) in stage.listings() {
        stage
            .shown_becomes(listing, channel, t, night, left)
            .await?;
    }
    Ok(night)
}

/// A guest takes the last suite at Booking.com; the portal must close.
async fn last_room_at_one_channel(stage: &Stage) -> Result<()> {
    let suite = &TYPES[3];
    let night = night_with(stage, suite, 100, 1).await?;
    stage.teller.heading("The last suite goes at Booking.com");
    let sold = sell(&stage.booking_com, &BOOKING_COM, suite, night)?;
    stage
        .teller
        .line(&format!("sold at Booking.com: {}", in_words(&sold)));
    let begun = Instant::now();
    stage
        .shown_becomes(&ALPINEBITS, &stage.alpinebits, suite, night, 0)
        .await?;
    stage.teller.line(&format!(
        "the portal shows none any more, {:.0} ms later",
        begun.elapsed().as_secs_f64() * 1_000.0
    ));
    Ok(())
}

/// The desk sells the last family room; both channels must close.
async fn last_room_at_the_desk(stage: &Stage) -> Result<()> {
    let family = &TYPES[2];
    let night = night_with(stage, family, 104, 1).await?;
    stage.teller.heading("The desk sells the last family room");
    let booked = book(&stage.client, family.code, night, 1, 1).await?;
    stage.teller.line(&format!(
        "sold at the desk: {} on {night}",
        booked["number"]
    ));
    let begun = Instant::now();
    for (listing, channel) in stage.listings() {
        stage
            .shown_becomes(listing, channel, family, night, 0)
            .await?;
    }
    stage.teller.line(&format!(
        "both channels show none any more, {:.0} ms later",
        begun.elapsed().as_secs_f64() * 1_000.0
    ));
    Ok(())
}

/// A cancellation is delivered again after it was acknowledged: the room comes back once.
async fn cancelled_twice(stage: &Stage) -> Result<()> {
    let single = &TYPES[0];
    let night = night_with(stage, single, 108, 3).await?;
    stage.teller.heading("A cancellation comes twice");
    let sold = sell(&stage.booking_com, &BOOKING_COM, single, night)?;
    stage.free_becomes(single.code, night, 2).await?;
    stage.booking_com.set_faults(Faults {
        duplicate: Chance::Next(1),
        ..Faults::default()
    });
    stage
        .booking_com
        .cancel(&sold.reference)
        .context("a cancellation at Booking.com")?;
    stage.free_becomes(single.code, night, 3).await?;
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    stage.booking_com.set_faults(Faults::default());
    let free = stage.free(single.code, night).await?;
    if free != 3 {
        bail!(
            "{} on {night}: {free} rooms are free after the repeat, 3 were expected",
            single.code
        );
    }
    stage.teller.line(&format!(
        "{} was cancelled and told again: {free} rooms free, the room came back once",
        sold.reference
    ));
    Ok(())
}

/// The portal is slow to take a close, and sells the room in between.
async fn sold_in_the_lag(stage: &Stage) -> Result<()> {
    let double = &TYPES[1];
    stage
        .teller
        .heading("The portal is slow, and sells what is gone");
    for chance in 0..LAGS_MAX {
        let night = night_with(stage, double, 112 + 4 * chance, 1).await?;
        stage.alpinebits.set_faults(Faults {
            latency: Latency::fixed(3_000),
            ..Faults::default()
        });
        book(&stage.client, double.code, night, 1, 1).await?;
        // An answer may be long in coming, where a daemon died over it: then it is too late.
        let sold = sell(&stage.alpinebits, &ALPINEBITS, double, night);
        let Ok(sold) = sold else {
            stage.alpinebits.set_faults(Faults::default());
            stage
                .teller
                .line("the portal heard of it in time after all");
            continue;
        };
        stage.teller.line(&format!(
            "sold at the portal, which had not yet heard: {}",
            in_words(&sold)
        ));
        let case = stage.open_case(double.code, night).await?;
        stage.alpinebits.set_faults(Faults::default());
        stage.teller.line(&format!(
            "overbooking case {} is open for {night}: cause {}, evidence {}",
            case["id"], case["cause"], case["evidence"]
        ));
        return Ok(());
    }
    bail!("the portal heard in time of each of {LAGS_MAX} rooms that went, slow as it was");
}

fn sell(channel: &Channel, listing: &Listing, t: &Type, night: Date) -> Result<Sold> {
    let wish = Wish::one(
        listing.hotel,
        t.code_at(listing),
        night,
        plus_days(night, 1),
    );
    channel.sell(&wish).with_context(|| {
        format!(
            "{} shows no {} on {night}, and should",
            listing.channel, t.code
        )
    })
}

/// Nights on which the portal gets its chance to sell what is gone.
const LAGS_MAX: i32 = 4;
