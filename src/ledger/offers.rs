//! What can be sold now: offers for a stay, and what is free instead of one that is sold out.

use std::collections::HashMap;

use keyrack_model::id::{PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::money::Money;
use keyrack_model::stay::{Stay, StayDate, plus_days};
use sqlx::PgConnection;

use crate::catalog::{RatePlan, RoomType};
use crate::decide::composed::{Present, free, parts};
use crate::decide::layer::RateTable;
use crate::decide::price::{Plans, Price, Product, price};
use crate::decide::sellable::hindrance;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::inventory::Alternative;
use crate::rates::Offer;
use crate::store::property::Calendar;
use crate::store::{self, connection, night};

/// Everything that the sale of some nights rests on.
struct Market {
    calendar: Calendar,
    types: Vec<RoomType>,
    compositions: HashMap<RoomTypeId, Vec<(RoomTypeId, i32)>>,
    plans: Plans,
    rates: RateTable,
    present: Present,
}

impl Market {
    async fn read(
        conn: &mut PgConnection,
        property: PropertyId,
        nights: Stay,
    ) -> Result<Option<Self>, LedgerError> {
        let Some(calendar) = store::property::calendar(conn, property).await? else {
            return Ok(None);
        };
        let types = store::room_type::list(conn, property).await?;
        let ids: Vec<RoomTypeId> = types.iter().map(|known| known.id).collect();
        let dates = Stay::new(nights.arrival(), plus_days(nights.departure(), 1)).unwrap_or(nights);
        let rates = store::rate::load(conn, property, &ids, dates).await?;
        Ok(Some(Self {
            compositions: store::room_type::compositions(conn, property).await?,
            plans: store::rate_plan::derivations(conn, property).await?,
            rates: rates.into_iter().collect(),
            // The rooms last: the later they are read, the less has been sold since.
            present: night::present(conn, property, &ids, nights).await?,
            calendar,
            types,
        }))
    }

    /// Units of a type free on the scarcest night of a stay; 0 where a night is not there.
    fn free(&self, room_type: RoomTypeId, stay: Stay) -> i32 {
        let parts = parts(&self.compositions, room_type);
        let nights = stay
            .nights()
            .map(|night| free(&self.present, &parts, night).unwrap_or(0));
        nights.min().unwrap_or(0)
    }

    /// What stands in the way of a stay, in words: the calendar, the rooms, the rules.
    fn hindrances(
        &self,
        room_type: RoomTypeId,
        plan: Option<RatePlanId>,
        stay: Stay,
        quantity: i32,
    ) -> Vec<String> {
        let calendar = &self.calendar;
        let today = calendar.business_day;
        let mut found = Vec::new();
        if stay.arrival() < today {
            found.push(format!("the arrival is past: the business day is {today}"));
        }
        if let Some(from) = calendar.bookable_from.filter(|from| stay.arrival() < *from) {
            found.push(format!(
                "not yet open: the hotel can be booked from {from} on"
            ));
        }
        if stay.departure() > calendar.horizon_end {
            found.push(format!(
                "not yet open: nights from {} on",
                calendar.horizon_end
            ));
        }
        let parts = parts(&self.compositions, room_type);
        let short: Vec<String> = stay
            .nights()
            .filter(|night| free(&self.present, &parts, *night).unwrap_or(0) < quantity)
            .map(|night| night.to_string())
            .collect();
        if !short.is_empty() {
            found.push(format!("sold out: {}", short.join(", ")));
        }
        let rules = |night| self.rates.rules(room_type, plan, None, night);
        found.extend(hindrance(&rules, stay, today).into_iter().map(|hindrance| {
            let nights: Vec<String> = hindrance.nights.iter().map(StayDate::to_string).collect();
            format!("{}: {}", hindrance.why, nights.join(", "))
        }));
        found
    }

    fn price(&self, room_type: RoomTypeId, plan: Option<RatePlanId>, night: StayDate) -> Price {
        let product = Product {
            room_type,
            plan,
            account: None,
        };
        price(
            &self.rates,
            &self.plans,
            product,
            self.calendar.currency,
            night,
        )
    }
}

/// What can be sold now for a stay and its guests: each type with each plan that has a price for
/// it, or with none.
pub(crate) async fn offers(
    ledger: &Ledger,
    property: PropertyId,
    stay: Stay,
    guests: Guests,
    only: Option<RatePlanId>,
) -> Result<Vec<Offer>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let plans = store::rate_plan::list(&mut conn, property).await?;
    let Some(market) = Market::read(&mut conn, property, stay).await? else {
        return Ok(Vec::new());
    };
    let mut offers = Vec::new();
    for room_type in &market.types {
        let before = offers.len();
        for plan in plans
            .iter()
            .filter(|plan| only.is_none_or(|only| only == plan.id))
        {
            let offer = of_product(&market, room_type, Some(plan), stay, guests);
            if !offer.nightly.is_empty() || only.is_some() {
                offers.push(offer);
            }
        }
        if offers.len() == before && only.is_none() {
            offers.push(of_product(&market, room_type, None, stay, guests));
        }
    }
    Ok(offers)
}

/// Who comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Guests {
    pub adults: i32,
    pub children: i32,
}

/// An offer of a plan, or of the room type itself: with the price of every night that has one, and
/// the total where all have. Staff may book nights without a price where there is no plan.
fn of_product(
    market: &Market,
    room_type: &RoomType,
    plan: Option<&RatePlan>,
    stay: Stay,
    guests: Guests,
) -> Offer {
    let people = guests.adults.saturating_add(guests.children);
    let id = plan.map(|plan| plan.id);
    let mut hindrances = hindered(market, room_type, id, stay, guests);
    let (mut nightly, mut missing) = (Vec::new(), Vec::new());
    for night in stay.nights() {
        let price = market.price(room_type.id, id, night);
        match price.of(people).filter(|_| price.is_positive()) {
            Some(money) => nightly.push((night, money)),
            None => missing.push(night.to_string()),
        }
    }
    if !missing.is_empty() && (plan.is_some() || !nightly.is_empty()) {
        hindrances.push(format!("no price: {}", missing.join(", ")));
    }
    let (min, max) = (
        market.calendar.rate_min_minor,
        market.calendar.rate_max_minor,
    );
    let outside = nightly.iter().find(|(_, money)| {
        min.is_some_and(|min| money.minor < min) || max.is_some_and(|max| money.minor > max)
    });
    if let Some((night, money)) = outside {
        hindrances.push(format!(
            "{money} is outside the rates of the property: {night}"
        ));
    }
    let sum = |sum: Option<Money>, (_, money): &(StayDate, Money)| match sum {
        None => Some(*money),
        Some(sum) => sum.checked_add(*money),
    };
    Offer {
        room_type: room_type.code.clone(),
        rate_plan: plan.map(|plan| plan.code.clone()),
        free: market.free(room_type.id, stay),
        total: nightly
            .iter()
            .fold(None, sum)
            .filter(|_| missing.is_empty()),
        nightly,
        hindrances,
    }
}

/// What stands in the way of a stay and its guests.
fn hindered(
    market: &Market,
    room_type: &RoomType,
    plan: Option<RatePlanId>,
    stay: Stay,
    guests: Guests,
) -> Vec<String> {
    let mut found = market.hindrances(room_type.id, plan, stay, 1);
    let setup = &room_type.setup;
    for (count, most, who) in [
        (guests.adults, setup.adults_max, "adults"),
        (guests.children, setup.children_max, "children"),
        (
            guests.adults.saturating_add(guests.children),
            setup.total_max,
            "guests",
        ),
    ] {
        if count > most {
            found.push(format!("too small: {most} {who} at most, not {count}"));
        }
    }
    found
}

/// Other types for the same nights, then the nearest stays of the same length and type.
pub(crate) async fn alternatives(
    ledger: &Ledger,
    property: PropertyId,
    room_type: RoomTypeId,
    stay: Stay,
    quantity: i32,
) -> Result<Vec<Alternative>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let around = Stay::new(
        plus_days(stay.arrival(), -NEAR),
        plus_days(stay.departure(), NEAR),
    );
    let Some(market) = Market::read(&mut conn, property, around.unwrap_or(stay)).await? else {
        return Ok(Vec::new());
    };
    let offer = |known: &RoomType, stay: Stay| {
        let hindrances = market.hindrances(known.id, None, stay, quantity.max(1));
        hindrances.is_empty().then(|| Alternative {
            room_type: known.code.clone(),
            stay,
            free: market.free(known.id, stay),
        })
    };
    let others = market.types.iter().filter(|known| known.id != room_type);
    let mut found: Vec<Alternative> = others.filter_map(|known| offer(known, stay)).collect();
    found.truncate(OTHERS_MAX);
    let Some(same) = market.types.iter().find(|known| known.id == room_type) else {
        return Ok(found);
    };
    let near = (1..=NEAR)
        .flat_map(|days| [-days, days])
        .filter_map(|days| {
            let moved = Stay::new(
                plus_days(stay.arrival(), days),
                plus_days(stay.departure(), days),
            );
            offer(same, moved?)
        });
    found.extend(near.take(NEAR_MAX));
    Ok(found)
}

/// Days that a stay is moved by at most.
const NEAR: i32 = 7;

/// Other types and moved stays that are named at most: people choose among few.
const OTHERS_MAX: usize = 10;
const NEAR_MAX: usize = 4;
