//! An account's life: going live, pausing, closing, ending, other mappings, and its numbers.

use keyrack_distribution::accounts::go_live::{self, GoLiveRefusal, Problem};
use keyrack_distribution::accounts::lifecycle::{self, Removed, StateRefusal};
use keyrack_distribution::accounts::listing::{self, AccountSetup, PutRefusal};
use keyrack_distribution::accounts::standing::State;
use keyrack_distribution::accounts::{self, mappings, status, told};
use keyrack_distribution::{push, resync};
use keyrack_ledger::catalog::AccountRow;
use keyrack_model::channel::{AccountSettings, AccountState};
use keyrack_model::stay::Stay;

use crate::house::{House, by, map, march};
use crate::portal::Answer;

#[tokio::test(flavor = "multi_thread")]
async fn going_live_shows_first_what_would_be_told() {
    let house = House::open("deltas", AccountSettings::default()).await;
    house.book(house.double, 3, 5, 4).await;
    house
        .rate_nights("amount_minor = null", march(10), march(11))
        .await;
    let row = house.account().await;
    let shown = go_live::go_live(&house.distribution, &row, &by(), true)
        .await
        .unwrap()
        .unwrap();
    let line = |room_type: &str, plan: Option<&str>, day| {
        let found = shown.lines.iter().find(|line| {
            let same = line.room_type == room_type && line.rate_plan.as_deref() == plan;
            same && line.nights.contains(march(day))
        });
        found.unwrap().clone()
    };
    let taken = line("double", None, 3);
    assert_eq!(
        taken.values.unwrap().rooms,
        Some(1),
        "70 % sold is never shown as free"
    );
    assert_eq!(taken.nights, Stay::new(march(3), march(5)).unwrap());
    assert_eq!(line("double", Some("bar"), 10).problems, [Problem::NoPrice]);
    assert_eq!(line("double", Some("bar"), 9).problems, []);
    assert_eq!(house.status().await.state, State::Setup);
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_import_nothing_goes_live() {
    let house = House::open("deltas", AccountSettings::default()).await;
    sqlx::query("update account set import_done = false")
        .execute(&house.pool)
        .await
        .unwrap();
    let row = house.account().await;
    let refused = go_live::go_live(&house.distribution, &row, &by(), false).await;
    assert_eq!(refused.unwrap().unwrap_err(), GoLiveRefusal::ImportNeeded);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_is_refused_while_nights_stand_told_open() {
    let house = House::live().await;
    let row = house.account().await;
    let refused = lifecycle::pause(&house.distribution, &row, &by(), None, false).await;
    assert_eq!(refused.unwrap(), Err(StateRefusal::OpenNightsTold(60)));
    lifecycle::pause(
        &house.distribution,
        &row,
        &by(),
        Some("portal rebuilt"),
        true,
    )
    .await
    .unwrap()
    .unwrap();
    let status = house.status().await;
    assert_eq!(
        (status.state, status.reason.as_deref()),
        (State::Paused, Some("portal rebuilt"))
    );
    let stay = house.book(house.double, 3, 4, 5).await;
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0]);
    let status = house.status().await;
    assert_eq!(
        status.nights_at_risk.len(),
        1,
        "and it is said what that risks"
    );
    house.cancel(stay).await;
    house.book(house.double, 3, 4, 1).await;
    house.polled().await;
    let row = house.account().await;
    lifecycle::resume(&house.distribution, &row, &by())
        .await
        .unwrap()
        .unwrap();
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 4"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_resume_nothing_rises_before_a_poll() {
    let house = House::live().await;
    let stay = house.book(house.double, 3, 4, 2).await;
    house.tell().await;
    let row = house.account().await;
    lifecycle::pause(&house.distribution, &row, &by(), None, true)
        .await
        .unwrap()
        .unwrap();
    house.cancel(stay).await;
    house.tell().await;
    house.polled().await;
    house.portal.told();
    let row = house.account().await;
    lifecycle::resume(&house.distribution, &row, &by())
        .await
        .unwrap()
        .unwrap();
    house.tell().await;
    assert_eq!(house.portal.told(), [""; 0]);
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.told(), ["DBL 03-03..03-04 5"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_account_is_told_zero_and_closed_everywhere() {
    let house = House::live().await;
    let row = house.account().await;
    lifecycle::close(&house.distribution, &row, &by(), None)
        .await
        .unwrap()
        .unwrap();
    house.tell().await;
    let told = house.portal.told().join("; ");
    assert_eq!(
        told,
        "DBL 02-20..03-22 closed; DBL/BAR 03-01..03-22 closed; SUI 02-20..03-22 closed"
    );
    assert_eq!(house.status().await.state, State::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_ends_once_its_close_is_taken_and_the_channel_was_polled_once_more() {
    let house = House::live().await;
    let row = house.account().await;
    house.portal.answers([Answer::refusing(503)]);
    let removed = lifecycle::remove(&house.distribution, &row, &by())
        .await
        .unwrap();
    assert_eq!(removed, Removed::UnderWay);
    house.tell().await;
    resync::step(&house.distribution).await.unwrap();
    assert!(house.status().await.removing_since.is_some());
    house.pass("10 seconds").await;
    house.tell().await;
    resync::step(&house.distribution).await.unwrap();
    house.tell().await;
    let row = house.account().await;
    assert_eq!(
        row.account.state,
        AccountState::Closed,
        "told, but not yet polled"
    );
    house.polled().await;
    resync::step(&house.distribution).await.unwrap();
    let gone = accounts::find(&house.distribution, house.property, "portal").await;
    assert!(gone.unwrap().is_none());
    assert_eq!(house.count("select count(*) from push_state").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_mappings_closes_the_old_code_before_anything_else() {
    let house = House::live().await;
    let row = house.account().await;
    let moved = vec![
        map("double", Some("bar"), "DBL", Some("BAR")),
        map("suite", None, "SUITE-2", None),
    ];
    mappings::put(&house.distribution, &row, &by(), moved, (None, None))
        .await
        .unwrap()
        .unwrap();
    house.tell().await;
    let told = house.portal.told();
    assert_eq!(
        told[0],
        "SUI 02-20..04-21 closed".replace("04-21", "03-22"),
        "{told:?}"
    );
    assert_eq!(
        house.portal.shows("SUITE-2", march(3)),
        0,
        "it opens after a poll"
    );
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("SUITE-2", march(3)), 2);
    assert_eq!(house.portal.shows("SUI", march(3)), 0);
    assert_eq!(house.portal.shows("DBL", march(3)), 5);
    assert_eq!(house.count("select count(*) from retired_code").await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_that_moves_to_another_type_is_closed_until_a_poll() {
    let house = House::live().await;
    let row = house.account().await;
    let swapped = vec![
        map("suite", None, "DBL", None),
        map("double", None, "SUI", None),
    ];
    mappings::put(&house.distribution, &row, &by(), swapped, (None, None))
        .await
        .unwrap()
        .unwrap();
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
    assert_eq!(house.portal.shows("SUI", march(3)), 0);
    house.polled().await;
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 2);
    assert_eq!(house.portal.shows("SUI", march(3)), 5);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_is_known_night_by_night_with_its_lag() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    let row = house.account().await;
    let night = Stay::new(march(3), march(4)).unwrap();
    let now = told::told(&house.distribution, &row, night).await.unwrap();
    let double = now
        .iter()
        .find(|one| one.room_type == "double" && one.rate_plan.is_none());
    let double = double.unwrap();
    assert_eq!(double.values.rooms, Some(4));
    assert!(double.due_at <= double.sent_at && double.acknowledged_at > Some(double.sent_at));
    let past = told::history(&house.distribution, &row, night)
        .await
        .unwrap();
    let rooms: Vec<_> = past
        .iter()
        .filter(|one| one.room_type == "double" && one.rate_plan.is_none())
        .map(|one| one.values.rooms.unwrap())
        .collect();
    assert_eq!(rooms, [5, 4]);
    let status = house.status().await;
    assert_eq!(status.state, State::Ok);
    assert_eq!((status.lag.count, status.lag_lowering.count), (1, 1));
    assert!(status.lag.p50_ms <= status.lag.p99_ms);
    assert!(status.last_push_at.is_some() && status.last_poll_at.is_some());
    assert_eq!(status.messages[0].outcome, "accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lag_is_that_of_changes_and_not_of_telling_everything() {
    let house = House::open("deltas", AccountSettings::default()).await;
    let row = house.account().await;
    go_live::go_live(&house.distribution, &row, &by(), false)
        .await
        .unwrap()
        .unwrap();
    // Everything is marked at one instant, and told an hour later.
    push::drain(&house.distribution).await.unwrap();
    house.pass("1 hour").await;
    house.polled().await;
    house.tell().await;
    assert!(house.count("select count(*) from told_history").await > 60);
    assert_eq!(house.status().await.lag, status::Lag::default());

    house.book(house.double, 3, 4, 1).await;
    house.tell().await;
    house
        .rate_nights("amount_minor = 13000", march(5), march(7))
        .await;
    house.tell().await;
    let row = house.account().await;
    lifecycle::resync(&house.distribution, &row)
        .await
        .unwrap()
        .unwrap();
    resync::step(&house.distribution).await.unwrap();
    house.pass("1 hour").await;
    house.polled().await;
    house.tell().await;
    let status = house.status().await;
    assert_eq!(status.lag.count, 3, "a night sold, two nights dearer");
    assert!(status.lag.p99_ms < 60_000, "{:?}", status.lag);
}

impl House {
    /// The account stands for another listing.
    async fn relist(&self, hotel: &str) -> Result<(AccountRow, bool), PutRefusal> {
        let row = self.account().await;
        let setup = AccountSetup {
            connection: row.account.connection,
            channel: row.account.channel.as_str().to_owned(),
            hotel_code: hotel.into(),
            settings: row.account.settings,
        };
        let by = by();
        let (engine, code) = (&self.distribution, "portal");
        let put = listing::put(engine, self.property, &by, code, setup, None);
        put.await.unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_is_left_behind_only_once_it_is_closed() {
    let house = House::live().await;
    let leaves = |state| Err(PutRefusal::LeavesListing("/hotel_code", state));
    assert_eq!(house.relist("H2").await, leaves(AccountState::Live));
    assert_eq!(house.account().await.account.hotel_code, "H1");
    assert!(house.relist("H1").await.is_ok(), "it stays where it is");

    let row = house.account().await;
    lifecycle::close(&house.distribution, &row, &by(), None)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        house.relist("H2").await,
        leaves(AccountState::Closed),
        "the channel does not know that it is closed"
    );
    house.tell().await;
    assert_eq!(house.portal.shows("DBL", march(3)), 0);
    assert!(house.relist("H2").await.is_ok());
    house.portal.messages();
    house.tell().await;
    let messages = house.portal.messages();
    assert!(
        !messages.is_empty(),
        "the new listing is told that it is closed"
    );
    assert!(messages.iter().all(|message| message["hotel_code"] == "H2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shop_that_fetches_is_served_the_truth_and_it_is_recorded() {
    let house = House::live().await;
    house.book(house.double, 3, 4, 2).await;
    let row = house.account().await;
    let night = Stay::new(march(3), march(4)).unwrap();
    let served = told::serve(&house.distribution, &row, night)
        .await
        .unwrap()
        .unwrap();
    let double = served
        .iter()
        .find(|one| one.room_type == "double" && one.rate_plan.is_none());
    assert_eq!(double.unwrap().values.rooms, Some(3));
    let past = told::history(&house.distribution, &row, night)
        .await
        .unwrap();
    assert_eq!(
        past.iter()
            .filter(|one| one.why.as_deref() == Some("served"))
            .count(),
        1
    );
    house.tell().await;
    assert_eq!(
        house.portal.told(),
        ["DBL 03-03..03-04 3"],
        "the channel is told all the same"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_has_looked_at_yet_counts_as_untold() {
    let house = House::live().await;
    assert_eq!(house.status().await.queue_depth, 0);
    house.book(house.double, 3, 5, 1).await;
    house.rates("min_stay_arrival = 2").await;
    let status = house.status().await;
    assert_eq!((status.queue_depth, status.queue_changes), (2, 2));
    house.tell().await;
    assert_eq!(house.status().await.queue_depth, 0);
}
