//! What a batch reads: one round trip, and the locks of the second try.

use std::collections::{BTreeMap, BTreeSet};

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{AccountId, PropertyId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::{StayDate, plus_days};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use super::apply_row::Place;
use super::claim;
use super::row::{KeptRow, ReferenceRow, ReservationRow, RoomStayRow};
use crate::decide::draft::{Night, NightKey, ReservationKey, Seen};
use crate::error::LedgerError;
use keyrack_model::id_map::IdMap;

/// What a batch needs to see.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys {
    pub properties: BTreeSet<PropertyId>,
    pub nights: BTreeSet<NightKey>,
    pub references: BTreeSet<(PropertyId, AccountId, String)>,
    pub reservations: BTreeSet<ReservationKey>,
    pub receipts: BTreeSet<(String, String)>,
    /// Short numbers to draw.
    pub numbers: usize,
    /// Rooms that wishes ask for, of a type on a night at most; `i32::MAX` where not only wishes
    /// may find rooms wanting.
    pub rooms: i32,
    /// A command raises the version of its property's rules.
    pub raises_rules: bool,
}

/// Where rows of nights lie, as the database names it: whoever writes one that he has read finds it
/// there, and nothing where somebody has written it since.
pub(crate) type Places = IdMap<NightKey, Place>;

/// What a batch saw, and what it must know beside.
pub(crate) struct Sight {
    pub seen: Seen,
    /// Where the nights lie.
    pub places: Places,
    /// Rules version of each property, as of the read.
    pub versions: Vec<(PropertyId, i64)>,
    /// Properties with dead holds that nobody has swept.
    pub with_dead_holds: BTreeSet<PropertyId>,
    /// The database's wall clock, unshifted.
    pub wall: jiff::Timestamp,
}

#[derive(sqlx::FromRow)]
struct Row {
    now: Timestamp,
    wall: Timestamp,
    ids: Option<Vec<i64>>,
    versions: Option<Vec<i64>>,
    dead: Option<Vec<bool>>,
    #[sqlx(flatten)]
    nights: NightsRow,
    reservations: Option<Json<Vec<ReservationRow>>>,
    stays: Option<Json<Vec<RoomStayRow>>>,
    refs: Option<Json<Vec<ReferenceRow>>>,
    receipts: Option<Json<Vec<KeptRow>>>,
    numbers: Option<Vec<i64>>,
}

#[derive(sqlx::FromRow)]
struct NightsRow {
    property: Option<Vec<i64>>,
    room_type: Option<Vec<i64>>,
    stay_date: Option<Vec<Date>>,
    place: Option<Vec<Place>>,
    version: Option<Vec<i64>>,
    physical: Option<Vec<i32>>,
    out_of_order: Option<Vec<i32>>,
    overbooking_limit: Option<Vec<i32>>,
    allotted: Option<Vec<i32>>,
    held: Option<Vec<i32>>,
    sold: Option<Vec<i32>>,
    oversold: Option<Vec<i32>>,
}

const WHOLE: &str = include_str!("sql/read.sql");
const NIGHTS: &str = include_str!("sql/read_nights.sql");

/// Reads what the keys name.
pub(crate) async fn read(conn: &mut PgConnection, keys: &Keys) -> Result<Sight, LedgerError> {
    let ranges = ranges(&keys.nights);
    let of = |pick: fn(&NightRange) -> i64| ranges.iter().map(pick).collect::<Vec<_>>();
    let date = |pick: fn(&NightRange) -> StayDate| {
        let dates = ranges.iter().map(|range| Date::from(pick(range)));
        dates.collect::<Vec<_>>()
    };
    // Wishes ask for nights alone: most batches do without the joins of reservations.
    let only_nights = keys.reservations.is_empty() && keys.references.is_empty();
    let sql = if only_nights { NIGHTS } else { WHOLE };
    let row: Row = sqlx::query_as(sql)
        .bind(keys.properties.iter().map(|id| id.0).collect::<Vec<_>>())
        .bind(of(|range| range.0.0))
        .bind(of(|range| range.1.0))
        .bind(date(|range| range.2))
        .bind(
            keys.references
                .iter()
                .map(|key| key.0.0)
                .collect::<Vec<_>>(),
        )
        .bind(
            keys.references
                .iter()
                .map(|key| key.1.0)
                .collect::<Vec<_>>(),
        )
        .bind(
            keys.references
                .iter()
                .map(|key| key.2.clone())
                .collect::<Vec<_>>(),
        )
        .bind(
            keys.reservations
                .iter()
                .map(|key| key.0.0)
                .collect::<Vec<_>>(),
        )
        .bind(
            keys.reservations
                .iter()
                .map(|key| key.1.0)
                .collect::<Vec<_>>(),
        )
        .bind(
            keys.receipts
                .iter()
                .map(|key| key.0.clone())
                .collect::<Vec<_>>(),
        )
        .bind(
            keys.receipts
                .iter()
                .map(|key| key.1.clone())
                .collect::<Vec<_>>(),
        )
        .bind(i32::try_from(keys.numbers).unwrap_or(i32::MAX))
        .bind(keys.rooms)
        .bind(date(|range| range.3))
        .fetch_one(conn)
        .await
        .map_err(LedgerError::while_doing("reading a batch"))?;
    row.into_sight()
}

/// A type's nights one after the other: from the third, to the fourth (excluded).
type NightRange = (PropertyId, RoomTypeId, StayDate, StayDate);

/// Nights that follow each other are one look into the index and not one each.
fn ranges(nights: &BTreeSet<NightKey>) -> Vec<NightRange> {
    let mut ranges: Vec<NightRange> = Vec::new();
    for (property, room_type, night) in nights.iter().copied() {
        let after = plus_days(night, 1);
        match ranges.last_mut() {
            Some(last) if (last.0, last.1, last.3) == (property, room_type, night) => {
                last.3 = after;
            }
            _ => ranges.push((property, room_type, night, after)),
        }
    }
    ranges
}

impl Row {
    fn into_sight(self) -> Result<Sight, LedgerError> {
        let ids: Vec<PropertyId> = self
            .ids
            .unwrap_or_default()
            .into_iter()
            .map(PropertyId)
            .collect();
        let dead = ids.iter().copied().zip(self.dead.unwrap_or_default());
        let with_dead_holds = dead.filter(|(_, dead)| *dead).map(|(id, _)| id).collect();
        let versions = ids
            .into_iter()
            .zip(self.versions.unwrap_or_default())
            .collect();
        let (nights, places) = self.nights.into_nights();
        let mut seen = Seen {
            now: self.now.to_jiff(),
            nights,
            numbers: self.numbers.unwrap_or_default().into(),
            ..Seen::default()
        };
        for row in self.reservations.map(|Json(rows)| rows).unwrap_or_default() {
            let reservation = row.into_reservation()?;
            seen.reservations
                .insert((reservation.property, reservation.id), reservation);
        }
        for row in self.stays.map(|Json(rows)| rows).unwrap_or_default() {
            if let Some(reservation) = seen.reservations.get_mut(&row.reservation()) {
                reservation.rooms.push(row.into());
            }
        }
        for reservation in seen.reservations.values_mut() {
            reservation.rooms.sort_unstable_by_key(|room| room.id);
        }
        for row in self.refs.map(|Json(rows)| rows).unwrap_or_default() {
            let (key, reference) = row.into_reference()?;
            seen.references.insert(key, reference);
        }
        for row in self.receipts.map(|Json(rows)| rows).unwrap_or_default() {
            seen.receipts
                .insert((row.scope, row.key), (row.fingerprint, row.receipt));
        }
        Ok(Sight {
            seen,
            places,
            versions,
            with_dead_holds,
            wall: self.wall.to_jiff(),
        })
    }
}

impl NightsRow {
    fn into_nights(self) -> (BTreeMap<NightKey, Night>, Places) {
        let Some(properties) = self.property else {
            return Default::default();
        };
        let types = self.room_type.unwrap_or_default();
        let places = self.place.unwrap_or_default();
        let dates: Vec<Date> = self.stay_date.unwrap_or_default();
        let versions = self.version.unwrap_or_default();
        let column = |values: Option<Vec<i32>>| values.unwrap_or_default();
        let (physical, out) = (column(self.physical), column(self.out_of_order));
        let (limit, allotted) = (column(self.overbooking_limit), column(self.allotted));
        let (held, sold, over) = (column(self.held), column(self.sold), column(self.oversold));
        let each = |(i, property): (usize, i64)| {
            let balance = NightBalance {
                physical: physical[i],
                out_of_order: out[i],
                overbooking_limit: limit[i],
                allotted: allotted[i],
                held: held[i],
                sold: sold[i],
                oversold: over[i],
            };
            let key = (
                PropertyId(property),
                RoomTypeId(types[i]),
                dates[i].to_jiff(),
            );
            (
                key,
                Night {
                    balance,
                    version: versions[i],
                },
            )
        };
        let nights: Vec<(NightKey, Night)> = properties.into_iter().enumerate().map(each).collect();
        let keys = nights.iter().map(|(key, _)| *key);
        let places = keys.zip(places).collect();
        (nights.into_iter().collect(), places)
    }
}

/// Locks what the keys name, in the order that all take: properties (shared, unless their rules'
/// version is raised), idempotency keys, archived reservations, reservations, references, nights.
/// The transaction has begun; the read that follows sees what the locks hold still.
pub(crate) async fn lock(conn: &mut PgConnection, keys: &Keys) -> Result<(), LedgerError> {
    sqlx::query(LOCK_PROPERTIES[usize::from(keys.raises_rules)])
        .bind(keys.properties.iter().map(|id| id.0).collect::<Vec<_>>())
        .execute(&mut *conn)
        .await
        .map_err(LedgerError::while_doing("locking properties"))?;
    claim::keys(conn, keys.receipts.iter()).await?;
    let locks = LOCK_RESERVATIONS.iter();
    for locking in locks.filter(|_| !keys.reservations.is_empty()) {
        sqlx::query(*locking)
            .bind(column(&keys.reservations, |key| key.0.0))
            .bind(column(&keys.reservations, |key| key.1.0))
            .execute(&mut *conn)
            .await
            .map_err(LedgerError::while_doing("locking reservations"))?;
    }
    claim::references(conn, keys.references.iter()).await?;
    sqlx::query(
        "select from unnest($1::bigint[], $2::bigint[], $3::date[]) k(property_id, room_type_id,
        stay_date)
           join night n using (property_id, room_type_id, stay_date)
          order by property_id, room_type_id, stay_date for update of n",
    )
    .bind(keys.nights.iter().map(|key| key.0.0).collect::<Vec<_>>())
    .bind(keys.nights.iter().map(|key| key.1.0).collect::<Vec<_>>())
    .bind(
        keys.nights
            .iter()
            .map(|key| Date::from(key.2))
            .collect::<Vec<_>>(),
    )
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("locking nights"))?;
    Ok(())
}

/// Shared, and to be changed: a lock that is made stronger later waits for all that share it.
const LOCK_PROPERTIES: [&str; 2] = [
    "select from property where property_id = any($1) order by property_id for share",
    "select from property where property_id = any($1) order by property_id for no key update",
];

/// An archived reservation is locked where it lies; whoever brings one back does it in this order.
const LOCK_RESERVATIONS: [&str; 2] = [
    "select from unnest($1::bigint[], $2::uuid[]) k(property_id, reservation_id)
       join archived_reservation r using (property_id, reservation_id)
      order by property_id, reservation_id for update of r",
    "select from unnest($1::bigint[], $2::uuid[]) k(property_id, reservation_id)
       join reservation r using (property_id, reservation_id)
      order by property_id, reservation_id for update of r",
];

fn column<K, T>(keys: &BTreeSet<K>, pick: impl Fn(&K) -> T) -> Vec<T> {
    keys.iter().map(pick).collect()
}

/// Gives birth to nights that are not there, with the physical count of their type and the blocks
/// of its rooms, and writes it down.
pub(crate) async fn give_birth(
    conn: &mut PgConnection,
    nights: &BTreeSet<NightKey>,
) -> Result<(), LedgerError> {
    sqlx::query("select ledger_give_birth($1, $2, $3)")
        .bind(nights.iter().map(|key| key.0.0).collect::<Vec<_>>())
        .bind(nights.iter().map(|key| key.1.0).collect::<Vec<_>>())
        .bind(
            nights
                .iter()
                .map(|key| Date::from(key.2))
                .collect::<Vec<_>>(),
        )
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("giving birth to nights"))?;
    Ok(())
}

/// Which of these commands have been applied.
pub(crate) async fn applied(
    conn: &mut PgConnection,
    commands: &[(PropertyId, Uuid)],
) -> Result<BTreeSet<Uuid>, LedgerError> {
    let rows = sqlx::query_scalar::<_, Uuid>(
        "select distinct e.command_id from unnest($1::bigint[], $2::uuid[]) k(property_id,
        command_id)
           join ledger_entry e using (property_id, command_id)",
    )
    .bind(commands.iter().map(|c| c.0.0).collect::<Vec<_>>())
    .bind(commands.iter().map(|c| c.1).collect::<Vec<_>>())
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking commands up"))?;
    Ok(rows.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    #[test]
    fn nights_that_follow_each_other_are_one_range() {
        let key = |(property, room_type, day)| -> NightKey {
            let night = date(2030, 2, day);
            (PropertyId(property), RoomTypeId(room_type), night)
        };
        let nights = [(1, 1, 1), (1, 1, 2), (1, 1, 4), (1, 2, 5), (2, 2, 6)];
        let range = |(property, room_type, from, until)| -> NightRange {
            let (from, until) = (date(2030, 2, from), date(2030, 2, until));
            (PropertyId(property), RoomTypeId(room_type), from, until)
        };
        let expected = [(1, 1, 1, 3), (1, 1, 4, 5), (1, 2, 5, 6), (2, 2, 6, 7)];
        let found = ranges(&BTreeSet::from(nights.map(key)));
        assert_eq!(found, expected.map(range));
    }
}
