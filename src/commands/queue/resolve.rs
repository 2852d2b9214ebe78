//! A way out, proposed or gone.

use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::moves::{Moves, money};
use super::show::read;
use super::work::{AsRead, NO_QUERY, verb};
use crate::desk::{Answer, Desk};
use crate::table::items;

/// A way out.
#[derive(Debug, Args)]
struct Out {
    /// Number of the case.
    case: i64,
    /// How it ends; left out, as the way says.
    #[arg(required_unless_present = "way")]
    ending: Option<EndingName>,
    /// One of the ways out that `show` names, by its number: with its ending and its moves.
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["ending", "guests"])]
    way: Option<usize>,
    #[command(flatten)]
    moves: Moves,
    /// What it costs, such as 150.00; left out, what the policy says.
    #[arg(long, value_name = "AMOUNT")]
    cost: Option<String>,
    /// In words; of `accepted_as_is` the reason, which it needs.
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
    #[command(flatten)]
    read: AsRead,
}

/// A way out that is proposed.
#[derive(Debug, Args)]
pub struct Propose {
    #[command(flatten)]
    out: Out,
}

/// A way out that is gone.
#[derive(Debug, Args)]
pub struct Resolve {
    #[command(flatten)]
    out: Out,
    /// The channel knows: needed where a channel's guest leaves the house.
    #[arg(long)]
    told_channel: bool,
    /// Ask whether it would be refused; end nothing.
    #[arg(long)]
    dry_run: bool,
}

/// How cases end, as they are written.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum EndingName {
    /// A guest gets a room of another type, free for the whole stay.
    Upgrade,
    /// Two or more guests change their room types at once.
    Swap,
    /// A guest sleeps in another hotel of the same owner.
    SisterProperty,
    /// A guest is sent to another hotel at our cost.
    Walk,
    /// The channel has found another hotel for its guest.
    RelocatedByChannel,
    /// The rooms came back by themselves.
    Cured,
    /// Nothing is done, for a reason.
    AcceptedAsIs,
}

/// Proposes it.
pub async fn propose(desk: &Desk, asked: &Propose) -> Result<Answer> {
    let body = asked.out.body(desk).await?;
    let to = (asked.out.case, "propose", NO_QUERY);
    verb(desk, to, &body, &asked.out.read).await
}

/// Goes it.
pub async fn resolve(desk: &Desk, asked: &Resolve) -> Result<Answer> {
    let mut body = asked.out.body(desk).await?;
    body["told_channel"] = json!(asked.told_channel);
    let (case, read) = (asked.out.case, &asked.out.read);
    if !asked.dry_run {
        return verb(desk, (case, "resolve", NO_QUERY), &body, read).await;
    }
    let to = (case, "resolve", &[("dry_run", "true")][..]);
    let tried = verb(desk, to, &body, read).await?;
    let text = "A dry run: nothing is changed. Nothing stands in the way.\n".to_owned();
    Ok(Answer { text, ..tried })
}

impl Out {
    async fn body(&self, desk: &Desk) -> Result<Value> {
        let mut body = match (self.way, self.ending) {
            (Some(number), _) => self.as_told(desk, number).await?,
            (None, Some(ending)) => {
                let moves = match self.moves.is_empty() {
                    true => Vec::new(),
                    false => self.moves.of(&read(desk, self.case).await?)?,
                };
                json!({ "ending": ending.name(), "moves": moves })
            }
            (None, None) => Value::Null,
        };
        if let Some(cost) = &self.cost {
            body["cost"] = money(cost, &desk.hotel().await?);
        }
        if let Some(note) = &self.note {
            body["note"] = json!(note);
        }
        Ok(body)
    }

    /// A way out as the API names it now.
    async fn as_told(&self, desk: &Desk, number: usize) -> Result<Value> {
        let case = read(desk, self.case).await?;
        let ways = items(&case["ways_out"]);
        ensure!(!ways.is_empty(), "case {} has no way out now", self.case);
        let way = number.checked_sub(1).and_then(|at| ways.get(at));
        let way = way
            .with_context(|| format!("case {} has the ways out 1 to {}", self.case, ways.len()))?;
        let moves = self.moves.completed(way["moves"].clone());
        Ok(json!({ "ending": way["ending"], "moves": moves }))
    }
}

impl EndingName {
    /// As it is written, here and in the API.
    fn name(self) -> Option<String> {
        let value = self.to_possible_value();
        value.map(|value| value.get_name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use keyrack_model::overbooking::Ending;

    use super::*;

    #[test]
    fn cases_end_here_as_the_api_spells_it() {
        let names: Vec<_> = EndingName::value_variants()
            .iter()
            .map(|one| one.name())
            .collect();
        assert_eq!(
            names,
            Ending::ALL.map(|ending| Some(ending.as_str().to_owned()))
        );
    }
}
