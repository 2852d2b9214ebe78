//! Bytes on a real socket: junk gets a refusal or a closed door, and the daemon goes on.

use std::future::pending;
use std::net::SocketAddr;
use std::time::Duration;

use keyrack_api::serve::serve;
use keyrack_api::settings::Settings;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::app::App;

/// What came back before the door was closed, or within two seconds.
async fn said(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    // The other side may close while we still write: that is an answer too.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(Duration::from_secs(2), reading).await;
    String::from_utf8_lossy(&answer).into_owned()
}

fn serving(app: &App, listener: TcpListener) -> JoinHandle<()> {
    let limit = Duration::from_millis(Settings::default().header_timeout_ms);
    tokio::spawn(serve(listener, app.router.clone(), limit, pending()))
}

/// Sends a byte every 50 ms until the other side hangs up: its words, and whether it hung up within
/// five seconds.
async fn drips(address: SocketAddr, head: &str) -> (String, bool) {
    let stream = TcpStream::connect(address).await.expect("a connection");
    let (mut reading, mut writing) = stream.into_split();
    writing
        .write_all(head.as_bytes())
        .await
        .expect("it listens");
    let dripping = tokio::spawn(async move {
        while writing.write_all(b"1").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    let mut answer = Vec::new();
    let hangs_up = reading.read_to_end(&mut answer);
    let has_hung_up = tokio::time::timeout(Duration::from_secs(5), hangs_up).await;
    dripping.abort();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    (answer, has_hung_up.is_ok())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_who_drips_his_header_or_his_body_is_hung_up_on() {
    let app = App::with(Settings {
        body_timeout_ms: 600,
        ..Settings::default()
    })
    .await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let limit = Duration::from_millis(600);
    let serving = tokio::spawn(serve(listener, app.router.clone(), limit, pending()));

    let (answer, has_hung_up) = drips(address, "GET /healthz HTTP/1.1\r\nhost: x\r\nx: ").await;
    assert!(has_hung_up && !answer.contains("200"), "{answer}");
    let (answer, has_hung_up) = drips(address, "").await;
    assert!(has_hung_up && !answer.contains("200"), "{answer}");
    let key = &app.admin;
    let head = format!(
        "PUT /v1/properties/seehof HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: 1000\r\n\r\n"
    );
    let (answer, has_hung_up) = drips(address, &head).await;
    assert!(has_hung_up && answer.contains(" 400 "), "{answer}");
    assert!(answer.contains("within the time limit"), "{answer}");
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_begun_is_answered_before_the_door_is_closed() {
    let app = App::open().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let router = axum::Router::new().route(
        "/slow",
        axum::routing::get(async || {
            tokio::time::sleep(Duration::from_millis(400)).await;
            "done"
        }),
    );
    let router = app.router.clone().merge(router);
    let limit = Duration::from_secs(30);
    let serving = tokio::spawn(serve(listener, router, limit, async {
        let _ = stopped.await;
    }));
    let idle = TcpStream::connect(address).await.expect("a connection");
    let asking =
        tokio::spawn(async move { said(address, b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    stop.send(()).expect("it serves");
    assert!(asking.await.expect("no panic").ends_with("done"));
    let ended = tokio::time::timeout(Duration::from_secs(2), serving).await;
    ended
        .expect("idle callers hold nothing up")
        .expect("no panic");
    assert!(TcpStream::connect(address).await.is_err());
    drop(idle);
}

/// Reads an answer to the end of its body: its head.
async fn head_of(stream: &mut TcpStream) -> String {
    let mut answer = String::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer).await.expect("it answers");
        answer.push_str(&String::from_utf8_lossy(&buffer[..count]));
        let Some((head, body)) = answer.split_once("\r\n\r\n") else {
            assert_ne!(count, 0, "cut off in the middle: {answer}");
            continue;
        };
        let head = head.to_lowercase();
        let length = head.split("content-length: ").nth(1).expect("a length");
        let length = length.split("\r\n").next().unwrap_or(length);
        if body.len() >= length.trim().parse().expect("a number") {
            return head;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_answered_before_his_body_came_is_told_if_the_door_is_closed() {
    let app = App::with_hotel().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = serving(&app, listener);
    let key = &app.admin;
    for path in [
        "reservations/%00/cancel",
        "reservations/x/cancel",
        "nothing",
    ] {
        for round in 0..20 {
            let mut stream = TcpStream::connect(address).await.expect("a connection");
            let head = format!(
                "POST /v1/properties/seehof/{path} HTTP/1.1\r\nhost: x\r\n\
                 authorization: Bearer {key}\r\ncontent-type: application/json\r\n\
                 content-length: 2\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).await.expect("it listens");
            tokio::time::sleep(Duration::from_millis(2)).await;
            // Whether this still arrives is what the answer has to say.
            let _ = stream.write_all(b"{}").await;
            let answer = head_of(&mut stream).await;
            assert!(answer.contains(" 404 "), "{path}: {answer}");
            if answer.contains("connection: close") {
                continue;
            }
            let next = b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n";
            stream.write_all(next).await.expect("still open");
            let answer = head_of(&mut stream).await;
            assert!(answer.contains(" 200 "), "{path} {round}: {answer}");
        }
    }
    serving.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn junk_on_the_wire_closes_the_door_and_the_daemon_goes_on() {
    let app = App::with_hotel().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let serving = serving(&app, listener);
    let key = &app.admin;
    let post = "POST /v1/properties/seehof/rates HTTP/1.1\r\nhost: x\r\nconnection: close\r\n";
    let post = format!("{post}authorization: Bearer {key}\r\ncontent-type: application/json\r\n");
    let cases: [(Vec<u8>, &[&str]); 9] = [
        (b"\x16\x03\x01\x02\x00nonsense".to_vec(), &["400"]),
        (b"GET\r\n\r\n".to_vec(), &["400"]),
        (b"GET / HTTP/9.9\r\n\r\n".to_vec(), &["400", "505", ""]),
        (b"GET / HTTP/1.1\r\nbad header\r\n\r\n".to_vec(), &["400"]),
        (b"GET / HTTP/1.1\r\nx: \x00\r\n\r\n".to_vec(), &["400"]),
        (
            format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "x".repeat(1 << 20)).into_bytes(),
            &["431", "400", ""],
        ),
        (
            format!("{post}transfer-encoding: chunked\r\n\r\nzz\r\n").into_bytes(),
            &["400"],
        ),
        (
            format!("{post}content-length: 99999999999\r\n\r\n{{}}").into_bytes(),
            &["413"],
        ),
        (
            format!("{post}content-length: 2\r\n\r\n{{}}").into_bytes(),
            &["422"],
        ),
    ];
    for (bytes, wanted) in cases {
        let answer = said(address, &bytes).await;
        let status = answer.split(' ').nth(1).unwrap_or_default();
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert!(wanted.contains(&status), "{shown:?}: {answer}");
    }
    let alive = said(
        address,
        b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n",
    );
    assert!(alive.await.contains("alive"));
    serving.abort();
}
