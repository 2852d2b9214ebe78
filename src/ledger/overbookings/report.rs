//! Cases of a time, counted by cause, channel, month and outcome, with what they cost.

use std::collections::BTreeMap;

use keyrack_model::id::PropertyId;
use keyrack_model::stay::StayRange;

use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::{connection, overbooking_report as store};

/// Cases that are alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many.
    pub cases: i64,
    /// Of these, still open.
    pub open: i64,
    /// Of these, past their deadline.
    pub escalated: i64,
    /// Rooms beyond, over all their nights.
    pub rooms: i64,
    /// What they cost: minor units by currency.
    pub cost: BTreeMap<String, i64>,
}

/// The report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// All of them.
    pub all: Count,
    /// By cause.
    pub by_cause: BTreeMap<String, Count>,
    /// By the channel that sold; the hotel's own doing under `direct`.
    pub by_channel: BTreeMap<String, Count>,
    /// By the account that sold.
    pub by_account: BTreeMap<String, Count>,
    /// By the month in which they were opened, `YYYY-MM`.
    pub by_month: BTreeMap<String, Count>,
    /// By outcome; those that are open under `open`.
    pub by_outcome: BTreeMap<String, Count>,
}

/// The cases of a property that were opened on these days, by its own zone.
pub async fn report(
    ledger: &Ledger,
    property: PropertyId,
    days: StayRange,
) -> Result<Report, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let mut report = Report::default();
    for row in store::rows(&mut conn, property, days).await? {
        report.all.add(&row);
        let places = [
            (&mut report.by_cause, &row.cause),
            (&mut report.by_channel, &row.channel),
            (&mut report.by_account, &row.account),
            (&mut report.by_month, &row.month),
            (&mut report.by_outcome, &row.outcome),
        ];
        for (place, name) in places {
            place.entry(name.clone()).or_default().add(&row);
        }
    }
    Ok(report)
}

impl Count {
    fn add(&mut self, row: &store::ReportRow) {
        self.cases += row.cases;
        self.open += row.open;
        self.escalated += row.escalated;
        self.rooms += row.rooms;
        if let Some((currency, minor)) = row.cost_currency.as_ref().zip(row.cost_minor) {
            *self.cost.entry(currency.clone()).or_default() += minor;
        }
    }
}
