//! Writing rates and restrictions of nights: all of a call, or none.

use std::collections::{BTreeMap, HashSet};

use keyrack_model::id::{AccountId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::stay::{StayDate, ranges};
use sqlx::PgConnection;

use crate::command::By;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::rates::RateChange;
use crate::setup::check::Faults;
use crate::store::property::Calendar;
use crate::store::rate::{CellKey, Patch};
use crate::store::rate_change::{self, Touched};
use crate::store::{account, connection, property, rate as store, rate_plan, room_type};

/// Sets rates and restrictions; says how many cells change.
pub(crate) async fn set(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    changes: &[RateChange],
    dry_run: bool,
) -> Result<Result<u32, Refusal>, LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    let Some(calendar) = property::lock(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let known = Known::read(&mut tx, id).await?;
    let mut faults = Faults::default();
    for (i, change) in changes.iter().enumerate() {
        check(
            &mut faults,
            &format!("/values/{i}"),
            change,
            &known,
            &calendar,
        );
    }
    let patches = patches(changes);
    faults.unless(
        patches.len() <= CELLS_MAX,
        "/values",
        "200000 nights of cells at most",
    );
    if let Err(refusal) = faults.done() {
        return Ok(Err(refusal));
    }
    let patches: Vec<(CellKey, Patch)> = patches.into_iter().collect();
    let mut changed = Vec::new();
    for some in patches.chunks(CELLS_PER_STATEMENT) {
        changed.extend(store::upsert(&mut tx, id, some).await?);
    }
    let count = u32::try_from(changed.len()).unwrap_or(u32::MAX);
    // What a dry run wrote goes with its transaction.
    if !changed.is_empty() && !dry_run {
        rate_change::raise_rules(&mut tx, id).await?;
        let patches: BTreeMap<CellKey, Patch> = patches.into_iter().collect();
        rate_change::note(&mut tx, id, by, &touched(&changed, &patches)).await?;
        connection::commit(tx).await?;
    }
    Ok(Ok(count))
}

/// Cells that one call changes at most: a hundred products over the longest horizon.
const CELLS_MAX: usize = 200_000;

/// Cells in one statement: fewer make more round trips, more make large messages.
const CELLS_PER_STATEMENT: usize = 10_000;

/// What may be named.
struct Known {
    types: HashSet<RoomTypeId>,
    plans: HashSet<RatePlanId>,
    accounts: HashSet<AccountId>,
}

impl Known {
    async fn read(conn: &mut PgConnection, id: PropertyId) -> Result<Self, LedgerError> {
        let types = room_type::list(conn, id).await?;
        let plans = rate_plan::list(conn, id).await?;
        let accounts = account::list(conn, id).await?;
        Ok(Self {
            types: types.into_iter().map(|known| known.id).collect(),
            plans: plans.into_iter().map(|known| known.id).collect(),
            accounts: accounts.into_iter().map(|known| known.account.id).collect(),
        })
    }
}

fn check(faults: &mut Faults, at: &str, change: &RateChange, known: &Known, calendar: &Calendar) {
    let at = |field: &str| format!("{at}/{field}");
    faults.unless(
        change.nights.is_some(),
        &at("from"),
        "from and to name the nights",
    );
    let is_known = change.room_type.is_none_or(|id| known.types.contains(&id));
    faults.unless(is_known, &at("room_type"), "no such room type");
    let is_known = change.rate_plan.is_none_or(|id| known.plans.contains(&id));
    faults.unless(is_known, &at("rate_plan"), "no such rate plan");
    let is_known = change.account.is_none_or(|id| known.accounts.contains(&id));
    faults.unless(is_known, &at("account"), "no such account");
    let patch = patch(change);
    let only_stop = Patch {
        stop_sell: patch.stop_sell,
        ..Patch::default()
    };
    let fits = change.room_type.is_some() || patch == only_stop;
    faults.unless(
        fits,
        &at("room_type"),
        "the whole property takes a stop sell only",
    );
    for (rate, field) in change
        .rate_minor
        .flatten()
        .map(|rate| (rate, "rate"))
        .into_iter()
        .chain(
            change
                .occupancy_rates
                .iter()
                .flatten()
                .map(|(_, rate)| (*rate, "occupancy_rates")),
        )
    {
        faults.unless(rate >= 0, &at(field), "not below 0");
        let low = calendar.rate_min_minor.is_none_or(|min| rate >= min);
        faults.unless(low, &at(field), "below the lowest rate of the property");
        let high = calendar.rate_max_minor.is_none_or(|max| rate <= max);
        faults.unless(high, &at(field), "above the highest rate of the property");
    }
    let mut guests = HashSet::new();
    for (count, _) in change.occupancy_rates.iter().flatten() {
        let fresh = *count >= 1 && guests.insert(*count);
        faults.unless(
            fresh,
            &at("occupancy_rates"),
            "each number of guests once, from 1",
        );
    }
    for (nights, field) in [
        (change.min_stay_arrival, "min_stay_arrival"),
        (change.min_stay_through, "min_stay_through"),
        (change.max_stay, "max_stay"),
    ] {
        let fits = nights
            .flatten()
            .is_none_or(|nights| (1..=2000).contains(&nights));
        faults.unless(fits, &at(field), "1 to 2000 nights");
    }
    for (days, field) in [
        (change.min_advance_days, "min_advance_days"),
        (change.max_advance_days, "max_advance_days"),
    ] {
        let fits = days.flatten().is_none_or(|days| (0..=2000).contains(&days));
        faults.unless(fits, &at(field), "0 to 2000 days");
    }
}

fn patch(change: &RateChange) -> Patch {
    let empty_is_none = |rates: &Vec<(u8, i64)>| (!rates.is_empty()).then(|| rates.clone());
    Patch {
        amount_minor: change.rate_minor,
        occupancy_rates: change.occupancy_rates.as_ref().map(empty_is_none),
        min_stay_arrival: change.min_stay_arrival,
        min_stay_through: change.min_stay_through,
        max_stay: change.max_stay,
        closed_to_arrival: change.closed_to_arrival,
        closed_to_departure: change.closed_to_departure,
        min_advance_days: change.min_advance_days,
        max_advance_days: change.max_advance_days,
        stop_sell: change.stop_sell,
    }
}

/// The changes per cell: a later one wins over an earlier one, field by field.
fn patches(changes: &[RateChange]) -> BTreeMap<CellKey, Patch> {
    let mut patches: BTreeMap<CellKey, Patch> = BTreeMap::new();
    for change in changes {
        let later = patch(change);
        if later == Patch::default() {
            continue;
        }
        let nights = change
            .nights
            .into_iter()
            .flat_map(keyrack_model::stay::Stay::nights);
        let weekdays = change.weekdays;
        for night in nights.filter(|night| weekdays.is_none_or(|days| days.contains(*night))) {
            let key = CellKey {
                room_type: change.room_type,
                rate_plan: change.rate_plan,
                account: change.account,
                night,
            };
            patches.entry(key).or_default().add(&later);
        }
        if patches.len() > CELLS_MAX {
            break;
        }
    }
    patches
}

/// What the feed must know of the cells that changed: neighbours with the same fields joined.
fn touched(changed: &[CellKey], patches: &BTreeMap<CellKey, Patch>) -> Vec<Touched> {
    type Product = (Option<RoomTypeId>, Option<RatePlanId>, Option<AccountId>);
    let mut alike: BTreeMap<(Product, Vec<&'static str>), Vec<StayDate>> = BTreeMap::new();
    for key in changed {
        let fields = patches.get(key).map(Patch::fields).unwrap_or_default();
        let product = (key.room_type, key.rate_plan, key.account);
        alike.entry((product, fields)).or_default().push(key.night);
    }
    let each =
        |(((room_type, rate_plan, account), fields), nights): ((Product, Vec<_>), Vec<_>)| {
            ranges(nights).into_iter().map(move |nights| Touched {
                room_type,
                rate_plan,
                account,
                nights,
                fields: fields.clone(),
            })
        };
    alike.into_iter().flat_map(each).collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use keyrack_model::stay::{Stay, Weekdays};

    use super::*;

    #[test]
    fn a_later_value_wins_field_by_field_and_weekdays_choose_nights() {
        let week = Stay::new(date(2030, 7, 1), date(2030, 7, 8)).expect("a week");
        let all = RateChange {
            room_type: Some(RoomTypeId(1)),
            nights: Some(week),
            rate_minor: Some(Some(10_000)),
            min_stay_arrival: Some(Some(2)),
            ..Default::default()
        };
        let weekend = RateChange {
            weekdays: Some(Weekdays::from_bits(0b110_0000)),
            min_stay_arrival: None,
            rate_minor: Some(Some(12_000)),
            ..all.clone()
        };
        let nothing = RateChange {
            rate_minor: None,
            min_stay_arrival: None,
            ..all.clone()
        };
        let patches = patches(&[all, weekend, nothing]);
        let rates: Vec<_> = patches
            .values()
            .map(|patch| patch.amount_minor.flatten())
            .collect();
        let (low, high) = (Some(10_000), Some(12_000));
        assert_eq!(rates, [low, low, low, low, low, high, high]);
        assert!(
            patches
                .values()
                .all(|patch| patch.min_stay_arrival == Some(Some(2)))
        );
        let changed: Vec<CellKey> = patches.keys().copied().collect();
        let touched = touched(&changed, &patches);
        assert_eq!((touched.len(), touched[0].nights), (1, week));
        assert_eq!(touched[0].fields, ["rate", "min_stay_arrival"]);
    }
}
