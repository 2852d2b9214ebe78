//! Bytes on a real socket: junk gets a refusal or a closed door, and the daemon goes on.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::app::App;

/// What came back before the door was closed, or within two seconds.
async fn said(address: std::net::SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.expect("a connection");
    // The other side may close while we still write: that is an answer too.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let reading = stream.read_to_end(&mut answer);
    let _ = tokio::time::timeout(Duration::from_secs(2), reading).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn junk_on_the_wire_closes_the_door_and_the_daemon_goes_on() {
    let app = App::with_hotel().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    let router = app.router.clone();
    let serving = tokio::spawn(async move { axum::serve(listener, router).await });
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
