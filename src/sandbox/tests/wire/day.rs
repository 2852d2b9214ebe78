//! A whole day with random guests and every fault at once: in the end nothing is missing.

use std::collections::{BTreeMap, BTreeSet};

use keyrack_sandbox::{Chance, Event, Faults, Guests, Habits, Latency};

use crate::client::{Booking, CHANGED, HOTEL, NEW, ack, sandbox, settings};

#[tokio::test]
async fn a_patient_client_learns_every_last_state_in_spite_of_all_faults() {
    let sandbox = sandbox(settings()).await;
    let (channel, mut client) = (sandbox.booking_com(), Booking::connect(&sandbox).await);
    open_the_season(&client).await;
    channel.set_faults(Faults {
        latency: Latency {
            min_ms: 0,
            max_ms: 2,
        },
        lost_answer: Chance::Percent(10),
        duplicate: Chance::Percent(20),
        reorder: Chance::Percent(30),
        unauthorized: Chance::Percent(5),
        too_many: Chance::Percent(5),
        server_error: Chance::Percent(5),
        only: vec!["OTA_HotelRes".to_owned()],
        ..Faults::default()
    });
    let habits = Habits {
        modify_percent: 25,
        cancel_percent: 15,
        hotel: Some(HOTEL.to_owned()),
        ..Habits::default()
    };
    let mut guests = Guests::with_habits(&channel, 11, habits);
    let mut known = BTreeMap::new();
    let mut booked = BTreeSet::new();
    for _ in 0..120 {
        if let Event::Booked(sold) = guests.step() {
            booked.insert(sold.reference);
        }
        poll(&mut client, &mut known).await;
    }
    channel.set_faults(Faults::default());
    poll(&mut client, &mut known).await;
    assert!(booked.len() > 30, "{}", booked.len());
    let journal = channel.journal();
    assert_eq!(journal.reservations.len(), booked.len());
    for reservation in &journal.reservations {
        let latest = reservation.latest();
        assert!(
            latest.acknowledged_at.is_some(),
            "{} waits",
            reservation.reference
        );
        let nights: u32 = reservation.taken().iter().map(|room| room.length()).sum();
        assert_eq!(
            known[&reservation.reference], nights,
            "{}",
            reservation.reference
        );
    }
    let shown = channel.shown_range(
        HOTEL,
        channel.clock().today(),
        "2030-04-30".parse().unwrap(),
    );
    assert!(shown.iter().all(|night| night.number <= Some(8)));
}

async fn open_the_season(client: &Booking) {
    let whole = |body: &str| {
        body.replace("2030-03-01", "2030-01-05")
            .replace("2030-03-03", "2030-06-30")
    };
    let period = r#"Start="2030-03-01" End="2030-03-03" InvTypeCode="4711""#;
    let elements = format!(
        r#"<AvailStatusMessage BookingLimit="8"><StatusApplicationControl {period}/>
           </AvailStatusMessage>"#
    );
    assert_eq!(client.avail(&whole(&elements)).await.status, 200);
    let body = crate::client::prices(period);
    let answer = client
        .post("/hotels/ota/OTA_HotelRateAmountNotif", &whole(&body))
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// Asks both queues and acknowledges what came, reservation by reservation.
async fn poll(client: &mut Booking, known: &mut BTreeMap<String, u32>) {
    for (path, root) in [
        (NEW, "OTA_HotelResNotifRS"),
        (CHANGED, "OTA_HotelResModifyNotifRS"),
    ] {
        let Ok(response) = client.try_get(path).await else {
            continue;
        };
        if response.status() != 200 {
            continue;
        }
        let Ok(body) = response.text().await else {
            continue;
        };
        for (reference, nights) in reservations(&body) {
            known.insert(reference.clone(), nights);
            let item = if path == NEW {
                "HotelReservation"
            } else {
                "HotelResModify"
            };
            let _ = client.try_post(path, &ack(root, item, &[&reference])).await;
        }
    }
}

/// Each reservation of a message and its room nights.
fn reservations(body: &str) -> Vec<(String, u32)> {
    body.split("<ResGlobalInfo>")
        .collect::<Vec<_>>()
        .windows(2)
        .map(|pair| {
            let nights = pair[0].matches("<RoomRate ").count();
            let reference = pair[1].split("ResID_Value=\"").nth(1).unwrap();
            let reference = reference.split('"').next().unwrap().to_owned();
            (reference, u32::try_from(nights).unwrap())
        })
        .collect()
}
