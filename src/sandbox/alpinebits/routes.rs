//! The one address of the fake portal: headers, credentials, compression, form, action.

use std::io::Read as _;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, FromRequest as _, Multipart, Request, State as Held};
use axum::http::{HeaderMap, Method, Response};
use axum::routing::any;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;

use crate::edge::{Heard, Line, hear};
use crate::faults::Struck;

use super::answer::{AlpineTongue, Demand, plain, unauthorized};
use super::capability::VERSION;
use super::portal::AlpineBits;
use super::{free_rooms, guest_requests, handshake};

/// The address, over one channel.
pub(crate) fn router(channel: AlpineBits) -> Router {
    Router::new()
        .route("/alpinebits", any(receive))
        .with_state(channel)
}

/// The two fields of the form.
#[derive(Default)]
struct Form {
    action: Option<String>,
    request: Vec<u8>,
}

async fn receive(
    Held(channel): Held<AlpineBits>,
    ConnectInfo(line): ConnectInfo<Line>,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let read = if method == Method::POST {
        read_form(&headers, body).await
    } else {
        Err(below(405, "only POST is accepted"))
    };
    let endpoint = match &read {
        Ok(Form {
            action: Some(action),
            ..
        }) => action.clone(),
        _ => "unknown action".to_owned(),
    };
    let mut response = hear(&channel, &AlpineTongue, &line, &endpoint, |struck| {
        if let Some(heard) = not_admitted(&channel, &headers) {
            return heard;
        }
        match read {
            Ok(form) => act(&channel, &headers, form, struck),
            Err(heard) => *heard,
        }
    })
    .await;
    let gzip = axum::http::HeaderValue::from_static("gzip");
    response
        .headers_mut()
        .insert("x-alpinebits-server-accept-encoding", gzip);
    response
}

fn act(channel: &AlpineBits, headers: &HeaderMap, form: Form, struck: &Struck) -> Heard {
    let Some(action) = form.action.as_deref() else {
        return plain(400, "no action");
    };
    let now = channel.now();
    let body = form.request.as_slice();
    let Some(version) = header(headers, "x-alpinebits-clientprotocolversion") else {
        return plain(
            400,
            "no X-AlpineBits-ClientProtocolVersion, and nothing so old is spoken",
        );
    };
    if action == "OTA_Ping:Handshaking" {
        if header(headers, "content-encoding").is_some() {
            return plain(400, "the handshake is never compressed");
        }
        return shake_hands(channel, body);
    }
    if version != VERSION {
        return plain(400, &format!("version {version} is not spoken"));
    }
    match action {
        "OTA_HotelInvCountNotif:FreeRooms" => take_free_rooms(channel, body, struck),
        "OTA_Read:GuestRequests" => {
            let capabilities = channel.capabilities();
            let warnings = channel.demand_warnings();
            let mut state = channel.state();
            guest_requests::let_fall(&mut state, channel.settings.fallback_after_ms, now);
            guest_requests::read(&mut state, body, &capabilities, struck, &warnings, now)
        }
        "OTA_NotifReport:GuestRequests" => {
            let warnings = channel.demand_warnings();
            let mut state = channel.state();
            guest_requests::let_fall(&mut state, channel.settings.fallback_after_ms, now);
            guest_requests::report(&mut state, body, warnings, now)
        }
        other => plain(400, &format!("unknown action {other}")),
    }
}

fn shake_hands(channel: &AlpineBits, body: &[u8]) -> Heard {
    let (heard, agreed) = handshake::receive(body, &channel.own());
    if agreed.is_some() {
        let mut desk = channel.desk();
        desk.agreed = agreed;
        desk.demands.remove(&Demand::Handshake);
    }
    heard
}

fn take_free_rooms(channel: &AlpineBits, body: &[u8], struck: &Struck) -> Heard {
    let capabilities = channel.capabilities();
    let now = channel.now();
    let read = {
        let mut state = channel.state();
        free_rooms::receive(&mut state, body, &capabilities, struck.partial, now)
    };
    match read {
        Err(heard) => *heard,
        Ok(taken) => {
            if taken.complete {
                channel.desk().demands.remove(&Demand::FreeRooms);
            }
            let mut more = channel.demand_warnings();
            more.extend(channel.advisories(&taken.hotel));
            taken.answer(more)
        }
    }
}

fn not_admitted(channel: &AlpineBits, headers: &HeaderMap) -> Option<Heard> {
    let given = header(headers, "authorization")
        .and_then(|value| value.strip_prefix("Basic "))
        .and_then(|encoded| STANDARD.decode(encoded.trim()).ok());
    let settings = &channel.settings;
    let right = format!("{}:{}", settings.user, settings.password.reveal());
    (given.as_deref() != Some(right.as_bytes())).then(unauthorized)
}

/// Reads the form, unpacking the whole body first if it says so.
async fn read_form(headers: &HeaderMap, body: Bytes) -> Result<Form, Box<Heard>> {
    let body = match header(headers, "content-encoding") {
        None | Some("identity") => body,
        Some("gzip") => unpack(&body)?,
        Some(other) => return Err(below(501, &format!("encoding {other} is not accepted"))),
    };
    let content_type = header(headers, "content-type").unwrap_or_default();
    if !content_type.starts_with("multipart/form-data") {
        return Err(below(415, "the body is not multipart/form-data"));
    }
    let request = Request::builder()
        .header("content-type", content_type)
        .body(Body::from(body));
    let request = request.map_err(|_| below(400, "unreadable headers"))?;
    let unreadable = |_| below(400, "the form is not readable");
    let parts = Multipart::from_request(request, &()).await;
    let mut parts = parts.map_err(|_| below(400, "the form is not readable"))?;
    let mut form = Form::default();
    while let Some(part) = parts.next_field().await.map_err(unreadable)? {
        match part.name() {
            Some("action") => form.action = Some(part.text().await.map_err(unreadable)?),
            Some("request") => form.request = part.bytes().await.map_err(unreadable)?.to_vec(),
            _ => {}
        }
    }
    Ok(form)
}

fn below(status: u16, why: &str) -> Box<Heard> {
    Box::new(plain(status, why))
}

fn unpack(body: &[u8]) -> Result<Bytes, Box<Heard>> {
    let mut unpacked = Vec::new();
    let mut reader = GzDecoder::new(body).take(UNPACKED_MAX + 1);
    reader
        .read_to_end(&mut unpacked)
        .map_err(|_| below(400, "the body is not gzip"))?;
    if u64::try_from(unpacked.len()).unwrap_or(u64::MAX) > UNPACKED_MAX {
        return Err(below(413, "the body is too large"));
    }
    Ok(unpacked.into())
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Enough for two years of fifty categories, day by day.
const UNPACKED_MAX: u64 = 16 * 1024 * 1024;
