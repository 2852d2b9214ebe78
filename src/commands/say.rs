//! What a command says to the person before it: the only file that prints.

use std::io::Write as _;

/// A line on standard output; a reader who went away is no failure.
pub fn line(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

/// A line on standard error.
pub fn warn(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
