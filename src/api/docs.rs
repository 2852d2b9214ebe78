//! The OpenAPI document, made from the routes themselves, and a page to read it.

use std::sync::OnceLock;

use axum::Router;
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use http::header;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value};
use utoipa::openapi::path::{Operation, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, SchemaType, Type};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder, tag::TagBuilder};
use utoipa::openapi::{RefOr, Required, SecurityRequirement, Tag};
use utoipa::{PartialSchema, ToSchema};
use utoipa_axum::router::OpenApiRouter;

use crate::problem::kind::Kind;
use crate::problem::{AlternativeView, FieldError, NightRef, ProblemBody};
use crate::replay;
use crate::routes;
use crate::state::ApiState;
use crate::wire::Day;

/// The contract as an OpenAPI 3.1 document.
pub fn openapi() -> OpenApi {
    let mut document = routes().into_openapi();
    for (path, item) in &mut document.paths.paths {
        let verbs = [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("patch", &mut item.patch),
            ("delete", &mut item.delete),
        ];
        for (verb, call) in verbs {
            if let Some(call) = call {
                call.operation_id = Some(name_of(verb, path));
                finish(call, path);
                headers(call, verb, path);
            }
        }
    }
    document
}

/// What the macros leave open: an answer's description, and bodies that may be left out.
fn finish(call: &mut Operation, path: &str) {
    for (status, answer) in &mut call.responses.responses {
        if let RefOr::T(answer) = answer
            && answer.description.is_empty()
        {
            answer.description = match status.as_str() {
                "201" => "Made".to_owned(),
                "204" => "Nothing to say".to_owned(),
                _ => "As it is".to_owned(),
            };
        }
    }
    let is_optional = BODY_OPTIONAL.iter().any(|verb| path.ends_with(verb));
    if let Some(RefOr::T(body)) = call.request_body.as_mut().filter(|_| is_optional) {
        body.required = Some(Required::False);
    }
}

/// The headers that whole families of calls understand.
fn headers(call: &mut Operation, verb: &str, path: &str) {
    let is_verb = verb == "post" && path.contains("/reservations/{id}/");
    let mut told = Vec::new();
    // What blocks a room is a part of the room, which has the version.
    if verb == "put" && !path.ends_with("/blocks") || is_verb {
        told.push((
            "If-Match",
            "The ETag that was read: refused with 412 where it is another",
        ));
    }
    if verb == "post" && (is_verb || replay::is_kept(path)) {
        told.push(("Idempotency-Key", "A repeat under it gets the first answer"));
    }
    if verb != "get" && path.starts_with("/v1/") && !path.starts_with("/v1/inbox") {
        told.push((
            "Keyrack-Actor",
            "The person behind a shared key, for the ledger's entries",
        ));
    }
    let text = || ObjectBuilder::new().schema_type(SchemaType::new(Type::String));
    // Where a call says itself that it must be there, that holds.
    let own = call.parameters.iter().flatten();
    let own: Vec<String> = own
        .filter_map(|one| match one {
            RefOr::T(one) => Some(one.name.clone()),
            RefOr::Ref(_) => None,
        })
        .collect();
    told.retain(|(name, _)| !own.iter().any(|known| known == name));
    let headers = told.into_iter().map(|(name, about)| {
        ParameterBuilder::new()
            .name(name)
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(about))
            .schema(Some(text()))
            .build()
            .into()
    });
    call.parameters.get_or_insert_default().extend(headers);
}

/// `post_reservations_id_confirm`: the verb and what follows the property.
fn name_of(verb: &str, path: &str) -> String {
    let own = path.strip_prefix("/v1").unwrap_or(path);
    let own = own.strip_prefix("/properties/{property}/").unwrap_or(own);
    // The same word stands at a hotel and at the whole house.
    let own = match own.strip_prefix("/messages") {
        Some(rest) => format!("all_messages{rest}"),
        None => own.to_owned(),
    };
    let words = own
        .split('/')
        .map(|word| word.trim_matches(['{', '}']).replace(['-', '.'], "_"));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    format!("{verb}_{}", words.join("_"))
}

/// Every route, with the document that grows with it.
pub fn routes() -> OpenApiRouter<ApiState> {
    OpenApiRouter::with_openapi(frame())
        .merge(routes::properties::routes())
        .merge(routes::room_type::routes())
        .merge(routes::rooms::routes())
        .merge(routes::rate_plans::routes())
        .merge(routes::rates::routes())
        .merge(routes::inventory::routes())
        .merge(routes::availability::routes())
        .merge(routes::reservations::routes())
        .merge(routes::day_sheet::routes())
        .merge(routes::allotments::routes())
        .merge(routes::groups::routes())
        .merge(routes::rooming_list::routes())
        .merge(routes::pool_rules::routes())
        .merge(routes::buffer_rules::routes())
        .merge(routes::overbookings::routes())
        .merge(routes::turn_aways::routes())
        .merge(routes::waitlist::routes())
        .merge(routes::channels::routes())
        .merge(routes::accounts::routes())
        .merge(routes::messages::routes())
        .merge(routes::all_messages::routes())
        .merge(routes::channel_inbox::routes())
        .merge(routes::webhooks::routes())
        .merge(routes::health::routes())
}

/// The routes that serve document and page.
pub fn pages() -> Router<ApiState> {
    Router::new()
        .route("/openapi.json", get(document))
        .route("/docs", get(page))
}

async fn document() -> Response {
    static TEXT: OnceLock<String> = OnceLock::new();
    let text = TEXT.get_or_init(|| openapi().to_json().unwrap_or_default());
    let kind = (header::CONTENT_TYPE, "application/json");
    ([kind], text.as_str()).into_response()
}

async fn page() -> Html<&'static str> {
    static TEXT: OnceLock<String> = OnceLock::new();
    Html(TEXT.get_or_init(|| {
        let document = serde_json::to_value(openapi()).unwrap_or_default();
        written(&document).into_string()
    }))
}

fn frame() -> OpenApi {
    let mut info = InfoBuilder::new()
        .title("keyrack")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(MANNERS))
        .build();
    info.license = Some(
        utoipa::openapi::LicenseBuilder::new()
            .name("MIT OR Apache-2.0")
            .identifier(Some("MIT OR Apache-2.0"))
            .build(),
    );
    let key = HttpBuilder::new()
        .scheme(HttpAuthScheme::Bearer)
        .description(Some("A key made by `keyrack key create`"))
        .build();
    let mut components = ComponentsBuilder::new()
        .security_scheme("key", SecurityScheme::Http(key))
        .build();
    let mut named = vec![
        (Day::name().into_owned(), Day::schema()),
        ("Problem".to_owned(), ProblemBody::schema()),
        (FieldError::name().into_owned(), FieldError::schema()),
        (NightRef::name().into_owned(), NightRef::schema()),
        (
            AlternativeView::name().into_owned(),
            AlternativeView::schema(),
        ),
    ];
    components.schemas.extend(named.drain(..));
    OpenApiBuilder::new()
        .info(info)
        .components(Some(components))
        .security(Some([SecurityRequirement::new(
            "key",
            std::iter::empty::<String>(),
        )]))
        .tags(Some(tags()))
        .build()
}

fn tags() -> Vec<Tag> {
    let tags = [
        (
            "hotel",
            "Properties, room types, rooms, plans, rates, nights",
        ),
        ("reservations", "Made, read, confirmed, changed, given back"),
        ("channels", "Connections, accounts, mappings, what was told"),
        (
            "pools",
            "Allotments, groups, pool rules, buffer rules, overbooking cases",
        ),
        ("events", "Webhooks and their deliveries"),
        ("running", "Health and metrics"),
    ];
    tags.into_iter()
        .map(|(name, about)| {
            TagBuilder::new()
                .name(name)
                .description(Some(about))
                .build()
        })
        .collect()
}

fn written(document: &Value) -> Markup {
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    let schemas = document["components"]["schemas"].as_object().cloned();
    let schemas = schemas.unwrap_or_default();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "keyrack: the HTTP contract" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                h1 { "keyrack: the HTTP contract" }
                p { "The same as a program reads it: " a href="/openapi.json" { "openapi.json" } }
                @for paragraph in MANNERS.split("\n\n") { p { (paragraph) } }
                @for tag in document["tags"].as_array().into_iter().flatten() {
                    (section(tag, &paths))
                }
                (problems())
                h2 { "Shapes" }
                @for (name, schema) in &schemas { (shape(name, schema)) }
            }
        }
    }
}

fn section(tag: &Value, paths: &Map<String, Value>) -> Markup {
    let name = tag["name"].as_str().unwrap_or_default();
    let calls = paths.iter().flat_map(|(path, item)| {
        let verbs = item.as_object().into_iter().flatten();
        verbs.map(move |(verb, call)| (path, verb, call))
    });
    let is_here = |call: &Value| {
        call["tags"]
            .as_array()
            .is_some_and(|t| t.contains(&tag["name"]))
    };
    html! {
        h2 id=(name) { (name) }
        p { (tag["description"].as_str().unwrap_or_default()) }
        @for (path, verb, call) in calls.filter(|(_, _, call)| is_here(call)) {
            details {
                summary {
                    code.verb { (verb.to_uppercase()) } " " code { (path) } " "
                    (call["summary"].as_str().unwrap_or_default())
                }
                p { (call["description"].as_str().unwrap_or_default()) }
                (parameters(call))
                @let sent = &call["requestBody"]["content"]["application/json"]["schema"];
                @if !sent.is_null() { p { "Body: " (kind(sent)) } }
                @for (status, answer) in call["responses"].as_object().into_iter().flatten() {
                    @for (media, content) in answer["content"].as_object().into_iter().flatten() {
                        p { (status) " " code { (media) } ": " (kind(&content["schema"])) }
                    }
                }
            }
        }
    }
}

fn parameters(call: &Value) -> Markup {
    html! {
        @if let Some(parameters) = call["parameters"].as_array() {
            table {
                @for one in parameters {
                    tr {
                        td { code { (one["name"].as_str().unwrap_or_default()) } }
                        td { (one["in"].as_str().unwrap_or_default()) }
                        td { (if one["required"] == true { "required" } else { "" }) }
                        td { (kind(&one["schema"])) }
                        td { (one["description"].as_str().unwrap_or_default()) }
                    }
                }
            }
        }
    }
}

fn problems() -> Markup {
    html! {
        h2 { "Problems" }
        table {
            @for row in Kind::rows() {
                tr id=(format!("problem-{}", row.code)) {
                    td { (row.status.as_u16()) }
                    td { code { (row.code) } }
                    td { (row.title) }
                    td { (row.remedy) }
                }
            }
        }
    }
}

fn shape(name: &str, schema: &Value) -> Markup {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    html! {
        h3 id=(format!("shape-{name}")) { (name) }
        p { (schema["description"].as_str().unwrap_or_default()) }
        @match schema["properties"].as_object() {
            Some(fields) => table {
                @for (field, schema) in fields {
                    tr {
                        td { code { (field) } }
                        td { (if required.iter().any(|r| r == field) { "required" } else { "" }) }
                        td { (kind(schema)) }
                        td { (schema["description"].as_str().unwrap_or_default()) }
                    }
                }
            },
            None => p { (kind(schema)) },
        }
    }
}

/// A schema in a few words, with a link where it has a name.
fn kind(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"]
        .as_str()
        .and_then(|path| path.rsplit('/').next())
    {
        return html! { a href=(format!("#shape-{name}")) { (name) } };
    }
    for word in ["oneOf", "anyOf", "allOf"] {
        if let Some(parts) = schema[word].as_array() {
            return html! {
                @for (at, part) in parts.iter().enumerate() {
                    @if at > 0 { " or " } (kind(part))
                }
            };
        }
    }
    if let Some(words) = schema["enum"].as_array() {
        let words = words.iter().filter_map(Value::as_str);
        return html! { (words.collect::<Vec<_>>().join(" | ")) };
    }
    if !schema["items"].is_null() {
        return html! { "list of " (kind(&schema["items"])) };
    }
    let plain = match &schema["type"] {
        Value::Array(kinds) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.collect::<Vec<_>>().join(" or ")
        }
        kind => kind.as_str().unwrap_or("anything").to_owned(),
    };
    let format = schema["format"].as_str();
    html! { (plain) @if let Some(format) = format { " (" (format) ")" } }
}

/// Verbs whose body may be left out altogether.
const BODY_OPTIONAL: [&str; 11] = [
    "/go-live",
    "/pause",
    "/close",
    "/confirm",
    "/cancel",
    "/extend",
    "/check-in",
    "/check-out",
    "/no-show",
    "/undo",
    "/assign",
];

const STYLE: &str = "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;\
padding:0 1rem;color:#222}code{font-size:.9em}.verb{font-weight:bold}details{margin:.3rem 0}\
table{border-collapse:collapse;font-size:.9em}td{border-top:1px solid #ddd;padding:.2rem .6rem;\
vertical-align:top}h3{margin-bottom:0}";

const MANNERS: &str = "JSON, snake_case, UTF-8. Dates are YYYY-MM-DD, instants RFC 3339 in UTC. \
Ranges of nights are from..to and stays arrival..departure, the end excluded, everywhere. Money \
is a decimal string with its currency, never a float. Unknown fields in a request are an error.

Send Authorization: Bearer with a key. Roles: read_only looks, front_desk books, manager sets \
rates and inventory and forces, admin founds properties and connects channels; each may what the \
one before may. Keyrack-Actor names the person behind a shared key. A revoked key may be served \
for a few seconds more (five, unless the daemon's settings say otherwise).

Idempotency-Key on a POST makes a repeat harmless: a success is kept with the request's \
fingerprint for at least 24 hours; the same key with the same request gives that answer again, \
with Idempotent-Replay: true, and with another request it is refused. A refusal is not kept: it is \
decided anew. It is required for making reservations. Of a reservation, guests' names, notes and \
assigned rooms are told as they are by then: what is kept for repeats holds no guest's data.

Single things, and lists that are put as a whole, carry an ETag with their version. If-Match is \
required on PATCH and optional on everything else that changes them. A dry run uses no key up.

Errors are RFC 9457 problem details; code is the stable word. 429 and 503 say when to come again \
in Retry-After. A property that is not yours is 404, whatever is done to it.";
