//! The parts of a reservation that dialects share: who comes, how many, and their words.

use keyrack_model::reservation::{Guest, GuestName};

use crate::mask;
use crate::xml::Element;

/// More guests of a kind than any room holds; bounds what a hostile count can cost.
const COUNT_MAX: i32 = 99;
const GUESTS_MAX: usize = 99;
/// More rooms than any channel sells at once; bounds what matching them with ours can cost.
const ROOMS_MAX: usize = 200;
/// Characters of a name, an address or a number that are kept.
const LINE_CHARS_MAX: usize = 200;
/// Characters of a remark that are kept.
const REMARK_CHARS_MAX: usize = 4_000;
const REMARKS_MAX: usize = 50;

/// Whether a reservation has as many rooms as are read; else why not.
pub(crate) fn rooms_fit(rooms: usize) -> Result<(), String> {
    match rooms <= ROOMS_MAX {
        true => Ok(()),
        false => Err(format!(
            "a reservation has at most {ROOMS_MAX} RoomStays, this one has {rooms}"
        )),
    }
}

/// Adults, and the age of each child; `None` where no count is told at all. A guest with an age
/// is a child, unless the age code says adult (10).
pub(crate) fn guest_counts(stay: Element<'_>) -> (Option<i32>, Vec<Option<i32>>) {
    let mut told = false;
    let mut adults = 0;
    let mut ages = Vec::new();
    for count in stay.every(["GuestCounts", "GuestCount"]) {
        told = true;
        let number = count.attribute("Count").and_then(|n| n.parse().ok());
        let number: i32 = number.unwrap_or(1).clamp(0, COUNT_MAX);
        let age: Option<i32> = count.attribute("Age").and_then(|age| age.parse().ok());
        let is_adult = match count.attribute("AgeQualifyingCode") {
            Some("10") => true,
            Some("7" | "8") => false,
            _ => age.is_none(),
        };
        if is_adult {
            adults = (adults + number).min(COUNT_MAX);
        } else {
            let rest = GUESTS_MAX.saturating_sub(ages.len());
            ages.extend((0..number).map(|_| age).take(rest));
        }
    }
    (told.then_some(adults), ages)
}

/// A customer: name, e-mail, telephone, language.
pub(crate) fn customer(customer: Element<'_>) -> Guest {
    let email = customer.child("Email").map(Element::text);
    let phone = customer
        .children("Telephone")
        .find_map(|telephone| telephone.attribute("PhoneNumber"));
    let kept = |text: Option<&str>| {
        text.filter(|text| !text.is_empty())
            .map(|text| cut(text, LINE_CHARS_MAX))
    };
    Guest {
        name: customer.child("PersonName").map(person).unwrap_or_default(),
        email: kept(email),
        phone: kept(phone),
        language: kept(customer.attribute("Language")),
    }
}

/// A name as one line.
fn person(name: Element<'_>) -> String {
    let parts = ["GivenName", "MiddleName", "SurnamePrefix", "Surname"]
        .iter()
        .filter_map(|part| name.child(part))
        .map(Element::text)
        .filter(|part| !part.is_empty());
    let parts: Vec<&str> = parts.collect();
    mask::text(&cut(&parts.join(" "), LINE_CHARS_MAX))
}

/// The first characters of a text.
fn cut(text: &str, chars_max: usize) -> String {
    match text.len() <= chars_max {
        true => text.to_owned(),
        false => text.chars().take(chars_max).collect(),
    }
}

/// Remarks, without card numbers.
#[derive(Default)]
pub(crate) struct Remarks {
    pub(crate) list: Vec<GuestName>,
}

impl Remarks {
    /// Adds words, unless they are empty or were said before.
    pub(crate) fn add(&mut self, words: &str) {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = cut(&mask::text(&words), REMARK_CHARS_MAX);
        let known = self.list.iter().any(|known| known.0 == words);
        if !words.is_empty() && !known && self.list.len() < REMARKS_MAX {
            self.list.push(GuestName(words));
        }
    }

    /// Adds comments and special requests below an element.
    pub(crate) fn add_all(&mut self, element: Element<'_>) {
        for (list, each) in [
            ("Comments", "Comment"),
            ("SpecialRequests", "SpecialRequest"),
        ] {
            for comment in element.every([list, each]) {
                for words in comment.all() {
                    if matches!(words.name(), "Text" | "ListItem") {
                        self.add(words.text());
                    }
                }
                self.add(comment.text());
            }
        }
    }
}
