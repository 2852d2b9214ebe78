//! The hardened reader: bytes of a stranger to a small tree of elements. The only entities are
//! XML's own five, document types are refused, and everything has a bound.
//!
//! Elements go by their local name: channels differ in prefixes and agree in the rest.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::fmt;
use std::ops::Range;
use std::rc::Rc;

use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;

mod decode;
mod element;
mod fault;
pub(crate) mod figures;
pub(crate) mod write;

pub(crate) use element::Element;
use element::{Attribute, Message, Piece, Place};
use fault::XmlFault;

/// The largest message that is read; a poll of 200 reservations is a tenth of it.
pub(crate) const BYTES_MAX: usize = 10 * 1024 * 1024;
/// Deeper than twice the deepest message of any dialect.
const DEPTH_MAX: usize = 64;
/// Bounds the memory that a message may cost.
const ELEMENTS_MAX: usize = 200_000;
const ATTRIBUTES_MAX: usize = 64;
const NAME_BYTES_MAX: usize = 128;
const VALUE_BYTES_MAX: usize = 64 * 1024;
const TEXT_BYTES_MAX: usize = 1024 * 1024;
const COMMENTS_MAX: usize = 8;
const COMMENT_BYTES_MAX: usize = 512;

/// A message as a tree.
pub(crate) struct Document {
    /// The outermost element.
    pub(crate) root: Element,
    /// Comments before and after it: channels put their request ids there.
    pub(crate) comments: Vec<String>,
    message: Rc<Message>,
}

impl Document {
    /// The piece as it was written, for a fault; at most 500 characters.
    pub(crate) fn raw(&self, element: &Element) -> String {
        let piece = element.span.read(&self.message.text);
        piece.chars().take(500).collect()
    }
}

/// Reads a whole message.
pub(crate) fn read(bytes: &[u8]) -> Result<Document, XmlFault> {
    if bytes.len() > BYTES_MAX {
        return Err(XmlFault::of(format!(
            "the message has {} bytes; at most {BYTES_MAX} are read",
            bytes.len()
        )));
    }
    let message = Rc::new(Message {
        text: decode::decode(bytes)?,
        attributes: OnceCell::new(),
    });
    let mut reader = Reader::from_str(&message.text);
    let mut tree = Tree::of(Rc::clone(&message));
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
    let (root, comments) = tree.finish()?;
    Ok(Document {
        root,
        comments,
        message,
    })
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

fn malformed(fault: &dyn fmt::Display, at: u64) -> XmlFault {
    let words: String = fault.to_string().chars().take(200).collect();
    XmlFault::of(format!("not well-formed XML at byte {at}: {words}"))
}

/// The tree while it grows.
struct Tree {
    message: Rc<Message>,
    attributes: Vec<Attribute>,
    open: Vec<Element>,
    root: Option<Element>,
    comments: Vec<String>,
    elements: usize,
}

impl Tree {
    fn of(message: Rc<Message>) -> Self {
        Self {
            message,
            attributes: Vec::new(),
            open: Vec::new(),
            root: None,
            comments: Vec::new(),
            elements: 0,
        }
    }

    fn take(&mut self, event: Event<'_>, span: Range<usize>) -> Result<(), XmlFault> {
        match event {
            Event::Start(start) => {
                let element = self.begin(&start, span)?;
                self.open.push(element);
                if self.open.len() > DEPTH_MAX {
                    return Err(XmlFault::of(format!(
                        "elements are nested deeper than {DEPTH_MAX}"
                    )));
                }
            }
            Event::Empty(start) => {
                let element = self.begin(&start, span)?;
                self.place(element)?;
            }
            Event::End(_) => {
                let mut element = self
                    .open
                    .pop()
                    .ok_or_else(|| XmlFault::of("an element ends that never began"))?;
                element.span = element.span.until(span.end);
                self.place(element)?;
            }
            Event::Text(text) => self.append(text.xml10_content())?,
            Event::CData(text) => self.append(text.xml10_content())?,
            Event::GeneralRef(reference) => self.append(Cow::Owned(character(&reference)?))?,
            Event::Comment(text) => self.comment(&text),
            Event::DocType(_) => {
                return Err(XmlFault::of(
                    "a document type declaration (DTD) is not accepted",
                ));
            }
            Event::Decl(_) | Event::PI(_) | Event::Eof => {}
        }
        Ok(())
    }

    fn begin(&mut self, start: &BytesStart<'_>, span: Range<usize>) -> Result<Element, XmlFault> {
        self.elements += 1;
        if self.elements > ELEMENTS_MAX {
            return Err(XmlFault::of(format!("more than {ELEMENTS_MAX} elements")));
        }
        if start.name().as_ref().len() > NAME_BYTES_MAX {
            return Err(XmlFault::of("the name of an element is too long"));
        }
        let name = start.name();
        let name = local(name.as_ref());
        Ok(Element {
            name: Place::within(&self.message.text, name).unwrap_or_default(),
            attributes: attributes(&self.message.text, start, &mut self.attributes)?,
            message: Rc::clone(&self.message),
            text: Piece::default(),
            children: Vec::new(),
            span: Place::of(span),
        })
    }

    fn place(&mut self, element: Element) -> Result<(), XmlFault> {
        if let Some(parent) = self.open.last_mut() {
            // Most elements that hold any hold one.
            if parent.children.is_empty() {
                parent.children.reserve_exact(1);
            }
            parent.children.push(element);
            return Ok(());
        }
        if self.root.is_some() {
            return Err(XmlFault::of(
                "there is more than one message: an element follows the outermost one",
            ));
        }
        self.root = Some(element);
        Ok(())
    }

    fn append(&mut self, text: Cow<'_, str>) -> Result<(), XmlFault> {
        let Some(element) = self.open.last_mut() else {
            return match text.trim().is_empty() {
                true => Ok(()),
                false => Err(XmlFault::of("there is text outside of the message")),
            };
        };
        let known = element.text.within(&self.message.text).len();
        if known + text.len() > TEXT_BYTES_MAX {
            return Err(XmlFault::of(format!(
                "a text is longer than {TEXT_BYTES_MAX} bytes"
            )));
        }
        // What begins a text and is white space counts for nothing.
        if known > 0 || !text.trim().is_empty() {
            element.text.append(&self.message.text, text);
        }
        Ok(())
    }

    fn comment(&mut self, text: &str) {
        let outside = self.open.is_empty();
        if outside && self.comments.len() < COMMENTS_MAX && text.len() <= COMMENT_BYTES_MAX {
            self.comments.push(text.trim().to_owned());
        }
    }

    fn finish(mut self) -> Result<(Element, Vec<String>), XmlFault> {
        if let Some(open) = self.open.pop() {
            return Err(XmlFault::of(format!(
                "the message is cut off: <{}> never ends",
                open.name()
            )));
        }
        let root = self
            .root
            .ok_or_else(|| XmlFault::of("there is no XML element in the message"))?;
        // The tree is built once, and so they are set once.
        let _ = self.message.attributes.set(self.attributes);
        Ok((root, self.comments))
    }
}

/// Puts the attributes of an element behind those of the others; where they stand there.
fn attributes(
    text: &str,
    start: &BytesStart<'_>,
    all: &mut Vec<Attribute>,
) -> Result<Place, XmlFault> {
    let first = all.len();
    // The reader's own check for repeated names takes quadratic time; ours is bounded by count.
    for attribute in start.attributes().with_checks(false) {
        let attribute = attribute.map_err(|fault| malformed(&fault, 0))?;
        let name = attribute.key.as_ref();
        if name.len() > NAME_BYTES_MAX || attribute.value.len() > VALUE_BYTES_MAX {
            return Err(XmlFault::of(format!(
                "an attribute is longer than {VALUE_BYTES_MAX} bytes"
            )));
        }
        if all.len() - first == ATTRIBUTES_MAX {
            return Err(XmlFault::of(format!(
                "an element has more than {ATTRIBUTES_MAX} attributes"
            )));
        }
        if name == "xmlns" || name.starts_with("xmlns:") || name.starts_with("xsi:") {
            continue;
        }
        let name = local(name);
        if all[first..]
            .iter()
            .any(|(known, _)| known.read(text) == name)
        {
            return Err(XmlFault::of(format!("attribute {name} stands twice")));
        }
        let value = attribute
            .normalized_value(XmlVersion::Implicit1_0)
            .map_err(|fault| malformed(&fault, 0))?;
        let name = Place::within(text, name).unwrap_or_default();
        all.push((name, Piece::of(text, value)));
    }
    Ok(Place::of(first..all.len()))
}

/// What `&…;` stands for; only the five of XML and characters by number.
fn character(reference: &BytesRef<'_>) -> Result<String, XmlFault> {
    let name: &str = reference;
    let known = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => reference.resolve_char_ref().ok().flatten(),
    };
    known.map(String::from).ok_or_else(|| {
        let name: String = name.chars().take(40).collect();
        XmlFault::of(format!("&{name}; is an entity that is not accepted"))
    })
}

fn local(name: &str) -> &str {
    // Names are short: a plain look is quicker than a search made for long texts.
    let prefix = name.bytes().rposition(|byte| byte == b':');
    prefix.map_or(name, |colon| &name[colon + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(bytes: &[u8]) -> String {
        read(bytes).err().expect("a fault").why
    }

    #[test]
    fn prefixes_comments_and_processing_instructions_do_not_disturb() {
        let message = b"\xef\xbb\xbf<?xml version='1.0'?><?go on?><!-- a --><o:A x:b=' 1 '>t&amp;\
            <![CDATA[<u>]]><o:B/><!-- inner --></o:A>\n<!-- RUID: [x] -->\n";
        let document = read(message).expect("a message");
        assert_eq!(document.root.name(), "A");
        assert_eq!(document.root.attribute("b"), Some("1"));
        assert_eq!(document.root.text(), "t&<u>");
        assert!(document.root.child("B").is_some());
        assert_eq!(document.comments, ["a", "RUID: [x]"]);
        assert_eq!(document.raw(&document.root.children[0]), "<o:B/>");
    }

    #[test]
    fn entities_of_the_sender_are_refused_and_never_expanded() {
        let bomb = b"<!DOCTYPE x [<!ENTITY a \"aaaa\"><!ENTITY b \"&a;&a;\">]><x>&b;</x>";
        assert!(why(bomb).contains("DTD"));
        assert!(why(b"<x>&b;</x>").contains("not accepted"));
        assert!(read(b"<x a='&b;'/>").is_err());
        let known = read(b"<x a='&#65;&lt;'>&#x42;&quot;</x>").expect("characters by number");
        assert_eq!(known.root.attribute("a"), Some("A<"));
        assert_eq!(known.root.text(), "B\"");
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
            assert!(read(cut.as_bytes()).is_err(), "{cut}");
        }
    }
}
