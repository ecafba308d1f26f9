//! Progress on standard error: bars on a terminal, lines elsewhere, nothing on request.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use abridge_base::tell;
use abridge_corpus::prepare::{Progress, Silent};
use abridge_experiments::observer::Observer;
use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

/// A progress display that suits standard error: bars, lines or nothing.
pub fn reporter(quiet: bool) -> Box<dyn Progress> {
    if quiet {
        Box::new(Silent)
    } else if std::io::stderr().is_terminal() {
        Box::new(Bars { bar: None })
    } else {
        Box::new(Lines::default())
    }
}

/// A bar that counts something on a terminal, and is hidden elsewhere.
pub fn counter(total: usize, unit: &str, quiet: bool) -> ProgressBar {
    if quiet || !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total as u64);
    let template = format!("{{bar:30}} {{pos}}/{{len}} {unit}, {{per_sec}}, {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    bar
}

struct Bars {
    bar: Option<ProgressBar>,
}

impl Progress for Bars {
    fn stage(&mut self, name: &str, total: u64) {
        if let Some(bar) = self.bar.take() {
            bar.finish();
        }
        let bar = ProgressBar::new(total).with_message(name.to_owned());
        if let Ok(style) =
            ProgressStyle::with_template("{msg:28} {wide_bar} {percent:>3} %, {eta} left")
        {
            bar.set_style(style);
        }
        self.bar = Some(bar);
    }

    fn reached(&mut self, done: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(done);
        }
    }
}

impl Drop for Bars {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.abandon();
        }
    }
}

/// One line per stage and, for the log of a long job, one about every tenth of it.
#[derive(Default)]
struct Lines {
    stage: Option<Stage>,
}

/// A stage, as lines tell of it.
struct Stage {
    name: String,
    total: u64,
    start: Instant,
    /// Tenths of it that were told.
    tenths: u64,
    /// The time when a line was last told.
    told: Duration,
}

/// Lines are at least this far apart, so that stages of seconds have none.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

impl Progress for Lines {
    fn stage(&mut self, name: &str, total: u64) {
        tell!("{name}");
        self.stage = Some(Stage::new(name, total));
    }

    fn reached(&mut self, done: u64) {
        if let Some(stage) = &mut self.stage
            && let Some(line) = stage.line(done, stage.start.elapsed())
        {
            tell!("{line}");
        }
    }
}

impl Stage {
    fn new(name: &str, total: u64) -> Self {
        let told = Duration::ZERO;
        Self { name: name.to_owned(), total, start: Instant::now(), tenths: 0, told }
    }

    /// The line that is due, if one is; of a stage whose size is not known, none ever is.
    fn line(&mut self, done: u64, elapsed: Duration) -> Option<String> {
        let share = done as f64 / self.total.max(1) as f64;
        let tenths = (10.0 * share) as u64;
        if done >= self.total || tenths <= self.tenths || elapsed < self.told + BETWEEN_LINES {
            return None;
        }
        (self.tenths, self.told) = (tenths, elapsed);
        let left = HumanDuration(elapsed.mul_f64((1.0 - share) / share));
        Some(format!("{}: {:.0} %, {left} left", self.name, 100.0 * share))
    }
}

/// Shows the progress of an experiment: lines that stay and, on a terminal, the current status.
pub struct Narrator {
    quiet: bool,
    spinner: Mutex<ProgressBar>,
}

impl Narrator {
    /// A quiet narrator prints nothing.
    pub fn new(quiet: bool) -> Self {
        Self { quiet, spinner: Mutex::new(ProgressBar::hidden()) }
    }

    fn with_spinner(&self, act: impl FnOnce(&mut ProgressBar)) {
        // The bar stays usable after a panic elsewhere.
        act(&mut self.spinner.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    }
}

impl Observer for Narrator {
    fn line(&self, text: &str) {
        if !self.quiet {
            self.with_spinner(|spinner| spinner.suspend(|| tell!("{text}")));
        }
    }

    fn status(&self, text: &str) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        self.with_spinner(|spinner| {
            if spinner.is_hidden() {
                *spinner = ProgressBar::new_spinner();
                let style = ProgressStyle::with_template("  {spinner} {elapsed_precise} {msg}");
                if let Ok(style) = style {
                    spinner.set_style(style);
                }
            }
            spinner.set_message(text.to_owned());
            spinner.tick();
        });
    }

    fn idle(&self) {
        self.with_spinner(|spinner| {
            spinner.finish_and_clear();
            *spinner = ProgressBar::hidden();
        });
    }

    fn preparation(&self) -> Box<dyn Progress> {
        reporter(self.quiet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_has_a_line_about_every_tenth_with_the_time_left() {
        let mut stage = Stage::new("encoding", 1000);
        let mut line = |done, seconds| stage.line(done, Duration::from_secs(seconds));
        assert_eq!(line(99, 60), None);
        assert_eq!(line(100, 60).unwrap(), "encoding: 10 %, 9 minutes left");
        assert_eq!(line(150, 80), None);
        assert_eq!(line(205, 65), None, "too soon after the last");
        assert_eq!(line(410, 120).unwrap(), "encoding: 41 %, 3 minutes left");
        assert_eq!(line(490, 200), None);
        assert_eq!(line(1000, 300), None, "the next stage says that this one is done");
    }

    #[test]
    fn short_stages_and_those_of_unknown_size_have_no_lines() {
        let mut short = Stage::new("reading", 10);
        assert!((0..=10).all(|done| short.line(done, Duration::from_secs(done / 2)).is_none()));
        let mut unknown = Stage::new("reading", 0);
        assert!((0..100).all(|done| unknown.line(done, Duration::from_secs(60 * done)).is_none()));
    }
}
