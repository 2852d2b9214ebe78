//! A hotel oversold four ways: two channels sell the last room in one instant, a guest comes under
//! a code that nobody mapped, a pipe bursts, a guest who stands at the desk is taken by force. Each
//! case says why, with its times; each is worked to another end; and whoever is to hear of it hears
//! once, though the post was closed and the daemon fell asleep in between.

mod hotel;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use keyrack_sandbox::Change;
use serde_json::{Value, json};

use crate::channel::until;

use hotel::House;

const LINDE: &str = "/v1/properties/linde";
/// The nights of the four cases: by lag, unmapped, by a cut, by force.
const NIGHTS: [i32; 4] = [0, 10, 20, 30];

/// A time of the evidence as it is said at the hotel.
fn at(time: &Value) -> String {
    let at: Timestamp = time.as_str().expect("a time").parse().expect("an instant");
    let vienna = TimeZone::get("Europe/Vienna").expect("a zone");
    let local = at.to_zoned(vienna);
    local.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// A case says this cause, in these words.
fn assert_says(case: &Value, cause: &str, parts: &[&str]) {
    assert_eq!(case["cause"], cause, "{case:#}");
    let words = case["cause_in_words"].as_str().expect("words");
    for part in parts {
        assert!(words.contains(part), "{part:?} in {words:?}");
    }
}

/// A way out as it is offered.
fn way<'a>(case: &'a Value, ending: &str) -> &'a Value {
    let ways = case["ways_out"].as_array().expect("ways out");
    let way = ways.iter().find(|way| way["ending"] == ending);
    way.unwrap_or_else(|| panic!("no {ending} in {ways:#?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn four_ways_to_oversell_are_four_causes_four_ends_and_one_mail_each() {
    let mut house = House::open().await;
    let [lag, unmapped, cut, forced] = NIGHTS;
    // Nobody takes the post while the first two happen, and then the daemon sleeps.
    house.post.close(true);
    house.sold_by_both(lag);
    house.sold_unmapped(unmapped).await;
    house.case(lag).await;
    house.case(unmapped).await;
    house.app.fall_asleep().await;
    house.post.close(false);
    house.app.pass("10 minutes").await;
    house.app.wake(2).await;
    house.cut(cut).await;
    house.forced(forced).await;
    says_why(&house).await;
    let cases = told_once(&house).await;
    escalated_once(&mut house, &cases[3]).await;
    worked(&house, &cases).await;
    nothing_is_over(&house).await;
    let resolved = until(|| async {
        let events = house.post.events("overbooking.resolved").len();
        (events == cases.len()).then_some(())
    });
    assert!(resolved.await.is_some(), "each end is told");
    // Whoever wakes next has nothing left to say.
    house.app.fall_asleep().await;
    house.app.pass("10 minutes").await;
    house.app.wake(1).await;
    told_once(&house).await;
    assert_eq!(house.post.mails("has passed").len(), 1);
    assert_eq!(house.post.events("overbooking.escalated").len(), 1);
    assert_eq!(house.post.events("overbooking.resolved").len(), 4);
    house.app.end().await;
    house.stage.sandbox.stop().await;
}

async fn says_why(house: &House) {
    let [lag, unmapped, cut, forced] = NIGHTS;
    let case = house.case(lag).await;
    let evidence = &case["evidence"];
    let seller = evidence["sold_by"].as_str().expect("a seller");
    let (booked, heard) = (at(&evidence["booked_at"]), at(&evidence["received_at"]));
    let sold = format!("{seller} sold the room at {booked}, before our close could arrive");
    let heard = format!("We heard of it at {heard}");
    let parts = [sold.as_str(), "the close of", "taken at", &heard];
    assert_says(&case, "sold_before_close_could_arrive", &parts);
    let told = evidence["told"].as_array().expect("what was told");
    let acknowledged = |one: &&Value| one["account"] == seller && one["rooms"] == 1;
    let open = told.iter().find(acknowledged).expect("it was told one");
    assert!(open["acknowledged_at"].as_str() < evidence["booked_at"].as_str());

    let case = house.case(unmapped).await;
    let booked = at(&case["evidence"]["booked_at"]);
    let sold = format!("booking sold a room at {booked} under the code 103, which no mapping knew");
    assert_says(&case, "unmapped", &[&sold, "Map the code"]);

    let case = house.case(cut).await;
    let opened = at(&case["opened_at"]);
    let taken = format!("1 room out of sale at {opened} (a burst pipe), and it was sold already");
    let parts = [taken.as_str()];
    assert_says(&case, "capacity_cut", &parts);

    let case = house.case(forced).await;
    let booked = at(&case["evidence"]["booked_at"]);
    let parts = ["Berta", "by force", &booked, "his train is gone"];
    assert_says(&case, "staff_forced", &parts);
}

/// Of each case one mail and one call of the webhook.
async fn told_once(house: &House) -> Vec<Value> {
    let mut cases = Vec::new();
    for night in NIGHTS {
        let case = house.case(night).await;
        let says = format!("overbooking case {} is open", case["id"]);
        let event = |events: Vec<Value>| {
            let of_it = |event: &&Value| event["overbooking_case"]["id"] == case["id"];
            events.iter().filter(of_it).count()
        };
        let told = until(|| async {
            let (mails, events) = (
                house.post.mails(&says),
                house.post.events("overbooking.opened"),
            );
            (!mails.is_empty() && event(events) > 0).then_some(mails)
        });
        let told = told.await.unwrap_or_else(|| panic!("no mail says {says}"));
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].to, ["desk@linde.example"]);
        assert_eq!(event(house.post.events("overbooking.opened")), 1);
        cases.push(case);
    }
    cases
}

/// A deadline passes while nobody is awake: two daemons wake, and one mail goes out.
async fn escalated_once(house: &mut House, case: &Value) {
    let soon = house.app.now().await + SignedDuration::from_hours(1);
    let path = format!("overbooking-cases/{}/assign", case["id"]);
    let anna = json!({"owner": "Anna", "deadline": soon});
    house.anna(&path, anna).await.expect(200);
    house.app.fall_asleep().await;
    house.app.pass("2 hours").await;
    house.app.wake(2).await;
    let mail = until(|| async { house.post.mails("has passed").pop() });
    let mail = mail.await.expect("a mail");
    assert_eq!(mail.to, ["desk@linde.example", "boss@linde.example"]);
    let says = format!("The deadline of overbooking case {} has passed", case["id"]);
    assert!(
        mail.text.contains(&says) && mail.text.contains("Anna has it"),
        "{mail:?}"
    );
    let event = until(|| async { house.post.events("overbooking.escalated").pop() });
    assert!(event.await.is_some(), "and an event");
}

/// Each case is worked to another end.
async fn worked(house: &House, cases: &[Value]) {
    let app = &house.app;
    let upgrade = way(&cases[0], "upgrade");
    let moves = &upgrade["moves"];
    house
        .resolved(&cases[0], json!({"ending": "upgrade", "moves": moves}))
        .await;
    stays_upgraded(house, &moves[0]["reservation"]).await;

    let asked = way(&cases[1], "relocated_by_channel");
    let mut relocated = json!({
        "ending": "relocated_by_channel", "moves": asked["moves"],
        "cost": {"amount": "40.00", "currency": "EUR"},
    });
    let path = format!("overbooking-cases/{}/resolve", cases[1]["id"]);
    let untold = house.anna(&path, relocated.clone()).await.expect(422);
    assert!(
        untold["detail"]
            .as_str()
            .is_some_and(|words| words.contains("tell the channel"))
    );
    relocated["told_channel"] = json!(true);
    house.resolved(&cases[1], relocated).await;

    let sister = way(&cases[2], "sister_property");
    let moves = &sister["moves"];
    let body = json!({"ending": "sister_property", "moves": moves});
    house.resolved(&cases[2], body).await;
    let there = app
        .get("/v1/properties/ulme/reservations")
        .await
        .expect(200);
    assert_eq!(there["items"][0]["guest"]["name"], "Ada Example");

    let walk = way(&cases[3], "walk");
    assert_eq!(walk["needs_approval"], true);
    let moves = &walk["moves"];
    let body = json!({"ending": "walk", "moves": moves, "cost": walk["cost"], "note": "the Adler"});
    let path = format!("overbooking-cases/{}", cases[3]["id"]);
    let refused = house.anna(&format!("{path}/resolve"), body.clone()).await;
    assert_eq!(refused.code(), "needs_approval", "{:#}", refused.body);
    house
        .anna(&format!("{path}/propose"), body.clone())
        .await
        .expect(200);
    let approve = format!("{LINDE}/{path}/approve");
    app.post(&approve, json!({"note": "go on"}))
        .await
        .expect(200);
    let ended = house.resolved(&cases[3], body).await;
    assert_eq!(ended["cost"]["amount"], "125.00");
}

/// What a channel says later of a guest who was moved leaves him where he is.
async fn stays_upgraded(house: &House, id: &Value) {
    let id = id.as_str().expect("an id");
    let path = format!("{LINDE}/reservations/{id}");
    let moved = house.app.get(&path).await.expect(200);
    assert_eq!(moved["rooms"][0]["room_type"], "suite", "{moved:#}");
    let reference = moved["channel_reference"].as_str().expect("a reference");
    let both = [&house.stage.booking, &house.stage.portal];
    let seller = both.iter().find(|one| moved["account"] == one.account);
    let channel = &seller.expect("one of both").channel;
    let known = channel.journal().reservations.into_iter();
    let mut known = known.filter(|known| known.reference == reference);
    let mut guest = known.next().expect("it is there").latest().guest.clone();
    guest.surname = "Newname".to_owned();
    channel.modify(reference, &Change::Guest(guest));
    let later = until(|| async {
        let now = house.app.get(&path).await.expect(200);
        now["guest"].to_string().contains("Newname").then_some(now)
    });
    let later = later.await.expect("the channel's revision");
    assert_eq!(later["rooms"][0]["room_type"], "suite", "{later:#}");
    assert_eq!(later["number"], moved["number"]);
}

async fn nothing_is_over(house: &House) {
    for night in NIGHTS {
        let (from, to) = (house.app.night(night), house.app.night(night + 1));
        let path = format!("{LINDE}/availability?from={from}&to={to}&fresh=true");
        let types = house.app.get(&path).await.expect(200)["room_types"].clone();
        for kind in types.as_array().expect("types") {
            let of = |name: &str| kind["nights"][0][name].as_i64().expect("a number");
            let over = of("sold") - (of("physical") - of("out_of_order"));
            assert!(over <= 0 && of("oversold") == 0, "{kind:#}");
        }
    }
    let open = format!("{LINDE}/overbooking-cases?status=open");
    assert_eq!(house.app.get(&open).await.expect(200)["items"], json!([]));
}
