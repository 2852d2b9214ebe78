//! The rules of properties, as a batch needs them.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use jiff_sqlx::{Date, Time};
use keyrack_model::allotment::Release;
use keyrack_model::channel::PoolMode;
use keyrack_model::id::{AccountId, AllotmentId, GroupId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::money::Currency;
use keyrack_model::stay::StayDate;
use sqlx::PgConnection;
use sqlx::types::Json;

use super::pool_rule;
use crate::decide::allotment::{Allotment, Owner, Pools};
use crate::decide::rules::{DerivedPlan, Policies, Rules, TypeRules};
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct PropertyRow {
    property_id: i64,
    rules_version: i64,
    time_zone: String,
    day_roll_over: Time,
    currency: String,
    horizon_days: i32,
    hold_seconds: i32,
    confirm_grace_seconds: i32,
    extensions_max: i32,
    late_confirm: String,
    bookable_from: Option<Date>,
    policies: Json<Policies>,
    types: Option<Json<Vec<TypeRow>>>,
    plans: Option<Json<Vec<PlanRow>>>,
    has_rates: bool,
    allotments: Option<Json<Vec<AllotmentRow>>>,
    mapped: Option<Json<Vec<MappedRow>>>,
    has_pool_rules: bool,
}

/// Whose, of which type, how, from which allotment.
type MappedRow = (AccountId, RoomTypeId, String, AllotmentId);

#[derive(serde::Deserialize)]
struct AllotmentRow {
    id: AllotmentId,
    code: String,
    account: Option<AccountId>,
    group: Option<GroupId>,
    room_type: RoomTypeId,
    release_period_days: i32,
    cut_off: Option<StayDate>,
    group_cut_off: Option<StayDate>,
    is_orphan: bool,
    version: i64,
}

#[derive(serde::Deserialize)]
struct TypeRow {
    id: RoomTypeId,
    code: String,
    rooms: i32,
    hold_seconds: Option<i32>,
    components: Option<Vec<(RoomTypeId, i32)>>,
}

#[derive(serde::Deserialize)]
struct PlanRow {
    id: RatePlanId,
    derived_from: Option<RatePlanId>,
    derivation: Option<crate::catalog::Derivation>,
}

/// The rules of some properties, each whole and of one version: one statement, one snapshot.
pub(crate) async fn load(
    conn: &mut PgConnection,
    properties: &[PropertyId],
) -> Result<Vec<Rules>, LedgerError> {
    let rows: Vec<PropertyRow> = sqlx::query_as(
        "select p.property_id, p.rules_version, p.time_zone, p.day_roll_over, p.currency,
        p.horizon_days,
                p.hold_seconds, p.confirm_grace_seconds, p.extensions_max, p.late_confirm,
                p.bookable_from,
                p.policies,
                (select jsonb_agg(jsonb_build_object('id', t.room_type_id, 'code', t.code,
                'rooms', t.rooms,
                            'hold_seconds', t.hold_seconds, 'components',
                            (select jsonb_agg(jsonb_build_array(c.component_id, c.quantity) order
                            by c.component_id)
                               from room_type_component c
                              where c.property_id = t.property_id and c.room_type_id =
                              t.room_type_id)))
                   from room_type t where t.property_id = p.property_id) as types,
                (select jsonb_agg(jsonb_build_object('id', r.rate_plan_id, 'derived_from',
                r.derived_from,
                                                     'derivation', r.derivation))
                   from rate_plan r where r.property_id = p.property_id) as plans,
                exists (select from rate_night n where n.property_id = p.property_id) as has_rates,
                (select jsonb_agg(jsonb_build_object('id', a.allotment_id, 'code', a.code,
                            'account', a.account_id, 'group', a.group_id,
                            'room_type', a.room_type_id,
                            'release_period_days', a.release_period_days, 'cut_off', a.cut_off,
                            'group_cut_off', (select g.cut_off from room_group g
                                               where g.property_id = a.property_id
                                                 and g.group_id = a.group_id),
                            'is_orphan', a.account_id is not null and not exists (
                                select from account c where c.account_id = a.account_id),
                            'version', a.version))
                   from allotment a
                  where a.property_id = p.property_id and a.version > 0) as allotments,
                (select jsonb_agg(distinct jsonb_build_array(m.account_id, m.room_type_id, m.pool,
                                                             m.allotment_id))
                   from mapping m
                  where m.property_id = p.property_id and m.pool <> 'shared') as mapped,
                exists (select from pool_rule q where q.property_id = p.property_id)
                    as has_pool_rules
           from property p where p.property_id = any($1)",
    )
    .bind(properties.iter().map(|id| id.0).collect::<Vec<_>>())
    .fetch_all(&mut *conn)
    .await
    .map_err(LedgerError::while_doing("reading rules"))?;
    let mut all = Vec::new();
    for row in rows {
        let has_pool_rules = row.has_pool_rules;
        let mut rules = row.into_rules()?;
        if has_pool_rules {
            // Whoever changes them raises the version first: these are of it or of a later one.
            rules.pools.rules = pool_rule::list(conn, rules.property).await?;
        }
        all.push(rules);
    }
    Ok(all)
}

impl PropertyRow {
    fn into_rules(self) -> Result<Rules, LedgerError> {
        let unreadable = |what: &str| LedgerError::Unreadable(what.to_owned());
        let types = self.types.map(|Json(types)| types).unwrap_or_default();
        let plans = self.plans.map(|Json(plans)| plans).unwrap_or_default();
        Ok(Rules {
            property: PropertyId(self.property_id),
            version: self.rules_version,
            zone: TimeZone::get(&self.time_zone).map_err(|_| unreadable("a time zone"))?,
            day_roll_over: self.day_roll_over.to_jiff(),
            currency: Currency::from_code(&self.currency)
                .ok_or_else(|| unreadable("a currency"))?,
            horizon_days: self.horizon_days,
            hold_seconds: self.hold_seconds,
            confirm_grace_seconds: self.confirm_grace_seconds,
            extensions_max: self.extensions_max,
            late_confirm_retakes: self.late_confirm == "retake",
            bookable_from: self.bookable_from.map(Date::to_jiff),
            policies: self.policies.0,
            types: types.into_iter().map(|t| (t.id, t.into_rules())).collect(),
            plans: plans
                .into_iter()
                .map(|p| (p.id, p.into_derivation()))
                .collect::<HashMap<_, _>>(),
            has_rates: self.has_rates,
            pools: pools(self.allotments, self.mapped)?,
        })
    }
}

fn pools(
    allotments: Option<Json<Vec<AllotmentRow>>>,
    mapped: Option<Json<Vec<MappedRow>>>,
) -> Result<Pools, LedgerError> {
    let mut pools = Pools::default();
    for row in allotments.map(|Json(rows)| rows).unwrap_or_default() {
        let owner = match (row.account, row.group) {
            (Some(account), _) => Owner::Account(account),
            (None, Some(group)) => Owner::Group(group),
            (None, None) => return Err(LedgerError::Unreadable("whose allotment".to_owned())),
        };
        let allotment = Allotment {
            code: row.code,
            owner,
            room_type: row.room_type,
            release: Release {
                period_days: row.release_period_days,
                cut_off: row.cut_off,
            },
            group_cut_off: row.group_cut_off,
            is_orphan: row.is_orphan,
            version: row.version,
        };
        pools.allotments.insert(row.id, allotment);
    }
    for (account, room_type, mode, allotment) in mapped.map(|Json(m)| m).unwrap_or_default() {
        let mode = PoolMode::from_name(&mode)
            .ok_or_else(|| LedgerError::Unreadable(format!("the pool {mode:?}")))?;
        pools.mapped.insert((account, room_type), (mode, allotment));
    }
    Ok(pools)
}

impl TypeRow {
    fn into_rules(self) -> TypeRules {
        TypeRules {
            code: self.code,
            rooms: self.rooms,
            hold_seconds: self.hold_seconds,
            components: self.components.unwrap_or_default(),
        }
    }
}

impl PlanRow {
    fn into_derivation(self) -> Option<DerivedPlan> {
        let how = self.derivation.unwrap_or_default();
        Some(DerivedPlan {
            base: self.derived_from?,
            percent_hundredths: how.percent_hundredths,
            add_minor: how.add_minor,
            step_minor: how.step_minor,
        })
    }
}
