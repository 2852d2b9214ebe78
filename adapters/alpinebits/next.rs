//! Conversations: the handshake, one question per hotel, the test of a login.

use keyrack_model::adapter::{
    Exchange, Goal, Outbound, Outcome, RenderError, Reply, Session, Step, Verdict,
};
use secrecy::SecretString;

use super::handshake;
use super::render::{read_requests, shake_hands};
use super::verdict::judge;
use super::wire::{ACTION_READ, Agreed};
use crate::xml;

/// What comes next.
pub(super) fn next(session: &Session, step: &Step<'_>) -> Exchange {
    let last = step
        .last
        .map(|(sent, reply)| (sent, reply, judge(sent, reply)));
    match step.goal {
        Goal::SignIn => match last {
            None => send(shake_hands(session)),
            Some((_, reply, verdict)) if took(&verdict) => learned(reply),
            Some((.., verdict)) => Exchange::Failed(verdict),
        },
        Goal::Poll => poll(session, step, last),
        Goal::PollMissed => Exchange::Done { learned: None },
        Goal::Test => match last {
            None => send(shake_hands(session)),
            Some((.., verdict)) if !took(&verdict) => Exchange::Failed(verdict),
            // Round 0 shook hands.
            Some(_) => {
                let asked = step.round.checked_sub(1).map(index);
                match asked.and_then(|asked| step.hotel_codes.get(asked)) {
                    Some(hotel) => send(read_requests(session, hotel)),
                    None => Exchange::Done { learned: None },
                }
            }
        },
    }
}

fn index(round: u32) -> usize {
    usize::try_from(round).unwrap_or(usize::MAX)
}

fn took(verdict: &Verdict) -> bool {
    matches!(verdict.outcome, Outcome::Accepted | Outcome::Partly)
}

/// One hotel a round. A hotel that is refused does not keep the next one from being asked; a
/// portal that is down or knows us no more does.
fn poll(
    session: &Session,
    step: &Step<'_>,
    last: Option<(&Outbound, &Reply, Verdict)>,
) -> Exchange {
    let hotel = step.hotel_codes.get(index(step.round));
    if let Some((.., verdict)) = last {
        let goes_on = verdict.outcome == Outcome::Refused && hotel.is_some();
        if !took(&verdict) && !goes_on {
            return Exchange::Failed(verdict);
        }
    }
    let Some(agreed) = session.learned::<Agreed>() else {
        return Exchange::Failed(Verdict::of(
            Outcome::Unauthenticated,
            "no handshake was held yet".to_owned(),
        ));
    };
    if !agreed.has(ACTION_READ) {
        return Exchange::Failed(Verdict::of(
            Outcome::Refused,
            "the portal does not offer guest requests for pulling".to_owned(),
        ));
    }
    match hotel {
        Some(hotel) => send(read_requests(session, hotel)),
        None => Exchange::Done { learned: None },
    }
}

fn learned(reply: &Reply) -> Exchange {
    let text = xml::text(&reply.body);
    let agreed = xml::read(&text)
        .map_err(|fault| fault.why)
        .and_then(|document| handshake::read_answer(document.root()));
    match agreed.map(|agreed| serde_json::to_string(&agreed)) {
        Ok(Ok(kept)) => Exchange::Done {
            learned: Some(SecretString::from(kept)),
        },
        Ok(Err(fault)) => Exchange::Failed(Verdict::of(Outcome::Refused, fault.to_string())),
        Err(why) => Exchange::Failed(Verdict::of(Outcome::Refused, why)),
    }
}

fn send(outbound: Result<Outbound, RenderError>) -> Exchange {
    outbound.map_or_else(
        |error| Exchange::Failed(Verdict::of(Outcome::Refused, error.why)),
        Exchange::Send,
    )
}
