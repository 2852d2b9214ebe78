//! The rules alone, by chance: thousands of commands on paper, and after each the books of
//! allotments are made up anew from what reservations remember and from the lines written so far.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::civil::{date, time};
use jiff::tz::TimeZone;
use keyrack_ledger::command::{Answer, Asked, Command, Forced, Wish};
use keyrack_ledger::decide::all;
use keyrack_ledger::decide::allotment::{Allotment, Owner, Pools};
use keyrack_ledger::decide::allotting::SeenAllotment;
use keyrack_ledger::decide::changes::Changes;
use keyrack_ledger::decide::draft::{Draft, Night, Seen};
use keyrack_ledger::decide::pool_rule::{PoolRule, Scarcity};
use keyrack_ledger::decide::refusal::Force;
use keyrack_ledger::decide::rules::{Policies, Rules, TypeRules};
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::allotment::Release;
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{
    AccountId, AllotmentId, GroupId, PoolRuleId, PropertyId, ReservationId, RoomTypeId,
};
use keyrack_model::inventory::{NightBalance, Pool};
use keyrack_model::money::Currency;
use keyrack_model::stay::{StayDate, Weekdays, plus_days};

use super::allotment_chance::Dice;

pub const HOTEL: PropertyId = PropertyId(1);
pub const DOUBLE: RoomTypeId = RoomTypeId(1);
pub const SUITE: RoomTypeId = RoomTypeId(2);
pub const PORTAL: AccountId = AccountId(1);
/// Two of the portal's, and a group's.
pub const ALLOTMENTS: [AllotmentId; 3] = [AllotmentId(1), AllotmentId(2), AllotmentId(3)];
const SCARCE: Scarcity = Scarcity {
    at_most: 2,
    again_at: 4,
};

pub fn night(offset: i32) -> StayDate {
    plus_days(date(2030, 5, 6), offset)
}

/// Counts by allotment, or by type and night, from lines alone.
#[derive(Default)]
struct Proof {
    nights: BTreeMap<(RoomTypeId, StayDate), NightBalance>,
    allotments: BTreeMap<(AllotmentId, StayDate), (i32, i32, i32)>,
}

impl Proof {
    fn add(&mut self, changes: &Changes) {
        for moved in changes.entries.iter().filter_map(|entry| entry.moved) {
            for night in moved.nights.nights() {
                let sum = self.nights.entry((moved.room_type, night)).or_default();
                for (pool, rooms) in [(moved.from, -moved.quantity), (moved.to, moved.quantity)] {
                    match pool {
                        Pool::Allotted => sum.allotted += rooms,
                        Pool::Held => sum.held += rooms,
                        Pool::Sold => sum.sold += rooms,
                        Pool::OutOfOrder => sum.out_of_order += rooms,
                        Pool::Limit => sum.overbooking_limit -= rooms,
                        Pool::Outside | Pool::Free => {}
                    }
                }
            }
        }
        for entry in &changes.allotments.entries {
            for night in entry.nights.nights() {
                let sum = self.allotments.entry((entry.allotment, night));
                let sum = sum.or_default();
                sum.0 += entry.by.agreed;
                sum.1 += entry.by.taken;
                sum.2 += entry.by.released;
            }
        }
    }
}

/// Allotments of the portal and of a group, and a rule that turns with what is free.
fn rules() -> Rules {
    let one = |rooms| TypeRules {
        rooms,
        ..TypeRules::default()
    };
    let allotment = |id: AllotmentId| Allotment {
        code: format!("a{id}"),
        owner: match id.0 {
            3 => Owner::Group(GroupId(1)),
            _ => Owner::Account(PORTAL),
        },
        room_type: DOUBLE,
        release: Release::default(),
        group_cut_off: None,
        is_orphan: false,
        version: 1,
    };
    let scarce = PoolRule {
        account: PORTAL,
        room_type: None,
        nights: None,
        weekdays: Weekdays::ALL,
        mode: PoolMode::Allotment,
        scarcity: Some(SCARCE),
    };
    Rules {
        property: HOTEL,
        version: 1,
        zone: TimeZone::get("Europe/Berlin").expect("a zone"),
        day_roll_over: time(4, 0, 0, 0),
        currency: Currency::from_code("EUR").expect("a currency"),
        horizon_days: 60,
        hold_seconds: 7_200,
        confirm_grace_seconds: 60,
        extensions_max: 1,
        late_confirm_retakes: true,
        bookable_from: None,
        policies: Policies::default(),
        types: [(DOUBLE, one(5)), (SUITE, one(2))].into(),
        plans: Default::default(),
        has_rates: false,
        pools: Pools {
            allotments: ALLOTMENTS.map(|id| (id, allotment(id))).into(),
            mapped: [(
                (PORTAL, DOUBLE),
                (PoolMode::AllotmentThenShared, ALLOTMENTS[1]),
            )]
            .into(),
            rules: vec![(PoolRuleId(1), scarce)],
        },
    }
}

/// Five doubles and two suites.
pub struct Paper {
    pub seen: Seen,
    proof: Proof,
    pub dice: Dice,
    pub made: u128,
    pub reservations: Vec<ReservationId>,
    did: BTreeMap<String, u32>,
}

impl Paper {
    fn new(seed: u64) -> Self {
        let rules = rules();
        let mut seen = Seen {
            now: "2030-05-06T08:00:00Z"
                .parse::<Timestamp>()
                .expect("an instant"),
            rules: std::iter::once((HOTEL, Arc::new(rules))).collect(),
            numbers: VecDeque::from_iter(1..100_000),
            ..Seen::default()
        };
        for offset in -5..40 {
            for (room_type, physical) in [(DOUBLE, 5), (SUITE, 2)] {
                let balance = NightBalance {
                    physical,
                    ..NightBalance::default()
                };
                let born = Night {
                    balance,
                    version: 1,
                };
                seen.nights.insert((HOTEL, room_type, night(offset)), born);
            }
        }
        Self {
            seen,
            proof: Proof::default(),
            dice: Dice(seed),
            made: 0,
            reservations: Vec::new(),
            did: BTreeMap::new(),
        }
    }

    pub fn ask(&mut self, command: Command) -> Answer {
        let asked = Asked::new(HOTEL, Arc::default(), command);
        let mut draft = Draft::new(self.seen.clone());
        let answer = all(&mut draft, [&asked]).remove(0);
        assert!(draft.missing().is_empty(), "{:?}", draft.missing());
        let numbers = draft.numbers_left();
        let changes = draft.changes();
        while self.seen.numbers.len() > numbers {
            self.seen.numbers.pop_front();
        }
        self.proof.add(&changes);
        self.keep(changes);
        let word = match &answer {
            Ok(receipt) => receipt.did.clone(),
            Err(refusal) => refusal.code().to_owned(),
        };
        *self.did.entry(word).or_default() += 1;
        answer
    }

    /// As the database would.
    fn keep(&mut self, changes: Changes) {
        let changed = changes.changed.into_iter().map(|changed| changed.after);
        for reservation in changed.chain(changes.new) {
            if !self.reservations.contains(&reservation.id) {
                self.reservations.push(reservation.id);
            }
            let key = (HOTEL, reservation.id);
            self.seen.reservations.insert(key, reservation);
        }
        for (_, account, reference, _, known) in changes.references {
            self.seen.references.insert((account, reference), known);
        }
        for (key, version, balance) in changes.nights {
            assert_eq!(self.seen.nights[&key].version, version, "read and written");
            let version = version + 1;
            self.seen.nights.insert(key, Night { balance, version });
        }
        for (key, seen) in changes.allotments.counts {
            let version = seen.version + 1;
            let seen = SeenAllotment { version, ..seen };
            self.seen.allotments.insert(key, seen);
        }
        let rules = self.seen.rules.get_mut(&HOTEL).map(Arc::make_mut);
        let rules = rules.expect("the rules");
        for terms in changes.allotments.terms {
            let known = rules.pools.allotments.get_mut(&terms.allotment);
            let known = known.expect("an allotment");
            known.release = terms.release;
            known.version = terms.version + 1;
        }
        let switches = self.seen.switches.entry(HOTEL).or_default();
        for (_, rule, night, is_on) in changes.allotments.switches {
            let turned = if is_on {
                switches.insert((rule, night))
            } else {
                switches.remove(&(rule, night))
            };
            assert!(turned, "{night:?} was turned twice");
        }
    }

    /// Everything that must be so after any command.
    pub fn compare(&self, before: &Seen, command: &Command, answer: &Answer, words: &str) {
        let mut drawn: BTreeMap<(AllotmentId, StayDate), i32> = BTreeMap::new();
        for one in self.seen.reservations.values().filter(|r| r.takes_rooms()) {
            for d in &one.detail.drawn {
                *drawn.entry((d.allotment, d.night)).or_default() += d.rooms;
            }
        }
        let mut left: BTreeMap<StayDate, i32> = BTreeMap::new();
        for ((_, allotment, night), seen) in &self.seen.allotments {
            let counts = seen.night;
            let key = (*allotment, *night);
            assert_eq!(counts, counts.settled(), "{words}");
            assert_eq!(
                counts.taken,
                drawn.remove(&key).unwrap_or(0),
                "{key:?}: {words}"
            );
            let proven = self.proof.allotments.get(&key).copied().unwrap_or_default();
            let counted = (counts.agreed, counts.taken, counts.released);
            assert_eq!(counted, proven, "{key:?}: {words}");
            *left.entry(*night).or_default() += counts.left();
        }
        assert!(drawn.is_empty(), "drawn from nothing: {drawn:?}: {words}");
        let none = NightBalance::default();
        for ((_, room_type, night), seen) in &self.seen.nights {
            let is = seen.balance;
            let proven = self
                .proof
                .nights
                .get(&(*room_type, *night))
                .unwrap_or(&none);
            let (said, counted) = (
                (
                    proven.allotted,
                    proven.held,
                    proven.sold,
                    proven.out_of_order,
                ),
                (is.allotted, is.held, is.sold, is.out_of_order),
            );
            assert_eq!(said, counted, "{night}: {words}");
            assert_eq!(is, is.settled(), "{night}: {words}");
            let kept = left.get(night).copied().unwrap_or(0);
            let kept = if *room_type == DOUBLE { kept } else { 0 };
            assert_eq!(is.allotted, kept, "{night}: {words}");
            self.compare_switch((*room_type, *night), is.free(), words);
        }
        match (command, answer) {
            (Command::Record(_), answer) => {
                let receipt = answer.as_ref().expect("a fact is never refused");
                let is_new = receipt.did == "confirmed";
                if let Some(made) = receipt.reservation.as_ref().filter(|_| is_new) {
                    self.compare_fact(made, words);
                }
            }
            (Command::Request(wish), Ok(_)) => self.compare_wish(before, wish, words),
            (_, Err(refusal)) if refusal.code() != "hold_expired" => {
                assert_eq!(before.nights, self.seen.nights, "{words}: {refusal:?}");
            }
            _ => {}
        }
    }

    /// What is shared was taken only where its account's allotments had nothing left.
    fn compare_fact(&self, made: &Reservation, words: &str) {
        let doubles = made.rooms.iter().filter(|r| r.room_type == Some(DOUBLE));
        for (room, night) in doubles
            .flat_map(|room| room.taken().map(|taken| (room, taken)))
            .flat_map(|(room, taken)| taken.nights().map(move |night| (room, night)))
        {
            let of_it = made.detail.drawn.iter();
            let of_it = of_it.filter(|d| d.room == room.id && d.night == night);
            let drawn: i32 = of_it.map(|d| d.rooms).sum();
            let left = ALLOTMENTS[..2].iter().map(|allotment| {
                let seen = self.seen.allotments.get(&(HOTEL, *allotment, night));
                seen.map_or(0, |seen| seen.night.left())
            });
            let left: i32 = left.sum();
            assert!(drawn == room.quantity || left == 0, "{night}: {words}");
        }
    }

    fn compare_switch(&self, night: (RoomTypeId, StayDate), free: i32, words: &str) {
        let switches = self.seen.switches.get(&HOTEL);
        let is_on = switches.is_some_and(|on| on.contains(&(PoolRuleId(1), night)));
        // Suites are scarce from the start, and turn with their first change.
        if night.0 == DOUBLE {
            assert!(is_on || free > SCARCE.at_most, "{night:?}: {words}");
            assert!(!is_on || free < SCARCE.again_at, "{night:?}: {words}");
        }
    }

    fn compare_wish(&self, before: &Seen, wish: &Wish, words: &str) {
        let made = &self.seen.reservations[&(HOTEL, wish.reservation)];
        let may = |what| {
            let force = wish.force.as_ref();
            force.is_some_and(|force: &Forced| force.allow.contains(&what))
        };
        for (room, wished) in made.rooms.iter().zip(&wish.rooms) {
            for night in wished.stay.nights() {
                let of_it = made.detail.drawn.iter();
                let of_it = of_it.filter(|d| d.room == room.id && d.night == night);
                let rooms: i32 = of_it.map(|d| d.rooms).sum();
                match wished.allotment {
                    Some(_) if !may(Force::Allotment) => {
                        assert_eq!(rooms, wished.quantity, "{words}");
                    }
                    None if wish.channel.is_none() => assert_eq!(rooms, 0, "{words}"),
                    _ => assert!(rooms <= wished.quantity, "{words}"),
                }
            }
        }
        if !may(Force::Oversell) {
            for (key, night) in &self.seen.nights {
                let was = before.nights[key].balance.oversold;
                assert!(night.balance.oversold <= was, "a wish oversells: {words}");
            }
        }
    }
}

#[test]
fn after_any_command_every_room_of_every_allotment_is_accounted_for() {
    let mut did: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..15 {
        let mut paper = Paper::new(seed);
        for _ in 0..160 {
            paper.step();
        }
        for (word, times) in paper.did {
            *did.entry(word).or_default() += times;
        }
    }
    // Chance has met everything that it should.
    for word in [
        "allotment_set",
        "allotment_released",
        "allotment_exhausted",
        "needs_force",
        "sold_out",
        "confirmed",
        "held",
        "modified",
        "cancelled",
        "expired",
        "retaken",
        "completed",
        "undone",
    ] {
        assert!(did.contains_key(word), "{word}: {did:?}");
    }
}
