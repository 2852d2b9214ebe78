//! Carries out what a batch decided, in one call, or nothing of it.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::PropertyId;
use serde_json::{Value, json};
use sqlx::PgConnection;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use uuid::Uuid;

use super::read::Places;
use super::row::{ReferenceRow, RoomStayRow};
use crate::decide::blocks::BlockChange;
use crate::decide::changes::{Changed, Changes};
use crate::decide::draft::{GuestChange, NightKey};
use crate::decide::entry::Entry;
use crate::decide::state::{Reservation, RoomStay};

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applied {
    /// All of it.
    Whole,
    /// Nothing: somebody was first on a row that a decision rested on.
    Short,
}

/// Applies the changes on the very rows that were read.
pub(crate) async fn apply(
    conn: &mut PgConnection,
    changes: &Changes,
    places: &Places,
) -> Result<Applied, sqlx::Error> {
    let query = sqlx::query(CALL).bind(Timestamp::from(changes.now));
    let query = bind_keys(query, changes)?;
    let plain: Vec<&Reservation> = changes.new.iter().filter(|r| !is_changed(r)).collect();
    let query = bind_new(query, &plain)?;
    let query = bind_nights(query, changes);
    let query = bind_entries(query, &changes.entries);
    let place = |(key, ..): &(NightKey, _, _)| places.get(key).cloned();
    let places = column(&changes.nights, place);
    match query.bind(rarer(changes)?).bind(places).execute(conn).await {
        Ok(_) => Ok(Applied::Whole),
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("KR001") => {
            Ok(Applied::Short)
        }
        Err(error) => Err(error),
    }
}

/// One place for each argument of the function.
const CALL: &str = "select ledger_apply($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13,
$14, $15, $16, \
    $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, \
    $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, \
    $53, $54, $55, $56, $57, $58, $59, $60)";

type Call<'q> = Query<'q, sqlx::Postgres, PgArguments>;

fn column<'a, T, R>(rows: impl IntoIterator<Item = &'a R>, pick: impl Fn(&'a R) -> T) -> Vec<T>
where
    R: 'a,
{
    rows.into_iter().map(pick).collect()
}

fn text(value: &impl serde::Serialize) -> Result<String, sqlx::Error> {
    serde_json::to_string(value).map_err(|error| sqlx::Error::Encode(error.into()))
}

fn bind_keys<'q>(query: Call<'q>, changes: &Changes) -> Result<Call<'q>, sqlx::Error> {
    let receipts = &changes.receipts;
    let kept = receipts
        .iter()
        .map(|kept| text(&kept.1))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(query
        .bind(column(&changes.rules, |rule| rule.0.0))
        .bind(column(&changes.rules, |rule| rule.1))
        .bind(column(receipts, |kept| kept.0.scope.clone()))
        .bind(column(receipts, |kept| kept.0.key.clone()))
        .bind(column(receipts, |kept| kept.0.fingerprint.clone()))
        .bind(kept))
}

/// Made and changed in one batch: the plain way of new ones knows no later version, no extension
/// and no room that is given back.
fn is_changed(new: &Reservation) -> bool {
    new.version > 1 || new.extensions > 0 || new.rooms.iter().any(|room| room.is_given_back)
}

fn bind_new<'q>(query: Call<'q>, new: &[&Reservation]) -> Result<Call<'q>, sqlx::Error> {
    let detail = new
        .iter()
        .map(|r| text(&r.detail))
        .collect::<Result<Vec<_>, _>>()?;
    let flags = |r: &&Reservation| (!r.flags.is_empty()).then(|| array_literal(&r.flags));
    let query = query
        .bind(column(new, |r| r.property.0))
        .bind(column(new, |r| r.id.0))
        .bind(column(new, |r| r.number))
        .bind(column(new, |r| r.status.as_str()))
        .bind(column(new, |r| r.source.as_str()))
        .bind(column(new, |r| r.account.map(|id| id.0)))
        .bind(column(new, |r| r.channel_reference.clone()))
        .bind(column(new, |r| r.hold_until.map(Timestamp::from)))
        .bind(column(new, |r| r.hold_dead_at.map(Timestamp::from)))
        .bind(column(new, |r| r.owner_id.clone()))
        .bind(column(new, |r| r.payment_reference.clone()))
        .bind(column(new, |r| r.booked_at.map(Timestamp::from)))
        .bind(column(new, flags))
        .bind(detail);
    let rooms: Vec<(&Reservation, &RoomStay)> = new
        .iter()
        .flat_map(|r| r.rooms.iter().map(move |room| (*r, room)))
        .collect();
    let more = rooms
        .iter()
        .map(|(_, room)| more_of(room))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(query
        .bind(column(&rooms, |(r, _)| r.property.0))
        .bind(column(&rooms, |(r, _)| r.id.0))
        .bind(column(&rooms, |(_, s)| s.id.0))
        .bind(column(&rooms, |(_, s)| s.room_type.map(|id| id.0)))
        .bind(column(&rooms, |(_, s)| s.rate_plan.map(|id| id.0)))
        .bind(column(&rooms, |(_, s)| Date::from(s.arrival)))
        .bind(column(&rooms, |(_, s)| Date::from(s.departure)))
        .bind(column(&rooms, |(_, s)| Date::from(s.taken_from)))
        .bind(column(&rooms, |(_, s)| Date::from(s.taken_until)))
        .bind(column(&rooms, |(_, s)| s.quantity))
        .bind(column(&rooms, |(_, s)| s.adults))
        .bind(more))
}

/// Columns of a room stay that most have none of; `None` where it has none at all.
fn more_of(room: &RoomStay) -> Result<Option<String>, sqlx::Error> {
    let mut more = serde_json::Map::new();
    let mut put = |name: &str, value: Result<Value, serde_json::Error>| {
        let value = value.map_err(|error| sqlx::Error::Encode(error.into()))?;
        more.insert(name.to_owned(), value);
        Ok::<(), sqlx::Error>(())
    };
    if let Some(components) = &room.components {
        put("components", serde_json::to_value(components))?;
    }
    if !room.children_ages.is_empty() {
        put("children_ages", serde_json::to_value(&room.children_ages))?;
    }
    if !room.nightly.is_empty() {
        put("nightly", serde_json::to_value(&room.nightly))?;
    }
    if let Some(booked) = &room.booked {
        put("booked", serde_json::to_value(booked))?;
    }
    Ok((!more.is_empty()).then(|| Value::Object(more).to_string()))
}

fn bind_nights<'q>(query: Call<'q>, changes: &Changes) -> Call<'q> {
    let nights = &changes.nights;
    query
        .bind(column(nights, |n| n.0.0.0))
        .bind(column(nights, |n| n.0.1.0))
        .bind(column(nights, |n| Date::from(n.0.2)))
        .bind(column(nights, |n| n.1))
        .bind(column(nights, |n| n.2.physical))
        .bind(column(nights, |n| n.2.out_of_order))
        .bind(column(nights, |n| n.2.overbooking_limit))
        .bind(column(nights, |n| n.2.held))
        .bind(column(nights, |n| n.2.sold))
        .bind(column(nights, |n| n.2.oversold))
}

fn bind_entries<'q>(query: Call<'q>, entries: &[Entry]) -> Call<'q> {
    query
        .bind(column(entries, |e| e.property.0))
        .bind(column(entries, |e| e.command_id))
        .bind(column(entries, |e| e.line))
        .bind(column(entries, |e| e.reservation.map(|(id, _)| id.0)))
        .bind(column(entries, |e| {
            e.reservation.map(|(_, version)| version)
        }))
        .bind(column(entries, |e| e.kind))
        .bind(column(entries, |e| e.nights().map(|(id, _)| id.0)))
        .bind(column(entries, |e| {
            e.nights().map(|(_, nights)| Date::from(nights.arrival()))
        }))
        .bind(column(entries, |e| {
            e.nights().map(|(_, nights)| Date::from(nights.departure()))
        }))
        .bind(column(entries, |e| e.moved.map_or(0, |m| m.quantity)))
        .bind(column(entries, |e| e.moved.map(|m| m.from.as_str())))
        .bind(column(entries, |e| e.moved.map(|m| m.to.as_str())))
        .bind(column(entries, |e| e.by.actor.clone()))
        .bind(column(entries, |e| e.by.request_id.clone()))
        .bind(column(entries, |e| e.reason.clone()))
}

/// What most batches have nothing of, as JSON; `None` where there is nothing at all.
fn rarer(changes: &Changes) -> Result<Option<Value>, sqlx::Error> {
    let nothing = changes.changed.is_empty()
        && changes.references.is_empty()
        && changes.blocks.is_empty()
        && changes.guests.is_empty()
        && changes.overbooked.is_empty()
        && changes.cured.is_empty()
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
    Ok(Some(json!({
        "changed": changes.changed.iter().map(changed).collect::<Vec<_>>(),
        "born": born().map(made).collect::<Vec<_>>(),
        "stays": stays.collect::<Result<Vec<_>, _>>().map_err(encode)?,
        "references": references.collect::<Result<Vec<_>, _>>().map_err(encode)?,
        "blocks": changes.blocks.iter().map(blocked).collect::<Vec<_>>(),
        "guests": changes.guests.iter().map(guest).collect::<Vec<_>>(),
        "overbooked": changes.overbooked.iter()
            .map(|(key, rooms)| on_night(changes, *key, *rooms)).collect::<Vec<_>>(),
        "cured": changes.cured.iter()
            .map(|key| on_night(changes, *key, 0)).collect::<Vec<_>>(),
    })))
}

fn changed(changed: &Changed) -> Value {
    let r = &changed.after;
    json!({
        "property_id": r.property, "reservation_id": r.id, "version": changed.version,
        "version_after": r.version, "status": r.status.as_str(), "hold_until": r.hold_until,
        "hold_dead_at": r.hold_dead_at,
        "extensions": r.extensions, "payment_reference": r.payment_reference,
        "booked_at": r.booked_at, "flags": r.flags, "detail": r.detail,
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

fn guest((key, change): &((PropertyId, keyrack_model::id::ReservationId), GuestChange)) -> Value {
    json!({
        "property_id": key.0, "reservation_id": key.1, "guest": change.guest,
        "room_guests": change.room_guests, "note": change.note, "remarks": change.remarks,
    })
}

/// A night that an overbooking case is about, with the command that made it so.
fn on_night(changes: &Changes, key: NightKey, rooms: i32) -> Value {
    let line = changes.line_on(key);
    let (command_id, by) = match line {
        Some(line) => (line.command_id, &line.by),
        None => (changes.last.0, &changes.last.1),
    };
    let reservation: Option<Uuid> = line.and_then(|l| l.reservation).map(|(id, _)| id.0);
    json!({
        "property_id": key.0, "room_type_id": key.1, "stay_date": key.2, "rooms": rooms,
        "command_id": command_id, "actor": by.actor, "reservation_id": reservation,
        "kind": line.map(|line| line.kind),
    })
}

/// A text array as Postgres spells it, for an array of arrays of different lengths.
fn array_literal(words: &[String]) -> String {
    let quoted = words
        .iter()
        .map(|word| format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}
