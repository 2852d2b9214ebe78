//! The hotel as it is set up: property, room types, rooms, rate plans, accounts, mappings, buffer
//! rules.
//!
//! Each write is one transaction: it checks everything, locks the property's row first, counts up
//! the thing's version and the rules' version, and writes for the feed what channels may have to be
//! told. A write that changes nothing does nothing.

use keyrack_model::channel::{Account, AccountSettings, AccountState, ChannelMapping, PoolMode};
use keyrack_model::id::{AccountId, ConnectionId, PropertyId, RatePlanId, RoomTypeId};
use keyrack_model::stay::{StayDate, StayRange};
use serde::{Deserialize, Serialize};

use crate::command::{By, Forced, ShortNight};
use crate::decide::buffer_rule::BufferRule;
use crate::decide::pool_rule::PoolRule;
use crate::decide::refusal::Refusal;
use crate::error::LedgerError;
use crate::handle::Ledger;
use crate::setup;
use crate::store::{self, connection};

/// What a hotel says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertySetup {
    /// For people.
    pub name: String,
    /// IANA.
    pub time_zone: String,
    /// ISO 4217.
    pub currency: keyrack_model::money::Currency,
    /// When last night ends.
    pub day_roll_over: jiff::civil::Time,
    /// Nights ahead that can be sold, 1 to 2000.
    pub horizon_days: i32,
    /// How long a hold lives.
    pub hold_seconds: i32,
    /// How long its rooms stay kept after that.
    pub confirm_grace_seconds: i32,
    /// How often it may be extended.
    pub extensions_max: i32,
    /// A confirm after the death takes the rooms anew where they are free.
    pub late_confirm_retakes: bool,
    /// First night that may be booked.
    pub bookable_from: Option<StayDate>,
    /// No rate below, in minor units.
    pub rate_min_minor: Option<i64>,
    /// No rate above, in minor units.
    pub rate_max_minor: Option<i64>,
    /// `no_show_keeps`: `guaranteed` (default), `all`, `none`; `hold_seconds_by_source`: map.
    pub policies: serde_json::Value,
}

/// A property as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its id.
    pub id: PropertyId,
    /// Its code.
    pub code: String,
    /// Its setup.
    pub setup: PropertySetup,
    /// Counts changes.
    pub version: i64,
}

/// A room type as set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomTypeSetup {
    /// For people.
    pub name: String,
    /// Physical count; 0 for a composed type.
    pub rooms: i32,
    /// Beds of a dormitory instead of rooms.
    pub counts_beds: bool,
    /// Adults at most.
    pub adults_max: i32,
    /// Children at most.
    pub children_max: i32,
    /// Guests at most.
    pub total_max: i32,
    /// Holds of this type live so long; `None` takes the property's.
    pub hold_seconds: Option<i32>,
    /// Code and quantity of each component, of a composed type.
    pub components: Vec<(String, i32)>,
}

/// A room type as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomType {
    /// Its id.
    pub id: RoomTypeId,
    /// Its code.
    pub code: String,
    /// Its setup.
    pub setup: RoomTypeSetup,
    /// Counts changes.
    pub version: i64,
}

/// What a change of a room type did, or would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomTypeChange {
    /// The type; `None` in a dry run of a new one.
    pub room_type: Option<RoomType>,
    /// Nights that fall short.
    pub short: Vec<ShortNight>,
    /// It did not exist before.
    pub is_new: bool,
}

/// A physical room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Its code.
    pub code: String,
    /// Code of its type.
    pub room_type: String,
    /// For people.
    pub name: String,
    /// Counts as a room of its type.
    pub is_active: bool,
    /// Counts changes.
    pub version: i64,
    /// Stays in which it is blocked: stay, kind, reason.
    pub blocks: Vec<(StayRange, String, Option<String>)>,
}

/// A rate plan as set up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatePlanSetup {
    /// For people.
    pub name: String,
    /// `room_only`, `breakfast`, `half_board`, `full_board`, `all_inclusive`.
    pub meal_plan: String,
    /// Code of the plan that it follows, and how.
    pub derived_from: Option<(String, Derivation)>,
    /// `[{until, fee}]`, as given.
    pub cancellation_terms: serde_json::Value,
}

/// How a rate follows from another plan's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Derivation {
    /// Hundredths of a percent on top.
    pub percent_hundredths: i64,
    /// Minor units on top.
    pub add_minor: i64,
    /// Rounded to a multiple of so many minor units.
    pub step_minor: i64,
}

/// A rate plan as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RatePlan {
    /// Its id.
    pub id: RatePlanId,
    /// Its code.
    pub code: String,
    /// Its setup.
    pub setup: RatePlanSetup,
    /// Counts changes.
    pub version: i64,
}

/// A mapping by codes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MappingSetup {
    /// Code of our room type.
    pub room_type: String,
    /// Code of our rate plan.
    pub rate_plan: Option<String>,
    /// The channel's code of the room.
    pub channel_room_code: String,
    /// The channel's code of the rate.
    pub channel_rate_code: Option<String>,
    /// From which pool it sells; one for all mappings of a type.
    #[serde(default)]
    pub pool: PoolMode,
    /// Code of the allotment, where the pool is not the shared one alone.
    #[serde(default)]
    pub allotment: Option<String>,
}

/// Creates or changes a property; says whether it is new.
pub async fn put_property(
    ledger: &Ledger,
    by: &By,
    code: &str,
    setup: PropertySetup,
    version: Option<i64>,
) -> Result<Result<(Property, bool), Refusal>, LedgerError> {
    setup::property::put(ledger, by, code, setup, version).await
}

/// The property of a code.
pub async fn property(ledger: &Ledger, code: &str) -> Result<Option<Property>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::property::by_code(&mut conn, code).await
}

/// All properties in order of id, after `after`.
pub async fn properties(
    ledger: &Ledger,
    after: Option<PropertyId>,
    limit: u32,
) -> Result<Vec<Property>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::property::page(&mut conn, after, limit).await
}

/// Creates or changes a room type; a cut below what is taken needs a force. A new type's nights
/// are born up to the horizon.
#[expect(
    clippy::too_many_arguments,
    reason = "a PUT as it comes, field by field"
)]
pub async fn put_room_type(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    code: &str,
    setup: RoomTypeSetup,
    version: Option<i64>,
    force: Option<Forced>,
    dry_run: bool,
) -> Result<Result<RoomTypeChange, Refusal>, LedgerError> {
    let put = setup::room_type::Put {
        code,
        setup,
        version,
        force,
        dry_run,
    };
    setup::room_type::put(ledger, property, by, put).await
}

/// The room types of a property, in order of code.
pub async fn room_types(
    ledger: &Ledger,
    property: PropertyId,
) -> Result<Vec<RoomType>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::room_type::list(&mut conn, property).await
}

/// Creates or changes a physical room; once rooms are listed, the number of active ones is the
/// type's count, whatever is put for the type.
pub async fn put_room(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    code: &str,
    room: Room,
    version: Option<i64>,
    force: Option<Forced>,
) -> Result<Result<(Room, bool), Refusal>, LedgerError> {
    let room = Room {
        code: code.to_owned(),
        ..room
    };
    setup::room::put(ledger, property, by, room, version, force).await
}

/// Replaces the blocks of a room: stay, kind (`out_of_order`, `owner`, `house_use`), reason. What
/// is blocked counts as out of order on its nights.
pub async fn put_blocks(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    code: &str,
    blocks: Vec<(StayRange, String, Option<String>)>,
) -> Result<Result<Room, Refusal>, LedgerError> {
    setup::room::put_blocks(ledger, property, by, code, blocks).await
}

/// The rooms of a property, in order of code.
pub async fn rooms(ledger: &Ledger, property: PropertyId) -> Result<Vec<Room>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rooms = store::room::list(&mut conn, property, None).await?;
    Ok(rooms.into_iter().map(|known| known.room).collect())
}

/// Creates or changes a rate plan.
pub async fn put_rate_plan(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    code: &str,
    setup: RatePlanSetup,
    version: Option<i64>,
) -> Result<Result<(RatePlan, bool), Refusal>, LedgerError> {
    setup::rate_plan::put(ledger, property, by, code, setup, version).await
}

/// The rate plans of a property, in order of code.
pub async fn rate_plans(
    ledger: &Ledger,
    property: PropertyId,
) -> Result<Vec<RatePlan>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::rate_plan::list(&mut conn, property).await
}

/// An account with what the ledger keeps beside the model's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountRow {
    /// The account.
    pub account: Account,
    /// Counts changes.
    pub version: i64,
    /// Since when in this state.
    pub state_since: jiff::Timestamp,
    /// Why.
    pub state_reason: Option<String>,
    /// What was sold before has been imported, or waived.
    pub import_done: bool,
}

/// Creates (in `setup`) or changes an account; `channel` is its connection's.
#[expect(
    clippy::too_many_arguments,
    reason = "a PUT as it comes, field by field"
)]
pub async fn put_account(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    code: &str,
    connection: ConnectionId,
    channel: &str,
    hotel_code: &str,
    settings: AccountSettings,
    version: Option<i64>,
) -> Result<Result<(AccountRow, bool), Refusal>, LedgerError> {
    let put = setup::account::Put {
        code,
        connection,
        channel,
        hotel_code,
        settings,
        version,
    };
    setup::account::put(ledger, property, by, put).await
}

/// The accounts of a property, in order of code.
pub async fn accounts(
    ledger: &Ledger,
    property: PropertyId,
) -> Result<Vec<AccountRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::account::list(&mut conn, property).await
}

/// Every account of every property.
pub async fn all_accounts(ledger: &Ledger) -> Result<Vec<AccountRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::account::list_all(&mut conn).await
}

/// The accounts behind a connection, of whichever property.
pub async fn accounts_behind(
    ledger: &Ledger,
    connection_id: ConnectionId,
) -> Result<Vec<AccountRow>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::account::list_behind(&mut conn, connection_id).await
}

/// Moves an account to another state, with its reason; raises the rules version and writes a rate
/// change over the whole horizon so that the feed marks it.
pub async fn set_account_state(
    ledger: &Ledger,
    account: AccountId,
    by: &By,
    state: AccountState,
    reason: Option<&str>,
) -> Result<(), LedgerError> {
    setup::account::set_state(ledger, account, by, state, reason).await
}

/// Says that what was sold before has been imported, or that a person waived it.
pub async fn set_import_done(
    ledger: &Ledger,
    account: AccountId,
    _by: &By,
) -> Result<(), LedgerError> {
    setup::account::set_import_done(ledger, account).await
}

/// Removes an account that is closed and told so.
pub async fn remove_account(
    ledger: &Ledger,
    account: AccountId,
    by: &By,
) -> Result<(), LedgerError> {
    setup::account::remove(ledger, account, by).await
}

/// Replaces the mappings of an account. The pair of remote codes is unique, a remote room belongs
/// to one type.
pub async fn put_mappings(
    ledger: &Ledger,
    account: AccountId,
    by: &By,
    mappings: Vec<MappingSetup>,
) -> Result<Result<Vec<MappingSetup>, Refusal>, LedgerError> {
    setup::account::put_mappings(ledger, account, by, &mappings, (None, None)).await
}

/// The mappings of an account by codes.
pub async fn mapping_codes(
    ledger: &Ledger,
    account: AccountId,
) -> Result<Vec<MappingSetup>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::mapping::codes(&mut conn, account).await
}

/// The mappings of an account by ids, and its fallback type.
pub async fn mappings(
    ledger: &Ledger,
    account: AccountId,
) -> Result<(Vec<ChannelMapping>, Option<RoomTypeId>), LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let mappings = store::mapping::ids(&mut conn, account).await?;
    Ok((
        mappings,
        store::mapping::fallback(&mut conn, account).await?,
    ))
}

/// Replaces the buffer rules of a property.
pub async fn put_buffer_rules(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    rules: Vec<BufferRule>,
) -> Result<Result<Vec<BufferRule>, Refusal>, LedgerError> {
    setup::buffer_rules::put(ledger, property, by, &rules, None).await
}

/// The buffer rules of a property.
pub async fn buffer_rules(
    ledger: &Ledger,
    property: PropertyId,
) -> Result<Vec<BufferRule>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    store::buffer_rule::list(&mut conn, property).await
}

/// Replaces the pool rules of a property.
pub async fn put_pool_rules(
    ledger: &Ledger,
    property: PropertyId,
    by: &By,
    rules: &[PoolRule],
) -> Result<Result<Vec<PoolRule>, Refusal>, LedgerError> {
    setup::pool_rules::put(ledger, property, by, rules, None).await
}

/// The pool rules of a property, in order.
pub async fn pool_rules(
    ledger: &Ledger,
    property: PropertyId,
) -> Result<Vec<PoolRule>, LedgerError> {
    let mut conn = connection::reader(ledger).await?;
    let rules = store::pool_rule::list(&mut conn, property).await?;
    Ok(rules.into_iter().map(|(_, rule)| rule).collect())
}
