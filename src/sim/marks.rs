//! Nights that channels were asked to look at: the lines of both tails, read by the simulation's
//! own statements. A number that is told otherwise than before without a line that names its night
//! would stay the old one at the channel.

use std::collections::BTreeMap;

use jiff_sqlx::Date;
use keyrack_model::id::{AccountId, PropertyId, RoomTypeId};
use keyrack_model::stay::StayDate;
use sqlx::PgPool;

use crate::auditor::entry::Cell;
use crate::auditor::house::{Dead, House};
use crate::auditor::listing::Told;
use crate::error::SimError;

/// What was told when it was looked at last.
#[derive(Debug, Default)]
pub struct Before {
    /// On which day; nothing was looked at before the first.
    today: Option<StayDate>,
    told: BTreeMap<(AccountId, Cell), Told>,
    /// What dead holds took then.
    dead: Dead,
    /// The last lines of both tails then.
    read: (i64, i64),
}

/// Nights that accounts are to be told anew.
struct Marks(Vec<Mark>);

/// `None` is all.
struct Mark {
    account: Option<AccountId>,
    room_type: Option<RoomTypeId>,
    nights: (StayDate, StayDate),
}

impl Marks {
    /// Whether an account looks at a night of a type because of these.
    fn names(&self, account: AccountId, room_types: &[RoomTypeId], night: StayDate) -> bool {
        self.0.iter().any(|mark| {
            mark.account.is_none_or(|of| of == account)
                && mark.room_type.is_none_or(|of| room_types.contains(&of))
                && mark.nights.0 <= night
                && night < mark.nights.1
        })
    }
}

impl Before {
    /// What is told otherwise than before while nobody was asked to look, and remembers what is
    /// told now. From one day to the next all is looked at anew by the calendar.
    pub async fn compare(
        &mut self,
        pool: &PgPool,
        house: &House,
        (property, today): (PropertyId, StayDate),
        (told, dead): (BTreeMap<(AccountId, Cell), Told>, Dead),
    ) -> Result<Vec<String>, SimError> {
        let (marks, read) = marks(pool, property, self.read).await?;
        let mut found = Vec::new();
        for (key @ (account, cell), is) in &told {
            let Some(was) = self.told.get(key).filter(|_| self.today == Some(today)) else {
                continue;
            };
            let mut room_types: Vec<RoomTypeId> = house.parts(cell.0).collect();
            // Holds die by the clock alone, and whoever lets them go says so.
            let mut parts = room_types.iter().map(|part| (*part, cell.1));
            let died = parts.any(|part| dead.concerns(part) || self.dead.concerns(part));
            room_types.push(cell.0);
            if was != is && !died && !marks.names(*account, &room_types, cell.1) {
                found.push(format!(
                    "account {account} was told {was:?} of {} {}, it is {is:?} now, and nobody \
                     was asked to tell it",
                    cell.0, cell.1
                ));
            }
        }
        *self = Self {
            today: Some(today),
            told,
            dead,
            read,
        };
        Ok(found)
    }
}

/// The marks of a property behind what was read before, and how far that is now.
async fn marks(
    pool: &PgPool,
    property: PropertyId,
    (entries, changes): (i64, i64),
) -> Result<(Marks, (i64, i64)), SimError> {
    type Row = (bool, i64, i64, i64, Date, Date);
    let rows: Vec<Row> = sqlx::query_as(
        "select true, seq, 0::bigint, room_type_id, night_from, night_until
           from ledger_entry
          where property_id = $1 and seq > $2 and room_type_id is not null
                and night_from is not null
         union all
         select false, seq, account_id, room_type_id, night_from, night_until
           from rate_change where property_id = $1 and seq > $3",
    )
    .bind(property.0)
    .bind(entries)
    .bind(changes)
    .fetch_all(pool)
    .await
    .map_err(SimError::look("reading who is to be told"))?;
    let (mut marks, mut read) = (Vec::new(), (entries, changes));
    for (is_entry, seq, account, room_type, from, until) in rows {
        let read = if is_entry { &mut read.0 } else { &mut read.1 };
        *read = (*read).max(seq);
        marks.push(Mark {
            account: (account != 0).then_some(AccountId(account)),
            room_type: (room_type != 0).then_some(RoomTypeId(room_type)),
            nights: (from.to_jiff(), until.to_jiff()),
        });
    }
    Ok((Marks(marks), read))
}
