//! What became of a rooming list, line by line.

use keyrack_model::id::ReservationId;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::problem::sentence::sentence;

/// What became of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoomingListView {
    /// Lines that became reservations.
    pub made: usize,
    /// Lines whose guest had his reservation before.
    pub already: usize,
    /// Lines that could not be taken.
    pub refused: usize,
    /// Every line, in order.
    pub lines: Vec<RoomingLineView>,
}

/// What became of a line.
#[derive(Debug, Serialize, ToSchema)]
pub struct RoomingLineView {
    /// Its number in the file, from 1; the columns are line 1.
    pub line: u64,
    /// Its reservation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub reservation: Option<Uuid>,
    /// Its short number.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub number: Option<String>,
    /// The guest had it before, by another list or by hand.
    pub already: bool,
    /// Why it was not taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub why: Option<String>,
}

/// The guest of a line has a reservation: made now, or there already.
pub fn is_in(line: u64, id: ReservationId, number: String, already: bool) -> RoomingLineView {
    RoomingLineView {
        line,
        reservation: Some(id.0),
        number: Some(number),
        already,
        why: None,
    }
}

/// The guest of a line has none, and why.
pub fn not_taken(line: u64, why: String) -> RoomingLineView {
    RoomingLineView {
        line,
        reservation: None,
        number: None,
        already: false,
        why: Some(sentence(&why)),
    }
}
