//! A dialect of our own: a push is its own JSON, one message each.

use keyrack_model::adapter::{
    ChannelAdapter, Demand, Exchange, Goal, Inbound, Method, Outbound, Outcome, Parsed, Receipt,
    RefusedPart, RenderError, Reply, Session, Step, Verdict,
};
use keyrack_model::ari::AriPush;
use keyrack_model::channel::Capabilities;
use keyrack_model::id::ChannelCode;
use keyrack_model::restriction::RestrictionKind;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};

/// Takes single nights, of rooms and of rate plans.
pub struct Deltas;

/// The same, and opens a night by itself where it was told 0: so it is told closed.
pub struct Reopens;

/// The same, and takes nothing but complete sets.
pub struct ReopensInSets;

/// Takes nothing but complete sets, of rooms.
pub struct Sets;

/// Takes single nights, and wants a complete set daily.
pub struct Both;

/// Takes single nights, and cannot be asked for reservations; it sells for half a minute on what
/// it was told before.
pub struct Silent;

const DELTAS: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: true,
    poll_seconds: 20,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: None,
    fallback_seconds: 1_800,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: false,
    takes_rates: true,
    knows_rate_plans: true,
    restrictions: &[
        RestrictionKind::MinStayArrival,
        RestrictionKind::MinStayThrough,
        RestrictionKind::MaxStay,
        RestrictionKind::ClosedToArrival,
        RestrictionKind::ClosedToDeparture,
        RestrictionKind::MinAdvanceDays,
        RestrictionKind::MaxAdvanceDays,
        RestrictionKind::StopSell,
    ],
    reopens_by_itself: false,
    rooms_max: 100,
    spans_per_message_max: 8,
    horizon_nights_max: 30,
    requests_per_minute: 60_000,
    settle_seconds: None,
    signs_in: true,
    sign_in_seconds: 86_400,
};

const REOPENS: Capabilities = Capabilities {
    reopens_by_itself: true,
    ..DELTAS
};

const REOPENS_IN_SETS: Capabilities = Capabilities {
    takes_deltas: false,
    takes_complete_sets: true,
    ..REOPENS
};

const SETS: Capabilities = Capabilities {
    takes_deltas: false,
    takes_complete_sets: true,
    takes_rates: false,
    knows_rate_plans: false,
    ..DELTAS
};

const BOTH: Capabilities = Capabilities {
    takes_complete_sets: true,
    takes_rates: false,
    knows_rate_plans: false,
    ..DELTAS
};

const SILENT: Capabilities = Capabilities {
    is_polled: false,
    settle_seconds: Some(30),
    takes_rates: false,
    knows_rate_plans: false,
    ..DELTAS
};

macro_rules! speaks {
    ($adapter:ty, $code:literal, $capabilities:ident) => {
        impl ChannelAdapter for $adapter {
            fn channel(&self) -> ChannelCode {
                ChannelCode::new($code)
            }

            fn capabilities(&self) -> &'static Capabilities {
                &$capabilities
            }

            fn redact(&self, bytes: &[u8]) -> Vec<u8> {
                bytes.to_vec()
            }

            fn parse(&self, inbound: &Inbound) -> Parsed {
                Parsed {
                    reports: serde_json::from_slice(&inbound.bytes).unwrap_or_default(),
                    ..Parsed::default()
                }
            }

            fn acknowledge(
                &self,
                _inbound: &Inbound,
                _receipts: &[Receipt],
                _session: &Session,
            ) -> Result<Vec<Outbound>, RenderError> {
                Ok(Vec::new())
            }

            fn render(
                &self,
                push: &AriPush,
                session: &Session,
            ) -> Result<Vec<Outbound>, RenderError> {
                render(push, session)
            }

            fn judge(&self, _sent: &Outbound, reply: &Reply) -> Verdict {
                judge(reply)
            }

            fn next(&self, session: &Session, step: &Step<'_>) -> Exchange {
                next(session, step)
            }
        }
    };
}

speaks!(Deltas, "deltas", DELTAS);
speaks!(Reopens, "reopens", REOPENS);
speaks!(ReopensInSets, "reopens_in_sets", REOPENS_IN_SETS);
speaks!(Sets, "sets", SETS);
speaks!(Both, "both", BOTH);
speaks!(Silent, "silent", SILENT);

fn render(push: &AriPush, session: &Session) -> Result<Vec<Outbound>, RenderError> {
    let body = serde_json::to_string(push).expect("plain values");
    if body.contains("\"unspeakable\"") {
        return Err(RenderError::of("this code cannot be said"));
    }
    Ok(vec![send(session, "ari", "/ari", body)])
}

/// `{"refused": [{"span", "why"}], "demands": ["availability"]}` in a 200.
fn judge(reply: &Reply) -> Verdict {
    let body: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    let asked = reply.header("retry-after");
    let outcome = match reply.status {
        200 if body["refused"].is_array() => Outcome::Partly,
        200 => Outcome::Accepted,
        401 => Outcome::Unauthenticated,
        429 | 500.. => Outcome::Later {
            after_seconds: asked.and_then(|text| text.parse().ok()),
        },
        _ => Outcome::Refused,
    };
    let refused = body["refused"].as_array().into_iter().flatten();
    let demands = body["demands"].as_array().into_iter().flatten();
    Verdict {
        refused: refused
            .map(|part| RefusedPart {
                span: part["span"]
                    .as_u64()
                    .and_then(|span| usize::try_from(span).ok()),
                record: None,
                why: part["why"].as_str().unwrap_or_default().into(),
            })
            .collect(),
        demands: demands.map(|_| Demand::Availability).collect(),
        ..Verdict::of(outcome, format!("the portal said {}", reply.status))
    }
}

fn next(session: &Session, step: &Step<'_>) -> Exchange {
    if step.goal != Goal::SignIn {
        return Exchange::Done { learned: None };
    }
    match step.last {
        None => {
            let login = format!("{}:{}", session.user, session.secret.expose_secret());
            Exchange::Send(send(session, "sign_in", "/token", login))
        }
        Some((_, reply)) if reply.status == 200 => {
            let token = String::from_utf8_lossy(&reply.body).into_owned();
            let learned = SecretString::from(json!(token).to_string());
            Exchange::Done {
                learned: Some(learned),
            }
        }
        Some((_, reply)) => Exchange::Failed(judge(reply)),
    }
}

fn send(session: &Session, topic: &str, path: &str, body: String) -> Outbound {
    let token: String = session.learned().unwrap_or_default();
    let base = session.endpoint.clone().unwrap_or_default();
    Outbound {
        topic: topic.into(),
        method: Method::Post,
        url: format!("{base}{path}"),
        headers: vec![("authorization".into(), format!("Bearer {token}"))],
        body: body.into_bytes(),
        // An answer that is lost is waited for; a busy machine may be slow to sign in.
        timeout_seconds: if topic == "sign_in" { 10 } else { 1 },
    }
}
