//! What the user sees while work goes on: progress on standard error, results on standard output, Ctrl-C.

use crate::show;
use dermis_workflow::fits::{Cancelled, Progress};
use dermis_workflow::load::FileNote;
use dermis_workflow::recipe::{Watch, step};
use dermis_workflow::{Error, FileError};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The terminal.
pub struct Ui {
    bars: bool,
    /// Whether to say more.
    pub verbose: bool,
    /// Whether to say every ten seconds where the work is, where no bar can be shown.
    lines: bool,
    stopped: Arc<AtomicBool>,
    /// What is known of the work, and the bar that shows it.
    work: Mutex<(Work, Option<ProgressBar>)>,
}

/// The steps of a recipe, and how far it is.
struct Work {
    /// The steps ahead of time, each with its share of the work.
    plan: Vec<(String, f64)>,
    /// The step under way.
    step: String,
    /// Its place in the plan.
    at: Option<usize>,
    /// How much of it is done, of one.
    done: f64,
    start: Instant,
    /// When a line was last written.
    said: Instant,
}

/// Why a verb stopped.
pub enum Stop {
    /// The arguments cannot be understood, or do not go together.
    Usage(String),
    /// The recipe that the arguments make failed.
    Recipe(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Recipe(error)
    }
}

impl From<FileError> for Stop {
    fn from(error: FileError) -> Self {
        Self::Recipe(error.into())
    }
}

impl Watch for Ui {
    fn plan(&self, steps: &[(&str, f64)]) {
        let (work, _) = &mut *self.work();
        work.plan = steps.iter().map(|(name, share)| ((*name).to_owned(), *share)).collect();
        work.at = work.plan.iter().position(|(name, _)| *name == work.step);
    }

    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        let (work, bar) = &mut *self.work();
        work.go_to(step, done, total);
        if self.bars {
            let bar = bar.get_or_insert_with(|| new_bar().with_elapsed(work.start.elapsed()));
            bar.set_message(work.name());
            bar.set_position((PARTS * work.fraction()) as u64);
            bar.set_prefix(work.remaining().map_or_else(String::new, |left| format!("{left} left")));
        } else if self.lines && work.said.elapsed() >= EVERY {
            work.said = Instant::now();
            let left = work.remaining().map_or_else(String::new, |left| format!(", {left} left"));
            let _ = writeln!(std::io::stderr(), "{}: {:.0} %{left}", work.name(), 100.0 * work.fraction());
        }
        match self.stopped() {
            true => ControlFlow::Break(Cancelled),
            false => ControlFlow::Continue(()),
        }
    }

    fn files(&self, notes: &[FileNote]) {
        show::files(self, notes);
    }
}

impl Ui {
    /// Listens for Ctrl-C: the first stops cleanly, the second at once.
    pub fn new(quiet: bool, verbose: bool) -> Self {
        let stopped = Arc::new(AtomicBool::new(false));
        let heard = Arc::clone(&stopped);
        // Without a handler Ctrl-C ends the program at once, which leaves files whole as well.
        let _ = ctrlc::set_handler(move || {
            if heard.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED.into());
            }
        });
        let bars = !quiet && std::io::stderr().is_terminal();
        let (start, plan) = (Instant::now(), vec![]);
        let work = Work { plan, step: String::new(), at: None, done: 0.0, start, said: start };
        Self { bars, lines: !quiet && !bars, verbose, stopped, work: Mutex::new((work, None)) }
    }

    /// Runs a step of the work under a progress bar.
    ///
    /// # Errors
    /// The step's own, or [`Error::Cancelled`] if Ctrl-C came before it.
    pub fn step<T, E>(&self, name: &str, work: impl FnOnce(Progress<'_>) -> Result<T, E>) -> Result<T, Error>
    where
        Error: From<E>,
    {
        let result = step(self, name, work);
        self.clear();
        result
    }

    /// Takes the progress bar away.
    pub fn clear(&self) {
        if let Some(bar) = self.work().1.take() {
            bar.finish_and_clear();
        }
    }

    fn work(&self) -> MutexGuard<'_, (Work, Option<ProgressBar>)> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether Ctrl-C was pressed.
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// A result, on standard output. A closed pipe ends the program quietly, anything else that takes no more with an error.
    pub fn print(&self, text: &str) {
        self.clear();
        if let Err(error) = writeln!(std::io::stdout(), "{}", harmless(text)) {
            std::process::exit(unprinted(&error));
        }
    }

    /// A note beside the results, on standard error.
    pub fn note(&self, text: &str) {
        self.clear();
        let _ = writeln!(std::io::stderr(), "{}", harmless(text));
    }

    /// An error with its remedy: exit code 2.
    pub fn fail(&self, message: &str, hint: &str) -> ExitCode {
        self.note(&format!("error: {message}"));
        if !hint.is_empty() {
            self.note(&format!(" hint: {hint}"));
        }
        ExitCode::from(2)
    }
}

/// The exit code after Ctrl-C, as shells have it: 128 and the number of the signal.
pub const INTERRUPTED: u8 = 130;
/// Parts that a bar is divided in.
const PARTS: f64 = 1000.0;
/// How often a line says where the work is, off a terminal.
const EVERY: Duration = Duration::from_secs(10);

/// The bar of a whole run.
fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new(PARTS as u64);
    bar.set_style(
        ProgressStyle::with_template("{spinner} {msg:28} {wide_bar} {percent:>3} % {elapsed:>4} {prefix:>10}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

impl Work {
    fn go_to(&mut self, step: &str, done: u64, total: u64) {
        if self.step != step {
            self.done = 0.0;
            step.clone_into(&mut self.step);
            // Of steps with one name the next one.
            let from = self.at.map_or(0, |at| at + 1);
            let next = self.plan.iter().skip(from).position(|(name, _)| name == step).map(|at| at + from);
            self.at = next.or_else(|| self.plan.iter().position(|(name, _)| name == step));
        }
        // A step of several passes counts each from its beginning; what was shown is not taken back.
        let done = if total > 0 { (done as f64 / total as f64).min(1.0) } else { 0.0 };
        self.done = self.done.max(done);
    }

    /// "2/5 cross-validate", or the step's name alone where no plan has it.
    fn name(&self) -> String {
        match self.at {
            Some(at) => format!("{}/{} {}", at + 1, self.plan.len(), self.step),
            None => self.step.clone(),
        }
    }

    /// How much of the whole is done; of the step where no plan has it.
    fn fraction(&self) -> f64 {
        let Some(at) = self.at else { return self.done };
        let all: f64 = self.plan.iter().map(|step| step.1).sum();
        let before: f64 = self.plan[..at].iter().map(|step| step.1).sum();
        if all > 0.0 { (before + self.plan[at].1 * self.done) / all } else { 0.0 }
    }

    /// The time that is left, in words, once there is something to tell it by.
    fn remaining(&self) -> Option<String> {
        let (done, elapsed) = (self.fraction(), self.start.elapsed().as_secs_f64());
        if self.at.is_none() || done < 0.02 || elapsed < 2.0 {
            return None;
        }
        let left = elapsed * (1.0 - done) / done;
        Some(if left < 90.0 { format!("{left:.0} s") } else { format!("{:.0} min", left / 60.0) })
    }
}

/// The exit code of a program whose standard output takes no more.
pub fn unprinted(error: &std::io::Error) -> i32 {
    if error.kind() == ErrorKind::BrokenPipe {
        return 0;
    }
    let _ = writeln!(std::io::stderr(), "error: standard output: {error}");
    2
}

/// Labels and names come from files: what would steer the terminal is shown as a mark.
fn harmless(text: &str) -> String {
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    text.chars().map(|c| if steers(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// The command line as it was typed.
pub fn command_line() -> String {
    let word = |w: String| if w.contains(char::is_whitespace) { format!("'{w}'") } else { w };
    let mut words = vec!["dermis".to_owned()];
    words.extend(std::env::args().skip(1).map(word));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_run_has_one_fraction() {
        let start = Instant::now() - Duration::from_secs(30);
        let plan = [("read", 1.0), ("fit", 4.0), ("read", 1.0), ("cross-validate", 10.0)];
        let plan = plan.map(|(name, share)| (name.to_owned(), share)).to_vec();
        let mut work = Work { plan, step: String::new(), at: None, done: 0.0, start, said: start };
        for (step, done, total, name, fraction) in [
            ("read", 0, 0, "1/4 read", 0.0),
            ("fit", 1, 2, "2/4 fit", 3.0 / 16.0),
            ("read", 1, 1, "3/4 read", 6.0 / 16.0),
            ("cross-validate", 5, 10, "4/4 cross-validate", 11.0 / 16.0),
            ("between", 1, 4, "between", 0.25),
        ] {
            work.go_to(step, done, total);
            assert_eq!((work.name().as_str(), work.fraction()), (name, fraction));
        }
        work.go_to("cross-validate", 10, 20);
        // 30 seconds for 11 of 16 parts.
        assert_eq!(work.remaining().as_deref(), Some("14 s"));
    }
}
