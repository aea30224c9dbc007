//! The inverse of a deformer that is a Python function.
//!
//! One sculpt: the function gets the mesh (V, 3). Several sculpts in lock step: each has a search of its own on a thread of its
//! own, and waits for one call of the function that answers all of them, (N, V, 3).

use crate::arrays::{Extent, Floats};
use crate::errors::error;
use dermis::glam::DVec3;
use dermis::internals::fitting::inverse::{
    Coupled, Dependence, Inverse, InverseError, InverseMethod, InverseSettings, Stopped, invert,
};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

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

fn table<'py>(py: Python<'py>, vectors: &[DVec3]) -> PyResult<Bound<'py, PyArray2<f64>>> {
    PyArray1::from_vec(py, vectors.iter().flat_map(|v| v.to_array()).collect()).reshape([vectors.len(), 3])
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
    let (low, high) = rest.iter().fold((DVec3::INFINITY, DVec3::NEG_INFINITY), |(l, h), p| (l.min(*p), h.max(*p)));
    let length = (high - low).length();
    let settings = settings(length, method, coupled, max_calls, max_correction, tolerance)?;
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
        InverseError::Coupled { .. } => {
            crate::errors::hinted(found.to_string(), "pass coupled=\"iterate\", and look at the residuals")
        }
        other => error(other.to_string()),
    }
}

/// What a search asks: points to be deformed; the answer comes back on the channel beside them.
struct Question {
    sculpt: usize,
    points: Vec<DVec3>,
}

/// That the answers ended: another search's question failed.
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
            let wait = std::time::Duration::from_millis(1);
            match py.detach(|| questions.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(wait)) {
                Ok(Question { sculpt, points: asked }) => {
                    points[sculpt * rest.len()..][..rest.len()].copy_from_slice(&asked);
                    waiting[sculpt] = true;
                }
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
            }
        }
        let mut all = Vec::with_capacity(targets.len());
        for search in searches {
            all.push(search.join().unwrap_or_else(|_| Err(error("a search stopped at an error of its own"))));
        }
        if let Some(raised) = failed {
            return Err(raised);
        }
        all.into_iter().collect()
    })
}

fn search(
    sculpt: usize,
    rest: &[DVec3],
    target: &[DVec3],
    settings: &InverseSettings,
    ask: &Sender<Question>,
    answered: &Receiver<Vec<DVec3>>,
) -> PyResult<Inverse> {
    let mut call = |points: &[DVec3], out: &mut [DVec3]| -> Result<(), Hung> {
        ask.send(Question { sculpt, points: points.to_vec() }).map_err(|_| Hung)?;
        out.copy_from_slice(&answered.recv().map_err(|_| Hung)?);
        Ok(())
    };
    invert(&mut call, rest, target, settings).map_err(|found| {
        let said = format!("sculpt {sculpt}: {found}");
        match found {
            InverseError::Coupled { .. } => {
                crate::errors::hinted(said, "pass coupled=\"iterate\", and look at the residuals")
            }
            _ => error(said),
        }
    })
}
