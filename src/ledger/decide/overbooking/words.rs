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
    let seller = evidence.sold_by.as_deref().unwrap_or("a channel");
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
    let who = evidence.actor.as_deref().map_or("somebody", person);
    let reason = evidence.reason.as_deref().map(|why| format!(" ({why})"));
    let reason = reason.unwrap_or_default();
    match cause {
        "sold_before_close_could_arrive" => format!(
            "{seller} sold the room at {booked}, before our close could arrive: {close}. We heard \
             of it at {heard}. Nobody did anything wrong; a buffer rule keeps a room back"
        ),
        "push_failed" => format!(
            "{seller} sold the room at {booked}, since our close did not get through: {close}. We \
             heard of it at {heard}. Look at the account's failed messages"
        ),
        "channel_reopened" => format!(
            "{seller} sold the room at {booked} although it had taken our close: {close}. We heard \
             of it at {heard}. Ask {seller} why it sells what is closed, and who pays"
        ),
        "unmapped" => {
            let code = match evidence.codes.as_slice() {
                [] => "a code".to_owned(),
                codes => format!("the code {}", codes.join(", ")),
            };
            format!(
                "{seller} sold a room under {code}, which no mapping knew, at {booked}; we heard \
                 of it at {heard}, and nothing had closed it. Map the code"
            )
        }
        "staff_forced" => {
            format!("{who} booked beyond what there is, by force, at {booked}{reason}")
        }
        "capacity_cut" => cut_in_words(who, evidence.rooms, &at(evidence.opened_at), &reason),
        "meant" => "it was meant: within the overbooking limit, and fewer have cancelled than \
                    was expected"
            .to_owned(),
        _ => match &evidence.sold_by {
            Some(seller) => format!(
                "{seller} sold the room at {booked}; we heard of it at {heard}. Why it could is \
                 still being looked into"
            ),
            None => "why is still being looked into".to_owned(),
        },
    }
}

/// Who took how many rooms out of sale, when and why.
fn cut_in_words(who: &str, rooms: Option<i32>, opened: &str, reason: &str) -> String {
    match rooms {
        None | Some(1) => {
            format!("{who} took 1 room out of sale at {opened}{reason}: it was sold already")
        }
        Some(rooms) => format!(
            "{who} took {rooms} rooms out of sale at {opened}{reason}: they were sold already"
        ),
    }
}

/// Whoever acts, as people call him: `key:1 (Anna)` is Anna.
fn person(actor: &str) -> &str {
    let named = actor
        .split_once(" (")
        .and_then(|(_, name)| name.strip_suffix(')'));
    named.unwrap_or(actor)
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
            opened_at: at("2030-02-20T12:00:10Z"),
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
                 pipe)",
            ),
            (
                "capacity_cut",
                "Anna took 2 rooms out of sale at 2030-02-20 13:00:10 (a burst pipe): they were \
                 sold already",
            ),
            (
                "unmapped",
                "portal sold a room under the code DLX, which no mapping knew, at 2030-02-20 \
                 13:00:00; we heard of it at 2030-02-20 13:00:09, and nothing had closed it. Map \
                 the code",
            ),
        ] {
            assert_eq!(cause_in_words(cause, &evidence, &rome), words);
        }
        let bare = Evidence {
            actor: Some("key:1".to_owned()),
            ..Evidence::default()
        };
        let words = cause_in_words("capacity_cut", &bare, &rome);
        let meant =
            "key:1 took 1 room out of sale at a time that is not known: it was sold already";
        assert_eq!(words, meant);
    }

    #[test]
    fn what_is_not_known_is_said_to_be_so() {
        let words = cause_in_words("undetermined", &Evidence::default(), &TimeZone::UTC);
        assert_eq!(words, "why is still being looked into");
    }
}
