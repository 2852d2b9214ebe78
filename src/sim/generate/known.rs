//! What the next step is chosen from.

use jiff::Timestamp;
use keyrack_model::stay::days_between;

use crate::auditor::books::Books;
use crate::ids::Ids;
use crate::shape::Shape;

/// What a step is chosen from.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// What the auditor believes.
    pub books: &'a Books,
    /// What names stand for.
    pub ids: &'a Ids,
    /// The script's time.
    pub now: Timestamp,
}

impl Known<'_> {
    /// The business day of a property as an offset from night 0.
    pub fn today(&self, shape: &Shape, at: usize) -> i32 {
        let property = self.ids.property(at).property;
        let today = self.books.house(property).map(|h| h.rules.today(self.now));
        let first = shape.properties[at].first_night;
        today.map_or(0, |today| days_between(first, today))
    }
}
