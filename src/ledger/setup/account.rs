//! Writing accounts, their mappings, and the rules that keep rooms back.

use std::collections::HashMap;

use keyrack_model::channel::{AccountSettings, AccountState, ChannelMapping};
use keyrack_model::id::{AccountId, ConnectionId, PropertyId, RatePlanId, RoomTypeId};
use sqlx::PgConnection;

use crate::allotments::AllotmentRow;
use crate::catalog::{AccountRow, MappingSetup};
use crate::command::By;
use crate::decide::allotment::Owner;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup::check::{self, Faults};
use crate::setup::list_version::as_read;
use crate::store::account::{self as store, Listing};
use crate::store::rate_change::{self, Touched};
use crate::store::{
    allotment, connection, constraint, entry, mapping, pool_rule, property, rate_plan, room_type,
};

/// What is asked of an account.
pub(crate) struct Put<'a> {
    pub code: &'a str,
    pub connection: ConnectionId,
    pub channel: &'a str,
    pub hotel_code: &'a str,
    pub settings: AccountSettings,
    pub version: Option<i64>,
}

/// Creates (in `setup`) or changes an account.
pub(crate) async fn put(
    ledger: &Ledger,
    id: PropertyId,
    by: &By,
    put: Put<'_>,
) -> Result<Result<(AccountRow, bool), Refusal>, LedgerError> {
    if let Err(refusal) = check::account(put.code, put.hotel_code) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    let Some(calendar) = property::lock(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("property".to_owned())));
    };
    let accounts = store::list(&mut tx, id).await?;
    let known = accounts.iter().find(|known| known.account.code == put.code);
    let current = known.map_or(0, |known| known.version);
    if put.version.is_some_and(|version| version != current) {
        return Ok(Err(Refusal::VersionMismatch { current }));
    }
    if let Err(refusal) = settings(&mut tx, id, &put.settings).await? {
        return Ok(Err(refusal));
    }
    if let Some(known) = known.filter(|known| is_same(known, &put)) {
        return Ok(Ok((known.clone(), false)));
    }
    let listing = Listing {
        code: put.code,
        connection: put.connection,
        channel: put.channel,
        hotel_code: put.hotel_code,
        settings: &put.settings,
    };
    let written = match known {
        Some(known) => store::update(&mut tx, known.account.id, &listing).await,
        None => store::insert(&mut tx, id, &listing).await,
    };
    if let Err(error) = written {
        return refused(error).map(Err);
    }
    rate_change::raise_rules(&mut tx, id).await?;
    let accounts = store::list(&mut tx, id).await?;
    let is_new = known.is_none();
    let put = accounts
        .into_iter()
        .find(|known| known.account.code == put.code);
    let put = put.ok_or(LedgerError::Conflict)?;
    let touched = Touched {
        account: Some(put.account.id),
        ..Touched::everything(calendar.open_nights(), "account")
    };
    rate_change::note(&mut tx, id, by, &[touched]).await?;
    connection::commit(tx).await?;
    Ok(Ok((put, is_new)))
}

fn is_same(known: &AccountRow, put: &Put<'_>) -> bool {
    let account = &known.account;
    account.connection == put.connection
        && account.channel.as_str() == put.channel
        && account.hotel_code == put.hotel_code
        && account.settings == put.settings
}

fn refused(error: LedgerError) -> Result<Refusal, LedgerError> {
    let LedgerError::Broken { source, .. } = &error else {
        return Err(error);
    };
    match constraint::violated(source) {
        Some("account_listing_is_unique") => {
            let sentence = "another account has this hotel of the connection";
            Ok(Refusal::invalid("/hotel_code", sentence))
        }
        Some("account_connection_id_fkey") => {
            Ok(Refusal::invalid("/connection", "no such connection"))
        }
        _ => Err(error),
    }
}

async fn settings(
    conn: &mut PgConnection,
    id: PropertyId,
    settings: &AccountSettings,
) -> Result<Result<(), Refusal>, LedgerError> {
    let mut faults = Faults::default();
    faults.unless(
        settings.resync_hour <= 23,
        "/settings/resync_hour",
        "0 to 23",
    );
    let horizon = settings
        .horizon_days
        .is_none_or(|days| (1..=2000).contains(&days));
    faults.unless(horizon, "/settings/horizon_days", "1 to 2000 nights");
    let markup = (-10_000..=1_000_000).contains(&settings.markup_percent_hundredths);
    faults.unless(
        markup,
        "/settings/markup_percent_hundredths",
        "-10000 to 1000000",
    );
    faults.unless(
        settings.scarcity_rooms >= 0,
        "/settings/scarcity_rooms",
        "0 or more",
    );
    if let Some(fallback) = &settings.fallback_room_type {
        let types = room_type::list(conn, id).await?;
        let known = types.iter().any(|known| known.code == *fallback);
        faults.unless(known, "/settings/fallback_room_type", "no such room type");
    }
    Ok(faults.done())
}

/// Begins a change of an account: the property's lock first, then the account as it is now.
async fn locked(
    conn: &mut PgConnection,
    id: AccountId,
) -> Result<Option<(AccountRow, Touched)>, LedgerError> {
    let Some(known) = store::by_id(conn, id).await? else {
        return Ok(None);
    };
    let property = known.account.property;
    let calendar = property::lock(conn, property)
        .await?
        .ok_or(LedgerError::Conflict)?;
    let Some(known) = store::by_id(conn, id).await? else {
        return Ok(None);
    };
    let touched = Touched {
        account: Some(id),
        ..Touched::everything(calendar.all_nights(calendar.horizon_end), "account")
    };
    Ok(Some((known, touched)))
}

/// Moves an account to another state.
pub(crate) async fn set_state(
    ledger: &Ledger,
    id: AccountId,
    by: &By,
    state: AccountState,
    reason: Option<&str>,
) -> Result<(), LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    let Some((known, touched)) = locked(&mut tx, id).await? else {
        return Ok(());
    };
    if known.account.state == state && known.state_reason.as_deref() == reason {
        return Ok(());
    }
    store::set_state(&mut tx, id, state, reason).await?;
    let property = known.account.property;
    rate_change::raise_rules(&mut tx, property).await?;
    rate_change::note(&mut tx, property, by, &[touched]).await?;
    connection::commit(tx).await
}

/// Says that what was sold before is in.
pub(crate) async fn set_import_done(ledger: &Ledger, id: AccountId) -> Result<(), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::set_import_done(&mut conn, id).await
}

/// Removes an account and its mappings.
pub(crate) async fn remove(ledger: &Ledger, id: AccountId, by: &By) -> Result<(), LedgerError> {
    let mut tx = connection::begin(ledger).await?;
    let Some((known, touched)) = locked(&mut tx, id).await? else {
        return Ok(());
    };
    let property = known.account.property;
    mapping::delete(&mut tx, property, id).await?;
    pool_rule::delete_of(&mut tx, property, id).await?;
    store::remove(&mut tx, id).await?;
    rate_change::raise_rules(&mut tx, property).await?;
    rate_change::note(&mut tx, property, by, &[touched]).await?;
    connection::commit(tx).await
}

/// Replaces the mappings of an account.
pub(crate) async fn put_mappings(
    ledger: &Ledger,
    id: AccountId,
    by: &By,
    mappings: &[MappingSetup],
    (read, reason): (Option<i64>, Option<&str>),
) -> Result<Result<Vec<MappingSetup>, Refusal>, LedgerError> {
    if let Err(refusal) = check::mappings(mappings) {
        return Ok(Err(refusal));
    }
    let mut tx = connection::begin(ledger).await?;
    let Some((known, touched)) = locked(&mut tx, id).await? else {
        return Ok(Err(Refusal::NotFound("account".to_owned())));
    };
    let property = known.account.property;
    let found = match found(&mut tx, (property, id), mappings).await? {
        Ok(found) => found,
        Err(refusal) => return Ok(Err(refusal)),
    };
    if let Err(refusal) = as_read(&mapping::codes(&mut tx, id).await?, read) {
        return Ok(Err(refusal));
    }
    mapping::delete(&mut tx, property, id).await?;
    mapping::insert(&mut tx, property, id, &found).await?;
    rate_change::raise_rules(&mut tx, property).await?;
    let touched = Touched {
        fields: vec!["mapping"],
        ..touched
    };
    rate_change::note(&mut tx, property, by, &[touched]).await?;
    if reason.is_some() {
        let lines = entry::Lines {
            property,
            by,
            kind: "mapping_forced",
            reservation: None,
            reason,
            moved: &[],
        };
        entry::insert(&mut tx, &lines).await?;
    }
    let put = mapping::codes(&mut tx, id).await?;
    connection::commit(tx).await?;
    Ok(Ok(put))
}

/// Whether mappings would be refused; nothing is changed.
pub(crate) async fn check_mappings(
    ledger: &Ledger,
    id: AccountId,
    mappings: &[MappingSetup],
) -> Result<Result<(), Refusal>, LedgerError> {
    if let Err(refusal) = check::mappings(mappings) {
        return Ok(Err(refusal));
    }
    let mut conn = connection::reader(ledger).await?;
    let Some(known) = store::by_id(&mut conn, id).await? else {
        return Ok(Err(Refusal::NotFound("account".to_owned())));
    };
    let found = found(&mut conn, (known.account.property, id), mappings).await?;
    Ok(found.map(drop))
}

/// The mappings with our ids in place of our codes.
async fn found(
    conn: &mut PgConnection,
    (property, account): (PropertyId, AccountId),
    mappings: &[MappingSetup],
) -> Result<Result<Vec<ChannelMapping>, Refusal>, LedgerError> {
    let types: HashMap<String, RoomTypeId> = room_type::list(conn, property)
        .await?
        .into_iter()
        .map(|t| (t.code, t.id))
        .collect();
    let plans: HashMap<String, RatePlanId> = rate_plan::list(conn, property)
        .await?
        .into_iter()
        .map(|p| (p.code, p.id))
        .collect();
    let allotments = allotment::list(conn, property).await?;
    let mut faults = Faults::default();
    let mut found: Vec<ChannelMapping> = Vec::new();
    for (i, mapping) in mappings.iter().enumerate() {
        let room_type = types.get(&mapping.room_type);
        let pointer = format!("/{i}/room_type");
        faults.unless(room_type.is_some(), &pointer, "no such room type");
        let plan = mapping
            .rate_plan
            .as_ref()
            .map(|code| plans.get(code).copied());
        let pointer = format!("/{i}/rate_plan");
        faults.unless(plan != Some(None), &pointer, "no such rate plan");
        let Some(room_type) = room_type else { continue };
        let code = mapping.allotment.as_ref();
        let named = code.and_then(|code| allotments.iter().find(|known| known.code == *code));
        let fits = |known: &AllotmentRow| {
            known.version > 0
                && known.owner == Owner::Account(account)
                && known.room_type == *room_type
        };
        let is_right = code.is_none() || named.is_some_and(fits);
        let pointer = format!("/{i}/allotment");
        let sentence = "no such allotment of this account and room type";
        faults.unless(is_right, &pointer, sentence);
        let mut same_type = found.iter().filter(|one| one.room_type == *room_type);
        let pool = (mapping.pool, named.map(|known| known.id));
        let is_alike = same_type.all(|one| (one.pool, one.allotment) == pool);
        let sentence = "all mappings of one room type sell from the same pool";
        faults.unless(is_alike, &format!("/{i}/pool"), sentence);
        found.push(ChannelMapping {
            room_type: *room_type,
            pool: pool.0,
            allotment: pool.1,
            rate_plan: plan.flatten(),
            channel_room_code: mapping.channel_room_code.clone(),
            channel_rate_code: mapping.channel_rate_code.clone(),
        });
    }
    Ok(faults.done().map(|()| found))
}
