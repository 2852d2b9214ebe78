//! Whom a change would hit, told by its dry run: a cut, a closed date, another mapping.

use serde_json::{Value, json};

use crate::app::{Answer, App};
use crate::channels::LOGIN;

const SEEHOF: &str = "/v1/properties/seehof";
const MAPPINGS: &str = "/v1/properties/seehof/accounts/portal/mappings";

/// Two doubles, both sold for the night of June 10: one at the desk and one by the portal.
async fn full() -> (App, String, String) {
    let app = App::connected().await;
    let desk = app.book("2030-06-10", "2030-06-12").await["number"].clone();
    let told = app.deliver(LOGIN, "R1 10 2030-06-09 2030-06-11\n").await;
    assert_eq!(told.status, 200, "{}", told.text());
    sqlx::query("update account set state = 'live'")
        .execute(&app.pool)
        .await
        .expect("live");
    let list = app
        .read(&format!("{SEEHOF}/reservations?source=channel"))
        .await;
    let there = list.json()["items"][0]["number"].clone();
    let number = |value: Value| value.as_str().expect("a number").to_owned();
    (app, number(desk), number(there))
}

/// Numbers of the guests, and codes of the accounts.
fn named(hits: &Value) -> (Vec<&str>, Vec<&str>) {
    let all = |of: &str| hits[of].as_array().expect("a list").iter();
    let numbers = all("reservations").map(|one| one["number"].as_str().expect("a number"));
    let codes = all("accounts").map(|code| code.as_str().expect("a code"));
    (numbers.collect(), codes.collect())
}

async fn reasons(app: &App) -> Vec<String> {
    sqlx::query_scalar("select reason from ledger_entry where kind = 'mapping_forced'")
        .fetch_all(&app.pool)
        .await
        .expect("entries")
}

#[tokio::test]
async fn a_cut_names_the_guests_and_the_channels_of_its_nights() {
    let (app, desk, there) = full().await;
    let broken = json!({"values": [{
        "room_type": "DBL", "from": "2030-06-10", "to": "2030-06-11", "out_of_order": 1,
    }]});
    let said = app
        .post(&format!("{SEEHOF}/inventory?dry_run=true"), broken)
        .await
        .json();
    assert_eq!(said["short"][0]["stay_date"], "2030-06-10");
    let both = (vec![there.as_str(), desk.as_str()], vec!["portal"]);
    assert_eq!(named(&said["hits"]), both);
    assert_eq!(said["hits"]["reservations"][0]["account"], "portal");
    assert_eq!(said["hits"]["more"], false);

    let mut smaller = app.read(&format!("{SEEHOF}/room-types/DBL")).await.json();
    for gone in ["code", "version"] {
        smaller.as_object_mut().expect("a type").remove(gone);
    }
    smaller["rooms"] = json!(0);
    smaller["force"] = json!({"reason": "rebuilt", "allow": ["oversell"]});
    let path = format!("{SEEHOF}/room-types/DBL?dry_run=true");
    let said = app.put(&path, smaller).await.json();
    assert_eq!(named(&said["hits"]), both, "{said:#}");
    assert_eq!(app.free("DBL", "2030-06-20").await, 2, "nothing was done");
}

#[tokio::test]
async fn closed_dates_name_who_sleeps_on_them() {
    let (app, desk, there) = full().await;
    let close = |value: Value| {
        let mut whole = json!({"from": "2030-06-09", "to": "2030-06-13", "stop_sell": true});
        let fields = value.as_object().expect("fields").clone();
        whole.as_object_mut().expect("fields").extend(fields);
        json!({"values": [whole]})
    };
    let path = format!("{SEEHOF}/rates?dry_run=true");
    for (value, guests, accounts) in [
        (json!({}), vec![&there, &desk], vec!["portal"]),
        (json!({"account": "portal"}), vec![&there], vec!["portal"]),
        // 2030-06-11 is a Tuesday: only the desk's guest sleeps here then.
        (json!({"weekdays": ["tue"]}), vec![&desk], vec!["portal"]),
        (json!({"from": "2030-06-12"}), vec![], vec!["portal"]),
    ] {
        let said = app.post(&path, close(value.clone())).await.json();
        let guests = guests.into_iter().map(String::as_str).collect();
        assert_eq!(named(&said["hits"]), (guests, accounts), "{value}");
    }
    let opened = app
        .post(&path, close(json!({"stop_sell": false})))
        .await
        .json();
    assert!(opened.get("hits").is_none(), "{opened}");
}

async fn remapped(app: &App, query: &str, room_type: &str) -> Answer {
    let body = json!([{"room_type": room_type, "channel_room_code": "10", "pool": "shared"}]);
    app.put(&format!("{MAPPINGS}{query}"), body).await
}

#[tokio::test]
async fn another_mapping_is_refused_or_forced_where_guests_are_to_come_under_it() {
    let (app, _, there) = full().await;
    let other = json!({
        "name": "Single", "rooms": 2, "counts": "rooms",
        "occupancy": {"adults_max": 1, "children_max": 0, "total_max": 1},
    });
    let made = app.put(&format!("{SEEHOF}/room-types/SGL"), other).await;
    assert!(made.status.is_success());
    let same = remapped(&app, "", "DBL").await;
    assert_eq!(same.status, 200, "nothing changes: {}", same.text());

    let shown = remapped(&app, "?dry_run=true", "SGL").await;
    assert_eq!(shown.status, 200, "{}", shown.text());
    let guests = (vec![there.as_str()], vec!["portal"]);
    assert_eq!(named(&shown.json()["hits"]), guests);
    let unknown = remapped(&app, "?dry_run=true", "XYZ").await;
    assert_eq!(unknown.json()["errors"][0]["pointer"], "/0/room_type");

    let refused = remapped(&app, "", "SGL").await;
    assert_eq!(
        (refused.status.as_u16(), refused.code().as_str()),
        (409, "needs_force")
    );
    assert!(refused.text().contains(&there), "{}", refused.text());
    let blank = remapped(&app, "?force=true&reason=%20", "SGL").await;
    assert_eq!(blank.json()["errors"][0]["pointer"], "/reason");
    assert_eq!(app.read(MAPPINGS).await.json()[0]["room_type"], "DBL");

    let forced = remapped(&app, "?force=true&reason=rooms%20were%20swapped", "SGL").await;
    assert_eq!(forced.status, 200, "{}", forced.text());
    assert_eq!(app.read(MAPPINGS).await.json()[0]["room_type"], "SGL");
    assert_eq!(reasons(&app).await, ["rooms were swapped"]);
    let again = remapped(&app, "", "SGL").await;
    assert_eq!(again.status, 200, "a repeat changes nothing");
    assert_eq!(reasons(&app).await.len(), 1);
}
