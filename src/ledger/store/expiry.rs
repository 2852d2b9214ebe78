//! Dead holds: which there are, and those that cannot be let go.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use keyrack_model::id::{PropertyId, ReservationId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::decide::draft::ReservationKey;
use crate::error::LedgerError;
use crate::holds::Due;

/// Dead holds of properties with how long they are dead, longest first: the longest dead of each,
/// at most `share`, together at most `limit`. What could not be let go before waits for a person
/// and keeps nobody from his turn.
pub(crate) async fn dead_holds(
    conn: &mut PgConnection,
    properties: &BTreeSet<PropertyId>,
    (limit, share): (i64, i64),
) -> Result<Vec<(ReservationKey, Duration)>, LedgerError> {
    let rows: Vec<(i64, Uuid, i64)> = sqlx::query_as(
        "select k.property_id, h.reservation_id,
                (extract(epoch from (select ledger_now()) - h.hold_dead_at) * 1000)::bigint
           from unnest($1::bigint[]) k(property_id)
          cross join lateral (
                select r.reservation_id, r.hold_dead_at from reservation r
                 where r.property_id = k.property_id and r.status = 'held'
                   and r.hold_dead_at <= (select ledger_now())
                   and r.flags @> '{expiry_failed}' is false
                 order by r.hold_dead_at limit $3) h
          order by h.hold_dead_at limit $2",
    )
    .bind(properties.iter().map(|id| id.0).collect::<Vec<_>>())
    .bind(limit)
    .bind(share)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading dead holds"))?;
    Ok(rows.into_iter().map(dead).collect())
}

/// Dead holds of properties that drew from an allotment, or whose nights turn switches; of each its
/// share at most.
pub(crate) async fn drawn(
    conn: &mut PgConnection,
    shares: &BTreeMap<PropertyId, u32>,
) -> Result<Vec<(ReservationKey, Duration)>, LedgerError> {
    let share = |share: &u32| i32::try_from(*share).unwrap_or(i32::MAX);
    let rows: Vec<(i64, Uuid, i64)> = sqlx::query_as(
        "select k.property_id, h.reservation_id,
                (extract(epoch from (select ledger_now()) - h.hold_dead_at) * 1000)::bigint
           from unnest($1::bigint[], $2::integer[]) k(property_id, share)
          cross join lateral (
                select r.reservation_id, r.hold_dead_at from reservation r
                 where r.property_id = k.property_id and r.status = 'held'
                   and r.hold_dead_at <= (select ledger_now())
                   and (r.detail ? 'drawn'
                        or exists (select from pool_rule q where q.property_id = k.property_id
                                                             and q.free_at_most is not null))
                   and r.flags @> '{expiry_failed}' is false
                 order by r.hold_dead_at limit k.share) h",
    )
    .bind(shares.keys().map(|id| id.0).collect::<Vec<_>>())
    .bind(shares.values().map(share).collect::<Vec<_>>())
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading dead holds"))?;
    Ok(rows.into_iter().map(dead).collect())
}

/// Lets go the longest dead holds of properties, of each its share at most, and says which and how
/// long they were dead. What somebody changes just now is passed over.
pub(crate) async fn expire(
    conn: &mut PgConnection,
    shares: &BTreeMap<PropertyId, u32>,
    command: Uuid,
    actor: &str,
) -> Result<Vec<(ReservationKey, Duration)>, LedgerError> {
    let share = |share: &u32| i32::try_from(*share).unwrap_or(i32::MAX);
    let rows: Vec<(i64, Uuid, i64)> = sqlx::query_as(
        "select property_id, reservation_id, dead_for_ms
           from ledger_expire_due($1, $2, $3, $4)",
    )
    .bind(shares.keys().map(|id| id.0).collect::<Vec<_>>())
    .bind(shares.values().map(share).collect::<Vec<_>>())
    .bind(command)
    .bind(actor)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("letting dead holds go"))?;
    Ok(rows.into_iter().map(dead).collect())
}

fn dead((property, reservation, millis): (i64, Uuid, i64)) -> (ReservationKey, Duration) {
    let dead_for = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
    ((PropertyId(property), ReservationId(reservation)), dead_for)
}

/// Properties with dead holds, the oldest death first; those that wait for a person count.
pub(crate) async fn properties_with_dead_holds(
    pool: &sqlx::PgPool,
) -> Result<Vec<Due>, LedgerError> {
    let rows: Vec<(i64, i64, i64)> = sqlx::query_as(
        "select property_id, count(*),
                extract(epoch from ledger_now() - min(hold_dead_at))::bigint
           from reservation where status = 'held' and hold_dead_at <= (select ledger_now())
          group by property_id order by 3 desc",
    )
    .fetch_all(pool)
    .await
    .map_err(LedgerError::while_doing("looking for dead holds"))?;
    let due = rows
        .into_iter()
        .map(|(property, holds, oldest_seconds)| Due {
            property: PropertyId(property),
            holds: u32::try_from(holds).unwrap_or(u32::MAX),
            oldest_seconds,
        });
    Ok(due.collect())
}

/// Shows a person that a hold cannot be let go. It is no change of the reservation, so its version
/// stays.
pub(crate) async fn flag_failed(
    conn: &mut PgConnection,
    (property, reservation): ReservationKey,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update reservation set flags = array_append(flags, 'expiry_failed')
          where property_id = $1 and reservation_id = $2 and status = 'held'
            and flags @> '{expiry_failed}' is false",
    )
    .bind(property.0)
    .bind(reservation.0)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("flagging a hold"))?;
    Ok(())
}
