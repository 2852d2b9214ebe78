//! What a hotel has already sold is recorded before an account goes live.

use keyrack_distribution::connections::{self, ConnectionSetup, Credentials};
use keyrack_ledger::catalog::{self, MappingSetup};
use keyrack_ledger::command::By;
use keyrack_model::channel::AccountSettings;
use keyrack_model::id::ChannelCode;
use serde_json::json;

use crate::app::TestApp;
use crate::command::{Called, Paper, keyrack};

/// The hotel `linde` with two doubles, sold by the account `booking`.
pub async fn listed(app: &TestApp) {
    app.hotel("linde", 2).await;
    let setup = ConnectionSetup {
        channel: ChannelCode::new("booking_com"),
        endpoint: Some("http://127.0.0.1:1".to_owned()),
        credentials: Some(Credentials::default()),
        settings: json!({}),
    };
    let put = connections::put(&app.distribution, "login", setup, None)
        .await
        .unwrap();
    let (connection, _) = put.expect("a connection");
    let property = catalog::property(&app.ledger, "linde")
        .await
        .unwrap()
        .expect("a hotel")
        .id;
    let by = By::default();
    let settings = AccountSettings::default();
    let account = catalog::put_account(
        &app.ledger,
        property,
        &by,
        "booking",
        connection.id,
        "booking_com",
        "H1",
        settings,
        None,
    );
    let (row, _) = account.await.unwrap().expect("an account");
    let mapping = MappingSetup {
        room_type: "double".to_owned(),
        rate_plan: None,
        channel_room_code: "DBL".to_owned(),
        channel_rate_code: None,
        pool: Default::default(),
        allotment: None,
    };
    let mapped = catalog::put_mappings(&app.ledger, row.account.id, &by, vec![mapping]);
    mapped.await.unwrap().expect("mapped");
}

async fn import(app: &TestApp, file: &Paper, flags: &[&str]) -> Called {
    let url = app.database_url();
    let arguments = [&["import", file.path(), "--account", "booking"], flags].concat();
    keyrack(&arguments, &[("DATABASE_URL", &url)]).await
}

#[tokio::test]
async fn what_was_sold_takes_its_rooms_once_however_often_it_is_imported() {
    let app = TestApp::start().await;
    listed(&app).await;
    let (first, third) = (app.night(0), app.night(2));
    let file = Paper::of(
        "sold.csv",
        &format!(
            "property,channel_reference,channel_room_code,arrival,departure,quantity,guest_name\n\
             linde,R1,DBL,{first},{third},1,Ada Example\n\
             linde,R2,DBL,{first},{},2,Bob Example\n",
            app.night(1)
        ),
    );
    let dry = import(&app, &file, &["--dry-run"]).await;
    assert_eq!(dry.status, 0, "{}{}", dry.out, dry.err);
    let overlap = format!("linde double {first}: 1 sold beyond rooms");
    assert!(dry.out.contains(&overlap), "{}", dry.out);
    assert!(
        !dry.out.contains(&format!("double {}", app.night(1))),
        "{}",
        dry.out
    );
    assert!(
        !dry.out.contains("Example"),
        "guests are not told: {}",
        dry.out
    );
    assert_eq!(
        app.free("linde", first, third).await,
        [2, 2],
        "a dry run records nothing"
    );

    for round in ["first", "second"] {
        let real = import(&app, &file, &["--done"]).await;
        assert_eq!(real.status, 0, "{round}: {}{}", real.out, real.err);
        assert_eq!(app.free("linde", first, third).await[1], 1, "{round}");
    }
    let property = catalog::property(&app.ledger, "linde")
        .await
        .unwrap()
        .unwrap()
        .id;
    let accounts = catalog::accounts(&app.ledger, property).await.unwrap();
    assert!(accounts[0].import_done, "the account may go live");
    let list = app
        .get("/v1/properties/linde/reservations?source=channel")
        .await
        .expect(200);
    assert_eq!(list["items"].as_array().unwrap().len(), 2);
    app.end().await;
}

#[tokio::test]
async fn a_file_with_bad_lines_is_not_imported_unless_they_are_left_out() {
    let app = TestApp::start().await;
    listed(&app).await;
    let (first, second) = (app.night(0), app.night(1));
    let file = Paper::of(
        "bad.csv",
        &format!(
            "property,channel_reference,room_type,arrival,departure\n\
             linde,R1,double,{first},{second}\n\
             linde,R2,palace,{first},{second}\n\
             linde,R3,double,{second},{first}\n\
             nowhere,R4,double,{first},{second}\n"
        ),
    );
    let refused = import(&app, &file, &[]).await;
    assert_eq!(refused.status, 1);
    for line in [
        "line 3: linde has no room type palace",
        "line 4: ",
        "line 5: there is no property",
    ] {
        assert!(refused.out.contains(line), "{line}: {}", refused.out);
    }
    assert_eq!(app.free("linde", first, second).await, [2]);
    import(&app, &file, &["--skip-bad-lines"]).await;
    assert_eq!(app.free("linde", first, second).await, [1]);
    app.end().await;
}
