//! Sentences for whoever reads a problem: what is wrong, where, and what to do.

/// A text as a sentence: it begins with a capital and ends with a full stop.
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut letters = text.chars();
    let mut whole = match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect::<String>(),
        None => return String::new(),
    };
    if !whole.ends_with(['.', '!', '?', '…']) {
        whole.push('.');
    }
    whole
}

/// What is wrong with a field, as it goes on after the field's name: `0 to 500` is "must be 0 to
/// 500".
pub fn remark(message: &str) -> String {
    if let Some(what) = message.strip_prefix("no such ") {
        return format!("there is no such {what}: look up what there is");
    }
    if let Some(rest) = message.strip_prefix("not ") {
        return format!("must not be {rest}");
    }
    let is_clause = CLAUSES.iter().any(|verb| message.contains(verb));
    let first = message.split([' ', ',']).next().unwrap_or_default();
    let is_number = first.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    if !is_clause && (is_number || RIGHTS.contains(&first)) {
        return format!("must be {message}");
    }
    message.to_owned()
}

/// A wrong field in a sentence: `/rooms/0/guest_name` is "Rooms 1, guest name".
pub fn of_field(pointer: &str, message: &str) -> String {
    let remark = remark(message);
    match place(pointer) {
        place if place.is_empty() => sentence(&remark),
        place => sentence(&format!("{place}: {remark}")),
    }
}

/// Where in a request, as people count.
fn place(pointer: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for part in pointer.split('/').filter(|part| !part.is_empty()) {
        match (part.parse::<u32>(), words.last_mut()) {
            // Lines of a file are counted from 1 already.
            (Ok(at), Some(list)) if list == "line" => *list = format!("line {at}"),
            (Ok(at), Some(list)) => *list = format!("{list} {}", at.saturating_add(1)),
            _ => words.push(part.replace('_', " ")),
        }
    }
    words.join(", ")
}

/// What is right begins so, where it is no sentence of its own.
const RIGHTS: [&str; 14] = [
    "a", "above", "after", "an", "any", "at", "below", "between", "each", "exactly", "from",
    "more", "one", "too",
];

/// By these a message is a sentence of its own.
const CLAUSES: [&str; 12] = [
    " is ",
    " has ",
    " are ",
    " ends ",
    " belongs ",
    " needs ",
    " does ",
    " stays ",
    " stand ",
    " may ",
    " was ",
    " sell ",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_field_is_said_as_people_count_and_speak() {
        for (pointer, message, said) in [
            (
                "/rooms/0/quantity",
                "1 to 500",
                "Rooms 1, quantity: must be 1 to 500.",
            ),
            ("", "must be an object", "Must be an object."),
            (
                "/line/7",
                "guest name: must not be empty",
                "Line 7: guest name: must not be empty.",
            ),
            (
                "/room_type",
                "no such room type",
                "Room type: there is no such room type: look up what there is.",
            ),
            (
                "/rules/2/again_at",
                "not below 0",
                "Rules 3, again at: must not be below 0.",
            ),
            (
                "/price",
                "a price is not negative",
                "Price: a price is not negative.",
            ),
            ("/to", "at most 92 nights", "To: must be at most 92 nights."),
        ] {
            assert_eq!(of_field(pointer, message), said);
        }
    }

    #[test]
    fn a_sentence_has_a_capital_and_a_full_stop_once() {
        for (text, said) in [
            ("it is so", "It is so."),
            ("Two rooms. Move one.", "Two rooms. Move one."),
            ("überbucht", "Überbucht."),
            ("", ""),
        ] {
            assert_eq!(sentence(text), said);
        }
    }
}
