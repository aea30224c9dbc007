//! A runner: the memory that one thread evaluates a model with, pose after pose.

use crate::axes::Axes;
use crate::handles::Objects;
use crate::matrices::{DERMIS_POSED, DERMIS_SKINNING, Layout};
use crate::memory::{DermisFloats, checked_floats, read_floats, write_floats, write_to};
use crate::model::{Model, shared};
use crate::status::{
    DERMIS_ERROR_BUSY, DERMIS_ERROR_COUNT, DERMIS_ERROR_INTERNAL, DERMIS_ERROR_THREADS, DERMIS_ERROR_VALUE,
    DermisStatus, Failure, guarded,
};
use crate::threads::{Home, SHARED};
use crate::{DermisModel, DermisRunner};
use dermis_deform::Scratch;
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::{BoneIndex, BoneTransforms};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, TryLockError};

/// A pose: one matrix per bone, in the order of the model's bones, and for some models positions to correct.
///
/// Set the whole structure to zero first: layout, numbers and meaning then fail where they are forgotten.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DermisPose {
    /// The first matrix, at any address.
    pub matrices: *const c_void,
    /// Bytes from the first matrix to the end of the buffer.
    pub matrices_bytes: usize,
    /// Bytes from one matrix to the next, a multiple of the size of a number. 0 stands for matrices without gaps.
    pub matrices_stride: usize,
    /// How many matrices there are: the model's bones.
    pub bones: u32,
    /// Order of the numbers of a matrix: DERMIS_COLUMNS_4X4, DERMIS_ROWS_4X4, DERMIS_COLUMNS_3X4 or DERMIS_ROWS_3X4. The last row
    /// of a 4x4 matrix must be 0 0 0 1.
    pub layout: u32,
    /// DERMIS_FLOAT or DERMIS_DOUBLE.
    pub numbers: u32,
    /// DERMIS_SKINNING (T B^-1, rest to posed) or DERMIS_POSED (T, joint to posed world).
    pub meaning: u32,
    /// x of the first vertex that the model corrects, for models whose needs_base is 1; NULL for others.
    pub base: *const f32,
    /// How many floats there are from `base` to the end of its buffer.
    pub base_floats: usize,
    /// Bytes from one base vertex to the next, a multiple of 4 and at least 12. 0 stands for 12.
    pub base_stride: usize,
}

/// Memory of a runner, which one call at a time uses.
pub(crate) struct Runner {
    model: Arc<Model>,
    /// The runner's own threads; `None` for those that the process shares.
    pool: Option<(ThreadPool, Home)>,
    axes: Option<Axes>,
    /// M_k of the last pose that was accepted, with the channels.
    transforms: BoneTransforms,
    /// Matrices of a pose that is being read.
    incoming: Vec<DAffine3>,
    base: Vec<Vec3>,
    scratch: Scratch,
    positions: Vec<Vec3>,
    faces: Vec<DVec3>,
    normals: Vec<Vec3>,
}

/// The runners of this process.
static RUNNERS: Objects<Mutex<Runner>> = Objects::new("runner");

/// Most threads of a runner: more is a mistake.
const MOST_THREADS: u32 = 1024;

impl Runner {
    fn new(model: Arc<Model>, threads: u32) -> Result<Self, Failure> {
        if threads > MOST_THREADS {
            let message = format!("{threads} threads; a runner has at most {MOST_THREADS}");
            return Err(Failure::new(DERMIS_ERROR_VALUE, message));
        }
        let start = |threads: u32| {
            let named = |at| format!("dermis {at}");
            let pool = ThreadPoolBuilder::new().num_threads(threads as usize).thread_name(named).build();
            let pool = pool.map(|pool| (pool, Home::here()));
            pool.map_err(|error| Failure::new(DERMIS_ERROR_THREADS, format!("{threads} threads: {error}")))
        };
        let pool = (threads > 0).then(|| start(threads)).transpose()?;
        let channels =
            model.file.baked().channels().into_iter().map(|channel| (channel.name.as_str().into(), 0.0)).collect();
        let transforms = BoneTransforms::identity(model.file.rig().skeleton().len()).with_channels(channels);
        let positions = vec![Vec3::ZERO; model.file.rig().mesh().positions.len()];
        Ok(Self {
            model,
            pool,
            axes: None,
            transforms,
            incoming: Vec::new(),
            base: Vec::new(),
            scratch: Scratch::default(),
            positions,
            faces: Vec::new(),
            normals: Vec::new(),
        })
    }

    /// Reads a pose of the caller into `transforms` and `base`. A refused pose leaves `transforms` as they were.
    ///
    /// # Safety
    /// As [`dermis_runner_evaluate`].
    unsafe fn read(&mut self, pose: &DermisPose) -> Result<(), Failure> {
        let skeleton = self.model.file.rig().skeleton();
        if pose.matrices.is_null() {
            return Err(Failure::null("matrices of the pose"));
        }
        if pose.bones as usize != skeleton.len() {
            let message = format!("the pose has {} bones, but the model has {}", pose.bones, skeleton.len());
            return Err(Failure::new(DERMIS_ERROR_COUNT, message));
        }
        let layout = Layout::new(pose.layout, pose.numbers)?;
        let stride = layout.check(skeleton.len(), pose.matrices_stride, pose.matrices_bytes)?;
        let posed = match pose.meaning {
            DERMIS_SKINNING => false,
            DERMIS_POSED if self.axes.is_some() => {
                let what = "the runner has axes of its own, in which bones have no bind matrices: pass DERMIS_SKINNING";
                return Err(Failure::new(DERMIS_ERROR_VALUE, what));
            }
            DERMIS_POSED => true,
            other => {
                let message = format!("meaning {other} is not known; it is DERMIS_SKINNING (1) or DERMIS_POSED (2)");
                return Err(Failure::new(DERMIS_ERROR_VALUE, message));
            }
        };
        self.incoming.clear();
        for bone in skeleton.bones() {
            // Within the buffer, by the check above.
            let from = pose.matrices.wrapping_byte_add(bone.get() * stride);
            let matrix = unsafe { layout.read(bone.get(), from) }?;
            self.incoming.push(match (posed, &self.axes) {
                (true, _) => skeleton.bone_transform(bone, &matrix),
                (false, Some(axes)) => axes.matrix(&matrix),
                (false, None) => matrix,
            });
        }
        let vertices = self.positions.len();
        match (self.model.file.baked().needs_given(), pose.base.is_null()) {
            (true, true) => {
                let message = "the model corrects given positions: pass them as the base of the pose";
                return Err(Failure::new(DERMIS_ERROR_COUNT, message));
            }
            (true, false) => {
                let (floats, stride) = (pose.base_floats, pose.base_stride);
                unsafe { read_floats("base", pose.base, floats, stride, vertices, &mut self.base) }?;
                if let Some(axes) = &self.axes {
                    self.base.iter_mut().for_each(|p| *p = axes.given(*p));
                }
            }
            (false, _) => {}
        }
        for (bone, matrix) in self.incoming.iter().enumerate() {
            self.transforms.set(BoneIndex::new(bone), *matrix);
        }
        Ok(())
    }

    /// Evaluates the pose that was read, and normals where they are wanted.
    ///
    /// # Errors
    /// [`DERMIS_ERROR_THREADS`] in a process that was forked after the threads were started.
    fn evaluate(&mut self, normals: bool) -> Result<(), Failure> {
        let Self { model, pool, transforms, base, scratch, positions, faces, normals: to, .. } = self;
        let given = (!base.is_empty()).then_some(&**base);
        let mut work = || {
            model.file.baked().evaluate(transforms, given, scratch, positions)?;
            if normals {
                to.resize(positions.len(), Vec3::ZERO);
                model.normals.compute_with(positions, faces, to);
            }
            Ok(())
        };
        let done = match pool {
            Some((pool, home)) => {
                home.enter()?;
                pool.install(work)
            }
            None => {
                SHARED.enter()?;
                work()
            }
        };
        // The pose was checked against the model.
        done.map_err(|error: dermis_deform::PoseError| Failure::new(DERMIS_ERROR_INTERNAL, error.to_string()))
    }
}

/// Runs `work` on a runner, unless another thread does.
fn with_runner(runner: DermisRunner, work: impl FnOnce(&mut Runner) -> Result<(), Failure>) -> Result<(), Failure> {
    let held = RUNNERS.get(runner.id)?;
    let mut held = match held.try_lock() {
        Ok(held) => held,
        Err(TryLockError::Poisoned(left)) => left.into_inner(),
        Err(TryLockError::WouldBlock) => {
            let message = "another thread is using this runner: make one per thread";
            return Err(Failure::new(DERMIS_ERROR_BUSY, message));
        }
    };
    work(&mut held)
}

/// Makes a runner of a model: one per thread that evaluates. It holds the model, which may be freed before it.
///
/// `threads`: 0 evaluates on threads that all such runners of the process share, as many as the machine has. Any other number
/// starts as many threads for this runner alone; with 1, all work is done by one thread after the other. The calling thread waits.
/// The result does not depend on it. A process that was forked has no threads of its parent: make runners with `threads` > 0 in it.
/// `runner`: where the handle goes. If the call fails, the handle is zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_runner_new(
    model: DermisModel,
    threads: u32,
    runner: *mut DermisRunner,
) -> DermisStatus {
    guarded(|| {
        unsafe { write_to("runner", runner, DermisRunner { id: 0 }) }?;
        let made = Runner::new(shared(model)?, threads)?;
        unsafe { write_to("runner", runner, DermisRunner { id: RUNNERS.insert(Mutex::new(made)) }) }
    })
}

/// Frees a runner, after the call that uses it, if there is one. A handle of zero is ignored.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_runner_free(runner: DermisRunner) -> DermisStatus {
    guarded(|| if runner.id == 0 { Ok(()) } else { RUNNERS.remove(runner.id) })
}

/// Sets the axes and unit of everything that goes in and comes out of a runner: matrices, base, positions and normals.
///
/// `axes`: nine numbers, row after row, of the matrix A that carries positions of the caller to positions of the model (Y up,
/// metres, right-handed): a rotation or a reflection times the caller's unit in metres. NULL sets the model's own axes again.
/// Unity: -1 0 0, 0 1 0, 0 0 1. Unreal, centimetres: 0.01 0 0, 0 0 0.01, 0 0.01 0. Both for rigs that their glTF importers read.
/// With axes, poses are skinning matrices (DERMIS_SKINNING). A reflection turns triangles over: exchange two corners of each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_runner_set_axes(runner: DermisRunner, axes: *const f64) -> DermisStatus {
    guarded(|| {
        let rows = (!axes.is_null()).then(|| unsafe { axes.cast::<[f64; 9]>().read_unaligned() });
        let axes = rows.map(Axes::new).transpose()?;
        with_runner(runner, |runner| {
            runner.axes = axes;
            Ok(())
        })
    })
}

/// Sets a channel of the poses to come. Channels are zero at first.
///
/// `channel`: its number, in the order of dermis_model_channel_name.
#[unsafe(no_mangle)]
pub extern "C" fn dermis_runner_set_channel(runner: DermisRunner, channel: u32, value: f64) -> DermisStatus {
    guarded(|| {
        with_runner(runner, |runner| {
            let channel = runner.model.channel(channel)?;
            if !value.is_finite() {
                return Err(Failure::new(DERMIS_ERROR_VALUE, format!("the value of channel {channel} is {value}")));
            }
            let transforms = std::mem::replace(&mut runner.transforms, BoneTransforms::identity(0));
            let mut channels = transforms.channels().clone();
            channels[channel].1 = value;
            runner.transforms = transforms.with_channels(channels);
            Ok(())
        })
    })
}

/// Evaluates the model in a pose.
///
/// `positions`: where the positions go. `normals`: where the unit normals of the deformed mesh go, or NULL for none; a vertex
/// without faces of positive area gets (0, 1, 0) in the model's axes. All inputs are checked before anything is written. After
/// the first pose the call allocates nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_runner_evaluate(
    runner: DermisRunner,
    pose: *const DermisPose,
    positions: *const DermisFloats,
    normals: *const DermisFloats,
) -> DermisStatus {
    guarded(|| {
        with_runner(runner, |runner| {
            if pose.is_null() {
                return Err(Failure::null("pose"));
            }
            let vertices = runner.positions.len();
            unsafe { checked_floats("positions", positions, vertices) }?;
            if !normals.is_null() {
                unsafe { checked_floats("normals", normals, vertices) }?;
            }
            unsafe { runner.read(&pose.read_unaligned()) }?;
            runner.evaluate(!normals.is_null())?;
            let (skin, of_skin) = (&runner.positions, &runner.normals);
            match runner.axes {
                None => unsafe { write_floats("positions", positions, vertices, |v| skin[v]) }?,
                Some(axes) => unsafe { write_floats("positions", positions, vertices, |v| axes.position(skin[v])) }?,
            }
            match (normals.is_null(), runner.axes) {
                (true, _) => Ok(()),
                (_, None) => unsafe { write_floats("normals", normals, vertices, |v| of_skin[v]) },
                (_, Some(axes)) => unsafe { write_floats("normals", normals, vertices, |v| axes.normal(of_skin[v])) },
            }
        })
    })
}

/// Tells how far the last pose is from those that the model was fitted on: a guess is worse the farther it is.
///
/// `degrees`: the angle from the nearest training pose of the joint that is farthest from its own. `bone`: that joint's bone; -1 if
/// the model has no training poses, and degrees are then 0. Either may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dermis_runner_distance(
    runner: DermisRunner,
    degrees: *mut f64,
    bone: *mut i32,
) -> DermisStatus {
    guarded(|| {
        with_runner(runner, |runner| {
            let skeleton = runner.model.file.rig().skeleton();
            let far = runner.model.file.training().map(|training| training.distance(skeleton, &runner.transforms));
            let (angle, farthest) = far.map_or((0.0, None), |far| (far.degrees, far.bone));
            if !degrees.is_null() {
                unsafe { write_to("degrees", degrees, angle) }?;
            }
            if !bone.is_null() {
                unsafe { write_to("bone", bone, farthest.map_or(-1, |bone| bone.get() as i32)) }?;
            }
            Ok(())
        })
    })
}
