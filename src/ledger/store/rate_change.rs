//! The feed's other tail, and the version of a property's rules: `rate_change`,
//! `property.rules_version`.

use jiff_sqlx::Date;
use keyrack_model::id::{AccountId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::stay::StayRange;
use sqlx::PgConnection;

use crate::command::By;
use crate::error::LedgerError;

/// Which nights of which cells a change touched; `None` is all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touched {
    pub room_type: Option<RoomTypeId>,
    pub rate_plan: Option<RatePlanId>,
    pub account: Option<AccountId>,
    pub nights: StayRange,
    pub fields: Vec<&'static str>,
}

impl Touched {
    /// Every cell of a property, for one reason.
    pub(crate) fn everything(nights: StayRange, field: &'static str) -> Self {
        Self {
            room_type: None,
            rate_plan: None,
            account: None,
            nights,
            fields: vec![field],
        }
    }
}

/// Raises the version of a property's rules: decisions that rest on the former are not applied.
pub(crate) async fn raise_rules(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<(), LedgerError> {
    sqlx::query("update property set rules_version = rules_version + 1 where property_id = $1")
        .bind(property.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("raising the rules' version"))?;
    Ok(())
}

/// Writes what was touched, for the feed.
pub(crate) async fn note(
    conn: &mut PgConnection,
    property: PropertyId,
    by: &By,
    touched: &[Touched],
) -> Result<(), LedgerError> {
    let id = |id: Option<i64>| id.unwrap_or(0);
    let types: Vec<i64> = touched
        .iter()
        .map(|t| id(t.room_type.map(|x| x.0)))
        .collect();
    let plans: Vec<i64> = touched
        .iter()
        .map(|t| id(t.rate_plan.map(|x| x.0)))
        .collect();
    let accounts: Vec<i64> = touched.iter().map(|t| id(t.account.map(|x| x.0))).collect();
    let from: Vec<Date> = touched.iter().map(|t| t.nights.arrival().into()).collect();
    let until: Vec<Date> = touched
        .iter()
        .map(|t| t.nights.departure().into())
        .collect();
    // An array of arrays would be flattened, so the names travel as text.
    let fields: Vec<String> = touched.iter().map(|t| t.fields.join(",")).collect();
    sqlx::query(
        "insert into rate_change (property_id, room_type_id, rate_plan_id, account_id,
                                  night_from, night_until, fields, actor)
         select $1, t.room_type_id, t.rate_plan_id, t.account_id, t.night_from, t.night_until,
                string_to_array(t.fields, ','), $8
         from unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::date[], $6::date[], $7::text[])
              as t (room_type_id, rate_plan_id, account_id, night_from, night_until, fields)",
    )
    .bind(property.0)
    .bind(types)
    .bind(plans)
    .bind(accounts)
    .bind(from)
    .bind(until)
    .bind(fields)
    .bind(&by.actor)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("writing a change of rates"))?;
    Ok(())
}
