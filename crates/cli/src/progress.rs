//! A progress bar on standard error, for work that takes more than a moment.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::report::{Report, Volume};

/// Nothing shows before this long.
const PATIENCE: Duration = Duration::from_secs(2);

/// A bar that appears when work takes long and the output is a terminal.
pub(crate) struct Progress {
    started: Instant,
    watched: bool,
    /// What is counted.
    unit: &'static str,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(report: &Report, unit: &'static str) -> Progress {
        let watched = std::io::stderr().is_terminal() && report.volume > Volume::Quiet;
        Progress { started: Instant::now(), watched, unit, bar: None }
    }

    /// `done` of `all`, with a few words.
    pub(crate) fn set(&mut self, done: u64, all: u64, words: impl FnOnce() -> String) {
        if !self.watched {
            return;
        }
        if self.bar.is_none() && self.started.elapsed() >= PATIENCE {
            self.bar = Some(new_bar(self.unit));
        }
        if let Some(bar) = &self.bar {
            bar.set_length(all);
            bar.set_position(done);
            bar.set_message(words());
        }
    }

    /// Takes the bar away and says how long it took.
    pub(crate) fn finish(self) -> Duration {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.started.elapsed()
    }
}

fn new_bar(unit: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
    let template =
        format!("{{bar:32}} {{pos}}/{{len}} {unit}  {{msg}}  {{elapsed}}, {{eta}} to go");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}
