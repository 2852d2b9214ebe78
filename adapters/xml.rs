//! The hardened reader: bytes of a stranger to a small tree of elements. The only entities are
//! XML's own five, document types are refused, and everything has a bound.
//!
//! Elements go by their local name: channels differ in prefixes and agree in the rest.

use std::borrow::Cow;

use quick_xml::events::Event;
use quick_xml::reader::Reader;

mod decode;
mod element;
mod fault;
mod figures;
mod tree;
pub(crate) mod write;

pub(crate) use element::Element;
use element::Nodes;
use fault::XmlFault;
use tree::{Tree, malformed};

/// The largest message that is read; a poll of 200 reservations is a tenth of it.
pub(crate) const BYTES_MAX: usize = 10 * 1024 * 1024;
/// Characters of a piece that are shown with a fault.
const RAW_CHARS_MAX: usize = 500;

/// The text of a message, or why it has none: [`read`] tells.
pub(crate) struct Text<'b>(Result<Cow<'b, str>, XmlFault>);

/// The text of a message's bytes.
pub(crate) fn text(bytes: &[u8]) -> Text<'_> {
    if bytes.len() > BYTES_MAX {
        return Text(Err(XmlFault::of(format!(
            "the message has {} bytes; at most {BYTES_MAX} are read",
            bytes.len()
        ))));
    }
    Text(decode::decode(bytes))
}

/// A message as a tree that points into its text.
pub(crate) struct Document<'t> {
    /// Comments before and after the outermost element: channels put their request ids there.
    pub(crate) comments: Vec<String>,
    nodes: Nodes<'t>,
    text: &'t str,
}

impl Document<'_> {
    /// The outermost element.
    pub(crate) fn root(&self) -> Element<'_> {
        Element::of(&self.nodes, 0).expect("a message without an element is none")
    }

    /// The piece as it was written, for a fault; at most 500 characters.
    pub(crate) fn raw(&self, element: Element<'_>) -> String {
        let piece = self.text.get(element.span()).unwrap_or_default();
        piece.chars().take(RAW_CHARS_MAX).collect()
    }
}

/// Reads a whole message.
pub(crate) fn read<'t>(text: &'t Text<'_>) -> Result<Document<'t>, XmlFault> {
    let text = text.0.as_deref().map_err(XmlFault::clone)?;
    // The reader skips a second mark of the byte order without counting it.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut reader = Reader::from_str(text);
    let mut tree = Tree::of(text);
    loop {
        let from = position(&reader);
        let event = reader
            .read_event()
            .map_err(|fault| malformed(&fault, reader.error_position()))?;
        if matches!(event, Event::Eof) {
            break;
        }
        let span = from..position(&reader);
        tree.take(event, span)?;
    }
    let (nodes, comments) = tree.finish()?;
    Ok(Document {
        comments,
        nodes,
        text,
    })
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::tree::{ATTRIBUTES_IN_ALL_MAX, ELEMENTS_MAX, TEXT_BYTES_MAX, VALUE_BYTES_MAX};
    use super::*;

    fn why(bytes: &[u8]) -> String {
        read(&text(bytes)).err().expect("a fault").why
    }

    #[test]
    fn prefixes_comments_and_processing_instructions_do_not_disturb() {
        let message = b"\xef\xbb\xbf<?xml version='1.0'?><?go on?><!-- a --><o:A x:b=' 1 '>t&amp;\
            <![CDATA[<u>]]><o:B/><!-- inner --></o:A>\n<!-- RUID: [x] -->\n";
        let text = text(message);
        let document = read(&text).expect("a message");
        let root = document.root();
        assert_eq!(root.name(), "A");
        assert_eq!(root.attribute("b"), Some("1"));
        assert_eq!(root.text(), "t&<u>");
        assert_eq!(document.comments, ["a", "RUID: [x]"]);
        assert_eq!(document.raw(root.child("B").expect("B")), "<o:B/>");
    }

    #[test]
    fn entities_of_the_sender_are_refused_and_never_expanded() {
        let bomb = b"<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>";
        assert!(why(bomb).contains("DTD"));
        assert!(why(b"<x>&b;</x>").contains("not accepted"));
        assert!(read(&text(b"<x a='&b;'/>")).is_err());
        let text = text(b"<x a='&#65;&lt;'>&#x42;&quot;</x>");
        let known = read(&text).expect("characters by number");
        assert_eq!(known.root().attribute("a"), Some("A<"));
        assert_eq!(known.root().text(), "B\"");
    }

    #[test]
    fn everything_has_a_bound() {
        let deep = format!("{}{}", "<a>".repeat(100_000), "</a>".repeat(100_000));
        assert!(why(deep.as_bytes()).contains("deeper"));
        let wide = format!("<a>{}</a>", "<b/>".repeat(ELEMENTS_MAX));
        assert!(why(wide.as_bytes()).contains("elements"));
        let value = format!("<a b='{}'/>", "x".repeat(VALUE_BYTES_MAX + 1));
        assert!(why(value.as_bytes()).contains("attribute"));
        let many: String = (0..20_000).map(|n| format!(" a{n}=''")).collect();
        assert!(why(format!("<a{many}/>").as_bytes()).contains("attributes"));
        let tags = "<b c='' d='' e='' f='' g='' h=''/>".repeat(ATTRIBUTES_IN_ALL_MAX / 6 + 1);
        assert!(why(format!("<a>{tags}</a>").as_bytes()).contains("attributes"));
        assert!(why(&vec![b' '; BYTES_MAX + 1]).contains("bytes"));
        let text = format!("<a>{}</a>", "x".repeat(TEXT_BYTES_MAX + 1));
        assert!(why(text.as_bytes()).contains("text"));
    }

    #[test]
    fn half_messages_and_two_messages_are_no_message() {
        assert!(why(b"<a><b>").contains("cut off"));
        assert!(why(b"<a/><a/>").contains("more than one"));
        assert!(why(b"<a/>tail").contains("outside"));
        assert!(why(b"  ").contains("no XML element"));
        assert!(why(b"<a b='1' b='2'/>").contains("twice"));
        for cut in ["<a><b></a>", "<a", "<a b='", "</a>", "<a>&#0;</a>"] {
            assert!(read(&text(cut.as_bytes())).is_err(), "{cut}");
        }
    }
}
