//! The door for other processes: the same as the handles, as JSON under `/_sandbox`.
//!
//! `{channel}` is `booking_com` or `alpinebits`. Unknown channels and hotels are 404; a sale, a
//! change or a cancellation that was not to be had is 409.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{Path, Query, State as Held};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::alpinebits::{AlpineBits, Demand};
use crate::booking_com::BookingCom;
use crate::channel::Channel;
use crate::clock::Clock;
use crate::faults::Faults;
use crate::guests::Guests;
use crate::hotel::{Room, Shown};
use crate::journal::Journal;
use crate::reservation::{Change, Sold, Wish};

/// Both channels, and the guests that come by themselves.
#[derive(Clone)]
pub(crate) struct Control {
    booking_com: BookingCom,
    alpinebits: AlpineBits,
    clock: Clock,
    closing: CancellationToken,
    guests: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

impl Control {
    pub(crate) fn new(
        booking_com: &BookingCom,
        alpinebits: &AlpineBits,
        clock: &Clock,
        closing: CancellationToken,
    ) -> Control {
        Control {
            booking_com: booking_com.clone(),
            alpinebits: alpinebits.clone(),
            clock: clock.clone(),
            closing,
            guests: Arc::default(),
        }
    }

    /// Sends all guests home.
    pub(crate) fn stop_guests(&self) {
        let mut guests = self.guests.lock().unwrap_or_else(PoisonError::into_inner);
        for task in guests.drain(..) {
            task.abort();
        }
    }

    fn channel(&self, code: &str) -> Result<Channel, StatusCode> {
        match code {
            "booking_com" => Ok(Channel::clone(&self.booking_com)),
            "alpinebits" => Ok(Channel::clone(&self.alpinebits)),
            _ => Err(StatusCode::NOT_FOUND),
        }
    }
}

/// All addresses of the door.
pub(crate) fn router(control: Control) -> Router {
    Router::new()
        .route("/_sandbox/clock", get(clock))
        .route("/_sandbox/clock/advance", post(advance))
        .route("/_sandbox/{channel}/hotels", get(hotels).post(add_hotel))
        .route("/_sandbox/{channel}/shown", get(shown))
        .route("/_sandbox/{channel}/journal", get(journal))
        .route("/_sandbox/{channel}/sell", post(sell))
        .route("/_sandbox/{channel}/modify", post(modify))
        .route("/_sandbox/{channel}/cancel", post(cancel))
        .route("/_sandbox/{channel}/faults", get(faults).put(set_faults))
        .route("/_sandbox/{channel}/guests", post(guests))
        .route("/_sandbox/alpinebits/demand", post(demand))
        .with_state(control)
}

type Answered<T> = Result<Json<T>, StatusCode>;

#[derive(Serialize)]
struct ClockView {
    now: jiff::Timestamp,
    today: Date,
}

async fn clock(Held(control): Held<Control>) -> Json<ClockView> {
    Json(ClockView {
        now: control.clock.now(),
        today: control.clock.today(),
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Advance {
    ms: u32,
}

async fn advance(Held(control): Held<Control>, Json(by): Json<Advance>) -> Json<ClockView> {
    control.clock.advance(by.ms);
    control.booking_com.let_fall();
    control.alpinebits.let_fall();
    clock(Held(control)).await
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HotelView {
    hotel: String,
    rooms: Vec<Room>,
}

async fn hotels(
    Held(control): Held<Control>,
    Path(code): Path<String>,
) -> Answered<Vec<HotelView>> {
    let channel = control.channel(&code)?;
    let view = |hotel: String| HotelView {
        rooms: channel.rooms(&hotel),
        hotel,
    };
    Ok(Json(channel.hotels().into_iter().map(view).collect()))
}

async fn add_hotel(
    Held(control): Held<Control>,
    Path(code): Path<String>,
    Json(hotel): Json<HotelView>,
) -> Result<StatusCode, StatusCode> {
    control
        .channel(&code)?
        .add_hotel(&hotel.hotel, &hotel.rooms);
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ShownQuery {
    hotel: String,
    from: Date,
    to: Date,
}

async fn shown(
    Held(control): Held<Control>,
    Path(code): Path<String>,
    Query(query): Query<ShownQuery>,
) -> Answered<Vec<Shown>> {
    let channel = control.channel(&code)?;
    if !channel.hotels().contains(&query.hotel) {
        return Err(StatusCode::NOT_FOUND);
    }
    Ok(Json(channel.shown_range(
        &query.hotel,
        query.from,
        query.to,
    )))
}

async fn journal(Held(control): Held<Control>, Path(code): Path<String>) -> Answered<Journal> {
    let channel = control.channel(&code)?;
    control.booking_com.let_fall();
    control.alpinebits.let_fall();
    Ok(Json(channel.journal()))
}

async fn sell(
    Held(control): Held<Control>,
    Path(code): Path<String>,
    Json(wish): Json<Wish>,
) -> Answered<Sold> {
    had(control.channel(&code)?.sell(&wish))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Modify {
    reference: String,
    change: Change,
}

async fn modify(
    Held(control): Held<Control>,
    Path(code): Path<String>,
    Json(asked): Json<Modify>,
) -> Answered<Sold> {
    had(control
        .channel(&code)?
        .modify(&asked.reference, &asked.change))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cancel {
    reference: String,
}

async fn cancel(
    Held(control): Held<Control>,
    Path(code): Path<String>,
    Json(asked): Json<Cancel>,
) -> Answered<Sold> {
    had(control.channel(&code)?.cancel(&asked.reference))
}

fn had(sold: Option<Sold>) -> Answered<Sold> {
    sold.map(Json).ok_or(StatusCode::CONFLICT)
}

async fn faults(Held(control): Held<Control>, Path(code): Path<String>) -> Answered<Faults> {
    Ok(Json(control.channel(&code)?.faults()))
}

async fn set_faults(
    Held(control): Held<Control>,
    Path(code): Path<String>,
    Json(faults): Json<Faults>,
) -> Result<StatusCode, StatusCode> {
    control.channel(&code)?.set_faults(faults);
    Ok(StatusCode::NO_CONTENT)
}

/// Guests that come every so often until they are sent home; `every_ms: 0` does that.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GuestsAsked {
    #[serde(default)]
    seed: u64,
    every_ms: u32,
}

async fn guests(
    Held(control): Held<Control>,
    Path(code): Path<String>,
    Json(asked): Json<GuestsAsked>,
) -> Result<StatusCode, StatusCode> {
    let channel = control.channel(&code)?;
    if asked.every_ms == 0 {
        control.stop_guests();
        return Ok(StatusCode::NO_CONTENT);
    }
    let closing = control.closing.clone();
    let task = tokio::spawn(async move {
        let mut guests = Guests::new(&channel, asked.seed);
        let mut every = tokio::time::interval(Duration::from_millis(u64::from(asked.every_ms)));
        while !closing.is_cancelled() {
            every.tick().await;
            guests.step();
        }
    });
    let mut all = control
        .guests
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    all.push(task);
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DemandAsked {
    demand: Demand,
}

async fn demand(Held(control): Held<Control>, Json(asked): Json<DemandAsked>) -> StatusCode {
    control.alpinebits.demand(asked.demand);
    StatusCode::NO_CONTENT
}
