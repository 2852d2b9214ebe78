//! What was recorded is acknowledged, after the commit and before the next question. Until the
//! channel has taken our word a row says so, and alarms when it grows old.

use keyrack_model::adapter::{Goal, Inbound, Outbound, Outcome, Receipt, ReceiptOutcome, Verdict};
use keyrack_model::id::AccountId;

use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake::IntakeOutcome;
use crate::intake::raw;
use crate::pace;
use crate::sign_in::{self, Login};
use crate::store::{message, owed};

/// How acknowledging went.
pub(super) enum Acknowledged {
    /// There was nothing to acknowledge, or the channel wants none.
    NothingToSay,
    /// The channel has our word for everything.
    Taken,
    /// For some the channel has a later state by now: it is to be asked again.
    Stale,
    /// The channel did not take it; everything comes again.
    Failed {
        /// Why, for staff.
        why: String,
        /// What the channel asked for.
        after_seconds: Option<u32>,
    },
}

/// Sends the adapter's thanks and refusals. Where a message for many is refused as a whole, each is
/// acknowledged alone, so that one bad reference does not keep the others in the queue.
pub(super) async fn all(
    distribution: &Distribution,
    login: &mut Login,
    goal: Goal,
    inbound: &Inbound,
    outcome: &IntakeOutcome,
) -> Result<Acknowledged, DistributionError> {
    if outcome.receipts.is_empty() {
        return Ok(Acknowledged::NothingToSay);
    }
    let mut speaker = Speaker {
        distribution,
        login,
        inbound,
        outcome,
        has_renewed: false,
    };
    if speaker.render(&outcome.receipts)?.is_empty() {
        return Ok(Acknowledged::NothingToSay);
    }
    speaker.owe(goal).await?;
    let whole = speaker.say(&outcome.receipts).await?;
    let is_refused = whole
        .as_ref()
        .is_some_and(|verdict| verdict.outcome == Outcome::Refused);
    if !is_refused || outcome.receipts.len() == 1 {
        return speaker.conclude(whole).await;
    }
    let mut worst = None;
    for receipt in &outcome.receipts {
        let alone = std::slice::from_ref(receipt);
        match speaker.say(alone).await? {
            None => speaker.taken(alone).await?,
            Some(verdict) => worst = Some(verdict),
        }
    }
    speaker.conclude(worst).await
}

/// Who acknowledges.
struct Speaker<'a> {
    distribution: &'a Distribution,
    login: &'a mut Login,
    inbound: &'a Inbound,
    outcome: &'a IntakeOutcome,
    has_renewed: bool,
}

impl Speaker<'_> {
    fn render(&self, receipts: &[Receipt]) -> Result<Vec<Outbound>, DistributionError> {
        let (adapter, session) = (&self.login.adapter, &self.login.session);
        Ok(adapter.acknowledge(self.inbound, receipts, session)?)
    }

    async fn owe(&self, goal: Goal) -> Result<(), DistributionError> {
        let Some(message) = self.outcome.message else {
            return Ok(());
        };
        let recorded: Vec<(AccountId, String)> = self
            .outcome
            .recorded
            .iter()
            .map(|recorded| (recorded.account, recorded.reference.clone()))
            .collect();
        let pool = &self.distribution.inner.pool;
        owed::owe(pool, self.login.row.id, goal, message, &recorded).await
    }

    /// Sends what the receipts need; the first verdict that is not a plain yes, where there is one.
    async fn say(&mut self, receipts: &[Receipt]) -> Result<Option<Verdict>, DistributionError> {
        let mut worst: Option<Verdict> = None;
        let mut messages = self.render(receipts)?;
        let mut at = 0;
        while at < messages.len() {
            let verdict = self.send(&messages[at], receipts).await?;
            if verdict.outcome == Outcome::Unauthenticated && !self.has_renewed {
                self.has_renewed = true;
                if let Ok(login) = sign_in::renew(self.distribution, self.login).await {
                    *self.login = login;
                    messages = self.render(receipts)?;
                    continue;
                }
            }
            if !matches!(verdict.outcome, Outcome::Accepted | Outcome::Partly) {
                worst.get_or_insert(verdict);
            }
            at += 1;
        }
        Ok(worst)
    }

    async fn send(
        &self,
        outbound: &Outbound,
        receipts: &[Receipt],
    ) -> Result<Verdict, DistributionError> {
        let inner = &self.distribution.inner;
        let row = &self.login.row;
        let (accounts, named) = (self.accounts(), names(receipts));
        let span = self.outcome.span;
        let adapter = &self.login.adapter;
        let kept = raw::keep_out(
            &inner.pool,
            adapter,
            row.id,
            span,
            outbound,
            &accounts,
            &named,
        )
        .await?;
        pace::until_free(self.distribution, self.login).await?;
        let (status, verdict) = match inner.transport.send(outbound).await {
            Ok(reply) => {
                let verdict = adapter.judge(outbound, &reply);
                let is_taken = matches!(verdict.outcome, Outcome::Accepted | Outcome::Partly);
                (if is_taken { "accepted" } else { "refused" }, verdict)
            }
            Err(error) => {
                let later = Outcome::Later {
                    after_seconds: None,
                };
                ("unanswered", Verdict::of(later, error.to_string()))
            }
        };
        message::settle_out(&inner.pool, kept, status, verdict.trace.as_deref()).await?;
        Ok(verdict)
    }

    async fn taken(&self, receipts: &[Receipt]) -> Result<(), DistributionError> {
        let pool = &self.distribution.inner.pool;
        owed::acknowledged(pool, self.login.row.id, &recorded_names(receipts)).await
    }

    async fn conclude(&self, worst: Option<Verdict>) -> Result<Acknowledged, DistributionError> {
        let Some(verdict) = worst else {
            self.taken(&self.outcome.receipts).await?;
            return Ok(Acknowledged::Taken);
        };
        let why = verdict.why.unwrap_or_else(|| "it was not taken".into());
        let names = recorded_names(&self.outcome.receipts);
        let pool = &self.distribution.inner.pool;
        owed::not_acknowledged(pool, self.login.row.id, &names, &why).await?;
        tracing::warn!(why, references = ?names, "an acknowledgement was not taken");
        Ok(match verdict.outcome {
            Outcome::Stale => Acknowledged::Stale,
            Outcome::Later { after_seconds } => Acknowledged::Failed {
                why: format!("an acknowledgement was not taken: {why}"),
                after_seconds,
            },
            _ => Acknowledged::Failed {
                why: format!("an acknowledgement was not taken: {why}"),
                after_seconds: None,
            },
        })
    }

    fn accounts(&self) -> Vec<AccountId> {
        let mut accounts: Vec<AccountId> = self
            .outcome
            .recorded
            .iter()
            .map(|recorded| recorded.account)
            .collect();
        accounts.sort_unstable();
        accounts.dedup();
        accounts
    }
}

fn names(receipts: &[Receipt]) -> Vec<String> {
    receipts
        .iter()
        .map(|receipt| receipt.reference.clone())
        .collect()
}

fn recorded_names(receipts: &[Receipt]) -> Vec<String> {
    receipts
        .iter()
        .filter(|receipt| matches!(receipt.outcome, ReceiptOutcome::Recorded { .. }))
        .map(|receipt| receipt.reference.clone())
        .collect()
}
