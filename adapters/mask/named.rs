//! What stands under a name: masked where the name is one of cards, found where it is one of codes.
//!
//! A name counts where it opens a tag, and where a sign stands behind it that a value follows.

use std::ops::Range;

use super::marks::{BLOCK, lowest, marks};
use super::number::MASK;

/// The longest name of any list.
const NAME_BYTES_MAX: usize = 40;
/// Blanks on either side of a sign.
const BLANKS_MAX: usize = 64;

/// Masks what stands under a secret name; returns where kept attributes stand.
pub(super) fn mask(bytes: &mut [u8], secret: Names, kept: Names) -> Vec<Range<usize>> {
    let (secret, listed) = (List::of(secret), List::of(kept));
    let mut kept = Vec::new();
    let mut in_secret_tag = false;
    // All before it is done.
    let mut at = 0;
    for block in (0..bytes.len()).step_by(BLOCK) {
        let mut left = signs(bytes, block, in_secret_tag);
        while left != 0 {
            let place = block + lowest(left);
            left &= left - 1;
            let opens_secret = match bytes[place] {
                // It may have been masked meanwhile.
                b'<' if place >= at => secret.has_at(bytes, place + 1),
                b':' if place >= at => secret.has_at(bytes, place + 1) && opened(bytes, place),
                _ => false,
            };
            match bytes[place] {
                _ if place < at => {}
                _ if opens_secret => {
                    in_secret_tag = true;
                    // Its end is looked for as well from here on.
                    left = signs(bytes, block, true) & !(u64::MAX >> (BLOCK - 1 - (place - block)));
                }
                b'>' if in_secret_tag => {
                    in_secret_tag = false;
                    if bytes[..place].last() != Some(&b'/') {
                        at = mask_element(bytes, place + 1);
                    }
                }
                b'=' | b':' => {
                    let Some(name) = name_before(bytes, place, [&secret, &listed]) else {
                        continue;
                    };
                    let Some(value) = value_behind(bytes, place) else {
                        continue;
                    };
                    if secret.has(&bytes[name.clone()]) {
                        if !opens(bytes, name.start) {
                            mask_value(bytes, value);
                        }
                    } else if value.quoted && listed.has(&bytes[name]) {
                        kept.push(value.range);
                    }
                }
                _ => {}
            }
        }
    }
    kept
}

/// Marks signs: of tags and of values, and of the end of a tag where that matters.
fn signs(bytes: &[u8], block: usize, in_secret_tag: bool) -> u64 {
    // Without an end of a tag to look for, a second `<` is looked for.
    let end = if in_secret_tag { b'>' } else { b'<' };
    marks(bytes, block, |_, byte, _| {
        (byte == b'<') | (byte == b'=') | (byte == b':') | (byte == end)
    })
}

/// Names, each of at least two bytes.
type Names = &'static [&'static str];

/// Names in any case.
struct List {
    names: Names,
    /// What they begin with, and what they end with: nearly all others are told apart by it.
    begins: Pairs,
    ends: Pairs,
}

impl List {
    fn of(names: Names) -> Self {
        let (mut begins, mut ends) = (Pairs::default(), Pairs::default());
        for name in names {
            if let ([first, second, ..], [.., last_but_one, last]) =
                (name.as_bytes(), name.as_bytes())
            {
                begins.add(*first, *second);
                ends.add(*last_but_one, *last);
            }
        }
        Self {
            names,
            begins,
            ends,
        }
    }

    /// Whether it is the name that stands from a place on.
    fn has_at(&self, bytes: &[u8], from: usize) -> bool {
        self.begins_at(&bytes[from..]) && {
            let rest = bytes[from..].iter().take(NAME_BYTES_MAX + 1);
            let length = rest.take_while(|byte| is_name(**byte)).count();
            self.has(&bytes[from..from + length])
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        let mut names = self.names.iter().filter(|known| known.len() == name.len());
        self.begins_at(name) && names.any(|known| known.as_bytes().eq_ignore_ascii_case(name))
    }

    fn begins_at(&self, bytes: &[u8]) -> bool {
        match *bytes {
            [first, second, ..] => self.begins.has(first, second),
            _ => false,
        }
    }
}

/// Pairs of letters in any case, and others that look like them.
#[derive(Default)]
struct Pairs([u32; 32]);

impl Pairs {
    fn add(&mut self, first: u8, second: u8) {
        self.0[usize::from(first & 31)] |= 1 << (second & 31);
    }

    fn has(&self, first: u8, second: u8) -> bool {
        self.0[usize::from(first & 31)] & 1 << (second & 31) != 0
    }
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// Where the name before a sign stands, if it ends as one of the lists does: `name =`, `"name":`.
fn name_before(bytes: &[u8], sign: usize, lists: [&List; 2]) -> Option<Range<usize>> {
    let blanks = bytes[..sign].iter().rev().take(BLANKS_MAX);
    let blanks = blanks.take_while(|byte| byte.is_ascii_whitespace()).count();
    let before = &bytes[..sign - blanks];
    let before = before.strip_suffix(b"\"").unwrap_or(before);
    let [.., last_but_one, last] = *before else {
        return None;
    };
    if !lists.iter().any(|list| list.ends.has(last_but_one, last)) {
        return None;
    }
    let name = before.iter().rev().take(NAME_BYTES_MAX + 1);
    let length = name.take_while(|byte| is_name(**byte)).count();
    (length <= NAME_BYTES_MAX).then(|| before.len() - length..before.len())
}

/// Whether a name from a place on opens a tag, as in `<CardNumber` and `<ota:CardNumber`.
fn opens(bytes: &[u8], name: usize) -> bool {
    match bytes[..name].last() {
        Some(b'<') => true,
        Some(b':') => opened(bytes, name - 1),
        _ => false,
    }
}

/// Whether the prefix before a colon opens a tag.
fn opened(bytes: &[u8], colon: usize) -> bool {
    let prefix = bytes[..colon].iter().rev().take(NAME_BYTES_MAX);
    let length = prefix.take_while(|byte| is_name(**byte)).count();
    bytes[..colon - length].last() == Some(&b'<')
}

struct Value {
    range: Range<usize>,
    quoted: bool,
}

/// The value behind a sign: `= "value"`, `= 'value'`, `: 12`.
fn value_behind(bytes: &[u8], sign: usize) -> Option<Value> {
    let blanks = bytes[sign + 1..].iter().take(BLANKS_MAX);
    let blanks = blanks.take_while(|byte| byte.is_ascii_whitespace()).count();
    let at = sign + 1 + blanks;
    match *bytes.get(at)? {
        quote @ (b'"' | b'\'') => {
            let from = at + 1;
            let length = bytes[from..].iter().take_while(|byte| **byte != quote);
            let end = from + length.count();
            Some(Value {
                range: from..end,
                quoted: true,
            })
        }
        digit if digit.is_ascii_digit() => {
            let digits = bytes[at..].iter().take_while(|byte| byte.is_ascii_digit());
            let end = at + digits.count();
            Some(Value {
                range: at..end,
                quoted: false,
            })
        }
        _ => None,
    }
}

fn mask_value(bytes: &mut [u8], value: Value) {
    // A number of JSON without quotes stays a number.
    let with = if value.quoted { MASK } else { b'0' };
    bytes[value.range].fill(with);
}

/// Masks text, CDATA and comments up to the next tag; returns where that stands.
fn mask_element(bytes: &mut [u8], from: usize) -> usize {
    let mut at = from;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end: &[u8] = if rest.starts_with(b"<![CDATA[") {
            b"]]>"
        } else if rest.starts_with(b"<!--") {
            b"-->"
        } else if rest[0] == b'<' {
            return at;
        } else {
            if !rest[0].is_ascii_whitespace() {
                bytes[at] = MASK;
            }
            at += 1;
            continue;
        };
        let inside = at + if end == b"]]>" { 9 } else { 4 };
        let close = bytes[inside..].windows(3).position(|three| three == end);
        let stop = close.map_or(bytes.len(), |offset| inside + offset);
        bytes[inside..stop].fill(MASK);
        at = (stop + end.len()).min(bytes.len());
    }
    at
}
