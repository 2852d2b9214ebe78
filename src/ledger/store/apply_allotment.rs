//! What a batch decided of allotments, as the function that applies it takes it.

use serde_json::{Value, json};

use crate::decide::changes::Changes;

/// Nights of the house, counts, lines and terms.
pub(super) fn rows(changes: &Changes) -> Value {
    let allotments = &changes.allotments;
    let nights = changes
        .nights
        .iter()
        .map(|((property, room_type, night), version, is)| {
            json!({
                "property_id": property, "room_type_id": room_type, "stay_date": night,
                "version": version, "physical": is.physical, "out_of_order": is.out_of_order,
                "overbooking_limit": is.overbooking_limit, "allotted": is.allotted, "held": is.held,
                "sold": is.sold, "oversold": is.oversold,
            })
        });
    let counts = allotments
        .counts
        .iter()
        .map(|((property, allotment, night), seen)| {
            json!({
                "property_id": property, "allotment_id": allotment, "stay_date": night,
                "room_type_id": seen.room_type, "agreed": seen.night.agreed,
                "taken": seen.night.taken, "released": seen.night.released,
                "is_released": seen.night.is_released, "version": seen.version,
            })
        });
    let entries = allotments.entries.iter().map(|entry| {
        json!({
            "property_id": entry.property, "allotment_id": entry.allotment,
            "command_id": entry.command_id, "line": entry.line,
            "reservation_id": entry.reservation, "night_from": entry.nights.arrival(),
            "night_until": entry.nights.departure(), "agreed": entry.by.agreed,
            "taken": entry.by.taken, "released": entry.by.released,
        })
    });
    let terms = allotments.terms.iter().map(|terms| {
        json!({
            "property_id": terms.property, "allotment_id": terms.allotment,
            "version": terms.version, "release_period_days": terms.release.period_days,
            "cut_off": terms.release.cut_off,
        })
    });
    let switches = allotments
        .switches
        .iter()
        .map(|(property, rule, night, is_on)| {
            json!({
                "property_id": property, "rule_id": rule, "room_type_id": night.0,
                "stay_date": night.1, "is_on": is_on,
            })
        });
    json!({
        "switches": switches.collect::<Vec<_>>(),
        "nights": nights.collect::<Vec<_>>(), "counts": counts.collect::<Vec<_>>(),
        "entries": entries.collect::<Vec<_>>(), "terms": terms.collect::<Vec<_>>(),
    })
}
