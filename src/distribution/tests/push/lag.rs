//! The lag of an account as figures of the metrics.

use keyrack_distribution::lag;
use metrics_exporter_prometheus::PrometheusBuilder;

use crate::house::House;

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
