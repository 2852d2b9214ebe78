//! One poll: the adapter's step machine says what to ask, every answer goes to intake, what was
//! recorded is acknowledged, and only then the next question is asked.

use std::time::Duration;

use keyrack_model::adapter::{Exchange, Goal, Inbound, Outbound, Outcome, Reply, Step, Verdict};

use crate::behind::Behind;
use crate::connections;
use crate::error::DistributionError;
use crate::handle::Distribution;
use crate::intake::IntakeOutcome;
use crate::intake::{self, say};
use crate::pace;
use crate::poll::acknowledge::{self, Acknowledged};
use crate::sign_in::{self, Login};
use crate::store::clock;
use crate::transport::{Beginning, TransportError, is_success};

/// How a conversation ended.
pub(super) enum Ended {
    /// Every round went through.
    Complete {
        /// Exchanges.
        rounds: u32,
        /// Reports that the ledger has.
        recorded: usize,
    },
    /// It did not go through.
    Failed {
        /// Why, for staff.
        why: String,
        /// What the channel asked for.
        after_seconds: Option<u32>,
        /// The channel will not, today or tomorrow.
        is_refused: bool,
    },
    /// The engine stops.
    Stopped,
}

/// A poll while it is held.
pub(super) struct Conversation<'a> {
    distribution: &'a Distribution,
    login: Login,
    behind: &'a Behind,
    goal: Goal,
    hotel_codes: Vec<String>,
    round: u32,
    last: Option<(Outbound, Reply)>,
    has_more: bool,
    recorded: usize,
    /// Signing in is tried once a poll.
    has_renewed: bool,
    stale_rounds: u32,
    /// At least one answer was taken in whole.
    has_answers: bool,
    /// How the poll ends although other hotels were still asked for.
    broken: Option<Ended>,
    refused_hotels: Vec<String>,
}

/// What a round leads to.
enum Next {
    Ask,
    End(Ended),
}

impl<'a> Conversation<'a> {
    pub(super) fn new(
        distribution: &'a Distribution,
        login: Login,
        behind: &'a Behind,
        goal: Goal,
    ) -> Self {
        Self {
            distribution,
            login,
            behind,
            goal,
            hotel_codes: behind.hotel_codes(),
            round: 0,
            last: None,
            has_more: false,
            recorded: 0,
            has_renewed: false,
            stale_rounds: 0,
            has_answers: false,
            broken: None,
            refused_hotels: Vec::new(),
        }
    }

    /// Asks until the adapter has no more questions.
    pub(super) async fn hold(mut self) -> Result<Ended, DistributionError> {
        let rounds_max = self.distribution.inner.settings.poll_rounds_max;
        while self.round < rounds_max {
            if self.distribution.inner.cancel.is_cancelled() {
                return Ok(Ended::Stopped);
            }
            if let Next::End(ended) = self.step().await? {
                return Ok(ended);
            }
        }
        Ok(failed(format!(
            "it did not end within {rounds_max} exchanges"
        )))
    }

    async fn step(&mut self) -> Result<Next, DistributionError> {
        let step = Step {
            goal: self.goal,
            round: self.round,
            last: self.last.as_ref().map(|(sent, reply)| (sent, reply)),
            hotel_codes: &self.hotel_codes,
            has_more: self.has_more,
        };
        match self.login.adapter.next(&self.login.session, &step) {
            Exchange::Send(outbound) => self.ask(outbound).await,
            Exchange::Done { learned } => {
                if let Some(learned) = learned {
                    sign_in::keep(self.distribution, &self.login, &learned).await?;
                }
                self.end().await
            }
            // The last of several hotels was refused: the others were asked all the same.
            Exchange::Failed(verdict)
                if verdict.outcome == Outcome::Refused
                    && self.has_answers
                    && self.is_by_hotel() =>
            {
                self.end().await
            }
            Exchange::Failed(verdict) => self.refused(verdict).await,
        }
    }

    /// Every question was asked.
    async fn end(&mut self) -> Result<Next, DistributionError> {
        if let Some(broken) = self.broken.take() {
            return Ok(Next::End(broken));
        }
        let row = &self.login.row;
        say::no_longer_refused(self.distribution, row, &self.refused_hotels).await?;
        Ok(Next::End(Ended::Complete {
            rounds: self.round,
            recorded: self.recorded,
        }))
    }

    /// Each hotel is asked for by itself: trouble with one is no reason not to ask for the next.
    fn is_by_hotel(&self) -> bool {
        !self.login.adapter.capabilities().polls_whole_connection
    }

    async fn ask(&mut self, outbound: Outbound) -> Result<Next, DistributionError> {
        let inner = &self.distribution.inner;
        pace::until_free(self.distribution, &self.login).await?;
        let reply = match inner.transport.send(&outbound).await {
            Ok(reply) => reply,
            Err(error) => return self.unanswered(&outbound, error).await,
        };
        let verdict = self.login.adapter.judge(&outbound, &reply);
        if verdict.outcome == Outcome::Unauthenticated {
            return self.refused(verdict).await;
        }
        match verdict.outcome {
            Outcome::Accepted | Outcome::Partly => {}
            Outcome::Refused => {
                self.note_refusal(&outbound, &reply, &verdict).await?;
                return Ok(self.go_on(outbound, reply));
            }
            _ => {
                // A page of a proxy, or a message that broke off: kept, and tried again.
                if is_success(&reply) && !reply.body.is_empty() {
                    let inbound = self.inbound(&outbound, &reply).await?;
                    self.take(inbound).await?;
                }
                return self.refused(verdict).await;
            }
        }
        let inbound = self.inbound(&outbound, &reply).await?;
        match self.take(inbound).await? {
            None => self.has_answers = true,
            Some(broken) if self.is_by_hotel() => {
                self.broken.get_or_insert(broken);
            }
            Some(ended) => return Ok(Next::End(ended)),
        }
        Ok(self.go_on(outbound, reply))
    }

    /// What comes next is the adapter's to say.
    fn go_on(&mut self, outbound: Outbound, reply: Reply) -> Next {
        self.last = Some((outbound, reply));
        self.round += 1;
        Next::Ask
    }

    /// Intake and acknowledgement of an answer; `Some` where the poll ends with it.
    async fn take(&mut self, inbound: Inbound) -> Result<Option<Ended>, DistributionError> {
        let (distribution, row) = (self.distribution, self.login.row.clone());
        let kept = inbound.clone();
        let outcome = intake::take_from(distribution, &row, self.behind, inbound).await?;
        self.recorded += outcome.recorded.len();
        let acknowledged =
            acknowledge::all(distribution, &mut self.login, self.goal, &kept, &outcome).await?;
        Ok(self.judge_round(&outcome, acknowledged).await)
    }

    async fn judge_round(
        &mut self,
        outcome: &IntakeOutcome,
        acknowledged: Acknowledged,
    ) -> Option<Ended> {
        if outcome.is_unreadable {
            return Some(failed("the answer cannot be read".into()));
        }
        if outcome.failed > 0 {
            let failed_reports = outcome.failed;
            return Some(failed(format!(
                "{failed_reports} reports could not be recorded"
            )));
        }
        let is_stale = match acknowledged {
            Acknowledged::NothingToSay => false,
            Acknowledged::Taken => {
                self.settle().await;
                false
            }
            Acknowledged::Stale => {
                self.stale_rounds += 1;
                self.settle().await;
                true
            }
            Acknowledged::Failed { why, after_seconds } => {
                return Some(Ended::Failed {
                    why,
                    after_seconds,
                    is_refused: false,
                });
            }
        };
        if self.stale_rounds > STALE_ROUNDS_MAX {
            return Some(failed(
                "states keep changing while they are acknowledged".into(),
            ));
        }
        if outcome.has_more && !outcome.made_progress() && !is_stale {
            return Some(failed(
                "more is waiting behind what nobody here can take".into(),
            ));
        }
        // What was only refused stays in the channel's queue: asking again at once is no use.
        self.has_more = outcome.made_progress() || is_stale;
        None
    }

    /// A channel that was just acknowledged gives the same again for a few seconds.
    async fn settle(&self) {
        let capabilities = self.login.adapter.capabilities();
        let seconds = connections::pace(&self.login.row)
            .settle_after_acknowledge_seconds
            .unwrap_or(capabilities.settle_after_acknowledge_seconds);
        tokio::select! {
            () = self.distribution.inner.cancel.cancelled() => {}
            () = tokio::time::sleep(Duration::from_secs(seconds.into())) => {}
        }
    }

    /// The channel said no. Where it no longer knows us, once more after signing in.
    async fn refused(&mut self, verdict: Verdict) -> Result<Next, DistributionError> {
        let why = verdict.why.unwrap_or_else(|| "the channel refused".into());
        let after_seconds = match verdict.outcome {
            Outcome::Unauthenticated if !self.has_renewed => {
                self.has_renewed = true;
                match sign_in::renew(self.distribution, &self.login).await {
                    Ok(login) => {
                        self.login = login;
                        return Ok(Next::Ask);
                    }
                    Err(DistributionError::SignIn(why)) => {
                        return Ok(Next::End(failed(format!("signing in failed: {why}"))));
                    }
                    Err(DistributionError::Transport(error)) => {
                        return Ok(Next::End(failed(error.to_string())));
                    }
                    Err(error) => return Err(error),
                }
            }
            Outcome::Later { after_seconds } => after_seconds,
            _ => None,
        };
        Ok(Next::End(Ended::Failed {
            why,
            after_seconds,
            is_refused: verdict.outcome == Outcome::Refused,
        }))
    }

    async fn unanswered(
        &mut self,
        outbound: &Outbound,
        error: TransportError,
    ) -> Result<Next, DistributionError> {
        let why = error.to_string();
        if let TransportError::TooLarge { beginning, .. } = error {
            let Beginning(bytes) = beginning;
            let inbound = Inbound {
                bytes,
                topic: outbound.topic.clone(),
                ..Inbound::default()
            };
            let row = &self.login.row;
            intake::keep_unread(self.distribution, row, inbound, true, &why).await?;
        }
        Ok(Next::End(failed(why)))
    }

    /// The channel refuses a question: its words are kept, and staff are told which hotel it is.
    async fn note_refusal(
        &mut self,
        outbound: &Outbound,
        reply: &Reply,
        verdict: &Verdict,
    ) -> Result<(), DistributionError> {
        self.has_more = false;
        let why = verdict.why.as_deref().unwrap_or("the channel refused");
        let row = &self.login.row;
        if !reply.body.is_empty() {
            let inbound = self.inbound(outbound, reply).await?;
            intake::keep_unread(self.distribution, row, inbound, false, why).await?;
        }
        let at = usize::try_from(self.round).unwrap_or(usize::MAX);
        if let (true, Some(hotel)) = (self.is_by_hotel(), self.hotel_codes.get(at)) {
            let account = self.behind.of_hotel(hotel);
            say::refused_hotel(self.distribution, row, hotel, account, why).await?;
            self.refused_hotels.push(hotel.clone());
        }
        Ok(())
    }

    async fn inbound(
        &self,
        outbound: &Outbound,
        reply: &Reply,
    ) -> Result<Inbound, DistributionError> {
        Ok(Inbound {
            bytes: reply.body.clone(),
            headers: reply.headers.clone(),
            topic: outbound.topic.clone(),
            received_at: clock::now(&self.distribution.inner.pool).await?,
            time_zone: None,
        })
    }
}

fn failed(why: String) -> Ended {
    Ended::Failed {
        why,
        after_seconds: None,
        is_refused: false,
    }
}

/// A state that changes while it is acknowledged is asked for again, so often in one poll at most.
const STALE_ROUNDS_MAX: u32 = 3;
