//! What could not be read, in the shape that the engine keeps and shows.

use keyrack_model::adapter::{ParseFault, Parsed};

use crate::mask::{Names, mask};
use crate::xml::BYTES_MAX;

/// Characters of the offending piece, and of the reason, that are kept.
const RAW_CHARS_MAX: usize = 500;
/// Characters of the place that are kept.
const AT_CHARS_MAX: usize = 200;

/// A piece that could not be read. `masked` has no card data in it.
pub(crate) fn fault(
    at: impl Into<String>,
    why: impl Into<String>,
    masked: &str,
    reference: Option<&str>,
) -> ParseFault {
    ParseFault {
        at: kept(&at.into(), AT_CHARS_MAX),
        why: kept(&why.into(), RAW_CHARS_MAX),
        raw: kept(masked, RAW_CHARS_MAX),
        reference: reference.map(str::to_owned),
    }
}

/// The beginning of a stranger's words, without NUL, which no text of a database can hold.
pub(crate) fn kept(words: &str, chars_max: usize) -> String {
    let beginning = words.chars().take(chars_max);
    beginning
        .map(|letter| match letter {
            '\0' => char::REPLACEMENT_CHARACTER,
            letter => letter,
        })
        .collect()
}

/// A message of which nothing was taken.
pub(crate) fn unreadable(why: impl Into<String>, masked: &[u8]) -> Parsed {
    let head = &masked[..masked.len().min(4 * RAW_CHARS_MAX)];
    let head = String::from_utf8_lossy(head);
    Parsed {
        is_unreadable: true,
        faults: vec![fault("message", why, &head, None)],
        ..Parsed::default()
    }
}

/// What is refused before anything goes through all of it: too large, or in UTF-16.
pub(crate) fn refused_unread(bytes: &[u8], names: &Names) -> Option<Parsed> {
    let why = if bytes.len() > BYTES_MAX {
        let length = bytes.len();
        format!("the message has {length} bytes; at most {BYTES_MAX} are read")
    } else if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        "the message is written in UTF-16; UTF-8 is expected".to_owned()
    } else {
        return None;
    };
    let head = &bytes[..bytes.len().min(4 * RAW_CHARS_MAX)];
    Some(unreadable(why, &mask(head, names)))
}
