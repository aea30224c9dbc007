//! What the user sees while work goes on: progress on standard error, results on standard output, Ctrl-C.

use crate::show;
use dermis_workflow::fits::{Cancelled, Progress};
use dermis_workflow::load::FileNote;
use dermis_workflow::recipe::{Watch, step};
use dermis_workflow::{Error, FileError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The terminal.
pub struct Ui {
    bars: bool,
    /// Whether to say more.
    pub verbose: bool,
    stopped: Arc<AtomicBool>,
    /// The step under way and its bar.
    shown: Mutex<Option<(String, ProgressBar)>>,
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
    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        let mut shown = self.shown();
        if shown.as_ref().is_none_or(|(name, _)| name != step)
            && let Some((_, bar)) = shown.replace((step.to_owned(), self.bar(step)))
        {
            bar.finish_and_clear();
        }
        if let Some((_, bar)) = &*shown {
            bar.set_length(total);
            bar.set_position(done);
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
                std::process::exit(130);
            }
        });
        Self { bars: !quiet && std::io::stderr().is_terminal(), verbose, stopped, shown: Mutex::new(None) }
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
        if let Some((_, bar)) = self.shown().take() {
            bar.finish_and_clear();
        }
    }

    fn shown(&self) -> MutexGuard<'_, Option<(String, ProgressBar)>> {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bar(&self, name: &str) -> ProgressBar {
        let bar = match self.bars {
            true => ProgressBar::new(0),
            false => ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden()),
        };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg:28} {wide_bar} {percent:>3} % {elapsed:>4}")
                .unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        bar.set_message(name.to_owned());
        // A bar that nobody sees needs no thread.
        if self.bars {
            bar.enable_steady_tick(Duration::from_millis(100));
        }
        bar
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
