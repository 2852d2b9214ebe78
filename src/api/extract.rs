//! What a request brings, read strictly: whatever is wrong with it becomes a problem.

mod strict;
mod words;

use std::time::Duration;

use axum::body::{Body as RawBody, Bytes};
use axum::extract::{
    FromRequest, FromRequestParts, MatchedPath, Path, Query, RawPathParams, Request,
};
use http::request::Parts;
use http::{HeaderMap, Method, header};
use http_body_util::BodyExt;
use keyrack_model::id::Code;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::extract::strict::Strict;
use crate::extract::words::worded;
use crate::problem::Problem;
use crate::problem::kind::Kind;
use crate::state::ApiState;

/// A JSON body. Unknown fields, wrong values and NUL characters (which the database cannot keep)
/// are 422 with a JSON pointer; what is no JSON is 400.
pub struct Body<T> {
    /// What it says.
    pub value: T,
    /// As it came: repeats are known by it.
    pub bytes: Bytes,
}

/// A JSON body that may be left out altogether.
pub struct MaybeBody<T>(pub Body<T>);

impl<T: DeserializeOwned> FromRequest<ApiState> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(&parts.headers, body, state, state.settings().body_bytes_max).await?;
        must_be_json(&parts.headers)?;
        let value = parsed(&bytes)?;
        Ok(Self { value, bytes })
    }
}

impl<T: DeserializeOwned> FromRequest<ApiState> for MaybeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &ApiState) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let bytes = read(&parts.headers, body, state, state.settings().body_bytes_max).await?;
        if bytes.is_empty() {
            let value = parsed(b"{}")?;
            return Ok(Self(Body { value, bytes }));
        }
        must_be_json(&parts.headers)?;
        let value = parsed(&bytes)?;
        Ok(Self(Body { value, bytes }))
    }
}

/// What came of a body that may be too long.
pub enum Arrived {
    /// All of it.
    Whole(Vec<u8>),
    /// It is too long; its first bytes.
    Beginning(Vec<u8>),
}

/// The bytes of a body within size and time, or the beginning of one that is too long: what is
/// beyond the limit is never held.
pub async fn arrived(
    headers: &HeaderMap,
    body: RawBody,
    state: &ApiState,
    bytes_max: usize,
) -> Result<Arrived, Problem> {
    // One that says of itself that it is too long is read no farther than is kept of it.
    let is_long = told_length(headers).is_some_and(|bytes| bytes > bytes_max);
    let read_max = match is_long {
        true => BEGINNING_BYTES.min(bytes_max),
        false => bytes_max,
    };
    let limit = Duration::from_millis(state.settings().body_timeout_ms);
    match tokio::time::timeout(limit, pieces(body, read_max)).await {
        Ok(arrived) => arrived,
        Err(_) => Err(late()),
    }
}

async fn pieces(mut body: RawBody, bytes_max: usize) -> Result<Arrived, Problem> {
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| broken_off())?;
        let Ok(piece) = frame.into_data() else {
            continue;
        };
        let rest = bytes_max - bytes.len();
        if piece.len() > rest {
            bytes.extend(piece.iter().take(rest));
            bytes.truncate(BEGINNING_BYTES);
            return Ok(Arrived::Beginning(bytes));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(Arrived::Whole(bytes))
}

fn told_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(header::CONTENT_LENGTH)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.parse().ok())
}

fn broken_off() -> Problem {
    Problem::new(Kind::Malformed, "the body broke off")
}

fn late() -> Problem {
    let detail = "the body did not arrive within the time limit";
    Problem::new(Kind::Malformed, detail)
}

/// What is kept of a body that is too long.
const BEGINNING_BYTES: usize = 64 * 1024;

/// The bytes of a body, within size and time.
pub async fn read(
    headers: &HeaderMap,
    body: RawBody,
    state: &ApiState,
    bytes_max: usize,
) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("a body has at most {bytes_max} bytes here");
        Problem::new(Kind::TooLarge, detail)
    };
    if told_length(headers).is_some_and(|bytes| bytes > bytes_max) {
        return Err(too_large());
    }
    match arrived(headers, body, state, bytes_max).await? {
        Arrived::Whole(bytes) => Ok(bytes.into()),
        Arrived::Beginning(_) => Err(too_large()),
    }
}

fn must_be_json(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    let is_json =
        kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
    if is_json {
        return Ok(());
    }
    let detail = "send the body as application/json";
    Err(Problem::new(Kind::UnsupportedMediaType, detail))
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(Strict(&mut json)).map_err(|error| {
        let pointer = pointer(error.path());
        wrong_or_broken(bytes, pointer, &error.into_inner())
    })?;
    json.end().map_err(|error| malformed(&error))?;
    refuse_nul(bytes)?;
    Ok(value)
}

/// A wrong value may stand before the place where the body is no JSON any more.
fn wrong_or_broken(bytes: &[u8], pointer: String, error: &serde_json::Error) -> Problem {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(_) => wrong(pointer, &without_place(error)),
        Err(error) => malformed(&error),
    }
}

/// A value that is wrong, or wanting, in the caller's words.
fn wrong(pointer: String, said: &str) -> Problem {
    match worded(said) {
        (sentence, None) => Problem::invalid(pointer, sentence),
        (sentence, Some(name)) => Problem::invalid(format!("{pointer}/{name}"), sentence),
    }
}

fn malformed(error: &serde_json::Error) -> Problem {
    let (line, column) = (error.line(), error.column());
    let detail = format!("no readable JSON at line {line}, column {column}");
    Problem::new(Kind::Malformed, detail)
}

/// The sentence of an error, without the place that the pointer tells better.
fn without_place(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(at) => text.get(..at).unwrap_or_default().to_owned(),
        None => text,
    }
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path.iter() {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => {
                pointer.push('/');
                pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

/// Raw NUL is no JSON; an escaped one is, and no text of Postgres can hold it.
fn refuse_nul(bytes: &[u8]) -> Result<(), Problem> {
    if !bytes.windows(6).any(|six| six == br"\u0000") {
        return Ok(());
    }
    let value: Value = serde_json::from_slice(bytes).map_err(|error| malformed(&error))?;
    match nul_at(&value) {
        Some(pointer) => Err(Problem::invalid(pointer, "must not hold the character NUL")),
        None => Ok(()),
    }
}

fn nul_at(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text.contains('\0').then(String::new),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| Some(format!("/{at}{}", nul_at(item)?))),
        Value::Object(fields) => fields.iter().find_map(|(name, field)| {
            if name.contains('\0') {
                return Some(String::new());
            }
            Some(format!("/{name}{}", nul_at(field)?))
        }),
        _ => None,
    }
}

/// Query parameters; unknown ones, twice-told ones and wrong values are 422.
pub struct Ask<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<ApiState> for Ask<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &ApiState) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        if query.contains("%00") {
            return Err(Problem::invalid("", "must not hold the character NUL"));
        }
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(wrong_query(&rejection.body_text())),
        }
    }
}

/// `Failed to deserialize query string: from: a date is …` or without the name.
fn wrong_query(text: &str) -> Problem {
    let text = text
        .strip_prefix("Failed to deserialize query string: ")
        .unwrap_or(text);
    let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    match text.split_once(": ") {
        Some((name, said)) if is_name(name) => wrong(format!("/{name}"), said),
        _ => wrong(String::new(), text),
    }
}

/// Parameters of the path; what does not read names nothing. A code that is to be put must have the
/// plain form; a segment of dots names nothing anywhere, since proxies and browsers walk by it.
pub struct Segments<T>(pub T);

impl<T: DeserializeOwned + Send> FromRequestParts<ApiState> for Segments<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &ApiState) -> Result<Self, Problem> {
        let matched = parts.extensions.get::<MatchedPath>();
        let thing = thing(matched.map_or("", MatchedPath::as_str));
        let Ok(Path(value)) = Path::<T>::from_request_parts(parts, state).await else {
            return Err(Problem::not_found(&thing));
        };
        let params = RawPathParams::from_request_parts(parts, state).await;
        let params = params.map_err(|_| Problem::not_found(&thing))?;
        let odd = params
            .iter()
            .find(|(name, value)| CODES.contains(name) && !is_plain_code(value));
        match odd {
            None => Ok(Self(value)),
            Some((name, _)) if parts.method == Method::PUT => {
                let words = "a code is 1 to 40 of the characters A-Z a-z 0-9 . _ -, not dots alone";
                Err(Problem::invalid(format!("/{name}"), words))
            }
            Some(_) => Err(Problem::not_found(&thing)),
        }
    }
}

/// What the last parameter of a path names, as people say it.
fn thing(path: &str) -> String {
    let mut parts = path
        .split('/')
        .rev()
        .skip_while(|part| !part.starts_with('{'));
    let list = parts.nth(1).unwrap_or_default();
    match list {
        "" => "thing".to_owned(),
        "waitlist" => "wish".to_owned(),
        "properties" => "property".to_owned(),
        list => list.strip_suffix('s').unwrap_or(list).replace('-', " "),
    }
}

fn is_plain_code(text: &str) -> bool {
    Code::new(text).is_some() && text.bytes().any(|byte| byte != b'.')
}

/// Parameters of paths that are codes.
const CODES: [&str; 8] = [
    "room_type",
    "room",
    "rate_plan",
    "account",
    "allotment",
    "group",
    "connection",
    "webhook",
];

#[cfg(test)]
mod tests {
    #[test]
    fn what_a_path_names_is_said() {
        for (path, says) in [
            (
                "/v1/properties/{property}/overbooking-cases/{id}",
                "overbooking case",
            ),
            ("/v1/properties/{property}/waitlist/{id}/cancel", "wish"),
            (
                "/v1/properties/{property}/room-types/{room_type}",
                "room type",
            ),
            ("/v1/properties/{property}", "property"),
            ("", "thing"),
        ] {
            assert_eq!(super::thing(path), says, "{path}");
        }
    }

    use serde::Deserialize;

    use super::*;
    use crate::wire::Day;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Room {
        #[expect(dead_code)]
        arrival: Day,
        #[expect(dead_code)]
        note: Option<String>,
    }

    fn refused(text: &str) -> (u16, String) {
        let problem = parsed::<Vec<Room>>(text.as_bytes()).expect_err("it is wrong");
        let pointer = problem.errors.first().map(|error| error.pointer.clone());
        (
            problem.kind.row().status.as_u16(),
            pointer.unwrap_or_default(),
        )
    }

    #[test]
    fn a_wrong_field_is_pointed_at() {
        let at = |pointer: &str| (422, pointer.to_owned());
        assert_eq!(refused(r#"[{"arrival":"2030-02-30"}]"#), at("/0/arrival"));
        assert_eq!(
            refused(r#"[{"arrival":"2030-02-01","x/y":1}]"#),
            at("/0/x~1y")
        );
        assert_eq!(refused(r#"[{"arrival":7}]"#), at("/0/arrival"));
        assert_eq!(
            refused(r#"[{"arrival":"2030-02-01","note":"a\u0000b"}]"#),
            at("/0/note")
        );
    }

    #[test]
    fn a_list_is_no_object_at_any_depth() {
        let at = |pointer: &str| (422, pointer.to_owned());
        assert_eq!(refused(r#"[["2030-02-01",null]]"#), at("/0"));
        let problem = parsed::<Priced>(br#"{"price":["5.00","EUR"]}"#).expect_err("a list");
        assert_eq!(problem.detail, "Price: must be an object, not a list.");
        let problem = parsed::<Priced>(br#"[["5.00","EUR"]]"#).expect_err("a list");
        assert_eq!(problem.detail, "Must be an object, not a list.");
        let read = parsed::<Priced>(br#"{"price":{"amount":"5.00","currency":"EUR"},"kind":"b"}"#);
        assert!(read.is_ok_and(|body| body.kind == Some(Choice::B)));
        let problem = parsed::<Priced>(br#"{"price":null,"kind":5}"#).expect_err("a number");
        assert_eq!(problem.detail, "Kind: must be one of a, b, not 5.");
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Priced {
        #[expect(dead_code)]
        price: Option<keyrack_model::money::Money>,
        kind: Option<Choice>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Choice {
        A,
        B,
    }

    #[test]
    fn what_is_no_json_is_malformed() {
        for text in [
            "",
            "{",
            "[{]",
            "nonsense",
            "[] []",
            r#"[{"arrival":"\ud800"}]"#,
            &"[".repeat(100_000),
        ] {
            assert_eq!(refused(text).0, 400, "{}", &text[..text.len().min(20)]);
        }
        let problem = parsed::<Vec<Room>>(b"[{\"note\":\"\xff\"}]").expect_err("not UTF-8");
        assert_eq!(problem.kind, Kind::Malformed);
    }

    #[test]
    fn an_escaped_backslash_before_u0000_is_text() {
        let read = parsed::<Vec<Room>>(br#"[{"arrival":"2030-02-01","note":"a\\u0000"}]"#);
        assert!(read.is_ok());
    }
}
