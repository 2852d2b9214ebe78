//! Looking at what is marked: the present cells, what was told, and what has been heard.

use std::collections::HashMap;

use jiff::Timestamp;
use keyrack_ledger::catalog;
use keyrack_ledger::tail::{self, Listing, Reckoning};
use keyrack_model::adapter::Goal;
use keyrack_model::ari::AriKey;
use keyrack_model::channel::{Account, Capabilities, ChannelMapping};
use keyrack_model::stay::{StayDate, plus_days};

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::push::plan::{self, Ear, Plan};
use crate::push::plans;
use crate::push::urgency::{Hearing, POLL_FRESH_SECONDS};
use crate::store::mark::Mark;
use crate::store::push_state::{Bell, Turn};
use crate::store::{clock, mark, poll, told};

/// An account with everything that telling it needs.
pub(crate) struct Listener {
    /// The account.
    pub(crate) account: Account,
    /// Its mappings.
    pub(crate) mappings: Vec<ChannelMapping>,
    /// Its channel's abilities.
    pub(crate) capabilities: &'static Capabilities,
    /// How it listens.
    pub(crate) ear: Ear,
}

impl Listener {
    /// What the ledger is asked with.
    pub(crate) fn listing(&self) -> Listing<'_> {
        Listing {
            account: &self.account,
            mappings: &self.mappings,
            capabilities: self.capabilities,
        }
    }
}

/// The account of a turn, with what is known of it now; `None` where it is gone or its channel is
/// spoken no more.
pub(crate) async fn account(
    distribution: &Distribution,
    turn: &Turn,
    started_at: Timestamp,
) -> Result<Option<Listener>, DistributionError> {
    let (inner, bell) = (&distribution.inner, turn.bell);
    let rows = catalog::accounts(&inner.ledger, bell.property).await?;
    let Some(row) = rows.into_iter().find(|row| row.account.id == bell.account) else {
        return Ok(None);
    };
    let Some(adapter) = inner.channels.find(&row.account.channel) else {
        return Ok(None);
    };
    let capabilities = adapter.capabilities();
    let (mappings, _) = catalog::mappings(&inner.ledger, row.account.id).await?;
    let now = clock::now(&inner.pool).await?;
    let outage = turn.last_failed_at.unwrap_or(started_at);
    let hearing = Hearing {
        now,
        polled_at: polled_at(distribution, bell).await?,
        quiet_since: started_at.max(row.state_since).max(outage),
    };
    let ear = Ear {
        capabilities,
        hearing,
        scarcity_rooms: row.account.settings.scarcity_rooms,
        gather_seconds: row.account.settings.gather_seconds,
        is_throttled: turn.is_throttled,
    };
    Ok(Some(Listener {
        account: row.account,
        mappings,
        capabilities,
        ear,
    }))
}

/// When the last complete poll of an account began.
pub(crate) async fn polled_at(
    distribution: &Distribution,
    bell: Bell,
) -> Result<Option<Timestamp>, DistributionError> {
    let states = poll::states(&distribution.inner.pool, bell.connection).await?;
    let asked = states.into_iter().find(|state| state.goal == Goal::Poll);
    Ok(asked.and_then(|state| state.last_complete_begun_at))
}

/// Marks that are due, the raises that waited long enough among them.
pub(crate) async fn due(
    distribution: &Distribution,
    listener: &Listener,
) -> Result<Vec<Mark>, DistributionError> {
    let inner = &distribution.inner;
    let hearing = listener.ear.hearing;
    let limit = i64::from(inner.settings.push_marks_max);
    let risen_before = risen_before(listener.capabilities, hearing);
    let risen_before = risen_before.filter(|_| !listener.ear.is_throttled);
    mark::due(
        &inner.pool,
        listener.account.id,
        hearing.now,
        risen_before,
        limit,
    )
    .await
}

/// Marks made before this instant may rise.
fn risen_before(capabilities: &Capabilities, hearing: Hearing) -> Option<Timestamp> {
    if capabilities.is_polled {
        return hearing.polled_at.filter(|polled| {
            let age = hearing.now.duration_since(*polled).as_secs();
            *polled > hearing.quiet_since && age <= POLL_FRESH_SECONDS
        });
    }
    let lag = settle_seconds(capabilities);
    let lag = jiff::SignedDuration::from_secs(lag.into());
    let before = hearing.now.saturating_sub(lag).ok()?;
    (before >= hearing.quiet_since).then(|| {
        let tick = jiff::SignedDuration::from_micros(1);
        before.saturating_add(tick).unwrap_or(before)
    })
}

/// The declared lag of a channel that cannot be polled.
pub(crate) fn settle_seconds(capabilities: &Capabilities) -> u32 {
    capabilities
        .settle_seconds
        .unwrap_or(capabilities.fallback_seconds)
}

/// What becomes of marks: the present cells are computed here and now.
/// What they rest on comes with them, for those that are told.
pub(crate) async fn plan<'a>(
    distribution: &Distribution,
    listener: &Listener,
    listing: &'a Listing<'a>,
    marks: Vec<Mark>,
) -> Result<(Plan, Reckoning<'a>), DistributionError> {
    let inner = &distribution.inner;
    let keys: Vec<AriKey> = marks.iter().map(|mark| mark.key).collect();
    let reckoning = tail::reckon(&inner.ledger, listing, &keys).await?;
    let mut cells = reckoning.cells(&keys);
    let shown: HashMap<_, _> = told::load(&inner.pool, listener.account.id, &keys).await?;
    let nights = nights(distribution, listener).await?;
    cells.retain(|cell| {
        let is_open = shown
            .get(&cell.key)
            .is_some_and(|told| told.shown.openness_max > 0);
        is_told(nights, cell.key.night, is_open)
    });
    let turned = plans::turned(distribution, listener, &marks, &cells).await?;
    let plan = Plan {
        turned,
        ..plan::plan(marks, cells, &shown, &listener.ear)
    };
    Ok((plan, reckoning))
}

/// The nights that an account is told of: business day, and the end of its horizon.
async fn nights(
    distribution: &Distribution,
    listener: &Listener,
) -> Result<(StayDate, StayDate), DistributionError> {
    let (ledger, account) = (&distribution.inner.ledger, &listener.account);
    let (day, end) = tail::business_day(ledger, account.property).await?;
    let own = account.settings.horizon_days.unwrap_or(i32::MAX);
    let ahead = own.min(listener.capabilities.horizon_nights_max).max(0);
    Ok((day, end.min(plus_days(day, ahead.min(NIGHTS_AHEAD_MAX)))))
}

/// A channel refuses nights that are past or too far ahead; one that stands open there, since the
/// horizon has shrunk, is closed all the same.
fn is_told((day, end): (StayDate, StayDate), night: StayDate, is_open: bool) -> bool {
    day <= night && (night < end || is_open)
}

/// No horizon is longer.
const NIGHTS_AHEAD_MAX: i32 = 2_100;
