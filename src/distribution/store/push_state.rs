//! Whose turn it is, and who holds it. The table push_state.
//!
//! Its row is locked before the marks of its account are written, whoever writes them ([`ring`],
//! [`lock`] or [`is_ours`]): marks are written by the many and in any order, and so nobody waits in
//! a circle.

use jiff_sqlx::Timestamp;
use keyrack_model::channel::Account;
use keyrack_model::id::{AccountId, ConnectionId, PropertyId};
use sqlx::{PgConnection, PgExecutor};
use uuid::Uuid;

use crate::error::DistributionError;
use crate::push::urgency::POLL_FRESH_SECONDS;

/// An account with the two things that are needed to find it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bell {
    /// Whose.
    pub(crate) account: AccountId,
    /// Its property.
    pub(crate) property: PropertyId,
    /// Its login.
    pub(crate) connection: ConnectionId,
}

impl From<&Account> for Bell {
    fn from(account: &Account) -> Self {
        Self {
            account: account.id,
            property: account.property,
            connection: account.connection,
        }
    }
}

/// Asks for a turn of each account: at once, or when the channel is to be left in peace no more.
/// In the transaction of the marks and before them, so that neither is there without the other.
pub(crate) async fn ring(conn: &mut PgConnection, bells: &[Bell]) -> Result<(), DistributionError> {
    let accounts: Vec<i64> = bells.iter().map(|bell| bell.account.0).collect();
    let properties: Vec<i64> = bells.iter().map(|bell| bell.property.0).collect();
    let connections: Vec<i64> = bells.iter().map(|bell| bell.connection.0).collect();
    sqlx::query(
        "insert into push_state (account_id, property_id, connection_id, next_at, rung)
         select a, p, c, clock.now, 1
         from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as bell(a, p, c),
              (select ledger_now() as now) clock
         order by a
         on conflict (account_id) do update set
             rung = push_state.rung + 1,
             property_id = excluded.property_id,
             connection_id = excluded.connection_id,
             next_at = least(push_state.next_at,
                             greatest(excluded.next_at, push_state.backoff_until))",
    )
    .bind(accounts)
    .bind(properties)
    .bind(connections)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("asking for a turn"))?;
    Ok(())
}

/// A turn: until it is given back, or its lease runs out, nobody else sends to the account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Whose.
    pub(crate) bell: Bell,
    /// Names this turn and no other: a turn that lapsed and is taken again is another turn.
    pub(crate) claim: Uuid,
    /// Rings heard so far.
    pub(crate) rung: i64,
    /// Failures in a row.
    pub(crate) failures: u32,
    /// The last failure: nothing rises before a poll begun after it.
    pub(crate) last_failed_at: Option<jiff::Timestamp>,
    /// A complete set is wanted, since then.
    pub(crate) complete_wanted_at: Option<jiff::Timestamp>,
    /// It fails or lags, and a rule of safety binds it: it is not told more than it was.
    pub(crate) is_throttled: bool,
    /// The database's clock.
    pub(crate) now: jiff::Timestamp,
}

#[derive(sqlx::FromRow)]
struct TurnRow {
    claimed_by: Uuid,
    account_id: i64,
    property_id: i64,
    connection_id: i64,
    rung: i64,
    failures: i32,
    last_failed_at: Option<Timestamp>,
    complete_wanted_at: Option<Timestamp>,
    is_throttled: bool,
    now: Timestamp,
}

impl From<TurnRow> for Turn {
    fn from(row: TurnRow) -> Self {
        Self {
            bell: Bell {
                account: AccountId(row.account_id),
                property: PropertyId(row.property_id),
                connection: ConnectionId(row.connection_id),
            },
            claim: row.claimed_by,
            rung: row.rung,
            failures: u32::try_from(row.failures).unwrap_or(0),
            last_failed_at: row.last_failed_at.map(|at| at.to_jiff()),
            complete_wanted_at: row.complete_wanted_at.map(|at| at.to_jiff()),
            is_throttled: row.is_throttled,
            now: row.now.to_jiff(),
        }
    }
}

/// Takes the turn that is due longest, unless its connection is among `busy` or the account took a
/// message less than `spacing_ms` ago.
pub(crate) async fn claim(
    db: impl PgExecutor<'_>,
    lease_seconds: u32,
    spacing_ms: u32,
    busy: &[ConnectionId],
) -> Result<Option<Turn>, DistributionError> {
    let busy: Vec<i64> = busy.iter().map(|connection| connection.0).collect();
    let row: Option<TurnRow> = sqlx::query_as(
        "update push_state
         set claimed_by = $1, claimed_until = clock.now + $2 * interval '1 second'
         from (select ledger_now() as now) clock
         where account_id = (
             select account_id from push_state
             where next_at <= (select ledger_now())
                   and (claimed_until is null or claimed_until < (select ledger_now()))
                   and connection_id <> all($3)
                   and (last_pushed_at between (select ledger_now()) - $4 * interval '1 millisecond'
                                           and (select ledger_now())) is not true
             order by next_at limit 1
             for update skip locked)
         returning claimed_by, account_id, property_id, connection_id, rung, failures,
                   last_failed_at, complete_wanted_at, throttled_since is not null as is_throttled,
                   clock.now",
    )
    .bind(Uuid::now_v7())
    .bind(time(lease_seconds))
    .bind(busy)
    .bind(time(spacing_ms))
    .fetch_optional(db)
    .await
    .map_err(DistributionError::while_doing("taking a turn"))?;
    Ok(row.map(Turn::from))
}

/// Lengthens the leases of turns that are under way. One that ended without being given back,
/// since the database was away just then, must not be among `claims`: its lease has to run out.
///
/// Whoever writes marks holds the row meanwhile: it is passed over, and nobody else can take it
/// either. Says whether all were lengthened.
pub(crate) async fn renew(
    db: impl PgExecutor<'_>,
    claims: &[Uuid],
    lease_seconds: u32,
) -> Result<bool, DistributionError> {
    let renewed = sqlx::query(
        "update push_state set claimed_until = clock.now + $2 * interval '1 second'
         from (select ledger_now() as now) clock
         where account_id in (select account_id from push_state where claimed_by = any($1)
                              order by account_id for update skip locked)",
    )
    .bind(claims)
    .bind(time(lease_seconds))
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("lengthening leases"))?
    .rows_affected();
    Ok(usize::try_from(renewed).is_ok_and(|renewed| renewed >= claims.len()))
}

/// Whether the turn is still the one that holds its account; the row stays locked until the
/// transaction ends.
pub(crate) async fn is_ours(
    conn: &mut PgConnection,
    turn: &Turn,
) -> Result<bool, DistributionError> {
    let row: Option<i64> = sqlx::query_scalar(
        "select account_id from push_state where account_id = $1 and claimed_by = $2 for update",
    )
    .bind(turn.bell.account.0)
    .bind(turn.claim)
    .fetch_optional(conn)
    .await
    .map_err(DistributionError::while_doing("looking at a turn"))?;
    Ok(row.is_some())
}

/// Locks an account's row until the transaction ends, where there is one.
pub(crate) async fn lock(
    conn: &mut PgConnection,
    account: AccountId,
) -> Result<(), DistributionError> {
    sqlx::query("select from push_state where account_id = $1 for update")
        .bind(account.0)
        .execute(conn)
        .await
        .map_err(DistributionError::while_doing("locking a turn"))?;
    Ok(())
}

/// When an account is looked at again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Release {
    /// Something is left that could be told at once.
    pub(crate) at_once: bool,
    /// A channel that cannot be polled: its waiting marks are looked at after this many seconds.
    pub(crate) settle_seconds: Option<u32>,
    /// Marks that wait for a poll wait for one begun after this as well.
    pub(crate) quiet_since: Option<jiff::Timestamp>,
    /// The account rests: nothing is looked at until it is rung for.
    pub(crate) rests: bool,
}

/// Gives a turn back. A ring that came meanwhile is heard at once; else the account is left alone
/// for a moment at least, so that no turn can follow itself in a circle.
pub(crate) async fn release(
    db: impl PgExecutor<'_>,
    turn: &Turn,
    release: Release,
) -> Result<(), DistributionError> {
    sqlx::query(
        "update push_state state
         set claimed_by = null, claimed_until = null,
             waits_since = case when $5::integer is null and not $7 and left_over.waits is not null
                                then greatest(left_over.waits, $6) end,
             next_at = case when state.rung <> $3 or $4
                            then greatest(clock.now, state.backoff_until)
                            when left_over.due_at is not null and not $7
                            then greatest(left_over.due_at, state.backoff_until,
                                          clock.now + interval '100 milliseconds') end
         from (select ledger_now() as now) clock,
              (select waiting.waits,
                      least(ready.due_at,
                            case when waiting.waits is not null
                                 then greatest(waiting.waits, $6) + $5 * interval '1 second' end)
                          as due_at
               from (select least(
                         (select min(due_at) from mark
                          where account_id = $1 and not waits_for_poll and not is_full),
                         (select min(due_at) from mark
                          where account_id = $1 and not waits_for_poll and is_full)) as due_at
                    ) ready,
                    (select min(marked_at) as waits from mark
                     where account_id = $1 and waits_for_poll) waiting) left_over
         where state.account_id = $1 and state.claimed_by = $2",
    )
    .bind(turn.bell.account.0)
    .bind(turn.claim)
    .bind(turn.rung)
    .bind(release.at_once)
    .bind(release.settle_seconds.map(time))
    .bind(release.quiet_since.map(Timestamp::from))
    .bind(release.rests)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing("giving a turn back"))?;
    Ok(())
}

/// Asks for a turn of each account whose marks waited for a poll that has been completed since.
pub(crate) async fn wake_polled(db: impl PgExecutor<'_>) -> Result<(), DistributionError> {
    sqlx::query(
        "update push_state state
         set waits_since = null,
             next_at = least(state.next_at, greatest(clock.now, state.backoff_until))
         from (select ledger_now() as now) clock
         where state.account_id in (
             select waiting.account_id
             from push_state waiting
             join poll_state poll on poll.connection_id = waiting.connection_id
                                     and poll.goal = 'poll'
             where waiting.waits_since is not null
                   and poll.last_complete_begun_at > waiting.waits_since
                   and poll.last_complete_begun_at
                       > (select ledger_now()) - $1 * interval '1 second'
             order by waiting.account_id
             for update of waiting skip locked)",
    )
    .bind(POLL_FRESH_SECONDS)
    .execute(db)
    .await
    .map_err(DistributionError::while_doing(
        "waking who waited for a poll",
    ))?;
    Ok(())
}

/// A count of seconds, or of parts of them, as the database takes it.
fn time(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}
