//! AlpineBits HotelData 2024-10, as the client of a portal: shakes hands, tells free rooms, pulls
//! guest requests and acknowledges them.
//!
//! # Quirks
//!
//! * One address, one form of two fields (`action`, `request`), basic authentication each time.
//! * What may be sent is what the handshake agreed on: deltas, complete sets, categories.
//! * In FreeRooms `End` is a night; in GuestRequests `End` is the departure. A category that is
//!   not counted is fully booked, and a complete set empties every night that it does not list.
//! * A refusal may come as plain text that starts with `ERROR`, with status 200.
//! * The portal offers a request until it is acknowledged; a refused one leaves its list too.
//! * A cancellation is named by UniqueID type 15, everything else by 14. The schema allows the
//!   wrong pairs, we do not.
//! * Any answer may demand a complete set or a new handshake.
//!
//! # Sources
//!
//! The specification 2024-10 of the AlpineBits Alliance and its schema, which gives the order of
//! elements. Rates and restrictions (RatePlans) and the hotel's description (Inventory) are kept
//! at the portal by hand.

use keyrack_model::adapter::{
    ChannelAdapter, Exchange, Inbound, Outbound, Parsed, Receipt, RenderError, Reply, Session,
    Step, Verdict,
};
use keyrack_model::ari::AriPush;
use keyrack_model::channel::Capabilities;
use keyrack_model::id::ChannelCode;
use keyrack_model::restriction::RestrictionKind;

mod free_rooms;
mod handshake;
mod next;
mod parse;
mod prices;
mod render;
mod request;
#[cfg(test)]
mod tests;
mod verdict;
mod wire;

/// The dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AlpineBits;

const CAPABILITIES: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: false,
    // The standard names no rhythm.
    poll_seconds: 30,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: None,
    // Never: the portal offers a request until it is acknowledged. A day late is late enough.
    fallback_seconds: 24 * 60 * 60,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: true,
    takes_rates: false,
    knows_rate_plans: false,
    restrictions: &[RestrictionKind::StopSell],
    // What is told is absolute, and 0 stays 0.
    reopens_by_itself: false,
    rooms_max: 9_999,
    spans_per_message_max: render::SPANS_PER_MESSAGE_MAX,
    horizon_nights_max: 730,
    // The standard names no limit; a restraint of our own.
    requests_per_minute: 60,
    settle_seconds: None,
    signs_in: true,
    // Capabilities shall be refreshed from time to time.
    sign_in_seconds: 24 * 60 * 60,
};

impl ChannelAdapter for AlpineBits {
    fn channel(&self) -> ChannelCode {
        ChannelCode::new("alpinebits")
    }

    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    fn redact(&self, bytes: &[u8]) -> Vec<u8> {
        crate::mask::mask(bytes, &wire::NAMES)
    }

    fn parse(&self, inbound: &Inbound) -> Parsed {
        parse::parse(inbound)
    }

    fn acknowledge(
        &self,
        _inbound: &Inbound,
        receipts: &[Receipt],
        session: &Session,
    ) -> Result<Vec<Outbound>, RenderError> {
        render::acknowledge(receipts, session)
    }

    fn render(&self, push: &AriPush, session: &Session) -> Result<Vec<Outbound>, RenderError> {
        render::render(push, session)
    }

    fn judge(&self, sent: &Outbound, reply: &Reply) -> Verdict {
        verdict::judge(sent, reply)
    }

    fn next(&self, session: &Session, step: &Step<'_>) -> Exchange {
        next::next(session, step)
    }
}
