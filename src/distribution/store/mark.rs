//! The marks: which cells must be told. The table mark.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::ari::AriKey;
use keyrack_model::id::{AccountId, RatePlanId, RoomTypeId};
use sqlx::{PgConnection, PgExecutor};

use crate::error::DistributionError;
use crate::push::urgency::Repeat;

/// A cell that must be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// Which.
    pub(crate) key: AriKey,
    /// Moved by every new change.
    pub(crate) seq: i64,
    /// Since when something is untold.
    pub(crate) first_marked_at: jiff::Timestamp,
    /// The oldest change of the ledger that is untold; `None` where it is only told again.
    pub(crate) changed_at: Option<jiff::Timestamp>,
    /// The last change.
    pub(crate) marked_at: jiff::Timestamp,
    /// Why it is told also where nothing changed.
    pub(crate) repeat: Repeat,
    /// How often it was refused.
    pub(crate) attempt: u32,
}

/// A mark to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewMark {
    /// Whose.
    pub(crate) account: AccountId,
    /// Which cell.
    pub(crate) key: AriKey,
    /// Why it is told also where nothing changed.
    pub(crate) repeat: Repeat,
    /// The change of the ledger; `None` where there is none and all is told again.
    pub(crate) changed_at: Option<jiff::Timestamp>,
}

/// The keys of cells as columns: room types, rate plans (0 is the room), nights.
pub(super) fn columns(keys: impl Iterator<Item = AriKey>) -> (Vec<i64>, Vec<i64>, Vec<Date>) {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for key in keys {
        columns.0.push(key.room_type.0);
        columns.1.push(key.rate_plan.map_or(0, |plan| plan.0));
        columns.2.push(Date::from(key.night));
    }
    columns
}

/// Instants as a column.
pub(super) fn instants(
    instants: impl Iterator<Item = Option<jiff::Timestamp>>,
) -> Vec<Option<Timestamp>> {
    instants.map(|at| at.map(Timestamp::from)).collect()
}

/// The reverse of [`columns`].
pub(super) fn key(room_type: i64, rate_plan: i64, night: Date) -> AriKey {
    AriKey {
        room_type: RoomTypeId(room_type),
        rate_plan: (rate_plan != 0).then_some(RatePlanId(rate_plan)),
        night: night.to_jiff(),
    }
}

/// Marks cells, each at most once in `marks`. One that is marked already counts on, is due at
/// once, and is looked at anew.
pub(crate) async fn upsert(
    conn: &mut PgConnection,
    marks: &[NewMark],
) -> Result<(), DistributionError> {
    let accounts: Vec<i64> = marks.iter().map(|mark| mark.account.0).collect();
    let (room_types, rate_plans, nights) = columns(marks.iter().map(|mark| mark.key));
    let cancelled: Vec<bool> = marks.iter().map(|m| m.repeat.is_cancellation).collect();
    let full: Vec<bool> = marks.iter().map(|mark| mark.repeat.is_full).collect();
    let changed = instants(marks.iter().map(|mark| mark.changed_at));
    sqlx::query(
        "insert into mark (account_id, room_type_id, rate_plan_id, stay_date,
                           first_marked_at, marked_at, is_cancellation, is_full, due_at,
                           changed_at)
         select a, t, p, d, clock.now, clock.now, c, f, clock.now, h
         from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::date[], $5::boolean[],
                     $6::boolean[], $7::timestamptz[]) as cell(a, t, p, d, c, f, h),
              (select ledger_now() as now) clock
         order by a, t, p, d
         on conflict (account_id, room_type_id, rate_plan_id, stay_date) do update set
             seq = nextval('mark_seq'),
             marked_at = excluded.marked_at,
             is_cancellation = mark.is_cancellation or excluded.is_cancellation,
             is_full = mark.is_full or excluded.is_full,
             waits_for_poll = false,
             due_at = excluded.due_at,
             changed_at = least(mark.changed_at, excluded.changed_at)",
    )
    .bind(accounts)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .bind(cancelled)
    .bind(full)
    .bind(changed)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("marking cells"))?;
    Ok(())
}

/// Marks the plans of rooms that sold out or opened, as old as the rooms' own marks. Those that are
/// marked already are made as young as the rooms, so that they rise together. Says how many were
/// not marked so.
pub(crate) async fn add(
    conn: &mut PgConnection,
    account: AccountId,
    marks: &[(AriKey, Mark)],
) -> Result<u64, DistributionError> {
    let (room_types, rate_plans, nights) = columns(marks.iter().map(|(key, _)| *key));
    let first: Vec<Timestamp> = marks
        .iter()
        .map(|(_, of)| of.first_marked_at.into())
        .collect();
    let last: Vec<Timestamp> = marks.iter().map(|(_, of)| of.marked_at.into()).collect();
    let changed = instants(marks.iter().map(|(_, of)| of.changed_at));
    let done = sqlx::query(
        "insert into mark (account_id, room_type_id, rate_plan_id, stay_date,
                           first_marked_at, marked_at, due_at, changed_at)
         select $1, t, p, d, f, m, ledger_now(), h
         from unnest($2::bigint[], $3::bigint[], $4::date[], $5::timestamptz[],
                     $6::timestamptz[], $7::timestamptz[]) as cell(t, p, d, f, m, h)
         order by t, p, d
         on conflict (account_id, room_type_id, rate_plan_id, stay_date) do update set
             seq = excluded.seq,
             marked_at = excluded.marked_at,
             waits_for_poll = false,
             due_at = excluded.due_at,
             changed_at = least(mark.changed_at, excluded.changed_at)
         where mark.marked_at < excluded.marked_at",
    )
    .bind(account.0)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .bind(first)
    .bind(last)
    .bind(changed)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("marking plans"))?;
    Ok(done.rows_affected())
}

#[derive(sqlx::FromRow)]
struct Row {
    room_type_id: i64,
    rate_plan_id: i64,
    stay_date: Date,
    seq: i64,
    first_marked_at: Timestamp,
    changed_at: Option<Timestamp>,
    marked_at: Timestamp,
    is_cancellation: bool,
    is_full: bool,
    attempt: i32,
}

impl From<Row> for Mark {
    fn from(row: Row) -> Self {
        Self {
            key: key(row.room_type_id, row.rate_plan_id, row.stay_date),
            seq: row.seq,
            first_marked_at: row.first_marked_at.to_jiff(),
            changed_at: row.changed_at.map(|at| at.to_jiff()),
            marked_at: row.marked_at.to_jiff(),
            repeat: Repeat {
                is_cancellation: row.is_cancellation,
                is_full: row.is_full,
            },
            attempt: u32::try_from(row.attempt).unwrap_or(0),
        }
    }
}

/// What is due of an account at `now`, changes before resyncs; and what waited for a poll, where
/// it was marked before `risen_before`.
pub(crate) async fn due(
    db: impl PgExecutor<'_>,
    account: AccountId,
    now: jiff::Timestamp,
    risen_before: Option<jiff::Timestamp>,
    limit: i64,
) -> Result<Vec<Mark>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "(select room_type_id, rate_plan_id, stay_date, seq, first_marked_at, marked_at,
                 is_cancellation, is_full, attempt, changed_at
          from mark
          where account_id = $1 and not waits_for_poll and due_at <= $2
          order by is_full, due_at limit $4)
         union all
         (select room_type_id, rate_plan_id, stay_date, seq, first_marked_at, marked_at,
                 is_cancellation, is_full, attempt, changed_at
          from mark
          where account_id = $1 and waits_for_poll and due_at <= $2 and marked_at < $3
          order by is_full, due_at limit $4)",
    )
    .bind(account.0)
    .bind(Timestamp::from(now))
    .bind(risen_before.map(Timestamp::from))
    .bind(limit)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading marks"))?;
    Ok(rows.into_iter().map(Mark::from).collect())
}

/// Every mark of an account, for a complete set.
pub(crate) async fn all(
    db: impl PgExecutor<'_>,
    account: AccountId,
) -> Result<Vec<Mark>, DistributionError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, rate_plan_id, stay_date, seq, first_marked_at, marked_at,
                is_cancellation, is_full, attempt, changed_at
         from mark where account_id = $1",
    )
    .bind(account.0)
    .fetch_all(db)
    .await
    .map_err(DistributionError::while_doing("reading marks"))?;
    Ok(rows.into_iter().map(Mark::from).collect())
}

/// Removes marks whose sequence has not moved since they were read. What was told, or found told,
/// at `at` ends the older changes of the others as well: they are as old as what came after it.
pub(crate) async fn settle(
    conn: &mut PgConnection,
    account: AccountId,
    marks: &[(AriKey, i64)],
    at: jiff::Timestamp,
) -> Result<(), DistributionError> {
    if marks.is_empty() {
        return Ok(());
    }
    let (room_types, rate_plans, nights) = columns(marks.iter().map(|(key, _)| *key));
    let seqs: Vec<i64> = marks.iter().map(|(_, seq)| *seq).collect();
    sqlx::query(
        "with cell as materialized (
             select * from unnest($2::bigint[], $3::bigint[], $4::date[], $5::bigint[])
                           as cell(t, p, d, s)),
         gone as (
             delete from mark using cell
             where account_id = $1 and room_type_id = t and rate_plan_id = p and stay_date = d
                   and seq = s)
         update mark set first_marked_at = greatest(first_marked_at, least(marked_at, $6)),
                         changed_at = case when changed_at < $6 then $6 else changed_at end
         from cell
         where account_id = $1 and room_type_id = t and rate_plan_id = p and stay_date = d
               and seq > s and s > 0",
    )
    .bind(account.0)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .bind(seqs)
    .bind(Timestamp::from(at))
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("settling marks"))?;
    Ok(())
}

/// What becomes of a mark that stays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rest {
    /// Which.
    pub(crate) key: AriKey,
    /// As it was read; a mark that moved meanwhile is left alone.
    pub(crate) seq: i64,
    /// Rests until a complete poll begun after it.
    pub(crate) waits_for_poll: bool,
    /// When it is looked at again.
    pub(crate) due_at: jiff::Timestamp,
    /// Refusals so far.
    pub(crate) attempt: u32,
    /// Told again in full then: the echo of an unknown outcome.
    pub(crate) is_full: bool,
    /// The change that is still to be told; `None` where it has been.
    pub(crate) changed_at: Option<jiff::Timestamp>,
    /// What staff see.
    pub(crate) error: Option<String>,
}

/// Puts marks to rest whose sequence has not moved since they were read.
pub(crate) async fn rest(
    conn: &mut PgConnection,
    account: AccountId,
    rests: &[Rest],
) -> Result<(), DistributionError> {
    if rests.is_empty() {
        return Ok(());
    }
    let (room_types, rate_plans, nights) = columns(rests.iter().map(|rest| rest.key));
    let seqs: Vec<i64> = rests.iter().map(|rest| rest.seq).collect();
    let waits: Vec<bool> = rests.iter().map(|rest| rest.waits_for_poll).collect();
    let due: Vec<Timestamp> = rests.iter().map(|rest| rest.due_at.into()).collect();
    let attempts: Vec<i32> = rests
        .iter()
        .map(|rest| i32::try_from(rest.attempt).unwrap_or(i32::MAX))
        .collect();
    let full: Vec<bool> = rests.iter().map(|rest| rest.is_full).collect();
    let changed = instants(rests.iter().map(|rest| rest.changed_at));
    let errors: Vec<Option<&str>> = rests.iter().map(|rest| rest.error.as_deref()).collect();
    sqlx::query(
        "update mark set waits_for_poll = w, due_at = u, attempt = n, last_error = e,
                         is_full = f, changed_at = h
         from unnest($2::bigint[], $3::bigint[], $4::date[], $5::bigint[], $6::boolean[],
                     $7::timestamptz[], $8::integer[], $9::boolean[], $10::text[],
                     $11::timestamptz[])
              as cell(t, p, d, s, w, u, n, f, e, h)
         where account_id = $1 and room_type_id = t and rate_plan_id = p and stay_date = d
               and seq = s",
    )
    .bind(account.0)
    .bind(room_types)
    .bind(rate_plans)
    .bind(nights)
    .bind(seqs)
    .bind(waits)
    .bind(due)
    .bind(attempts)
    .bind(full)
    .bind(errors)
    .bind(changed)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("putting marks to rest"))?;
    Ok(())
}

/// Forgets every mark of an account that is gone.
pub(crate) async fn forget(
    conn: &mut PgConnection,
    account: AccountId,
) -> Result<(), DistributionError> {
    sqlx::query("delete from mark where account_id = $1")
        .bind(account.0)
        .execute(conn)
        .await
        .map_err(DistributionError::while_doing("forgetting marks"))?;
    Ok(())
}
