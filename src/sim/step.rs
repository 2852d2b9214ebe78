//! A step of a script: who asks what, in abstract ids, so that a script can be printed, replayed
//! and shrunk by leaving steps out.

use keyrack_ledger::decide::refusal::Force;
use keyrack_model::reservation::{RevisionKind, Source};
use serde::{Deserialize, Serialize};

pub use crate::case_step::Work;
pub use crate::pool_step::Agree;
pub use crate::rule_step::{KeepsBack, Switches};

/// A step with its number. Later steps name what it made by that number, which it keeps when
/// others are left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scripted {
    /// Unique within the script, ascending.
    pub number: usize,
    /// What.
    pub step: Step,
}

/// A reservation, by the number of a step whose answer named it.
pub type Handle = usize;

/// What happens. `property`, `room_type` and `account` are indexes into the shape; nights are
/// offsets from the property's night 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// Time passes.
    Wait {
        /// Whole minutes.
        minutes: u32,
    },
    /// A wish of staff or of a guest on the hotel's site.
    Request(Request),
    /// What a channel tells.
    Record(Record),
    /// A hold becomes a stay.
    Confirm {
        /// Whose door is knocked at; not always the right one.
        property: usize,
        /// Which.
        of: Handle,
        /// Which payment.
        payment: Option<u32>,
        /// As read when.
        version: Read,
    },
    /// The rooms come back.
    Cancel {
        /// Whose door.
        property: usize,
        /// Which.
        of: Handle,
        /// The channel knows.
        told_channel: bool,
        /// As read when.
        version: Read,
    },
    /// A hold lives longer.
    Extend {
        /// Whose door.
        property: usize,
        /// Which.
        of: Handle,
        /// Until when.
        until: Hold,
        /// As read when.
        version: Read,
    },
    /// Staff change it.
    Modify(Change),
    /// What happens at the desk.
    Progress {
        /// Whose door.
        property: usize,
        /// Which.
        of: Handle,
        /// What.
        step: Desk,
        /// As read when.
        version: Read,
    },
    /// The sweeper comes by.
    Expire {
        /// Whose door.
        property: usize,
        /// Which.
        of: Handle,
    },
    /// Out of order and overbooking limit.
    SetNights {
        /// Which house.
        property: usize,
        /// All of them, one after the other, or none.
        changes: Vec<Stock>,
        /// Only asks what would happen.
        dry_run: bool,
    },
    /// The blocks of a room, in place of those that it has.
    SetBlocks {
        /// Which house.
        property: usize,
        /// A room of which type.
        room_type: usize,
        /// Which of them, from 0.
        room: i32,
        /// First night and count of nights of each.
        blocks: Vec<(i32, i32)>,
    },
    /// The physical count.
    SetPhysical {
        /// Which house.
        property: usize,
        /// Which nights.
        nights: Nights,
        /// The new count.
        rooms: i32,
        /// With a force to oversell.
        forced: bool,
        /// Only asks what would happen.
        dry_run: bool,
    },
    /// Rooms are agreed with an account or a group, or given back.
    Agree(Agree),
    /// A worker lets the unsold rooms of an allotment go, where they are due.
    Release {
        /// Which house.
        property: usize,
        /// Which of its allotments.
        allotment: usize,
        /// First night that is looked at, and how many.
        nights: (i32, i32),
    },
    /// Every daemon's worker looks at once for allotments that are due, in all houses.
    ReleaseDue,
    /// Rules that switch how accounts sell, in place of those that are.
    PoolRules {
        /// Which house.
        property: usize,
        /// In order: the last that binds says.
        rules: Vec<Switches>,
    },
    /// Rules that keep rooms back, in place of those that are.
    BufferRules {
        /// Which house.
        property: usize,
        /// All of them.
        rules: Vec<KeepsBack>,
    },
    /// Somebody works an overbooking case.
    Work(Work),
    /// The roll-over looks at nights again.
    Review {
        /// Which house.
        property: usize,
        /// Which nights.
        nights: Nights,
    },
}

/// Some nights of a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nights {
    /// Which type.
    pub room_type: usize,
    /// The first, as an offset from night 0.
    pub from: i32,
    /// How many, at least 1.
    pub count: i32,
}

/// Out of order and overbooking limit of some nights.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stock {
    /// Which nights.
    pub nights: Nights,
    /// Rooms that cannot be sold.
    pub out_of_order: Option<i32>,
    /// How far beyond physical the hotel means to sell.
    pub overbooking_limit: Option<i32>,
}

/// A wish.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Which house.
    pub property: usize,
    /// Held, or confirmed at once.
    pub hold: Option<Hold>,
    /// From where.
    pub source: Source,
    /// Its rooms.
    pub rooms: Vec<Room>,
    /// Which payment.
    pub payment: Option<u32>,
    /// Typed from a channel's e-mail: account and reference.
    pub channel: Option<(usize, u32)>,
    /// Prepaid or guaranteed.
    pub guaranteed: bool,
    /// What is forced; empty forces nothing.
    pub force: Vec<Force>,
}

/// A room of a wish or a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Room {
    /// In a change: which room stay.
    pub room_stay: Option<i32>,
    /// Which type.
    pub room_type: usize,
    /// First night, as an offset from night 0.
    pub from: i32,
    /// How many nights, at least 1.
    pub nights: i32,
    /// How many rooms.
    pub quantity: i32,
    /// From which allotment, where it is named.
    pub allotment: Option<usize>,
}

/// When a hold ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hold {
    /// By the rules.
    Default,
    /// After so many seconds: an odd number of half minutes.
    Seconds(u32),
    /// At half a minute after so many minutes from the start.
    Until(i64),
}

/// What a channel tells of one reference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Which house.
    pub property: usize,
    /// Which of its listings.
    pub account: usize,
    /// The channel's reference.
    pub reference: u32,
    /// Which kind of state.
    pub kind: RevisionKind,
    /// Its order, where the channel tells one.
    pub order: Option<i64>,
    /// Its rooms.
    pub rooms: Vec<Told>,
    /// Price of the whole, minor units.
    pub total: Option<u32>,
}

/// A room as a channel tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// The channel's name of the room; told where the listing has keys.
    pub key: u32,
    /// Which type its code means.
    pub room_type: usize,
    /// Whether the code is mapped yet.
    pub is_mapped: bool,
    /// First night, as an offset from night 0.
    pub from: i32,
    /// How many nights; 0 and less are odd facts.
    pub nights: i32,
    /// How many rooms.
    pub quantity: i32,
}

/// A change by staff.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Whose door.
    pub property: usize,
    /// Which.
    pub of: Handle,
    /// The new list; `None` changes a note.
    pub rooms: Option<Vec<Room>>,
    /// The channel knows.
    pub told_channel: bool,
    /// What is forced; empty forces nothing.
    pub force: Vec<Force>,
    /// As read when.
    pub version: Read,
}

/// Which version the caller has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Read {
    /// None is named; a change names the last.
    No,
    /// The last that an answer told.
    Last,
    /// The one before.
    Stale,
}

/// What happens at the desk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Desk {
    /// The guest is in the house.
    CheckIn,
    /// The guest left.
    CheckOut,
    /// The guest did not come.
    NoShow(Option<bool>),
    /// It was a mistake.
    Undo,
    /// The departure is past.
    Complete,
    /// The roll-over after a no-show.
    ReleaseNoShow,
    /// In the house after the departure.
    Overdue,
}
