//! What can go wrong on the way to a channel, switched at run time.

use rand::Rng;
use serde::{Deserialize, Serialize};

/// The faults of one channel. The default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Faults {
    /// Waits before a message is dealt with.
    pub latency: Latency,
    /// Waits after it was dealt with, before the answer leaves.
    pub answer_latency: Latency,
    /// Deals with the message, then drops the connection.
    pub lost_answer: Chance,
    /// Delivers acknowledged reservations again.
    pub duplicate: Chance,
    /// Delivers in another order.
    pub reorder: Chance,
    /// Answers 401 and does nothing.
    pub unauthorized: Chance,
    /// Answers 429 and does nothing.
    pub too_many: Chance,
    /// What a 429 names in `Retry-After`, in seconds; absent if `None`.
    pub retry_after_seconds: Option<u32>,
    /// Answers 500 and does nothing.
    pub server_error: Chance,
    /// Takes only a part of the message and says so.
    pub partial: Chance,
    /// Says nothing for `hang_ms` and then drops the connection; does nothing.
    pub hang: Chance,
    pub hang_ms: u32,
    /// Deals with no message as long as this is set: they wait, and are dealt with once it is
    /// lifted. How a channel takes what it is told so late as a story needs it.
    pub held: bool,
    /// Only at endpoints whose name contains one of these; everywhere if empty.
    pub only: Vec<String>,
}

/// How often a fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Chance {
    #[default]
    Never,
    /// Of a hundred messages so many.
    Percent(u8),
    /// The next so many messages, each of them.
    Next(u32),
}

/// A wait in milliseconds: at least the first, at most the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Latency {
    pub min_ms: u32,
    pub max_ms: u32,
}

impl Latency {
    /// Always the same wait.
    pub fn fixed(ms: u32) -> Latency {
        Latency {
            min_ms: ms,
            max_ms: ms,
        }
    }

    fn draw(self, rng: &mut impl Rng) -> u32 {
        if self.max_ms > self.min_ms {
            rng.random_range(self.min_ms..=self.max_ms)
        } else {
            self.min_ms
        }
    }
}

impl Chance {
    fn draw(&mut self, rng: &mut impl Rng) -> bool {
        match self {
            Chance::Never => false,
            Chance::Percent(percent) => rng.random_range(0..100) < *percent,
            Chance::Next(left) => {
                let strikes = *left > 0;
                *left = left.saturating_sub(1);
                strikes
            }
        }
    }
}

/// What strikes one message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Struck {
    pub(crate) latency_ms: u32,
    pub(crate) answer_latency_ms: u32,
    pub(crate) instead: Option<Instead>,
    pub(crate) lose_answer: bool,
    pub(crate) duplicate: bool,
    pub(crate) reorder: bool,
    pub(crate) partial: bool,
}

/// What a client gets instead of having its message dealt with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Instead {
    Unauthorized,
    TooMany { retry_after_seconds: Option<u32> },
    ServerError,
    Hang { ms: u32 },
}

impl Faults {
    /// Draws what strikes a message at `endpoint`.
    pub(crate) fn draw(&mut self, endpoint: &str, rng: &mut impl Rng) -> Struck {
        if !self.strike_at(endpoint) {
            return Struck::default();
        }
        let delivers = endpoint.starts_with("GET ") || endpoint.contains("OTA_Read");
        let instead = self.instead(rng);
        let reaches = instead.is_none();
        Struck {
            latency_ms: self.latency.draw(rng),
            answer_latency_ms: self.answer_latency.draw(rng),
            instead,
            lose_answer: reaches && self.lost_answer.draw(rng),
            duplicate: reaches && delivers && self.duplicate.draw(rng),
            reorder: reaches && delivers && self.reorder.draw(rng),
            partial: reaches && !delivers && self.partial.draw(rng),
        }
    }

    /// Whether a message at `endpoint` still waits.
    pub(crate) fn hold(&self, endpoint: &str) -> bool {
        self.held && self.strike_at(endpoint)
    }

    fn strike_at(&self, endpoint: &str) -> bool {
        let names = |part: &String| endpoint.contains(part.as_str());
        self.only.is_empty() || self.only.iter().any(names)
    }

    fn instead(&mut self, rng: &mut impl Rng) -> Option<Instead> {
        if self.hang.draw(rng) {
            return Some(Instead::Hang { ms: self.hang_ms });
        }
        if self.unauthorized.draw(rng) {
            return Some(Instead::Unauthorized);
        }
        if self.too_many.draw(rng) {
            return Some(Instead::TooMany {
                retry_after_seconds: self.retry_after_seconds,
            });
        }
        self.server_error.draw(rng).then_some(Instead::ServerError)
    }
}

impl Struck {
    /// The fault's name for the journal.
    pub(crate) fn name(&self) -> Option<String> {
        let name = match self.instead {
            Some(Instead::Unauthorized) => "unauthorized",
            Some(Instead::TooMany { .. }) => "too_many",
            Some(Instead::ServerError) => "server_error",
            Some(Instead::Hang { .. }) => "hang",
            None if self.lose_answer => "lost_answer",
            None if self.partial => "partial",
            None if self.duplicate => "duplicate",
            None if self.reorder => "reorder",
            None => return None,
        };
        Some(name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    #[test]
    fn the_next_two_messages_fail_and_the_third_arrives() {
        let mut rng = SmallRng::seed_from_u64(1);
        let mut faults = Faults {
            server_error: Chance::Next(2),
            only: vec!["Avail".to_owned()],
            ..Faults::default()
        };
        let mut draw = |endpoint| faults.draw(endpoint, &mut rng).instead;
        assert_eq!(draw("GET OTA_HotelResNotif"), None);
        assert_eq!(draw("OTA_HotelAvailNotif"), Some(Instead::ServerError));
        assert_eq!(draw("OTA_HotelAvailNotif"), Some(Instead::ServerError));
        assert_eq!(draw("OTA_HotelAvailNotif"), None);
    }

    #[test]
    fn only_what_it_names_is_held() {
        let faults = Faults {
            held: true,
            only: vec!["Avail".to_owned()],
            ..Faults::default()
        };
        assert!(faults.hold("OTA_HotelAvailNotif"));
        assert!(!faults.hold("GET OTA_HotelResNotif"));
        assert!(!Faults::default().hold("OTA_HotelAvailNotif"));
    }

    #[test]
    fn percentages_are_of_a_hundred() {
        let mut rng = SmallRng::seed_from_u64(1);
        let struck =
            |mut chance: Chance, rng: &mut SmallRng| (0..1000).filter(|_| chance.draw(rng)).count();
        assert_eq!(struck(Chance::Percent(0), &mut rng), 0);
        assert_eq!(struck(Chance::Percent(100), &mut rng), 1000);
        assert!((200..400).contains(&struck(Chance::Percent(30), &mut rng)));
    }
}
