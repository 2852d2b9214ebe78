//! The points of the table: what is measured, its gate and its goal.

use super::contender::Shape;
use super::measure::Round;
use super::report::{Asked, Better, Row};

/// Beside whom the ledger runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Against {
    /// One transaction per command, with an outbox.
    Plain,
    /// The same with exactly our rows.
    Twin,
}

/// A load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    pub shape: Shape,
    pub callers: usize,
    /// Daemons of ours on the one database.
    pub daemons: usize,
    pub against: Against,
}

/// A row of the table: a figure of the rounds under a load.
pub struct Point {
    pub load: Load,
    figure: fn(&Round) -> f64,
    asked: Asked,
}

impl Point {
    fn per_second(name: &'static str, load: Load, gate: f64, goal: f64) -> Self {
        Self {
            load,
            figure: Round::per_second,
            asked: Asked {
                name,
                callers: load.callers,
                unit: "/s",
                gate: Some(gate),
                goal: Some(goal),
                better: Better::Higher,
            },
        }
    }

    fn least(name: &'static str, load: Load, unit: &'static str, gate: f64, goal: f64) -> Self {
        let mut point = Self::per_second(name, load, gate, goal);
        point.asked.unit = unit;
        point.asked.better = Better::Lower;
        point
    }

    fn of(self, figure: fn(&Round) -> f64) -> Self {
        Self { figure, ..self }
    }

    /// Shown, and not judged.
    fn shown(mut self) -> Self {
        (self.asked.gate, self.asked.goal) = (None, None);
        self
    }

    /// What its row is called.
    pub fn name(&self) -> &'static str {
        self.asked.name
    }

    /// The row of what was measured.
    pub fn row(&self, pairs: &[(Round, Round)]) -> Row {
        let figures = |(ours, plain): &(Round, Round)| ((self.figure)(ours), (self.figure)(plain));
        let figures: Vec<(f64, f64)> = pairs.iter().map(figures).collect();
        Row::of(self.asked, &figures)
    }
}

/// The points of `bench ledger`.
pub fn points() -> Vec<Point> {
    let load = |shape, callers| Load {
        shape,
        callers,
        daemons: 1,
        against: Against::Plain,
    };
    let spread = |callers| load(Shape::Spread, callers);
    let hot = load(Shape::Hot, 64);
    let two = Load { daemons: 2, ..hot };
    let twin = Load {
        against: Against::Twin,
        ..spread(64)
    };
    vec![
        Point::per_second("spread", spread(16), 2.0, 3.0),
        Point::per_second("spread", spread(64), 4.0, 6.5),
        Point::per_second("spread", spread(256), 6.0, 10.0),
        Point::per_second("spread, plain with our rows", twin, 0.0, 0.0).shown(),
        Point::least("log for each hold, spread", spread(64), "B", 0.7, 0.5)
            .of(Round::wal_bytes_per_hold),
        Point::least("server's time for a hold", spread(64), "us", 0.4, 0.2)
            .of(Round::server_cpu_us_per_hold),
        Point::least("lone caller, median wait", spread(1), "ms", 1.0, 0.6)
            .of(|round| round.wait_ms(0.5)),
        Point::per_second("hot night", hot, 20.0, 40.0),
        Point::least("hot night, p99 wait", hot, "ms", 0.15, 0.05).of(|round| round.wait_ms(0.99)),
        Point::per_second("hot night, two daemons", two, 10.0, 25.0),
        Point::per_second("sold out", load(Shape::SoldOut, 64), 8.0, 17.0),
        Point::per_second("mixed", load(Shape::Mixed, 64), 3.0, 6.0),
    ]
}
