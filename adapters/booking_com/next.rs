//! Conversations: the token, the rounds of a poll, missed reservations, the test of a login.

use keyrack_model::adapter::{
    Exchange, Goal, Outbound, Outcome, RenderError, Reply, Session, Step, Verdict,
};
use secrecy::SecretString;

use super::request;
use super::verdict::judge;
use super::wire::{
    MISSED, MISSED_PATH, MODIFIED, MODIFIED_PATH, NEW, NEW_PATH, POLL_LIMIT, SECURE_HOST, TEST,
    Token,
};

/// Rounds in one queue at most, so that messages that nobody can acknowledge end a poll too.
const ROUNDS_PER_QUEUE_MAX: u32 = 20;

/// What comes next.
pub(super) fn next(session: &Session, step: &Step<'_>) -> Exchange {
    let Some((sent, reply)) = step.last else {
        return send(first(session, step));
    };
    let verdict = judge(sent, reply);
    if verdict.outcome != Outcome::Accepted {
        return Exchange::Failed(verdict);
    }
    match step.goal {
        Goal::SignIn => learned(reply),
        Goal::Test => Exchange::Done { learned: None },
        Goal::Poll => send_or_done(poll(session, step, &sent.topic)),
        Goal::PollMissed if step.has_more && step.round < ROUNDS_PER_QUEUE_MAX => {
            send(missed(session))
        }
        Goal::PollMissed => Exchange::Done { learned: None },
    }
}

fn first(session: &Session, step: &Step<'_>) -> Result<Outbound, RenderError> {
    match step.goal {
        Goal::SignIn => request::exchange(session),
        Goal::Poll => queue(session, NEW, NEW_PATH),
        Goal::PollMissed => missed(session),
        Goal::Test => test(session, step.hotel_codes),
    }
}

/// New until it is empty, then modified until it is empty: a change waits in the second queue
/// while its booking is read from the first.
fn poll(session: &Session, step: &Step<'_>, asked: &str) -> Option<Result<Outbound, RenderError>> {
    let rounds_max = match asked {
        NEW => ROUNDS_PER_QUEUE_MAX,
        _ => 2 * ROUNDS_PER_QUEUE_MAX,
    };
    let again = step.has_more && step.round < rounds_max;
    match (asked, again) {
        (NEW, true) => Some(queue(session, NEW, NEW_PATH)),
        (NEW, false) | (MODIFIED, true) => Some(queue(session, MODIFIED, MODIFIED_PATH)),
        _ => None,
    }
}

fn queue(session: &Session, topic: &str, path: &str) -> Result<Outbound, RenderError> {
    let query = format!("{path}?limit={POLL_LIMIT}");
    request::get(session, topic, SECURE_HOST, &query)
}

fn missed(session: &Session) -> Result<Outbound, RenderError> {
    request::get(session, MISSED, SECURE_HOST, MISSED_PATH)
}

/// One reservation of the new queue: asking does not take it out, and a login without access to
/// a hotel is told so.
fn test(session: &Session, hotel_codes: &[String]) -> Result<Outbound, RenderError> {
    let plain = |code: &&String| code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let hotels: Vec<&str> = hotel_codes
        .iter()
        .filter(plain)
        .map(String::as_str)
        .collect();
    let query = if hotels.is_empty() {
        format!("{NEW_PATH}?limit=1")
    } else {
        format!("{NEW_PATH}?limit=1&hotel_ids={}", hotels.join(","))
    };
    request::get(session, TEST, SECURE_HOST, &query)
}

fn learned(reply: &Reply) -> Exchange {
    let token: Option<Token> = serde_json::from_slice(&reply.body).ok();
    let kept = token.and_then(|token| serde_json::to_string(&token).ok());
    match kept {
        Some(kept) => Exchange::Done {
            learned: Some(SecretString::from(kept)),
        },
        None => Exchange::Failed(Verdict::of(
            Outcome::Later {
                after_seconds: None,
            },
            "the answer of the token exchange has no jwt".to_owned(),
        )),
    }
}

fn send(outbound: Result<Outbound, RenderError>) -> Exchange {
    outbound.map_or_else(
        |error| {
            let outcome = match error.demand {
                Some(_) => Outcome::Unauthenticated,
                None => Outcome::Refused,
            };
            Exchange::Failed(Verdict::of(outcome, error.why))
        },
        Exchange::Send,
    )
}

fn send_or_done(outbound: Option<Result<Outbound, RenderError>>) -> Exchange {
    outbound.map_or(Exchange::Done { learned: None }, send)
}
