//! The addresses of the fake Booking.com.

use std::collections::BTreeMap;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{ConnectInfo, Query, State as Held};
use axum::http::{HeaderMap, Response};
use axum::routing::{get, post};
use jiff::Timestamp;
use rand::seq::SliceRandom as _;

use crate::edge::{Heard, Line, hear};

use super::account::BookingCom;
use super::answer::{BookingTongue, Fault, refusal, unauthorized};
use super::ari::{AVAILABILITY, Kind, RATES};
use super::message::Manner;
use super::poll::{deliver, filter, hand_out, paced, rhythm};
use super::queue::{Queue, let_fall, missed, offered};
use super::{acknowledgement, ari, message};

/// All addresses, over one channel.
pub(crate) fn router(channel: BookingCom) -> Router {
    Router::new()
        .route("/token-based-authentication/exchange", post(exchange))
        .route("/hotels/ota/OTA_HotelAvailNotif", post(availability))
        .route("/hotels/ota/OTA_HotelRateAmountNotif", post(rates))
        .route(
            "/hotels/ota/OTA_HotelResNotif",
            get(ask_new).post(acknowledge_new),
        )
        .route(
            "/hotels/ota/OTA_HotelResModifyNotif",
            get(ask_modified).post(acknowledge_modified),
        )
        .route(
            "/reservations-flow-control/missed-reservations",
            get(ask_missed),
        )
        .with_state(channel)
}

type Asked = Query<BTreeMap<String, String>>;

async fn exchange(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    body: Bytes,
) -> Response<Body> {
    let now = channel.now();
    let tongue = BookingTongue {
        root: "TokenExchange",
        now,
    };
    hear(&channel, &tongue, &line, "token", |_| {
        let now = channel.now();
        channel
            .desk()
            .tokens
            .exchange(&body, &channel.settings, now)
    })
    .await
}

async fn availability(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    tell(
        channel,
        line,
        headers,
        body,
        &AVAILABILITY,
        "OTA_HotelAvailNotif",
    )
    .await
}

async fn rates(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    tell(
        channel,
        line,
        headers,
        body,
        &RATES,
        "OTA_HotelRateAmountNotif",
    )
    .await
}

async fn tell(
    channel: BookingCom,
    line: Line,
    headers: HeaderMap,
    body: Bytes,
    kind: &'static Kind,
    endpoint: &str,
) -> Response<Body> {
    let tongue = BookingTongue {
        root: kind.response,
        now: channel.now(),
    };
    hear(&channel, &tongue, &line, endpoint, |struck| {
        let now = channel.now();
        if let Some(heard) = not_admitted(&channel, &headers, kind.response, now) {
            return heard;
        }
        if headers
            .get("accept-version")
            .is_some_and(|version| version != "1.1")
        {
            return refusal(kind.response, 400, Fault::new(450, "not acceptable"), now);
        }
        let today = Some(channel.clock().today());
        ari::receive(
            &mut channel.state(),
            kind,
            &body,
            today,
            struck.partial,
            now,
        )
    })
    .await
}

async fn ask_new(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    query: Asked,
) -> Response<Body> {
    ask(channel, line, headers, query, Queue::New).await
}

async fn ask_modified(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    query: Asked,
) -> Response<Body> {
    ask(channel, line, headers, query, Queue::Modify).await
}

async fn ask(
    channel: BookingCom,
    line: Line,
    headers: HeaderMap,
    Query(query): Asked,
    queue: Queue,
) -> Response<Body> {
    let endpoint = format!("GET {}", queue.endpoint());
    let tongue = BookingTongue {
        root: queue.response(),
        now: channel.now(),
    };
    hear(&channel, &tongue, &line, &endpoint, |struck| {
        let now = channel.now();
        if let Some(heard) = not_admitted(&channel, &headers, queue.response(), now) {
            return heard;
        }
        let mut state = channel.state();
        let_fall(&mut state, &channel.settings, now);
        let filter = match filter(&channel, &state, &query) {
            Ok(filter) => filter,
            Err((status, fault)) => return refusal(queue.response(), status, fault, now),
        };
        let (filter, remark) = paced(&channel, queue, filter, now);
        let references = offered(&state, queue, &filter);
        deliver(&channel, &mut state, queue, references, struck, remark, now)
    })
    .await
}

async fn ask_missed(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    Query(query): Asked,
) -> Response<Body> {
    let root = Queue::New.response();
    let tongue = BookingTongue {
        root,
        now: channel.now(),
    };
    hear(
        &channel,
        &tongue,
        &line,
        "GET missed-reservations",
        |struck| {
            let now = channel.now();
            if let Some(heard) = not_admitted(&channel, &headers, root, now) {
                return heard;
            }
            if !channel.settings.recovery {
                let fault = Fault::new(497, "the recovery of reservations is not enabled");
                return refusal(root, 403, fault, now);
            }
            let mut state = channel.state();
            let_fall(&mut state, &channel.settings, now);
            let filter = match filter(&channel, &state, &query) {
                Ok(filter) => filter,
                Err((status, fault)) => return refusal(root, status, fault, now),
            };
            channel.desk().missed.asked_at = Some(now);
            let mut references = missed(&state, &filter);
            if struck.reorder {
                references.shuffle(&mut state.rng);
            }
            let reservations = hand_out(&mut state, &references, struck, now);
            let manner = Manner {
                cancel_names_hotel: channel.settings.cancel_names_hotel,
                states_named: true,
            };
            let answer = message::queue(Queue::New, &reservations, &manner, now);
            Heard {
                references,
                ..Heard::accepted(answer)
            }
        },
    )
    .await
}

async fn acknowledge_new(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    acknowledge(channel, line, headers, body, Queue::New).await
}

async fn acknowledge_modified(
    Held(channel): Held<BookingCom>,
    ConnectInfo(line): ConnectInfo<Line>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    acknowledge(channel, line, headers, body, Queue::Modify).await
}

async fn acknowledge(
    channel: BookingCom,
    line: Line,
    headers: HeaderMap,
    body: Bytes,
    queue: Queue,
) -> Response<Body> {
    let endpoint = format!("POST {}", queue.endpoint());
    let tongue = BookingTongue {
        root: queue.response(),
        now: channel.now(),
    };
    hear(&channel, &tongue, &line, &endpoint, |_| {
        let now = channel.now();
        if let Some(heard) = not_admitted(&channel, &headers, queue.response(), now) {
            return heard;
        }
        let mut state = channel.state();
        let_fall(&mut state, &channel.settings, now);
        let heard = acknowledgement::receive(&mut state, queue, &body, now);
        drop(state);
        if heard.accepted {
            rhythm(&mut channel.desk(), queue).acknowledged_at = Some(now);
        }
        heard
    })
    .await
}

fn not_admitted(
    channel: &BookingCom,
    headers: &HeaderMap,
    root: &'static str,
    now: Timestamp,
) -> Option<Heard> {
    let authorization = headers
        .get("authorization")
        .and_then(|value| value.to_str().ok());
    let admitted = channel
        .desk()
        .tokens
        .admits(authorization, &channel.settings, now);
    (!admitted).then(|| unauthorized(root, now))
}
