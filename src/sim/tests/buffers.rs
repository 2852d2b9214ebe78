//! What buffer rules are worth, on fewer nights than `keyrack sim buffers` takes.

use std::sync::LazyLock;

use keyrack_sim::buffers::{Outcome, Trial, run};

const TRIAL: Trial = Trial {
    nights: 10_000,
    seed: 7,
    one_in: 1_000,
};

static OUTCOMES: LazyLock<Vec<Outcome>> = LazyLock::new(|| run(TRIAL));

fn of(rule: &str) -> &'static Outcome {
    let found = OUTCOMES.iter().find(|outcome| outcome.rule == rule);
    found.expect("a rule of that name")
}

#[test]
fn safety_sells_no_more_nights_twice_than_it_may_where_other_rules_do() {
    let (none, close, safety) = (of("no buffer"), of("close_at 1"), of("safety"));
    println!("{none:?}\n{close:?}\n{safety:?}");
    // The world is dangerous enough to prove something.
    assert!(none.twice_per_million() > 5_000, "{none:?}");
    assert!(close.twice_per_million() > 1_000, "{close:?}");
    assert!(safety.twice_per_million() <= 1_000, "{safety:?}");
}

#[test]
fn a_new_hotel_is_safe_from_its_first_night() {
    let (cold, twice) = of("safety").cold;
    assert!(
        cold >= 300 && twice * 1_000 <= cold * 2,
        "{twice} of {cold}"
    );
}

#[test]
fn safety_costs_rooms_but_few() {
    let (none, safety) = (of("no buffer"), of("safety"));
    assert!(none.unsold < safety.unsold, "{none:?} {safety:?}");
    assert!(safety.unsold_per_ten_thousand() < 500, "{safety:?}");
}

#[test]
fn the_same_seed_brings_the_same_figures() {
    let few = Trial {
        nights: 500,
        ..TRIAL
    };
    assert_eq!(run(few), run(few));
}
