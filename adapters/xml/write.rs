//! The writer: escapes what must be escaped, drops what XML cannot hold, closes what it opened.

use keyrack_model::stay::StayDate;

use super::figures;

/// Attributes of an element, in the order of the schema.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a str)];

/// Bytes of a message of which nothing is known.
const USUAL_LENGTH: usize = 1024;

/// A message while it is written.
pub(crate) struct Writer {
    /// Text: nothing else is put in.
    out: Vec<u8>,
}

impl Writer {
    /// A message of one outermost element.
    pub(crate) fn message(
        name: &str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) -> Vec<u8> {
        Self::long_message(USUAL_LENGTH, name, attributes, inside)
    }

    /// The same, about so many bytes long: there is room for them from the beginning.
    pub(crate) fn long_message(
        length: usize,
        name: &str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) -> Vec<u8> {
        let mut writer = Self {
            out: Vec::with_capacity(length),
        };
        writer.put("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
        writer.element(name, attributes, inside);
        writer.out
    }

    /// An element and what stands in it.
    #[inline]
    pub(crate) fn element(
        &mut self,
        name: &str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) {
        self.tag(name).all(attributes).holding(inside);
    }

    /// An element without content.
    pub(crate) fn empty(&mut self, name: &str, attributes: Attributes<'_>) {
        self.tag(name).all(attributes).empty();
    }

    /// Text.
    pub(crate) fn text(&mut self, text: &str) {
        self.escape(text, false);
    }

    /// An element whose attributes are written one by one, in the order of the schema.
    #[inline]
    pub(crate) fn tag<'a>(&mut self, name: &'a str) -> Tag<'_, 'a> {
        self.put("<");
        self.put(name);
        Tag { writer: self, name }
    }

    #[inline]
    fn put(&mut self, text: &str) {
        self.out.extend_from_slice(text.as_bytes());
    }

    /// Most values hold nothing to escape and go out in one piece.
    #[inline]
    fn escape(&mut self, text: &str, in_attribute: bool) {
        if text.bytes().all(|byte| PLAIN[usize::from(byte)]) {
            self.put(text);
        } else {
            self.escape_each(text, in_attribute);
        }
    }

    #[cold]
    fn escape_each(&mut self, text: &str, in_attribute: bool) {
        for c in text.chars() {
            match c {
                '&' => self.put("&amp;"),
                '<' => self.put("&lt;"),
                '>' => self.put("&gt;"),
                '"' if in_attribute => self.put("&quot;"),
                '\t' | '\n' if in_attribute => self.put("&#32;"),
                '\r' => self.put("&#13;"),
                '\t' | '\n' | '\u{20}'..='\u{fffd}' | '\u{10000}'.. => {
                    self.put(c.encode_utf8(&mut [0; 4]));
                }
                _ => {}
            }
        }
    }
}

/// ASCII that stands for itself, in attributes as in text.
static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        plain[byte as usize] = !matches!(byte, b'&' | b'<' | b'>' | b'"');
        byte += 1;
    }
    plain
};

/// An element of which the name is written, and perhaps some attributes.
#[must_use = "an element ends empty or holding something"]
pub(crate) struct Tag<'w, 'a> {
    writer: &'w mut Writer,
    name: &'a str,
}

impl Tag<'_, '_> {
    /// Any text.
    #[inline]
    pub(crate) fn text(self, name: &str, value: &str) -> Self {
        self.attribute(name, |writer| writer.escape(value, true))
    }

    /// A word of the dialect: nothing in it has to be escaped.
    #[inline]
    pub(crate) fn word(self, name: &str, word: &'static str) -> Self {
        debug_assert!(word.bytes().all(|byte| PLAIN[usize::from(byte)]));
        self.attribute(name, |writer| writer.put(word))
    }

    /// A whole number.
    #[inline]
    pub(crate) fn number(self, name: &str, number: impl Into<i64>) -> Self {
        self.attribute(name, |writer| {
            figures::number(number.into(), &mut writer.out)
        })
    }

    /// A day.
    #[inline]
    pub(crate) fn day(self, name: &str, day: StayDate) -> Self {
        self.attribute(name, |writer| figures::day(day, &mut writer.out))
    }

    /// Goes on with more where there is something to tell.
    #[inline]
    pub(crate) fn with<T>(self, told: Option<T>, more: impl FnOnce(Self, T) -> Self) -> Self {
        match told {
            Some(told) => more(self, told),
            None => self,
        }
    }

    /// Ends it without content.
    #[inline]
    pub(crate) fn empty(self) {
        self.writer.put("/>");
    }

    /// Ends it around what stands in it.
    #[inline]
    pub(crate) fn holding(self, inside: impl FnOnce(&mut Writer)) {
        self.writer.put(">");
        inside(self.writer);
        self.writer.put("</");
        self.writer.put(self.name);
        self.writer.put(">");
    }

    fn all(self, attributes: Attributes<'_>) -> Self {
        let each = attributes.iter();
        each.fold(self, |tag, (name, value)| tag.text(name, value))
    }

    #[inline]
    fn attribute(self, name: &str, value: impl FnOnce(&mut Writer)) -> Self {
        self.writer.put(" ");
        self.writer.put(name);
        self.writer.put("=\"");
        value(self.writer);
        self.writer.put("\"");
        self
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, prop_assert_eq, proptest};

    use super::*;
    use crate::xml;

    proptest! {
        #[test]
        fn what_is_written_reads_back(value in any::<String>()) {
            let clean: String = value.chars().filter(|c| {
                !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}')
            }).collect();
            let message = Writer::message("a", &[("b", &value)], |inside| inside.text(&value));
            let text = xml::text(&message);
            let document = xml::read(&text).expect("our own message");
            let bare = |text: &str| -> String {
                let kept = text.chars().filter(|c| !c.is_control() && !c.is_whitespace());
                kept.collect()
            };
            prop_assert_eq!(bare(document.root().text()), bare(&clean));
            let read = document.root().attribute("b").unwrap_or_default();
            prop_assert_eq!(bare(read), bare(&clean));
        }
    }
}
