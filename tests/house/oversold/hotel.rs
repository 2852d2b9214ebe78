//! The hotel of this story, and the four things that happen to it.

use keyrack_sandbox::{Room, Wish};
use reqwest::Method;
use serde_json::{Value, json};

use crate::app::{Said, TestApp, said};
use crate::channel::{Stage, until};
use crate::command::keyrack;
use crate::post::Post;

/// A hotel with one double and two suites and a sister with three doubles.
pub struct House {
    /// The daemon.
    pub app: TestApp,
    /// Its two channels.
    pub stage: Stage,
    /// Where its mails and events go.
    pub post: Post,
    /// A receptionist's key.
    desk: String,
}

impl House {
    /// The hotel, live at both channels, with a webhook and a mail server.
    pub async fn open() -> Self {
        let post = Post::open().await;
        let app = TestApp::start_with(|config| {
            post.address(config);
            config.distribution.resync_poll_seconds = 1;
        })
        .await;
        let stage = Stage::live(&app, 1).await;
        app.hotel("ulme", 3).await;
        let policy = json!({
            "sister_properties": ["ulme"], "escalate_to": ["boss@linde.example"],
            "compensation": [{"amount_minor": 10_000, "per_night_minor": 2_500}],
            "upgrade_per_night_minor": 1_000, "sister_per_night_minor": 2_000,
            "approval_above_minor": 10_000,
        });
        for (property, policy) in [
            ("linde", policy),
            ("ulme", json!({"sister_properties": ["linde"]})),
        ] {
            let setup = json!({
                "name": property, "time_zone": "Europe/Vienna", "currency": "EUR",
                "policies": {"overbooking": policy},
            });
            let path = format!("/v1/properties/{property}");
            app.put(&path, setup).await.expect(200);
        }
        let suite = json!({
            "name": "Suite", "rooms": 2, "counts": "rooms",
            "occupancy": {"adults_max": 4, "children_max": 2, "total_max": 4},
        });
        let path = format!("{LINDE}/room-types/suite");
        app.put(&path, suite).await.expect(201);
        // Whoever comes under a code that nobody knows takes a double.
        let account = json!({
            "connection": "booking", "hotel_code": stage.booking.hotel,
            "settings": {"fallback_room_type": "double"},
        });
        app.put(&stage.booking.path(), account).await.expect(200);
        let events = ["opened", "escalated", "resolved"].map(|name| format!("overbooking.{name}"));
        let hook = json!({"url": post.hook, "events": events, "property": "linde"});
        app.put("/v1/webhooks/crm", hook).await.expect(201);
        let url = app.database_url();
        let create = ["key", "create", "--role", "front_desk", "--name", "desk"];
        let made = keyrack(&create, &[("DATABASE_URL", url.as_str())]).await;
        let desk = made.out.trim().to_owned();
        Self {
            app,
            stage,
            post,
            desk,
        }
    }

    /// What Anna does at the desk with her own key.
    pub async fn anna(&self, path: &str, body: Value) -> Said {
        let url = format!("{LINDE}/{path}");
        let request = self
            .app
            .stranger(Method::POST, &url)
            .bearer_auth(&self.desk);
        let key = format!("anna-{path}-{body}").replace(|c: char| !c.is_ascii_alphanumeric(), "");
        let request = request
            .header("Keyrack-Actor", "Anna")
            .header("Idempotency-Key", &key[..key.len().min(120)]);
        said(request.json(&body)).await
    }

    /// The only double of a night is sold at the desk, and the channels show none.
    async fn sold_out(&self, night: i32) -> Value {
        let body = self.app.wish("confirmed", night, night + 1);
        let made = self.anna("reservations", body).await.expect(201);
        for listing in [&self.stage.booking, &self.stage.portal] {
            listing.shows(&self.app, self.app.night(night), 0).await;
        }
        made
    }

    /// Both channels sell the last double of a night in one instant.
    pub fn sold_by_both(&self, night: i32) {
        for listing in [&self.stage.booking, &self.stage.portal] {
            listing
                .sells(&self.app, night, night + 1)
                .expect("it shows one");
        }
    }

    /// A channel sells a room that it has listed anew, under a code that nobody here mapped.
    pub async fn sold_unmapped(&self, night: i32) {
        self.sold_out(night).await;
        let booking = &self.stage.booking;
        let rooms = [booking.room, "103"].map(|code| Room::new(code, &["901"], 1));
        booking.channel.add_hotel(booking.hotel, &rooms);
        let (from, to) = (self.app.night(night), self.app.night(night + 1));
        let wish = Wish::one(booking.hotel, "103", from, to).regardless();
        booking.channel.sell(&wish).expect("it sells regardless");
    }

    /// A pipe bursts in a room that is sold.
    pub async fn cut(&self, night: i32) {
        self.sold_out(night).await;
        let pipe = json!({"values": [{
            "room_type": "double", "from": self.app.night(night), "to": self.app.night(night + 1),
            "out_of_order": 1, "reason": "a burst pipe",
        }]});
        let path = format!("{LINDE}/inventory");
        let dry = format!("{path}?dry_run=true");
        let dry = self.app.post(&dry, pipe.clone()).await.expect(200);
        let night = self.app.night(night).to_string();
        assert!(dry.to_string().contains(&night), "who is hit: {dry:#}");
        self.app.post(&path, pipe).await.expect(200);
    }

    /// A guest stands at the desk, and the manager takes him though nothing is free.
    pub async fn forced(&self, night: i32) {
        self.sold_out(night).await;
        let mut guest = self.app.wish("confirmed", night, night + 1);
        guest["source"] = json!("walk_in");
        let refused = self.anna("reservations", guest.clone()).await.expect(409);
        assert_eq!(refused["code"], "sold_out");
        guest["force"] = json!({"reason": "his train is gone", "allow": ["oversell"]});
        let path = format!("{LINDE}/reservations");
        let request = self.app.request(Method::POST, &path).json(&guest);
        let made = said(request.header("Keyrack-Actor", "Berta")).await;
        made.expect(201);
    }

    /// The case of a night, once its cause is known.
    pub async fn case(&self, night: i32) -> Value {
        let night = self.app.night(night).to_string();
        let list = format!("{LINDE}/overbooking-cases?limit=50");
        let found = until(|| async {
            let cases = self.app.get(&list).await.expect(200);
            let mut cases = cases["items"].as_array().cloned().unwrap_or_default();
            cases.retain(|case| case["nights"][0]["stay_date"] == night.as_str());
            cases.pop().filter(|case| case["cause"] != "undetermined")
        });
        let Some(found) = found.await else {
            let cases = self.app.get(&list).await.body;
            let sold = self.app.get(&format!("{LINDE}/reservations")).await.body;
            panic!("no case of {night} has a cause: {cases:#}, {sold:#}");
        };
        let path = format!("{LINDE}/overbooking-cases/{}", found["id"]);
        self.app.get(&path).await.expect(200)
    }

    /// Anna ends a case.
    pub async fn resolved(&self, case: &Value, body: Value) -> Value {
        let path = format!("overbooking-cases/{}/resolve", case["id"]);
        let ended = self.anna(&path, body.clone()).await.expect(200);
        assert_eq!(ended["status"], "closed", "{ended:#}");
        assert_eq!(ended["outcome"], body["ending"]);
        ended
    }
}

const LINDE: &str = "/v1/properties/linde";
