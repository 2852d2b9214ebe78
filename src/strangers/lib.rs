//! What strangers send, for the tests of every parser: samples made hostile, pure noise, and a
//! scale that tells whether the work grows with the input or with its square.

mod dictionary;
mod growth;
mod mutation;

use std::fmt;

use proptest::prelude::{Strategy, any, prop_oneof};
use proptest::sample::Index;

pub use growth::grows_with_its_input;
pub use mutation::Mutation;

/// A hostile message. `Debug` shows it in letters that can be typed again.
#[derive(Clone, PartialEq, Eq)]
pub struct Message(pub Vec<u8>);

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// The samples after one to five mutations each; one in eight is noise that no sample bore.
///
/// # Panics
///
/// Without a sample.
pub fn hostile(samples: Vec<Vec<u8>>) -> impl Strategy<Value = Message> {
    assert!(!samples.is_empty(), "mutations start from samples");
    let others = samples.clone();
    let mutated = (
        any::<Index>(),
        proptest::collection::vec(mutation::mutations(), 1..6),
    );
    let mutated = mutated.prop_map(move |(which, mutations)| {
        let sample = which.get(&samples).clone();
        mutations
            .iter()
            .fold(sample, |bytes, mutation| mutation.apply(bytes, &others))
    });
    prop_oneof![
        7 => mutated,
        1 => proptest::collection::vec(any::<u8>(), 0..2_000),
    ]
    .prop_map(Message)
}

/// As [`hostile`], as text: bytes that are no UTF-8 become replacement characters.
pub fn hostile_text(samples: &[&str]) -> impl Strategy<Value = String> {
    let samples = samples.iter().map(|sample| sample.as_bytes().to_vec());
    hostile(samples.collect()).prop_map(|message| String::from_utf8_lossy(&message.0).into_owned())
}

/// A number of hostile messages, the same in each run: for doors that are asked from within a
/// runtime, where a property cannot be.
///
/// # Panics
///
/// Without a sample.
pub fn drawn(samples: Vec<Vec<u8>>, number: usize) -> Vec<Vec<u8>> {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let strategy = hostile(samples);
    let mut runner = TestRunner::deterministic();
    let trees = (0..number).map(|_| strategy.new_tree(&mut runner));
    trees
        .map(|tree| tree.expect("nothing is filtered out").current().0)
        .collect()
}
