//! Lists that are put as a whole: of several who change what they have read one wins, and the
//! others read again.

use futures_util::future::join_all;
use http::Method;
use serde_json::{Value, json};

use crate::app::{Answer, App};

const SEEHOF: &str = "/v1/properties/seehof";

/// Each list with two contents of it.
fn lists() -> [(String, Value, Value); 4] {
    let rules = |rules: Value| json!({ "rules": rules });
    let limit = |rooms: i32| {
        rules(json!([{
            "room_type": "DBL", "from": "2030-06-10", "to": "2030-06-12", "rooms": rooms,
        }]))
    };
    let mapping = |code: &str| json!([{"room_type": "DBL", "channel_room_code": code}]);
    let season = |to: &str| {
        rules(json!([{
            "account": "portal", "from": "2030-06-10", "to": to, "pool": "shared",
        }]))
    };
    [
        (
            format!("{SEEHOF}/buffer-rules"),
            rules(json!([{"keep_back": 1}])),
            rules(json!([{"cap": 5}, {"close_at": 1}])),
        ),
        (format!("{SEEHOF}/overbooking-limits"), limit(1), limit(2)),
        (
            format!("{SEEHOF}/pool-rules"),
            season("2030-06-20"),
            season("2030-06-30"),
        ),
        (
            format!("{SEEHOF}/accounts/portal/mappings"),
            mapping("20"),
            mapping("30"),
        ),
    ]
}

async fn put_as_read(app: &App, path: &str, read: &str, body: &Value) -> Answer {
    let ask = app.ask(Method::PUT, path).json(body);
    ask.header("if-match", read).send().await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_changed_since_it_was_read_is_not_overwritten() {
    let app = App::connected().await;
    for (path, one, other) in lists() {
        let read = app.read(&path).await.header("etag").to_owned();
        let put = put_as_read(&app, &path, &read, &one).await;
        assert_eq!(put.status, 200, "{path}: {}", put.text());
        let shown = app.read(&path).await;
        assert_eq!(shown.header("etag"), put.header("etag"), "{path}");
        assert_ne!(shown.header("etag"), read, "{path}");
        let late = put_as_read(&app, &path, &read, &other).await;
        assert_eq!(
            (late.status.as_u16(), late.code().as_str()),
            (412, "version_mismatch"),
            "{path}"
        );
        assert_eq!(app.read(&path).await.json(), shown.json(), "{path}");
        assert_eq!(app.put(&path, other).await.status, 200, "without a version");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_who_have_read_the_same_list_one_changes_it() {
    let app = App::connected().await;
    for (path, one, other) in lists() {
        let read = app.read(&path).await.header("etag").to_owned();
        let both = [one, other];
        let each = both
            .iter()
            .map(|body| put_as_read(&app, &path, &read, body));
        let mut said: Vec<u16> = Vec::new();
        for answer in join_all(each).await {
            said.push(answer.status.as_u16());
        }
        said.sort_unstable();
        assert_eq!(said, [200, 412], "{path}");
    }
}
