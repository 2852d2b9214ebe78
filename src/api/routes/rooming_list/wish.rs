//! A line of a rooming list as a wish: a room of the group's block.

use keyrack_ledger::allotments::AllotmentRow;
use keyrack_ledger::command::{Wish, WishedRoom};
use keyrack_model::id::ReservationId;
use keyrack_model::reservation::{Guest, GuestName, Source};

use super::line::Line;
use crate::names::Names;

/// The wish of a line, for a room of the group's block: which reservation it is to be.
pub fn wish(
    line: Line,
    reservation: ReservationId,
    blocks: &[AllotmentRow],
    names: &Names,
) -> Result<Wish, String> {
    let block = block(&line, blocks, names)?;
    let guest = Guest {
        name: line.guest.clone(),
        email: line.email,
        ..Guest::default()
    };
    let room = WishedRoom {
        room_stay: None,
        room_type: block.room_type,
        rate_plan: None,
        stay: line.stay,
        quantity: 1,
        price: None,
        adults: line.adults,
        children_ages: Vec::new(),
        guest_name: Some(GuestName(line.guest)),
        allotment: Some(block.id),
    };
    Ok(Wish {
        reservation,
        hold: None,
        source: Source::Group,
        rooms: vec![room],
        guest: Some(guest),
        note: line.note,
        owner_id: None,
        payment_reference: None,
        channel: None,
        guaranteed: false,
        force: None,
    })
}

/// The block that a line draws from: the one that it names, else the first of its type.
fn block<'a>(
    line: &Line,
    blocks: &'a [AllotmentRow],
    names: &Names,
) -> Result<&'a AllotmentRow, String> {
    let codes = |pick: &dyn Fn(&AllotmentRow) -> String| {
        let mut codes: Vec<String> = blocks.iter().map(pick).collect();
        codes.dedup();
        codes.join(", ")
    };
    if let Some(code) = &line.allotment {
        let named = blocks.iter().find(|block| block.code == *code);
        let known = codes(&|block| block.code.clone());
        return named.ok_or_else(|| {
            format!("allotment: the group has no such one, but {known}: name one of these")
        });
    }
    let of_type = |code: &str| {
        let id = names.room_types.id(code);
        blocks.iter().find(|block| Some(block.room_type) == id)
    };
    let known = codes(&|block| names.room_types.shown(block.room_type));
    match &line.room_type {
        Some(code) => of_type(code).ok_or_else(|| {
            format!("room type: the group has no rooms of it, but of {known}: name one of these")
        }),
        None => match blocks {
            [only] => Ok(only),
            [] => Err("no rooms are kept for the group: agree an allotment of it first".to_owned()),
            _ => Err(format!("room type: say which, of {known}")),
        },
    }
}
