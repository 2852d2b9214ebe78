//! The lag of an account as figures of the metrics.

use keyrack_distribution::{feed, lag};
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::house::House;
use crate::portal::Answer;

#[tokio::test]
async fn each_account_that_was_told_a_change_has_its_lag_among_the_metrics() {
    let house = House::live().await;
    let recorder = PrometheusBuilder::new().build_recorder();
    let figures = recorder.handle();
    let _here = metrics::set_default_local_recorder(&recorder);
    lag::gauge(&house.distribution).await.unwrap();
    assert!(!figures.render().contains("account_lag_seconds"));

    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    lag::gauge(&house.distribution).await.unwrap();
    let shown = figures.render();
    let lines: Vec<&str> = shown
        .lines()
        .filter(|line| line.starts_with("account_lag_seconds{"))
        .collect();
    for quantile in ["0.5", "0.95", "0.99"] {
        let quantile = format!("quantile=\"{quantile}\"");
        let line = lines.iter().find(|line| line.contains(&quantile));
        let line = line.unwrap_or_else(|| panic!("{quantile} in {shown}"));
        assert!(line.contains("property=\"") && line.contains("account=\""));
        let seconds: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((0.0..60.0).contains(&seconds), "{line}");
    }
}

/// A change that comes while an older one is under way has its own lag, and leaves its own age
/// behind: in a house where something always happens nothing else would ever be counted anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_as_old_as_itself_and_not_as_one_that_was_told_before_it() {
    let house = House::live().await;
    house.tell().await;
    house.portal.told();
    let newest = "select extract(epoch from acknowledged_at - changed_at)::bigint
                  from told_history where changed_at is not null order by history_id desc limit 1";
    let waiting = "select coalesce(max(extract(epoch from ledger_now() - least(changed_at,
                                                first_marked_at))::bigint), -1)
                   from mark";
    let mut has_overtaken = false;
    for night in 3..8 {
        house.book(house.double, night, night + 1, 1).await;
        feed::drain(&house.distribution).await.unwrap();
        house.pass("1 hour").await;
        house.portal.answers([Answer {
            delay_ms: 700,
            ..Answer::ok()
        }]);
        let other = async {
            house.portal.hears(1).await;
            house.book(house.double, night, night + 1, 1).await;
            feed::drain(&house.distribution).await.unwrap();
            // Unless this machine was slow: then the answer was here first.
            has_overtaken |= house.count(waiting).await >= 3_600;
        };
        tokio::join!(house.tell(), other);
        house.tell().await;
        assert_eq!(house.portal.told().len(), 2);
        assert_eq!(house.count(waiting).await, -1);
        assert!((0..60).contains(&house.count(newest).await));
    }
    assert!(has_overtaken);
}
