//! The plain way, done well: one transaction per reservation, prepared statements, a pool of 16,
//! rows locked in order of key, deadlocks tried again.

use anyhow::Result;
use jiff_sqlx::Date;
use keyrack_model::stay::plus_days;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use uuid::Uuid;

use super::contender::{Ask, Contender, Held, NIGHTS};
use super::ground::{FIRST, Ground};

pub struct Plain {
    pool: PgPool,
    hotels: Vec<(i64, Vec<i64>)>,
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

impl Plain {
    async fn held(&self, ask: Ask) -> Result<bool> {
        loop {
            match self.once(ask).await {
                Err(sqlx::Error::Database(error))
                    if matches!(error.code().as_deref(), Some("40P01" | "40001")) => {}
                other => return Ok(other?),
            }
        }
    }

    async fn once(&self, ask: Ask) -> Result<bool, sqlx::Error> {
        let (property, types) = &self.hotels[ask.property];
        let room_type = types[ask.room_type];
        let arrival = Date::from(plus_days(FIRST, ask.from));
        let departure = Date::from(plus_days(FIRST, ask.from + NIGHTS));
        let id = Uuid::now_v7();
        let mut transaction = self.pool.begin().await?;
        let taken = sqlx::query(
            "update plain_night set held = held + 1, version = version + 1
              where property_id = $1 and room_type_id = $2 and stay_date >= $3 and stay_date < $4
                and held + sold + allotted + out_of_order + 1 <= physical + overbooking_limit",
        )
        .bind(property)
        .bind(room_type)
        .bind(arrival)
        .bind(departure)
        .execute(&mut *transaction)
        .await?;
        if taken.rows_affected() != u64::from(NIGHTS.unsigned_abs()) {
            transaction.rollback().await?;
            return Ok(false);
        }
        sqlx::query(
            "insert into plain_reservation (property_id, reservation_id, number, status, source,
                    hold_until, hold_dead_at, booked_at, created_at, updated_at, detail,
                    room_type_id, arrival, departure, quantity)
             values ($1, $2, nextval('reservation_number'), 'held', 'web',
                     now() + interval '1 day', now() + interval '1 day', now(), now(), now(),
                     '{}', $3, $4, $5, 1)",
        )
        .bind(property)
        .bind(id)
        .bind(room_type)
        .bind(arrival)
        .bind(departure)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "insert into plain_entry (property_id, command_id, line, reservation_id, version,
                    kind, room_type_id, night_from, night_until, quantity, from_pool, to_pool,
                    actor, at)
             values ($1, $2, 0, $3, 1, 'held', $4, $5, $6, 1, 'free', 'held', 'key:1', now())",
        )
        .bind(property)
        .bind(Uuid::now_v7())
        .bind(id)
        .bind(room_type)
        .bind(arrival)
        .bind(departure)
        .execute(&mut *transaction)
        .await?;
        sqlx::query(
            "insert into plain_outbox (topic, payload)
             values ('reservation.held', jsonb_build_object('property', $1, 'reservation', $2,
             'type', $3,
                                                            'from', $4, 'to', $5))",
        )
        .bind(property)
        .bind(id)
        .bind(room_type)
        .bind(arrival)
        .bind(departure)
        .execute(&mut *transaction)
        .await?;
        transaction.commit().await?;
        Ok(true)
    }
}

impl Contender for Plain {
    fn hold(&self, ask: Ask) -> Held<'_> {
        Box::pin(self.held(ask))
    }

    fn name(&self) -> &'static str {
        "plain"
    }
}
