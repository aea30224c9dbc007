//! `dermis.Rig`.

use crate::arrays::{Extent, Floats, integers};
use crate::carried::{Asked, Carried};
use crate::errors::{error, hinted, of_arrays};
use crate::work::{quick, said};
use dermis::arrays::{RigArrays, space};
use dermis::internals::deform::{Base, Deformer, RiggedDeformer};
use dermis::internals::io::{ModelFile, ModelHeader, Space, UpAxis};
use dermis::internals::rig::{BoneIndex, Influences, Polygons};
use numpy::{PyArray1, PyArray2, PyArray3, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// A character before it is posed: mesh, skeleton and skinning weights.
///
/// Arrays go in and come out in the rig's own axes and unit, those of its file: `up` and `unit` name them.
///
/// Parameters
/// ----------
/// rest_vertices : array_like, shape (V, 3)
///     Position of each vertex at rest, in units of `unit`, with `up` upwards.
/// faces : array_like of int, shape (F, 3)
///     Triangles, counter-clockwise seen from outside.
/// face_counts : array_like of int, shape (P,), optional
///     Corners of the polygons that the triangles are made of: smoothing follows their edges. Comes with `face_indices`.
/// face_indices : array_like of int, shape (N,), optional
///     The corners, polygon after polygon.
/// bone_names : sequence of str, length B
///     Names of the bones, parents first.
/// bone_parents : array_like of int, shape (B,)
///     Index of each bone's parent, -1 for a root.
/// bind_matrices : array_like, shape (B, 4, 4)
///     Joint to world at rest, [row, column], for column vectors.
/// weights : array_like, shape (V, B), optional
///     Skinning weights. Rows are scaled to sum to one; negative weights are taken as zero. `warnings` counts both.
/// up : {'y', 'z'}
///     The axis that points up.
/// unit : float
///     Metres per unit.
/// name : str
///     What the rig is called in reports.
///
/// Raises
/// ------
/// dermis.Error
///     For arrays that do not belong together; the message names argument, expected and found shape.
#[pyclass(module = "dermis", frozen)]
pub struct Rig {
    pub inner: Arc<dermis::Rig>,
    /// The file that it was opened from.
    pub file: Option<PathBuf>,
}

#[pymethods]
impl Rig {
    #[new]
    #[pyo3(signature = (*, rest_vertices, faces, bone_names, bone_parents, bind_matrices, weights = None, face_counts = None, face_indices = None, up = "y", unit = 1.0, name = "rig"))]
    fn new(
        py: Python<'_>,
        rest_vertices: &Bound<'_, PyAny>,
        faces: &Bound<'_, PyAny>,
        bone_names: Vec<String>,
        bone_parents: &Bound<'_, PyAny>,
        bind_matrices: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        face_counts: Option<&Bound<'_, PyAny>>,
        face_indices: Option<&Bound<'_, PyAny>>,
        up: &str,
        unit: f64,
        name: &str,
    ) -> PyResult<Self> {
        let space = space_of(up, unit)?;
        let rest = Floats::of("rest_vertices", rest_vertices, &[&[Extent::Any("V"), Extent::Is(3)]])?;
        let (vertices, bones) = (rest.shape()[0], bone_names.len());
        let corners = triangles("faces", faces, vertices)?;
        let (bone_parents, _) = integers("bone_parents", bone_parents, &[&[Extent::Is(bones)]])?;
        if let Some(at) = bone_parents.iter().position(|parent| *parent < -1) {
            return Err(error(format!("bone_parents: entry {at} is {}; a root has -1", bone_parents[at])));
        }
        let of_bones = [Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
        let bind_matrices = Floats::of("bind_matrices", bind_matrices, &[&of_bones])?.matrices("bind_matrices")?;
        let weights = weights.map(|table| weights_of(table, vertices, bones)).transpose()?;
        let arrays = RigArrays {
            name: name.into(),
            space,
            rest_vertices: rest.vectors()?,
            faces: corners,
            polygons: polygons(face_counts, face_indices)?,
            bone_names,
            bone_parents,
            bind_matrices,
            weights,
        };
        Ok(py.detach(|| dermis::Rig::from_arrays(arrays)).map_err(|found| of_arrays(&found))?.into())
    }

    /// Opens a rig: a skinned .glb, .gltf or .fbx, or a bundle (.npz).
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file.
    ///
    /// Returns
    /// -------
    /// Rig
    ///
    /// Raises
    /// ------
    /// dermis.Error
    ///     Naming the file and what it lacks.
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let inner = Arc::new(quick(py, || dermis::Rig::open(&path))?);
        Ok(Self { inner, file: Some(path) })
    }

    /// What the rig is called in reports: the name of its file.
    #[getter]
    fn name(&self) -> &str {
        self.inner.name()
    }

    /// The axis that points up in its arrays: 'y' or 'z'.
    #[getter]
    fn up(&self) -> &'static str {
        up_of(self.inner.space())
    }

    /// Metres per unit of its arrays.
    #[getter]
    fn unit(&self) -> f64 {
        self.inner.space().metres_per_unit
    }

    /// Positions at rest, float64, shape (V, 3), in the rig's own axes and unit.
    #[getter]
    fn rest_vertices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let from_ours = self.inner.space().to_ours().inverse();
        let positions = self.inner.mesh().positions.iter().flat_map(|p| from_ours.transform_point3(*p).to_array());
        let flat = PyArray1::from_vec(py, positions.collect());
        flat.reshape([self.inner.mesh().positions.len(), 3])
    }

    /// Triangles, int64, shape (F, 3).
    #[getter]
    fn faces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let triangles = &self.inner.mesh().triangles;
        PyArray1::from_vec(py, triangles.iter().flatten().map(|&v| i64::from(v)).collect())
            .reshape([triangles.len(), 3])
    }

    /// Names of the bones, in the order of every array of matrices.
    #[getter]
    fn bone_names(&self) -> Vec<String> {
        self.inner.skeleton().names().iter().cloned().collect()
    }

    /// Index of each bone's parent, -1 for a root; int64, shape (B,).
    #[getter]
    fn bone_parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let parents = self.inner.skeleton().parents().iter();
        PyArray1::from_vec(py, parents.map(|p| p.map_or(-1, |p| p.get() as i64)).collect())
    }

    /// Joint to world at rest, float64, shape (B, 4, 4), in the rig's own axes and unit.
    #[getter]
    fn bind_matrices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let space = self.inner.space();
        let bind = self.inner.skeleton().bind().iter().map(|b| space.joint_from_ours(*b));
        let entries = bind.flat_map(|b| dermis::arrays::entries(&b)).collect();
        PyArray1::from_vec(py, entries).reshape([self.inner.skeleton().len(), 4, 4])
    }

    /// Skinning weights, float64, shape (V, B), or None.
    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        self.inner.weights().map(|weights| table_of(py, weights, self.inner.skeleton().len())).transpose()
    }

    /// The meshes of its file, if it has several: name and number of vertices of each, in the order of the vertices.
    #[getter]
    fn objects(&self) -> Vec<(String, u32)> {
        self.inner.mesh().objects.iter().map(|object| (object.name.clone(), object.vertices)).collect()
    }

    /// Carries the skinning weights to a mesh that stands where the body rests: clothes, levels of detail.
    ///
    /// Parameters
    /// ----------
    /// vertices : array_like, shape (V, 3)
    ///     Positions at rest, in the rig's own axes and unit.
    /// faces : array_like of int, shape (F, 3)
    ///     Triangles.
    /// influences : int, optional
    ///     Influences per vertex, at most; as many as the body has by default.
    /// stiff_islands : float
    ///     Connected pieces smaller than this are rigid, metres on a body of 1.7 m.
    ///
    /// Returns
    /// -------
    /// Carried
    ///
    /// Raises
    /// ------
    /// dermis.Error
    ///     For a rig without weights, and a mesh that does not lie on the body.
    #[pyo3(signature = (vertices, faces, *, influences = None, stiff_islands = 0.03))]
    fn carried_to(
        &self,
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        faces: &Bound<'_, PyAny>,
        influences: Option<usize>,
        stiff_islands: f64,
    ) -> PyResult<Carried> {
        let asked = Asked::new(&self.inner, vertices, faces, None, (influences, stiff_islands, None))?;
        asked.carried(py, &self.inner, |mesh, settings| self.inner.carried_to(mesh, settings))
    }

    /// Flaws of the file or the arrays that were mended, and what else was noted when they were read.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.files().iter().flat_map(|note| note.remarks.clone()).collect()
    }

    fn __repr__(&self) -> String {
        let rig = &self.inner;
        let weights = if rig.weights().is_some() { "with weights" } else { "without weights" };
        format!(
            "<dermis.Rig {:?}: {} vertices, {} bones, {weights}, up {:?}, unit {} m>",
            rig.name(),
            rig.mesh().positions.len(),
            rig.skeleton().len(),
            self.up(),
            self.unit(),
        )
    }

    /// A model file without a correction holds everything of a rig, to the last bit.
    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let inner = &slf.get().inner;
        let bytes = py.detach(|| bytes_of(inner))?;
        let restore = slf.get_type().getattr("_from_bytes")?;
        Ok((restore, PyTuple::new(py, [PyBytes::new(py, &bytes)])?))
    }

    #[staticmethod]
    fn _from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(dermis::Model::read(bytes).map_err(said)?.rig().into())
    }
}

impl From<dermis::Rig> for Rig {
    fn from(rig: dermis::Rig) -> Self {
        Self { inner: Arc::new(rig), file: None }
    }
}

/// The rig as the bytes of a model of given positions, which needs no weights.
fn bytes_of(rig: &dermis::Rig) -> PyResult<Vec<u8>> {
    let deformer = Deformer::new(rig.mesh().positions.clone(), Base::Given, None).map_err(said)?;
    let model = RiggedDeformer::new((**rig).clone(), None, deformer.into_baked(), None).map_err(said)?;
    let header = ModelHeader {
        method: "given".into(),
        program: dermis::internals::workflow::PROGRAM.into(),
        ..ModelHeader::default()
    };
    let mut bytes = Vec::new();
    dermis::Model::from(ModelFile { model, space: rig.space().clone(), header }).write(&mut bytes).map_err(said)?;
    Ok(bytes)
}

/// Axes and unit by Python's names.
///
/// # Errors
/// `dermis.Error` for another axis, or a unit that is no length.
pub fn space_of(up: &str, unit: f64) -> PyResult<Space> {
    let axis = match up {
        "y" | "Y" => UpAxis::Y,
        "z" | "Z" => UpAxis::Z,
        other => return Err(error(format!("up is {other:?}; 'y' or 'z' is expected"))),
    };
    space(axis, unit).map_err(|found| hinted(format!("unit: {found}"), "unit is the length of a unit in metres"))
}

/// The axis that points up, by Python's name.
pub fn up_of(space: &Space) -> &'static str {
    match space.up {
        UpAxis::Y => "y",
        UpAxis::Z => "z",
    }
}

/// Polygons of their counts and corners; none without both.
fn polygons(counts: Option<&Bound<'_, PyAny>>, indices: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Polygons>> {
    let numbers = |name: &str, list: &Bound<'_, PyAny>| {
        let (numbers, _) = integers(name, list, &[&[Extent::Any("N")]])?;
        let number = |number: &i64| u32::try_from(*number).map_err(|_| error(format!("{name} holds {number}")));
        numbers.iter().map(number).collect::<PyResult<Vec<u32>>>()
    };
    match (counts, indices) {
        (Some(counts), Some(indices)) => {
            let (counts, indices) = (numbers("face_counts", counts)?, numbers("face_indices", indices)?);
            Ok(Some(Polygons { counts, indices }))
        }
        (None, None) => Ok(None),
        _ => Err(error("face_counts and face_indices come together".to_owned())),
    }
}

/// Weights of an array (V, B).
pub fn weights_of(table: &Bound<'_, PyAny>, vertices: usize, bones: usize) -> PyResult<Influences> {
    let numbers = Floats::of("weights", table, &[&[Extent::Is(vertices), Extent::Is(bones)]])?;
    let entries = numbers.entries()?;
    let row = |v: usize| {
        let values = (0..bones).map(|b| (BoneIndex::new(b), entries.at(v * bones + b)));
        values.filter(|(_, value)| *value != 0.0).collect()
    };
    let made = table.py().detach(|| Influences::from_rows((0..vertices).map(row)));
    made.map_err(|found| of_arrays(&found.into()))
}

/// Weights as an array (V, B).
pub fn table_of<'py>(py: Python<'py>, weights: &Influences, bones: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let mut table = vec![0.0; weights.vertices() * bones];
    for (v, row) in weights.rows().enumerate() {
        row.iter().for_each(|(bone, value)| table[v * bones + bone.get()] = *value);
    }
    PyArray1::from_vec(py, table).reshape([weights.vertices(), bones])
}

/// Triangles of an array (F, 3), each corner a vertex that exists.
///
/// # Errors
/// `dermis.Error`.
pub fn triangles(name: &str, faces: &Bound<'_, PyAny>, vertices: usize) -> PyResult<Vec<[u32; 3]>> {
    let (corners, _) = integers(name, faces, &[&[Extent::Any("F"), Extent::Is(3)]])?;
    let corner = |(at, vertex): (usize, &i64)| match u32::try_from(*vertex) {
        Ok(corner) if (corner as usize) < vertices => Ok(corner),
        _ => Err(error(format!("{name}: face {} names vertex {vertex}, but there are {vertices} vertices", at / 3))),
    };
    let corners = corners.iter().enumerate().map(corner).collect::<PyResult<Vec<u32>>>()?;
    Ok(corners.as_chunks::<3>().0.to_vec())
}
