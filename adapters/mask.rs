//! Masks card numbers and security codes in raw bytes, well-formed or not, before anything is
//! stored: by the names under which dialects carry them, and by sweeping for what looks like a
//! card number wherever it stands.
//!
//! # Why by bytes
//!
//! What cannot be parsed is stored as well, for a person to read. A cut message ends in the middle
//! of a card. Lengths stay, so that positions in faults stay true.

mod security_code;

use std::collections::VecDeque;
use std::ops::Range;

/// Which names a dialect carries cards under, and which values are never cards.
pub(crate) struct Names {
    /// Elements, attributes and JSON members whose whole text is masked. Any case.
    pub(crate) secret: &'static [&'static str],
    /// Attributes that hold references, codes, dates and telephones: the sweep leaves them alone,
    /// for a masked reference would be another reservation.
    pub(crate) kept: &'static [&'static str],
}

/// Shortest and longest card number.
const DIGITS: Range<usize> = 12..20;
const NAME_BYTES_MAX: usize = 40;
const MASK: u8 = b'*';

/// The bytes without card data.
pub(crate) fn mask(bytes: &[u8], names: &Names) -> Vec<u8> {
    let mut masked = narrow(bytes);
    let kept = by_name(&mut masked, names);
    sweep(&mut masked, &kept);
    security_code::mask(&mut masked);
    masked
}

/// Free text without card numbers and security codes.
pub(crate) fn text(text: &str) -> String {
    if !text.bytes().any(|b| DIGIT_STARTS[usize::from(b)]) {
        return text.to_owned();
    }
    let mut bytes = text.as_bytes().to_vec();
    sweep(&mut bytes, &[]);
    security_code::mask(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// UTF-16 becomes readable bytes: nobody accepts such a message, yet its cards must not be kept.
fn narrow(bytes: &[u8]) -> Vec<u8> {
    let wide = match bytes {
        [0xff, 0xfe, rest @ ..] => Some((rest, u16::from_le_bytes as fn([u8; 2]) -> u16)),
        [0xfe, 0xff, rest @ ..] => Some((rest, u16::from_be_bytes as fn([u8; 2]) -> u16)),
        _ => None,
    };
    let Some((rest, read)) = wide else {
        return bytes.to_vec();
    };
    let units: Vec<u16> = rest
        .chunks_exact(2)
        .map(|pair| read([pair[0], pair[1]]))
        .collect();
    String::from_utf16_lossy(&units).into_bytes()
}

/// Masks what stands under a secret name; returns where kept attributes stand.
fn by_name(bytes: &mut [u8], names: &Names) -> Vec<Range<usize>> {
    let (secret, listed) = (Marks::of(names.secret), Marks::of(names.kept));
    let mut kept = Vec::new();
    let mut at = 0;
    let mut in_secret_tag = false;
    while let Some(skipped) = bytes[at..].iter().position(|b| KINDS[usize::from(*b)] != 0) {
        at += skipped;
        if bytes[at] == b'>' {
            let closes_itself = at > 0 && bytes[at - 1] == b'/';
            at += 1;
            if in_secret_tag && !closes_itself {
                at = mask_element(bytes, at);
            }
            in_secret_tag = false;
            continue;
        }
        let end = name_end(bytes, at);
        let name = &bytes[at..end];
        let is_secret = secret.may_list(name) && lists(names.secret, name);
        if !is_secret && !listed.may_list(name) {
            at = end;
            continue;
        }
        let before = at.checked_sub(1).map(|before| bytes[before]);
        let opens = before == Some(b'<') || (before == Some(b':') && opened(bytes, at));
        if is_secret {
            if opens {
                in_secret_tag = true;
            } else if let Some(value) = value_of(bytes, end) {
                mask_value(bytes, value);
            }
        } else if lists(names.kept, name)
            && let Some(value) = value_of(bytes, end)
            && value.quoted
        {
            kept.push(value.range);
        }
        at = end;
    }
    kept
}

/// Which names may be on a list, by length and first letter: nearly all others are told apart
/// without comparing them.
struct Marks([u32; NAME_BYTES_MAX + 1]);

impl Marks {
    fn of(names: &[&str]) -> Self {
        let mut marks = Self([0; NAME_BYTES_MAX + 1]);
        for name in names {
            let first = name.as_bytes().first().copied().unwrap_or_default();
            if let Some(mark) = marks.0.get_mut(name.len()) {
                *mark |= Self::bit(first);
            }
        }
        marks
    }

    fn may_list(&self, name: &[u8]) -> bool {
        let mark = self.0.get(name.len()).copied().unwrap_or_default();
        name.first()
            .is_some_and(|first| mark & Self::bit(*first) != 0)
    }

    /// The same for a letter in any case.
    fn bit(first: u8) -> u32 {
        1 << (first & 31)
    }
}

/// What a byte is to whoever looks for names.
const NAME: u8 = 1;
const TAG_END: u8 = 2;
static KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0_u8;
    loop {
        if is_name(byte) {
            kinds[byte as usize] = NAME;
        } else if byte == b'>' {
            kinds[byte as usize] = TAG_END;
        }
        if byte == u8::MAX {
            break kinds;
        }
        byte += 1;
    }
};

/// Bytes that a digit may begin with, as it is written.
static DIGIT_STARTS: [bool; 256] = {
    let mut marked = [false; 256];
    let mut byte = 0_u8;
    loop {
        marked[byte as usize] = byte.is_ascii_digit() || matches!(byte, b'&' | b'\\');
        if byte == u8::MAX {
            break marked;
        }
        byte += 1;
    }
};

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn name_end(bytes: &[u8], from: usize) -> usize {
    let rest = &bytes[from..];
    let after = |byte: &u8| KINDS[usize::from(*byte)] != NAME;
    from + rest.iter().position(after).unwrap_or(rest.len())
}

fn lists(known: &[&str], name: &[u8]) -> bool {
    name.len() <= NAME_BYTES_MAX
        && known
            .iter()
            .any(|known| known.as_bytes().eq_ignore_ascii_case(name))
}

/// Whether the prefix before `at` opens a tag, as in `<ota:CardNumber`.
fn opened(bytes: &[u8], at: usize) -> bool {
    let prefix = bytes[..at - 1].iter().rev().take(NAME_BYTES_MAX);
    let length = prefix.take_while(|byte| is_name(**byte)).count();
    (at - 1)
        .checked_sub(length + 1)
        .is_some_and(|before| bytes[before] == b'<')
}

struct Value {
    range: Range<usize>,
    quoted: bool,
}

/// The value after a name: `name = "value"`, `name='value'`, `"name": "value"`, `"name": 12`.
fn value_of(bytes: &[u8], name_end: usize) -> Option<Value> {
    let blank = |at: usize| {
        let blanks = bytes[at..].iter().take(64);
        at + blanks.take_while(|byte| byte.is_ascii_whitespace()).count()
    };
    let mut at = name_end;
    if bytes.get(at) == Some(&b'"') {
        at += 1;
    }
    at = blank(at);
    if !matches!(bytes.get(at), Some(b'=' | b':')) {
        return None;
    }
    at = blank(at + 1);
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

/// The end of `2030-03-01` where one stands here.
fn iso_date(bytes: &[u8], at: usize) -> Option<usize> {
    let date = bytes.get(at..at + 10)?;
    let shaped = date.iter().enumerate().all(|(place, byte)| match place {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    let ends = !bytes.get(at + 10).is_some_and(u8::is_ascii_digit);
    let begins = at == 0 || !bytes[at - 1].is_ascii_digit();
    let dated = matches!(&date[..2], b"19" | b"20" | b"21") && matches!(date[5], b'0' | b'1');
    (shaped && ends && begins && dated).then_some(at + 10)
}

/// Masks every card number outside of the kept places.
fn sweep(bytes: &mut [u8], kept: &[Range<usize>]) {
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
        let next = bytes[at..stop]
            .iter()
            .position(|b| DIGIT_STARTS[usize::from(*b)]);
        at = match next.map(|skipped| at + skipped) {
            None => after,
            Some(at) => short_run(bytes, at).unwrap_or_else(|| match digit(bytes, at) {
                Some(_) => sweep_run(bytes, at),
                None => at + 1,
            }),
        };
    }
}

/// The end of a row of plain digits that is too short for a card and that nothing goes on with.
fn short_run(bytes: &[u8], from: usize) -> Option<usize> {
    let digits = bytes[from..].iter().take(DIGITS.start);
    let length = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let end = from + length;
    let goes_on = matches!(
        bytes.get(end),
        Some(b'0'..=b'9' | b'&' | b'\\' | b' ' | b'-' | b'.' | b'\t' | b'\n' | 0)
    );
    (length > 0 && !goes_on).then_some(end)
}

/// A digit, where it stands, and whether a group begins with it.
type Digit = (u8, Range<usize>, bool);

/// Goes through digits that belong together (groups with one separator between them) and masks
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
        let separated = matches!(bytes.get(at), Some(b' ' | b'-' | b'.' | b'\t' | b'\n' | 0))
            && digit(bytes, at + 1).is_some();
        if !separated {
            return at;
        }
        at += 1;
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

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    use super::*;

    const NAMES: Names = Names {
        secret: &["CardNumber", "PlainText", "SeriesCode", "cc_cvc"],
        kept: &["ResID_Value", "Start", "End"],
    };

    fn masked(text: &str) -> String {
        String::from_utf8(mask(text.as_bytes(), &NAMES)).expect("still text")
    }

    #[test]
    fn card_numbers_are_masked_wherever_they_stand() {
        let nuls: String = "4111111111111111".chars().flat_map(|c| [c, '\0']).collect();
        for card in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "3782-822463-10005",
            "4111.1111.1111.1111",
            "&#52;111111111111111",
            "&#x34;111111111111111",
            "\\u0034111111111111111",
            nuls.trim_end_matches('\0'),
        ] {
            for around in [
                "card 12 X exp 2030-03-01",
                "<a b=\"X\">",
                "{\"a\":\"X\"}",
                "VisaX",
            ] {
                let left = masked(&around.replace('X', card));
                assert!(!left.contains("111"), "{left}");
                assert!(!left.contains("822463"), "{left}");
                assert!(
                    !around.contains("2030") || left.contains("2030-03-01"),
                    "{left}"
                );
            }
        }
    }

    #[test]
    fn security_codes_are_masked_by_name_also_in_cut_messages() {
        for (open, close) in [
            ("<PaymentCard SeriesCode=\"", "\"/>"),
            ("<PaymentCard seriescode = '", "'/>"),
            ("<ota:cc_cvc>", "</ota:cc_cvc>"),
            ("<cc_cvc a='b'><!-- x --><![CDATA[", "]]></cc_cvc>"),
            ("<cc_cvc>", ""),
            ("SeriesCode=\"", ""),
            ("{\"cc_cvc\": \"", "\"}"),
        ] {
            let left = masked(&format!("{open}738{close}"));
            assert_eq!(left.len(), open.len() + 3 + close.len());
            assert!(!left.contains("738"), "{left}");
            assert!(left.ends_with(close), "{left}");
        }
        assert_eq!(masked("{\"cc_cvc\":738}"), "{\"cc_cvc\":000}");
        let nested = masked("<CardNumber a='1'> <PlainText>4444 </PlainText></CardNumber><b>5</b>");
        assert_eq!(
            nested,
            "<CardNumber a='1'> <PlainText>**** </PlainText></CardNumber><b>5</b>"
        );
        assert_eq!(masked("<cc_cvc/><b>738</b>"), "<cc_cvc/><b>738</b>");
    }

    #[test]
    fn references_dates_and_other_numbers_stay() {
        for plain in [
            "<a ResID_Value=\"4111111111111111\"/>",
            "<a Start=\"2030-03-01\" End=\"2030-03-04\"/> 2030-03-01 2030-03-08",
            "tel 0123 456 789, room 411, 2234567890",
            "1234567890123456",
            "0000000000000000",
        ] {
            assert_eq!(masked(plain), plain);
        }
    }

    #[test]
    fn cards_in_utf_16_are_masked_too() {
        let mut wide = vec![0xff, 0xfe];
        wide.extend(
            "<a>4111111111111111</a>"
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        );
        assert!(!String::from_utf8_lossy(&mask(&wide, &NAMES)).contains("1111"));
    }

    proptest! {
        #[test]
        fn masking_twice_is_masking_once(bytes in any::<Vec<u8>>()) {
            let once = mask(&bytes, &NAMES);
            prop_assert!(bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
                || once.len() == bytes.len());
            prop_assert_eq!(mask(&once, &NAMES), once);
        }
    }
}
