//! The demo's voice: one line for each thing that happens, with the second of the day.

use std::time::Instant;

use indicatif::{ProgressBar, ProgressStyle};

use crate::say;

/// Tells what happens, above the progress line.
pub struct Teller {
    begun: Instant,
    bar: ProgressBar,
    is_silent: bool,
}

impl Teller {
    /// A teller that says nothing, for tests.
    pub fn silent() -> Self {
        Self {
            begun: Instant::now(),
            bar: ProgressBar::hidden(),
            is_silent: true,
        }
    }

    /// A teller of a day of so many steps.
    pub fn new(steps: u64) -> Self {
        let bar = ProgressBar::new(steps);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self {
            begun: Instant::now(),
            bar,
            is_silent: false,
        }
    }

    /// A line.
    pub fn line(&self, text: &str) {
        if self.is_silent {
            return;
        }
        let line = format!("{:>6.1} s  {text}", self.begun.elapsed().as_secs_f64());
        self.bar.suspend(|| say::line(&line));
    }

    /// A heading.
    pub fn heading(&self, text: &str) {
        if self.is_silent {
            return;
        }
        self.bar.suspend(|| say::line(&format!("\n{text}")));
    }

    /// One step of the day is done.
    pub fn step(&self, now: &str) {
        self.bar.set_message(now.to_owned());
        self.bar.inc(1);
    }

    /// Steps that are done.
    pub fn steps_done(&self) -> u64 {
        self.bar.position()
    }

    /// The day is over.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
