//! Identifiers: bigints inside, codes outside.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

macro_rules! internal_id {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {$(
        $(#[$doc])*
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
        )]
        #[serde(transparent)]
        pub struct $name(pub i64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )+};
}

internal_id!(
    /// One hotel under one time zone and currency. Never shown outside.
    PropertyId,
    /// A class of interchangeable rooms; unique within its property.
    RoomTypeId,
    /// A product: price rule, meal plan, conditions; unique within its property.
    RatePlanId,
    /// A physical room with a number; unique within its property.
    RoomId,
    /// One property's listing at a channel; unique over all properties.
    AccountId,
    /// One login at a channel, for one property or many.
    ConnectionId,
    /// Rooms kept for one account or one group by agreement; unique over all properties.
    AllotmentId,
    /// Guests who come together, under one name; unique over all properties.
    GroupId,
    /// A rule that switches the pool of an account; unique over all properties.
    PoolRuleId,
    /// An entry of the overbooking-resolution queue.
    CaseId,
    /// A raw message of a channel.
    MessageId,
);

/// A reservation, shown outside; a UUIDv7, so that neighbours in time are neighbours in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReservationId(pub Uuid);

impl fmt::Display for ReservationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A room of a reservation: 1, 2, 3 … within it, never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RoomStayId(pub i32);

impl fmt::Display for RoomStayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The outside name of a property, room type, room, rate plan, account, connection or webhook.
///
/// Invariant: 1 to 40 characters out of `[A-Za-z0-9._-]`, held by [`Code::new`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Code(String);

impl Code {
    /// `None` where the text is no code.
    pub fn new(text: &str) -> Option<Self> {
        let fits = (1..=40).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        fits.then(|| Self(text.to_owned()))
    }

    /// The stricter form that properties have: `[a-z0-9-]{2,40}`.
    pub fn property(text: &str) -> Option<Self> {
        let fits = (2..=40).contains(&text.len())
            && text
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        fits.then(|| Self(text.to_owned()))
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| {
            serde::de::Error::custom("a code is 1 to 40 of the characters A-Z a-z 0-9 . _ -")
        })
    }
}

/// A kind of counterparty with its dialect, such as `booking_com`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ChannelCode(Cow<'static, str>);

impl ChannelCode {
    /// A code known when the program is built.
    pub const fn new(code: &'static str) -> Self {
        Self(Cow::Borrowed(code))
    }

    /// The code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for ChannelCode {
    fn from(code: String) -> Self {
        Self(Cow::Owned(code))
    }
}

impl fmt::Display for ChannelCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_is_named_in_small_letters_digits_and_dashes() {
        assert!(Code::property("seehof-2").is_some());
        for wrong in ["s", "Seehof", "see hof", "see_hof", &"x".repeat(41)] {
            assert!(Code::property(wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn a_code_holds_no_blank_and_no_slash() {
        assert!(Code::new("DBL.sea_view-2").is_some());
        for wrong in ["", "a b", "a/b", "ä"] {
            assert!(Code::new(wrong).is_none(), "{wrong}");
        }
    }
}
