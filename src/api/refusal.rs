//! What the ledger would not, in words that whoever stands at the desk can act on.

use keyrack_ledger::decide::refusal::{Force, Refusal};
use keyrack_model::id::RoomTypeId;
use keyrack_model::stay::StayDate;

use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::problem::sentence::{of_field, sentence};

/// The nights that a refusal names.
pub fn nights(refusal: &Refusal) -> &[(RoomTypeId, StayDate)] {
    match refusal {
        Refusal::NeedsForce { nights, .. }
        | Refusal::NotYetOpen(nights)
        | Refusal::Closed(nights)
        | Refusal::Restriction { nights, .. }
        | Refusal::AllotmentExhausted(nights)
        | Refusal::SoldOut(nights) => nights,
        Refusal::Several(all) => all.first().map_or(&[], |(_, first)| nights(first)),
        _ => &[],
    }
}

/// A refusal in words, with its nights.
pub fn in_words(refusal: &Refusal) -> String {
    let (_, words) = told(refusal);
    let mut words = sentence(&words);
    let all = nights(refusal);
    let first: Vec<String> = all
        .iter()
        .take(3)
        .map(|(_, night)| night.to_string())
        .collect();
    if !first.is_empty() {
        let more = all.len() - first.len();
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        words.push_str(&format!(" It is about {}{more}.", first.join(", ")));
    }
    words
}

/// What kind of problem a refusal is, and what it says.
pub fn told(refusal: &Refusal) -> (Kind, String) {
    if let Some((kind, words)) = always_alike(refusal) {
        return (kind, words.to_owned());
    }
    match refusal {
        Refusal::Several(all) => several(all),
        Refusal::NotFound(what) => {
            let problem = Problem::not_found(what);
            (problem.kind, problem.detail)
        }
        Refusal::Invalid(errors) => {
            let first = errors.first().map(|(at, why)| of_field(at, why));
            (Kind::Invalid, first.unwrap_or_default())
        }
        Refusal::VersionMismatch { current } => (
            Kind::VersionMismatch,
            format!(
                "somebody has changed it since it was read, and it is at version {current} now: \
                 read it again and decide anew"
            ),
        ),
        Refusal::NeedsForce { allow, why, .. } => {
            let detail = format!("{why}: {}", forced(*allow));
            (Kind::NeedsForce, detail)
        }
        Refusal::Restriction { why, .. } => {
            let forced = forced(Force::Restriction);
            let detail = format!("{why}: change the stay; {forced}");
            (Kind::Restriction, detail)
        }
        Refusal::NeedsApproval { cost, above } => (
            Kind::NeedsApproval,
            format!(
                "it costs {cost}, and what costs more than {above} takes a manager: ask one to \
                 approve it, or to do it"
            ),
        ),
        Refusal::IllegalTransition(why) => (Kind::IllegalTransition, why.clone()),
        // Said above.
        _ => (Kind::Internal, String::new()),
    }
}

/// Refusals that say the same of whatever is refused.
fn always_alike(refusal: &Refusal) -> Option<(Kind, &'static str)> {
    Some(match refusal {
        Refusal::NeedsToldChannel => (
            Kind::Invalid,
            "a channel holds this reservation: tell the channel first, and say here that it knows",
        ),
        Refusal::IdempotencyKeyReused => (
            Kind::IdempotencyKeyReused,
            "this Idempotency-Key came with another request before: send a fresh one for each \
             thing you want",
        ),
        Refusal::HoldExpired => (
            Kind::HoldExpired,
            "the hold ran out, and its rooms went back to sale: book them anew if they are still \
             free",
        ),
        Refusal::AlreadyConfirmed => (
            Kind::AlreadyConfirmed,
            "it was confirmed with another payment before: give this payment back",
        ),
        Refusal::NotYetOpen(_) => (
            Kind::NotYetOpen,
            "these nights are not open for booking yet: ask for earlier ones, or have them forced \
             with a reason, allowing \"closed\"",
        ),
        Refusal::Closed(_) => (
            Kind::Closed,
            "these nights are closed for sale: ask for others, or have them forced with a reason, \
             allowing \"closed\"",
        ),
        Refusal::AllotmentExhausted(_) => (
            Kind::AllotmentExhausted,
            "the allotment has too few rooms left on these nights: ask for other nights or sell \
             without the allotment, or have it forced with a reason, allowing \"allotment\"",
        ),
        Refusal::SoldOut(_) => (
            Kind::SoldOut,
            "there are not enough rooms free on these nights: offer other nights or another room \
             type, or put the guest on the waitlist",
        ),
        _ => return None,
    })
}

fn several(all: &[(usize, Refusal)]) -> (Kind, String) {
    let Some((_, first)) = all.first() else {
        return (Kind::Invalid, "nothing is refused".to_owned());
    };
    let (kind, words) = told(first);
    let many = match all.len() {
        1 => "one line is".to_owned(),
        lines => format!("{lines} lines are"),
    };
    let words = sentence(&words);
    let detail = format!("nothing was done, since {many} in the way. The first of them: {words}");
    (kind, detail)
}

/// What whoever may decide it does.
fn forced(what: Force) -> String {
    let word = spelled(what);
    format!("if it must be so all the same, force it with a reason, allowing \"{word}\"")
}

/// The force as the contract spells it.
fn spelled(force: Force) -> &'static str {
    match force {
        Force::Restriction => "restriction",
        Force::Closed => "closed",
        Force::Past => "past",
        Force::Allotment => "allotment",
        Force::Oversell => "oversell",
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::money::{Currency, Money};

    use super::*;

    /// One of each; a new one does not compile until it stands here.
    fn every() -> Vec<Refusal> {
        let nights = vec![(RoomTypeId(1), "2030-06-10".parse().expect("a date"))];
        let euro = |minor| Money::new(minor, Currency::from_code("EUR").expect("a currency"));
        let every = vec![
            Refusal::NotFound("room type".into()),
            Refusal::invalid("/rooms/0/quantity", "1 to 500"),
            Refusal::IdempotencyKeyReused,
            Refusal::VersionMismatch { current: 3 },
            Refusal::IllegalTransition("the guest is in the house: check the guest out".into()),
            Refusal::HoldExpired,
            Refusal::AlreadyConfirmed,
            Refusal::NeedsForce {
                allow: Force::Past,
                why: "these nights are before the business day 2030-06-11".into(),
                nights: nights.clone(),
            },
            Refusal::NotYetOpen(nights.clone()),
            Refusal::Closed(nights.clone()),
            Refusal::Restriction {
                why: "at least 3 nights for arrivals on 2030-06-10".into(),
                nights: nights.clone(),
            },
            Refusal::AllotmentExhausted(nights.clone()),
            Refusal::SoldOut(nights.clone()),
            Refusal::Several(vec![(1, Refusal::SoldOut(nights))]),
            Refusal::NeedsToldChannel,
            Refusal::NeedsApproval {
                cost: euro(14_000),
                above: euro(13_999),
            },
        ];
        for one in &every {
            match one {
                Refusal::NotFound(_)
                | Refusal::Invalid(_)
                | Refusal::IdempotencyKeyReused
                | Refusal::VersionMismatch { .. }
                | Refusal::IllegalTransition(_)
                | Refusal::HoldExpired
                | Refusal::AlreadyConfirmed
                | Refusal::NeedsForce { .. }
                | Refusal::NotYetOpen(_)
                | Refusal::Closed(_)
                | Refusal::Restriction { .. }
                | Refusal::AllotmentExhausted(_)
                | Refusal::SoldOut(_)
                | Refusal::Several(_)
                | Refusal::NeedsToldChannel
                | Refusal::NeedsApproval { .. } => {}
            }
        }
        every
    }

    #[test]
    fn a_refusal_keeps_its_code() {
        for refusal in every() {
            let (kind, _) = told(&refusal);
            assert_eq!(kind.row().code, refusal.code());
        }
    }

    /// What is wrong, and after a colon or a semicolon what to do about it.
    #[test]
    fn every_refusal_is_a_sentence_that_can_be_acted_on() {
        for refusal in every() {
            for words in [sentence(&told(&refusal).1), in_words(&refusal)] {
                let case = format!("{refusal:?}: {words}");
                assert!(words.starts_with(char::is_uppercase), "{case}");
                assert!(words.ends_with('.') && !words.contains(".."), "{case}");
                assert!(words.contains(": "), "says what to do: {case}");
                for inside in ['_', '/', '{', '`'] {
                    assert!(!words.contains(inside), "{inside:?} is no word: {case}");
                }
                for inside in ["force.allow", "minor units", "Some(", "null"] {
                    assert!(!words.contains(inside), "{inside:?} is no word: {case}");
                }
            }
        }
    }

    #[test]
    fn nights_are_named_and_the_many_counted() {
        let night = |day: i8| {
            let date = jiff::civil::date(2030, 6, day);
            (RoomTypeId(1), date)
        };
        let of = |days: i8| in_words(&Refusal::SoldOut((1..=days).map(night).collect()));
        assert!(of(1).ends_with(" It is about 2030-06-01."), "{}", of(1));
        assert!(of(3).ends_with("2030-06-02, 2030-06-03."), "{}", of(3));
        assert!(of(9).ends_with("2030-06-03 and 6 more."), "{}", of(9));
    }
}
