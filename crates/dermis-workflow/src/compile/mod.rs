//! Compiling a model into linear blend skinning, which every engine plays.
//!
//! Whatever the model is, its skin over some poses is a mesh sequence whose bones are known. Weights with K influences are
//! solved for it, and with H helper bones a search adds rigid bones where the known ones fall short
//! ([`dermis_fit::decompose`]). Helpers hang on the bone they follow most; their motion is baked into the clips, and a
//! table says how it follows from the joints around ([`table`]). What each step costs is measured on what is delivered, also in
//! poses that were held out.

mod drive;
mod helpers;
mod judge;
mod recombined;
pub mod table;

pub use helpers::Helper;
pub use judge::{Distance, HeldOut, Step};
pub use table::HelperTable;

use crate::deliver::{clip, write_scene};
use crate::error::Error;
use crate::measure::Runner;
use crate::output::Output;
use dermis_fit::Progress;
use dermis_fit::decompose::{DecomposeError, DecomposeSettings, Decomposition, Sequence, Task, decompose};
use dermis_fit::weights::{WeightBits, quantised};
use dermis_io::ModelFile;
use dermis_io::gltf::{GlbClip, GlbScene};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::motion::Frame;
use dermis_rig::{BoneIndex, BoneTransforms, ExampleSet, Influences, Motion, Rig, Skeleton, WorldPose};
use dermis_solve::{Fold, Folds};
use judge::{Judge, steps_json};
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

/// Poses, and the true skin in them where it is known.
#[derive(Clone, Debug)]
pub struct Poses {
    /// What they are called.
    pub name: String,
    motion: Motion,
    truth: Option<Vec<Vec<DVec3>>>,
    is_clip: bool,
}

impl Poses {
    /// The frames of a motion.
    pub fn of_motion(motion: Motion) -> Self {
        Self { name: motion.name.clone(), motion, truth: None, is_clip: true }
    }

    /// The poses of examples, and their skin as the truth.
    pub fn of_examples(examples: &ExampleSet, skeleton: &Skeleton) -> Self {
        let is_clip = examples.is_clip();
        let frames = examples.examples().iter().map(|example| Frame {
            label: example.label.clone(),
            time: example.time.filter(|_| is_clip),
            pose: WorldPose::new(skeleton.bones().map(|k| example.transforms[k] * skeleton.bind()[k]).collect()),
        });
        Self {
            name: examples.name.clone(),
            motion: Motion { name: examples.name.clone(), frames: frames.collect() },
            truth: Some(examples.examples().iter().map(|example| example.positions.clone()).collect()),
            is_clip,
        }
    }
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
    /// The steps in poses that were held out.
    pub held_out: Vec<HeldOut>,
    /// The helper bones.
    pub helpers: Vec<Helper>,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl Compiled {
    /// The same as JSON; distances in metres, bones by name.
    pub fn json(&self, skeleton: &Skeleton) -> Value {
        let name = |bone: BoneIndex| &skeleton.names()[bone];
        let helper = |helper: &Helper| {
            let joints = helper.joints.iter().map(|&(_, to)| name(to)).collect::<Vec<_>>();
            json!({ "name": helper.name, "parent": name(helper.parent), "joints": joints, "vertices": helper.vertices,
                "explained": helper.explained })
        };
        let held_out = |set: &HeldOut| json!({ "name": set.name, "poses": set.poses, "steps": steps_json(&set.steps) });
        json!({
            "bytes": self.bytes,
            "poses": self.poses,
            "steps": steps_json(&self.steps),
            "held_out": self.held_out.iter().map(held_out).collect::<Vec<_>>(),
            "helpers": self.helpers.iter().map(helper).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

/// Compiles a model for some poses and writes it as a GLB whose clips play them; with a second output, also the table how
/// the helpers' motion follows from the joints. Measures it in the poses `held_out`, too.
///
/// # Errors
/// [`Error`]: no poses, a model over given positions, more memory than there is, a file that cannot be written.
pub fn compile(
    model: &ModelFile,
    sets: &[Poses],
    held_out: &[Poses],
    settings: CompileSettings,
    (glb, table): (&Output, Option<&Output>),
    progress: Progress<'_>,
) -> Result<Compiled, Error> {
    let (rig, known) = (&model.rig, model.rig.skeleton.len());
    if sets.iter().all(|set| set.motion.frames.is_empty()) {
        return Err(Error::Option("there are no poses to compile for: name a --motion or --examples".into()));
    }
    if model.baked.needs_given() {
        let reason = "this model corrects given positions, which a linear blend does not have";
        return Err(Error::Option(format!("{reason}: fit one over a base of its own")));
    }
    let all: Vec<&Poses> = sets.iter().collect();
    let judge = Judge::new(model, &all, progress)?;
    // Behind the given poses the bind pose, where everything must stay, and recombined ones.
    let mut poses = judge.poses.clone();
    poses.push(BoneTransforms::identity(known));
    let given = poses.len();
    poses.extend(recombined::recombined(&rig.skeleton, &judge.poses));
    let mut runner = Runner::new(&model.baked);
    let more: Vec<Vec<DVec3>> = poses[given..].iter().map(|pose| runner.run(pose, None).to_vec()).collect();
    let frames = judge.skins.iter().map(Vec::as_slice).chain([judge.rest]).chain(more.iter().map(Vec::as_slice));
    let frames: Vec<&[DVec3]> = frames.collect();
    let solve = |task: &Task| -> Result<Decomposition, Error> {
        let settings =
            DecomposeSettings { influences: settings.influences, seed: settings.seed, ..DecomposeSettings::default() };
        decompose(&Sequence { rest: judge.rest, frames: &frames }, task, &settings, progress).map_err(|e| match e {
            DecomposeError::Cancelled => Error::Cancelled,
            other => Error::Option(format!("the model's skin cannot be compiled: {other}")),
        })
    };

    let mut steps = vec![judge.model(&model.header.method)];
    steps.extend(rig.weights.as_ref().map(|weights| judge.blend("the rig's own weights", weights, &judge.poses)));
    let plain = solve(&Task::Weights { transforms: &poses })?.weights;
    let mut name = format!("LBS{}", settings.influences);
    steps.push(judge.blend(&name, &plain, &judge.poses));
    let mut made = Made { weights: plain.clone(), transforms: poses, helpers: vec![], table: None };
    let mut warnings = Vec::new();
    if settings.helpers > 0 {
        let helped = solve(&Task::Helpers { transforms: &made.transforms, helpers: settings.helpers })?;
        let count = helped.report.bones - known;
        let fewer = helped.report.fewer_because;
        warnings.extend(fewer.map(|why| format!("{count} helpers instead of {}: {why}", settings.helpers)));
        name = format!("{name} + {count} helpers");
        steps.push(judge.blend(&name, &helped.weights, &helped.transforms));
        made.helpers = helpers::place(rig, &helped.weights, count);
        (made.weights, made.transforms) = (helped.weights, helped.transforms);
    }
    if table.is_some() && !made.helpers.is_empty() {
        let driven = drive::drive(rig, &made.helpers, &made.transforms, &folds(sets, made.transforms.len()))?;
        // The weights are solved again for the motion that the engine will see.
        made.weights = solve(&Task::Weights { transforms: &driven.driven })?.weights;
        name = format!("{name}, driven");
        steps.push(judge.blend(&name, &made.weights, &driven.driven));
        if let Some(left_out) = &driven.left_out {
            steps.push(judge.blend("poses left out of the driving", &made.weights, left_out));
        }
        made.transforms = driven.driven;
        made.helpers.iter_mut().zip(driven.explained).for_each(|(helper, share)| helper.explained = share);
        made.table = Some(driven.table);
    } else if table.is_some() {
        warnings.push("there are no helpers to drive: ask for some with --helpers".into());
    }
    if let Some(bits) = settings.bits {
        made.weights = quantised(&made.weights, bits).0;
        name = format!("{name}, {}-bit weights", if bits == WeightBits::Eight { 8 } else { 16 });
        steps.push(judge.blend(&name, &made.weights, &made.transforms));
    }
    let idle = made.without_idle(known);
    if !idle.is_empty() {
        let parents = idle.iter().map(|helper| rig.skeleton.names()[helper.parent].as_str()).collect::<Vec<_>>();
        let text = "move no vertex and are left out";
        warnings.push(format!("{} of the helpers {text}: on {}", idle.len(), parents.join(", ")));
    }
    let held_out = held_out
        .iter()
        .map(|set| {
            let sets = [set];
            let judge = Judge::new(model, &sets, progress)?;
            let mut steps = vec![judge.model(&model.header.method)];
            steps.extend(rig.weights.as_ref().map(|own| judge.blend("the rig's own weights", own, &judge.poses)));
            steps.push(judge.blend(&format!("LBS{}", settings.influences), &plain, &judge.poses));
            if let Some(table) = &made.table {
                let driven: Vec<BoneTransforms> =
                    judge.poses.iter().map(|pose| driven_pose(table, &rig.skeleton, pose)).collect();
                steps.push(judge.blend(&name, &made.weights, &driven));
            }
            Ok(HeldOut { name: set.name.clone(), poses: judge.poses.len(), steps })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    if !held_out.is_empty() && !made.helpers.is_empty() && made.table.is_none() {
        warnings.push("without --drivers helpers have no motion in poses held out: there the skin has none".into());
    }

    if let (Some(output), Some(table)) = (table, &made.table) {
        output.write(table.json().as_bytes())?;
    }
    let bytes = write_glb(rig, sets, &made, glb)?;
    Ok(Compiled { bytes, poses: judge.poses.len(), steps, held_out, helpers: made.helpers, warnings })
}

/// What is left out at a time when the driving is judged: single poses, or stretches of a clip, of every set; whole clips if
/// there are five or more sets. The poses behind them, `count` in all, are left out one by one.
fn folds(sets: &[Poses], count: usize) -> Vec<Fold> {
    let mut start = 0;
    let mut folds = Vec::new();
    for set in sets {
        let frames = set.motion.frames.len();
        let kind = match set.is_clip {
            false => Folds::Single,
            true if sets.len() >= 5 => Folds::Blocks(1),
            true => Folds::Blocks(5),
        };
        folds.extend(kind.ranges(frames).into_iter().map(|f| Fold { start: start + f.start, end: start + f.end }));
        start += frames;
    }
    folds.extend((start..count).map(|at| Fold { start: at, end: at + 1 }));
    folds
}

/// The bones of the skeleton with the helpers behind them.
fn driven_pose(table: &HelperTable, skeleton: &Skeleton, pose: &BoneTransforms) -> BoneTransforms {
    let helpers = table.evaluate(skeleton, pose);
    BoneTransforms::new(pose.iter().copied().chain(helpers).collect())
}

/// What is delivered.
struct Made {
    weights: Influences,
    /// All bones in every pose, the helpers behind those of the skeleton.
    transforms: Vec<BoneTransforms>,
    helpers: Vec<Helper>,
    table: Option<HelperTable>,
}

impl Made {
    /// Counts the vertices of every helper and takes out those without; result: these.
    fn without_idle(&mut self, known: usize) -> Vec<Helper> {
        let mut followers = vec![0; known + self.helpers.len()];
        self.weights.rows().flatten().for_each(|(k, _)| followers[k.get()] += 1);
        self.helpers.iter_mut().zip(&followers[known..]).for_each(|(helper, count)| helper.vertices = *count);
        if self.helpers.iter().all(|helper| helper.vertices > 0) {
            return vec![];
        }
        let kept: Vec<usize> = (0..followers.len()).filter(|&k| k < known || followers[k] > 0).collect();
        let mut place = vec![0; followers.len()];
        kept.iter().enumerate().for_each(|(new, &old)| place[old] = new);
        self.weights = self.weights.with_bones(&place);
        for pose in &mut self.transforms {
            *pose = BoneTransforms::new(kept.iter().map(|&k| pose[BoneIndex::new(k)]).collect());
        }
        let (helpers, idle): (Vec<_>, Vec<_>) = self.helpers.drain(..).partition(|helper| helper.vertices > 0);
        self.helpers = helpers;
        if let Some(table) = &mut self.table {
            table.helpers.retain(|driven| self.helpers.iter().any(|helper| helper.name == driven.name));
        }
        idle
    }
}

/// The known bones with the helpers behind them, weights, and a clip for every set of poses.
fn write_glb(rig: &Rig, sets: &[Poses], made: &Made, glb: &Output) -> Result<usize, Error> {
    let known = &rig.skeleton;
    let mut names = known.names().to_vec();
    let mut parents = known.parents().to_vec();
    let mut bind = known.bind().to_vec();
    for helper in &made.helpers {
        names.push(helper.name.clone());
        parents.push(Some(helper.parent));
        bind.push(DAffine3::from_translation(helper.centre));
    }
    let skeleton = Skeleton::new(names, parents, bind)
        .map_err(|e| Error::Write { path: glb.path().into(), reason: e.to_string() })?;
    let mut transforms = made.transforms.iter();
    let same_name = |at: usize| sets[..at].iter().filter(|other| other.motion.name == sets[at].motion.name).count();
    let clips: Vec<GlbClip> = sets
        .iter()
        .enumerate()
        .map(|(at, set)| {
            let mut baked = clip(&set.motion, vec![]);
            if same_name(at) > 0 {
                baked.name = format!("{} {}", baked.name, same_name(at) + 1);
            }
            for (pose, transforms) in baked.poses.iter_mut().zip(&mut transforms) {
                let helper = |(at, helper): (usize, &Helper)| {
                    transforms[BoneIndex::new(known.len() + at)] * DAffine3::from_translation(helper.centre)
                };
                let helpers = made.helpers.iter().enumerate().map(helper);
                *pose = WorldPose::new(pose.bones.iter().copied().chain(helpers).collect());
            }
            baked
        })
        .collect();
    let scene = GlbScene {
        name: &rig.name,
        mesh: Some(&rig.mesh),
        skeleton: Some(&skeleton),
        weights: Some(&made.weights),
        clips: &clips,
        ..GlbScene::default()
    };
    write_scene(&scene, glb)
}
