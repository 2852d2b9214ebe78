//! Carries out what a batch decided, in one call, or nothing of it.

use std::collections::BTreeSet;

use jiff_sqlx::Timestamp;
use keyrack_model::id::PropertyId;
use keyrack_model::reservation::Status;
use serde_json::{Value, json};
use sqlx::error::DatabaseError;
use sqlx::postgres::PgDatabaseError;
use sqlx::{PgConnection, Row as _};
use uuid::Uuid;

use super::apply_allotment;
use super::apply_row::{
    ChangeRow, EntryRow, GuestRow, Guests, NewRow, NightRow, Place, ReceiptRow, StayRow,
};
use super::read::Places;
use super::row::{ReferenceRow, RoomStayRow};
use crate::decide::blocks::BlockChange;
use crate::decide::changes::{Changed, Changes};
use crate::decide::draft::NightKey;
use crate::decide::entry::Entry;
use crate::decide::overbooking::sheet::Ended;
use crate::decide::state::Reservation;

/// What became of a call.
#[derive(Debug)]
pub(crate) enum Applied {
    /// All of it.
    Whole {
        /// Short numbers for later reservations, as many as were to be drawn.
        numbers: Vec<i64>,
        /// Where the nights of the changes lie now, in their order.
        places: Vec<Place>,
    },
    /// Nothing: somebody was first on a row that a decision rested on.
    Short {
        /// Of which properties; none where it was no row of theirs but rules, a key or the clock.
        properties: BTreeSet<PropertyId>,
    },
}

/// Applies the changes on the very rows that were read, and draws short numbers beside.
pub(crate) async fn apply(
    conn: &mut PgConnection,
    changes: &Changes,
    (places, is_remembered): (&Places, bool),
    draw: usize,
) -> Result<Applied, sqlx::Error> {
    let draw = i32::try_from(draw).unwrap_or(i32::MAX);
    let plain = || changes.new.iter().filter(|new| !is_changed(new));
    let stays = plain().flat_map(|new| new.rooms.iter().map(move |room| StayRow(new, room)));
    // Nights of the house are written before those of allotments and before switches, in the
    // order of all locks: they go with them.
    let by_key = !changes.allotments.is_empty();
    let nights = if by_key { &[][..] } else { &changes.nights };
    let night = |night| NightRow(night, places.get(&night.0).copied());
    let query = sqlx::query(CALL)
        .bind(Timestamp::from(changes.now))
        .bind(column(&changes.rules, |rule| rule.0.0))
        .bind(column(&changes.rules, |rule| rule.1))
        .bind(column(&changes.receipts, ReceiptRow))
        .bind(plain().map(NewRow).collect::<Vec<_>>())
        .bind(stays.collect::<Vec<_>>())
        .bind(column(&changes.changed, ChangeRow))
        .bind(column(nights, night))
        .bind(column(&changes.entries, EntryRow))
        .bind(
            changes
                .guests
                .iter()
                .filter(|one| is_of_new(changes, one))
                .map(GuestRow)
                .collect::<Vec<_>>(),
        )
        .bind(rarer(changes)?)
        .bind(draw)
        .bind(is_remembered);
    match query.fetch_one(conn).await {
        Ok(row) => Ok(Applied::Whole {
            places: row.try_get::<Option<_>, _>(0)?.unwrap_or_default(),
            numbers: row.try_get::<Option<_>, _>(1)?.unwrap_or_default(),
        }),
        Err(sqlx::Error::Database(error)) => match error.code().as_deref() {
            Some("KR001") => {
                let mut properties = named(&*error);
                if properties.is_empty() {
                    properties = changes.rules.iter().map(|(id, _)| *id).collect();
                }
                Ok(Applied::Short { properties })
            }
            Some("KR002") => Ok(Applied::Short {
                properties: BTreeSet::new(),
            }),
            _ => Err(sqlx::Error::Database(error)),
        },
        Err(error) => Err(error),
    }
}

/// The function, and numbers drawn beside it.
const CALL: &str = "select ledger_apply($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $13), \
    (select array_agg(nextval('reservation_number')) from generate_series(1, $12::integer))";

/// The properties of which somebody was first on a row, where the function says it.
fn named(error: &dyn DatabaseError) -> BTreeSet<PropertyId> {
    let detail = error.try_downcast_ref::<PgDatabaseError>();
    let ids = detail.and_then(PgDatabaseError::detail).unwrap_or_default();
    let ids = ids.split(',').filter_map(|id| id.parse().ok());
    ids.map(PropertyId).collect()
}

fn column<'a, T, R>(rows: impl IntoIterator<Item = &'a R>, pick: impl Fn(&'a R) -> T) -> Vec<T>
where
    R: 'a,
{
    rows.into_iter().map(pick).collect()
}

/// Made and changed in one batch: the plain way of new ones knows no later version, no extension
/// and no room that is given back.
fn is_changed(new: &Reservation) -> bool {
    new.version > 1 || new.extensions > 0 || new.rooms.iter().any(|room| room.is_given_back)
}

/// Guests of a reservation that the same batch makes, in the plain way.
fn is_of_new(changes: &Changes, (key, _): &Guests) -> bool {
    let at = |new: &Reservation| (new.property, new.id);
    let new = changes.new.binary_search_by_key(key, at);
    new.is_ok_and(|new| !is_changed(&changes.new[new]))
}

/// What most batches have nothing of, as JSON; `None` where there is nothing at all.
fn rarer(changes: &Changes) -> Result<Option<Value>, sqlx::Error> {
    let reassigned = changes.changed.iter().filter(|one| may_be_reassigned(one));
    let reassigned: Vec<Value> = reassigned.map(reassign).collect();
    let nothing = reassigned.is_empty()
        && changes.references.is_empty()
        && changes.blocks.is_empty()
        && changes.allotments.is_empty()
        && changes.guests.iter().all(|one| is_of_new(changes, one))
        && changes.overbooked.is_empty()
        && changes.cured.is_empty()
        && changes.ended.is_empty()
        && !changes.new.iter().any(is_changed);
    if nothing {
        return Ok(None);
    }
    let encode = |error: serde_json::Error| sqlx::Error::Encode(error.into());
    let born = || changes.new.iter().filter(|new| is_changed(new));
    let changed_rooms = changes.changed.iter().filter(|one| one.has_other_rooms);
    let whole = changed_rooms.map(|changed| &changed.after);
    let stays = whole.chain(born()).flat_map(|r| {
        r.rooms
            .iter()
            .map(move |room| serde_json::to_value(RoomStayRow::of(r, room)))
    });
    let references = changes
        .references
        .iter()
        .map(|(property, account, text, version, after)| {
            serde_json::to_value(ReferenceRow {
                property_id: property.0,
                account_id: account.0,
                reference: text.clone(),
                reservation_id: after.reservation.map(|id| id.0),
                last_order: after.last_order,
                last_kind: after.last_kind,
                last_hash: after.last_hash.clone(),
                is_cancelled: after.is_cancelled,
                version: *version,
            })
        });
    let mut more = json!({
        // By rows of their own.
        "changed": [],
        "reassigned": reassigned,
        "born": born().map(made).collect::<Vec<_>>(),
        "stays": stays.collect::<Result<Vec<_>, _>>().map_err(encode)?,
        "references": references.collect::<Result<Vec<_>, _>>().map_err(encode)?,
        "blocks": changes.blocks.iter().map(blocked).collect::<Vec<_>>(),
        "guests": changes.guests.iter().filter(|one| !is_of_new(changes, one))
            .map(guest).collect::<Vec<_>>(),
        "overbooked": changes.overbooked.iter()
            .map(|(key, rooms)| on_night(changes, changes.taker_on(*key), *key, *rooms))
            .collect::<Vec<_>>(),
        "cured": changes.cured.iter()
            .map(|key| on_night(changes, changes.line_on(*key), *key, changes.beyond(*key)))
            .collect::<Vec<_>>(),
        "ended": changes.ended.iter().map(ended).collect::<Vec<_>>(),
    });
    if !changes.allotments.is_empty() {
        more["allotments"] = apply_allotment::rows(changes);
    }
    Ok(Some(more))
}

/// Its rooms or their nights are others, or it has ended: who sleeps where is looked at.
fn may_be_reassigned(changed: &Changed) -> bool {
    use Status::{Cancelled, Completed, Expired};
    changed.has_other_rooms || matches!(changed.after.status, Cancelled | Completed | Expired)
}

fn reassign(changed: &Changed) -> Value {
    json!({
        "property_id": changed.after.property, "reservation_id": changed.after.id,
        "retyped": changed.retyped,
    })
}

fn made(r: &Reservation) -> Value {
    json!({
        "property_id": r.property, "reservation_id": r.id, "number": r.number,
        "status": r.status.as_str(), "version": r.version, "source": r.source.as_str(),
        "account_id": r.account, "channel_reference": r.channel_reference,
        "hold_until": r.hold_until, "hold_dead_at": r.hold_dead_at, "extensions": r.extensions,
        "owner_id": r.owner_id, "payment_reference": r.payment_reference,
        "booked_at": r.booked_at, "flags": r.flags, "detail": r.detail,
    })
}

fn blocked((property, change): &(PropertyId, BlockChange)) -> Value {
    let room = &change.room;
    let blocks = room.blocks.iter().map(|block| {
        json!({
            "night_from": block.nights.arrival(), "night_until": block.nights.departure(),
            "kind": block.kind, "reason": block.reason,
        })
    });
    let unborn = change
        .unborn
        .iter()
        .map(|nights| json!({ "night_from": nights.arrival(), "night_until": nights.departure() }));
    json!({
        "property_id": property, "room_id": room.id, "room_type_id": room.room_type,
        "version_read": change.version_read, "version": room.version,
        "blocks": blocks.collect::<Vec<_>>(), "unborn": unborn.collect::<Vec<_>>(),
    })
}

fn guest((key, change): &Guests) -> Value {
    json!({
        "property_id": key.0, "reservation_id": key.1, "guest": change.guest,
        "room_guests": change.room_guests, "note": change.note, "remarks": change.remarks,
    })
}

/// A night that an overbooking case is about, with the command that made it so.
fn on_night(changes: &Changes, line: Option<&Entry>, key: NightKey, rooms: i32) -> Value {
    let by_hand = changes.by_hand.get(&key);
    let asked = by_hand.or_else(|| changes.reviewed.get(&key));
    let (command_id, by) = match (by_hand, line) {
        (None, Some(line)) => (line.command_id, &line.by),
        _ => {
            let asked = asked.unwrap_or(&changes.last);
            (asked.0, &asked.1)
        }
    };
    let reservation: Option<Uuid> = line.and_then(|l| l.reservation).map(|(id, _)| id.0);
    json!({
        "property_id": key.0, "room_type_id": key.1, "stay_date": key.2, "rooms": rooms,
        "command_id": command_id, "actor": by.actor, "reservation_id": reservation,
        "kind": line.map(|line| line.kind), "by_hand": by_hand.is_some(),
    })
}

/// A case that a command ends, with the command.
fn ended(one: &Ended) -> Value {
    let moves = one.moves.iter().map(|guest| {
        json!({
            "reservation": guest.reservation, "number": guest.number,
            "room_stay_id": guest.room_stay, "room_type_id": guest.room_type,
            "elsewhere": guest.elsewhere,
        })
    });
    json!({
        "property_id": one.property, "case_id": one.case, "version": one.version,
        "outcome": one.ending.as_str(), "cost_minor": one.cost.map(|cost| cost.0),
        "cost_currency": one.cost.map(|cost| cost.1.code()),
        "resolution": { "moves": moves.collect::<Vec<_>>(), "note": one.note },
        "beyond": one.beyond.iter().map(|(night, rooms)| {
            json!({ "stay_date": night, "rooms": rooms })
        }).collect::<Vec<_>>(),
        "command_id": one.by.0, "actor": one.by.1.actor,
    })
}
