//! Security codes of cards in what guests write.

use std::ops::Range;

/// What people write before a card's security code, in lower case.
const CODE_WORDS: [&[u8]; 7] = [
    b"cvv2",
    b"cvc2",
    b"cvv",
    b"cvc",
    b"cv2",
    b"csc",
    b"security code",
];
/// Between the word and the code: `cvv is: 123`.
const CODE_GAP: usize = 6;

/// Masks three or four digits that stand alone behind a word for a security code, as guests write
/// them into remarks.
pub(super) fn mask(bytes: &mut [u8]) {
    let mut at = 0;
    while let Some(skipped) = bytes[at..]
        .iter()
        .position(|byte| matches!(byte, b'c' | b'C' | b's' | b'S'))
    {
        at += skipped;
        at = match code_behind_word(bytes, at) {
            Some(code) => {
                bytes[code.clone()].fill(b'*');
                code.end
            }
            None => at + 1,
        };
    }
}

/// Where the code stands whose word begins here.
fn code_behind_word(bytes: &[u8], at: usize) -> Option<Range<usize>> {
    // The name of a field is masked by its list.
    let begins =
        at == 0 || !matches!(bytes[at - 1], b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z');
    let is_here = |word: &&[u8]| {
        let there = bytes.get(at..at + word.len());
        there.is_some_and(|there| there.eq_ignore_ascii_case(word))
    };
    let word = CODE_WORDS.iter().find(|word| begins && is_here(word))?;
    let behind = at + word.len();
    let gap = bytes[behind..].iter().take(CODE_GAP + 1);
    let gap = gap
        .take_while(|byte| !byte.is_ascii_digit() && **byte != b'"')
        .count();
    let from = behind + gap;
    let digits = bytes[from..].iter().take(5);
    let digits = digits.take_while(|byte| byte.is_ascii_digit()).count();
    let ends = !bytes.get(behind).is_some_and(u8::is_ascii_alphabetic);
    let is_code = ends && (3..=4).contains(&digits);
    is_code.then_some(from..from + digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_security_code_in_a_guests_words_is_masked() {
        for (said, kept) in [
            (
                "card 4111 1111 1111 1111 cvv 987",
                "card 4111 1111 1111 1111 cvv ***",
            ),
            ("CVC2: 1234, late", "CVC2: ****, late"),
            ("cvv987 or cvv2-123", "cvv*** or cvv2-***"),
            ("my security code is 321.", "my security code is ***."),
            ("cvv=12345 room 987", "cvv=12345 room 987"),
            (
                "mcvv 123, cvvx 123, cvv many words 123",
                "mcvv 123, cvvx 123, cvv many words 123",
            ),
        ] {
            let mut bytes = said.as_bytes().to_vec();
            mask(&mut bytes);
            assert_eq!(String::from_utf8_lossy(&bytes), kept);
        }
    }
}
