//! Entries as events of webhooks: their names and bodies. No data of guests is in them.

use jiff::Timestamp;
use keyrack_ledger::tail::TailEntry;
use keyrack_model::id::{AccountId, CaseId, PropertyId, ReservationId};
use serde_json::json;

/// Something that webhooks may want to hear of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The same whenever it is told; unique per database.
    pub(crate) id: String,
    /// `reservation.held` …
    pub(crate) name: &'static str,
    /// Where.
    pub(crate) property: PropertyId,
    /// Of what.
    pub(crate) subject: Subject,
    /// When it was written.
    pub(crate) at: Timestamp,
    /// Of a payment that is owed back: its reference, and why.
    pub(crate) refund: Option<(String, String)>,
    /// Of an offer: the wish of the waitlist.
    pub(crate) wish: Option<String>,
}

/// What an event speaks of; events of one subject keep their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    /// A reservation, in a version.
    Reservation(ReservationId, Option<i64>),
    /// An overbooking case.
    Case(CaseId),
    /// An account, by id and code.
    Account(AccountId, String),
}

/// What is known of a reservation besides its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Known {
    /// Its short number.
    pub(crate) number: i64,
    /// Where it stands.
    pub(crate) status: String,
    /// Its present version.
    pub(crate) version: i64,
}

/// The event of an entry, where it is one.
pub(crate) fn of(entry: &TailEntry) -> Option<Event> {
    let (name, subject) = if let Some(case) = entry.kind.strip_prefix("overbooking_") {
        let name = match case {
            "opened" | "reopened" => "overbooking.opened",
            "resolved" => "overbooking.resolved",
            "escalated" => "overbooking.escalated",
            _ => return None,
        };
        (
            name,
            Subject::Case(CaseId(entry.reason.as_deref()?.parse().ok()?)),
        )
    } else {
        let name = RESERVATION_EVENTS
            .iter()
            .find(|(kind, _)| *kind == entry.kind)
            .map(|(_, name)| *name)?;
        (
            name,
            Subject::Reservation(entry.reservation?, entry.version),
        )
    };
    Some(Event {
        id: format!("{}-{}", entry.cursor.tx, entry.cursor.seq),
        name,
        property: entry.property,
        subject,
        at: entry.at,
        refund: refund(entry),
        wish: (entry.reason.clone()).filter(|_| entry.kind == WAITLIST_OFFERED),
    })
}

/// The ledger writes `payment REFERENCE: why` as the reason; a reference may hold a colon, no why
/// does.
fn refund(entry: &TailEntry) -> Option<(String, String)> {
    let reason = entry
        .reason
        .as_deref()
        .filter(|_| entry.kind == "refund_due")?;
    let (payment, why) = reason.strip_prefix("payment ")?.rsplit_once(": ")?;
    Some((payment.to_owned(), why.to_owned()))
}

/// Every event that a webhook may name.
pub fn names() -> Vec<&'static str> {
    let reservations = RESERVATION_EVENTS.iter().map(|(_, name)| *name);
    reservations
        .chain(CASE_EVENTS)
        .chain(ACCOUNT_EVENTS)
        .collect()
}

/// The same of a reservation's events.
pub(crate) fn reservation_key(id: ReservationId) -> String {
    format!("reservation:{id}")
}

/// What keeps the order of an event: one line of deliveries each.
pub(crate) fn subject_key(event: &Event) -> String {
    match &event.subject {
        Subject::Reservation(id, _) => reservation_key(*id),
        Subject::Case(id) => format!("case:{}:{id}", event.property),
        Subject::Account(id, _) => format!("account:{id}"),
    }
}

/// The body that is signed and sent, the same for every repeat.
///
/// The status is the event's own where its name says it; else what the reservation had when the
/// event was written down.
pub(crate) fn body(event: &Event, property_code: &str, known: Option<&Known>) -> String {
    let mut body = json!({
        "id": event.id,
        "type": event.name,
        "property": property_code,
        "at": event.at.to_string(),
    });
    match &event.subject {
        Subject::Reservation(id, version) => {
            let told = status_told(event.name).map(str::to_owned);
            body["reservation"] = json!({
                "id": id.to_string(),
                "number": known.map(|known| known.number.to_string()),
                "status": told.or_else(|| known.map(|known| known.status.clone())),
                "version": version.or_else(|| known.map(|known| known.version)),
            });
        }
        Subject::Case(id) => body["overbooking_case"] = json!({ "id": id.0 }),
        Subject::Account(_, code) => body["account"] = json!({ "code": code }),
    }
    if let Some((payment, why)) = &event.refund {
        body["refund"] = json!({ "payment_reference": payment, "reason": why });
    }
    if let Some(wish) = &event.wish {
        body["waitlist"] = json!({ "id": wish });
    }
    body.to_string()
}

fn status_told(event: &str) -> Option<&str> {
    let status = event.strip_prefix("reservation.")?;
    let is_status = !["modified", "extended", "refund_due"].contains(&status);
    is_status.then_some(status)
}

/// Kinds of entries that are events, and what they are called outside.
const RESERVATION_EVENTS: [(&str, &str); 11] = [
    ("held", "reservation.held"),
    ("confirmed", "reservation.confirmed"),
    ("cancelled", "reservation.cancelled"),
    ("expired", "reservation.expired"),
    ("modified", "reservation.modified"),
    ("extended", "reservation.extended"),
    ("checked_in", "reservation.checked_in"),
    ("completed", "reservation.completed"),
    ("no_show", "reservation.no_show"),
    ("refund_due", "reservation.refund_due"),
    // The hold that a wish of the waitlist is offered; the ledger writes the wish as the reason.
    (WAITLIST_OFFERED, "waitlist.offered"),
];

/// Told of overbooking cases.
const CASE_EVENTS: [&str; 3] = [
    "overbooking.opened",
    "overbooking.escalated",
    "overbooking.resolved",
];
const WAITLIST_OFFERED: &str = "waitlist_offered";

/// Told when pushes to an account fail, and when they go through again.
pub(crate) const ACCOUNT_EVENTS: [&str; 2] = ["account.failing", "account.recovered"];

#[cfg(test)]
mod tests {
    use keyrack_ledger::tail::Cursor;
    use uuid::Uuid;

    use super::*;

    fn entry(kind: &str) -> TailEntry {
        TailEntry {
            cursor: Cursor { tx: 12, seq: 34 },
            property: PropertyId(1),
            reservation: Some(ReservationId(Uuid::nil())),
            version: Some(3),
            kind: kind.into(),
            is_first_line: true,
            room_type: None,
            nights: None,
            actor: "key:1".into(),
            reason: None,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    #[test]
    fn a_refund_names_its_payment_and_why() {
        let mut owed = entry("refund_due");
        owed.reason = Some("payment psp:77: a: the reservation was cancelled before".into());
        let told = body(&of(&owed).expect("an event"), "seehof", None);
        let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(
            told["refund"],
            json!({"payment_reference": "psp:77: a",
                   "reason": "the reservation was cancelled before"})
        );
        let told = body(&of(&entry("confirmed")).expect("an event"), "seehof", None);
        assert!(!told.contains("refund"), "{told}");
    }

    #[test]
    fn every_change_of_a_reservation_is_an_event_and_further_lines_are_none() {
        for (kind, name) in RESERVATION_EVENTS {
            assert_eq!(of(&entry(kind)).map(|event| event.name), Some(name));
        }
        assert_eq!(of(&entry("moved")), None);
        for (kind, name) in [
            ("overbooking_opened", "overbooking.opened"),
            ("overbooking_reopened", "overbooking.opened"),
            ("overbooking_escalated", "overbooking.escalated"),
            ("overbooking_resolved", "overbooking.resolved"),
        ] {
            let mut told = entry(kind);
            told.reason = Some("17".into());
            assert_eq!(of(&told).map(|event| event.name), Some(name));
        }
        assert_eq!(of(&entry("overbooking_opened")), None, "without a case");
    }

    #[test]
    fn a_case_is_named_by_the_number_that_the_api_knows_it_by() {
        let mut opened = entry("overbooking_opened");
        opened.reason = Some("17".into());
        let told = body(&of(&opened).expect("an event"), "seehof", None);
        let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
        assert_eq!(told["overbooking_case"], json!({"id": 17}));
    }

    #[test]
    fn a_body_names_the_reservation_and_no_guest() {
        let event = of(&entry("cancelled")).expect("an event");
        let known = Known {
            number: 1001,
            status: "confirmed".into(),
            version: 4,
        };
        let body = body(&event, "seehof", Some(&known));
        let read: serde_json::Value = serde_json::from_str(&body).expect("JSON");
        assert_eq!(read["reservation"]["number"], "1001");
        assert_eq!(read["reservation"]["status"], "cancelled");
        assert_eq!(read["reservation"]["version"], 3);
        assert_eq!(read["id"], "12-34");
        assert_eq!(read["property"], "seehof");
        assert_eq!(read["at"], "1970-01-01T00:00:00Z");
    }
}
