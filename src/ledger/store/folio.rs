//! Reservations with their guests and rooms, as they are shown: `reservation`, `room_stay`,
//! `reservation_guest`, the same in the archive, `room_assignment`, `channel_reference`.

use std::collections::BTreeMap;

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{PropertyId, ReservationId, RoomStayId};
use keyrack_model::reservation::{Guest, GuestName};
use keyrack_model::stay::days_between;
use sqlx::types::Json;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::error::LedgerError;
use crate::reservations::{Filter, Folio};
use crate::store::row::ReservationRow;

#[derive(sqlx::FromRow)]
struct Row {
    reservation: Json<ReservationRow>,
    guest: Option<Json<Guest>>,
    room_guests: Option<Json<BTreeMap<i32, GuestName>>>,
    note: Option<String>,
    remarks: Option<Json<Vec<GuestName>>>,
    assigned: Json<Vec<(i32, String)>>,
    now: Timestamp,
}

/// Reservations of a property by id, in order of id.
pub(crate) async fn by_ids(
    conn: &mut PgConnection,
    property: PropertyId,
    ids: &[Uuid],
) -> Result<Vec<Folio>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(include_str!("sql/folio.sql"))
        .bind(property.0)
        .bind(ids)
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("reading reservations"))?;
    rows.into_iter().map(Folio::try_from).collect()
}

/// Ids of the reservations that a filter lets through, in order of id.
pub(crate) async fn filtered(
    conn: &mut PgConnection,
    property: PropertyId,
    filter: &Filter,
) -> Result<Vec<Uuid>, LedgerError> {
    let mut query = QueryBuilder::<Postgres>::new("select reservation_id from (");
    for (at, place) in PLACES.iter().enumerate() {
        query.push(if at == 0 { "(" } else { " union all (" });
        lying_there(&mut query, place, property, filter);
        query.push(")");
    }
    query.push(") known order by reservation_id limit ");
    query.push_bind(limit(filter));
    query
        .build_query_scalar()
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("listing reservations"))
}

/// Where reservations lie. Each place is asked by itself, by its own indexes.
struct Place {
    reservation: &'static str,
    room_stay: &'static str,
    guest: &'static str,
}

const PLACES: [Place; 2] = [
    Place {
        reservation: "reservation",
        room_stay: "room_stay",
        guest: "reservation_guest",
    },
    Place {
        reservation: "archived_reservation",
        room_stay: "archived_room_stay",
        guest: "archived_reservation_guest",
    },
];

fn limit(filter: &Filter) -> i64 {
    i64::from(filter.limit.clamp(1, PAGE_MAX))
}

fn lying_there(
    query: &mut QueryBuilder<Postgres>,
    place: &Place,
    property: PropertyId,
    filter: &Filter,
) {
    query.push("select r.reservation_id from ");
    if is_narrow(filter) {
        begin_with_stays(query, place, property, filter);
    } else {
        query.push(place.reservation).push(" r");
    }
    query.push(" where r.property_id = ").push_bind(property.0);
    if let Some(after) = filter.after {
        query.push(" and r.reservation_id > ").push_bind(after.0);
    }
    if !filter.status.is_empty() {
        let names: Vec<&str> = filter.status.iter().map(|status| status.as_str()).collect();
        query
            .push(" and r.status = any(")
            .push_bind(names)
            .push(")");
    }
    if let Some(source) = filter.source {
        query.push(" and r.source = ").push_bind(source.as_str());
    }
    if let Some(account) = filter.account {
        query.push(" and r.account_id = ").push_bind(account.0);
    }
    if filter.staying_on.is_some() && filter.status.is_empty() {
        query.push(" and r.status not in ('cancelled', 'expired')");
    }
    if !is_narrow(filter) && bounds(filter).iter().any(|(_, date)| date.is_some()) {
        query.push(" and r.reservation_id in (select s.reservation_id from ");
        push_stays(query, place, property, filter);
        query.push(")");
    }
    if let Some(text) = &filter.q {
        narrow_by_text(query, place, property, text);
    }
    query.push(" order by r.reservation_id limit ");
    query.push_bind(limit(filter));
}

/// Reservations in one page at most.
const PAGE_MAX: u32 = 500;

/// Whether few stays meet it: those of some days. A text names fewer still.
fn is_narrow(filter: &Filter) -> bool {
    let days = [
        filter.arrival_from.zip(filter.arrival_to),
        filter.departure_from.zip(filter.departure_to),
        filter.arrival_from.zip(filter.departure_to),
    ];
    let few = |(from, until)| days_between(from, until) <= NARROW_DAYS;
    filter.q.is_none() && (filter.staying_on.is_some() || days.into_iter().flatten().any(few))
}

/// A month: what a desk looks at.
const NARROW_DAYS: i32 = 31;

/// Begins with the few stays of some days, by their own index, and goes to the reservation of each:
/// a plan that walks the reservations of a busy hotel until enough have such a stay may walk them
/// all.
fn begin_with_stays(
    query: &mut QueryBuilder<Postgres>,
    place: &Place,
    property: PropertyId,
    filter: &Filter,
) {
    query.push("(select distinct s.property_id, s.reservation_id from ");
    push_stays(query, place, property, filter);
    if let Some(after) = filter.after {
        query.push(" and s.reservation_id > ").push_bind(after.0);
    }
    query.push(") k cross join lateral (select * from ");
    query.push(place.reservation);
    query.push(
        " r where r.property_id = k.property_id
                    and r.reservation_id = k.reservation_id offset 0) r",
    );
}

/// The stays that arrive, depart or sleep then, as a table and its conditions.
fn push_stays(
    query: &mut QueryBuilder<Postgres>,
    place: &Place,
    property: PropertyId,
    filter: &Filter,
) {
    query.push(place.room_stay);
    query.push(" s where not s.is_given_back and s.property_id = ");
    query.push_bind(property.0);
    for (condition, date) in bounds(filter) {
        if let Some(date) = date {
            query.push(condition).push_bind(Date::from(date));
        }
    }
}

/// What a filter asks of a stay.
fn bounds(filter: &Filter) -> [(&'static str, Option<jiff::civil::Date>); 8] {
    [
        (" and s.arrival >= ", filter.arrival_from),
        (" and s.arrival < ", filter.arrival_to),
        (" and s.departure >= ", filter.departure_from),
        // Nobody departs before he arrives, and stays lie in the order in which they depart.
        (" and s.departure >= ", filter.arrival_from),
        (" and s.departure < ", filter.departure_to),
        (" and s.taken_from <= ", filter.staying_on),
        (" and s.taken_until > ", filter.staying_on),
        // A stay is taken no longer than it departs, but for guests who overstay.
        (" and s.departure >= ", filter.staying_on),
    ]
}

/// Narrows to a number, a channel's reference, an owner, or the beginning of a guest's name.
fn narrow_by_text(
    query: &mut QueryBuilder<Postgres>,
    place: &Place,
    property: PropertyId,
    text: &str,
) {
    let text = text.trim();
    let number = text.parse::<i64>().ok();
    // What a pattern would read as a sign stands for itself.
    let escaped = text
        .to_lowercase()
        .replace('\\', "\\\\")
        .replace('%', "\\%")
        .replace('_', "\\_");
    query.push(" and r.reservation_id in (select n.reservation_id from ");
    query
        .push(place.reservation)
        .push(" n where n.property_id = ")
        .push_bind(property.0)
        .push(" and n.number = ")
        .push_bind(number);
    query.push(" union all select o.reservation_id from ");
    query
        .push(place.reservation)
        .push(" o where o.owner_id is not null and o.property_id = ")
        .push_bind(property.0)
        .push(" and o.owner_id = ")
        .push_bind(text.to_owned());
    query.push(
        " union all select c.reservation_id from account a
                    join channel_reference c using (property_id, account_id)
                    where a.property_id = ",
    );
    query
        .push_bind(property.0)
        .push(" and c.reference = ")
        .push_bind(text.to_owned());
    query.push(" union all select g.reservation_id from ");
    query
        .push(place.guest)
        .push(" g where g.property_id = ")
        .push_bind(property.0)
        .push(" and lower(g.guest ->> 'name') like ")
        .push_bind(format!("{escaped}%"))
        .push(")");
}

impl TryFrom<Row> for Folio {
    type Error = LedgerError;

    fn try_from(row: Row) -> Result<Self, LedgerError> {
        let names = row.room_guests.map(|Json(names)| names).unwrap_or_default();
        let assigned = row.assigned.0.into_iter();
        Ok(Self {
            reservation: row.reservation.0.into_reservation()?,
            guest: row.guest.map(|Json(guest)| guest).unwrap_or_default(),
            room_guests: names
                .into_iter()
                .map(|(id, name)| (RoomStayId(id), name))
                .collect(),
            note: row.note,
            remarks: row.remarks.map(|Json(remarks)| remarks).unwrap_or_default(),
            assigned: assigned.map(|(id, code)| (RoomStayId(id), code)).collect(),
            now: row.now.to_jiff(),
        })
    }
}

/// The reservation's row locked, with what an assignment must know of it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct LockedStay {
    pub version: i64,
    pub status: String,
    pub room_type_id: Option<i64>,
    pub is_composed: bool,
    pub taken_from: Date,
    pub taken_until: Date,
    pub quantity: i32,
    pub is_given_back: bool,
}

/// Locks a reservation and reads one of its room stays.
pub(crate) async fn lock_stay(
    conn: &mut PgConnection,
    property: PropertyId,
    id: ReservationId,
    stay: RoomStayId,
) -> Result<Option<LockedStay>, LedgerError> {
    for locking in LOCK_STAY {
        let locked = sqlx::query_as(locking)
            .bind(property.0)
            .bind(id.0)
            .bind(stay.0)
            .fetch_optional(&mut *conn)
            .await
            .map_err(LedgerError::while_doing("locking a reservation"))?;
        if locked.is_some() {
            return Ok(locked);
        }
    }
    Ok(None)
}

/// One that is archived has ended, and will be told so.
const LOCK_STAY: [&str; 2] = [
    "select r.version, r.status, s.room_type_id, s.components is not null as is_composed,
            s.taken_from, s.taken_until, s.quantity, s.is_given_back
     from reservation r join room_stay s using (property_id, reservation_id)
     where r.property_id = $1 and r.reservation_id = $2 and s.room_stay_id = $3
     for update of r",
    "select r.version, r.status, s.room_type_id, s.components is not null as is_composed,
            s.taken_from, s.taken_until, s.quantity, s.is_given_back
     from archived_reservation r join archived_room_stay s using (property_id, reservation_id)
     where r.property_id = $1 and r.reservation_id = $2 and s.room_stay_id = $3
     for update of r",
];

/// Counts a reservation's version up; it no longer needs another room.
pub(crate) async fn count_up(
    conn: &mut PgConnection,
    property: PropertyId,
    id: ReservationId,
) -> Result<i64, LedgerError> {
    sqlx::query_scalar(
        "update reservation set version = version + 1, updated_at = ledger_now(),
                flags = array_remove(flags, 'needs_room_change')
         where property_id = $1 and reservation_id = $2 returning version",
    )
    .bind(property.0)
    .bind(id.0)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("counting a version up"))
}
