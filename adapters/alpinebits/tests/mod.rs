//! The traps of the standard, each as a sentence.

use keyrack_model::adapter::{
    ChannelAdapter, Demand, Exchange, Goal, Inbound, Outbound, Outcome, Parsed, Receipt,
    ReceiptOutcome, RenderError, Reply, Session, Step,
};
use keyrack_model::ari::{AriPush, AriSpan, AriValues};
use keyrack_model::reservation::RevisionKind;
use keyrack_model::stay::Stay;
use secrecy::{ExposeSecret, SecretString};

use super::AlpineBits;
use super::request::message_of;
use super::wire::{
    ACTION_FREE_ROOMS, ACTION_READ, CATEGORIES, CLOSING_SEASONS, COMPLETE_SET, DELTAS,
    OUT_OF_MARKET, OUT_OF_ORDER, ROOMS,
};

mod conversation;
mod free_rooms;
mod guest_requests;
mod verdict;

const PORTAL: AlpineBits = AlpineBits;

fn session(supports: &[&str]) -> Session {
    let learned = serde_json::json!({"version": "2024-10", "supports": supports});
    Session {
        endpoint: Some("http://portal.test/alpinebits".to_owned()),
        user: "seehof".to_owned(),
        secret: SecretString::from("open-sesame"),
        learned: SecretString::from(learned.to_string()),
        settings: serde_json::Value::Null,
    }
}

fn agreed() -> Session {
    session(&[
        ACTION_FREE_ROOMS,
        ACTION_READ,
        CATEGORIES,
        DELTAS,
        COMPLETE_SET,
    ])
}

fn parse(topic: &str, message: &str) -> Parsed {
    PORTAL.parse(&Inbound {
        bytes: message.as_bytes().to_vec(),
        topic: topic.to_owned(),
        ..Inbound::default()
    })
}

fn reply(status: u16, body: &str) -> Reply {
    Reply {
        status,
        headers: vec![("retry-after".to_owned(), "9".to_owned())],
        body: body.as_bytes().to_vec(),
    }
}

fn stay(from: &str, to: &str) -> Stay {
    Stay::new(from.parse().unwrap(), to.parse().unwrap()).unwrap()
}

fn span(room: &str, from: &str, to: &str, rooms: i32) -> AriSpan {
    AriSpan {
        nights: stay(from, to),
        channel_room_code: room.to_owned(),
        channel_rate_code: None,
        values: AriValues {
            rooms: Some(rooms),
            ..AriValues::default()
        },
    }
}

fn push(complete: bool, spans: Vec<AriSpan>) -> AriPush {
    AriPush {
        hotel_code: "HTL1".to_owned(),
        complete,
        spans,
    }
}

fn render(push: &AriPush, session: &Session) -> Result<Vec<String>, RenderError> {
    let messages = PORTAL.render(push, session)?;
    Ok(messages.iter().map(|sent| message_of(&sent.body)).collect())
}
