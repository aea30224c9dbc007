//! What the user sees while work goes on: progress on standard error, results on standard output, Ctrl-C.

use crate::show;
use dermis_workflow::fits::{Cancelled, Progress};
use dermis_workflow::load::FileNote;
use dermis_workflow::recipe::{Course, Provenance, Watch, step};
use dermis_workflow::report::{visible, visible_json};
use dermis_workflow::{Error, FileError};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value;
use std::ffi::OsString;
use std::io::{ErrorKind, IsTerminal, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
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

/// How far a recipe is, and when a line last said so.
struct Work {
    course: Course,
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
        self.work().0.course.plan(steps);
    }

    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        let (work, bar) = &mut *self.work();
        let course = &mut work.course;
        course.go_to(step, done, total);
        if self.bars {
            let bar = bar.get_or_insert_with(|| new_bar().with_elapsed(course.start().elapsed()));
            bar.set_message(visible(&course.name()).into_owned());
            bar.set_position((PARTS * course.fraction()) as u64);
            bar.set_prefix(course.remaining().map_or_else(String::new, |left| format!("{left} left")));
        } else if self.lines && work.said.elapsed() >= EVERY {
            work.said = Instant::now();
            let left = course.remaining().map_or_else(String::new, |left| format!(", {left} left"));
            let line = format!("{}: {:.0} %{left}", course.name(), 100.0 * course.fraction());
            let _ = writeln!(std::io::stderr(), "{}", visible(&line));
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
        let work = Work { course: Course::default(), said: Instant::now() };
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

    /// The same, for a thread of its own.
    pub fn interrupted(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stopped)
    }

    /// A line of a result, on standard output. Names in it come from files: they can neither end the line nor steer the terminal.
    pub fn print(&self, line: &str) {
        self.out(&visible(line));
    }

    /// A text of our own, whose line ends are our own: no name of a file stands in it.
    pub fn print_text(&self, text: &str) {
        self.out(text);
    }

    /// A result as JSON, whose names read back as they were.
    pub fn print_json(&self, value: &Value) {
        self.out(&visible_json(&value.to_string()));
    }

    /// JSON text in lines.
    pub fn print_json_text(&self, text: &str) {
        self.out(&visible_json(text));
    }

    /// Everything on standard output. A closed pipe ends the program quietly, anything else that takes no more with an error.
    fn out(&self, text: &str) {
        self.clear();
        if let Err(error) = writeln!(std::io::stdout(), "{text}") {
            std::process::exit(unprinted(&error));
        }
    }

    /// A note beside the results, a line on standard error.
    pub fn note(&self, line: &str) {
        self.clear();
        let _ = writeln!(std::io::stderr(), "{}", visible(line));
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

/// The exit code of a program whose standard output takes no more.
pub fn unprinted(error: &std::io::Error) -> i32 {
    if error.kind() == ErrorKind::BrokenPipe {
        return 0;
    }
    let _ = writeln!(std::io::stderr(), "error: standard output: {error}");
    2
}

/// The arguments after the program's name, as text.
static WORDS: OnceLock<Vec<String>> = OnceLock::new();

/// Keeps the arguments for [`command_line`].
pub fn keep_command_line(arguments: &[OsString]) {
    let words = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    // Kept once: a process runs one command line.
    let _ = WORDS.set(words);
}

/// The command line as a page states it: as it was typed, but for the folders of files.
pub fn command_line(provenance: Provenance) -> String {
    let words = words().iter().map(|word| provenance.stated_word(word, Path::new("."))).collect::<Vec<_>>();
    joined(["dermis"].into_iter().chain(words.iter().map(String::as_str)))
}

/// The arguments after the program's name.
pub fn words() -> &'static [String] {
    WORDS.get().map_or(&[], Vec::as_slice)
}

/// Words as one command line, those with spaces in quotes.
pub fn joined<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let quoted = |word: &str| if word.contains(char::is_whitespace) { format!("'{word}'") } else { word.to_owned() };
    words.map(quoted).collect::<Vec<_>>().join(" ")
}
