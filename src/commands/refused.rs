//! A problem of the API, as it is said to whoever gave the command.

use std::fmt;

use serde_json::Value;

/// A problem as the API writes it.
#[derive(Debug)]
pub struct Refused(pub Value);

impl std::error::Error for Refused {}

impl Refused {
    /// Its stable word.
    pub fn code(&self) -> &str {
        self.0["code"].as_str().unwrap_or_default()
    }
}

impl fmt::Display for Refused {
    /// The API's sentence, then what else is wrong, the nights, and what could be had instead.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.0["detail"].as_str().unwrap_or("no answer");
        f.write_str(detail)?;
        let list = |field: &str| self.0[field].as_array().cloned().unwrap_or_default();
        let text = |value: &Value, field: &str| {
            let text = value[field].as_str().unwrap_or_default();
            text.to_owned()
        };
        let errors = list("errors");
        // One alone is mostly the detail already.
        let is_said = |error: &&Value| errors.len() == 1 && text(error, "message") == detail;
        for error in errors.iter().filter(|error| !is_said(error)) {
            let place = text(error, "pointer").replace('/', " ");
            write!(f, "\n  {}: {}", place.trim(), text(error, "message"))?;
        }
        let nights = list("nights");
        for night in nights.iter().take(NIGHTS_SHOWN) {
            write!(
                f,
                "\n  {} {}",
                text(night, "room_type"),
                text(night, "stay_date")
            )?;
        }
        if nights.len() > NIGHTS_SHOWN {
            write!(f, "\n  and {} nights more", nights.len() - NIGHTS_SHOWN)?;
        }
        for other in list("alternatives") {
            write!(
                f,
                "\n  free instead: {} {}..{}",
                text(&other, "room_type"),
                text(&other, "arrival"),
                text(&other, "departure")
            )?;
        }
        if self.code() == "needs_force" {
            f.write_str(
                "\n  (here: --force WHAT --reason TEXT; --dry-run says what it would hit)",
            )?;
        }
        Ok(())
    }
}

/// More would fill the screen.
const NIGHTS_SHOWN: usize = 20;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_problem_is_its_sentence_its_nights_and_what_to_do() {
        let night =
            |day: usize| json!({"room_type": "DBL", "stay_date": format!("2030-06-{day:02}")});
        let refused = Refused(json!({
            "code": "needs_force", "detail": "Fewer rooms are free.",
            "nights": (1..=22).map(night).collect::<Vec<_>>(),
        }));
        let said = refused.to_string();
        assert!(
            said.starts_with("Fewer rooms are free.\n  DBL 2030-06-01\n"),
            "{said}"
        );
        assert!(said.contains("and 2 nights more"), "{said}");
        assert!(said.contains("--reason"), "{said}");
        let wrong = |at: &str| json!({"pointer": at, "message": "Must be 0 to 2,000."});
        let refused = Refused(json!({
            "code": "invalid", "detail": "First.", "errors": [wrong("/values/0/to"), wrong("/to")],
        }));
        let said = refused.to_string();
        assert_eq!(
            said,
            "First.\n  values 0 to: Must be 0 to 2,000.\n  to: Must be 0 to 2,000."
        );
        let alone = |detail: &str| {
            let errors = [wrong("/line/3")];
            Refused(json!({"code": "invalid", "detail": detail, "errors": errors})).to_string()
        };
        assert_eq!(alone("Must be 0 to 2,000."), "Must be 0 to 2,000.");
        let said = alone("Nothing was taken.");
        assert_eq!(said, "Nothing was taken.\n  line 3: Must be 0 to 2,000.");
    }
}
