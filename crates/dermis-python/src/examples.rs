//! `dermis.Examples`.

use crate::arrays::{Extent, Floats, Numbers};
use crate::errors::{error, of_examples};
use crate::rig::Rig;
use crate::work::work;
use dermis::arrays::ExampleArrays;
use dermis::glam::DVec3;
use dermis::internals::files::load::Source;
use dermis::internals::rig::{BoneTransforms, Example, ExampleSet, LocalSculpt};
use numpy::{PyArray1, PyArray2, PyArray3, PyArray4, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// Poses of a rig with the skin in each.
///
/// Arrays go in and come out in the rig's own axes and unit: those of a bundle (`numpy.load`) can be passed as they are.
///
/// Parameters
/// ----------
/// rig : Rig
///     The rig that is posed.
/// pose_matrices : array_like, shape (P, B, 4, 4)
///     Joint to world in each pose, [row, column], bones in the order of `rig.bone_names`.
/// vertices : array_like, shape (P, V, 3)
///     The skin in each pose, posed world.
/// labels : sequence of str, length P, optional
///     What the poses are called in reports; their numbers by default.
/// times : array_like, shape (P,), optional
///     Seconds. Poses with times are frames of one clip: neighbours resemble each other, and validation leaves out blocks.
/// importances : array_like, shape (P,), optional
///     Multiply the residuals of each pose in a fit; 1 by default, 0 leaves the pose out.
/// mask : array_like, shape (P, V), optional
///     From 0 to 1: vertices above 0.5 were sculpted. By default all were, or with `shown` those that differ from it.
/// shown : array_like, shape (P, V, 3), optional
///     The skin that the artist was shown; by default the base of a fit.
///
/// Raises
/// ------
/// dermis.Error
///     For arrays that do not suit the rig, and entries that are not finite.
#[pyclass(module = "dermis", frozen)]
pub struct Examples {
    pub inner: Arc<dermis::Examples>,
    pub rig: Arc<dermis::Rig>,
    /// The files that they were opened from; none for examples of arrays.
    pub sources: Vec<Source>,
}

#[pymethods]
impl Examples {
    #[new]
    #[pyo3(signature = (rig, pose_matrices, vertices, labels = None, times = None, importances = None, mask = None, shown = None))]
    fn new(
        py: Python<'_>,
        rig: &Rig,
        pose_matrices: &Bound<'_, PyAny>,
        vertices: &Bound<'_, PyAny>,
        labels: Option<Vec<String>>,
        times: Option<&Bound<'_, PyAny>>,
        importances: Option<&Bound<'_, PyAny>>,
        mask: Option<&Bound<'_, PyAny>>,
        shown: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let rig = &rig.inner;
        let (bones, count) = (rig.skeleton().len(), rig.mesh().positions.len());
        let of_bones = [Extent::Any("P"), Extent::Is(bones), Extent::Is(4), Extent::Is(4)];
        let matrices = Floats::of("pose_matrices", pose_matrices, &[&of_bones])?;
        let poses = matrices.shape()[0];
        let skins = Floats::of("vertices", vertices, &[&[Extent::Is(poses), Extent::Is(count), Extent::Is(3)]])?;
        if let Some(found) = labels.as_ref().map(Vec::len).filter(|found| *found != poses) {
            return Err(error(format!("labels has {found} entries; there are {poses} poses")));
        }
        if poses == 0 {
            return Err(error("pose_matrices holds no pose"));
        }
        let of_poses =
            |name, list: Option<_>| list.map(|list| Floats::of(name, list, &[&[Extent::Is(poses)]])).transpose();
        let (times, importances) = (of_poses("times", times)?, of_poses("importances", importances)?);
        let joints = matrices.matrices("pose_matrices")?;
        let entries = skins.entries()?;
        let times = times.as_ref().map(Floats::entries).transpose()?;
        let importances = importances.as_ref().map(Floats::entries).transpose()?;
        let of_skins = [Extent::Is(poses), Extent::Is(count), Extent::Is(3)];
        let mask = mask.map(|mask| Floats::of("mask", mask, &[&of_skins[..2]])).transpose()?;
        let shown = shown.map(|shown| Floats::of("shown", shown, &[&of_skins])).transpose()?;
        let mask = mask.as_ref().map(Floats::entries).transpose()?;
        let shown = shown.as_ref().map(Floats::entries).transpose()?;
        // Skins are the bulk of what a fit reads, and other threads, such as that of a window, go on while they are copied.
        let set = py.detach(|| {
            let outside = |m: Numbers<'_>| (0..poses * count).find(|&at| !(0.0..=1.0).contains(&m.at(at)));
            if let Some(at) = mask.and_then(outside) {
                return Err(format!("mask: pose {}, vertex {} is not from 0 to 1", at / count, at % count));
            }
            let local = |at: usize| {
                let of_vertices = at * count..(at + 1) * count;
                (mask.is_some() || shown.is_some()).then(|| LocalSculpt {
                    mask: mask.map(|mask| of_vertices.clone().map(|v| mask.at(v) > 0.5).collect()),
                    shown: shown.map(|shown| of_vertices.map(|v| shown.vector(v)).collect()),
                })
            };
            let label = |at: usize| labels.as_ref().map_or_else(|| at.to_string(), |labels| labels[at].clone());
            let example = |at: usize| ExampleArrays {
                label: label(at),
                time: times.map(|times| times.at(at)),
                pose: rig.pose_of_joints(joints[at * bones..][..bones].iter().copied()),
                vertices: (at * count..(at + 1) * count).map(|v| entries.vector(v)).collect(),
                importance: importances.map_or(1.0, |importances| importances.at(at)),
                local: local(at),
            };
            Ok(dermis::Examples::from_arrays(rig, "examples", (0..poses).map(example)))
        });
        let inner = Arc::new(set.map_err(error)?.map_err(|found| of_examples(&found))?);
        Ok(Self { inner, rig: Arc::clone(rig), sources: vec![] })
    }

    /// Opens examples: bundles (.npz), sculpts as morph targets, or a motion followed by its skins (walk.glb walk.pc2).
    ///
    /// Parameters
    /// ----------
    /// rig : Rig
    ///     The rig that is posed.
    /// *files : str or os.PathLike
    ///     The files. 'walk.glb#Walk' is the clip Walk of walk.glb, 'poses.npz#arm*' the records of poses.npz whose labels
    ///     begin with arm.
    ///
    /// Returns
    /// -------
    /// Examples
    ///
    /// Raises
    /// ------
    /// dermis.Error
    ///     Naming the file, for what does not match the rig.
    #[staticmethod]
    #[pyo3(signature = (rig, *files))]
    fn open(py: Python<'_>, rig: &Rig, files: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let sources = sources(files)?;
        let inner = Arc::clone(&rig.inner);
        let named = sources.clone();
        let examples = work(py, None, move |_| dermis::Examples::open(&inner, named))?;
        Ok(Self { inner: Arc::new(examples), rig: Arc::clone(&rig.inner), sources })
    }

    /// Joint to world in each pose, float64, shape (P, B, 4, 4), in the rig's own axes and unit.
    #[getter]
    fn pose_matrices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray4<f64>>> {
        let (space, skeleton) = (self.rig.space(), self.rig.skeleton());
        let examples = self.inner.examples();
        let world = examples.iter().flat_map(|e| skeleton.world_pose(&e.transforms).bones.into_vec());
        let entries = world.flat_map(|joint| dermis::arrays::entries(&space.joint_from_ours(joint))).collect();
        PyArray1::from_vec(py, entries).reshape([examples.len(), skeleton.len(), 4, 4])
    }

    /// The skin in each pose, float64, shape (P, V, 3), in the rig's own axes and unit.
    #[getter]
    fn vertices<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray3<f64>>> {
        let from_ours = self.rig.space().to_ours().inverse();
        let examples = self.inner.examples();
        let entries = py.detach(|| {
            let positions = examples.iter().flat_map(|e| &e.positions);
            positions.flat_map(|p| from_ours.transform_point3(*p).to_array()).collect()
        });
        PyArray1::from_vec(py, entries).reshape([examples.len(), self.rig.mesh().positions.len(), 3])
    }

    /// What the poses are called in reports.
    #[getter]
    fn labels(&self) -> Vec<String> {
        self.inner.examples().iter().map(|example| example.label.clone()).collect()
    }

    /// Seconds of each pose, None for a pose without.
    #[getter]
    fn times(&self) -> Vec<Option<f64>> {
        self.inner.examples().iter().map(|example| example.time).collect()
    }

    /// What multiplies the residuals of each pose in a fit.
    #[getter]
    fn importances(&self) -> Vec<f64> {
        self.inner.examples().iter().map(|example| example.importance).collect()
    }

    /// The vertices of each pose that were sculpted, float64, shape (P, V); None where all were or no mask is stated.
    #[getter]
    fn mask<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray2<f64>>>> {
        let examples = self.inner.examples();
        let of = |e: &Example| e.local.as_ref().and_then(|local| local.mask.clone());
        if examples.iter().all(|e| of(e).is_none()) {
            return Ok(None);
        }
        let count = self.rig.mesh().positions.len();
        let bits = examples.iter().flat_map(|e| of(e).unwrap_or_else(|| vec![true; count]));
        let entries = bits.map(|touched| f64::from(u8::from(touched))).collect();
        PyArray1::from_vec(py, entries).reshape([examples.len(), count]).map(Some)
    }

    /// The skin that the artist of each pose was shown, float64, shape (P, V, 3), in the rig's own axes and unit. NaN for a pose that
    /// states none; None where no pose states one.
    #[getter]
    fn shown<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyArray3<f64>>>> {
        let from_ours = self.rig.space().to_ours().inverse();
        let (examples, count) = (self.inner.examples(), self.rig.mesh().positions.len());
        if examples.iter().all(|e| e.local.as_ref().is_none_or(|local| local.shown.is_none())) {
            return Ok(None);
        }
        let of = |e: &Example| e.local.as_ref().and_then(|local| local.shown.clone());
        let points = examples.iter().flat_map(|e| of(e).unwrap_or_else(|| vec![DVec3::NAN; count]));
        let entries = points.flat_map(|p| from_ours.transform_point3(p).to_array()).collect();
        PyArray1::from_vec(py, entries).reshape([examples.len(), count, 3]).map(Some)
    }

    /// Flaws of the files that were mended, and how vertices were matched.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.inner.files().iter().flat_map(|note| note.remarks.clone()).collect()
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __repr__(&self) -> String {
        let kind = if self.inner.is_clip() { "frames of a clip" } else { "poses" };
        format!("<dermis.Examples {:?}: {} {kind} of {:?}>", self.inner.name, self.inner.len(), self.rig.name())
    }

    /// The poses at these places, as examples of their own.
    ///
    /// Parameters
    /// ----------
    /// indices : sequence of int
    ///     Numbers of poses, from 0.
    ///
    /// Returns
    /// -------
    /// Examples
    fn subset(&self, py: Python<'_>, indices: Vec<usize>) -> PyResult<Self> {
        if let Some(at) = indices.iter().find(|at| **at >= self.inner.len()) {
            return Err(error(format!("indices: there is no pose {at} of {}", self.inner.len())));
        }
        let inner = py.detach(|| Arc::new(dermis::Examples::from(self.inner.subset(&indices))));
        Ok(Self { inner, rig: Arc::clone(&self.rig), sources: vec![] })
    }

    /// The poses of several sets of one rig, in order.
    ///
    /// Parameters
    /// ----------
    /// sets : sequence of Examples
    ///     The sets; at least one.
    ///
    /// Returns
    /// -------
    /// Examples
    #[staticmethod]
    fn joined(py: Python<'_>, sets: Vec<PyRef<'_, Self>>) -> PyResult<Self> {
        let Some(first) = sets.first() else { return Err(error("sets: at least one is expected, got none")) };
        let rig = Arc::clone(&first.rig);
        sets.iter().enumerate().try_for_each(|(at, set)| set.of_rig(&format!("sets[{at}]"), &rig))?;
        let sets: Vec<_> = sets.iter().map(|set| Arc::clone(&set.inner)).collect();
        let join = |all: ExampleSet, set: &Arc<dermis::Examples>| all.joined((***set).clone());
        let all = py.detach(|| sets.iter().fold(ExampleSet::default(), join));
        Ok(Self { inner: Arc::new(all.into()), rig, sources: vec![] })
    }

    /// The poses that validation leaves out together.
    ///
    /// Parameters
    /// ----------
    /// count : int
    ///     How many folds at most.
    ///
    /// Returns
    /// -------
    /// list of list of int
    ///     Contiguous blocks for a clip, every `count`-th pose otherwise, and always all examples of one pose together. Empty
    ///     where there is nothing to leave out.
    fn folds(&self, count: usize) -> Vec<Vec<usize>> {
        dermis::internals::workflow::verbs::fit::folds(&self.inner, self.rig.mesh().extent(), count)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, State<'py>)> {
        let py = slf.py();
        let this = slf.get();
        let rig = Py::new(py, Rig { inner: Arc::clone(&this.rig), file: None })?;
        let examples = this.inner.examples();
        let transforms = examples.iter().flat_map(|e| e.transforms.iter()).flat_map(|m| m.to_cols_array());
        let positions = examples.iter().flat_map(|e| &e.positions).flat_map(|p| p.to_array());
        let beside = examples.iter().map(|e| {
            let channels = e.transforms.channels().iter().map(|(name, value)| (name.to_string(), *value)).collect();
            let local = e.local.as_ref().map(|local| {
                let shown = local.shown.as_ref().map(|skin| skin.iter().map(|p| p.to_array()).collect());
                (local.mask.clone(), shown)
            });
            (e.label.clone(), e.time, e.importance, channels, local)
        });
        let state = (
            rig,
            this.inner.name.clone(),
            PyArray1::from_vec(py, transforms.collect()),
            PyArray1::from_vec(py, positions.collect()),
            beside.collect(),
        );
        Ok((slf.get_type().getattr("_restore")?, state))
    }

    #[staticmethod]
    fn _restore(
        rig: &Rig,
        name: String,
        transforms: &Bound<'_, PyArray1<f64>>,
        positions: &Bound<'_, PyArray1<f64>>,
        beside: Vec<Beside>,
    ) -> PyResult<Self> {
        let (bones, vertices) = (rig.inner.skeleton().len(), rig.inner.mesh().positions.len());
        let (transforms, positions) = (transforms.try_readonly()?, positions.try_readonly()?);
        let (transforms, positions) = (transforms.as_slice()?, positions.as_slice()?);
        if transforms.len() != 12 * bones * beside.len() || positions.len() != 3 * vertices * beside.len() {
            return Err(error("the pickled examples are damaged"));
        }
        let (transforms, positions) = (transforms.as_chunks::<12>().0, positions.as_chunks::<3>().0);
        let example = |(at, (label, time, importance, channels, local)): (usize, Beside)| Example {
            label,
            time,
            transforms: BoneTransforms::new(
                transforms[at * bones..][..bones].iter().map(dermis::glam::DAffine3::from_cols_array).collect(),
            )
            .with_channels(channels.into_iter().map(|(name, value)| (name.into(), value)).collect()),
            positions: positions[at * vertices..][..vertices].iter().copied().map(DVec3::from).collect(),
            importance,
            local: local.map(|(mask, shown)| LocalSculpt {
                mask,
                shown: shown.map(|skin| skin.into_iter().map(DVec3::from).collect()),
            }),
        };
        let examples = beside.into_iter().enumerate().map(example).collect();
        let set = ExampleSet::new(name, examples, &rig.inner).map_err(|found| of_examples(&found))?;
        Ok(Self { inner: Arc::new(set.into()), rig: Arc::clone(&rig.inner), sources: vec![] })
    }
}

/// Label, time, importance and channels of an example, and what was sculpted of it.
type Beside = (String, Option<f64>, f64, Vec<(String, f64)>, Option<Local>);

/// Mask and shown skin of a local sculpt.
type Local = (Option<Vec<bool>>, Option<Vec<[f64; 3]>>);

/// What examples are pickled as: to the last bit, in the library's own space.
type State<'py> = (Py<Rig>, String, Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, Vec<Beside>);

/// Files as Python names them.
///
/// # Errors
/// `TypeError` for what is no path.
pub fn sources(files: &Bound<'_, PyTuple>) -> PyResult<Vec<Source>> {
    files.iter().map(|file| source(&file)).collect()
}

fn source(file: &Bound<'_, PyAny>) -> PyResult<Source> {
    let path = file.py().import("os")?.call_method1("fspath", (file,))?;
    Ok(Source::parse(&path.extract::<String>()?))
}

impl Examples {
    /// Refuses examples of another rig than `rig`.
    ///
    /// # Errors
    /// `dermis.Error`.
    pub fn of_rig(&self, name: &str, rig: &dermis::Rig) -> PyResult<()> {
        let count = |rig: &dermis::Rig| (rig.mesh().positions.len(), rig.skeleton().len());
        let ((vertices, bones), (v, b)) = (count(rig), count(&self.rig));
        if (vertices, bones) != (v, b) {
            return Err(error(format!(
                "{name} belongs to the rig {:?} with {v} vertices and {b} bones, not to {:?} with {vertices} and {bones}",
                self.rig.name(),
                rig.name()
            )));
        }
        if rig.skeleton().names() != self.rig.skeleton().names() {
            return Err(error(format!(
                "{name} belongs to the rig {:?}, whose bones have other names",
                self.rig.name()
            )));
        }
        Ok(())
    }
}
