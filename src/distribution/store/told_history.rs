//! Every change that was told, for past nights and for evidence. The tables told_history and
//! told_basis.

use std::collections::BTreeSet;

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::ari::{AriKey, AriValues};
use keyrack_model::id::{AccountId, RoomTypeId};
use keyrack_model::stay::StayRange;
use sqlx::types::Json;
use sqlx::{PgConnection, PgExecutor};

use crate::error::DistributionError;
use crate::store::mark::{columns, instants, key};
use crate::store::told::{detail, values};

/// A change that was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Telling {
    /// To whom.
    pub(crate) account: AccountId,
    /// Of which cell.
    pub(crate) key: AriKey,
    /// What.
    pub(crate) values: AriValues,
    /// When the change was marked.
    pub(crate) due_at: jiff::Timestamp,
    /// The change of the ledger that it tells; `None` where all was told again.
    pub(crate) changed_at: Option<jiff::Timestamp>,
    /// When it was sent.
    pub(crate) sent_at: jiff::Timestamp,
    /// When the channel said that it took it; `None` where it refused or never answered.
    pub(crate) acknowledged_at: Option<jiff::Timestamp>,
    /// Why it was not acknowledged.
    pub(crate) why: Option<String>,
    /// In which message.
    pub(crate) attempt: i64,
    /// It raised the number.
    pub(crate) is_raise: bool,
    /// How it was worked out, as JSON; `None` where it is not known, or not asked for.
    pub(crate) basis: Option<String>,
}

/// Appends tellings of one account.
pub(crate) async fn append(
    conn: &mut PgConnection,
    account: AccountId,
    tellings: &[Telling],
) -> Result<(), DistributionError> {
    let (room_types, rate_plans, nights) = columns(tellings.iter().map(|telling| telling.key));
    let rooms: Vec<Option<i32>> = tellings
        .iter()
        .map(|telling| telling.values.rooms)
        .collect();
    let closed: Vec<bool> = tellings
        .iter()
        .map(|telling| telling.values.closed)
        .collect();
    let details: Vec<_> = tellings
        .iter()
        .map(|telling| detail(&telling.values))
        .collect();
    let due: Vec<Timestamp> = tellings
        .iter()
        .map(|telling| telling.due_at.into())
        .collect();
    let sent: Vec<Timestamp> = tellings
        .iter()
        .map(|telling| telling.sent_at.into())
        .collect();
    let acknowledged = instants(tellings.iter().map(|telling| telling.acknowledged_at));
    let changed = instants(tellings.iter().map(|telling| telling.changed_at));
    let whys: Vec<Option<&str>> = tellings
        .iter()
        .map(|telling| telling.why.as_deref())
        .collect();
    let attempts: Vec<i64> = tellings.iter().map(|telling| telling.attempt).collect();
    let raises: Vec<bool> = tellings.iter().map(|telling| telling.is_raise).collect();
    let bases = keep_bases(&mut *conn, tellings).await?;
    sqlx::query(
        "insert into told_history (account_id, room_type_id, rate_plan_id, stay_date, rooms,
                                   closed, detail, due_at, sent_at, acknowledged_at, why,
                                   attempt_id, is_raise, changed_at, basis)
         select $1, t, p, d, r, c, e, u, s, a, w, i, x, h, md5(b)::uuid
         from unnest($2::bigint[], $3::bigint[], $4::date[], $5::integer[],
                                  $6::boolean[], $7::jsonb[], $8::timestamptz[],
                                  $9::timestamptz[], $10::timestamptz[], $11::text[],
                                  $12::bigint[], $13::boolean[], $14::timestamptz[],
                                  $15::text[])
              as n (t, p, d, r, c, e, u, s, a, w, i, x, h, b)",
    )
    .bind(account.0)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .bind(rooms)
    .bind(closed)
    .bind(details)
    .bind(due)
    .bind(sent)
    .bind(acknowledged)
    .bind(whys)
    .bind(attempts)
    .bind(raises)
    .bind(changed)
    .bind(bases)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("recording what was told"))?;
    Ok(())
}

/// Keeps the calculations of tellings, each once, since most nights are alike; gives them back in
/// the order of the tellings.
async fn keep_bases<'a>(
    conn: &mut PgConnection,
    tellings: &'a [Telling],
) -> Result<Vec<Option<&'a str>>, DistributionError> {
    let of_each: Vec<Option<&str>> = tellings
        .iter()
        .map(|telling| telling.basis.as_deref())
        .collect();
    let bases: BTreeSet<&str> = of_each.iter().copied().flatten().collect();
    if bases.is_empty() {
        return Ok(of_each);
    }
    sqlx::query(
        "insert into told_basis (digest, lines, last_used_on)
         select md5(b)::uuid, b::jsonb, ledger_now()::date from unnest($1::text[]) b order by 1
         on conflict (digest) do update set last_used_on = excluded.last_used_on
         where told_basis.last_used_on < excluded.last_used_on - 30",
    )
    .bind(bases.into_iter().collect::<Vec<_>>())
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("keeping calculations"))?;
    Ok(of_each)
}

/// Which of the tellings by an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum By {
    /// The last that had been sent.
    Sent,
    /// The last that the channel had taken.
    Acknowledged,
}

/// What an account was told of a cell last by an instant, with its calculation.
pub(crate) async fn by(
    db: impl PgExecutor<'_>,
    account: AccountId,
    cell: AriKey,
    by: By,
    at: jiff::Timestamp,
) -> Result<Option<Telling>, DistributionError> {
    let sql = match by {
        By::Sent => {
            "select h.*, b.lines as lines
             from told_history h left join told_basis b on b.digest = h.basis
             where account_id = $1 and stay_date = $2 and room_type_id = $3 and rate_plan_id = $4
                   and sent_at <= $5
             order by history_id desc limit 1"
        }
        By::Acknowledged => {
            "select h.*, b.lines as lines
             from told_history h left join told_basis b on b.digest = h.basis
             where account_id = $1 and stay_date = $2 and room_type_id = $3 and rate_plan_id = $4
                   and acknowledged_at <= $5
             order by history_id desc limit 1"
        }
    };
    let row: Option<ThenRow> = sqlx::query_as(sql)
        .bind(account.0)
        .bind(Date::from(cell.night))
        .bind(cell.room_type.0)
        .bind(cell.rate_plan.map_or(0, |plan| plan.0))
        .bind(Timestamp::from(at))
        .fetch_optional(db)
        .await
        .map_err(DistributionError::while_doing(
            "reading the history of telling",
        ))?;
    Ok(row.map(|then| Telling {
        basis: then.lines.map(|Json(lines)| lines.to_string()),
        ..Telling::from(then.row)
    }))
}

#[derive(sqlx::FromRow)]
struct ThenRow {
    #[sqlx(flatten)]
    row: Row,
    lines: Option<Json<serde_json::Value>>,
}

/// Takes calculations away that nothing can rest on any more; says how many went.
pub(crate) async fn purge_bases(
    db: impl PgExecutor<'_>,
    unused_days: i32,
    limit: i64,
) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from told_basis where digest = any(array(
             select digest from told_basis
             where last_used_on < (select ledger_now())::date - $1 limit $2))",
    )
    .bind(unused_days)
    .bind(limit)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("purging calculations"))?;
    Ok(done.rows_affected())
}

#[derive(sqlx::FromRow)]
struct Row {
    account_id: i64,
    room_type_id: i64,
    rate_plan_id: i64,
    stay_date: Date,
    rooms: Option<i32>,
    closed: bool,
    detail: Option<Json<AriValues>>,
    due_at: Timestamp,
    sent_at: Timestamp,
    acknowledged_at: Option<Timestamp>,
    why: Option<String>,
    attempt_id: i64,
    is_raise: bool,
    changed_at: Option<Timestamp>,
}

impl From<Row> for Telling {
    fn from(row: Row) -> Self {
        Self {
            account: AccountId(row.account_id),
            key: key(row.room_type_id, row.rate_plan_id, row.stay_date),
            values: values(row.rooms, row.closed, row.detail),
            due_at: row.due_at.to_jiff(),
            sent_at: row.sent_at.to_jiff(),
            acknowledged_at: row.acknowledged_at.map(|at| at.to_jiff()),
            why: row.why,
            attempt: row.attempt_id,
            is_raise: row.is_raise,
            changed_at: row.changed_at.map(|at| at.to_jiff()),
            basis: None,
        }
    }
}

/// What some accounts were told of the rooms of a type on some nights, in the order of telling;
/// the newest `limit`.
pub(crate) async fn of_rooms(
    db: impl PgExecutor<'_>,
    accounts: &[AccountId],
    room_types: &[RoomTypeId],
    nights: StayRange,
    limit: i64,
) -> Result<Vec<Telling>, DistributionError> {
    let accounts: Vec<i64> = accounts.iter().map(|account| account.0).collect();
    let room_types: Vec<i64> = room_types.iter().map(|room_type| room_type.0).collect();
    let mut rows: Vec<Row> = sqlx::query_as(
        "select account_id, room_type_id, rate_plan_id, stay_date, rooms, closed, detail,
                due_at, sent_at, acknowledged_at, why, attempt_id, is_raise, changed_at
         from told_history
         where account_id = any($1) and stay_date >= $2 and stay_date < $3
               and room_type_id = any($4) and rate_plan_id = 0
         order by history_id desc limit $5",
    )
    .bind(accounts)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .bind(room_types)
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing(
        "reading the history of telling",
    ))?;
    rows.reverse();
    Ok(rows.into_iter().map(Telling::from).collect())
}

/// What an account was told between two nights, in the order of telling.
pub(crate) async fn between(
    db: impl PgExecutor<'_>,
    account: AccountId,
    from: jiff::civil::Date,
    to: jiff::civil::Date,
    limit: i64,
) -> Result<Vec<Telling>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select account_id, room_type_id, rate_plan_id, stay_date, rooms, closed, detail,
                due_at, sent_at, acknowledged_at, why, attempt_id, is_raise, changed_at
         from told_history
         where account_id = $1 and stay_date >= $2 and stay_date < $3
         order by stay_date, room_type_id, rate_plan_id, history_id limit $4",
    )
    .bind(account.0)
    .bind(Date::from(from))
    .bind(Date::from(to))
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing(
        "reading the history of telling",
    ))?;
    Ok(rows.into_iter().map(Telling::from).collect())
}

/// Milliseconds from change to acknowledgement over the last changes told to an account: of how
/// many, and their 50th, 95th and 99th hundredth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LagRow {
    /// Changes looked at, cell by cell.
    pub(crate) count: i64,
    /// Half took no longer.
    pub(crate) p50_ms: i64,
    /// 95 of a hundred took no longer.
    pub(crate) p95_ms: i64,
    /// 99 of a hundred took no longer.
    pub(crate) p99_ms: i64,
}

/// The lag over the last `last` acknowledged tellings of a change of the ledger; only those that
/// lower, or all. First and full tellings and echoes answer no change and count for nothing.
pub(crate) async fn lag(
    db: impl PgExecutor<'_>,
    account: AccountId,
    only_lowering: bool,
    last: i64,
) -> Result<LagRow, DistributionError> {
    let row: (i64, Option<i64>, Option<i64>, Option<i64>) = sqlx::query_as(
        "select count(*), percentile_disc(0.50) within group (order by ms),
                percentile_disc(0.95) within group (order by ms),
                percentile_disc(0.99) within group (order by ms)
         from (select (extract(epoch from acknowledged_at - changed_at) * 1000)::bigint as ms,
                      is_raise
               from told_history
               where account_id = $1 and acknowledged_at is not null
                     and changed_at is not null
               order by history_id desc limit $3) newest
         where not ($2 and is_raise)",
    )
    .bind(account.0)
    .bind(only_lowering)
    .bind(last)
    .fetch_one(db)
    .await
    .map_err(DistributionError::while_doing("measuring the lag"))?;
    Ok(LagRow {
        count: row.0,
        p50_ms: row.1.unwrap_or(0),
        p95_ms: row.2.unwrap_or(0),
        p99_ms: row.3.unwrap_or(0),
    })
}

/// Milliseconds from change to acknowledgement of the last acknowledged tellings of a change that
/// lowered: the same as [`lag`], one by one.
pub(crate) async fn lags(
    db: impl PgExecutor<'_>,
    account: AccountId,
    last: i64,
) -> Result<Vec<i64>, DistributionError> {
    sqlx::query_scalar(
        "select ms
         from (select (extract(epoch from acknowledged_at - changed_at) * 1000)::bigint as ms,
                      is_raise
               from told_history
               where account_id = $1 and acknowledged_at is not null
                     and changed_at is not null
               order by history_id desc limit $2) newest
         where not is_raise",
    )
    .bind(account.0)
    .bind(last)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("measuring the lag"))
}

/// Removes the history of nights before `before`, a piece at a time; says how many rows went.
pub(crate) async fn purge(
    db: impl PgExecutor<'_>,
    account: AccountId,
    before: jiff::civil::Date,
    limit: i64,
) -> Result<u64, DistributionError> {
    let done = sqlx::query(
        "delete from told_history where ctid = any(array(
             select ctid from told_history
             where account_id = $1 and stay_date < $2 limit $3))",
    )
    .bind(account.0)
    .bind(Date::from(before))
    .bind(limit)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing(
        "purging the history of telling",
    ))?;
    Ok(done.rows_affected())
}
