//! Which list it is: the same one under the same key knows its own reservations again.

use keyrack_ledger::command::Idempotency;
use keyrack_model::id::ReservationId;
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// A list, by how a repeat of it is known.
pub struct List(pub Idempotency);

impl List {
    /// The reservation that a line becomes, where the list was first taken at the instant of
    /// `begun`, which is any of them.
    pub fn id_of(&self, begun: Uuid, line: u64) -> ReservationId {
        let mut hash = Sha256::new();
        for part in [&self.0.scope, &self.0.key, &self.0.fingerprint] {
            hash.update(part.as_bytes());
            hash.update(b"\n");
        }
        hash.update(line.to_be_bytes());
        let mut bytes = [0; 10];
        bytes.copy_from_slice(&hash.finalize()[..10]);
        let millis = u64::try_from(begun.as_u128() >> 80).unwrap_or(0);
        let id = uuid::Builder::from_unix_timestamp_millis(millis, &bytes);
        ReservationId(id.into_uuid())
    }

    /// Whether a reservation was made of this line, by this list under this key.
    pub fn made(&self, id: ReservationId, line: u64) -> bool {
        self.id_of(id.0, line) == id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_knows_its_own_reservations_by_key_text_and_line() {
        let list = |key: &str, text: &str| {
            List(Idempotency {
                scope: "key:1 POST /rooming-list".to_owned(),
                key: key.to_owned(),
                fingerprint: text.to_owned(),
            })
        };
        let one = list("a", "text");
        let made = one.id_of(Uuid::now_v7(), 2);
        assert!(list("a", "text").made(made, 2));
        assert!(!one.made(made, 3));
        assert!(!list("b", "text").made(made, 2));
        assert!(!list("a", "other").made(made, 2));
    }
}
