//! Reading and writing the sandbox's XML: a tree to read, a string to write.
//!
//! Strict on purpose and bounded everywhere: no document type, no foreign encoding, no endless
//! trees (the reader does not recurse, so depth costs nothing). It shares nothing with the reader
//! of the adapters.

use std::fmt::Write as _;

use roxmltree::{Document, Node, ParsingOptions};

/// The namespace of every message, whatever its release.
pub(crate) const OTA: &str = "http://www.opentravel.org/OTA/2003/05";

/// Why a body is no document: one sentence for the answer.
pub(crate) type Unreadable = String;

/// The text of a body: UTF-8, without a byte order mark, labelled as UTF-8 or not at all.
pub(crate) fn text(body: &[u8]) -> Result<&str, Unreadable> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    let text = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8".to_owned())?;
    if let Some(label) = encoding_label(text)
        && !matches!(label.to_ascii_lowercase().as_str(), "utf-8" | "utf8")
    {
        return Err(format!("the encoding {label} is not accepted"));
    }
    Ok(text)
}

/// The tree of a message.
pub(crate) fn tree(text: &str) -> Result<Document<'_>, Unreadable> {
    if has_crowded_element(text) {
        return Err(format!(
            "an element has more than {ATTRIBUTES_MAX} attributes"
        ));
    }
    let options = ParsingOptions {
        allow_dtd: false,
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    };
    let document = Document::parse_with_options(text, options)
        .map_err(|fault| format!("not well-formed: {fault}"))?;
    if document.root_element().tag_name().namespace() != Some(OTA) {
        return Err(format!("the root element is not in the namespace {OTA}"));
    }
    Ok(document)
}

/// Whether an element has more attributes than any message needs. The reader compares each with all
/// others of its element, so this is asked before it reads.
fn has_crowded_element(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let aside = ASIDES.iter().find(|(open, _)| rest.starts_with(open));
        let (values, end) = match aside {
            Some((open, close)) => {
                let end = rest[open.len()..].find(close);
                (
                    0,
                    end.map_or(rest.len(), |at| open.len() + at + close.len()),
                )
            }
            None => values_of_element(rest),
        };
        if values > ATTRIBUTES_MAX {
            return true;
        }
        rest = &rest[end..];
    }
    false
}

/// The quoted values of the tag that begins here, and its end.
fn values_of_element(text: &str) -> (usize, usize) {
    let (mut values, mut quote) = (0, None);
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), _) => {}
            (None, b'"' | b'\'') => {
                quote = Some(byte);
                values += 1;
            }
            (None, b'>') => return (values, at + 1),
            (None, _) => {}
        }
    }
    (values, text.len())
}

fn encoding_label(text: &str) -> Option<&str> {
    let declaration = text.strip_prefix("<?xml")?.split_once("?>")?.0;
    let rest = declaration.split_once("encoding")?.1.trim_start();
    let rest = rest.strip_prefix('=')?.trim_start();
    let quote = rest.chars().next().filter(|c| *c == '"' || *c == '\'')?;
    rest[1..].split_once(quote).map(|(label, _)| label)
}

/// The first child element of that name.
pub(crate) fn child<'a, 'i>(node: Node<'a, 'i>, name: &str) -> Option<Node<'a, 'i>> {
    children(node, name).next()
}

/// All child elements of that name, in order.
pub(crate) fn children<'a, 'i>(
    node: Node<'a, 'i>,
    name: &str,
) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(move |c| c.has_tag_name((OTA, name)))
}

/// The element at the end of a path of names.
pub(crate) fn at<'a, 'i>(node: Node<'a, 'i>, path: &[&str]) -> Option<Node<'a, 'i>> {
    path.iter().try_fold(node, |at, name| child(at, name))
}

/// All text directly inside an element.
pub(crate) fn inner(node: Node<'_, '_>) -> String {
    node.children().filter_map(|c| c.text()).collect()
}

/// Writes a document from the outside in; every text and attribute is escaped here.
pub(crate) struct Writer {
    out: String,
    open: Vec<&'static str>,
}

impl Writer {
    /// A document whose root has that name, the OTA namespace and these attributes.
    pub(crate) fn new(root: &'static str, attributes: &[(&str, &str)]) -> Writer {
        let mut writer = Writer {
            out: "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned(),
            open: Vec::new(),
        };
        let mut all = vec![("xmlns", OTA)];
        all.extend_from_slice(attributes);
        writer.open(root, &all);
        writer
    }

    /// Opens an element; close it with [`Writer::close`].
    pub(crate) fn open(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.start(name, attributes, ">");
        self.open.push(name);
    }

    /// Closes the innermost open element.
    pub(crate) fn close(&mut self) {
        if let Some(name) = self.open.pop() {
            let _ = write!(self.out, "</{name}>");
        }
    }

    /// An element without content.
    pub(crate) fn empty(&mut self, name: &'static str, attributes: &[(&str, &str)]) {
        self.start(name, attributes, "/>");
    }

    /// An element with nothing but text in it.
    pub(crate) fn leaf(&mut self, name: &'static str, attributes: &[(&str, &str)], text: &str) {
        self.start(name, attributes, ">");
        escape(&mut self.out, text, Place::Text);
        let _ = write!(self.out, "</{name}>");
    }

    /// Closes whatever is open and hands the document over, with a comment behind the root.
    pub(crate) fn finish_with_comment(mut self, comment: &str) -> String {
        while !self.open.is_empty() {
            self.close();
        }
        if !comment.is_empty() {
            let _ = write!(self.out, "\n<!-- {comment} -->");
        }
        self.out
    }

    /// Closes whatever is open and hands the document over.
    pub(crate) fn finish(self) -> String {
        self.finish_with_comment("")
    }

    fn start(&mut self, name: &str, attributes: &[(&str, &str)], end: &str) {
        let _ = write!(self.out, "<{name}");
        for (key, value) in attributes {
            let _ = write!(self.out, " {key}=\"");
            escape(&mut self.out, value, Place::Attribute);
            self.out.push('"');
        }
        self.out.push_str(end);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Place {
    Text,
    Attribute,
}

/// In text only what must be is escaped, so that what is echoed stays alike byte for byte.
fn escape(out: &mut String, text: &str, place: Place) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if place == Place::Attribute => out.push_str("&quot;"),
            '\t' | '\n' if place == Place::Text => out.push(c),
            '\t' | '\n' | '\r' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c if u32::from(c) < 0x20 => {} // XML 1.0 has no way to say it.
            c => out.push(c),
        }
    }
}

/// A year of nights of fifty room and rate pairs stays far below this.
const NODES_MAX: u32 = 500_000;

/// The richest element of any channel has a dozen.
const ATTRIBUTES_MAX: usize = 200;

/// What begins as a tag does and is none.
const ASIDES: [(&str, &str); 3] = [("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_as_it_was() {
        let hostile = "O'Neil & <Söhne> \"李\"\n\ttab";
        let mut writer = Writer::new("Root", &[("Name", hostile)]);
        writer.leaf("Text", &[], hostile);
        let written = writer.finish_with_comment("RUID: [x]");
        let document = tree(text(written.as_bytes()).unwrap()).unwrap();
        let root = document.root_element();
        assert_eq!(root.attribute("Name"), Some(hostile));
        assert_eq!(inner(child(root, "Text").unwrap()), hostile);
    }

    #[test]
    fn a_document_type_a_foreign_label_and_endless_trees_are_refused() {
        let bomb = format!("<!DOCTYPE r [<!ENTITY a \"b\">]><r xmlns=\"{OTA}\">&a;</r>");
        assert!(tree(&bomb).is_err());
        assert!(text(b"<?xml version='1.0' encoding='ISO-8859-1'?><r/>").is_err());
        assert!(text(&[b'<', 0xff, b'>']).is_err());
        assert!(tree(&"<a>".repeat(200_000)).is_err());
    }

    #[test]
    fn an_element_crowded_with_attributes_is_refused_before_it_is_read() {
        let with = |count: usize| {
            let attributes: String = (0..count).map(|at| format!(" a{at}='>'")).collect();
            format!("<!-- don't --><r xmlns=\"{OTA}\"><b{attributes}/></r>")
        };
        assert!(tree(&with(150)).is_ok());
        let aside = with(100_000).replace("<!-- don't -->", "<!--> <x a=' -->");
        assert!(tree(&aside).unwrap_err().contains("attributes"));
        let refused = tree(&with(100_000)).unwrap_err();
        assert!(refused.contains("attributes"), "{refused}");
    }
}
