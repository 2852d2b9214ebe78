//! Made-up guests, with names and wishes that break careless readers.

use rand::Rng;

use crate::reservation::Guest;

/// Somebody; of a hundred people so many leave a card.
pub(crate) fn anybody(rng: &mut impl Rng, card_percent: u8) -> Guest {
    let given_name = pick(rng, GIVEN_NAMES).to_owned();
    let surname = pick(rng, SURNAMES).to_owned();
    let alias: u32 = rng.random_range(100_000..1_000_000);
    let has_comment = rng.random_range(0..100) < 40;
    let has_card = rng.random_range(0..100) < card_percent;
    Guest {
        given_name,
        surname,
        email: format!("guest.{alias}@guest.example.com"),
        comment: has_comment.then(|| pick(rng, COMMENTS).to_owned()),
        card: has_card.then(|| pick(rng, TEST_CARDS).to_owned()),
    }
}

fn pick<'a>(rng: &mut impl Rng, of: &[&'a str]) -> &'a str {
    of[rng.random_range(0..of.len())]
}

const GIVEN_NAMES: &[&str] = &[
    "Anna",
    "Alex",
    "Zoë",
    "Łukasz",
    "Jürgen",
    "李",
    "Анна",
    "Siobhán",
    "محمد",
    "Mary-Jane",
];
const SURNAMES: &[&str] = &[
    "Muster",
    "Example",
    "O'Neil",
    "Müller & Söhne",
    "小明",
    "Иванова",
    "de la Cruz",
    "Þórsson",
    "\"Smith\"",
    "<Test>",
];
const COMMENTS: &[&str] = &[
    "Late arrival, about 23:30.",
    "Two beds > one bed; price < 100 & quiet, please.",
    "Sind Hunde erlaubt?\nMfg. 🐕",
    "]]> <script>alert('no')</script>",
    "Bitte ein Kinderbett dazustellen.",
];
/// Numbers that card schemes publish for tests; no account stands behind them.
const TEST_CARDS: &[&str] = &["4111111111111111", "5555555555554444"];
