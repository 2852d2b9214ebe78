//! What the call that applies a batch proves of the rows that it was decided on.
//!
//! It demands the version of each row that changes. So where each command changes what it was
//! decided on, the rows were as they were thought to be. A refusal, a repeat or a dry run changes
//! nothing, and proves nothing.

use crate::command::{Answer, Asked, Command};
use crate::decide::changes::Changes;
use crate::decide::draft::ReservationKey;

/// Whether a command changes all rows that it is decided on, where it succeeds.
pub(super) fn may_be_proven(asked: &Asked) -> bool {
    changed_by(asked).is_some()
}

/// Whether each of these did.
pub(super) fn proves(commands: &[&Asked], answers: &[Answer], changes: &Changes) -> bool {
    let is_changed = |key: ReservationKey| {
        let new = changes
            .new
            .binary_search_by_key(&key, |new| (new.property, new.id));
        let changed = |one: &crate::decide::changes::Changed| (one.after.property, one.after.id);
        new.is_ok() || changes.changed.binary_search_by_key(&key, changed).is_ok()
    };
    let mut each = commands.iter().zip(answers);
    // A night that one command took and another gave back is not written, and so not proven.
    !changes.has_nights_as_before
        && each.all(|(asked, answer)| answer.is_ok() && changed_by(asked).is_some_and(is_changed))
}

/// The reservation that a command makes or changes, where all that it changes is that reservation
/// and its nights.
pub(super) fn changed_by(asked: &Asked) -> Option<ReservationKey> {
    let of = |id| (asked.property, id);
    match &asked.command {
        Command::Request(wish) if wish.channel.is_none() => Some(of(wish.reservation)),
        Command::Confirm { reservation, .. }
        | Command::Cancel { reservation, .. }
        | Command::Extend { reservation, .. } => Some(of(*reservation)),
        Command::Modify(change) => Some(of(change.reservation)),
        _ => None,
    }
}
