//! Long lists come in pages, and no page is missing anything.

use serde_json::{Value, json};

use crate::app::App;

const HOTEL: &str = "/v1/properties/seehof";

/// What a list holds, page by page.
async fn pages(app: &App, path: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = app.read(&format!("{path}{cursor}")).await;
        assert_eq!(page.status, 200, "{}", page.text());
        let page = page.json();
        let items = page["items"].as_array().expect("items");
        assert!(items.len() <= 2, "{page}");
        let shown = |item: &Value| item[name].as_str().expect("a name").to_owned();
        found.extend(items.iter().map(shown));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return found,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_and_allotments_come_in_pages() {
    let app = App::with_hotel().await;
    for code in ["e", "a", "d", "b", "c"] {
        let put = app
            .put(&format!("{HOTEL}/groups/{code}"), json!({"name": code}))
            .await;
        assert_eq!(put.status, 201, "{}", put.text());
        let block = json!({"group": code, "room_type": "SGL", "release_period_days": 0,
            "values": []});
        let put = app.put(&format!("{HOTEL}/allotments/{code}"), block).await;
        assert_eq!(put.status, 201, "{}", put.text());
    }
    for list in ["groups", "allotments"] {
        let found = pages(&app, &format!("{HOTEL}/{list}?limit=2"), "code").await;
        assert_eq!(found, ["a", "b", "c", "d", "e"], "{list}");
        let wrong = app.read(&format!("{HOTEL}/{list}?limit=501")).await;
        assert_eq!(wrong.code(), "invalid");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wishes_come_in_pages_those_that_are_over_last() {
    let app = App::with_hotel().await;
    let mut made = Vec::new();
    for _ in 0..5 {
        let wish = json!({"arrival": "2030-06-10", "departure": "2030-06-12",
            "room_types": ["SGL"], "quantity": 5, "source": "phone",
            "guest": {"name": "Ada", "email": "ada@example.org"}});
        let wish = app.post(&format!("{HOTEL}/waitlist"), wish).await;
        assert_eq!(wish.status, 201, "{}", wish.text());
        made.push(wish.json()["id"].as_str().expect("an id").to_owned());
    }
    let gone = made.remove(1);
    let path = format!("{HOTEL}/waitlist/{gone}");
    let ask = app.ask(http::Method::DELETE, &path).send().await;
    assert_eq!(ask.json()["status"], "cancelled");
    let open = pages(&app, &format!("{HOTEL}/waitlist?open=true&limit=2"), "id").await;
    assert_eq!(open, made);
    let all = pages(&app, &format!("{HOTEL}/waitlist?limit=2"), "id").await;
    assert_eq!(all, [made, vec![gone]].concat());
    for cursor in ["nonsense", "01a22fb6-08de-7338-9270-2ce49796619a"] {
        let wrong = app.read(&format!("{HOTEL}/waitlist?cursor={cursor}")).await;
        assert_eq!(
            (wrong.code(), wrong.pointer()),
            ("invalid".into(), "/cursor".into())
        );
    }
}
