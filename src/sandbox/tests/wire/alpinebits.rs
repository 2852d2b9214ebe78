//! The fake portal's transport, handshake and FreeRooms.

use keyrack_sandbox::{AlpineBitsSettings, Demand, Settings};

use crate::client::{Alpine, FRIDAY, MONDAY, OTA, SUNDAY, count, sandbox, settings};

const PING: &str = "OTA_Ping:Handshaking";

fn ping(echo: &str) -> String {
    format!(r#"<OTA_PingRQ xmlns="{OTA}" Version="8.000"><EchoData>{echo}</EchoData></OTA_PingRQ>"#)
}

const OFFER: &str = r#"
  {"versions":[{"version":"2024-10","actions":[{"action":"action_OTA_Ping"},
   {"action":"action_OTA_HotelInvCountNotif","supports":
    ["OTA_HotelInvCountNotif_accept_categories","OTA_HotelInvCountNotif_accept_deltas",
     "OTA_HotelInvCountNotif_accept_complete_set","something_else"]},
   {"action":"action_OTA_Read","supports":["OTA_Read_accept_RoomRates"]}]},
   {"version":"2018-10","actions":[{"action":"action_OTA_Ping"}]}]}
"#;

#[tokio::test]
async fn the_handshake_echoes_alike_and_agrees_on_what_both_can() {
    let settings = Settings {
        alpinebits: AlpineBitsSettings {
            capabilities: vec![
                "OTA_HotelInvCountNotif_accept_categories".to_owned(),
                "OTA_HotelInvCountNotif_accept_complete_set".to_owned(),
            ],
            ..AlpineBitsSettings::default()
        },
        ..settings()
    };
    let sandbox = sandbox(settings).await;
    let (channel, mut client) = (sandbox.alpinebits(), Alpine::connect(&sandbox));
    client.version = Some("2022-10");
    let answer = client.act(PING, &ping(OFFER)).await;
    assert_eq!(answer.status, 200);
    assert!(
        answer
            .body
            .contains(&format!("<EchoData>{OFFER}</EchoData>")),
        "{}",
        answer.body
    );
    let common = concat!(
        r#"{"versions":[{"version":"2024-10","actions":[{"action":"action_OTA_Ping"},"#,
        r#"{"action":"action_OTA_HotelInvCountNotif","supports":["#,
        r#""OTA_HotelInvCountNotif_accept_categories","#,
        r#""OTA_HotelInvCountNotif_accept_complete_set"]},{"action":"action_OTA_Read"}]}]}"#
    );
    let warning = format!(r#"<Warning Type="11" Status="ALPINEBITS_HANDSHAKE">{common}<"#);
    assert!(answer.body.contains(&warning), "{}", answer.body);
    assert_eq!(channel.agreed().len(), 2);
    client.version = Some("2024-10");
    let delta = client
        .free_rooms(false, &count("DBL", "2030-03-01", "2030-03-01", 1))
        .await;
    assert!(
        delta.body.contains("accept_deltas was not announced"),
        "{}",
        delta.body
    );
}

#[tokio::test]
async fn what_is_wrong_below_the_message_is_answered_in_plain_text() {
    let sandbox = sandbox(settings()).await;
    let mut client = Alpine::connect(&sandbox);
    let unknown = client.act("OTA_Nothing:Here", "<x/>").await;
    assert_eq!(unknown.status, 400);
    assert!(unknown.body.starts_with("ERROR"));
    client.version = None;
    assert!(
        client
            .act(PING, &ping(OFFER))
            .await
            .body
            .starts_with("ERROR")
    );
    client.version = Some("2020-10");
    assert_eq!(client.read("").await.status, 400);
    client.version = Some("2024-10");
    client.password = "wrong";
    assert_eq!(client.read("").await.status, 401);
    client.password = "sandbox-secret";
    let raw = client
        .request()
        .header("content-type", "application/xml")
        .body("<x/>");
    assert_eq!(raw.send().await.unwrap().status(), 415);
    let get = client
        .http
        .get(&client.url)
        .basic_auth("keyrack", Some(client.password));
    assert_eq!(get.send().await.unwrap().status(), 405);
    let form = reqwest::multipart::Form::new().text("request", "<x/>");
    let nothing = client.request().multipart(form).send().await.unwrap();
    assert!(nothing.text().await.unwrap().starts_with("ERROR"));
    let journal = sandbox.alpinebits().journal();
    assert!(journal.messages.iter().all(|message| !message.accepted));
}

#[tokio::test]
async fn a_whole_body_may_be_compressed_but_no_handshake() {
    let sandbox = sandbox(settings()).await;
    let mut client = Alpine::connect(&sandbox);
    client.gzip = true;
    let packed = client
        .free_rooms(true, &count("DBL", "2030-03-01", "2030-03-01", 2))
        .await;
    assert!(packed.body.contains("<Success/>"), "{}", packed.body);
    assert_eq!(client.act(PING, &ping(OFFER)).await.status, 400);
    let broken = client
        .request()
        .header("content-encoding", "gzip")
        .body("not gzip");
    let broken = broken.send().await.unwrap();
    assert_eq!(broken.status(), 400);
    assert_eq!(
        broken.headers()["x-alpinebits-server-accept-encoding"],
        "gzip"
    );
    let other = client
        .request()
        .header("content-encoding", "br")
        .body("x")
        .send()
        .await;
    assert_eq!(other.unwrap().status(), 501);
    client.gzip = false;
    assert!(
        client
            .act_by_file(PING, &ping(OFFER))
            .await
            .body
            .contains("HANDSHAKE")
    );
}

#[tokio::test]
async fn a_complete_set_replaces_all_and_a_delta_only_what_it_names() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.alpinebits(), Alpine::connect(&sandbox));
    let rooms = |room: &str, night| channel.shown("HTL1", room, night).unwrap().number;
    let both =
        count("DBL", "2030-03-01", "2030-03-04", 3) + &count("SGL", "2030-03-01", "2030-03-01", 2);
    client.free_rooms(true, &both).await;
    assert_eq!(
        (rooms("DBL", MONDAY), rooms("SGL", FRIDAY)),
        (Some(3), Some(2))
    );
    client
        .free_rooms(false, &count("DBL", "2030-03-03", "2030-03-03", 1))
        .await;
    assert_eq!(
        (rooms("DBL", SUNDAY), rooms("DBL", MONDAY)),
        (Some(1), Some(3))
    );
    let silent = r#"<Inventory><StatusApplicationControl Start="2030-03-04" End="2030-03-04"
        InvTypeCode="DBL"/></Inventory>"#;
    client.free_rooms(false, silent).await;
    assert_eq!(
        rooms("DBL", MONDAY),
        Some(0),
        "no counts means fully booked"
    );
    client
        .free_rooms(true, &count("DBL", "2030-03-03", "2030-03-03", 2))
        .await;
    assert_eq!(
        (rooms("DBL", FRIDAY), rooms("SGL", FRIDAY)),
        (Some(0), Some(0)),
        "left out"
    );
    assert_eq!(rooms("DBL", SUNDAY), Some(2));
    let season = r#"<Inventory><StatusApplicationControl Start="2030-03-01" End="2030-03-02"
        AllInvCode="true"/></Inventory>"#;
    client
        .free_rooms(
            true,
            &(season.to_owned() + &count("DBL", "2030-03-03", "2030-03-03", 2)),
        )
        .await;
    let closed = channel.shown("HTL1", "SGL", FRIDAY).unwrap();
    assert!(closed.closed && closed.rooms == 0);
    client.free_rooms(true, "<Inventory/>").await;
    assert_eq!(rooms("DBL", SUNDAY), Some(0), "the reset");
    assert!(!channel.shown("HTL1", "SGL", FRIDAY).unwrap().closed);
}

#[tokio::test]
async fn what_must_be_refused_changes_nothing() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.alpinebits(), Alpine::connect(&sandbox));
    client
        .free_rooms(true, &count("DBL", "2030-03-01", "2030-03-10", 3))
        .await;
    let season = r#"<Inventory><StatusApplicationControl Start="2030-03-05" End="2030-03-06"
        AllInvCode="true"/></Inventory>"#;
    let one = |start: &str, end: &str| count("DBL", start, end, 1);
    let twice = one("2030-03-01", "2030-03-01").replace(
        "<InvCount ",
        r#"<InvCount CountType="2" Count="0"/><InvCount "#,
    );
    let room = one("2030-03-02", "2030-03-02").replace("InvTypeCode", "InvCode=\"7\" InvTypeCode");
    let wrong = [
        one("2030-03-01", "2030-03-03") + &one("2030-03-03", "2030-03-05"),
        one("2030-03-03", "2030-03-01"),
        one("2030-02-30", "2030-03-01"),
        one("2030-03-01", "2030-03-01").replace("Count=\"1\"", "Count=\"-1\""),
        one("2030-03-01", "2030-03-01").replace("CountType=\"2\"", "CountType=\"3\""),
        one("2030-03-01", "2030-03-01").replace("DBL", "NOPE"),
        count("SGL", "2030-03-01", "2030-03-01", 3),
        twice,
        room + &one("2030-03-01", "2030-03-01"),
        season.to_owned() + season,
        season.to_owned() + &one("2030-03-06", "2030-03-06"),
        one("2030-03-01", "2030-03-01") + season,
        String::new(),
    ];
    for inventories in &wrong {
        let answer = client.free_rooms(true, inventories).await;
        assert!(
            answer.body.contains("<Error Type=\"13\""),
            "{inventories}: {}",
            answer.body
        );
        assert!(!answer.body.contains("Success"));
    }
    for inventories in [season, "<Inventory/>"] {
        let answer = client.free_rooms(false, inventories).await;
        assert!(answer.body.contains("<Errors>"), "only in a complete set");
    }
    assert_eq!(
        channel.shown("HTL1", "DBL", FRIDAY).unwrap().number,
        Some(3)
    );
}

#[tokio::test]
async fn the_portal_advises_after_two_days_and_demands_until_it_is_met() {
    let sandbox = sandbox(settings()).await;
    let (channel, client) = (sandbox.alpinebits(), Alpine::connect(&sandbox));
    let night = count("DBL", "2030-03-01", "2030-03-01", 1);
    let fresh = client.free_rooms(true, &night).await;
    assert!(!fresh.body.contains("Warning"), "{}", fresh.body);
    sandbox.clock().advance(172_801_000);
    let late = client.free_rooms(false, &night).await;
    assert!(late.body.contains("<Success/>") && late.body.contains(r#"Warning Type="11""#));
    channel.demand(Demand::FreeRooms);
    channel.demand(Demand::Handshake);
    let read = client.read("").await.body;
    assert!(read.contains("ALPINEBITS_SEND_FREEROOMS"));
    assert!(read.contains("ALPINEBITS_SEND_HANDSHAKE"));
    client.act(PING, &ping(OFFER)).await;
    let set = client.free_rooms(true, &night).await;
    assert!(!set.body.contains("Warning"), "met: {}", set.body);
    assert!(channel.demands().is_empty());
}
