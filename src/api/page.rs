//! Pages of lists: how many, and from where.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::problem::Problem;

/// A page of a list.
#[derive(Debug, Serialize, ToSchema)]
pub struct Page<T> {
    /// What is on it.
    pub items: Vec<T>,
    /// Send it as `cursor` for the next page; absent on the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Everything there is.
    pub fn whole(items: Vec<T>) -> Self {
        Self {
            items,
            next_cursor: None,
        }
    }

    /// The same page, each thing shown otherwise.
    pub fn map<U>(self, shown: impl FnMut(T) -> U) -> Page<U> {
        Page {
            items: self.items.into_iter().map(shown).collect(),
            next_cursor: self.next_cursor,
        }
    }
}

/// Which page.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PageAsk {
    /// At most so many; 100 where it is not said.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
    /// `next_cursor` of the page before.
    pub cursor: Option<String>,
}

/// How many to show.
pub fn limit(told: Option<u32>) -> Result<u32, Problem> {
    match told {
        None => Ok(DEFAULT),
        Some(limit) if (1..=MAX).contains(&limit) => Ok(limit),
        Some(_) => Err(Problem::invalid("/limit", format!("1 to {MAX}"))),
    }
}

/// The place a cursor names.
pub fn after<T: std::str::FromStr>(cursor: Option<&str>) -> Result<Option<T>, Problem> {
    let parsed = cursor.map(|text| text.parse().map_err(|_| strange()));
    parsed.transpose()
}

/// The cursor is of no page of this list.
pub fn strange() -> Problem {
    Problem::invalid("/cursor", "must be a next_cursor of this list")
}

/// The page of `items`; a full one says where the next begins, which may turn out empty.
pub fn cut<T>(items: Vec<T>, limit: u32, cursor: impl Fn(&T) -> String) -> Page<T> {
    let is_full = items.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let next_cursor = items.last().filter(|_| is_full).map(cursor);
    Page { items, next_cursor }
}

const DEFAULT: u32 = 100;
const MAX: u32 = 500;
