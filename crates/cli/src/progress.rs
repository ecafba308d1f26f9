//! Progress on standard error: bars on a terminal, lines elsewhere, nothing on request.

use std::io::IsTerminal;
use std::sync::Mutex;

use abridge_base::tell;
use abridge_corpus::prepare::{Progress, Silent};
use abridge_experiments::observer::Observer;
use indicatif::{ProgressBar, ProgressStyle};

/// A progress display that suits standard error: bars, lines or nothing.
pub fn reporter(quiet: bool) -> Box<dyn Progress> {
    if quiet {
        Box::new(Silent)
    } else if std::io::stderr().is_terminal() {
        Box::new(Bars { bar: None })
    } else {
        Box::new(Lines)
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

/// One line per stage: a log file has no use for percentages.
struct Lines;

impl Progress for Lines {
    fn stage(&mut self, name: &str, _total: u64) {
        tell!("{name}");
    }

    fn reached(&mut self, _done: u64) {}
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
