//! Takes the lines of a rooming list in: all of them or none, or each for itself.

use keyrack_ledger::command::{Asked, By, Command, Idempotency, Wish};
use keyrack_ledger::decide::refusal::Refusal;
use keyrack_ledger::{groups, reservations};
use keyrack_model::id::{GroupId, PropertyId, ReservationId};
use sha2::{Digest, Sha256};

use super::known::{Found, Known, Named};
use super::list::List;
use super::view::{RoomingLineView, is_in, not_taken};
use crate::problem::kind::Kind;
use crate::problem::{FieldError, Problem};
use crate::refusal::in_words;
use crate::refused::refused_without_nights;
use crate::state::ApiState;

/// A line with its number: a wish, or what is wrong with it.
pub type Wished = Result<(u64, Wish), (u64, String)>;

/// A line, judged beside those whom the group has already.
enum Judged {
    New(Box<Wish>, Idempotency),
    Done(RoomingLineView),
}

/// Who takes a list in, and whose it is.
pub struct Taker<'a> {
    /// The house.
    pub state: &'a ApiState,
    /// Of which property.
    pub property: PropertyId,
    /// Of which group.
    pub group: GroupId,
    /// Who.
    pub by: By,
    /// The list.
    pub list: List,
}

impl Taker<'_> {
    /// Each line with its number: whom nobody knows yet is to be booked.
    async fn judge(&self, lines: &[Wished]) -> Result<Vec<(u64, Judged)>, Problem> {
        let folios = groups::guests(self.state.ledger(), self.property, self.group).await?;
        let mut known = Known::of((self.property, self.group), &folios);
        let named: Vec<Option<(u64, Named)>> = lines
            .iter()
            .map(|line| {
                let (number, wish) = line.as_ref().ok()?;
                Some((*number, named(wish)?))
            })
            .collect();
        let asked = named
            .iter()
            .flatten()
            .map(|(number, named)| (*number, named));
        let asked: Vec<(u64, &Named)> = asked.collect();
        let found = known.find(&asked, |id, line| self.list.made(id, line));
        let mut found = found.into_iter();
        let mut new: Vec<&Named> = Vec::new();
        let mut judged = Vec::new();
        for (line, named) in lines.iter().zip(&named) {
            let (number, wish) = match line {
                Ok((number, wish)) => (*number, wish),
                Err((number, why)) => {
                    judged.push((*number, Judged::Done(not_taken(*number, why.clone()))));
                    continue;
                }
            };
            let found = named.as_ref().and_then(|_| found.next());
            let done = match (named, found) {
                (_, Some(Found::Own(id, short))) => Judged::Done(is_in(number, id, short, false)),
                (_, Some(Found::Already(id, short))) => {
                    Judged::Done(is_in(number, id, short, true))
                }
                (_, Some(Found::Otherwise(why))) => Judged::Done(not_taken(number, why)),
                (Some((_, named)), _) => {
                    let place = new.iter().filter(|other| **other == named).count();
                    new.push(named);
                    Judged::New(Box::new(wish.clone()), known.repeat(named, place))
                }
                (None, _) => Judged::Done(not_taken(number, "it wishes no room".to_owned())),
            };
            judged.push((number, done));
        }
        Ok(judged)
    }

    /// All of them in one piece, or a problem that names each line that is in the way.
    pub async fn all(&self, lines: Vec<Wished>) -> Result<Vec<RoomingLineView>, Problem> {
        // Where another takes the same list at this moment, its guests are looked for once more.
        for _ in 0..2 {
            let judged = self.judge(&lines).await?;
            let wrong: Vec<FieldError> = judged
                .iter()
                .filter_map(|(number, line)| match line {
                    Judged::Done(view) => Some(at_line(*number, view.why.clone()?)),
                    Judged::New(..) => None,
                })
                .collect();
            if !wrong.is_empty() {
                return Err(nothing_taken(Problem::invalid_fields(wrong)));
            }
            if self.book(&judged).await? {
                return self.views(judged).await;
            }
        }
        let detail = "another takes the same list at this moment: send it again";
        Err(Problem::new(Kind::Conflict, detail).after(1))
    }

    /// Books whoever is new, in one piece; says whether it was this request that did.
    async fn book(&self, judged: &[(u64, Judged)]) -> Result<bool, Problem> {
        let new = judged.iter().filter_map(|(number, line)| match line {
            Judged::New(wish, repeat) => Some((*number, wish, repeat)),
            Judged::Done(_) => None,
        });
        let (mut numbers, mut wishes, mut keys) = (Vec::new(), Vec::new(), String::new());
        for (number, wish, repeat) in new {
            numbers.push(number);
            wishes.push(wish.as_ref().clone());
            keys.push_str(&repeat.key);
        }
        if wishes.is_empty() {
            return Ok(true);
        }
        let key = hex::encode(Sha256::digest(keys));
        let mut asked = Asked::new(
            self.property,
            self.by.clone().into(),
            Command::RequestAll(wishes),
        );
        asked.idempotency = Some(Idempotency {
            scope: format!("rooming-list {} {} all", self.property, self.group),
            fingerprint: key.clone(),
            key,
        });
        match self.state.ledger().ask(asked).await? {
            Ok(receipt) => Ok(!receipt.is_replay),
            Err(refusal) => {
                let errors = match &refusal {
                    Refusal::Several(all) => all
                        .iter()
                        .map(|(index, why)| at_line(numbers[*index], in_words(why)))
                        .collect(),
                    _ => Vec::new(),
                };
                Err(nothing_taken(Problem {
                    errors,
                    ..refused_without_nights(refusal)
                }))
            }
        }
    }

    /// What became of lines that were all taken.
    async fn views(&self, judged: Vec<(u64, Judged)>) -> Result<Vec<RoomingLineView>, Problem> {
        let new = judged.iter().filter_map(|(_, line)| match line {
            Judged::New(wish, _) => Some(wish.reservation),
            Judged::Done(_) => None,
        });
        let new: Vec<ReservationId> = new.collect();
        let folios = reservations::load_all(self.state.ledger(), self.property, &new).await?;
        let views = judged.into_iter().map(|(number, line)| match line {
            Judged::Done(view) => view,
            Judged::New(wish, _) => {
                let id = wish.reservation;
                let made = folios.iter().find(|folio| folio.reservation.id == id);
                let short = made.map(|folio| folio.reservation.number.to_string());
                is_in(number, id, short.unwrap_or_default(), false)
            }
        });
        Ok(views.collect())
    }

    /// Each for itself.
    pub async fn good_ones(&self, lines: Vec<Wished>) -> Result<Vec<RoomingLineView>, Problem> {
        let mut views = Vec::new();
        for (number, line) in self.judge(&lines).await? {
            let (wish, repeat) = match line {
                Judged::New(wish, repeat) => (wish, repeat),
                Judged::Done(view) => {
                    views.push(view);
                    continue;
                }
            };
            let command = Command::Request(wish);
            let mut asked = Asked::new(self.property, self.by.clone().into(), command);
            asked.idempotency = Some(repeat);
            views.push(match self.state.ledger().ask(asked).await? {
                Ok(receipt) => match receipt.reservation {
                    Some(made) => {
                        let already = receipt.is_replay && !self.list.made(made.id, number);
                        is_in(number, made.id, made.number.to_string(), already)
                    }
                    None => not_taken(number, "it became no reservation".to_owned()),
                },
                Err(refusal) => not_taken(number, in_words(&refusal)),
            });
        }
        Ok(views)
    }
}

/// The guest of a line's wish.
fn named(wish: &Wish) -> Option<Named> {
    let room = wish.rooms.first()?;
    let name = room.guest_name.as_ref()?;
    Some(Named::new(&name.0, room.stay, room.room_type))
}

fn at_line(number: u64, message: String) -> FieldError {
    FieldError {
        pointer: format!("/line/{number}"),
        message,
    }
}

fn nothing_taken(problem: Problem) -> Problem {
    let lines = match problem.errors.len() {
        1 => "1 line is".to_owned(),
        count => format!("{count} lines are"),
    };
    Problem {
        detail: format!("Nothing of the list was taken: {lines} in the way, each says why."),
        ..problem
    }
}
