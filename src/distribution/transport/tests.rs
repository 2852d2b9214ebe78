//! Answers of every unfriendly kind, from a server of our own.

use axum::Router;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect};
use axum::routing::get;
use keyrack_model::adapter::{Method, Outbound};

use super::*;

async fn server() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let routes = Router::new()
        .route("/fine", get(|| async { ([("X-Trace", "t1")], "fine") }))
        .route(
            "/error",
            get(|| async { (StatusCode::BAD_GATEWAY, "sorry") }),
        )
        .route("/long", get(|| async { "x".repeat(5_000) }))
        .route(
            "/away",
            get(|| async { Redirect::temporary("/fine").into_response() }),
        )
        .route(
            "/slow",
            get(|| async { tokio::time::sleep(Duration::from_secs(5)).await }),
        );
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

fn transport() -> Transport {
    Transport::new(&Settings {
        reply_bytes_max: 1_000,
        ..Settings::default()
    })
    .expect("clients")
}

fn outbound(url: String) -> Outbound {
    Outbound {
        topic: "test".into(),
        method: Method::Get,
        url,
        headers: vec![("accept".into(), "*/*".into())],
        body: Vec::new(),
        timeout_seconds: 1,
    }
}

#[tokio::test]
async fn an_answer_comes_back_with_its_status_headers_and_body() {
    let url = server().await;
    let reply = transport()
        .send(&outbound(format!("{url}/fine")))
        .await
        .expect("an answer");
    assert_eq!((reply.status, reply.header("x-trace")), (200, Some("t1")));
    assert!(is_success(&reply) && reply.body == b"fine");
    let reply = transport()
        .send(&outbound(format!("{url}/error")))
        .await
        .expect("an answer");
    assert_eq!((reply.status, is_success(&reply)), (502, false));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_is_not_followed() {
    let url = server().await;
    let reply = transport()
        .send(&outbound(format!("{url}/away")))
        .await
        .expect("an answer");
    assert_eq!(reply.status, 307);
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_cut_off() {
    let url = server().await;
    let refused = transport().send(&outbound(format!("{url}/long"))).await;
    let Err(
        error @ TransportError::TooLarge {
            bytes_max: 1_000, ..
        },
    ) = refused
    else {
        panic!("{refused:?}");
    };
    assert!(error.may_have_been_applied());
    assert!(!format!("{error:?}").contains("xxx"));
}

#[tokio::test]
async fn whether_a_message_may_have_arrived_is_known() {
    let url = server().await;
    let slow = transport().send(&outbound(format!("{url}/slow"))).await;
    assert!(
        matches!(slow, Err(TransportError::TimedOut { seconds: 1 })),
        "{slow:?}"
    );
    assert!(slow.is_err_and(|error| error.may_have_been_applied()));
    let nobody = transport()
        .send(&outbound("http://127.0.0.1:9/".into()))
        .await;
    assert!(nobody.is_err_and(|error| !error.may_have_been_applied()));
    for wrong in ["", "nowhere", "file:///etc/passwd", "http://"] {
        let refused = transport().send(&outbound(wrong.into())).await;
        assert!(
            matches!(refused, Err(TransportError::BadAddress)),
            "{wrong}: {refused:?}"
        );
    }
}

#[tokio::test]
async fn a_customers_address_into_a_private_network_is_refused_before_it_is_called() {
    let url = server().await;
    let port = url.rsplit(':').next().expect("a port");
    let named = format!("http://localhost:{port}/fine");
    let dressed = format!("http://[::ffff:127.0.0.1]:{port}/fine");
    let octal = format!("http://0177.0.0.1:{port}/fine");
    for private in [format!("{url}/fine"), named.clone(), dressed, octal] {
        let refused = transport().send_guarded(&outbound(private.clone())).await;
        assert!(
            matches!(refused, Err(TransportError::PrivateTarget)),
            "{private}: {refused:?}"
        );
    }
    let allowed = Transport::new(&Settings {
        private_webhook_targets: true,
        ..Settings::default()
    });
    let reply = allowed
        .expect("clients")
        .send_guarded(&outbound(named))
        .await;
    assert_eq!(reply.expect("an answer").status, 200);
}
