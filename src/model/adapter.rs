//! The contract that each channel's adapter keeps: bytes to values and back, with no socket, no
//! clock and no database in sight.

use std::fmt;

use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};

use crate::ari::AriPush;
use crate::channel::Capabilities;
use crate::id::ChannelCode;
use crate::reservation::ReservationReport;

/// One channel's dialect, spoken without touching the network or the clock.
pub trait ChannelAdapter: Send + Sync + 'static {
    /// Which dialect.
    fn channel(&self) -> ChannelCode;

    /// What it can do.
    fn capabilities(&self) -> &'static Capabilities;

    /// The bytes with card numbers and security codes masked: what may reach disk or log. Reads no
    /// structure, so that malformed and cut messages are masked as well. Identifiers, codes and
    /// dates stay, so that the masked message parses to the same reports.
    fn redact(&self, bytes: &[u8]) -> Vec<u8>;

    /// What a message held: everything that could be read, and everything that could not. Reports
    /// hold no card data, also where a guest wrote it into a remark.
    fn parse(&self, inbound: &Inbound) -> Parsed;

    /// The channel's own "thank you" and its own "no" for what `inbound` brought; perhaps several
    /// messages, perhaps none.
    fn acknowledge(
        &self,
        inbound: &Inbound,
        receipts: &[Receipt],
        session: &Session,
    ) -> Result<Vec<Outbound>, RenderError>;

    /// The messages that tell `push`, in the order in which they must be sent.
    fn render(&self, push: &AriPush, session: &Session) -> Result<Vec<Outbound>, RenderError>;

    /// What the channel said to a message. Reads the body first and the status last.
    fn judge(&self, sent: &Outbound, reply: &Reply) -> Verdict;

    /// Conversations of several exchanges: the next request to send, or what has been learned.
    fn next(&self, session: &Session, step: &Step<'_>) -> Exchange;
}

/// Bytes that came from a channel: an answer to a poll, or a delivery.
#[derive(Clone, Default)]
pub struct Inbound {
    /// The body, as it came.
    pub bytes: Vec<u8>,
    /// Lower-case name and value of each header.
    pub headers: Vec<(String, String)>,
    /// Which question it answers or which door it came through: [`Outbound::topic`] of the poll.
    pub topic: String,
    /// When it reached us.
    pub received_at: Timestamp,
    /// IANA zone of the property, for dialects that tell instants where dates are meant.
    pub time_zone: Option<String>,
}

impl fmt::Debug for Inbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inbound({}, {} bytes)", self.topic, self.bytes.len())
    }
}

/// Something in a message that could not be read. `Debug` does not show the piece itself, which
/// may hold guests' data.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParseFault {
    /// Where: a path into the message, with the reference where there is one.
    pub at: String,
    /// Why, as a sentence that tells what would have been right.
    pub why: String,
    /// The piece itself, cut to 500 characters, card data masked.
    pub raw: String,
    /// The channel's reference that it belongs to, where it could be read.
    pub reference: Option<String>,
}

impl fmt::Debug for ParseFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ParseFault({}: {})", self.at, self.why)
    }
}

/// What a message held: the good beside the bad.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// The whole could not be read: malformed, hostile, too deep, no message of this dialect.
    pub is_unreadable: bool,
    /// States of reservations, in the order in which they are to be recorded.
    pub reports: Vec<ReservationReport>,
    /// What the message tells a channel (for `inspect`; channels do not send any).
    pub ari: Option<AriPush>,
    /// What could not be read; one broken reservation never hides its neighbours.
    pub faults: Vec<ParseFault>,
    /// The channel's own id of this message, for its support.
    pub trace: Option<String>,
    /// More may be waiting: ask again at once.
    pub has_more: bool,
}

/// What became of a report, for the acknowledgement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The channel's reference.
    pub reference: String,
    /// [`ReservationReport::acknowledge_as`].
    pub acknowledge_as: Option<String>,
    /// What was done.
    pub outcome: ReceiptOutcome,
}

/// What was done with a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiptOutcome {
    /// Stored for good, under our short number.
    Recorded {
        /// Our short number.
        number: String,
    },
    /// Not stored: the reason in words for the channel's staff.
    Refused {
        /// Why.
        why: String,
    },
}

/// The HTTP verbs that channels use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
}

/// A message to send.
#[derive(Clone, PartialEq, Eq)]
pub struct Outbound {
    /// What it is, in the adapter's words, such as `reservations.new` or `availability`.
    pub topic: String,
    /// Verb.
    pub method: Method,
    /// Absolute address.
    pub url: String,
    /// Headers, with credentials where the dialect wants them: never logged.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// Seconds to wait for the answer.
    pub timeout_seconds: u32,
}

impl fmt::Debug for Outbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Outbound({} {:?} {}, {} bytes)",
            self.topic,
            self.method,
            self.url,
            self.body.len()
        )
    }
}

/// What came back.
#[derive(Clone, PartialEq, Eq)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Lower-case name and value of each header.
    pub headers: Vec<(String, String)>,
    /// Body, cut to the size limit.
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Reply({}, {} bytes)", self.status, self.body.len())
    }
}

/// What a channel said to a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Verdict {
    /// In one word.
    pub outcome: Outcome,
    /// Why, in the channel's words, for staff.
    pub why: Option<String>,
    /// Parts that had no effect, where the channel names them.
    pub refused: Vec<RefusedPart>,
    /// What the channel demands to be sent soon.
    pub demands: Vec<Demand>,
    /// The channel's own id of the exchange, for its support.
    pub trace: Option<String>,
}

impl Verdict {
    /// A verdict of nothing but its outcome and reason.
    pub fn of(outcome: Outcome, why: impl Into<Option<String>>) -> Self {
        Self {
            outcome,
            why: why.into(),
            refused: Vec::new(),
            demands: Vec::new(),
            trace: None,
        }
    }
}

/// A verdict in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// All of it was applied.
    Accepted,
    /// Applied but for [`Verdict::refused`].
    Partly,
    /// Not applied; the same again later may succeed.
    Later {
        /// Seconds that the channel asked us to wait.
        after_seconds: Option<u32>,
    },
    /// Not applied: sign in anew, then once more.
    Unauthenticated,
    /// Not applied, and the same again will not be: a person must look.
    Refused,
    /// Not applied because a later state exists: ask again, record, acknowledge again.
    Stale,
}

/// A part of a message that had no effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedPart {
    /// Index into [`AriPush::spans`], where the channel's answer allows to tell.
    pub span: Option<usize>,
    /// The reference or record that the channel names.
    pub record: Option<String>,
    /// Why, in the channel's words.
    pub why: String,
}

/// What a channel demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Demand {
    /// A complete set of availability.
    Availability,
    /// The rates.
    Rates,
    /// Signing in (or shaking hands) anew.
    SignIn,
}

/// What an adapter may know of a login.
#[derive(Clone)]
pub struct Session {
    /// Base address in place of the channel's own; tests, sandboxes and portals need it.
    pub endpoint: Option<String>,
    /// `client_id`, `user` or the like.
    pub user: String,
    /// `client_secret`, `password` or the like.
    pub secret: SecretString,
    /// What signing in learned: a token, negotiated capabilities; the adapter's own JSON, kept by
    /// the engine, encrypted at rest. Empty until signed in.
    pub learned: SecretString,
    /// Settings of the connection, the adapter's own keys.
    pub settings: serde_json::Value,
}

impl Session {
    /// What signing in learned, as the adapter's own type; `None` before, or where it changed.
    pub fn learned<T: serde::de::DeserializeOwned>(&self) -> Option<T> {
        serde_json::from_str(self.learned.expose_secret()).ok()
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Session(..)")
    }
}

/// Why a conversation is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A token, a handshake.
    SignIn,
    /// All reservations not yet acknowledged.
    Poll,
    /// Reservations that fell back to e-mail.
    PollMissed,
    /// Is the login good and the hotel known?
    Test,
}

/// One step of a conversation.
#[derive(Clone, Debug)]
pub struct Step<'a> {
    /// Why it is held.
    pub goal: Goal,
    /// 0 for the first, counted by the engine.
    pub round: u32,
    /// The last exchange; `None` in round 0.
    pub last: Option<(&'a Outbound, &'a Reply)>,
    /// The channel's codes of the hotels behind the connection, sorted.
    pub hotel_codes: &'a [String],
    /// The last answer of a poll held messages, or said that more wait.
    pub has_more: bool,
}

/// What comes next in a conversation.
#[derive(Clone, Debug)]
pub enum Exchange {
    /// Send this and come back with the answer. In a poll, the engine first records and
    /// acknowledges what the answer held.
    Send(Outbound),
    /// Over. `learned` is kept as [`Session::learned`] where it is `Some`.
    Done {
        /// What signing in learned.
        learned: Option<SecretString>,
    },
    /// Over, without success.
    Failed(Verdict),
}

/// A message could not be rendered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderError {
    /// What stands in the way, and what to do.
    pub why: String,
    /// What can be sent instead: a complete set where single nights are not taken, signing in
    /// where it was not done.
    pub demand: Option<Demand>,
}

impl RenderError {
    /// An error that only a person can cure.
    pub fn of(why: impl Into<String>) -> Self {
        Self {
            why: why.into(),
            demand: None,
        }
    }
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for RenderError {}
