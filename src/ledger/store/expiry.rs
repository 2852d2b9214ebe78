//! Dead holds: which there are, and those that cannot be let go.

use std::collections::BTreeSet;
use std::time::Duration;

use keyrack_model::id::{PropertyId, ReservationId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::decide::draft::ReservationKey;
use crate::error::LedgerError;

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
    let holds = rows.into_iter().map(|(property, reservation, millis)| {
        let dead_for = Duration::from_millis(u64::try_from(millis).unwrap_or(0));
        ((PropertyId(property), ReservationId(reservation)), dead_for)
    });
    Ok(holds.collect())
}

/// Properties with dead holds, and the age in seconds of the oldest death; those that wait for a
/// person count.
pub(crate) async fn properties_with_dead_holds(
    pool: &sqlx::PgPool,
) -> Result<Vec<(PropertyId, i64)>, LedgerError> {
    let rows: Vec<(i64, i64)> = sqlx::query_as(
        "select property_id, extract(epoch from ledger_now() - min(hold_dead_at))::bigint
           from reservation where status = 'held' and hold_dead_at <= (select ledger_now())
          group by property_id order by 2 desc",
    )
    .fetch_all(pool)
    .await
    .map_err(LedgerError::while_doing("looking for dead holds"))?;
    Ok(rows
        .into_iter()
        .map(|(id, age)| (PropertyId(id), age))
        .collect())
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
