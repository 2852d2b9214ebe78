//! Pools from the command line: what the API says, said to whoever sits at a shell.

use serde_json::{Value, json};

use crate::app::TestApp;
use crate::command::{Called, Paper, keyrack};
use crate::import::listed;

const TOUR: &str = "/v1/properties/linde/allotments/tour";

async fn pools(app: &TestApp, arguments: &[&str]) -> Called {
    let url = app.database_url();
    keyrack(&[&["pools"], arguments].concat(), &[("DATABASE_URL", &url)]).await
}

/// Agrees `rooms` rooms of the tour's over the nights `from..to` of the story.
async fn agree(app: &TestApp, (from, to): (i32, i32), rooms: &str, more: &[&str]) -> Called {
    let (from, to) = (app.night(from).to_string(), app.night(to).to_string());
    let asked = [
        "agree", "tour", "--from", &from, "--to", &to, "--rooms", rooms,
    ];
    pools(app, &[&asked, more].concat()).await
}

fn well(called: Called) -> Called {
    assert_eq!(called.status, 0, "{}{}", called.out, called.err);
    called
}

const NEW: [&str; 6] = [
    "--account",
    "booking",
    "--room-type",
    "double",
    "--release-period",
    "3",
];

#[tokio::test]
async fn rooms_are_agreed_tried_and_forced_as_the_api_would() {
    let app = TestApp::start().await;
    listed(&app).await;
    let dry = agree(&app, (0, 2), "3", &[&NEW[..], &["--dry-run"]].concat()).await;
    assert_eq!(dry.status, 1, "{}", dry.err);
    assert!(dry.out.contains("would be refused"), "{}", dry.out);
    assert!(dry.out.contains(&app.night(1).to_string()), "{}", dry.out);
    let sellers = "Accounts that sell them: booking";
    assert!(dry.out.contains(sellers), "{}", dry.out);
    assert_eq!(app.get(TOUR).await.status, 404, "a dry run writes nothing");

    let refused = agree(&app, (0, 2), "3", &NEW).await;
    let body = json!({
        "account": "booking", "room_type": "double", "release_period_days": 3,
        "values": [{"from": app.night(0), "to": app.night(2), "rooms": 3}],
    });
    let problem = app.put(TOUR, body).await.expect(409);
    let detail = problem["detail"].as_str().unwrap();
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains(detail), "{} / {detail}", refused.err);
    let as_json = agree(&app, (0, 2), "3", &[&NEW[..], &["--json"]].concat()).await;
    assert_eq!(as_json.status, 1);
    assert_eq!(as_json.json()["code"], problem["code"]);
    assert_eq!(as_json.json()["nights"], problem["nights"]);

    let bare = agree(&app, (0, 2), "1", &[]).await;
    assert!(bare.err.contains("--release-period"), "{}", bare.err);
    well(agree(&app, (0, 2), "1", &NEW).await);
    // What was agreed before stays, and so do the terms.
    let more = well(agree(&app, (2, 3), "2", &["--cut-off", "2030-01-01", "--json"]).await);
    let shown = app.get(TOUR).await.expect(200);
    assert_eq!(more.json()["allotment"], shown);
    let value = |from: i32, to: i32, rooms: i32| {
        let (from, to) = (app.night(from), app.night(to));
        json!({ "from": from, "to": to, "rooms": rooms })
    };
    assert_eq!(shown["values"], json!([value(0, 2, 1), value(2, 3, 2)]));
    assert_eq!(shown["release_period_days"], 3);

    let forced = [
        "--force", "oversell", "--reason", "a fair", "--actor", "Änne",
    ];
    let half = agree(&app, (1, 2), "5", &forced[..2]).await;
    assert_eq!(half.status, 2, "a force without its reason is no command");
    let hit = well(agree(&app, (1, 2), "5", &forced).await);
    assert!(hit.out.contains("Forced"), "{}", hit.out);
    let night = app.night(1);
    let path = format!("/v1/properties/linde/nights/double/{night}/ledger");
    let written = app.get(&path).await.expect(200).to_string();
    for word in ["command:pools (Änne)", "forced: a fair"] {
        assert!(written.contains(word), "{word}: {written}");
    }
    let only = well(agree(&app, (1, 2), "0", &["--only"]).await);
    assert!(only.out.contains("nothing is agreed"), "{}", only.out);
    assert_eq!(app.free("linde", app.night(0), app.night(3)).await, [2; 3]);
    app.end().await;
}

#[tokio::test]
async fn what_is_left_goes_back_by_night_or_whole_and_the_pickup_says_so() {
    let app = TestApp::start().await;
    listed(&app).await;
    well(agree(&app, (0, 3), "2", &NEW).await);
    let mut wish = app.wish("confirmed", 0, 2);
    wish["rooms"][0]["allotment"] = json!("tour");
    app.post("/v1/properties/linde/reservations", wish)
        .await
        .expect(201);
    let (from, to) = (app.night(0).to_string(), app.night(3).to_string());
    let nights = ["--from", from.as_str(), "--to", to.as_str()];
    let show = || async { well(pools(&app, &[&["show"], &nights[..]].concat()).await).out };
    let shown = show().await;
    assert!(
        shown.contains("allotment tour: double for account booking"),
        "{shown}"
    );
    let row = format!("{from}  {}       2      1     1         0", app.night(2));
    assert!(shown.contains(&row), "{shown}\n{row}");

    let json = well(pools(&app, &[&["show", "--json"], &nights[..]].concat()).await).json();
    let query = format!("from={from}&to={to}");
    let read = async |path: &str| app.get(&format!("{path}?{query}")).await.expect(200);
    let availability = read("/v1/properties/linde/availability").await;
    assert_eq!(
        json["availability"]["room_types"],
        availability["room_types"]
    );
    assert_eq!(json["pickup"][0], read(&format!("{TOUR}/pickup")).await);

    let some = [
        "release",
        "tour",
        "--from",
        &from,
        "--to",
        &app.night(1).to_string(),
    ];
    let dry = well(pools(&app, &[&some[..], &["--dry-run"]].concat()).await);
    assert!(
        dry.out
            .contains(&format!("{from}  {}      1", app.night(1))),
        "{}",
        dry.out
    );
    assert_eq!(show().await, shown, "a dry run changes nothing");
    well(pools(&app, &some).await);
    assert_eq!(
        app.free("linde", app.night(0), app.night(3)).await,
        [1, 0, 0]
    );
    well(pools(&app, &["release", "tour"]).await);
    assert_eq!(
        app.free("linde", app.night(0), app.night(3)).await,
        [1, 1, 2]
    );
    let pickup = read(&format!("{TOUR}/pickup")).await;
    let last = &pickup["nights"][2];
    let counts = ["agreed", "taken", "left", "released"].map(|field| last[field].as_i64());
    assert_eq!(counts, [Some(2), Some(0), Some(0), Some(2)], "{pickup}");
    app.end().await;
}

#[tokio::test]
async fn what_is_given_back_whole_falls_back_until_it_has_another_cut_off() {
    let app = TestApp::start().await;
    listed(&app).await;
    well(agree(&app, (0, 3), "1", &NEW).await);
    well(pools(&app, &["release", "tour"]).await);
    let nothing = well(pools(&app, &["release", "tour"]).await);
    assert!(
        nothing.out.contains("Nothing is left of tour"),
        "{}",
        nothing.out
    );
    let late = agree(&app, (0, 1), "2", &[]).await;
    assert_eq!(late.status, 1, "{}", late.out);
    assert!(late.err.contains("cut-off is over"), "{}", late.err);
    let anew = well(agree(&app, (2, 3), "2", &["--no-cut-off"]).await);
    assert!(!anew.out.contains("falls back at once"), "{}", anew.out);
    assert_eq!(app.free("linde", app.night(2), app.night(3)).await, [0]);
    let past = [
        "release",
        "tour",
        "--from",
        "2020-01-01",
        "--to",
        "2020-01-03",
    ];
    let past = pools(&app, &past).await;
    assert!(past.err.contains("what is past stays"), "{}", past.err);
    let unknown = pools(&app, &["release", "nobodys"]).await;
    assert_eq!(unknown.status, 1);
    assert!(
        unknown.err.contains("There is no such allotment"),
        "{}",
        unknown.err
    );
    app.end().await;
}

#[tokio::test]
async fn rules_say_where_they_hold() {
    let app = TestApp::start().await;
    listed(&app).await;
    well(agree(&app, (0, 2), "1", &NEW).await);
    let rules = json!({"rules": [
        {"account": "booking", "pool": "allotment", "when_free": 0, "until_free": 2},
        {"account": "booking", "pool": "shared", "from": app.night(5), "to": app.night(7)},
    ]});
    let path = "/v1/properties/linde/pool-rules";
    app.put(path, rules).await.expect(200);
    let buffers = json!({"rules": [{"account": "booking", "close_at": 1}]});
    let buffers = app
        .put("/v1/properties/linde/buffer-rules", buffers)
        .await
        .expect(200);
    let before = well(pools(&app, &["rules"]).await).out;
    assert!(before.contains("switched off on every night"), "{before}");
    assert!(before.contains("on its nights"), "{before}");
    assert!(before.contains("all, when 1 or fewer are left"), "{before}");
    let sold = app.wish("confirmed", 0, 1);
    app.post("/v1/properties/linde/reservations", sold)
        .await
        .expect(201);
    let after = well(pools(&app, &["rules"]).await).out;
    let (from, to) = (app.night(0), app.night(1));
    assert!(
        after.contains(&format!("switched on: double {from}..{to}")),
        "{after}"
    );
    let json = well(pools(&app, &["rules", "--json"]).await).json();
    assert_eq!(json["pool_rules"], app.get(path).await.expect(200));
    assert_eq!(json["buffer_rules"], buffers);
    let on = json!([{"rule": 1, "room_type": "double", "from": from, "to": to}]);
    assert_eq!(json["switches"]["switches"], on);
    app.end().await;
}

#[tokio::test]
async fn a_number_says_why_it_is_told_now_and_what_was_told_before() {
    let app = TestApp::start().await;
    listed(&app).await;
    let buffers = json!({"rules": [{"account": "booking", "close_at": 1}]});
    let path = "/v1/properties/linde/buffer-rules";
    app.put(path, buffers).await.expect(200);
    let (night, cell) = (app.night(0).to_string(), "account=booking&room_type=double");
    let asked = [
        "--account",
        "booking",
        "--room-type",
        "double",
        "--night",
        &night,
    ];
    let explain = well(pools(&app, &[&["explain"], &asked[..]].concat()).await).out;
    let path = format!("/v1/properties/linde/explain?{cell}&stay_date={night}");
    let told: Value = app.get(&path).await.expect(200);
    for line in told["lines"].as_array().unwrap() {
        assert!(
            explain.contains(line["why"].as_str().unwrap()),
            "{explain}\n{line}"
        );
    }
    let as_json = pools(&app, &[&["explain", "--json"], &asked[..]].concat()).await;
    assert_eq!(as_json.json(), told);
    let past = ["explain", "--at", "2026-01-01T00:00:00Z"];
    let past = well(pools(&app, &[&past, &asked[..]].concat()).await).out;
    assert!(
        past.contains("nothing had been told of it by then"),
        "{past}"
    );
    let unknown = [
        "explain",
        "--account",
        "expedia",
        "--room-type",
        "double",
        "--night",
        &night,
    ];
    let unknown = pools(&app, &unknown).await;
    assert_eq!(unknown.status, 1);
    assert!(
        unknown.err.contains("There is no such account")
            || unknown.err.contains("there is no such account"),
        "{}",
        unknown.err
    );
    app.end().await;
}

#[tokio::test]
async fn a_rooming_list_is_taken_whole_or_the_good_lines_and_nobody_twice() {
    let app = TestApp::start().await;
    app.hotel("linde", 3).await;
    let group = json!({"name": "Wedding"});
    app.put("/v1/properties/linde/groups/wedding", group)
        .await
        .expect(201);
    let block = json!({
        "group": "wedding", "room_type": "double", "release_period_days": 3,
        "values": [{"from": app.night(0), "to": app.night(2), "rooms": 2}],
    });
    app.put("/v1/properties/linde/allotments/block", block)
        .await
        .expect(201);
    let (first, second) = (app.night(0), app.night(1));
    let list = Paper::of(
        "rooming.csv",
        &format!(
            "guest_name,arrival,departure\nAda,{first},{second}\nBob,{second},{first}\n\
             Cyd,{first},{second}\n"
        ),
    );
    let url = app.database_url();
    let take = async |more: &[&str]| {
        let asked = ["rooming-list", list.path(), "--group", "wedding"];
        keyrack(&[&asked, more].concat(), &[("DATABASE_URL", &url)]).await
    };
    let refused = take(&[]).await;
    assert_eq!(refused.status, 1, "{}", refused.out);
    assert!(refused.err.contains("ine 3"), "{}", refused.err);
    assert_eq!(app.free("linde", first, second).await, [1]);
    let pickup = "/v1/properties/linde/allotments/block/pickup";
    let pickup = format!("{pickup}?from={first}&to={second}");
    let taken = async || app.get(&pickup).await.expect(200)["nights"][0]["taken"].clone();
    assert_eq!(taken().await, 0);
    for round in ["first", "second"] {
        let some = take(&["--skip-bad-lines"]).await;
        assert_eq!(some.status, 1, "a line is not taken: {}", some.err);
        assert!(some.out.contains("2 made, 1 not"), "{round}: {}", some.out);
        assert!(
            !some.out.contains("Ada"),
            "guests are not told: {}",
            some.out
        );
        assert_eq!(taken().await, 2, "{round}");
    }
    let strange = ["rooming-list", list.path(), "--group", "nobody"];
    let strange = keyrack(&strange, &[("DATABASE_URL", &url)]).await;
    assert!(
        strange.err.contains("There is no such group"),
        "{}",
        strange.err
    );
    app.end().await;
}
