//! `dermis.Carried`.

use crate::arrays::{Extent, Floats};
use crate::errors::error;
use crate::model::Model;
use crate::rig::{table_of, triangles, weights_of};
use crate::work::not_forked;
use dermis::CarrySettings;
use dermis::internals::rig::Mesh;
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::{Arc, OnceLock};

/// What a mesh got from a body that it lies on: `Model.carried_to` and `Rig.carried_to` make one.
///
/// Every vertex is a mean of vertices of the body, with weights that are never negative and sum to one.
#[pyclass(module = "dermis", frozen)]
pub struct Carried {
    inner: dermis::Carried,
    of: Arc<dermis::Rig>,
    model: OnceLock<Py<Model>>,
}

/// The mesh and the settings of a call.
pub struct Asked {
    mesh: Mesh,
    settings: CarrySettings,
}

impl Asked {
    /// From arrays in the axes and the unit of a rig.
    pub fn new(
        rig: &dermis::Rig,
        vertices: &Bound<'_, PyAny>,
        faces: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        (influences, stiff_islands, falloff): (Option<usize>, f64, Option<f64>),
    ) -> PyResult<Self> {
        not_forked()?;
        let lengths = [("stiff_islands", Some(stiff_islands)), ("falloff", falloff)];
        for (name, value) in lengths.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            let least = if name == "falloff" { 1e-4 } else { 0.0 };
            if !(least..=10.0).contains(&value) {
                return Err(error(format!("{name} is {value}; {least} to 10 is expected")));
            }
        }
        if influences == Some(0) {
            return Err(error("influences is 0; 1 or more is expected"));
        }
        let positions = Floats::of("vertices", vertices, &[&[Extent::Any("V"), Extent::Is(3)]])?;
        let (count, bones) = (positions.shape()[0], rig.skeleton().len());
        let to_ours = rig.space().to_ours();
        let positions = positions.vectors()?.into_iter().map(|p| to_ours.transform_point3(p)).collect();
        let triangles = triangles("faces", faces, count)?;
        let own = |table| Ok::<_, PyErr>(weights_of(table, count, bones)?.normalised().0);
        let settings = CarrySettings { influences, stiff_islands, falloff, weights: weights.map(own).transpose()? };
        Ok(Self { mesh: Mesh { positions, triangles, ..Mesh::default() }, settings })
    }

    /// Carries to the mesh.
    pub fn carried(
        &self,
        py: Python<'_>,
        of: &Arc<dermis::Rig>,
        carry: impl Fn(&Mesh, &CarrySettings) -> Result<dermis::Carried, dermis::Error> + Sync,
    ) -> PyResult<Carried> {
        let inner = py.detach(|| carry(&self.mesh, &self.settings)).map_err(|found| error(found.to_string()))?;
        Ok(Carried { inner, of: Arc::clone(of), model: OnceLock::new() })
    }
}

#[pymethods]
impl Carried {
    /// Skinning weights of the mesh, float64, shape (V, B).
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        table_of(py, self.inner.weights(), self.of.skeleton().len())
    }

    /// The model of the mesh; None if a rig was carried, which has none.
    #[getter]
    fn model(&self, py: Python<'_>) -> PyResult<Option<Py<Model>>> {
        let Some(model) = self.inner.model() else { return Ok(None) };
        if let Some(made) = self.model.get() {
            return Ok(Some(made.clone_ref(py)));
        }
        let made = Py::new(py, Model::from(model.clone()))?;
        Ok(Some(self.model.get_or_init(|| made).clone_ref(py)))
    }

    /// How far the match of every vertex is trusted, 0 to 1, float64, shape (V,). A vertex that is not trusted follows its neighbours.
    #[getter]
    fn trust<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.inner.trust())
    }

    /// Distance of every vertex from the body, float64, shape (V,), in the unit of the rig.
    #[getter]
    fn distances<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let unit = self.of.space().metres_per_unit;
        PyArray1::from_vec(py, self.inner.distances().iter().map(|d| d / unit).collect())
    }

    /// Vertices without a match, int64. Each follows the nearest vertex that has one.
    #[getter]
    fn unmatched<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_vec(py, self.inner.unmatched().iter().map(|&v| i64::from(v)).collect())
    }

    /// The connected pieces of the mesh: dicts with `vertices` (int64), `size` in the unit of the rig, `held` ('smooth', 'nearest', 'rigid' or
    /// 'unmatched') and `trusted`, the part of its area whose match is trusted.
    #[getter]
    fn islands<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyDict>>> {
        let unit = self.of.space().metres_per_unit;
        let island = |island: &dermis::internals::transfer::Island| {
            let made = PyDict::new(py);
            let vertices = island.vertices.iter().map(|&v| i64::from(v)).collect();
            made.set_item("vertices", PyArray1::from_vec(py, vertices))?;
            made.set_item("size", island.size / unit)?;
            made.set_item("held", island.held.name())?;
            made.set_item("trusted", island.trusted)?;
            Ok(made)
        };
        self.inner.islands().iter().map(island).collect()
    }

    /// Numbers of the body on the mesh, such as the displacements of a morph target.
    ///
    /// Parameters
    /// ----------
    /// numbers : array_like, shape (Vb,) or (Vb, K)
    ///     One or several numbers per vertex of the body.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of float64, shape (V,) or (V, K)
    fn apply<'py>(&self, py: Python<'py>, numbers: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        not_forked()?;
        let of_body = self.of.mesh().positions.len();
        let shapes: [&[Extent]; 2] = [&[Extent::Is(of_body)], &[Extent::Is(of_body), Extent::Any("K")]];
        let numbers = Floats::of("numbers", numbers, &shapes)?;
        let (entries, width) = (numbers.entries()?, numbers.shape().get(1).copied());
        let columns = width.unwrap_or(1);
        let carried = py.detach(|| {
            let flat: Vec<f64> = (0..of_body * columns).map(|at| entries.at(at)).collect();
            self.inner.apply(columns, &flat)
        });
        let carried = carried.map_err(|found| error(found.to_string()))?;
        let vertices = self.inner.trust().len();
        let flat = PyArray1::from_vec(py, carried);
        flat.reshape(width.map_or_else(|| vec![vertices], |width| vec![vertices, width]))
    }

    fn __repr__(&self) -> String {
        let model = if self.inner.model().is_some() { "a model" } else { "weights" };
        format!(
            "<dermis.Carried: {model} of {:?} on {} vertices, {} without a match>",
            self.of.name(),
            self.inner.trust().len(),
            self.inner.unmatched().len()
        )
    }
}
