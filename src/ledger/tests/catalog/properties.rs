//! Properties.

use keyrack_ledger::catalog::{self, PropertySetup};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_model::money::Currency;

use crate::hotel::{Hotel, setup};

#[tokio::test]
async fn a_property_reads_back_as_it_was_set_up() {
    let hotel = Hotel::open().await;
    let property = hotel.property().await;
    assert_eq!((property.setup, property.version), (setup(), 1));
    let other = PropertySetup {
        bookable_from: Some(jiff::civil::date(2030, 7, 1)),
        rate_min_minor: Some(1000),
        rate_max_minor: Some(90_000),
        late_confirm_retakes: true,
        policies: serde_json::json!({"no_show_keeps": "all"}),
        ..setup()
    };
    let put = catalog::put_property(&hotel.ledger, &hotel.by, "alm", other.clone(), None).await;
    let (alm, is_new) = put.expect("no failure").expect("no refusal");
    assert_eq!((alm.setup, is_new), (other, true));
    let all = catalog::properties(&hotel.ledger, None, 10)
        .await
        .expect("no failure");
    assert_eq!(
        all.iter().map(|p| p.code.as_str()).collect::<Vec<_>>(),
        ["seehof", "alm"]
    );
    let after = catalog::properties(&hotel.ledger, Some(hotel.property), 10).await;
    assert_eq!(after.expect("no failure").len(), 1);
    assert_eq!(
        catalog::property(&hotel.ledger, "nowhere")
            .await
            .expect("no failure"),
        None
    );
}

#[tokio::test]
async fn a_change_counts_up_and_an_equal_setup_changes_nothing() {
    let hotel = Hotel::open().await;
    let rules = hotel.rules_version().await;
    let put = |setup, version| {
        let (ledger, by) = (hotel.ledger.clone(), hotel.by.clone());
        async move {
            let put = catalog::put_property(&ledger, &by, "seehof", setup, version).await;
            put.expect("no failure")
                .map(|(property, is_new)| (property.version, is_new))
        }
    };
    assert_eq!(put(setup(), None).await, Ok((1, false)));
    assert_eq!(hotel.rules_version().await, rules);
    let renamed = PropertySetup {
        name: "Seehof am See".into(),
        ..setup()
    };
    assert_eq!(put(renamed.clone(), Some(1)).await, Ok((2, false)));
    assert_eq!(hotel.rules_version().await, rules + 1);
    assert_eq!(hotel.rate_changes().await, [""; 0]);
    let stale = put(setup(), Some(1)).await;
    assert_eq!(stale, Err(Refusal::VersionMismatch { current: 2 }));
    let shorter = PropertySetup {
        horizon_days: 20,
        ..renamed
    };
    assert_eq!(put(shorter, Some(2)).await, Ok((3, false)));
    assert_eq!(
        hotel.rate_changes().await,
        ["0 0 0 2030-06-01 2030-07-01 property"],
        "nights that were open before are told again"
    );
    let unknown = catalog::put_property(&hotel.ledger, &hotel.by, "new", setup(), Some(1)).await;
    let refusal = unknown.expect("no failure").expect_err("it is not there");
    assert_eq!(refusal, Refusal::VersionMismatch { current: 0 });
}

#[tokio::test]
async fn the_currency_stays_once_there_are_rates() {
    let hotel = Hotel::open().await;
    let francs = PropertySetup {
        currency: Currency::from_code("CHF").expect("known"),
        ..setup()
    };
    sqlx::query("insert into rate_night values ($1, 1, 1, 0, '2030-06-02', 10000)")
        .bind(hotel.property.0)
        .execute(&hotel.pool)
        .await
        .expect("a rate");
    let put = || catalog::put_property(&hotel.ledger, &hotel.by, "seehof", francs.clone(), None);
    let refusal = put().await.expect("no failure").expect_err("it has rates");
    assert!(matches!(refusal, Refusal::Invalid(faults) if faults[0].0 == "/currency"));
    sqlx::query("delete from rate_night")
        .execute(&hotel.pool)
        .await
        .expect("no rates");
    let (property, _) = put().await.expect("no failure").expect("no rates any more");
    assert_eq!(property.setup.currency.code(), "CHF");
}

#[tokio::test]
async fn two_who_make_one_property_at_once_make_one() {
    let hotel = Hotel::open().await;
    let made: Vec<_> = (0..8)
        .map(|_| {
            let (ledger, by) = (hotel.ledger.clone(), hotel.by.clone());
            tokio::spawn(async move {
                let put = catalog::put_property(&ledger, &by, "alm", setup(), None).await;
                put.expect("no failure").expect("no refusal")
            })
        })
        .collect();
    let mut new = 0;
    for made in made {
        new += i32::from(made.await.expect("no panic").1);
    }
    assert_eq!(new, 1);
}
