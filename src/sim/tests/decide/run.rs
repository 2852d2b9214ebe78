//! Runs a script: the rules on paper on one side, the auditor's books on the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use keyrack_ledger::command::{Answer, Asked, Command};
use keyrack_ledger::decide::pool_rule::PoolRule;
use keyrack_model::stay::{Stay, StayDate, plus_days};
use keyrack_sim::auditor::books::Books;
use keyrack_sim::auditor::expected::Expected;
use keyrack_sim::generate::Generator;
use keyrack_sim::generate::known::Known;
use keyrack_sim::ids::Ids;
use keyrack_sim::shape::Shape;
use keyrack_sim::step::{Scripted, Step, Switches};

use crate::paper::Paper;
use crate::paper_rules;

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
        let ids = paper_rules::ids(shape);
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
        self.learn_allotments();
        self.look_at_switches()?;
        Ok(asked.into_iter().zip(answers).collect())
    }

    fn learn_allotments(&mut self) {
        for house in self.ids.properties().cloned().collect::<Vec<_>>() {
            let known = self.books.house(house.property);
            for (id, one) in known.into_iter().flat_map(|house| &house.allotments) {
                self.ids.learn_allotment(*id, one.version);
            }
        }
    }

    /// What is a switch's state by the books and by the ledger; what may be either is known then.
    fn look_at_switches(&mut self) -> Result<(), String> {
        let mut found = Vec::new();
        for house in self.ids.properties() {
            let switches = self.paper.switches(house.property);
            if let Some(known) = self.books.house(house.property) {
                known.compare_switches(&switches, self.now, &mut found);
            }
            self.books.adopt_switches(house.property, &switches);
        }
        if found.is_empty() {
            Ok(())
        } else {
            Err(found.join("\n"))
        }
    }

    /// A worker looks at all allotments.
    fn release_due(&mut self) -> Result<(), String> {
        let mut released = 0;
        for house in self.ids.properties() {
            for allotment in &house.allotments {
                let command = Command::ReleaseAllotment {
                    allotment: *allotment,
                    nights: all_nights(),
                };
                let asked = Asked::new(house.property, Arc::default(), command);
                let answers = self.paper.ask(&[asked], self.now)?;
                let mut did = answers.into_iter().flatten().map(|receipt| receipt.did);
                released += u32::from(
                    did.next_back()
                        .is_some_and(|did| did == "allotment_released"),
                );
            }
        }
        let owed = self.books.release_due(self.now);
        if released == owed {
            Ok(())
        } else {
            Err(format!(
                "{released} allotments were released, {owed} were due"
            ))
        }
    }

    pub fn put_pool_rules(&mut self, at: usize, rules: &[Switches]) -> Result<(), String> {
        let rules = rules.iter().map(|rule| rule.rule(at, &self.ids));
        let rules: Vec<PoolRule> = rules.collect();
        let house = self.ids.property(at).clone();
        let expected = self.books.put_pool_rules(house.property, &rules, self.now);
        if matches!(expected, Expected::No(_)) {
            return Ok(());
        }
        self.paper.put_pool_rules(house.property, &rules);
        let known = self.books.house(house.property);
        let known = known.expect("it is there");
        let today = known.rules.today(self.now);
        let end = plus_days(today, known.rules.horizon_days);
        for room_type in house.types {
            let nights = Stay::new(today, end).expect("some nights");
            let command = Command::Review { room_type, nights };
            let asked = Asked::new(house.property, Arc::default(), command);
            self.paper.ask(&[asked], self.now)?;
        }
        self.look_at_switches()
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
        for step in batch {
            match &step.step {
                Step::ReleaseDue => sides.release_due()?,
                Step::PoolRules { property, rules } => sides.put_pool_rules(*property, rules)?,
                _ => {}
            }
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

/// Every night that any script plays on.
fn all_nights() -> Stay {
    let (from, until) = (
        StayDate::constant(2030, 4, 1),
        StayDate::constant(2030, 9, 1),
    );
    Stay::new(from, until).expect("the end is after the beginning")
}

/// A batch ends where time passes, and else as chance has it; so that a step is in company as long
/// as its neighbours stand, the number decides.
fn ends_batch(step: &Scripted) -> bool {
    matches!(step.step, Step::Wait { .. })
        || step.step.is_alone()
        || step.number.wrapping_mul(2_654_435_761) >> 7 & 1 == 0
}

fn kind(asked: &Asked) -> &'static str {
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
