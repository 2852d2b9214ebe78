//! Rate plans: `rate_plan`.

use keyrack_model::id::{PropertyId, RatePlanId};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::catalog::{Derivation, RatePlan, RatePlanSetup};
use crate::decide::price::Plans;
use crate::decide::rules::DerivedPlan;
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    rate_plan_id: i64,
    code: String,
    name: String,
    meal_plan: String,
    base: Option<String>,
    derivation: Option<Json<Derivation>>,
    cancellation_terms: Json<serde_json::Value>,
    version: i64,
}

/// The rate plans of a property, in order of code.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<RatePlan>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select p.rate_plan_id, p.code, p.name, p.meal_plan, base.code as base, p.derivation,
                p.cancellation_terms, p.version
         from rate_plan p
         left join rate_plan base on base.property_id = p.property_id
                                 and base.rate_plan_id = p.derived_from
         where p.property_id = $1 order by p.code",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading rate plans"))?;
    Ok(rows.into_iter().map(RatePlan::from).collect())
}

/// Makes a rate plan that may follow another.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    code: &str,
    setup: &RatePlanSetup,
    base: Option<RatePlanId>,
) -> Result<RatePlanId, LedgerError> {
    let id: i64 = sqlx::query_scalar(
        "insert into rate_plan (property_id, code, name, meal_plan, derived_from, derivation,
                                cancellation_terms)
         values ($1, $2, $3, $4, $5, $6, $7)
         returning rate_plan_id",
    )
    .bind(property.0)
    .bind(code)
    .bind(&setup.name)
    .bind(&setup.meal_plan)
    .bind(base.map(|id| id.0))
    .bind(setup.derived_from.as_ref().map(|(_, how)| Json(how)))
    .bind(&setup.cancellation_terms)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("making a rate plan"))?;
    Ok(RatePlanId(id))
}

/// Changes a rate plan and counts its version up.
pub(crate) async fn update(
    conn: &mut PgConnection,
    property: PropertyId,
    id: RatePlanId,
    setup: &RatePlanSetup,
    base: Option<RatePlanId>,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update rate_plan
         set name = $3, meal_plan = $4, derived_from = $5, derivation = $6,
             cancellation_terms = $7, version = version + 1
         where property_id = $1 and rate_plan_id = $2",
    )
    .bind(property.0)
    .bind(id.0)
    .bind(&setup.name)
    .bind(&setup.meal_plan)
    .bind(base.map(|id| id.0))
    .bind(setup.derived_from.as_ref().map(|(_, how)| Json(how)))
    .bind(&setup.cancellation_terms)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("changing a rate plan"))?;
    Ok(())
}

/// How each plan of a property follows another, where it does.
pub(crate) async fn derivations(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Plans, LedgerError> {
    let rows: Vec<(i64, Option<i64>, Option<Json<Derivation>>)> = sqlx::query_as(
        "select rate_plan_id, derived_from, derivation from rate_plan where property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading how rate plans follow"))?;
    let plans = rows.into_iter().map(|(plan, base, how)| {
        let how = how.map_or_else(Derivation::default, |Json(how)| how);
        let follows = base.map(|base| DerivedPlan {
            base: RatePlanId(base),
            percent_hundredths: how.percent_hundredths,
            add_minor: how.add_minor,
            step_minor: how.step_minor,
        });
        (RatePlanId(plan), follows)
    });
    Ok(plans.collect())
}

impl From<Row> for RatePlan {
    fn from(row: Row) -> Self {
        let how = row
            .derivation
            .map_or_else(Derivation::default, |Json(how)| how);
        Self {
            id: RatePlanId(row.rate_plan_id),
            code: row.code,
            setup: RatePlanSetup {
                name: row.name,
                meal_plan: row.meal_plan,
                derived_from: row.base.map(|base| (base, how)),
                cancellation_terms: row.cancellation_terms.0,
            },
            version: row.version,
        }
    }
}
