//! Cases, as they are read.

use std::collections::BTreeSet;

use jiff::Timestamp;
use keyrack_model::id::{CaseId, PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::overbooking::Ending;
use keyrack_model::stay::StayDate;
use serde_json::Value;

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::overbooking::Which;
use crate::store::{connection, overbooking as store};

/// A case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Its id.
    pub id: CaseId,
    /// Its room type.
    pub room_type_id: RoomTypeId,
    /// Code of the room type.
    pub room_type: String,
    /// `open` or `closed`.
    pub status: String,
    /// Why, as far as known.
    pub cause: String,
    /// What is known, as JSON: what was told when, when the guest booked, when we heard.
    pub evidence: Value,
    /// Who works it.
    pub owner: Option<String>,
    /// A deadline that a person has set, in place of the policy's.
    pub deadline_set: Option<Timestamp>,
    /// When it was opened.
    pub opened_at: Timestamp,
    /// When it was closed.
    pub closed_at: Option<Timestamp>,
    /// When its deadline was found to have passed.
    pub escalated_at: Option<Timestamp>,
    /// How it ended: `cured` …
    pub outcome: Option<String>,
    /// A person opened it.
    pub by_hand: bool,
    /// What was proposed last.
    pub proposal: Option<Value>,
    /// What a manager has approved.
    pub approval: Option<Value>,
    /// What it cost: minor units and currency.
    pub cost: Option<(i64, String)>,
    /// Who was moved, and what was said of it.
    pub resolution: Option<Value>,
    /// Night, rooms beyond at most, when cured, rooms that were accepted.
    pub nights: Vec<(StayDate, i32, Option<Timestamp>, Option<i32>)>,
    /// Who sleeps on its nights, in order of booking.
    pub concerned: Vec<ReservationId>,
    /// Kind, actor, detail, instant: in order.
    pub events: Vec<(String, String, Value, Timestamp)>,
    /// Counts changes.
    pub version: i64,
}

impl Case {
    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        self.status == "open"
    }

    /// Whether it has ended so, and by moving these guests and no others.
    pub fn has_ended_by(
        &self,
        ending: Ending,
        moved: impl IntoIterator<Item = (ReservationId, Option<RoomStayId>)>,
    ) -> bool {
        let moved = moved.into_iter();
        let asked: BTreeSet<_> = moved
            .map(|(id, room)| (id.to_string(), room.map(|room| i64::from(room.0))))
            .collect();
        let moves = self.resolution.as_ref().and_then(|told| told.get("moves"));
        let moves = moves
            .and_then(Value::as_array)
            .map_or(&[][..], Vec::as_slice);
        let place = |one: &Value| {
            let id = one.get("reservation")?.as_str()?.to_owned();
            Some((id, one.get("room_stay_id").and_then(Value::as_i64)))
        };
        let moved: BTreeSet<_> = moves.iter().filter_map(place).collect();
        !self.is_open() && self.outcome.as_deref() == Some(ending.as_str()) && moved == asked
    }

    /// Its nights that are not cured; all of them once it is closed.
    pub fn live_nights(&self) -> impl Iterator<Item = StayDate> {
        let live = self
            .nights
            .iter()
            .filter(|night| night.2.is_none() || !self.is_open());
        live.map(|night| night.0)
    }
}

/// Which cases a list shows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Listed {
    /// Only open, or only closed ones.
    pub is_open: Option<bool>,
    /// Only those before this one.
    pub before: Option<CaseId>,
    /// At most so many.
    pub limit: u32,
}

/// Cases of a property, newest first.
pub async fn list(
    ledger: &Ledger,
    property: PropertyId,
    listed: Listed,
) -> Result<Vec<Case>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let which = Which {
        only: None,
        is_open: listed.is_open,
        before: listed.before,
        limit: listed.limit,
    };
    store::list(&mut conn, property, which).await
}

/// One case.
pub async fn load(
    ledger: &Ledger,
    property: PropertyId,
    id: CaseId,
) -> Result<Option<Case>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let which = Which {
        only: Some(id),
        limit: 1,
        ..Which::default()
    };
    Ok(store::list(&mut conn, property, which).await?.pop())
}
