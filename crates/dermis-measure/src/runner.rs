//! Deformers over whole motions and sets of examples.

use crate::MeasureError;
use dermis_deform::{Baked, Guarded, RiggedDeformer, Runner};
use dermis_rig::clock::Instant;
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::memory::at_most;
use dermis_rig::progress::proceed;
use dermis_rig::{BoneTransforms, ExampleSet, Motion, Progress, Rig, WorldPose};
use std::time::Duration;

/// The skins of every frame of a motion, and what running the model gave.
///
/// - `given`: positions of the base in every frame, for a model over given positions
/// - result: a skin per frame, in `f64` as rounded by evaluation
///
/// # Errors
/// [`MeasureError::NoGiven`] if the model needs given positions of every frame and they are missing,
/// [`MeasureError::Memory`] if the skins do not fit, [`MeasureError::Cancelled`].
pub fn run_motion(
    model: &RiggedDeformer,
    motion: &Motion,
    given: Option<&[Vec<DVec3>]>,
    progress: Progress<'_>,
) -> Result<(Vec<Vec<DVec3>>, Posed), MeasureError> {
    let mut run = MotionRun::new(model, motion.frames.len(), given)?;
    within_memory(motion, model.rig(), 24)?;
    let mut skins = Vec::with_capacity(motion.frames.len());
    for (at, frame) in motion.frames.iter().enumerate() {
        proceed(progress, at, motion.frames.len())?;
        skins.push(run.skin(at, &frame.label, &frame.pose)?.to_vec());
    }
    Ok((skins, run.posed))
}

/// A run of a model on a motion, frame by frame.
pub struct MotionRun<'a> {
    model: &'a RiggedDeformer,
    given: Option<&'a [Vec<DVec3>]>,
    runner: WideRunner<'a>,
    posed: Posed,
}

impl<'a> MotionRun<'a> {
    /// A run of so many frames; `given` as of [`run_motion`].
    ///
    /// # Errors
    /// [`MeasureError::NoGiven`] if the model needs given positions of every frame and they are missing.
    pub fn new(
        model: &'a RiggedDeformer,
        frames: usize,
        given: Option<&'a [Vec<DVec3>]>,
    ) -> Result<Self, MeasureError> {
        if model.baked().needs_given() && given.is_none_or(|given| given.len() != frames) {
            return Err(MeasureError::NoGiven { found: given.map_or(0, <[_]>::len), poses: frames });
        }
        let posed = Posed { frames, vertices: model.rig().mesh().positions.len(), held: (0, 0.0), farthest: None };
        Ok(Self { model, given, runner: WideRunner::new(model.baked()), posed })
    }

    /// The skin in the pose of the n-th frame, of that label.
    ///
    /// # Errors
    /// [`MeasureError::Pose`] for a pose of another skeleton.
    pub fn skin(&mut self, at: usize, label: &str, pose: &WorldPose) -> Result<&[DVec3], MeasureError> {
        let (model, posed) = (self.model, &mut self.posed);
        let skeleton = model.rig().skeleton();
        let transforms = skeleton.bone_transforms(pose);
        self.runner.run(&transforms, self.given.map(|given| given[at].as_slice()))?;
        let share = self.runner.guarded().held as f64 / posed.vertices.max(1) as f64;
        posed.held = (posed.held.0 + usize::from(share > 0.0), posed.held.1.max(share));
        let far = model.training().map(|training| training.distance(skeleton, &transforms));
        if let Some((far, bone)) = far.and_then(|f| Some((f, f.bone?)))
            && posed.farthest.as_ref().is_none_or(|(_, degrees, _)| far.degrees > *degrees)
        {
            posed.farthest = Some((label.to_owned(), far.degrees, skeleton.names()[bone].clone()));
        }
        Ok(&self.runner.skin)
    }

    /// What the run gave so far.
    pub fn posed(self) -> Posed {
        self.posed
    }
}

/// What running a model on a motion gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Posed {
    /// Number of frames.
    pub frames: usize,
    /// Vertices per frame.
    pub vertices: usize,
    /// Frames in which the ball held some vertex back, and the largest share of vertices in one frame.
    pub held: (usize, f64),
    /// The frame farthest from training: its label, degrees, and joint.
    pub farthest: Option<(String, f64, String)>,
}

/// Bytes that the skins of a motion may take.
const MOST_BYTES: u64 = at_most(8u64 << 30) as u64;

/// Refuses a motion whose frames do not fit in memory at once, at `bytes` per frame and vertex.
///
/// # Errors
/// [`MeasureError::Memory`].
pub fn within_memory(motion: &Motion, rig: &Rig, bytes: u64) -> Result<(), MeasureError> {
    let (frames, vertices) = (motion.frames.len() as u64, rig.mesh().positions.len() as u64);
    let needed = frames.saturating_mul(vertices).saturating_mul(bytes);
    match needed > MOST_BYTES {
        true => Err(MeasureError::Memory { frames, vertices, needed, most: MOST_BYTES }),
        false => Ok(()),
    }
}

/// A [`Runner`] whose skins are widened to `f64`, in which errors are measured.
pub struct WideRunner<'a> {
    runner: Runner<'a>,
    given: Vec<Vec3>,
    skin: Vec<DVec3>,
}

impl<'a> WideRunner<'a> {
    /// A runner for a deformer.
    pub fn new(baked: &'a Baked) -> Self {
        Self { runner: baked.runner(), given: Vec::new(), skin: vec![DVec3::ZERO; baked.vertices()] }
    }

    /// The skin in a pose; `given` are the base's positions, for a deformer that corrects given ones.
    ///
    /// # Errors
    /// [`MeasureError::Pose`] for a pose of another skeleton, and without positions that are needed.
    pub fn run(&mut self, transforms: &BoneTransforms, given: Option<&[DVec3]>) -> Result<&[DVec3], MeasureError> {
        let skin = match given {
            None => self.runner.skin(transforms)?,
            Some(given) => {
                self.given.clear();
                self.given.extend(given.iter().map(|p| p.as_vec3()));
                self.runner.skin_over(transforms, &self.given)?
            }
        };
        self.skin.iter_mut().zip(skin).for_each(|(wide, narrow)| *wide = narrow.as_dvec3());
        Ok(&self.skin)
    }

    /// What the guard did in the last pose.
    pub fn guarded(&self) -> Guarded {
        self.runner.guarded()
    }

    /// Vertices per second over the poses of `examples`, for about `budget`. Zero without examples.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn speed(
        &mut self,
        examples: &ExampleSet,
        given: Option<&[Vec<DVec3>]>,
        budget: Duration,
    ) -> Result<f64, MeasureError> {
        let given: Vec<Vec<Vec3>> =
            given.unwrap_or_default().iter().map(|f| f.iter().map(|p| p.as_vec3()).collect()).collect();
        let (start, mut count) = (Instant::now(), 0u64);
        while start.elapsed() < budget && !examples.is_empty() {
            for (at, example) in examples.examples().iter().enumerate() {
                let skin = match given.get(at) {
                    None => self.runner.skin(&example.transforms)?,
                    Some(given) => self.runner.skin_over(&example.transforms, given)?,
                };
                count += skin.len() as u64;
            }
        }
        Ok(count as f64 / start.elapsed().as_secs_f64())
    }
}
