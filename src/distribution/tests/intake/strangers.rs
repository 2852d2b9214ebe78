//! Addresses that customers choose and answers that channels give, made hostile: nothing breaks,
//! and no more is held than is allowed.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::OnceLock;

use keyrack_distribution::settings::Settings;
use keyrack_distribution::transport::{Transport, TransportError};
use keyrack_model::adapter::{Method, Outbound};
use keyrack_strangers::{drawn, hostile_text};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};
use proptest::sample::select;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// One for all: making its clients takes longer than asking them.
fn transport() -> &'static Transport {
    static MADE: OnceLock<Transport> = OnceLock::new();
    MADE.get_or_init(|| {
        let settings = Settings {
            reply_bytes_max: REPLY_BYTES_MAX,
            ..Settings::default()
        };
        Transport::new(&settings).expect("clients")
    })
}

/// An address of a private network as a browser would take it: in dots, in hexadecimal, in octal,
/// as one number, short, or inside an address of IPv6.
fn private_hosts() -> impl Strategy<Value = String> {
    let inside = prop_oneof![
        Just([127, 0, 0, 1]),
        (any::<u8>(), any::<u8>(), any::<u8>()).prop_map(|(b, c, d)| [10, b, c, d]),
        (any::<u8>(), any::<u8>()).prop_map(|(c, d)| [192, 168, c, d]),
        (16..32_u8, any::<u8>(), any::<u8>()).prop_map(|(b, c, d)| [172, b, c, d]),
        Just([169, 254, 169, 254]),
    ];
    (inside, 0..7_u8).prop_map(|([a, b, c, d], dress)| {
        let low = (u32::from(b) << 16) | (u32::from(c) << 8) | u32::from(d);
        match dress {
            0 => format!("{a}.{b}.{c}.{d}"),
            1 => format!("0x{a:x}.0x{b:X}.{c}.{d}"),
            2 => format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            3 => u32::from(Ipv4Addr::new(a, b, c, d)).to_string(),
            4 => format!("{a}.{low}"),
            5 => format!("[::ffff:{a}.{b}.{c}.{d}]"),
            _ => format!("[64:ff9b::{a}.{b}.{c}.{d}]"),
        }
    })
}

proptest! {
    #[test]
    fn no_dress_takes_a_private_address_past_the_guard(
        host in private_hosts(),
        scheme in select(&["http", "https", "HTTP"][..]),
        before in select(&["", "user@", "a:b@", "example.com@"][..]),
        behind in select(&["", ":8080", "/", "/hook?x=1", ":443/a#b"][..]),
    ) {
        let url = format!("{scheme}://{before}{host}{behind}");
        let checked = transport().check_target(&url);
        let is_refused = matches!(checked, Err(TransportError::PrivateTarget));
        prop_assert!(is_refused, "{url}: {checked:?}");
    }

    #[test]
    fn whatever_stands_for_an_address_is_taken_or_refused(url in hostile_text(&URLS)) {
        if transport().check_target(&url).is_ok() {
            let read = reqwest::Url::parse(&url).expect("it was taken");
            let host = read.host_str().expect("it was taken");
            let literal = host.trim_start_matches('[').trim_end_matches(']').parse();
            let is_inside = literal.is_ok_and(|address: IpAddr| match address {
                IpAddr::V4(v4) => v4.is_private() || v4.is_loopback() || v4.is_link_local(),
                IpAddr::V6(v6) => v6.is_loopback() || v6.is_unique_local(),
            });
            prop_assert!(!is_inside, "{url}");
            prop_assert!(matches!(read.scheme(), "http" | "https"), "{url}");
        }
    }
}

#[test]
fn names_of_this_machine_are_refused() {
    for name in ["localhost", "LOCALHOST.", "a.localhost", "a.b.LocalHost."] {
        let checked = transport().check_target(&format!("https://{name}/hook"));
        let is_refused = matches!(checked, Err(TransportError::PrivateTarget));
        assert!(is_refused, "{name}: {checked:?}");
    }
    for name in ["localhost.example.com", "notlocalhost", "example.com."] {
        let checked = transport().check_target(&format!("https://{name}/hook"));
        assert!(checked.is_ok(), "{name}: {checked:?}");
    }
}

/// Answers once to each who connects, and hangs up.
async fn answering(answers: Vec<Vec<u8>>) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("bound"));
    tokio::spawn(async move {
        for answer in answers {
            let (mut socket, _) = listener.accept().await.expect("a caller");
            let mut asked = [0; 4_096];
            let _ = socket.read(&mut asked).await;
            let _ = socket.write_all(&answer).await;
            let _ = socket.shutdown().await;
        }
    });
    url
}

#[tokio::test]
async fn whatever_a_channel_answers_is_read_within_bounds() {
    let samples: Vec<Vec<u8>> = ANSWERS
        .iter()
        .map(|text| text.as_bytes().to_vec())
        .collect();
    let answers = drawn(samples, ANSWERS_DRAWN);
    let (mut read, mut broken) = (0, 0);
    for answer in answers {
        let url = answering(vec![answer.clone()]).await;
        let outbound = Outbound {
            topic: "test".into(),
            method: Method::Get,
            url,
            headers: Vec::new(),
            body: Vec::new(),
            timeout_seconds: 2,
        };
        match transport().send(&outbound).await {
            Ok(reply) => {
                assert!(
                    reply.body.len() <= REPLY_BYTES_MAX,
                    "{}",
                    answer.escape_ascii()
                );
                read += 1;
            }
            Err(TransportError::BadAddress | TransportError::PrivateTarget) => {
                panic!("the address was well: {}", answer.escape_ascii());
            }
            Err(_) => broken += 1,
        }
    }
    assert!(
        read >= 20 && broken >= 20,
        "{read} were read, {broken} were not"
    );
}

const REPLY_BYTES_MAX: usize = 200;
const ANSWERS_DRAWN: usize = 400;

const URLS: [&str; 6] = [
    "https://hooks.example.com/keyrack?token=1",
    "http://user:word@example.com:8080/a/b#c",
    "https://[2606:2800:220:1::1]:8443/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://\u{ff11}27.0.0.1/",
];

const ANSWERS: [&str; 5] = [
    "HTTP/1.1 200 OK\r\nContent-Type: application/xml\r\nContent-Length: 5\r\n\r\n<ok/>",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n<ok/>\r\n0\r\n\r\n",
    "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    "HTTP/1.0 500 Internal Server Error\r\nConnection: close\r\n\r\nsorry",
];
