//! The words of the trade, and the contract of an adapter.
//!
//! Floor 1: everything here is a value. It knows no database, no socket, no clock and no XML; every
//! other floor stands on it. The words are those of the trade:
//!
//! | word | where |
//! | --- | --- |
//! | property, room type, rate plan, account, reservation identifiers and codes | [`id`] |
//! | stay, stay date, range of nights, weekdays | [`stay`] |
//! | money in minor units | [`money`] |
//! | the rooms of a night and their arithmetic | [`inventory`] |
//! | allotment, release period, cut-off | [`allotment`] |
//! | restrictions | [`restriction`] |
//! | ARI: availability, rates and restrictions, as told to channels | [`ari`] |
//! | reservation, room stay, guest, report, revision | [`reservation`] |
//! | overbooking case | [`overbooking`] |
//! | channel, connection, account, mapping, capabilities | [`channel`] |
//! | the contract that each channel's adapter keeps | [`adapter`] |
#![deny(missing_docs)]
#![deny(clippy::float_arithmetic)]

pub mod adapter;
pub mod allotment;
pub mod ari;
pub mod channel;
pub mod id;
pub mod id_map;
pub mod inventory;
pub mod money;
pub mod overbooking;
pub mod reservation;
pub mod restriction;
pub mod stay;
