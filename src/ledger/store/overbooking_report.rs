//! Cases of a time, counted: `overbooking_case`, its nights.

use jiff_sqlx::Date;
use keyrack_model::id::PropertyId;
use keyrack_model::stay::StayRange;
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Cases that are alike in everything that is counted.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ReportRow {
    pub cause: String,
    pub channel: String,
    pub account: String,
    pub month: String,
    pub outcome: String,
    pub cost_currency: Option<String>,
    pub cases: i64,
    pub open: i64,
    pub escalated: i64,
    pub rooms: i64,
    pub cost_minor: Option<i64>,
}

/// The cases that were opened on these days of the property.
pub(crate) async fn rows(
    conn: &mut PgConnection,
    property: PropertyId,
    days: StayRange,
) -> Result<Vec<ReportRow>, LedgerError> {
    sqlx::query_as(
        "select c.cause, coalesce(a.channel, 'direct') as channel,
                coalesce(c.evidence ->> 'sold_by', 'direct') as account,
                to_char(c.opened_at at time zone p.time_zone, 'YYYY-MM') as month,
                coalesce(c.outcome, 'open') as outcome, c.cost_currency,
                count(*) as cases, count(*) filter (where c.status = 'open') as open,
                count(c.escalated_at) as escalated,
                coalesce(sum((select sum(n.rooms) from overbooking_case_night n
                               where n.property_id = c.property_id and n.case_id = c.case_id)), 0)
                    ::bigint as rooms,
                sum(c.cost_minor)::bigint as cost_minor
           from overbooking_case c join property p using (property_id)
           left join account a on a.property_id = c.property_id
                              and a.code = c.evidence ->> 'sold_by'
          where c.property_id = $1
            and c.opened_at >= $2::date::timestamp at time zone p.time_zone
            and c.opened_at < $3::date::timestamp at time zone p.time_zone
          group by 1, 2, 3, 4, 5, 6 order by 1, 2, 3, 4, 5, 6",
    )
    .bind(property.0)
    .bind(Date::from(days.arrival()))
    .bind(Date::from(days.departure()))
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("counting overbooking cases"))
}
