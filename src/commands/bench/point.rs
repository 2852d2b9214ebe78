//! The points of the table: what is measured, its gate and its goal.

use super::contender::Shape;
use super::measure::Round;
use super::report::Better;

/// What is asked of a row of the table: at least (or at most) the gate; the goal is the aim.
pub struct Point {
    pub name: &'static str,
    pub shape: Shape,
    pub callers: usize,
    pub figure: fn(&Round) -> f64,
    pub unit: &'static str,
    pub gate: f64,
    pub goal: f64,
    pub better: Better,
}

/// The points of `bench ledger`.
pub fn points() -> Vec<Point> {
    let per_second = |name, shape, callers, gate, goal| Point {
        name,
        shape,
        callers,
        figure: Round::per_second,
        unit: "answers/s",
        gate,
        goal,
        better: Better::Higher,
    };
    vec![
        per_second("spread", Shape::Spread, 16, 2.0, 3.0),
        per_second("spread", Shape::Spread, 64, 4.0, 6.5),
        per_second("spread", Shape::Spread, 256, 6.0, 10.0),
        Point {
            name: "lone caller, median wait",
            shape: Shape::Spread,
            callers: 1,
            figure: |round| round.wait_ms(0.5),
            unit: "ms",
            gate: 1.0,
            goal: 0.6,
            better: Better::Lower,
        },
        per_second("hot night", Shape::Hot, 64, 20.0, 40.0),
        Point {
            name: "hot night, p99 wait",
            shape: Shape::Hot,
            callers: 64,
            figure: |round| round.wait_ms(0.99),
            unit: "ms",
            gate: 0.15,
            goal: 0.05,
            better: Better::Lower,
        },
        per_second("sold out", Shape::SoldOut, 64, 8.0, 17.0),
    ]
}
