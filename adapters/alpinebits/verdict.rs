//! What the portal says to a message. Reads the body first and the status last.

use keyrack_model::adapter::{Demand, Outbound, Outcome, RefusedPart, Reply, Verdict};

use super::handshake;
use super::parse::error_text;
use super::wire::{HANDSHAKE, NAMES, answer_of};
use crate::mask::mask;
use crate::ota2003::message::{Answer, Notice, answer, reasons};
use crate::ota2003::verdict::{by_status, is_taken, retry_after};
use crate::xml::{self, BYTES_MAX};

/// Warnings that say "done, and by the way".
const ADVISORY: &str = "11";

/// What the portal demands, and whether a program can give it.
const DEMANDS: &[(&str, Option<Demand>)] = &[
    ("ALPINEBITS_SEND_FREEROOMS", Some(Demand::Availability)),
    ("ALPINEBITS_SEND_RATEPLANS", Some(Demand::Rates)),
    ("ALPINEBITS_SEND_HANDSHAKE", Some(Demand::SignIn)),
    // The description of the hotel is kept at the portal by hand: staff must send it.
    ("ALPINEBITS_SEND_INVENTORY", None),
];

/// What the portal said.
pub(super) fn judge(sent: &Outbound, reply: &Reply) -> Verdict {
    if reply.body.len() > BYTES_MAX {
        return by_status(reply, None);
    }
    let body = mask(&reply.body, &NAMES);
    if let Some(words) = error_text(&body) {
        return words_alone(reply, words);
    }
    let text = xml::text(&body);
    let Ok(document) = xml::read(&text) else {
        return by_status(reply, None);
    };
    let root = document.root();
    if answer_of(&sent.topic) != Some(root.name()) {
        return by_status(reply, None);
    }
    let told = answer(root);
    if !told.errors.is_empty() {
        return refused(reply, &told);
    }
    if !told.success || !is_taken(reply) {
        return by_status(reply, None);
    }
    if sent.topic == HANDSHAKE {
        return match handshake::read_answer(root) {
            Ok(_) => Verdict::of(Outcome::Accepted, None),
            Err(why) => Verdict::of(Outcome::Refused, why),
        };
    }
    accepted(&told)
}

/// A refusal in plain text, also where the status claims success.
fn words_alone(reply: &Reply, words: String) -> Verdict {
    if is_taken(reply) {
        return Verdict::of(Outcome::Refused, words);
    }
    by_status(reply, Some(words))
}

/// Nothing was processed. Where the portal says what would help, the same again may succeed.
fn refused(reply: &Reply, told: &Answer) -> Verdict {
    let demands = demands(told);
    let later = Outcome::Later {
        after_seconds: retry_after(reply),
    };
    let helps = |demand: &Demand| matches!(demand, Demand::Availability | Demand::SignIn);
    let outcome = match reply.status {
        401 => Outcome::Unauthenticated,
        429 | 500.. => later,
        _ if demands.iter().any(helps) => later,
        _ => Outcome::Refused,
    };
    let mut verdict = Verdict::of(outcome, why(&told.errors));
    verdict.refused = told.errors.iter().map(part).collect();
    verdict.demands = demands;
    verdict
}

/// Processed; warnings that are no advice name a part that had no effect.
fn accepted(told: &Answer) -> Verdict {
    let advises = |warning: &&Notice| warning.kind.as_deref() == Some(ADVISORY);
    let refused: Vec<RefusedPart> = told
        .warnings
        .iter()
        .filter(|warning| !advises(warning))
        .map(part)
        .collect();
    let outcome = match refused.is_empty() {
        true => Outcome::Accepted,
        false => Outcome::Partly,
    };
    let words = (!told.warnings.is_empty()).then(|| why(&told.warnings));
    let mut verdict = Verdict::of(outcome, words);
    verdict.refused = refused;
    verdict.demands = demands(told);
    verdict
}

fn part(notice: &Notice) -> RefusedPart {
    RefusedPart {
        // A warning may name a record, never a place in the message.
        span: None,
        record: notice.record.clone(),
        why: notice.why(),
    }
}

fn demands(told: &Answer) -> Vec<Demand> {
    let mut demands: Vec<Demand> = Vec::new();
    for notice in told.errors.iter().chain(&told.warnings) {
        let row = DEMANDS
            .iter()
            .find(|(status, _)| notice.status.as_deref() == Some(status));
        if let Some((_, Some(demand))) = row
            && !demands.contains(demand)
        {
            demands.push(*demand);
        }
    }
    demands
}

fn why(notices: &[Notice]) -> String {
    let stated = notices.iter().filter_map(|notice| notice.status.as_deref());
    let unmet: Vec<&str> = stated
        .filter(|status| DEMANDS.contains(&(status, None)))
        .collect();
    match unmet.first() {
        Some(status) => format!("{} ({status}: staff must act)", reasons(notices)),
        None => reasons(notices),
    }
}
