//! Writing a rate plan.

use std::collections::HashMap;

use keyrack_model::id::{PropertyId, RatePlanId};

use crate::catalog::{RatePlan, RatePlanSetup};
use crate::command::By;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::check;
use crate::store::rate_change::{self, Touched};
use crate::store::{connection, property, rate_plan as store};

/// Creates or changes a rate plan.
pub(crate) async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    code: &str,
    setup: RatePlanSetup,
    version: Option<i64>,
) -> Result<Result<(RatePlan, bool), Refusal>, LedgerError> {
    if let Err(refusal) = check::rate_plan(code, &setup) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    let Some(calendar) = property::lock(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let plans = store::list(&mut tx, id).await?;
    let known = plans.iter().find(|known| known.code == code);
    let current = known.map_or(0, |known| known.version);
    if version.is_some_and(|version| version != current) {
        return Ok(Err(Refusal::VersionMismatch { current }));
    }
    if let Some(known) = known.filter(|known| known.setup == setup) {
        return Ok(Ok((known.clone(), false)));
    }
    let base = match base(&plans, code, &setup) {
        Ok(base) => base,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let plan = match known {
        Some(known) => {
            store::update(&mut tx, id, known.id, &setup, base).await?;
            known.id
        }
        None => store::insert(&mut tx, id, code, &setup, base).await?,
    };
    rate_change::raise_rules(&mut tx, id).await?;
    if known.is_some_and(|known| known.setup.derived_from != setup.derived_from) {
        let nights = calendar.open_nights();
        let touched: Vec<Touched> = followers(&plans, code)
            .chain([plan])
            .map(|plan| Touched {
                rate_plan: Some(plan),
                ..Touched::everything(nights, "rate")
            })
            .collect();
        rate_change::note(&mut tx, id, by, &touched).await?;
    }
    let is_new = known.is_none();
    let put = store::list(&mut tx, id)
        .await?
        .into_iter()
        .find(|plan| plan.code == code);
    let put = put.ok_or(LedgerError::Conflict)?;
    connection::commit(tx).await?;
    Ok(Ok((put, is_new)))
}

/// The plan that is followed. Whoever follows must not be followed back.
fn base(
    plans: &[RatePlan],
    code: &str,
    setup: &RatePlanSetup,
) -> Result<Option<RatePlanId>, Refusal> {
    let Some((base, _)) = &setup.derived_from else {
        return Ok(None);
    };
    let pointer = "/derived_from/rate_plan";
    let Some(found) = plans.iter().find(|plan| plan.code == *base) else {
        return Err(Refusal::invalid(pointer, "no such rate plan"));
    };
    if chain(plans, base).any(|plan| plan == code) {
        let sentence = format!("{base} follows {code} already");
        return Err(Refusal::invalid(pointer, sentence));
    }
    Ok(Some(found.id))
}

/// A plan's code, that of the plan which it follows, and so on.
fn chain<'a>(plans: &'a [RatePlan], code: &'a str) -> impl Iterator<Item = &'a str> {
    let base: HashMap<&str, &str> = plans
        .iter()
        .filter_map(|plan| {
            let (base, _) = plan.setup.derived_from.as_ref()?;
            Some((plan.code.as_str(), base.as_str()))
        })
        .collect();
    // Bounded, so that a ring could not turn for ever were there one.
    std::iter::successors(Some(code), move |code| base.get(code).copied()).take(plans.len() + 1)
}

/// The plans that follow one, near or far.
fn followers<'a>(plans: &'a [RatePlan], code: &'a str) -> impl Iterator<Item = RatePlanId> + 'a {
    plans
        .iter()
        .filter(move |plan| chain(plans, &plan.code).skip(1).any(|base| base == code))
        .map(|plan| plan.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(id: i64, code: &str, base: Option<&str>) -> RatePlan {
        RatePlan {
            id: RatePlanId(id),
            code: code.into(),
            setup: setup(base),
            version: 1,
        }
    }

    fn setup(base: Option<&str>) -> RatePlanSetup {
        RatePlanSetup {
            name: "a plan".into(),
            meal_plan: "room_only".into(),
            derived_from: base.map(|base| (base.to_owned(), crate::catalog::Derivation::default())),
            cancellation_terms: serde_json::json!([]),
        }
    }

    #[test]
    fn plans_follow_one_another_but_never_in_a_ring() {
        let plans = [
            plan(1, "a", None),
            plan(2, "b", Some("a")),
            plan(3, "c", Some("b")),
        ];
        assert_eq!(
            base(&plans, "d", &setup(Some("c"))),
            Ok(Some(RatePlanId(3)))
        );
        assert!(base(&plans, "a", &setup(Some("c"))).is_err());
        assert!(base(&plans, "d", &setup(Some("x"))).is_err());
        let follow: Vec<i64> = followers(&plans, "a").map(|id| id.0).collect();
        assert_eq!(follow, [2, 3]);
    }
}
