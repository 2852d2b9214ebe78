//! What the channel says to a message. Reads the body first and the status last.

use keyrack_model::adapter::{Outbound, Outcome, RefusedPart, Reply, Verdict};

use super::parse::ruid;
use super::render::span_of;
use super::wire::{
    self, ACKNOWLEDGE_MODIFIED, ACKNOWLEDGE_NEW, AVAILABILITY, MISSED, MODIFIED, Message, NAMES,
    NEW, RATES, SIGN_IN, TEST, Token, Traced,
};
use crate::fault::kept;
use crate::mask::mask;
use crate::ota2003::message::{Answer, Notice};
use crate::ota2003::verdict::{by_status, is_taken, retry_after};
use crate::xml::{self, BYTES_MAX};

/// Characters of a request id that are kept.
const RUID_CHARS_MAX: usize = 200;

/// What an error means for the message.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// The same again later may succeed.
    Wait,
    /// Sign in anew.
    SignIn,
    /// A person must look.
    Look,
    /// The part had no effect, the rest of the message had.
    Dropped,
    /// Nothing was lost.
    Harmless,
}

/// The channel's codes; what is not listed is to be looked at.
const CODES: &[(&str, Effect, &str)] = &[
    ("401", Effect::SignIn, "the login is not accepted"),
    ("403", Effect::Look, NO_ACCESS),
    ("392", Effect::Look, NO_ACCESS),
    ("429", Effect::Wait, "too many requests"),
    ("448", Effect::Wait, "the channel has a fault of its own"),
    ("500", Effect::Wait, "the channel has a fault of its own"),
    ("ROOM_ID_MISSING", Effect::Look, "a room code is missing"),
    ("ROOM_ELEMENT_REQUIRED", Effect::Look, "a room is missing"),
    (
        "ROOM_ID_INVALID",
        Effect::Look,
        "the room is not known or not active there: check the mapping",
    ),
    (
        "FROM_DATE_SHOULD_BE_LESS_THAN_TO_DATE",
        Effect::Look,
        "the range of nights is reversed",
    ),
    (
        "NOT_A_VALID_DATE",
        Effect::Look,
        "the night lies more than a day in the past",
    ),
    (
        "LOS_PRICING_PASSED_FOR_OBP_RATE",
        Effect::Look,
        "the hotel has another pricing model there",
    ),
    (
        "WARN_UNPROCESSED_ADDITIONAL_GUEST",
        Effect::Harmless,
        "the price of an additional guest was not used",
    ),
    (
        "WARN_DUPLICATE_DATES",
        Effect::Dropped,
        "a night stood twice, and the first won",
    ),
];

const NO_ACCESS: &str = "the login has no access to this hotel: the connection is pending or was \
     removed; accept it in the extranet";

/// What the channel said.
pub(super) fn judge(sent: &Outbound, reply: &Reply) -> Verdict {
    if sent.topic == SIGN_IN {
        return sign_in(reply);
    }
    if reply.body.len() > BYTES_MAX {
        return by_status(reply, None);
    }
    let body = mask(&reply.body, &NAMES);
    let text = xml::text(&body);
    let Ok(document) = xml::read(&text) else {
        let mut verdict = plain(sent, reply, None);
        verdict.trace = json_ruid(&reply.body);
        return verdict;
    };
    let mut verdict = match wire::message(document.root()) {
        Message::Reservations(..) if asks(sent) && is_taken(reply) => {
            Verdict::of(Outcome::Accepted, None)
        }
        Message::Ok => answered(sent, reply, success()),
        Message::Answer(answer) => answered(sent, reply, answer),
        Message::Fault(errors) => {
            let errors = errors.into_iter().map(notice).collect();
            let answer = Answer {
                errors,
                ..Answer::default()
            };
            answered(sent, reply, answer)
        }
        _ => plain(sent, reply, None),
    };
    verdict.trace = ruid(&document.comments);
    verdict
}

fn success() -> Answer {
    Answer {
        success: true,
        ..Answer::default()
    }
}

fn notice((code, words): (Option<String>, String)) -> Notice {
    Notice {
        kind: None,
        code: code.map(|code| kept(&code, Notice::NAME_CHARS_MAX)),
        record: None,
        status: None,
        words: kept(&words, Notice::WORDS_CHARS_MAX),
    }
}

fn asks(sent: &Outbound) -> bool {
    [NEW, MODIFIED, MISSED, TEST].contains(&sent.topic.as_str())
}

fn acknowledges(sent: &Outbound) -> bool {
    [ACKNOWLEDGE_NEW, ACKNOWLEDGE_MODIFIED].contains(&sent.topic.as_str())
}

fn tells(sent: &Outbound) -> bool {
    [AVAILABILITY, RATES].contains(&sent.topic.as_str())
}

fn sign_in(reply: &Reply) -> Verdict {
    let token: Option<Token> = serde_json::from_slice(&reply.body).ok();
    let mut verdict = match token {
        Some(token) if is_taken(reply) && !token.jwt.is_empty() => {
            Verdict::of(Outcome::Accepted, None)
        }
        _ => by_status(reply, None),
    };
    verdict.trace = json_ruid(&reply.body);
    verdict
}

fn json_ruid(body: &[u8]) -> Option<String> {
    let traced: Option<Traced> = serde_json::from_slice(body).ok();
    traced.map(|traced| kept(&traced.ruid, RUID_CHARS_MAX))
}

/// An answer whose body says nothing that we know.
fn plain(sent: &Outbound, reply: &Reply, why: Option<String>) -> Verdict {
    match reply.status {
        400 if acknowledges(sent) => stale(why),
        403 => by_status(reply, Some(why.unwrap_or_else(|| NO_ACCESS.to_owned()))),
        _ => by_status(reply, why),
    }
}

/// The acknowledged message is no longer the latest, or went to the wrong queue.
fn stale(why: Option<String>) -> Verdict {
    let known = "a later state exists: ask again, record, acknowledge again";
    Verdict::of(Outcome::Stale, why.unwrap_or_else(|| known.to_owned()))
}

/// An answer with success, warnings or errors. A 200 with errors is a message of which a part was
/// applied; any other status with errors is one of which nothing was.
fn answered(sent: &Outbound, reply: &Reply, answer: Answer) -> Verdict {
    if answer.errors.is_empty() {
        if !(answer.success && is_taken(reply)) || asks(sent) {
            return plain(sent, reply, None);
        }
        return warned(&answer.warnings);
    }
    let why = words(&answer.errors);
    let worst = |effect: Effect| answer.errors.iter().any(|error| lookup(error).0 == effect);
    let later = Outcome::Later {
        after_seconds: retry_after(reply),
    };
    let mut verdict = match reply.status {
        401 => Verdict::of(Outcome::Unauthenticated, why),
        _ if worst(Effect::SignIn) => Verdict::of(Outcome::Unauthenticated, why),
        400 if acknowledges(sent) => stale(Some(why)),
        429 | 500.. => Verdict::of(later, why),
        200..300 if worst(Effect::Wait) => Verdict::of(later, why),
        200..300 if tells(sent) => Verdict::of(Outcome::Partly, why),
        _ => Verdict::of(Outcome::Refused, why),
    };
    verdict.refused = answer.errors.iter().map(part).collect();
    verdict
}

fn warned(warnings: &[Notice]) -> Verdict {
    let dropped = |warning: &&Notice| match lookup(warning).0 {
        Effect::Harmless => false,
        Effect::Dropped => true,
        _ => warning.record.is_some(),
    };
    let refused: Vec<RefusedPart> = warnings.iter().filter(dropped).map(part).collect();
    let outcome = if refused.is_empty() {
        Outcome::Accepted
    } else {
        Outcome::Partly
    };
    let mut verdict = Verdict::of(outcome, (!warnings.is_empty()).then(|| words(warnings)));
    verdict.refused = refused;
    verdict
}

fn part(notice: &Notice) -> RefusedPart {
    RefusedPart {
        span: notice.record.as_deref().and_then(span_of),
        record: notice.record.clone(),
        why: explained(notice),
    }
}

/// The row of the table: by code, else by the code's name in the words.
fn lookup(notice: &Notice) -> (Effect, Option<&'static str>) {
    let code = notice.code.as_deref();
    let row = CODES.iter().find(|(known, ..)| {
        let is_name = known.starts_with(|c: char| c.is_ascii_uppercase());
        code == Some(*known) || (is_name && notice.words.contains(known))
    });
    row.map_or((Effect::Look, None), |(_, effect, advice)| {
        (*effect, Some(*advice))
    })
}

fn explained(notice: &Notice) -> String {
    match lookup(notice).1 {
        Some(advice) => format!("{}: {advice}", notice.why()),
        None => notice.why(),
    }
}

fn words(notices: &[Notice]) -> String {
    let each: Vec<String> = notices.iter().take(20).map(explained).collect();
    each.join("; ")
}
