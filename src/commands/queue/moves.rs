//! Who is moved where, as it is written at a shell.

use anyhow::{Context as _, Result};
use clap::Args;
use serde_json::{Value, json};

use crate::table::{items, said};

/// Who is moved.
#[derive(Debug, Args)]
pub struct Moves {
    /// Number or id of a reservation that is moved, with the room type that it gets: `1003=SGL`;
    /// of a walk without one. `1003/2=SGL` is the second of its rooms. May be given several times.
    #[arg(long = "guest", value_name = "NUMBER[=CODE]")]
    guests: Vec<String>,
    /// Where the guests sleep instead, in words: of a walk, or what the channel has found.
    #[arg(long, value_name = "TEXT")]
    elsewhere: Option<String>,
    /// Code of the sister property that takes them.
    #[arg(long, value_name = "CODE")]
    sister: Option<String>,
}

impl Moves {
    /// Nobody is named.
    pub fn is_empty(&self) -> bool {
        self.guests.is_empty()
    }

    /// As the API takes them. Of reservations of the case the version is sent along that was read:
    /// they are moved only as they were.
    pub fn of(&self, case: &Value) -> Result<Vec<Value>> {
        let one = |told: &String| self.one(told, case);
        self.guests.iter().map(one).collect()
    }

    fn one(&self, told: &str, case: &Value) -> Result<Value> {
        let (who, room_type) = match told.split_once('=') {
            Some((who, room_type)) => (who, Some(room_type)),
            None => (told, None),
        };
        let (who, room) = match who.split_once('/') {
            Some((who, room)) => {
                let room = room.parse::<i32>();
                let room = room.with_context(|| format!("{told}: after / stands a number"))?;
                (who, Some(room))
            }
            None => (who, None),
        };
        let is_it = |one: &&Value| one["number"] == who || one["reservation"] == who;
        let known = items(&case["ranked"]).iter().find(is_it);
        let mut body = match known {
            Some(one) => json!({ "reservation": one["reservation"], "version": one["version"] }),
            // Somebody of another room type may change places with them.
            None => {
                let id: uuid::Uuid = who.parse().ok().with_context(|| {
                    format!(
                        "{who} is no number among the guests of this case; of others give the id \
                         of the reservation"
                    )
                })?;
                json!({ "reservation": id })
            }
        };
        let more = [
            ("room_stay_id", room.map(|room| json!(room))),
            ("room_type", room_type.map(|code| json!(code))),
            ("elsewhere", self.elsewhere.as_ref().map(|text| json!(text))),
            ("property", self.sister.as_ref().map(|code| json!(code))),
        ];
        for (field, told) in more {
            if let Some(told) = told {
                body[field] = told;
            }
        }
        Ok(body)
    }

    /// Adds where guests sleep instead to moves that the API itself proposed.
    pub fn completed(&self, mut moves: Value) -> Value {
        if let (Some(elsewhere), Some(all)) = (&self.elsewhere, moves.as_array_mut()) {
            for one in all {
                one["elsewhere"] = json!(elsewhere);
            }
        }
        moves
    }
}

/// An amount as money: in the property's currency, unless another stands behind it.
pub fn money(told: &str, hotel: &Value) -> Value {
    match told.trim().split_once(' ') {
        Some((amount, currency)) => json!({ "amount": amount, "currency": currency.trim() }),
        None => json!({ "amount": told.trim(), "currency": said(&hotel["currency"]) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guest_is_named_by_number_with_room_and_type() {
        let case = json!({"ranked": [{"number": "1003", "reservation": "an-id", "version": 4}]});
        let moves = |guest: &str, sister: Option<&str>| Moves {
            guests: vec![guest.to_owned()],
            elsewhere: None,
            sister: sister.map(str::to_owned),
        };
        let one = moves("1003/2=SGL", None).of(&case).unwrap();
        let all = json!({"reservation": "an-id", "version": 4, "room_stay_id": 2,
                         "room_type": "SGL"});
        assert_eq!(one, [all]);
        let sent = moves("1003=DBL", Some("adler")).of(&case).unwrap();
        assert_eq!(sent[0]["property"], "adler");
        let id = "0190c6ca-0000-7000-8000-000000000000";
        assert_eq!(moves(id, None).of(&case).unwrap()[0]["reservation"], id);
        for wrong in ["1004", "1003/x", ""] {
            assert!(moves(wrong, None).of(&case).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_amount_is_of_the_property_unless_it_says_otherwise() {
        let hotel = json!({"currency": "EUR"});
        let euro = json!({"amount": "150.00", "currency": "EUR"});
        assert_eq!(money("150.00", &hotel), euro);
        assert_eq!(
            money("1 USD", &hotel),
            json!({"amount": "1", "currency": "USD"})
        );
    }
}
