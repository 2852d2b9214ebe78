//! Ways out by which a guest leaves the house: to a sister property, to another hotel.

use keyrack_model::overbooking::Ending;

use super::way::{Situation, Sleeper, WayOut, per_night, spoken, walk_minor, way};

/// Hotels of the same owner that have a room for the whole stay.
pub(super) fn sisters(situation: &Situation<'_>, guest: &Sleeper, found: &mut Vec<WayOut>) {
    let home = situation.rooms.plain(guest.room_type);
    for (code, rooms) in &situation.sisters {
        let kind = rooms.types.iter().find(|kind| {
            kind.fits(guest.heads, home) && rooms.free(&kind.parts, guest.nights) >= guest.quantity
        });
        let Some(kind) = kind else { continue };
        let cost = per_night(situation, guest, situation.policy.sister_per_night_minor);
        let words = format!(
            "Let the guest of reservation {} sleep at {code}: {} is free there {}.",
            guest.number,
            kind.code,
            spoken(guest.nights)
        );
        found.push(WayOut {
            moves: vec![(guest.clone(), None)],
            sister: Some((code.clone(), kind.code.clone())),
            ..way(situation, Ending::SisterProperty, Some(cost), words)
        });
    }
}

/// A walk: another hotel, at our cost.
pub(super) fn relocation(situation: &Situation<'_>, guest: &Sleeper) -> WayOut {
    let cost = walk_minor(situation, guest);
    let words = format!(
        "Find the guest of reservation {} a room in another hotel {}, at our cost{}.",
        guest.number,
        spoken(guest.nights),
        match cost {
            Some(_) => "",
            None => "; what that costs, the table of compensations does not say",
        }
    );
    WayOut {
        moves: vec![(guest.clone(), None)],
        ..way(situation, Ending::Walk, cost, words)
    }
}

/// The channel that sold the room finds another one.
pub(super) fn asked_of_channel(situation: &Situation<'_>, guest: &Sleeper) -> Option<WayOut> {
    let account = guest.account.as_ref()?;
    let words = format!(
        "Ask {account} to find another hotel for the guest of reservation {}: it stays here until \
         {account} has cancelled it, and what {account} will bill is not known before.",
        guest.number
    );
    Some(WayOut {
        moves: vec![(guest.clone(), None)],
        // A channel bills the difference of the prices: about what a walk costs.
        ..way(
            situation,
            Ending::RelocatedByChannel,
            walk_minor(situation, guest),
            words,
        )
    })
}
