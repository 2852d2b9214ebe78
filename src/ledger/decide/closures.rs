//! Why a cell is closed, whatever its number of rooms: each cause stands alone, so lifting one
//! never opens another.

use super::cell::{Cell, Listening};

/// Every closure of the cell that has a cause of its own.
pub fn closures(cell: &Cell<'_>, listening: &Listening) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let mut close = |why: String| found.push(("closure", why));
    if listening.is_closed {
        close("the account is closed".to_owned());
    }
    if cell.night < cell.business_day {
        close(format!(
            "the night is past: the business day is {}",
            cell.business_day
        ));
    }
    if cell.night >= listening.horizon_end {
        close(format!(
            "beyond the horizon, which ends with {}",
            listening.horizon_end
        ));
    }
    if let Some(from) = listening.bookable_from.filter(|from| cell.night < *from) {
        close(format!("the hotel can be booked from {from} on"));
    }
    for layer in &cell.rules.closed_by {
        close(format!("stop sell of the {}", layer.as_str()));
    }
    found
}
