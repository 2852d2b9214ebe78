//! Allotments and their nights: `allotment`, `allotment_night`.

use std::collections::BTreeMap;

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::allotment::{AllotmentNight, Release};
use keyrack_model::id::{AccountId, AllotmentId, GroupId, PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, StayDate, StayRange};
use sqlx::PgConnection;

use crate::allotments::{AllotmentRow, Due};
use crate::decide::allotment::Owner;
use crate::decide::allotting::{AllotmentKey, SeenAllotment};
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct NightRow {
    property_id: i64,
    allotment_id: i64,
    stay_date: Date,
    room_type_id: i64,
    agreed: i32,
    taken: i32,
    released: i32,
    is_released: bool,
    version: i64,
}

impl NightRow {
    fn night(&self) -> AllotmentNight {
        AllotmentNight {
            agreed: self.agreed,
            taken: self.taken,
            released: self.released,
            is_released: self.is_released,
        }
    }
}

/// The nights of allotments that a batch looks at, locked in the order of their keys where it holds
/// locks: after the nights of the house.
pub(crate) async fn seen(
    conn: &mut PgConnection,
    keys: &[AllotmentKey],
    locked: bool,
) -> Result<BTreeMap<AllotmentKey, SeenAllotment>, LedgerError> {
    let sql = if locked { LOCKED } else { READ };
    let rows: Vec<NightRow> = sqlx::query_as(sql)
        .bind(keys.iter().map(|key| key.0.0).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| key.1.0).collect::<Vec<_>>())
        .bind(keys.iter().map(|key| Date::from(key.2)).collect::<Vec<_>>())
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("reading allotments"))?;
    let each = rows.into_iter().map(|row| {
        let key = (
            PropertyId(row.property_id),
            AllotmentId(row.allotment_id),
            row.stay_date.to_jiff(),
        );
        let seen = SeenAllotment {
            room_type: RoomTypeId(row.room_type_id),
            night: row.night(),
            version: row.version,
        };
        (key, seen)
    });
    Ok(each.collect())
}

const READ: &str = "select n.property_id, n.allotment_id, n.stay_date, n.room_type_id, n.agreed,
        n.taken, n.released, n.is_released, n.version
   from unnest($1::bigint[], $2::bigint[], $3::date[]) k(property_id, allotment_id, stay_date)
  cross join lateral (select * from allotment_night n
                       where n.property_id = k.property_id and n.allotment_id = k.allotment_id
                         and n.stay_date = k.stay_date offset 0) n";

const LOCKED: &str = "select n.property_id, n.allotment_id, n.stay_date, n.room_type_id, n.agreed,
        n.taken, n.released, n.is_released, n.version
   from unnest($1::bigint[], $2::bigint[], $3::date[]) k(property_id, allotment_id, stay_date)
   join allotment_night n using (property_id, allotment_id, stay_date)
  order by n.property_id, n.allotment_id, n.stay_date for update of n";

#[derive(sqlx::FromRow)]
struct Row {
    allotment_id: i64,
    code: String,
    account_id: Option<i64>,
    group_id: Option<i64>,
    room_type_id: i64,
    release_period_days: i32,
    cut_off: Option<Date>,
    version: i64,
}

/// The allotments of a property in order of code, those whose code is only kept among them.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<AllotmentRow>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select allotment_id, code, account_id, group_id, room_type_id, release_period_days,
                cut_off, version
           from allotment where property_id = $1 order by code",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading allotments"))?;
    rows.into_iter().map(AllotmentRow::try_from).collect()
}

/// Those that are agreed, after a code in order of code, at most so many.
pub(crate) async fn page(
    conn: &mut PgConnection,
    property: PropertyId,
    after: &str,
    limit: u32,
) -> Result<Vec<AllotmentRow>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select allotment_id, code, account_id, group_id, room_type_id, release_period_days,
                cut_off, version
           from allotment where property_id = $1 and code > $2 and version > 0
          order by code limit $3",
    )
    .bind(property.0)
    .bind(after)
    .bind(i64::from(limit))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading allotments"))?;
    rows.into_iter().map(AllotmentRow::try_from).collect()
}

/// The one of a code, where it is agreed.
pub(crate) async fn by_code(
    conn: &mut PgConnection,
    property: PropertyId,
    code: &str,
) -> Result<Option<AllotmentRow>, LedgerError> {
    let row: Option<Row> = sqlx::query_as(
        "select allotment_id, code, account_id, group_id, room_type_id, release_period_days,
                cut_off, version
           from allotment where property_id = $1 and code = $2 and version > 0",
    )
    .bind(property.0)
    .bind(code)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("reading an allotment"))?;
    row.map(AllotmentRow::try_from).transpose()
}

/// Those of a group that are agreed, in order of code.
pub(crate) async fn of_group(
    conn: &mut PgConnection,
    property: PropertyId,
    group: GroupId,
) -> Result<Vec<AllotmentRow>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select allotment_id, code, account_id, group_id, room_type_id, release_period_days,
                cut_off, version
           from allotment where property_id = $1 and group_id = $2 and version > 0 order by code",
    )
    .bind(property.0)
    .bind(group.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading a group's allotments"))?;
    rows.into_iter().map(AllotmentRow::try_from).collect()
}

impl TryFrom<Row> for AllotmentRow {
    type Error = LedgerError;

    fn try_from(row: Row) -> Result<Self, LedgerError> {
        let owner = match (row.account_id, row.group_id) {
            (Some(account), _) => Owner::Account(AccountId(account)),
            (None, Some(group)) => Owner::Group(GroupId(group)),
            (None, None) => return Err(LedgerError::Unreadable("whose allotment".to_owned())),
        };
        Ok(Self {
            id: AllotmentId(row.allotment_id),
            code: row.code,
            owner,
            room_type: RoomTypeId(row.room_type_id),
            release: Release {
                period_days: row.release_period_days,
                cut_off: row.cut_off.map(Date::to_jiff),
            },
            version: row.version,
        })
    }
}

/// Keeps a code for an allotment whose rooms are to be agreed. Nobody sees it before.
pub(crate) async fn reserve(
    conn: &mut PgConnection,
    property: PropertyId,
    code: &str,
    owner: Owner,
    room_type: RoomTypeId,
) -> Result<AllotmentId, LedgerError> {
    let (account, group) = match owner {
        Owner::Account(account) => (Some(account.0), None),
        Owner::Group(group) => (None, Some(group.0)),
    };
    // One that was kept and never agreed may be meant otherwise now.
    let id: i64 = sqlx::query_scalar(
        "insert into allotment as a (property_id, code, account_id, group_id, room_type_id)
         values ($1, $2, $3, $4, $5)
         on conflict (property_id, code) do update
            set account_id = excluded.account_id, group_id = excluded.group_id,
                room_type_id = excluded.room_type_id
          where a.version = 0
         returning allotment_id",
    )
    .bind(property.0)
    .bind(code)
    .bind(account)
    .bind(group)
    .bind(room_type.0)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("keeping a code"))?;
    Ok(AllotmentId(id))
}

/// The nights of an allotment from one on that have ever been agreed: first, and end.
pub(crate) async fn span(
    conn: &mut PgConnection,
    property: PropertyId,
    allotment: AllotmentId,
    from: StayDate,
) -> Result<Option<StayRange>, LedgerError> {
    let (first, last): (Option<Date>, Option<Date>) = sqlx::query_as(
        "select min(stay_date), max(stay_date) + 1 from allotment_night
          where property_id = $1 and allotment_id = $2 and stay_date >= $3",
    )
    .bind(property.0)
    .bind(allotment.0)
    .bind(Date::from(from))
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing(
        "looking for an allotment's nights",
    ))?;
    let ends = first.zip(last);
    Ok(ends.and_then(|(first, last)| Stay::new(first.to_jiff(), last.to_jiff())))
}

/// The nights of some allotments, in order of allotment and night.
pub(crate) async fn nights(
    conn: &mut PgConnection,
    property: PropertyId,
    allotments: &[AllotmentId],
    nights: StayRange,
) -> Result<Vec<(AllotmentId, StayDate, AllotmentNight)>, LedgerError> {
    let rows: Vec<NightRow> = sqlx::query_as(
        "select property_id, allotment_id, stay_date, room_type_id, agreed, taken, released,
                is_released, version
           from allotment_night
          where property_id = $1 and allotment_id = any($2) and stay_date >= $3 and stay_date < $4
          order by allotment_id, stay_date",
    )
    .bind(property.0)
    .bind(allotments.iter().map(|id| id.0).collect::<Vec<_>>())
    .bind(Date::from(nights.arrival()))
    .bind(Date::from(nights.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading an allotment's nights"))?;
    let each = rows.into_iter().map(|row| {
        (
            AllotmentId(row.allotment_id),
            row.stay_date.to_jiff(),
            row.night(),
        )
    });
    Ok(each.collect())
}

#[derive(sqlx::FromRow)]
struct DueRow {
    property_id: i64,
    allotment_id: i64,
    time_zone: String,
    release_period_days: i32,
    cut_off: Option<Date>,
    is_orphan: bool,
    first: Date,
    until: Date,
    now: Timestamp,
}

/// Allotments that may have something to give back today or tomorrow, of every property: what
/// their own calendar says is for the caller. In the whole world no place is further ahead of UTC
/// than 14 hours.
pub(crate) async fn near(conn: &mut PgConnection) -> Result<Vec<Due>, LedgerError> {
    let rows: Vec<DueRow> = sqlx::query_as(
        "select a.property_id, a.allotment_id, p.time_zone, a.release_period_days,
                least(a.cut_off, g.cut_off) as cut_off,
                o.is_orphan, n.first, n.until, c.now
           from (select ledger_now() as now) c
          cross join lateral (select (c.now at time zone 'UTC' + interval '14 hours')::date as day
                             ) latest
          cross join allotment a
           join property p using (property_id)
           left join room_group g on g.property_id = a.property_id and g.group_id = a.group_id
          cross join lateral (select a.account_id is not null and not exists (
                              select from account o where o.account_id = a.account_id) as is_orphan
                             ) o
          cross join lateral (
                select min(n.stay_date) as first, max(n.stay_date) + 1 as until
                  from allotment_night n
                 where n.property_id = a.property_id and n.allotment_id = a.allotment_id
                   and not n.is_released
                   and (o.is_orphan or least(a.cut_off, g.cut_off) <= latest.day
                        or n.stay_date <= latest.day + a.release_period_days)) n
          where n.first is not null",
    )
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing(
        "looking for allotments to release",
    ))?;
    let due = rows.into_iter().filter_map(|row| {
        let nights = Stay::new(row.first.to_jiff(), row.until.to_jiff())?;
        Some(Due {
            property: PropertyId(row.property_id),
            allotment: AllotmentId(row.allotment_id),
            time_zone: row.time_zone,
            release: Release {
                period_days: row.release_period_days,
                cut_off: row.cut_off.map(Date::to_jiff),
            },
            is_orphan: row.is_orphan,
            nights,
            now: row.now.to_jiff(),
        })
    });
    Ok(due.collect())
}
