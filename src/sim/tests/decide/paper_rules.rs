//! The rules and the ids of a shape, on paper.

use std::collections::HashMap;
use std::sync::Arc;

use jiff::civil::time;
use jiff::tz::TimeZone;
use keyrack_ledger::decide::allotment::{Allotment, Owner, Pools};
use keyrack_ledger::decide::overbooking::policy::OverbookingPolicy;
use keyrack_ledger::decide::rules::{Policies, Rules, TypeRules};
use keyrack_model::allotment::Release;
use keyrack_model::id::{AccountId, AllotmentId, GroupId, PropertyId, RoomTypeId};
use keyrack_model::money::Currency;
use keyrack_model::stay::plus_days;
use keyrack_sim::ids::{Ids, PropertyIds};
use keyrack_sim::pool_shape::OwnerShape;
use keyrack_sim::shape::{PropertyShape, Shape};

/// Ids of a shape that nobody else knows.
pub fn ids(shape: &Arc<Shape>) -> Ids {
    let properties = (1..)
        .zip(&shape.properties)
        .map(|(at, property)| PropertyIds {
            property: PropertyId(at),
            types: (1..)
                .zip(&property.types)
                .map(|(id, _)| RoomTypeId(at * 100 + id))
                .collect(),
            accounts: (1..)
                .zip(&property.accounts)
                .map(|(id, _)| AccountId(at * 1_000 + id))
                .collect(),
            group: GroupId(at),
            allotments: (1..)
                .zip(&property.pools.allotments)
                .map(|(id, _)| AllotmentId(at * 100 + id))
                .collect(),
        });
    let properties = properties.collect();
    Ids::new(Arc::clone(shape), properties)
}

pub fn rules(shape: &PropertyShape, ids: &PropertyIds) -> Rules {
    let types = shape.types.iter().zip(&ids.types).map(|(t, id)| {
        let parts = t.components.iter().map(|(part, n)| (ids.types[*part], *n));
        let rules = TypeRules {
            code: t.code.clone(),
            rooms: t.rooms,
            hold_seconds: t.hold_seconds,
            components: parts.collect(),
        };
        (*id, rules)
    });
    let by_source = shape.web_hold_seconds.map(|s| ("web".to_owned(), s));
    Rules {
        property: ids.property,
        version: 1,
        zone: TimeZone::get(&shape.zone).expect("a zone"),
        day_roll_over: time(4, 0, 0, 0),
        currency: Currency::from_code("EUR").expect("a currency"),
        horizon_days: shape.horizon_days,
        hold_seconds: shape.hold_seconds,
        confirm_grace_seconds: shape.confirm_grace_seconds,
        extensions_max: shape.extensions_max,
        late_confirm_retakes: shape.late_confirm_retakes,
        bookable_from: shape
            .bookable_from
            .map(|offset| plus_days(shape.first_night, offset)),
        policies: Policies {
            no_show_keeps: shape.no_show_keeps.clone(),
            hold_seconds_by_source: by_source.into_iter().collect(),
            meant_overbooking_case_days: shape.meant_overbooking_case_days,
            overbooking: OverbookingPolicy::default(),
            guest_arrivals_max: None,
        },
        types: types.collect(),
        plans: HashMap::new(),
        has_rates: false,
        pools: pools(shape, ids),
    }
}

/// Allotments with nothing agreed yet.
fn pools(shape: &PropertyShape, ids: &PropertyIds) -> Pools {
    let night = |offset| plus_days(shape.first_night, offset);
    let allotments = shape.pools.allotments.iter().zip(&ids.allotments);
    let allotments = allotments.map(|(known, id)| {
        let (owner, group_cut_off) = match known.owner {
            OwnerShape::Account(at) => (Owner::Account(ids.accounts[at]), None),
            OwnerShape::Group => (
                Owner::Group(ids.group),
                shape.pools.group_cut_off.map(night),
            ),
        };
        let allotment = Allotment {
            code: known.code.clone(),
            owner,
            room_type: ids.types[known.room_type],
            release: Release::default(),
            group_cut_off,
            is_orphan: false,
            version: 1,
        };
        (*id, allotment)
    });
    let mapped = shape.pools.mapped.iter().map(|(account, mode, at)| {
        let room_type = ids.types[shape.pools.allotments[*at].room_type];
        let key = (ids.accounts[*account], room_type);
        (key, (*mode, ids.allotments[*at]))
    });
    Pools {
        allotments: allotments.collect(),
        mapped: mapped.collect(),
        rules: Vec::new(),
    }
}
