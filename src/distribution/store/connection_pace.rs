//! How far the quota of each connection is spent. The table connection_pace.

use std::time::Duration;

use keyrack_model::id::ConnectionId;
use sqlx::PgExecutor;
use sqlx::postgres::types::PgInterval;

use crate::error::DistributionError;

/// No place is farther off than that and one more: a clock that was ahead, and is so no longer,
/// would keep a connection waiting until then.
const AHEAD_MAX: PgInterval = PgInterval {
    months: 0,
    days: 0,
    microseconds: 3_600_000_000,
};

/// Takes the next place of a connection and says how long it is until then.
///
/// The generic cell rate algorithm (ITU-T I.371): places are `apart`, and as many of them as fit
/// into `burst` may be taken ahead of their time.
pub(crate) async fn take(
    executor: impl PgExecutor<'_>,
    connection: ConnectionId,
    apart: Duration,
    burst: Duration,
) -> Result<Duration, DistributionError> {
    let wait: Option<f64> = sqlx::query_scalar(
        "with clock as materialized (select ledger_now() as now)
         insert into connection_pace as pace (connection_id, spent_until)
         select connection_id, now + $2 * interval '1 second'
           from connection, clock
          where connection_id = $1
             on conflict (connection_id) do update
            set spent_until = greatest(least(pace.spent_until, (select now from clock) + $3)
                                       + $2 * interval '1 second',
                                       excluded.spent_until)
         returning extract(epoch from spent_until - (select now from clock))::float8",
    )
    .bind(connection.0)
    .bind(apart.as_secs_f64())
    .bind(AHEAD_MAX)
    .fetch_optional(executor)
    .await
    .map_err(DistributionError::while_doing("pacing a connection"))?;
    let wait = wait.unwrap_or_default() - burst.as_secs_f64();
    Ok(Duration::try_from_secs_f64(wait).unwrap_or_default())
}
