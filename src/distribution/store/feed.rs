//! How far the feed has read. The table feed_cursor.

use keyrack_ledger::tail::Cursor;
use sqlx::postgres::PgListener;
use sqlx::{PgConnection, PgExecutor, PgPool};

use crate::error::DistributionError;

/// How far both tails have been read, and on which cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// It changes with a restore onto another cluster.
    pub(crate) system_identifier: String,
    /// In the ledger's tail.
    pub(crate) entries: Cursor,
    /// In the tail of rates.
    pub(crate) rates: Cursor,
}

#[derive(sqlx::FromRow)]
struct Row {
    system_identifier: String,
    entry_tx: i64,
    entry_seq: i64,
    rate_tx: i64,
    rate_seq: i64,
}

impl TryFrom<Row> for Place {
    type Error = DistributionError;

    fn try_from(row: Row) -> Result<Self, Self::Error> {
        let tx = |tx: i64| {
            u64::try_from(tx)
                .map_err(|_| DistributionError::Unreadable("a negative transaction".into()))
        };
        Ok(Self {
            system_identifier: row.system_identifier,
            entries: Cursor {
                tx: tx(row.entry_tx)?,
                seq: row.entry_seq,
            },
            rates: Cursor {
                tx: tx(row.rate_tx)?,
                seq: row.rate_seq,
            },
        })
    }
}

/// Where the feed stands; `None` before it ever read.
pub(crate) async fn load(db: impl PgExecutor<'_>) -> Result<Option<Place>, DistributionError> {
    let row: Option<Row> = sqlx::query_as(
        "select system_identifier, entry_tx, entry_seq, rate_tx, rate_seq from feed_cursor",
    )
    .fetch_optional(db)
    .await
    .map_err(DistributionError::while_doing("reading the feed's place"))?;
    row.map(Place::try_from).transpose()
}

/// Takes the feed's lock for the transaction; `false` where another daemon is reading.
pub(crate) async fn lock(conn: &mut PgConnection) -> Result<bool, DistributionError> {
    sqlx::query_scalar("select pg_try_advisory_xact_lock($1)")
        .bind(LOCK)
        .fetch_one(conn)
        .await
        .map_err(DistributionError::while_doing("taking the feed's lock"))
}

/// Moves the feed on.
pub(crate) async fn save(conn: &mut PgConnection, place: &Place) -> Result<(), DistributionError> {
    let tx = |tx: u64| {
        i64::try_from(tx)
            .map_err(|_| DistributionError::Unreadable("a transaction beyond bigint".into()))
    };
    sqlx::query(
        "insert into feed_cursor (system_identifier, entry_tx, entry_seq, rate_tx, rate_seq,
                                  read_at)
         values ($1, $2, $3, $4, $5, ledger_now())
         on conflict (one) do update set
             system_identifier = excluded.system_identifier, entry_tx = excluded.entry_tx,
             entry_seq = excluded.entry_seq, rate_tx = excluded.rate_tx,
             rate_seq = excluded.rate_seq, read_at = excluded.read_at",
    )
    .bind(&place.system_identifier)
    .bind(tx(place.entries.tx)?)
    .bind(place.entries.seq)
    .bind(tx(place.rates.tx)?)
    .bind(place.rates.seq)
    .execute(conn)
    .await
    .map_err(DistributionError::while_doing("moving the feed on"))?;
    Ok(())
}

/// The snapshot's bounds: every transaction below the first has ended, none from the second on has
/// begun.
pub(crate) async fn horizon(db: impl PgExecutor<'_>) -> Result<(i64, i64), DistributionError> {
    sqlx::query_as(
        "select pg_snapshot_xmin(snapshot)::text::bigint, pg_snapshot_xmax(snapshot)::text::bigint
         from (select pg_current_snapshot() as snapshot) now",
    )
    .fetch_one(db)
    .await
    .map_err(DistributionError::while_doing("reading the snapshot"))
}

/// Tells the other daemons that there are marks: on a connection of its own, outside any
/// transaction that matters.
pub(crate) async fn notify(db: impl PgExecutor<'_>) -> Result<(), DistributionError> {
    sqlx::query("select pg_notify($1, '')")
        .bind(CHANNEL)
        .execute(db)
        .await
        .map_err(DistributionError::while_doing("waking the other daemons"))?;
    Ok(())
}

/// Hears what [`notify`] says, on a connection of its own.
pub(crate) async fn listen(pool: &PgPool) -> Result<PgListener, DistributionError> {
    let failed = DistributionError::while_doing("listening for notifications");
    let mut listener = PgListener::connect_with(pool).await.map_err(&failed)?;
    listener.listen(CHANNEL).await.map_err(&failed)?;
    Ok(listener)
}

/// The channel of [`notify`].
const CHANNEL: &str = "keyrack_marks";

/// `keyfeed` as a number: one feed a database.
const LOCK: i64 = 0x006b_6579_6665_6564;
