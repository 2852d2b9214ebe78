//! Allotments fall back at the midnight of each hotel's own calendar: at the far ends of the earth
//! and on the days on which a clock is changed, once, whoever looks and whoever slept.

use jiff::civil::{Date, date};
use jiff::{SignedDuration, Timestamp};
use keyrack_distribution::timetable;
use keyrack_model::stay::plus_days;
use keyrack_sandbox::{Sandbox, Settings};
use serde_json::{Value, json};

use crate::app::TestApp;
use crate::channel::{Listing, login, priced, until};

/// The days on which Berlin changes its clock: in spring and in autumn.
const CHANGES: [Date; 2] = [date(2030, 3, 31), date(2030, 10, 27)];
/// Code, zone, and code at the channel.
const HOTELS: [(&str, &str, &str); 3] = [
    ("atoll", "Pacific/Kiritimati", "7301"),
    ("mitte", "Europe/Berlin", "7302"),
    ("surf", "Pacific/Honolulu", "7303"),
];
/// What is unsold falls back so many days before the night.
const PERIOD_DAYS: i32 = 7;

/// Three hotels that sell five doubles each at one channel, of which two are kept for a group on
/// three nights: those that fall back on the day of the change, the day after, and the next.
struct World {
    sandbox: Sandbox,
    listings: Vec<Listing>,
    day: Date,
}

impl World {
    /// The world two days before a change.
    async fn before(app: &TestApp, day: Date) -> Self {
        let morning = plus_days(day, -2).at(9, 0, 0, 0).in_tz("UTC");
        app.set_clock(morning.expect("an instant").timestamp())
            .await;
        let sandbox = Sandbox::start(Settings::default()).await;
        let sandbox = sandbox.expect("the fake channels start");
        let booking_com = sandbox.booking_com();
        let mut listings = Vec::new();
        for (property, zone, hotel) in HOTELS {
            app.hotel(property, 5).await;
            let setup = json!({"name": property, "time_zone": zone, "currency": "EUR"});
            let path = format!("/v1/properties/{property}");
            app.put(&path, setup).await.expect(200);
            priced(app, property, day, plus_days(day, 40)).await;
            let listing = Listing {
                property,
                account: "booking",
                channel: (*booking_com).clone(),
                hotel,
                room: "102",
            };
            let login = login(booking_com.credentials());
            let url = sandbox.url();
            listing.connect(app, &url, login, 5, Some("901")).await;
            let group = json!({"name": "The choir"});
            app.put(&format!("{path}/groups/choir"), group)
                .await
                .expect(201);
            let block = json!({
                "group": "choir", "room_type": "double", "release_period_days": PERIOD_DAYS,
                "values": [{"from": plus_days(day, PERIOD_DAYS),
                            "to": plus_days(day, PERIOD_DAYS + 3), "rooms": 2}],
            });
            app.put(&format!("{path}/allotments/block"), block)
                .await
                .expect(201);
            listings.push(listing);
        }
        let world = Self {
            sandbox,
            listings,
            day,
        };
        for listing in &world.listings {
            for offset in 0..3 {
                listing.shows(app, world.night(offset), 3).await;
            }
        }
        world
    }

    /// A night that falls back so many days after the day of the change.
    fn night(&self, offset: i32) -> Date {
        plus_days(self.day, PERIOD_DAYS + offset)
    }

    /// The midnights of the day of the change and of the day after it, of all hotels, in order.
    fn midnights(&self) -> Vec<Timestamp> {
        let mut all: Vec<Timestamp> = HOTELS
            .iter()
            .flat_map(|(_, zone, _)| {
                (0..2).map(move |offset| midnight(zone, plus_days(self.day, offset)))
            })
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// Which nights have fallen back of each hotel, and that each did so once.
    async fn released(&self, app: &TestApp) -> Vec<[bool; 3]> {
        let mut all = Vec::new();
        for listing in &self.listings {
            let mut nights = [false; 3];
            for (offset, is_released) in (0..).zip(&mut nights) {
                *is_released = released(app, listing.property, self.night(offset)).await;
            }
            all.push(nights);
        }
        all
    }

    /// What the calendars of the hotels say at an instant.
    fn due(&self, at: Timestamp) -> Vec<[bool; 3]> {
        let due = |zone: &str| [0, 1, 2].map(|day| midnight(zone, plus_days(self.day, day)) <= at);
        HOTELS.iter().map(|(_, zone, _)| due(zone)).collect()
    }

    /// The channel shows three of what is kept and five of what has fallen back.
    async fn shown(&self, app: &TestApp, due: &[[bool; 3]]) {
        for (listing, nights) in self.listings.iter().zip(due) {
            for (offset, is_due) in (0..).zip(nights) {
                let rooms = if *is_due { 5 } else { 3 };
                listing.shows(app, self.night(offset), rooms).await;
            }
        }
    }
}

fn midnight(zone: &str, day: Date) -> Timestamp {
    let midnight = day.at(0, 0, 0, 0).in_tz(zone);
    midnight
        .expect("no clock is changed at midnight")
        .timestamp()
}

/// Whether what was kept of a night has fallen back: all of it, and once.
async fn released(app: &TestApp, property: &str, night: Date) -> bool {
    let path = format!("/v1/properties/{property}");
    let to = plus_days(night, 1);
    let pickup = format!("{path}/allotments/block/pickup?from={night}&to={to}");
    let counts = app.get(&pickup).await.expect(200)["nights"][0].clone();
    let released = counts["released"] == 2;
    let left = if released { 0 } else { 2 };
    assert_eq!(counts["left"], left, "{property} {night}: {counts}");
    let ledger = format!("{path}/nights/double/{night}/ledger");
    let lines = app.get(&ledger).await.expect(200)["items"].clone();
    let is_release = |line: &&Value| line["kind"] == "allotment_released";
    let times = lines.as_array().expect("lines").iter().filter(is_release);
    assert_eq!(times.count(), usize::from(released), "{lines:#}");
    released
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allotment_falls_back_at_each_hotels_own_midnight_whichever_day_its_clock_is_changed() {
    for day in CHANGES {
        let app = TestApp::start().await;
        let world = World::before(&app, day).await;
        let (_, twin) = app.twin().await;
        let midnights = world.midnights();
        // The day begins at the atoll while it is yesterday's morning at the beach; and where the
        // clock is changed it is an hour longer or shorter.
        let hours = |from: &Timestamp, to: &Timestamp| to.duration_since(*from).as_hours();
        let long = hours(&midnights[1], &midnights[3]);
        assert_eq!(long, if day.month() == 3 { 23 } else { 25 });
        for at in midnights {
            let before = at - SignedDuration::from_secs(20);
            app.set_clock(before).await;
            release(&app, &twin).await;
            assert_eq!(world.released(&app).await, world.due(before), "before {at}");
            app.set_clock(at).await;
            release(&app, &twin).await;
            assert_eq!(world.released(&app).await, world.due(at), "at {at}");
        }
        world.shown(&app, &world.due(app.now().await)).await;
        app.end().await;
        world.sandbox.stop().await;
    }
}

/// Both daemons look at once.
async fn release(app: &TestApp, twin: &keyrack_distribution::Distribution) {
    let looks = tokio::join!(
        timetable::release_due(&app.distribution),
        timetable::release_due(twin)
    );
    assert!(looks.0.is_ok() && looks.1.is_ok(), "{looks:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fell_due_while_nobody_was_awake_falls_back_once_when_two_daemons_start() {
    for day in CHANGES {
        let mut app = TestApp::start().await;
        let world = World::before(&app, day).await;
        app.fall_asleep().await;
        let last = world.midnights().pop().expect("midnights");
        let now = last + SignedDuration::from_mins(30);
        app.set_clock(now).await;
        app.wake(2).await;
        let due = world.due(now);
        let done = until(|| async { (world.released(&app).await == due).then_some(()) });
        assert!(done.await.is_some(), "{:?}", world.released(&app).await);
        world.shown(&app, &due).await;
        assert_eq!(world.released(&app).await, due, "and no more");
        app.end().await;
        world.sandbox.stop().await;
    }
}
