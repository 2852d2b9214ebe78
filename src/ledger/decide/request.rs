//! A wish: staff, web, group. It may be refused, and never raises the overdraft unforced.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use keyrack_model::id::{PropertyId, RatePlanId, RoomStayId, RoomTypeId};
use keyrack_model::money::Money;
use keyrack_model::reservation::{RevisionKind, Status};
use keyrack_model::stay::{Stay, StayDate};

use super::draft::{Draft, GuestChange, Reference};
use super::drawn::{self, draw_wished};
use super::guest_limit;
use super::layer::RateTable;
use super::price::{Product, price};
use super::refusal::{Force, Refusal};
use super::revise::{Claim, TypeNight};
use super::rules::Rules;
use super::sellable::{HindranceKind, hindrance};
use super::state::{Detail, Reservation, RoomStay};
use crate::command::{Answer, Forced, HoldEnd, Receipt, Wish, WishedRoom};

/// Rooms of one wish at most: a typing error is no group.
const QUANTITY_MAX: i32 = 500;

/// Decides a wish.
pub fn request(draft: &mut Draft, property: PropertyId, wish: &Wish) -> Answer {
    if let Some(done) = draft.reservation((property, wish.reservation)) {
        // Carried out before its connection broke.
        return Ok(receipt(done.clone(), "repeated", Vec::new()));
    }
    let rules = draft.rules(property);
    check_shape(&rules, wish)?;
    check_reference(draft, wish)?;
    let hold = hold_end(&rules, draft.now(), wish)?;
    let mut rooms = Vec::new();
    for (index, wished) in wish.rooms.iter().enumerate() {
        let id = RoomStayId(i32::try_from(index + 1).unwrap_or(i32::MAX));
        let table = draft.rates(property);
        rooms.push(room_stay(id, wished, &rules, table)?);
    }
    let entering: Vec<Entering> = wish.rooms.iter().map(Entering::whole).collect();
    admit(draft, property, &entering, wish.force.as_ref())?;
    let drawn = draw_wished(draft, property, wish, &rooms)?;
    let mut claim = Claim::default();
    rooms.iter().for_each(|room| claim.add_room(room));
    let shared = drawn::shared(draft, property, claim.0, None, &drawn);
    has_rooms(draft, property, &shared, wish.force.as_ref())?;
    let mut reservation = reservation(draft, property, wish, rooms, hold);
    reservation.detail.drawn = drawn;
    guest_limit::admit(
        draft,
        &reservation,
        wish.guest.as_ref(),
        wish.force.as_ref(),
    )?;
    Ok(put_down(draft, wish, reservation))
}

fn put_down(draft: &mut Draft, wish: &Wish, reservation: Reservation) -> Receipt {
    let kind = if reservation.status == Status::Held {
        "held"
    } else {
        "confirmed"
    };
    let reason = wish
        .force
        .as_ref()
        .map(|force| format!("forced: {}", force.reason));
    let key = (reservation.property, reservation.id);
    let (reservation, nights) = draft.put(reservation, kind, reason);
    if let Some((account, reference)) = &wish.channel {
        let known = Reference {
            reservation: Some(wish.reservation),
            last_order: None,
            last_kind: RevisionKind::New,
            last_hash: String::new(),
            is_cancelled: false,
            version: 0,
        };
        draft.put_reference(reservation.property, *account, reference, known);
    }
    let names = wish.rooms.iter().enumerate().filter_map(|(index, room)| {
        Some((i32::try_from(index + 1).ok()?, room.guest_name.clone()?))
    });
    let names: BTreeMap<_, _> = names.collect();
    if wish.guest.is_some() || wish.note.is_some() || !names.is_empty() {
        let change = GuestChange {
            guest: wish.guest.clone(),
            room_guests: (!names.is_empty()).then_some(names),
            note: wish.note.clone(),
            remarks: None,
        };
        draft.put_guests(key, change);
    }
    receipt(reservation, kind, nights)
}

/// The receipt of a command on a reservation.
pub fn receipt(reservation: Reservation, did: &str, nights: Vec<(RoomTypeId, Stay)>) -> Receipt {
    Receipt {
        reservation: Some(Box::new(reservation)),
        did: did.to_owned(),
        nights,
        short: Vec::new(),
        is_replay: false,
    }
}

fn check_shape(rules: &Rules, wish: &Wish) -> Result<(), Refusal> {
    let mut wrong = Vec::new();
    if wish.rooms.is_empty() {
        wrong.push((
            "/rooms".to_owned(),
            "a reservation has at least one room".to_owned(),
        ));
    }
    if wish
        .force
        .as_ref()
        .is_some_and(|force| force.reason.trim().is_empty())
    {
        wrong.push((
            "/force/reason".to_owned(),
            "a force needs a reason".to_owned(),
        ));
    }
    for (index, room) in wish.rooms.iter().enumerate() {
        check_room(rules, index, room, &mut wrong);
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Refusal::Invalid(wrong))
    }
}

/// What is wrong with a room in itself.
pub fn check_room(
    rules: &Rules,
    index: usize,
    room: &WishedRoom,
    wrong: &mut Vec<(String, String)>,
) {
    if !(1..=QUANTITY_MAX).contains(&room.quantity) {
        let words = format!("between 1 and {QUANTITY_MAX} rooms");
        wrong.push((format!("/rooms/{index}/quantity"), words));
    }
    if !rules.types.contains_key(&room.room_type) {
        wrong.push((
            format!("/rooms/{index}/room_type"),
            "no such room type".to_owned(),
        ));
    }
    if room
        .rate_plan
        .is_some_and(|plan| !rules.plans.contains_key(&plan))
    {
        wrong.push((
            format!("/rooms/{index}/rate_plan"),
            "no such rate plan".to_owned(),
        ));
    }
    if let Some(named) = room.allotment {
        let pointer = format!("/rooms/{index}/allotment");
        match rules.pools.allotments.get(&named) {
            None => wrong.push((pointer, "no such allotment".to_owned())),
            Some(known) if known.room_type != room.room_type => {
                let words = format!("the allotment {} keeps rooms of another type", known.code);
                wrong.push((pointer, words));
            }
            Some(_) => {}
        }
    }
    if room.price.is_some_and(|price| price.minor < 0) {
        wrong.push((
            format!("/rooms/{index}/price"),
            "a price is not negative".to_owned(),
        ));
    }
}

fn check_reference(draft: &Draft, wish: &Wish) -> Result<(), Refusal> {
    let Some((account, reference)) = &wish.channel else {
        return Ok(());
    };
    match draft.reference(*account, reference) {
        Some(_) => Err(Refusal::invalid(
            "/channel_reference",
            "this reference of the channel is recorded already: look for it and change that one",
        )),
        None => Ok(()),
    }
}

/// When a hold ends and when it is dead; `None` where the wish is confirmed at once.
fn hold_end(
    rules: &Rules,
    now: Timestamp,
    wish: &Wish,
) -> Result<Option<(Timestamp, Timestamp)>, Refusal> {
    let Some(end) = wish.hold else {
        return Ok(None);
    };
    let types = wish.rooms.iter().map(|room| room.room_type);
    let default = rules.hold_seconds(wish.source, types);
    until(rules, now, end, default).map(Some)
}

/// The end of a hold and its death, from now.
pub fn until(
    rules: &Rules,
    now: Timestamp,
    end: HoldEnd,
    default_seconds: i32,
) -> Result<(Timestamp, Timestamp), Refusal> {
    let after = |seconds: i64| now.saturating_add(SignedDuration::from_secs(seconds));
    let until = match end {
        HoldEnd::Default => after(i64::from(default_seconds)),
        HoldEnd::Seconds(seconds) => after(i64::from(seconds)),
        HoldEnd::Until(instant) => Ok(instant),
    };
    let too_far = || Refusal::invalid("/hold_until", "this instant is beyond the calendar");
    let until = until.map_err(|_| too_far())?;
    if until <= now {
        return Err(Refusal::invalid("/hold_until", "a hold ends in the future"));
    }
    let grace = SignedDuration::from_secs(i64::from(rules.confirm_grace_seconds));
    let dead = until.saturating_add(grace).map_err(|_| too_far())?;
    Ok((until, dead))
}

/// A room as it will stand in the reservation, with its nightly price where one is agreed or set.
pub fn room_stay(
    id: RoomStayId,
    wished: &WishedRoom,
    rules: &Rules,
    table: Option<&RateTable>,
) -> Result<RoomStay, Refusal> {
    let room_type = rules.types.get(&wished.room_type);
    let room_type = room_type.ok_or_else(|| Refusal::NotFound("room type".to_owned()))?;
    let composed = !room_type.components.is_empty();
    Ok(RoomStay {
        id,
        room_type: Some(wished.room_type),
        rate_plan: wished.rate_plan,
        arrival: wished.stay.arrival(),
        departure: wished.stay.departure(),
        taken_from: wished.stay.arrival(),
        taken_until: wished.stay.departure(),
        quantity: wished.quantity,
        is_given_back: false,
        components: composed.then(|| room_type.components.clone()),
        adults: wished.adults,
        children_ages: wished.children_ages.clone(),
        nightly: nightly(wished, rules, table),
        booked: None,
    })
}

fn nightly(
    wished: &WishedRoom,
    rules: &Rules,
    table: Option<&RateTable>,
) -> Vec<(StayDate, Money)> {
    if let Some(price) = wished.price {
        return wished.stay.nights().map(|night| (night, price)).collect();
    }
    let (Some(table), Some(plan)) = (table, wished.rate_plan) else {
        return Vec::new();
    };
    let each = |night| Some((night, rate(rules, table, wished, plan, night)?));
    wished
        .stay
        .nights()
        .map(each)
        .collect::<Option<Vec<_>>>()
        .unwrap_or_default()
}

/// The rate of a plan on a night for the desk and for those who come: what an offer shows is what
/// is booked.
fn rate(
    rules: &Rules,
    table: &RateTable,
    wished: &WishedRoom,
    plan: RatePlanId,
    night: StayDate,
) -> Option<Money> {
    let product = Product {
        room_type: wished.room_type,
        plan: Some(plan),
        account: None,
    };
    let price = price(table, &rules.plans, product, rules.currency, night);
    match wished.adults {
        Some(adults) => {
            let children = i32::try_from(wished.children_ages.len()).unwrap_or(i32::MAX);
            price.of(adults.saturating_add(children))
        }
        None => price.rate,
    }
}

/// Nights that a stay newly enters.
#[derive(Clone, Debug)]
pub struct Entering {
    /// Of which type.
    pub room_type: RoomTypeId,
    /// As which product.
    pub rate_plan: Option<RatePlanId>,
    /// Nights that it did not have before.
    pub nights: Vec<StayDate>,
    /// The whole stay, where its rules are to be asked: it is new, or arrives elsewhere.
    pub stay: Option<Stay>,
}

impl Entering {
    /// A room that is wholly new.
    pub fn whole(room: &WishedRoom) -> Self {
        Self {
            room_type: room.room_type,
            rate_plan: room.rate_plan,
            nights: room.stay.nights().collect(),
            stay: Some(room.stay),
        }
    }
}

/// Whether the rules let these stays in: the past, the horizon, stop sell, stay rules, in this
/// order of precedence.
pub fn admit(
    draft: &Draft,
    property: PropertyId,
    entering: &[Entering],
    force: Option<&Forced>,
) -> Result<(), Refusal> {
    let rules = draft.rules(property);
    let may = |what| force.is_some_and(|force| force.allow.contains(&what));
    let today = rules.business_day(draft.now());
    let past = nights_where(entering, |_, night| night < today);
    if !past.is_empty() && !may(Force::Past) {
        let why = format!("these nights are before the business day {today}");
        return Err(Refusal::NeedsForce {
            allow: Force::Past,
            why,
            nights: past,
        });
    }
    let ends = rules.horizon_end(draft.now());
    let opens = rules.bookable_from.unwrap_or(today).max(today);
    let early = nights_where(entering, |_, n| n >= ends || (today..opens).contains(&n));
    if !early.is_empty() && !may(Force::Closed) {
        return Err(Refusal::NotYetOpen(early));
    }
    let Some(table) = draft.rates(property) else {
        return Ok(());
    };
    let closed = nights_where(entering, |stay, night| {
        table
            .rules(stay.room_type, stay.rate_plan, None, night)
            .restrictions
            .stop_sell
    });
    if !closed.is_empty() && !may(Force::Closed) {
        return Err(Refusal::Closed(closed));
    }
    if may(Force::Restriction) {
        Ok(())
    } else {
        stay_rules(table, entering, today)
    }
}

fn stay_rules(table: &RateTable, entering: &[Entering], today: StayDate) -> Result<(), Refusal> {
    for room in entering {
        let Some(stay) = room.stay else { continue };
        let of_night = |night| table.rules(room.room_type, room.rate_plan, None, night);
        let found = hindrance(&of_night, stay, today).into_iter();
        let mut rules = found.filter(|h| matches!(h.kind, HindranceKind::Restriction(_)));
        if let Some(hindrance) = rules.next() {
            let nights = hindrance
                .nights
                .iter()
                .map(|n| (room.room_type, *n))
                .collect();
            return Err(Refusal::Restriction {
                why: hindrance.why,
                nights,
            });
        }
    }
    Ok(())
}

fn nights_where(
    entering: &[Entering],
    is_so: impl Fn(&Entering, StayDate) -> bool,
) -> Vec<TypeNight> {
    let mut found = Vec::new();
    for stay in entering {
        let nights = stay.nights.iter().filter(|night| is_so(stay, **night));
        found.extend(nights.map(|night| (stay.room_type, *night)));
    }
    found
}

/// Whether the nights have the rooms that a difference takes more of, or a force lets it oversell.
pub fn has_rooms(
    draft: &mut Draft,
    property: PropertyId,
    delta: &BTreeMap<TypeNight, i32>,
    force: Option<&Forced>,
) -> Result<(), Refusal> {
    let short = draft.short_nights(property, delta);
    let forced = force.is_some_and(|force| force.allow.contains(&Force::Oversell));
    if short.is_empty() || forced {
        Ok(())
    } else {
        Err(Refusal::SoldOut(short))
    }
}

fn reservation(
    draft: &mut Draft,
    property: PropertyId,
    wish: &Wish,
    rooms: Vec<RoomStay>,
    hold: Option<(Timestamp, Timestamp)>,
) -> Reservation {
    let now = draft.now();
    Reservation {
        property,
        id: wish.reservation,
        number: draft.next_number(),
        status: if hold.is_some() {
            Status::Held
        } else {
            Status::Confirmed
        },
        version: 0,
        source: wish.source,
        account: wish.channel.as_ref().map(|(account, _)| *account),
        channel_reference: wish
            .channel
            .as_ref()
            .map(|(_, reference)| reference.clone()),
        hold_until: hold.map(|(until, _)| until),
        hold_dead_at: hold.map(|(_, dead)| dead),
        extensions: 0,
        owner_id: wish.owner_id.clone(),
        payment_reference: wish.payment_reference.clone(),
        booked_at: Some(now),
        created_at: now,
        updated_at: now,
        flags: Vec::new(),
        detail: Detail {
            total: total(&rooms),
            guaranteed: wish.guaranteed || wish.payment_reference.is_some(),
            ..Detail::default()
        },
        rooms,
    }
}

/// The sum of the nightly prices of all rooms, where each has one.
pub fn total(rooms: &[RoomStay]) -> Option<Money> {
    let mut sum: Option<Money> = None;
    for room in rooms.iter().filter(|room| !room.is_given_back) {
        if room.nightly.is_empty() {
            return None;
        }
        for (_, price) in &room.nightly {
            let price = price.checked_mul(i64::from(room.quantity))?;
            sum = Some(sum.map_or(Some(price), |so_far| so_far.checked_add(price))?);
        }
    }
    sum
}
