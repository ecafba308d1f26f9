//! Shows the progress of a run: a bar on a terminal, lines elsewhere.

use std::io::{IsTerminal, Write};
use std::time::Instant;

use abridge_train::{Event, PerToken, Training, learning_count};
use burn::module::Module;
use indicatif::{ProgressBar, ProgressStyle};

/// Without a terminal, a line is printed every so many updates.
const LINES_EVERY: u64 = 20;

/// Displays events to the user.
pub struct Watcher {
    bar: Option<ProgressBar>,
    quiet: bool,
    tokens: usize,
    epoch_updates: u64,
    last_update: Option<u64>,
    /// When this process started, and after which update.
    began: (Instant, u64),
}

impl Watcher {
    /// For a run that is about to start; a quiet one shows nothing.
    pub fn new(quiet: bool, training: &Training) -> Self {
        let update = training.state().update;
        let (epoch_updates, last_update) = training.horizon();
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(last_update.unwrap_or(epoch_updates));
            if let Ok(style) = ProgressStyle::with_template("{bar:20} {percent:>3} %  {msg}") {
                bar.set_style(style);
            }
            bar.set_position(update);
            bar
        });
        let began = (Instant::now(), update);
        let watcher = Self { bar, quiet, tokens: 0, epoch_updates, last_update, began };
        let (all, learning) = (training.model().num_params(), learning_count(training.model()));
        let millions = |count: usize| format!("{:.2} M", count as f64 / 1e6);
        let of = if learning < all { format!("{} of ", millions(learning)) } else { String::new() };
        watcher.say(&format!(
            "training {of}{} parameters, {epoch_updates} updates per epoch",
            millions(all)
        ));
        watcher
    }

    /// Shows an event.
    pub fn see(&mut self, event: &Event) {
        match event {
            Event::Started { from, copied, new, unused, .. } => {
                self.say(&format!("started from {from}: {copied} parameters copied"));
                self.name("new, with initial values", new);
                self.name("not used", unused);
            }
            Event::Resumed { update, passed_over, changed } => {
                for checkpoint in passed_over {
                    self.say(&format!("passed over {checkpoint}"));
                }
                for change in changed {
                    self.say(&format!("forced: {change}"));
                }
                self.say(&format!("resumed after update {update}"));
            }
            Event::Updated {
                update, epoch, loss, perplexity, rate, norm, tokens, seconds, ..
            } => {
                self.tokens += tokens;
                let speed = self.tokens as f64 / seconds.max(1e-9);
                let text = format!(
                    "epoch {epoch}  update {update}  loss {loss:.3}  perplexity {perplexity:.2}  \
                     rate {rate:.2e}  norm {norm:.2}  {speed:.0} tokens/s  {}",
                    self.left(*update)
                );
                match &self.bar {
                    Some(bar) => {
                        let place = match self.last_update {
                            Some(_) => *update,
                            None => (update - 1) % self.epoch_updates.max(1) + 1,
                        };
                        bar.set_message(text);
                        bar.set_position(place);
                    }
                    None if update % LINES_EVERY == 0 => self.say(&text),
                    None => {}
                }
            }
            Event::Skipped { update } => {
                self.say(&format!("update {update} skipped: its gradient is not finite"));
            }
            Event::Validated { update, loss, perplexity, best, scores, corpora, seen } => {
                let scores = scores.iter().fold(String::new(), |text, (name, score)| {
                    format!("{text}, {name} {score:.1}")
                });
                self.say(&format!(
                    "update {update}: validation loss {loss:.3}, perplexity {perplexity:.2}\
                     {scores}{}",
                    if *best { ", the best so far" } else { "" }
                ));
                for (name, of) in corpora {
                    let seen = seen.get(name).map_or_else(String::new, |seen| {
                        let percent = 100.0 * seen.share;
                        format!(", {percent:.1} % of the tokens seen, {:.2} passes", seen.passes)
                    });
                    let PerToken { loss, perplexity } = of;
                    self.say(&format!(
                        "  {name}: loss {loss:.3}, perplexity {perplexity:.2}{seen}"
                    ));
                }
            }
            Event::NotSaved { update, reason } => {
                self.say(&format!("warning: no checkpoint at update {update}: {reason}"));
            }
        }
    }

    /// The time until the last update, or until the end of the epoch.
    fn left(&self, update: u64) -> String {
        let done = (update - self.began.1).max(1);
        let each = self.began.0.elapsed().as_secs_f64() / done as f64;
        let epoch = self.epoch_updates.max(1);
        let (last, of) = match self.last_update {
            Some(last) => (last, ""),
            None => (update.div_ceil(epoch) * epoch, " of the epoch"),
        };
        let seconds = (last.saturating_sub(update) as f64 * each) as u64;
        format!("{} left{of}", duration(seconds))
    }

    /// Prints names of parameters; similar layers are named once.
    fn name(&self, what: &str, parameters: &[String]) {
        let mut patterns: Vec<String> = Vec::new();
        for parameter in parameters {
            let parts = parameter.split('.');
            let parts: Vec<&str> =
                parts.map(|part| if part.parse::<usize>().is_ok() { "*" } else { part }).collect();
            let pattern = parts.join(".");
            if !patterns.contains(&pattern) {
                patterns.push(pattern);
            }
        }
        if !patterns.is_empty() {
            self.say(&format!("  {what} ({}): {}", parameters.len(), patterns.join(", ")));
        }
    }

    fn say(&self, text: &str) {
        match &self.bar {
            _ if self.quiet => {}
            Some(bar) => bar.println(text),
            // Progress goes to standard error; failing to print it is not an error.
            None => drop(writeln!(std::io::stderr(), "{text}")),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// A duration in at most two units.
pub fn duration(seconds: u64) -> String {
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn durations_are_short() {
        assert_eq!(duration(7), "7 s");
        assert_eq!(duration(187), "3 min 07 s");
        assert_eq!(duration(3600 * 25 + 61), "25 h 01 min");
    }
}
