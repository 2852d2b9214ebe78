//! The next step of a script, by chance, from what is known: biased to what is interesting. Few
//! nights, houses nearly full, the same reservation from two sides, the ends of holds.

mod cases;
mod channel;
mod desk;
pub(crate) mod dice;
pub mod known;
mod pools;
mod staff;
mod stock;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::pool_step::Kept;
use crate::shape::Shape;
use crate::step::{Agree, Nights, Read, Scripted, Step, Stock};
use cases::Cases;
use channel::Channel;
use desk::Desk;
use dice::Dice;
use known::Known;
use pools::Pools;
use staff::Staff;

/// Makes the steps of a script, one after the other.
#[derive(Clone, Debug)]
pub struct Generator {
    shape: Arc<Shape>,
    dice: Dice,
    number: usize,
    opening: VecDeque<Step>,
    handles: Vec<Vec<usize>>,
    channel: Channel,
    payments: u32,
}

impl Generator {
    /// The script of the shape's seed.
    pub fn new(shape: Arc<Shape>) -> Self {
        Self {
            dice: Dice::from_seed(shape.seed ^ 0x5eed),
            number: 0,
            opening: opening(&shape),
            handles: vec![Vec::new(); shape.properties.len()],
            channel: Channel::new(&shape),
            payments: 0,
            shape,
        }
    }

    /// The next step.
    pub fn step(&mut self, known: &Known<'_>) -> Scripted {
        let number = self.number;
        self.number += 1;
        let step = match self.opening.pop_front() {
            Some(step) => step,
            None => self.choose(known),
        };
        if let Step::Request(_) | Step::Record(_) = &step {
            self.handles[step.property().unwrap_or(0)].push(number);
        }
        Scripted { number, step }
    }

    fn choose(&mut self, known: &Known<'_>) -> Step {
        let at = self.dice.below(self.shape.properties.len());
        let shape = Arc::clone(&self.shape);
        if self.dice.percent(10) {
            return Pools::new(&mut self.dice, &shape, at, known).step();
        }
        if self.dice.percent(6)
            && let Some(step) = Cases::new(&mut self.dice, &shape, at, known).step()
        {
            return step;
        }
        let kind = self.dice.below(100);
        if kind < 22 {
            let mut staff = Staff::new(&mut self.dice, &shape, at, known);
            let request = staff.request(&mut self.payments, &mut self.channel);
            return Step::Request(request);
        }
        if kind < 40 {
            let today = known.today(&shape, at);
            return Step::Record(self.channel.tell(&mut self.dice, &shape, at, today));
        }
        if kind < 52 {
            let handles = self.handles.iter().flatten().copied().collect::<Vec<_>>();
            return Desk::new(&mut self.dice, &shape, at, &handles, known).wait();
        }
        let handles = std::mem::take(&mut self.handles[at]);
        let mut desk = Desk::new(&mut self.dice, &shape, at, &handles, known);
        let step = match kind {
            52..63 => desk.confirm(&mut self.payments),
            63..70 => desk.cancel(),
            70..74 => desk.extend(),
            74..82 => desk.modify(),
            82..92 => desk.progress(),
            92..94 => desk.expire(),
            94 => desk.set_blocks(),
            95..97 => desk.set_nights(),
            97..99 => desk.set_physical(),
            _ => desk.review(),
        };
        self.handles[at] = handles;
        // Where nothing is there yet, time passes.
        step.unwrap_or(Step::Wait { minutes: 1 })
    }
}

/// Steps of a seed's script: of four seeds one goes on for longer, since what is old is found late,
/// and three are short, since each has another hotel.
pub fn length(seed: u64, meant: usize) -> usize {
    if seed.is_multiple_of(4) {
        meant * 3 / 2
    } else {
        meant * 3 / 4
    }
}

/// The overbooking limits of the shape, as the hotel sets them, and what is agreed first.
fn opening(shape: &Shape) -> VecDeque<Step> {
    let mut steps = VecDeque::new();
    for (property, house) in shape.properties.iter().enumerate() {
        for allotment in 0..house.pools.allotments.len() {
            let all = Kept {
                from: 0,
                count: house.nights,
                weekdays: 0b111_1111,
                rooms: 1,
            };
            steps.push_back(Step::Agree(Agree {
                property,
                allotment,
                values: vec![all],
                release_days: i32::from(allotment == 1),
                cut_off: None,
                force: Vec::new(),
                dry_run: false,
                version: Read::Last,
            }));
        }
        for (room_type, known) in house.types.iter().enumerate() {
            if known.overbooking_limit > 0 {
                let nights = Nights {
                    room_type,
                    from: 0,
                    count: house.nights,
                };
                let limit = Stock {
                    nights,
                    out_of_order: None,
                    overbooking_limit: Some(known.overbooking_limit),
                };
                steps.push_back(Step::SetNights {
                    property,
                    changes: vec![limit],
                    dry_run: false,
                });
            }
        }
    }
    steps
}
