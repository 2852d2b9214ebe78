//! One breach of a rule, with the way out.

use std::fmt;

/// Where a rule is broken, how, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: u8,
    pub path: String,
    /// Counted from 1; 0 when the whole file is meant.
    pub line: usize,
    pub what: String,
    pub remedy: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            path,
            line,
            what,
            remedy,
        } = self;
        match line {
            0 => write!(f, "rule {rule}: {path}: {what}. {remedy}"),
            _ => write!(f, "rule {rule}: {path}:{line}: {what}. {remedy}"),
        }
    }
}
