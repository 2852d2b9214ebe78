//! Keys of the API.

use keyrack_ledger::keys::{self, Role};

use crate::hotel::Hotel;

#[tokio::test]
async fn a_key_is_found_until_it_is_revoked_and_stored_only_as_a_hash() {
    let hotel = Hotel::open().await;
    let ledger = &hotel.ledger;
    let made = keys::create(ledger, Role::FrontDesk, Some(hotel.property), "desk").await;
    let (key, text) = made.expect("a key");
    assert_eq!(
        keys::find(ledger, &text).await.expect("no failure"),
        Some(key.clone())
    );
    assert_eq!(
        keys::find(ledger, &format!("{text}0"))
            .await
            .expect("no failure"),
        None
    );
    let list = keys::list(ledger).await.expect("no failure");
    assert_eq!(list, std::slice::from_ref(&key));
    let stored: Vec<String> = sqlx::query_scalar("select k::text from api_key k")
        .fetch_all(&hotel.pool)
        .await
        .expect("rows");
    assert!(stored.iter().all(|row| !row.contains(&text[3..])));
    assert!(keys::revoke(ledger, key.id).await.expect("no failure"));
    assert!(!keys::revoke(ledger, key.id).await.expect("no failure"));
    assert_eq!(keys::find(ledger, &text).await.expect("no failure"), None);
    assert_eq!(keys::list(ledger).await.expect("no failure"), []);
}

#[tokio::test]
async fn the_bootstrap_key_is_made_once_and_stays_revoked() {
    let hotel = Hotel::open().await;
    let ledger = &hotel.ledger;
    let first = keys::ensure(ledger, "a-long-secret", "bootstrap")
        .await
        .expect("a key");
    let again = keys::ensure(ledger, "a-long-secret", "bootstrap")
        .await
        .expect("a key");
    assert_eq!(first, again);
    assert_eq!((first.role, first.property), (Role::Admin, None));
    keys::revoke(ledger, first.id).await.expect("no failure");
    keys::ensure(ledger, "a-long-secret", "bootstrap")
        .await
        .expect("a key");
    assert_eq!(
        keys::find(ledger, "a-long-secret")
            .await
            .expect("no failure"),
        None
    );
}
