//! What a contender must be able to do, and the shapes of the load.

use std::future::Future;
use std::pin::Pin;

use anyhow::{Result, bail};
use uuid::Uuid;

/// What callers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Three nights somewhere in 20 properties of 10 room types and 365 nights.
    Spread,
    /// The same three nights for everybody; the rooms never end.
    Hot,
    /// The same three nights for everybody; there are none left.
    SoldOut,
    /// Spread: of a hundred commands 60 hold, 25 confirm, 10 cancel and 5 move a stay by a night.
    Mixed,
}

/// A hold that is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Index of the property.
    pub property: usize,
    /// Index of the room type within it.
    pub room_type: usize,
    /// First night, counted from the first of the ground.
    pub from: i32,
}

/// A reservation as its caller knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What was asked for.
    pub ask: Ask,
    /// Its id.
    pub id: Uuid,
    /// Its version.
    pub version: i64,
    /// Confirmed, or held.
    pub is_confirmed: bool,
}

/// Nights of each hold.
pub const NIGHTS: i32 = 3;

/// The answer to a command.
pub type Said<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// One way of keeping a ledger.
pub trait Contender: Send + Sync {
    /// What it is called in the table.
    fn name(&self) -> &'static str;
    /// The table that has a row for each accepted hold.
    fn table(&self) -> &'static str;
    /// The ground was emptied behind its back.
    fn begin(&self) {}
    /// Asks for a hold of [`NIGHTS`] nights; `None` where there is no room.
    fn hold(&self, ask: Ask) -> Said<'_, Option<Taken>>;
    /// Makes a hold a stay.
    fn confirm(&self, _: Taken) -> Said<'_, Taken> {
        Box::pin(async { bail!("it takes no part in this load") })
    }
    /// Gives the rooms back.
    fn cancel(&self, _: Taken) -> Said<'_, ()> {
        Box::pin(async { bail!("it takes no part in this load") })
    }
    /// Moves the stay to begin on another night.
    fn shift(&self, _: Taken, _from: i32) -> Said<'_, Taken> {
        Box::pin(async { bail!("it takes no part in this load") })
    }
}
