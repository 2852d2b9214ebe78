//! Why a night is oversold, in words for whoever must act on it.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;

/// What is known of a case, as it was gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// What accounts were told, in the order of telling.
    pub told: Vec<Told>,
    /// When the guest booked.
    pub booked_at: Option<Timestamp>,
    /// When we heard.
    pub received_at: Option<Timestamp>,
    /// Code of the account that sold.
    pub sold_by: Option<String>,
    /// Who did it, where it was done here.
    pub actor: Option<String>,
    /// What was said of it then, in the words of whoever did it.
    pub reason: Option<String>,
    /// Rooms beyond what can be slept in, on the night with the most of them.
    pub rooms: Option<i32>,
    /// Codes of the channel that no mapping knew.
    pub codes: Vec<String>,
    /// When the case was opened.
    pub opened_at: Option<Timestamp>,
}

/// Something that an account was told of a night.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Its code.
    pub account: Option<String>,
    /// The night.
    pub stay_date: String,
    /// Rooms.
    pub rooms: Option<i64>,
    /// Closed.
    pub closed: Option<bool>,
    /// When it was to be told.
    pub due_at: Option<Timestamp>,
    /// When it was sent.
    pub sent_at: Option<Timestamp>,
    /// When it was taken.
    pub acknowledged_at: Option<Timestamp>,
}

/// The cause in words, with the times at the property.
pub fn cause_in_words(cause: &str, evidence: &Evidence, zone: &TimeZone) -> String {
    let at = |at: Option<Timestamp>| match at {
        Some(at) => at
            .to_zoned(zone.clone())
            .strftime("%Y-%m-%d %H:%M:%S")
            .to_string(),
        None => "a time that is not known".to_owned(),
    };
    let name = evidence.sold_by.as_deref().unwrap_or("the channel");
    let seller = match &evidence.sold_by {
        Some(code) => format!("Account {code}"),
        None => "A channel".to_owned(),
    };
    let booked = at(evidence.booked_at);
    let heard = at(evidence.received_at);
    let close = close(evidence).map(|told| {
        format!(
            "the close of {} was due at {}, sent at {} and taken at {}",
            told.stay_date,
            at(told.due_at),
            at(told.sent_at),
            at(told.acknowledged_at)
        )
    });
    let close = close.unwrap_or_else(|| "no close of the night was sent before".to_owned());
    let who = evidence.actor.as_deref().map_or("Somebody", person);
    let reason = evidence.reason.as_deref().map(|why| format!(" ({why})"));
    let reason = reason.unwrap_or_default();
    match cause {
        "sold_before_close_could_arrive" => format!(
            "{seller} sold the room at {booked}, before our close could arrive: {close}. We heard \
             of it at {heard}. Nobody did anything wrong: let a buffer rule keep a room back."
        ),
        "push_failed" => format!(
            "{seller} sold the room at {booked}, since our close did not get through: {close}. We \
             heard of it at {heard}. Look at the account's failed messages."
        ),
        "channel_reopened" => format!(
            "{seller} sold the room at {booked} although it had taken our close: {close}. We heard \
             of it at {heard}. Ask {name} why it sells what is closed, and who pays."
        ),
        "unmapped" => {
            let code = match evidence.codes.as_slice() {
                [] => "a code that no mapping knew".to_owned(),
                codes => format!("the code {}, which no mapping knew", codes.join(", ")),
            };
            format!(
                "{seller} sold a room at {booked} under {code}: we heard of it at {heard}, and \
                 nothing had closed it. Map the code."
            )
        }
        "staff_forced" => format!(
            "{who} booked beyond what there is, by force, at {booked}{reason}. Ask what was meant, \
             and choose who is moved."
        ),
        "capacity_cut" => cut_in_words(who, evidence.rooms, &at(evidence.opened_at), &reason),
        "meant" => "It was meant: the night is within its overbooking limit, and fewer guests \
                    have cancelled than was expected. Choose who is moved while there is time."
            .to_owned(),
        _ => match &evidence.sold_by {
            Some(_) => format!(
                "{seller} sold the room at {booked}, and we heard of it at {heard}. Why it could \
                 is still being looked into: work on the case all the same."
            ),
            None => "Why is still being looked into: work on the case all the same.".to_owned(),
        },
    }
}

/// Who took how many rooms out of sale, when and why.
fn cut_in_words(who: &str, rooms: Option<i32>, opened: &str, reason: &str) -> String {
    let (rooms, it) = match rooms {
        None => ("rooms".to_owned(), "they were"),
        Some(1) => ("1 room".to_owned(), "it was"),
        Some(rooms) => (format!("{rooms} rooms"), "they were"),
    };
    format!(
        "{who} took {rooms} out of sale at {opened}{reason}, and {it} sold already. Give back what \
         can be slept in, or choose who is moved."
    )
}

/// Whoever did it, by name: `key:1 (Anna)` is Anna.
fn person(actor: &str) -> &str {
    let name = actor
        .split_once(" (")
        .map(|(_, name)| name.trim_end_matches(')'));
    match name.filter(|name| !name.is_empty()) {
        Some(name) => name,
        None if actor.starts_with("key:") => "Somebody",
        None => actor,
    }
}

/// The last thing that told the seller that nothing is left.
fn close(evidence: &Evidence) -> Option<&Told> {
    evidence.told.iter().rev().find(|told| {
        let is_closed = told.closed == Some(true) || told.rooms == Some(0);
        told.account == evidence.sold_by && is_closed
    })
}

#[cfg(test)]
mod tests {
    use keyrack_model::overbooking::Cause;

    use super::*;

    fn at(text: &str) -> Option<Timestamp> {
        Some(text.parse().expect("an instant"))
    }

    #[test]
    fn the_cause_names_who_sold_and_every_time() {
        let told = |account: &str, rooms| Told {
            account: Some(account.to_owned()),
            stay_date: "2030-03-03".to_owned(),
            rooms: Some(rooms),
            closed: Some(rooms == 0),
            due_at: at("2030-02-20T12:00:01Z"),
            sent_at: at("2030-02-20T12:00:02Z"),
            acknowledged_at: at("2030-02-20T12:00:03Z"),
        };
        let evidence = Evidence {
            told: vec![told("portal", 1), told("portal", 0), told("other", 0)],
            booked_at: at("2030-02-20T12:00:00Z"),
            received_at: at("2030-02-20T12:00:09Z"),
            sold_by: Some("portal".to_owned()),
            actor: Some("key:1 (Anna)".to_owned()),
            ..Evidence::default()
        };
        let rome = TimeZone::get("Europe/Rome").expect("a zone");
        let words = cause_in_words("sold_before_close_could_arrive", &evidence, &rome);
        for part in [
            "portal sold the room at 2030-02-20 13:00:00",
            "the close of 2030-03-03 was due at 2030-02-20 13:00:01, sent at 2030-02-20 13:00:02 \
             and taken at 2030-02-20 13:00:03",
            "We heard of it at 2030-02-20 13:00:09",
        ] {
            assert!(words.contains(part), "{part:?} in {words:?}");
        }
        let forced = cause_in_words("staff_forced", &evidence, &rome);
        assert!(forced.starts_with("Anna booked beyond"), "{forced}");
    }

    #[test]
    fn what_was_done_here_names_who_did_it_what_and_why() {
        let evidence = Evidence {
            booked_at: at("2030-02-20T12:00:00Z"),
            received_at: at("2030-02-20T12:00:09Z"),
            opened_at: at("2030-02-20T12:00:10Z"),
            sold_by: Some("portal".to_owned()),
            actor: Some("key:1 (Anna)".to_owned()),
            reason: Some("a burst pipe".to_owned()),
            rooms: Some(2),
            codes: vec!["DLX".to_owned()],
            ..Evidence::default()
        };
        let rome = TimeZone::get("Europe/Rome").expect("a zone");
        for (cause, words) in [
            (
                "staff_forced",
                "Anna booked beyond what there is, by force, at 2030-02-20 13:00:00 (a burst \
                 pipe). Ask what was meant, and choose who is moved.",
            ),
            (
                "capacity_cut",
                "Anna took 2 rooms out of sale at 2030-02-20 13:00:10 (a burst pipe), and they \
                 were sold already. Give back what can be slept in, or choose who is moved.",
            ),
            (
                "unmapped",
                "Account portal sold a room at 2030-02-20 13:00:00 under the code DLX, which no \
                 mapping knew: we heard of it at 2030-02-20 13:00:09, and nothing had closed it. \
                 Map the code.",
            ),
        ] {
            assert_eq!(cause_in_words(cause, &evidence, &rome), words);
        }
    }

    #[test]
    fn what_is_not_known_is_said_to_be_so() {
        let words = cause_in_words("undetermined", &Evidence::default(), &TimeZone::UTC);
        let said = "Why is still being looked into: work on the case all the same.";
        assert_eq!(words, said);
    }

    /// Whatever is known of a case: what happened, and what to do about it.
    #[test]
    fn every_cause_is_told_in_sentences_that_can_be_acted_on() {
        let whole = Evidence {
            told: vec![Told {
                account: Some("portal".to_owned()),
                stay_date: "2030-03-03".to_owned(),
                closed: Some(true),
                due_at: at("2030-02-20T12:00:01Z"),
                ..Told::default()
            }],
            booked_at: at("2030-02-20T12:00:00Z"),
            received_at: at("2030-02-20T12:00:09Z"),
            sold_by: Some("portal".to_owned()),
            actor: Some("key:1 (Anna)".to_owned()),
            ..Evidence::default()
        };
        for cause in Cause::ALL {
            for evidence in [&whole, &Evidence::default()] {
                let words = cause_in_words(cause.as_str(), evidence, &TimeZone::UTC);
                let case = format!("{cause:?}: {words}");
                assert!(words.starts_with(char::is_uppercase), "{case}");
                assert!(words.ends_with('.') && !words.contains(".."), "{case}");
                let acts = ["Ask", "Map", "Look", "let", "choose", "Choose", "work"];
                assert!(
                    acts.iter().any(|act| words.contains(act)),
                    "what to do: {case}"
                );
                for inside in ["key:", "_", "None", "T12:"] {
                    assert!(!words.contains(inside), "{inside:?}: {case}");
                }
            }
        }
    }

    #[test]
    fn who_did_it_is_named() {
        for (actor, name) in [
            ("key:1 (Anna)", "Anna"),
            ("key:7", "Somebody"),
            ("key:7 ()", "Somebody"),
            ("worker:release", "worker:release"),
        ] {
            assert_eq!(person(actor), name);
        }
    }
}
