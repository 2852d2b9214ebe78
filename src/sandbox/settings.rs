//! What a sandbox is told before it starts. Times are milliseconds; 0 switches a rule off.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::hotel::Room;

/// The whole sandbox: where it listens, its chance and day, and its two channels.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Address to listen on; port 0 takes any free one.
    pub listen: SocketAddr,
    /// Where all chance of the channels comes from.
    pub seed: u64,
    /// The business day it begins with; today in UTC if absent.
    pub today: Option<Date>,
    /// A file to which the journal is appended as JSON lines, so that it survives.
    pub journal_file: Option<PathBuf>,
    /// Hotels under contract from the start.
    pub hotels: Vec<HotelSettings>,
    pub booking_com: BookingComSettings,
    pub alpinebits: AlpineBitsSettings,
}

/// A hotel at one of the channels.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotelSettings {
    /// `booking_com` or `alpinebits`.
    pub channel: String,
    pub hotel: String,
    pub rooms: Vec<Room>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            seed: 1,
            today: None,
            journal_file: None,
            hotels: Vec::new(),
            booking_com: BookingComSettings::default(),
            alpinebits: AlpineBitsSettings::default(),
        }
    }
}

/// The fake Booking.com.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BookingComSettings {
    /// The one machine account, behind which all hotels stand.
    pub client_id: String,
    pub client_secret: Secret,
    /// How long a token lives; the real one lives an hour.
    pub token_lifetime_ms: u32,
    /// Tokens given to one account within an hour.
    pub tokens_per_hour_max: u32,
    /// A queue asked sooner than this after the last time is noted in the journal.
    pub poll_interval_ms: u32,
    /// A queue asked sooner than this after an acknowledgement offers the acknowledged again.
    pub ack_settle_ms: u32,
    /// An unacknowledged message leaves its queue after this.
    pub fallback_after_ms: u32,
    /// Whether the recovery interface is granted: what left a queue can be asked for until mailed.
    pub recovery: bool,
    /// With recovery, a message is mailed after this; for an arrival within 48 hours at once.
    pub mail_after_ms: u32,
    /// A cancelled or shortened stay puts its rooms back on sale by itself, as the real one does.
    pub reopens_by_itself: bool,
    /// Cancellations name their hotel; else they say nothing but the reference.
    pub cancel_names_hotel: bool,
    /// The reference of the first reservation; the next ones count up.
    pub first_reference: u64,
    /// The currency of bookings whose price names none.
    pub currency: String,
    /// Of a hundred bookings, so many carry a (test) payment card.
    pub card_percent: u8,
}

impl Default for BookingComSettings {
    fn default() -> BookingComSettings {
        BookingComSettings {
            client_id: "keyrack-machine".to_owned(),
            client_secret: Secret::new("sandbox-secret"),
            token_lifetime_ms: 3_600_000,
            tokens_per_hour_max: 30,
            poll_interval_ms: 0,
            ack_settle_ms: 0,
            fallback_after_ms: 1_800_000,
            recovery: false,
            mail_after_ms: 86_400_000,
            reopens_by_itself: true,
            cancel_names_hotel: false,
            first_reference: 2_234_567_890,
            currency: "EUR".to_owned(),
            card_percent: 30,
        }
    }
}

/// The fake AlpineBits portal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlpineBitsSettings {
    pub user: String,
    pub password: Secret,
    /// What the portal announces beyond its actions; see `alpinebits::capability::ALL`.
    pub capabilities: Vec<String>,
    /// An unacknowledged guest request leaves the queue for the mailbox after this.
    pub fallback_after_ms: u32,
    /// Whether a cancelled stay puts its rooms back on sale by itself.
    pub reopens_by_itself: bool,
    /// A last complete set older than this brings an advisory.
    pub complete_set_max_age_ms: u32,
    /// The number in the first reservation's ID; the next ones count up.
    pub first_reference: u64,
    pub currency: String,
    /// Of a hundred bookings, so many carry a (test) payment card.
    pub card_percent: u8,
}

impl Default for AlpineBitsSettings {
    fn default() -> AlpineBitsSettings {
        AlpineBitsSettings {
            user: "keyrack".to_owned(),
            password: Secret::new("sandbox-secret"),
            capabilities: crate::alpinebits::capability::ALL
                .iter()
                .map(|name| (*name).to_owned())
                .collect(),
            fallback_after_ms: 1_800_000,
            reopens_by_itself: false,
            complete_set_max_age_ms: 172_800_000,
            first_reference: 1001,
            currency: "EUR".to_owned(),
            card_percent: 30,
        }
    }
}

/// A secret that `Debug` does not print.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: &str) -> Secret {
        Secret(value.to_owned())
    }

    /// The secret itself, for whoever must send or compare it.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}
