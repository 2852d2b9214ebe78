//! Why a message could not be read at all.

use std::fmt;

/// Why bytes are no XML that we read: a sentence for staff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct XmlFault {
    pub(crate) why: String,
}

impl XmlFault {
    pub(crate) fn of(why: impl Into<String>) -> Self {
        Self { why: why.into() }
    }
}

impl fmt::Display for XmlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}
