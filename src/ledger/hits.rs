//! Whom a change would hit, asked before it is made: the guests who sleep on its nights, and the
//! accounts that sell them.

use keyrack_model::id::{AccountId, PropertyId, RatePlanId, ReservationId, RoomTypeId};
use keyrack_model::reservation::Status;
use keyrack_model::stay::{StayDate, StayRange};

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::{connection, hits as table, property};

/// Nights of a room type, a plan, an account; what is `None` narrows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Of which type; a composed type that is made of it counts as well.
    pub room_type: Option<RoomTypeId>,
    /// Sold under which plan.
    pub rate_plan: Option<RatePlanId>,
    /// Sold through which account.
    pub account: Option<AccountId>,
    /// Which nights.
    pub nights: StayRange,
}

/// A guest who would be hit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Which reservation.
    pub reservation: ReservationId,
    /// Its short number.
    pub number: i64,
    /// Its state.
    pub status: Status,
    /// Through which account it came.
    pub account: Option<AccountId>,
    /// Its first night among the rooms that are hit.
    pub arrival: StayDate,
    /// The morning after the last.
    pub departure: StayDate,
}

/// Who would be hit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Guests, in order of arrival, at most so many as were asked for.
    pub guests: Vec<Hit>,
    /// Accounts that sell the nights, in order of id.
    pub accounts: Vec<AccountId>,
}

/// Whom a change of some nights would hit.
///
/// # Errors
///
/// Failures of the database.
pub async fn on_nights(
    ledger: &Ledger,
    property: PropertyId,
    spans: &[Span],
    limit: u32,
) -> Result<Hits, LedgerError> {
    if spans.is_empty() {
        return Ok(Hits::default());
    }
    let mut conn = connection::reader(ledger).await?;
    let guests = table::on_nights(&mut conn, property, spans, limit).await?;
    let types: Option<Vec<RoomTypeId>> = spans.iter().map(|span| span.room_type).collect();
    let mut accounts = table::sellers(&mut conn, property, types.as_deref()).await?;
    let named: Option<Vec<AccountId>> = spans.iter().map(|span| span.account).collect();
    accounts.retain(|id| named.as_ref().is_none_or(|named| named.contains(id)));
    Ok(Hits { guests, accounts })
}

/// Guests to come whom an account has sold under some of its room codes.
///
/// # Errors
///
/// Failures of the database.
pub async fn under_codes(
    ledger: &Ledger,
    property: PropertyId,
    account: AccountId,
    codes: &[String],
    limit: u32,
) -> Result<Vec<Hit>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let Some(calendar) = property::calendar(&mut conn, property).await? else {
        return Ok(Vec::new());
    };
    let from = (calendar.business_day, limit);
    table::under_codes(&mut conn, (property, account), codes, from).await
}
