//! Keys, roles, rates, request ids, versions: what every call has in common.

use std::num::NonZeroU32;

use http::Method;
use keyrack_api::settings::Settings;
use keyrack_ledger::keys::{self, Role};
use serde_json::json;

use crate::app::{App, property, room_type, wish};

const SEEHOF: &str = "/v1/properties/seehof";

#[tokio::test]
async fn nobody_is_let_in_without_a_known_key() {
    let app = App::with_hotel().await;
    for authorization in [
        "",
        "Bearer",
        "Bearer ",
        "Basic YTpi",
        "Bearer kr_unknown",
        "Bearer \u{7f}",
        "kr_1",
        &format!("Bearer {}", "x".repeat(10_000)),
        &format!("Bearer {} {}", app.admin, app.admin),
    ] {
        let ask = app.anonymous(Method::GET, SEEHOF);
        let ask = match http::HeaderValue::from_str(authorization) {
            Ok(_) => ask.header("authorization", authorization),
            Err(_) => continue,
        };
        let answer = ask.send().await;
        assert_eq!(
            (answer.status.as_u16(), answer.code()),
            (401, "unauthenticated".into())
        );
        assert_eq!(answer.header("www-authenticate"), "Bearer");
    }
    let answer = app.anonymous(Method::GET, SEEHOF).send().await;
    assert_eq!(answer.code(), "unauthenticated");
}

#[tokio::test]
async fn each_role_may_what_the_one_before_may_and_one_thing_more() {
    let app = App::with_hotel().await;
    let roles = [Role::ReadOnly, Role::FrontDesk, Role::Manager, Role::Admin];
    let rate = json!({"values": [{"room_type": "DBL", "from": "2030-06-02", "to": "2030-06-03",
        "rate": {"amount": "120.00", "currency": "EUR"}}]});
    let mut hold = wish("held", "2030-06-02", "2030-06-03");
    hold["rooms"][0]["room_type"] = json!("SGL");
    let calls = [
        (Method::GET, SEEHOF.to_owned(), json!(null)),
        (Method::POST, format!("{SEEHOF}/reservations"), hold),
        (Method::POST, format!("{SEEHOF}/rates"), rate),
        (Method::PUT, SEEHOF.to_owned(), property()),
    ];
    for (at, role) in roles.into_iter().enumerate() {
        let key = app.key(role, None).await;
        for (needs, (method, path, body)) in calls.iter().enumerate() {
            let ask = app.ask(method.clone(), path).key(&key).json(body);
            let answer = ask
                .header("idempotency-key", &format!("{at}-{needs}"))
                .send()
                .await;
            let is_let_in = at >= needs;
            assert_eq!(
                answer.status.is_success(),
                is_let_in,
                "{role:?} {path}: {answer:?}"
            );
            if !is_let_in {
                assert_eq!(
                    (answer.status.as_u16(), answer.code()),
                    (403, "forbidden".into())
                );
            }
        }
    }
}

#[tokio::test]
async fn a_property_that_is_not_yours_is_not_there_whatever_is_done_to_it() {
    let app = App::with_hotel().await;
    app.hotel("bergblick").await;
    let own = app.property("seehof").await;
    for role in [Role::ReadOnly, Role::Admin] {
        let key = app.key(role, Some(own)).await;
        for (method, path) in [
            (Method::GET, "/v1/properties/bergblick"),
            (Method::GET, "/v1/properties/nowhere"),
            (Method::GET, "/v1/properties/No%20Where"),
            (Method::GET, "/v1/properties/bergblick/reservations"),
            (Method::POST, "/v1/properties/bergblick/reservations"),
            (Method::POST, "/v1/properties/bergblick/rates"),
            (Method::PUT, "/v1/properties/bergblick/room-types/DBL"),
        ] {
            let answer = app
                .ask(method.clone(), path)
                .key(&key)
                .json(&json!({}))
                .send()
                .await;
            assert_eq!(answer.code(), "not_found", "{role:?} {method} {path}");
        }
        let mine = app.ask(Method::GET, SEEHOF).key(&key).send().await;
        assert_eq!(mine.status, 200);
        let list = app
            .ask(Method::GET, "/v1/properties")
            .key(&key)
            .send()
            .await
            .json();
        assert_eq!(list["items"].as_array().map(Vec::len), Some(1));
        assert_eq!(list["items"][0]["code"], "seehof");
    }
    let admin = app.key(Role::Admin, Some(own)).await;
    let ask = app.ask(Method::PUT, "/v1/properties/bergblick").key(&admin);
    assert_eq!(ask.json(&property()).send().await.code(), "not_found");
    let ask = app.ask(Method::PUT, "/v1/properties/newhouse").key(&admin);
    assert_eq!(ask.json(&property()).send().await.code(), "not_found");
    let ask = app.ask(Method::PUT, SEEHOF).key(&admin);
    assert_eq!(ask.json(&property()).send().await.status, 200);
}

#[tokio::test]
async fn a_revoked_key_is_shut_out_once_the_memory_of_it_is_over() {
    let settings = Settings {
        key_cache_seconds: 1,
        ..Settings::default()
    };
    let app = App::with(settings).await;
    let made = keys::create(&app.ledger, Role::ReadOnly, None, "").await;
    let (key, text) = made.expect("a key");
    let ask = || app.ask(Method::GET, "/v1/properties").key(&text).send();
    assert_eq!(ask().await.status, 200);
    assert!(keys::revoke(&app.ledger, key.id).await.expect("revoked"));
    tokio::time::sleep(std::time::Duration::from_millis(1_100)).await;
    assert_eq!(ask().await.code(), "unauthenticated");
}

#[tokio::test]
async fn too_many_requests_of_one_key_wait_and_another_key_does_not() {
    let settings = Settings {
        requests_per_second: NonZeroU32::new(3).expect("not 0"),
        ..Settings::default()
    };
    let app = App::with(settings).await;
    let mut codes = Vec::new();
    for _ in 0..8 {
        codes.push(app.read("/v1/properties").await);
    }
    let limited: Vec<_> = codes.iter().filter(|one| one.status == 429).collect();
    assert!((1..=5).contains(&limited.len()), "{codes:?}");
    for one in limited {
        assert_eq!(one.code(), "rate_limited");
        assert!(
            one.header("retry-after")
                .parse::<u32>()
                .is_ok_and(|seconds| seconds >= 1)
        );
        assert!(one.json()["retry_after_seconds"].as_u64() >= Some(1));
    }
    let other = app.key(Role::ReadOnly, None).await;
    let answer = app
        .ask(Method::GET, "/v1/properties")
        .key(&other)
        .send()
        .await;
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn a_request_keeps_its_id_where_it_is_a_plain_one() {
    let app = App::open().await;
    let ask = |id: &str| {
        app.ask(Method::GET, "/nowhere")
            .header("x-request-id", id)
            .send()
    };
    let kept = ask("desk-7:42").await;
    assert_eq!(kept.json()["request_id"], "desk-7:42");
    assert_eq!(kept.code(), "not_found");
    for odd in ["a b", "<script>", &"x".repeat(101), ""] {
        let answer = ask(odd).await;
        assert_eq!(answer.header("x-request-id").len(), 36, "{odd}");
        assert_eq!(answer.code(), "not_found");
    }
}

#[tokio::test]
async fn paths_and_verbs_that_are_not_there_are_problems_too() {
    let app = App::with_hotel().await;
    for path in [
        "/",
        "/v1",
        "/v1/nothing",
        "/v1/properties/seehof/allotment/x",
        "/%ff",
        "//",
    ] {
        let answer = app.read(path).await;
        assert_eq!(answer.code(), "not_found", "{path}");
    }
    let id = uuid::Uuid::new_v4();
    for later in ["accept", "decline"] {
        let path = format!("{SEEHOF}/reservations/{id}/{later}");
        assert_eq!(app.post(&path, json!({})).await.code(), "not_found");
    }
    let answer = app.ask(Method::DELETE, SEEHOF).send().await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (405, "method_not_allowed".into())
    );
    assert!(
        answer.header("allow").contains("PUT"),
        "{:?}",
        answer.headers
    );
}

#[tokio::test]
async fn a_version_guards_what_is_changed() {
    let app = App::open().await;
    let made = app.put(SEEHOF, property()).await;
    assert_eq!((made.status.as_u16(), made.header("etag")), (201, "\"1\""));
    let mut renamed = property();
    renamed["name"] = json!("Seehof am See");
    let put = |tag: &str| {
        app.ask(Method::PUT, SEEHOF)
            .header("if-match", tag)
            .json(&renamed)
    };
    for stale in ["\"7\"", "\"nonsense\"", "W/\"0\""] {
        assert_eq!(
            put(stale).send().await.code(),
            "version_mismatch",
            "{stale}"
        );
    }
    let changed = put("\"1\"").send().await;
    assert_eq!(
        (changed.status.as_u16(), changed.header("etag")),
        (200, "\"2\"")
    );
    assert_eq!(app.read(SEEHOF).await.json()["name"], "Seehof am See");
}

#[tokio::test]
async fn the_daemon_says_whether_it_is_alive_ready_and_how_it_fares() {
    let app = App::open().await;
    for (path, word) in [
        ("/healthz", "alive"),
        ("/readyz", "ready"),
        ("/metrics", "nothing counted"),
        ("/openapi.json", "\"openapi\":\"3.1"),
        ("/docs", "problem-sold_out"),
    ] {
        let answer = app.anonymous(Method::GET, path).send().await;
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.text().contains(word), "{path}");
    }
    crate::app::set_clock(&app.pool, "2030-06-01T10:01:00Z").await;
    let answer = app.anonymous(Method::GET, "/readyz").send().await;
    assert_eq!(
        (answer.status.as_u16(), answer.code()),
        (503, "clock_drift".into())
    );
    assert_eq!(answer.header("retry-after"), "10");
}

#[tokio::test]
async fn a_list_is_read_page_by_page_without_loss() {
    let app = App::open().await;
    for at in 0..5 {
        let put = app
            .put(&format!("/v1/properties/house-{at}"), property())
            .await;
        assert_eq!(put.status, 201);
    }
    let mut seen = Vec::new();
    let mut path = "/v1/properties?limit=2".to_owned();
    loop {
        let page = app.read(&path).await.json();
        for one in page["items"].as_array().expect("items") {
            seen.push(one["code"].as_str().expect("a code").to_owned());
        }
        match page["next_cursor"].as_str() {
            Some(cursor) => path = format!("/v1/properties?limit=2&cursor={cursor}"),
            None => break,
        }
    }
    assert_eq!(
        seen,
        ["house-0", "house-1", "house-2", "house-3", "house-4"]
    );
    for wrong in [
        "limit=0",
        "limit=501",
        "limit=x",
        "cursor=x",
        "unknown=1",
        "limit=1&limit=2",
    ] {
        let answer = app.read(&format!("/v1/properties?{wrong}")).await;
        assert_eq!(answer.code(), "invalid", "{wrong}");
    }
}

#[tokio::test]
async fn a_cut_below_what_is_taken_is_shown_first_and_needs_a_force() {
    let app = App::with_hotel().await;
    app.book("2030-06-02", "2030-06-04").await;
    app.book("2030-06-02", "2030-06-04").await;
    let path = "/v1/properties/seehof/room-types/DBL";
    let tried = app.put(&format!("{path}?dry_run=true"), room_type(1)).await;
    assert_eq!(tried.status, 200, "{}", tried.text());
    assert_eq!(tried.json()["short"].as_array().map(Vec::len), Some(2));
    assert_eq!(app.free("SGL", "2030-06-02").await, 5);
    assert_eq!(app.put(path, room_type(1)).await.code(), "needs_force");
    let mut forced = room_type(1);
    forced["force"] = json!({"reason": "one was sold", "allow": ["oversell"]});
    let put = app.put(path, forced).await;
    assert_eq!(put.status, 200, "{}", put.text());
    let cases = app
        .read("/v1/properties/seehof/overbooking-cases?status=open")
        .await
        .json();
    assert_eq!(cases["items"].as_array().map(Vec::len), Some(1), "{cases}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_waits_too_long_is_told_so_and_his_change_goes_on() {
    let settings = Settings {
        request_timeout_ms: 300,
        ..Settings::default()
    };
    let app = App::with(settings).await;
    assert_eq!(app.put(SEEHOF, property()).await.status, 201);
    let mut tx = app.pool.begin().await.expect("a transaction");
    sqlx::query("select 1 from property where code = 'seehof' for update")
        .execute(&mut *tx)
        .await
        .expect("the row is locked");
    let mut renamed = property();
    renamed["name"] = json!("Seehof am See");
    let late = app.put(SEEHOF, renamed).await;
    assert_eq!(
        (late.status.as_u16(), late.code()),
        (503, "unavailable".into())
    );
    assert!(!late.header("retry-after").is_empty());
    tx.rollback().await.expect("the row is free");
    for _ in 0..50 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        if app.read(SEEHOF).await.json()["name"] == "Seehof am See" {
            return;
        }
    }
    panic!("the change was given up with its caller");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_many_callers_asks_who_a_key_is() {
    let settings = Settings {
        key_lookups_per_second: NonZeroU32::new(2).expect("not 0"),
        ..Settings::default()
    };
    let app = App::with(settings).await;
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let request = http::Request::get("/v1/properties")
            .header("authorization", format!("Bearer {}", app.admin))
            .body(axum::body::Body::empty())
            .expect("a request");
        let router = app.router.clone();
        callers.spawn(async move {
            let response = tower::ServiceExt::oneshot(router, request).await;
            crate::app::answered(response.expect("an answer")).await
        });
    }
    let answers = callers.join_all().await;
    assert!(answers.iter().all(|one| one.status == 200), "{answers:?}");
    let mut guesses = Vec::new();
    for at in 0..5 {
        let ask = app.ask(Method::GET, "/v1/properties");
        guesses.push(ask.key(&format!("kr_guess{at}")).send().await.code());
    }
    assert!(guesses.contains(&"rate_limited".to_owned()), "{guesses:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_guesses_keys_keeps_nobody_out_who_has_one() {
    let settings = Settings {
        key_lookups_per_second: NonZeroU32::new(1).expect("not 0"),
        // Every good key is looked up anew.
        key_cache_seconds: 0,
        ..Settings::default()
    };
    let app = App::with(settings).await;
    for at in 0..20 {
        let ask = app.ask(Method::GET, "/v1/properties");
        let guess = ask.key(&format!("kr_guess{at}")).send().await;
        assert!([401, 429].contains(&guess.status.as_u16()), "{guess:?}");
        let good = app.read("/v1/properties").await;
        assert_eq!(good.status, 200, "after {at} guesses: {good:?}");
    }
}
