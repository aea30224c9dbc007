//! `dermis.Springs`.

use crate::arrays::{Extent, Floats};
use crate::errors::error;
use crate::work::not_forked;
use dermis::glam::DVec3;
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use std::sync::Mutex;

/// Secondary motion that a model has learnt, frame after frame: `Model.springs` makes it, at rest.
#[pyclass(module = "dermis", frozen)]
pub struct Springs {
    state: Mutex<(dermis::Secondary, Vec<DVec3>)>,
    metres: f64,
    vertices: usize,
}

impl Springs {
    /// Springs of a mesh whose positions are in units of so many metres.
    pub fn new(state: dermis::Secondary, metres: f64, vertices: usize) -> Self {
        Self { state: Mutex::new((state, Vec::new())), metres, vertices }
    }
}

#[pymethods]
impl Springs {
    /// Takes the next frame.
    ///
    /// Parameters
    /// ----------
    /// seconds : float
    ///     How long after the last frame this one is. Of the first frame, and after `reset`, it is not read.
    /// positions : array_like, shape (V, 3)
    ///     The model's skin in the world, in the rig's own unit; any axes do.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of float32, shape (V, 3)
    ///     How far every vertex swings from there, in the axes and the unit of `positions`.
    ///
    /// Raises
    /// ------
    /// dermis.Error
    ///     For time that does not go forward, and arrays of another shape.
    fn apply<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
        positions: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        not_forked()?;
        let given = Floats::of("positions", positions, &[&[Extent::Is(self.vertices), Extent::Is(3)]])?;
        let base: Vec<DVec3> = given.vectors()?.into_iter().map(|p| p * self.metres).collect();
        let moved = py.detach(|| {
            let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let (motion, skin) = &mut *state;
            skin.clone_from(&base);
            motion.apply(seconds, skin)?;
            let offset = |(x, b): (&DVec3, &DVec3)| ((*x - *b) / self.metres).as_vec3().to_array();
            Ok::<Vec<f32>, dermis::SecondaryError>(skin.iter().zip(&base).flat_map(offset).collect())
        });
        let moved = moved.map_err(|found| error(found.to_string()))?;
        PyArray1::from_vec(py, moved).reshape([self.vertices, 3])
    }

    /// Forgets what came before: the next frame begins at rest, as after a cut.
    fn reset(&self) {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner).0.reset();
    }
}
