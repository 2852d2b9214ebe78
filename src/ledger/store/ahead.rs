//! Nights that are read ahead, with the place where each lies.

use jiff_sqlx::Date;
use keyrack_model::id::{PropertyId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;

use super::apply_row::Place;
use crate::decide::draft::Night;
use crate::error::LedgerError;

/// A night as it lies in its table.
pub(crate) type Lying = (Night, Place);

#[derive(sqlx::FromRow)]
struct Row {
    stay_date: Date,
    place: Place,
    version: i64,
    physical: i32,
    out_of_order: i32,
    overbooking_limit: i32,
    allotted: i32,
    held: i32,
    sold: i32,
    oversold: i32,
}

/// Nights of a type from about today on, in order of date, at most so many.
pub(crate) async fn nights(
    conn: &mut PgConnection,
    (property, room_type): (PropertyId, RoomTypeId),
    limit: i64,
) -> Result<Vec<(StayDate, Lying)>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select stay_date, ctid as place, version, physical, out_of_order, overbooking_limit,
                allotted, held, sold, oversold
           from night
          where property_id = $1 and room_type_id = $2
            and stay_date >= (select (ledger_now() at time zone 'UTC')::date - 2)
          order by stay_date limit $3",
    )
    .bind(property.0)
    .bind(room_type.0)
    .bind(limit)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading nights ahead"))?;
    Ok(rows.into_iter().map(Row::lying).collect())
}

impl Row {
    fn lying(self) -> (StayDate, Lying) {
        let balance = NightBalance {
            physical: self.physical,
            out_of_order: self.out_of_order,
            overbooking_limit: self.overbooking_limit,
            allotted: self.allotted,
            held: self.held,
            sold: self.sold,
            oversold: self.oversold,
        };
        let night = Night {
            balance,
            version: self.version,
        };
        (self.stay_date.to_jiff(), (night, self.place))
    }
}
