//! The places of guests on arrival dates: `guest_place`.

use std::collections::{BTreeMap, BTreeSet};

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, ReservationId};
use keyrack_model::reservation::Guest;
use keyrack_model::stay::StayDate;
use sha2::{Digest, Sha256};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::decide::draft::ReservationKey;
use crate::decide::guest_limit::{ArrivalKey, GuestKey, Place, Places, Taken, guest_keys};
use crate::error::LedgerError;

/// The places of some guests on some days.
pub(crate) async fn seen(
    conn: &mut PgConnection,
    keys: BTreeSet<ArrivalKey>,
) -> Result<Places, LedgerError> {
    let keys: Vec<ArrivalKey> = keys.into_iter().collect();
    let rows: Vec<(i64, i32, Uuid, bool)> = sqlx::query_as(
        "select k.at, g.place, g.reservation_id, exists (
                    select from known_reservation r
                     join known_room_stay s on s.property_id = r.property_id
                                               and s.reservation_id = r.reservation_id
                    where r.property_id = g.property_id and r.reservation_id = g.reservation_id
                      and (r.status in ('confirmed', 'checked_in', 'completed', 'no_show')
                           or r.status = 'held' and r.hold_dead_at > (select ledger_now()))
                      and not s.is_given_back and s.arrival = g.arrival)
         from unnest($1::bigint[], $2::bytea[], $3::date[]) with ordinality
                  as k (property_id, guest, arrival, at)
        cross join lateral (select * from guest_place g
                             where g.property_id = k.property_id and g.arrival = k.arrival
                               and g.guest = k.guest offset 0) g
         order by k.at, g.place",
    )
    .bind(keys.iter().map(|key| key.0.0).collect::<Vec<_>>())
    .bind(
        keys.iter()
            .map(|key| hash(key.0, &key.1))
            .collect::<Vec<_>>(),
    )
    .bind(keys.iter().map(|key| Date::from(key.2)).collect::<Vec<_>>())
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading the places of guests"))?;
    let mut places = Places::new();
    for (at, number, reservation, is_taken) in rows {
        let at = usize::try_from(at - 1).ok().and_then(|at| keys.get(at));
        if let Some(key) = at {
            places.entry(key.clone()).or_default().push(Place {
                number,
                reservation: ReservationId(reservation),
                is_taken,
            });
        }
    }
    Ok(places)
}

/// The guests of some reservations, as they are stored.
pub(crate) async fn guests(
    conn: &mut PgConnection,
    keys: &BTreeSet<ReservationKey>,
) -> Result<BTreeMap<ReservationKey, Guest>, LedgerError> {
    let rows: Vec<(i64, Uuid, Json<Guest>)> = sqlx::query_as(
        "select g.property_id, g.reservation_id, g.guest
         from unnest($1::bigint[], $2::uuid[]) as k (property_id, reservation_id)
        cross join lateral (select * from known_reservation_guest g
                             where g.property_id = k.property_id
                               and g.reservation_id = k.reservation_id offset 0) g",
    )
    .bind(keys.iter().map(|key| key.0.0).collect::<Vec<_>>())
    .bind(keys.iter().map(|key| key.1.0).collect::<Vec<_>>())
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading guests"))?;
    let guests = rows.into_iter().map(|(property, reservation, guest)| {
        ((PropertyId(property), ReservationId(reservation)), guest.0)
    });
    Ok(guests.collect())
}

/// Takes places, in the order of their key; says whether each was still as it was read.
pub(crate) async fn take(conn: &mut PgConnection, taken: &[Taken]) -> Result<bool, sqlx::Error> {
    let mut taken: Vec<&Taken> = taken.iter().collect();
    taken.sort_unstable_by(|a, b| (&a.key, a.number).cmp(&(&b.key, b.number)));
    for one in taken {
        let (property, guest, arrival) = &one.key;
        let sql = if one.before.is_some() {
            "update guest_place set reservation_id = $5
              where property_id = $1 and arrival = $2 and guest = $3 and place = $4
                and reservation_id = $6"
        } else {
            "insert into guest_place (property_id, arrival, guest, place, reservation_id)
             select $1, $2, $3, $4, $5 where $6::uuid is null on conflict do nothing"
        };
        let done = sqlx::query(sql)
            .bind(property.0)
            .bind(Date::from(*arrival))
            .bind(hash(*property, guest))
            .bind(one.number)
            .bind(one.reservation.0)
            .bind(one.before.map(|id| id.0))
            .execute(&mut *conn)
            .await?;
        if done.rows_affected() != 1 {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Gives places to the reservations that stand, from a day on: a limit is new, and counts them too.
pub(crate) async fn give(
    conn: &mut PgConnection,
    property: PropertyId,
    from: StayDate,
) -> Result<(), LedgerError> {
    let doing = LedgerError::while_doing("giving places to guests");
    let rows: Vec<(Uuid, Date, Json<Guest>)> = sqlx::query_as(
        "select distinct r.reservation_id, s.arrival, g.guest
         from reservation r
         join room_stay s using (property_id, reservation_id)
         join reservation_guest g using (property_id, reservation_id)
         where r.property_id = $1 and s.arrival >= $2 and not s.is_given_back
           and (r.status in ('confirmed', 'checked_in')
                or r.status = 'held' and r.hold_dead_at > (select ledger_now()))
         order by r.reservation_id",
    )
    .bind(property.0)
    .bind(Date::from(from))
    .fetch_all(&mut *conn)
    .await
    .map_err(&doing)?;
    let stays = rows.iter().flat_map(|(reservation, arrival, guest)| {
        let keys = guest_keys(guest).into_iter();
        keys.map(|key| {
            (
                ReservationId(*reservation),
                (property, key, arrival.to_jiff()),
            )
        })
    });
    let stays: Vec<(ReservationId, ArrivalKey)> = stays.collect();
    let keys = stays.iter().map(|(_, key)| key.clone()).collect();
    let mut places = seen(&mut *conn, keys).await?;
    let mut taken = Vec::new();
    for (reservation, key) in stays {
        let known = places.entry(key.clone()).or_default();
        if known.iter().any(|place| place.reservation == reservation) {
            continue;
        }
        let numbers: BTreeSet<i32> = known.iter().map(|place| place.number).collect();
        let number = (0..)
            .find(|number| !numbers.contains(number))
            .unwrap_or(i32::MAX);
        known.push(Place {
            number,
            reservation,
            is_taken: true,
        });
        taken.push(Taken {
            key,
            number,
            before: None,
            reservation,
        });
    }
    // Who is in the way has just booked, and has a place.
    take(conn, &taken).await.map_err(doing)?;
    Ok(())
}

/// Forgets the places of days that are over.
pub(crate) async fn forget(
    conn: &mut PgConnection,
    property: PropertyId,
    before: StayDate,
) -> Result<(), LedgerError> {
    sqlx::query("delete from guest_place where property_id = $1 and arrival < $2")
        .bind(property.0)
        .bind(Date::from(before))
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("forgetting the places of guests"))?;
    Ok(())
}

/// The same address is another guest in another house.
fn hash(property: PropertyId, guest: &GuestKey) -> Vec<u8> {
    let mut hash = Sha256::new();
    hash.update(property.0.to_be_bytes());
    hash.update(guest.text());
    hash.finalize().to_vec()
}
