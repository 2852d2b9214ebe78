//! What is said of cases: that one opened again, that its deadline has passed; each once.

use jiff::Timestamp;
use keyrack_model::id::{CaseId, PropertyId};
use sqlx::PgConnection;

use crate::command::By;
use crate::decide::overbooking::policy::OverbookingPolicy;
use crate::decide::rules::Policies;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::store::overbooking_work::{self as store, Told};
use crate::store::{connection, overbooking};

/// A case whose deadline has passed, to be told to people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Escalated {
    /// Whose.
    pub property: PropertyId,
    /// Which.
    pub case: CaseId,
    /// Code of its room type.
    pub room_type: String,
    /// Who works it.
    pub owner: Option<String>,
    /// Mail addresses that are to learn of it.
    pub to: Vec<String>,
    /// Its first night, for people.
    pub first_night: String,
    /// Its last night, for people.
    pub last_night: String,
}

/// Finds open cases whose deadline has passed, and says so once: an event of the case, and an entry
/// that webhooks learn of, in one transaction. Says how many.
pub async fn escalate_due(ledger: &Ledger) -> Result<u32, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let (now, open) = store::to_escalate(&mut conn).await?;
    drop(conn);
    let mut escalated = 0;
    for case in open {
        if deadline(&case.policies, &case.zone, &case) > now {
            continue;
        }
        let mut tx = connection::begin(ledger).await?;
        if !store::escalate(&mut tx, case.property, case.case).await? {
            continue;
        }
        let at = deadline(&case.policies, &case.zone, &case);
        let detail = serde_json::json!({ "deadline": at.to_string(), "owner": case.owner });
        let (property, id) = (case.property, case.case);
        overbooking::insert_event(&mut tx, property, id, "escalated", ACTOR, &detail).await?;
        let by = By {
            actor: ACTOR.to_owned(),
            request_id: None,
        };
        tell(&mut tx, property, id, &by, "overbooking_escalated").await?;
        connection::commit(tx).await?;
        escalated += 1;
    }
    Ok(escalated)
}

fn deadline(policies: &Policies, zone: &jiff::tz::TimeZone, case: &store::Open) -> Timestamp {
    let policy: &OverbookingPolicy = &policies.overbooking;
    let by_policy = policy.deadline(case.first_night, zone, case.opened_at);
    case.deadline_set.unwrap_or(by_policy)
}

/// Cases that have escalated and whose notice has not been raised.
pub async fn to_tell(ledger: &Ledger) -> Result<Vec<Escalated>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rows = store::to_tell(&mut conn).await?;
    let each = |row: Told| Escalated {
        property: row.property,
        case: row.case,
        room_type: row.room_type,
        owner: row.owner,
        to: row.policies.overbooking.escalate_to,
        first_night: row.first_night.to_string(),
        last_night: row.last_night.to_string(),
    };
    Ok(rows.into_iter().map(each).collect())
}

/// Its notice stands. Raised again by whoever died in between, it is still one notice.
pub async fn told(ledger: &Ledger, property: PropertyId, case: CaseId) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::escalation_told(&mut conn, property, case).await
}

/// Writes an entry that tells of a case: the feed makes a webhook's event of it.
pub(super) async fn tell(
    conn: &mut PgConnection,
    property: PropertyId,
    case: CaseId,
    by: &By,
    kind: &'static str,
) -> Result<(), LedgerError> {
    store::write_entry(conn, property, case, by, kind).await
}

const ACTOR: &str = "worker:overbookings";
