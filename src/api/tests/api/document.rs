//! The OpenAPI document: read by a parser that is not ours, and held against the contract.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

fn document() -> Value {
    serde_json::to_value(keyrack_api::openapi()).expect("a document is JSON")
}

fn calls(document: &Value) -> Vec<(String, String, Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let calls = paths.iter().flat_map(|(path, item)| {
        let verbs = item.as_object().expect("verbs").iter();
        verbs.map(move |(verb, call)| (path.clone(), verb.clone(), call.clone()))
    });
    calls.collect()
}

#[test]
fn another_parser_reads_the_document_whole() {
    let text = document().to_string();
    let spec: oas3::Spec = oas3::from_json(&text).expect("an OpenAPI 3.1 document");
    let read = spec.operations().count();
    assert_eq!(read, calls(&document()).len());
    for (path, method, operation) in spec.operations() {
        for parameter in operation.parameters(&spec).expect("parameters resolve") {
            assert!(!parameter.name.is_empty(), "{method} {path}");
        }
        if let Some(body) = operation.request_body(&spec).expect("a body resolves") {
            for (_, media) in &body.content {
                assert!(media.schema(&spec).is_ok(), "{method} {path}");
            }
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn follow(value: &Value, document: &Value) {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let pointer = reference.strip_prefix('#').expect("a local reference");
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                fields.values().for_each(|field| follow(field, document));
            }
            Value::Array(items) => items.iter().for_each(|item| follow(item, document)),
            _ => {}
        }
    }
    let document = document();
    follow(&document, &document);
}

#[test]
fn every_path_parameter_is_described_and_every_call_has_a_name_of_its_own() {
    let document = document();
    let mut names = BTreeSet::new();
    for (path, verb, call) in calls(&document) {
        let parameters = call["parameters"].as_array().cloned().unwrap_or_default();
        let told: BTreeSet<&str> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let wanted: BTreeSet<&str> = path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        assert_eq!(told, wanted, "{verb} {path}");
        let name = call["operationId"].as_str().expect("a name").to_owned();
        assert!(names.insert(name.clone()), "{verb} {path}: {name} twice");
        assert!(call["summary"].is_string(), "{verb} {path} has no summary");
        for (status, answer) in call["responses"].as_object().expect("answers") {
            assert!(answer["description"].is_string(), "{verb} {path} {status}");
        }
    }
}

#[test]
fn no_call_has_a_parameter_twice() {
    for (path, verb, call) in calls(&document()) {
        let parameters = call["parameters"].as_array().cloned().unwrap_or_default();
        let mut seen = BTreeSet::new();
        for one in &parameters {
            let named = (one["in"].to_string(), one["name"].to_string());
            assert!(seen.insert(named.clone()), "{verb} {path}: {named:?} twice");
        }
    }
}

#[test]
fn what_comes_later_is_not_promised() {
    let document = document();
    let later = ["accept", "decline", "discover", "erase"];
    for (path, ..) in calls(&document) {
        let mut parts = path.split('/');
        assert!(!parts.any(|part| later.contains(&part)), "{path}");
    }
}

#[test]
fn health_needs_no_key_and_everything_else_does() {
    let document = document();
    assert_eq!(document["security"], serde_json::json!([{ "key": [] }]));
    let open: BTreeSet<String> = calls(&document)
        .into_iter()
        .filter(|(_, _, call)| call.get("security").is_some())
        .map(|(path, ..)| path)
        .collect();
    assert!(open.contains("/healthz") && open.contains("/readyz"));
    assert!(!open.iter().any(|path| path.starts_with("/v1/properties")));
}

#[test]
fn whatever_is_posted_may_carry_an_idempotency_key() {
    for (path, verb, call) in calls(&document()) {
        let is_ours = path.starts_with("/v1/") && !path.starts_with("/v1/inbox");
        if verb != "post" || !is_ours {
            continue;
        }
        let parameters = call["parameters"].as_array().expect("parameters");
        let mut names = parameters.iter().map(|one| &one["name"]);
        assert!(names.any(|name| name == "Idempotency-Key"), "{path}");
    }
}

/// The files of the crate itself, without its tests.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("tests") {
            sources(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(std::fs::read_to_string(path).expect("a file"));
        }
    }
}

/// The names under which a file's types stand in the document: their own, or what `as` says.
fn schema_names(source: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut lines = source.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if !(line.starts_with("#[derive(") && line.contains("ToSchema")) {
            continue;
        }
        let mut name = None;
        for line in lines.by_ref() {
            let renamed = line.strip_prefix("#[schema(").and_then(|told| {
                let (_, told) = told.split_once("as = ")?;
                told.split([',', ')']).next()
            });
            name = name.or(renamed);
            let words = line.strip_prefix("pub ").unwrap_or(line);
            let declared = words
                .strip_prefix("struct ")
                .or(words.strip_prefix("enum "));
            if let Some(rest) = declared {
                let own = rest.split([' ', '<', '(', ';']).next();
                names.extend(name.or(own).map(str::to_owned));
                break;
            }
        }
    }
    names
}

/// The document keeps one shape for a name: of two types of one name it describes one wrongly.
#[test]
fn no_two_types_stand_in_the_document_under_one_name() {
    let mut files = Vec::new();
    sources(Path::new(env!("CARGO_MANIFEST_DIR")), &mut files);
    let names: Vec<String> = files.iter().flat_map(|file| schema_names(file)).collect();
    let described = document()["components"]["schemas"].clone();
    let described = described.as_object().expect("schemas").len();
    assert!(
        names.len() * 10 > described * 9,
        "{} of {described} are seen",
        names.len()
    );
    let mut known = BTreeSet::new();
    let twice: Vec<&String> = names.iter().filter(|name| !known.insert(*name)).collect();
    assert!(twice.is_empty(), "{twice:?}");
}
