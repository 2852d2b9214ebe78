//! What is told of a case: bodies and paths.

use keyrack_ledger::decide::overbooking::end::{CaseEnd, CaseMove};
use keyrack_ledger::overbookings::transfer::Departure;
use keyrack_model::id::{CaseId, ReservationId, RoomStayId};
use keyrack_model::money::{Currency, Money};
use keyrack_model::overbooking::Ending;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

use crate::names::House;
use crate::problem::Problem;
use crate::wire::{MoneyShape, Wrongs};

/// Which case.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Path)]
pub struct CasePath {
    /// Its id.
    id: i64,
}

impl CasePath {
    /// Its id.
    pub fn id(&self) -> CaseId {
        CaseId(self.id)
    }
}

/// A guest is moved.
#[derive(Clone, Debug, Deserialize, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseMoveBody {
    /// Which reservation.
    pub reservation: Uuid,
    /// The version of it that was read: then it is moved only as it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<i64>,
    /// Which of its rooms; left out, its only one, and of a guest who leaves the house all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_stay_id: Option<i32>,
    /// Into which room type: here for `upgrade` and `swap`, there for `sister_property`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub room_type: Option<String>,
    /// Code of the sister property.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub property: Option<String>,
    /// Where the guest sleeps instead, in words: of a walk, or what a channel has found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elsewhere: Option<String>,
}

/// How a case ends.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ResolveBody {
    /// How.
    #[schema(value_type = EndingShape)]
    pub ending: Ending,
    /// Who is moved. All of them and the end of the case are one change, or none.
    #[serde(default)]
    #[schema(required = false)]
    pub moves: Vec<CaseMoveBody>,
    /// What it costs, in the property's currency; left out, what the policy says.
    #[schema(value_type = Option<MoneyShape>)]
    pub cost: Option<Money>,
    /// In words; of `accepted_as_is` the reason, which it needs.
    pub note: Option<String>,
    /// The channel knows: needed where a channel's guest leaves the house.
    #[serde(default)]
    #[schema(required = false)]
    pub told_channel: bool,
}

/// How a case ends.
#[derive(Serialize, ToSchema)]
#[schema(as = OverbookingEnding)]
#[serde(rename_all = "snake_case")]
#[expect(
    dead_code,
    reason = "describes another crate's enum in the OpenAPI document"
)]
pub enum EndingShape {
    /// A guest gets a room of another type, free for the whole stay. A physical room of the type
    /// before that he was given is let go, also of a guest in the house: give him one of the new.
    Upgrade,
    /// Two or more guests change their room types at once.
    Swap,
    /// A guest sleeps in another hotel of the same owner: taken there first, then released here.
    SisterProperty,
    /// A guest is sent to another hotel at our cost; his reservation here is cancelled.
    Walk,
    /// The channel has found another hotel for its guest; his reservation here is cancelled.
    RelocatedByChannel,
    /// A cancellation or a change has given the rooms back. It closes by itself then.
    Cured,
    /// Nothing is done, for a reason. It opens again when more rooms are beyond than now.
    AcceptedAsIs,
}

/// A way out is proposed.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeBody {
    /// How the case would end.
    #[schema(value_type = EndingShape)]
    pub ending: Ending,
    /// Who would be moved.
    #[serde(default)]
    #[schema(required = false)]
    pub moves: Vec<CaseMoveBody>,
    /// What it would cost.
    #[schema(value_type = Option<MoneyShape>)]
    pub cost: Option<Money>,
    /// In words.
    pub note: Option<String>,
}

/// Notes what is wrong with a cost; gives its minor units.
pub fn minor(
    cost: Option<Money>,
    currency: Currency,
    pointer: &str,
    wrongs: &mut Wrongs,
) -> Option<i64> {
    let cost = cost?;
    let fits = cost.currency == currency && (0..=COST_MAX).contains(&cost.minor);
    let words = "must be in the property's currency, not negative, and no more than a hotel earns";
    wrongs.unless(fits, pointer, words);
    Some(cost.minor)
}

/// Notes what is wrong with the words of a move.
pub fn check_moves(moves: &[CaseMoveBody], wrongs: &mut Wrongs) {
    wrongs.unless(moves.len() <= MOVES_MAX, "/moves", "at most 50");
    for (at, one) in moves.iter().enumerate() {
        let pointer = format!("/moves/{at}/elsewhere");
        wrongs.longest(one.elsewhere.as_deref(), 200, pointer);
        wrongs.longest(
            one.room_type.as_deref(),
            40,
            format!("/moves/{at}/room_type"),
        );
        wrongs.longest(one.property.as_deref(), 40, format!("/moves/{at}/property"));
    }
}

impl ResolveBody {
    /// Who goes to which sister property; their moves name nothing here any more.
    pub fn departures(&mut self) -> Result<Vec<Departure>, Problem> {
        if self.ending != Ending::SisterProperty {
            return Ok(Vec::new());
        }
        let mut wrongs = Wrongs::default();
        let mut departures = Vec::new();
        for (at, one) in self.moves.iter_mut().enumerate() {
            let (property, room_type) = (one.property.take(), one.room_type.take());
            if property.is_none() {
                wrongs.add(format!("/moves/{at}/property"), "say which sister property");
            }
            if room_type.is_none() {
                let words = "say which room type of the sister property";
                wrongs.add(format!("/moves/{at}/room_type"), words);
            }
            departures.push(Departure {
                reservation: ReservationId(one.reservation),
                room_stay: one.room_stay_id.map(RoomStayId),
                version: one.version,
                property: property.unwrap_or_default(),
                room_type: room_type.unwrap_or_default(),
            });
        }
        wrongs.unless(
            !departures.is_empty(),
            "/moves",
            "say which reservation is moved",
        );
        wrongs.finish()?;
        Ok(departures)
    }

    /// As the ledger takes it; room types are this house's.
    pub async fn end(
        self,
        house: &House,
        case: CaseId,
        currency: Currency,
    ) -> Result<CaseEnd, Problem> {
        let mut wrongs = Wrongs::default();
        let cost_minor = minor(self.cost, currency, "/cost", &mut wrongs);
        check_moves(&self.moves, &mut wrongs);
        wrongs.longest(self.note.as_deref(), NOTE_MAX, "/note");
        let strange = self.moves.iter().position(|one| one.property.is_some());
        if let Some(at) = strange.filter(|_| self.ending != Ending::SisterProperty) {
            let words = "only of sister_property";
            wrongs.add(format!("/moves/{at}/property"), words);
        }
        wrongs.finish()?;
        let mut moves = Vec::new();
        for (at, one) in self.moves.into_iter().enumerate() {
            let pointer = format!("/moves/{at}/room_type");
            let to = match &one.room_type {
                Some(code) => Some(house.room_type(code, &pointer).await?),
                None => None,
            };
            moves.push(CaseMove {
                reservation: ReservationId(one.reservation),
                version: one.version,
                room_stay: one.room_stay_id.map(RoomStayId),
                to,
                elsewhere: one.elsewhere,
            });
        }
        Ok(CaseEnd {
            case,
            version: None,
            ending: self.ending,
            moves,
            cost_minor,
            note: self.note,
            told_channel: self.told_channel,
            may_approve: false,
            rehearses: false,
        })
    }
}

/// In minor units: far from what sums over all cases hold.
const COST_MAX: i64 = 1_000_000_000_000;
/// Guests of one case at most.
const MOVES_MAX: usize = 50;
/// Characters of a note.
pub const NOTE_MAX: usize = 2_000;
