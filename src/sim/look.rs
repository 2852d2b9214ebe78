//! What a ledger holds, read by the simulation's own statements and not by the ledger's.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff_sqlx::Date;
use keyrack_ledger::decide::state::Reservation;
use keyrack_model::id::{AccountId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool, Row as _};
use uuid::Uuid;

use crate::auditor::compare::{Remembered, State};
use crate::error::SimError;
use crate::look_pools as pools;
use crate::stage::OURS;

/// Everything of a property, in one snapshot.
pub async fn state(pool: &PgPool, property: PropertyId) -> Result<State, SimError> {
    let reading = SimError::look("reading what is held");
    let mut tx = pool.begin().await.map_err(&reading)?;
    let state = async {
        sqlx::query("set transaction isolation level repeatable read read only")
            .execute(&mut *tx)
            .await?;
        Ok(State {
            nights: nights(&mut tx, property).await?,
            reservations: reservations(&mut tx, property).await?,
            references: references(&mut tx, property).await?,
            cases: cases(&mut tx, property).await?,
            allotments: pools::allotments(&mut tx, property).await?,
            files: pools::files(&mut tx, property).await?,
            switches: pools::switches(&mut tx, property).await?,
            refunds: refunds(&mut tx, property).await?,
        })
    };
    let state = state.await.map_err(&reading)?;
    tx.commit().await.map_err(&reading)?;
    Ok(state)
}

async fn nights(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<BTreeMap<(RoomTypeId, jiff::civil::Date), NightBalance>, sqlx::Error> {
    let rows = sqlx::query(
        "select room_type_id, stay_date, physical, out_of_order, overbooking_limit, allotted,
                held, sold, oversold
           from night where property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    let night = |row: &sqlx::postgres::PgRow| {
        let key = (RoomTypeId(row.get(0)), row.get::<Date, _>(1).to_jiff());
        let balance = NightBalance {
            physical: row.get(2),
            out_of_order: row.get(3),
            overbooking_limit: row.get(4),
            allotted: row.get(5),
            held: row.get(6),
            sold: row.get(7),
            oversold: row.get(8),
        };
        (key, balance)
    };
    Ok(rows.iter().map(night).collect())
}

async fn reservations(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<BTreeMap<ReservationId, Reservation>, sqlx::Error> {
    let rows: Vec<Json<Reservation>> = sqlx::query_scalar(
        "select jsonb_build_object(
                'property', r.property_id, 'id', r.reservation_id, 'number', r.number,
                'status', r.status, 'version', r.version, 'source', r.source,
                'account', r.account_id, 'channel_reference', r.channel_reference,
                'hold_until', r.hold_until, 'hold_dead_at', r.hold_dead_at,
                'extensions', r.extensions, 'owner_id', r.owner_id,
                'payment_reference', r.payment_reference, 'booked_at', r.booked_at,
                'created_at', r.created_at, 'updated_at', r.updated_at, 'flags', r.flags,
                'detail', coalesce(r.detail, '{}'),
                'rooms', coalesce((
                    select jsonb_agg(jsonb_build_object(
                        'id', s.room_stay_id, 'room_type', s.room_type_id,
                        'rate_plan', s.rate_plan_id, 'arrival', s.arrival,
                        'departure', s.departure, 'taken_from', s.taken_from,
                        'taken_until', s.taken_until, 'quantity', s.quantity,
                        'is_given_back', s.is_given_back, 'components', s.components,
                        'adults', s.adults, 'children_ages', coalesce(s.children_ages, '[]'),
                        'nightly', coalesce(s.nightly, '[]'), 'booked', s.booked)
                        order by s.room_stay_id)
                      from known_room_stay s
                     where s.property_id = r.property_id
                       and s.reservation_id = r.reservation_id), '[]'))
           from known_reservation r where r.property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|Json(r)| (r.id, r)).collect())
}

async fn references(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<BTreeMap<(AccountId, String), Remembered>, sqlx::Error> {
    type Row = (i64, String, Option<Uuid>, bool, Option<i64>);
    let rows: Vec<Row> = sqlx::query_as(
        "select account_id, reference, reservation_id, is_cancelled, last_order
           from channel_reference where property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    let mut references = BTreeMap::new();
    for (account, reference, reservation, is_cancelled, order) in rows {
        let remembered = (reservation.map(ReservationId), is_cancelled, order);
        references.insert((AccountId(account), reference), remembered);
    }
    Ok(references)
}

async fn cases(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<BTreeSet<(RoomTypeId, jiff::civil::Date)>, sqlx::Error> {
    let rows: Vec<(i64, Date)> = sqlx::query_as(
        "select n.room_type_id, n.stay_date
           from overbooking_case_night n
           join overbooking_case c using (property_id, case_id)
          where n.property_id = $1 and n.cured_at is null and c.status = 'open'",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    let night = |(room_type, night): (i64, Date)| (RoomTypeId(room_type), night.to_jiff());
    Ok(rows.into_iter().map(night).collect())
}

async fn refunds(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<BTreeMap<ReservationId, usize>, sqlx::Error> {
    let rows: Vec<(Uuid, i64)> = sqlx::query_as(
        "select reservation_id, count(*) from ledger_entry
          where property_id = $1 and kind = 'refund_due' group by 1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    let count = |(id, count): (Uuid, i64)| {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        (ReservationId(id), count)
    };
    Ok(rows.into_iter().map(count).collect())
}

/// What lies in both places or hangs on a reservation that lies elsewhere, and what is archived and
/// has not ended.
pub async fn astray(pool: &PgPool) -> Result<Vec<String>, SimError> {
    sqlx::query_scalar(
        "select 'reservation ' || a.number || ' is archived, ' || a.status || ', and '
                || coalesce(r.status, 'nowhere else')
           from archived_reservation a left join reservation r using (property_id, reservation_id)
          where r.number is not null
             or a.status not in ('completed', 'no_show', 'cancelled', 'expired')
         union all
         select 'a room stay of ' || s.reservation_id || ' without it'
           from room_stay s left join reservation r using (property_id, reservation_id)
          where r.number is null
         union all
         select 'a guest of ' || g.reservation_id || ' without it'
           from reservation_guest g left join reservation r using (property_id, reservation_id)
          where r.number is null
         union all
         select 'a room of ' || m.reservation_id || ' without it'
           from room_assignment m left join reservation r using (property_id, reservation_id)
          where m.reservation_id is not null and r.number is null
         union all
         select 'an archived stay or guest of ' || k.reservation_id || ' without it'
           from (select property_id, reservation_id from archived_room_stay
                 union all
                 select property_id, reservation_id from archived_reservation_guest) k
           left join archived_reservation a using (property_id, reservation_id)
          where a.number is null",
    )
    .fetch_all(pool)
    .await
    .map_err(SimError::look("looking for what is astray"))
}

/// How many reservations are archived.
pub async fn archived(pool: &PgPool) -> Result<u64, SimError> {
    let count: i64 = sqlx::query_scalar("select count(*) from archived_reservation")
        .fetch_one(pool)
        .await
        .map_err(SimError::look("counting what is archived"))?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Rooms that were made or lost: entries between pools against the counts of their nights.
pub async fn unconserved(pool: &PgPool) -> Result<Vec<String>, SimError> {
    sqlx::query_scalar(
        "select n.room_type_id || ' ' || n.stay_date || ': entries say '
                || coalesce(e.sums, 'nothing') || ', the night '
                || concat_ws('/', n.physical, n.overbooking_limit, n.out_of_order, n.held, n.sold)
           from night n
           left join lateral (
                select concat_ws('/',
                       sum(case when from_pool = 'outside' then quantity
                                when to_pool = 'outside' then -quantity else 0 end),
                       sum(case when from_pool = 'limit' then quantity
                                when to_pool = 'limit' then -quantity else 0 end),
                       sum(case when to_pool = 'out_of_order' then quantity
                                when from_pool = 'out_of_order' then -quantity else 0 end),
                       sum(case when to_pool = 'held' then quantity
                                when from_pool = 'held' then -quantity else 0 end),
                       sum(case when to_pool = 'sold' then quantity
                                when from_pool = 'sold' then -quantity else 0 end)) as sums
                  from ledger_entry l
                 where l.property_id = n.property_id and l.room_type_id = n.room_type_id
                   and l.quantity > 0
                   and n.stay_date >= l.night_from and n.stay_date < l.night_until
                having count(*) > 0) e on true
          where coalesce(e.sums, '0/0/0/0/0') <>
                concat_ws('/', n.physical, n.overbooking_limit, n.out_of_order, n.held, n.sold)",
    )
    .fetch_all(pool)
    .await
    .map_err(SimError::look("summing the entries"))
}

/// Waits until no daemon's backend works any more: one whose daemon was killed may still be
/// carrying out what it was told last.
pub async fn quiet(pool: &PgPool) -> Result<(), SimError> {
    for _ in 0..LOOKS_MAX {
        let busy: i64 = sqlx::query_scalar(
            "select count(*) from pg_stat_activity
              where datname = current_database() and application_name <> $1
                and usename <> current_user and state <> 'idle'",
        )
        .bind(OURS)
        .fetch_one(pool)
        .await
        .map_err(SimError::look("looking who works"))?;
        if busy == 0 {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(())
}

const LOOKS_MAX: u32 = 2_000;
