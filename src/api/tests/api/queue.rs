//! The overbooking-resolution queue: what a receptionist is told, and what he may do.

use http::Method;
use keyrack_ledger::keys::Role;
use serde_json::{Value, json};

use crate::app::{Answer, App, property, set_clock, wish};

const CASES: &str = "/v1/properties/seehof/overbooking-cases";

/// The hotel with a policy; both doubles are sold on 2 June, and a third by force.
async fn oversold(policy: Value) -> (App, Value) {
    let app = App::with_hotel().await;
    let mut setup = property();
    setup["policies"] = json!({ "overbooking": policy });
    let put = app.put("/v1/properties/seehof", setup).await;
    assert_eq!(put.status, 200, "{}", put.text());
    for _ in 0..2 {
        app.book("2030-06-02", "2030-06-04").await;
    }
    let mut forced = wish("confirmed", "2030-06-02", "2030-06-04");
    forced["force"] = json!({"reason": "a guest of the house", "allow": ["oversell"]});
    let made = app.post("/v1/properties/seehof/reservations", forced).await;
    assert_eq!(made.status, 201, "{}", made.text());
    (app, made.json())
}

fn policy() -> Value {
    json!({
        "compensation": [{"amount_minor": 10_000, "per_night_minor": 2_500}],
        "upgrade_per_night_minor": 1_000, "approval_above_minor": 14_000,
        "deadline": {"hours_before": 6}, "check_in_at": "15:00",
    })
}

impl App {
    async fn only_case(&self) -> Value {
        let list = self.read(&format!("{CASES}?status=open")).await.json();
        assert_eq!(list["items"].as_array().map(Vec::len), Some(1), "{list}");
        let id = list["items"][0]["id"].as_i64().expect("an id");
        self.read(&format!("{CASES}/{id}")).await.json()
    }

    async fn work(&self, key: &str, case: &Value, verb: &str, body: Value) -> Answer {
        let path = format!("{CASES}/{}/{verb}", case["id"]);
        let ask = self.ask(Method::POST, &path).key(key).json(&body);
        ask.header("keyrack-actor", "Anna").send().await
    }
}

#[tokio::test]
async fn a_case_says_why_who_moves_and_what_it_costs() {
    let (app, last) = oversold(policy()).await;
    let case = app.only_case().await;
    // 15:00 in Rome, less six hours.
    assert_eq!(case["deadline"], "2030-06-02T07:00:00Z", "{case}");
    assert_eq!(case["nights"][0]["rooms_now"], 1);
    let first = &case["ranked"][0];
    assert_eq!(
        (&first["reservation"], &first["rank"]),
        (&last["id"], &json!(1))
    );
    let why = first["why"].as_str().unwrap_or_default();
    assert!(
        why.starts_with("This guest goes before 1002: received a moment later"),
        "{why}"
    );
    let ways = case["ways_out"].as_array().expect("ways out");
    let shown = |way: &Value| (way["ending"].clone(), way["cost"]["amount"].clone());
    assert_eq!(shown(&ways[0]), (json!("upgrade"), json!("20.00")));
    let walk = ways
        .iter()
        .find(|way| way["ending"] == "walk")
        .expect("a walk");
    assert_eq!(shown(walk).1, "150.00");
    assert_eq!(walk["needs_approval"], true);
    let waiting = ways.last().expect("the last");
    let words = waiting["what"].as_str().unwrap_or_default();
    assert!(words.contains("too little history"), "{words}");
    // What it says is what can be sent.
    let key = app.key(Role::FrontDesk, None).await;
    let body = json!({"ending": "upgrade", "moves": ways[0]["moves"]});
    let ended = app.work(&key, &case, "resolve", body.clone()).await;
    assert_eq!(ended.status, 200, "{}", ended.text());
    let ended_case = ended.json();
    assert_eq!(ended_case["outcome"], "upgrade");
    assert_eq!(ended_case["cost"]["amount"], "20.00");
    assert_eq!(
        app.work(&key, &case, "resolve", body).await.json(),
        ended_case
    );
    let path = format!(
        "/v1/properties/seehof/reservations/{}",
        last["id"].as_str().unwrap_or("")
    );
    let moved = app.read(&path).await.json();
    assert_eq!(moved["rooms"][0]["room_type"], "SGL", "{moved}");
    assert_eq!(moved["number"], last["number"]);
}

#[tokio::test]
async fn an_ending_that_is_only_tried_ends_nothing_and_is_refused_as_it_would_be() {
    let (app, last) = oversold(policy()).await;
    let case = app.only_case().await;
    let desk = app.key(Role::FrontDesk, None).await;
    let walk = json!({"ending": "walk", "moves": [{"reservation": last["id"]}]});
    let upgrade = json!({"ending": "upgrade", "moves": case["ways_out"][0]["moves"]});
    let dry = "resolve?dry_run=true";
    let refused = app.work(&desk, &case, dry, walk.clone()).await;
    assert_eq!(refused.code(), "needs_approval", "{}", refused.text());
    let tried = app.work(&desk, &case, dry, upgrade).await;
    assert_eq!(tried.status, 200, "{}", tried.text());
    assert_eq!(app.only_case().await, case, "nothing is done");
    // A guest who is gone already: what became of him is not written down either.
    let id = last["id"].as_str().unwrap_or_default();
    let cancel = format!("/v1/properties/seehof/reservations/{id}/cancel");
    let gone = app.post(&cancel, json!({"reason": "sent away"})).await;
    assert_eq!(gone.status, 200, "{}", gone.text());
    let path = format!("{CASES}/{}", case["id"]);
    let cured = app.read(&path).await.json();
    let boss = app.key(Role::Manager, None).await;
    let tried = app.work(&boss, &case, dry, walk.clone()).await;
    assert_eq!(tried.status, 200, "{}", tried.text());
    assert_eq!(app.read(&path).await.json(), cured);
    let told = app.work(&boss, &case, "resolve", walk).await;
    assert_eq!(told.json()["outcome"], "walk", "{}", told.text());
}

#[tokio::test]
async fn what_costs_more_takes_a_managers_approval() {
    let (app, last) = oversold(policy()).await;
    let case = app.only_case().await;
    let desk = app.key(Role::FrontDesk, None).await;
    let boss = app.key(Role::Manager, None).await;
    let walk = json!({
        "ending": "walk", "note": "to the Adler",
        "moves": [{"reservation": last["id"], "elsewhere": "Adler"}],
    });
    let refused = app.work(&desk, &case, "resolve", walk.clone()).await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (409, "needs_approval")
    );
    let refused = app.work(&desk, &case, "approve", json!({})).await;
    assert_eq!(refused.code(), "forbidden");
    let none = app.work(&boss, &case, "approve", json!({})).await;
    assert_eq!(
        (none.code().as_str(), none.pointer().as_str()),
        ("invalid", "/up_to")
    );
    let mut proposal = walk.clone();
    proposal["cost"] = json!({"amount": "150.00", "currency": "EUR"});
    let proposed = app.work(&desk, &case, "propose", proposal).await;
    assert_eq!(proposed.status, 200, "{}", proposed.text());
    let approved = app
        .work(&boss, &case, "approve", json!({"note": "go on"}))
        .await
        .json();
    assert_eq!(approved["approval"]["up_to_minor"], 15_000);
    let ended = app.work(&desk, &case, "resolve", walk).await.json();
    assert_eq!(
        (&ended["outcome"], &ended["cost"]["amount"]),
        (&json!("walk"), &json!("150.00"))
    );
    let kinds = ended["events"].as_array().expect("events").iter();
    let kinds: Vec<_> = kinds
        .map(|event| event["kind"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(kinds, ["opened", "proposed", "approved", "closed"]);
    let actor = ended["events"][1]["actor"].as_str().unwrap_or_default();
    assert!(actor.ends_with("(Anna)"), "{actor}");
}

#[tokio::test]
async fn nothing_is_ended_that_leaves_rooms_beyond_but_what_is_accepted() {
    let (app, last) = oversold(json!({})).await;
    let case = app.only_case().await;
    let key = app.key(Role::FrontDesk, None).await;
    let look = app.key(Role::ReadOnly, None).await;
    assert_eq!(
        app.work(&look, &case, "note", json!({"text": "a"}))
            .await
            .code(),
        "forbidden"
    );
    let cured = app
        .work(&key, &case, "resolve", json!({"ending": "cured"}))
        .await;
    assert_eq!(cured.code(), "illegal_transition");
    assert!(
        cured
            .text()
            .contains("1 room on 2030-06-02, 1 room on 2030-06-03")
    );
    let path = format!("{CASES}/{}/resolve", case["id"]);
    let accept = json!({"ending": "accepted_as_is", "note": "they share"});
    let stale = app
        .ask(Method::POST, &path)
        .header("if-match", "\"77\"")
        .json(&accept);
    assert_eq!(stale.send().await.code(), "version_mismatch");
    let bare = json!({"ending": "accepted_as_is"});
    assert_eq!(
        app.work(&key, &case, "resolve", bare).await.pointer(),
        "/note"
    );
    let strange = json!({"ending": "walk", "moves": [{"reservation": last["id"],
                         "property": "adler"}]});
    let strange = app.work(&key, &case, "resolve", strange).await;
    assert_eq!(strange.pointer(), "/moves/0/property");
    let dollars = json!({"ending": "cured", "cost": {"amount": "1.00", "currency": "USD"}});
    assert_eq!(
        app.work(&key, &case, "resolve", dollars).await.pointer(),
        "/cost"
    );
    let accepted = app.post(&path, accept).await;
    assert_eq!(
        accepted.json()["outcome"],
        "accepted_as_is",
        "{}",
        accepted.text()
    );
    let version = accepted.header("etag").to_owned();
    let again = app
        .work(&key, &case, "reopen", json!({"reason": "they do not"}))
        .await;
    assert_eq!(again.json()["status"], "open");
    assert_ne!(again.header("etag"), version);
    let owned = app
        .work(&key, &case, "assign", json!({"owner": "Bea"}))
        .await
        .json();
    assert_eq!(owned["owner"], "Bea");
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_is_refused_field_by_field() {
    let app = App::with_hotel().await;
    for (policy, pointer) in [
        (json!({"rank": ["mood"]}), "/policies/overbooking/rank"),
        (
            json!({"deadline": {"at": "25:00"}}),
            "/policies/overbooking/deadline",
        ),
        (json!({"ranks": []}), "/policies/overbooking/ranks"),
        (
            json!({"approval_above_minor": -1}),
            "/policies/overbooking/approval_above_minor",
        ),
        (
            json!({"deadline": {"hours_before": -2}}),
            "/policies/overbooking/deadline",
        ),
        (
            json!({"escalate_to": ["nobody"]}),
            "/policies/overbooking/escalate_to",
        ),
        (
            json!({"rank": ["vip", "vip"]}),
            "/policies/overbooking/rank",
        ),
        (json!([]), "/policies/overbooking"),
    ] {
        let mut setup = property();
        setup["policies"] = json!({ "overbooking": policy });
        let put = app.put("/v1/properties/seehof", setup).await;
        assert_eq!(
            (put.code().as_str(), put.pointer().as_str()),
            ("invalid", pointer)
        );
    }
}

#[tokio::test]
async fn a_case_is_opened_by_hand_for_what_was_meant() {
    let app = App::with_hotel().await;
    let meant = json!({"values": [{"room_type": "DBL", "from": "2030-06-20", "to": "2030-06-21",
                       "overbooking_limit": 1}]});
    let set = app.post("/v1/properties/seehof/inventory", meant).await;
    assert_eq!(set.status, 200, "{}", set.text());
    let open = json!({"room_type": "DBL", "from": "2030-06-20", "to": "2030-06-21",
                      "note": "a fair"});
    let none = app.post(CASES, open.clone()).await;
    assert_eq!(none.code(), "illegal_transition");
    for _ in 0..3 {
        app.book("2030-06-20", "2030-06-21").await;
    }
    let made = app.post(CASES, open.clone()).await;
    assert_eq!(made.status, 201, "{}", made.text());
    let case = made.json();
    assert_eq!(made.header("location"), format!("{CASES}/{}", case["id"]));
    assert_eq!(case["by_hand"], true);
    assert_eq!(case["events"][1]["detail"]["text"], "a fair");
    assert!(
        app.post(CASES, open)
            .await
            .text()
            .contains("is open for these nights")
    );
    set_clock(&app.pool, "2030-06-05T10:00:00Z").await;
    assert_eq!(app.only_case().await["status"], "open");
}

#[tokio::test]
async fn a_report_counts_by_cause_channel_month_and_outcome() {
    let (app, last) = oversold(policy()).await;
    let case = app.only_case().await;
    let boss = app.key(Role::Manager, None).await;
    let walk = json!({"ending": "walk", "moves": [{"reservation": last["id"]}]});
    assert_eq!(app.work(&boss, &case, "resolve", walk).await.status, 200);
    let path = "/v1/properties/seehof/overbooking-reports?from=2030-06-01&to=2030-07-01";
    let told = app.read(path).await.json();
    assert_eq!(told["all"]["cases"], 1, "{told}");
    assert_eq!(told["all"]["rooms"], 2);
    assert_eq!(told["by_outcome"]["walk"]["cost"][0]["amount"], "150.00");
    assert_eq!(told["by_channel"]["direct"]["cases"], 1);
    assert_eq!(told["by_month"]["2030-06"]["cases"], 1);
    let before = "/v1/properties/seehof/overbooking-reports?from=2030-05-01&to=2030-06-01";
    assert_eq!(app.read(before).await.json()["all"]["cases"], 0);
}

#[tokio::test]
async fn limits_are_put_on_the_nights_and_a_removed_one_is_taken_off() {
    let app = App::with_hotel().await;
    let limits = "/v1/properties/seehof/overbooking-limits";
    let rules = json!({"rules": [
        {"room_type": "SGL", "from": "2030-06-01", "to": "2030-06-05", "percent": 50},
        {"room_type": "DBL", "from": "2030-06-03", "to": "2030-06-04", "rooms": 1,
         "lead_days_min": 2},
    ]});
    let put = app.put(limits, rules).await;
    assert_eq!(put.status, 200, "{}", put.text());
    // Half of five, rounded down; none on the day of arrival.
    assert_eq!(app.free("SGL", "2030-06-01").await, 5);
    assert_eq!(app.free("SGL", "2030-06-02").await, 7);
    assert_eq!(app.free("DBL", "2030-06-03").await, 3);
    let read = app.read(limits).await.json();
    assert_eq!(read["rules"][0]["lead_days_min"], 1);
    // A day later the double is one day ahead.
    set_clock(&app.pool, "2030-06-02T10:00:00Z").await;
    let property = app.property("seehof").await;
    keyrack_ledger::inventory::roll_over(&app.ledger, property)
        .await
        .expect("a new day");
    assert_eq!(app.free("SGL", "2030-06-02").await, 5);
    assert_eq!(app.free("DBL", "2030-06-03").await, 2);
    let put = app.put(limits, json!({"rules": []})).await;
    assert_eq!(put.status, 200, "{}", put.text());
    assert_eq!(app.free("SGL", "2030-06-03").await, 5);
    let both = json!({"rules": [{"room_type": "SGL", "from": "2030-06-01", "to": "2030-06-05",
                      "rooms": 1, "percent": 1}]});
    assert_eq!(app.put(limits, both).await.pointer(), "/rules/0");
    let desk = app.key(Role::FrontDesk, None).await;
    let ask = app.ask(Method::PUT, limits).key(&desk);
    let refused = ask.json(&json!({"rules": []})).send().await;
    assert_eq!(refused.code(), "forbidden");
}

#[tokio::test]
async fn a_suggestion_says_on_what_it_rests_and_applies_nothing() {
    let app = App::with_hotel().await;
    let path = "/v1/properties/seehof/overbooking-limits/suggestion?room_type=SGL\
                &from=2030-06-03&to=2030-06-05";
    assert_eq!(app.read(path).await.pointer(), "/value");
    let worth = format!("{path}&value=100.00&walk_cost=300.00");
    let told = app.read(&worth).await.json();
    assert_eq!(told["critical_ratio_permille"], 250, "{told}");
    assert!(told["nights"][0].get("limit").is_none());
    let why = told["nights"][0]["why_not"].as_str().unwrap_or_default();
    assert!(why.contains("0 stays are known, 50 are needed"), "{why}");
    // A year in which half of a hundred guests cancelled on the day before.
    sqlx::query(
        "with made as (
             insert into reservation (property_id, reservation_id, number, status, source, version,
                                      booked_at, created_at, updated_at)
             select property_id, gen_random_uuid(), 5000 + n,
                    case when n % 2 = 0 then 'cancelled' else 'completed' end, 'phone', 1,
                    date '2030-01-01' - 60, date '2030-01-01' - 60,
                    date '2030-01-01' + n % 20 - 1 + time '12:00'
               from property, generate_series(1, 100) n where code = 'seehof'
             returning property_id, reservation_id, number)
         insert into room_stay (property_id, reservation_id, room_stay_id, room_type_id, arrival,
                                departure, taken_from, taken_until, quantity)
         select property_id, reservation_id, 1, (select room_type_id from room_type
                                                  where code = 'SGL'),
                day, day + 1, day, day + 1, 1
           from made, lateral (select date '2030-01-01' + (number % 20)::integer as day) d",
    )
    .execute(&app.pool)
    .await
    .expect("a history");
    let told = app.read(&worth).await.json();
    // Of eight who are lost each second time, three or fewer are lost in 36 of 100.
    assert_eq!(told["nights"][0]["limit"], 3, "{}", told["nights"]);
    assert_eq!(told["nights"][0]["limit_now"], 0);
    let lost = |one: &Value| one["cancelled"].as_i64().unwrap_or(0);
    let history = told["history"].as_array().expect("a history");
    assert_eq!(
        history.iter().map(lost).sum::<i64>(),
        100,
        "fifty for each of two lead times"
    );
    assert_eq!(app.free("SGL", "2030-06-03").await, 5, "nothing is applied");
    assert!(
        told["assumptions"]
            .as_array()
            .is_some_and(|list| list.len() > 3)
    );
    assert!(
        told["source"]
            .as_str()
            .is_some_and(|text| text.contains("Netessine"))
    );
    let wild = format!("{path}&value=abc");
    assert_eq!(app.read(&wild).await.pointer(), "/value");
}

#[tokio::test]
async fn a_sister_property_takes_the_guest_where_both_name_each_other() {
    let (app, last) = oversold(json!({"sister_properties": ["seeblick"]})).await;
    app.hotel("seeblick").await;
    let case = app.only_case().await;
    let is_sister = |way: &&Value| way["ending"] == "sister_property";
    let ways = case["ways_out"].as_array().expect("ways out");
    assert!(
        !ways.iter().any(|way| is_sister(&way)),
        "it does not name us"
    );
    let mut setup = property();
    setup["policies"] = json!({"overbooking": {"sister_properties": ["seehof"]}});
    app.put("/v1/properties/seeblick", setup).await;
    let case = app.only_case().await;
    let ways = case["ways_out"].as_array().expect("ways out");
    let way = ways.iter().find(is_sister).expect("a sister");
    assert_eq!(way["moves"][0]["property"], "seeblick");
    let boss = app.key(Role::Manager, None).await;
    let bare = json!({"ending": "sister_property", "moves": [{"reservation": last["id"]}]});
    let bare = app.work(&boss, &case, "resolve", bare).await;
    assert_eq!(bare.pointer(), "/moves/0/property");
    let body = json!({"ending": "sister_property", "moves": way["moves"]});
    let ended = app.work(&boss, &case, "resolve", body).await;
    assert_eq!(
        ended.json()["outcome"],
        "sister_property",
        "{}",
        ended.text()
    );
    let there = app
        .read("/v1/properties/seeblick/reservations")
        .await
        .json();
    assert_eq!(there["items"][0]["guest"]["name"], "Ada Example");
    assert_eq!(app.free("DBL", "2030-06-02").await, 0);
}

/// A note whose answer was lost is sent again; another word of the same person is another note.
#[tokio::test]
async fn the_same_note_at_once_again_stands_there_once() {
    let (app, _) = oversold(policy()).await;
    let case = app.only_case().await;
    let key = app.key(Role::FrontDesk, None).await;
    for text in [
        "he will call",
        "he will call",
        "he has called",
        "he will call",
    ] {
        let said = app.work(&key, &case, "note", json!({ "text": text })).await;
        assert_eq!(said.status, 200, "{}", said.text());
    }
    let shown = app.only_case().await;
    let events = shown["events"].as_array().expect("events").iter();
    assert_eq!(
        events.filter(|event| event["kind"] == "note").count(),
        3,
        "{shown}"
    );
}
