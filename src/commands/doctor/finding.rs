//! What the doctor found, and what to do about it.

use crate::say;

/// How grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Grade {
    /// As it should be.
    Well,
    /// Works, and will hurt some day.
    Unwise,
    /// Does not work.
    Wrong,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    grade: Grade,
    part: &'static str,
    what: String,
    remedy: Option<String>,
}

impl Finding {
    /// As it should be.
    pub fn well(part: &'static str, what: impl Into<String>) -> Self {
        Self {
            grade: Grade::Well,
            part,
            what: what.into(),
            remedy: None,
        }
    }

    /// Works, and will hurt some day.
    pub fn unwise(part: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            grade: Grade::Unwise,
            part,
            what: what.into(),
            remedy: Some(remedy.into()),
        }
    }

    /// Does not work.
    pub fn wrong(part: &'static str, what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            grade: Grade::Wrong,
            ..Self::unwise(part, what, remedy)
        }
    }

    /// Whether something does not work.
    pub fn is_wrong(&self) -> bool {
        self.grade == Grade::Wrong
    }

    /// Tells it.
    pub fn tell(&self) {
        let grade = match self.grade {
            Grade::Well => "well",
            Grade::Unwise => "unwise",
            Grade::Wrong => "WRONG",
        };
        say::line(&format!("{grade:<7} {}: {}", self.part, self.what));
        if let Some(remedy) = &self.remedy {
            say::line(&format!("        -> {remedy}"));
        }
    }
}
