//! What statuses of HTTP mean where the body says nothing of its own.

use keyrack_model::adapter::{Outcome, Reply, Verdict};

/// Seconds to wait, where the answer says so in seconds.
pub(crate) fn retry_after(reply: &Reply) -> Option<u32> {
    reply.header("retry-after")?.trim().parse().ok()
}

/// Whether the channel took the request at all.
pub(crate) fn is_taken(reply: &Reply) -> bool {
    (200..300).contains(&reply.status)
}

/// The verdict of a refusal whose body was not understood; of an answer that claims success and
/// was not understood either: the same again later, for its effect is not known.
pub(crate) fn by_status(reply: &Reply, why: Option<String>) -> Verdict {
    let status = reply.status;
    let why = why.unwrap_or_else(|| format!("HTTP {status}, with an answer that says nothing"));
    let outcome = match status {
        401 => Outcome::Unauthenticated,
        408 | 425 | 429 | 500.. => Outcome::Later {
            after_seconds: retry_after(reply),
        },
        400..500 => Outcome::Refused,
        _ => Outcome::Later {
            after_seconds: None,
        },
    };
    Verdict::of(outcome, why)
}
