//! The inverse of a deformer that is a Python function.
//!
//! One sculpt: the function gets the mesh (V, 3). Several sculpts in lock step: each has a search of its own on a thread of its
//! own, and waits for one call of the function that answers all of them, (N, V, 3).
//!
//! [`InverseSearch`] has no function: the caller takes its questions and answers them when it likes.

use crate::arrays::{Extent, Floats};
use crate::errors::error;
use dermis::glam::DVec3;
use dermis::internals::fitting::inverse::{
    Coupled, Dependence, Inverse, InverseError, InverseMethod, InverseSettings, Stopped, invert,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// What the search for one sculpt found; `dermis.Inversion` shows it.
#[pyclass(module = "dermis._dermis", frozen)]
pub struct InverseResult {
    found: Inverse,
}

#[pymethods]
impl InverseResult {
    fn displacements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        table(py, &self.found.displacements)
    }

    fn remainders<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        table(py, &self.found.remainders)
    }

    fn residuals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, &self.found.residuals)
    }

    #[getter]
    fn calls(&self) -> usize {
        self.found.calls.all()
    }

    #[getter]
    fn unresolved(&self) -> usize {
        self.found.unresolved
    }

    #[getter]
    fn damped(&self) -> usize {
        self.found.damped
    }

    #[getter]
    fn tolerance(&self) -> f64 {
        self.found.tolerance
    }

    /// Vertices that moved because others did.
    #[getter]
    fn coupled(&self) -> usize {
        match self.found.probe {
            Dependence::Independent => 0,
            Dependence::Coupled { moved, .. } => moved,
        }
    }

    #[getter]
    fn limit(&self) -> f64 {
        self.found.limit
    }

    #[getter]
    fn limited(&self) -> usize {
        self.found.limited
    }

    #[getter]
    fn stopped(&self) -> &'static str {
        match self.found.stopped {
            Stopped::Reached => "reached",
            Stopped::NoGain => "no-gain",
            Stopped::Calls => "calls",
        }
    }
}

/// A search for one sculpt on a thread of its own, whose questions the caller answers one at a time. `dermis.inversion` is the
/// generator over it.
///
/// The thread never takes the interpreter's lock. It ends with its search, or where the caller gives no more answers: closing or
/// dropping this ends it.
#[pyclass(module = "dermis._dermis", frozen)]
pub struct InverseSearch {
    vertices: usize,
    /// None once the result was taken, or the search was closed.
    running: Mutex<Option<Running>>,
}

struct Running {
    questions: Receiver<Question>,
    answer: Sender<Vec<DVec3>>,
    thread: JoinHandle<Result<Inverse, InverseError<Hung>>>,
}

#[pymethods]
impl InverseSearch {
    /// Starts the search for a sculpt (V, 3) of the mesh at rest (V, 3).
    #[new]
    #[pyo3(signature = (rest, sculpt, method, coupled, max_calls, max_correction, tolerance))]
    fn new(
        rest: &Bound<'_, PyAny>,
        sculpt: &Bound<'_, PyAny>,
        method: &str,
        coupled: &str,
        max_calls: Option<usize>,
        max_correction: Option<f64>,
        tolerance: Option<f64>,
    ) -> PyResult<Self> {
        crate::work::not_forked()?;
        let rest = Floats::of("rest", rest, &[&[Extent::Any("V"), Extent::Is(3)]])?.vectors()?;
        let target = Floats::of("sculpt", sculpt, &[&[Extent::Is(rest.len()), Extent::Is(3)]])?.vectors()?;
        let settings = settings(diagonal(&rest), method, coupled, max_calls, max_correction, tolerance)?;
        let vertices = rest.len();
        let (ask, questions) = channel();
        let (answer, answered) = channel();
        let thread = std::thread::Builder::new().name("dermis inverse".into());
        let thread = thread.spawn(move || search(0, &rest, &target, &settings, &ask, &answered));
        let thread = thread.map_err(|failed| error(format!("no thread: {failed}")))?;
        Ok(Self { vertices, running: Mutex::new(Some(Running { questions, answer, thread })) })
    }

    /// Waits for the next points (V, 3) that the deformer is wanted at; None once the search has ended.
    fn ask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let asked: PyResult<Option<Vec<DVec3>>> = py.detach(|| {
            let running = self.running();
            let Some(Running { questions, .. }) = running.as_ref() else { return Ok(None) };
            loop {
                match questions.recv_timeout(TICK) {
                    Ok(question) => return Ok(Some(question.points)),
                    Err(RecvTimeoutError::Disconnected) => return Ok(None),
                    Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                }
            }
        });
        asked?.map(|points| table(py, &points)).transpose()
    }

    /// Answers the last question: where the deformer takes its points, (V, 3).
    fn answer(&self, py: Python<'_>, points: &Bound<'_, PyAny>) -> PyResult<()> {
        let shape = [Extent::Is(self.vertices), Extent::Is(3)];
        let points = Floats::of("what was sent", points, &[&shape])?.vectors()?;
        py.detach(|| {
            if let Some(Running { answer, .. }) = self.running().as_ref() {
                // A search that ended takes no answer.
                let _ = answer.send(points);
            }
        });
        Ok(())
    }

    /// What was found, once `ask` returns None.
    fn result(&self, py: Python<'_>) -> PyResult<InverseResult> {
        let Some(running) = py.detach(|| self.running().take()) else { return Err(error("the search was closed")) };
        let found = ended(py, running).unwrap_or_else(|| Err(error("a search stopped at an error of its own")))?;
        Ok(InverseResult { found })
    }

    /// Ends the search, wherever it is.
    fn close(&self, py: Python<'_>) {
        if let Some(running) = py.detach(|| self.running().take()) {
            ended(py, running);
        }
    }
}

impl InverseSearch {
    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How often a wait for a question looks for signals.
const TICK: Duration = Duration::from_millis(40);

/// Gives a search no more answers, and waits for its end; None if it panicked.
fn ended(py: Python<'_>, running: Running) -> Option<PyResult<Inverse>> {
    let Running { questions, answer, thread } = running;
    drop((questions, answer));
    let ended = py.detach(|| thread.join().ok());
    ended.map(|found| found.map_err(|found| said(&found, "")))
}

fn table<'py>(py: Python<'py>, vectors: &[DVec3]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, vectors.iter().flat_map(|v| v.to_array()).collect()).reshape([vectors.len(), 3])
}

/// The diagonal of the box around the points.
fn diagonal(points: &[DVec3]) -> f64 {
    let (low, high) = points.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)));
    (high - low).length()
}

/// How a search is set; `None` is the default.
fn settings(
    length: f64,
    method: &str,
    coupled: &str,
    max_calls: Option<usize>,
    max_correction: Option<f64>,
    tolerance: Option<f64>,
) -> PyResult<InverseSettings> {
    let mut settings = InverseSettings::new(length);
    settings.method = match method {
        "auto" => InverseMethod::Auto,
        "gauss-newton" => InverseMethod::GaussNewton,
        "direction-set" => InverseMethod::DirectionSet,
        other => {
            return Err(error(format!("method is {other:?}; 'auto', 'gauss-newton' or 'direction-set' is expected")));
        }
    };
    settings.coupled = match coupled {
        "refuse" => Coupled::Refuse,
        "iterate" => Coupled::Iterate,
        other => return Err(error(format!("coupled is {other:?}; 'refuse' or 'iterate' is expected"))),
    };
    settings.max_calls = max_calls.unwrap_or(settings.max_calls);
    settings.max_correction = max_correction.unwrap_or(settings.max_correction);
    if let Some(tolerance) = tolerance {
        if !(tolerance.is_finite() && tolerance > 0.0) {
            return Err(error(format!("tolerance is {tolerance}; it must be positive")));
        }
        settings.ftol = (tolerance / length).powi(2);
    }
    Ok(settings)
}

/// Brings sculpts (N, V, 3) back to rest (V, 3) through `deformer`: of (V, 3) for each alone, of (N, V, 3) in lock step.
#[pyfunction]
#[pyo3(name = "_invert", signature = (rest, sculpts, deformer, lockstep, method, coupled, max_calls, max_correction, tolerance))]
pub fn inverse(
    py: Python<'_>,
    rest: &Bound<'_, PyAny>,
    sculpts: &Bound<'_, PyAny>,
    deformer: &Bound<'_, PyAny>,
    lockstep: bool,
    method: &str,
    coupled: &str,
    max_calls: Option<usize>,
    max_correction: Option<f64>,
    tolerance: Option<f64>,
) -> PyResult<Vec<InverseResult>> {
    let rest = Floats::of("rest", rest, &[&[Extent::Any("V"), Extent::Is(3)]])?.vectors()?;
    let shape = [Extent::Any("N"), Extent::Is(rest.len()), Extent::Is(3)];
    let sculpts = Floats::of("sculpts", sculpts, &[&shape])?.vectors()?;
    let settings = settings(diagonal(&rest), method, coupled, max_calls, max_correction, tolerance)?;
    let targets: Vec<&[DVec3]> = sculpts.chunks(rest.len().max(1)).collect();
    let found = match lockstep {
        false => {
            targets.iter().map(|target| alone(py, deformer, &rest, target, &settings)).collect::<PyResult<Vec<_>>>()?
        }
        true => in_lock_step(py, deformer, &rest, &targets, &settings)?,
    };
    Ok(found.into_iter().map(|found| InverseResult { found }).collect())
}

fn alone(
    py: Python<'_>,
    deformer: &Bound<'_, PyAny>,
    rest: &[DVec3],
    target: &[DVec3],
    settings: &InverseSettings,
) -> PyResult<Inverse> {
    let deformer = deformer.clone().unbind();
    // Between two calls other Python threads run, such as one that answers this function's questions.
    py.detach(|| {
        let mut call = |points: &[DVec3], out: &mut [DVec3]| -> PyResult<()> {
            let shape = [points.len(), 3];
            let found = Python::attach(|py| called(py, deformer.bind(py), points.to_vec(), &shape))?;
            out.copy_from_slice(&found);
            Ok(())
        };
        invert(&mut call, rest, target, settings)
    })
    .map_err(refused)
}

/// One call of the function: points of this shape in, as many out.
fn called(py: Python<'_>, deformer: &Bound<'_, PyAny>, points: Vec<DVec3>, shape: &[usize]) -> PyResult<Vec<DVec3>> {
    py.check_signals()?;
    let flat: Vec<f64> = points.iter().flat_map(|p| p.to_array()).collect();
    let array = PyArray1::from_vec(py, flat).reshape(shape.to_vec())?;
    let result = deformer.call1((array,))?;
    let extents: Vec<Extent> = shape.iter().map(|&extent| Extent::Is(extent)).collect();
    Floats::of("what deformer returned", &result, &[&extents])?.vectors()
}

/// The function's own exception as it is, everything else as an error of the package.
fn refused(found: InverseError<PyErr>) -> PyErr {
    match found {
        InverseError::Deformer { source, .. } => source,
        other => said(&other, ""),
    }
}

/// The error of a search, after what it belongs to.
fn said<E: std::error::Error>(found: &InverseError<E>, of: &str) -> PyErr {
    let hint = match found {
        InverseError::Coupled { .. } => "pass coupled=\"iterate\", and look at the residuals",
        _ => "",
    };
    crate::errors::hinted(format!("{of}{found}"), hint)
}

/// What a search asks: points to be deformed; the answer comes back on the channel beside them.
struct Question {
    sculpt: usize,
    points: Vec<DVec3>,
}

/// That the answers ended: another search's question failed, or the caller closed the search.
#[derive(Debug)]
struct Hung;

impl std::fmt::Display for Hung {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the deformer was not asked")
    }
}

impl std::error::Error for Hung {}

fn in_lock_step(
    py: Python<'_>,
    deformer: &Bound<'_, PyAny>,
    rest: &[DVec3],
    targets: &[&[DVec3]],
    settings: &InverseSettings,
) -> PyResult<Vec<Inverse>> {
    std::thread::scope(|scope| {
        let (ask, questions) = channel::<Question>();
        let mut answers = Vec::new();
        let mut searches = Vec::new();
        for (sculpt, target) in targets.iter().copied().enumerate() {
            let (answer, answered) = channel::<Vec<DVec3>>();
            let ask = ask.clone();
            let search = std::thread::Builder::new()
                .spawn_scoped(scope, move || search(sculpt, rest, target, settings, &ask, &answered));
            searches.push(search.map_err(|e| error(format!("no thread: {e}")))?);
            answers.push(Some(answer));
        }
        drop(ask);
        let questions = Mutex::new(questions);
        // Points of the searches that have ended stay where they were.
        let mut points: Vec<DVec3> = rest.iter().copied().cycle().take(rest.len() * targets.len()).collect();
        let mut failed = None;
        let mut waiting = vec![false; targets.len()];
        loop {
            let running = searches.iter().filter(|search| !search.is_finished()).count();
            let asked = waiting.iter().filter(|waits| **waits).count();
            if failed.is_none() && asked > 0 && asked >= running {
                // Ended searches have no open question; all others wait.
                let shape = [targets.len(), rest.len(), 3];
                match called(py, deformer, points.clone(), &shape) {
                    Ok(found) => {
                        for (at, found) in found.chunks(rest.len()).enumerate() {
                            if std::mem::take(&mut waiting[at])
                                && let Some(answer) = &answers[at]
                            {
                                // A search that ended takes no answer.
                                let _ = answer.send(found.to_vec());
                            }
                        }
                    }
                    Err(raised) => {
                        failed = Some(raised);
                        answers.iter_mut().for_each(|answer| *answer = None);
                    }
                }
                continue;
            }
            let wait = Duration::from_millis(1);
            match py.detach(|| questions.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(wait)) {
                Ok(Question { sculpt, points: asked }) => {
                    points[sculpt * rest.len()..][..rest.len()].copy_from_slice(&asked);
                    waiting[sculpt] = true;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut all = Vec::with_capacity(targets.len());
        for (sculpt, search) in searches.into_iter().enumerate() {
            all.push(match search.join() {
                Ok(found) => found.map_err(|found| said(&found, &format!("sculpt {sculpt}: "))),
                Err(_) => Err(error("a search stopped at an error of its own")),
            });
        }
        if let Some(raised) = failed {
            return Err(raised);
        }
        all.into_iter().collect()
    })
}

/// Searches, and asks for every call of the deformer.
fn search(
    sculpt: usize,
    rest: &[DVec3],
    target: &[DVec3],
    settings: &InverseSettings,
    ask: &Sender<Question>,
    answered: &Receiver<Vec<DVec3>>,
) -> Result<Inverse, InverseError<Hung>> {
    let mut call = |points: &[DVec3], out: &mut [DVec3]| -> Result<(), Hung> {
        ask.send(Question { sculpt, points: points.to_vec() }).map_err(|_| Hung)?;
        out.copy_from_slice(&answered.recv().map_err(|_| Hung)?);
        Ok(())
    };
    invert(&mut call, rest, target, settings)
}
