//! Steps on overbooking cases, in abstract ids: a case is named by a night of it.

use keyrack_ledger::decide::overbooking::end::{CaseEnd, CaseMove};
use keyrack_model::id::{CaseId, RoomStayId};
use keyrack_model::overbooking::Ending;
use serde::{Deserialize, Serialize};

use crate::auditor::entry::Cell;
use crate::ids::Ids;
use crate::step::Handle;

/// What is done with a case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Work {
    /// Whose.
    pub property: usize,
    /// A night of it: type, and offset from night 0.
    pub night: (usize, i32),
    /// What.
    pub does: Does,
}

/// What is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Does {
    /// Somebody takes it.
    Assign,
    /// A way out is proposed.
    Propose,
    /// A cost is approved.
    Approve,
    /// Something is written down.
    Note,
    /// What was accepted is worked again.
    Reopen,
    /// It ends.
    End {
        /// How.
        ending: Ending,
        /// Who is moved: reservation, room stay where it is named, and into which type.
        moves: Vec<(Handle, Option<i32>, Option<usize>)>,
        /// The channel knows.
        told_channel: bool,
    },
}

impl Work {
    /// The night by which the case is known.
    pub(crate) fn cell(&self, ids: &Ids) -> Cell {
        let (room_type, offset) = self.night;
        (
            ids.room_type(self.property, room_type),
            ids.night(self.property, offset),
        )
    }

    /// How it ends, where it does; `None` where nobody who is moved was ever made.
    pub(crate) fn end(&self, case: CaseId, ids: &Ids) -> Option<CaseEnd> {
        let Does::End {
            ending,
            moves,
            told_channel,
        } = &self.does
        else {
            return None;
        };
        let moves = moves.iter().map(|(of, room, to)| {
            Some(CaseMove {
                reservation: ids.reservation(*of)?,
                version: None,
                room_stay: room.map(RoomStayId),
                to: to.map(|to| ids.room_type(self.property, to)),
                elsewhere: None,
            })
        });
        Some(CaseEnd {
            case,
            version: None,
            ending: *ending,
            moves: moves.collect::<Option<_>>()?,
            cost_minor: None,
            note: Some("because of chance".to_owned()),
            told_channel: *told_channel,
            may_approve: false,
            rehearses: false,
        })
    }
}
