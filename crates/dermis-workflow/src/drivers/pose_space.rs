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
//! - **Shapes** (EigenSkin, compiled models) have them. They are delivered whole, or refused if they are more than asked for.
//! - A **small pose space**, of no more kernels per group than asked for and at most [`MOST_VALUES`] values, keeps the values of
//!   all its groups. u are the principal directions of d over sampled poses, orthonormal, and c_l = u_lᵀ d(x), which is linear in κ:
//!   d differs by what lies outside of the span of u alone. A few sculpts are delivered as they are.
//! - **Any other** is compiled ([`Compiler`]).
//!
//! Samples are the training coordinates, recombinations in which every joint takes its own from a random training pose, and
//! fractions of these. Weights are mapped to 0..1 as for a joint model, by the ranges of c over them and much room
//! ([`wide_range`]).

use super::pose_table::{EXTENSION, PoseDriver, driver, table};
use super::scale::{Scaled, scaled, wide_range};
use super::{proceed, roots, sample_poses};
use crate::deliver::{Distances, PruneCost, clip, prune_json, run, skin_weights, within_memory, write_scene};
use crate::error::Error;
use crate::measure::Runner;
use crate::output::Output;
use crate::random::Random;
use dermis_deform::baked::{BakedBase, BakedCorrection};
use dermis_deform::blend;
use dermis_deform::pose_space::{Carrier, Kernel, KernelValues, NO_GROUP, PoseSpace, ROOM, Shapes};
use dermis_fit::Progress;
use dermis_fit::psd::compile::{Budget, Compiler};
use dermis_io::gltf::GlbScene;
use dermis_io::{ModelFile, MorphTarget};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Influences, Motion};
use dermis_solve::SolveError;
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;
use rayon::prelude::*;
use serde_json::{Value, json};

/// Kernel values that a pose space may have and keep. The table holds a number for each and every shape: 64 thousand with 64
/// shapes, a megabyte.
const MOST_VALUES: usize = 1024;
/// Sampled poses of each kind: at most of training, and of the others at least.
const SAMPLES: (usize, usize) = (128, 48);
/// Numbers of sampled displacements, at most: half a gigabyte.
const MOST_NUMBERS: usize = 1 << 26;
/// Morph targets of a pose space that is compiled, unless they are given: a body's held-out error with 64 is near that with all.
const SHAPES: usize = 64;
/// Kernels of a region, unless they are given.
const KERNELS: usize = 16;
/// Where the random poses start.
const SEED: u64 = 2;

/// What an engine can take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoseSpaceSettings {
    /// Morph targets at most, the constant one included, two or more; `None`: 64, or all of a model that is shapes already.
    pub shapes: Option<usize>,
    /// Kernels per region at most; `None`: 16, or all of a model that is shapes already.
    pub kernels: Option<usize>,
    /// Influences per vertex at most; all of them if `None`.
    pub influences: Option<usize>,
}

/// rms and largest distance to the model over some poses, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Number of poses.
    pub poses: usize,
    /// Of the skin weights alone.
    pub weights_alone: (f64, f64),
    /// With the exported shapes.
    pub shapes: (f64, f64),
    /// Share of weights that the clamp holds back.
    pub clamped: f64,
}

/// What an export of a pose space holds, and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseSpaceExport {
    /// Bytes of the GLB.
    pub bytes: usize,
    /// Morph targets, the constant one included.
    pub shapes: usize,
    /// Pose spaces that drive them.
    pub regions: usize,
    /// Values of a pose: kernels and linear terms of all regions.
    pub values: usize,
    /// Joints and channels they are computed from.
    pub coordinates: usize,
    /// Where the shapes come from: `as they are`, `its own values` or `compiled`.
    pub origin: &'static str,
    /// What pruning the influences cost.
    pub pruned: Option<PruneCost>,
    /// Over the training poses kept in the model file.
    pub training: Option<Loss>,
    /// Over the motion.
    pub motion: Option<Loss>,
    /// Things the user should know.
    pub warnings: Vec<String>,
}

impl PoseSpaceExport {
    /// The same as JSON; distances in metres.
    pub fn json(&self) -> Value {
        let pair = |(rms, max): (f64, f64)| json!({ "rms": rms, "max": max });
        let loss = |loss: &Loss| {
            json!({
                "poses": loss.poses,
                "weights_alone": pair(loss.weights_alone),
                "shapes": pair(loss.shapes),
                "clamped": loss.clamped,
            })
        };
        json!({
            "bytes": self.bytes,
            "shapes": self.shapes,
            "regions": self.regions,
            "values": self.values,
            "coordinates": self.coordinates,
            "origin": self.origin,
            "pruned": self.pruned.as_ref().map(prune_json),
            "training": self.training.as_ref().map(loss),
            "motion": self.motion.as_ref().map(loss),
            "warnings": self.warnings,
        })
    }
}

/// Whether the correction of a model is a pose space.
pub fn is_pose_space(model: &ModelFile) -> bool {
    matches!(model.baked.correction, Some(BakedCorrection::PoseSpace(_) | BakedCorrection::Shapes(_)))
}

/// Why shapes that act before skinning cannot hold a model's pose space, if they cannot.
pub fn refusal(model: &ModelFile) -> Option<&'static str> {
    let carrier = match &model.baked.correction {
        Some(BakedCorrection::PoseSpace(c)) => &c.carrier,
        Some(BakedCorrection::Shapes(c)) => &c.model.carrier,
        _ => return Some("its correction is no pose space"),
    };
    match (&model.baked.base, carrier) {
        (_, Carrier::World) => {
            Some("its displacements are those of the world, after skinning: fit it with --form inverse")
        }
        (BakedBase::Given, _) | (_, Carrier::Bones(_)) => Some("it corrects given positions, which are no skin"),
        (BakedBase::Lbs(_), Carrier::Base) => None,
        _ => Some("its base is not linear blend skinning, which is the skin of a GLB: fit it with --base lbs"),
    }
}

/// Writes a pose space over linear blend skinning as a skinned GLB with driven shapes, the extension that says how they are
/// driven, and the same as a table, if it is wanted. With a motion, its clip is baked.
///
/// # Errors
/// [`Error`]: a model that [`refusal`] gives a reason for; too few shapes or kernels; what cannot be written.
pub fn export_pose_space(
    model: &ModelFile,
    motion: Option<&Motion>,
    settings: PoseSpaceSettings,
    (glb, table_file): (&Output, Option<&Output>),
    progress: Progress<'_>,
) -> Result<PoseSpaceExport, Error> {
    let rig = &model.rig;
    if let Some(reason) = refusal(model) {
        return Err(Error::Option(format!("no shapes can be driven for this model: {reason}")));
    }
    let (weights, pruned) = skin_weights(model, motion, settings.influences)?;
    let vertices = rig.mesh.positions.len();
    let (delivered, mut warnings) = deliver(model, settings, progress)?;
    let shape_count = delivered.shapes.len() + 1;
    if (vertices as u64).saturating_mul(shape_count as u64).saturating_mul(12) > u64::from(u32::MAX) {
        let text = "shapes do not fit into one file: ask for fewer with --shapes";
        return Err(Error::Option(format!("{shape_count} shapes of {vertices} vertices: {text}")));
    }
    let Prepared { delivered, morphs, kept, driver } = prepare(delivered, vertices, 1e-6 * rig.mesh.diagonal());
    let skin =
        Skin { rest: &rig.mesh.positions, weights: &weights, delivered: &delivered, morphs: &morphs, kept: &kept };

    let mut training = None;
    if let Some(known) = model.training.as_ref().filter(|t| !t.features.is_empty()) {
        let apart = roots(&rig.skeleton);
        let joints = &delivered.kernel.joints;
        if joints.iter().any(|j| apart[j.parent.get()] != apart[j.bone.get()]) {
            warnings.push(
                "the model file does not hold how bones under different roots stood to each other in training: in the training \
                 poses compared here they are at rest"
                    .into(),
            );
        }
        let samples = sample_poses(&rig.skeleton, known);
        let (mut runner, mut losses) = (Runner::new(&model.baked), Losses::default());
        for (at, pose) in samples.poses[..samples.training].iter().enumerate() {
            proceed(progress, at, samples.training)?;
            skin.lose(pose, &driver, runner.run(pose, None), &mut losses);
        }
        training = Some(losses.finish());
    }
    let (mut clips, mut motion_loss) = (Vec::new(), None);
    if let Some(motion) = motion {
        within_memory(motion, rig, 24, "lower --fps, or choose a part of the motion")?;
        let (skins, _) = run(model, motion, None, progress)?;
        let (mut losses, mut rows) = (Losses::default(), Vec::new());
        for (frame, shown) in motion.frames.iter().zip(&skins) {
            let pose = rig.skeleton.bone_transforms(&frame.pose);
            rows.push(skin.lose(&pose, &driver, shown, &mut losses));
        }
        clips.push(clip(motion, rows));
        motion_loss = Some(losses.finish());
    }
    let failed = |path: &Output, e: serde_json::Error| Error::Write { path: path.path().into(), reason: e.to_string() };
    let extension = serde_json::to_value(&driver).map_err(|e| failed(glb, e))?;
    let scene = GlbScene {
        name: &rig.name,
        mesh: Some(&rig.mesh),
        skeleton: Some(&rig.skeleton),
        weights: Some(&weights),
        morphs: &morphs,
        morph_weights: &driver.offset,
        clips: &clips,
        extension: Some((EXTENSION, &extension)),
    };
    let bytes = write_scene(&scene, glb)?;
    if let Some(file) = table_file {
        let names = morphs.iter().map(|m| m.name.clone()).collect();
        let text = serde_json::to_string(&table(&driver, &rig.name, &rig.skeleton, names));
        file.write(text.map_err(|e| failed(file, e))?.as_bytes())?;
    }
    let values = |r: &super::PoseRegion| r.matrix.first().map_or(0, Vec::len);
    Ok(PoseSpaceExport {
        bytes,
        shapes: morphs.len(),
        regions: driver.regions.len(),
        values: driver.regions.iter().map(values).sum(),
        coordinates: driver.joints.len() + driver.channels.len(),
        origin: delivered.origin,
        pruned,
        training,
        motion: motion_loss,
        warnings,
    })
}

/// Shapes and how they follow from a pose space.
pub(super) struct Delivered {
    pub kernel: Kernel,
    /// Per group of the kernel: the shapes it moves, each with a row of A.
    pub regions: Vec<Vec<(usize, Vec<f64>)>>,
    /// u.
    pub shapes: Vec<Vec<DVec3>>,
    pub origin: &'static str,
}

fn deliver(
    model: &ModelFile,
    settings: PoseSpaceSettings,
    progress: Progress<'_>,
) -> Result<(Delivered, Vec<String>), Error> {
    if let Some(most) = settings.shapes.filter(|most| *most < 2) {
        let text = "driven shapes are two at least, as one of them holds the bind pose";
        return Err(Error::Option(format!("--shapes {most}: {text}")));
    }
    if settings.kernels == Some(0) {
        return Err(Error::Option("--kernels 0: it must be at least one".into()));
    }
    let kernels = settings.kernels.unwrap_or(KERNELS);
    proceed(progress, 0, 1)?;
    let space = match &model.baked.correction {
        Some(BakedCorrection::PoseSpace(space)) => space.widened(),
        Some(BakedCorrection::Shapes(shapes)) => {
            let shapes = shapes.widened();
            too_much("--shapes", shapes.count() + 1, settings.shapes)?;
            let kernel = &shapes.kernel;
            let centres = (0..kernel.groups()).map(|g| kernel.centres(g).len()).max();
            too_much("--kernels", centres.unwrap_or(0), settings.kernels)?;
            return Ok((whole(shapes, "as they are"), vec![]));
        }
        _ => return Err(Error::Option("the model has no pose space".into())),
    };
    let mut warnings = vec![];
    let left = space.remainders.vertices.len();
    if left > 0 {
        warnings.push(format!(
            "{left} vertices keep a part of their examples beside the displacement, where skinning is nearly singular; no shape holds it \
             and it is left out"
        ));
    }
    let kernel = &space.kernel;
    let small = kernel.values() <= MOST_VALUES && (0..kernel.groups()).all(|g| kernel.centres(g).len() <= kernels);
    let most = settings.shapes.unwrap_or(SHAPES) - 1;
    let failed = |e: SolveError| Error::Option(format!("the displacements of the pose space: {e}"));
    if small {
        return Ok((principal(space, most).map_err(failed)?, warnings));
    }
    let compiler = Compiler::new(&space)?;
    let budget = Budget { shapes: most.min(compiler.most()).max(1), centres: kernels, per_vertex: None };
    Ok((whole(compiler.compile(budget)?.0, "compiled"), warnings))
}

fn too_much(option: &str, found: usize, most: Option<usize>) -> Result<(), Error> {
    match most.filter(|most| found > *most) {
        None => Ok(()),
        Some(most) => Err(Error::Option(format!(
            "{option} {most}: the model is shapes already and needs {found}: export it with as many, or fit it with a smaller --budget, \
             --energy or --joint-shapes"
        ))),
    }
}

/// Shapes as they are.
fn whole(shapes: Shapes, origin: &'static str) -> Delivered {
    let mut made = vec![vec![DVec3::ZERO; shapes.offsets.len() - 1]; shapes.count()];
    for v in 0..shapes.offsets.len() - 1 {
        for at in shapes.offsets[v] as usize..shapes.offsets[v + 1] as usize {
            made[shapes.terms[at] as usize][v] += shapes.displacements[at];
        }
    }
    let mut at = 0;
    let mut row = |width: usize| {
        at += width;
        shapes.coefficients[at - width..at].to_vec()
    };
    let region = |g: usize| {
        let own = shapes.regions[g] as usize..shapes.regions[g + 1] as usize;
        own.map(|l| (l, row(shapes.kernel.range(g).len()))).collect()
    };
    Delivered {
        regions: (0..shapes.kernel.groups()).map(region).collect(),
        shapes: made,
        kernel: shapes.kernel,
        origin,
    }
}

/// The first `most` principal directions of the displacements over samples; every value of the pose space is kept.
fn principal(space: PoseSpace, most: usize) -> Result<Delivered, SolveError> {
    let vertices: Vec<usize> = (0..space.groups.len()).filter(|&v| space.groups[v] != NO_GROUP).collect();
    let samples = sample_coordinates(&space.kernel, MOST_NUMBERS / (3 * vertices.len().max(1)));
    let rows: Vec<Vec<DVec3>> = samples
        .par_iter()
        .map_init(
            || (KernelValues::default(), vec![0.0; space.kernel.values()]),
            |(scratch, values), x| {
                space.kernel.values_at(x, scratch, values, |k| k);
                vertices.iter().map(|&v| space.displacement(v, values)).collect()
            },
        )
        .collect();
    let d = Mat::from_fn(samples.len(), 3 * vertices.len(), |s, c| rows[s][c / 3][c % 3]);
    let axes = principal_axes((&d * d.transpose()).as_ref())?;
    let least = 1e-14 * axes.values.first().copied().unwrap_or(0.0);
    let rank = axes.values.iter().take_while(|value| **value > least).count().min(most);
    let u = d.transpose() * axes.vectors.get(.., ..rank);
    let mut shapes = vec![vec![DVec3::ZERO; space.groups.len()]; rank];
    let mut regions: Vec<Vec<(usize, Vec<f64>)>> = (0..space.kernel.groups())
        .map(|g| (0..rank).map(|h| (h, vec![0.0; space.kernel.range(g).len()])).collect())
        .collect();
    for (h, shape) in shapes.iter_mut().enumerate() {
        let length = axes.values[h].sqrt();
        for (at, &v) in vertices.iter().enumerate() {
            shape[v] = DVec3::new(u[(3 * at, h)], u[(3 * at + 1, h)], u[(3 * at + 2, h)]) / length;
            let weights = &space.weights[space.offsets[v] as usize..space.offsets[v + 1] as usize];
            let row = &mut regions[space.groups[v] as usize][h].1;
            row.iter_mut().zip(weights).for_each(|(a, w)| *a += shape[v].dot(*w));
        }
    }
    Ok(Delivered { kernel: space.kernel, regions, shapes, origin: "its own values" })
}

/// Coordinates of training poses, of recombinations, and of fractions of these: at most so many altogether, if that leaves some.
fn sample_coordinates(kernel: &Kernel, most: usize) -> Vec<Vec<[f64; ROOM]>> {
    let width = kernel.width();
    let training: Vec<&[[f64; ROOM]]> = kernel.examples.chunks_exact(width.max(1)).collect();
    if training.is_empty() {
        return vec![];
    }
    let of_a_kind = (most / 3).clamp(8, SAMPLES.0);
    let mut samples: Vec<Vec<_>> =
        training.iter().step_by(training.len().div_ceil(of_a_kind)).map(|x| x.to_vec()).collect();
    let mut random = Random::new(SEED, 0);
    for at in 0..2 * training.len().clamp(SAMPLES.1.min(of_a_kind), of_a_kind) {
        let factor = if at % 2 == 0 { 1.0 } else { random.unit() };
        let mut any = || training[(random.unit() * training.len() as f64) as usize];
        samples.push((0..width).map(|j| any()[j].map(|x| x * factor)).collect());
    }
    samples
}

/// Shapes as morph targets, with what drives them.
struct Prepared {
    delivered: Delivered,
    morphs: Vec<MorphTarget>,
    kept: Vec<(usize, f64)>,
    driver: PoseDriver,
}

fn prepare(mut delivered: Delivered, vertices: usize, unseen: f64) -> Prepared {
    let samples = sample_coordinates(&delivered.kernel, usize::MAX);
    let mut scratch = KernelValues::default();
    let mut values = vec![0.0; delivered.kernel.values()];
    let of_sample = |x: &Vec<[f64; ROOM]>| {
        delivered.kernel.values_at(x, &mut scratch, &mut values, |k| k);
        delivered.weights(&values)
    };
    let coordinates: Vec<Vec<f64>> = samples.iter().map(of_sample).collect();
    let ranges: Vec<(f64, f64)> =
        (0..delivered.shapes.len()).map(|l| wide_range(coordinates.iter().map(|c| c[l]))).collect();
    let shapes = std::mem::take(&mut delivered.shapes);
    let named = shapes.into_iter().enumerate().map(|(l, shape)| (format!("driven_{}", l + 1), shape));
    let Scaled { morphs, kept, offset } = scaled(vertices, named, &ranges, unseen);
    let driver = driver(&delivered, &kept, offset);
    Prepared { delivered, morphs, kept, driver }
}

impl Delivered {
    /// c of every shape from the values of a pose.
    fn weights(&self, values: &[f64]) -> Vec<f64> {
        let count = self.regions.iter().flatten().map(|(l, _)| l + 1).max().unwrap_or(0);
        let mut c = vec![0.0; count];
        for (g, region) in self.regions.iter().enumerate() {
            let values = &values[self.kernel.range(g)];
            region.iter().for_each(|(l, row)| c[*l] += row.iter().zip(values).map(|(a, k)| a * k).sum::<f64>());
        }
        c
    }
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
    fn lose(&self, pose: &BoneTransforms, driver: &PoseDriver, skin: &[DVec3], losses: &mut Losses) -> Vec<f64> {
        let kernel = &self.delivered.kernel;
        let mut values = vec![0.0; kernel.values()];
        kernel.evaluate(pose, &mut KernelValues::default(), &mut values, |k| k);
        let c = self.delivered.weights(&values);
        let mut weights = vec![1.0];
        for (&(shape, factor), offset) in self.kept.iter().zip(&driver.offset[1..]) {
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
