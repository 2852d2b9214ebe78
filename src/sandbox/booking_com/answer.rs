//! The answers of the fake Booking.com: success, warnings, errors, each with its request id.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;

use crate::edge::{Answer, Heard, Tongue};
use crate::faults::Instead;
use crate::xml::Writer;

/// One thing that is wrong, about one element or about the whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Of the table of OTA error codes: 392 hotel, 402 room type, 404 dates, 320 value, …
    pub(crate) code: u16,
    pub(crate) text: String,
    /// The `LocatorID` of the element, or its place from 1.
    pub(crate) record: Option<String>,
}

impl Fault {
    pub(crate) fn new(code: u16, text: impl Into<String>) -> Fault {
        Fault {
            code,
            text: text.into(),
            record: None,
        }
    }

    pub(crate) fn about(mut self, record: &str) -> Fault {
        self.record = Some(record.to_owned());
        self
    }

    fn sentence(&self) -> String {
        match &self.record {
            Some(record) => format!("element {record}: {}", self.text),
            None => self.text.clone(),
        }
    }
}

/// What became of a message of several elements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// Elements that were applied.
    pub(crate) applied: usize,
    pub(crate) errors: Vec<Fault>,
    pub(crate) warnings: Vec<Fault>,
}

/// A request id as every answer carries it: opaque, and new each time.
pub(crate) fn ruid(now: Timestamp) -> String {
    STANDARD.encode(format!(
        "{}-{}",
        now.as_nanosecond(),
        uuid::Uuid::new_v4().simple()
    ))
}

/// The answer to an OTA message: 200 if anything was applied, 400 if nothing was. Success with
/// warnings or errors, never both.
pub(crate) fn outcome(root: &'static str, outcome: &Outcome, now: Timestamp) -> Heard {
    let status = if outcome.errors.is_empty() || outcome.applied > 0 {
        200
    } else {
        400
    };
    let mut heard = Heard {
        answer: rs(root, status, &outcome.errors, &outcome.warnings, now),
        accepted: outcome.errors.is_empty(),
        ..Heard::default()
    };
    let all = outcome.errors.iter().chain(&outcome.warnings);
    heard.refused = all.map(Fault::sentence).collect();
    heard
}

/// A refusal of the whole message.
pub(crate) fn refusal(root: &'static str, status: u16, fault: Fault, now: Timestamp) -> Heard {
    let why = fault.sentence();
    Heard::refused(rs(root, status, &[fault], &[], now), why)
}

/// The words for a login that is not valid.
pub(crate) fn unauthorized(root: &'static str, now: Timestamp) -> Heard {
    let fault = Fault::new(497, "authentication failed: no valid token");
    let mut heard = refusal(root, 401, fault, now);
    heard.answer = heard.answer.with("www-authenticate", "Bearer");
    heard
}

fn rs(
    root: &'static str,
    status: u16,
    errors: &[Fault],
    warnings: &[Fault],
    now: Timestamp,
) -> Answer {
    let stamp = now.to_string();
    let mut xml = Writer::new(root, &[("TimeStamp", &stamp), ("Version", "2.001")]);
    if errors.is_empty() {
        xml.empty("Success", &[]);
        list(&mut xml, ("Warnings", "Warning"), warnings);
    } else {
        list(&mut xml, ("Errors", "Error"), errors);
    }
    let comment = format!("RUID: [{}]", ruid(now));
    Answer::new(status, XML, xml.finish_with_comment(&comment))
}

fn list(xml: &mut Writer, (outer, inner): (&'static str, &'static str), faults: &[Fault]) {
    if faults.is_empty() {
        return;
    }
    xml.open(outer, &[]);
    for fault in faults {
        let code = fault.code.to_string();
        let mut attributes = vec![("Type", "3"), ("Code", &code), ("ShortText", &fault.text)];
        if let Some(record) = &fault.record {
            attributes.push(("RecordID", record));
        }
        xml.empty(inner, &attributes);
    }
    xml.close();
}

/// The words of the fake Booking.com for failures of its own.
pub(crate) struct BookingTongue {
    pub(crate) root: &'static str,
    pub(crate) now: Timestamp,
}

impl Tongue for BookingTongue {
    fn failure(&self, instead: Instead) -> Answer {
        match instead {
            Instead::Unauthorized => unauthorized(self.root, self.now).answer,
            Instead::TooMany {
                retry_after_seconds,
            } => {
                let fault = Fault::new(450, "too many requests");
                let answer = rs(self.root, 429, &[fault], &[], self.now);
                match retry_after_seconds {
                    Some(seconds) => answer.with("retry-after", seconds.to_string()),
                    None => answer,
                }
            }
            Instead::ServerError | Instead::Hang { .. } => {
                let fault = Fault::new(448, "internal error, please try again");
                rs(self.root, 500, &[fault], &[], self.now)
            }
        }
    }
}

pub(crate) const XML: &str = "application/xml; charset=utf-8";
