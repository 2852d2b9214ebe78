//! SQL, one file per table family. Row structs stay private to their file.

pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod lock;
pub(crate) mod mark;
pub(crate) mod message;
pub(crate) mod notice;
pub(crate) mod owed;
pub(crate) mod poll;
pub(crate) mod told;
pub(crate) mod unmapped;
pub(crate) mod webhook;
