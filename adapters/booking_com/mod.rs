//! Booking.com, OTA dialect: pulls reservations with acknowledgement, takes deltas.
//!
//! # Quirks
//!
//! * The direction looks reversed: the *answer* to our GET is an OTA "RQ", and we *post* the "RS".
//! * Two queues, new and modified (with cancelled). A booking that changes before its first
//!   message was acknowledged comes again as new, in its latest state.
//! * Money is an integer with `DecimalPlaces`; the departure is the last `EffectiveDate` plus one.
//! * A 200 may carry errors: then a part of the availability was not applied. A 400 to an
//!   acknowledgement means that a later state exists.
//! * `SetMinLOS` is the minimum stay *through*, unless `ArrivalDateBased` is said.
//! * Closing works on the room and on the rate, as two switches; each is opened where it was
//!   closed. A room must be open before its limit shows an effect.
//!
//! # Sources
//!
//! The public documentation of the Connectivity APIs (reservations-api, ari, authentication,
//! connections-api). What it does not say is one constant here, marked as unconfirmed: the end
//! rule (`render::END`), the path of missed reservations (`wire::MISSED_PATH`), how an error names
//! the element (`render::locator`), what clears a stay limit (`render::ANY_STAY`).

use keyrack_model::adapter::{
    ChannelAdapter, Exchange, Inbound, Outbound, Parsed, Receipt, RenderError, Reply, Session,
    Step, Verdict,
};
use keyrack_model::ari::AriPush;
use keyrack_model::channel::Capabilities;
use keyrack_model::id::ChannelCode;
use keyrack_model::restriction::RestrictionKind;

mod next;
mod parse;
mod render;
mod request;
#[cfg(test)]
mod tests;
mod verdict;
mod wire;

/// The dialect.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BookingCom;

const CAPABILITIES: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: true,
    poll_seconds: 20,
    settle_after_acknowledge_seconds: 5,
    missed_seconds: Some(30 * 60),
    fallback_seconds: 30 * 60,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: false,
    takes_rates: true,
    knows_rate_plans: true,
    restrictions: &[
        RestrictionKind::MinStayArrival,
        RestrictionKind::MinStayThrough,
        RestrictionKind::MaxStay,
        RestrictionKind::ClosedToArrival,
        RestrictionKind::ClosedToDeparture,
        RestrictionKind::StopSell,
    ],
    reopens_by_itself: true,
    // 255 would mean unlimited.
    rooms_max: 254,
    // Not published; keeps a message far below a megabyte.
    spans_per_message_max: render::SPANS_PER_MESSAGE_MAX,
    // Not published; "at least 12 months" shall be kept loaded.
    horizon_nights_max: 500,
    // Not published for availability; a restraint of our own.
    requests_per_minute: 60,
    settle_seconds: None,
    signs_in: true,
    // A token lives an hour, and at most 30 an hour are given.
    sign_in_seconds: 50 * 60,
};

impl ChannelAdapter for BookingCom {
    fn channel(&self) -> ChannelCode {
        ChannelCode::new("booking_com")
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
        inbound: &Inbound,
        receipts: &[Receipt],
        session: &Session,
    ) -> Result<Vec<Outbound>, RenderError> {
        render::acknowledge(inbound, receipts, session)
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
