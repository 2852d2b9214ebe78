//! Our ledger as a contender: the daemon's own crate, not a copy.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, anyhow};
use keyrack_ledger::command::{
    Asked, By, Command, HoldEnd, Modification, Receipt, Wish, WishedRoom,
};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::settings::Settings;
use keyrack_model::id::{PropertyId, ReservationId, RoomStayId, RoomTypeId};
use keyrack_model::reservation::Source;
use keyrack_model::stay::{Stay, plus_days};
use uuid::Uuid;

use super::contender::{Ask, Contender, NIGHTS, Said, Taken};
use super::ground::{FIRST, Ground};

/// So many daemons on one database; callers ask one after the other.
pub struct Ours {
    ledgers: Vec<Ledger>,
    turn: AtomicUsize,
    hotels: Vec<(i64, Vec<i64>)>,
    by: Arc<By>,
}

pub async fn open(ground: &Ground, daemons: usize) -> Result<Ours> {
    let mut ledgers = Vec::new();
    for _ in 0..daemons {
        ledgers.push(Ledger::open(ground.options.clone(), Settings::default()).await?);
    }
    Ok(of(ground, ledgers))
}

/// Ledgers that are open already.
pub fn of(ground: &Ground, ledgers: Vec<Ledger>) -> Ours {
    let by = Arc::new(By {
        actor: "key:1".to_owned(),
        request_id: None,
    });
    Ours {
        ledgers,
        turn: AtomicUsize::new(0),
        hotels: ground.hotels.clone(),
        by,
    }
}

impl Ours {
    pub async fn close(&self) {
        for ledger in &self.ledgers {
            ledger.close().await;
        }
    }

    async fn ask(&self, property: usize, command: Command) -> Result<Result<Receipt, Refusal>> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let property = PropertyId(self.hotels[property].0);
        let asked = Asked::new(property, Arc::clone(&self.by), command);
        Ok(self.ledgers[turn % self.ledgers.len()].ask(asked).await?)
    }

    /// A command that must succeed.
    async fn done(&self, property: usize, command: Command) -> Result<Receipt> {
        let answer = self.ask(property, command).await?;
        answer.map_err(|refusal| anyhow!("refused: {}", refusal.code()))
    }

    fn room(&self, ask: Ask, room_stay: Option<RoomStayId>) -> Result<WishedRoom> {
        let arrival = plus_days(FIRST, ask.from);
        Ok(WishedRoom {
            room_stay,
            room_type: RoomTypeId(self.hotels[ask.property].1[ask.room_type]),
            rate_plan: None,
            stay: Stay::new(arrival, plus_days(arrival, NIGHTS)).context("a stay")?,
            quantity: 1,
            price: None,
            adults: Some(2),
            children_ages: Vec::new(),
            guest_name: None,
            allotment: None,
        })
    }

    async fn held(&self, ask: Ask) -> Result<Option<Taken>> {
        let id = Uuid::now_v7();
        let wish = Wish {
            reservation: ReservationId(id),
            hold: Some(HoldEnd::Default),
            source: Source::Web,
            rooms: vec![self.room(ask, None)?],
            guest: None,
            note: None,
            owner_id: None,
            payment_reference: None,
            channel: None,
            guaranteed: false,
            force: None,
        };
        let command = Command::Request(Box::new(wish));
        match self.ask(ask.property, command).await? {
            Ok(_) => Ok(Some(Taken {
                ask,
                id,
                version: 1,
                is_confirmed: false,
            })),
            Err(Refusal::SoldOut(_)) => Ok(None),
            Err(other) => Err(anyhow!("refused: {}", other.code())),
        }
    }

    async fn confirmed(&self, taken: Taken) -> Result<Taken> {
        let command = Command::Confirm {
            reservation: ReservationId(taken.id),
            payment_reference: None,
            version: None,
        };
        self.done(taken.ask.property, command).await?;
        Ok(Taken {
            version: taken.version + 1,
            is_confirmed: true,
            ..taken
        })
    }

    async fn cancelled(&self, taken: Taken) -> Result<()> {
        let command = Command::Cancel {
            reservation: ReservationId(taken.id),
            reason: None,
            told_channel: false,
            version: None,
        };
        self.done(taken.ask.property, command).await.map(drop)
    }

    async fn shifted(&self, taken: Taken, from: i32) -> Result<Taken> {
        let ask = Ask { from, ..taken.ask };
        let change = Modification {
            reservation: ReservationId(taken.id),
            version: taken.version,
            rooms: Some(vec![self.room(ask, Some(RoomStayId(1)))?]),
            guest: None,
            note: None,
            told_channel: false,
            force: None,
        };
        let command = Command::Modify(Box::new(change));
        self.done(ask.property, command).await?;
        Ok(Taken {
            ask,
            version: taken.version + 1,
            ..taken
        })
    }
}

impl Contender for Ours {
    fn name(&self) -> &'static str {
        "keyrack"
    }

    fn table(&self) -> &'static str {
        "reservation"
    }

    fn begin(&self) {
        self.ledgers.iter().for_each(Ledger::forget_rows);
    }

    fn hold(&self, ask: Ask) -> Said<'_, Option<Taken>> {
        Box::pin(self.held(ask))
    }

    fn confirm(&self, taken: Taken) -> Said<'_, Taken> {
        Box::pin(self.confirmed(taken))
    }

    fn cancel(&self, taken: Taken) -> Said<'_, ()> {
        Box::pin(self.cancelled(taken))
    }

    fn shift(&self, taken: Taken, from: i32) -> Said<'_, Taken> {
        Box::pin(self.shifted(taken, from))
    }
}
