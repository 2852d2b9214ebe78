//! Card numbers by their looks: groups of digits that pass the check of Luhn, wherever they stand.

use std::collections::VecDeque;
use std::ops::Range;

use super::marks::{BLOCK, lowest, marks};

/// What stands in place of what is masked.
pub(super) const MASK: u8 = b'*';
/// Shortest and longest card number.
const DIGITS: Range<usize> = 12..20;
const SEPARATORS_MAX: usize = 3;
/// Nanoseconds: more digits are no fraction of a second.
const FRACTION_MAX: usize = 9;

/// Whether a digit may begin with this byte.
pub(super) fn may_begin(byte: u8) -> bool {
    byte.is_ascii_digit() | (byte == b'&') | (byte == b'\\')
}

/// A digit as it is written: plain, or by number in XML or JSON.
fn digit(bytes: &[u8], at: usize) -> Option<(u8, usize)> {
    let rest = &bytes[at..];
    let plain = *rest.first()?;
    if plain.is_ascii_digit() {
        return Some((plain - b'0', 1));
    }
    let (body, end): (&[u8], usize) = match rest {
        [b'&', b'#', b'x' | b'X', b'3', d, b';', ..] if d.is_ascii_digit() => (&[*d], 6),
        [b'&', b'#', a, b, b';', ..] => (&[*a, *b], 5),
        [b'\\', b'u', b'0', b'0', b'3', d, ..] if d.is_ascii_digit() => (&[*d], 6),
        _ => return None,
    };
    match body {
        [d] => Some((d - b'0', end)),
        // &#48; to &#57;
        [b'4', d @ b'8'..=b'9'] => Some((d - b'8', end)),
        [b'5', d @ b'0'..=b'7'] => Some((d - b'0' + 2, end)),
        _ => None,
    }
}

/// The end of `2030-03-01`, or of `2030-03-01T10:00:00.25-05:00`, where one stands here.
fn iso_date(bytes: &[u8], at: usize) -> Option<usize> {
    let date = bytes.get(at..at + 10)?;
    let shaped = date.iter().enumerate().all(|(place, byte)| match place {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let ends = !bytes.get(at + 10).is_some_and(u8::is_ascii_digit);
    let begins = at == 0 || !bytes[at - 1].is_ascii_digit();
    let dated = matches!(&date[..2], b"19" | b"20" | b"21") && matches!(date[5], b'0' | b'1');
    (shaped && ends && begins && dated).then(|| time_end(bytes, at + 10))
}

/// The end of the time of day behind a date (RFC 3339, section 5.6), or of the date alone.
fn time_end(bytes: &[u8], at: usize) -> usize {
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let is = |at: usize, byte: u8| bytes.get(at) == Some(&byte);
    let pair = |at: usize| is_digit(at) && is_digit(at + 1);
    let has_seconds = is(at, b'T')
        && pair(at + 1)
        && is(at + 3, b':')
        && pair(at + 4)
        && is(at + 6, b':')
        && pair(at + 7);
    if !has_seconds {
        return at;
    }
    let mut end = at + 9;
    if is(end, b'.') {
        let fraction = bytes[end + 1..].iter().take(FRACTION_MAX);
        end += 1 + fraction.take_while(|byte| byte.is_ascii_digit()).count();
    }
    let is_offset = is(end, b'+') || is(end, b'-');
    if is_offset && pair(end + 1) && is(end + 3, b':') && pair(end + 4) {
        end += 6;
    }
    end
}

/// Masks every card number outside of the kept places.
pub(super) fn sweep(bytes: &mut [u8], kept: &[Range<usize>]) {
    let mut kept = kept.iter().peekable();
    let mut at = 0;
    while at < bytes.len() {
        while kept.peek().is_some_and(|place| place.end <= at) {
            kept.next();
        }
        let (stop, after) = match kept.peek() {
            Some(place) => (place.start.max(at), place.end),
            None => (bytes.len(), bytes.len()),
        };
        at = match long_run(bytes, at, stop) {
            None => after,
            Some(at) => short_run(bytes, at).unwrap_or_else(|| match digit(bytes, at) {
                Some(_) => sweep_run(bytes, at),
                None => at + 1,
            }),
        };
    }
}

/// Where a digit may begin a row as long as a card number, all of bytes that card numbers and times
/// are written with: nearly all digits of a message are in shorter rows.
fn long_run(bytes: &[u8], from: usize, stop: usize) -> Option<usize> {
    let mut at = from;
    while at < stop {
        let rows = marks(bytes, at, |_, byte, _| may_belong(byte));
        let rows = rows & rows >> 1;
        let rows = rows & rows >> 2;
        let rows = rows & rows >> 4;
        // Twelve of them.
        let rows = rows & rows >> 4;
        if rows != 0 {
            let begins = rows & marks(bytes, at, |_, byte, _| may_begin(byte));
            if begins != 0 {
                return Some(at + lowest(begins)).filter(|place| *place < stop);
            }
        }
        // Of the last bytes the row was not seen to its end.
        at += BLOCK - (DIGITS.start - 1);
    }
    None
}

/// Whether it may be a byte of a digit, of a separator, or of a time, which counts only as a whole.
/// There are others of which it says the same; but few of letters, and none that part values.
fn may_belong(byte: u8) -> bool {
    let is_sign = (byte <= b';') & (byte != b'"') & (byte != b'\'');
    let is_written = (byte == b'u') | (byte | 0x20 == b'x') | (byte == b'\\') | (byte == b'_');
    is_sign | is_written | (byte == b'T') | !byte.is_ascii()
}

/// The end of a row of plain digits that is too short for a card and that nothing goes on with.
fn short_run(bytes: &[u8], from: usize) -> Option<usize> {
    let digits = bytes[from..].iter().take(DIGITS.start);
    let length = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let end = from + length;
    let goes_on = matches!(bytes.get(end), Some(b'0'..=b'9' | b'&' | b'\\'))
        || separator(bytes, end).is_some();
    (length > 0 && !goes_on).then_some(end)
}

/// The end of what stands between two groups of a card number: at most three blanks, hyphens of any
/// kind, full stops, strokes or underscores.
pub(super) fn separator(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    for _ in 0..SEPARATORS_MAX {
        at += match bytes.get(at..).unwrap_or_default() {
            [
                b' ' | b'-' | b'.' | b'/' | b'_' | b'\t' | b'\n' | b'\r' | 0,
                ..,
            ] => 1,
            // The blank that does not break.
            [0xc2, 0xa0, ..] => 2,
            // Blanks of other widths, hyphens and dashes, the sign of minus.
            [0xe2, 0x80, 0x80..=0x8a | 0x90..=0x95 | 0xaf, ..] | [0xe2, 0x88, 0x92, ..] => 3,
            _ => break,
        };
    }
    (at > from).then_some(at)
}

/// A digit, where it stands, and whether a group begins with it.
type Digit = (u8, Range<usize>, bool);

/// Goes through digits that belong together (groups with little between them) and masks
/// each stretch of whole groups that is a card number; returns where they end. A card inside a
/// longer unbroken row of digits could not be told from chance.
fn sweep_run(bytes: &mut [u8], from: usize) -> usize {
    let mut last: VecDeque<Digit> = VecDeque::with_capacity(DIGITS.end);
    let mut at = from;
    loop {
        if let Some(end) = iso_date(bytes, at) {
            // Dates are no card, and no card goes through one.
            return if last.is_empty() { end } else { at };
        }
        let mut begins = true;
        while let Some((value, length)) = digit(bytes, at) {
            if last.len() == DIGITS.end - 1 {
                last.pop_front();
            }
            last.push_back((value, at..at + length, begins));
            begins = false;
            at += length;
        }
        mask_cards(bytes, &last);
        match separator(bytes, at) {
            Some(end) if digit(bytes, end).is_some() => at = end,
            _ => return at,
        }
    }
}

/// Masks the longest stretch that ends with the last digit, begins with a group and passes the
/// check of Luhn, which nine in ten chance numbers fail; all zeros are no card.
fn mask_cards(bytes: &mut [u8], last: &VecDeque<Digit>) {
    let mut sum = 0_u32;
    let mut card = 0;
    for (place, (value, _, begins)) in last.iter().rev().enumerate() {
        let doubled = if *value < 5 { value * 2 } else { value * 2 - 9 };
        sum += u32::from(if place % 2 == 0 { *value } else { doubled });
        let length = place + 1;
        if *begins && DIGITS.contains(&length) && sum > 0 && sum.is_multiple_of(10) {
            card = length;
        }
    }
    for (_, place, _) in last.iter().rev().take(card) {
        // A digit written by number is several bytes.
        bytes[place.clone()].fill(MASK);
    }
}
