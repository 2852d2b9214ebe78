//! What a ledger holds of pools, read by the simulation's own statements.

use std::collections::{BTreeMap, BTreeSet};

use jiff_sqlx::Date;
use keyrack_model::allotment::AllotmentNight;
use keyrack_model::id::{AllotmentId, CaseId, PropertyId, ReservationId, RoomTypeId};
use keyrack_model::stay::StayDate;
use sqlx::types::Json;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use crate::auditor::cases::{File, Files};
use crate::auditor::entry::Cell;
use crate::error::SimError;

/// The nights of allotments.
pub async fn allotments(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<BTreeMap<(AllotmentId, StayDate), AllotmentNight>, sqlx::Error> {
    let rows: Vec<(i64, Date, i32, i32, i32, bool)> = sqlx::query_as(
        "select allotment_id, stay_date, agreed, taken, released, is_released
           from allotment_night where property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    let each = rows
        .into_iter()
        .map(|(id, night, agreed, taken, released, is_released)| {
            let counts = AllotmentNight {
                agreed,
                taken,
                released,
                is_released,
            };
            ((AllotmentId(id), night.to_jiff()), counts)
        });
    Ok(each.collect())
}

/// Rules of scarcity that hold, by their place among the rules.
pub async fn switches(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<BTreeSet<(i32, Cell)>, sqlx::Error> {
    let rows: Vec<(i32, i64, Date)> = sqlx::query_as(
        "select r.place, s.room_type_id, s.stay_date
           from pool_switch s join pool_rule r using (property_id, rule_id)
          where s.property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    let each = rows
        .into_iter()
        .map(|(place, room_type, night)| (place, (RoomTypeId(room_type), night.to_jiff())));
    Ok(each.collect())
}

/// Cases with nights that are not cured, or ended by somebody.
pub async fn files(conn: &mut PgConnection, property: PropertyId) -> Result<Files, sqlx::Error> {
    type Row = (
        i64,
        i64,
        bool,
        Option<String>,
        Option<String>,
        Option<Uuid>,
        Json<BTreeMap<StayDate, Option<i32>>>,
    );
    let rows: Vec<Row> = sqlx::query_as(
        "select c.case_id, c.room_type_id, c.status = 'open', c.outcome, c.evidence ->> 'kind',
                (c.evidence ->> 'reservation_id')::uuid,
                coalesce((select jsonb_object_agg(n.stay_date, n.accepted_rooms)
                            from overbooking_case_night n
                           where n.property_id = c.property_id and n.case_id = c.case_id
                             and n.cured_at is null), '{}')
           from overbooking_case c where c.property_id = $1",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await?;
    let file = |(id, room_type, is_open, outcome, kind, reservation, Json(nights)): Row| {
        let file = File {
            room_type: RoomTypeId(room_type),
            is_open,
            outcome,
            nights,
            evidence: (kind, reservation.map(ReservationId)),
        };
        (CaseId(id), file)
    };
    Ok(rows.into_iter().map(file).collect())
}

/// Rooms of allotments that were made or lost: what is left of them against what their nights keep,
/// what reservations drew against what is taken of them, and lines against counts.
pub async fn unconserved(pool: &PgPool) -> Result<Vec<String>, SimError> {
    sqlx::query_scalar(
        "select 'night ' || n.room_type_id || ' ' || n.stay_date || ' keeps ' || n.allotted
                || ', its allotments have left ' || coalesce(a.rooms, 0)
           from night n
           left join (select property_id, room_type_id, stay_date,
                             sum(case when is_released then 0
                                      else greatest(0, agreed - taken) end) as rooms
                        from allotment_night group by 1, 2, 3) a
                using (property_id, room_type_id, stay_date)
          where n.allotted <> coalesce(a.rooms, 0)
         union all
         select 'allotment ' || n.allotment_id || ' ' || n.stay_date || ' counts '
                || concat_ws('/', n.agreed, n.taken, n.released) || ', its lines say '
                || coalesce(e.sums, 'nothing')
           from allotment_night n
           left join lateral (
                select concat_ws('/', sum(e.agreed), sum(e.taken), sum(e.released)) as sums
                  from allotment_entry e
                 where e.property_id = n.property_id and e.allotment_id = n.allotment_id
                   and n.stay_date >= e.night_from and n.stay_date < e.night_until) e on true
          where concat_ws('/', n.agreed, n.taken, n.released)
                <> coalesce(nullif(e.sums, ''), '0/0/0')
         union all
         select 'allotment ' || n.allotment_id || ' ' || n.stay_date || ' has taken ' || n.taken
                || ', reservations drew ' || coalesce(d.rooms, 0)
           from allotment_night n
           left join (select r.property_id, (d ->> 'allotment')::bigint as allotment_id,
                             (d ->> 'night')::date as stay_date, sum((d ->> 'rooms')::int) as rooms
                        from known_reservation r
                       cross join jsonb_array_elements(r.detail -> 'drawn') d
                       where r.status not in ('cancelled', 'expired')
                       group by 1, 2, 3) d using (property_id, allotment_id, stay_date)
          where n.taken <> coalesce(d.rooms, 0)",
    )
    .fetch_all(pool)
    .await
    .map_err(SimError::look("summing what is kept in allotments"))
}
