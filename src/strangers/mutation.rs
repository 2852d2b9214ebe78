//! One change to a message, drawn by chance and shrunk by proptest.

use proptest::prelude::{Just, Strategy, any, prop_oneof};
use proptest::sample::{Index, select};

use crate::dictionary::{DATES, NESTS, NUMBERS, PIECES};

/// The largest message that mutating makes; what is larger is a matter of `grows_with_its_input`
/// and of the limits' own tests.
pub const BYTES_MAX: usize = 256 * 1024;

/// A change to a message.
#[derive(Clone, Debug)]
pub enum Mutation {
    /// One byte becomes another.
    Flip(Index, u8),
    /// What stands behind the place is gone.
    CutEnd(Index),
    /// What stands before it is gone.
    CutBegin(Index),
    /// What stands between two places is gone.
    CutOut(Index, Index),
    /// The whole stands there twice.
    Double,
    /// The end becomes that of another sample.
    Splice(Index, Index, Index),
    /// What stands between two places stands there so many times.
    Repeat(Index, Index, usize),
    /// A word comes between.
    Insert(Index, &'static str),
    /// The row of digits at or behind the place becomes another number or a date.
    Number(Index, &'static str),
    /// The quoted value at or behind the place becomes this.
    Value(Index, &'static str),
    /// The quoted value at or behind the place becomes that of another place.
    Swap(Index, Index),
    /// So many of a letter come between.
    Long(Index, char, usize),
    /// A nest of that depth comes between.
    Nest(Index, (&'static str, &'static str), usize),
    /// So many attributes come behind the next white space.
    Attributes(Index, usize, bool),
    /// The bytes in another encoding, or with its mark before them.
    Encode(Encoding),
}

/// Encodings that nobody asked for.
#[derive(Clone, Copy, Debug)]
pub enum Encoding {
    /// UTF-8 with its mark.
    Marked,
    /// UTF-16, little end first, with its mark.
    Utf16Le,
    /// UTF-16, big end first, with its mark.
    Utf16Be,
    /// UTF-16 without a mark.
    Utf16Bare,
    /// One byte a letter.
    Latin1,
}

pub(crate) fn mutations() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    let numbers = select([NUMBERS, DATES].concat());
    let values = select([NUMBERS, DATES, PIECES].concat());
    let encodings = [
        Encoding::Marked,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf16Bare,
        Encoding::Latin1,
    ];
    let coarse = prop_oneof![
        at().prop_map(Mutation::CutEnd),
        at().prop_map(Mutation::CutBegin),
        (at(), at()).prop_map(|(from, to)| Mutation::CutOut(from, to)),
        Just(Mutation::Double),
        (at(), at(), at()).prop_map(|(other, from, to)| Mutation::Splice(other, from, to)),
        (at(), at(), 2..200_usize).prop_map(|(from, to, times)| Mutation::Repeat(from, to, times)),
        (at(), any::<char>(), 1..70_000_usize).prop_map(|(at, c, n)| Mutation::Long(at, c, n)),
        (at(), select(NESTS), 1..300_usize).prop_map(|(at, nest, n)| Mutation::Nest(at, nest, n)),
        (at(), 1..200_usize, any::<bool>()).prop_map(|(at, n, e)| Mutation::Attributes(at, n, e)),
        select(encodings.to_vec()).prop_map(Mutation::Encode),
    ];
    prop_oneof![
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Flip(at, byte)),
        2 => (at(), select(PIECES)).prop_map(|(at, piece)| Mutation::Insert(at, piece)),
        3 => (at(), numbers).prop_map(|(at, number)| Mutation::Number(at, number)),
        2 => (at(), values).prop_map(|(at, value)| Mutation::Value(at, value)),
        1 => (at(), at()).prop_map(|(from, to)| Mutation::Swap(from, to)),
        4 => coarse,
    ]
}

impl Mutation {
    /// The bytes after it, cut to the limit.
    pub fn apply(&self, mut bytes: Vec<u8>, samples: &[Vec<u8>]) -> Vec<u8> {
        let length = bytes.len();
        let place = |at: &Index| at.index(length + 1);
        let span = |a: &Index, b: &Index| {
            let (a, b) = (place(a), place(b));
            a.min(b)..a.max(b)
        };
        match self {
            Self::Flip(at, byte) => {
                if !bytes.is_empty() {
                    let at = at.index(bytes.len());
                    bytes[at] = *byte;
                }
            }
            Self::CutEnd(at) => bytes.truncate(place(at)),
            Self::CutBegin(at) => drop(bytes.drain(..place(at))),
            Self::CutOut(from, to) => drop(bytes.drain(span(from, to))),
            Self::Double => bytes.extend_from_within(..),
            Self::Splice(other, from, to) => {
                let other = other.get(samples);
                bytes.truncate(place(from));
                bytes.extend_from_slice(&other[to.index(other.len() + 1)..]);
            }
            Self::Repeat(from, to, times) => {
                let span = span(from, to);
                let most = BYTES_MAX / span.len().max(1);
                let piece = bytes[span.clone()].repeat((*times).min(most));
                bytes.splice(span, piece);
            }
            Self::Insert(at, piece) => insert(&mut bytes, place(at), piece.as_bytes()),
            Self::Number(at, number) => {
                let found = digits(&bytes, place(at));
                bytes.splice(found, number.bytes());
            }
            Self::Value(at, value) => {
                let found = quoted(&bytes, place(at));
                bytes.splice(found, value.bytes());
            }
            Self::Swap(from, to) => {
                let value = bytes[quoted(&bytes, place(from))].to_vec();
                let found = quoted(&bytes, place(to));
                bytes.splice(found, value);
            }
            Self::Long(at, letter, times) => {
                let long = letter.to_string().repeat(*times);
                insert(&mut bytes, place(at), long.as_bytes());
            }
            Self::Nest(at, (open, close), depth) => {
                let nest = [open.repeat(*depth), close.repeat(*depth)].concat();
                insert(&mut bytes, place(at), nest.as_bytes());
            }
            Self::Attributes(at, number, alike) => {
                let name = |n: usize| if *alike { 0 } else { n };
                let many: String = (0..*number)
                    .map(|n| format!(" a{}=\"{n}\"", name(n)))
                    .collect();
                let from = place(at);
                let blank = bytes[from..].iter().position(u8::is_ascii_whitespace);
                insert(&mut bytes, from + blank.unwrap_or(0), many.as_bytes());
            }
            Self::Encode(encoding) => bytes = encoding.encode(&bytes),
        }
        bytes.truncate(BYTES_MAX);
        bytes
    }
}

impl Encoding {
    fn encode(self, bytes: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(bytes);
        match self {
            Self::Marked => [b"\xef\xbb\xbf", bytes].concat(),
            Self::Utf16Le => [0xff, 0xfe]
                .into_iter()
                .chain(text.encode_utf16().flat_map(u16::to_le_bytes))
                .collect(),
            Self::Utf16Be => [0xfe, 0xff]
                .into_iter()
                .chain(text.encode_utf16().flat_map(u16::to_be_bytes))
                .collect(),
            Self::Utf16Bare => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            Self::Latin1 => text
                .chars()
                .map(|letter| u8::try_from(letter).unwrap_or(b'?'))
                .collect(),
        }
    }
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}

/// The first row of digits from a place on; nothing at the end where there is none.
fn digits(bytes: &[u8], from: usize) -> std::ops::Range<usize> {
    let rest = &bytes[from..];
    let begins = rest.iter().position(u8::is_ascii_digit);
    let begins = from + begins.unwrap_or(rest.len());
    // A date and a decimal go as a whole.
    let belongs = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b'-' | b'.' | b':' | b'T');
    let length = bytes[begins..].iter().take_while(belongs).count();
    begins..begins + length
}

/// What stands between the next two quotes from a place on; nothing at the end where there is none.
fn quoted(bytes: &[u8], from: usize) -> std::ops::Range<usize> {
    let is_quote = |byte: &u8| matches!(byte, b'"' | b'\'');
    let Some(open) = bytes[from..].iter().position(is_quote) else {
        return bytes.len()..bytes.len();
    };
    let begins = from + open + 1;
    let quote = bytes[begins - 1];
    let length = bytes[begins..].iter().position(|byte| *byte == quote);
    begins..length.map_or(bytes.len(), |length| begins + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_dates_and_quoted_values_are_found_as_a_whole() {
        let text = b"<a b='2030-01-05T10:00' c=\"x y\">12.50</a>";
        assert_eq!(&text[digits(text, 0)], b"2030-01-05T10:00");
        assert_eq!(&text[digits(text, 24)], b"12.50");
        assert_eq!(digits(text, 38), text.len()..text.len());
        assert_eq!(&text[quoted(text, 0)], b"2030-01-05T10:00");
        assert_eq!(&text[quoted(text, 24)], b"x y");
        assert_eq!(quoted(text, 33), text.len()..text.len());
    }

    #[test]
    fn chance_draws_the_same_messages_in_each_run_and_keeps_the_limit() {
        let samples = || vec![b"<a b='1'/>".to_vec(), b"{\"a\":1}".to_vec()];
        let drawn = crate::drawn(samples(), 200);
        assert_eq!(drawn, crate::drawn(samples(), 200));
        assert!(drawn.iter().all(|bytes| bytes.len() <= BYTES_MAX));
        let changed = drawn.iter().filter(|bytes| !samples().contains(bytes));
        assert!(changed.count() > 150);
    }
}
