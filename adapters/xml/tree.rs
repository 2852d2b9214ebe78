//! The tree while it grows: what the reader tells, within bounds.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use quick_xml::XmlVersion;
use quick_xml::events::attributes::Attributes;
use quick_xml::events::{BytesRef, BytesStart, Event};

use super::element::{Attribute, Node, Nodes, narrow, wide};
use super::fault::XmlFault;

/// Deeper than twice the deepest message of any dialect.
const DEPTH_MAX: usize = 64;
/// Bounds the memory that a message may cost.
pub(super) const ELEMENTS_MAX: usize = 200_000;
/// Of one element.
const ATTRIBUTES_MAX: usize = 64;
/// Of all of them.
pub(super) const ATTRIBUTES_IN_ALL_MAX: usize = 1_000_000;
const NAME_BYTES_MAX: usize = 128;
pub(super) const VALUE_BYTES_MAX: usize = 64 * 1024;
pub(super) const TEXT_BYTES_MAX: usize = 1024 * 1024;
/// In a usual message, closing tags and white space counted in.
const BYTES_PER_ELEMENT: usize = 80;
const BYTES_PER_ATTRIBUTE: usize = 40;
const COMMENTS_MAX: usize = 8;
const COMMENT_BYTES_MAX: usize = 512;

/// A reader's fault as a sentence.
pub(super) fn malformed(fault: &dyn fmt::Display, at: u64) -> XmlFault {
    let words: String = fault.to_string().chars().take(200).collect();
    XmlFault::of(format!("not well-formed XML at byte {at}: {words}"))
}

/// What was read so far.
pub(super) struct Tree<'t> {
    text: &'t str,
    nodes: Nodes<'t>,
    /// The elements that have begun and not ended.
    open: Vec<u32>,
    comments: Vec<String>,
}

impl<'t> Tree<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self {
            text,
            nodes: Nodes {
                list: Vec::with_capacity(text.len() / BYTES_PER_ELEMENT),
                attributes: Vec::with_capacity(text.len() / BYTES_PER_ATTRIBUTE),
            },
            open: Vec::with_capacity(DEPTH_MAX),
            comments: Vec::new(),
        }
    }

    /// Takes what stands at a place of the text.
    pub(super) fn take(&mut self, event: Event<'t>, span: Range<usize>) -> Result<(), XmlFault> {
        match event {
            Event::Start(start) => {
                if self.open.len() == DEPTH_MAX {
                    return Err(XmlFault::of(format!(
                        "elements are nested deeper than {DEPTH_MAX}"
                    )));
                }
                let at = self.begin(&start, span, ">")?;
                self.open.push(at);
            }
            Event::Empty(start) => {
                self.begin(&start, span, "/>")?;
            }
            Event::End(_) => self.end(span.end)?,
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

    /// Takes a tag that stands there and closes with `close`; the place of its element.
    fn begin(
        &mut self,
        start: &BytesStart<'_>,
        span: Range<usize>,
        close: &str,
    ) -> Result<u32, XmlFault> {
        let at = self.nodes.list.len();
        if at == ELEMENTS_MAX {
            return Err(XmlFault::of(format!("more than {ELEMENTS_MAX} elements")));
        }
        if self.open.is_empty() && at > 0 {
            return Err(XmlFault::of(
                "there is more than one message: an element follows the outermost one",
            ));
        }
        let name_length = start.name().as_ref().len();
        if name_length > NAME_BYTES_MAX {
            return Err(XmlFault::of("the name of an element is too long"));
        }
        // The reader lends what is in a tag; the text itself lives longer.
        let within = span.start + 1..span.end - close.len();
        let tag = self.text.get(within).unwrap_or_default();
        let name = tag.get(..name_length).unwrap_or_default();
        self.nodes.list.push(Node {
            name: local(name),
            text: Cow::Borrowed(""),
            attributes: attributes(tag, name_length, &mut self.nodes.attributes)?,
            span: (narrow(span.start), narrow(span.end)),
            after: narrow(at + 1),
        });
        Ok(narrow(at))
    }

    fn end(&mut self, to: usize) -> Result<(), XmlFault> {
        let at = self.open.pop();
        let after = narrow(self.nodes.list.len());
        let node = at.and_then(|at| self.nodes.list.get_mut(wide(at)));
        let node = node.ok_or_else(|| XmlFault::of("an element ends that never began"))?;
        node.after = after;
        node.span.1 = narrow(to);
        Ok(())
    }

    fn append(&mut self, text: Cow<'t, str>) -> Result<(), XmlFault> {
        let node = self.open.last().map(|at| wide(*at));
        let Some(node) = node.and_then(|at| self.nodes.list.get_mut(at)) else {
            return match text.trim().is_empty() {
                true => Ok(()),
                false => Err(XmlFault::of("there is text outside of the message")),
            };
        };
        let known = node.text.len();
        if known + text.len() > TEXT_BYTES_MAX {
            return Err(XmlFault::of(format!(
                "a text is longer than {TEXT_BYTES_MAX} bytes"
            )));
        }
        if known > 0 {
            node.text.to_mut().push_str(&text);
        } else if !text.trim_start().is_empty() {
            // What begins a text and is white space counts for nothing.
            node.text = text;
        }
        Ok(())
    }

    fn comment(&mut self, text: &str) {
        let outside = self.open.is_empty();
        if outside && self.comments.len() < COMMENTS_MAX && text.len() <= COMMENT_BYTES_MAX {
            self.comments.push(text.trim().to_owned());
        }
    }

    /// The elements, and the comments before and after them.
    pub(super) fn finish(mut self) -> Result<(Nodes<'t>, Vec<String>), XmlFault> {
        let open = self.open.pop();
        if let Some(open) = open.and_then(|at| self.nodes.list.get(wide(at))) {
            let name = open.name;
            return Err(XmlFault::of(format!(
                "the message is cut off: <{name}> never ends"
            )));
        }
        if self.nodes.list.is_empty() {
            return Err(XmlFault::of("there is no XML element in the message"));
        }
        Ok((self.nodes, self.comments))
    }
}

/// Puts the attributes of a tag behind those of the others; where they stand there.
fn attributes<'t>(
    tag: &'t str,
    name_length: usize,
    all: &mut Vec<Attribute<'t>>,
) -> Result<(u32, u32), XmlFault> {
    let first = all.len();
    // The reader's own check for repeated names takes quadratic time; ours is bounded by count.
    for attribute in Attributes::new(tag, name_length).with_checks(false) {
        let attribute = attribute.map_err(|fault| malformed(&fault, 0))?;
        let name = attribute.key.0;
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
        if all.len() == ATTRIBUTES_IN_ALL_MAX {
            return Err(XmlFault::of(format!(
                "more than {ATTRIBUTES_IN_ALL_MAX} attributes"
            )));
        }
        if is_about_names(name) {
            continue;
        }
        let name = local(name);
        if all[first..].iter().any(|(known, _)| *known == name) {
            return Err(XmlFault::of(format!("attribute {name} stands twice")));
        }
        // Most values stand as they are meant.
        let value = match attribute.value.bytes().any(is_changed) {
            false => attribute.value,
            true => attribute
                .normalized_value(XmlVersion::Implicit1_0)
                .map_err(|fault| malformed(&fault, 0))?,
        };
        all.push((name, value));
    }
    Ok((narrow(first), narrow(all.len())))
}

/// Whether a value with this byte is meant otherwise than it is written: white space becomes
/// blanks, references become what they stand for (XML 1.0, section 3.3.3).
fn is_changed(byte: u8) -> bool {
    matches!(byte, b'&' | b'\t' | b'\n' | b'\r')
}

/// Whether an attribute speaks of names and schemas, and not of the trade.
fn is_about_names(name: &str) -> bool {
    name.starts_with('x')
        && (name == "xmlns" || name.starts_with("xmlns:") || name.starts_with("xsi:"))
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
