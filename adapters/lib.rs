//! How each channel says it: pure dialects over the contract of the model.
//!
//! Bytes come in and values go out, or the other way round. Nothing here knows a socket, a clock,
//! a database or the ledger; tests need neither. One folder per channel, all with the same rooms:
//! `wire` (their words), `parse` (theirs to ours), `render` (ours to theirs), `verdict` (what they
//! said to a message).

use std::sync::Arc;

use keyrack_model::adapter::ChannelAdapter;

mod alpinebits;
mod booking_com;
mod fault;
mod mask;
mod ota2003;
mod xml;

/// Every channel of the house.
pub fn all() -> Vec<Arc<dyn ChannelAdapter>> {
    vec![
        Arc::new(booking_com::BookingCom),
        Arc::new(alpinebits::AlpineBits),
    ]
}

/// The channel of a code, such as `booking_com`.
pub fn by_code(code: &str) -> Option<Arc<dyn ChannelAdapter>> {
    all()
        .into_iter()
        .find(|adapter| adapter.channel().as_str() == code)
}
