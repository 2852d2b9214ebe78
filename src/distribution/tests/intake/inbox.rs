//! A channel that delivers by itself.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use keyrack_distribution::inbox::{self, Answer};
use keyrack_model::adapter::Inbound;

use crate::desk::{Desk, booking, connection, listing, map_double, message};

fn delivery(login: &str) -> Inbound {
    Inbound {
        bytes: message(&[booking("R1")]).to_string().into_bytes(),
        headers: vec![(
            "authorization".into(),
            format!("Basic {}", STANDARD.encode(login)),
        )],
        topic: "delivery".into(),
        ..Inbound::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delivery_is_recorded_and_answered_in_the_channels_own_words() {
    let desk = Desk::open().await;
    connection(
        &desk.distribution,
        "pushing",
        "delivering",
        &desk.portal.url,
    )
    .await;
    let account = listing(
        &desk.distribution,
        desk.property,
        "direct",
        "pushing",
        "H1",
        Default::default(),
    )
    .await;
    map_double(&desk.ledger, &account).await;
    let deliver = |code: &'static str, login: &'static str| {
        let distribution = desk.distribution.clone();
        async move {
            inbox::deliver(&distribution, code, delivery(login))
                .await
                .unwrap()
        }
    };
    assert!(matches!(
        deliver("pushing", "hotel:wrong").await,
        Answer::Unauthenticated
    ));
    assert!(matches!(
        deliver("nowhere", "hotel:s3cret").await,
        Answer::NotFound
    ));
    assert!(matches!(
        deliver("portal", "hotel:s3cret").await,
        Answer::NotFound
    ));
    assert!(desk.references().await.is_empty());
    let Answer::Said(said) = deliver("pushing", "hotel:s3cret").await else {
        panic!("it was not taken");
    };
    assert!(String::from_utf8_lossy(&said[0].body).contains(r#""recorded":[["R1","#));
    assert_eq!(desk.references().await, ["R1"]);
    let kept: Vec<String> = sqlx::query_scalar("select headers::text from channel_message")
        .fetch_all(&desk.pool)
        .await
        .unwrap();
    assert!(
        kept.iter().all(|headers| !headers.contains("Basic")),
        "{kept:?}"
    );
}
