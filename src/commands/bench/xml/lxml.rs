//! The other side: a Python that does the same with lxml and times itself.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::work::Work;

const SCRIPT: &str = concat!(
    include_str!("ari.py"),
    "\n\n",
    include_str!("reservations.py"),
    "\n\n",
    include_str!("loop.py")
);
/// The one that people use, and the one that the packages of the system belong to.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];

/// A Python that waits for questions.
pub struct Lxml {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    versions: Value,
}

impl Lxml {
    /// `None` where no Python of this machine has lxml.
    pub fn start() -> Result<Option<Self>> {
        let has_lxml = |python: &&str| {
            let mut tried = Command::new(python);
            let tried = tried.args(["-c", "import lxml.etree"]);
            let tried = tried.stdout(Stdio::null()).stderr(Stdio::null()).status();
            tried.is_ok_and(|status| status.success())
        };
        let Some(python) = PYTHONS.iter().find(|python| has_lxml(python)) else {
            return Ok(None);
        };
        let mut child = Command::new(python)
            .args(["-c", SCRIPT])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting Python")?;
        let asks = child.stdin.take().context("a pipe to Python")?;
        let answers = child.stdout.take().context("a pipe from Python")?;
        let mut started = Self {
            child,
            asks,
            answers: BufReader::new(answers),
            versions: Value::Null,
        };
        started.versions = started.answer()?;
        Ok(Some(started))
    }

    /// Of Python, lxml and libxml2.
    pub fn versions(&self) -> &Value {
        &self.versions
    }

    /// Makes the work ready there; answers what it yields.
    pub fn load(&mut self, work: &Work) -> Result<Value> {
        self.work(work.dialect(), work.verb(), work.given())
    }

    /// Makes any work ready there; answers what it yields.
    pub fn work(&mut self, dialect: &str, verb: &str, given: &Value) -> Result<Value> {
        self.ask(&json!({"do": "load", "dialect": dialect, "work": verb, "given": given}))
    }

    /// How often it does the work in a second of processor time, by its own watch.
    pub fn per_second(&mut self, length: Duration) -> Result<f64> {
        let answer = self.ask(&json!({"do": "run", "seconds": length.as_secs_f64()}))?;
        let number = |name: &str| answer[name].as_f64().context("a figure from Python");
        Ok(number("repetitions")? / number("seconds")?)
    }

    fn ask(&mut self, question: &Value) -> Result<Value> {
        let question = format!("{question}\n");
        self.asks
            .write_all(question.as_bytes())
            .context("asking Python")?;
        self.asks.flush().context("asking Python")?;
        self.answer()
    }

    fn answer(&mut self) -> Result<Value> {
        let mut line = String::new();
        let length = self.answers.read_line(&mut line)?;
        ensure!(length > 0, "Python ended; what it said stands above");
        serde_json::from_str(&line).context("an answer of Python")
    }
}

impl Drop for Lxml {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
