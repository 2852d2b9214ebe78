//! What was turned away, summed up: `turn_away`.

use std::collections::HashMap;

use jiff_sqlx::Date;
use keyrack_model::id::{AccountId, PropertyId, RoomTypeId};
use keyrack_model::stay::StayRange;
use sqlx::PgConnection;

use crate::error::LedgerError;
use crate::turn_aways::{Key, Sum, TurnAway};

/// Adds sums to those that are there, as asked for today at each property.
pub(crate) async fn add(
    conn: &mut PgConnection,
    sums: &HashMap<Key, Sum>,
) -> Result<(), LedgerError> {
    let mut sums: Vec<(&Key, &Sum)> = sums.iter().collect();
    sums.sort_unstable_by_key(|(key, _)| *key);
    let ids = |pick: fn(&Key) -> i64| sums.iter().map(|(key, _)| pick(key)).collect::<Vec<_>>();
    let words = |pick: fn(&Key) -> &'static str| {
        let words = sums.iter().map(|(key, _)| pick(key));
        words.collect::<Vec<_>>()
    };
    let arrivals: Vec<Date> = sums.iter().map(|(key, _)| key.arrival.into()).collect();
    sqlx::query(
        "insert into turn_away as t (property_id, asked_on, arrival, room_type_id, source,
                                     account_id, reason, wishes, room_nights)
         select s.property_id, (ledger_now() at time zone p.time_zone)::date, s.arrival,
                s.room_type_id, s.source, s.account_id, s.reason, s.wishes, s.room_nights
         from unnest($1::bigint[], $2::date[], $3::bigint[], $4::text[], $5::bigint[], $6::text[],
                     $7::bigint[], $8::bigint[]) with ordinality
              as s (property_id, arrival, room_type_id, source, account_id, reason, wishes,
                    room_nights, at)
         join property p on p.property_id = s.property_id
         order by s.at
         on conflict (property_id, asked_on, arrival, room_type_id, source, account_id, reason)
         do update set wishes = t.wishes + excluded.wishes,
                       room_nights = t.room_nights + excluded.room_nights",
    )
    .bind(ids(|key| key.property.0))
    .bind(arrivals)
    .bind(ids(|key| key.room_type.0))
    .bind(words(|key| key.source))
    .bind(ids(|key| key.account.map_or(0, |id| id.0)))
    .bind(words(|key| key.reason))
    .bind(sums.iter().map(|(_, sum)| sum.wishes).collect::<Vec<_>>())
    .bind(
        sums.iter()
            .map(|(_, sum)| sum.room_nights)
            .collect::<Vec<_>>(),
    )
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("adding what was turned away"))?;
    Ok(())
}

#[derive(sqlx::FromRow)]
struct Row {
    asked_on: Date,
    arrival: Date,
    room_type_id: i64,
    source: String,
    account_id: i64,
    reason: String,
    wishes: i64,
    room_nights: i64,
}

/// What was turned away of some arrivals.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
    arrivals: StayRange,
    limit: u32,
) -> Result<Vec<TurnAway>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select asked_on, arrival, room_type_id, source, account_id, reason, wishes, room_nights
         from turn_away
         where property_id = $1 and arrival >= $2 and arrival < $3
         order by arrival, room_type_id, asked_on, source, account_id, reason limit $4",
    )
    .bind(property.0)
    .bind(Date::from(arrivals.arrival()))
    .bind(Date::from(arrivals.departure()))
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading what was turned away"))?;
    let rows = rows.into_iter().map(|row| TurnAway {
        asked_on: row.asked_on.to_jiff(),
        arrival: row.arrival.to_jiff(),
        room_type: RoomTypeId(row.room_type_id),
        source: row.source,
        account: Some(row.account_id).filter(|id| *id != 0).map(AccountId),
        reason: row.reason,
        wishes: row.wishes,
        room_nights: row.room_nights,
    });
    Ok(rows.collect())
}
