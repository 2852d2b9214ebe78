//! What a step means as a command of a ledger.

use keyrack_ledger::command::{
    Block, Command, Forced, Modification, NightChange, Progress, Wish, WishedRoom,
};
use keyrack_ledger::decide::refusal::Force;
use keyrack_model::id::{AllotmentId, RoomStayId};

use crate::fact_step::{fact, reference};
use crate::ids::Ids;
use crate::pool_step;
use crate::step::{Change, Desk, Nights, Read, Request, Room, Step, Stock};

impl Step {
    /// Whose door the step knocks at; `None` where time passes.
    pub fn property(&self) -> Option<usize> {
        match self {
            Self::Wait { .. } | Self::ReleaseDue => None,
            Self::Agree(agree) => Some(agree.property),
            Self::Work(work) => Some(work.property),
            Self::Request(request) => Some(request.property),
            Self::Record(record) => Some(record.property),
            Self::Modify(change) => Some(change.property),
            Self::Confirm { property, .. }
            | Self::Cancel { property, .. }
            | Self::Extend { property, .. }
            | Self::Progress { property, .. }
            | Self::Expire { property, .. }
            | Self::SetNights { property, .. }
            | Self::SetBlocks { property, .. }
            | Self::SetPhysical { property, .. }
            | Self::Release { property, .. }
            | Self::PoolRules { property, .. }
            | Self::BufferRules { property, .. }
            | Self::Review { property, .. } => Some(*property),
        }
    }

    /// The command of the step with this number. `None` where time passes, or where what it names
    /// was never made.
    pub fn command(&self, number: usize, ids: &Ids) -> Option<Command> {
        Some(match self {
            _ if self.is_alone() => return None,
            Self::Wait { .. } => return None,
            Self::Agree(agree) => agree.command(ids)?,
            Self::Release {
                property,
                allotment,
                nights,
            } => pool_step::release(*property, *allotment, *nights, ids)?,
            Self::Request(request) => wish(request, number, ids),
            Self::Record(record) => fact(record, number, ids),
            Self::Modify(change) => modification(change, ids)?,
            Self::SetNights { .. }
            | Self::SetBlocks { .. }
            | Self::SetPhysical { .. }
            | Self::Review { .. } => self.on_nights(ids)?,
            _ => self.on_reservation(ids)?,
        })
    }

    fn on_reservation(&self, ids: &Ids) -> Option<Command> {
        Some(match self {
            Self::Confirm {
                of,
                payment,
                version,
                ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Confirm {
                    reservation,
                    payment_reference: payment.map(payment_reference),
                    version: ids.version(reservation, *version),
                }
            }
            Self::Cancel {
                of,
                told_channel,
                version,
                ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Cancel {
                    reservation,
                    reason: None,
                    told_channel: *told_channel,
                    version: ids.version(reservation, *version),
                }
            }
            Self::Extend {
                of, until, version, ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Extend {
                    reservation,
                    until: ids.hold_end(*until),
                    version: ids.version(reservation, *version),
                }
            }
            Self::Progress {
                of, step, version, ..
            } => {
                let reservation = ids.reservation(*of)?;
                Command::Progress {
                    reservation,
                    step: progress(*step),
                    version: ids.version(reservation, *version),
                }
            }
            Self::Expire { of, .. } => Command::Expire {
                reservation: ids.reservation(*of)?,
            },
            _ => return None,
        })
    }

    fn on_nights(&self, ids: &Ids) -> Option<Command> {
        Some(match self {
            Self::SetNights {
                property,
                changes,
                dry_run,
            } => {
                let change = |stock: &Stock| {
                    let (room_type, nights) = ids.nights(*property, stock.nights);
                    NightChange {
                        room_type,
                        nights,
                        out_of_order: stock.out_of_order,
                        overbooking_limit: stock.overbooking_limit,
                        reason: None,
                    }
                };
                Command::SetNights {
                    changes: changes.iter().map(change).collect(),
                    dry_run: *dry_run,
                }
            }
            Self::SetBlocks {
                property,
                room_type,
                room,
                blocks,
            } => {
                let block = |(from, count): &(i32, i32)| {
                    let nights = Nights {
                        room_type: *room_type,
                        from: *from,
                        count: *count,
                    };
                    Block {
                        nights: ids.nights(*property, nights).1,
                        kind: "out_of_order".to_owned(),
                        reason: None,
                    }
                };
                Command::SetBlocks {
                    room: ids.shape(*property).room_code(*room_type, *room),
                    blocks: blocks.iter().map(block).collect(),
                }
            }
            Self::SetPhysical {
                property,
                nights,
                rooms,
                forced,
                dry_run,
            } => {
                let (room_type, nights) = ids.nights(*property, *nights);
                Command::SetPhysical {
                    room_type,
                    nights,
                    rooms: *rooms,
                    force: forced.then(|| force(&[Force::Oversell])).flatten(),
                    dry_run: *dry_run,
                }
            }
            Self::Review { property, nights } => {
                let (room_type, nights) = ids.nights(*property, *nights);
                Command::Review { room_type, nights }
            }
            _ => return None,
        })
    }
}

fn payment_reference(payment: u32) -> String {
    format!("pay-{payment}")
}

/// A force with its reason; none where nothing is allowed.
pub(crate) fn force(allow: &[Force]) -> Option<Forced> {
    (!allow.is_empty()).then(|| Forced {
        reason: "because of chance".to_owned(),
        allow: allow.to_vec(),
    })
}

fn progress(step: Desk) -> Progress {
    match step {
        Desk::CheckIn => Progress::CheckIn,
        Desk::CheckOut => Progress::CheckOut,
        Desk::NoShow(keep) => Progress::NoShow { keep },
        Desk::Undo => Progress::Undo,
        Desk::Complete => Progress::Complete,
        Desk::ReleaseNoShow => Progress::ReleaseNoShow,
        Desk::Overdue => Progress::Overdue,
    }
}

fn wished(room: &Room, property: usize, ids: &Ids) -> WishedRoom {
    let nights = Nights {
        room_type: room.room_type,
        from: room.from,
        count: room.nights,
    };
    let (room_type, stay) = ids.nights(property, nights);
    WishedRoom {
        room_stay: room.room_stay.map(RoomStayId),
        room_type,
        rate_plan: None,
        stay,
        quantity: room.quantity,
        price: None,
        adults: None,
        children_ages: Vec::new(),
        guest_name: None,
        allotment: room.allotment.map(|at| {
            // Where the script knocks at the wrong door, one that nobody has.
            let known = ids.property(property).allotments.get(at);
            known.copied().unwrap_or(AllotmentId(i64::MAX))
        }),
    }
}

fn wish(request: &Request, number: usize, ids: &Ids) -> Command {
    let at = request.property;
    let rooms = request.rooms.iter().map(|room| wished(room, at, ids));
    Command::Request(Box::new(Wish {
        reservation: ids.made_by(number),
        hold: request.hold.map(|hold| ids.hold_end(hold)),
        source: request.source,
        rooms: rooms.collect(),
        guest: None,
        note: None,
        owner_id: None,
        payment_reference: request.payment.map(payment_reference),
        channel: request
            .channel
            .map(|(account, known)| (ids.property(at).accounts[account], reference(known))),
        guaranteed: request.guaranteed,
        force: force(&request.force),
    }))
}

fn modification(change: &Change, ids: &Ids) -> Option<Command> {
    let reservation = ids.reservation(change.of)?;
    let version = ids.version(reservation, change.version);
    let last = || ids.version(reservation, Read::Last).unwrap_or(0);
    let rooms = change.rooms.as_ref();
    Some(Command::Modify(Box::new(Modification {
        reservation,
        version: version.unwrap_or_else(last),
        rooms: rooms.map(|rooms| {
            let rooms = rooms.iter().map(|room| wished(room, change.property, ids));
            rooms.collect()
        }),
        guest: None,
        note: rooms.is_none().then(|| "late arrival".to_owned()),
        told_channel: change.told_channel,
        force: force(&change.force),
    })))
}
