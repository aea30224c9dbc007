//! Compiling a model into linear blend skinning, which every engine plays.
//!
//! Whatever the model is, its skin over some poses is a mesh sequence whose bones are known. Weights with K influences are
//! solved for it, and with H helper bones a search adds rigid bones where the known ones fall short
//! ([`dermis_fit::decompose`]). Helpers hang on the bone they follow most; their motion is baked into the clips, and a
//! table says how it follows from the joints around ([`helpers`]). What each step costs is measured on what is delivered.

mod helpers;

pub use helpers::{Helper, HelperTable};

use crate::deliver::{Distances, clip, run, within_memory, write_scene};
use crate::error::Error;
use crate::measure::baseline;
use crate::output::Output;
use dermis_fit::Progress;
use dermis_fit::decompose::{DecomposeError, DecomposeSettings, Decomposition, Sequence, Task, decompose};
use dermis_fit::weights::{WeightBits, quantised};
use dermis_io::ModelFile;
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::motion::Frame;
use dermis_rig::{BoneIndex, BoneTransforms, ExampleSet, Influences, Motion, Rig, Skeleton, WorldPose};
use rayon::prelude::*;
use serde_json::{Value, json};

/// What the engine can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompileSettings {
    /// K: influences per vertex at most.
    pub influences: usize,
    /// H: bones that may be added.
    pub helpers: usize,
    /// How weights are stored.
    pub bits: Option<WeightBits>,
    /// Seed of the search for helpers.
    pub seed: u64,
}

impl Default for CompileSettings {
    fn default() -> Self {
        Self { influences: 4, helpers: 0, bits: None, seed: 1 }
    }
}

/// Poses to compile for, and the true skin in them where it is known.
#[derive(Clone, Debug)]
pub struct Poses {
    motion: Motion,
    truth: Option<Vec<Vec<DVec3>>>,
}

impl Poses {
    /// The frames of a motion.
    pub fn of_motion(motion: Motion) -> Self {
        Self { motion, truth: None }
    }

    /// The poses of examples, and their skin as the truth.
    pub fn of_examples(examples: &ExampleSet, skeleton: &Skeleton) -> Self {
        let frames = examples.examples().iter().map(|example| Frame {
            label: example.label.clone(),
            time: example.time.filter(|_| examples.is_clip()),
            pose: WorldPose::new(skeleton.bones().map(|k| example.transforms[k] * skeleton.bind()[k]).collect()),
        });
        Self {
            motion: Motion { name: examples.name.clone(), frames: frames.collect() },
            truth: Some(examples.examples().iter().map(|example| example.positions.clone()).collect()),
        }
    }
}

/// rms and largest distance, metres.
pub type Distance = (f64, f64);

/// One step on the way from the model to what is delivered.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What the skin is made of after it.
    pub name: String,
    /// Distance to the model's skin over all poses.
    pub to_model: Distance,
    /// Distance to the true skin over the poses where it is known.
    pub to_truth: Option<Distance>,
}

/// What a compilation made and what it cost.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// Bytes of the GLB.
    pub bytes: usize,
    /// Poses it was compiled for.
    pub poses: usize,
    /// The steps in order; the first is the model itself.
    pub steps: Vec<Step>,
    /// The helper bones.
    pub helpers: Vec<Helper>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Compiled {
    /// The same as JSON; distances in metres.
    pub fn json(&self) -> Value {
        let pair = |(rms, max): Distance| json!({ "rms": rms, "max": max });
        let steps = self.steps.iter().map(
            |step| json!({ "name": step.name, "to_model": pair(step.to_model), "to_truth": step.to_truth.map(pair) }),
        );
        let helpers = self.helpers.iter().map(|helper| {
            json!({ "name": helper.name, "parent": helper.parent, "reads": helper.reads, "vertices": helper.vertices })
        });
        json!({
            "bytes": self.bytes,
            "poses": self.poses,
            "steps": steps.collect::<Vec<_>>(),
            "helpers": helpers.collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

/// Compiles a model for some poses and writes it as a GLB whose clips play them; with `table`, also how the helpers' motion
/// follows from the joints.
///
/// # Errors
/// [`Error`]: no poses, a model over given positions, more memory than there is, a file that cannot be written.
pub fn compile(
    model: &ModelFile,
    sets: &[Poses],
    settings: CompileSettings,
    glb: &Output,
    table: Option<&Output>,
    progress: Progress<'_>,
) -> Result<Compiled, Error> {
    let rig = &model.rig;
    if sets.iter().all(|set| set.motion.frames.is_empty()) {
        return Err(Error::Option("there are no poses to compile for: name a --motion or --examples".into()));
    }
    let all =
        Motion { name: String::new(), frames: sets.iter().flat_map(|set| set.motion.frames.iter().cloned()).collect() };
    within_memory(&all, rig, 24 * 8, "lower --fps, or choose a part of the motion")?;
    let (skins, _) = run(model, &all, None, progress)?;
    let poses: Vec<BoneTransforms> = all.frames.iter().map(|f| rig.skeleton.bone_transforms(&f.pose)).collect();
    let truth: Vec<Option<&[DVec3]>> = sets
        .iter()
        .flat_map(|set| (0..set.motion.frames.len()).map(|at| set.truth.as_ref().map(|truth| truth[at].as_slice())))
        .collect();
    let judge = Judge { rig, skins: &skins, truth: &truth };
    let frames: Vec<&[DVec3]> = skins.iter().map(Vec::as_slice).collect();
    let solve = |task: &Task| -> Result<Decomposition, Error> {
        let settings =
            DecomposeSettings { influences: settings.influences, seed: settings.seed, ..DecomposeSettings::default() };
        let sequence = Sequence { rest: &rig.mesh.positions, frames: &frames };
        decompose(&sequence, task, &settings, progress).map_err(|e| match e {
            DecomposeError::Cancelled => Error::Cancelled,
            other => Error::Option(format!("the model's skin cannot be compiled: {other}")),
        })
    };

    let mut steps = vec![judge.model(&model.header.method)];
    if let (Some(weights), Some(_)) = (&rig.weights, baseline(rig)) {
        steps.push(judge.step("the rig's own weights".into(), weights, &poses));
    }
    let plain = solve(&Task::Weights { transforms: &poses })?;
    let lbs = format!("LBS{}", settings.influences);
    steps.push(judge.step(lbs.clone(), &plain.weights, &poses));
    let mut warnings = Vec::new();
    let (mut weights, mut transforms, mut name) = (plain.weights, plain.transforms, lbs);
    if settings.helpers > 0 {
        let helped = solve(&Task::Helpers { transforms: &poses, helpers: settings.helpers })?;
        let count = helped.report.bones - rig.skeleton.len();
        warnings.extend(
            helped.report.fewer_because.map(|why| format!("{count} helpers instead of {}: {why}", settings.helpers)),
        );
        name = format!("{name} + {count} helpers");
        steps.push(judge.step(name.clone(), &helped.weights, &helped.transforms));
        (weights, transforms) = (helped.weights, helped.transforms);
    }
    if let Some(bits) = settings.bits {
        weights = quantised(&weights, bits).0;
        name = format!("{name}, {} weights", if bits == WeightBits::Eight { "8-bit" } else { "16-bit" });
        steps.push(judge.step(name.clone(), &weights, &transforms));
    }
    let helpers = helpers::helpers(rig, &weights, &transforms);
    if !helpers.is_empty() {
        let lengths: Vec<usize> = sets.iter().map(|set| set.motion.frames.len()).collect();
        let made = helpers::drive(rig, &helpers, &transforms, &lengths)?;
        steps.push(judge.step(format!("{name}, helpers driven by joints"), &weights, &made.driven));
        if let Some(left_out) = &made.left_out {
            steps.push(judge.step(format!("{name}, helpers driven in poses left out"), &weights, left_out));
        }
        if let Some(output) = table {
            output.write(made.table.json().as_bytes())?;
        }
    } else if table.is_some() {
        warnings.push("there are no helpers to drive: ask for some with --helpers".into());
    }

    let bytes = write_glb(rig, sets, &weights, &transforms, &helpers, glb)?;
    Ok(Compiled { bytes, poses: all.frames.len(), steps, helpers, warnings })
}

/// The known bones with the helpers behind them, weights, and a clip for every set of poses.
fn write_glb(
    rig: &Rig,
    sets: &[Poses],
    weights: &Influences,
    transforms: &[BoneTransforms],
    helpers: &[Helper],
    glb: &Output,
) -> Result<usize, Error> {
    let known = &rig.skeleton;
    let mut names: Vec<String> = known.names().iter().cloned().collect();
    let mut parents: Vec<Option<BoneIndex>> = known.parents().iter().copied().collect();
    let mut bind: Vec<DAffine3> = known.bind().iter().copied().collect();
    for helper in helpers {
        names.push(helper.name.clone());
        parents.push(known.find(&helper.parent));
        bind.push(DAffine3::from_translation(helper.centre));
    }
    let skeleton = Skeleton::new(names, parents, bind)
        .map_err(|e| Error::Write { path: glb.path().into(), reason: e.to_string() })?;
    let mut transforms = transforms.iter();
    let clips: Vec<GlbClip> = sets
        .iter()
        .map(|set| {
            let mut baked = clip(&set.motion, vec![]);
            for (pose, transforms) in baked.poses.iter_mut().zip(&mut transforms) {
                let mut bones = pose.bones.as_slice().to_vec();
                for (at, helper) in helpers.iter().enumerate() {
                    bones
                        .push(transforms[BoneIndex::new(known.len() + at)] * DAffine3::from_translation(helper.centre));
                }
                *pose = WorldPose::new(bones);
            }
            baked
        })
        .collect();
    let scene = GlbScene {
        name: &rig.name,
        mesh: Some(&rig.mesh),
        skeleton: Some(&skeleton),
        weights: Some(weights),
        clips: &clips,
        ..GlbScene::default()
    };
    write_scene(&scene, glb)
}

/// Measures skins against the model's and the true ones.
struct Judge<'a> {
    rig: &'a Rig,
    skins: &'a [Vec<DVec3>],
    truth: &'a [Option<&'a [DVec3]>],
}

impl Judge<'_> {
    /// The model itself.
    fn model(&self, method: &str) -> Step {
        let mut to_truth = Distances::default();
        for (skin, truth) in self.skins.iter().zip(self.truth) {
            truth.iter().for_each(|truth| skin.iter().zip(*truth).for_each(|(y, x)| to_truth.add((*y - *x).length())));
        }
        Step {
            name: method.into(),
            to_model: (0.0, 0.0),
            to_truth: self.truth.iter().any(Option::is_some).then(|| to_truth.finish()),
        }
    }

    /// A linear blend.
    fn step(&self, name: String, weights: &Influences, transforms: &[BoneTransforms]) -> Step {
        let rest = &self.rig.mesh.positions;
        let (mut to_model, mut to_truth) = (Distances::default(), Distances::default());
        for ((skin, truth), pose) in self.skins.iter().zip(self.truth).zip(transforms) {
            let posed =
                |v: usize| -> DVec3 { weights.of(v).iter().map(|&(k, w)| w * pose[k].transform_point3(rest[v])).sum() };
            let posed: Vec<DVec3> = (0..rest.len()).into_par_iter().map(posed).collect();
            posed.iter().zip(skin).for_each(|(y, x)| to_model.add((*y - *x).length()));
            truth.iter().for_each(|truth| posed.iter().zip(*truth).for_each(|(y, x)| to_truth.add((*y - *x).length())));
        }
        Step {
            name,
            to_model: to_model.finish(),
            to_truth: self.truth.iter().any(Option::is_some).then(|| to_truth.finish()),
        }
    }
}
