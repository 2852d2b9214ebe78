//! Bytes to text: believes the label where the bytes bear it out, and says so where they do not.

use std::borrow::Cow;

use super::fault::XmlFault;

/// The text of a message in UTF-8, ISO-8859-1 or windows-1252.
///
/// A Latin label over bytes that are valid UTF-8 beyond ASCII is taken as mistaken: such bytes
/// are practically never Latin text. NUL is no character of XML and no text of a database: it
/// becomes the replacement character, so that one broken name never costs its neighbours.
pub(super) fn decode(bytes: &[u8]) -> Result<Cow<'_, str>, XmlFault> {
    let text = labelled(bytes)?;
    match text.contains('\0') {
        true => Ok(Cow::Owned(text.replace('\0', "\u{fffd}"))),
        false => Ok(text),
    }
}

fn labelled(bytes: &[u8]) -> Result<Cow<'_, str>, XmlFault> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(XmlFault::of(
            "the message is written in UTF-16; UTF-8 is expected",
        ));
    }
    let label = label(bytes);
    let utf8 = std::str::from_utf8(bytes);
    match (known(label.as_deref()), utf8) {
        (Label::Utf8 | Label::Latin, Ok(text)) => Ok(Cow::Borrowed(text)),
        (Label::Latin, Err(_)) => Ok(bytes.iter().map(|byte| windows_1252(*byte)).collect()),
        (Label::Utf8, Err(fault)) => Err(XmlFault::of(format!(
            "the message says that it is {}, but byte {} is not",
            label.as_deref().unwrap_or("UTF-8 (by saying nothing)"),
            fault.valid_up_to()
        ))),
        (Label::Wide, _) => Err(XmlFault::of(format!(
            "the message says that it is {}, but is written in single bytes",
            label.unwrap_or_default()
        ))),
        (Label::Unknown, _) => Err(XmlFault::of(format!(
            "the encoding {:?} is not known; UTF-8 is expected",
            label.unwrap_or_default()
        ))),
    }
}

enum Label {
    Utf8,
    Latin,
    Wide,
    Unknown,
}

fn known(label: Option<&str>) -> Label {
    match label.unwrap_or("utf-8") {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => Label::Utf8,
        "iso-8859-1" | "iso8859-1" | "iso_8859-1" | "latin1" | "latin-1" | "iso-8859-15"
        | "windows-1252" | "cp1252" => Label::Latin,
        wide if wide.starts_with("utf-16") || wide.starts_with("utf-32") => Label::Wide,
        _ => Label::Unknown,
    }
}

/// The label of the declaration, in small letters.
fn label(bytes: &[u8]) -> Option<String> {
    let head = &bytes[..bytes.len().min(200)];
    let head: String = head.iter().map(|byte| char::from(*byte)).collect();
    let declaration = head.trim_start().strip_prefix("<?xml")?;
    let (declaration, _) = declaration.split_once("?>")?;
    let (_, value) = declaration.split_once("encoding")?;
    let value = value.trim_start().strip_prefix('=')?.trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (label, _) = value[1..].split_once(quote)?;
    Some(label.trim().to_ascii_lowercase())
}

/// The C1 range as browsers and booking sites mean it, from 0x80.
const C1: [&str; 4] = [
    "€\u{81}‚ƒ„…†‡",
    "ˆ‰Š‹Œ\u{8d}Ž\u{8f}",
    "\u{90}‘’“”•–—",
    "˜™š›œ\u{9d}žŸ",
];

fn windows_1252(byte: u8) -> char {
    let place = usize::from(byte.wrapping_sub(0x80));
    let c1 = C1.get(place / 8).and_then(|row| row.chars().nth(place % 8));
    c1.unwrap_or(char::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(label: &str, name: &[u8]) -> Vec<u8> {
        let mut bytes = format!("<?xml version=\"1.0\" encoding='{label}'?><a>").into_bytes();
        bytes.extend_from_slice(name);
        bytes.extend_from_slice(b"</a>");
        bytes
    }

    #[test]
    fn odd_labels_of_known_encodings_are_read() {
        for label in ["UTF8", "utf-8", "US-ASCII", "iso-8859-1"] {
            let bytes = written(label, "Zoë".as_bytes());
            let text = decode(&bytes).expect(label);
            assert!(text.contains("Zoë"), "{label}");
        }
        for label in ["ISO-8859-1", "windows-1252", "CP1252"] {
            let bytes = written(label, b"Zo\xeb \x80");
            let text = decode(&bytes).expect(label);
            assert!(text.contains("Zoë €"), "{label}");
        }
    }

    #[test]
    fn a_nul_becomes_what_a_database_can_keep() {
        let text = decode(b"<a b='1\x002'>Ad\0a</a>").expect("text");
        assert_eq!(text, "<a b='1\u{fffd}2'>Ad\u{fffd}a</a>");
    }

    #[test]
    fn each_byte_of_windows_1252_has_its_letter() {
        for (byte, letter) in [
            (0x80, '€'),
            (0x87, '‡'),
            (0x8a, 'Š'),
            (0x9f, 'Ÿ'),
            (0xa0, '\u{a0}'),
            (0xff, 'ÿ'),
            (0x41, 'A'),
        ] {
            assert_eq!(windows_1252(byte), letter);
        }
    }

    #[test]
    fn a_label_that_lies_is_named() {
        for (label, name) in [
            ("UTF-8", &b"Zo\xeb"[..]),
            ("UTF-16", b"Zoe"),
            ("EBCDIC-CP-DE", b"Zoe"),
        ] {
            let why = decode(&written(label, name)).expect_err(label).why;
            assert!(why.contains(&label.to_lowercase()), "{why}");
        }
        assert!(decode(b"<a>Zo\xeb</a>").is_err());
        assert!(decode(b"\xff\xfe<\0a\0/\0>\0").is_err());
    }
}
