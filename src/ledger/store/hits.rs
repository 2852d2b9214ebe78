//! Who sleeps on nights, and which accounts sell them: reads of `room_stay`, `reservation` and
//! `mapping`.

use jiff_sqlx::Date;
use keyrack_model::id::{AccountId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::reservation::Status;
use keyrack_model::stay::StayDate;
use sqlx::{PgConnection, Postgres, QueryBuilder};
use uuid::Uuid;

use crate::error::LedgerError;
use crate::hits::{Hit, Span};

type Row = (Uuid, i64, String, Option<i64>, Date, Date);

/// Guests who sleep on some nights, in order of arrival. Nobody departs before the first of them.
pub(crate) async fn on_nights(
    conn: &mut PgConnection,
    property: PropertyId,
    spans: &[Span],
    limit: u32,
) -> Result<Vec<Hit>, LedgerError> {
    let Some(first) = spans.iter().map(|span| span.nights.arrival()).min() else {
        return Ok(Vec::new());
    };
    let dates = |of: fn(&Span) -> StayDate| -> Vec<Date> {
        spans.iter().map(|span| of(span).into()).collect()
    };
    let ids = |of: fn(&Span) -> Option<i64>| -> Vec<Option<i64>> { spans.iter().map(of).collect() };
    let mut query = to_come(property, first);
    query
        .push(" and exists (select from unnest(")
        .push_bind(ids(|span| span.room_type.map(|id| id.0)))
        .push("::bigint[], ")
        .push_bind(ids(|span| span.rate_plan.map(|id| id.0)))
        .push("::bigint[], ")
        .push_bind(ids(|span| span.account.map(|id| id.0)))
        .push("::bigint[], ")
        .push_bind(dates(|span| span.nights.arrival()))
        .push("::date[], ")
        .push_bind(dates(|span| span.nights.departure()))
        .push(
            "::date[]) k(room_type_id, rate_plan_id, account_id, from_, until_)
              where s.taken_from < k.until_ and s.taken_until > k.from_
                and (k.rate_plan_id is null or s.rate_plan_id = k.rate_plan_id)
                and (k.account_id is null or r.account_id = k.account_id)
                and (k.room_type_id is null or s.room_type_id = k.room_type_id
                     or exists (select from jsonb_array_elements(s.components) p
                                 where (p ->> 0)::bigint = k.room_type_id)))",
        );
    found(conn, query, limit).await
}

/// Guests to come whom an account has sold under some of its room codes, in order of arrival.
pub(crate) async fn under_codes(
    conn: &mut PgConnection,
    (property, account): (PropertyId, AccountId),
    codes: &[String],
    (from, limit): (StayDate, u32),
) -> Result<Vec<Hit>, LedgerError> {
    let mut query = to_come(property, from);
    query
        .push(" and r.account_id = ")
        .push_bind(account.0)
        .push(" and s.booked ->> 'room_code' = any(")
        .push_bind(codes.to_vec())
        .push(")");
    found(conn, query, limit).await
}

/// Stays that take rooms and depart after a day: dead holds take none.
fn to_come(property: PropertyId, after: StayDate) -> QueryBuilder<Postgres> {
    let mut query = QueryBuilder::new(
        "select r.reservation_id, r.number, r.status, r.account_id, min(s.arrival),
                max(s.departure)
           from room_stay s
           join reservation r using (property_id, reservation_id)
          where not s.is_given_back
            and (r.status in ('confirmed', 'checked_in')
                 or r.status = 'held' and r.hold_dead_at > (select ledger_now()))
            and s.property_id = ",
    );
    query.push_bind(property.0);
    query
        .push(" and s.departure > ")
        .push_bind(Date::from(after));
    query
}

async fn found(
    conn: &mut PgConnection,
    mut query: QueryBuilder<Postgres>,
    limit: u32,
) -> Result<Vec<Hit>, LedgerError> {
    query
        .push(" group by r.property_id, r.reservation_id")
        .push(" order by min(s.arrival), r.number limit ")
        .push_bind(i64::from(limit));
    let rows: Vec<Row> = query
        .build_query_as()
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("looking for guests who are hit"))?;
    rows.into_iter().map(hit).collect()
}

/// Accounts to which one of the types, or a type made of it, is mapped; in order of id. All of a
/// property's where a type is not said.
pub(crate) async fn sellers(
    conn: &mut PgConnection,
    property: PropertyId,
    types: Option<&[RoomTypeId]>,
) -> Result<Vec<AccountId>, LedgerError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "select distinct m.account_id from mapping m
          where m.property_id = $1
            and ($2::bigint[] is null or m.room_type_id = any($2)
                 or exists (select from room_type_component c
                             where c.property_id = m.property_id and c.room_type_id = m.room_type_id
                               and c.component_id = any($2)))
          order by m.account_id",
    )
    .bind(property.0)
    .bind(types.map(|types| types.iter().map(|id| id.0).collect::<Vec<_>>()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for sellers of nights"))?;
    Ok(ids.into_iter().map(AccountId).collect())
}

fn hit((id, number, status, account, arrival, departure): Row) -> Result<Hit, LedgerError> {
    let known = Status::from_name(&status);
    Ok(Hit {
        reservation: ReservationId(id),
        number,
        status: known.ok_or_else(|| LedgerError::Unreadable(format!("a status: {status}")))?,
        account: account.map(AccountId),
        arrival: arrival.to_jiff(),
        departure: departure.to_jiff(),
    })
}
