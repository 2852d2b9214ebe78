//! Rust as far as the rules must understand it: comments and literals told from code, tests from
//! the rest, functions from one another. No parser; brackets and words are enough.

/// A Rust file, read once.
pub struct Source {
    /// The text with comments and the contents of literals turned into blanks.
    pub code: Vec<char>,
    /// The contents of string literals.
    pub literals: Vec<Literal>,
    /// Where test code stands, as ranges of `code`.
    tests: Vec<(usize, usize)>,
}

/// A string literal of production or test code.
pub struct Literal {
    at: usize,
    pub line: usize,
    pub text: String,
}

/// A function: its name, its first line, how many lines it takes.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    pub name: String,
    pub line: usize,
    pub lines: usize,
}

/// An identifier of the code.
#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    pub at: usize,
    pub text: String,
}

impl Source {
    pub fn parse(text: &str) -> Self {
        let (code, found) = blank(&text.chars().collect::<Vec<char>>());
        let mut source = Self {
            code,
            literals: Vec::new(),
            tests: Vec::new(),
        };
        source.literals = found
            .into_iter()
            .map(|(at, text)| Literal {
                at,
                line: source.line(at),
                text,
            })
            .collect();
        source.tests = source.test_ranges();
        source
    }

    /// The line of a position, counted from 1.
    pub fn line(&self, at: usize) -> usize {
        1 + self.code[..at].iter().filter(|c| **c == '\n').count()
    }

    pub fn is_test(&self, at: usize) -> bool {
        self.tests
            .iter()
            .any(|(start, end)| (*start..*end).contains(&at))
    }

    /// Literals outside of tests.
    pub fn production_literals(&self) -> impl Iterator<Item = &Literal> {
        self.literals
            .iter()
            .filter(|literal| !self.is_test(literal.at))
    }

    /// All identifiers, keywords among them.
    pub fn words(&self) -> Vec<Word> {
        let mut words = Vec::new();
        let mut at = 0;
        while at < self.code.len() {
            let end = self.word_end(at);
            if end > at {
                words.push(Word {
                    at,
                    text: self.code[at..end].iter().collect(),
                });
            }
            at = end.max(at + 1);
        }
        words
    }

    /// Identifiers outside of tests.
    pub fn production_words(&self) -> Vec<Word> {
        self.words()
            .into_iter()
            .filter(|word| !self.is_test(word.at))
            .collect()
    }

    fn word_end(&self, at: usize) -> usize {
        let length = self.code[at..].iter().take_while(|c| is_word(**c)).count();
        at + length
    }

    /// Whether `text` stands in the code at `at`, after blanks.
    pub fn follows(&self, at: usize, text: &str) -> bool {
        let start = self.skip_blanks(at);
        text.chars()
            .enumerate()
            .all(|(step, c)| self.code.get(start + step) == Some(&c))
    }

    /// Whether the code before `at`, without blanks, ends with `text`.
    pub fn precedes(&self, at: usize, text: &str) -> bool {
        let blanks = self.code[..at]
            .iter()
            .rev()
            .take_while(|c| c.is_whitespace())
            .count();
        let before = self.code[..at - blanks].iter().rev();
        text.chars()
            .rev()
            .eq(before.take(text.chars().count()).copied())
    }

    pub fn skip_blanks(&self, at: usize) -> usize {
        at + self.code[at..]
            .iter()
            .take_while(|c| c.is_whitespace())
            .count()
    }

    /// The word at `at`, after blanks; empty where there is none.
    pub fn word_after(&self, at: usize) -> Word {
        let start = self.skip_blanks(at);
        let end = self.word_end(start);
        Word {
            at: start,
            text: self.code[start..end].iter().collect(),
        }
    }

    /// Every function with a body.
    pub fn functions(&self) -> Vec<Function> {
        let mut functions = Vec::new();
        for word in self.words().iter().filter(|word| word.text == "fn") {
            let name = self.word_after(word.at + 2);
            let (body, end) = self.item(name.at);
            if !name.text.is_empty() && body {
                let line = self.line(word.at);
                let lines = self.line(end.saturating_sub(1)) - line + 1;
                functions.push(Function {
                    name: name.text,
                    line,
                    lines,
                });
            }
        }
        functions
    }

    /// The end of the item that begins at `at`, and whether it has a body in braces.
    pub fn item(&self, at: usize) -> (bool, usize) {
        let mut depth = 0_i32;
        for (step, c) in self.code[at..].iter().enumerate() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                ';' if depth == 0 => return (false, at + step + 1),
                '{' if depth == 0 => return (true, self.closing(at + step)),
                _ => {}
            }
        }
        (false, self.code.len())
    }

    /// The position after the bracket that closes the one at `open`.
    pub fn closing(&self, open: usize) -> usize {
        let mut depth = 0_i32;
        for (step, c) in self.code[open..].iter().enumerate() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return open + step + 1;
            }
        }
        self.code.len()
    }

    fn test_ranges(&self) -> Vec<(usize, usize)> {
        let marker: Vec<char> = "#[cfg(test)]".chars().collect();
        let starts = self.code.windows(marker.len()).enumerate();
        let starts = starts
            .filter(|(_, window)| *window == marker)
            .map(|(at, _)| at);
        starts
            .map(|at| (at, self.item(at + marker.len()).1))
            .collect()
    }
}

pub fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Blanks comments and literals; returns the code and each string literal with its position.
fn blank(text: &[char]) -> (Vec<char>, Vec<(usize, String)>) {
    let mut code = Vec::with_capacity(text.len());
    let mut literals = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let after_word = at > 0 && is_word(text[at - 1]);
        let end = match text[at] {
            '/' if text.get(at + 1) == Some(&'/') => line_end(text, at),
            '/' if text.get(at + 1) == Some(&'*') => comment_end(text, at),
            '"' => string_end(text, at),
            'r' if !after_word || text[at - 1] == 'b' => raw_end(text, at).unwrap_or(at),
            '\'' => char_end(text, at),
            _ => at,
        };
        if end == at {
            code.push(text[at]);
            at += 1;
            continue;
        }
        let whole: String = text[at..end].iter().collect();
        if matches!(text[at], '"' | 'r') {
            literals.push((at, contents(&whole)));
        }
        code.extend(
            text[at..end]
                .iter()
                .map(|c| if *c == '\n' { '\n' } else { ' ' }),
        );
        at = end;
    }
    (code, literals)
}

/// What stands between the quotes. Escapes stay as they are written.
fn contents(literal: &str) -> String {
    let inner = literal.trim_start_matches('r').trim_matches('#');
    inner
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(inner)
        .to_owned()
}

fn line_end(text: &[char], at: usize) -> usize {
    at + text[at..].iter().take_while(|c| **c != '\n').count()
}

fn comment_end(text: &[char], start: usize) -> usize {
    let (mut depth, mut at) = (0_u32, start);
    while at + 1 < text.len() {
        match (text[at], text[at + 1]) {
            ('/', '*') => (depth, at) = (depth + 1, at + 2),
            ('*', '/') if depth == 1 => return at + 2,
            ('*', '/') => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    text.len()
}

fn string_end(text: &[char], start: usize) -> usize {
    let mut at = start + 1;
    while at < text.len() {
        match text[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn raw_end(text: &[char], start: usize) -> Option<usize> {
    let hashes = text[start + 1..].iter().take_while(|c| **c == '#').count();
    let open = start + 1 + hashes;
    if text.get(open) != Some(&'"') {
        return None;
    }
    let mut close = vec!['"'];
    close.extend(std::iter::repeat_n('#', hashes));
    let inside = text[open + 1..]
        .windows(close.len())
        .position(|window| window == close)?;
    Some(open + 1 + inside + close.len())
}

/// A quote opens a character, or marks a lifetime or a label, which end nowhere.
fn char_end(text: &[char], at: usize) -> usize {
    match (text.get(at + 1), text.get(at + 2)) {
        (Some('\\'), Some(_)) => {
            let rest = text.get(at + 3..).unwrap_or_default();
            at + 4 + rest.iter().take_while(|c| **c != '\'').count()
        }
        (Some(_), Some('\'')) => at + 3,
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        Source::parse(text).code.iter().collect()
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        let text = "let a = \"x\\\"{\"; // {\nlet b = r#\"{\"#; /* { /* */ { */ let c = '{';";
        let code = code(text);
        assert!(!code.contains('{'), "{code}");
        assert_eq!(
            code.split_whitespace().collect::<Vec<_>>().join(" "),
            "let a = ; let b = ; let c = ;"
        );
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(code("fn a<'x>(b: &'x str) {}"), "fn a<'x>(b: &'x str) {}");
    }

    #[test]
    fn literals_are_found_with_their_lines() {
        let source = Source::parse("a(\n\"one\",\n r#\"two \"x\"\"#)");
        let found: Vec<_> = source
            .literals
            .iter()
            .map(|found| (found.line, found.text.as_str()))
            .collect();
        assert_eq!(found, [(2, "one"), (3, "two \"x\"")]);
    }

    #[test]
    fn what_is_marked_as_test_is_told_apart() {
        let text = "fn a() { \"p\" }\n#[cfg(test)]\nmod tests { fn b() { \"t\" } }\nfn c() {}";
        let source = Source::parse(text);
        let literals: Vec<_> = source
            .production_literals()
            .map(|literal| literal.text.as_str())
            .collect();
        assert_eq!(literals, ["p"]);
        let words = source.production_words();
        assert!(words.iter().any(|word| word.text == "c"));
        assert!(!words.iter().any(|word| word.text == "b"));
    }

    #[test]
    fn functions_are_measured_from_fn_to_brace() {
        let text = "trait T { fn none(&self); }\npub fn one(x: [u8; 2]) -> u8\n{\n  1\n}\n";
        let expected = Function {
            name: "one".into(),
            line: 2,
            lines: 4,
        };
        assert_eq!(Source::parse(text).functions(), [expected]);
    }
}
