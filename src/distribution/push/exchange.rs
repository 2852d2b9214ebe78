//! One push over the wire: render, wait for the quota, send, judge; signing in once more where the
//! channel demands it.

use keyrack_model::adapter::{Demand, Outcome, RefusedPart, RenderError, Verdict};
use keyrack_model::ari::AriPush;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::pace;
use crate::sign_in::{self, Login};

/// How a push went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// The channel answered every message, or refused one.
    Judged {
        /// Of the whole.
        verdict: Verdict,
        /// A message before the one that was refused had been taken.
        is_begun: bool,
    },
    /// No answer: it may have arrived.
    Unknown(String),
    /// It cannot have arrived.
    Unsent(String),
    /// It could not be written.
    Unrendered(RenderError),
}

/// Sends what `push` renders to, message after message, until one is not taken.
///
/// The first message goes at once: its permit has been waited for, so that the numbers are those
/// of the moment of sending.
pub(crate) async fn exchange(
    distribution: &Distribution,
    login: &mut Login,
    push: &AriPush,
) -> Result<Sent, DistributionError> {
    let inner = &distribution.inner;
    let mut renewals = 0;
    let mut sum = Verdict::of(Outcome::Accepted, None);
    let mut index = 0;
    loop {
        let outbounds = match login.adapter.render(push, &login.session) {
            Ok(outbounds) => outbounds,
            Err(error) if error.demand == Some(Demand::SignIn) && renewals == 0 => {
                renewals += 1;
                match sign_in::renew(distribution, login).await {
                    Ok(fresh) => *login = fresh,
                    Err(error) => return Ok(Sent::Unsent(error.chain())),
                }
                continue;
            }
            Err(error) => return Ok(Sent::Unrendered(error)),
        };
        let Some(outbound) = outbounds.get(index) else {
            return Ok(Sent::Judged {
                verdict: sum,
                is_begun: false,
            });
        };
        if index > 0 || renewals > 0 {
            pace::until_free(distribution, login).await?;
        }
        let reply = match inner.transport.send(outbound).await {
            Ok(reply) => reply,
            Err(error) if error.may_have_been_applied() => {
                return Ok(Sent::Unknown(DistributionError::from(error).chain()));
            }
            Err(error) if index == 0 => {
                return Ok(Sent::Unsent(DistributionError::from(error).chain()));
            }
            Err(error) => return Ok(Sent::Unknown(DistributionError::from(error).chain())),
        };
        let verdict = login.adapter.judge(outbound, &reply);
        if verdict.outcome == Outcome::Unauthenticated && renewals == 0 {
            renewals += 1;
            if let Ok(fresh) = sign_in::renew(distribution, login).await {
                *login = fresh;
                continue;
            }
        }
        let is_taken = matches!(verdict.outcome, Outcome::Accepted | Outcome::Partly);
        sum = joined(sum, verdict);
        if !is_taken {
            return Ok(Sent::Judged {
                verdict: sum,
                is_begun: index > 0,
            });
        }
        index += 1;
    }
}

/// The verdict on two messages of one push, the later last.
fn joined(sum: Verdict, next: Verdict) -> Verdict {
    let outcome = match (sum.outcome, next.outcome) {
        (Outcome::Partly, Outcome::Accepted) => Outcome::Partly,
        (_, next) => next,
    };
    let mut refused: Vec<RefusedPart> = sum.refused;
    refused.extend(next.refused);
    let mut demands = sum.demands;
    for demand in next.demands {
        if !demands.contains(&demand) {
            demands.push(demand);
        }
    }
    Verdict {
        outcome,
        why: next.why.or(sum.why),
        refused,
        demands,
        trace: next.trace.or(sum.trace),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_refused_part_makes_the_whole_partly_taken() {
        let partly = Verdict {
            refused: vec![RefusedPart {
                span: Some(2),
                record: None,
                why: "no such room".into(),
            }],
            ..Verdict::of(Outcome::Partly, None)
        };
        let whole = joined(partly, Verdict::of(Outcome::Accepted, None));
        assert_eq!((whole.outcome, whole.refused.len()), (Outcome::Partly, 1));
        let refused = joined(whole, Verdict::of(Outcome::Refused, Some("no".into())));
        assert_eq!(refused.outcome, Outcome::Refused);
        assert_eq!(refused.why.as_deref(), Some("no"));
    }
}
