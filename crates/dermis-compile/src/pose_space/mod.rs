//! Pose spaces as driven shapes: pose-space deformations, EigenSkin, pose blend shapes, compiled ones.
//!
//! In the inverse form over linear blend skinning, p' = A_v (p + d_v) before the ball, so that d may be morph targets as they
//! are. What is delivered is
//!
//! ```text
//! d_v = Σ_l c_l u_vl,      c_l = Σ_g Σ_i A_gli κ_gi(x)
//! ```
//!
//! with the model's own coordinates x and kernel values κ_g, g the regions. Where u and A come from:
//!
//! - **Shapes** (EigenSkin, shapes by example, compiled models) have them. They are delivered whole, those by example with their
//!   names; more than asked for are an error.
//! - **Correctives** are morph targets as they are, with their names and weights within 0..1: no constant shape is needed.
//! - A **small pose space**, of no more kernels per group than asked for and at most 1024 values, keeps the values of
//!   all its groups. u are the principal directions of d over sampled poses, orthonormal, and c_l = u_lᵀ d(x), which is linear in κ:
//!   d loses only what lies outside the span of u. A few sculpts are delivered as they are.
//! - **Any other** is compiled ([`Compiler`]).
//!
//! Samples are the training coordinates, recombinations in which every joint takes its own from a random training pose, and
//! fractions of these. Weights are mapped to 0..1 as for a joint model, by the ranges of c over them and much room
//! (`wide_range`).

mod delivered;
mod driver;

pub(crate) use driver::layer_driver;
pub use driver::{table_bones, table_driver};

pub use crate::error::Refusal;
use crate::samples::{roots, sample_poses};
use crate::scale::{Scaled, scaled, wide_range};
use crate::{CompileError, PruneCost, Warning, skin_weights};
use delivered::{Delivered, deliver, sample_coordinates};
use dermis_deform::baked::{BakedBase, BakedCorrection};
use dermis_deform::pose_space::{Carrier, KernelValues, ROOM};
use dermis_deform::tables::{PoseDriver, PoseRegion};
use dermis_deform::{RiggedDeformer, blend};
#[cfg(doc)]
use dermis_fit::psd::compile::Compiler;
use dermis_measure::{Distance, Distances, WideRunner, run_motion, within_memory};
use dermis_rig::glam::DVec3;
use dermis_rig::progress::proceed;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, MorphTarget, Motion, Progress};
use driver::driver;
use rayon::prelude::*;
use std::borrow::Cow;

/// What an engine can take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoseSpaceSettings {
    /// Morph targets at most, the constant one included, two or more; `None`: [`Self::SHAPES`], or all of a model that is shapes
    /// already.
    pub shapes: Option<usize>,
    /// Kernels per region at most; `None`: [`Self::KERNELS`], or all of a model that is shapes already.
    pub kernels: Option<usize>,
    /// Influences per vertex at most; all of them if `None`.
    pub influences: Option<usize>,
}

impl PoseSpaceSettings {
    /// Morph targets, unless they are given: a body's held-out error with 64 is near that with all.
    pub const SHAPES: usize = 64;
    /// Kernels of a region, unless they are given.
    pub const KERNELS: usize = 16;
}

/// rms and largest distance to the model over some poses, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Number of poses.
    pub poses: usize,
    /// Of the skin weights alone.
    pub weights_alone: Distance,
    /// With the exported shapes.
    pub shapes: Distance,
    /// Share of weights that the clamp holds back.
    pub clamped: f64,
}

/// A pose space as skin weights and driven shapes.
#[derive(Clone, Debug)]
pub struct DrivenPoseSpace<'a> {
    /// The skin weights.
    pub weights: Cow<'a, Influences>,
    /// The morph targets, the constant one first where there is one.
    pub morphs: Vec<MorphTarget>,
    /// How their weights follow from the pose, with the rig's bones.
    pub driver: PoseDriver<BoneIndex>,
    /// Weights of the morph targets in every frame of the motion, if there is one.
    pub frames: Option<Vec<Vec<f64>>>,
    /// What they cost.
    pub report: PoseSpaceReport,
}

/// Where the shapes of a pose space come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The model is shapes already.
    AsTheyAre,
    /// A shape per sculpt, with its name.
    Correctives,
    /// Principal directions, driven by all values of the pose space.
    OwnValues,
    /// Compressed into fewer shapes and kernels.
    Compiled,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::AsTheyAre => "as they are",
            Self::Correctives => "one per sculpt",
            Self::OwnValues => "its own values",
            Self::Compiled => "compiled",
        })
    }
}

/// What the shapes of a pose space cost.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseSpaceReport {
    /// Morph targets, a constant one included.
    pub shapes: usize,
    /// Pose spaces that drive them.
    pub regions: usize,
    /// Values of a pose: kernels and linear terms of all regions.
    pub values: usize,
    /// Joints and channels they are computed from.
    pub coordinates: usize,
    /// Where the shapes come from.
    pub origin: Origin,
    /// What pruning the influences cost.
    pub pruned: Option<PruneCost>,
    /// Over the training poses kept in the model file.
    pub training: Option<Loss>,
    /// Over the motion.
    pub motion: Option<Loss>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Whether the correction of a model is a pose space.
pub fn is_pose_space(model: &RiggedDeformer) -> bool {
    matches!(model.baked().corrections(), [BakedCorrection::PoseSpace(_) | BakedCorrection::Shapes(_)])
}

/// Why shapes that act before skinning cannot hold a model's pose space, if they cannot.
pub fn refusal(model: &RiggedDeformer) -> Option<Refusal> {
    let carrier = match model.baked().corrections() {
        [BakedCorrection::PoseSpace(c)] => &c.carrier,
        [BakedCorrection::Shapes(c)] => &c.model.carrier,
        _ => return Some(Refusal::NoPoseSpace),
    };
    match (model.baked().base(), carrier) {
        (_, Carrier::World) => Some(Refusal::AfterSkinning),
        (BakedBase::Given, _) | (_, Carrier::Bones(_)) => Some(Refusal::GivenPositions),
        (BakedBase::Lbs(_), Carrier::Base) => None,
        _ => Some(Refusal::OtherBase),
    }
}

/// Compiles a pose space over linear blend skinning into driven shapes. With a motion, its frames get their weights.
///
/// # Errors
/// [`CompileError`]: a model that [`refusal`] gives a reason for; too few shapes or kernels; more shapes than a file holds.
pub fn drive_pose_space<'a>(
    model: &'a RiggedDeformer,
    motion: Option<&Motion>,
    settings: PoseSpaceSettings,
    progress: Progress<'_>,
) -> Result<DrivenPoseSpace<'a>, CompileError> {
    let rig = model.rig();
    if let Some(reason) = refusal(model) {
        return Err(CompileError::NotDrivable(reason));
    }
    let (weights, pruned) = skin_weights(model, motion, settings.influences)?;
    let vertices = rig.mesh().positions.len();
    let (delivered, mut warnings) = deliver(model, settings, progress)?;
    let shape_count = delivered.shapes.len() + 1;
    if (vertices as u64).saturating_mul(shape_count as u64).saturating_mul(12) > u64::from(u32::MAX) {
        return Err(CompileError::TooLarge { shapes: shape_count, vertices });
    }
    let Prepared { delivered, morphs, kept, driver } = prepare(delivered, vertices, 1e-6 * rig.mesh().extent());
    let skin =
        Skin { rest: &rig.mesh().positions, weights: &weights, delivered: &delivered, morphs: &morphs, kept: &kept };

    let mut training = None;
    if let Some(known) = model.training().filter(|t| !t.features.is_empty()) {
        let apart = roots(rig.skeleton());
        let joints = &delivered.kernel.joints;
        if joints.iter().any(|j| apart[j.parent.get()] != apart[j.bone.get()]) {
            warnings.push(Warning::RootsAtRest);
        }
        let samples = sample_poses(rig.skeleton(), known);
        let (mut runner, mut losses) = (WideRunner::new(model.baked()), Losses::default());
        for (at, pose) in samples.poses[..samples.training].iter().enumerate() {
            proceed(progress, at, samples.training)?;
            skin.lose(pose, &driver, runner.run(pose, None)?, &mut losses);
        }
        training = Some(losses.finish());
    }
    let (mut frames, mut motion_loss) = (None, None);
    if let Some(motion) = motion {
        within_memory(motion, rig, 24)?;
        let (skins, _) = run_motion(model, motion, None, progress)?;
        let (mut losses, mut rows) = (Losses::default(), Vec::new());
        for (frame, shown) in motion.frames.iter().zip(&skins) {
            let pose = rig.skeleton().bone_transforms(&frame.pose);
            rows.push(skin.lose(&pose, &driver, shown, &mut losses));
        }
        frames = Some(rows);
        motion_loss = Some(losses.finish());
    }
    let values = |r: &PoseRegion| r.matrix.first().map_or(0, Vec::len);
    Ok(DrivenPoseSpace {
        report: PoseSpaceReport {
            shapes: morphs.len(),
            regions: driver.regions.len(),
            values: driver.regions.iter().map(values).sum(),
            coordinates: driver.joints.len() + driver.channels.len(),
            origin: delivered.origin,
            pruned,
            training,
            motion: motion_loss,
            warnings,
        },
        weights,
        morphs,
        driver,
        frames,
    })
}

/// Shapes as morph targets, with what drives them.
struct Prepared {
    delivered: Delivered,
    morphs: Vec<MorphTarget>,
    kept: Vec<(usize, f64)>,
    driver: PoseDriver<BoneIndex>,
}

fn prepare(mut delivered: Delivered, vertices: usize, unseen: f64) -> Prepared {
    if let Some((names, _)) = &delivered.correctives {
        let names = names.clone();
        let stored = |shape: Vec<DVec3>| shape.into_iter().map(|d| d.as_vec3().as_dvec3()).collect();
        let shapes = std::mem::take(&mut delivered.shapes).into_iter().map(stored);
        let morphs: Vec<MorphTarget> =
            names.into_iter().zip(shapes).map(|(name, deltas)| MorphTarget { name, deltas }).collect();
        let kept: Vec<(usize, f64)> = (0..morphs.len()).map(|l| (l, 1.0)).collect();
        let driver = driver(&delivered, &kept, vec![0.0; morphs.len()]);
        return Prepared { delivered, morphs, kept, driver };
    }
    let samples = sample_coordinates(&delivered.kernel, usize::MAX);
    let mut scratch = KernelValues::default();
    let mut values = vec![0.0; delivered.kernel.values()];
    let of_sample = |x: &Vec<[f64; ROOM]>| {
        delivered.kernel.values_at(x, &mut scratch, &mut values, |k| k);
        delivered.weights(&values, &scratch)
    };
    let coordinates: Vec<Vec<f64>> = samples.iter().map(of_sample).collect();
    let ranges: Vec<(f64, f64)> =
        (0..delivered.shapes.len()).map(|l| wide_range(coordinates.iter().map(|c| c[l]))).collect();
    let shapes = std::mem::take(&mut delivered.shapes);
    let name = |l: usize| delivered.names.get(l).cloned().unwrap_or_else(|| format!("driven_{}", l + 1));
    let named = shapes.into_iter().enumerate().map(|(l, shape)| (name(l), shape));
    let Scaled { morphs, kept, offset } = scaled(vertices, named, &ranges, unseen);
    let driver = driver(&delivered, &kept, offset);
    Prepared { delivered, morphs, kept, driver }
}

/// The skin as an engine shows it.
struct Skin<'a> {
    rest: &'a [DVec3],
    weights: &'a Influences,
    delivered: &'a Delivered,
    morphs: &'a [MorphTarget],
    kept: &'a [(usize, f64)],
}

#[derive(Default)]
struct Losses {
    poses: usize,
    alone: Distances,
    shapes: Distances,
    outside: usize,
    weights: usize,
}

impl Losses {
    fn finish(&self) -> Loss {
        let clamped = self.outside as f64 / self.weights.max(1) as f64;
        Loss { poses: self.poses, weights_alone: self.alone.finish(), shapes: self.shapes.finish(), clamped }
    }
}

impl Skin<'_> {
    /// Adds the distances to the model's skin of one pose; the result is the weights of its morph targets.
    fn lose(
        &self,
        pose: &BoneTransforms,
        driver: &PoseDriver<BoneIndex>,
        skin: &[DVec3],
        losses: &mut Losses,
    ) -> Vec<f64> {
        let kernel = &self.delivered.kernel;
        let mut values = vec![0.0; kernel.values()];
        let mut found = KernelValues::default();
        kernel.evaluate(pose, &mut found, &mut values, |k| k);
        let c = self.delivered.weights(&values, &found);
        // The constant shape, where there is one, comes first.
        let first = driver.offset.len() - self.kept.len();
        let mut weights = driver.offset[..first].to_vec();
        for (&(shape, factor), offset) in self.kept.iter().zip(&driver.offset[first..]) {
            let free = offset + c[shape] * factor;
            let held = free.clamp(driver.clamp[0], driver.clamp[1]);
            losses.outside += usize::from(held != free);
            weights.push(held);
        }
        losses.weights += weights.len();
        let of_vertex = |v: usize| {
            let (a, rest) = (blend(self.weights.of(v), pose), self.rest[v]);
            let shown: DVec3 = self.morphs.iter().zip(&weights).map(|(m, w)| m.deltas[v] * *w).sum();
            [DVec3::ZERO, shown].map(|d| (a.transform_point3(rest + d) - skin[v]).length())
        };
        let distances: Vec<[f64; 2]> = (0..skin.len()).into_par_iter().map(of_vertex).collect();
        losses.poses += 1;
        for [alone, shapes] in distances {
            losses.alone.add(alone);
            losses.shapes.add(shapes);
        }
        weights
    }
}
