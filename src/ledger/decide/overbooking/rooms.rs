//! Rooms of a hotel over some nights, as a way out asks for them.

use std::collections::BTreeMap;

use keyrack_model::id::RoomTypeId;
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::{StayDate, StayRange};

use crate::decide::revise::{Parts, TypeNight};

/// A room type of a hotel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFacts {
    /// Its id.
    pub id: RoomTypeId,
    /// Its code.
    pub code: String,
    /// Adults, children, guests at most.
    pub heads_max: (i32, i32, i32),
    /// The plain types that one unit takes.
    pub parts: Parts,
}

/// Rooms of a hotel: its types and their nights.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rooms {
    /// Its types.
    pub types: Vec<TypeFacts>,
    /// The nights of its plain types.
    pub nights: BTreeMap<TypeNight, NightBalance>,
}

impl TypeFacts {
    /// Whether so many adults and children fit. Of those who are not known as many may come as the
    /// type that they have booked takes.
    pub fn fits(&self, heads: Option<(i32, i32)>, booked: Option<&TypeFacts>) -> bool {
        let (adults_max, children_max, total_max) = self.heads_max;
        match (heads, booked) {
            (Some((adults, children)), _) => {
                adults <= adults_max && children <= children_max && adults + children <= total_max
            }
            (None, Some(booked)) => {
                let (adults, children, total) = booked.heads_max;
                adults <= adults_max && children <= children_max && total <= total_max
            }
            (None, None) => true,
        }
    }

    /// Whether it takes fewer guests than another.
    pub fn is_smaller_than(&self, other: &TypeFacts) -> bool {
        self.heads_max.2 < other.heads_max.2
    }
}

impl Rooms {
    /// The type that is sold as these rooms alone.
    pub fn plain(&self, room_type: RoomTypeId) -> Option<&TypeFacts> {
        let own = vec![(room_type, 1)];
        self.types.iter().find(|kind| kind.parts == own)
    }

    /// Rooms of a type that nobody has on any of the nights; never what is only meant to be sold.
    pub fn free(&self, parts: &Parts, nights: StayRange) -> i32 {
        let on = |night: StayDate, part: &(RoomTypeId, i32)| {
            let balance = self.nights.get(&(part.0, night)).copied();
            let balance = balance.unwrap_or_default();
            let taken = balance.sold + balance.held + balance.allotted;
            (balance.usable() - taken).div_euclid(part.1.max(1))
        };
        let each = |night| parts.iter().map(move |part| on(night, part)).min();
        nights.nights().filter_map(each).min().unwrap_or(0).max(0)
    }

    /// The same with rooms sold or let go.
    pub fn shift(&mut self, room_type: RoomTypeId, nights: StayRange, quantity: i32) {
        for night in nights.nights() {
            if let Some(balance) = self.nights.get_mut(&(room_type, night)) {
                balance.sold += quantity;
            }
        }
    }
}
