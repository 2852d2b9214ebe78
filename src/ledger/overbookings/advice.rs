//! What to do about a case: the cause in words, who is moved and why, the ways out and their cost,
//! and until when.

use std::collections::BTreeSet;

use keyrack_model::id::{RatePlanId, ReservationId};
use keyrack_model::reservation::Status;
use keyrack_model::stay::{Stay, StayDate, StayRange, days_between, plus_days};
use sqlx::PgConnection;

use crate::decide::overbooking::rank::{Concerned, rank};
use crate::decide::overbooking::way::{Situation, Sleeper, WayOut};
use crate::decide::overbooking::ways::ways;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::around::{beyond, cure, of_room, others, rooms, sisters};
use crate::overbookings::case::Case;
use crate::overbookings::ground::Ground;
use crate::reservations::Folio;
use crate::store::{account, connection, folio, rate_plan};

/// What to do about a case.
pub struct Advice {
    /// Who sleeps on its nights, who is moved first coming first.
    pub ranked: Vec<Place>,
    /// The ways out, the cheapest first.
    pub ways: Vec<WayOut>,
    /// Rooms beyond what can be slept in now, by night.
    pub beyond: Vec<(StayDate, i32)>,
}

/// A reservation and its place among those who may be moved.
pub struct Place {
    /// Which.
    pub reservation: ReservationId,
    /// Its short number.
    pub number: i64,
    /// Its version.
    pub version: i64,
    /// What the ranking was made from.
    pub facts: Concerned,
    /// Why it has this place.
    pub why: String,
}

/// What to do about an open case. Of a closed one: who slept on its nights, and no way out.
pub async fn advise(ledger: &Ledger, ground: &Ground, case: &Case) -> Result<Advice, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let id = ground.property.id;
    let nights: BTreeSet<StayDate> = case.live_nights().collect();
    let ids: Vec<_> = case.concerned.iter().map(|id| id.0).collect();
    let folios = folio::by_ids(&mut conn, id, &ids).await?;
    let accounts = account::list(&mut conn, id).await?;
    let vips = vip_plans(&mut conn, ground).await?;
    let code = |folio: &Folio| {
        let known = accounts
            .iter()
            .find(|row| Some(row.account.id) == folio.reservation.account);
        known.map(|row| row.account.code.clone())
    };
    let facts: Vec<Concerned> = folios
        .iter()
        .map(|folio| concerned(folio, code(folio), &vips))
        .collect();
    let mut advice = Advice {
        ranked: ranked(ground, &folios, facts),
        ways: Vec::new(),
        beyond: Vec::new(),
    };
    if !case.is_open() {
        return Ok(advice);
    }
    let first: Vec<Sleeper> = advice
        .ranked
        .iter()
        .filter_map(|place| {
            folios
                .iter()
                .find(|f| f.reservation.id == place.reservation)
        })
        .filter_map(|folio| sleeper(folio, code(folio), ground.today, case, &nights))
        .take(FIRST_MAX)
        .collect();
    let Some(around) = around(&first, &nights) else {
        return Ok(advice);
    };
    let rooms = rooms(&mut conn, id, around).await?;
    advice.beyond = beyond(&rooms, case.room_type_id, &nights);
    let staying = advice.ranked.iter();
    let staying = staying.filter(|place| !place.facts.in_house).count();
    let situation = Situation {
        policy: &ground.policy,
        today: ground.today,
        beyond: advice.beyond.clone(),
        others: others(&mut conn, ground, &first, case).await?,
        sisters: sisters(&mut conn, ground, around).await?,
        cure_percent: cure(&mut conn, ground, case, (&advice.beyond, staying)).await?,
        rooms,
    };
    let movable = advice.beyond.iter().map(|(_, rooms)| *rooms).max();
    let wanted = usize::try_from(movable.unwrap_or(1)).unwrap_or(1) + SPARE;
    advice.ways = ways(&situation, &first[..first.len().min(wanted)]);
    Ok(advice)
}

/// Who is moved first, and why.
fn ranked(ground: &Ground, folios: &[Folio], facts: Vec<Concerned>) -> Vec<Place> {
    let order = rank(&ground.policy, &ground.zone, &facts).into_iter();
    let places = order.map(|(at, why)| {
        let reservation = &folios[at].reservation;
        Place {
            reservation: reservation.id,
            number: reservation.number,
            version: reservation.version,
            facts: facts[at].clone(),
            why,
        }
    });
    places.collect()
}

async fn vip_plans(
    conn: &mut PgConnection,
    ground: &Ground,
) -> Result<Vec<RatePlanId>, LedgerError> {
    let codes = &ground.policy.vip_rate_plans;
    if codes.is_empty() {
        return Ok(Vec::new());
    }
    let plans = rate_plan::list(conn, ground.property.id).await?;
    let named = plans.into_iter().filter(|plan| codes.contains(&plan.code));
    Ok(named.map(|plan| plan.id).collect())
}

fn concerned(folio: &Folio, account: Option<String>, vips: &[RatePlanId]) -> Concerned {
    let reservation = &folio.reservation;
    let arrival = reservation.present_rooms().map(|room| room.arrival).min();
    let departure = reservation.present_rooms().map(|room| room.departure).max();
    let span = arrival.zip(departure);
    let is_vip = |plan| vips.contains(&plan);
    Concerned {
        number: reservation.number,
        received_at: reservation.booked_at.unwrap_or(reservation.created_at),
        account,
        guaranteed: reservation.detail.guaranteed || reservation.payment_reference.is_some(),
        is_vip: reservation
            .present_rooms()
            .any(|room| room.rate_plan.is_some_and(is_vip)),
        in_house: reservation.status == Status::CheckedIn,
        arrival: arrival.unwrap_or_default(),
        nights: span.map_or(0, |(from, to)| days_between(from, to)),
    }
}

/// The room of a reservation that takes the case's type on one of its nights.
fn sleeper(
    folio: &Folio,
    account: Option<String>,
    today: StayDate,
    case: &Case,
    nights: &BTreeSet<StayDate>,
) -> Option<Sleeper> {
    let rooms = folio.reservation.present_rooms();
    let mut there = rooms.filter(|room| room.room_type == Some(case.room_type_id));
    let room = there.find(|room| {
        let taken = room.taken();
        taken.is_some_and(|taken| nights.iter().any(|night| taken.contains(*night)))
    })?;
    of_room(folio, room, account, today)
}

/// From the first night of anybody concerned to the last.
fn around(first: &[Sleeper], nights: &BTreeSet<StayDate>) -> Option<StayRange> {
    let from = first.iter().map(|guest| guest.nights.arrival());
    let until = first.iter().map(|guest| guest.nights.departure());
    let from = from.chain(nights.first().copied()).min()?;
    let last = nights.last().map(|night| plus_days(*night, 1));
    Stay::new(from, until.chain(last).max()?)
}

/// Of those who are moved first, so many are looked at.
const FIRST_MAX: usize = 8;
/// Beside as many as must move, a few who could move instead.
const SPARE: usize = 2;
