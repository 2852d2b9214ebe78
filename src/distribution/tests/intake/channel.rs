//! A dialect of our own: JSON, one object a message, as small as a test can read.

use std::sync::Arc;

use jiff::civil::Date;
use keyrack_distribution::channels::Channels;
use keyrack_model::adapter::{
    ChannelAdapter, Exchange, Goal, Inbound, Method, Outbound, Outcome, ParseFault, Parsed,
    Receipt, ReceiptOutcome, RenderError, Reply, Session, Step, Verdict,
};
use keyrack_model::ari::AriPush;
use keyrack_model::channel::Capabilities;
use keyrack_model::id::ChannelCode;
use keyrack_model::reservation::{Guest, ReportedRoom, ReservationReport, RevisionKind};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// The dialect; its three channels differ in what they can.
pub struct Scripted {
    code: &'static str,
    capabilities: &'static Capabilities,
}

/// Every channel: one that is asked for all hotels at once, one that is asked hotel by hotel, and
/// one that delivers by itself.
pub fn all() -> Channels {
    let channels = [
        ("scripted", &CAPABILITIES),
        ("by_hotel", &BY_HOTEL),
        ("delivering", &DELIVERING),
    ];
    let adapters = channels.map(|(code, capabilities)| -> Arc<dyn ChannelAdapter> {
        Arc::new(Scripted { code, capabilities })
    });
    Channels::new(adapters.into())
}

const CAPABILITIES: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: true,
    poll_seconds: 20,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: Some(1_800),
    fallback_seconds: 1_800,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: false,
    takes_rates: true,
    knows_rate_plans: true,
    restrictions: &[],
    reopens_by_itself: false,
    rooms_max: 100,
    spans_per_message_max: 100,
    horizon_nights_max: 500,
    requests_per_minute: 60_000,
    settle_seconds: None,
    signs_in: true,
    sign_in_seconds: 3_000,
};

const DELIVERING: Capabilities = Capabilities {
    is_polled: false,
    signs_in: false,
    missed_seconds: None,
    ..CAPABILITIES
};

const BY_HOTEL: Capabilities = Capabilities {
    polls_whole_connection: false,
    missed_seconds: None,
    ..CAPABILITIES
};

impl ChannelAdapter for Scripted {
    fn channel(&self) -> ChannelCode {
        ChannelCode::new(self.code)
    }

    fn capabilities(&self) -> &'static Capabilities {
        self.capabilities
    }

    fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        redact(bytes)
    }

    fn parse(&self, inbound: &Inbound) -> Parsed {
        parse(&inbound.bytes)
    }

    fn acknowledge(
        &self,
        _inbound: &Inbound,
        receipts: &[Receipt],
        session: &Session,
    ) -> Result<Vec<Outbound>, RenderError> {
        Ok(acknowledge(receipts, session))
    }

    fn render(&self, _push: &AriPush, _session: &Session) -> Result<Vec<Outbound>, RenderError> {
        Ok(Vec::new())
    }

    fn judge(&self, _sent: &Outbound, reply: &Reply) -> Verdict {
        judge(reply)
    }

    fn next(&self, session: &Session, step: &Step<'_>) -> Exchange {
        if step.goal == Goal::Poll && !self.capabilities.polls_whole_connection {
            return by_hotel(session, step);
        }
        next(session, step)
    }
}

/// Sixteen digits in a row are a card.
fn redact(bytes: &[u8]) -> Vec<u8> {
    let mut masked = bytes.to_vec();
    let mut at = 0;
    while at < masked.len() {
        let digits = masked[at..]
            .iter()
            .take_while(|b| b.is_ascii_digit())
            .count();
        if digits == 16 {
            masked[at..at + digits].fill(b'*');
        }
        at += digits.max(1);
    }
    masked
}

fn parse(bytes: &[u8]) -> Parsed {
    let fault = |why: &str, reference: Option<String>| ParseFault {
        at: "/".into(),
        why: why.into(),
        raw: "…".into(),
        reference,
    };
    let Ok(message) = serde_json::from_slice::<Value>(bytes) else {
        return Parsed {
            is_unreadable: true,
            faults: vec![fault("it is no JSON", None)],
            ..Parsed::default()
        };
    };
    assert!(message["panic"].is_null(), "a hostile message");
    let mut parsed = Parsed {
        has_more: message["more"].as_bool().unwrap_or(false),
        ..Parsed::default()
    };
    for item in message["reservations"].as_array().into_iter().flatten() {
        match report(item) {
            Some(report) => parsed.reports.push(report),
            None => {
                let reference = item["ref"].as_str().map(Into::into);
                parsed
                    .faults
                    .push(fault("its dates are impossible", reference));
            }
        }
    }
    parsed
}

fn report(item: &Value) -> Option<ReservationReport> {
    let text = |key: &str| item[key].as_str().map(str::to_owned);
    let date = |key: &str| item[key].as_str()?.parse::<Date>().ok();
    let kind = match item["kind"].as_str().unwrap_or("new") {
        "cancel" => RevisionKind::Cancelled,
        "modify" => RevisionKind::Modified,
        _ => RevisionKind::New,
    };
    let mut rooms = Vec::new();
    if kind != RevisionKind::Cancelled {
        rooms.push(ReportedRoom {
            room_code: text("room").unwrap_or_default(),
            rate_code: text("rate"),
            arrival: Some(date("arrival")?),
            departure: Some(date("departure")?),
            quantity: 1,
            ..ReportedRoom::default()
        });
    }
    Some(ReservationReport {
        hotel_code: text("hotel"),
        reference: text("ref")?,
        kind,
        order: item["order"].as_i64(),
        booked_at: None,
        rooms,
        guest: Guest {
            name: text("guest").unwrap_or_default(),
            ..Guest::default()
        },
        total: None,
        commission: None,
        payment_model: None,
        remarks: Vec::new(),
        is_quote: item["quote"].as_bool().unwrap_or(false),
        acknowledge_as: None,
    })
}

/// `{"recorded": [[ref, number]], "refused": [[ref, why]]}`.
fn acknowledge(receipts: &[Receipt], session: &Session) -> Vec<Outbound> {
    if receipts.is_empty() {
        return Vec::new();
    }
    let mut recorded = Vec::new();
    let mut refused = Vec::new();
    for receipt in receipts {
        match &receipt.outcome {
            ReceiptOutcome::Recorded { number } => {
                recorded.push(json!([receipt.reference, number]))
            }
            ReceiptOutcome::Refused { why } => refused.push(json!([receipt.reference, why])),
        }
    }
    let body = json!({"recorded": recorded, "refused": refused});
    vec![send(
        session,
        "acknowledge",
        Method::Post,
        "/ack",
        body.to_string(),
    )]
}

fn judge(reply: &Reply) -> Verdict {
    let later = |after_seconds| Outcome::Later { after_seconds };
    let outcome = match reply.status {
        200 => Outcome::Accepted,
        401 => Outcome::Unauthenticated,
        409 => Outcome::Stale,
        429 => later(
            reply
                .header("retry-after")
                .and_then(|text| text.parse().ok()),
        ),
        500.. => later(None),
        _ => Outcome::Refused,
    };
    Verdict::of(outcome, format!("the portal said {}", reply.status))
}

fn next(session: &Session, step: &Step<'_>) -> Exchange {
    if let Some((_, reply)) = step.last {
        let verdict = judge(reply);
        if verdict.outcome != Outcome::Accepted {
            return Exchange::Failed(verdict);
        }
        return match step.goal {
            Goal::SignIn => {
                let token = String::from_utf8_lossy(&reply.body).into_owned();
                let learned = Some(SecretString::from(json!(token).to_string()));
                Exchange::Done { learned }
            }
            Goal::Poll if step.has_more => Exchange::Send(queue(session)),
            _ => Exchange::Done { learned: None },
        };
    }
    Exchange::Send(match step.goal {
        Goal::SignIn => {
            let secret = session.secret.expose_secret();
            let body = format!("{}:{secret}", session.user);
            send(session, "sign_in", Method::Post, "/token", body)
        }
        Goal::Poll => queue(session),
        Goal::PollMissed => send(session, "missed", Method::Get, "/missed", String::new()),
        Goal::Test => send(session, "test", Method::Get, "/test", String::new()),
    })
}

/// One question a hotel; a refused hotel does not keep the next from being asked.
fn by_hotel(session: &Session, step: &Step<'_>) -> Exchange {
    let hotel = step.hotel_codes.get(usize::try_from(step.round).unwrap());
    let verdict = step.last.map(|(_, reply)| judge(reply));
    match (verdict, hotel) {
        (Some(verdict), None) if verdict.outcome != Outcome::Accepted => Exchange::Failed(verdict),
        (_, None) => Exchange::Done { learned: None },
        (_, Some(hotel)) => {
            let path = format!("/queue/{hotel}");
            Exchange::Send(send(
                session,
                "reservations",
                Method::Get,
                &path,
                String::new(),
            ))
        }
    }
}

fn queue(session: &Session) -> Outbound {
    send(
        session,
        "reservations",
        Method::Get,
        "/queue",
        String::new(),
    )
}

fn send(session: &Session, topic: &str, method: Method, path: &str, body: String) -> Outbound {
    let token: String = session.learned().unwrap_or_default();
    let base = session.endpoint.clone().unwrap_or_default();
    Outbound {
        topic: topic.into(),
        method,
        url: format!("{base}{path}"),
        headers: vec![("authorization".into(), format!("Bearer {token}"))],
        body: body.into_bytes(),
        timeout_seconds: 2,
    }
}
