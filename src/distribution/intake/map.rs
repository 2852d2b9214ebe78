//! A channel's codes become ours. Pure: values in, a revision and what no mapping knew out.
//!
//! A guest is never dropped: a room whose code is not mapped goes on with the account's fallback
//! type, or with no type at all, and staff are told.

use std::collections::BTreeSet;

use jiff::Timestamp;
use keyrack_model::channel::{Account, ChannelMapping};
use keyrack_model::id::RoomTypeId;
use keyrack_model::reservation::{
    ReportedRoom, ReservationReport, ReservationRevision, RevisionRoom,
};

use crate::store::unmapped::UnmappedCode;

/// A report after mapping.
pub(crate) struct Mapped {
    /// The fact for the ledger.
    pub(crate) revision: ReservationRevision,
    /// Codes that no mapping knows.
    pub(crate) unmapped: BTreeSet<UnmappedCode>,
}

/// What mapping needs to know of an account.
pub(crate) struct Codes<'a> {
    pub(crate) account: &'a Account,
    pub(crate) mappings: &'a [ChannelMapping],
    pub(crate) fallback: Option<RoomTypeId>,
    /// The channel tells whole states.
    pub(crate) is_snapshot: bool,
}

/// Maps a report.
pub(crate) fn map(report: ReservationReport, codes: &Codes<'_>, received_at: Timestamp) -> Mapped {
    let mut unmapped = BTreeSet::new();
    let rooms = report
        .rooms
        .iter()
        .map(|told| {
            let room = map_room(told, codes);
            if room.room_type.is_none() || room.is_fallback || lacks_plan(&room, codes) {
                unmapped.insert(code_of(told, &room));
            }
            room
        })
        .collect();
    Mapped {
        revision: ReservationRevision {
            property: codes.account.property,
            account: codes.account.id,
            report,
            rooms,
            is_snapshot: codes.is_snapshot,
            received_at,
        },
        unmapped,
    }
}

/// Whether a mapping knows the code now.
pub(crate) fn knows(mappings: &[ChannelMapping], code: &UnmappedCode) -> bool {
    mappings.iter().any(|mapping| {
        mapping.channel_room_code == code.channel_room_code
            && (code.channel_rate_code.is_empty()
                || mapping.channel_rate_code.as_deref() == Some(&code.channel_rate_code))
    })
}

fn map_room(told: &ReportedRoom, codes: &Codes<'_>) -> RevisionRoom {
    let of_room = || {
        codes
            .mappings
            .iter()
            .filter(|mapping| mapping.channel_room_code == told.room_code)
    };
    let exact = of_room().find(|mapping| mapping.channel_rate_code == told.rate_code);
    // A remote room belongs to one type, whichever rate it was sold at.
    let mapped = exact.or_else(|| of_room().next());
    let plan = exact
        .or_else(|| of_room().find(|mapping| mapping.channel_rate_code.is_none()))
        .and_then(|mapping| mapping.rate_plan);
    match mapped {
        Some(mapping) => RevisionRoom {
            told: told.clone(),
            room_type: Some(mapping.room_type),
            is_fallback: false,
            rate_plan: plan,
        },
        None => RevisionRoom {
            told: told.clone(),
            room_type: codes.fallback,
            is_fallback: codes.fallback.is_some(),
            rate_plan: None,
        },
    }
}

/// The room is known and its rate is not, though the hotel maps rates of this room.
fn lacks_plan(room: &RevisionRoom, codes: &Codes<'_>) -> bool {
    let maps_rates = || {
        codes.mappings.iter().any(|mapping| {
            mapping.channel_room_code == room.told.room_code && mapping.rate_plan.is_some()
        })
    };
    room.told.rate_code.is_some() && room.rate_plan.is_none() && maps_rates()
}

/// The room's code alone where not even that is known: one code to map, however many rates.
fn code_of(told: &ReportedRoom, room: &RevisionRoom) -> UnmappedCode {
    let is_room_known = room.room_type.is_some() && !room.is_fallback;
    let rate = told.rate_code.clone().filter(|_| is_room_known);
    UnmappedCode {
        channel_room_code: told.room_code.clone(),
        channel_rate_code: rate.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::channel::{AccountSettings, AccountState};
    use keyrack_model::id::{AccountId, ChannelCode, ConnectionId, PropertyId, RatePlanId};
    use keyrack_model::reservation::{Guest, RevisionKind};

    use super::*;

    fn account() -> Account {
        Account {
            id: AccountId(7),
            property: PropertyId(3),
            code: "portal".into(),
            connection: ConnectionId(1),
            channel: ChannelCode::new("scripted"),
            hotel_code: "4711".into(),
            state: AccountState::Live,
            settings: AccountSettings::default(),
        }
    }

    fn mapping(
        room: &str,
        rate: Option<&str>,
        room_type: i64,
        plan: Option<i64>,
    ) -> ChannelMapping {
        ChannelMapping {
            room_type: RoomTypeId(room_type),
            rate_plan: plan.map(RatePlanId),
            channel_room_code: room.into(),
            channel_rate_code: rate.map(Into::into),
            pool: Default::default(),
            allotment: None,
        }
    }

    fn report(rooms: &[(&str, Option<&str>)]) -> ReservationReport {
        let rooms = rooms.iter().map(|(room, rate)| ReportedRoom {
            room_code: (*room).into(),
            rate_code: rate.map(Into::into),
            quantity: 1,
            ..ReportedRoom::default()
        });
        ReservationReport {
            hotel_code: Some("4711".into()),
            reference: "R1".into(),
            kind: RevisionKind::New,
            order: None,
            booked_at: None,
            rooms: rooms.collect(),
            guest: Guest::default(),
            total: None,
            commission: None,
            payment_model: None,
            remarks: Vec::new(),
            is_quote: false,
            acknowledge_as: None,
        }
    }

    /// Room type, is fallback, rate plan.
    type Room = (Option<i64>, bool, Option<i64>);

    /// Each room; the unmapped codes.
    fn mapped(rooms: &[(&str, Option<&str>)], fallback: Option<i64>) -> (Vec<Room>, Vec<String>) {
        let account = account();
        let mappings = [
            mapping("DBL", Some("BAR"), 10, Some(20)),
            mapping("DBL", Some("NRF"), 10, Some(21)),
            mapping("SGL", None, 11, None),
        ];
        let codes = Codes {
            account: &account,
            mappings: &mappings,
            fallback: fallback.map(RoomTypeId),
            is_snapshot: true,
        };
        let mapped = map(report(rooms), &codes, Timestamp::UNIX_EPOCH);
        let told = |room: &RevisionRoom| {
            let plan = room.rate_plan.map(|plan| plan.0);
            (room.room_type.map(|id| id.0), room.is_fallback, plan)
        };
        let codes = mapped
            .unmapped
            .iter()
            .map(|code| format!("{}/{}", code.channel_room_code, code.channel_rate_code));
        (
            mapped.revision.rooms.iter().map(told).collect(),
            codes.collect(),
        )
    }

    #[test]
    fn a_known_pair_of_codes_becomes_our_type_and_plan() {
        let (rooms, unmapped) = mapped(&[("DBL", Some("NRF")), ("SGL", Some("ANY"))], None);
        assert_eq!(
            rooms,
            [(Some(10), false, Some(21)), (Some(11), false, None)]
        );
        assert!(unmapped.is_empty());
    }

    #[test]
    fn an_unknown_rate_keeps_its_room_and_says_so() {
        let (rooms, unmapped) = mapped(&[("DBL", Some("GENIUS"))], None);
        assert_eq!(rooms, [(Some(10), false, None)]);
        assert_eq!(unmapped, ["DBL/GENIUS"]);
    }

    #[test]
    fn an_unknown_room_takes_the_fallback_type_or_none_and_is_never_dropped() {
        let (rooms, unmapped) = mapped(&[("SUITE", Some("BAR")), ("SUITE", None)], Some(12));
        assert_eq!(rooms, [(Some(12), true, None), (Some(12), true, None)]);
        assert_eq!(unmapped, ["SUITE/"]);
        let (rooms, _) = mapped(&[("SUITE", Some("BAR"))], None);
        assert_eq!(rooms, [(None, false, None)]);
    }

    #[test]
    fn a_code_is_known_once_a_mapping_names_it() {
        let mappings = [mapping("DBL", Some("BAR"), 10, Some(20))];
        let code = |room: &str, rate: &str| UnmappedCode {
            channel_room_code: room.into(),
            channel_rate_code: rate.into(),
        };
        assert!(knows(&mappings, &code("DBL", "")) && knows(&mappings, &code("DBL", "BAR")));
        assert!(!knows(&mappings, &code("DBL", "NRF")) && !knows(&mappings, &code("SUITE", "")));
    }
}
