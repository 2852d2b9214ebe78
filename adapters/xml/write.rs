//! The writer: escapes what must be escaped, drops what XML cannot hold, closes what it opened.

/// Attributes of an element, in the order of the schema.
pub(crate) type Attributes<'a> = &'a [(&'a str, &'a str)];

/// A message while it is written.
pub(crate) struct Writer {
    out: String,
}

impl Writer {
    /// A message of one outermost element.
    pub(crate) fn message(
        name: &str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) -> Vec<u8> {
        let mut writer = Self {
            out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(),
        };
        writer.element(name, attributes, inside);
        writer.out.into_bytes()
    }

    /// An element and what stands in it.
    pub(crate) fn element(
        &mut self,
        name: &str,
        attributes: Attributes<'_>,
        inside: impl FnOnce(&mut Self),
    ) {
        self.start(name, attributes);
        self.out.push('>');
        inside(self);
        self.out.push_str("</");
        self.out.push_str(name);
        self.out.push('>');
    }

    /// An element without content.
    pub(crate) fn empty(&mut self, name: &str, attributes: Attributes<'_>) {
        self.start(name, attributes);
        self.out.push_str("/>");
    }

    /// Text.
    pub(crate) fn text(&mut self, text: &str) {
        self.escape(text, false);
    }

    fn start(&mut self, name: &str, attributes: Attributes<'_>) {
        self.out.push('<');
        self.out.push_str(name);
        for (name, value) in attributes {
            self.out.push(' ');
            self.out.push_str(name);
            self.out.push_str("=\"");
            self.escape(value, true);
            self.out.push('"');
        }
    }

    /// Most values hold nothing to escape and go out in one piece.
    fn escape(&mut self, text: &str, in_attribute: bool) {
        if text.bytes().all(is_plain) {
            self.out.push_str(text);
            return;
        }
        for c in text.chars() {
            match c {
                '&' => self.out.push_str("&amp;"),
                '<' => self.out.push_str("&lt;"),
                '>' => self.out.push_str("&gt;"),
                '"' if in_attribute => self.out.push_str("&quot;"),
                '\t' | '\n' if in_attribute => self.out.push_str("&#32;"),
                '\r' => self.out.push_str("&#13;"),
                '\t' | '\n' | '\u{20}'..='\u{fffd}' | '\u{10000}'.. => self.out.push(c),
                _ => {}
            }
        }
    }
}

/// ASCII that stands for itself, in attributes as in text.
fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~') && !matches!(byte, b'&' | b'<' | b'>' | b'"')
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
