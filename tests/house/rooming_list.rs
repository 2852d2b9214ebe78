//! A choir of forty sends its rooming list, and three lines of it are wrong: nothing of it is
//! taken, or the others are, as asked; and however often it is sent, nobody is booked twice.

use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Said, TestApp, said};

const LINDE: &str = "/v1/properties/linde";
/// The lines that are wrong, the columns being line 1, and what each must say.
const WRONG: [(u64, &str); 3] = [
    (
        8,
        "Departure: must be after the arrival, by at most 2,200 nights.",
    ),
    (
        20,
        "Room type: the group has no rooms of it, but of double: name one of these.",
    ),
    (34, "Arrival: must be a date as 2030-12-31."),
];

/// A hotel of fifty doubles, forty of which are kept for the choir for three nights.
async fn hotel() -> TestApp {
    let app = TestApp::start().await;
    app.hotel("linde", 50).await;
    let group = json!({"name": "The choir", "contact": "Ms Example"});
    app.put(&format!("{LINDE}/groups/choir"), group)
        .await
        .expect(201);
    let block = json!({
        "group": "choir", "room_type": "double", "release_period_days": 3,
        "values": [{"from": app.night(0), "to": app.night(3), "rooms": 40}],
    });
    app.put(&format!("{LINDE}/allotments/block"), block)
        .await
        .expect(201);
    app
}

/// The list, with its three wrong lines or mended.
fn list(app: &TestApp, is_mended: bool) -> String {
    let (from, to) = (app.night(0).to_string(), app.night(3).to_string());
    let mut lines = vec!["guest_name;arrival;departure;room_type;adults".to_owned()];
    for line in 2..42_u64 {
        let (mut arrival, mut departure, mut kind) = (from.as_str(), to.as_str(), "double");
        match line {
            8 if !is_mended => departure = &from,
            20 if !is_mended => kind = "suite",
            34 if !is_mended => arrival = "12th of May",
            _ => {}
        }
        if line % 5 == 0 {
            // Two of a name share a line's words, and are two guests all the same.
            lines.push(format!("Singer;{arrival};{departure};{kind};2"));
        } else {
            lines.push(format!("Singer {line};{arrival};{departure};{kind};1"));
        }
    }
    lines.join("\n")
}

async fn send(app: &TestApp, mode: &str, list: &str) -> Said {
    send_to(app, &app.url, mode, list).await
}

async fn send_to(app: &TestApp, url: &str, mode: &str, list: &str) -> Said {
    let path = format!("{LINDE}/groups/choir/rooming-list?mode={mode}");
    let request = app.request_at(url, Method::POST, &path);
    said(
        request
            .header("content-type", "text/csv")
            .body(list.to_owned()),
    )
    .await
}

/// Rooms drawn from the block on its first and last night, and reservations of the group.
async fn taken(app: &TestApp) -> (i64, i64, usize) {
    let (from, to) = (app.night(0), app.night(3));
    let path = format!("{LINDE}/allotments/block/pickup?from={from}&to={to}");
    let nights = app.get(&path).await.expect(200)["nights"].clone();
    let count = |night: usize| nights[night]["taken"].as_i64().expect("a count");
    let sheet = app.get(&format!("{LINDE}/groups/choir")).await.expect(200);
    let guests = sheet["reservations"].as_array().expect("a list").len();
    (count(0), count(2), guests)
}

fn counts(taken: &Value) -> [i64; 3] {
    ["made", "already", "refused"].map(|name| taken[name].as_i64().expect("a count"))
}

/// Each wrong line says what is wrong with it, and no other line says anything.
fn assert_names_the_wrong(taken: &Value) {
    let lines = taken["lines"].as_array().expect("lines");
    assert_eq!(lines.len(), 40);
    let wrong = lines.iter().filter(|line| line["why"].is_string());
    for (line, (number, why)) in wrong.clone().zip(WRONG) {
        assert_eq!((&line["line"], &line["why"]), (&json!(number), &json!(why)));
    }
    assert_eq!(wrong.count(), WRONG.len(), "{taken:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rooming_list_of_forty_with_three_wrong_lines_is_taken_as_asked_and_never_twice() {
    let app = hotel().await;
    let (twin, _) = app.twin().await;
    let broken = list(&app, false);
    let refused = send(&app, "all_or_nothing", &broken).await.expect(422);
    let errors = refused["errors"].as_array().expect("errors");
    let named: Vec<(&str, &str)> = errors
        .iter()
        .filter_map(|error| Some((error["pointer"].as_str()?, error["message"].as_str()?)))
        .collect();
    let meant = WRONG.map(|(line, why)| (format!("/line/{line}"), why));
    let meant: Vec<(&str, &str)> = meant.iter().map(|(at, why)| (at.as_str(), *why)).collect();
    assert_eq!(named, meant);
    assert_eq!(taken(&app).await, (0, 0, 0), "nothing of it is in");

    let good = send(&app, "good_ones", &broken).await.expect(200);
    assert_eq!(counts(&good), [37, 0, 3], "{good:#}");
    assert_names_the_wrong(&good);
    assert_eq!(taken(&app).await, (37, 37, 37));
    // The same list once more, by somebody who has not seen the report.
    let again = send(&app, "good_ones", &broken).await.expect(200);
    assert_eq!(counts(&again), [0, 37, 3], "{again:#}");
    assert_names_the_wrong(&again);
    assert_eq!(again["lines"][0]["number"], good["lines"][0]["number"]);
    assert_eq!(taken(&app).await, (37, 37, 37));

    // Mended, and sent whole, at two daemons at once.
    let mended = list(&app, true);
    let (here, there) = tokio::join!(
        send(&app, "good_ones", &mended),
        send_to(&app, &twin, "good_ones", &mended)
    );
    let (here, there) = (here.expect(200), there.expect(200));
    assert_eq!(
        counts(&here)[0] + counts(&there)[0],
        3,
        "{here:#} {there:#}"
    );
    assert_eq!(taken(&app).await, (40, 40, 40));
    let whole = send(&app, "all_or_nothing", &mended).await.expect(200);
    assert_eq!(counts(&whole), [0, 40, 0]);
    assert_eq!(taken(&app).await, (40, 40, 40));
    app.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_on_the_list_any_more_or_comes_otherwise_is_said_and_not_booked_beside() {
    let app = hotel().await;
    let (from, to) = (app.night(0), app.night(3));
    let list = |departure| {
        format!("guest_name,arrival,departure\nAda,{from},{departure}\nBob,{from},{to}\n")
    };
    let first = send(&app, "all_or_nothing", &list(to)).await.expect(200);
    assert_eq!(counts(&first), [2, 0, 0]);
    let number = first["lines"][0]["number"].as_str().expect("a number");
    let shorter = send(&app, "good_ones", &list(app.night(2)))
        .await
        .expect(200);
    assert_eq!(counts(&shorter), [0, 1, 1], "{shorter:#}");
    let why = shorter["lines"][0]["why"].as_str().expect("words");
    assert!(why.contains(&format!("reservation {number}")), "{why}");
    // Cancelled by the hotel, and on the list again: he comes after all.
    let id = first["lines"][1]["reservation"].as_str().expect("an id");
    let cancel = format!("{LINDE}/reservations/{id}/cancel");
    app.post(&cancel, json!({})).await.expect(200);
    let again = send(&app, "all_or_nothing", &list(to)).await.expect(200);
    assert_eq!(counts(&again), [1, 1, 0], "{again:#}");
    assert_eq!(taken(&app).await, (2, 2, 3));
    app.end().await;
}
