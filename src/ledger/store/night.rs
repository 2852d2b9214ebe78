//! Nights outside a batch: their birth, and what is read of them. Only batches change their counts.

use std::collections::{BTreeMap, BTreeSet};

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::{Stay, StayDate, StayRange};
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Locks the plain types of a property, so that none becomes composed while nights are born; with
/// their counts.
pub(crate) async fn share_plain_types(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<(RoomTypeId, i32)>, LedgerError> {
    let rows: Vec<(i64, i32)> = sqlx::query_as(
        "select room_type_id, rooms from room_type t
         where property_id = $1
           and not exists (select from room_type_component c
                           where c.property_id = t.property_id and c.room_type_id = t.room_type_id)
         order by room_type_id for share",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("locking room types"))?;
    Ok(rows
        .into_iter()
        .map(|(id, rooms)| (RoomTypeId(id), rooms))
        .collect())
}

/// Gives birth to the nights that are missing, each with its type's count and the blocks of its
/// rooms; says which were born: type, night, rooms, of these out of order.
pub(crate) async fn bear(
    conn: &mut PgConnection,
    property: PropertyId,
    types: &[(RoomTypeId, i32)],
    nights: StayRange,
) -> Result<Vec<(RoomTypeId, StayDate, i32, i32)>, LedgerError> {
    let ids: Vec<i64> = types.iter().map(|(id, _)| id.0).collect();
    let rooms: Vec<i32> = types.iter().map(|(_, rooms)| *rooms).collect();
    let rows: Vec<(i64, Date, i32, i32)> = sqlx::query_as(
        "insert into night (property_id, room_type_id, stay_date, physical, out_of_order)
         select $1, t.id, d.night, t.rooms, least(t.rooms, (
                    select count(*)::int from room r
                    join room_assignment a using (property_id, room_id)
                    where r.property_id = $1 and r.room_type_id = t.id and r.is_active
                      and a.block_kind is not null and a.stay @> d.night))
         from unnest($2::bigint[], $3::int[]) as t (id, rooms)
         cross join lateral (
             select $4::date + n as night from generate_series(0, $5::date - $4::date - 1) as n
         ) as d
         where not exists (select from night known
                           where known.property_id = $1 and known.room_type_id = t.id
                             and known.stay_date = d.night)
         order by t.id, d.night
         on conflict do nothing
         returning room_type_id, stay_date, physical, out_of_order",
    )
    .bind(property.0)
    .bind(ids)
    .bind(rooms)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("giving birth to nights"))?;
    let born = rows.into_iter();
    Ok(born
        .map(|(id, night, rooms, out)| (RoomTypeId(id), night.to_jiff(), rooms, out))
        .collect())
}

/// Nights from a day on whose physical count is not the one of their type, as it is set up: a crash
/// left them behind. Type, night, the type's count.
pub(crate) async fn miscounted(
    conn: &mut PgConnection,
    property: PropertyId,
    from: StayDate,
) -> Result<Vec<(RoomTypeId, StayDate, i32)>, LedgerError> {
    let rows: Vec<(i64, Date, i32)> = sqlx::query_as(
        "select n.room_type_id, n.stay_date, t.rooms
         from room_type t
         join night n on n.property_id = t.property_id and n.room_type_id = t.room_type_id
                     and n.stay_date >= $2 and n.physical <> t.rooms
         where t.property_id = $1
         order by n.room_type_id, n.stay_date",
    )
    .bind(property.0)
    .bind(Date::from(from))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing(
        "comparing nights with their types",
    ))?;
    let nights = rows.into_iter();
    Ok(nights
        .map(|(id, night, rooms)| (RoomTypeId(id), night.to_jiff(), rooms))
        .collect())
}

/// Whether any night of a type from a day on has anything taken, kept or out of order.
pub(crate) async fn is_in_use(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    from: StayDate,
) -> Result<bool, LedgerError> {
    sqlx::query_scalar(
        "select exists (select from night
                        where property_id = $1 and room_type_id = $2 and stay_date >= $3
                          and held + sold + allotted + out_of_order > 0)",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(Date::from(from))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking for nights in use"))
}

/// The nights of a type that exist from a day on: first, and end.
pub(crate) async fn span(
    conn: &mut PgConnection,
    property: PropertyId,
    room_type: RoomTypeId,
    from: StayDate,
) -> Result<Option<StayRange>, LedgerError> {
    let (first, last): (Option<Date>, Option<Date>) = sqlx::query_as(
        "select min(stay_date), max(stay_date) + 1 from night
         where property_id = $1 and room_type_id = $2 and stay_date >= $3",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(Date::from(from))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking for a type's nights"))?;
    Ok(first
        .zip(last)
        .and_then(|(first, last)| Stay::new(first.to_jiff(), last.to_jiff())))
}

#[derive(sqlx::FromRow)]
struct Row {
    room_type_id: i64,
    stay_date: Date,
    physical: i32,
    out_of_order: i32,
    overbooking_limit: i32,
    allotted: i32,
    held: i32,
    sold: i32,
    oversold: i32,
}

/// The balances of some types over some nights, in order of type and night.
pub(crate) async fn balances(
    conn: &mut PgConnection,
    property: PropertyId,
    types: &[RoomTypeId],
    nights: StayRange,
) -> Result<Vec<(RoomTypeId, StayDate, NightBalance)>, LedgerError> {
    let ids: Vec<i64> = types.iter().map(|id| id.0).collect();
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, stay_date, physical, out_of_order, overbooking_limit, allotted,
                held, sold, oversold
         from night
         where property_id = $1 and room_type_id = any($2) and stay_date >= $3 and stay_date < $4
         order by room_type_id, stay_date",
    )
    .bind(property.0)
    .bind(ids)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading nights"))?;
    Ok(rows.into_iter().map(Row::balance).collect())
}

/// The balances of single nights of types.
async fn balances_of(
    conn: &mut PgConnection,
    property: PropertyId,
    cells: &BTreeSet<(RoomTypeId, StayDate)>,
) -> Result<Vec<(RoomTypeId, StayDate, NightBalance)>, LedgerError> {
    let ids: Vec<i64> = cells.iter().map(|(id, _)| id.0).collect();
    let nights: Vec<Date> = cells.iter().map(|(_, night)| Date::from(*night)).collect();
    let rows: Vec<Row> = sqlx::query_as(
        "select room_type_id, stay_date, physical, out_of_order, overbooking_limit, allotted,
                held, sold, oversold
         from unnest($2::bigint[], $3::date[]) as cell (t, d)
         join night on property_id = $1 and room_type_id = t and stay_date = d",
    )
    .bind(property.0)
    .bind(ids)
    .bind(nights)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading nights"))?;
    Ok(rows.into_iter().map(Row::balance).collect())
}

impl Row {
    fn balance(self) -> (RoomTypeId, StayDate, NightBalance) {
        let balance = NightBalance {
            physical: self.physical,
            out_of_order: self.out_of_order,
            overbooking_limit: self.overbooking_limit,
            allotted: self.allotted,
            held: self.held,
            sold: self.sold,
            oversold: self.oversold,
        };
        (
            RoomTypeId(self.room_type_id),
            self.stay_date.to_jiff(),
            balance,
        )
    }
}

/// Rooms that dead holds still take of some nights: type, night, rooms. They are subtracted where
/// something is read, since the sweeper only tidies up.
pub(crate) async fn dead_holds(
    conn: &mut PgConnection,
    property: PropertyId,
    nights: StayRange,
) -> Result<Vec<(RoomTypeId, StayDate, i32)>, LedgerError> {
    let rows: Vec<(i64, Date, i64)> = sqlx::query_as(
        // What came from an allotment goes back there, and not to free sale.
        "select part.room_type_id, n.night::date, sum(s.quantity * part.quantity
                - case when r.detail ? 'drawn' then coalesce((
                      select sum((d ->> 'rooms')::int)::int
                      from jsonb_array_elements(r.detail -> 'drawn') as d
                      where (d ->> 'room')::int = s.room_stay_id
                        and (d ->> 'night')::date = n.night::date), 0) else 0 end)
         from reservation r
         join room_stay s using (property_id, reservation_id)
         cross join lateral (
             select s.room_type_id, 1 as quantity where s.components is null
             union all
             select (c ->> 0)::bigint, (c ->> 1)::int
             from jsonb_array_elements(s.components) as c
         ) as part
         cross join lateral generate_series(
             greatest(s.taken_from, $2::date)::timestamp,
             least(s.taken_until, $3::date)::timestamp - interval '1 day',
             interval '1 day'
         ) as n (night)
         where r.property_id = $1 and r.status = 'held' and r.hold_dead_at <= (select ledger_now())
           and not s.is_given_back and part.room_type_id is not null
         group by 1, 2",
    )
    .bind(property.0)
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading dead holds"))?;
    rows.into_iter()
        .map(|(id, night, rooms)| {
            let rooms = i32::try_from(rooms)
                .map_err(|_| LedgerError::Unreadable(format!("{rooms} rooms of dead holds")))?;
            Ok((RoomTypeId(id), night.to_jiff(), rooms))
        })
        .collect()
}

/// The balances of nights as they are read by whoever may sell them: without what dead holds take.
///
/// Nights are read before dead holds: a hold that is swept between the two statements is counted
/// once too often, never too seldom.
pub(crate) async fn present(
    conn: &mut PgConnection,
    property: PropertyId,
    types: &[RoomTypeId],
    nights: StayRange,
) -> Result<BTreeMap<(RoomTypeId, StayDate), NightBalance>, LedgerError> {
    let balances = balances(conn, property, types, nights).await?;
    less_dead(conn, property, nights, balances).await
}

/// The same of single nights of types.
pub(crate) async fn present_of(
    conn: &mut PgConnection,
    property: PropertyId,
    cells: &BTreeSet<(RoomTypeId, StayDate)>,
    nights: StayRange,
) -> Result<BTreeMap<(RoomTypeId, StayDate), NightBalance>, LedgerError> {
    let balances = balances_of(conn, property, cells).await?;
    less_dead(conn, property, nights, balances).await
}

async fn less_dead(
    conn: &mut PgConnection,
    property: PropertyId,
    nights: StayRange,
    balances: Vec<(RoomTypeId, StayDate, NightBalance)>,
) -> Result<BTreeMap<(RoomTypeId, StayDate), NightBalance>, LedgerError> {
    let mut present: BTreeMap<_, _> = balances
        .into_iter()
        .map(|(room_type, night, b)| ((room_type, night), b))
        .collect();
    for (room_type, night, rooms) in dead_holds(conn, property, nights).await? {
        if let Some(balance) = present.get_mut(&(room_type, night)) {
            balance.held = (balance.held - rooms).max(0);
            *balance = balance.settled();
        }
    }
    Ok(present)
}

/// When the next hold dies after an instant.
pub(crate) async fn next_death(
    conn: &mut PgConnection,
    property: PropertyId,
    after: jiff::Timestamp,
) -> Result<Option<jiff::Timestamp>, LedgerError> {
    let next: Option<jiff_sqlx::Timestamp> = sqlx::query_scalar(
        "select min(hold_dead_at) from reservation
          where property_id = $1 and status = 'held' and hold_dead_at > $2",
    )
    .bind(property.0)
    .bind(jiff_sqlx::Timestamp::from(after))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("looking for the next dead hold"))?;
    Ok(next.map(jiff_sqlx::Timestamp::to_jiff))
}
