//! The plain way with exactly our rows and no outbox: what batching alone brings.

use anyhow::Result;
use uuid::Uuid;

use super::contender::{Ask, Contender, Said, Taken};
use super::ground::Ground;
use super::plain::{self, ALL, Plain, again, changes};

pub struct Twin {
    plain: Plain,
}

pub async fn open(ground: &Ground) -> Result<Twin> {
    let plain = plain::open(ground).await?;
    Ok(Twin { plain })
}

impl Twin {
    async fn held(&self, ask: Ask) -> sqlx::Result<Option<Taken>> {
        let (at, id) = (self.plain.at(ask), Uuid::now_v7());
        let mut tx = self.plain.pool.begin().await?;
        let take = "update twin_night set held = held + 1, version = version + 1
              where property_id = $1 and room_type_id = $2 and stay_date >= $3 and stay_date < $4
                and held + sold + allotted + out_of_order + 1 <= physical + overbooking_limit";
        if !changes(&mut tx, at.bind(take), ALL).await? {
            tx.rollback().await?;
            return Ok(None);
        }
        let new = "insert into twin_reservation (property_id, reservation_id, number, status,
                    source, hold_until, hold_dead_at, booked_at, created_at, updated_at, detail)
             values ($1, $2, nextval('reservation_number'), 'held', 'web',
                     now() + interval '1 day', now() + interval '1 day', now(), now(), now(),
                     '{}')";
        let new = sqlx::query(new).bind(at.property).bind(id);
        new.execute(&mut *tx).await?;
        let stay = "insert into twin_stay (property_id, room_type_id, arrival, departure,
                    taken_from, taken_until, reservation_id, room_stay_id, quantity, adults)
             values ($1, $2, $3, $4, $3, $4, $5, 1, 1, 2)";
        at.bind(stay).bind(id).execute(&mut *tx).await?;
        let entry = "insert into twin_entry (property_id, room_type_id, night_from, night_until,
                    command_id, line, reservation_id, version, kind, quantity, from_pool, to_pool,
                    actor, at)
             values ($1, $2, $3, $4, $5, 0, $6, 1, 'held', 1, 'free', 'held', 'key:1', now())";
        let entry = at.bind(entry).bind(Uuid::now_v7()).bind(id);
        entry.execute(&mut *tx).await?;
        tx.commit().await?;
        Ok(Some(Taken {
            ask,
            id,
            version: 1,
            is_confirmed: false,
        }))
    }
}

impl Contender for Twin {
    fn name(&self) -> &'static str {
        "plain with our rows"
    }

    fn table(&self) -> &'static str {
        "twin_reservation"
    }

    fn hold(&self, ask: Ask) -> Said<'_, Option<Taken>> {
        Box::pin(again(move || self.held(ask)))
    }
}
