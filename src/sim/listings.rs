//! What accounts are told, beside what the auditor says they may be told.

use std::collections::BTreeMap;

use keyrack_ledger::catalog;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::tail::{self, Listing};
use keyrack_model::ari::AriKey;
use keyrack_model::channel::{Account, Capabilities, ChannelMapping};
use keyrack_model::id::PropertyId;
use keyrack_model::stay::plus_days;

use jiff::Timestamp;
use sqlx::PgPool;

use crate::auditor::compare::State;
use crate::auditor::house::{Dead, House};
use crate::auditor::listing::{Takes, Told};
use crate::error::SimError;
use crate::marks::Before;

/// The listings of a property, with their mappings.
pub struct Listings {
    property: PropertyId,
    all: Vec<(Account, Vec<ChannelMapping>)>,
    before: Before,
}

impl Listings {
    /// Reads them; no script changes them.
    pub async fn read(ledger: &Ledger, property: PropertyId) -> Result<Self, SimError> {
        let mut all = Vec::new();
        for row in catalog::accounts(ledger, property).await? {
            let (mappings, _) = catalog::mappings(ledger, row.account.id).await?;
            all.push((row.account, mappings));
        }
        Ok(Self {
            property,
            all,
            before: Before::default(),
        })
    }

    /// What is told otherwise than the auditor says, of the nights around today, what its
    /// explanation says otherwise, and what is told otherwise than before unasked.
    pub async fn compare(
        &mut self,
        (ledger, pool): (&Ledger, &PgPool),
        house: &House,
        (state, now): (&State, Timestamp),
    ) -> Result<Vec<String>, SimError> {
        let mut found = Vec::new();
        let dead = house.dead(now);
        let today = house.rules.today(now);
        let mut all_told = BTreeMap::new();
        for (at, (account, mappings)) in self.all.iter().enumerate() {
            let capabilities = &CHANNELS[at % CHANNELS.len()];
            let listing = Listing {
                account,
                mappings,
                capabilities,
            };
            let mut keys = Vec::new();
            for mapping in mappings {
                keys.extend((-1..NIGHTS).map(|offset| AriKey {
                    room_type: mapping.room_type,
                    rate_plan: None,
                    night: plus_days(today, offset),
                }));
            }
            let reckoning = tail::reckon(ledger, &listing, &keys).await?;
            for cell in reckoning.cells(&keys) {
                let key = (cell.key.room_type, cell.key.night);
                let mut parts = house.parts(key.0);
                if !parts.all(|part| state.nights.contains_key(&(part, key.1))) {
                    continue;
                }
                let told =
                    |dead: &Dead| house.told(account.id, key, takes(capabilities), (now, dead));
                let is = Told {
                    rooms: cell.values.rooms.unwrap_or(-1),
                    closed: cell.values.closed,
                };
                all_told.insert((account.id, key), is);
                let (least, most) = (told(&Dead::default()), told(&dead));
                // What dead holds have of allotments may be told again once they are let go.
                let may = dead.has_drawn() && (least.rooms..=most.rooms).contains(&is.rooms);
                if is != most && !may {
                    found.push(format!(
                        "account {} is told {is:?} of {} {}, must be {most:?}",
                        account.id, key.0, key.1
                    ));
                }
            }
            found.extend(keys.get(1).and_then(|key| {
                let lines = reckoning.lines(key);
                let last = lines.last().map(|line| (line.rooms, line.closed));
                let values = reckoning.cells(&[*key]).pop()?.values;
                let told = (values.rooms, values.closed);
                (last != Some(told))
                    .then(|| format!("{key:?} is told {told:?}, explained {last:?}"))
            }));
        }
        let now = (self.property, today);
        let unasked = self.before.compare(pool, house, now, (all_told, dead));
        found.extend(unasked.await?);
        Ok(found)
    }
}

fn takes(channel: &Capabilities) -> Takes {
    Takes {
        reopens: channel.reopens_by_itself,
        rooms_max: channel.rooms_max,
        nights_max: channel.horizon_nights_max,
    }
}

/// Nights from today on that are looked at.
const NIGHTS: i32 = 24;

/// A channel that takes any number, and one that takes few and reopens what is sold out.
static CHANNELS: [Capabilities; 2] = [
    CHANNEL,
    Capabilities {
        reopens_by_itself: true,
        rooms_max: 4,
        horizon_nights_max: 12,
        ..CHANNEL
    },
];

const CHANNEL: Capabilities = Capabilities {
    is_polled: true,
    polls_whole_connection: true,
    poll_seconds: 20,
    settle_after_acknowledge_seconds: 0,
    missed_seconds: None,
    fallback_seconds: 1_800,
    snapshot_revisions: true,
    takes_deltas: true,
    takes_complete_sets: false,
    takes_rates: false,
    knows_rate_plans: false,
    restrictions: &[],
    reopens_by_itself: false,
    rooms_max: 254,
    spans_per_message_max: 100,
    horizon_nights_max: 700,
    requests_per_minute: 60,
    settle_seconds: None,
    signs_in: false,
    sign_in_seconds: 0,
};
