//! Guests on their way to a hotel of the same owner: `overbooking_transfer`.

use keyrack_model::id::{CaseId, PropertyId};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::overbookings::transfer::leg::{Leg, Terms};

/// How far a transfer has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Rooms are taken there.
    Taking,
    /// Rooms are given back here.
    Releasing,
    /// Rooms are given back there.
    GivingBack,
    /// The guests sleep there.
    Done,
    /// Everything is as it was.
    GivenUp,
}

impl Step {
    fn as_str(self) -> &'static str {
        match self {
            Self::Taking => "taking",
            Self::Releasing => "releasing",
            Self::GivingBack => "giving_back",
            Self::Done => "done",
            Self::GivenUp => "given_up",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        let all = [
            Self::Taking,
            Self::Releasing,
            Self::GivingBack,
            Self::Done,
            Self::GivenUp,
        ];
        all.into_iter().find(|step| step.as_str() == name)
    }
}

/// A transfer.
#[derive(Clone, Debug)]
pub(crate) struct Transfer {
    pub property: PropertyId,
    pub id: Uuid,
    pub case: CaseId,
    pub step: Step,
    pub version: Option<i64>,
    pub legs: Vec<Leg>,
    pub terms: Terms,
    pub actor: String,
    pub why: Option<String>,
}

/// Begins one; `false` where another of the case is under way.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    transfer: &Transfer,
) -> Result<bool, LedgerError> {
    let done = sqlx::query(
        "insert into overbooking_transfer (property_id, transfer_id, case_id, version, moves, terms,
                                           actor, begun_at, busy_until)
         values ($1, $2, $3, $4, $5, $6, $7, ledger_now(),
                 ledger_now() + $8 * interval '1 second')
         on conflict (property_id, case_id) where ended_at is null do nothing",
    )
    .bind(transfer.property.0)
    .bind(transfer.id)
    .bind(transfer.case.0)
    .bind(transfer.version)
    .bind(Json(&transfer.legs))
    .bind(Json(&transfer.terms))
    .bind(&transfer.actor)
    .bind(BUSY_SECONDS)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("beginning a transfer"))?;
    Ok(done.rows_affected() == 1)
}

#[derive(sqlx::FromRow)]
struct Row {
    property_id: i64,
    transfer_id: Uuid,
    case_id: i64,
    step: String,
    version: Option<i64>,
    moves: Json<Vec<Leg>>,
    terms: Json<Terms>,
    actor: String,
    why: Option<String>,
}

/// Takes up one that nobody is busy with.
pub(crate) async fn claim(conn: &mut PgConnection) -> Result<Option<Transfer>, LedgerError> {
    let row: Option<Row> = sqlx::query_as(
        "update overbooking_transfer t set busy_until = ledger_now() + $1 * interval '1 second'
           from (select property_id, transfer_id from overbooking_transfer
                  where ended_at is null and busy_until < (select ledger_now())
                  order by busy_until limit 1 for update skip locked) due
          where t.property_id = due.property_id and t.transfer_id = due.transfer_id
         returning t.property_id, t.transfer_id, t.case_id, t.step, t.version, t.moves, t.terms,
                   t.actor, t.why",
    )
    .bind(BUSY_SECONDS)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("taking a transfer up"))?;
    let Some(row) = row else { return Ok(None) };
    let step = Step::from_name(&row.step);
    let step = step.ok_or_else(|| LedgerError::Unreadable(format!("a transfer: {}", row.step)))?;
    Ok(Some(Transfer {
        property: PropertyId(row.property_id),
        id: row.transfer_id,
        case: CaseId(row.case_id),
        step,
        version: row.version,
        legs: row.moves.0,
        terms: row.terms.0,
        actor: row.actor,
        why: row.why,
    }))
}

/// It has come to the next step; `false` where somebody else has gone on with it meanwhile.
pub(crate) async fn advance(
    conn: &mut PgConnection,
    transfer: &Transfer,
    next: Step,
) -> Result<bool, LedgerError> {
    let is_over = matches!(next, Step::Done | Step::GivenUp);
    let done = sqlx::query(
        "update overbooking_transfer
            set step = $4, why = coalesce(why, $5),
                ended_at = case when $6 then ledger_now() end,
                busy_until = ledger_now() + $7 * interval '1 second'
          where property_id = $1 and transfer_id = $2 and step = $3",
    )
    .bind(transfer.property.0)
    .bind(transfer.id)
    .bind(transfer.step.as_str())
    .bind(next.as_str())
    .bind(&transfer.why)
    .bind(is_over)
    .bind(BUSY_SECONDS)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("going on with a transfer"))?;
    Ok(done.rows_affected() == 1)
}

/// The step at which it stands.
pub(crate) async fn step(
    conn: &mut PgConnection,
    transfer: &Transfer,
) -> Result<Step, LedgerError> {
    let name: String = sqlx::query_scalar(
        "select step from overbooking_transfer where property_id = $1 and transfer_id = $2",
    )
    .bind(transfer.property.0)
    .bind(transfer.id)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking at a transfer"))?;
    Step::from_name(&name).ok_or_else(|| LedgerError::Unreadable(format!("a transfer: {name}")))
}

/// A step takes seconds at most; whoever has died is waited for so long.
const BUSY_SECONDS: i32 = 60;
