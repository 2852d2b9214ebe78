//! Listings at channels: `account`.

use jiff_sqlx::Timestamp;
use keyrack_model::channel::{Account, AccountSettings, AccountState};
use keyrack_model::id::{AccountId, ChannelCode, ConnectionId, PropertyId};
use sqlx::PgConnection;
use sqlx::types::Json;

use crate::catalog::AccountRow;
use crate::error::LedgerError;

#[derive(sqlx::FromRow)]
struct Row {
    property_id: i64,
    account_id: i64,
    code: String,
    connection_id: i64,
    channel: String,
    hotel_code: String,
    state: String,
    state_since: Timestamp,
    state_reason: Option<String>,
    import_done: bool,
    settings: Json<AccountSettings>,
    version: i64,
}

/// The accounts of a property, in order of code.
pub(crate) async fn list(
    conn: &mut PgConnection,
    property: PropertyId,
) -> Result<Vec<AccountRow>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select * from account where property_id = $1 and removed_at is null order by code",
    )
    .bind(property.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing("reading accounts"))?;
    rows.into_iter().map(AccountRow::try_from).collect()
}

/// Every account of every property.
pub(crate) async fn list_all(conn: &mut PgConnection) -> Result<Vec<AccountRow>, LedgerError> {
    let rows: Vec<Row> =
        sqlx::query_as("select * from account where removed_at is null order by property_id, code")
            .fetch_all(conn)
            .await
            .map_err(LedgerError::while_doing("reading all accounts"))?;
    rows.into_iter().map(AccountRow::try_from).collect()
}

/// The accounts behind a connection.
pub(crate) async fn list_behind(
    conn: &mut PgConnection,
    connection: ConnectionId,
) -> Result<Vec<AccountRow>, LedgerError> {
    let rows: Vec<Row> = sqlx::query_as(
        "select * from account
         where connection_id = $1 and removed_at is null
         order by property_id, code",
    )
    .bind(connection.0)
    .fetch_all(conn)
    .await
    .map_err(LedgerError::while_doing(
        "reading the accounts of a connection",
    ))?;
    rows.into_iter().map(AccountRow::try_from).collect()
}

/// The account of an id.
pub(crate) async fn by_id(
    conn: &mut PgConnection,
    id: AccountId,
) -> Result<Option<AccountRow>, LedgerError> {
    let row: Option<Row> =
        sqlx::query_as("select * from account where account_id = $1 and removed_at is null")
            .bind(id.0)
            .fetch_optional(conn)
            .await
            .map_err(LedgerError::while_doing("reading an account"))?;
    row.map(AccountRow::try_from).transpose()
}

/// What is stored of an account by whoever sets it up.
pub(crate) struct Listing<'a> {
    pub code: &'a str,
    pub connection: ConnectionId,
    pub channel: &'a str,
    pub hotel_code: &'a str,
    pub settings: &'a AccountSettings,
}

/// Makes an account in `setup`. One that was removed under the same code comes back as it was set
/// up now: its references are known again. A listing that another account has is an error of
/// `account_listing_is_unique`, a connection that is not there of `account_connection_id_fkey`.
pub(crate) async fn insert(
    conn: &mut PgConnection,
    property: PropertyId,
    listing: &Listing<'_>,
) -> Result<(), LedgerError> {
    sqlx::query(
        "insert into account (property_id, code, connection_id, channel, hotel_code, settings)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (property_id, code) do update
         set connection_id = excluded.connection_id, channel = excluded.channel,
             hotel_code = excluded.hotel_code, settings = excluded.settings, state = 'setup',
             state_since = ledger_now(), state_reason = null, import_done = false,
             removed_at = null, version = account.version + 1",
    )
    .bind(property.0)
    .bind(listing.code)
    .bind(listing.connection.0)
    .bind(listing.channel)
    .bind(listing.hotel_code)
    .bind(Json(listing.settings))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("making an account"))?;
    Ok(())
}

/// Changes an account and counts its version up; the same constraints speak.
pub(crate) async fn update(
    conn: &mut PgConnection,
    id: AccountId,
    listing: &Listing<'_>,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update account
         set connection_id = $2, channel = $3, hotel_code = $4, settings = $5,
             version = version + 1
         where account_id = $1",
    )
    .bind(id.0)
    .bind(listing.connection.0)
    .bind(listing.channel)
    .bind(listing.hotel_code)
    .bind(Json(listing.settings))
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("changing an account"))?;
    Ok(())
}

/// Moves an account to a state.
pub(crate) async fn set_state(
    conn: &mut PgConnection,
    id: AccountId,
    state: AccountState,
    reason: Option<&str>,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update account
         set state_since = case when state = $2 then state_since else ledger_now() end,
             state = $2, state_reason = $3, version = version + 1
         where account_id = $1",
    )
    .bind(id.0)
    .bind(state.as_str())
    .bind(reason)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("moving an account to a state"))?;
    Ok(())
}

/// Says that what was sold before is in.
pub(crate) async fn set_import_done(
    conn: &mut PgConnection,
    id: AccountId,
) -> Result<(), LedgerError> {
    sqlx::query(
        "update account set import_done = true, version = version + 1 where account_id = $1",
    )
    .bind(id.0)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("noting an import"))?;
    Ok(())
}

/// Removes an account from sight. Its row stays for the references that it brought.
pub(crate) async fn remove(conn: &mut PgConnection, id: AccountId) -> Result<(), LedgerError> {
    sqlx::query(
        "update account set removed_at = ledger_now(), version = version + 1 where account_id = $1",
    )
    .bind(id.0)
    .execute(conn)
    .await
    .map_err(LedgerError::while_doing("removing an account"))?;
    Ok(())
}

impl TryFrom<Row> for AccountRow {
    type Error = LedgerError;

    fn try_from(row: Row) -> Result<Self, LedgerError> {
        let state = AccountState::from_name(&row.state)
            .ok_or_else(|| LedgerError::Unreadable(format!("the state {:?}", row.state)))?;
        Ok(Self {
            account: Account {
                id: AccountId(row.account_id),
                property: PropertyId(row.property_id),
                code: row.code,
                connection: ConnectionId(row.connection_id),
                channel: ChannelCode::from(row.channel),
                hotel_code: row.hotel_code,
                state,
                settings: row.settings.0,
            },
            version: row.version,
            state_since: row.state_since.to_jiff(),
            state_reason: row.state_reason,
            import_done: row.import_done,
        })
    }
}
