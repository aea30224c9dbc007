//! Driven shapes: a joint model as morph targets whose weights an engine computes from its joints, in any pose.
//!
//! A morph target moves the rest mesh before skinning. So the model p' is carried back through each vertex's linear
//! blend A_v and regressed there on the model's own joint coordinates z_e (see [`dermis_deform::joints`]):
//!
//! ```text
//! d_v = A_v⁻¹ (p' − A_v p)  ≈  Σ_e B_ve z_e,      min Σ_s ω_vs |d_vs − B_v z_s|² + λ |B_v − U_v|²
//! ```
//!
//! over the joints of the vertex's free part, with the model's own λ and its own coefficients U to return to. Where the model
//! precedes skinning already (frame `rest`, no shared part, no guard acting), B = U. The samples s are the training poses and
//! recombinations of them, in which every joint takes its rotation from a random training pose.
//! ω = min(1, 3/|A⁻¹|²) counts a vertex less where its blend collapses, for there d grows without meaning.
//!
//! **All shapes**: one per coordinate of z. **K shapes**: with Σ the mean of z zᵀ over the samples, Σ = P Pᵀ, and W the
//! principal axes of Pᵀ BᵀB P, the shapes are B P w_h and their coordinates c_h = w_hᵀ P⁺ z: the best of rank K in the mean
//! square over the samples.
//!
//! **Weights.** Applications clamp weights to 0..1, so coordinate h becomes (c_h − low_h)/(high_h − low_h), low and high κ = 1.25
//! times its least and largest value over the samples and the bind pose, as the limits of the joints leave that much room
//! beyond training. At the bind pose z = 0 and the weights are −low/(high − low), the offsets. One more
//! shape, always at weight one, is minus the sum of the others at these weights: the correction of the bind pose is zero, to
//! the single precision in which shapes are stored. The offsets are rounded to single precision first, so that an
//! application has them as they are.
//!
//! The coordinates of a joint are read from the two bones alone: welding changes neither ([`Weld::apply`] keeps what a kept
//! joint does), so a driver table needs no welds.
//!
//! [`Weld::apply`]: dermis_deform::guard::Weld::apply

mod pose_space;
mod pose_table;
mod scale;

pub use pose_space::{Loss, PoseSpaceExport, PoseSpaceSettings, export_pose_space, is_pose_space, refusal};
pub use pose_table::{
    DriverChannel, DriverCoordinates, DriverKernel, KernelKind, PoseDriver, PoseJoint, PoseRegion, PoseSpaceTable,
};

use crate::deliver::{Distances, PruneCost, clip, prune_json, run, skin_weights, within_memory, write_scene};
use crate::error::Error;
use crate::measure::Runner;
use crate::output::Output;
use crate::random::Random;
use dermis_deform::baked::{BakedCorrection, BakedJoints, padded};
use dermis_deform::joints::{Joint, JointPose, Joints, joint_feature, kernel};
use dermis_deform::{TrainingPoses, blend};
use dermis_fit::Progress;
use dermis_io::gltf::GlbScene;
use dermis_io::{ModelFile, MorphTarget};
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::skeleton::{from_rows, invert, row};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Motion, Rig, Skeleton};
use dermis_solve::SolveError;
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::{principal_axes, solve_shifted};
use rayon::prelude::*;
use scale::{Scaled, range, scaled};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// What the file calls itself.
pub const FORMAT: &str = "dermis-drivers";
/// The version this program writes.
pub const VERSION: u32 = 1;
/// Poses the shapes are made from, at most.
const MOST_SAMPLES: usize = 256;
/// Training poses among them, at most; more are thinned evenly.
const MOST_TRAINING: usize = 192;
/// Where the recombinations start.
const SEED: u64 = 1;

/// How weights of morph targets follow from joints; docs/drivers.md defines every field.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverTable {
    /// [`FORMAT`].
    pub format: String,
    /// [`VERSION`].
    pub version: u32,
    /// The program that wrote it.
    pub generator: String,
    /// The mesh in the GLB whose morph targets are driven.
    pub mesh: String,
    /// L, metres.
    pub length: f64,
    /// σ of the kernel.
    pub sigma: f64,
    /// The bones that are read.
    pub bones: Vec<DriverBone>,
    /// The joints, in the order of their coordinates.
    pub joints: Vec<Driver>,
    /// The morph targets, in the order of the GLB.
    pub shapes: Vec<String>,
    /// D: a row per shape, a column per coordinate.
    pub matrix: Vec<Vec<f64>>,
    /// d0: the weights at the bind pose.
    pub offset: Vec<f64>,
    /// Where weights are clamped.
    pub clamp: [f64; 2],
}

/// A bone of a driver table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriverBone {
    /// Its name in the GLB.
    pub name: String,
    /// B⁻¹, three rows of four numbers.
    pub inverse_bind: [[f64; 4]; 3],
}

/// A joint of a driver table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    /// The bone seen from, a number into [`DriverTable::bones`].
    pub from: usize,
    /// The bone seen.
    pub to: usize,
    /// c, in units of L.
    pub centre: [f64; 3],
    /// Largest norm of φ, if there is a limit.
    pub limit: Option<f64>,
    /// φ of the inducing rotations.
    pub inducing: Vec<[f64; 12]>,
    /// C⁻¹, lower triangular: row i has i + 1 numbers.
    pub inverse_factor: Vec<Vec<f64>>,
}

impl DriverTable {
    /// z of all joints from the bone transforms M_k of [`Self::bones`].
    ///
    /// # Panics
    /// If a joint names a bone that does not exist.
    pub fn coordinates(&self, transforms: &[DAffine3]) -> Vec<f64> {
        let mut z = Vec::new();
        for joint in &self.joints {
            let bones = (BoneIndex::new(joint.from), BoneIndex::new(joint.to));
            let mut feature = joint_feature(transforms, bones, DVec3::from_array(joint.centre), self.length);
            let norm = feature.iter().map(|x| x * x).sum::<f64>().sqrt();
            if let Some(limit) = joint.limit.filter(|limit| norm > *limit) {
                feature.iter_mut().for_each(|x| *x *= limit / norm);
            }
            let k: Vec<f64> = joint.inducing.iter().map(|at| kernel(&feature, at, self.sigma)).collect();
            z.extend(joint.inverse_factor.iter().map(|row| row.iter().zip(&k).map(|(c, k)| c * k).sum::<f64>()));
        }
        z
    }

    /// D z + d0, and whether the clamp would act.
    fn unclamped<'a>(&'a self, z: &'a [f64]) -> impl Iterator<Item = (f64, bool)> + 'a {
        self.matrix.iter().zip(&self.offset).map(move |(row, offset)| {
            let w = offset + row.iter().zip(z).map(|(d, z)| d * z).sum::<f64>();
            (w, !(self.clamp[0]..=self.clamp[1]).contains(&w))
        })
    }

    /// The weights of the shapes at coordinates z.
    pub fn weights(&self, z: &[f64]) -> Vec<f64> {
        self.unclamped(z).map(|(w, _)| w.clamp(self.clamp[0], self.clamp[1])).collect()
    }

    /// M_k = T_k B_k⁻¹ of [`Self::bones`] from joint-to-world matrices.
    pub fn bone_transforms(&self, joint_to_world: &[DAffine3]) -> Vec<DAffine3> {
        joint_to_world.iter().zip(&self.bones).map(|(t, bone)| *t * from_rows(bone.inverse_bind)).collect()
    }
}

/// What an engine can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DriverSettings {
    /// Morph targets at most, two or more; one per coordinate if `None`.
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
    pub weights_alone: (f64, f64),
    /// With the exported shapes.
    pub shapes: (f64, f64),
    /// With one shape per coordinate.
    pub all_shapes: (f64, f64),
}

/// What an export with drivers holds, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Driven {
    /// Bytes of the GLB.
    pub bytes: usize,
    /// Morph targets, the constant one included.
    pub shapes: usize,
    /// Coordinates of all joints: with as many shapes nothing is compressed.
    pub coordinates: usize,
    /// Joints the weights are computed from.
    pub joints: usize,
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
    /// Things the user should know.
    pub warnings: Vec<String>,
}

impl Driven {
    /// The same as JSON; distances in metres.
    pub fn json(&self) -> Value {
        let pair = |(rms, max): (f64, f64)| json!({ "rms": rms, "max": max });
        let cost = |cost: &Cost| {
            json!({
                "poses": cost.poses,
                "weights_alone": pair(cost.weights_alone),
                "shapes": pair(cost.shapes),
                "all_shapes": pair(cost.all_shapes),
            })
        };
        json!({
            "bytes": self.bytes,
            "shapes": self.shapes,
            "coordinates": self.coordinates,
            "joints": self.joints,
            "samples": self.samples,
            "pruned": self.pruned.as_ref().map(prune_json),
            "training": cost(&self.training),
            "motion": self.motion.as_ref().map(cost),
            "clamped": self.clamped,
            "warnings": self.warnings,
        })
    }
}

/// Writes a joint model as a skinned GLB with driven shapes and the table that drives them. With a motion, its clip is baked
/// by evaluating that table.
///
/// # Errors
/// [`Error`]: a model that is no joint model, or corrects given positions; too few shapes; what cannot be written.
pub fn export_driven(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: DriverSettings,
    (glb, table_file): (&Output, &Output),
    progress: Progress<'_>,
) -> Result<Driven, Error> {
    let rig = &model.rig;
    let (weights, pruned) = skin_weights(model, motion, settings.influences)?;
    let Compiled { linear, made, samples, warnings } = compile(model, &weights, settings.shapes, progress)?;
    let skin = DrivenSkin { rig, weights: &weights, linear: &linear, made: &made };
    let mut runner = Runner::new(&model.baked);
    let mut training = Costs::default();
    for (at, pose) in samples.poses[..samples.training].iter().enumerate() {
        proceed(progress, at, samples.training)?;
        let z = made.table.coordinates(&made.bones_of(pose));
        skin.cost(pose, &z, runner.run(pose, None), &mut training);
    }
    let (mut clips, mut motion_cost, mut clamped) = (Vec::new(), None, 0.0);
    if let Some(motion) = motion {
        within_memory(motion, rig, 24, "lower --fps, or choose a part of the motion")?;
        let (skins, _) = run(model, motion, None, progress)?;
        let (mut costs, mut rows) = (Costs::default(), Vec::new());
        let mut outside = 0usize;
        for (frame, shown) in motion.frames.iter().zip(&skins) {
            let pose = rig.skeleton.bone_transforms(&frame.pose);
            let z = made.table.coordinates(&made.bones_of(&pose));
            skin.cost(&pose, &z, shown, &mut costs);
            outside += made.table.unclamped(&z).filter(|(_, outside)| *outside).count();
            rows.push(made.table.weights(&z));
        }
        clamped = outside as f64 / (made.morphs.len() * rows.len()).max(1) as f64;
        clips.push(clip(motion, rows));
        motion_cost = Some(costs.finish());
    }
    let scene = GlbScene {
        name: &rig.name,
        mesh: Some(&rig.mesh),
        skeleton: Some(&rig.skeleton),
        weights: Some(&weights),
        morphs: &made.morphs,
        morph_weights: &made.table.offset,
        clips: &clips,
        extension: None,
    };
    let text = serde_json::to_string(&made.table)
        .map_err(|e| Error::Write { path: table_file.path().into(), reason: e.to_string() })?;
    let bytes = write_scene(&scene, glb)?;
    table_file.write(text.as_bytes())?;
    Ok(Driven {
        bytes,
        shapes: made.morphs.len(),
        coordinates: linear.coordinates(),
        joints: made.table.joints.len(),
        samples: samples.poses.len(),
        pruned,
        training: training.finish(),
        motion: motion_cost,
        clamped,
        warnings,
    })
}

/// What the shapes are, before a motion.
struct Compiled {
    linear: Linear,
    made: Shapes,
    samples: Samples,
    warnings: Vec<String>,
}

fn compile(
    model: &ModelFile,
    weights: &Influences,
    most: Option<usize>,
    progress: Progress<'_>,
) -> Result<Compiled, Error> {
    let rig = &model.rig;
    let Some(BakedCorrection::Joints(joints)) = &model.baked.correction else {
        return Err(Error::Option(format!(
            "drivers are made of a joint model or a pose space, and this is \"{}\": export it with --motion, \
             without --drivers",
            model.header.method
        )));
    };
    if model.baked.needs_given() {
        let text = "a model over given positions has no skin to drive: export it with --motion, without --drivers";
        return Err(Error::Option(text.into()));
    }
    if let Some(most) = most.filter(|most| *most < 2) {
        let text = "driven shapes are two at least, as one of them holds the bind pose";
        return Err(Error::Option(format!("--shapes {most}: {text}")));
    }
    let lambda = model.header.report["s"].as_f64().filter(|s| *s > 0.0 && s.is_finite());
    let lambda =
        lambda.ok_or_else(|| Error::Option("the model's report lacks its ridge \"s\": fit it again".into()))?;
    let training = model.training.as_ref().filter(|t| !t.features.is_empty()).ok_or_else(|| {
        Error::Option("the model file holds no training poses, which driven shapes are made from: fit it again".into())
    })?;
    let mut samples = sample_poses(&rig.skeleton, training);
    join_roots(&rig.skeleton, &joints.model, &mut samples.poses);
    let vertices = rig.mesh.positions.len();
    let starts = joint_starts(&joints.model.joints);
    let count = starts[starts.len() - 1];
    let wanted = most.unwrap_or(usize::MAX).min(count + 1);
    if (vertices as u64).saturating_mul(wanted as u64).saturating_mul(12) > u64::from(u32::MAX) {
        let text = "shapes do not fit into one file: ask for fewer with --shapes";
        return Err(Error::Option(format!("{wanted} shapes of {vertices} vertices: {text}")));
    }

    // z and the rest-space corrections of the samples, each with the root of its ω.
    let mut runner = Runner::new(&model.baked);
    let mut pose = JointPose::default();
    let mut coordinates = Mat::<f64>::zeros(samples.poses.len(), count);
    let mut corrections: Vec<Vec<(Vec3, f32)>> = Vec::with_capacity(samples.poses.len());
    for (s, transforms) in samples.poses.iter().enumerate() {
        proceed(progress, s, samples.poses.len())?;
        pose.prepare(&joints.model, transforms);
        pose.z.iter().enumerate().for_each(|(i, z)| coordinates[(s, i)] = *z);
        let skin = runner.run(transforms, None);
        let of_vertex = |v: usize| rest_correction(weights.of(v), rig.mesh.positions[v], skin[v], transforms);
        corrections.push((0..vertices).into_par_iter().map(of_vertex).collect());
    }
    let failed = |e: SolveError| Error::Option(format!("the corrections of the training poses: {e}"));
    let linear = regress(joints, &starts, &coordinates, &corrections, lambda).map_err(failed)?;
    drop(corrections);
    let unseen = 1e-6 * rig.mesh.diagonal();
    let driven = match most {
        None => linear.all(joints, &rig.skeleton),
        Some(most) => linear.principal(&coordinates, most - 1).map_err(failed)?,
    };
    let made = shapes(rig, joints, &coordinates, driven, unseen);
    let warnings = apart(&rig.skeleton, &joints.model.joints);
    Ok(Compiled { linear, made, samples, warnings })
}

/// Joints whose bones hang on different roots: how these stood to each other in training is not kept.
fn apart(skeleton: &Skeleton, joints: &[Joint]) -> Vec<String> {
    let roots = roots(skeleton);
    let names = joints.iter().filter(|j| roots[j.from.get()] != roots[j.to.get()]);
    let names: Vec<String> =
        names.map(|j| format!("{} to {}", skeleton.names()[j.from], skeleton.names()[j.to])).collect();
    match names.is_empty() {
        true => vec![],
        false => vec![format!(
            "the model file does not hold how bones under different roots stood to each other in each training pose; \
             random ones of their inducing rotations stand for it: {}",
            names.join(", ")
        )],
    }
}

/// The root above each bone.
fn roots(skeleton: &Skeleton) -> Vec<usize> {
    let mut roots: Vec<usize> = Vec::with_capacity(skeleton.len());
    for bone in skeleton.bones() {
        roots.push(skeleton.parents()[bone].map_or(bone.get(), |parent| roots[parent.get()]));
    }
    roots
}

/// Moves what hangs on a root so that its joint to another root's bones, as rigs with free feet have, stands at one of its
/// inducing rotations or at rest.
fn join_roots(skeleton: &Skeleton, model: &Joints, poses: &mut [BoneTransforms]) {
    let mut random = Random::new(SEED, 1);
    let roots = roots(skeleton);
    for pose in poses {
        let mut group = roots.clone();
        let mut moved = pose.as_slice().to_vec();
        for joint in &model.joints {
            let (a, b) = (joint.from.get(), joint.to.get());
            if group[a] == group[b] {
                continue;
            }
            let choice = (random.unit() * (joint.inducing.len() + 1) as f64) as usize;
            let wanted = joint.inducing.get(choice).map_or(DAffine3::IDENTITY, |f| at_feature(f, joint, model.length));
            let Some(inverse) = invert(&moved[b]) else { continue };
            let (step, old, new) = (moved[a] * wanted * inverse, group[b], group[a]);
            for (m, group) in moved.iter_mut().zip(&mut group).filter(|(_, group)| **group == old) {
                (*m, *group) = (step * *m, new);
            }
        }
        *pose = BoneTransforms::new(moved);
    }
}

/// M_a⁻¹ M_b of a joint whose feature is φ.
fn at_feature(feature: &[f64; 12], joint: &Joint, length: f64) -> DAffine3 {
    let entry = |j: usize, i: usize| feature[4 * j + i] * std::f64::consts::SQRT_2;
    let slide = |j: usize| feature[4 * j + 3] - (0..3).map(|i| entry(j, i) * joint.centre[i]).sum::<f64>();
    from_rows([0, 1, 2].map(|j| {
        let turn = |i: usize| entry(j, i) + f64::from(u8::from(i == j));
        [turn(0), turn(1), turn(2), slide(j) * length]
    }))
}

fn proceed(progress: Progress<'_>, at: usize, of: usize) -> Result<(), Error> {
    match progress(at as u64, of as u64) {
        ControlFlow::Break(stop) => Err(stop.into()),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Poses the shapes are made from.
struct Samples {
    poses: Vec<BoneTransforms>,
    /// The first so many are training poses.
    training: usize,
}

/// The training poses with every root at rest, then as many in which each joint is that of a random training pose.
///
/// A bone that moves no skin is not kept in a model file; it stands still to its parent.
fn sample_poses(skeleton: &Skeleton, training: &TrainingPoses) -> Samples {
    let kept = training.features.len() / training.joints.len().max(1);
    let step = kept.div_ceil(MOST_TRAINING).max(1);
    let known: Vec<usize> = (0..kept).step_by(step).collect();
    let mut joint_of = vec![None; skeleton.len()];
    for (j, &(parent, bone)) in training.joints.iter().enumerate() {
        if skeleton.parents()[bone] == Some(parent) {
            joint_of[bone.get()] = Some(j);
        }
    }
    let assemble = |mut of: Box<dyn FnMut() -> usize + '_>| {
        let mut made: Vec<DAffine3> = Vec::with_capacity(skeleton.len());
        for bone in skeleton.bones() {
            let above = skeleton.parents()[bone].map_or(DAffine3::IDENTITY, |parent| made[parent.get()]);
            let joint = joint_of[bone.get()].map(|j| training.features[of() * training.joints.len() + j]);
            made.push(joint.map_or(above, |f| above * seen(&f, training.length)));
        }
        BoneTransforms::new(made)
    };
    let mut poses: Vec<BoneTransforms> = known.iter().map(|&s| assemble(Box::new(move || s))).collect();
    let mut random = Random::new(SEED, 0);
    for _ in 0..known.len().min(MOST_SAMPLES - known.len()) {
        poses.push(assemble(Box::new(|| known[(random.unit() * known.len() as f64) as usize])));
    }
    Samples { poses, training: known.len() }
}

/// M_parent⁻¹ M_bone from the feature of [`TrainingPoses`].
fn seen(feature: &[f32; 12], length: f64) -> DAffine3 {
    let entry = |j: usize, c: usize| {
        let x = f64::from(feature[4 * j + c]);
        if c == 3 { x * length } else { x * std::f64::consts::SQRT_2 + f64::from(u8::from(c == j)) }
    };
    from_rows([0, 1, 2].map(|j| [0, 1, 2, 3].map(|c| entry(j, c))))
}

/// d of a vertex and √ω; both zero where the blend is singular.
fn rest_correction(
    influences: &[(BoneIndex, f64)],
    rest: DVec3,
    skin: DVec3,
    transforms: &BoneTransforms,
) -> (Vec3, f32) {
    let a = blend(influences, transforms);
    let Some(inverse) = invert(&a) else { return (Vec3::ZERO, 0.0) };
    let squares: f64 = inverse.matrix3.to_cols_array().iter().map(|x| x * x).sum();
    let d = inverse.matrix3 * (skin - a.transform_point3(rest));
    (d.as_vec3(), (3.0 / squares).min(1.0).sqrt() as f32)
}

/// Where the coordinates of each joint start; one more entry than joints.
fn joint_starts(joints: &[Joint]) -> Vec<usize> {
    let mut starts = vec![0];
    joints.iter().for_each(|joint| starts.push(starts[starts.len() - 1] + joint.inducing.len()));
    starts
}

/// B: displacements at rest that are linear in z, compressed rows of vertices.
struct Linear {
    /// Number of coordinates.
    count: usize,
    /// Where the entries of vertex v start; one more entry than vertices.
    starts: Vec<usize>,
    /// Coordinate of each entry.
    columns: Vec<u32>,
    /// Displacement per unit of the coordinate, metres.
    deltas: Vec<DVec3>,
}

/// The regression of the corrections on z, vertex by vertex.
fn regress(
    joints: &BakedJoints,
    starts: &[usize],
    z: &Mat<f64>,
    corrections: &[Vec<(Vec3, f32)>],
    lambda: f64,
) -> Result<Linear, SolveError> {
    let vertices = joints.offsets.len() - 1;
    let coefficients = joints.coefficients.widened(joints.starts.iter().map(|&at| at as usize));
    let rows = (0..vertices)
        .into_par_iter()
        .map(|v| {
            let terms = &joints.terms[joints.offsets[v] as usize..joints.offsets[v + 1] as usize];
            let mut at = joints.starts[v] as usize;
            let (mut columns, mut own) = (Vec::new(), Vec::new());
            for &joint in terms {
                let (from, to) = (starts[joint as usize], starts[joint as usize + 1]);
                let width = padded(to - from);
                for i in 0..to - from {
                    let u = |axis: usize| f64::from(coefficients[at + axis * width + i]);
                    columns.push((from + i) as u32);
                    own.push(DVec3::new(u(0), u(1), u(2)));
                }
                at += 3 * width;
            }
            if columns.is_empty() {
                return Ok((columns, own));
            }
            let n = columns.len();
            let x = Mat::from_fn(z.nrows(), n, |s, i| z[(s, columns[i] as usize)] * f64::from(corrections[s][v].1));
            let u = Mat::from_fn(n, 3, |i, axis| own[i][axis]);
            let y = Mat::from_fn(z.nrows(), 3, |s, axis| {
                let (d, root) = corrections[s][v];
                f64::from(d[axis]) * f64::from(root)
            });
            let change =
                solve_shifted((x.transpose() * &x).as_ref(), lambda, (x.transpose() * (y - &x * &u)).as_ref())?;
            own.iter_mut().enumerate().for_each(|(i, b)| {
                *b += DVec3::new(change[(i, 0)], change[(i, 1)], change[(i, 2)]);
            });
            Ok((columns, own))
        })
        .collect::<Result<Vec<_>, SolveError>>()?;
    let mut made = Linear { count: z.ncols(), starts: vec![0], columns: vec![], deltas: vec![] };
    for (columns, deltas) in rows {
        made.columns.extend(columns);
        made.deltas.extend(deltas);
        made.starts.push(made.deltas.len());
    }
    Ok(made)
}

/// Shapes and how they depend on z, before they are scaled to weights.
struct Unscaled {
    names: Vec<String>,
    /// Displacements per unit of each shape's coordinate.
    shapes: Vec<Vec<DVec3>>,
    /// Rows of the map from z to the coordinates.
    rows: Vec<Vec<f64>>,
}

impl Linear {
    fn vertices(&self) -> usize {
        self.starts.len() - 1
    }

    fn coordinates(&self) -> usize {
        self.count
    }

    fn of(&self, v: usize) -> impl Iterator<Item = (usize, DVec3)> + Clone + '_ {
        let range = self.starts[v]..self.starts[v + 1];
        self.columns[range.clone()].iter().map(|&c| c as usize).zip(self.deltas[range].iter().copied())
    }

    /// Σ_e B_ve z_e.
    fn at(&self, v: usize, z: &[f64]) -> DVec3 {
        self.of(v).map(|(column, delta)| delta * z[column]).sum()
    }

    /// One shape per coordinate.
    fn all(&self, joints: &BakedJoints, skeleton: &Skeleton) -> Unscaled {
        let mut made =
            Unscaled { names: vec![], shapes: vec![vec![DVec3::ZERO; self.vertices()]; self.count], rows: vec![] };
        for v in 0..self.vertices() {
            self.of(v).for_each(|(column, delta)| made.shapes[column][v] = delta);
        }
        for joint in &joints.model.joints {
            let (from, to) = (&skeleton.names()[joint.from], &skeleton.names()[joint.to]);
            made.names.extend((1..=joint.inducing.len()).map(|i| format!("driven_{from}_{to}_{i}")));
        }
        let unit = |i: usize| (0..self.count).map(|c| f64::from(u8::from(c == i))).collect();
        made.rows = (0..self.count).map(unit).collect();
        made
    }

    /// The first `most` principal shapes over the samples `z`.
    fn principal(&self, z: &Mat<f64>, most: usize) -> Result<Unscaled, SolveError> {
        let (count, samples) = (self.count, z.nrows().max(1) as f64);
        let mut gram = Mat::<f64>::zeros(count, count);
        for v in 0..self.vertices() {
            for (i, a) in self.of(v) {
                self.of(v).take_while(|(j, _)| *j <= i).for_each(|(j, b)| gram[(i, j)] += a.dot(b));
            }
        }
        (0..count).for_each(|i| (i + 1..count).for_each(|j| gram[(i, j)] = gram[(j, i)]));
        let moments = principal_axes((z.transpose() * z).as_ref())?;
        let least = 1e-12 * moments.values.first().copied().unwrap_or(0.0);
        let rank = moments.values.iter().take_while(|value| **value > least).count();
        let root = |r: usize| (moments.values[r] / samples).sqrt();
        let p = Mat::from_fn(count, rank, |i, r| moments.vectors[(i, r)] * root(r));
        let axes = principal_axes((p.transpose() * &gram * &p).as_ref())?;
        let kept = most.min(rank);
        let to_shape = &p * axes.vectors.get(.., ..kept);
        let inverse = Mat::from_fn(count, rank, |i, r| moments.vectors[(i, r)] / root(r));
        let from_z = inverse * axes.vectors.get(.., ..kept);
        let shape =
            |h: usize| (0..self.vertices()).map(|v| self.of(v).map(|(c, b)| b * to_shape[(c, h)]).sum()).collect();
        Ok(Unscaled {
            names: (1..=kept).map(|h| format!("driven_{h}")).collect(),
            shapes: (0..kept).map(shape).collect(),
            rows: (0..kept).map(|h| (0..count).map(|i| from_z[(i, h)]).collect()).collect(),
        })
    }
}

/// Morph targets with their table.
struct Shapes {
    table: DriverTable,
    /// Bones of the table in the rig.
    bones: Vec<BoneIndex>,
    morphs: Vec<MorphTarget>,
    /// Range of every coordinate of z, for what all shapes would show.
    ranges: Vec<(f64, f64)>,
}

/// Scales shapes to weights in 0..1 and adds the constant one. Shapes that never displace more than `unseen` are left out.
fn shapes(rig: &Rig, joints: &BakedJoints, z: &Mat<f64>, driven: Unscaled, unseen: f64) -> Shapes {
    let count = z.ncols();
    let over_samples = |value: &dyn Fn(usize) -> f64| range((0..z.nrows()).map(value));
    let of_row = |row: &Vec<f64>| over_samples(&|s| (0..count).map(|i| z[(s, i)] * row[i]).sum());
    let ranges: Vec<(f64, f64)> = driven.rows.iter().map(of_row).collect();
    let named = driven.names.into_iter().zip(driven.shapes);
    let Scaled { morphs, kept, offset } = scaled(rig.mesh.positions.len(), named, &ranges, unseen);
    let mut matrix = vec![vec![0.0; count]];
    matrix.extend(kept.iter().map(|&(shape, factor)| driven.rows[shape].iter().map(|x| x * factor).collect()));
    let skeleton = &rig.skeleton;
    let mut bones: Vec<BoneIndex> = joints.model.joints.iter().flat_map(|j| [j.from, j.to]).collect();
    bones.sort_unstable();
    bones.dedup();
    let number = |bone: BoneIndex| bones.partition_point(|b| *b < bone);
    let driver = |joint: &Joint| Driver {
        from: number(joint.from),
        to: number(joint.to),
        centre: joint.centre.to_array(),
        limit: Some(joint.limit).filter(|limit| limit.is_finite()),
        inducing: joint.inducing.clone(),
        inverse_factor: joint.inverse_factor(),
    };
    let bone = |bone: &BoneIndex| DriverBone {
        name: skeleton.names()[*bone].clone(),
        inverse_bind: [0, 1, 2].map(|j| row(&skeleton.inverse_bind()[*bone], j)),
    };
    let table = DriverTable {
        format: FORMAT.into(),
        version: VERSION,
        generator: crate::PROGRAM.into(),
        mesh: rig.name.clone(),
        length: joints.model.length,
        sigma: joints.model.sigma,
        bones: bones.iter().map(bone).collect(),
        joints: joints.model.joints.iter().map(driver).collect(),
        shapes: morphs.iter().map(|m| m.name.clone()).collect(),
        matrix,
        offset,
        clamp: [0.0, 1.0],
    };
    let ranges = (0..count).map(|i| over_samples(&|s| z[(s, i)])).collect();
    Shapes { table, bones, morphs, ranges }
}

impl Shapes {
    /// M_k of the table's bones.
    fn bones_of(&self, pose: &BoneTransforms) -> Vec<DAffine3> {
        self.bones.iter().map(|bone| pose[*bone]).collect()
    }
}

/// The skin as an engine shows it.
struct DrivenSkin<'a> {
    rig: &'a Rig,
    weights: &'a Influences,
    linear: &'a Linear,
    made: &'a Shapes,
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
    /// Adds the distances to the model's skin of one pose with its coordinates z.
    fn cost(&self, pose: &BoneTransforms, z: &[f64], skin: &[DVec3], costs: &mut Costs) {
        let weights = self.made.table.weights(z);
        let held: Vec<f64> = z.iter().zip(&self.made.ranges).map(|(z, (low, high))| z.clamp(*low, *high)).collect();
        let of_vertex = |v: usize| {
            let (a, rest) = (blend(self.weights.of(v), pose), self.rig.mesh.positions[v]);
            let shown: DVec3 = self.made.morphs.iter().zip(&weights).map(|(m, w)| m.deltas[v] * *w).sum();
            let left = |d: DVec3| (a.transform_point3(rest + d) - skin[v]).length();
            [left(DVec3::ZERO), left(shown), left(self.linear.at(v, &held))]
        };
        let distances: Vec<[f64; 3]> = (0..skin.len()).into_par_iter().map(of_vertex).collect();
        costs.poses += 1;
        for [alone, shapes, all] in distances {
            costs.alone.add(alone);
            costs.shapes.add(shapes);
            costs.all.add(all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::{FitOptions, Method, fit};
    use crate::load::LoadedRig;
    use dermis_deform::joints::Frame;
    use dermis_fit::silent;
    use dermis_io::Space;
    use dermis_rig::ExampleSet;
    use dermis_testkit::{Arm, ArmPose};

    /// A joint model of the arm; with `frozen` its wrist never moved in training.
    fn arm_model(frame: Frame, frozen: bool) -> (Arm, ModelFile) {
        let arm = Arm::new(24, 8);
        let mut poses = ArmPose::some(24, 5);
        if frozen {
            poses.iter_mut().for_each(|pose| pose.wrist = DVec3::ZERO);
        }
        let examples = ExampleSet::new("arm".into(), arm.examples(&poses), &arm.rig).unwrap();
        let loaded = LoadedRig { rig: arm.rig.clone(), space: Space::default(), notes: vec![] };
        let options = FitOptions { frame: Some(frame), s: Some(0.01), ..FitOptions::new(Method::Joint) };
        let model = fit(&loaded, &examples, None, &options, &silent).unwrap().model;
        (arm, model)
    }

    fn joints(model: &mut ModelFile) -> &mut BakedJoints {
        match &mut model.baked.correction {
            Some(BakedCorrection::Joints(joints)) => joints,
            _ => panic!("another correction"),
        }
    }

    fn compiled(model: &ModelFile, most: Option<usize>) -> Compiled {
        compile(model, model.rig.weights.as_ref().unwrap(), most, &silent).unwrap()
    }

    /// Closed form: in the rest frame, without shared part, limits and ball, the model is U z carried by the blend.
    #[test]
    fn a_model_that_precedes_skinning_is_delivered_as_it_is() {
        let (_, mut model) = arm_model(Frame::Rest, false);
        let changed = joints(&mut model);
        changed.shared.clear();
        changed.shared_offsets.iter_mut().for_each(|offset| *offset = 0);
        (changed.limits, changed.radii) = (vec![], vec![]);
        changed.model.joints.iter_mut().for_each(|joint| joint.limit = f64::INFINITY);
        let Compiled { linear, made, .. } = compiled(&model, None);
        let changed = joints(&mut model);
        let coefficients = changed.coefficients.widened(changed.starts.iter().map(|&at| at as usize));
        let mut largest = 0.0f64;
        for v in 0..linear.vertices() {
            let (mut at, mut place) = (changed.starts[v] as usize, linear.starts[v]);
            for &joint in &changed.terms[changed.offsets[v] as usize..changed.offsets[v + 1] as usize] {
                let count = changed.model.joints[joint as usize].inducing.len();
                for i in 0..count {
                    let u = [0, 1, 2].map(|axis| f64::from(coefficients[at + axis * padded(count) + i]));
                    // Positions are rounded to 1e-7 m; a ridge of 0.01 passes at most 1/(2 √0.01) of that per pose.
                    assert!((linear.deltas[place + i] - DVec3::from_array(u)).length() < 5e-6, "{v}");
                    largest = largest.max(DVec3::from_array(u).length());
                }
                (at, place) = (at + 3 * padded(count), place + count);
            }
        }
        assert!(largest > 1e-3, "there is something to deliver: {largest}");
        assert_eq!(made.morphs.len(), made.table.offset.len());
    }

    /// Oracle: the model's own coordinates, computed on the welded pose, in poses far beyond training.
    #[test]
    fn the_table_has_the_coordinates_of_the_model_though_it_knows_no_welds() {
        let (arm, mut model) = arm_model(Frame::Anchor, true);
        let Compiled { made, .. } = compiled(&model, Some(8));
        let joints = joints(&mut model);
        assert_eq!(joints.model.weld.frozen().count(), 1, "the wrist is welded");
        let (mut random, mut pose, mut limited) = (dermis_testkit::Random::new(3), JointPose::default(), 0);
        for _ in 0..50 {
            let wild = arm.wild(&mut random, 2.5);
            pose.prepare(&joints.model, &wild);
            limited += pose.limited;
            let z = made.table.coordinates(&made.bones_of(&wild));
            assert_eq!(z.len(), pose.z.len());
            assert!(z.iter().zip(&pose.z).all(|(a, b)| (a - b).abs() < 1e-9), "{z:?} {:?}", pose.z);
        }
        assert!(limited > 0, "some limit acts");
    }

    #[test]
    fn the_bind_pose_is_exact_and_weights_lie_in_their_range_over_the_samples() {
        let (arm, model) = arm_model(Frame::Anchor, false);
        for most in [Some(2), Some(9), None] {
            let Compiled { made, samples, .. } = compiled(&model, most);
            assert!(most.is_none_or(|most| made.morphs.len() == most));
            let bind = made.table.coordinates(&made.bones_of(&BoneTransforms::identity(4)));
            assert_eq!(made.table.weights(&bind), made.table.offset);
            for v in 0..arm.rig.mesh.positions.len() {
                let shown = |m: &MorphTarget| m.deltas[v].as_vec3().as_dvec3();
                let sum: DVec3 = made.morphs.iter().zip(&made.table.offset).map(|(m, w)| shown(m) * *w).sum();
                // The constant shape is rounded to single precision, once.
                let constant = shown(&made.morphs[0]).abs().max_element();
                assert!(sum.abs().max_element() <= 0.6e-7 * constant, "{sum} of {constant}");
            }
            for pose in &samples.poses {
                let z = made.table.coordinates(&made.bones_of(pose));
                assert!(made.table.unclamped(&z).all(|(_, outside)| !outside));
            }
        }
    }

    /// Oracle: with every principal shape nothing is lost, whatever the pose between the limits of the weights.
    #[test]
    fn principal_shapes_rebuild_all_shapes_and_more_of_them_leave_less() {
        let (_, model) = arm_model(Frame::Anchor, false);
        let Compiled { linear, made: all, samples, .. } = compiled(&model, None);
        let error = |most: usize| {
            let Compiled { made, .. } = compiled(&model, Some(most));
            let mut worst = 0.0f64;
            let mut squares = 0.0f64;
            for pose in &samples.poses {
                let z = made.table.coordinates(&made.bones_of(pose));
                let (w, every) = (made.table.weights(&z), all.table.weights(&z));
                for v in 0..linear.vertices() {
                    let sum =
                        |s: &Shapes, w: &[f64]| s.morphs.iter().zip(w).map(|(m, w)| m.deltas[v] * *w).sum::<DVec3>();
                    let off = (sum(&made, &w) - linear.at(v, &z)).length();
                    assert!((sum(&all, &every) - linear.at(v, &z)).length() < 1e-6);
                    (worst, squares) = (worst.max(off), squares + off * off);
                }
            }
            (squares.sqrt(), worst)
        };
        let errors = [2, 4, 8, 16].map(|most| error(most).0);
        assert!(errors.windows(2).all(|w| w[1] < w[0]), "{errors:?}");
        // What is left out moves no vertex by more than 1e-6 of the diagonal per shape.
        assert!(error(linear.coordinates() + 1).1 < 1e-5, "{:?}", error(linear.coordinates() + 1));
    }

    /// Planted: displacements that two directions of z explain are carried by two shapes.
    #[test]
    fn as_many_shapes_as_the_corrections_have_directions_are_enough() {
        let mut random = dermis_testkit::Random::new(7);
        let (count, vertices) = (6, 40);
        let directions: Vec<Vec<f64>> = (0..2).map(|_| (0..count).map(|_| random.normal()).collect()).collect();
        let mut linear = Linear { count, starts: vec![0], columns: vec![], deltas: vec![] };
        for _ in 0..vertices {
            let s: [DVec3; 2] = [0; 2].map(|_| DVec3::new(random.normal(), random.normal(), random.normal()));
            linear.columns.extend(0..count as u32);
            linear.deltas.extend((0..count).map(|i| s[0] * directions[0][i] + s[1] * directions[1][i]));
            linear.starts.push(linear.deltas.len());
        }
        let z = Mat::from_fn(30, count, |_, _| random.normal());
        let found = linear.principal(&z, 2).unwrap();
        let other: Vec<f64> = (0..count).map(|_| random.normal()).collect();
        for v in 0..vertices {
            let c = |h: usize| found.rows[h].iter().zip(&other).map(|(d, z)| d * z).sum::<f64>();
            let shown = found.shapes[0][v] * c(0) + found.shapes[1][v] * c(1);
            assert!((shown - linear.at(v, &other)).length() < 1e-12);
        }
    }

    /// Oracle: the poses themselves, seen from their roots.
    #[test]
    fn training_poses_are_rebuilt_up_to_where_the_character_stands_and_recombined_joint_by_joint() {
        let arm = Arm::new(9, 6);
        let skeleton = &arm.rig.skeleton;
        let g = dermis_testkit::some_motion(1.0, DVec3::new(3.0, -1.0, 2.0));
        let poses = ArmPose::some(6, 2).into_iter().map(|pose| arm.transforms(&ArmPose { root: g, ..pose }));
        let poses: Vec<BoneTransforms> = poses.collect();
        let all: Vec<&BoneTransforms> = poses.iter().collect();
        // The hand moves no skin: it is not kept, and follows the forearm.
        let training = TrainingPoses::new(skeleton, &[true, true, true, false], &all, arm.length());
        let samples = sample_poses(skeleton, &training);
        assert_eq!((samples.training, samples.poses.len()), (6, 12));
        let seen =
            |pose: &BoneTransforms, a: usize, b: usize| pose[BoneIndex::new(a)].inverse() * pose[BoneIndex::new(b)];
        for (rebuilt, pose) in samples.poses.iter().zip(&poses) {
            // Features are kept in f32.
            assert!((0..3).all(|b| seen(rebuilt, 0, b).abs_diff_eq(seen(pose, 0, b), 1e-6)));
            assert_eq!(rebuilt[BoneIndex::new(3)], rebuilt[BoneIndex::new(2)]);
        }
        for mixed in &samples.poses[6..] {
            for joint in 0..2 {
                let found = seen(mixed, joint, joint + 1);
                assert!(poses.iter().any(|pose| found.abs_diff_eq(seen(pose, joint, joint + 1), 1e-6)));
            }
        }
        let again = sample_poses(skeleton, &training);
        assert!(samples.poses.iter().zip(&again.poses).all(|(a, b)| a == b));
    }

    /// Oracle: the feature of the joint itself, which must be one of its inducing rotations or rest in every pose.
    #[test]
    fn bones_under_different_roots_are_joined_as_the_model_has_seen_them() {
        let (arm, mut model) = arm_model(Frame::Anchor, false);
        let rig = &arm.rig;
        let parents = vec![None, Some(BoneIndex::new(0)), None, Some(BoneIndex::new(2))];
        let bind = rig.skeleton.bind().to_vec();
        let skeleton = Skeleton::new(rig.skeleton.names().to_vec(), parents, bind).unwrap();
        let posed: Vec<BoneTransforms> = ArmPose::some(20, 4).iter().map(|pose| arm.transforms(pose)).collect();
        let all: Vec<&BoneTransforms> = posed.iter().collect();
        let training = TrainingPoses::new(&skeleton, &[true; 4], &all, arm.length());
        let mut samples = sample_poses(&skeleton, &training);
        let before = samples.poses.clone();
        let joints = joints(&mut model);
        join_roots(&skeleton, &joints.model, &mut samples.poses);
        let elbow = joints.model.joints.iter().find(|j| (j.from.get(), j.to.get()) == (1, 2)).unwrap();
        let mut seen = std::collections::HashSet::new();
        for (pose, before) in samples.poses.iter().zip(&before) {
            let f = elbow.feature(pose.as_slice(), joints.model.length);
            let off = |g: &[f64; 12]| f.iter().zip(g).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            let all = elbow.inducing.iter().chain([&[0.0; 12]]);
            let (at, nearest) = all.map(off).enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert!(nearest < 1e-12, "{nearest}");
            seen.insert(at);
            for (a, b) in [(0, 1), (2, 3)].map(|(a, b)| (BoneIndex::new(a), BoneIndex::new(b))) {
                assert!((pose[a].inverse() * pose[b]).abs_diff_eq(before[a].inverse() * before[b], 1e-12));
            }
        }
        assert!(seen.len() > elbow.inducing.len() / 2 && seen.contains(&elbow.inducing.len()), "{seen:?}");
        assert_eq!(apart(&skeleton, &joints.model.joints).len(), 1);
    }

    #[test]
    fn what_cannot_be_driven_is_refused_with_the_remedy() {
        let (_, mut model) = arm_model(Frame::Anchor, false);
        let refused = |model: &ModelFile, most| match compile(model, model.rig.weights.as_ref().unwrap(), most, &silent)
        {
            Err(Error::Option(text)) => text,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was taken"),
        };
        assert!(refused(&model, Some(1)).contains("two at least"));
        model.training = None;
        assert!(refused(&model, None).contains("training poses"));
        model.header.report = json!({});
        assert!(refused(&model, None).contains("ridge"));
        model.baked.correction = None;
        assert!(refused(&model, None).contains("--motion, without --drivers"));
    }
}
