//! Remote codes that a change of mappings left behind are closed before anything else is told.

use keyrack_ledger::tail;
use keyrack_model::adapter::{Outcome, Verdict};
use keyrack_model::ari::{AriPush, AriSpan, AriValues};
use keyrack_model::stay::{StayRange, plus_days};

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::pace;
use crate::push::backoff::due_after_ms;
use crate::push::deliver::{Round, fail};
use crate::push::exchange::{Sent, exchange};
use crate::push::look::Listener;
use crate::sign_in::Login;
use crate::store::push_state::Turn;
use crate::store::retired_code::RetiredCode;
use crate::store::{retired_code, told};

/// Closes retired codes, the first message of them.
pub(crate) async fn close(
    distribution: &Distribution,
    turn: &Turn,
    listener: &Listener,
    login: &mut Login,
    retired: &[RetiredCode],
) -> Result<Round, DistributionError> {
    let inner = &distribution.inner;
    let (day, end) = tail::business_day(&inner.ledger, listener.account.property).await?;
    let farthest = plus_days(day, listener.capabilities.horizon_nights_max);
    let nights = StayRange::new(day, end.min(farthest));
    let mut open = Vec::new();
    for code in retired {
        // A set replaces all that is known: a code that is not in it is closed by that.
        let needs_message = listener.capabilities.takes_deltas && !is_mapped(listener, code);
        match nights.filter(|_| needs_message) {
            Some(nights) => open.push((code, nights)),
            None => done(distribution, listener, code, day).await?,
        }
    }
    open.truncate(listener.capabilities.spans_per_message_max.max(1));
    if open.is_empty() {
        return Ok(Round::More);
    }
    let push = AriPush {
        hotel_code: listener.account.hotel_code.clone(),
        complete: false,
        spans: open
            .iter()
            .map(|(code, nights)| span(code, *nights))
            .collect(),
    };
    pace::until_free(distribution, login).await?;
    let verdict = match exchange(distribution, login, &push).await? {
        Sent::Judged { verdict, .. } => verdict,
        Sent::Unrendered(error) => Verdict::of(Outcome::Refused, error.why),
        Sent::Unknown(why) | Sent::Unsent(why) => {
            fail(distribution, turn, "unknown", why).await?;
            return Ok(Round::Stopped);
        }
    };
    match verdict.outcome {
        Outcome::Accepted | Outcome::Partly | Outcome::Refused => {
            for (index, (code, _)) in open.iter().enumerate() {
                match refusal(&verdict, index) {
                    Some(why) => again(distribution, listener, code, &why, day).await?,
                    None => done(distribution, listener, code, day).await?,
                }
            }
            Ok(Round::More)
        }
        Outcome::Later { .. } | Outcome::Stale | Outcome::Unauthenticated => {
            let why = verdict.why.unwrap_or_else(|| "no reason given".into());
            fail(distribution, turn, "later", why).await?;
            Ok(Round::Stopped)
        }
    }
}

/// The code stands again for what it stood for: the change of mappings did not come about, or was
/// taken back.
fn is_mapped(listener: &Listener, code: &RetiredCode) -> bool {
    listener.mappings.iter().any(|mapping| {
        let is_room = code.channel_rate_code.is_empty();
        let same_room = mapping.channel_room_code == code.channel_room_code
            && mapping.room_type.0 == code.room_type_id;
        let same_rate = mapping.channel_rate_code.as_deref() == Some(&*code.channel_rate_code)
            && mapping.rate_plan.map_or(0, |plan| plan.0) == code.rate_plan_id;
        same_room && (is_room || same_rate)
    })
}

fn span(code: &RetiredCode, nights: StayRange) -> AriSpan {
    let rate = Some(code.channel_rate_code.clone()).filter(|rate| !rate.is_empty());
    AriSpan {
        nights,
        channel_room_code: code.channel_room_code.clone(),
        values: AriValues {
            rooms: rate.is_none().then_some(0),
            closed: true,
            ..AriValues::default()
        },
        channel_rate_code: rate,
    }
}

/// Why a span was refused; `None` where it was taken.
fn refusal(verdict: &Verdict, index: usize) -> Option<String> {
    let named = verdict
        .refused
        .iter()
        .find(|part| part.span.is_none_or(|span| span == index));
    match (verdict.outcome, named) {
        (Outcome::Accepted, _) | (Outcome::Partly, None) => None,
        (_, Some(part)) => Some(part.why.clone()),
        (_, None) => Some(verdict.why.clone().unwrap_or_else(|| "refused".into())),
    }
}

/// The code is closed; what its type was told is forgotten where it has no other code.
async fn done(
    distribution: &Distribution,
    listener: &Listener,
    code: &RetiredCode,
    day: jiff::civil::Date,
) -> Result<(), DistributionError> {
    let (pool, account) = (&distribution.inner.pool, listener.account.id);
    let has_other = listener.mappings.iter().any(|mapping| {
        let same_plan = mapping.rate_plan.map_or(0, |plan| plan.0) == code.rate_plan_id;
        mapping.room_type.0 == code.room_type_id && (code.rate_plan_id == 0 || same_plan)
    });
    if !has_other {
        told::forget_code(pool, account, code.room_type_id, code.rate_plan_id, day).await?;
    }
    retired_code::closed(pool, account, code).await
}

/// The channel did not close it: again later, and given up in the end, since a code that the
/// channel itself has removed can never be closed.
async fn again(
    distribution: &Distribution,
    listener: &Listener,
    code: &RetiredCode,
    why: &str,
    day: jiff::civil::Date,
) -> Result<(), DistributionError> {
    let account = listener.account.id;
    if code.attempt >= ATTEMPTS_MAX {
        tracing::error!(
            account.id = %account,
            channel.room_code = code.channel_room_code,
            why,
            "a remote code that is mapped no more could not be closed: close it at the channel"
        );
        return done(distribution, listener, code, day).await;
    }
    let seed = u64::try_from(account.0).unwrap_or(0);
    let attempt = u32::try_from(code.attempt).unwrap_or(0).saturating_add(1);
    let wait_ms = due_after_ms(attempt, None, seed);
    retired_code::failed(&distribution.inner.pool, account, code, why, wait_ms).await
}

/// Tries of closing a code, over about half an hour.
const ATTEMPTS_MAX: i32 = 12;
