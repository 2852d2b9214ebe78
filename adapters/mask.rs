//! Masks card numbers and security codes in raw bytes, well-formed or not, before anything is
//! stored: by the names under which dialects carry them, and by sweeping for what looks like a
//! card number wherever it stands.
//!
//! # Why by bytes
//!
//! What cannot be parsed is stored as well, for a person to read. A cut message ends in the middle
//! of a card. Lengths stay, so that positions in faults stay true.

mod marks;
mod named;
mod number;
mod security_code;

/// Which names a dialect carries cards under, and which values are never cards.
pub(crate) struct Names {
    /// Elements, attributes and JSON members whose whole text is masked. Any case.
    pub(crate) secret: &'static [&'static str],
    /// Attributes that hold references, codes and telephones: the sweep leaves them alone, for a
    /// masked reference would be another reservation.
    pub(crate) kept: &'static [&'static str],
}

/// The bytes without card data.
pub(crate) fn mask(bytes: &[u8], names: &Names) -> Vec<u8> {
    let mut masked = narrow(bytes);
    let kept = named::mask(&mut masked, names.secret, names.kept);
    number::sweep(&mut masked, &kept);
    security_code::mask(&mut masked);
    masked
}

/// Free text without card numbers and security codes.
pub(crate) fn text(text: &str) -> String {
    if !text.bytes().any(number::may_begin) {
        return text.to_owned();
    }
    let mut bytes = text.as_bytes().to_vec();
    number::sweep(&mut bytes, &[]);
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

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::{Just, any, prop_assert, prop_assert_eq, prop_oneof, proptest};

    use super::*;

    const NAMES: Names = Names {
        secret: &["CardNumber", "PlainText", "SeriesCode", "cc_cvc"],
        kept: &["ResID_Value"],
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
            "4111  1111  1111  1111",
            "4111\u{a0}1111\u{a0}1111\u{a0}1111",
            "4111\u{2011}1111\u{2011}1111\u{2011}1111",
            "4111 - 1111 - 1111 - 1111",
            "4111/1111/1111/1111",
            "4111_1111_1111_1111",
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
            // Some of these would pass the check of Luhn.
            "<a At=\"2030-03-01T10:00:00.123456780-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456781-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456782-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456783-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456784-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456785-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456786-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456787-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456788-05:00\"/>",
            "<a At=\"2030-03-01T10:00:00.123456789-05:00\"/>",
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
        fn what_guests_write_is_masked_twice_as_once(
            words in vec(prop_oneof![
                "[0-9]{1,4}", "[0-9*]{1,4}", "[ ,./-]{1,3}",
                Just("4111111111111111".to_owned()), Just("cvc".to_owned()),
            ], 0..12),
        ) {
            let once = mask(words.concat().as_bytes(), &NAMES);
            prop_assert_eq!(mask(&once, &NAMES), once);
        }

        #[test]
        fn masking_twice_is_masking_once(bytes in any::<Vec<u8>>()) {
            let once = mask(&bytes, &NAMES);
            prop_assert!(bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff")
                || once.len() == bytes.len());
            prop_assert_eq!(mask(&once, &NAMES), once);
        }
    }
}
