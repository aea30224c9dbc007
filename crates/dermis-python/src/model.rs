//! `dermis.Model`.

use crate::arrays::{Extent, Floats, in_matrix, lent, shape_text};
use crate::carried::{Asked, Carried};
use crate::errors::{error, hinted};
use crate::rig::{Rig, up_of};
use crate::springs::Springs;
use crate::work::{not_forked, quick, said};
use dermis::arrays::{directions_from_ours, positions_from_ours};
use dermis::glam::{DAffine3, DVec3, Vec3};
use dermis::internals::deform::baked::Scratch;
use dermis::internals::deform::normals::MeshNormals;
use dermis::internals::deform::{PoseDistance, PoseError};
use dermis::internals::report::ModelOutcome;
use dermis::internals::rig::BoneTransforms;
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadwriteArrayDyn};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// A fitted model with its rig: poses in, skins out.
///
/// Arrays go in and come out in the rig's own axes and unit: the matrices of a bundle can be passed as they are.
///
/// `Model.open(path)`, `Model.read(bytes)` and `fit(...).model` make one.
#[pyclass(module = "dermis", frozen)]
pub struct Model {
    pub inner: Arc<dermis::Model>,
    pub rig: Arc<dermis::Rig>,
    normals: OnceLock<MeshNormals>,
    /// Memory of evaluation, one set for each call under way.
    memory: Mutex<Vec<Memory>>,
}

/// Memory that evaluation reuses from call to call.
#[derive(Default)]
struct Memory {
    scratch: Vec<Scratch>,
    faces: Vec<dermis::glam::DVec3>,
}

/// Poses that are evaluated together: weights and coefficients are read from memory once for all of them.
const TOGETHER: usize = 32;

/// What a call returns: skins, or skins and normals.
#[derive(IntoPyObject)]
pub enum Skins<'py> {
    /// Positions.
    Positions(Bound<'py, PyAny>),
    /// Positions and unit normals.
    WithNormals(Bound<'py, PyAny>, Bound<'py, PyAny>),
}

#[pymethods]
impl Model {
    /// Opens a model (.dermis).
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file.
    ///
    /// Returns
    /// -------
    /// Model
    #[staticmethod]
    fn open(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(quick(py, || dermis::Model::open(&path))?.into())
    }

    /// Reads a model from the bytes of a file.
    ///
    /// Parameters
    /// ----------
    /// data : bytes
    ///     What `to_bytes` returned, or the content of a .dermis file.
    ///
    /// Returns
    /// -------
    /// Model
    #[staticmethod]
    fn read(py: Python<'_>, data: &[u8]) -> PyResult<Self> {
        not_forked()?;
        let read = py.detach(|| dermis::Model::read(data));
        Ok(read.map_err(said)?.into())
    }

    /// Saves the model. A file of that name is replaced, whole or not at all.
    ///
    /// Parameters
    /// ----------
    /// path : str or os.PathLike
    ///     The file, .dermis.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        quick(py, || self.inner.save(&path))
    }

    /// The bytes of a model file.
    ///
    /// Returns
    /// -------
    /// bytes
    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| {
            let mut bytes = Vec::new();
            self.inner.write(&mut bytes).map(|()| bytes)
        });
        Ok(PyBytes::new(py, &bytes.map_err(said)?))
    }

    /// Evaluates the model.
    ///
    /// Parameters
    /// ----------
    /// pose_matrices : array_like, shape (B, 4, 4) or (N, B, 4, 4)
    ///     Joint to world in each pose, [row, column], bones in the order of `rig.bone_names`, in the rig's own axes and unit.
    /// transforms : array_like, shape (B, 4, 4) or (N, B, 4, 4)
    ///     Instead of `pose_matrices`: M_k = T_k inverse(B_k), rest world to posed world.
    /// out : numpy.ndarray of float32, shape (V, 3) or (N, V, 3), optional
    ///     Memory for the result, C-contiguous and writable; it is written in place and returned.
    /// normals : bool
    ///     Whether to return the unit normals of the deformed mesh as well.
    ///
    /// Returns
    /// -------
    /// numpy.ndarray of float32, shape (V, 3) or (N, V, 3)
    ///     Positions, posed world, in the rig's own axes and unit. With `normals` a pair of positions and normals.
    ///
    /// Raises
    /// ------
    /// dermis.Error
    ///     For arrays of another shape or dtype, entries that are not finite, and an `out` that cannot be written.
    #[pyo3(signature = (pose_matrices = None, *, transforms = None, out = None, normals = false))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        pose_matrices: Option<&Bound<'py, PyAny>>,
        transforms: Option<&Bound<'py, PyAny>>,
        out: Option<&Bound<'py, PyAny>>,
        normals: bool,
    ) -> PyResult<Skins<'py>> {
        not_forked()?;
        let (name, matrices, joints) = match (pose_matrices, transforms) {
            (Some(joints), None) => ("pose_matrices", joints, true),
            (None, Some(transforms)) => ("transforms", transforms, false),
            _ => return Err(error("one of pose_matrices and transforms is expected")),
        };
        let (bones, vertices) = (self.rig.skeleton().len(), self.rig.mesh().positions.len());
        let one = [Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
        let many = [Extent::Any("N"), Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
        let matrices = Floats::of(name, matrices, &[&one, &many])?;
        let poses = if matrices.shape().len() == 3 { 1 } else { matrices.shape()[0] };
        let shape = match matrices.shape().len() {
            3 => vec![vertices, 3],
            _ => vec![poses, vertices, 3],
        };
        let empty =
            || -> PyResult<Bound<'py, PyAny>> { py.import("numpy")?.call_method1("empty", (shape.clone(), "float32")) };
        let target = out.map_or_else(empty, |out| Ok(out.clone()))?;
        let mut positions = lent("out", &target, &shape)?;
        let of_normals = if normals { Some(empty()?) } else { None };
        let mut of_normals_lent = of_normals.as_ref().map(|array| lent("normals", array, &shape)).transpose()?;
        let skins = vectors(&mut positions)?;
        let normal_skins = of_normals_lent.as_mut().map(vectors).transpose()?;
        let (entries, shape_of) = (matrices.entries()?, &matrices.shape()[..matrices.shape().len() - 2]);
        let done = py.detach(|| {
            let pose = |at: usize| {
                let joined = (at * bones..(at + 1) * bones).map(|m| entries.matrix(m).map_err(|found| (m, found)));
                let joined = joined.collect::<Result<Vec<DAffine3>, _>>()?;
                Ok(if joints { self.rig.pose_of_joints(joined) } else { self.rig.pose_of_transforms(joined) })
            };
            let poses = (0..poses).map(pose).collect::<Result<Vec<BoneTransforms>, _>>().map_err(Failed::Matrix)?;
            self.evaluate(&poses, skins, normal_skins).map_err(Failed::Pose)
        });
        done.map_err(|failed| match failed {
            Failed::Matrix((at, found)) => in_matrix(name, at, shape_of, &found),
            Failed::Pose(PoseError::NeedsGiven) => hinted(
                "the model corrects given positions, which cannot be handed in here",
                "fit over a base of its own, or run it with dermis.pose(base_cache=...)",
            ),
            Failed::Pose(found) => error(found.to_string()),
        })?;
        drop((positions, of_normals_lent));
        Ok(match of_normals {
            Some(normals) => Skins::WithNormals(target, normals),
            None => Skins::Positions(target),
        })
    }

    /// How the rest mesh must be displaced so that linear blending with the rig's own weights shows the model's skin.
    ///
    /// For hosts that blend linearly themselves. Where the blended matrix is nearly singular, as in the middle of a half turn,
    /// no displacement reaches the skin; the nearest bounded one is returned and the vertex is counted.
    ///
    /// Parameters
    /// ----------
    /// pose_matrices : array_like, shape (B, 4, 4)
    ///     Joint to world, as in a call of the model.
    /// offsets : array_like, shape (V, 3), optional
    ///     How far every vertex is moved from the model's skin, as `Springs.apply` returns it; posed world, in the rig's own axes and unit.
    ///
    /// Returns
    /// -------
    /// displacements : numpy.ndarray of float32, shape (V, 3)
    ///     In rest space, in the rig's own axes and unit.
    /// unreached : int
    ///     Vertices that no displacement brings to the model's skin.
    ///
    /// Raises
    /// ------
    /// dermis.Error
    ///     For a rig without weights, and whatever a call of the model refuses.
    #[pyo3(signature = (pose_matrices, *, offsets = None))]
    fn displacements<'py>(
        &self,
        py: Python<'py>,
        pose_matrices: &Bound<'py, PyAny>,
        offsets: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyArray2<f32>>, usize)> {
        let pose = self.poses_of(pose_matrices, false)?.remove(0);
        let one_each = [Extent::Is(self.rig.mesh().positions.len()), Extent::Is(3)];
        let to_ours = self.rig.space().to_ours();
        let ours = |offsets| {
            let moved = Floats::of("offsets", offsets, &[&one_each])?.vectors()?;
            Ok::<Vec<DVec3>, PyErr>(moved.into_iter().map(|d| to_ours.transform_vector3(d)).collect())
        };
        let offsets = offsets.map_or(Ok(vec![]), ours)?;
        let found = py.detach(|| self.inner.displacements_of(&pose, &offsets));
        let (mut displacements, unreached) = found.map_err(|found| error(found.to_string()))?;
        directions_from_ours(self.rig.space(), &mut displacements);
        let per_metre = (1.0 / self.rig.space().metres_per_unit) as f32;
        let flat = displacements.iter().flat_map(|d| (*d * per_metre).to_array()).collect();
        Ok((PyArray1::from_vec(py, flat).reshape([displacements.len(), 3])?, unreached))
    }

    /// The springs of secondary motion that the model has learnt.
    ///
    /// Returns
    /// -------
    /// Springs or None
    ///     New ones at every call, at rest; None if the model has learnt none.
    fn springs(&self) -> Option<Springs> {
        let vertices = self.rig.mesh().positions.len();
        Some(Springs::new(self.inner.springs()?, self.rig.space().metres_per_unit, vertices))
    }

    /// How far poses are from those that the model was trained on.
    ///
    /// Parameters
    /// ----------
    /// pose_matrices : array_like, shape (B, 4, 4) or (N, B, 4, 4)
    ///     Joint to world, as in a call of the model.
    ///
    /// Returns
    /// -------
    /// degrees : numpy.ndarray of float64, shape (N,)
    ///     For each pose, the distance of the joint that is farthest from its own nearest training pose. A slide counts as a turn
    ///     of the same length. NaN if the model knows no training poses.
    /// joints : list of str or None
    ///     The bone of that joint.
    fn degrees_from_training<'py>(
        &self,
        py: Python<'py>,
        pose_matrices: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Vec<Option<String>>)> {
        let poses = self.poses_of(pose_matrices, true)?;
        let (skeleton, training) = (self.rig.skeleton(), self.inner.as_file().training());
        let distance = |pose| training.map(|training| training.distance(skeleton, pose));
        let found: Vec<_> = py.detach(|| poses.iter().map(distance).collect());
        let known = |at: &Option<PoseDistance>| at.filter(|at| at.bone.is_some()).map_or(f64::NAN, |at| at.degrees);
        let name = |at: &Option<PoseDistance>| at.and_then(|at| at.bone).map(|bone| skeleton.names()[bone].clone());
        Ok((PyArray1::from_vec(py, found.iter().map(known).collect()), found.iter().map(name).collect()))
    }

    /// Carries the model to a mesh that stands where its body rests: clothes, levels of detail.
    ///
    /// Parameters
    /// ----------
    /// vertices : array_like, shape (V, 3)
    ///     Positions at rest, in the rig's own axes and unit.
    /// faces : array_like of int, shape (F, 3)
    ///     Triangles.
    /// weights : array_like, shape (V, B), optional
    ///     Skinning weights that the mesh keeps; those of the body are carried by default.
    /// influences : int, optional
    ///     Influences per vertex, at most; as many as the body has by default.
    /// stiff_islands : float
    ///     Connected pieces smaller than this are rigid, metres on a body of 1.7 m.
    /// falloff : float, optional
    ///     The distance over which corrections fade off the body, metres on a body of 1.7 m; they do not by default.
    ///
    /// Returns
    /// -------
    /// Carried
    ///
    /// Raises
    /// ------
    /// dermis.Error
    ///     For a mesh that does not lie on the body, and a model whose numbers belong to its own vertices.
    #[pyo3(signature = (vertices, faces, *, weights = None, influences = None, stiff_islands = 0.03, falloff = None))]
    fn carried_to(
        &self,
        py: Python<'_>,
        vertices: &Bound<'_, PyAny>,
        faces: &Bound<'_, PyAny>,
        weights: Option<&Bound<'_, PyAny>>,
        influences: Option<usize>,
        stiff_islands: f64,
        falloff: Option<f64>,
    ) -> PyResult<Carried> {
        let asked = Asked::new(&self.rig, vertices, faces, weights, (influences, stiff_islands, falloff))?;
        asked.carried(py, &self.rig, |mesh, settings| self.inner.carried_to(mesh, settings))
    }

    /// The rig that it was fitted on.
    #[getter]
    fn rig(&self) -> Rig {
        Rig { inner: Arc::clone(&self.rig), file: None }
    }

    /// The method that made it, such as 'joint'.
    #[getter]
    fn method(&self) -> &str {
        &self.inner.as_file().header.method
    }

    /// What the fit was set to and what it chose, as text by name.
    #[getter]
    fn settings(&self) -> std::collections::BTreeMap<String, String> {
        self.inner.as_file().header.settings.iter().cloned().collect()
    }

    /// Bytes that evaluation reads.
    #[getter]
    fn nbytes(&self) -> usize {
        self.inner.as_file().baked().bytes()
    }

    #[getter]
    fn _recipe(&self) -> Option<String> {
        self.inner.as_file().header.recipe.as_ref().map(ToString::to_string)
    }

    #[getter]
    fn _report(&self) -> String {
        self.inner.as_file().header.report.to_string()
    }

    /// A page that shows the model without scores: settings and what its fit reported.
    fn _html(&self, py: Python<'_>) -> String {
        py.detach(|| {
            let model = self.inner.as_file();
            let (sets, comparison, further, files) = (vec![], vec![], vec![], vec![]);
            ModelOutcome { model, fit: None, sets, comparison, further, files, command: None, pass: None }
                .page()
                .to_html()
        })
    }

    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<String> {
        let py = slf.py();
        let page = slf.get()._html(py);
        py.import("dermis._fit")?.getattr("iframe")?.call1((page,))?.extract()
    }

    fn __repr__(&self) -> String {
        format!(
            "<dermis.Model {:?} of {:?}: {} vertices, {} bones, {:.2} MB, up {:?}, unit {} m>",
            self.method(),
            self.rig.name(),
            self.rig.mesh().positions.len(),
            self.rig.skeleton().len(),
            self.nbytes() as f64 / 1e6,
            up_of(self.rig.space()),
            self.rig.space().metres_per_unit,
        )
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyTuple>)> {
        let py = slf.py();
        let bytes = slf.get().to_bytes(py)?;
        Ok((slf.get_type().getattr("read")?, PyTuple::new(py, [bytes])?))
    }
}

/// Why a call failed off the interpreter.
enum Failed {
    /// A matrix, by its number.
    Matrix((usize, dermis::arrays::ArrayError)),
    Pose(PoseError),
}

impl From<dermis::Model> for Model {
    fn from(model: dermis::Model) -> Self {
        let rig = Arc::new(model.rig());
        Self { inner: Arc::new(model), rig, normals: OnceLock::new(), memory: Mutex::default() }
    }
}

impl Model {
    /// Poses of matrices (B, 4, 4), or (N, B, 4, 4) where many are taken.
    fn poses_of(&self, pose_matrices: &Bound<'_, PyAny>, many: bool) -> PyResult<Vec<BoneTransforms>> {
        not_forked()?;
        let bones = self.rig.skeleton().len();
        let one = [Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
        let several = [Extent::Any("N"), Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
        let shapes: &[&[Extent]] = if many { &[&one, &several] } else { &[&one] };
        let joints = Floats::of("pose_matrices", pose_matrices, shapes)?.matrices("pose_matrices")?;
        Ok(joints.chunks(bones).map(|joints| self.rig.pose_of_joints(joints.iter().copied())).collect())
    }

    /// Skins of all poses into `out`, one after another, in the rig's own axes and unit.
    fn evaluate(
        &self,
        poses: &[BoneTransforms],
        out: &mut [Vec3],
        normals: Option<&mut [Vec3]>,
    ) -> Result<(), PoseError> {
        let vertices = self.rig.mesh().positions.len();
        let free = || self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let mut memory = free().pop().unwrap_or_default();
        let baked = self.inner.as_file().baked();
        for (poses, out) in poses.chunks(TOGETHER).zip(out.chunks_mut(TOGETHER * vertices)) {
            match (poses, &mut *out) {
                ([pose], out) => {
                    memory.scratch.resize_with(memory.scratch.len().max(1), Scratch::default);
                    baked.evaluate(pose, None, &mut memory.scratch[0], out)?;
                }
                (poses, out) => {
                    let poses: Vec<_> = poses.iter().map(|pose| (pose, None)).collect();
                    let mut skins: Vec<&mut [Vec3]> = out.chunks_mut(vertices).collect();
                    baked.evaluate_many(&poses, &mut memory.scratch, &mut skins)?;
                }
            }
        }
        if let Some(normals) = normals {
            let mesh = self.normals();
            for (skin, normals) in out.chunks(vertices).zip(normals.chunks_mut(vertices)) {
                mesh.compute_with(skin, &mut memory.faces, normals);
            }
            directions_from_ours(self.rig.space(), normals);
        }
        positions_from_ours(self.rig.space(), out);
        free().push(memory);
        Ok(())
    }

    fn normals(&self) -> &MeshNormals {
        self.normals.get_or_init(|| {
            let mesh = self.rig.mesh();
            // A rig's triangles name vertices that exist.
            MeshNormals::new(&mesh.triangles, mesh.positions.len()).unwrap_or_else(|_| unreachable!())
        })
    }
}

/// Evaluates a model `passes` times in every pose of (N, B, 4, 4) by Rust's own runner; the seconds of the fastest pass. What the
/// package is measured against.
#[pyfunction]
#[pyo3(name = "_runner_seconds")]
pub fn runner_seconds(py: Python<'_>, model: &Model, pose_matrices: &Bound<'_, PyAny>, passes: usize) -> PyResult<f64> {
    let bones = model.rig.skeleton().len();
    let shape = [Extent::Any("N"), Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
    let joints = Floats::of("pose_matrices", pose_matrices, &[&shape])?.matrices("pose_matrices")?;
    let poses: Vec<BoneTransforms> =
        joints.chunks(bones).map(|joints| model.rig.pose_of_joints(joints.iter().copied())).collect();
    let seconds = py.detach(|| {
        let mut runner = model.inner.runner();
        let mut fastest = f64::INFINITY;
        for _ in 0..passes {
            let start = Instant::now();
            poses.iter().try_for_each(|pose| runner.skin(pose).map(drop))?;
            fastest = fastest.min(start.elapsed().as_secs_f64());
        }
        Ok::<_, PoseError>(fastest)
    });
    seconds.map_err(said)
}

/// Lent memory as vectors.
fn vectors<'a>(array: &'a mut PyReadwriteArrayDyn<'_, f32>) -> PyResult<&'a mut [Vec3]> {
    let shape = shape_text(array.as_array().shape());
    match array.as_slice_mut().map(bytemuck::try_cast_slice_mut::<f32, Vec3>) {
        Ok(Ok(vectors)) => Ok(vectors),
        _ => Err(error(format!("memory of shape {shape} holds no vectors"))),
    }
}
