//! What cannot be proved: entries against nights, reservations against nights, cases against both,
//! entries against checkpoints.

use jiff_sqlx::Date;
use keyrack_model::id::PropertyId;
use sqlx::PgConnection;

use crate::error::LedgerError;

/// Where a replay begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum From {
    /// At the checkpoint of each night that has one.
    Checkpoints,
    /// At the first entry.
    Beginning,
}

/// A night with what is proved of it and what it says, count by count.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct Unproven {
    pub room_type_id: i64,
    pub room_type: Option<String>,
    pub stay_date: Date,
    pub proven: Vec<i64>,
    pub present: Vec<i64>,
}

/// Which of the server's processes works for this connection.
pub(crate) async fn backend(conn: &mut PgConnection) -> Result<i32, LedgerError> {
    sqlx::query_scalar("select pg_backend_pid()")
        .fetch_one(conn)
        .await
        .map_err(LedgerError::while_doing("asking who works for us"))
}

/// Ends what a process of the server is doing; nothing where it does nothing.
pub(crate) async fn interrupt(conn: &mut PgConnection, backend: i32) -> Result<(), LedgerError> {
    sqlx::query("select pg_cancel_backend($1)")
        .bind(backend)
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("ending a verification"))?;
    Ok(())
}

/// Nights whose counts the entries do not prove: physical, out of order, overbooking limit, held,
/// sold, and oversold by its rule.
pub(crate) async fn nights(
    conn: &mut PgConnection,
    property: PropertyId,
    from: From,
) -> Result<Vec<Unproven>, LedgerError> {
    let sql = match from {
        From::Checkpoints => include_str!("sql/verify_nights_since.sql"),
        From::Beginning => include_str!("sql/verify_nights.sql"),
    };
    sqlx::query_as(sql)
        .bind(property.0)
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("replaying entries"))
}

/// Nights of which reservations take other rooms than the night says: held, sold. From checkpoints,
/// those that none covers as they are now.
pub(crate) async fn claims(
    conn: &mut PgConnection,
    property: PropertyId,
    from: From,
) -> Result<Vec<Unproven>, LedgerError> {
    let sql = match from {
        From::Checkpoints => include_str!("sql/verify_claims_since.sql"),
        From::Beginning => include_str!("sql/verify_claims.sql"),
    };
    sqlx::query_as(sql)
        .bind(property.0)
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("summing reservations"))
}

/// Checkpoints that the entries which they cover do not prove: physical, out of order, overbooking
/// limit, held, sold.
pub(crate) async fn checkpoints(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<Unproven>, LedgerError> {
    sqlx::query_as(include_str!("sql/verify_checkpoints.sql"))
        .bind(property.0)
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("proving checkpoints"))
}

/// A reservation that its entries do not prove.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct UnprovenReservation {
    pub number: i64,
    pub present_version: i64,
    pub told_version: i64,
    pub told_rooms: i64,
    pub has_rooms: i64,
}

/// Reservations whose version or rooms their entries do not prove; from checkpoints, those that are
/// not archived.
pub(crate) async fn reservations(
    conn: &mut PgConnection,
    property: PropertyId,
    from: From,
) -> Result<Vec<UnprovenReservation>, LedgerError> {
    let sql = match from {
        From::Checkpoints => include_str!("sql/verify_reservations_since.sql"),
        From::Beginning => include_str!("sql/verify_reservations.sql"),
    };
    sqlx::query_as(sql)
        .bind(property.0)
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("replaying reservations"))
}

/// A night whose overbooking case is missing, or open in vain.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct WrongCase {
    pub room_type: String,
    pub stay_date: Date,
    pub sold: i32,
    pub usable: i32,
    pub is_open: bool,
}

/// Nights whose overbooking case is missing, or open in vain.
pub(crate) async fn cases(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<WrongCase>, LedgerError> {
    sqlx::query_as(include_str!("sql/verify_cases.sql"))
        .bind(property.0)
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("comparing cases"))
}

/// A night of which allotments prove something else than it says, in words with both numbers.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct UnprovenAllotment {
    pub room_type: Option<String>,
    pub stay_date: Date,
    pub what: String,
}

/// What cannot be proved of allotments; nothing is read where there are none and no night keeps a
/// room for one.
pub(crate) async fn allotments(
    conn: &mut PgConnection,
    property: PropertyId,
    from: From,
) -> Result<Vec<UnprovenAllotment>, LedgerError> {
    let doing = LedgerError::while_doing("proving allotments");
    let is_any: bool = sqlx::query_scalar(
        "select exists (select from allotment where property_id = $1)
                or exists (select from night where property_id = $1 and allotted > 0)",
    )
    .bind(property.0)
    .fetch_one(&mut *conn)
    .await
    .map_err(&doing)?;
    if !is_any {
        return Ok(Vec::new());
    }
    sqlx::query_as(include_str!("sql/verify_allotments.sql"))
        .bind(property.0)
        .bind(from == From::Beginning)
        .fetch_all(conn)
        .await
        .map_err(doing)
}

/// How many nights and reservations are compared.
pub(crate) async fn counts(
    conn: &mut PgConnection,
    property: PropertyId,
    from: From,
) -> Result<(i64, i64), LedgerError> {
    sqlx::query_as(
        "select (select count(*) from night where property_id = $1),
                (select count(*) from reservation where property_id = $1)
                + (select count(*) from archived_reservation where property_id = $1 and $2)",
    )
    .bind(property.0)
    .bind(from == From::Beginning)
    .fetch_one(conn)
    .await
    .map_err(LedgerError::while_doing("counting nights"))
}

/// One picture for all the statements of a transaction, so that a booking between two of them is
/// no difference.
pub(crate) async fn one_snapshot(conn: &mut PgConnection) -> Result<(), LedgerError> {
    sqlx::query("set transaction isolation level repeatable read")
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking a snapshot"))?;
    Ok(())
}

/// And writes nothing.
pub(crate) async fn read_only(conn: &mut PgConnection) -> Result<(), LedgerError> {
    sqlx::query("set transaction read only")
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("taking a snapshot"))?;
    Ok(())
}

/// A proof takes the time that it takes: no limit of ordinary statements ends it.
pub(crate) async fn without_time_limit(conn: &mut PgConnection) -> Result<(), LedgerError> {
    sqlx::query("set local statement_timeout = 0")
        .execute(conn)
        .await
        .map_err(LedgerError::while_doing("lifting a time limit"))?;
    Ok(())
}
