//! What a channel writes down: every message, every reservation, every number it showed.
//!
//! The audits read it. Bodies are not kept; what they meant is.

use std::fs::File;
use std::io::Write as _;
use std::path::Path;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::hotel::Applied;
use crate::reservation::{Reservation, Sold};

/// A copy of the whole journal of one channel.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Journal {
    pub channel: String,
    /// Every message the channel got, in order of arrival.
    pub messages: Vec<Message>,
    /// Every reservation with all versions and their delivery.
    pub reservations: Vec<Reservation>,
    /// The history of every night: what was told and sold, in order.
    pub nights: Vec<NightChange>,
    /// What was mailed because nobody acknowledged it in time.
    pub mailbox: Vec<Mail>,
}

/// One message that arrived, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    pub sequence: u64,
    /// When the answer was decided.
    pub at: Timestamp,
    /// For example `OTA_HotelAvailNotif` or `GET OTA_HotelResNotif`.
    pub endpoint: String,
    pub hotel: Option<String>,
    /// The status answered, or that would have been.
    pub status: u16,
    /// Whether everything in it was taken.
    pub accepted: bool,
    /// The message was dealt with, the answer never arrived.
    pub answer_lost: bool,
    /// The fault that struck, if one did.
    pub fault: Option<String>,
    pub applied: Vec<Applied>,
    /// What was refused and why, one sentence each.
    pub refused: Vec<String>,
    /// Reservations it delivered or acknowledged.
    pub references: Vec<String>,
    /// Manners not kept, such as a poll that came too early.
    pub remark: Option<String>,
}

/// A night of a room type at the moment something about it changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NightChange {
    pub sequence: u64,
    pub at: Timestamp,
    pub hotel: String,
    pub room: String,
    pub night: Date,
    /// The number held after the change.
    pub number: Option<u32>,
    /// Closed at room level, or at every rate.
    pub closed: bool,
    /// Rooms a guest could take after the change.
    pub shown: u32,
    pub cause: Cause,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The client told it.
    Told,
    /// A complete set left it out (AlpineBits).
    LeftOut,
    Sold,
    /// A guest gave it back and the channel put it on sale by itself.
    Reopened,
}

/// A message to the hotel's mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    pub at: Timestamp,
    pub hotel: String,
    pub reference: String,
    pub version: u32,
}

/// The journal as it is being written.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) messages: Vec<Message>,
    pub(crate) nights: Vec<NightChange>,
    pub(crate) mailbox: Vec<Mail>,
    channel: &'static str,
    file: Option<File>,
    sequence: u64,
}

/// One line of the journal's file.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Line<'a> {
    Message(&'a Message),
    Night(&'a NightChange),
    Mail(&'a Mail),
    Reservation(&'a Sold),
    Acknowledged {
        at: Timestamp,
        reference: &'a str,
        version: u32,
        taken: bool,
    },
}

impl Log {
    /// A new log, which also goes to the end of `file` if there is one.
    pub(crate) fn open(channel: &'static str, file: Option<&Path>) -> std::io::Result<Log> {
        let file = file
            .map(|path| File::options().create(true).append(true).open(path))
            .transpose()?;
        Ok(Log {
            channel,
            file,
            ..Log::default()
        })
    }

    /// The next number in the order in which things happened.
    pub(crate) fn next_sequence(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    pub(crate) fn message(&mut self, message: Message) {
        self.append(&Line::Message(&message));
        self.messages.push(message);
    }

    pub(crate) fn night(&mut self, change: NightChange) {
        self.append(&Line::Night(&change));
        self.nights.push(change);
    }

    pub(crate) fn mail(&mut self, mail: Mail) {
        self.append(&Line::Mail(&mail));
        self.mailbox.push(mail);
    }

    pub(crate) fn sold(&mut self, sold: &Sold) {
        self.append(&Line::Reservation(sold));
    }

    /// That a version was acknowledged (`taken`), or refused by the client.
    pub(crate) fn acknowledged(&mut self, at: Timestamp, of: &str, version: u32, taken: bool) {
        self.append(&Line::Acknowledged {
            at,
            reference: of,
            version,
            taken,
        });
    }

    fn append(&mut self, line: &Line<'_>) {
        #[derive(Serialize)]
        struct Entry<'a> {
            channel: &'a str,
            #[serde(flatten)]
            line: &'a Line<'a>,
        }
        let Some(file) = &mut self.file else { return };
        let entry = Entry {
            channel: self.channel,
            line,
        };
        // A journal that cannot be written must not stop the channel; the copy in memory stays.
        if let Ok(mut text) = serde_json::to_vec(&entry) {
            text.push(b'\n');
            let _ = file.write_all(&text);
        }
    }
}
