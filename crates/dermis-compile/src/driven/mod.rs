//! Driven shapes: a model as morph targets whose weights an engine computes from its joints, in any pose.
//!
//! A morph target moves the rest mesh before skinning. So the model p' is carried back through each vertex's linear
//! blend A_v and regressed there on joint coordinates z_e (see [`dermis_deform::joints`]). A joint model has them; any other model gets
//! those of a joint model fitted to its skin (`fitted.rs`).
//!
//! ```text
//! d_v = A_v⁻¹ (p' − A_v p)  ≈  Σ_e B_ve z_e,      min Σ_s ω_vs |d_vs − B_v z_s|² + λ |B_v − U_v|²
//! ```
//!
//! over the joints of the vertex's free part, with the joint model's λ. The samples s are the training poses and recombinations
//! of them, in which every joint takes its rotation from a random training pose. ω = min(1, 3/|A⁻¹|²) counts a vertex less
//! where its blend collapses, because d grows without meaning there.
//!
//! **Why a regression and not a copy.** The joint model has a frame per vertex and a shared part, and no morph target has
//! either. So the whole correction is regressed, towards the model's own coefficients U. Shrinking towards zero costs
//! accuracy, and so does leaving out the recombined poses. Where the model precedes skinning already (frame `rest`, no shared
//! part, no guard acting), B = U.
//!
//! **All shapes**: one per coordinate of z. **K shapes**: with Σ the mean of z zᵀ over the samples, Σ = P Pᵀ, and W the
//! principal axes of Pᵀ BᵀB P, the shapes are B P w_h and their coordinates c_h = w_hᵀ P⁺ z: the best of rank K in the mean
//! square over the samples.
//!
//! **Weights.** Applications clamp weights to 0..1, so coordinate h becomes (c_h − low_h)/(high_h − low_h). From low to
//! high is the range of c_h over the samples and the bind pose, scaled by κ = 1.25: the limits of the joints leave as much
//! room beyond training. At the bind pose z = 0 and the weights are −low/(high − low), the offsets. One more
//! shape, always at weight one, is minus the sum of the others at these weights: the correction of the bind pose is zero, to
//! the single precision in which shapes are stored. The offsets are rounded to single precision first, so that an
//! application reads the same numbers.
//!
//! **A model that remembers sculpts** is regressed without its layer, and gets a shape more for each of them.
//!
//! The coordinates of a joint are read from the two bones alone: welding changes neither ([`Weld::apply`] keeps what a kept
//! joint does), so a driver table needs no welds.
//!
//! [`Weld::apply`]: dermis_deform::guard::Weld::apply

mod fitted;
mod regression;
mod sculpts;
mod shapes;
#[cfg(test)]
mod tests;

use crate::samples::{Samples, apart, join_roots, sample_poses, tilt};
use crate::{CompileError, PruneCost, Warning, skin_weights};
use dermis_deform::baked::{BakedBase, BakedCorrection, BakedJoints, BakedLayer};
use dermis_deform::joints::JointPose;
use dermis_deform::pose_space::CompiledShapes;
use dermis_deform::tables::{JointTable, TableBone};
use dermis_deform::{RiggedDeformer, blend};
use dermis_measure::{Distance, Distances, WideRunner, run_motion, within_memory};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::progress::proceed;
use dermis_rig::{BoneIndex, BoneTransforms, IndexVec, Influences, MorphTarget, Motion, Progress, Rig};
use dermis_solve::faer::Mat;
use fitted::fitted_joints;
use rayon::prelude::*;
use regression::{Linear, joint_starts, regress, rest_correction};
use sculpts::Sculpts;
use shapes::{Shapes, shapes};
use std::borrow::Cow;

/// What an engine can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverSettings {
    /// Morph targets at most, two or more, without those of remembered sculpts; one per coordinate if `None`.
    pub shapes: Option<usize>,
    /// Influences per vertex at most; all of them if `None`.
    pub influences: Option<usize>,
}

impl Default for DriverSettings {
    fn default() -> Self {
        // Between 16 and 64 shapes the error on unseen motion of a whole body falls by a fifth per doubling.
        Self { shapes: Some(32), influences: None }
    }
}

/// rms and largest distance to the model over some poses, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Number of poses.
    pub poses: usize,
    /// Of the skin weights alone.
    pub weights_alone: Distance,
    /// With the exported shapes.
    pub shapes: Distance,
    /// With one shape per coordinate.
    pub all_shapes: Distance,
}

/// A model as skin weights and driven shapes.
#[derive(Clone, Debug)]
pub struct DrivenShapes<'a> {
    /// The skin weights.
    pub weights: Cow<'a, Influences>,
    /// The morph targets, the constant one first, those of remembered sculpts last.
    pub morphs: Vec<MorphTarget>,
    /// How their weights follow from the joints.
    pub table: JointTable,
    /// The rig's bone for each bone of the table.
    pub bones: IndexVec<TableBone, BoneIndex>,
    /// Weights of the morph targets in every frame of the motion, if there is one.
    pub frames: Option<Vec<Vec<f64>>>,
    /// What they cost.
    pub report: DrivenReport,
}

/// What driven shapes cost.
#[derive(Clone, Debug, PartialEq)]
pub struct DrivenReport {
    /// Morph targets, the constant one included.
    pub shapes: usize,
    /// Those of remembered sculpts among them.
    pub sculpts: usize,
    /// Coordinates of all joints: with as many shapes nothing is compressed.
    pub coordinates: usize,
    /// Joints the weights are computed from.
    pub joints: usize,
    /// Whether the coordinates are those of a joint model fitted to the model's skin, because it has none of its own.
    pub fitted: bool,
    /// Poses the shapes were made from.
    pub samples: usize,
    /// What pruning the influences cost.
    pub pruned: Option<PruneCost>,
    /// Over the training poses kept in the model file.
    pub training: Cost,
    /// Over the motion.
    pub motion: Option<Cost>,
    /// Share of weights and frames of the motion that the clamp holds back.
    pub clamped: f64,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Compiles a model into driven shapes. With a motion, the weights of its frames are those that the table gives.
///
/// `lambda` is the ridge that a joint model was fitted with. Other models need none.
///
/// # Errors
/// [`CompileError`]: a model that is linear blend skinning alone, or corrects given positions; too few shapes, or more than a file
/// holds; no training poses; a joint model without a positive ridge.
pub fn drive<'a>(
    model: &'a RiggedDeformer,
    lambda: Option<f64>,
    motion: Option<&Motion>,
    settings: DriverSettings,
    progress: Progress<'_>,
) -> Result<DrivenShapes<'a>, CompileError> {
    let rig = model.rig();
    let (weights, pruned) = skin_weights(model, motion, settings.influences)?;
    let Compiled { linear, mut made, samples, fitted, mut warnings } =
        compile(model, &weights, lambda, settings.shapes, progress)?;
    let mut skin = DrivenSkin { rig, weights: &weights, linear: &linear, made: &made, sculpts: None };
    if let Some(layer) = remembered(model) {
        let poses = &samples.poses[..samples.training];
        let sculpts = Sculpts::new(rig, &weights, model.baked(), layer, poses, &skin, progress)?;
        if !sculpts.unknown.is_empty() {
            warnings.push(Warning::SculptsWithoutPose { sculpts: sculpts.unknown.clone() });
        }
        skin.sculpts = Some((layer.0, sculpts));
    }
    let mut runner = WideRunner::new(model.baked());
    let mut training = Costs::default();
    for (at, pose) in samples.poses[..samples.training].iter().enumerate() {
        proceed(progress, at, samples.training)?;
        let z = made.table.coordinates(&made.bones_of(pose));
        skin.cost(pose, &z, runner.run(pose, None)?, &mut training);
    }
    let (mut frames, mut motion_cost, mut clamped) = (None, None, 0.0);
    if let Some(motion) = motion {
        within_memory(motion, rig, 24)?;
        let (skins, _) = run_motion(model, motion, None, progress)?;
        let (mut costs, mut rows) = (Costs::default(), Vec::new());
        let mut outside = 0usize;
        for (frame, shown) in motion.frames.iter().zip(&skins) {
            let pose = rig.skeleton().bone_transforms(&frame.pose);
            let z = made.table.coordinates(&made.bones_of(&pose));
            rows.push(skin.cost(&pose, &z, shown, &mut costs));
            outside += made.table.unclamped(&z).filter(|(_, outside)| *outside).count();
        }
        clamped = outside as f64 / (made.morphs.len() * rows.len()).max(1) as f64;
        frames = Some(rows);
        motion_cost = Some(costs.finish());
    }
    let sculpts = skin.sculpts.take().map(|(_, sculpts)| sculpts);
    let count = sculpts.as_ref().map_or(0, |sculpts| sculpts.morphs.len());
    if let Some(sculpts) = sculpts {
        made.remember(rig.skeleton(), sculpts);
    }
    Ok(DrivenShapes {
        report: DrivenReport {
            shapes: made.morphs.len(),
            sculpts: count,
            coordinates: linear.coordinates(),
            joints: made.table.joints.len(),
            fitted,
            samples: samples.poses.len(),
            pruned,
            training: training.finish(),
            motion: motion_cost,
            clamped,
            warnings,
        },
        weights,
        morphs: made.morphs,
        table: made.table,
        bones: made.bones,
        frames,
    })
}

/// What a model remembers, if it does: the layer of its last correction.
fn remembered(model: &RiggedDeformer) -> Option<(&CompiledShapes, &BakedLayer)> {
    let Some(BakedCorrection::Joints(joints)) = model.baked().corrections().last() else { return None };
    Some((joints.model.layer.as_ref()?, &joints.layer))
}

/// The joint coordinates that drive a model, with the ridge λ of the joint model that they are of, and whether that one was fitted here.
fn coordinates<'a>(
    model: &'a RiggedDeformer,
    weights: &Influences,
    lambda: Option<f64>,
    samples: &Samples,
    progress: Progress<'_>,
) -> Result<(Cow<'a, BakedJoints>, f64, bool), CompileError> {
    match model.baked().corrections() {
        [BakedCorrection::Joints(joints)] => {
            let lambda = lambda.unwrap_or(f64::NAN);
            match lambda > 0.0 && lambda.is_finite() {
                true => Ok((Cow::Borrowed(joints), lambda, false)),
                false => Err(CompileError::Ridge(lambda)),
            }
        }
        _ => {
            let (joints, lambda) = fitted_joints(model, weights, samples, progress)?;
            Ok((Cow::Owned(*joints), lambda, true))
        }
    }
}

/// What the shapes are, before a motion.
struct Compiled {
    linear: Linear,
    made: Shapes,
    samples: Samples,
    /// Whether the coordinates were fitted.
    fitted: bool,
    warnings: Vec<Warning>,
}

fn compile(
    model: &RiggedDeformer,
    weights: &Influences,
    lambda: Option<f64>,
    most: Option<usize>,
    progress: Progress<'_>,
) -> Result<Compiled, CompileError> {
    let rig = model.rig();
    if let (BakedBase::Lbs(_), []) = (model.baked().base(), model.baked().corrections()) {
        return Err(CompileError::NoCorrection);
    }
    if model.baked().needs_given() {
        return Err(CompileError::GivenPositions("a driven skin"));
    }
    if let Some(most) = most.filter(|most| *most < 2) {
        return Err(CompileError::FewShapes(most));
    }
    let training = model.training().filter(|t| !t.features.is_empty()).ok_or(CompileError::NoTraining)?;
    let mut samples = sample_poses(rig.skeleton(), training);
    let (joints, lambda, fitted) = coordinates(model, weights, lambda, &samples, progress)?;
    let joints = joints.as_ref();
    join_roots(rig.skeleton(), &joints.model, &mut samples.poses);
    tilt(&joints.model, weights, &mut samples.poses);
    let vertices = rig.mesh().positions.len();
    let starts = joint_starts(&joints.model);
    let count = starts[starts.len() - 1];
    let wanted = most.unwrap_or(usize::MAX).min(count + 1);
    if (vertices as u64).saturating_mul(wanted as u64).saturating_mul(12) > u64::from(u32::MAX) {
        return Err(CompileError::TooLarge { shapes: wanted, vertices });
    }

    // z and the rest-space corrections of the samples, each with the root of its ω.
    let smooth = model.baked().clone().without_remembered();
    let mut runner = WideRunner::new(&smooth);
    let mut pose = JointPose::default();
    let mut coordinates = Mat::<f64>::zeros(samples.poses.len(), count);
    let mut corrections: Vec<Vec<(Vec3, f32)>> = Vec::with_capacity(samples.poses.len());
    for (s, transforms) in samples.poses.iter().enumerate() {
        proceed(progress, s, samples.poses.len())?;
        pose.prepare(&joints.model, transforms);
        pose.z.iter().enumerate().for_each(|(i, z)| coordinates[(s, i)] = *z);
        let skin = runner.run(transforms, None)?;
        let of_vertex = |v: usize| rest_correction(weights.of(v), rig.mesh().positions[v], skin[v], transforms);
        corrections.push((0..vertices).into_par_iter().map(of_vertex).collect());
    }
    let failed = |source| CompileError::Solve { what: "the corrections of the training poses".into(), source };
    let linear = regress(joints, &starts, &coordinates, &corrections, lambda).map_err(failed)?;
    drop(corrections);
    let unseen = 1e-6 * rig.mesh().extent();
    let driven = match most {
        None => linear.all(joints, rig.skeleton()),
        Some(most) => linear.principal(&coordinates, most - 1).map_err(failed)?,
    };
    let made = shapes(rig, joints, &coordinates, driven, unseen);
    let warnings = apart(rig.skeleton(), &joints.model.joints).into_iter().collect();
    Ok(Compiled { linear, made, samples, fitted, warnings })
}

/// The skin as an engine shows it.
struct DrivenSkin<'a> {
    rig: &'a Rig,
    weights: &'a Influences,
    linear: &'a Linear,
    made: &'a Shapes,
    /// What the model remembers: its layer, and the shapes of it.
    sculpts: Option<(&'a CompiledShapes, Sculpts)>,
}

#[derive(Default)]
struct Costs {
    poses: usize,
    alone: Distances,
    shapes: Distances,
    all: Distances,
}

impl Costs {
    fn finish(&self) -> Cost {
        Cost {
            poses: self.poses,
            weights_alone: self.alone.finish(),
            shapes: self.shapes.finish(),
            all_shapes: self.all.finish(),
        }
    }
}

impl DrivenSkin<'_> {
    /// Coordinates within their ranges over the samples, as one shape each would have them.
    fn held(&self, z: &[f64]) -> Vec<f64> {
        z.iter().zip(&self.made.ranges).map(|(z, (low, high))| z.clamp(*low, *high)).collect()
    }

    /// What the shapes that joint coordinates drive displace a vertex by, from their weights.
    fn shown(&self, v: usize, weights: &[f64]) -> DVec3 {
        self.made.morphs.iter().zip(weights).map(|(m, w)| m.deltas[v] * *w).sum()
    }

    /// Adds the distances to the model's skin of one pose with its coordinates z. Result: the weights of all shapes.
    fn cost(&self, pose: &BoneTransforms, z: &[f64], skin: &[DVec3], costs: &mut Costs) -> Vec<f64> {
        let mut weights = self.made.table.weights(z);
        let of_sculpts = self.sculpts.as_ref().map(|(layer, _)| layer.weights_in(pose)).unwrap_or_default();
        let held = self.held(z);
        let of_vertex = |v: usize| {
            let (a, rest) = (blend(self.weights.of(v), pose), self.rig.mesh().positions[v]);
            let left = |d: DVec3| (a.transform_point3(rest + d) - skin[v]).length();
            let remembered = self.sculpts.as_ref().map_or([DVec3::ZERO; 2], |(_, s)| s.shown(v, &of_sculpts));
            let [shown, all] = [self.shown(v, &weights), self.linear.at(v, &held)];
            [left(DVec3::ZERO), left(shown + remembered[0]), left(all + remembered[1])]
        };
        let distances: Vec<[f64; 3]> = (0..skin.len()).into_par_iter().map(of_vertex).collect();
        costs.poses += 1;
        for [alone, shapes, all] in distances {
            costs.alone.add(alone);
            costs.shapes.add(shapes);
            costs.all.add(all);
        }
        weights.extend(of_sculpts);
        weights
    }
}
