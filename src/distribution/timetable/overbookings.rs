//! What falls due in the overbooking-resolution queue: deadlines that have passed, and guests on
//! their way to another hotel whose daemon has died.

use keyrack_ledger::overbookings::escalation::{self, Escalated};
use keyrack_ledger::overbookings::transfer;

use crate::error::DistributionError;
use crate::evidence::notice_key;
use crate::handle::Distribution;
use crate::notice::{self, About, Kind};

/// Takes up what another daemon has left half done, says once of each case whose deadline has
/// passed that it has, and tells people.
///
/// The case's row remembers both: whoever dies in between leaves the telling to the next, and a
/// notice that is raised twice is one notice and one mail.
///
/// # Errors
///
/// Failures of the database.
pub async fn work(distribution: &Distribution) -> Result<(), DistributionError> {
    let ledger = &distribution.inner.ledger;
    transfer::resume_due(ledger).await?;
    let escalated = escalation::escalate_due(ledger).await?;
    metrics::counter!("overbooking_escalated_total").increment(escalated.into());
    for case in escalation::to_tell(ledger).await? {
        tell(distribution, &case).await?;
        escalation::told(ledger, case.property, case.case).await?;
    }
    Ok(())
}

async fn tell(distribution: &Distribution, case: &Escalated) -> Result<(), DistributionError> {
    let owner = match &case.owner {
        Some(owner) => format!("{owner} has it"),
        None => "nobody has it".to_owned(),
    };
    let text = format!(
        "The deadline of overbooking case {} has passed and it is still open: more {} are sold \
         than there are from {} to {}; {owner}. Decide now who is moved.",
        case.case, case.room_type, case.first_night, case.last_night
    );
    let about = About {
        property: Some(case.property),
        account: None,
    };
    let key = notice_key(case.property, case.case);
    let kind = Kind::OverbookingEscalated;
    notice::raise_to(distribution, kind, &key, about, &text, &case.to).await
}
