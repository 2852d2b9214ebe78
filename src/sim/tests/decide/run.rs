//! Runs a script: the rules on paper on one side, the auditor's books on the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::command::{Answer, Asked};
use keyrack_sim::auditor::books::Books;
use keyrack_sim::generate::Generator;
use keyrack_sim::generate::known::Known;
use keyrack_sim::ids::Ids;
use keyrack_sim::shape::Shape;
use keyrack_sim::step::{Scripted, Step};

use crate::paper::{self, Paper};

/// A script that was run.
pub struct Run {
    pub shape: Arc<Shape>,
    pub script: Vec<Scripted>,
    pub commands: u64,
    /// How often which answer was given.
    pub census: BTreeMap<String, u64>,
    /// What went wrong, in words.
    pub failure: Option<String>,
}

/// Both sides of a run.
pub struct Sides {
    pub ids: Ids,
    pub paper: Paper,
    pub books: Books,
    pub now: Timestamp,
}

impl Sides {
    pub fn open(shape: &Arc<Shape>) -> Self {
        let ids = paper::ids(shape);
        Self {
            paper: Paper::open(shape, &ids),
            books: Books::open(shape, &ids),
            now: shape.start,
            ids,
        }
    }

    /// Asks a batch and lets the auditor explain each answer.
    pub fn ask(&mut self, batch: &[Scripted]) -> Result<Vec<(Asked, Answer)>, String> {
        let asked = batch.iter().filter_map(|step| self.ids.asked(step));
        let asked: Vec<Asked> = asked.collect();
        let steps = batch.iter().filter(|step| self.ids.asked(step).is_some());
        let numbers: Vec<usize> = steps.map(|step| step.number).collect();
        let answers = self.paper.ask(&asked, self.now)?;
        for ((asked, answer), number) in asked.iter().zip(&answers).zip(&numbers) {
            let (property, command) = (asked.property, &asked.command);
            // Nobody else is here.
            let moving = BTreeSet::new();
            let books = &mut self.books;
            let different = books.explain(property, command, self.now, answer, &moving);
            if !different.is_empty() {
                let words = different.join("\n  ");
                return Err(format!("step {number} ({}):\n  {words}", kind(asked)));
            }
            if let Ok(receipt) = answer
                && let Some(reservation) = &receipt.reservation
            {
                self.ids.learn(*number, reservation);
            }
        }
        Ok(asked.into_iter().zip(answers).collect())
    }

    /// Compares all that is held with the books.
    pub fn compare(&self, shape: &Shape) -> Result<(), String> {
        let mut found = self.paper.unproven();
        for index in 0..shape.properties.len() {
            let property = self.ids.property(index).property;
            let state = self.paper.state(property);
            found.extend(self.books.compare(property, &state, self.now));
        }
        if found.is_empty() {
            Ok(())
        } else {
            Err(found.join("\n"))
        }
    }
}

impl Run {
    /// The script of a seed, made while it runs.
    pub fn of_seed(seed: u64, steps: usize) -> Self {
        let shape = Arc::new(Shape::from_seed(seed));
        let mut generator = Generator::new(Arc::clone(&shape));
        let mut left = steps;
        let next = |sides: &Sides| {
            left = left.checked_sub(1)?;
            Some(generator.step(&Known {
                books: &sides.books,
                ids: &sides.ids,
                now: sides.now,
            }))
        };
        Self::through(&shape, next, 41)
    }

    /// A script that was written down; everything is compared after each batch.
    pub fn of_script(shape: &Arc<Shape>, script: &[Scripted]) -> Self {
        let mut script = script.iter().cloned();
        Self::through(shape, |_| script.next(), 1)
    }

    fn through(
        shape: &Arc<Shape>,
        mut next: impl FnMut(&Sides) -> Option<Scripted>,
        compare_every: usize,
    ) -> Self {
        let mut sides = Sides::open(shape);
        let mut run = Self {
            shape: Arc::clone(shape),
            script: Vec::new(),
            commands: 0,
            census: BTreeMap::new(),
            failure: None,
        };
        let mut batch = Vec::new();
        let mut batches = 0;
        loop {
            let step = next(&sides);
            let is_over = step.is_none();
            let ends = step.as_ref().is_none_or(ends_batch);
            if let Some(step) = step {
                run.script.push(step.clone());
                batch.push(step);
            }
            if !ends {
                continue;
            }
            batches += 1;
            let mut done = run.carry_out(&mut sides, &batch);
            if is_over || batches % compare_every == 0 {
                done = done.and_then(|()| sides.compare(shape));
            }
            run.failure = done.err();
            batch.clear();
            if is_over || run.failure.is_some() {
                return run;
            }
        }
    }

    fn carry_out(&mut self, sides: &mut Sides, batch: &[Scripted]) -> Result<(), String> {
        for (asked, answer) in sides.ask(batch)? {
            self.commands += 1;
            let kind = kind(&asked);
            let word = match &answer {
                Ok(receipt) => &receipt.did,
                Err(refusal) => refusal.code(),
            };
            *self.census.entry(format!("{kind}: {word}")).or_insert(0) += 1;
        }
        let waits = batch.iter().filter_map(|step| match step.step {
            Step::Wait { minutes } => Some(i64::from(minutes)),
            _ => None,
        });
        let passed = SignedDuration::from_mins(waits.sum());
        sides.now = sides.now.checked_add(passed).expect("a few days later");
        Ok(())
    }
}

/// A batch ends where time passes, and else as chance has it; so that a step is in company as long
/// as its neighbours stand, the number decides.
fn ends_batch(step: &Scripted) -> bool {
    matches!(step.step, Step::Wait { .. }) || step.number.wrapping_mul(2_654_435_761) >> 7 & 1 == 0
}

fn kind(asked: &Asked) -> &'static str {
    use keyrack_ledger::command::Command;
    match &asked.command {
        Command::Request(_) => "request",
        Command::Record(_) => "record",
        Command::Confirm { .. } => "confirm",
        Command::Cancel { .. } => "cancel",
        Command::Extend { .. } => "extend",
        Command::Modify(_) => "modify",
        Command::Progress { .. } => "progress",
        Command::Expire { .. } => "expire",
        Command::RequestAll(_) => "request_all",
        Command::Agree(_) => "agree",
        Command::ReleaseAllotment { .. } => "release_allotment",
        Command::SetBlocks { .. } => "set_blocks",
        Command::SetNights { .. } => "set_nights",
        Command::SetPhysical { .. } => "set_physical",
        Command::OpenCase { .. } => "open_case",
        Command::EndCase(_) => "end_case",
        Command::Review { .. } => "review",
    }
}
