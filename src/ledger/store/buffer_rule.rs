//! Rules that keep rooms back: `buffer_rule`.

use jiff_sqlx::Date;
use keyrack_model::id::{AccountId, PropertyId, RoomTypeId};
use keyrack_model::stay::{Stay, Weekdays};
use sqlx::PgConnection;

use crate::decide::buffer_rule::{BufferKind, BufferRule};
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    account_id: Option<i64>,
    room_type_id: Option<i64>,
    night_from: Option<Date>,
    night_until: Option<Date>,
    weekdays: i16,
    lead_days_min: Option<i32>,
    lead_days_max: Option<i32>,
    kind: String,
    rooms: i32,
}

/// The buffer rules of a property, in the order in which they were given.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<BufferRule>, LedgerError> {
    let rows: Vec<Row> =
        sqlx::query_as("select * from buffer_rule where property_id = $1 order by rule_id")
            .bind(property.0)
            .fetch_all(conn)
            .await
            .map_err(LedgerError::while_doing("reading buffer rules"))?;
    rows.into_iter().map(BufferRule::try_from).collect()
}

/// Takes the buffer rules of a property away.
pub(crate) async fn delete(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<(), LedgerError> {
    sqlx::query("delete from buffer_rule where property_id = $1")
        .bind(property.0)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking buffer rules away"))?;
    Ok(())
}

/// Adds a buffer rule.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    rule: &BufferRule,
) -> Result<(), LedgerError> {
    let kind = match rule.kind {
        BufferKind::KeepBack(_) => "keep_back",
        BufferKind::CloseAt(_) => "close_at",
        BufferKind::Cap(_) => "cap",
        BufferKind::SharePercent(_) => "share_percent",
        BufferKind::Safety(_) => "safety",
    };
    sqlx::query(
        "insert into buffer_rule (property_id, account_id, room_type_id, night_from, night_until,
                                  weekdays, lead_days_min, lead_days_max, kind, rooms)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(property.0)
    .bind(rule.account.map(|id| id.0))
    .bind(rule.room_type.map(|id| id.0))
    .bind(rule.nights.map(|nights| Date::from(nights.arrival())))
    .bind(rule.nights.map(|nights| Date::from(nights.departure())))
    .bind(i16::from(rule.weekdays.bits()))
    .bind(rule.lead_days_min)
    .bind(rule.lead_days_max)
    .bind(kind)
    .bind(rule.kind.number())
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("adding a buffer rule"))?;
    Ok(())
}

impl TryFrom<Row> for BufferRule {
    type Error = LedgerError;

    fn try_from(row: Row) -> Result<Self, LedgerError> {
        let unreadable = |what: String| LedgerError::Unreadable(format!("a buffer rule: {what}"));
        let kind = match row.kind.as_str() {
            "keep_back" => BufferKind::KeepBack(row.rooms),
            "close_at" => BufferKind::CloseAt(row.rooms),
            "cap" => BufferKind::Cap(row.rooms),
            "share_percent" => BufferKind::SharePercent(row.rooms),
            "safety" => BufferKind::Safety(row.rooms),
            other => return Err(unreadable(other.to_owned())),
        };
        let weekdays = u8::try_from(row.weekdays)
            .map_err(|_| unreadable(format!("weekdays {}", row.weekdays)))?;
        let nights = row.night_from.zip(row.night_until);
        Ok(Self {
            account: row.account_id.map(AccountId),
            room_type: row.room_type_id.map(RoomTypeId),
            nights: nights.and_then(|(from, to)| Stay::new(from.to_jiff(), to.to_jiff())),
            weekdays: Weekdays::from_bits(weekdays),
            lead_days_min: row.lead_days_min,
            lead_days_max: row.lead_days_max,
            kind,
        })
    }
}
