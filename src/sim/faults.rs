//! What breaks while a round runs.

use std::time::Duration;

use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::stay::StayDate;
use sqlx::PgPool;

use crate::daemon::Post;
use crate::error::SimError;
use crate::lot::Fault;
use crate::stage::{Ground, Stage, role, signal};

/// Everything that can be hit.
pub struct Target<'a> {
    /// The server.
    pub stage: &'a mut Stage,
    /// The seed's database.
    pub ground: &'a Ground,
    /// The daemons.
    pub posts: &'a [Post],
    /// Which of several backends.
    pub victim: usize,
    /// The night that is crowded.
    pub night: Option<Night>,
}

/// A night of a plain type.
pub type Night = (PropertyId, RoomTypeId, StayDate);

impl Target<'_> {
    /// Lets something break, and mends what would stay broken.
    pub async fn strike(&mut self, fault: Fault) -> Result<(), SimError> {
        let pool = &self.ground.pool;
        match fault {
            Fault::CutOne => {
                if let Some(pid) = self.backend().await? {
                    cut(pool, &[pid]).await?;
                }
            }
            Fault::CutAll { post } => cut(pool, &backends(pool, &role(post)).await?).await?,
            Fault::Stall { millis } => {
                let Some(pid) = self.backend().await?.and_then(|pid| pid.try_into().ok()) else {
                    return Ok(());
                };
                signal("-STOP", pid)?;
                tokio::time::sleep(Duration::from_millis(millis)).await;
                signal("-CONT", pid)?;
            }
            Fault::Crowd { millis } => {
                if let Some(night) = self.night {
                    crowd(pool, night, Duration::from_millis(millis)).await;
                }
            }
            Fault::Kill { post } => {
                self.posts[post].kill();
                self.posts[post].start().await?;
            }
            Fault::Crash => self.stage.crash().await?,
        }
        Ok(())
    }

    /// One of the daemons' backends; those that work come first.
    async fn backend(&self) -> Result<Option<i32>, SimError> {
        let pids = backends(&self.ground.pool, "daemon_%").await?;
        Ok((!pids.is_empty()).then(|| pids[self.victim % pids.len()]))
    }
}

/// The backends of a role that work now; where none does, all of them.
async fn backends(pool: &PgPool, role: &str) -> Result<Vec<i32>, SimError> {
    sqlx::query_scalar(
        "with mine as (
             select pid, state = 'active' as works from pg_stat_activity
              where datname = current_database() and usename like $1)
         select pid from mine
          where works or not exists (select from mine where works) order by pid",
    )
    .bind(role)
    .fetch_all(pool)
    .await
    .map_err(SimError::look("looking for backends"))
}

async fn cut(pool: &PgPool, pids: &[i32]) -> Result<(), SimError> {
    sqlx::query("select pg_terminate_backend(pid) from unnest($1) as pid")
        .bind(pids)
        .execute(pool)
        .await
        .map_err(SimError::look("cutting connections"))?;
    Ok(())
}

/// Two one after the other: the second waits while the first holds the night, and has it before
/// those who came later.
async fn crowd(pool: &PgPool, night: Night, held: Duration) {
    let second = async {
        tokio::time::sleep(held / 2).await;
        hold(pool, night, held).await
    };
    // Where one is given up to end a ring of waits, the server's log tells.
    let _ = tokio::join!(hold(pool, night, held), second);
}

/// Locks a night, holds it, and writes it as it is, which is a change to everybody who read it.
async fn hold(pool: &PgPool, night: Night, held: Duration) -> Result<(), sqlx::Error> {
    let mut tx = pool.begin().await?;
    for statement in [
        "select from night where property_id = $1 and room_type_id = $2 and stay_date = $3
            for update",
        "update night set version = version + 1
          where property_id = $1 and room_type_id = $2 and stay_date = $3",
    ] {
        sqlx::query(statement)
            .bind(night.0.0)
            .bind(night.1.0)
            .bind(jiff_sqlx::Date::from(night.2))
            .execute(&mut *tx)
            .await?;
        tokio::time::sleep(held / 2).await;
    }
    tx.commit().await
}
