//! Lines of the ledger that are written outside a batch: births of nights, and what only tells.

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, ReservationId};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::command::By;
use crate::decide::entry::Move;
use crate::error::LedgerError;

/// What is told of one command.
pub(crate) struct Lines<'a> {
    pub property: PropertyId,
    pub by: &'a By,
    pub kind: &'a str,
    pub reservation: Option<(ReservationId, i64)>,
    pub reason: Option<&'a str>,
    /// What is moved; nothing only tells.
    pub moved: &'a [Move],
}

/// Writes the lines of one command, at the database's clock: its id begins with that instant too.
pub(crate) async fn insert(conn: &mut PgConnection, lines: &Lines<'_>) -> Result<(), LedgerError> {
    let moved = if lines.moved.is_empty() {
        vec![None]
    } else {
        lines.moved.iter().map(Some).collect::<Vec<_>>()
    };
    let each = |of: fn(&Move) -> i64| -> Vec<Option<i64>> {
        moved.iter().map(|moved| moved.map(of)).collect()
    };
    let date = |of: fn(&Move) -> jiff::civil::Date| -> Vec<Option<Date>> {
        moved
            .iter()
            .map(|moved| moved.map(|moved| of(moved).into()))
            .collect()
    };
    let pool = |of: fn(&Move) -> &'static str| -> Vec<Option<&'static str>> {
        moved.iter().map(|moved| moved.map(of)).collect()
    };
    sqlx::query(
        "insert into ledger_entry (property_id, command_id, line, reservation_id, version, kind,
                                   room_type_id, night_from, night_until, quantity, from_pool,
                                   to_pool, actor, request_id, reason, at)
         select $1, c.command_id, m.line - 1, $2, $3, $4, m.room_type_id, m.night_from,
                m.night_until, coalesce(m.quantity, 0), m.from_pool, m.to_pool, $5, $6, $7,
                ledger_now()
         from (select ledger_command_id(clock_timestamp(),
                                        substring(uuid_send($14) from 7)) as command_id) c,
              unnest($8::bigint[], $9::date[], $10::date[], $11::bigint[], $12::text[],
                     $13::text[]) with ordinality
              as m (room_type_id, night_from, night_until, quantity, from_pool, to_pool, line)",
    )
    .bind(lines.property.0)
    .bind(lines.reservation.map(|(id, _)| id.0))
    .bind(lines.reservation.map(|(_, version)| version))
    .bind(lines.kind)
    .bind(&lines.by.actor)
    .bind(&lines.by.request_id)
    .bind(lines.reason)
    .bind(each(|moved| moved.room_type.0))
    .bind(date(|moved| moved.nights.arrival()))
    .bind(date(|moved| moved.nights.departure()))
    .bind(each(|moved| i64::from(moved.quantity)))
    .bind(pool(|moved| moved.from.as_str()))
    .bind(pool(|moved| moved.to.as_str()))
    .bind(Uuid::now_v7())
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("writing entries"))?;
    Ok(())
}
