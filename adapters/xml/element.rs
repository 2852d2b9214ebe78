//! The elements of a message, one after the other as they begin. They point into its text and copy
//! only what is written there otherwise than it is meant.

use std::borrow::Cow;
use std::ops::Range;

/// Local name and value.
pub(super) type Attribute<'t> = (&'t str, Cow<'t, str>);

/// An element as it stands in a message. Guests' data is in here: it has no `Debug`.
pub(super) struct Node<'t> {
    /// Local name.
    pub(super) name: &'t str,
    pub(super) text: Cow<'t, str>,
    /// Which of the message's attributes are its own: the first, and the one after the last.
    pub(super) attributes: (u32, u32),
    /// Where it stands in the text: the first byte, and the one after the last.
    pub(super) span: (u32, u32),
    /// The first node that is not within this one; all nodes before it are.
    pub(super) after: u32,
}

/// A place or a number as nodes keep it: a message has far less than four gigabytes.
pub(super) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A place as slices take it.
pub(super) fn wide(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// A range as slices take it.
pub(super) fn range((from, to): (u32, u32)) -> Range<usize> {
    wide(from)..wide(to)
}

/// All elements of a message, the outermost first, with their attributes.
pub(super) struct Nodes<'t> {
    pub(super) list: Vec<Node<'t>>,
    pub(super) attributes: Vec<Attribute<'t>>,
}

/// An element of a message.
#[derive(Clone, Copy)]
pub(crate) struct Element<'t> {
    all: &'t Nodes<'t>,
    own: &'t Node<'t>,
    at: u32,
}

impl<'t> Element<'t> {
    /// The element of a place in the list.
    pub(super) fn of(all: &'t Nodes<'t>, at: u32) -> Option<Self> {
        let own = all.list.get(wide(at))?;
        Some(Self { all, own, at })
    }

    /// Where it stands in the text.
    pub(super) fn span(self) -> Range<usize> {
        range(self.own.span)
    }

    /// Local name.
    pub(crate) fn name(self) -> &'t str {
        self.own.name
    }

    /// An attribute by its local name, without white space around it; `None` where it is empty.
    pub(crate) fn attribute(self, name: &str) -> Option<&'t str> {
        let own = self.all.attributes.get(range(self.own.attributes))?;
        let (_, value) = own.iter().find(|(known, _)| *known == name)?;
        let value = trimmed(value);
        (!value.is_empty()).then_some(value)
    }

    /// Its own text, without white space around it.
    pub(crate) fn text(self) -> &'t str {
        trimmed(&self.own.text)
    }

    /// All children in order.
    pub(crate) fn all(self) -> impl Iterator<Item = Element<'t>> {
        let mut at = self.at + 1;
        std::iter::from_fn(move || {
            let child = Self::of(self.all, at).filter(|_| at < self.own.after)?;
            at = child.own.after;
            Some(child)
        })
    }

    /// The children of a name, in order.
    pub(crate) fn children(self, name: &str) -> impl Iterator<Item = Element<'t>> {
        self.all().filter(move |child| child.own.name == name)
    }

    /// The first child of a name.
    pub(crate) fn child(self, name: &str) -> Option<Element<'t>> {
        self.all().find(|child| child.own.name == name)
    }

    /// Down a path of first children.
    pub(crate) fn at(self, path: &[&str]) -> Option<Element<'t>> {
        path.iter().try_fold(self, |at, name| at.child(name))
    }

    /// Each element of the last name on the path, in order, through all branches.
    pub(crate) fn every<const STEPS: usize>(self, path: [&str; STEPS]) -> Every<'t, '_, STEPS> {
        Every {
            all: self.all,
            path,
            at: self.at + 1,
            step: 0,
            after: [self.own.after; STEPS],
        }
    }
}

/// Most values have no white space around them.
fn trimmed(text: &str) -> &str {
    let bytes = text.as_bytes();
    let is_plain = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_graphic);
    match is_plain(bytes.first()) && is_plain(bytes.last()) {
        true => text,
        false => text.trim(),
    }
}

/// The elements at the end of a path.
pub(crate) struct Every<'t, 'p, const STEPS: usize> {
    all: &'t Nodes<'t>,
    path: [&'p str; STEPS],
    /// The node that is looked at next.
    at: u32,
    /// How far down the path it is.
    step: usize,
    /// Of each step, where the children end among which it is taken.
    after: [u32; STEPS],
}

impl<'t, const STEPS: usize> Iterator for Every<'t, '_, STEPS> {
    type Item = Element<'t>;

    fn next(&mut self) -> Option<Element<'t>> {
        loop {
            if self.at >= *self.after.get(self.step)? {
                // What follows the children of a node is the node that follows it.
                self.step = self.step.checked_sub(1)?;
                continue;
            }
            let found = Element::of(self.all, self.at)?;
            if found.own.name != self.path[self.step] {
                self.at = found.own.after;
            } else if self.step + 1 == STEPS {
                self.at = found.own.after;
                return Some(found);
            } else {
                self.at += 1;
                self.step += 1;
                self.after[self.step] = found.own.after;
            }
        }
    }
}
