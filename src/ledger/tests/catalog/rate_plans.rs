//! Rate plans.

use keyrack_ledger::catalog::{self, Derivation, RatePlanSetup};
use keyrack_ledger::decide::refusal::Refusal;

use crate::hotel::{Hotel, rate_plan};

#[tokio::test]
async fn plans_read_back_and_their_followers_are_told_again() {
    let hotel = Hotel::open().await;
    let flex = hotel.rate_plan("flex", rate_plan("Flexible")).await;
    let cheaper = |percent_hundredths| RatePlanSetup {
        meal_plan: "breakfast".into(),
        derived_from: Some((
            "flex".into(),
            Derivation {
                percent_hundredths,
                add_minor: 0,
                step_minor: 50,
            },
        )),
        cancellation_terms: serde_json::json!([{"until": "P1D", "fee": "100%"}]),
        ..rate_plan("Not refundable")
    };
    let saver = hotel.rate_plan("saver", cheaper(-1000)).await;
    let last = RatePlanSetup {
        derived_from: Some(("saver".into(), Derivation::default())),
        ..rate_plan("Last minute")
    };
    let last = hotel.rate_plan("last", last).await;
    let plans = catalog::rate_plans(&hotel.ledger, hotel.property)
        .await
        .expect("no failure");
    assert_eq!(
        plans.iter().map(|p| p.id).collect::<Vec<_>>(),
        [flex, last, saver]
    );
    assert_eq!(plans[2].setup, cheaper(-1000));
    assert_eq!(
        hotel.rate_changes().await,
        [""; 0],
        "what is new is mapped nowhere yet"
    );

    hotel.rate_plan("saver", cheaper(-1500)).await;
    assert_eq!(
        hotel.rate_changes().await,
        [
            format!("0 {last} 0 2030-06-01 2030-07-01 rate"),
            format!("0 {saver} 0 2030-06-01 2030-07-01 rate"),
        ]
    );
    let ring = RatePlanSetup {
        derived_from: Some(("last".into(), Derivation::default())),
        ..rate_plan("Flexible")
    };
    let put =
        catalog::put_rate_plan(&hotel.ledger, hotel.property, &hotel.by, "flex", ring, None).await;
    let refusal = put.expect("no failure").expect_err("a ring");
    assert!(matches!(refusal, Refusal::Invalid(faults) if faults[0].0.starts_with("/derived")));
}

#[tokio::test]
async fn an_edit_that_read_an_older_version_is_refused() {
    let hotel = Hotel::open().await;
    hotel.rate_plan("flex", rate_plan("Flexible")).await;
    let rules = hotel.rules_version().await;
    let put = |name: &str, version| {
        let setup = rate_plan(name);
        let hotel = &hotel;
        async move {
            let (ledger, by) = (&hotel.ledger, &hotel.by);
            let put =
                catalog::put_rate_plan(ledger, hotel.property, by, "flex", setup, version).await;
            put.expect("no failure")
                .map(|(plan, is_new)| (plan.version, is_new))
        }
    };
    assert_eq!(put("Flexible", Some(1)).await, Ok((1, false)));
    assert_eq!(hotel.rules_version().await, rules);
    assert_eq!(put("Best flexible", Some(1)).await, Ok((2, false)));
    assert_eq!(hotel.rules_version().await, rules + 1);
    let stale = put("Flexible", Some(1)).await;
    assert_eq!(stale, Err(Refusal::VersionMismatch { current: 2 }));
}
