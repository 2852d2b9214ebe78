//! A guest books at a channel: the ledger has it once, and everybody else is told.

use keyrack_sandbox::Wish;

use crate::app::TestApp;
use crate::channel::{Stage, until};

async fn known(app: &TestApp, status: &str) -> usize {
    let path = format!("/v1/properties/linde/reservations?source=channel&status={status}");
    let list = app.get(&path).await.expect(200);
    list["items"].as_array().expect("a list").len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_sold_at_one_channel_closes_at_the_other_and_opens_again_when_it_is_cancelled() {
    let app = TestApp::start().await;
    let stage = Stage::live(&app, 1).await;
    let (from, to) = (app.night(3), app.night(5));
    let wish = Wish::one(stage.booking.hotel, stage.booking.room, from, to);
    let sold = stage.booking.channel.sell(&wish).expect("it shows a room");
    stage.portal.shows(&app, from, 0).await;
    stage.portal.shows(&app, app.night(4), 0).await;
    stage.portal.shows(&app, to, 1).await;
    assert_eq!(app.free("linde", from, to).await, [0, 0]);
    assert_eq!(known(&app, "confirmed").await, 1);

    let again =
        stage
            .portal
            .channel
            .sell(&Wish::one(stage.portal.hotel, stage.portal.room, from, to));
    assert!(again.is_none(), "the portal shows nothing to sell");

    stage
        .booking
        .channel
        .cancel(&sold.reference)
        .expect("it can be cancelled");
    stage.portal.shows(&app, from, 1).await;
    stage.booking.shows(&app, from, 1).await;
    assert_eq!(app.free("linde", from, to).await, [1, 1]);
    assert_eq!(
        (
            known(&app, "confirmed").await,
            known(&app, "cancelled").await
        ),
        (0, 1)
    );
    app.end().await;
    stage.sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_room_sold_at_the_desk_closes_everywhere() {
    let app = TestApp::start().await;
    let stage = Stage::live(&app, 1).await;
    let body = app.wish("confirmed", 7, 8);
    app.post("/v1/properties/linde/reservations", body)
        .await
        .expect(201);
    stage.booking.shows(&app, app.night(7), 0).await;
    stage.portal.shows(&app, app.night(7), 0).await;
    app.end().await;
    stage.sandbox.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_that_both_sold_is_a_case_and_no_guest_is_lost() {
    let app = TestApp::start().await;
    let stage = Stage::live(&app, 1).await;
    let (from, to) = (app.night(10), app.night(11));
    // Both sell in the same instant, before either can be told of the other.
    for listing in [&stage.booking, &stage.portal] {
        let wish = Wish::one(listing.hotel, listing.room, from, to);
        listing.channel.sell(&wish).expect("it shows a room");
    }
    let path = "/v1/properties/linde/overbooking-cases?status=open";
    let case = until(|| async {
        let cases = app.get(path).await.expect(200);
        cases["items"]
            .as_array()
            .and_then(|cases| cases.first().cloned())
    });
    let case = case.await.expect("a case is opened");
    assert!(case.to_string().contains(&from.to_string()), "{case:#}");
    assert_eq!(known(&app, "confirmed").await, 2, "both guests are kept");
    stage.booking.shows(&app, from, 0).await;
    stage.portal.shows(&app, from, 0).await;
    app.end().await;
    stage.sandbox.stop().await;
}
