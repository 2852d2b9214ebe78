//! What was told to an account of each night. The tables told and told_history.

use std::collections::HashMap;

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::ari::{AriKey, AriValues};
use keyrack_model::id::{AccountId, ConnectionId};
use sqlx::types::Json;
use sqlx::{PgConnection, PgExecutor};

use crate::error::DistributionError;
use crate::push::urgency::Shown;
use crate::store::mark::{columns, key};

/// What a channel was told last of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// Which.
    pub(crate) key: AriKey,
    /// The values, and what the channel may show of them.
    pub(crate) shown: Shown,
    /// The change that it tells.
    pub(crate) due_at: jiff::Timestamp,
    /// When it was sent.
    pub(crate) sent_at: jiff::Timestamp,
    /// When the channel said that it took it.
    pub(crate) acknowledged_at: Option<jiff::Timestamp>,
    /// In which message.
    pub(crate) attempt: i64,
}

#[derive(sqlx::FromRow)]
struct Row {
    room_type_id: i64,
    rate_plan_id: i64,
    stay_date: Date,
    rooms: Option<i32>,
    closed: bool,
    detail: Option<Json<AriValues>>,
    openness_min: i32,
    openness_max: i32,
    due_at: Timestamp,
    sent_at: Timestamp,
    acknowledged_at: Option<Timestamp>,
    attempt_id: i64,
}

impl From<Row> for Told {
    fn from(row: Row) -> Self {
        Self {
            key: key(row.room_type_id, row.rate_plan_id, row.stay_date),
            shown: Shown {
                values: values(row.rooms, row.closed, row.detail),
                is_acknowledged: row.acknowledged_at.is_some(),
                openness_min: row.openness_min,
                openness_max: row.openness_max,
            },
            due_at: row.due_at.to_jiff(),
            sent_at: row.sent_at.to_jiff(),
            acknowledged_at: row.acknowledged_at.map(|at| at.to_jiff()),
            attempt: row.attempt_id,
        }
    }
}

/// Price and restrictions, where there are any: most cells have none and stay narrow.
pub(super) fn detail(values: &AriValues) -> Option<Json<AriValues>> {
    let plain = AriValues {
        rooms: values.rooms,
        closed: values.closed,
        ..AriValues::default()
    };
    (*values != plain).then(|| Json(values.clone()))
}

/// The values of a cell from its columns.
pub(super) fn values(
    rooms: Option<i32>,
    closed: bool,
    detail: Option<Json<AriValues>>,
) -> AriValues {
    let detail = detail.map(|Json(values)| values).unwrap_or_default();
    AriValues {
        rooms,
        closed,
        ..detail
    }
}

/// What was told of some cells.
pub(crate) async fn load(
    db: impl PgExecutor<'_>,
    account: AccountId,
    keys: &[AriKey],
) -> Result<HashMap<AriKey, Told>, DistributionError> {
    let (room_types, rate_plans, nights) = columns(keys.iter().copied());
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, rate_plan_id, stay_date, rooms, closed, detail, openness_min,
                openness_max, due_at, sent_at, acknowledged_at, attempt_id
         from unnest($2::bigint[], $3::bigint[], $4::date[]) as cell(t, p, d)
         join told on account_id = $1 and room_type_id = t and rate_plan_id = p
                      and stay_date = d",
    )
    .bind(account.0)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading what was told"))?;
    Ok(rows
        .into_iter()
        .map(Told::from)
        .map(|told| (told.key, told))
        .collect())
}

/// Rooms that stand open at an account and were told since the last complete poll of its
/// connection began, or whose answer came since then. An account's rooms are read through once:
/// some thousands of rows.
pub(crate) async fn since_last_poll(
    db: impl PgExecutor<'_>,
    account: AccountId,
    connection: ConnectionId,
) -> Result<Vec<AriKey>, DistributionError> {
    let rows: Vec<(i64, i64, Date)> = sqlx::query_as(
        "select told.room_type_id, told.rate_plan_id, told.stay_date
         from told, poll_state poll
         where told.account_id = $1 and told.rate_plan_id = 0 and told.openness_max > 0
               and poll.connection_id = $2 and poll.goal = 'poll'
               and (told.acknowledged_at is null
                    or greatest(told.sent_at, told.acknowledged_at)
                       >= coalesce(poll.last_complete_begun_at, '-infinity'))",
    )
    .bind(account.0)
    .bind(connection.0)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing(
        "reading what was told lately",
    ))?;
    let keys = rows
        .into_iter()
        .map(|(room, plan, night)| key(room, plan, night));
    Ok(keys.collect())
}

/// Writes what an account is told, over whatever was there.
pub(crate) async fn save(
    conn: &mut PgConnection,
    account: AccountId,
    told: &[Told],
) -> Result<(), DistributionError> {
    let (room_types, rate_plans, nights) = columns(told.iter().map(|told| told.key));
    let rooms: Vec<Option<i32>> = told.iter().map(|told| told.shown.values.rooms).collect();
    let closed: Vec<bool> = told.iter().map(|told| told.shown.values.closed).collect();
    let details: Vec<_> = told.iter().map(|told| detail(&told.shown.values)).collect();
    let least: Vec<i32> = told.iter().map(|told| told.shown.openness_min).collect();
    let most: Vec<i32> = told.iter().map(|told| told.shown.openness_max).collect();
    let due: Vec<Timestamp> = told.iter().map(|told| told.due_at.into()).collect();
    let sent: Vec<Timestamp> = told.iter().map(|told| told.sent_at.into()).collect();
    let acknowledged: Vec<Option<Timestamp>> = told
        .iter()
        .map(|told| told.acknowledged_at.map(Timestamp::from))
        .collect();
    let attempts: Vec<i64> = told.iter().map(|told| told.attempt).collect();
    sqlx::query(
        "insert into told (account_id, room_type_id, rate_plan_id, stay_date, rooms, closed,
                           detail, openness_min, openness_max, due_at, sent_at,
                           acknowledged_at, attempt_id)
         select $1, * from unnest($2::bigint[], $3::bigint[], $4::date[], $5::integer[],
                                  $6::boolean[], $7::jsonb[], $8::integer[], $9::integer[],
                                  $10::timestamptz[], $11::timestamptz[],
                                  $12::timestamptz[], $13::bigint[])
         on conflict (account_id, room_type_id, rate_plan_id, stay_date) do update set
             rooms = excluded.rooms, closed = excluded.closed, detail = excluded.detail,
             openness_min = excluded.openness_min, openness_max = excluded.openness_max,
             due_at = excluded.due_at, sent_at = excluded.sent_at,
             acknowledged_at = excluded.acknowledged_at, attempt_id = excluded.attempt_id",
    )
    .bind(account.0)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .bind(rooms)
    .bind(closed)
    .bind(details)
    .bind(least)
    .bind(most)
    .bind(due)
    .bind(sent)
    .bind(acknowledged)
    .bind(attempts)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("writing what is told"))?;
    Ok(())
}

/// Forgets what was told of cells: it never arrived, or their remote code is gone.
pub(crate) async fn forget(
    conn: &mut PgConnection,
    account: AccountId,
    keys: &[AriKey],
) -> Result<(), DistributionError> {
    let (room_types, rate_plans, nights) = columns(keys.iter().copied());
    sqlx::query(
        "delete from told using unnest($2::bigint[], $3::bigint[], $4::date[]) as cell(t, p, d)
         where account_id = $1 and room_type_id = t and rate_plan_id = p and stay_date = d",
    )
    .bind(account.0)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("forgetting what was told"))?;
    Ok(())
}

/// Forgets what was told of a type or plan whose remote code is closed, from a night on.
pub(crate) async fn forget_code(
    db: impl PgExecutor<'_>,
    account: AccountId,
    room_type: i64,
    rate_plan: i64,
    from: jiff::civil::Date,
) -> Result<(), DistributionError> {
    sqlx::query(
        "delete from told
         where account_id = $1 and room_type_id = $2 and rate_plan_id = $3 and stay_date >= $4",
    )
    .bind(account.0)
    .bind(room_type)
    .bind(rate_plan)
    .bind(Date::from(from))
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("forgetting a remote code"))?;
    Ok(())
}

/// Forgets everything that an account was told, from a night on: it stands for another listing.
pub(crate) async fn forget_all(
    db: impl PgExecutor<'_>,
    account: AccountId,
    from: jiff::civil::Date,
) -> Result<(), DistributionError> {
    sqlx::query("delete from told where account_id = $1 and stay_date >= $2")
        .bind(account.0)
        .bind(Date::from(from))
        .execute(db)
        .await
        .map_err(DistributionError::while_doing("forgetting a listing"))?;
    Ok(())
}

/// A type or plan got another remote code, of which nobody knows what it shows: from a night on
/// the channel is trusted with nothing, and closes come before raises.
pub(crate) async fn doubt(
    db: impl PgExecutor<'_>,
    account: AccountId,
    room_type: i64,
    rate_plan: i64,
    from: jiff::civil::Date,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update told set openness_min = 0, acknowledged_at = null
         where account_id = $1 and room_type_id = $2 and rate_plan_id = $3 and stay_date >= $4",
    )
    .bind(account.0)
    .bind(room_type)
    .bind(rate_plan)
    .bind(Date::from(from))
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("doubting what was told"))?;
    Ok(())
}

/// What was told between two nights (end excluded), in order of type, plan and night.
pub(crate) async fn between(
    db: impl PgExecutor<'_>,
    account: AccountId,
    from: jiff::civil::Date,
    to: jiff::civil::Date,
    limit: i64,
) -> Result<Vec<Told>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, rate_plan_id, stay_date, rooms, closed, detail, openness_min,
                openness_max, due_at, sent_at, acknowledged_at, attempt_id
         from told
         where account_id = $1 and stay_date >= $2 and stay_date < $3
         order by room_type_id, rate_plan_id, stay_date limit $4",
    )
    .bind(account.0)
    .bind(Date::from(from))
    .bind(Date::from(to))
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading what was told"))?;
    Ok(rows.into_iter().map(Told::from).collect())
}

/// Rooms that may stand open at the channel: unacknowledged, or with a change still to be told,
/// from a night on.
pub(crate) async fn untold_open(
    db: impl PgExecutor<'_>,
    account: AccountId,
    from: jiff::civil::Date,
    limit: i64,
) -> Result<Vec<Told>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, rate_plan_id, stay_date, rooms, closed, detail, openness_min,
                openness_max, t.due_at, sent_at, acknowledged_at, attempt_id
         from told t
         where account_id = $1 and rate_plan_id = 0 and stay_date >= $2 and openness_max > 0
               and (acknowledged_at is null or exists (
                   select from mark m
                   where m.account_id = t.account_id and m.room_type_id = t.room_type_id
                         and m.rate_plan_id = 0 and m.stay_date = t.stay_date))
         order by stay_date, room_type_id limit $3",
    )
    .bind(account.0)
    .bind(Date::from(from))
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading nights at risk"))?;
    Ok(rows.into_iter().map(Told::from).collect())
}

/// How many nights stand open at the channel, as far as it was told, from a night on.
pub(crate) async fn open_nights(
    db: impl PgExecutor<'_>,
    account: AccountId,
    from: jiff::civil::Date,
) -> Result<i64, DistributionError> {
    sqlx::query_scalar(
        "select count(*) from told
         where account_id = $1 and rate_plan_id = 0 and stay_date >= $2 and openness_max > 0",
    )
    .bind(account.0)
    .bind(Date::from(from))
    .fetch_one(db)
    .await
    .map_err(DistributionError::while_doing("counting open nights"))
}

/// Removes what was told of nights before `before`, a piece at a time; says how many went.
pub(crate) async fn purge(
    db: impl PgExecutor<'_>,
    account: AccountId,
    before: jiff::civil::Date,
    limit: i64,
) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from told where ctid = any(array(
             select ctid from told where account_id = $1 and stay_date < $2 limit $3))",
    )
    .bind(account.0)
    .bind(Date::from(before))
    .bind(limit)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("purging what was told"))?;
    Ok(done.rows_affected())
}
