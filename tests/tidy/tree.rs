//! The files of the project, or those of a test.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::source::Source;

/// One file. `path` is relative to the project's root, with `/` between its parts.
pub struct File {
    pub path: String,
    /// Empty for what is not text.
    pub text: String,
    /// What the text says as Rust, if it is.
    pub rust: Option<Source>,
}

impl File {
    fn new(path: String, text: String) -> Self {
        let rust = path.ends_with(".rs").then(|| Source::parse(&text));
        Self { path, text, rust }
    }

    /// The parts of the path.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.path.split('/')
    }

    /// The last part of the path, without its ending.
    pub fn stem(&self) -> &str {
        let name = self.parts().next_back().unwrap_or_default();
        name.split_once('.').map_or(name, |(stem, _)| stem)
    }

    /// The crate's name in the plan: `ledger`, `adapters`, `roof`, `tests` and so on.
    pub fn floor(&self) -> &str {
        let mut parts = self.parts();
        match (parts.next(), parts.next(), parts.next()) {
            (Some("src"), Some(floor), Some(_)) => floor,
            (Some("src"), _, _) => "roof",
            (Some("adapters"), _, _) => "adapters",
            (Some(top), _, _) => top,
            (None, _, _) => "",
        }
    }

    /// Whether all of it is test code.
    pub fn is_test(&self) -> bool {
        let folder = |part: &str| matches!(part, "tests" | "benches" | "examples");
        self.parts().any(folder) || self.stem() == "tests"
    }
}

/// All files, by path.
pub struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Reads everything below `root` but what is built, kept by git, or written by a running house.
    pub fn read(root: &str) -> Self {
        let mut files = BTreeMap::new();
        walk(Path::new(root), "", &mut files);
        Self { files }
    }

    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| {
            (
                path.to_string(),
                File::new(path.to_string(), text.to_string()),
            )
        };
        Self {
            files: files.iter().map(file).collect(),
        }
    }

    pub fn files(&self) -> Vec<&File> {
        self.files.values().collect()
    }

    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.get(path)
    }

    /// Files of Rust.
    pub fn rust(&self) -> impl Iterator<Item = (&File, &Source)> {
        self.files
            .values()
            .filter_map(|file| Some((file, file.rust.as_ref()?)))
    }

    /// Files whose path begins with `folder/`.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = &File> {
        let prefix = format!("{folder}/");
        self.files
            .values()
            .filter(move |file| file.path.starts_with(&prefix))
    }
}

fn walk(folder: &Path, path: &str, files: &mut BTreeMap<String, File>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let path = if path.is_empty() {
            name
        } else {
            format!("{path}/{name}")
        };
        if kind.is_dir() && !is_skipped(&entry.path(), &path) {
            walk(&entry.path(), &path, files);
        } else if kind.is_file() && !matches!(path.as_str(), "Cargo.lock" | ".git") {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            files.insert(path.clone(), File::new(path, text));
        }
    }
}

/// Cargo marks the folders that it builds in.
fn is_skipped(folder: &Path, path: &str) -> bool {
    matches!(path, ".git" | "target" | "data") || folder.join("CACHEDIR.TAG").exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_knows_its_floor() {
        let floor = |path: &str| File::new(path.into(), String::new()).floor().to_owned();
        assert_eq!(floor("src/ledger/decide/mod.rs"), "ledger");
        assert_eq!(floor("src/main.rs"), "roof");
        assert_eq!(floor("adapters/lib.rs"), "adapters");
        assert_eq!(floor("tests/house/main.rs"), "tests");
    }
}
