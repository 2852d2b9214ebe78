//! What both sides do: messages written and read, of each channel.

use std::sync::Arc;

use anyhow::{Context, Result, anyhow, ensure};
use keyrack_model::adapter::{
    ChannelAdapter, Inbound, Outbound, Parsed, Receipt, ReceiptOutcome, Session,
};
use keyrack_model::ari::AriPush;
use secrecy::SecretString;
use serde_json::{Value, json};

use super::lxml::Lxml;
use super::messages::{self, Dialect};

pub const NIGHTS: i32 = 365;
pub const RESERVATIONS: usize = 100;

/// A work of one channel's adapter.
pub struct Work {
    adapter: Arc<dyn ChannelAdapter>,
    session: Session,
    dialect: Dialect,
    what: What,
    /// The same for the other side.
    given: Value,
}

enum What {
    /// A push of nights.
    Push(AriPush),
    /// Thanks for reservations, each with what it is named by.
    Thank(Vec<Receipt>),
    /// Messages that tell nights.
    ReadPush(Vec<Inbound>),
    /// A message that tells reservations.
    ReadReservations(Vec<Inbound>),
}

/// Every work, of each channel: nights written and read, reservations thanked for and read.
pub fn all() -> Result<Vec<Work>> {
    let mut all = Vec::new();
    for dialect in [Dialect::BookingCom, Dialect::AlpineBits] {
        let push = messages::push(dialect, NIGHTS).context("a push")?;
        let written = Work::of(dialect, What::Push(push))?;
        let nights: Vec<Inbound> = written.written()?.iter().map(inbound).collect();
        let told = vec![inbound(messages::reservations(dialect, RESERVATIONS))];
        let read = Work::of(dialect, What::ReadReservations(told))?;
        let thank = What::Thank(receipts(&read)?);
        all.push(written);
        all.push(Work::of(dialect, What::ReadPush(nights))?);
        all.push(Work::of(dialect, thank)?);
        all.push(read);
    }
    Ok(all)
}

impl Work {
    fn of(dialect: Dialect, what: What) -> Result<Self> {
        let adapter = keyrack_adapters::by_code(dialect.code()).context("a channel")?;
        let given = match &what {
            What::Push(push) => serde_json::to_value(push)?,
            What::Thank(receipts) => named(receipts),
            What::ReadPush(messages) | What::ReadReservations(messages) => {
                let texts = messages.iter().map(|one| std::str::from_utf8(&one.bytes));
                json!(texts.collect::<Result<Vec<&str>, _>>()?)
            }
        };
        let session = Session {
            endpoint: Some("https://channel.example/".to_owned()),
            user: "bench".to_owned(),
            secret: SecretString::from("bench"),
            learned: SecretString::from(dialect.learned().to_string()),
            settings: Value::Null,
        };
        Ok(Self {
            adapter,
            session,
            dialect,
            what,
            given,
        })
    }

    /// As a row of the table is called.
    pub fn name(&self) -> &'static str {
        match (&self.what, self.dialect) {
            (What::Push(_), Dialect::BookingCom) => "booking_com: render nights",
            (What::Push(_), Dialect::AlpineBits) => "alpinebits: render nights",
            (What::ReadPush(_), Dialect::BookingCom) => "booking_com: parse nights",
            (What::ReadPush(_), Dialect::AlpineBits) => "alpinebits: parse nights",
            (What::Thank(_), Dialect::BookingCom) => "booking_com: render thanks",
            (What::Thank(_), Dialect::AlpineBits) => "alpinebits: render thanks",
            (What::ReadReservations(_), Dialect::BookingCom) => "booking_com: parse reservations",
            (What::ReadReservations(_), Dialect::AlpineBits) => "alpinebits: parse reservations",
        }
    }

    /// The channel's code.
    pub fn dialect(&self) -> &'static str {
        self.dialect.code()
    }

    /// As the other side calls it.
    pub fn verb(&self) -> &'static str {
        match self.what {
            What::Push(_) => "render_ari",
            What::Thank(_) => "render_reservations",
            What::ReadPush(_) => "parse_ari",
            What::ReadReservations(_) => "parse_reservations",
        }
    }

    /// The same for the other side.
    pub fn given(&self) -> &Value {
        &self.given
    }

    /// Writing, or reading.
    pub fn is_rendering(&self) -> bool {
        matches!(self.what, What::Push(_) | What::Thank(_))
    }

    /// Does it once; a number that depends on all of it.
    pub fn once(&self) -> Result<usize> {
        match &self.what {
            What::Push(_) | What::Thank(_) => {
                let written = self.rendered()?;
                Ok(written.iter().map(|one| one.body.len()).sum())
            }
            What::ReadPush(messages) | What::ReadReservations(messages) => {
                let read = messages.iter().map(|one| self.adapter.parse(one));
                let told = |one: Parsed| one.ari.map_or(one.reports.len(), |ari| ari.spans.len());
                Ok(read.map(told).sum())
            }
        }
    }

    /// What the other side yields must be what ours does.
    pub fn check(&self, other: &Value, lxml: &mut Lxml) -> Result<()> {
        let (ours, other) = match &self.what {
            What::Push(_) => {
                // What the other side wrote is read by us, and what we wrote by it.
                let messages = texts(other)?;
                let read = lxml.work(self.dialect(), "parse_ari", &json!(self.written()?))?;
                let again = self.read(&messages.iter().map(inbound).collect::<Vec<_>>())?;
                (again, read)
            }
            What::Thank(receipts) => {
                let read = lxml.work(self.dialect(), "read_thanks", &json!(self.written()?))?;
                let again = lxml.work(self.dialect(), "read_thanks", other)?;
                ensure!(read == again, "{}: the two write differently", self.name());
                (json!([named(receipts)]), read)
            }
            What::ReadPush(messages) | What::ReadReservations(messages) => {
                (self.read(messages)?, other.clone())
            }
        };
        ensure!(
            ours == other,
            "{}: lxml tells another story: {}",
            self.name(),
            difference(&ours, &other, String::new())
        );
        Ok(())
    }

    fn rendered(&self) -> Result<Vec<Outbound>> {
        let written = match &self.what {
            What::Push(push) => self.adapter.render(push, &self.session),
            What::Thank(receipts) => {
                let asked = Inbound::default();
                self.adapter.acknowledge(&asked, receipts, &self.session)
            }
            What::ReadPush(_) | What::ReadReservations(_) => Ok(Vec::new()),
        };
        written.map_err(|error| anyhow!("{}: {error}", self.name()))
    }

    /// The XML of what was rendered, without the form around it.
    fn written(&self) -> Result<Vec<String>> {
        let bodies = self.rendered()?;
        let texts = bodies.iter().map(|one| {
            let text = std::str::from_utf8(&one.body)?;
            let from = text.find("<?xml").context("a declaration")?;
            let to = text.rfind('>').context("an end")?;
            Ok(text[from..=to].to_owned())
        });
        texts.collect()
    }

    /// All that is read out of messages, as JSON.
    fn read(&self, messages: &[Inbound]) -> Result<Value> {
        let read = messages.iter().map(|message| {
            let parsed = self.adapter.parse(message);
            ensure!(
                parsed.faults.is_empty() && !parsed.is_unreadable,
                "{}: {:?}",
                self.name(),
                parsed.faults
            );
            Ok(match parsed.ari {
                Some(ari) => serde_json::to_value(ari)?,
                None => serde_json::to_value(parsed.reports)?,
            })
        });
        Ok(Value::Array(read.collect::<Result<Vec<Value>>>()?))
    }
}

fn inbound(text: impl AsRef<str>) -> Inbound {
    Inbound {
        bytes: text.as_ref().as_bytes().to_vec(),
        ..Inbound::default()
    }
}

/// One receipt for each reservation of a message.
fn receipts(read: &Work) -> Result<Vec<Receipt>> {
    let What::ReadReservations(messages) = &read.what else {
        return Ok(Vec::new());
    };
    let parsed: Vec<Parsed> = messages.iter().map(|one| read.adapter.parse(one)).collect();
    let reports = parsed.into_iter().flat_map(|parsed| parsed.reports);
    let receipts: Vec<Receipt> = reports
        .map(|report| Receipt {
            reference: report.reference,
            acknowledge_as: report.acknowledge_as,
            outcome: ReceiptOutcome::Recorded {
                number: "1001".to_owned(),
            },
        })
        .collect();
    ensure!(
        receipts.len() == RESERVATIONS,
        "{}: {} of {RESERVATIONS} reservations were read",
        read.name(),
        receipts.len()
    );
    Ok(receipts)
}

fn named(receipts: &[Receipt]) -> Value {
    let named = receipts
        .iter()
        .map(|one| (&one.reference, &one.acknowledge_as));
    json!(named.collect::<Vec<_>>())
}

fn texts(value: &Value) -> Result<Vec<String>> {
    Ok(serde_json::from_value(value.clone())?)
}

/// Where two values part first, and what stands there.
fn difference(ours: &Value, other: &Value, at: String) -> String {
    match (ours, other) {
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            let parted = a.iter().zip(b).position(|(a, b)| a != b).unwrap_or(0);
            difference(&a[parted], &b[parted], format!("{at}/{parted}"))
        }
        (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
            let parted = a.iter().find(|(name, value)| b.get(*name) != Some(*value));
            let Some((name, value)) = parted else {
                return at;
            };
            difference(value, &other[name], format!("{at}/{name}"))
        }
        (ours, other) => format!("at {at} {ours}, there {other}"),
    }
}
