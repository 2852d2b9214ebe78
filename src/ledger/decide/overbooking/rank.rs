//! Who of the guests of an oversold night is moved: by the property's policy, with the reason.

use std::cmp::Ordering;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use keyrack_model::stay::StayDate;

use super::policy::{OverbookingPolicy, RankKey};

/// A reservation on an oversold night, as far as the ranking asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concerned {
    /// Its short number.
    pub number: i64,
    /// When the guest booked; else when we heard.
    pub received_at: Timestamp,
    /// Code of the account that it came through; `None` is the hotel's own sale.
    pub account: Option<String>,
    /// Prepaid or guaranteed.
    pub guaranteed: bool,
    /// A VIP by his rate plan.
    pub is_vip: bool,
    /// The guest is in the house: he is moved last, whatever the policy says.
    pub in_house: bool,
    /// First night.
    pub arrival: StayDate,
    /// Nights.
    pub nights: i32,
}

/// Places of the concerned, who is to move first coming first, each with the reason of his place.
/// Times are told in the hotel's zone.
pub fn rank(
    policy: &OverbookingPolicy,
    zone: &TimeZone,
    concerned: &[Concerned],
) -> Vec<(usize, String)> {
    let mut places: Vec<usize> = (0..concerned.len()).collect();
    places.sort_by(|a, b| {
        let (one, other) = (&concerned[*a], &concerned[*b]);
        first_difference(policy, one, other).0
    });
    let reason = |at: usize| {
        let this = &concerned[places[at]];
        match places.get(at + 1) {
            Some(next) => {
                let next = &concerned[*next];
                let why = why(policy, zone, (this, next));
                format!("This guest goes before {}: {why}.", next.number)
            }
            None if at == 0 => "Nobody else sleeps on these nights.".to_owned(),
            None => "This guest is moved last.".to_owned(),
        }
    };
    let reasons: Vec<String> = (0..places.len()).map(reason).collect();
    places.into_iter().zip(reasons).collect()
}

/// What decides between two, and which key it was; the one who was received last where nothing
/// else does.
fn first_difference(
    policy: &OverbookingPolicy,
    one: &Concerned,
    other: &Concerned,
) -> (Ordering, Decided) {
    let house = one.in_house.cmp(&other.in_house);
    if house != Ordering::Equal {
        return (house, Decided::InHouse);
    }
    for key in &policy.rank {
        let found = by(policy, *key, one, other);
        if found != Ordering::Equal {
            return (found, Decided::By(*key));
        }
    }
    let received = other.received_at.cmp(&one.received_at);
    let number = other.number.cmp(&one.number);
    (received.then(number), Decided::By(RankKey::Received))
}

enum Decided {
    InHouse,
    By(RankKey),
}

fn by(policy: &OverbookingPolicy, key: RankKey, one: &Concerned, other: &Concerned) -> Ordering {
    match key {
        RankKey::Received => other.received_at.cmp(&one.received_at),
        RankKey::ChannelPriority => {
            let place = |guest: &Concerned| place_of(policy, guest.account.as_deref());
            place(other).cmp(&place(one))
        }
        RankKey::Guaranteed => one.guaranteed.cmp(&other.guaranteed),
        RankKey::LengthOfStay => one.nights.cmp(&other.nights),
        RankKey::Vip => one.is_vip.cmp(&other.is_vip),
    }
}

/// How far down the list of the most important an account stands; one that is not named comes last.
fn place_of(policy: &OverbookingPolicy, account: Option<&str>) -> usize {
    let name = account.unwrap_or(DIRECT);
    let place = policy.channel_priority.iter().position(|code| code == name);
    place.unwrap_or(policy.channel_priority.len())
}

fn why(
    policy: &OverbookingPolicy,
    zone: &TimeZone,
    (this, next): (&Concerned, &Concerned),
) -> String {
    let at = |at: Timestamp| at.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S");
    let name = |guest: &Concerned| guest.account.clone().unwrap_or_else(|| DIRECT.to_owned());
    match first_difference(policy, this, next).1 {
        Decided::InHouse => "that guest is in the house already".to_owned(),
        Decided::By(RankKey::Received) if this.received_at == next.received_at => {
            "the same in all that counts, and the later number".to_owned()
        }
        Decided::By(RankKey::Received) => {
            let (one, other) = (at(this.received_at), at(next.received_at));
            let (one, other) = (one.to_string(), other.to_string());
            match one == other {
                true => format!("received a moment later, in the second of {one}"),
                false => format!("received later ({one}, the other {other})"),
            }
        }
        Decided::By(RankKey::ChannelPriority) => {
            format!("{} comes after {} by the policy", name(this), name(next))
        }
        Decided::By(RankKey::Guaranteed) => {
            "neither paid nor guaranteed, and the other is".to_owned()
        }
        Decided::By(RankKey::LengthOfStay) => format!(
            "stays fewer nights ({}, the other {})",
            this.nights, next.nights
        ),
        Decided::By(RankKey::Vip) => "the other is a VIP".to_owned(),
    }
}

/// The hotel's own sales in `channel_priority`.
const DIRECT: &str = "direct";

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn guest(number: i64) -> Concerned {
        Concerned {
            number,
            received_at: Timestamp::from_second(number).expect("an instant"),
            account: None,
            guaranteed: false,
            is_vip: false,
            in_house: false,
            arrival: date(2030, 3, 1),
            nights: 2,
        }
    }

    fn order(rank_by: &[RankKey], concerned: &[Concerned]) -> Vec<i64> {
        let policy = OverbookingPolicy {
            rank: rank_by.to_vec(),
            channel_priority: ["direct", "big"].map(str::to_owned).to_vec(),
            ..OverbookingPolicy::default()
        };
        let ranked = rank(&policy, &TimeZone::UTC, concerned).into_iter();
        ranked.map(|(at, _)| concerned[at].number).collect()
    }

    /// What is tried, by which keys, of whom, and in which order they are moved.
    type Line = (&'static str, Vec<RankKey>, Vec<Concerned>, [i64; 3]);

    #[test]
    fn the_one_to_move_is_a_rule() {
        use RankKey::{ChannelPriority, Guaranteed, LengthOfStay, Received, Vip};
        let through = |number, account: &str| Concerned {
            account: Some(account.to_owned()),
            ..guest(number)
        };
        let with = |change: fn(&mut Concerned)| {
            let mut third = guest(3);
            change(&mut third);
            third
        };
        let paid = with(|guest| guest.guaranteed = true);
        let long = with(|guest| guest.nights = 9);
        let vip = with(|guest| guest.is_vip = true);
        let here = with(|guest| guest.in_house = true);
        let (one, two) = (guest(1), guest(2));
        let cases: [Line; 8] = [
            (
                "received last goes first",
                vec![Received],
                vec![one.clone(), two.clone(), guest(3)],
                [3, 2, 1],
            ),
            (
                "paid stays",
                vec![Guaranteed],
                vec![one.clone(), two.clone(), paid.clone()],
                [2, 1, 3],
            ),
            (
                "a long stay stays",
                vec![LengthOfStay],
                vec![one.clone(), two.clone(), long],
                [2, 1, 3],
            ),
            (
                "a VIP stays",
                vec![Vip],
                vec![one.clone(), two.clone(), vip],
                [2, 1, 3],
            ),
            (
                "who is in the house stays, whatever the policy",
                vec![Received],
                vec![one.clone(), two.clone(), here],
                [2, 1, 3],
            ),
            (
                "the least important channel goes first, unnamed ones before all",
                vec![ChannelPriority],
                vec![guest(1), through(2, "big"), through(3, "odd")],
                [3, 2, 1],
            ),
            (
                "the keys in their order",
                vec![Guaranteed, Received],
                vec![paid, one.clone(), two.clone()],
                [2, 1, 3],
            ),
            (
                "without a policy the last received goes",
                vec![],
                vec![two, guest(3), one],
                [3, 2, 1],
            ),
        ];
        for (name, keys, concerned, expected) in cases {
            assert_eq!(order(&keys, &concerned), expected, "{name}");
        }
    }

    #[test]
    fn each_place_has_its_reason() {
        let policy = OverbookingPolicy::default();
        let paid = Concerned {
            guaranteed: true,
            ..guest(1003)
        };
        let ranked = rank(&policy, &TimeZone::UTC, &[guest(1001), guest(1002), paid]);
        let reasons: Vec<&str> = ranked.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(
            reasons,
            [
                "This guest goes before 1001: received later (1970-01-01 00:16:42, the other \
                 1970-01-01 00:16:41).",
                "This guest goes before 1003: neither paid nor guaranteed, and the other is.",
                "This guest is moved last."
            ]
        );
    }
}
