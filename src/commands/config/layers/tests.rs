//! Whatever stands in a file of settings: it is laid upon the manual or refused in words.

use keyrack_strangers::{grows_with_its_input, hostile_text};
use proptest::prelude::{prop_assert, proptest};

use super::*;

const MANUAL: &str = include_str!("../../../../config/default.toml");

fn laid(text: &str) -> Result<Table> {
    let mut manual = read(MANUAL, "the manual")?;
    let environment = Environment::new();
    lay(&mut manual, read(text, "a file")?, "a file", &environment)?;
    Ok(manual)
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 150, ..Default::default() })]

    #[test]
    fn any_file_is_laid_upon_the_manual_or_refused_in_words(
        text in hostile_text(&[MANUAL, "[http]\nlisten = \"x\"\n", "a.b = [{c = 1}, {c = 2.5}]"]),
    ) {
        match laid(&text) {
            Ok(table) => prop_assert!(table.contains_key("log")),
            Err(error) => {
                let words = format!("{error:#}");
                prop_assert!(!words.is_empty());
            }
        }
    }
}

#[test]
fn nests_of_any_depth_are_refused() {
    for (open, close) in [("[", "]"), ("{a=", "}"), ("a.", "a = 1")] {
        for begin in ["a = ", "", "["] {
            let text = format!("{begin}{}{}", open.repeat(50_000), close.repeat(50_000));
            assert!(laid(&text).is_err(), "{begin}{open}");
        }
    }
}

#[test]
fn the_work_grows_with_the_file() {
    type Shape = fn(usize) -> String;
    let shapes: [(&str, Shape); 4] = [
        ("keys", |n| {
            (0..n).map(|n| format!("k{n} = {n}\n")).collect()
        }),
        ("tables", |n| (0..n).map(|n| format!("[t{n}]\n")).collect()),
        ("a list", |n| format!("a = [{}]", "1, ".repeat(n))),
        ("a text", |n| format!("a = \"{}\"", "\\u00e9".repeat(n))),
    ];
    for (what, made) in shapes {
        grows_with_its_input(what, 2_000, made, |text| {
            assert!(laid(text).is_err());
        });
    }
}
