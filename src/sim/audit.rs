//! What must be true after a round: the books beside the database, and what the ledger proves.

use std::time::Instant;

use keyrack_ledger::verify::{self, Extent};
use keyrack_model::id::PropertyId;

use crate::asking::Dealt;
use crate::look;
use crate::look_pools;
use crate::order::{Deed, Puzzle};
use crate::round::{Found, World};
use crate::telling::told;

/// What a round was of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Of those whom somebody asked something.
    Deeds,
    /// Of one property, in the order of the shape: of what its accounts are told as well.
    One(usize),
    /// Of all of them.
    All,
    /// Nothing more comes.
    End,
}

impl Of {
    /// Whether it may have changed what the accounts of a property are told.
    fn is_told(self, property: usize) -> bool {
        self == Self::One(property) || self == Self::All || self == Self::End
    }
}

impl World<'_> {
    /// Every answer and every number beside the books; and the proofs, now and then. These cost
    /// most, and what they find stays to be found: lines are never written again, so that what was
    /// written wrong once is wrong at the end.
    pub(crate) async fn audit(&mut self, dealt: &[Dealt], of: Of) -> Found {
        let is_due = self.was_restarted || self.tally.rounds.is_multiple_of(PROOF_EVERY);
        if (is_due || of == Of::End)
            && let Err(words) = self.prove().await?
        {
            return Ok(Err(words));
        }
        self.explain(dealt, of).await
    }

    /// Whatever was not looked at after every round.
    pub(crate) async fn at_the_end(&mut self) -> Found {
        self.ground.set_clock(self.now).await?;
        let found = self.audit(&[], Of::End).await?;
        Ok(found.map_err(|words| format!("at the end:\n{words}")))
    }

    /// The ledger's own proofs, from checkpoints and whole, and the sums by other statements.
    pub(crate) async fn prove(&mut self) -> Found {
        let began = Instant::now();
        let mut found = Vec::new();
        for extent in [Extent::FromCheckpoints, Extent::Whole] {
            let verified = verify::verify(&self.observer, None, extent).await?;
            found.extend(verified.differences.into_iter().map(|d| {
                format!(
                    "verify {extent:?}: {} {:?} {:?}: {}",
                    d.property, d.room_type, d.night, d.what
                )
            }));
        }
        found.extend(look::unconserved(&self.ground.pool).await?);
        found.extend(look_pools::unconserved(&self.ground.pool).await?);
        found.extend(look::astray(&self.ground.pool).await?);
        self.was_restarted = false;
        self.tally.proofs += 1;
        self.tally.spend("proofs", began.elapsed());
        Ok(if found.is_empty() {
            Ok(())
        } else {
            Err(found.join("\n"))
        })
    }

    /// Looks for an order that explains each property's answers and its state.
    pub(crate) async fn explain(&mut self, dealt: &[Dealt], of: Of) -> Found {
        let is_anywhere = std::mem::take(&mut self.went_unseen) || of == Of::All || of == Of::End;
        let looks_at_all = is_anywhere || self.tally.rounds.is_multiple_of(LOOK_EVERY);
        for (at, property) in self.properties().into_iter().enumerate() {
            let concerns = of == Of::One(at) || dealt.iter().any(|one| one.property == property);
            if !looks_at_all && !concerns {
                continue;
            }
            let began = Instant::now();
            let state = look::state(&self.ground.pool, property).await?;
            self.tally.spend("reading what is held", began.elapsed());
            let began = Instant::now();
            let deeds = deeds(dealt, property);
            let puzzle = Puzzle {
                property,
                now: self.now,
                deeds: &deeds,
                state: &state,
            };
            let solution = match puzzle.solve(&self.books) {
                Ok(solution) => solution,
                Err(words) => return Ok(Err(told(&deeds, &words))),
            };
            self.books = solution.books;
            self.books.adopt_switches(property, &state.switches);
            self.books.adopt_cases(property, &state.files);
            for at in solution.order {
                let deed = &deeds[at];
                if let Some(Ok(receipt)) = &deed.answer
                    && let Some(named) = &receipt.reservation
                {
                    self.ground.ids.learn(deed.number, named);
                }
            }
            let house = self.books.house(property);
            self.tally.spend("explaining", began.elapsed());
            // Not after every round: it is many statements.
            if let Some(house) = house
                && (self.tally.rounds.is_multiple_of(TELL_EVERY) || of.is_told(at))
            {
                let began = Instant::now();
                let listings = &mut self.listings[at];
                let look = (&self.observer, &self.ground.pool);
                let different = listings.compare(look, house, (&state, self.now)).await?;
                self.tally.told += 1;
                self.tally.spend("what is told", began.elapsed());
                if !different.is_empty() {
                    return Ok(Err(told(&deeds, &different.join("\n"))));
                }
            }
            for (id, known) in house.into_iter().flat_map(|house| &house.allotments) {
                self.ground.ids.learn_allotment(*id, known.version);
            }
        }
        Ok(Ok(()))
    }
}

/// The deeds of a property, each knowing where the one is that was told of.
fn deeds(dealt: &[Dealt], property: PropertyId) -> Vec<Deed> {
    let mut all = Vec::new();
    for one in dealt.iter().filter(|one| one.property == property) {
        let of = all.len() + one.deeds.len() - 1;
        for deed in &one.deeds {
            let of = deed.answer.is_none().then_some(of);
            all.push(Deed { of, ..deed.clone() });
        }
    }
    all
}

/// Rounds after which everything is proved.
const PROOF_EVERY: u64 = 10;
/// Rounds after which every property is looked at, whether anybody asked it anything or not.
const LOOK_EVERY: u64 = 3;
/// Rounds after which all that accounts are told is looked at.
const TELL_EVERY: u64 = 6;
