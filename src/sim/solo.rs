//! What is done alone: verbs beside the lanes. Nobody else asks meanwhile, but every daemon may do
//! it at once, and things break as in any round.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use keyrack_ledger::command::{Answer, Command};
use keyrack_ledger::decide::buffer_rule::BufferRule;
use keyrack_ledger::decide::pool_rule::PoolRule;
use tokio::time::{sleep, timeout};

use crate::audit::Of;
use crate::auditor::expected::{Expected, Yes};
use crate::beside::Setting;
use crate::case_step::Does;
use crate::daemon::Post;
use crate::error::SimError;
use crate::look;
use crate::round::{Found, World, strike};
use crate::step::{Scripted, Step, Work};

impl Step {
    /// Whether nobody else asks meanwhile.
    pub fn is_alone(&self) -> bool {
        matches!(
            self,
            Self::ReleaseDue | Self::PoolRules { .. } | Self::BufferRules { .. } | Self::Work(_)
        )
    }
}

impl World<'_> {
    /// Does it, and proves everything.
    pub async fn alone(&mut self, step: &Scripted) -> Found {
        let began = Instant::now();
        self.begin().await?;
        let done = match &step.step {
            Step::ReleaseDue => self.release_due(step).await?,
            Step::PoolRules { property, rules } => {
                let ids = &self.ground.ids;
                let rules = rules.iter().map(|rule| rule.rule(*property, ids));
                let rules: Vec<PoolRule> = rules.collect();
                let property = ids.property(*property).property;
                let put = |post: &Post| post.put_pool_rules(property, rules.clone());
                let answer = self.until_told(step, put).await?;
                let expected = self.books.put_pool_rules(property, &rules, self.now);
                judge(&expected, answer)
            }
            Step::BufferRules { property, rules } => {
                let ids = &self.ground.ids;
                let rules = rules.iter().map(|rule| rule.rule(*property, ids));
                let rules: Vec<BufferRule> = rules.collect();
                let property = ids.property(*property).property;
                let put = |post: &Post| post.put_buffers(property, rules.clone());
                let answer = self.until_told(step, put).await?;
                self.books.put_buffers(property, rules.clone());
                judge(&Expected::Yes(Yes::default()), answer)
            }
            Step::Work(work) => self.work(step, work).await?,
            _ => Ok(()),
        };
        if let Err(words) = done {
            return Ok(Err(words));
        }
        self.rests.store(true, Ordering::Relaxed);
        self.tally.spend("commands alone", began.elapsed());
        let of = match &step.step {
            Step::ReleaseDue => Of::All,
            one => one.property().map_or(Of::All, Of::One),
        };
        self.audit(&[], of).await
    }

    /// Somebody works a case, where there is one.
    async fn work(&mut self, step: &Scripted, work: &Work) -> Found {
        let ids = &self.ground.ids;
        let property = ids.property(work.property).property;
        let house = self.books.house(property);
        let Some((case, file)) = house.and_then(|house| house.case_of(work.cell(ids))) else {
            return Ok(Ok(()));
        };
        let is_open = file.is_open;
        let end = work.end(case, ids);
        let does = work.does.clone();
        // A case that is closed is opened again, and nothing else.
        if is_open == (does == Does::Reopen) || end.is_none() && matches!(does, Does::End { .. }) {
            return Ok(Ok(()));
        }
        let ask = |post: &Post| match &end {
            Some(end) => post.end_case(property, end.clone()),
            None => post.work_case(property, case, does.clone()),
        };
        let answer = self.until_told(step, ask).await?;
        let expected = match (end, does) {
            (Some(end), _) => {
                let ends = Command::EndCase(Box::new(end));
                self.books.carry_out(property, &ends, self.now)
            }
            (None, Does::Reopen) => self.books.reopen(property, case),
            (None, _) => Expected::Yes(Yes::default()),
        };
        Ok(judge(&expected, answer))
    }

    /// The workers of all daemons look at once for what is due: each allotment falls back once.
    async fn release_due(&mut self, step: &Scripted) -> Found {
        let owed = self.books.release_due(self.now);
        let workers = join_all(self.posts.iter().map(release));
        let steps = std::slice::from_ref(step);
        let breaking = strike(
            self.stage,
            &self.ground,
            &self.posts,
            self.lots,
            &self.books,
            steps,
        );
        let (done, broken) = tokio::join!(workers, breaking);
        let broken = broken?;
        self.saw(broken);
        let mut released: u32 = done.into_iter().flatten().sum();
        self.tally.releases += u64::from(released);
        if broken.is_none() && released != owed {
            let words = format!("{released} allotments were released, {owed} were due");
            return Ok(Err(words));
        }
        // What was left half done the next look catches up with.
        look::quiet(&self.ground.pool).await?;
        let Some(more) = until_told(&self.posts, release).await else {
            return Ok(Err("nobody looks for what is due".to_owned()));
        };
        released += more;
        if released > owed {
            let words = format!("{released} allotments were released, {owed} were due");
            return Ok(Err(words));
        }
        Ok(Ok(()))
    }

    /// Asks a daemon while something breaks, and others until there is an answer.
    async fn until_told(
        &mut self,
        step: &Scripted,
        ask: impl Fn(&Post) -> Option<Setting>,
    ) -> Result<Option<Answer>, SimError> {
        let first = self.lots.post(step.number, 0);
        let asking = until_told(&self.posts[first..], async |post| told(ask(post)?).await);
        let steps = std::slice::from_ref(step);
        let breaking = strike(
            self.stage,
            &self.ground,
            &self.posts,
            self.lots,
            &self.books,
            steps,
        );
        let (answer, broken) = tokio::join!(asking, breaking);
        let broken = broken?;
        self.saw(broken);
        if broken.is_some() {
            look::quiet(&self.ground.pool).await?;
        }
        self.tally.commands += 1;
        if let Some(answer) = &answer {
            let word = answer.as_ref().map_or_else(|no| no.code(), |_| "set");
            let key = (step.step.name(), word.to_owned());
            *self.tally.census.entry(key).or_insert(0) += 1;
        }
        Ok(answer)
    }
}

impl Step {
    fn name(&self) -> &'static str {
        match self {
            Self::Work(Work {
                does: Does::End { ending, .. },
                ..
            }) => ending.as_str(),
            Self::Work(_) => "work_case",
            Self::PoolRules { .. } => "pool_rules",
            Self::BufferRules { .. } => "buffer_rules",
            _ => "other",
        }
    }
}

/// What differs between an answer and what it must be.
fn judge(expected: &Expected, answer: Option<Answer>) -> Result<(), String> {
    let answer = answer.ok_or("nobody answers")?;
    let different = expected.differences(&answer, &BTreeSet::new());
    if different.is_empty() {
        Ok(())
    } else {
        Err(different.join("\n"))
    }
}

/// Asks the first of some daemons until it has an answer.
async fn until_told<T>(posts: &[Post], ask: impl AsyncFn(&Post) -> Option<T>) -> Option<T> {
    for _ in 0..TRIES_MAX {
        if let Some(told) = ask(&posts[0]).await {
            return Some(told);
        }
        sleep(Duration::from_millis(20)).await;
    }
    None
}

/// What a daemon said to a setting; `None` where it was cut off.
async fn told(setting: Setting) -> Option<Answer> {
    timeout(PATIENCE, setting).await.ok()?.ok()?.ok()
}

/// Of how many allotments a worker let the unsold rooms go; `None` where it was cut off.
async fn release(post: &Post) -> Option<u32> {
    let working = post.release_due()?;
    let told = timeout(PATIENCE, working).await;
    told.ok()?.ok()?.ok()
}

/// A worker that takes longer has found something.
const PATIENCE: Duration = Duration::from_secs(20);
const TRIES_MAX: u32 = 200;
