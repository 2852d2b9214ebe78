//! The plain way, done well: one transaction per command, prepared statements, a pool of 16, rows
//! locked in order of key, deadlocks tried again. Each command writes the night rows, the
//! reservation, an entry, and a row of the outbox.

use std::future::Future;

use anyhow::{Result, ensure};
use jiff_sqlx::Date;
use keyrack_model::stay::plus_days;
use sqlx::postgres::{PgArguments, PgPoolOptions, Postgres};
use sqlx::query::Query;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::contender::{Ask, Contender, NIGHTS, Said, Taken};
use super::ground::{FIRST, Ground};

pub struct Plain {
    pub(super) pool: PgPool,
    pub(super) hotels: Vec<(i64, Vec<i64>)>,
}

pub async fn open(ground: &Ground) -> Result<Plain> {
    let options = ground.options.clone().options([
        ("jit", "off"),
        // Key order: a bitmap scan would lock rows where they happen to lie, and deadlock.
        ("enable_bitmapscan", "off"),
        ("plan_cache_mode", "force_generic_plan"),
    ]);
    let pool = PgPoolOptions::new()
        .max_connections(16)
        .min_connections(16)
        .test_before_acquire(false)
        .acquire_timeout(std::time::Duration::from_secs(60))
        .connect_with(options)
        .await?;
    Ok(Plain {
        pool,
        hotels: ground.hotels.clone(),
    })
}

/// A stay as the tables have it.
pub(super) struct Where {
    pub property: i64,
    pub room_type: i64,
    pub arrival: Date,
    pub departure: Date,
}

type Statement = Query<'static, Postgres, PgArguments>;

impl Where {
    /// The first four arguments of a statement.
    pub(super) fn bind(&self, sql: &'static str) -> Statement {
        sqlx::query(sql)
            .bind(self.property)
            .bind(self.room_type)
            .bind(self.arrival)
            .bind(self.departure)
    }
}

/// Whether exactly so many rows were changed.
pub(super) async fn changes(
    conn: &mut PgConnection,
    statement: Statement,
    rows: u64,
) -> sqlx::Result<bool> {
    Ok(statement.execute(conn).await?.rows_affected() == rows)
}

/// Tries again what a deadlock broke.
pub(super) async fn again<T, F>(once: impl Fn() -> F) -> Result<T>
where
    F: Future<Output = sqlx::Result<T>>,
{
    loop {
        match once().await {
            Err(sqlx::Error::Database(error))
                if matches!(error.code().as_deref(), Some("40P01" | "40001")) => {}
            other => return Ok(other?),
        }
    }
}

pub(super) const ALL: u64 = NIGHTS.unsigned_abs() as u64;

impl Plain {
    pub(super) fn at(&self, ask: Ask) -> Where {
        let (property, types) = &self.hotels[ask.property];
        Where {
            property: *property,
            room_type: types[ask.room_type],
            arrival: Date::from(plus_days(FIRST, ask.from)),
            departure: Date::from(plus_days(FIRST, ask.from + NIGHTS)),
        }
    }

    async fn held(&self, ask: Ask) -> sqlx::Result<Option<Taken>> {
        let id = Uuid::now_v7();
        let mut tx = self.pool.begin().await?;
        if !self.take(&mut tx, ask, id).await? {
            tx.rollback().await?;
            return Ok(None);
        }
        tx.commit().await?;
        Ok(Some(Taken {
            ask,
            id,
            version: 1,
            is_confirmed: false,
        }))
    }

    /// Nights, reservation, entry and outbox, within a transaction; false where there is no room.
    pub(super) async fn take(
        &self,
        tx: &mut PgConnection,
        ask: Ask,
        id: Uuid,
    ) -> sqlx::Result<bool> {
        let at = self.at(ask);
        let take = "update plain_night set held = held + 1, version = version + 1
              where property_id = $1 and room_type_id = $2 and stay_date >= $3 and stay_date < $4
                and held + sold + allotted + out_of_order + 1 <= physical + overbooking_limit";
        if !changes(tx, at.bind(take), ALL).await? {
            return Ok(false);
        }
        let new = "insert into plain_reservation (property_id, room_type_id, arrival, departure,
                    quantity, reservation_id, number, status, source, hold_until, hold_dead_at,
                    booked_at, created_at, updated_at, detail)
             values ($1, $2, $3, $4, 1, $5, nextval('reservation_number'), 'held', 'web',
                     now() + interval '1 day', now() + interval '1 day', now(), now(), now(),
                     '{}')";
        at.bind(new).bind(id).execute(&mut *tx).await?;
        tell(tx, &at, id, "held", Some("free"), Some("held")).await?;
        Ok(true)
    }

    /// A change of state with the rooms that it moves; says whether it found what it expected.
    async fn moved(&self, taken: Taken, to: &'static str) -> sqlx::Result<bool> {
        let at = self.at(taken.ask);
        let from = if taken.is_confirmed { "sold" } else { "held" };
        let (nights, into) = match (to, taken.is_confirmed) {
            ("confirmed", _) => (
                "update plain_night set held = held - 1, sold = sold + 1, version = version + 1
              where property_id = $1 and room_type_id = $2 and stay_date >= $3 and stay_date < $4",
                "sold",
            ),
            (_, true) => (
                "update plain_night set sold = sold - 1, version = version + 1
              where property_id = $1 and room_type_id = $2 and stay_date >= $3 and stay_date < $4",
                "free",
            ),
            (_, false) => (
                "update plain_night set held = held - 1, version = version + 1
              where property_id = $1 and room_type_id = $2 and stay_date >= $3 and stay_date < $4",
                "free",
            ),
        };
        let status = sqlx::query(
            "update plain_reservation set status = $4, version = version + 1, updated_at = now()
              where property_id = $1 and reservation_id = $2 and version = $3",
        );
        let status = status.bind(at.property).bind(taken.id);
        let status = status.bind(taken.version).bind(to);
        let mut tx = self.pool.begin().await?;
        if !changes(&mut tx, status, 1).await? || !changes(&mut tx, at.bind(nights), ALL).await? {
            tx.rollback().await?;
            return Ok(false);
        }
        tell(&mut tx, &at, taken.id, to, Some(from), Some(into)).await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn shifted(&self, taken: Taken, from: i32) -> sqlx::Result<bool> {
        let (old, new) = (self.at(taken.ask), self.at(Ask { from, ..taken.ask }));
        let pool = if taken.is_confirmed { "sold" } else { "held" };
        // One update over both stays, in order of key; what both have is left alone.
        let nights = if taken.is_confirmed {
            "update plain_night set sold = sold + case when stay_date < $3 or stay_date >= $4
                                    then -1 else 1 end, version = version + 1
              where property_id = $1 and room_type_id = $2
                and (stay_date >= $3 and stay_date < $4) <> (stay_date >= $5 and stay_date < $6)
                and stay_date >= least($3, $5) and stay_date < greatest($4, $6)"
        } else {
            "update plain_night set held = held + case when stay_date < $3 or stay_date >= $4
                                    then -1 else 1 end, version = version + 1
              where property_id = $1 and room_type_id = $2
                and (stay_date >= $3 and stay_date < $4) <> (stay_date >= $5 and stay_date < $6)
                and stay_date >= least($3, $5) and stay_date < greatest($4, $6)"
        };
        let nights = new.bind(nights).bind(old.arrival).bind(old.departure);
        let apart = u64::from((from - taken.ask.from).unsigned_abs()).min(ALL) * 2;
        let stay = new.bind(
            "update plain_reservation set arrival = $3, departure = $4, version = version + 1,
                    updated_at = now()
              where property_id = $1 and room_type_id = $2 and reservation_id = $5
                and version = $6",
        );
        let stay = stay.bind(taken.id).bind(taken.version);
        let mut tx = self.pool.begin().await?;
        if !changes(&mut tx, stay, 1).await? || !changes(&mut tx, nights, apart).await? {
            tx.rollback().await?;
            return Ok(false);
        }
        tell(
            &mut tx,
            &old,
            taken.id,
            "modified",
            Some(pool),
            Some("free"),
        )
        .await?;
        tell(
            &mut tx,
            &new,
            taken.id,
            "modified",
            Some("free"),
            Some(pool),
        )
        .await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// The entry and the row of the outbox.
async fn tell(
    conn: &mut PgConnection,
    at: &Where,
    id: Uuid,
    kind: &'static str,
    from: Option<&'static str>,
    to: Option<&'static str>,
) -> sqlx::Result<()> {
    let entry = "insert into plain_entry (property_id, room_type_id, night_from, night_until,
                    command_id, line, reservation_id, version, kind, quantity, from_pool, to_pool,
                    actor, at)
             values ($1, $2, $3, $4, $5, 0, $6, 1, $7, 1, $8, $9, 'key:1', now())";
    let entry = at.bind(entry).bind(Uuid::now_v7()).bind(id);
    entry
        .bind(kind)
        .bind(from)
        .bind(to)
        .execute(&mut *conn)
        .await?;
    let outbox = "insert into plain_outbox (topic, payload)
             values ('reservation.' || $6, jsonb_build_object('property', $1, 'type', $2,
                     'from', $3, 'to', $4, 'reservation', $5::uuid))";
    at.bind(outbox).bind(id).bind(kind).execute(conn).await?;
    Ok(())
}

impl Contender for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn table(&self) -> &'static str {
        "plain_reservation"
    }

    fn hold(&self, ask: Ask) -> Said<'_, Option<Taken>> {
        Box::pin(again(move || self.held(ask)))
    }

    fn confirm(&self, taken: Taken) -> Said<'_, Taken> {
        Box::pin(async move {
            let done = again(move || self.moved(taken, "confirmed")).await?;
            ensure!(done, "a hold was not where it should be");
            Ok(Taken {
                version: taken.version + 1,
                is_confirmed: true,
                ..taken
            })
        })
    }

    fn cancel(&self, taken: Taken) -> Said<'_, ()> {
        Box::pin(async move {
            let done = again(move || self.moved(taken, "cancelled")).await?;
            ensure!(done, "a stay was not where it should be");
            Ok(())
        })
    }

    fn shift(&self, taken: Taken, from: i32) -> Said<'_, Taken> {
        Box::pin(async move {
            let done = again(move || self.shifted(taken, from)).await?;
            ensure!(done, "a stay was not where it should be");
            Ok(Taken {
                ask: Ask { from, ..taken.ask },
                version: taken.version + 1,
                ..taken
            })
        })
    }
}
