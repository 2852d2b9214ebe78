//! One thing spoiled on purpose: an audit that cannot fail proves nothing.

use anyhow::{Context as _, Result};
use clap::ValueEnum;
use keyrack_model::stay::plus_days;
use sqlx::PgPool;

use super::hotel::{TYPES, book};
use super::stage::Stage;

/// What is spoiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Sabotage {
    /// A change of a night never becomes a push.
    DropPush,
    /// A night gives a sold room back twice.
    DoubleRelease,
    /// A channel's reservation is lost.
    LoseReservation,
}

/// Spoils it, behind the daemon's back.
pub async fn spoil(kind: Sabotage, stage: &Stage, pool: &PgPool) -> Result<()> {
    stage.teller.line(&format!("sabotage: {kind:?}"));
    match kind {
        Sabotage::DropPush => drop_push(stage, pool).await,
        Sabotage::DoubleRelease => double_release(pool).await,
        Sabotage::LoseReservation => lose_reservation(pool).await,
    }
}

/// The feed is held while the desk sells a room, and set behind it.
async fn drop_push(stage: &Stage, pool: &PgPool) -> Result<()> {
    let mut transaction = pool.begin().await?;
    sqlx::query("select from feed_cursor for update")
        .execute(&mut *transaction)
        .await?;
    let night = plus_days(stage.today, 120);
    book(&stage.client, TYPES[1].code, night, 1, 1).await?;
    // Not the tail's own end: it lies before this very transaction.
    sqlx::query(
        "update feed_cursor
            set entry_tx = (select max(tx::text::bigint) from ledger_entry),
                entry_seq = (select max(seq) from ledger_entry)",
    )
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(())
}

async fn double_release(pool: &PgPool) -> Result<()> {
    let done = sqlx::query(
        "update night n set sold = sold - 1, version = version + 1,
                oversold = greatest(0, held + sold - 1 + allotted + out_of_order - physical -
                overbooking_limit)
          where (property_id, room_type_id, stay_date) = (
              select property_id, room_type_id, stay_date from night
               where sold > 1 and oversold = 0 order by stay_date, room_type_id limit 1)",
    )
    .execute(pool)
    .await?;
    (done.rows_affected() == 1)
        .then_some(())
        .context("no night to spoil")
}

async fn lose_reservation(pool: &PgPool) -> Result<()> {
    let done = sqlx::query(
        "with lost as (
             delete from reservation r
              where reservation_id = (
                  select reservation_id from reservation
                   where source = 'channel' and status = 'confirmed' order by number limit 1)
             returning property_id, reservation_id)
         delete from room_stay s using lost
          where s.property_id = lost.property_id and s.reservation_id = lost.reservation_id",
    )
    .execute(pool)
    .await?;
    (done.rows_affected() > 0)
        .then_some(())
        .context("no reservation to lose")
}
