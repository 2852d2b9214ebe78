//! What a contender must be able to do, and the shapes of the load.

use std::future::Future;
use std::pin::Pin;

use anyhow::Result;

/// What callers ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Three nights somewhere in 20 properties of 10 room types and 365 nights.
    Spread,
    /// The same three nights for everybody; the rooms never end.
    Hot,
    /// The same three nights for everybody; there are none left.
    SoldOut,
}

/// A hold that is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Ask {
    /// Index of the property.
    pub property: usize,
    /// Index of the room type within it.
    pub room_type: usize,
    /// First night, counted from the first of the ground.
    pub from: i32,
}

/// Nights of each hold.
pub const NIGHTS: i32 = 3;

/// The answer to one hold: taken or refused.
pub type Held<'a> = Pin<Box<dyn Future<Output = Result<bool>> + Send + 'a>>;

/// One way of keeping a ledger.
pub trait Contender: Sync {
    /// Asks for a hold of [`NIGHTS`] nights.
    fn hold(&self, ask: Ask) -> Held<'_>;
    /// What it is called in the table.
    fn name(&self) -> &'static str;
}
