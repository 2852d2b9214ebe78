//! An operator beside a running daemon: keys, proofs, and what the doctor finds.

use reqwest::Method;

use crate::app::{TestApp, said};
use crate::command::keyrack;

#[tokio::test]
async fn a_key_is_shown_once_works_for_its_hotel_only_and_ends_when_it_is_revoked() {
    let app = TestApp::start_with(|config| config.api.key_cache_seconds = 0).await;
    app.hotel("linde", 1).await;
    app.hotel("krone", 1).await;
    let url = app.database_url();
    let environment = [("DATABASE_URL", url.as_str())];
    let create = [
        "key",
        "create",
        "--role",
        "read_only",
        "--property",
        "linde",
        "--name",
        "desk",
    ];
    let made = keyrack(&create, &environment).await;
    assert_eq!(made.status, 0, "{}", made.err);
    let key = made.out.trim();
    let ask = |path: &'static str| said(app.stranger(Method::GET, path).bearer_auth(key));
    assert_eq!(ask("/v1/properties/linde").await.status, 200);
    assert_eq!(ask("/v1/properties/krone").await.status, 404);

    let list = keyrack(&["key", "list"], &environment).await;
    let line = list
        .out
        .lines()
        .find(|line| line.ends_with("desk"))
        .expect("it is listed");
    assert!(line.contains("read_only") && line.contains("linde") && !list.out.contains(key));
    let number = line.split_whitespace().next().unwrap();
    let revoked = keyrack(&["key", "revoke", number], &environment).await;
    assert_eq!(revoked.status, 0, "{}", revoked.err);
    assert_eq!(ask("/v1/properties/linde").await.status, 401);
    assert_eq!(
        keyrack(&["key", "revoke", number], &environment)
            .await
            .status,
        1
    );
    app.end().await;
}

#[tokio::test]
async fn what_the_ledger_cannot_prove_is_named_with_its_night() {
    let app = TestApp::start().await;
    app.hotel("linde", 2).await;
    let url = app.database_url();
    let environment = [("DATABASE_URL", url.as_str())];
    let body = app.wish("confirmed", 0, 2);
    app.post("/v1/properties/linde/reservations", body)
        .await
        .expect(201);
    let proved = keyrack(&["verify"], &environment).await;
    assert_eq!(proved.status, 0);
    assert!(proved.out.contains("0 differences"), "{}", proved.out);

    app.spoil(
        "update night set sold = sold + 1, physical = physical + 1 where stay_date = $1",
        1,
    )
    .await;
    let caught = keyrack(&["verify"], &environment).await;
    assert_eq!(caught.status, 1);
    let named = format!("linde double {}", app.night(1));
    assert!(caught.out.contains(&named), "{}", caught.out);
    app.spoil(
        "update night set sold = sold - 1, physical = physical - 1 where stay_date = $1",
        1,
    )
    .await;
    app.end().await;
}

#[tokio::test]
async fn the_doctor_says_what_to_do_about_each_finding() {
    let app = TestApp::start().await;
    app.hotel("linde", 1).await;
    let url = app.database_url();
    let called = keyrack(&["doctor"], &[("DATABASE_URL", url.as_str())]).await;
    for well in [
        "well    clock",
        "well    migrations",
        "well    keys",
        "well    accounts",
    ] {
        assert!(called.out.contains(well), "{well}: {}", called.out);
    }
    let findings = called
        .out
        .lines()
        .filter(|line| line.starts_with("unwise") || line.starts_with("WRONG"));
    let remedies = called
        .out
        .lines()
        .filter(|line| line.trim_start().starts_with("->"));
    assert_eq!(findings.count(), remedies.count(), "{}", called.out);
    // The cluster of the tests does not wait for its disk, which a doctor must not let pass.
    assert_eq!(
        called.status,
        i32::from(called.out.contains("WRONG   database: fsync is off"))
    );
    app.end().await;
}

#[tokio::test]
async fn a_second_daemon_with_another_seal_key_does_not_start() {
    let app = TestApp::start().await;
    let folder = std::env::temp_dir().join(format!("keyrack-second-{}", std::process::id()));
    let url = app.database_url();
    let other = "07".repeat(32);
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--data-dir",
        folder.to_str().unwrap(),
    ];
    let configured = [
        ("DATABASE_URL", url.as_str()),
        ("KEYRACK__SECRETS__SEAL_KEY", other.as_str()),
    ];
    for (environment, whence) in [
        (&configured[..], "secrets.seal_key"),
        (&configured[..1], "seal.key"),
    ] {
        let called = keyrack(&serve, environment).await;
        assert_eq!(called.status, 1, "{}", called.out);
        for word in [whence, "does not open", "--give-up-sealed"] {
            assert!(called.err.contains(word), "{word}: {}", called.err);
        }
    }
    assert!(!folder.exists(), "no key is made that would be wrong");
    app.end().await;
}
