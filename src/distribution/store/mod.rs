//! SQL, one file per table family. Row structs stay private to their file.

pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod connection_pace;
pub(crate) mod evidence;
pub(crate) mod feed;
pub(crate) mod lock;
pub(crate) mod mark;
pub(crate) mod mark_view;
pub(crate) mod message;
pub(crate) mod notice;
pub(crate) mod owed;
pub(crate) mod poll;
pub(crate) mod push_attempt;
pub(crate) mod push_health;
pub(crate) mod push_state;
pub(crate) mod retired_code;
pub(crate) mod sealed;
pub(crate) mod told;
pub(crate) mod told_history;
pub(crate) mod transaction;
pub(crate) mod unmapped;
pub(crate) mod webhook;
pub(crate) mod webhook_delivery;
