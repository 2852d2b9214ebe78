//! What the daemon tells of itself to Prometheus.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use jiff::civil::date;
use keyrack_commands::demo::client::Client;
use keyrack_commands::demo::stage::until;
use keyrack_embedded::temporary_state_dir;
use reqwest::Method;
use serde_json::{Value, json};

const KEY: &str = "kr_the-key-of-the-metrics-story-0123456789abcdef";
const TYPE: &str = "room-types/SGL";

/// A daemon of its own: metrics belong to a process.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn held(seconds: u32) -> Value {
    json!({"status": "held", "source": "phone", "hold_seconds": seconds,
           "guest": {"name": "A Guest"},
           "rooms": [{"room_type": "SGL", "arrival": date(2030, 6, 1),
                      "departure": date(2030, 6, 2), "quantity": 1}]})
}

/// The value of a line of the metrics.
fn figure(text: &str, name: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.rsplit(' ').next()?.parse().ok()
}

async fn start(folder: &Path) -> (Daemon, String) {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let serve = Command::new(env!("CARGO_BIN_EXE_keyrack"))
        .args(["serve", "--listen", &address, "--data-dir"])
        .arg(folder)
        .env("KEYRACK_BOOTSTRAP_KEY", KEY)
        .env_remove("DATABASE_URL")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the daemon starts");
    let url = format!("http://{address}");
    keyrack_distribution::tls::use_ring();
    until("the daemon is ready", || async {
        let ready = reqwest::get(format!("{url}/readyz")).await;
        Ok(ready
            .is_ok_and(|ready| ready.status().is_success())
            .then_some(()))
    })
    .await
    .unwrap();
    (Daemon(serve), url)
}

#[tokio::test]
async fn wishes_late_confirms_and_the_lag_of_expiry_are_figures() {
    let folder = temporary_state_dir("metrics").unwrap();
    let (daemon, url) = start(&folder).await;
    let client = Client::new(url.clone(), KEY.to_owned(), "seehof").unwrap();
    let hotel = json!({"name": "Seehof", "time_zone": "Europe/Berlin", "currency": "EUR",
                       "horizon_days": 2000,
                       "hold": {"hold_seconds": 60, "confirm_grace_seconds": 1,
                                "extensions_max": 1, "late_confirm": "refuse"}});
    client.put("", hotel).await.unwrap();
    let single = json!({"name": "Single", "rooms": 1, "counts": "rooms",
                        "occupancy": {"adults_max": 1, "children_max": 0, "total_max": 1}});
    client.put(TYPE, single).await.unwrap();

    let hold = client.post("reservations", held(1)).await.unwrap();
    let refused = client
        .at(Method::POST, "reservations", Some(held(1)))
        .await
        .unwrap();
    assert_eq!(refused.code(), "sold_out");
    let id = hold["id"].as_str().unwrap();
    until("the hold is let go", || async {
        let shown = client.get(&format!("reservations/{id}")).await?;
        Ok((shown["status"] == "expired").then_some(()))
    })
    .await
    .unwrap();
    let confirm = format!("reservations/{id}/confirm");
    let late = client
        .at(Method::POST, &confirm, Some(json!({})))
        .await
        .unwrap();
    assert_eq!(late.code(), "hold_expired");

    let lag = "reservation_expiry_lag_seconds_p95";
    let text = until("the sweeper tells its lag", || async {
        let text = reqwest::get(format!("{url}/metrics")).await?.text().await?;
        Ok(figure(&text, lag).is_some().then_some(text))
    })
    .await
    .unwrap();
    assert_eq!(figure(&text, "reservation_create_success_rate"), Some(1.0));
    let refusal = "reservation_create_total{outcome=\"sold_out\"}";
    assert_eq!(figure(&text, refusal), Some(1.0), "{text}");
    let made = "reservation_create_total{outcome=\"made\"}";
    assert_eq!(figure(&text, made), Some(1.0), "{text}");
    let refused = "reservation_confirm_late_total{outcome=\"refused\"}";
    assert_eq!(figure(&text, refused), Some(1.0), "{text}");
    let waited = figure(&text, lag).unwrap();
    assert!((0.0..60.0).contains(&waited), "{lag} {waited}");
    drop(daemon);
    let _ = std::fs::remove_dir_all(&folder);
}
