//! The elements of a message. They point into its text and copy only what is written there
//! otherwise than it is meant.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// Where something stands in a message's text.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    from: u32,
    to: u32,
}

impl Place {
    /// The place of a range; what lies beyond 4 GiB is nowhere.
    pub(super) fn of(range: Range<usize>) -> Self {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(0);
        Self {
            from: narrow(range.start),
            to: narrow(range.end),
        }
    }

    /// Where `part` stands in `text`, if it is a slice of it.
    pub(super) fn within(text: &str, part: &str) -> Option<Self> {
        let from = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
        let to = from.checked_add(part.len())?;
        text.get(from..to).map(|_| Self::of(from..to))
    }

    /// With another end.
    pub(super) fn until(self, to: usize) -> Self {
        Self {
            to: Self::of(0..to).to,
            ..self
        }
    }

    /// What stands there.
    pub(super) fn read(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }

    pub(super) fn range(self) -> Range<usize> {
        let wide = |at: u32| usize::try_from(at).unwrap_or(usize::MAX);
        wide(self.from)..wide(self.to)
    }
}

/// A piece of a message's text.
pub(super) enum Piece {
    /// As it stands there.
    There(Place),
    /// Decoded, or put together.
    Own(String),
}

impl Default for Piece {
    fn default() -> Self {
        Self::There(Place::default())
    }
}

impl Piece {
    /// The place of `part` where it is a slice of `text`, else a copy.
    pub(super) fn of(text: &str, part: Cow<'_, str>) -> Self {
        match part {
            Cow::Borrowed(part) => {
                Place::within(text, part).map_or_else(|| Self::Own(part.into()), Self::There)
            }
            Cow::Owned(part) => Self::Own(part),
        }
    }

    pub(super) fn within<'a>(&'a self, text: &'a str) -> &'a str {
        match self {
            Self::There(place) => place.read(text),
            Self::Own(own) => own,
        }
    }

    /// Puts more behind it.
    pub(super) fn append(&mut self, text: &str, more: Cow<'_, str>) {
        match self {
            Self::Own(own) => own.push_str(&more),
            Self::There(place) if place.range().is_empty() => *self = Self::of(text, more),
            Self::There(_) => *self = Self::Own(self.within(text).to_owned() + &more),
        }
    }
}

/// What all elements of a message share.
pub(super) struct Message {
    pub(super) text: String,
    /// Names and values of all elements, in order; there once the message was read to its end.
    pub(super) attributes: OnceCell<Vec<Attribute>>,
}

/// Local name and value.
pub(super) type Attribute = (Place, Piece);

/// An element. Guests' data is in here: it has no `Debug`.
pub(crate) struct Element {
    pub(super) message: Rc<Message>,
    pub(super) name: Place,
    /// Which of the message's attributes are its own.
    pub(super) attributes: Place,
    pub(super) text: Piece,
    pub(super) children: Vec<Element>,
    pub(super) span: Place,
}

impl Element {
    /// Local name.
    pub(crate) fn name(&self) -> &str {
        self.name.read(&self.message.text)
    }

    /// An attribute by its local name, without white space around it; `None` where it is empty.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let text = &self.message.text;
        let all = self.message.attributes.get()?;
        let own = all.get(self.attributes.range())?;
        let (_, value) = own.iter().find(|(known, _)| known.read(text) == name)?;
        let value = value.within(text).trim();
        (!value.is_empty()).then_some(value)
    }

    /// Its own text, without white space around it.
    pub(crate) fn text(&self) -> &str {
        self.text.within(&self.message.text).trim()
    }

    /// All children in order.
    pub(crate) fn all(&self) -> &[Element] {
        &self.children
    }

    /// The children of a name, in order.
    pub(crate) fn children<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children
            .iter()
            .filter(move |child| child.name() == name)
    }

    /// The first child of a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| child.name() == name)
    }

    /// Down a path of first children.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Element> {
        path.iter().try_fold(self, |at, name| at.child(name))
    }

    /// Each element of the last name on the path, in order, through all branches.
    pub(crate) fn every<'a>(&'a self, path: &[&str]) -> Vec<&'a Element> {
        path.iter().fold(vec![self], |found, name| {
            let below = found.into_iter().flat_map(|at| at.children.iter());
            below.filter(|child| child.name() == *name).collect()
        })
    }
}
