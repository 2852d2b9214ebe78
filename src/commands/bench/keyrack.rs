//! Our ledger as a contender: the daemon's own crate, not a copy.

use std::sync::Arc;

use anyhow::{Context, Result};
use keyrack_ledger::command::{Asked, By, Command, HoldEnd, Wish, WishedRoom};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::settings::Settings;
use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use keyrack_model::reservation::Source;
use keyrack_model::stay::{Stay, plus_days};
use uuid::Uuid;

use super::contender::{Ask, Contender, Held, NIGHTS};
use super::ground::{FIRST, Ground};

pub struct Ours {
    ledger: Ledger,
    hotels: Vec<(i64, Vec<i64>)>,
    by: Arc<By>,
}

pub async fn open(ground: &Ground) -> Result<Ours> {
    let ledger = Ledger::open(ground.options.clone(), Settings::default()).await?;
    let by = Arc::new(By {
        actor: "key:1".to_owned(),
        request_id: None,
    });
    Ok(Ours {
        ledger,
        hotels: ground.hotels.clone(),
        by,
    })
}

impl Ours {
    pub async fn close(&self) {
        self.ledger.close().await;
    }

    async fn held(&self, ask: Ask) -> Result<bool> {
        let (property, types) = &self.hotels[ask.property];
        let arrival = plus_days(FIRST, ask.from);
        let stay = Stay::new(arrival, plus_days(arrival, NIGHTS)).context("a stay")?;
        let room = WishedRoom {
            room_stay: None,
            room_type: RoomTypeId(types[ask.room_type]),
            rate_plan: None,
            stay,
            quantity: 1,
            price: None,
            adults: Some(2),
            children_ages: Vec::new(),
            guest_name: None,
        };
        let wish = Wish {
            reservation: ReservationId(Uuid::now_v7()),
            hold: Some(HoldEnd::Default),
            source: Source::Web,
            rooms: vec![room],
            guest: None,
            note: None,
            owner_id: None,
            payment_reference: None,
            channel: None,
            guaranteed: false,
            force: None,
        };
        let command = Command::Request(Box::new(wish));
        let asked = Asked::new(PropertyId(*property), Arc::clone(&self.by), command);
        match self.ledger.ask(asked).await? {
            Ok(_) => Ok(true),
            Err(Refusal::SoldOut(_)) => Ok(false),
            Err(other) => anyhow::bail!("refused: {}", other.code()),
        }
    }
}

impl Contender for Ours {
    fn hold(&self, ask: Ask) -> Held<'_> {
        Box::pin(self.held(ask))
    }

    fn name(&self) -> &'static str {
        "keyrack"
    }
}
