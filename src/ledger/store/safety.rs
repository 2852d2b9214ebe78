//! What `safety` rules keep back, and what is measured for it: `safety_number`, `safety_turn`.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{AccountId, PropertyId, RoomTypeId};
use keyrack_model::stay::Stay;
use sqlx::PgConnection;

use crate::decide::estimate::Sale;
use crate::decide::safety::{Kept, NightKind, SafetyKey, SafetyNumbers};
use crate::error::LedgerError;

/// Properties with a rule of this kind whose turn to be measured has come.
pub(crate) async fn due(
    conn: &mut PgConnection,
    every_seconds: i64,
) -> Result<Vec<PropertyId>, LedgerError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "select distinct r.property_id
         from buffer_rule r left join safety_turn t using (property_id)
         where r.kind = 'safety'
           and (t.measured_at is null
                or abs(extract(epoch from (select ledger_now()) - t.measured_at)) >= $1)
         order by r.property_id",
    )
    .bind(every_seconds)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for rules of safety"))?;
    Ok(ids.into_iter().map(PropertyId).collect())
}

/// Takes the turn of a property, unless it was measured just now; whoever else wants it waits until
/// the transaction ends.
pub(crate) async fn take_turn(
    conn: &mut PgConnection,
    property: PropertyId,
    every_seconds: i64,
) -> Result<bool, LedgerError> {
    let taken = sqlx::query(
        "insert into safety_turn (property_id, measured_at) values ($1, ledger_now())
         on conflict (property_id) do update set measured_at = excluded.measured_at
         where abs(extract(epoch from ledger_now() - safety_turn.measured_at)) >= $2",
    )
    .bind(property.0)
    .bind(every_seconds)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("taking the turn to measure"))?;
    Ok(taken.rows_affected() > 0)
}

#[derive(sqlx::FromRow)]
struct NumberRow {
    account_id: i64,
    room_type_id: i64,
    night_kind: i16,
    one_in: i32,
    rooms: i32,
    why: String,
}

/// The numbers of a property, or of one account.
pub(crate) async fn numbers(
    conn: &mut PgConnection,
    property: PropertyId,
    account: Option<AccountId>,
) -> Result<SafetyNumbers, LedgerError> {
    let rows: Vec<NumberRow> = sqlx::query_as(
        "select account_id, room_type_id, night_kind, one_in, rooms, why from safety_number
         where property_id = $1 and ($2::bigint is null or account_id = $2)",
    )
    .bind(property.0)
    .bind(account.map(|id| id.0))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading what is kept back"))?;
    let numbers = rows.into_iter().filter_map(|row| {
        let key = SafetyKey {
            account: AccountId(row.account_id),
            room_type: RoomTypeId(row.room_type_id),
            kind: NightKind::from_index(row.night_kind)?,
            one_in: row.one_in,
        };
        let (rooms, why) = (row.rooms, row.why);
        Some((key, Kept { rooms, why }))
    });
    Ok(numbers.collect())
}

/// Replaces the numbers of a property. Where only the words change they are written anew now and
/// then, and the instant of the change stays.
pub(crate) async fn replace(
    conn: &mut PgConnection,
    property: PropertyId,
    numbers: &SafetyNumbers,
) -> Result<(), LedgerError> {
    let accounts: Vec<i64> = numbers.keys().map(|key| key.account.0).collect();
    let types: Vec<i64> = numbers.keys().map(|key| key.room_type.0).collect();
    let kinds: Vec<i16> = numbers.keys().map(|key| key.kind.index()).collect();
    let targets: Vec<i32> = numbers.keys().map(|key| key.one_in).collect();
    let rooms: Vec<i32> = numbers.values().map(|kept| kept.rooms).collect();
    let whys: Vec<&str> = numbers.values().map(|kept| kept.why.as_str()).collect();
    sqlx::query(
        "with given as (
             select * from unnest($2::bigint[], $3::bigint[], $4::smallint[], $5::integer[],
                                  $6::integer[], $7::text[])
                  as g (account_id, room_type_id, night_kind, one_in, rooms, why)
         ), gone as (
             delete from safety_number n where n.property_id = $1 and not exists (
                 select from given g
                 where (g.account_id, g.room_type_id, g.night_kind, g.one_in)
                     = (n.account_id, n.room_type_id, n.night_kind, n.one_in))
         )
         insert into safety_number as n (property_id, account_id, room_type_id, night_kind, one_in,
                                         rooms, why, changed_at, written_at)
         select $1, g.*, ledger_now(), ledger_now() from given g
         on conflict (property_id, account_id, room_type_id, night_kind, one_in) do update set
             rooms = excluded.rooms, why = excluded.why, written_at = excluded.written_at,
             changed_at = case when n.rooms = excluded.rooms then n.changed_at
                               else excluded.changed_at end
         where n.rooms <> excluded.rooms
            or n.written_at < excluded.written_at - interval '10 minutes'",
    )
    .bind(property.0)
    .bind(accounts)
    .bind(types)
    .bind(kinds)
    .bind(targets)
    .bind(rooms)
    .bind(whys)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("writing what is kept back"))?;
    Ok(())
}

#[derive(sqlx::FromRow)]
struct SaleRow {
    account_id: Option<i64>,
    booked_at: Timestamp,
    booked_on: Date,
    created_at: Timestamp,
    room_type_id: i64,
    arrival: Date,
    departure: Date,
    quantity: i32,
}

/// What was sold within so many days, the newest `limit` rooms. Reservations carry the instant of
/// their making in their ids, so the days are a range of the primary key.
pub(crate) async fn sales(
    conn: &mut PgConnection,
    property: PropertyId,
    days: i64,
    limit: i64,
) -> Result<Vec<Sale>, LedgerError> {
    let rows: Vec<SaleRow> = sqlx::query_as(
        "select r.account_id, coalesce(r.booked_at, r.created_at) as booked_at,
                (coalesce(r.booked_at, r.created_at) at time zone p.time_zone)::date as booked_on,
                r.created_at, s.room_type_id, s.arrival, s.departure, s.quantity
         from property p
         join reservation r on r.property_id = p.property_id
         join room_stay s on s.property_id = r.property_id
                             and s.reservation_id = r.reservation_id
         where p.property_id = $1
           and r.reservation_id >= (lpad(to_hex((extract(
                   epoch from clock_timestamp() - $2 * interval '1 day') * 1000)::bigint), 12, '0')
                   || repeat('0', 20))::uuid
           and s.room_type_id is not null and s.arrival < s.departure
         order by r.reservation_id desc limit $3",
    )
    .bind(property.0)
    .bind(days)
    .bind(limit)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading what was sold lately"))?;
    let sales = rows.into_iter().filter_map(|row| {
        Some(Sale {
            seller: row.account_id.map(AccountId),
            booked_ms: row.booked_at.to_jiff().as_millisecond(),
            booked_on: row.booked_on.to_jiff(),
            heard_ms: row.created_at.to_jiff().as_millisecond(),
            room_type: RoomTypeId(row.room_type_id),
            nights: Stay::new(row.arrival.to_jiff(), row.departure.to_jiff())?,
            rooms: u32::try_from(row.quantity).unwrap_or(1),
        })
    });
    Ok(sales.collect())
}

/// The property's own target, where it has one.
pub(crate) async fn one_in(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Option<i32>, LedgerError> {
    let one_in: Option<Option<i32>> = sqlx::query_scalar(
        "select (policies ->> 'safety_one_in')::integer from property where property_id = $1",
    )
    .bind(property.0)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading a property's target"))?;
    Ok(one_in.flatten())
}

/// Whether a property has a rule of this kind.
pub(crate) async fn is_ruled(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<bool, LedgerError> {
    sqlx::query_scalar(
        "select exists (select from buffer_rule where property_id = $1 and kind = 'safety')",
    )
    .bind(property.0)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking for rules of safety"))
}
