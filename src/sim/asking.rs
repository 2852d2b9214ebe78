//! A caller: asks, hangs up, is cut off, asks again under the same key, until it has an answer.

use std::time::{Duration, Instant};

use keyrack_ledger::command::{Answer, Asked, Command, Idempotency};
use keyrack_ledger::error::LedgerError;
use keyrack_model::id::{PropertyId, ReservationId};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::daemon::{Post, Reply};
use crate::ids::Ids;
use crate::lot::Lots;
use crate::order::Deed;
use crate::step::Scripted;

/// A caller with a step of the script.
pub struct Caller<'a> {
    /// What the script's names stand for.
    pub ids: &'a Ids,
    /// The daemons.
    pub posts: &'a [Post],
    /// What chance has for the step.
    pub lots: Lots,
    /// The step.
    pub step: &'a Scripted,
}

/// What a caller has done and been told.
#[derive(Debug)]
pub struct Dealt {
    /// Whose.
    pub property: PropertyId,
    /// The attempts that it was told nothing of, and last what it was told.
    pub deeds: Vec<Deed>,
    /// It hung up once.
    pub hung_up: bool,
    /// Attempts that it was told nothing of.
    pub untold: u64,
}

/// How an attempt ended.
enum End {
    Told(Box<Answer>),
    /// Told that nothing was done.
    Nothing,
    /// Told nothing.
    Untold,
    /// Told what must never be told.
    Wrong(String),
}

struct Attempt {
    command: Command,
    post: usize,
    hung_up: bool,
}

impl Caller<'_> {
    /// Sees the step through; in words what must not happen.
    pub async fn deal(&self) -> Result<Option<Dealt>, String> {
        let number = self.step.number;
        sleep(self.lots.delay(number)).await;
        let began = Instant::now();
        let mut untold: Vec<Attempt> = Vec::new();
        let mut attempt = 0;
        loop {
            if began.elapsed() > PATIENCE {
                return Err(format!("step {number} has no answer after {PATIENCE:?}"));
            }
            let Some(asked) = self.asked(attempt) else {
                return Ok(None);
            };
            let post = self.lots.post(number, attempt);
            let Some(reply) = self.posts[post].ask(asked.clone()) else {
                attempt += 1;
                sleep(Duration::from_millis(2)).await;
                continue;
            };
            let hangs_up = self.lots.hangs_up(number).filter(|_| untold.is_empty());
            match end(reply, hangs_up).await {
                End::Told(answer) => return self.told(&asked, *answer, &untold, post).map(Some),
                End::Nothing => sleep(Duration::from_millis(5)).await,
                End::Untold => untold.push(Attempt {
                    command: asked.command,
                    post,
                    hung_up: hangs_up.is_some(),
                }),
                End::Wrong(words) => return Err(format!("step {number}: {words}")),
            }
            attempt += 1;
        }
    }

    fn asked(&self, attempt: usize) -> Option<Asked> {
        let mut asked = self.ids.asked(self.step)?;
        asked.command_id = Uuid::now_v7();
        asked.idempotency = has_key(&asked.command).then(|| Idempotency {
            scope: "sim".to_owned(),
            key: self.step.number.to_string(),
            fingerprint: self.step.number.to_string(),
        });
        if attempt > 0 {
            // As one who asks over HTTP again: the same key, an id that is new.
            let id = ReservationId(Uuid::now_v7());
            match &mut asked.command {
                Command::Request(wish) => wish.reservation = id,
                Command::Record(fact) => fact.reservation = id,
                _ => {}
            }
        }
        Some(asked)
    }

    fn told(
        &self,
        asked: &Asked,
        answer: Answer,
        untold: &[Attempt],
        post: usize,
    ) -> Result<Dealt, String> {
        let number = self.step.number;
        let has_key = asked.idempotency.is_some();
        let is_replay = answer.as_ref().is_ok_and(|receipt| receipt.is_replay);
        if is_replay && untold.is_empty() {
            return Err(format!(
                "step {number} was told that nothing was done, and it was done"
            ));
        }
        let named = answer.as_ref().ok().and_then(|r| r.reservation.as_ref());
        let mut earlier = untold.iter().map(|attempt| &attempt.command);
        let done = earlier.rfind(|command| is_replay && made(command) == named.map(|r| r.id));
        let command = done.unwrap_or(&asked.command).clone();
        let traces = |attempt: &&Attempt| {
            !has_key || leaves_traces(&attempt.command) || is_late(attempt, post)
        };
        let mut deeds: Vec<Deed> = untold
            .iter()
            .filter(traces)
            .map(|attempt| Deed {
                number,
                command: attempt.command.clone(),
                answer: None,
                has_key,
                may_be_late: is_late(attempt, post),
                of: None,
            })
            .collect();
        deeds.push(Deed {
            number,
            command,
            answer: Some(answer),
            has_key,
            may_be_late: false,
            of: None,
        });
        Ok(Dealt {
            property: asked.property,
            deeds,
            hung_up: untold.iter().any(|attempt| attempt.hung_up),
            untold: u64::try_from(untold.len()).unwrap_or(0),
        })
    }
}

/// Still in the lane of another daemon when the next attempt was refused: it may succeed after
/// that. In the same lane they keep their order.
fn is_late(attempt: &Attempt, post: usize) -> bool {
    attempt.hung_up && attempt.post != post
}

/// The reservation that a command makes.
fn made(command: &Command) -> Option<ReservationId> {
    match command {
        Command::Request(wish) => Some(wish.reservation),
        Command::Record(fact) => Some(fact.reservation),
        _ => None,
    }
}

/// People's programs send a key; channels and workers are known by what they say.
fn has_key(command: &Command) -> bool {
    !matches!(
        command,
        Command::Record(_)
            | Command::Expire { .. }
            | Command::Review { .. }
            | Command::ReleaseAllotment { .. }
    )
}

/// A refusal that is written down: a payment is owed back.
fn leaves_traces(command: &Command) -> bool {
    matches!(command, Command::Confirm { payment_reference, .. } if payment_reference.is_some())
}

async fn end(mut reply: Reply, hangs_up: Option<Duration>) -> End {
    let patience = hangs_up.unwrap_or(PATIENCE);
    let Ok(told) = timeout(patience, &mut reply).await else {
        reply.abort();
        return End::Untold;
    };
    match told {
        Ok(Ok(answer)) => End::Told(Box::new(answer)),
        Ok(Err(LedgerError::OutcomeUnknown(_))) => End::Untold,
        // A daemon that closes has said nothing of what it had begun.
        Ok(Err(LedgerError::Closing)) => End::Untold,
        Ok(Err(LedgerError::Unavailable(_) | LedgerError::Conflict)) => End::Nothing,
        Ok(Err(error)) => {
            let source = std::error::Error::source(&error).map(ToString::to_string);
            End::Wrong(format!("{error}: {}", source.unwrap_or_default()))
        }
        Err(error) if error.is_panic() => End::Wrong(format!("the daemon panicked: {error}")),
        Err(_) => End::Untold,
    }
}

/// A caller who waits longer has found something.
const PATIENCE: Duration = Duration::from_secs(30);
