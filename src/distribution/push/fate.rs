//! What a verdict means for each cell of a push, and for the account.
//!
//! Pure.

use keyrack_model::adapter::{Outcome, Verdict};

use crate::push::batch::Batch;
use crate::push::exchange::Sent;

/// What became of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The channel shows it.
    Taken,
    /// The channel said no to this cell.
    Refused(String),
    /// The channel took the rest and did not say whether this cell is among it.
    Doubtful(String),
    /// No answer, or "try again": the channel may show it.
    Unsure(String),
    /// It certainly had no effect; the same again later.
    NotApplied,
}

/// What became of an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Taken, whole or in part.
    Good(&'static str, Option<String>),
    /// Not taken.
    Bad {
        /// In one word.
        outcome: &'static str,
        /// In the channel's words, or the network's.
        why: String,
        /// Seconds that the channel asked for.
        asked_seconds: Option<u32>,
        /// A person must look.
        needs_person: bool,
    },
}

/// The fate of each of `cells` cells, and how the account stands.
pub(crate) fn fates(sent: &Sent, batch: &Batch, cells: usize) -> (Vec<Fate>, Standing) {
    match sent {
        Sent::Judged { verdict, is_begun } => judged(verdict, *is_begun, batch, cells),
        Sent::Unknown(why) => {
            let standing = bad("unknown", why.clone(), None, false);
            (vec![Fate::Unsure(why.clone()); cells], standing)
        }
        Sent::Unsent(why) => {
            let standing = bad("not_sent", why.clone(), None, false);
            (vec![Fate::NotApplied; cells], standing)
        }
        Sent::Unrendered(error) => {
            // Where something else can be sent instead, nobody has to look.
            let standing = bad(
                "unrendered",
                error.why.clone(),
                None,
                error.demand.is_none(),
            );
            let fate = if error.demand.is_some() {
                Fate::NotApplied
            } else {
                Fate::Refused(error.why.clone())
            };
            (vec![fate; cells], standing)
        }
    }
}

fn judged(verdict: &Verdict, is_begun: bool, batch: &Batch, cells: usize) -> (Vec<Fate>, Standing) {
    let why = || {
        verdict
            .why
            .clone()
            .unwrap_or_else(|| "no reason given".into())
    };
    let (outcome, asked_seconds, needs_person) = match verdict.outcome {
        Outcome::Accepted => {
            let standing = Standing::Good("accepted", verdict.why.clone());
            return (vec![Fate::Taken; cells], standing);
        }
        Outcome::Partly => return (parts(verdict, batch, cells), partly(verdict)),
        Outcome::Later { after_seconds } => ("later", after_seconds, false),
        Outcome::Stale => ("later", None, false),
        Outcome::Unauthenticated => ("unauthenticated", None, true),
        Outcome::Refused => ("refused", None, true),
    };
    let fate = match verdict.outcome {
        _ if is_begun => Fate::Unsure(why()),
        Outcome::Refused => Fate::Refused(why()),
        // Nobody signed in: nobody was heard.
        Outcome::Unauthenticated => Fate::NotApplied,
        // Channels report failures of what they have taken.
        _ => Fate::Unsure(why()),
    };
    let standing = bad(outcome, why(), asked_seconds, needs_person);
    (vec![fate; cells], standing)
}

fn partly(verdict: &Verdict) -> Standing {
    let whys: Vec<&str> = verdict
        .refused
        .iter()
        .map(|part| part.why.as_str())
        .collect();
    let why = verdict.why.clone().unwrap_or_else(|| whys.join("; "));
    Standing::Good("partly", Some(why))
}

/// The cells of named spans are refused, where no other span of theirs was taken. A refused part
/// that names none casts doubt on the rest.
fn parts(verdict: &Verdict, batch: &Batch, cells: usize) -> Vec<Fate> {
    let nameless = verdict
        .refused
        .iter()
        .find(|part| part.span.is_none_or(|span| span >= batch.sources.len()));
    let rest = match (nameless, verdict.refused.is_empty()) {
        (Some(part), _) => Fate::Doubtful(part.why.clone()),
        (None, true) => Fate::Doubtful(verdict.why.clone().unwrap_or_else(|| "in part".into())),
        (None, false) => Fate::Taken,
    };
    let mut fates = vec![rest; cells];
    for part in &verdict.refused {
        let sources = part.span.and_then(|span| batch.sources.get(span));
        for cell in sources.into_iter().flatten() {
            if let Some(fate) = fates.get_mut(*cell) {
                *fate = Fate::Refused(part.why.clone());
            }
        }
    }
    // A cell under two codes, one of which took it, is shown in two ways.
    let is_refused = |span: usize| verdict.refused.iter().any(|part| part.span == Some(span));
    let taken = (0..batch.sources.len()).filter(|span| !is_refused(*span));
    for cell in taken.flat_map(|span| &batch.sources[span]) {
        if let Some(fate) = fates.get_mut(*cell)
            && let Fate::Refused(why) = fate
        {
            *fate = Fate::Doubtful(std::mem::take(why));
        }
    }
    fates
}

fn bad(
    outcome: &'static str,
    why: String,
    asked_seconds: Option<u32>,
    needs_person: bool,
) -> Standing {
    Standing::Bad {
        outcome,
        why,
        asked_seconds,
        needs_person,
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::adapter::{RefusedPart, RenderError};
    use keyrack_model::ari::AriPush;

    use super::*;

    fn batch() -> Batch {
        Batch {
            push: AriPush {
                hotel_code: "H1".into(),
                complete: false,
                spans: Vec::new(),
            },
            sources: vec![vec![0, 1], vec![2]],
        }
    }

    fn found(outcome: Outcome, refused: &[Option<usize>], is_begun: bool) -> String {
        let verdict = Verdict {
            refused: refused
                .iter()
                .map(|span| RefusedPart {
                    span: *span,
                    record: None,
                    why: "no".into(),
                })
                .collect(),
            ..Verdict::of(outcome, Some("w".into()))
        };
        let (fates, standing) = fates(&Sent::Judged { verdict, is_begun }, &batch(), 3);
        let letters: String = fates
            .iter()
            .map(|fate| match fate {
                Fate::Taken => 'T',
                Fate::Refused(_) => 'R',
                Fate::Doubtful(_) => 'D',
                Fate::Unsure(_) => 'U',
                Fate::NotApplied => 'N',
            })
            .collect();
        let standing = match standing {
            Standing::Good(word, _) => word.to_owned(),
            Standing::Bad {
                outcome,
                needs_person,
                ..
            } => format!("{outcome} {needs_person}"),
        };
        format!("{letters} {standing}")
    }

    #[test]
    fn a_verdict_is_read_cell_by_cell() {
        let later = Outcome::Later {
            after_seconds: Some(30),
        };
        for (outcome, refused, is_begun, meant) in [
            (Outcome::Accepted, &[][..], false, "TTT accepted"),
            (Outcome::Partly, &[Some(0)], false, "RRT partly"),
            (Outcome::Partly, &[Some(1)], false, "TTR partly"),
            (Outcome::Partly, &[None], false, "DDD partly"),
            (Outcome::Partly, &[Some(1), Some(9)], false, "DDR partly"),
            (Outcome::Partly, &[], false, "DDD partly"),
            (later, &[], false, "UUU later false"),
            (later, &[], true, "UUU later false"),
            (Outcome::Refused, &[], false, "RRR refused true"),
            (Outcome::Refused, &[], true, "UUU refused true"),
            (
                Outcome::Unauthenticated,
                &[],
                false,
                "NNN unauthenticated true",
            ),
        ] {
            assert_eq!(found(outcome, refused, is_begun), meant, "{outcome:?}");
        }
    }

    #[test]
    fn of_a_cell_under_two_codes_nobody_knows_where_one_took_it() {
        let twice = Batch {
            sources: vec![vec![0, 1], vec![0], vec![2]],
            ..batch()
        };
        let refusal = |span| RefusedPart {
            span: Some(span),
            record: None,
            why: "no".into(),
        };
        let no = || "no".to_owned();
        for (refused, meant) in [
            (vec![1], [Fate::Doubtful(no()), Fate::Taken, Fate::Taken]),
            (
                vec![0],
                [Fate::Doubtful(no()), Fate::Refused(no()), Fate::Taken],
            ),
            (
                vec![0, 1],
                [Fate::Refused(no()), Fate::Refused(no()), Fate::Taken],
            ),
        ] {
            let verdict = Verdict {
                refused: refused.iter().map(|span| refusal(*span)).collect(),
                ..Verdict::of(Outcome::Partly, None::<String>)
            };
            assert_eq!(parts(&verdict, &twice, 3), meant, "{refused:?}");
        }
    }

    #[test]
    fn what_cannot_be_written_needs_a_person_unless_something_else_can() {
        let error = RenderError::of("a currency that it does not know");
        let (fates, standing) = fates(&Sent::Unrendered(error), &batch(), 1);
        assert!(matches!(fates[0], Fate::Refused(_)));
        assert!(matches!(
            standing,
            Standing::Bad {
                needs_person: true,
                ..
            }
        ));
    }
}
