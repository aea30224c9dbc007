//! Long work off the interpreter: progress, Ctrl-C, exceptions of callbacks.
//!
//! The work runs on a thread of its own. The calling thread waits without the interpreter's lock and takes it every
//! [`TICK`] to look for signals and to call the callback, so that the callback runs where Python expects it, and Ctrl-C is
//! seen however seldom the work reports.

use crate::errors::{error, of_library};
use dermis::internals::rig::Cancelled;
use dermis::internals::workflow::Error;
use dermis::internals::workflow::recipe::{Course, Watch};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the calling thread looks for signals.
const TICK: Duration = Duration::from_millis(40);

/// Stack of the working thread, that of a main thread: solvers recurse over trees.
const STACK: usize = 8 << 20;

/// How long a stopped job may take to notice. Then the caller goes on, and the job ends by itself at the next report that it makes:
/// some steps of a fit report once in a second.
const GRACE: Duration = Duration::from_millis(80);

/// Does `job` without the interpreter's lock. `progress` is called with (step, fraction) now and then.
///
/// # Errors
/// Those of the job; `KeyboardInterrupt`; whatever `progress` raised.
pub fn work<T: Send + 'static, E: Into<Error> + Send + 'static>(
    py: Python<'_>,
    progress: Option<&Bound<'_, PyAny>>,
    job: impl FnOnce(&dyn Watch) -> Result<T, E> + Send + 'static,
) -> PyResult<T> {
    not_forked()?;
    let watch = Arc::new(Watched::default());
    let progress = progress.map(|callback| callback.clone().unbind());
    let watched = Arc::clone(&watch);
    let run = move || {
        let ended = Ended(&watched);
        let done = job(&*watched);
        drop(ended);
        done
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(run);
    let thread = thread.map_err(|failed| error(format!("no thread: {failed}")))?;
    py.detach(|| {
        loop {
            let (news, ended) = watch.wait(TICK);
            let told = Python::attach(|py| {
                py.check_signals()?;
                news.into_iter().try_for_each(|(step, fraction)| match &progress {
                    Some(callback) => callback.call1(py, (step, fraction)).map(drop),
                    None => Ok(()),
                })
            });
            if let Err(raised) = told {
                watch.stop.store(true, Ordering::Relaxed);
                watch.wait(GRACE);
                return Err(raised);
            }
            if ended {
                break;
            }
        }
        match thread.join() {
            Ok(done) => done.map_err(|error| of_library(&error.into())),
            Err(_) => {
                Err(PyRuntimeError::new_err("dermis stopped at an error of its own; the message is on standard error"))
            }
        }
    })
}

/// What the working thread tells the calling one.
#[derive(Default)]
struct Watched {
    stop: AtomicBool,
    told: Mutex<Told>,
    changed: Condvar,
}

#[derive(Default)]
struct Told {
    course: Course,
    /// Steps with fractions that were not handed on, one for each step.
    news: Vec<(String, f64)>,
    ended: bool,
}

/// Says that the work has ended, however it ended.
struct Ended<'a>(&'a Watched);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.told().ended = true;
        self.0.changed.notify_all();
    }
}

impl Watched {
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits so long, or for the end; what is new, and whether it was the end.
    fn wait(&self, most: Duration) -> (Vec<(String, f64)>, bool) {
        let waiting = self.changed.wait_timeout_while(self.told(), most, |told| !told.ended);
        let (mut told, _) = waiting.unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut told.news), told.ended)
    }
}

impl Watch for Watched {
    fn plan(&self, steps: &[(&str, f64)]) {
        self.told().course.plan(steps);
    }

    fn at(&self, step: &str, done: u64, total: u64) -> ControlFlow<Cancelled> {
        let mut told = self.told();
        told.course.go_to(step, done, total);
        let fraction = told.course.fraction();
        match told.news.last_mut() {
            Some((last, so_far)) if last == step => *so_far = fraction,
            _ => told.news.push((step.to_owned(), fraction)),
        }
        match self.stop.load(Ordering::Relaxed) {
            true => ControlFlow::Break(Cancelled),
            false => ControlFlow::Continue(()),
        }
    }
}

/// Refuses to work in a process that was forked from one that worked: its threads did not come along, and it would wait for
/// them for ever.
///
/// # Errors
/// `dermis.Error`.
pub fn not_forked() -> PyResult<()> {
    static FIRST: AtomicU32 = AtomicU32::new(0);
    let own = std::process::id();
    match FIRST.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(first) if first != own => Err(crate::errors::hinted(
            "this process was forked from one that has used dermis already, and has none of its threads",
            "start processes with multiprocessing.get_context(\"spawn\")",
        )),
        _ => Ok(()),
    }
}

/// Does something short that cannot be watched, without the interpreter's lock.
///
/// # Errors
/// Those of the job.
pub fn quick<T: Send, E: Into<Error> + Send>(py: Python<'_>, job: impl FnOnce() -> Result<T, E> + Send) -> PyResult<T> {
    not_forked()?;
    py.detach(job).map_err(|found| of_library(&found.into()))
}

/// An error with a message, for `map_err`.
pub fn said(found: impl std::fmt::Display) -> PyErr {
    error(found.to_string())
}
