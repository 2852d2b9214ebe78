//! High season: two accounts live on what was agreed with them, by the calendar or while few rooms
//! are left, and sell what everybody sells again after it.

use keyrack_model::stay::plus_days;
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::channel::{Listing, Stage};

const LINDE: &str = "/v1/properties/linde";

/// Twelve doubles, of which two are agreed with one channel and four with the other; six are left
/// for everybody.
async fn agreed(app: &TestApp) -> Stage {
    let stage = Stage::live(app, 12).await;
    for (listing, rooms) in [(&stage.booking, 2), (&stage.portal, 4)] {
        let body = json!({
            "account": listing.account, "room_type": "double", "release_period_days": 0,
            "values": [{"from": app.night(0), "to": app.night(20), "rooms": rooms}],
        });
        app.put(&format!("{LINDE}/allotments/{}", listing.account), body)
            .await
            .expect(201);
    }
    stage
}

/// Both channels show so many on a night.
async fn show(app: &TestApp, stage: &Stage, night: i32, (booking, portal): (u32, u32)) {
    stage.booking.shows(app, app.night(night), booking).await;
    stage.portal.shows(app, app.night(night), portal).await;
}

async fn rules(app: &TestApp, rules: &[Value]) {
    let body = json!({ "rules": rules });
    app.put(&format!("{LINDE}/pool-rules"), body)
        .await
        .expect(200);
}

/// Rooms of a night that an account has drawn from its allotment, and that are left of it.
async fn drawn(app: &TestApp, listing: &Listing, night: i32) -> (i64, i64) {
    let (from, to) = (app.night(night), app.night(night + 1));
    let allotment = format!("{LINDE}/allotments/{}", listing.account);
    let pickup = app
        .get(&format!("{allotment}/pickup?from={from}&to={to}"))
        .await;
    let night = pickup.expect(200)["nights"][0].clone();
    let count = |name: &str| night[name].as_i64().expect("a count");
    (count("taken"), count("left"))
}

async fn free(app: &TestApp, night: i32) -> i64 {
    let (from, to) = (app.night(night), app.night(night + 1));
    app.free("linde", from, to).await[0]
}

/// The calculation of what an account is told of a night, as one text.
async fn explained(app: &TestApp, listing: &Listing, night: i32) -> String {
    let (account, night) = (listing.account, app.night(night));
    let path = format!("{LINDE}/explain?account={account}&room_type=double&stay_date={night}");
    let lines = app.get(&path).await.expect(200)["lines"].clone();
    let each = lines.as_array().expect("lines").iter();
    let words: Vec<&str> = each.filter_map(|line| line["why"].as_str()).collect();
    words.join("; ")
}

/// The desk books a double from one night to another; gives its id.
async fn booked(app: &TestApp, from: i32, to: i32) -> String {
    let body = app.wish("confirmed", from, to);
    let made = app.post(&format!("{LINDE}/reservations"), body).await;
    made.expect(201)["id"].as_str().expect("an id").to_owned()
}

async fn cancelled(app: &TestApp, id: &str) {
    let path = format!("{LINDE}/reservations/{id}/cancel");
    app.post(&path, json!({})).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn high_season_switches_two_accounts_to_their_allotments_and_back() {
    let app = TestApp::start().await;
    let stage = agreed(&app).await;
    let (booking, portal) = (&stage.booking, &stage.portal);
    show(&app, &stage, 6, (6, 6)).await;

    let season = |listing: &Listing| {
        json!({"account": listing.account, "from": app.night(5), "to": app.night(10),
               "pool": "allotment"})
    };
    rules(&app, &[season(booking), season(portal)]).await;
    for (night, shown) in [(4, (6, 6)), (5, (2, 4)), (9, (2, 4)), (10, (6, 6))] {
        show(&app, &stage, night, shown).await;
    }
    let why = explained(&app, booking, 6).await;
    assert!(why.contains("lives on its allotment only"), "{why}");
    assert!(why.contains("2 rooms are left of its allotment"), "{why}");

    // A guest of the season takes a room that was kept for his channel, and nobody else's.
    let guest = booking.sells(&app, 6, 7).expect("it shows two");
    until_drawn(&app, booking, 6, (1, 1)).await;
    show(&app, &stage, 6, (1, 4)).await;
    assert_eq!(free(&app, 6).await, 6, "what is shared is untouched");
    // The desk sells what is shared: of no concern to them in season, and told behind it.
    booked(&app, 6, 11).await;
    show(&app, &stage, 10, (5, 5)).await;
    show(&app, &stage, 6, (1, 4)).await;
    let second = booking.sells(&app, 6, 7).expect("it shows one");
    booking.shows(&app, app.night(6), 0).await;
    until_drawn(&app, booking, 6, (2, 0)).await;
    assert!(
        booking.sells(&app, 6, 7).is_none(),
        "five are free, not to it"
    );
    assert_eq!(free(&app, 6).await, 5);

    // What is given back goes back where it came from.
    booking
        .channel
        .cancel(&second.reference)
        .expect("it is there");
    until_drawn(&app, booking, 6, (1, 1)).await;
    show(&app, &stage, 6, (1, 4)).await;

    // After the season both sell what everybody sells; its guest stays in his room.
    rules(&app, &[]).await;
    show(&app, &stage, 6, (5, 5)).await;
    assert_eq!(drawn(&app, booking, 6).await, (1, 1));
    // What a channel has sold is a fact, and takes of what is kept for it before it takes of what
    // is everybody's: of that it shows as many as before, though it counted itself down.
    portal.sells(&app, 6, 7).expect("it shows five");
    until_drawn(&app, portal, 6, (1, 3)).await;
    assert_eq!(free(&app, 6).await, 5);
    show(&app, &stage, 6, (5, 5)).await;
    booking
        .channel
        .cancel(&guest.reference)
        .expect("it is there");
    until_drawn(&app, booking, 6, (0, 2)).await;
    assert_eq!(free(&app, 6).await, 5, "his room was never shared");
    app.end().await;
    stage.sandbox.stop().await;
}

async fn until_drawn(app: &TestApp, listing: &Listing, night: i32, meant: (i64, i64)) {
    let seen = crate::channel::until(|| async {
        (drawn(app, listing, night).await == meant).then_some(())
    });
    assert!(seen.await.is_some(), "not drawn: {meant:?} on {night}");
}

#[tokio::test(flavor = "multi_thread")]
async fn while_rooms_are_scarce_both_live_on_their_allotments_and_one_cancellation_turns_nothing() {
    let app = TestApp::start().await;
    let stage = agreed(&app).await;
    let scarce = |listing: &Listing| {
        let account = listing.account;
        json!({"account": account, "pool": "allotment", "when_free": 1, "until_free": 5})
    };
    rules(&app, &[scarce(&stage.booking), scarce(&stage.portal)]).await;
    let mut guests = Vec::new();
    for left in [5, 4, 3, 2] {
        guests.push(booked(&app, 15, 16).await);
        show(&app, &stage, 15, (left, left)).await;
    }
    guests.push(booked(&app, 15, 16).await);
    show(&app, &stage, 15, (2, 4)).await;
    let why = explained(&app, &stage.portal, 15).await;
    let rule = "since 1 or fewer rooms were free, until 5 are";
    assert!(why.contains(rule), "{why}");

    let told = |listing: &Listing| numbers(&app, listing, 15);
    let before = [told(&stage.booking), told(&stage.portal)];
    for (guest, left) in guests.iter().zip([2, 3, 4]) {
        cancelled(&app, guest).await;
        assert_eq!(free(&app, 15).await, left);
    }
    cancelled(&app, &guests[3]).await;
    show(&app, &stage, 15, (5, 5)).await;
    for (listing, mut before) in [&stage.booking, &stage.portal].into_iter().zip(before) {
        before.push(5);
        assert_eq!(told(listing), before, "{} did not flap", listing.account);
    }
    show(&app, &stage, 14, (6, 6)).await;
    app.end().await;
    stage.sandbox.stop().await;
}

/// The numbers that a channel's guests saw of a night, each that is another than the last.
fn numbers(app: &TestApp, listing: &Listing, night: i32) -> Vec<u32> {
    let night = plus_days(app.night(0), night);
    let journal = listing.channel.journal();
    let changes = journal.nights.iter().filter(|change| change.night == night);
    let mut numbers: Vec<u32> = changes.map(|change| change.shown).collect();
    numbers.dedup();
    numbers
}
