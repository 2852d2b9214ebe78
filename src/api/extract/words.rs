//! What is wrong with a value, in the caller's words: no library's names of types reach them.

/// A sentence of ours for what a reader of JSON or of a query said. With the name of the field
/// where the sentence is about one that is missing.
pub fn worded(text: &str) -> (String, Option<String>) {
    if let Some(name) = text.strip_prefix("missing field ") {
        return ("is missing".to_owned(), Some(unquoted(name)));
    }
    (sentence(text), None)
}

fn sentence(text: &str) -> String {
    if text.starts_with("duplicate field ") {
        return "stands there twice".to_owned();
    }
    if let Some(rest) = text.strip_prefix("unknown field ") {
        return match choice(rest) {
            Some(known) => format!("there is no such field; known are {known}"),
            None => "there is no such field".to_owned(),
        };
    }
    if let Some(rest) = text.strip_prefix("unknown variant ") {
        let known = choice(rest).unwrap_or_default();
        return format!("must be one of {known}");
    }
    for kind in ["invalid type: ", "invalid value: ", "invalid length "] {
        if let Some((found, due)) = text
            .strip_prefix(kind)
            .and_then(|rest| rest.rsplit_once(", expected "))
        {
            let is_number = found.strip_prefix("integer ").is_some();
            if is_number && WHOLE.contains(&due) {
                return "is too large or too small a number".to_owned();
            }
            return match (due_words(due), found_words(found)) {
                (due, Some(found)) => format!("must be {due}, not {found}"),
                (due, None) => format!("must be {due}"),
            };
        }
    }
    parsed_words(text).map_or_else(|| text.to_owned(), str::to_owned)
}

/// What the readers of plain texts say, which queries are made of.
fn parsed_words(text: &str) -> Option<&'static str> {
    let starts = [
        ("invalid digit found in string", "must be a whole number"),
        ("cannot parse integer from empty", "must be a whole number"),
        ("number too large", "is too large a number"),
        ("number too small", "is too small a number"),
        ("invalid float", "must be a number"),
        ("provided string was not", "must be true or false"),
        ("UUID parsing failed", "must be a UUID"),
        ("expected value", "has a wrong kind of value"),
        (
            "amount is a decimal string",
            "amount must be a plain decimal such as 120.00, with no more digits after the point \
             than its currency has and at most 15 before it",
        ),
    ];
    let found = starts
        .into_iter()
        .find(|(start, _)| text.starts_with(start));
    found.map(|(_, words)| words)
}

/// Kinds of whole numbers. How far they reach is nothing to a caller: every field says its own
/// bounds once it is read.
const WHOLE: [&str; 12] = [
    "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "i128", "u128", "isize", "usize",
];

fn due_words(due: &str) -> String {
    match due {
        _ if WHOLE.contains(&due) => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" | "str" | "a borrowed string" | "a character" => "a text".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "an object".to_owned(),
        "unit" | "option" => "null".to_owned(),
        "a formatted UUID string" | "a UUID string" => "a UUID".to_owned(),
        _ if due.starts_with("struct ") => "an object".to_owned(),
        _ if due.starts_with("a tuple") || due.starts_with("tuple") => "a list".to_owned(),
        _ => due.to_owned(),
    }
}

/// What stood there; nothing where the words would not help.
fn found_words(found: &str) -> Option<String> {
    let words = match found {
        "null" | "unit value" | "Option value" => "null",
        "map" => "an object",
        "sequence" => "a list",
        _ if found.starts_with("string ") => "a text",
        _ if found.starts_with("character ") => "a text",
        _ => {
            let plain = ["boolean ", "integer ", "floating point "];
            let rest = plain.iter().find_map(|kind| found.strip_prefix(kind))?;
            return Some(unquoted(rest));
        }
    };
    Some(words.to_owned())
}

/// The known words of `` `x`, expected one of `a`, `b` ``.
fn choice(rest: &str) -> Option<String> {
    let (_, known) = rest.rsplit_once(", expected ")?;
    let known = known.strip_prefix("one of ").unwrap_or(known);
    Some(known.replace('`', "").replace(" or ", ", "))
}

fn unquoted(text: &str) -> String {
    text.trim_matches('`').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_s_sentence_becomes_one_for_the_caller() {
        for (said, ours) in [
            (
                "invalid type: null, expected struct NewReservation",
                "must be an object, not null",
            ),
            (
                "invalid type: boolean `true`, expected i32",
                "must be a whole number, not true",
            ),
            (
                "invalid value: integer `2147483648`, expected i32",
                "is too large or too small a number",
            ),
            (
                "invalid type: string \"a, expected b\", expected a boolean",
                "must be true or false, not a text",
            ),
            ("invalid digit found in string", "must be a whole number"),
            (
                "provided string was not `true` or `false`",
                "must be true or false",
            ),
            ("duplicate field `status`", "stands there twice"),
            (
                "unknown field `x`, expected `a` or `b`",
                "there is no such field; known are a, b",
            ),
            (
                "unknown field `x`, there are no fields",
                "there is no such field",
            ),
            (
                "unknown variant `x`, expected one of `a`, `b`",
                "must be one of a, b",
            ),
            ("a date is YYYY-MM-DD", "a date is YYYY-MM-DD"),
        ] {
            assert_eq!(worded(said), (ours.to_owned(), None), "{said}");
        }
        let missing = worded("missing field `from`");
        assert_eq!(missing, ("is missing".to_owned(), Some("from".to_owned())));
    }
}
