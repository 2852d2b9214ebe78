//! What follows from newly written entries: marks, events, evidence to gather.
//!
//! Pure. The same entries give the same marks, whoever reads them and however often.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use jiff::Timestamp;
use keyrack_ledger::tail::{RateTailEntry, TailEntry};
use keyrack_model::ari::AriKey;
use keyrack_model::id::{AccountId, CaseId, PropertyId, RatePlanId, ReservationId, RoomTypeId};
use keyrack_model::stay::StayRange;

use crate::feed::events::{self, Event};
use crate::store::evidence::EvidenceDue;
use crate::store::push_state::Bell;

/// An account with what it is told of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// Whose, and where its turn is asked for.
    pub(crate) bell: Bell,
    /// What the ledger calls it where it told of something.
    pub(crate) actor: String,
    /// Nights that it is told of; `None` where it is told nothing (in setup).
    pub(crate) nights: Option<StayRange>,
    /// The plans of each mapped type; `None` is the room itself.
    pub(crate) cells: BTreeMap<RoomTypeId, BTreeSet<Option<RatePlanId>>>,
}

/// A property as the feed needs it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct House {
    /// Its code, for events.
    pub(crate) code: String,
    /// Its accounts.
    pub(crate) accounts: Vec<Listed>,
    /// The types that a change of a type changes, itself first.
    pub(crate) touched: HashMap<RoomTypeId, Vec<RoomTypeId>>,
}

/// Why a cell is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reason {
    /// A guest cancelled, or the channel sold the room itself: it is told also where nothing
    /// changed.
    pub(crate) is_cancellation: bool,
    /// The oldest change of what is sold; `None` where the account itself changed, whereupon it is
    /// told everything, or the calendar moved on.
    pub(crate) changed_at: Option<Timestamp>,
}

/// What follows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Derived {
    /// Cells to be told, each once.
    pub(crate) marks: BTreeMap<(AccountId, AriKey), Reason>,
    /// Whose turns are to be asked for.
    pub(crate) bells: BTreeSet<Bell>,
    /// What webhooks may want to hear of, in the tail's order.
    pub(crate) events: Vec<Event>,
    /// Overbookings whose evidence is to be gathered.
    pub(crate) evidence: Vec<EvidenceDue>,
}

/// What follows from some entries of both tails.
pub(crate) fn derive(
    entries: &[TailEntry],
    rates: &[RateTailEntry],
    houses: &HashMap<PropertyId, Arc<House>>,
) -> Derived {
    let mut derived = Derived::default();
    let mut kinds = Kinds::default();
    for entry in entries {
        let reason = Reason {
            is_cancellation: kinds.frees(entry),
            changed_at: (entry.kind != BORN).then_some(entry.at),
        };
        if let (Some(house), Some(room_type), Some(nights)) =
            (houses.get(&entry.property), entry.room_type, entry.nights)
        {
            let cells = Cells::Rooms(room_type);
            derived.mark(house, Meant::All(Some(&entry.actor)), cells, nights, reason);
        }
        derived.events.extend(events::of(entry));
        derived.evidence.extend(evidence(entry));
    }
    for change in rates {
        if let Some(house) = houses.get(&change.property) {
            let is_change = !change.fields.iter().any(|f| REPEATS.contains(&f.as_str()));
            let reason = Reason {
                is_cancellation: false,
                changed_at: is_change.then_some(change.at),
            };
            let cells = change.room_type.map_or(Cells::All, Cells::Of);
            let meant = change.account.map_or(Meant::All(None), Meant::Only);
            derived.mark(house, meant, cells, change.nights, reason);
        }
    }
    derived
}

/// Which cells a change concerns, on its nights.
#[derive(Clone, Copy)]
enum Cells {
    /// Of every type.
    All,
    /// Of a type and all its plans: a plan that follows another changes with it.
    Of(RoomTypeId),
    /// The rooms of a type. Its plans are marked by the push, where the night sold out or opened:
    /// nothing else about them hangs on the rooms.
    Rooms(RoomTypeId),
}

/// Which accounts a change concerns.
#[derive(Clone, Copy)]
enum Meant<'a> {
    Only(AccountId),
    /// All, by the word of somebody where one gave it. An account whose own word it is has moved
    /// its own number by itself, which may be none of what it is told: what it sold came from its
    /// allotment while it shows what everybody sells, or its number is capped. So it is told again.
    All(Option<&'a str>),
}

impl Derived {
    /// Marks told cells on some nights. What turns out unchanged is settled unsent.
    fn mark(
        &mut self,
        house: &House,
        meant: Meant<'_>,
        cells: Cells,
        nights: StayRange,
        reason: Reason,
    ) {
        let (room_type, is_room) = match cells {
            Cells::All => (None, false),
            Cells::Of(room_type) => (Some(room_type), false),
            Cells::Rooms(room_type) => (Some(room_type), true),
        };
        let room = BTreeSet::from([None]);
        let alone: Vec<RoomTypeId> = room_type.into_iter().collect();
        let touched = room_type.map(|id| house.touched.get(&id).unwrap_or(&alone));
        for listed in &house.accounts {
            let (is_meant, moved_itself) = match meant {
                Meant::Only(only) => (only == listed.bell.account, false),
                Meant::All(actor) => (true, actor == Some(listed.actor.as_str())),
            };
            let reason = Reason {
                is_cancellation: reason.is_cancellation || moved_itself,
                ..reason
            };
            let told = listed.nights.and_then(|told| told.intersection(nights));
            let Some(told) = told.filter(|_| is_meant) else {
                continue;
            };
            for (id, plans) in &listed.cells {
                if touched.is_none_or(|touched| touched.contains(id)) {
                    let plans = if is_room { &room } else { plans };
                    self.mark_type(listed.bell, *id, plans, told, reason);
                }
            }
        }
    }

    fn mark_type(
        &mut self,
        bell: Bell,
        room_type: RoomTypeId,
        plans: &BTreeSet<Option<RatePlanId>>,
        nights: StayRange,
        reason: Reason,
    ) {
        self.bells.insert(bell);
        for night in nights.nights() {
            for rate_plan in plans {
                let key = AriKey {
                    room_type,
                    rate_plan: *rate_plan,
                    night,
                };
                let known = self.marks.entry((bell.account, key)).or_default();
                known.is_cancellation |= reason.is_cancellation && rate_plan.is_none();
                let both = known.changed_at.into_iter().chain(reason.changed_at);
                known.changed_at = both.min();
            }
        }
    }
}

/// Which command a line belongs to: further lines of one are called `moved`.
#[derive(Default)]
struct Kinds {
    last: Option<(PropertyId, Option<ReservationId>, Option<i64>, bool)>,
}

impl Kinds {
    /// Whether rooms came free at the channels by this line: a guest cancelled, changed, or never
    /// paid, and a channel may reopen the room by itself. A further line whose first was read
    /// before counts as one; that costs a repeat.
    fn frees(&mut self, entry: &TailEntry) -> bool {
        if entry.kind != "moved" {
            let frees = FREEING.contains(&entry.kind.as_str());
            self.last = Some((entry.property, entry.reservation, entry.version, frees));
            return frees;
        }
        match self.last {
            Some((property, reservation, version, frees))
                if (property, reservation, version)
                    == (entry.property, entry.reservation, entry.version) =>
            {
                frees
            }
            _ => true,
        }
    }
}

/// The kind by which nights come into the house.
const BORN: &str = "night_born";
/// Fields of the rates' tail by which an account is told everything, or new nights: nothing that is
/// sold changed, so no lag is counted.
const REPEATS: [&str; 4] = ["account", "mapping", "horizon", "lead_time"];

/// Kinds by which a channel's rooms may come free.
const FREEING: [&str; 5] = ["cancelled", "modified", "expired", "no_show", "completed"];

/// The evidence that an entry asks for. The ledger writes the case's id as the reason.
fn evidence(entry: &TailEntry) -> Option<EvidenceDue> {
    (entry.kind == "overbooking_opened").then_some(())?;
    Some(EvidenceDue {
        property: entry.property,
        case: CaseId(entry.reason.as_deref()?.parse().ok()?),
        room_type: entry.room_type?,
        nights: entry.nights?,
        reservation: entry.reservation,
        opened_at: entry.at,
        attempt: 0,
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use jiff::civil::date;
    use keyrack_ledger::tail::Cursor;
    use keyrack_model::id::ConnectionId;
    use uuid::Uuid;

    use super::*;

    fn nights(from: i8, to: i8) -> StayRange {
        StayRange::new(date(2030, 5, from), date(2030, 5, to)).expect("nights")
    }

    fn listed(account: i64, types: &[(i64, &[i64])]) -> Listed {
        let cells = types.iter().map(|(room_type, plans)| {
            let plans = plans.iter().map(|plan| Some(RatePlanId(*plan)));
            (RoomTypeId(*room_type), plans.chain([None]).collect())
        });
        Listed {
            bell: Bell {
                account: AccountId(account),
                property: PropertyId(1),
                connection: ConnectionId(9),
            },
            actor: format!("account:{account}"),
            nights: Some(nights(1, 20)),
            cells: cells.collect(),
        }
    }

    fn houses(accounts: Vec<Listed>) -> HashMap<PropertyId, Arc<House>> {
        let house = House {
            code: "seehof".into(),
            accounts,
            touched: HashMap::from([(RoomTypeId(1), vec![RoomTypeId(1), RoomTypeId(3)])]),
        };
        HashMap::from([(PropertyId(1), Arc::new(house))])
    }

    fn entry(kind: &str, room_type: i64, nights: StayRange) -> TailEntry {
        TailEntry {
            cursor: Cursor { tx: 5, seq: 7 },
            property: PropertyId(1),
            reservation: Some(ReservationId(Uuid::nil())),
            version: Some(1),
            kind: kind.into(),
            is_first_line: kind != "moved",
            room_type: Some(RoomTypeId(room_type)),
            nights: Some(nights),
            actor: "key:1".into(),
            reason: None,
            at: Timestamp::UNIX_EPOCH,
        }
    }

    fn lines(derived: &Derived) -> Vec<String> {
        let lines = derived.marks.iter().map(|((account, key), reason)| {
            let plan = key.rate_plan.map_or(0, |plan| plan.0);
            let again = if reason.is_cancellation { " again" } else { "" };
            format!("{account}: {}/{plan} {}{again}", key.room_type, key.night)
        });
        lines.collect()
    }

    #[test]
    fn a_booking_marks_the_rooms_of_its_type_and_of_types_made_of_it() {
        let houses = houses(vec![
            listed(4, &[(1, &[8]), (2, &[])]),
            listed(5, &[(3, &[])]),
        ]);
        let derived = derive(&[entry("confirmed", 1, nights(3, 4))], &[], &houses);
        assert_eq!(lines(&derived), ["4: 1/0 2030-05-03", "5: 3/0 2030-05-03"]);
        assert_eq!(derived.bells.len(), 2);
    }

    #[test]
    fn a_channel_that_sold_by_itself_is_told_again_and_nobody_else() {
        let houses = houses(vec![listed(4, &[(2, &[8])]), listed(5, &[(2, &[])])]);
        let mut sold = entry("confirmed", 2, nights(3, 4));
        sold.actor = "account:4".into();
        let further = TailEntry {
            kind: "moved".into(),
            nights: Some(nights(6, 7)),
            is_first_line: false,
            ..sold.clone()
        };
        assert_eq!(
            lines(&derive(&[sold, further], &[], &houses)),
            [
                "4: 2/0 2030-05-03 again",
                "4: 2/0 2030-05-06 again",
                "5: 2/0 2030-05-03",
                "5: 2/0 2030-05-06",
            ]
        );
    }

    #[test]
    fn a_hundred_changes_of_one_night_are_one_mark() {
        let houses = houses(vec![listed(4, &[(2, &[])])]);
        let entries = vec![entry("confirmed", 2, nights(3, 4)); 100];
        assert_eq!(derive(&entries, &[], &houses).marks.len(), 1);
    }

    #[test]
    fn every_line_of_a_cancellation_is_told_again_and_those_of_a_booking_are_not() {
        let houses = houses(vec![listed(4, &[(2, &[])])]);
        let entries = [
            entry("cancelled", 2, nights(3, 4)),
            entry("moved", 2, nights(6, 7)),
            entry("confirmed", 2, nights(9, 10)),
            entry("moved", 2, nights(11, 12)),
        ];
        assert_eq!(
            lines(&derive(&entries, &[], &houses)),
            [
                "4: 2/0 2030-05-03 again",
                "4: 2/0 2030-05-06 again",
                "4: 2/0 2030-05-09",
                "4: 2/0 2030-05-11",
            ]
        );
    }

    #[test]
    fn a_further_line_alone_is_told_again() {
        let houses = houses(vec![listed(4, &[(2, &[])])]);
        let derived = derive(&[entry("moved", 2, nights(3, 4))], &[], &houses);
        assert_eq!(lines(&derived), ["4: 2/0 2030-05-03 again"]);
    }

    #[test]
    fn a_change_of_rates_marks_what_it_names_within_the_told_nights() {
        let houses = houses(vec![listed(4, &[(2, &[8])]), listed(5, &[(2, &[])])]);
        let change = RateTailEntry {
            cursor: Cursor::default(),
            property: PropertyId(1),
            room_type: None,
            rate_plan: None,
            account: Some(AccountId(5)),
            nights: nights(18, 30),
            fields: vec!["account".into()],
            at: Timestamp::UNIX_EPOCH,
        };
        assert_eq!(
            lines(&derive(&[], &[change], &houses)),
            ["5: 2/0 2030-05-18", "5: 2/0 2030-05-19"]
        );
    }

    #[test]
    fn a_change_of_rates_of_a_type_marks_its_plans_as_well() {
        let change = RateTailEntry {
            cursor: Cursor::default(),
            property: PropertyId(1),
            room_type: Some(RoomTypeId(2)),
            rate_plan: Some(RatePlanId(8)),
            account: None,
            nights: nights(3, 4),
            fields: vec!["rate".into()],
            at: Timestamp::UNIX_EPOCH,
        };
        let houses = houses(vec![listed(4, &[(1, &[8]), (2, &[8])])]);
        assert_eq!(
            lines(&derive(&[], &[change], &houses)),
            ["4: 2/0 2030-05-03", "4: 2/8 2030-05-03"]
        );
    }

    #[test]
    fn an_account_in_setup_is_told_nothing() {
        let mut quiet = listed(4, &[(2, &[])]);
        quiet.nights = None;
        let derived = derive(
            &[entry("confirmed", 2, nights(3, 4))],
            &[],
            &houses(vec![quiet]),
        );
        assert!(derived.marks.is_empty() && derived.bells.is_empty());
    }

    #[test]
    fn an_overbooking_asks_for_its_evidence() {
        let mut opened = entry("overbooking_opened", 2, nights(3, 5));
        opened.reason = Some("17".into());
        let derived = derive(&[opened], &[], &houses(Vec::new()));
        assert_eq!(derived.evidence.len(), 1);
        assert_eq!(derived.evidence[0].case, CaseId(17));
    }
}
