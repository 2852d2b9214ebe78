//! What to do about a case: the cause in words, who is moved and why, the ways out and their cost,
//! and until when.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use keyrack_model::id::{PropertyId, ReservationId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::money::Currency;
use keyrack_model::stay::{Stay, StayDate, StayRange, business_day, days_between};
use sqlx::PgConnection;

use crate::catalog::Property;
use crate::decide::composed::parts;
use crate::decide::overbooking::forecast::{Fate, cure_percent};
use crate::decide::overbooking::policy::OverbookingPolicy;
use crate::decide::overbooking::rank::{Concerned, rank};
use crate::decide::overbooking::rooms::{Rooms, TypeFacts};
use crate::decide::overbooking::ways::{Situation, Sleeper, WayOut, to_come, ways};
use crate::decide::overbooking::words::{Evidence, cause_in_words};
use crate::decide::rules::Policies;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::overbookings::case::Case;
use crate::reservations::{Filter, Folio};
use crate::store::history;
use crate::store::{account, clock, connection, folio, night, property, rate_plan, room_type};

/// What is known of a property that its cases are judged by.
pub struct Ground {
    /// The property.
    pub property: Property,
    /// Its policy.
    pub policy: OverbookingPolicy,
    /// Its zone.
    pub zone: TimeZone,
    /// The database's clock.
    pub now: Timestamp,
    /// Its business day.
    pub today: StayDate,
}

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

impl Ground {
    /// That of a property; `None` where there is none.
    pub async fn of(ledger: &Ledger, id: PropertyId) -> Result<Option<Self>, LedgerError> {
        let mut conn = connection::reader(ledger).await?;
        let Some(property) = property::by_id(&mut conn, id).await? else {
            return Ok(None);
        };
        let now = clock::now(&mut conn).await?;
        let zone = TimeZone::get(&property.setup.time_zone)
            .map_err(|_| LedgerError::Unreadable("a time zone".to_owned()))?;
        let policies: Policies = serde_json::from_value(property.setup.policies.clone())
            .map_err(|error| LedgerError::Unreadable(format!("policies: {error}")))?;
        Ok(Some(Self {
            today: business_day(now, &zone, property.setup.day_roll_over),
            policy: policies.overbooking,
            property,
            zone,
            now,
        }))
    }

    /// Its currency.
    pub fn currency(&self) -> Currency {
        self.property.setup.currency
    }

    /// Until when a case must be resolved: what a person has set, else the policy's. `None` where
    /// it has no night left.
    pub fn deadline(&self, case: &Case) -> Option<Timestamp> {
        let first = case.live_nights().min()?;
        let by_policy = self.policy.deadline(first, &self.zone, case.opened_at);
        Some(case.deadline_set.unwrap_or(by_policy))
    }

    /// Why it came about, in words.
    pub fn cause_in_words(&self, case: &Case) -> String {
        let evidence: Evidence = serde_json::from_value(case.evidence.clone()).unwrap_or_default();
        cause_in_words(&case.cause, &evidence, &self.zone)
    }
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
    let order = rank(&ground.policy, &facts);
    let ranked: Vec<Place> = order
        .into_iter()
        .map(|(at, why)| {
            let reservation = &folios[at].reservation;
            Place {
                reservation: reservation.id,
                number: reservation.number,
                version: reservation.version,
                facts: facts[at].clone(),
                why,
            }
        })
        .collect();
    let mut advice = Advice {
        ranked,
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
    let situation = Situation {
        policy: &ground.policy,
        today: ground.today,
        beyond: advice.beyond.clone(),
        others: others(&mut conn, ground, &first, case).await?,
        sisters: sisters(&mut conn, ground, around).await?,
        cure_percent: cure(&mut conn, ground, case, &advice).await?,
        rooms,
    };
    let movable = advice.beyond.iter().map(|(_, rooms)| *rooms).max();
    let wanted = usize::try_from(movable.unwrap_or(1)).unwrap_or(1) + SPARE;
    advice.ways = ways(&situation, &first[..first.len().min(wanted)]);
    Ok(advice)
}

async fn vip_plans(
    conn: &mut PgConnection,
    ground: &Ground,
) -> Result<Vec<keyrack_model::id::RatePlanId>, LedgerError> {
    let codes = &ground.policy.vip_rate_plans;
    if codes.is_empty() {
        return Ok(Vec::new());
    }
    let plans = rate_plan::list(conn, ground.property.id).await?;
    let named = plans.into_iter().filter(|plan| codes.contains(&plan.code));
    Ok(named.map(|plan| plan.id).collect())
}

fn concerned(
    folio: &Folio,
    account: Option<String>,
    vips: &[keyrack_model::id::RatePlanId],
) -> Concerned {
    use keyrack_model::reservation::Status;
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

fn of_room(
    folio: &Folio,
    room: &crate::decide::state::RoomStay,
    account: Option<String>,
    today: StayDate,
) -> Option<Sleeper> {
    use keyrack_model::reservation::Status;
    let reservation = &folio.reservation;
    let children = i32::try_from(room.children_ages.len()).unwrap_or(i32::MAX);
    Some(Sleeper {
        reservation: reservation.id,
        number: reservation.number,
        version: reservation.version,
        room_stay: room.id,
        room_type: room.room_type?,
        nights: to_come(today, room.taken()?)?,
        quantity: room.quantity,
        heads: room.adults.map(|adults| (adults, children)),
        account,
        in_house: reservation.status == Status::CheckedIn,
    })
}

/// From the first night of anybody concerned to the last.
fn around(first: &[Sleeper], nights: &BTreeSet<StayDate>) -> Option<StayRange> {
    let from = first.iter().map(|guest| guest.nights.arrival());
    let until = first.iter().map(|guest| guest.nights.departure());
    let from = from.chain(nights.first().copied()).min()?;
    let last = nights
        .last()
        .map(|night| keyrack_model::stay::plus_days(*night, 1));
    Stay::new(from, until.chain(last).max()?)
}

async fn rooms(
    conn: &mut PgConnection,
    id: PropertyId,
    nights: StayRange,
) -> Result<Rooms, LedgerError> {
    let types = room_type::list(conn, id).await?;
    let compositions = room_type::compositions(conn, id).await?;
    let types: Vec<TypeFacts> = types
        .into_iter()
        .map(|kind| TypeFacts {
            id: kind.id,
            heads_max: (
                kind.setup.adults_max,
                kind.setup.children_max,
                kind.setup.total_max,
            ),
            parts: parts(&compositions, kind.id),
            code: kind.code,
        })
        .collect();
    let plain = types.iter().flat_map(|kind| &kind.parts);
    let plain: BTreeSet<RoomTypeId> = plain.map(|part| part.0).collect();
    let plain: Vec<RoomTypeId> = plain.into_iter().collect();
    let nights = night::present(conn, id, &plain, nights).await?;
    Ok(Rooms { types, nights })
}

fn beyond(
    rooms: &Rooms,
    room_type: RoomTypeId,
    nights: &BTreeSet<StayDate>,
) -> Vec<(StayDate, i32)> {
    let on = |night: &StayDate| -> NightBalance {
        let balance = rooms.nights.get(&(room_type, *night));
        balance.copied().unwrap_or_default()
    };
    let each = nights.iter().map(|night| {
        let balance = on(night);
        (*night, balance.sold - balance.usable())
    });
    each.filter(|(_, rooms)| *rooms > 0).collect()
}

/// Guests of other types on the nights of the first one who is moved: one of them may swap.
async fn others(
    conn: &mut PgConnection,
    ground: &Ground,
    first: &[Sleeper],
    case: &Case,
) -> Result<Vec<Sleeper>, LedgerError> {
    use keyrack_model::reservation::Status;
    let Some(guest) = first.first() else {
        return Ok(Vec::new());
    };
    let mut ids = BTreeSet::new();
    for night in guest.nights.nights().take(NIGHTS_LOOKED_AT) {
        let filter = Filter {
            status: vec![Status::Confirmed],
            staying_on: Some(night),
            limit: OTHERS_MAX,
            ..Filter::default()
        };
        ids.extend(folio::filtered(conn, ground.property.id, &filter).await?);
    }
    let ids: Vec<_> = ids.into_iter().take(OTHERS_MAX as usize).collect();
    let folios = folio::by_ids(conn, ground.property.id, &ids).await?;
    let each = folios.iter().filter_map(|folio| {
        let mut rooms = folio.reservation.present_rooms();
        let only = rooms.next().filter(|_| rooms.next().is_none())?;
        let plain = only.components.is_none() && only.room_type != Some(case.room_type_id);
        of_room(folio, only, None, ground.today).filter(|_| plain)
    });
    Ok(each.collect())
}

/// Hotels that the policy names and that name this one in theirs.
async fn sisters(
    conn: &mut PgConnection,
    ground: &Ground,
    nights: StayRange,
) -> Result<Vec<(String, Rooms)>, LedgerError> {
    let mut found = Vec::new();
    for code in &ground.policy.sister_properties {
        if let Some(sister) = sister(conn, &ground.property.code, code).await? {
            let rooms = rooms(conn, sister.id, nights).await?;
            found.push((code.clone(), rooms));
        }
    }
    Ok(found)
}

/// A hotel of the same owner: both must say so, so that nobody books into a house that does not
/// want it.
pub(crate) async fn sister(
    conn: &mut PgConnection,
    own: &str,
    code: &str,
) -> Result<Option<Property>, LedgerError> {
    let Some(found) = property::by_code(conn, code).await? else {
        return Ok(None);
    };
    let theirs: Policies = serde_json::from_value(found.setup.policies.clone()).unwrap_or_default();
    let named = theirs.overbooking.sister_properties;
    Ok((code != own && named.iter().any(|name| name == own)).then_some(found))
}

/// The chance that cancellations cure the case before its deadline.
async fn cure(
    conn: &mut PgConnection,
    ground: &Ground,
    case: &Case,
    advice: &Advice,
) -> Result<Result<i32, String>, LedgerError> {
    let Some((worst, rooms)) = advice.beyond.iter().max_by_key(|(_, rooms)| *rooms) else {
        return Ok(Err("nothing is beyond any more".to_owned()));
    };
    let lead = days_between(ground.today, *worst).max(0);
    let until = ground.deadline(case).map_or(0, |at| {
        let day = at.to_zoned(ground.zone.clone()).date();
        days_between(day, *worst).clamp(0, lead)
    });
    let window = history::Window {
        lead_days: lead,
        until_days: until,
    };
    let zone = &ground.property.setup.time_zone;
    let past = history::fates(conn, ground.property.id, (ground.today, zone), window).await?;
    let past = past.iter().fold(Fate::default(), |sum, one| {
        sum.and(Fate {
            expected: one.expected,
            lost: one.cancelled_in_time,
        })
    });
    let guests = i32::try_from(advice.ranked.iter().filter(|p| !p.facts.in_house).count());
    Ok(cure_percent(guests.unwrap_or(i32::MAX), *rooms, past))
}

/// Of those who are moved first, so many are looked at.
const FIRST_MAX: usize = 8;
/// Beside as many as must move, a few who could move instead.
const SPARE: usize = 2;
/// Nights of a long stay on which guests are sought who might swap.
const NIGHTS_LOOKED_AT: usize = 14;
/// Guests who might swap.
const OTHERS_MAX: u32 = 200;
