//! An account as it is shown: what it is, how it stands, how far it lags.

use jiff::Timestamp;
use keyrack_distribution::Distribution;
use keyrack_distribution::accounts::standing::State;
use keyrack_distribution::accounts::status::{self, Lag, Status};
use keyrack_distribution::connections;
use keyrack_ledger::catalog::AccountRow;
use keyrack_model::channel::AccountSettings;
use serde::Serialize;
use utoipa::ToSchema;

use crate::problem::Problem;
use crate::wire::Day;

/// An account and how it does.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Account)]
pub struct AccountView {
    /// Its code.
    code: String,
    /// Code of its connection.
    connection: String,
    /// Code of its channel.
    channel: String,
    /// The channel's code of the hotel.
    hotel_code: String,
    /// How it wants to be told.
    #[schema(value_type = AccountSettingsShape)]
    settings: AccountSettings,
    /// What was sold before has been imported, or that was waived.
    import_done: bool,
    /// How it stands.
    #[schema(value_type = AccountStateShape)]
    state: State,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    reason: Option<String>,
    /// Since when.
    since: Timestamp,
    /// Being ended, since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    removing_since: Option<Timestamp>,
    /// Told no more than it was, since then: a buffer rule of `safety` binds it, and it does not
    /// take what it is told or cannot be asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    throttled_since: Option<Timestamp>,
    /// Cells still to be told, and changes of the property that nobody has looked at yet: at 0 the
    /// channel has been told all that is true.
    queue_depth: i64,
    /// Of these, changes; the others are repeats.
    queue_changes: i64,
    /// Since when the oldest change is untold.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    untold_since: Option<Timestamp>,
    /// From a change of the ledger to its acknowledgement; first and full tellings answer no change
    /// and are left out.
    lag: LagView,
    /// The same of what lowers or closes, which never waits for a poll.
    lag_lowering: LagView,
    /// The last push that was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_push_at: Option<Timestamp>,
    /// The last push that was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_failed_push_at: Option<Timestamp>,
    /// The last complete poll.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    last_poll_at: Option<Timestamp>,
    /// Nights on which the channel may show more than there is; nearest first.
    nights_at_risk: Vec<NightAtRiskView>,
    /// Cells that the channel refused; nearest first.
    refused: Vec<RefusedCellView>,
    /// Codes of the channel that no mapping knows.
    unmapped_codes: Vec<UnmappedCodeView>,
    /// The newest messages to the channel.
    pushes: Vec<PushView>,
    /// Counts changes; also the ETag.
    version: i64,
}

/// An account in a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct AccountBrief {
    /// Its code.
    code: String,
    /// Code of its channel.
    channel: String,
    /// The channel's code of the hotel.
    hotel_code: String,
    /// What the hotel set: `setup`, `live`, `paused`, `closed`. How it does is told one by one.
    state: &'static str,
    /// Since when.
    since: Timestamp,
    /// Counts changes.
    version: i64,
}

/// From a change of the ledger to its acknowledgement, over the last changes told.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Lag)]
struct LagView {
    /// Changes looked at, cell by cell.
    count: i64,
    /// Half took no longer.
    p50_ms: i64,
    /// 95 of a hundred took no longer.
    p95_ms: i64,
    /// 99 of a hundred took no longer.
    p99_ms: i64,
}

/// A night on which the channel may show more than there is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = NightAtRisk)]
struct NightAtRiskView {
    /// Code of the room type.
    room_type: String,
    /// The night.
    stay_date: Day,
    /// Rooms that the channel may show.
    shown: i32,
    /// Rooms that it should show.
    truth: i32,
    /// When it was told that last.
    sent_at: Timestamp,
}

/// A cell that the channel refused.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RefusedCell)]
struct RefusedCellView {
    /// Code of the room type.
    room_type: String,
    /// Code of the rate plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rate_plan: Option<String>,
    /// The night.
    stay_date: Day,
    /// How often.
    attempts: i32,
    /// The channel's words.
    why: String,
    /// When it is tried again.
    due_at: Timestamp,
}

/// A code of the channel that no mapping knows.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UnmappedCode)]
struct UnmappedCodeView {
    /// The channel's code of the room.
    channel_room_code: String,
    /// The channel's code of the rate; absent where the room alone is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    channel_rate_code: Option<String>,
}

/// A message to the channel.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Push)]
struct PushView {
    /// When it left.
    at: Timestamp,
    /// Cells in it.
    cells: i32,
    /// `sent`, `accepted`, `partly`, `later`, `refused`, `unknown` …
    outcome: String,
    /// In the channel's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    why: Option<String>,
    /// The channel's own id of the exchange, for its support.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    trace: Option<String>,
    /// How long the answer took.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    duration_ms: Option<i64>,
}

/// How an account wants to be told; each key is optional.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountSettings)]
pub struct AccountSettingsShape {
    /// Gather changes for so many seconds before a raise is told; lowering never waits. 0.
    #[schema(required = false)]
    gather_seconds: u32,
    /// Local hour of the property (0 to 23) of the daily full resync. 3.
    #[schema(required = false, maximum = 23)]
    resync_hour: u8,
    /// Nights ahead that are told.
    #[schema(required = false)]
    horizon_days: Option<i32>,
    /// Code of the room type that unmapped rooms take.
    #[schema(required = false)]
    fallback_room_type: Option<String>,
    /// Hundredths of a percent on top of each rate. 0.
    #[schema(required = false)]
    markup_percent_hundredths: i64,
    /// What to do with restrictions that the channel cannot express. `close`.
    #[schema(required = false)]
    inexpressible: InexpressibleShape,
    /// Repeating a number on a night with so many rooms or fewer waits for a complete poll. 2.
    #[schema(required = false)]
    scarcity_rooms: i32,
}

/// What to do with a restriction that the channel cannot express.
#[derive(Serialize, ToSchema)]
#[schema(as = Inexpressible)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's enum in the OpenAPI document"
)]
enum InexpressibleShape {
    /// Close the night there.
    Close,
    /// Tell something stricter that it can express.
    Approximate,
    /// The hotel keeps it at the channel by hand.
    KeptAtChannel,
}

/// How an account stands.
#[derive(Serialize, ToSchema)]
#[schema(as = AccountState)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's enum in the OpenAPI document"
)]
enum AccountStateShape {
    /// Polls and records, tells nothing.
    Setup,
    /// Told and polled, all well.
    Ok,
    /// Told and polled, with something that staff should look at.
    Degraded,
    /// A person must act.
    Failing,
    /// Pushes rest.
    Paused,
    /// Told zero and closed everywhere.
    Closed,
}

impl AccountView {
    /// The account as it stands now.
    pub async fn load(distribution: &Distribution, row: AccountRow) -> Result<Self, Problem> {
        let connection = connections::find_by_id(distribution, row.account.connection).await?;
        let status = status::load(distribution, &row).await?;
        let connection = connection.map(|found| found.code).unwrap_or_default();
        Ok(Self::new(row, connection, status))
    }

    fn new(row: AccountRow, connection: String, status: Status) -> Self {
        let risks = status.nights_at_risk.into_iter();
        let refused = status.refused.into_iter();
        let unmapped = status.unmapped.into_iter();
        let pushes = status.messages.into_iter();
        Self {
            code: row.account.code,
            connection,
            channel: row.account.channel.to_string(),
            hotel_code: row.account.hotel_code,
            settings: row.account.settings,
            import_done: row.import_done,
            state: status.state,
            reason: status.reason,
            since: status.since,
            removing_since: status.removing_since,
            throttled_since: status.throttled_since,
            queue_depth: status.queue_depth,
            queue_changes: status.queue_changes,
            untold_since: status.untold_since,
            lag: status.lag.into(),
            lag_lowering: status.lag_lowering.into(),
            last_push_at: status.last_push_at,
            last_failed_push_at: status.last_failed_push_at,
            last_poll_at: status.last_poll_at,
            nights_at_risk: risks.map(NightAtRiskView::from).collect(),
            refused: refused.map(RefusedCellView::from).collect(),
            unmapped_codes: unmapped.map(UnmappedCodeView::from).collect(),
            pushes: pushes.map(PushView::from).collect(),
            version: row.version,
        }
    }
}

impl From<AccountRow> for AccountBrief {
    fn from(row: AccountRow) -> Self {
        Self {
            code: row.account.code,
            channel: row.account.channel.to_string(),
            hotel_code: row.account.hotel_code,
            state: row.account.state.as_str(),
            since: row.state_since,
            version: row.version,
        }
    }
}

impl From<Lag> for LagView {
    fn from(lag: Lag) -> Self {
        Self {
            count: lag.count,
            p50_ms: lag.p50_ms,
            p95_ms: lag.p95_ms,
            p99_ms: lag.p99_ms,
        }
    }
}

impl From<status::NightAtRisk> for NightAtRiskView {
    fn from(night: status::NightAtRisk) -> Self {
        Self {
            room_type: night.room_type,
            stay_date: Day(night.night),
            shown: night.shown,
            truth: night.truth,
            sent_at: night.sent_at,
        }
    }
}

impl From<status::RefusedCell> for RefusedCellView {
    fn from(cell: status::RefusedCell) -> Self {
        Self {
            room_type: cell.room_type,
            rate_plan: cell.rate_plan,
            stay_date: Day(cell.night),
            attempts: cell.attempts,
            why: cell.why,
            due_at: cell.due_at,
        }
    }
}

impl From<keyrack_distribution::messages::UnmappedCode> for UnmappedCodeView {
    fn from(code: keyrack_distribution::messages::UnmappedCode) -> Self {
        Self {
            channel_room_code: code.channel_room_code,
            channel_rate_code: Some(code.channel_rate_code).filter(|code| !code.is_empty()),
        }
    }
}

impl From<status::Message> for PushView {
    fn from(message: status::Message) -> Self {
        Self {
            at: message.at,
            cells: message.cells,
            outcome: message.outcome,
            why: message.why,
            trace: message.trace,
            duration_ms: message.duration_ms,
        }
    }
}
