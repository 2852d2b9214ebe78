//! Safety: of two channels one takes what it is told within two seconds and the other after a
//! minute and a half. The last rooms of a night are kept back from the slow one, and not from the
//! quick one; and a receptionist reads why.

use jiff::civil::Weekday;
use keyrack_distribution::safety;
use keyrack_sandbox::Faults;
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::channel::{Listing, Stage, until};

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
    pass(app, stage, 2).await;
    hold(&stage.booking, false);
    taken(app, &stage.booking, (0, NIGHTS), left).await;
    pass(app, stage, 88).await;
    hold(&stage.portal, false);
    taken(app, &stage.portal, (0, NIGHTS), left).await;
}

/// Waits until it is known that a channel has taken so many rooms for the nights `from..to`: from
/// then on the clock may be moved, and no lag is measured by it.
async fn taken(app: &TestApp, listing: &Listing, (from, to): (i32, i32), left: u32) {
    let (from, to) = (app.night(from), app.night(to));
    let path = format!("{}/told?from={from}&to={to}", listing.path());
    let is_taken = |told: &Value| {
        told["values"]["rooms"].is_null()
            || told["values"]["rooms"] == left && told["acknowledged_at"].is_string()
    };
    let all = until(|| async {
        let told = app.get(&path).await.expect(200);
        let told = told["items"].as_array().expect("what was told");
        told.iter().all(is_taken).then_some(())
    });
    assert!(all.await.is_some(), "{} took {left}", listing.account);
    let quiet = until(|| async {
        let account = app.get(&listing.path()).await.expect(200);
        (account["queue_depth"] == 0).then_some(())
    });
    assert!(quiet.await.is_some(), "{} is told all", listing.account);
}

/// The first night from this one on that is judged with those of the week, and not with Fridays
/// and Saturdays.
fn of_the_week(app: &TestApp, night: i32) -> i32 {
    let is_weekend = |night: i32| {
        let day = app.night(night).weekday();
        matches!(day, Weekday::Friday | Weekday::Saturday)
    };
    let mut nights = night..;
    let found = nights.find(|night| !is_weekend(*night));
    found.expect("every week has such nights")
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
    let rush = of_the_week(app, 3);
    for _ in 0..12 {
        booked(app, rush, rush + 1, 1).await;
        left -= 1;
        for listing in [&stage.booking, &stage.portal] {
            taken(app, listing, (rush, rush + 1), left).await;
        }
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
        let nights = (NIGHTS * other, NIGHTS * (other + 1));
        taken(app, listing, nights, ROOMS - 1).await;
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
    // A message that is under way while the clock is turned is nobody else's to send.
    let app = TestApp::start_with(|config| config.distribution.push_lease_seconds = 3_600).await;
    let stage = Stage::live(&app, ROOMS).await;
    past_sales(&app, &stage).await;
    let rules = json!({"rules": [{"safety": {}}]});
    app.put(&format!("{LINDE}/buffer-rules"), rules)
        .await
        .expect(200);
    // Unless the daemon has done so by itself in the meantime.
    safety::measure_due(&app.distribution, 60)
        .await
        .expect("measured");
    let mut night = 100;
    for left in [4, 1, 3] {
        night = of_the_week(&app, night + 1);
        booked(&app, night, night + 1, 60 - left).await;
        let left = u32::try_from(left).unwrap();
        stage.booking.shows(&app, app.night(night), left).await;
        let told = left.saturating_sub(3);
        stage.portal.shows(&app, app.night(night), told).await;
    }
    let why = kept(&app, &stage.portal, night).await;
    for part in ["3 of 3 are kept back for safety", "allowed is once in 1000"] {
        assert!(why.contains(part), "{part:?} in {why:?}");
    }
    // A minute and a half, and what this machine took to tell and to hear; lags are counted in
    // steps of a fifth.
    let (_, most) = why.split_once("99 of 100 within ").expect("a measured lag");
    let (seconds, _) = most.split_once(' ').expect("a unit");
    let seconds: i32 = seconds.parse().expect("seconds");
    assert!((90..=130).contains(&seconds), "{why}");
    let why = kept(&app, &stage.booking, night).await;
    assert!(why.starts_with("0 of 3 are kept back"), "{why}");
    app.end().await;
    stage.sandbox.stop().await;
}
