//! Cells into the fewest spans that a channel's capabilities allow.
//!
//! Pure. Equal neighbours of one remote code are joined, spans are cut into messages, and each
//! span remembers which cells it tells, so that a refused span is traced back to its marks.

use std::collections::{BTreeSet, HashMap};

use keyrack_model::ari::{AriCell, AriKey, AriPush, AriSpan};
use keyrack_model::channel::{Capabilities, ChannelMapping};
use keyrack_model::id::{RatePlanId, RoomTypeId};
use keyrack_model::stay::{Stay, plus_days};

/// One message (or one set of messages) for one hotel's listing, and where its spans come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// What is rendered.
    pub push: AriPush,
    /// For each span the cells that it tells: indices into the cells that were given.
    pub sources: Vec<Vec<usize>>,
}

impl Batch {
    /// The cells that the batch tells, each once, in order.
    pub fn cells(&self) -> BTreeSet<usize> {
        self.sources.iter().flatten().copied().collect()
    }
}

/// The fewest messages that tell `cells` to the listing `hotel_code`.
///
/// A cell goes to every remote code that it is mapped to, in one message: what is settled by an
/// answer has been told to all of them. Cells without a mapping, and cells of a rate plan where the
/// channel knows none, tell nothing. A complete set is one message whatever its size, since each
/// message of it would replace the one before.
pub fn batches(
    hotel_code: &str,
    complete: bool,
    cells: &[AriCell],
    mappings: &[ChannelMapping],
    capabilities: &Capabilities,
) -> Vec<Batch> {
    let mut codes: HashMap<(RoomTypeId, Option<RatePlanId>), Codes<'_>> = HashMap::new();
    for cell in cells {
        codes
            .entry((cell.key.room_type, cell.key.rate_plan))
            .or_insert_with(|| codes_of(cell.key, mappings, capabilities));
    }
    let chunk = if complete {
        usize::MAX
    } else {
        capabilities.spans_per_message_max.max(1)
    };
    let mut messages: Vec<Vec<(AriSpan, Vec<usize>)>> = Vec::new();
    for run in runs(cells, &codes) {
        let spans = run.spans(cells);
        match messages.last_mut() {
            Some(message) if message.len() + spans.len() <= chunk => message.extend(spans),
            _ => messages.push(spans),
        }
    }
    let messages = messages.into_iter();
    messages
        .map(|message| batch(hotel_code, complete, message))
        .collect()
}

/// A message with its spans in order of room code, rate code (rooms first) and night.
fn batch(hotel_code: &str, complete: bool, mut message: Vec<(AriSpan, Vec<usize>)>) -> Batch {
    let order = |span: &AriSpan| {
        let rate = span.channel_rate_code.clone();
        (span.channel_room_code.clone(), rate, span.nights.arrival())
    };
    message.sort_by_cached_key(|(span, _)| order(span));
    let (spans, sources) = message.into_iter().unzip();
    Batch {
        push: AriPush {
            hotel_code: hotel_code.to_owned(),
            complete,
            spans,
        },
        sources,
    }
}

/// Remote codes of rooms and rates.
type Codes<'a> = BTreeSet<(&'a str, Option<&'a str>)>;

/// Equal neighbours under the same codes: a span of each.
struct Run<'a> {
    codes: &'a Codes<'a>,
    nights: Stay,
    sources: Vec<usize>,
}

impl Run<'_> {
    fn spans(&self, cells: &[AriCell]) -> Vec<(AriSpan, Vec<usize>)> {
        let values = self.sources.first().map(|index| &cells[*index].values);
        let span = |(room, rate): &(&str, Option<&str>)| {
            let span = AriSpan {
                nights: self.nights,
                channel_room_code: (*room).to_owned(),
                channel_rate_code: rate.map(str::to_owned),
                values: values.cloned().unwrap_or_default(),
            };
            (span, self.sources.clone())
        };
        self.codes.iter().map(span).collect()
    }

    /// The nights of the run and the cell together, where the cell is its equal neighbour.
    fn joined(&self, codes: &Codes<'_>, cell: &AriCell, cells: &[AriCell]) -> Option<Stay> {
        let last = &cells[*self.sources.last()?];
        let is_neighbour = self.codes == codes
            && self.nights.departure() == cell.key.night
            && last.values == cell.values;
        is_neighbour
            .then(|| Stay::new(self.nights.arrival(), plus_days(cell.key.night, 1)))
            .flatten()
    }
}

/// The cells that are told, joined, in order of their codes and nights.
fn runs<'a>(
    cells: &[AriCell],
    codes: &'a HashMap<(RoomTypeId, Option<RatePlanId>), Codes<'a>>,
) -> Vec<Run<'a>> {
    let told = cells.iter().enumerate().filter_map(|(index, cell)| {
        let codes = codes.get(&(cell.key.room_type, cell.key.rate_plan))?;
        (!codes.is_empty()).then_some((codes, index))
    });
    let mut told: Vec<(&Codes<'_>, usize)> = told.collect();
    told.sort_by_key(|(codes, index)| (*codes, cells[*index].key.night));
    let mut runs: Vec<Run<'_>> = Vec::new();
    for (codes, index) in told {
        let cell = &cells[index];
        if let Some(run) = runs.last_mut()
            && let Some(joined) = run.joined(codes, cell, cells)
        {
            run.nights = joined;
            run.sources.push(index);
        } else if let Some(nights) = Stay::night(cell.key.night) {
            let sources = vec![index];
            runs.push(Run {
                codes,
                nights,
                sources,
            });
        }
    }
    runs
}

/// The remote codes of a cell: of the room, or of each room and rate that its plan is mapped to.
fn codes_of<'a>(
    key: AriKey,
    mappings: &'a [ChannelMapping],
    capabilities: &Capabilities,
) -> Codes<'a> {
    mappings
        .iter()
        .filter(|mapping| mapping.room_type == key.room_type)
        .filter_map(|mapping| {
            let room = mapping.channel_room_code.as_str();
            if key.rate_plan.is_none() {
                return Some((room, None));
            }
            let is_told = capabilities.knows_rate_plans && mapping.rate_plan == key.rate_plan;
            let rate = mapping.channel_rate_code.as_deref().filter(|_| is_told)?;
            Some((room, Some(rate)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use keyrack_model::ari::AriValues;
    use proptest::prelude::{
        Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
    };

    use super::*;

    const CHANNEL: Capabilities = Capabilities {
        is_polled: true,
        polls_whole_connection: true,
        poll_seconds: 20,
        settle_after_acknowledge_seconds: 5,
        missed_seconds: None,
        fallback_seconds: 1_800,
        snapshot_revisions: true,
        takes_deltas: true,
        takes_complete_sets: false,
        takes_rates: true,
        knows_rate_plans: true,
        restrictions: &[],
        reopens_by_itself: false,
        rooms_max: 254,
        spans_per_message_max: 1_000,
        horizon_nights_max: 730,
        requests_per_minute: 600,
        settle_seconds: None,
        signs_in: false,
        sign_in_seconds: 0,
    };

    fn map(room_type: i64, plan: Option<i64>, room: &str, rate: Option<&str>) -> ChannelMapping {
        ChannelMapping {
            room_type: RoomTypeId(room_type),
            rate_plan: plan.map(RatePlanId),
            channel_room_code: room.into(),
            channel_rate_code: rate.map(str::to_owned),
            pool: Default::default(),
            allotment: None,
        }
    }

    fn cell(room_type: i64, plan: Option<i64>, day: i32, rooms: i32) -> AriCell {
        AriCell {
            key: AriKey {
                room_type: RoomTypeId(room_type),
                rate_plan: plan.map(RatePlanId),
                night: plus_days(date(2030, 1, 1), day),
            },
            values: AriValues {
                rooms: plan.is_none().then_some(rooms),
                closed: rooms == 0,
                ..AriValues::default()
            },
        }
    }

    fn lines(batches: &[Batch]) -> Vec<String> {
        batches
            .iter()
            .flat_map(|batch| &batch.push.spans)
            .map(|span| {
                let rate = span.channel_rate_code.as_deref().unwrap_or("-");
                format!("{} {rate} {}", span.channel_room_code, span.nights)
            })
            .collect()
    }

    #[test]
    fn equal_neighbours_are_told_as_one_span_and_rooms_come_before_their_rates() {
        let mappings = [
            map(1, Some(5), "DBL", Some("BAR")),
            map(2, None, "APP", None),
        ];
        let cells = [
            cell(1, Some(5), 0, 1),
            cell(1, None, 1, 3),
            cell(1, None, 0, 3),
            cell(1, None, 2, 2),
            cell(1, None, 4, 2),
            cell(2, None, 0, 3),
        ];
        let told = batches("H1", false, &cells, &mappings, &CHANNEL);
        assert_eq!(
            lines(&told),
            [
                "APP - 2030-01-01..2030-01-02",
                "DBL - 2030-01-01..2030-01-03",
                "DBL - 2030-01-03..2030-01-04",
                "DBL - 2030-01-05..2030-01-06",
                "DBL BAR 2030-01-01..2030-01-02",
            ]
        );
        assert_eq!(
            told[0].sources[1],
            [2, 1],
            "the span knows its cells in order of night"
        );
    }

    #[test]
    fn a_channel_without_rate_plans_hears_of_rooms_only() {
        let channel = Capabilities {
            knows_rate_plans: false,
            ..CHANNEL
        };
        let mappings = [map(1, Some(5), "DBL", Some("BAR"))];
        let cells = [cell(1, None, 0, 2), cell(1, Some(5), 0, 2)];
        let told = batches("H1", false, &cells, &mappings, &channel);
        assert_eq!(lines(&told), ["DBL - 2030-01-01..2030-01-02"]);
    }

    #[test]
    fn a_type_under_two_remote_rooms_is_told_to_both() {
        let mappings = [map(1, None, "A", None), map(1, None, "B", None)];
        let told = batches("H1", false, &[cell(1, None, 0, 2)], &mappings, &CHANNEL);
        assert_eq!(told[0].sources, [[0], [0]]);
        assert_eq!(told[0].cells().len(), 1);
    }

    #[test]
    fn a_complete_set_is_never_cut() {
        let channel = Capabilities {
            spans_per_message_max: 2,
            ..CHANNEL
        };
        let mappings = [map(1, None, "A", None)];
        let cells: Vec<AriCell> = (0..5).map(|day| cell(1, None, day, day)).collect();
        assert_eq!(batches("H1", true, &cells, &mappings, &channel).len(), 1);
        assert_eq!(batches("H1", false, &cells, &mappings, &channel).len(), 3);
    }

    fn some_cells() -> impl Strategy<Value = Vec<AriCell>> {
        let plan = prop_oneof![Just(None), (5..7_i64).prop_map(Some)];
        let key = (1..4_i64, plan, 0..40_i32);
        proptest::collection::btree_map(key, 0..3_i32, 0..120).prop_map(|told| {
            told.into_iter()
                .map(|((room_type, plan, day), rooms)| cell(room_type, plan, day, rooms))
                .collect()
        })
    }

    /// Types 1 and 2 are mapped, 3 is not; type 2 stands under two remote rooms.
    fn some_mappings() -> Vec<ChannelMapping> {
        vec![
            map(1, Some(5), "DBL", Some("BAR")),
            map(1, Some(6), "DBL", Some("NRF")),
            map(2, Some(5), "SGL", Some("BAR")),
            map(2, None, "SGL-2", None),
        ]
    }

    proptest! {
        #[test]
        fn spans_expanded_are_the_cells_again(
            cells in some_cells(), max in 1..9_usize, knows_rate_plans in any::<bool>()
        ) {
            let channel = Capabilities { spans_per_message_max: max, knows_rate_plans, ..CHANNEL };
            let mappings = some_mappings();
            let told = batches("H1", false, &cells, &mappings, &channel);
            let (mut expanded, mut told_of) = (Vec::new(), BTreeSet::new());
            for batch in &told {
                // A type under two codes is told to both at once.
                prop_assert!(!batch.push.spans.is_empty() && batch.push.spans.len() <= max.max(2));
                prop_assert!(batch.cells().is_disjoint(&told_of));
                told_of.extend(batch.cells());
                prop_assert_eq!(batch.push.spans.len(), batch.sources.len());
                for (span, sources) in batch.push.spans.iter().zip(&batch.sources) {
                    let nights: Vec<_> = span.nights.nights().collect();
                    prop_assert_eq!(nights.len(), sources.len());
                    for (night, source) in nights.into_iter().zip(sources) {
                        prop_assert_eq!(cells[*source].key.night, night);
                        prop_assert_eq!(&cells[*source].values, &span.values);
                        let rate = span.channel_rate_code.clone();
                        expanded.push((*source, span.channel_room_code.clone(), rate));
                    }
                }
            }
            expanded.sort();
            let mut wanted = Vec::new();
            for (index, cell) in cells.iter().enumerate() {
                for (room, rate) in codes_of(cell.key, &mappings, &channel) {
                    wanted.push((index, room.to_owned(), rate.map(str::to_owned)));
                }
            }
            wanted.sort();
            prop_assert_eq!(expanded, wanted);
        }

        #[test]
        fn no_two_spans_could_have_been_one(cells in some_cells()) {
            let told = batches("H1", false, &cells, &some_mappings(), &CHANNEL);
            let spans: Vec<&AriSpan> = told.iter().flat_map(|batch| &batch.push.spans).collect();
            for pair in spans.windows(2) {
                let same_code = pair[0].channel_room_code == pair[1].channel_room_code
                    && pair[0].channel_rate_code == pair[1].channel_rate_code;
                let touch = pair[0].nights.departure() == pair[1].nights.arrival();
                prop_assert!(!(same_code && touch && pair[0].values == pair[1].values));
            }
        }
    }
}
