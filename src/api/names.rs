//! Codes outside, ids inside: what each name of a property stands for.
//!
//! A code keeps its id for ever, so remembering the pair decides nothing; whatever may change is
//! read from the ledger each time.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, RwLock};
use std::time::Duration;

use keyrack_ledger::allotments::{self, AllotmentRow};
use keyrack_ledger::decide::allotment::Owner;
use keyrack_ledger::decide::state::Reservation;
use keyrack_ledger::error::LedgerError;
use keyrack_ledger::handle::Ledger;
use keyrack_ledger::{catalog, groups};
use keyrack_model::id::{
    AccountId, AllotmentId, Code, GroupId, PropertyId, RatePlanId, RoomTypeId,
};
use tokio::time::Instant;

use crate::problem::Problem;

/// The properties that this process has met.
pub struct Directory {
    ledger: Ledger,
    houses: RwLock<HashMap<String, Arc<House>>>,
}

/// A property and the names in it.
pub struct House {
    /// Its id.
    pub id: PropertyId,
    /// Its code.
    pub code: String,
    ledger: Ledger,
    known: RwLock<Arc<Names>>,
}

/// The names of a property as they were read.
#[derive(Default)]
pub struct Names {
    /// Of room types.
    pub room_types: Pairs<RoomTypeId>,
    /// Of rate plans.
    pub rate_plans: Pairs<RatePlanId>,
    /// Of accounts.
    pub accounts: Pairs<AccountId>,
    /// Of allotments.
    pub allotments: Pairs<AllotmentId>,
    /// Of groups.
    pub groups: Pairs<GroupId>,
    read_at: Option<Instant>,
}

/// Codes and ids of one kind of thing.
pub struct Pairs<I> {
    by_code: HashMap<String, I>,
    by_id: HashMap<I, String>,
}

impl<I> Default for Pairs<I> {
    fn default() -> Self {
        Self {
            by_code: HashMap::new(),
            by_id: HashMap::new(),
        }
    }
}

impl<I: Copy + Eq + Hash> Pairs<I> {
    fn of(pairs: impl Iterator<Item = (I, String)>) -> Self {
        let by_id: HashMap<I, String> = pairs.collect();
        let by_code = by_id.iter().map(|(id, code)| (code.clone(), *id)).collect();
        Self { by_code, by_id }
    }

    /// The id of a code.
    pub fn id(&self, code: &str) -> Option<I> {
        self.by_code.get(code).copied()
    }

    /// The code of an id.
    pub fn code(&self, id: I) -> Option<&str> {
        self.by_id.get(&id).map(String::as_str)
    }

    /// The code of an id for people: what is no longer known is shown as such.
    pub fn shown(&self, id: I) -> String {
        self.code(id).unwrap_or("(removed)").to_owned()
    }
}

impl Directory {
    /// Nobody met yet.
    pub fn new(ledger: Ledger) -> Self {
        Self {
            ledger,
            houses: RwLock::default(),
        }
    }

    /// The property of a code, or `None`.
    pub async fn house(&self, code: &str) -> Result<Option<Arc<House>>, LedgerError> {
        if Code::property(code).is_none() {
            return Ok(None);
        }
        if let Some(house) = self.met(code) {
            return Ok(Some(house));
        }
        let Some(property) = catalog::property(&self.ledger, code).await? else {
            return Ok(None);
        };
        let house = Arc::new(House {
            id: property.id,
            code: property.code,
            ledger: self.ledger.clone(),
            known: RwLock::default(),
        });
        let mut houses = self.houses.write().unwrap_or_else(|e| e.into_inner());
        if houses.len() >= HOUSES_MAX {
            houses.clear();
        }
        let kept = houses.entry(code.to_owned()).or_insert(house);
        Ok(Some(Arc::clone(kept)))
    }

    fn met(&self, code: &str) -> Option<Arc<House>> {
        let houses = self.houses.read().unwrap_or_else(|e| e.into_inner());
        houses.get(code).cloned()
    }
}

impl House {
    /// The names as they were last read.
    pub fn names(&self) -> Arc<Names> {
        Arc::clone(&self.known.read().unwrap_or_else(|e| e.into_inner()))
    }

    /// The names as they are now.
    pub async fn read_names(&self) -> Result<Arc<Names>, LedgerError> {
        let room_types = catalog::room_types(&self.ledger, self.id).await?;
        let rate_plans = catalog::rate_plans(&self.ledger, self.id).await?;
        let accounts = catalog::accounts(&self.ledger, self.id).await?;
        let allotments = allotments::list(&self.ledger, self.id).await?;
        let groups = groups::list(&self.ledger, self.id).await?;
        let names = Arc::new(Names {
            allotments: Pairs::of(allotments.into_iter().map(|one| (one.id, one.code))),
            groups: Pairs::of(groups.into_iter().map(|one| (one.id, one.code))),
            room_types: Pairs::of(room_types.into_iter().map(|one| (one.id, one.code))),
            rate_plans: Pairs::of(rate_plans.into_iter().map(|one| (one.id, one.code))),
            accounts: Pairs::of(
                accounts
                    .into_iter()
                    .map(|row| (row.account.id, row.account.code)),
            ),
            read_at: Some(Instant::now()),
        });
        let mut known = self.known.write().unwrap_or_else(|e| e.into_inner());
        *known = Arc::clone(&names);
        Ok(names)
    }

    /// Names in which `knows` finds what it looks for; read anew where the known ones do not hold
    /// it. What is not there either does not exist.
    pub async fn names_with(
        &self,
        knows: impl Fn(&Names) -> bool,
    ) -> Result<Arc<Names>, LedgerError> {
        let names = self.names();
        match knows(&names) {
            true => Ok(names),
            false => self.read_names().await,
        }
    }

    /// Names for showing allotments: a hotel may have had thousands, whose names are known already.
    pub async fn names_of_blocks(&self, rows: &[AllotmentRow]) -> Result<Arc<Names>, LedgerError> {
        self.names_of_group(rows, &[]).await
    }

    /// Names for showing allotments, and reservations beside them.
    pub async fn names_of_group(
        &self,
        rows: &[AllotmentRow],
        shown: &[&Reservation],
    ) -> Result<Arc<Names>, LedgerError> {
        let has = |names: &Names, row: &AllotmentRow| {
            let owner = match row.owner {
                Owner::Account(id) => names.accounts.code(id).is_some(),
                Owner::Group(id) => names.groups.code(id).is_some(),
            };
            let itself = names.allotments.code(row.id).is_some();
            owner && itself && names.room_types.code(row.room_type).is_some()
        };
        let knows = |names: &Names| {
            rows.iter().all(|row| has(names, row)) && shown.iter().all(|one| names.cover(one))
        };
        self.names_with(knows).await
    }

    /// The room type of a code that stands at `pointer` of the request.
    pub async fn room_type(&self, code: &str, pointer: &str) -> Result<RoomTypeId, Problem> {
        let knows = |names: &Names| names.room_types.id(code).is_some();
        let names = self.names_with(knows).await?;
        let found = names.room_types.id(code);
        found.ok_or_else(|| Problem::invalid(pointer, "no such room type"))
    }

    /// The account of a code that stands at `pointer` of the request. Read anew each time: a
    /// removed account leaves its code to a new one.
    pub async fn account(&self, code: &str, pointer: &str) -> Result<AccountId, Problem> {
        let found = self.read_names().await?.accounts.id(code);
        found.ok_or_else(|| Problem::invalid(pointer, "no such account"))
    }

    /// The allotments of the group of a code that stands at `pointer` of the request.
    pub async fn blocks(&self, code: &str, pointer: &str) -> Result<Vec<AllotmentRow>, Problem> {
        let group = groups::by_code(&self.ledger, self.id, code).await?;
        let group = group.ok_or_else(|| Problem::invalid(pointer, "no such group"))?;
        Ok(allotments::of_group(&self.ledger, self.id, group.id).await?)
    }

    /// Names for showing reservations. Removed accounts are never found, so it reads anew at most
    /// once a second.
    pub async fn names_of(&self, shown: &[&Reservation]) -> Result<Arc<Names>, LedgerError> {
        let names = self.names();
        let is_young = names
            .read_at
            .is_some_and(|at| at.elapsed() < Duration::from_secs(1));
        if is_young || shown.iter().all(|one| names.cover(one)) {
            return Ok(names);
        }
        self.read_names().await
    }
}

impl Names {
    fn cover(&self, reservation: &Reservation) -> bool {
        let account = reservation.account;
        account.is_none_or(|id| self.accounts.code(id).is_some())
            && reservation
                .detail
                .drawn
                .iter()
                .all(|drawn| self.allotments.code(drawn.allotment).is_some())
            && reservation.rooms.iter().all(|room| {
                let booked = room.booked.as_ref().and_then(|booked| booked.room_type);
                let known = |id| self.room_types.code(id).is_some();
                room.room_type.is_none_or(known)
                    && booked.is_none_or(known)
                    && room
                        .rate_plan
                        .is_none_or(|id| self.rate_plans.code(id).is_some())
            })
    }
}

/// Far more than one daemon serves: bounds what hostile callers could make us remember.
const HOUSES_MAX: usize = 20_000;
