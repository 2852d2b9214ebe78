//! Wishes that wait: `waitlist`. Every change demands the version that was read.

use jiff_sqlx::{Date, Timestamp};
use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use keyrack_model::reservation::{Guest, Source};
use keyrack_model::stay::{Stay, StayDate};
use sqlx::PgConnection;
use sqlx::types::Json;
use uuid::Uuid;

use crate::error::LedgerError;
use crate::wish::{NewWish, Place, Waiting};

#[derive(sqlx::FromRow)]
struct Row {
    property_id: i64,
    wish_id: Uuid,
    status: String,
    version: i64,
    arrival: Date,
    departure: Date,
    room_types: Vec<i64>,
    quantity: i32,
    adults: Option<i32>,
    source: String,
    answer_seconds: Option<i32>,
    guest: Json<Guest>,
    note: Option<String>,
    created_at: Timestamp,
    queued_at: Timestamp,
    look_after: Option<Timestamp>,
    offers: i32,
    offer_reservation: Option<Uuid>,
    offer_room_type: Option<i64>,
    offered_at: Option<Timestamp>,
    answer_until: Option<Timestamp>,
    outcome: Option<String>,
    ended_at: Option<Timestamp>,
}

impl TryFrom<Row> for Waiting {
    type Error = LedgerError;

    fn try_from(row: Row) -> Result<Self, LedgerError> {
        let unreadable = |what: &str| LedgerError::Unreadable(format!("a wish: {what}"));
        let at = |at: Option<Timestamp>| at.map(Timestamp::to_jiff);
        let offer = row.offer_reservation.zip(row.offer_room_type);
        Ok(Self {
            id: row.wish_id,
            property: PropertyId(row.property_id),
            status: row.status,
            version: row.version,
            wish: NewWish {
                stay: Stay::new(row.arrival.to_jiff(), row.departure.to_jiff())
                    .ok_or_else(|| unreadable("its nights"))?,
                room_types: row.room_types.into_iter().map(RoomTypeId).collect(),
                quantity: row.quantity,
                adults: row.adults,
                source: Source::from_name(&row.source).ok_or_else(|| unreadable(&row.source))?,
                guest: row.guest.0,
                note: row.note,
                answer_seconds: row.answer_seconds,
            },
            created_at: row.created_at.to_jiff(),
            queued_at: row.queued_at.to_jiff(),
            offers: row.offers,
            offer: offer.map(|(reservation, room_type)| {
                let until = at(row.answer_until);
                (ReservationId(reservation), RoomTypeId(room_type), until)
            }),
            offered_at: at(row.offered_at),
            look_after: at(row.look_after),
            outcome: row.outcome,
            ended_at: at(row.ended_at),
        })
    }
}

/// Adds a wish at the end of the queue.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    id: Uuid,
    wish: &NewWish,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into waitlist (property_id, wish_id, arrival, departure, room_types, quantity,
                               adults, source, answer_seconds, guest, note)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
    )
    .bind(property.0)
    .bind(id)
    .bind(Date::from(wish.stay.arrival()))
    .bind(Date::from(wish.stay.departure()))
    .bind(wish.room_types.iter().map(|id| id.0).collect::<Vec<_>>())
    .bind(wish.quantity)
    .bind(wish.adults)
    .bind(wish.source.as_str())
    .bind(wish.answer_seconds)
    .bind(Json(&wish.guest))
    .bind(&wish.note)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("adding a wish"))?;
    Ok(())
}

/// One wish.
pub(crate) async fn find(
    conn: &mut PgConnection,
    property: PropertyId,
    id: Uuid,
) -> Result<Option<Waiting>, LedgerError> {
    let row: Option<Row> =
        sqlx::query_as("select * from waitlist where property_id = $1 and wish_id = $2")
            .bind(property.0)
            .bind(id)
            .fetch_optional(conn)
            .await
            .map_err(LedgerError::while_doing("reading a wish"))?;
    row.map(Waiting::try_from).transpose()
}

/// The open wishes in their order, after a place in the queue.
pub(crate) async fn open(
    conn: &mut PgConnection,
    property: PropertyId,
    after: Option<Place>,
    limit: u32,
) -> Result<Vec<Waiting>, LedgerError> {
    list(conn, property, true, after, limit).await
}

/// Wishes in their order, open ones first, after a place in it.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
    only_open: bool,
    after: Option<Place>,
    limit: u32,
) -> Result<Vec<Waiting>, LedgerError> {
    let sql = if only_open {
        "select * from waitlist
         where property_id = $1 and status in ('waiting', 'offered')
           and ($3::timestamptz is null or (false, queued_at, wish_id) > ($5, $3, $4))
         order by queued_at, wish_id limit $2"
    } else {
        "select * from waitlist where property_id = $1
           and ($3::timestamptz is null
                or (status not in ('waiting', 'offered'), queued_at, wish_id) > ($5, $3, $4))
         order by status not in ('waiting', 'offered'), queued_at, wish_id limit $2"
    };
    let rows: Vec<Row> = sqlx::query_as(sql)
        .bind(property.0)
        .bind(i64::from(limit))
        .bind(after.map(|place| Timestamp::from(place.queued_at)))
        .bind(after.map(|place| place.wish))
        .bind(after.is_some_and(|place| place.is_over))
        .fetch_all(conn)
        .await
        .map_err(LedgerError::while_doing("reading the waitlist"))?;
    rows.into_iter().map(Waiting::try_from).collect()
}

/// Properties where somebody waits.
pub(crate) async fn properties(conn: &mut PgConnection) -> Result<Vec<PropertyId>, LedgerError> {
    let ids: Vec<i64> = sqlx::query_scalar(
        "select distinct property_id from waitlist where status in ('waiting', 'offered')
         order by property_id",
    )
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("looking for waitlists"))?;
    Ok(ids.into_iter().map(PropertyId).collect())
}

/// Claims a waiting wish for an offer; `None` where somebody was first.
pub(crate) async fn claim(
    conn: &mut PgConnection,
    wish: &Waiting,
    hold: ReservationId,
    room_type: RoomTypeId,
) -> Result<Option<Waiting>, LedgerError> {
    let row: Option<Row> = sqlx::query_as(
        "update waitlist
         set status = 'offered', version = version + 1, offers = offers + 1,
             offer_reservation = $4, offer_room_type = $5, offered_at = ledger_now(),
             answer_until = null, look_after = null
         where property_id = $1 and wish_id = $2 and version = $3 and status = 'waiting'
         returning *",
    )
    .bind(wish.property.0)
    .bind(wish.id)
    .bind(wish.version)
    .bind(hold.0)
    .bind(room_type.0)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("claiming a wish"))?;
    row.map(Waiting::try_from).transpose()
}

/// Goes on with the offer of a daemon that is gone; whoever it was can no longer end it.
pub(crate) async fn take_over(
    conn: &mut PgConnection,
    wish: &Waiting,
) -> Result<Option<Waiting>, LedgerError> {
    let row: Option<Row> = sqlx::query_as(
        "update waitlist set version = version + 1, offered_at = ledger_now()
         where property_id = $1 and wish_id = $2 and version = $3 and status = 'offered'
         returning *",
    )
    .bind(wish.property.0)
    .bind(wish.id)
    .bind(wish.version)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("taking an offer over"))?;
    row.map(Waiting::try_from).transpose()
}

/// The hold of an offer.
#[derive(Clone, Debug)]
pub(crate) struct Hold {
    /// Which.
    pub reservation: ReservationId,
    /// In which version.
    pub version: i64,
    /// Until when.
    pub until: Option<jiff::Timestamp>,
    /// It is held, and not dead.
    pub is_alive: bool,
    /// It was confirmed.
    pub is_kept: bool,
}

/// The hold that a wish names; `None` where it is not there.
pub(crate) async fn hold(
    conn: &mut PgConnection,
    wish: &Waiting,
) -> Result<Option<Hold>, LedgerError> {
    let Some((reservation, ..)) = wish.offer else {
        return Ok(None);
    };
    let row: Option<(i64, Option<Timestamp>, bool, bool)> = sqlx::query_as(
        "select version, hold_until, status = 'held' and hold_dead_at > (select ledger_now()),
                status not in ('held', 'cancelled', 'expired')
         from known_reservation where property_id = $1 and reservation_id = $2",
    )
    .bind(wish.property.0)
    .bind(reservation.0)
    .fetch_optional(conn)
    .await
    .map_err(LedgerError::while_doing("looking at an offer"))?;
    Ok(row.map(|(version, until, is_alive, is_kept)| Hold {
        reservation,
        version,
        until: until.map(Timestamp::to_jiff),
        is_alive,
        is_kept,
    }))
}

/// The hold is there; says whether this is the first to tell of it.
pub(crate) async fn tell(
    conn: &mut PgConnection,
    wish: &Waiting,
    hold: &Hold,
) -> Result<bool, LedgerError> {
    let done = sqlx::query(
        "update waitlist set version = version + 1, answer_until = $4
         where property_id = $1 and wish_id = $2 and version = $3 and status = 'offered'
           and answer_until is null",
    )
    .bind(wish.property.0)
    .bind(wish.id)
    .bind(wish.version)
    .bind(hold.until.map(Timestamp::from))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("telling of an offer"))?;
    Ok(done.rows_affected() > 0)
}

/// No hold was to be had, so nothing was offered: waits on, in its place, and is not looked at for
/// a while.
pub(crate) async fn wait_on(
    conn: &mut PgConnection,
    wish: &Waiting,
    seconds: i64,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update waitlist
         set status = 'waiting', version = version + 1, offers = offers - 1,
             offer_reservation = null, offer_room_type = null, offered_at = null,
             look_after = ledger_now() + $4 * interval '1 second'
         where property_id = $1 and wish_id = $2 and version = $3 and status = 'offered'",
    )
    .bind(wish.property.0)
    .bind(wish.id)
    .bind(wish.version)
    .bind(seconds)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("putting a wish back"))?;
    Ok(())
}

/// The offer was not answered: to the end of the queue.
pub(crate) async fn queue_again(
    conn: &mut PgConnection,
    wish: &Waiting,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update waitlist
         set status = 'waiting', version = version + 1, queued_at = ledger_now(),
             answer_until = null
         where property_id = $1 and wish_id = $2 and version = $3 and status = 'offered'",
    )
    .bind(wish.property.0)
    .bind(wish.id)
    .bind(wish.version)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("queueing a wish again"))?;
    Ok(())
}

/// Ends a wish; says whether it was as it was read.
pub(crate) async fn end(
    conn: &mut PgConnection,
    wish: &Waiting,
    status: &str,
    outcome: Option<&str>,
) -> Result<bool, LedgerError> {
    let done = sqlx::query(
        "update waitlist
         set status = $4, version = version + 1, outcome = $5, ended_at = ledger_now()
         where property_id = $1 and wish_id = $2 and version = $3
           and status in ('waiting', 'offered')",
    )
    .bind(wish.property.0)
    .bind(wish.id)
    .bind(wish.version)
    .bind(status)
    .bind(outcome)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("ending a wish"))?;
    Ok(done.rows_affected() > 0)
}

/// A wish whose hold was confirmed while it was taken back.
pub(crate) async fn accept_after_all(
    conn: &mut PgConnection,
    wish: &Waiting,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update waitlist set status = 'accepted', version = version + 1
         where property_id = $1 and wish_id = $2 and status = 'cancelled'",
    )
    .bind(wish.property.0)
    .bind(wish.id)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("accepting a wish"))?;
    Ok(())
}

/// Forgets wishes that have ended, with their guests, once their nights are long over.
pub(crate) async fn forget(
    conn: &mut PgConnection,
    property: PropertyId,
    before: StayDate,
) -> Result<(), LedgerError> {
    sqlx::query(
        "delete from waitlist
         where property_id = $1 and departure < $2 and status not in ('waiting', 'offered')",
    )
    .bind(property.0)
    .bind(Date::from(before))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("forgetting wishes"))?;
    Ok(())
}
