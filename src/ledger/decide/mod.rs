//! Where the rules stand: values in, entries or a refusal out. No clock, no database, no `async`.
//!
//! [`all`] folds the commands of a batch over what was seen, in order of arrival, onto a
//! [`draft::Draft`]. A command checks everything before it changes anything, so that a refusal
//! leaves the draft as it was (but for the event that a payment must go back).

pub mod allotment;
pub mod allotting;
pub mod blocks;
pub mod buffer;
pub mod buffer_rule;
pub mod capacity;
pub mod cell;
#[cfg(test)]
mod cell_samples;
pub mod changes;
pub mod closures;
pub mod composed;
pub mod draft;
pub mod drawn;
mod drawn_up;
pub mod entry;
pub mod estimate;
pub mod guest_limit;
pub mod hold;
pub mod inexpressible;
pub mod lags;
pub mod layer;
pub mod modify;
pub mod overbooking;
pub mod pace;
pub mod pool_rule;
pub mod price;
pub mod progress;
pub mod record;
pub mod record_rooms;
pub mod record_told;
pub mod refusal;
pub mod request;
pub mod revise;
pub mod risk;
pub mod rules;
pub mod safety;
pub mod sellable;
pub mod selling;
pub mod state;

use keyrack_model::id::PropertyId;

use crate::command::{Answer, Asked, Command, Receipt, Wish};
use draft::Draft;
use refusal::Refusal;

/// The answers to the commands, in their order; the draft holds what must be applied for them.
pub fn all<'a>(draft: &mut Draft, commands: impl IntoIterator<Item = &'a Asked>) -> Vec<Answer> {
    commands
        .into_iter()
        .map(|asked| one(draft, asked))
        .collect()
}

fn one(draft: &mut Draft, asked: &Asked) -> Answer {
    if let Some(key) = &asked.idempotency
        && let Some((fingerprint, receipt)) = draft.kept_receipt(key)
    {
        if fingerprint != key.fingerprint {
            return Err(Refusal::IdempotencyKeyReused);
        }
        return Ok(Receipt {
            is_replay: true,
            ..receipt
        });
    }
    if !draft.knows(asked.property) {
        return Err(Refusal::NotFound("property".to_owned()));
    }
    draft.begin(asked);
    let answer = decide(draft, asked);
    if let (Ok(receipt), Some(key)) = (&answer, &asked.idempotency) {
        draft.keep_receipt(key, receipt);
    }
    answer
}

fn decide(draft: &mut Draft, asked: &Asked) -> Answer {
    let property = asked.property;
    match &asked.command {
        Command::Request(wish) => request::request(draft, property, wish),
        Command::RequestAll(wishes) => request_all(draft, property, wishes),
        Command::Record(fact) => record::record(draft, fact),
        Command::Confirm {
            reservation,
            payment_reference,
            version,
        } => {
            let id = (property, *reservation);
            hold::confirm(draft, id, payment_reference.as_deref(), *version)
        }
        Command::Cancel {
            reservation,
            reason,
            told_channel,
            version,
        } => {
            let how = hold::Cancel {
                reason: reason.as_deref(),
                told_channel: *told_channel,
            };
            hold::cancel(draft, (property, *reservation), &how, *version)
        }
        Command::Extend {
            reservation,
            until,
            version,
        } => hold::extend(draft, (property, *reservation), *until, *version),
        Command::Modify(modification) => modify::modify(draft, property, modification),
        Command::Progress {
            reservation,
            step,
            version,
        } => progress::progress(draft, (property, *reservation), *step, *version),
        Command::Expire { reservation } => hold::expire(draft, (property, *reservation)),
        Command::Review { room_type, nights } => {
            capacity::review(draft, property, *room_type, *nights)
        }
        Command::OpenCase { room_type, nights } => {
            overbooking::end::open(draft, property, (*room_type, *nights))
        }
        Command::EndCase(end) => overbooking::end::end(draft, property, end),
        Command::SetNights { changes, dry_run } => {
            capacity::set_nights(draft, property, changes, *dry_run)
        }
        Command::Agree(agreement) => allotment::agree(draft, property, agreement),
        Command::ReleaseAllotment { allotment, nights } => {
            allotment::release(draft, property, *allotment, *nights)
        }
        Command::SetBlocks { room, blocks } => blocks::set_blocks(draft, property, room, blocks),
        command @ Command::SetPhysical { .. } => set_physical(draft, property, command),
    }
}

fn set_physical(draft: &mut Draft, property: PropertyId, command: &Command) -> Answer {
    let Command::SetPhysical {
        room_type,
        nights,
        rooms,
        force,
        dry_run,
    } = command
    else {
        return Err(Refusal::NotFound("physical count".to_owned()));
    };
    let change = capacity::Physical {
        room_type: *room_type,
        nights: *nights,
        rooms: *rooms,
        force: force.as_ref(),
        dry_run: *dry_run,
    };
    capacity::set_physical(draft, property, &change)
}

/// Wishes that are carried out together: each on what those before it made, or none of them. The
/// receipt shows the first.
fn request_all(draft: &mut Draft, property: PropertyId, wishes: &[Wish]) -> Answer {
    let before = draft.clone();
    let mut nights = Vec::new();
    let mut refused = Vec::new();
    let mut first = None;
    for (index, wish) in wishes.iter().enumerate() {
        match request::request(draft, property, wish) {
            Ok(receipt) => {
                nights.extend(receipt.nights);
                first = first.or(receipt.reservation);
            }
            Err(refusal) => refused.push((index, refusal)),
        }
    }
    if refused.is_empty() {
        let told = capacity::told("confirmed", nights, Vec::new());
        return Ok(Receipt {
            reservation: first,
            ..told
        });
    }
    draft.go_back(before);
    Err(Refusal::Several(refused))
}
