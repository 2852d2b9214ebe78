//! Closes that a channel acknowledged: after one, nothing may be shown there that was not free in
//! the meantime.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use jiff::Timestamp;
use jiff::civil::Date;
use keyrack_sandbox::{Cause, Journal, NightChange};
use serde_json::Value;

use super::hotel::{Listing, TYPES};
use super::stage::Stage;

/// What came of watching.
#[derive(Default)]
pub struct Watched {
    /// Closes that were acknowledged.
    pub closes: usize,
    /// What was shown above the truth after one, in words.
    pub findings: Vec<String>,
}

/// Watches every close of a channel; holds what was told after it against the ledger's entries of
/// the night.
pub async fn watch(
    stage: &Stage,
    listing: &Listing,
    journal: &Journal,
    is_same_clock: bool,
) -> Result<Watched> {
    let mut watched = Watched::default();
    for ((room, night), mut changes) in by_night(journal) {
        changes.sort_by_key(|change| change.sequence);
        let code = TYPES.iter().find(|t| t.code_at(listing) == room);
        let code = code.map_or(room, |t| t.code);
        let course = match is_same_clock && is_opened_again(&changes) {
            true => Some(course(stage, code, night).await?),
            false => None,
        };
        let (closes, above) = after_closes(&changes, course.as_ref());
        watched.closes += closes;
        watched.findings.extend(above.iter().map(|change| {
            format!(
                "account {}, type {code}, night {night}: shown {} at {} after its close was \
                 taken, and no more was free since",
                listing.account, change.shown, change.at
            )
        }));
    }
    Ok(watched)
}

type Night<'a> = (&'a str, Date);

fn by_night(journal: &Journal) -> BTreeMap<Night<'_>, Vec<&NightChange>> {
    let mut nights: BTreeMap<Night<'_>, Vec<&NightChange>> = BTreeMap::new();
    for change in &journal.nights {
        let night = (change.room.as_str(), change.night);
        nights.entry(night).or_default().push(change);
    }
    nights
}

fn is_told(change: &NightChange) -> bool {
    matches!(change.cause, Cause::Told | Cause::LeftOut)
}

/// Whether a night was told open after it had been told closed.
fn is_opened_again(changes: &[&NightChange]) -> bool {
    let told = changes.iter().filter(|change| is_told(change));
    let mut from_close = told.skip_while(|change| change.shown > 0);
    from_close.any(|change| change.shown > 0)
}

async fn course(stage: &Stage, room_type: &str, night: Date) -> Result<Course> {
    let path = format!("nights/{room_type}/{night}/ledger");
    let entries = stage.client.get(&path).await?;
    Course::of(&entries["items"]).with_context(|| format!("the ledger of {room_type} on {night}"))
}

/// How many closes there were, and what was shown after one without having been free since: by the
/// channel on its own, or told by us.
fn after_closes<'a>(
    changes: &[&'a NightChange],
    course: Option<&Course>,
) -> (usize, Vec<&'a NightChange>) {
    let mut closes = 0;
    let mut above = Vec::new();
    let mut closed_at: Option<Timestamp> = None;
    for change in changes {
        match (is_told(change), closed_at) {
            (true, _) if change.shown == 0 => {
                closes += 1;
                closed_at = Some(change.at);
            }
            (true, Some(since)) => {
                let most = course.map(|course| course.most_since(since, change.at));
                if most.is_some_and(|most| i64::from(change.shown) > most) {
                    above.push(*change);
                }
                closed_at = None;
            }
            (false, Some(_)) if change.shown > 0 => above.push(*change),
            _ => {}
        }
    }
    (closes, above)
}

/// The free rooms of a night through time. A hold that dies frees its rooms before an entry says
/// so; the demo's day is shorter than its holds.
struct Course(Vec<(Timestamp, i64)>);

impl Course {
    /// From the lines of a night's ledger, in order.
    fn of(entries: &Value) -> Option<Self> {
        let mut free = 0;
        let mut steps = Vec::new();
        for entry in entries.as_array()? {
            let rooms = entry["quantity"].as_i64()?;
            let comes = i64::from(entry["to_pool"] == "free") * rooms;
            let goes = i64::from(entry["from_pool"] == "free") * rooms;
            free += comes - goes;
            steps.push((entry["at"].as_str()?.parse().ok()?, free));
        }
        Some(Self(steps))
    }

    /// The most that was free at any moment from the close on, until `until`. The close was worded
    /// when nothing was free any more, a little before it arrived: from there.
    fn most_since(&self, closed: Timestamp, until: Timestamp) -> i64 {
        let steps = self.0.iter().take_while(|(at, _)| *at <= until);
        let steps: Vec<_> = steps.copied().collect();
        let before = steps.iter().take_while(|(at, _)| *at <= closed).count();
        let none_free = steps.iter().take(before).rposition(|(_, free)| *free <= 0);
        let first = none_free.unwrap_or(before.saturating_sub(1));
        let frees = steps.iter().skip(first).map(|(_, free)| *free);
        frees.max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn change(second: i64, cause: Cause, shown: u32) -> NightChange {
        NightChange {
            sequence: second.unsigned_abs(),
            at: at(second),
            hotel: "1".to_owned(),
            room: "DBL".to_owned(),
            night: date(2030, 6, 1),
            number: Some(shown),
            closed: false,
            shown,
            cause,
        }
    }

    /// One room, taken and given back at these seconds in turn.
    fn one_room(turns: &[i64]) -> Course {
        let line = |second: i64, from: &str, to: &str| {
            let at = at(second).to_string();
            json!({"at": at, "quantity": 1, "from_pool": from, "to_pool": to})
        };
        let mut lines = vec![line(0, "outside", "free")];
        for (turn, second) in turns.iter().enumerate() {
            lines.push(match turn % 2 {
                0 => line(*second, "free", "sold"),
                _ => line(*second, "sold", "free"),
            });
        }
        Course::of(&Value::Array(lines)).unwrap()
    }

    fn above(changes: &[NightChange], course: &Course) -> Vec<i64> {
        let changes: Vec<_> = changes.iter().collect();
        let (_, above) = after_closes(&changes, Some(course));
        above.iter().map(|change| change.at.as_second()).collect()
    }

    #[test]
    fn a_raise_needs_a_room_that_was_free_since_the_close() {
        let told = |second, shown| change(second, Cause::Told, shown);
        let sold_and_back = one_room(&[10, 20]);
        assert!(above(&[told(11, 0), told(21, 1)], &sold_and_back).is_empty());
        let only_sold = one_room(&[10]);
        let corrected = [told(11, 0), told(14, 1), told(15, 0)];
        assert_eq!(above(&corrected, &only_sold), [14]);
        assert_eq!(above(&[told(11, 0), told(19, 1)], &sold_and_back), [19]);
        let back_and_sold_again = one_room(&[10, 20, 21]);
        assert!(above(&[told(11, 0), told(22, 1)], &back_and_sold_again).is_empty());
        let back_before_the_close_arrived = one_room(&[10, 12]);
        let changes = [told(13, 0), told(14, 1)];
        assert!(above(&changes, &back_before_the_close_arrived).is_empty());
        assert_eq!(above(&[told(11, 0), told(21, 2)], &sold_and_back), [21]);
    }

    #[test]
    fn what_a_channel_opens_by_itself_after_a_close_is_above() {
        let closed = [
            change(11, Cause::Told, 0),
            change(12, Cause::Reopened, 1),
            change(13, Cause::Told, 0),
        ];
        assert_eq!(above(&closed, &one_room(&[10])), [12]);
        let never_closed = [change(11, Cause::Told, 1), change(12, Cause::Sold, 0)];
        assert!(above(&never_closed, &one_room(&[])).is_empty());
    }
}
