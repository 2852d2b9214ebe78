//! A channel for tests: it delivers by itself, one reference a line, and is told by being asked.

use keyrack_model::adapter::{
    ChannelAdapter, Exchange, Inbound, Method, Outbound, Outcome, ParseFault, Parsed, Receipt,
    ReceiptOutcome, RenderError, Reply, Session, Step, Verdict,
};
use keyrack_model::ari::AriPush;
use keyrack_model::channel::Capabilities;
use keyrack_model::id::ChannelCode;
use keyrack_model::reservation::{Guest, ReportedRoom, ReservationReport, RevisionKind};

/// Speaks lines such as `R1 DBL 2030-06-10 2030-06-12`.
pub struct Portal;

static CAPABILITIES: Capabilities = Capabilities {
    is_polled: false,
    polls_whole_connection: true,
    poll_seconds: 60,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: None,
    fallback_seconds: 1_800,
    snapshot_revisions: true,
    takes_deltas: false,
    takes_complete_sets: false,
    takes_rates: false,
    knows_rate_plans: false,
    restrictions: &[],
    reopens_by_itself: false,
    rooms_max: 100,
    spans_per_message_max: 100,
    horizon_nights_max: 365,
    requests_per_minute: 600,
    settle_seconds: Some(0),
    signs_in: false,
    sign_in_seconds: 3_600,
};

impl ChannelAdapter for Portal {
    fn channel(&self) -> ChannelCode {
        ChannelCode::new("portal")
    }

    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        bytes.to_vec()
    }

    fn parse(&self, inbound: &Inbound) -> Parsed {
        let text = String::from_utf8_lossy(&inbound.bytes).into_owned();
        let mut parsed = Parsed::default();
        for line in text.lines() {
            match report(line) {
                Some(report) => parsed.reports.push(report),
                None => parsed.faults.push(ParseFault {
                    at: line.chars().take(20).collect(),
                    why: "a line is reference, room, arrival, departure".into(),
                    raw: line.chars().take(500).collect(),
                    reference: None,
                }),
            }
        }
        parsed
    }

    fn acknowledge(
        &self,
        _: &Inbound,
        receipts: &[Receipt],
        _: &Session,
    ) -> Result<Vec<Outbound>, RenderError> {
        let words = receipts.iter().map(|receipt| match &receipt.outcome {
            ReceiptOutcome::Recorded { .. } => format!("danke {}\n", receipt.reference),
            ReceiptOutcome::Refused { why } => format!("nein {} {why}\n", receipt.reference),
        });
        Ok(vec![Outbound {
            topic: "answer".into(),
            method: Method::Post,
            url: String::new(),
            headers: vec![("content-type".into(), "text/x-portal".into())],
            body: words.collect::<String>().into_bytes(),
            timeout_seconds: 5,
        }])
    }

    fn render(&self, _: &AriPush, _: &Session) -> Result<Vec<Outbound>, RenderError> {
        Err(RenderError::of("this channel fetches"))
    }

    fn judge(&self, _: &Outbound, _: &Reply) -> Verdict {
        Verdict::of(Outcome::Accepted, None)
    }

    fn next(&self, _: &Session, _: &Step<'_>) -> Exchange {
        Exchange::Done { learned: None }
    }
}

fn report(line: &str) -> Option<ReservationReport> {
    let mut words = line.split_whitespace();
    let reference = words.next()?.to_owned();
    let room = ReportedRoom {
        room_code: words.next()?.to_owned(),
        arrival: words.next()?.parse().ok(),
        departure: words.next()?.parse().ok(),
        quantity: 1,
        ..ReportedRoom::default()
    };
    (room.arrival.is_some() && room.departure.is_some()).then_some(())?;
    Some(ReservationReport {
        hotel_code: Some("H1".into()),
        reference,
        kind: RevisionKind::New,
        order: Some(1),
        booked_at: None,
        rooms: vec![room],
        guest: Guest {
            name: "Bo Example".into(),
            ..Guest::default()
        },
        total: None,
        commission: None,
        payment_model: None,
        remarks: Vec::new(),
        is_quote: false,
        acknowledge_as: None,
    })
}
