//! The published samples of AlpineBits 2024-10 and of Booking.com's OTA dialect, each held
//! against the outcome that its manifest expects. They lie beside the project and are not part
//! of it: without them this says so and passes.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // A test, and it says when it skips.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use keyrack_sandbox::{CheckAnswer, Verdict, check};

/// What the manifest expects of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    Accept,
    Reject,
    /// Accept if a capability was announced, else reject.
    Needs(&'static str),
}

#[test]
fn every_published_alpinebits_message_is_judged_as_its_manifest_says() {
    let Some(root) = samples("alpinebits") else {
        return;
    };
    let manifest = manifest(&root, 4);
    let mut seen = BTreeMap::from([("authored", 0), ("examples", 0), ("validation", 0)]);
    for file in files(&root, &seen.keys().copied().collect::<Vec<_>>()) {
        let wanted = manifest
            .get(&file)
            .unwrap_or_else(|| panic!("{file} is not listed"));
        let body = fs::read(root.join(&file)).unwrap();
        if let Err(why) = hold(&file, &body, expected(&file, wanted)) {
            panic!("{why}");
        }
        *seen.get_mut(file.split('/').next().unwrap()).unwrap() += 1;
    }
    let listed = manifest.keys().filter(|file| is_ours(file)).count();
    assert_eq!(
        seen.values().sum::<usize>(),
        listed,
        "some listed file was not judged: {seen:?}"
    );
    assert_eq!(
        seen,
        BTreeMap::from([("authored", 30), ("examples", 12), ("validation", 10)])
    );
}

#[test]
fn an_expectation_that_is_flipped_fails() {
    let Some(root) = samples("alpinebits") else {
        return;
    };
    let manifest = manifest(&root, 4);
    for file in files(&root, &["authored", "examples", "validation"]) {
        let body = fs::read(root.join(&file)).unwrap();
        let flipped = match expected(&file, &manifest[&file]) {
            Expected::Reject => Expected::Accept,
            Expected::Accept | Expected::Needs(_) => Expected::Reject,
        };
        assert!(
            hold(&file, &body, flipped).is_err(),
            "{file} passes either way"
        );
    }
}

#[test]
fn every_published_booking_com_message_of_the_ota_dialect_is_taken() {
    let Some(root) = samples("channels/bookingcom") else {
        return;
    };
    let manifest = manifest(&root, 4);
    let mut seen = 0;
    for file in manifest.keys() {
        let body = fs::read(root.join(file)).unwrap();
        let answer = check("booking_com", &body, &[]);
        let wanted = if file.starts_with("ota_") || file.starts_with("ari_ota_") {
            seen += 1;
            Verdict::Accept
        } else {
            Verdict::Reject // The other dialect is not spoken.
        };
        assert_eq!(answer.verdict, wanted, "{file}: {}", answer.reason);
    }
    assert_eq!(seen, 4);
}

/// Whether a file is judged as it should be; a sentence if it is not.
fn hold(file: &str, body: &[u8], expected: Expected) -> Result<(), String> {
    let judged = |headers: &[(String, String)]| check("alpinebits", body, headers);
    let agree = |answer: CheckAnswer, wanted: Verdict| {
        if answer.verdict == wanted {
            return Ok(());
        }
        let CheckAnswer {
            verdict, reason, ..
        } = answer;
        Err(format!(
            "{file} should be {wanted:?} and is {verdict:?}: {reason}"
        ))
    };
    match expected {
        Expected::Accept => agree(judged(&[]), Verdict::Accept),
        Expected::Reject => agree(judged(&[]), Verdict::Reject),
        Expected::Needs(capability) => {
            agree(judged(&[]), Verdict::Accept)?;
            let others: Vec<&str> = CAPABILITIES
                .iter()
                .copied()
                .filter(|name| *name != capability)
                .collect();
            let without = ("X-Sandbox-Capabilities".to_owned(), others.join(","));
            agree(judged(&[without]), Verdict::Reject)
        }
    }
}

fn expected(file: &str, outcome: &str) -> Expected {
    if outcome.starts_with("reject") || outcome.starts_with("refuse") {
        return Expected::Reject;
    }
    let text = if outcome.contains("named in the file name") {
        file
    } else {
        outcome
    };
    let named = CAPABILITIES.iter().copied().find(|name| {
        let word = name.trim_start_matches("accept_");
        text.contains(word) || text.contains(&word.replacen('_', "-", 2))
    });
    match named {
        Some(capability) if outcome.contains("announced") => Expected::Needs(capability),
        _ => Expected::Accept,
    }
}

/// Ends of the capabilities' names, the longer before what they contain.
const CAPABILITIES: &[&str] = &[
    "accept_RoomRates",
    "accept_out_of_order",
    "accept_out_of_market",
    "accept_closing_seasons",
    "accept_complete_set",
    "accept_deltas",
    "accept_categories",
    "accept_rooms",
];

fn is_ours(file: &str) -> bool {
    let name = file
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let of_kind = ["freerooms", "guestrequests", "handshake", "hotelavailnotif"];
    file.contains("/v2024-10/") && of_kind.iter().any(|kind| name.starts_with(kind))
}

fn samples(of: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/samples")
        .join(of);
    if !root.is_dir() {
        println!("skipped: no samples of {of} beside the project");
        return None;
    }
    Some(root)
}

/// The expected outcome of every listed file.
fn manifest(root: &Path, outcome: usize) -> BTreeMap<String, String> {
    let text = fs::read_to_string(root.join("manifest.tsv")).unwrap();
    text.lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            (fields[0].to_owned(), fields[outcome].to_owned())
        })
        .collect()
}

fn files(root: &Path, folders: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let file = path
                .strip_prefix(root)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/");
            if is_ours(&file) {
                found.push(file);
            }
        }
    }
    found.sort();
    found
}
