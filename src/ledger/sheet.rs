//! What an account's cells rest on, read at one moment for as many cells as are asked for.

use std::collections::{BTreeSet, HashMap};

use keyrack_model::ari::{AriKey, AriValues};
use keyrack_model::channel::{AccountState, PoolMode};
use keyrack_model::id::{AccountId, AllotmentId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::inventory::NightBalance;
use keyrack_model::stay::{Stay, StayDate, StayRange, plus_days};
use sqlx::PgConnection;

use crate::decide::allotment::{Owner, Pools};
use crate::decide::buffer::tell;
use crate::decide::buffer_rule::{BufferKind, BufferRule};
use crate::decide::cell::{Cell, Line, Listening, Stock};
use crate::decide::composed::{Present, in_words, least, parts};
use crate::decide::layer::RateTable;
use crate::decide::pool_rule::{PoolRule, Switches, sells};
use crate::decide::price::{Plans, Price, Product, price};
use crate::decide::safety::SafetyNumbers;
use crate::error::LedgerError;
use crate::store::property::Calendar;
use crate::store::{self, night};
use crate::tail::Listing;

/// Everything that some cells of an account rest on.
pub(crate) struct Sheet<'a> {
    listing: &'a Listing<'a>,
    calendar: Calendar,
    listening: Listening,
    rules: Vec<BufferRule>,
    safety: SafetyNumbers,
    compositions: HashMap<RoomTypeId, Vec<(RoomTypeId, i32)>>,
    /// Of the parts of composed types, where one of the cells is of such a type.
    codes: HashMap<RoomTypeId, String>,
    plans: Plans,
    present: Present,
    own: Own,
    rates: RateTable,
    mapped: BTreeSet<(RoomTypeId, Option<RatePlanId>)>,
}

impl<'a> Sheet<'a> {
    /// Reads what the cells rest on: a handful of statements, however many cells there are. `None`
    /// where there is no cell or no property.
    pub(crate) async fn read(
        conn: &mut PgConnection,
        listing: &'a Listing<'a>,
        keys: &[AriKey],
    ) -> Result<Option<Self>, LedgerError> {
        let property = listing.account.property;
        let nights = keys.iter().map(|key| key.night);
        let Some((first, last)) = nights.clone().min().zip(nights.max()) else {
            return Ok(None);
        };
        let Some(calendar) = store::property::calendar(conn, property).await? else {
            return Ok(None);
        };
        let Some(nights) = Stay::new(first, plus_days(last, 1)) else {
            return Ok(None);
        };
        let compositions = store::room_type::compositions(conn, property).await?;
        let is_composed = |key: &AriKey| compositions.contains_key(&key.room_type);
        let codes = match keys.iter().any(is_composed) {
            true => store::room_type::codes_of_parts(conn, property).await?,
            false => HashMap::new(),
        };
        let rules = store::buffer_rule::list(conn, property).await?;
        let is_measured = |rule: &BufferRule| matches!(rule.kind, BufferKind::Safety(_));
        let safety = if rules.iter().any(is_measured) {
            store::safety::numbers(conn, property, Some(listing.account.id)).await?
        } else {
            SafetyNumbers::new()
        };
        // The dates after the nights as well: who departs then sleeps on it.
        let dates: BTreeSet<(RoomTypeId, StayDate)> = keys
            .iter()
            .flat_map(|key| [key.night, plus_days(key.night, 1)].map(|at| (key.room_type, at)))
            .collect();
        // A room that is told beside its plans carries nothing of theirs.
        let with_plans = !listing.capabilities.knows_rate_plans
            || keys.iter().any(|key| key.rate_plan.is_some());
        let rates = store::rate::load_of(conn, property, &dates, with_plans).await?;
        let plain: BTreeSet<(RoomTypeId, StayDate)> = keys
            .iter()
            .flat_map(|key| {
                let parts = parts(&compositions, key.room_type).into_iter();
                parts.map(|(part, _)| (part, key.night))
            })
            .collect();
        // The rooms last: the later they are read, the less has been sold since.
        let own = Own::read(conn, listing, &calendar, nights).await?;
        let present = night::present_of(conn, property, &plain, nights).await?;
        let own = own.settled(conn, property, nights).await?;
        let mut mapped = BTreeSet::new();
        for mapping in listing.mappings {
            mapped.insert((mapping.room_type, None));
            mapped.insert((mapping.room_type, mapping.rate_plan));
        }
        Ok(Some(Self {
            listening: listening(listing, &calendar),
            rules,
            safety,
            plans: store::rate_plan::derivations(conn, property).await?,
            rates: rates.into_iter().collect(),
            listing,
            calendar,
            compositions,
            codes,
            present,
            own,
            mapped,
        }))
    }

    /// Whether the account is told of a cell at all.
    pub(crate) fn is_mapped(&self, key: &AriKey) -> bool {
        self.mapped.contains(&(key.room_type, key.rate_plan))
    }

    /// What is to be told of a cell, and why where somebody wants to know.
    pub(crate) fn tell(&self, key: &AriKey, mut lines: Option<&mut Vec<Line>>) -> AriValues {
        let told_alone = self.plan_told_with_the_room(key);
        let plan = key.rate_plan.or(told_alone.flatten());
        let account = self.listing.account.id;
        let of = |night| self.rates.rules(key.room_type, plan, Some(account), night);
        let (rules, next) = (of(key.night), of(plus_days(key.night, 1)));
        let price: Option<Price> = key.rate_plan.map(|plan| {
            let product = Product {
                room_type: key.room_type,
                plan: Some(plan),
                account: Some(account),
            };
            price(
                &self.rates,
                &self.plans,
                product,
                self.calendar.currency,
                key.night,
            )
        });
        let own = self.own.on(account, key.room_type, key.night);
        if let (Some(lines), Some((.., Some(rule)))) = (lines.as_mut(), own) {
            lines.push(Line {
                step: "pool_rule",
                why: rule.in_words(),
                rooms: None,
                closed: false,
            });
        }
        if let Some(lines) = lines.as_mut() {
            lines.extend(self.composition(key));
        }
        let cell = Cell {
            account,
            room_type: key.room_type,
            night: key.night,
            business_day: self.calendar.business_day,
            stock: self.stock(key.room_type, key.night),
            rules: &rules,
            next: &next,
            safety: &self.safety,
            price: price.as_ref(),
            restricts: key.rate_plan.is_some() || told_alone.is_some(),
        };
        tell(&cell, &self.rules, &self.listening, lines)
    }

    /// What a composed type is made of, and what is free of that.
    fn composition(&self, key: &AriKey) -> Option<Line> {
        let parts = self.compositions.get(&key.room_type)?;
        let parts = parts.iter().filter_map(|(part, quantity)| {
            let night = self.present.get(&(*part, key.night))?;
            Some((
                self.codes.get(part)?.as_str(),
                *quantity,
                night.free().max(0),
            ))
        });
        Some(Line {
            step: "composition",
            why: in_words(parts),
            rooms: None,
            closed: false,
        })
    }

    /// Where a type is told without rate plans, its room carries the restrictions: those of the
    /// type, and of the plan that it is mapped with, where there is one. `None` where cells of
    /// plans carry them.
    fn plan_told_with_the_room(&self, key: &AriKey) -> Option<Option<RatePlanId>> {
        if key.rate_plan.is_some() {
            return None;
        }
        let mut plans = self
            .mapped
            .range((key.room_type, None)..)
            .take_while(|(id, _)| *id == key.room_type);
        let plan = plans.find_map(|(_, plan)| *plan);
        let has_cells = plan.is_some() && self.listing.capabilities.knows_rate_plans;
        (!has_cells).then_some(plan)
    }

    fn stock(&self, room_type: RoomTypeId, night: StayDate) -> Option<Stock> {
        let parts = parts(&self.compositions, room_type);
        let least = |rooms: fn(NightBalance) -> i32| least(&self.present, &parts, night, rooms);
        let own = self.own.on(self.listing.account.id, room_type, night);
        Some(Stock {
            free: least(NightBalance::free)?,
            usable: least(NightBalance::usable)?,
            own: own.map(|(mode, left, _)| (mode, left)),
        })
    }
}

/// How an account sells the types of which it has an allotment, and what is left of it.
struct Own {
    pools: Pools,
    switches: Switches,
    left: Left,
}

type Left = HashMap<(AllotmentId, StayDate), i32>;

impl Own {
    /// What its mappings and rules say; an account that is mapped to the shared pool alone, at a
    /// hotel without pool rules, asks nothing.
    async fn read(
        conn: &mut PgConnection,
        listing: &Listing<'_>,
        calendar: &Calendar,
        nights: StayRange,
    ) -> Result<Self, LedgerError> {
        let (property, account) = (listing.account.property, listing.account.id);
        let mut own = Self {
            pools: Pools::default(),
            switches: Switches::new(),
            left: Left::new(),
        };
        let mut rules = match calendar.has_pool_rules {
            true => store::pool_rule::list(conn, property).await?,
            false => Vec::new(),
        };
        rules.retain(|(_, rule)| rule.account == account);
        for mapping in listing.mappings {
            let pool = mapping
                .allotment
                .filter(|_| mapping.pool != PoolMode::Shared);
            let mapped = pool.map(|allotment| (mapping.pool, allotment));
            let key = (account, mapping.room_type);
            own.pools.mapped.extend(mapped.map(|mapped| (key, mapped)));
        }
        if rules.is_empty() && own.pools.mapped.is_empty() {
            return Ok(own);
        }
        let rows = store::allotment::list(conn, property).await?;
        let its = rows
            .into_iter()
            .filter(|row| row.version > 0 && row.owner == Owner::Account(account));
        own.pools.allotments = its.map(|row| (row.id, row.into())).collect();
        own.pools.rules = rules;
        if own.pools.has_switches() {
            own.switches = store::pool_rule::switches(conn, property, nights).await?;
        }
        own.left = own.left(conn, property, nights).await?;
        Ok(own)
    }

    async fn left(
        &self,
        conn: &mut PgConnection,
        property: PropertyId,
        nights: StayRange,
    ) -> Result<Left, LedgerError> {
        if self.pools.allotments.is_empty() {
            return Ok(Left::new());
        }
        let allotments: Vec<AllotmentId> = self.pools.allotments.keys().copied().collect();
        let nights = store::allotment::nights(conn, property, &allotments, nights).await?;
        let each = nights
            .into_iter()
            .map(|(allotment, night, counts)| ((allotment, night), counts.left()));
        Ok(each.collect())
    }

    /// What was left before the rooms were read and is left after it: rooms that went from one pool
    /// to the other meanwhile are not told twice.
    async fn settled(
        mut self,
        conn: &mut PgConnection,
        property: PropertyId,
        nights: StayRange,
    ) -> Result<Self, LedgerError> {
        let after = self.left(conn, property, nights).await?;
        let each = after.into_iter().map(|(key, rooms)| {
            let least = self.left.get(&key).copied().unwrap_or(0).min(rooms);
            (key, least)
        });
        self.left = each.collect();
        Ok(self)
    }

    /// How a night is sold, and what is left of the allotment.
    fn on(
        &self,
        account: AccountId,
        room_type: RoomTypeId,
        night: StayDate,
    ) -> Option<(PoolMode, i32, Option<&PoolRule>)> {
        let night_of = (room_type, night);
        let (mode, allotment, rule) = sells(&self.pools, &self.switches, account, night_of)?;
        let left = self.left.get(&(allotment, night)).copied().unwrap_or(0);
        Some((mode, left, rule))
    }
}

fn listening(listing: &Listing<'_>, calendar: &Calendar) -> Listening {
    let settings = &listing.account.settings;
    Listening {
        channel: listing.capabilities,
        inexpressible: settings.inexpressible,
        markup_percent_hundredths: settings.markup_percent_hundredths,
        is_closed: listing.account.state == AccountState::Closed,
        is_in_setup: listing.account.state == AccountState::Setup,
        horizon_end: told_until(listing, calendar),
        bookable_from: calendar.bookable_from,
        rate_min_minor: calendar.rate_min_minor,
        rate_max_minor: calendar.rate_max_minor,
    }
}

/// The end of what an account is told (excluded): bounded by property, account and channel.
pub(crate) fn told_until(listing: &Listing<'_>, calendar: &Calendar) -> StayDate {
    let by_account = listing.account.settings.horizon_days;
    let nights = by_account
        .unwrap_or(i32::MAX)
        .min(listing.capabilities.horizon_nights_max);
    let end = plus_days(calendar.business_day, nights.clamp(0, NIGHTS_MAX));
    end.min(calendar.horizon_end)
}

/// No horizon is longer.
const NIGHTS_MAX: i32 = 2_000;
