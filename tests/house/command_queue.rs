//! The overbooking queue from the command line: every case is read, worked and ended there, and
//! says what the API says of it.

use std::time::Duration;

use serde_json::{Value, json};

use crate::app::TestApp;
use crate::command::{Called, keyrack};

const CASES: &str = "/v1/properties/linde/overbooking-cases";

/// A hotel with a double and a single, whose double is sold twice for two nights by force; the
/// second reservation, and the number of the case.
async fn oversold() -> (TestApp, Value, String) {
    let app = TestApp::start().await;
    app.hotel("linde", 1).await;
    let policy = json!({
        "compensation": [{"amount_minor": 10_000, "per_night_minor": 2_500}],
        "upgrade_per_night_minor": 1_000, "approval_above_minor": 14_000,
    });
    let hotel = json!({
        "name": "Zur Linde", "time_zone": "Europe/Vienna", "currency": "EUR",
        "policies": {"overbooking": policy},
    });
    app.put("/v1/properties/linde", hotel).await.expect(200);
    let single = json!({
        "name": "Single", "rooms": 1, "counts": "rooms",
        "occupancy": {"adults_max": 2, "children_max": 1, "total_max": 3},
    });
    let path = "/v1/properties/linde/room-types/single";
    app.put(path, single).await.expect(201);
    let reservations = "/v1/properties/linde/reservations";
    let first = app.wish("confirmed", 0, 2);
    app.post(reservations, first).await.expect(201);
    let mut second = app.wish("confirmed", 0, 2);
    second["force"] = json!({"reason": "a guest of the house", "allow": ["oversell"]});
    let second = app.post(reservations, second).await.expect(201);
    let case = looked_into(&app).await["id"].to_string();
    (app, second, case)
}

/// The only case, once the engine has worked out why.
async fn looked_into(app: &TestApp) -> Value {
    for _ in 0..600 {
        let cases = app.get(CASES).await.expect(200);
        if cases["items"][0]["cause"] != "undetermined" {
            return cases["items"][0].clone();
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("nobody looked into the case")
}

async fn queue(app: &TestApp, arguments: &[&str]) -> Called {
    let url = app.database_url();
    keyrack(&[&["queue"], arguments].concat(), &[("DATABASE_URL", &url)]).await
}

async fn well(app: &TestApp, arguments: &[&str]) -> String {
    let called = queue(app, arguments).await;
    assert_eq!(
        called.status, 0,
        "{arguments:?}: {}{}",
        called.out, called.err
    );
    called.out
}

async fn refused(app: &TestApp, arguments: &[&str]) -> String {
    let called = queue(app, arguments).await;
    assert_eq!(
        called.status, 1,
        "{arguments:?}: {}{}",
        called.out, called.err
    );
    called.err
}

#[tokio::test]
async fn a_case_is_listed_and_shown_with_its_cause_its_ranking_and_its_ways_out() {
    let (app, second, case) = oversold().await;
    let told = app.get(&format!("{CASES}/{case}")).await.expect(200);
    let list = well(&app, &["list"]).await;
    let line = list.lines().nth(1).expect("a line");
    let nights = format!("{} to {}", app.night(0), app.night(1));
    for word in [
        &*case,
        "double",
        &nights,
        told["cause_in_words"].as_str().unwrap(),
    ] {
        assert!(line.contains(word), "{word}: {list}");
    }
    let listed: Value = serde_json::from_str(&well(&app, &["list", "--json"]).await).unwrap();
    let page = app.get(&format!("{CASES}?status=open")).await.expect(200);
    assert_eq!(listed["items"], page["items"]);

    let shown = well(&app, &["show", &case]).await;
    for way in told["ways_out"].as_array().unwrap() {
        assert!(shown.contains(way["what"].as_str().unwrap()), "{shown}");
    }
    for one in told["ranked"].as_array().unwrap() {
        assert!(shown.contains(one["why"].as_str().unwrap()), "{shown}");
    }
    for word in [
        second["number"].as_str().unwrap(),
        "20.00 EUR",
        "150.00 EUR",
        "needed",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let as_json = well(&app, &["show", &case, "--json"]).await;
    assert_eq!(serde_json::from_str::<Value>(&as_json).unwrap(), told);
    let unknown = refused(&app, &["show", "999999"]).await;
    assert!(
        unknown.contains("There is no such overbooking case"),
        "{unknown}"
    );
    app.end().await;
}

#[tokio::test]
async fn a_case_is_assigned_proposed_approved_and_ended_by_a_walk() {
    let (app, second, case) = oversold().await;
    let number = second["number"].as_str().unwrap();
    let assigned = ["assign", &case, "Bea", "--deadline", "2040-01-01T10:00:00Z"];
    let assigned = well(&app, &assigned).await;
    assert!(
        assigned.contains("Owner Bea, deadline 2040-01-01 11:00"),
        "{assigned}"
    );
    well(&app, &["note", &case, "they may share", "--actor", "Bea"]).await;
    let nothing = refused(&app, &["approve", &case]).await;
    assert!(
        nothing.contains("nothing with a cost has been proposed"),
        "{nothing}"
    );
    let propose = [
        "propose", &case, "walk", "--guest", number, "--cost", "150.00",
    ];
    let proposed = well(&app, &propose).await;
    assert!(
        proposed.contains("Proposed: 150.00 EUR; walk"),
        "{proposed}"
    );
    let approved = well(&app, &["approve", &case, "--note", "go on"]).await;
    assert!(
        approved.contains("Approved: 150.00 EUR; go on; command:queue"),
        "{approved}"
    );

    let walk = [
        "resolve",
        &case,
        "walk",
        "--guest",
        number,
        "--elsewhere",
        "Adler",
    ];
    let ended = well(&app, &walk).await;
    assert!(ended.contains("by walk, cost 150.00 EUR"), "{ended}");
    let told = app.get(&format!("{CASES}/{case}")).await.expect(200);
    assert_eq!(
        told["resolution"]["moves"][0]["elsewhere"], "Adler",
        "{told:#}"
    );
    let events = told["events"].as_array().unwrap();
    let by_bea = |event: &&Value| event["actor"] == "command:queue (Bea)";
    assert_eq!(events.iter().filter(by_bea).count(), 1, "{told:#}");
    assert!(well(&app, &["list"]).await.contains("No case"));
    assert!(well(&app, &["list", "--all"]).await.contains("walk"));
    app.end().await;
}

#[tokio::test]
async fn what_is_refused_is_refused_in_the_words_of_the_api() {
    let (app, second, case) = oversold().await;
    let number = second["number"].as_str().unwrap();
    let stale = ["resolve", &case, "cured", "--if-version", "77"];
    let problem = app
        .request(reqwest::Method::POST, &format!("{CASES}/{case}/resolve"))
        .header("If-Match", "\"77\"")
        .json(&json!({"ending": "cured"}));
    let problem = crate::app::said(problem).await.expect(412);
    let said = refused(&app, &stale).await;
    assert!(said.contains(problem["detail"].as_str().unwrap()), "{said}");
    let dollars = [
        "resolve", &case, "walk", "--guest", number, "--cost", "1.00 USD",
    ];
    let dollars = refused(&app, &dollars).await;
    assert!(dollars.contains("in the property's currency"), "{dollars}");
    let strange = refused(&app, &["resolve", &case, "walk", "--guest", "77"]).await;
    assert!(
        strange.contains("77 is no number among the guests of this case"),
        "{strange}"
    );
    app.end().await;
}

#[tokio::test]
async fn a_report_counts_what_the_api_counts() {
    let (app, second, case) = oversold().await;
    let number = second["number"].as_str().unwrap();
    well(&app, &["resolve", &case, "walk", "--guest", number]).await;
    let report = well(&app, &["report"]).await;
    for line in [
        "staff_forced      1     0",
        "walk         1     0",
        "150.00 EUR",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
    let counted = well(&app, &["report", "--json"]).await;
    let counted: Value = serde_json::from_str(&counted).unwrap();
    let days = ["from", "to"].map(|field| counted[field].as_str().unwrap());
    let path = format!(
        "/v1/properties/linde/overbooking-reports?from={}&to={}",
        days[0], days[1]
    );
    assert_eq!(counted, app.get(&path).await.expect(200));
    app.end().await;
}

#[tokio::test]
async fn a_way_out_is_gone_by_its_number_and_an_accepted_case_opened_again() {
    let (app, second, case) = oversold().await;
    let bare = refused(&app, &["resolve", &case, "accepted_as_is"]).await;
    assert!(bare.contains("ote"), "{bare}");
    let accept = ["resolve", &case, "accepted_as_is", "--note", "they share"];
    assert!(well(&app, &accept).await.contains("by accepted_as_is"));
    let again = well(&app, &["reopen", &case, "they do not"]).await;
    assert!(again.contains("they do not"), "{again}");
    let cured = refused(&app, &["resolve", &case, "cured"]).await;
    assert!(cured.contains(&app.night(0).to_string()), "{cured}");
    let none = refused(&app, &["resolve", &case, "--way", "9"]).await;
    assert!(none.contains("has the ways out 1 to"), "{none}");
    let neither = queue(&app, &["resolve", &case]).await;
    assert_eq!(neither.status, 2, "{}", neither.err);
    let dry = ["resolve", &case, "--way", "1", "--dry-run"];
    let dry = well(&app, &dry).await;
    assert!(dry.contains("nothing is changed"), "{dry}");
    let open = app.get(&format!("{CASES}/{case}")).await.expect(200);
    assert_eq!(open["status"], "open", "a dry run ends nothing");
    let gone = well(&app, &["resolve", &case, "--way", "1"]).await;
    assert!(gone.contains("by upgrade, cost 20.00 EUR"), "{gone}");
    let path = format!(
        "/v1/properties/linde/reservations/{}",
        second["id"].as_str().unwrap()
    );
    let moved = app.get(&path).await.expect(200);
    assert_eq!(moved["rooms"][0]["room_type"], "single");
    assert_eq!(moved["number"], second["number"]);
    app.end().await;
}

#[tokio::test]
async fn which_property_is_meant_must_be_said_where_there_are_several() {
    let (app, _, _) = oversold().await;
    app.hotel("krone", 1).await;
    let which = refused(&app, &["list"]).await;
    assert!(which.contains("--property: linde, krone"), "{which}");
    let other = well(&app, &["list", "--property", "krone"]).await;
    assert!(other.contains("No case"), "{other}");
    let strange = refused(&app, &["list", "--property", "nowhere"]).await;
    assert!(strange.contains("There is no such property"), "{strange}");
    let none = queue(&app, &["list", "--property", "nowhere", "--json"]).await;
    assert_eq!(
        (none.status, none.json()["code"].as_str()),
        (1, Some("not_found"))
    );
    app.end().await;
}
