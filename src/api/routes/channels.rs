//! The channels that are built in, and the connections to them.

use axum::Json;
use axum::extract::State;
use jiff::Timestamp;
use keyrack_distribution::connections::{self, ConnectionSetup, ConnectionView, Credentials};
use keyrack_model::channel::Capabilities;
use keyrack_model::id::ChannelCode;
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::auth::{Anywhere, Looks, WholeHouse};
use crate::conditional::{IfMatch, Versioned};
use crate::extract::{Body, Segments};
use crate::page::Page;
use crate::problem::{Problem, Problems};
use crate::state::ApiState;
use crate::wire::Wrongs;

/// The routes of this file.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::new()
        .routes(routes!(channels))
        .routes(routes!(list))
        .routes(routes!(show, put))
}

/// A channel that is built in.
#[derive(Debug, Serialize, ToSchema)]
struct ChannelView {
    /// Its code.
    code: String,
    /// What it can do.
    capabilities: CapabilitiesView,
}

/// What a channel can do.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Capabilities)]
struct CapabilitiesView {
    /// Asked by us for reservations; else it delivers them by itself.
    is_polled: bool,
    /// One poll answers for all hotels of a connection.
    polls_whole_connection: bool,
    /// Seconds from one complete poll to the next.
    poll_seconds: u32,
    /// Seconds after which a message that was not acknowledged falls back to e-mail.
    fallback_seconds: u32,
    /// A revision is the whole new state.
    snapshot_revisions: bool,
    /// Takes single nights.
    takes_deltas: bool,
    /// Takes complete sets.
    takes_complete_sets: bool,
    /// Takes prices.
    takes_rates: bool,
    /// Knows rate plans below the room.
    knows_rate_plans: bool,
    /// Restrictions that it can express.
    #[schema(value_type = Vec<String>)]
    restrictions: Value,
    /// Reopens a night by itself when a guest cancels there.
    reopens_by_itself: bool,
    /// The largest number of rooms it can be told.
    rooms_max: i32,
    /// Nights ahead that it takes at most.
    horizon_nights_max: i32,
    /// Requests per minute and connection.
    requests_per_minute: u32,
}

/// The channels that are built in, with what they can do.
#[utoipa::path(get, path = "/v1/channels", tag = "channels",
    responses((status = 200, body = Page<ChannelView>), Problems))]
async fn channels(
    State(state): State<ApiState>,
    _: Anywhere<Looks>,
) -> Result<Json<Page<ChannelView>>, Problem> {
    let adapters = state.distribution().channels().iter();
    let views = adapters.map(|adapter| ChannelView {
        code: adapter.channel().to_string(),
        capabilities: adapter.capabilities().into(),
    });
    Ok(Json(Page::whole(views.collect())))
}

/// Which connection.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
struct ConnectionPath {
    /// Code of the connection: 1 to 40 of `A-Z a-z 0-9 . _ -`.
    connection: String,
}

/// One login at a channel, for one hotel or many.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ConnectionBody {
    /// Code of the channel; it cannot be changed later.
    channel: String,
    /// Base address in place of the channel's own.
    endpoint: Option<String>,
    /// The login; left out in a change, it stays as it is. It is never given back.
    credentials: Option<CredentialsBody>,
    /// `client_id` where the channel asks for one beside the login; and `poll_seconds`,
    /// `settle_after_acknowledge_seconds`, `missed_seconds`, `requests_per_minute` to pace it other
    /// than its channel says.
    #[serde(default)]
    #[schema(value_type = std::collections::HashMap<String, Value>, required = false)]
    settings: Map<String, Value>,
}

/// The login at a channel.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct CredentialsBody {
    /// User, or `client_id`.
    #[serde(alias = "client_id", alias = "username")]
    user: String,
    /// Password, or `client_secret`.
    #[serde(alias = "client_secret", alias = "password")]
    #[schema(value_type = String, format = Password, write_only)]
    secret: SecretString,
}

/// A connection as it is shown: without its secrets.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Connection)]
struct ConnectionShown {
    /// Its code.
    code: String,
    /// Code of the channel.
    channel: String,
    /// Base address in place of the channel's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    endpoint: Option<String>,
    /// The channel's own keys, and its pace.
    #[schema(value_type = std::collections::HashMap<String, Value>)]
    settings: Value,
    /// When signing in last succeeded.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    signed_in_at: Option<Timestamp>,
    /// When it was made.
    created_at: Timestamp,
    /// Counts changes; also the ETag.
    version: i64,
}

/// Makes or changes a connection.
#[utoipa::path(put, path = "/v1/connections/{connection}", tag = "channels",
    params(ConnectionPath), request_body = ConnectionBody,
    responses((status = 200, body = ConnectionShown), (status = 201, body = ConnectionShown),
        Problems))]
async fn put(
    State(state): State<ApiState>,
    _: WholeHouse,
    Segments(path): Segments<ConnectionPath>,
    IfMatch(version): IfMatch,
    body: Body<ConnectionBody>,
) -> Result<Versioned<ConnectionShown>, Problem> {
    let body = body.value;
    body.check()?;
    let setup = ConnectionSetup {
        channel: ChannelCode::from(body.channel),
        endpoint: body.endpoint,
        credentials: body.credentials.map(|told| Credentials {
            user: told.user,
            secret: told.secret,
        }),
        settings: Value::Object(body.settings),
    };
    let put = connections::put(state.distribution(), &path.connection, setup, version);
    let (connection, is_new) = put.await??;
    Ok(Versioned::put(
        connection.version,
        is_new,
        connection.into(),
    ))
}

impl ConnectionBody {
    fn check(&self) -> Result<(), Problem> {
        let mut wrongs = Wrongs::default();
        if let Some(endpoint) = &self.endpoint {
            wrongs.longest(Some(endpoint), 500, "/endpoint");
            let message = "an address as https://portal.example/path, without a login in it";
            wrongs.unless(is_address(endpoint), "/endpoint", message);
        }
        if let Some(credentials) = &self.credentials {
            wrongs.named(&credentials.user, 500, "/credentials/user");
            let secret = credentials.secret.expose_secret();
            wrongs.named(secret, 4_000, "/credentials/secret");
        }
        for (key, value) in &self.settings {
            let pointer = format!("/settings/{key}");
            if let Some((_, least, most)) = PACE.iter().find(|(name, ..)| name == key) {
                let is_number = value
                    .as_u64()
                    .is_some_and(|n| (*least..=*most).contains(&n));
                let message = format!("a whole number from {least} to {most}");
                wrongs.unless(is_number || value.is_null(), pointer, &message);
            } else if CHANNELS_OWN.contains(&key.as_str()) {
                match value.as_str() {
                    Some(text) => wrongs.named(text, 200, pointer),
                    None => wrongs.add(pointer, "must be a text"),
                }
            } else {
                let paces = PACE.iter().map(|(name, ..)| *name);
                let known: Vec<&str> = paces.chain(CHANNELS_OWN).collect();
                let message = format!("there is no such setting; known are {}", known.join(", "));
                wrongs.add(pointer, message);
            }
        }
        wrongs.finish()
    }
}

/// Whether it is an address that can be called, and holds no login: that would be shown.
fn is_address(text: &str) -> bool {
    let read: Result<http::Uri, _> = text.parse();
    read.is_ok_and(|uri| {
        let is_web = matches!(uri.scheme_str(), Some("https" | "http"));
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        is_web
            && has_host
            && uri
                .authority()
                .is_none_or(|own| !own.as_str().contains('@'))
    })
}

/// Settings that pace a connection, with the least and the most.
const PACE: [(&str, u64, u64); 4] = [
    ("poll_seconds", 1, 86_400),
    ("settle_after_acknowledge_seconds", 0, 86_400),
    ("missed_seconds", 1, 86_400),
    ("requests_per_minute", 1, 1_000_000),
];

/// Settings that a channel's dialect reads itself: the client's id in AlpineBits.
const CHANNELS_OWN: [&str; 1] = ["client_id"];

/// A connection.
#[utoipa::path(get, path = "/v1/connections/{connection}", tag = "channels",
    params(ConnectionPath), responses((status = 200, body = ConnectionShown), Problems))]
async fn show(
    State(state): State<ApiState>,
    _: WholeHouse,
    Segments(path): Segments<ConnectionPath>,
) -> Result<Versioned<ConnectionShown>, Problem> {
    let found = connections::find(state.distribution(), &path.connection).await?;
    let found = found.ok_or_else(|| Problem::not_found("connection"))?;
    Ok(Versioned::of(found.version, found.into()))
}

/// Every connection, in order of code.
#[utoipa::path(get, path = "/v1/connections", tag = "channels",
    responses((status = 200, body = Page<ConnectionShown>), Problems))]
async fn list(
    State(state): State<ApiState>,
    _: WholeHouse,
) -> Result<Json<Page<ConnectionShown>>, Problem> {
    let found = connections::list(state.distribution()).await?;
    Ok(Json(Page::whole(
        found.into_iter().map(ConnectionShown::from).collect(),
    )))
}

impl From<ConnectionView> for ConnectionShown {
    fn from(view: ConnectionView) -> Self {
        Self {
            code: view.code,
            channel: view.channel.to_string(),
            endpoint: view.endpoint,
            settings: view.settings,
            signed_in_at: view.signed_in_at,
            created_at: view.created_at,
            version: view.version,
        }
    }
}

impl From<&'static Capabilities> for CapabilitiesView {
    fn from(told: &'static Capabilities) -> Self {
        Self {
            is_polled: told.is_polled,
            polls_whole_connection: told.polls_whole_connection,
            poll_seconds: told.poll_seconds,
            fallback_seconds: told.fallback_seconds,
            snapshot_revisions: told.snapshot_revisions,
            takes_deltas: told.takes_deltas,
            takes_complete_sets: told.takes_complete_sets,
            takes_rates: told.takes_rates,
            knows_rate_plans: told.knows_rate_plans,
            restrictions: serde_json::to_value(told.restrictions).unwrap_or_default(),
            reopens_by_itself: told.reopens_by_itself,
            rooms_max: told.rooms_max,
            horizon_nights_max: told.horizon_nights_max,
            requests_per_minute: told.requests_per_minute,
        }
    }
}
