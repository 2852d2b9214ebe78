//! Safety: of two channels one takes what it is told within two seconds and the other after a
//! minute and a half. The last rooms of a night are kept back from the slow one, and not from the
//! quick one; and a receptionist reads why.

use keyrack_distribution::safety;
use keyrack_sandbox::Faults;
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::channel::{Listing, Stage};

const LINDE: &str = "/v1/properties/linde";
/// Rooms of the hotel.
const ROOMS: u32 = 60;
/// The nights of the past weeks' bookings.
const NIGHTS: i32 = 30;

/// Whether a channel takes messages about rooms; it is asked as ever.
fn hold(listing: &Listing, held: bool) {
    listing.channel.set_faults(Faults {
        held,
        only: vec!["OTA_HotelAvail".to_owned(), "OTA_HotelInv".to_owned()],
        ..Faults::default()
    });
}

/// Time passes at the hotel and at its channels.
async fn pass(app: &TestApp, stage: &Stage, seconds: u32) {
    app.pass(&format!("{seconds} seconds")).await;
    stage.sandbox.clock().advance(seconds * 1_000);
}

/// The desk books `rooms` doubles for the nights `from..to`.
async fn booked(app: &TestApp, from: i32, to: i32, rooms: i32) {
    let mut body = app.wish("confirmed", from, to);
    body["rooms"][0]["quantity"] = json!(rooms);
    app.post(&format!("{LINDE}/reservations"), body)
        .await
        .expect(201);
}

/// One channel takes what is told after two seconds, the other after ninety.
async fn told_late(app: &TestApp, stage: &Stage, left: u32) {
    let last = app.night(NIGHTS - 1);
    pass(app, stage, 2).await;
    hold(&stage.booking, false);
    stage.booking.shows(app, last, left).await;
    pass(app, stage, 88).await;
    hold(&stage.portal, false);
    stage.portal.shows(app, last, left).await;
}

/// The sales of the past days: a room on every night now and then, and one burst of a dozen within
/// a few minutes.
async fn past_sales(app: &TestApp, stage: &Stage) {
    let mut left = ROOMS;
    heard_quickly(app, stage).await;
    for _ in 0..20 {
        for listing in [&stage.booking, &stage.portal] {
            hold(listing, true);
        }
        booked(app, 0, NIGHTS, 1).await;
        left -= 1;
        told_late(app, stage, left).await;
        pass(app, stage, 7 * 3_600).await;
    }
    for _ in 0..12 {
        booked(app, 3, 4, 1).await;
        pass(app, stage, 20).await;
    }
}

/// Guests book at both channels, and are heard of within a second or two.
async fn heard_quickly(app: &TestApp, stage: &Stage) {
    for (listing, first) in [(&stage.booking, NIGHTS), (&stage.portal, 2 * NIGHTS)] {
        for night in first..first + NIGHTS {
            listing.sells(app, night, night + 1).expect("it shows all");
        }
    }
    for (listing, other) in [(&stage.booking, 2), (&stage.portal, 1)] {
        let last = app.night(NIGHTS * (other + 1) - 1);
        listing.shows(app, last, ROOMS - 1).await;
    }
}

async fn explained(app: &TestApp, listing: &Listing, night: i32) -> Vec<Value> {
    let (account, night) = (listing.account, app.night(night));
    let path = format!("{LINDE}/explain?account={account}&room_type=double&stay_date={night}");
    let lines = app.get(&path).await.expect(200)["lines"].clone();
    lines.as_array().expect("lines").clone()
}

/// The line in which a rule of safety says what it keeps back.
async fn kept(app: &TestApp, listing: &Listing, night: i32) -> String {
    let lines = explained(app, listing, night).await;
    let rule = lines.iter().find(|line| line["step"] == "buffer_rule");
    let rule = rule.unwrap_or_else(|| panic!("no rule binds: {lines:#?}"));
    rule["why"].as_str().expect("words").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_three_rooms_are_kept_from_a_channel_that_lags_90_seconds_and_not_from_one_of_2() {
    let app = TestApp::start().await;
    let stage = Stage::live(&app, ROOMS).await;
    past_sales(&app, &stage).await;
    let rules = json!({"rules": [{"safety": {}}]});
    app.put(&format!("{LINDE}/buffer-rules"), rules)
        .await
        .expect(200);
    app.pass("61 seconds").await;
    safety::measure_due(&app.distribution, 60)
        .await
        .expect("measured");
    println!("booking: {}", kept(&app, &stage.booking, 100).await);
    println!("portal: {}", kept(&app, &stage.portal, 100).await);
    for (night, left) in [(100, 4), (101, 3), (102, 1)] {
        booked(&app, night, night + 1, 60 - left).await;
        let left = u32::try_from(left).unwrap();
        stage.booking.shows(&app, app.night(night), left).await;
        let told = left.saturating_sub(3);
        stage.portal.shows(&app, app.night(night), told).await;
    }
    let why = kept(&app, &stage.portal, 101).await;
    for part in ["3 of 3 are kept back for safety", "allowed is once in 1000"] {
        assert!(why.contains(part), "{part:?} in {why:?}");
    }
    let why = kept(&app, &stage.booking, 101).await;
    assert!(why.starts_with("0 of 3 are kept back"), "{why}");
    app.end().await;
    stage.sandbox.stop().await;
}
