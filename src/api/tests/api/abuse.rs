//! Every call of the document, with every field of its body abused in turn: the answer is a success
//! or a clean refusal.

use std::num::NonZeroU32;

use http::Method;
use keyrack_api::settings::Settings;
use serde_json::{Value, json};

use crate::app::App;

/// What a field is abused with.
fn abuses() -> Vec<Value> {
    vec![
        Value::Null,
        json!(true),
        json!(0),
        json!(-1),
        json!(2_147_483_647),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1.5),
        json!(1e308),
        json!(""),
        json!("\u{0}"),
        json!("'; drop table night; --"),
        json!("\u{202e}\u{fffd}\u{1f3e8}"),
        json!("x".repeat(9_000)),
        json!("2030-02-30"),
        json!("9998-12-31"),
        json!("-009999-01-02T01:59:59Z"),
        json!([]),
        json!({}),
        json!(["\u{0}", {"a": [1]}]),
    ]
}

/// How much of a body is filled in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fill {
    /// Every field, also those that exclude each other.
    Whole,
    /// What is required: such a body is carried out.
    Lean,
}

/// A value as a schema wants it.
fn sample(schema: &Value, document: &Value, fill: Fill) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#'));
        return sample(schema.expect("a schema"), document, fill);
    }
    for word in ["oneOf", "anyOf", "allOf"] {
        if let Some(kinds) = schema[word].as_array() {
            let kind = kinds.iter().find(|kind| kind["type"] != "null");
            return sample(kind.expect("a kind"), document, fill);
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        return words[0].clone();
    }
    let kind = match &schema["type"] {
        Value::Array(kinds) => kinds[0].as_str().unwrap_or("string"),
        kind => kind.as_str().unwrap_or("object"),
    };
    match (kind, schema["format"].as_str()) {
        ("object", _) => {
            let fields = schema["properties"]
                .as_object()
                .cloned()
                .unwrap_or_default();
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let is_told =
                |name: &str| fill == Fill::Whole || required.iter().any(|one| one == name);
            let fields = fields.iter().filter(|(name, _)| is_told(name));
            let fields = fields.map(|(name, field)| {
                let value = named(name).unwrap_or_else(|| sample(field, document, fill));
                (name.clone(), value)
            });
            Value::Object(fields.collect())
        }
        ("array", _) => json!([sample(&schema["items"], document, fill)]),
        ("integer" | "number", _) => json!(1),
        ("boolean", _) => json!(false),
        (_, Some("date")) => json!("2030-06-10"),
        (_, Some("date-time")) => json!("2030-06-10T12:00:00Z"),
        _ => schema.get("example").cloned().unwrap_or(json!("x")),
    }
}

/// What a field of this name must hold, so that the call gets as far as it can.
fn named(name: &str) -> Option<Value> {
    let text = match name {
        "departure" | "to" => "2030-06-12",
        "room_type" => "DBL",
        "rate_plan" => "flex",
        "account" | "connection" | "channel" => "portal",
        "amount" | "percent" => "10.00",
        "until" => "P7D",
        "url" => "https://hooks.example.org/k",
        "endpoint" => "https://portal.example",
        "day_roll_over" => "04:00",
        "fallback_room_type" => "SGL",
        "property" => "seehof",
        _ => return None,
    };
    Some(json!(text))
}

/// A body whole and lean, each with every field abused in turn.
fn abused(schema: &Value, document: &Value) -> Vec<Value> {
    let whole = sample(schema, document, Fill::Whole);
    let mut all = Vec::new();
    places(&whole, "", &mut all);
    let mut bodies = Vec::new();
    for base in [&whole, &sample(schema, document, Fill::Lean)] {
        bodies.push(base.clone());
        for (place, abuse) in all
            .iter()
            .flat_map(|p| abuses().into_iter().map(move |a| (p, a)))
        {
            let mut body = base.clone();
            if put(&mut body, place, abuse) {
                bodies.push(body);
            }
        }
    }
    bodies
}

/// Puts a value in its place; `false` where there is no such place.
fn put(body: &mut Value, place: &str, value: Value) -> bool {
    if let Some(field) = body.pointer_mut(place) {
        *field = value;
        return true;
    }
    let (parent, name) = place.rsplit_once('/').expect("a place has a parent");
    match body.pointer_mut(parent).and_then(Value::as_object_mut) {
        Some(fields) => {
            fields.insert(name.to_owned(), value);
            true
        }
        None => false,
    }
}

/// Every place in a value, the whole first.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, field)| places(field, &format!("{at}/{name}"), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(i, item)| places(item, &format!("{at}/{i}"), found)),
        _ => {}
    }
}

fn filled(path: &str, id: &str) -> String {
    let id = match path.contains("/reservations/") {
        true => id,
        false => "1",
    };
    path.replace("{property}", "seehof")
        .replace("{room_type}", "DBL")
        .replace("{room}", "101")
        .replace("{rate_plan}", "flex")
        .replace("{account}", "portal")
        .replace("{connection}", "portal")
        .replace("{connection_key}", "portal")
        .replace("{webhook}", "desk")
        .replace("{stay_date}", "2030-06-10")
        .replace("{id}", id)
}

async fn house() -> App {
    let settings = Settings {
        requests_per_second: NonZeroU32::new(1_000_000).expect("not 0"),
        ..Settings::default()
    };
    let app = App::with(settings).await;
    app.hotel("seehof").await;
    let plan = json!({"name": "Flexible"});
    let put = app.put("/v1/properties/seehof/rate-plans/flex", plan).await;
    assert_eq!(put.status, 201);
    let body = json!({"channel": "portal", "credentials": {"user": "u", "secret": "s"}});
    assert_eq!(app.put("/v1/connections/portal", body).await.status, 201);
    let body = json!({"connection": "portal", "hotel_code": "H1"});
    let put = app.put("/v1/properties/seehof/accounts/portal", body).await;
    assert_eq!(put.status, 201);
    app
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_field_of_any_body_can_make_the_daemon_fail() {
    let app = house().await;
    let made = app.book("2030-06-20", "2030-06-21").await;
    let id = made["id"].as_str().expect("an id");
    let document = serde_json::to_value(keyrack_api::openapi()).expect("a document is JSON");
    let mut asked = 0;
    for (path, item) in document["paths"].as_object().expect("paths") {
        for (verb, call) in item.as_object().expect("verbs") {
            let schema = &call["requestBody"]["content"]["application/json"]["schema"];
            if schema.is_null() {
                continue;
            }
            let method: Method = verb.to_uppercase().parse().expect("a verb");
            let path = filled(path, id);
            for body in abused(schema, &document) {
                let ask = app.ask(method.clone(), &path).json(&body);
                let ask = ask.header("idempotency-key", &format!("abuse-{asked}"));
                let ask = match asked % 2 {
                    0 => ask.header("if-match", "\"1\""),
                    _ => ask,
                };
                let answer = ask.send().await;
                let is_clean = !answer.status.is_server_error();
                let shown: String = body.to_string().chars().take(2_000).collect();
                assert!(is_clean, "{verb} {path} {shown}: {}", answer.text());
                if !answer.status.is_success() {
                    answer.code();
                }
                asked += 1;
            }
        }
    }
    assert!(asked > 2_000, "{asked}");
    let sums =
        keyrack_ledger::verify::verify(&app.ledger, None, keyrack_ledger::verify::Extent::Whole)
            .await;
    let differences = sums.expect("no failure").differences;
    assert!(differences.is_empty(), "{differences:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_parameter_of_any_call_can_make_the_daemon_fail() {
    let app = house().await;
    let made = app.book("2030-06-20", "2030-06-21").await;
    let id = made["id"].as_str().expect("an id");
    let document = serde_json::to_value(keyrack_api::openapi()).expect("a document is JSON");
    for (path, item) in document["paths"].as_object().expect("paths") {
        let Some(call) = item.get("get") else {
            continue;
        };
        let mut paths = Vec::new();
        for value in values() {
            let parameters = call["parameters"].as_array().cloned().unwrap_or_default();
            for parameter in &parameters {
                let name = parameter["name"].as_str().expect("a name");
                if parameter["in"] == "path" {
                    let abused = path.replace(&format!("{{{name}}}"), value);
                    paths.push(filled(&abused, id));
                }
            }
            let all = |wanted: &str| {
                let told = parameters
                    .iter()
                    .filter(|one| one["in"] == "query")
                    .map(|one| {
                        let name = one["name"].as_str().expect("a name");
                        let is_wanted = name == wanted;
                        let usual = named(name)
                            .unwrap_or_else(|| sample(&one["schema"], &document, Fill::Lean));
                        let usual = usual.as_str().map_or(usual.to_string(), str::to_owned);
                        let is_needed = one["required"] == true;
                        match (is_wanted, is_needed) {
                            (true, _) => format!("{name}={value}"),
                            (false, true) => format!("{name}={usual}"),
                            (false, false) => String::new(),
                        }
                    });
                told.filter(|one| !one.is_empty())
                    .collect::<Vec<_>>()
                    .join("&")
            };
            let queries = parameters.iter().filter(|one| one["in"] == "query");
            let queries = queries.map(|one| all(one["name"].as_str().expect("a name")));
            paths.extend(queries.map(|query| format!("{}?{query}", filled(path, id))));
        }
        for path in paths {
            let answer = app.read(&path).await;
            assert!(
                !answer.status.is_server_error(),
                "{path}: {}",
                answer.text()
            );
            if !answer.status.is_success() {
                answer.code();
            }
        }
    }
}

/// What a parameter is abused with.
fn values() -> Vec<&'static str> {
    vec![
        "",
        "%00",
        "%ff",
        "..%2f..",
        "-1",
        "0",
        "1",
        "99999999999999999999",
        "1e3",
        "true",
        "2030-06-10",
        "2030-02-30",
        "9998-12-31",
        "1900-01-01",
        "%F0%9F%8F%A8",
        "a%20b",
        "'",
        "DBL",
        "portal",
    ]
}
