//! Security codes of cards in what guests write: behind a word for one, or behind the card.

use std::ops::Range;

use super::marks::next;
use super::number::{MASK, separator};

/// What people write before a card's security code, in lower case.
const CODE_WORDS: [&str; 16] = [
    "cvv2",
    "cvc2",
    "cvv",
    "cvc",
    "cv2",
    "csc",
    "security code",
    "security number",
    "sicherheitscode",
    "sicherheitsnummer",
    "prüfziffer",
    "pruefziffer",
    "prüfnummer",
    "pruefnummer",
    "kartenprüfnummer",
    "kartenpruefnummer",
];
/// Between the word and the code: `cvv is: 123`.
const CODE_GAP: usize = 6;
const CODE_DIGITS: Range<usize> = 3..5;
/// As many masked digits as a short card number has.
const CARD_DIGITS_MIN: usize = 12;
/// Between a card and its expiry: ` valid until: `.
const EXPIRY_GAP: usize = 16;

/// Whether a masked number or a word for a code may begin here; no word goes on with such a word.
fn may_begin(before: u8, here: u8, behind: u8) -> bool {
    let is_letter = |byte: u8, letter: u8| byte | 0x20 == letter;
    let c = is_letter(here, b'c') & (is_letter(behind, b'v') | is_letter(behind, b's'));
    let s = is_letter(here, b's') & (is_letter(behind, b'e') | is_letter(behind, b'i'));
    let p = is_letter(here, b'p') & is_letter(behind, b'r');
    let k = is_letter(here, b'k') & is_letter(behind, b'a');
    let goes_on = (before | 0x20).wrapping_sub(b'a') < 26;
    (here == MASK) | ((c | s | p | k) & !goes_on)
}

/// Masks what is a security code: three or four digits that stand alone behind a word for one, or
/// behind a masked card number and perhaps its expiry.
pub(super) fn mask(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(begin) = next(bytes, at, may_begin) {
        at = begin;
        at = match bytes[at] {
            MASK => mask_behind_card(bytes, at),
            _ => match behind_word(bytes, at) {
                Some(code) => mask_digits(bytes, code),
                None => at + 1,
            },
        };
    }
}

/// Masks what stands behind the number here, and returns where that ends. A code with at
/// most a separator before it reads as more of the number: what is masked twice is masked as
/// once.
fn mask_behind_card(bytes: &mut [u8], from: usize) -> usize {
    let (mut digits, mut end) = masked_number(bytes, from);
    while digits >= CARD_DIGITS_MIN {
        let Some(code) = behind_card(bytes, end) else {
            return end;
        };
        let is_more = code.start == separator(bytes, end).unwrap_or(end);
        end = mask_digits(bytes, code);
        if !is_more {
            return end;
        }
        let (more, behind) = masked_number(bytes, end);
        (digits, end) = (digits + more, behind);
    }
    end
}

/// Masks the digits of a code and returns its end; what parts them stays, as in a card number.
fn mask_digits(bytes: &mut [u8], code: Range<usize>) -> usize {
    let end = code.end;
    let digits = bytes[code].iter_mut().filter(|byte| byte.is_ascii_digit());
    digits.for_each(|byte| *byte = MASK);
    end
}

/// How many digits of a masked number stand here, and where they end.
fn masked_number(bytes: &[u8], from: usize) -> (usize, usize) {
    let (mut digits, mut at) = (0, from);
    loop {
        let stars = bytes[at..].iter().take_while(|byte| **byte == MASK).count();
        digits += stars;
        at += stars;
        match separator(bytes, at) {
            Some(next) if bytes.get(next) == Some(&MASK) => at = next,
            _ => return (digits, at),
        }
    }
}

/// Where the code stands behind a card number, perhaps with an expiry between: ` 12/27 321`.
fn behind_card(bytes: &[u8], card_end: usize) -> Option<Range<usize>> {
    let gap = gap(bytes, card_end, EXPIRY_GAP);
    let is_worded = bytes[card_end..gap].iter().any(u8::is_ascii_alphabetic);
    let code = match expiry(bytes, gap) {
        Some(end) => code(bytes, self::gap(bytes, end, CODE_GAP)),
        // Behind other words it is a number of rooms, or of nights.
        None if is_worded => None,
        None => code(bytes, gap),
    };
    // In another value it is none of this card's.
    code.filter(|code| !bytes[card_end..code.start].contains(&b'\''))
}

/// The end of `12/27`, `1-2027` or `12 27`, month and year.
fn expiry(bytes: &[u8], from: usize) -> Option<usize> {
    let month = plain(bytes, from);
    let year = separator(bytes, from + month)?;
    let digits = plain(bytes, year);
    (matches!(month, 1 | 2) && matches!(digits, 2 | 4)).then_some(year + digits)
}

/// Where the code stands whose word begins here.
fn behind_word(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    // The name of a field is masked by its list.
    if at > 0 && matches!(bytes[at - 1], b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z') {
        return None;
    }
    // The third letter tells nearly all other words apart.
    let third = bytes.get(at + 2).map(u8::to_ascii_lowercase);
    if !matches!(third, Some(b'2' | b'c' | b'r' | b'u' | b'v' | 0xc3)) {
        return None;
    }
    let lengths = CODE_WORDS
        .iter()
        .filter_map(|word| word_here(bytes, at, word));
    let behind = at + lengths.max()?;
    let ends = !bytes.get(behind).is_some_and(u8::is_ascii_alphabetic);
    code(bytes, gap(bytes, behind, CODE_GAP)).filter(|_| ends)
}

/// The length of a word in any case where it stands here.
fn word_here(bytes: &[u8], at: usize, word: &str) -> Option<usize> {
    let there = bytes.get(at..at + word.len())?;
    let is_same = there.iter().zip(word.bytes()).all(|(there, byte)| {
        // The second byte of `ü`, which is that of `Ü` too but for one bit.
        there.eq_ignore_ascii_case(&byte) || (byte == 0xbc && *there == 0x9c)
    });
    is_same.then_some(word.len())
}

/// Behind what is neither digit, masked nor the end of a value, at most so many bytes.
fn gap(bytes: &[u8], from: usize, most: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default().iter();
    let between =
        |byte: &&u8| !byte.is_ascii_digit() && !matches!(**byte, MASK | b'"' | b'<' | b'>');
    from + rest.take(most + 1).take_while(between).count()
}

/// Three or four digits that stand alone, together or one by one.
fn code(bytes: &[u8], from: usize) -> Option<Range<usize>> {
    let together = plain(bytes, from);
    if CODE_DIGITS.contains(&together) {
        let end = from + together;
        let goes_on = matches!(bytes.get(end), Some(b'-' | b'.' | b'/' | b':'))
            && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
        return (!goes_on && bytes.get(end) != Some(&MASK)).then_some(from..end);
    }
    let (mut digits, mut at) = (0, from);
    while plain(bytes, at) == 1 {
        digits += 1;
        match separator(bytes, at + 1) {
            Some(next) if plain(bytes, next) > 0 => at = next,
            _ => {
                let is_code = CODE_DIGITS.contains(&digits) && bytes.get(at + 1) != Some(&MASK);
                return is_code.then_some(from..at + 1);
            }
        }
    }
    None
}

/// How many plain digits stand here; a long row is not counted to its end.
fn plain(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default().iter();
    let digits = rest.take(CODE_DIGITS.end);
    digits.take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(said: &str) -> String {
        let mut bytes = said.as_bytes().to_vec();
        mask(&mut bytes);
        String::from_utf8(bytes).expect("lengths stay")
    }

    #[test]
    fn every_word_for_a_code_is_looked_for() {
        for word in CODE_WORDS {
            for word in [word.as_bytes(), word.to_uppercase().as_bytes()] {
                assert!(may_begin(b' ', word[0], word[1]), "{word:?}");
                assert!(
                    behind_word(&[word, b" 123"].concat(), 0).is_some(),
                    "{word:?}"
                );
            }
        }
    }

    #[test]
    fn a_security_code_in_a_guests_words_is_masked() {
        for (said, kept) in [
            ("CVC2: 1234, late", "CVC2: ****, late"),
            ("cvv987 or cvv2-123", "cvv*** or cvv2-***"),
            ("my security code is 321.", "my security code is ***."),
            ("Prüfziffer 321", "Prüfziffer ***"),
            ("PRÜFZIFFER: 321", "PRÜFZIFFER: ***"),
            ("Kartenpruefnummer 3210", "Kartenpruefnummer ****"),
            ("CVC:0 1 2", "CVC:* * *"),
            ("cvc 0-1-2-3 please", "cvc *-*-*-* please"),
            ("cvv=12345 room 987", "cvv=12345 room 987"),
            ("cvv 1 2 3 4 5", "cvv 1 2 3 4 5"),
            (
                "mcvv 123, cvvx 123, cvv many words 123",
                "mcvv 123, cvvx 123, cvv many words 123",
            ),
        ] {
            assert_eq!(masked(said), kept);
        }
    }

    #[test]
    fn a_security_code_behind_a_masked_card_is_masked() {
        let card = "**** **** **** ****";
        for (behind, kept) in [
            (" 12/27 321", " 12/27 ***"),
            (" exp. 01-2027, 3210", " exp. 01-2027, ****"),
            (" valid until 12 27 / 3 2 1", " valid until 12 27 / * * *"),
            (" 321", " ***"),
            (", 321, late", ", ***, late"),
            (" 321 4321, 12/27 321 999", " *** ****, 12/27 *** 999"),
            (" until 2027-03-01", " until 2027-03-01"),
            ("' Until='12/27' ID='321'", "' Until='12/27' ID='321'"),
            (" for 2 adults in 987", " for 2 adults in 987"),
            (" for room 987", " for room 987"),
            ("\" Amount=\"321\"", "\" Amount=\"321\""),
            ("</b><c>321</c>", "</b><c>321</c>"),
        ] {
            assert_eq!(masked(&format!("{card}{behind}")), format!("{card}{kept}"));
        }
        assert_eq!(masked("*** 321, *.* 12/27 321"), "*** 321, *.* 12/27 321");
    }
}
