//! Compiling a model into linear blend skinning, which every engine plays.
//!
//! The skin of any model over some poses is a mesh sequence whose bones are known. The compiler solves for weights with K
//! influences, and with H helper bones a search adds rigid bones where the known ones fall short
//! ([`dermis_fit::decompose`]). A helper hangs on the bone it shares most vertices with. Its motion is baked into the
//! motions, or follows from the joints around it ([`HelperTable`]). What each step costs is measured on the compiled skin,
//! also in poses that were held out.

mod drive;
mod helpers;
mod judge;
mod recombined;

pub use helpers::Helper;
pub use judge::{HeldOut, Step};

use crate::{CompileError, Warning};
use dermis_deform::RiggedDeformer;
use dermis_deform::tables::HelperTable;
use dermis_fit::decompose::{DecomposeSettings, Decomposition, Sequence, Task, decompose};
use dermis_fit::weights::{WeightBits, quantised};
use dermis_measure::WideRunner;
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::motion::Frame;
use dermis_rig::{
    BoneIndex, BoneTransforms, ExampleSet, Influences, Motion, Progress, Rig, Skeleton, WorldPose, make_unique,
};
use dermis_solve::{Fold, Folds};
use judge::Judge;

/// What the engine can take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinearSettings {
    /// K: influences per vertex at most.
    pub influences: usize,
    /// H: bones that may be added.
    pub helpers: usize,
    /// How weights are stored.
    pub bits: Option<WeightBits>,
    /// Seed of the search for helpers.
    pub seed: u64,
}

impl Default for LinearSettings {
    fn default() -> Self {
        Self { influences: 4, helpers: 0, bits: None, seed: 1 }
    }
}

/// What moves helper bones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelperMotion {
    /// Their own motion, baked into the motions compiled for.
    Baked,
    /// The joints around them, through a [`HelperTable`].
    Driven,
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
            pose: skeleton.world_pose(&example.transforms),
        });
        Self {
            name: examples.name.clone(),
            motion: Motion { name: examples.name.clone(), frames: frames.collect() },
            truth: Some(examples.examples().iter().map(|example| example.positions.clone()).collect()),
            is_clip,
        }
    }
}

/// A model as linear blend skinning, and what that cost.
#[derive(Clone, Debug)]
pub struct Linear {
    /// The skeleton with the helpers behind the rig's bones.
    pub skeleton: Skeleton,
    /// Weights of all bones.
    pub weights: Influences,
    /// The sets of poses as motions of all bones, under names that differ.
    pub motions: Vec<Motion>,
    /// How the helpers follow from the joints, if they are driven.
    pub table: Option<HelperTable>,
    /// Poses it was compiled for.
    pub poses: usize,
    /// The steps in order; the first is the model itself.
    pub steps: Vec<Step>,
    /// The steps in poses that were held out.
    pub held_out: Vec<HeldOut>,
    /// The helper bones.
    pub helpers: Vec<Helper>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

/// Compiles a model into linear blend skinning for some poses, and measures it there and in the poses `held_out`.
///
/// `name` is what the model is called in the steps; `motion` says what moves the helpers.
///
/// # Errors
/// [`CompileError`]: no poses, a model over given positions, more memory than there is, a solve without an answer.
pub fn compile_linear(
    model: &RiggedDeformer,
    name: &str,
    sets: &[Poses],
    held_out: &[Poses],
    settings: LinearSettings,
    motion: HelperMotion,
    progress: Progress<'_>,
) -> Result<Linear, CompileError> {
    let method = name;
    let (rig, known) = (model.rig(), model.rig().skeleton().len());
    if sets.iter().all(|set| set.motion.frames.is_empty()) {
        return Err(CompileError::NoPoses);
    }
    if model.baked().needs_given() {
        return Err(CompileError::GivenPositions("a linear blend"));
    }
    let all: Vec<&Poses> = sets.iter().collect();
    let judge = Judge::new(model, &all, progress)?;
    // Behind the given poses the bind pose, where everything must stay, and recombined ones.
    let mut poses = judge.poses.clone();
    poses.push(BoneTransforms::identity(known));
    let given = poses.len();
    poses.extend(recombined::recombined(rig.skeleton(), &judge.poses));
    let mut runner = WideRunner::new(model.baked());
    let more = poses[given..].iter().map(|pose| Ok(runner.run(pose, None)?.to_vec()));
    let more: Vec<Vec<DVec3>> = more.collect::<Result<_, CompileError>>()?;
    let frames = judge.skins.iter().map(Vec::as_slice).chain([judge.rest]).chain(more.iter().map(Vec::as_slice));
    let frames: Vec<&[DVec3]> = frames.collect();
    let solve = |task: &Task| -> Result<Decomposition, CompileError> {
        let settings =
            DecomposeSettings { influences: settings.influences, seed: settings.seed, ..DecomposeSettings::default() };
        Ok(decompose(&Sequence { rest: judge.rest, frames: &frames, triangles: &[] }, task, &settings, progress)?)
    };

    let mut steps = vec![judge.model(method)];
    steps.extend(rig.weights().map(|weights| judge.blend("the rig's own weights", weights, &judge.poses)));
    let plain = solve(&Task::Weights { transforms: &poses })?.weights;
    let mut name = format!("LBS{}", settings.influences);
    steps.push(judge.blend(&name, &plain, &judge.poses));
    let mut made = Made { weights: plain.clone(), transforms: poses, helpers: vec![], table: None };
    let mut warnings = Vec::new();
    if settings.helpers > 0 {
        let helped = solve(&Task::Helpers { transforms: &made.transforms, helpers: settings.helpers })?;
        let count = helped.report.bones - known;
        let fewer = helped.report.fewer_because;
        warnings.extend(fewer.map(|because| Warning::FewerHelpers {
            found: count,
            asked: settings.helpers,
            because: because.to_string(),
        }));
        name = format!("{name} + {count} helpers");
        steps.push(judge.blend(&name, &helped.weights, &helped.transforms));
        made.helpers = helpers::place(rig, &helped.weights, count);
        (made.weights, made.transforms) = (helped.weights, helped.transforms);
    }
    let driving = motion == HelperMotion::Driven;
    if driving && !made.helpers.is_empty() {
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
        if driven.assumed > 0 {
            warnings.push(Warning::AssumedRidge { helpers: driven.assumed, ridge: drive::ASSUMED_RIDGE });
        }
    } else if driving {
        warnings.push(Warning::NothingToDrive);
    }
    if let Some(bits) = settings.bits {
        made.weights = quantised(&made.weights, bits)?.0;
        name = format!("{name}, {}-bit weights", if bits == WeightBits::Eight { 8 } else { 16 });
        steps.push(judge.blend(&name, &made.weights, &made.transforms));
    }
    let idle = made.without_idle(known);
    if !idle.is_empty() {
        let parents = idle.iter().map(|helper| rig.skeleton().names()[helper.parent].clone()).collect();
        warnings.push(Warning::IdleHelpers { parents });
    }
    let held_out = held_out
        .iter()
        .map(|set| {
            let sets = [set];
            let judge = Judge::new(model, &sets, progress)?;
            let mut steps = vec![judge.model(method)];
            steps.extend(rig.weights().map(|own| judge.blend("the rig's own weights", own, &judge.poses)));
            steps.push(judge.blend(&format!("LBS{}", settings.influences), &plain, &judge.poses));
            if let Some(table) = &made.table {
                let driven: Vec<BoneTransforms> =
                    judge.poses.iter().map(|pose| driven_pose(table, rig.skeleton(), pose)).collect();
                steps.push(judge.blend(&name, &made.weights, &driven));
            }
            Ok(HeldOut { name: set.name.clone(), poses: judge.poses.len(), steps })
        })
        .collect::<Result<Vec<_>, CompileError>>()?;
    if !held_out.is_empty() && !made.helpers.is_empty() && made.table.is_none() {
        warnings.push(Warning::HelpersWithoutMotion);
    }

    let (skeleton, motions) = with_helpers(rig, sets, &made)?;
    Ok(Linear {
        skeleton,
        weights: made.weights,
        motions,
        table: made.table,
        poses: judge.poses.len(),
        steps,
        held_out,
        helpers: made.helpers,
        warnings,
    })
}

/// The folds of the driving's cross-validation: single poses, or five stretches of a clip; whole clips if there are five or
/// more sets. The poses behind those of the sets, up to `count`, are left out one by one.
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

/// Transforms of the skeleton's bones with those of the helpers behind them.
fn driven_pose(table: &HelperTable, skeleton: &Skeleton, pose: &BoneTransforms) -> BoneTransforms {
    let helpers = table.evaluate(skeleton, pose);
    BoneTransforms::new(pose.iter().copied().chain(helpers).collect())
}

/// The compiled skin in the making.
struct Made {
    weights: Influences,
    /// All bones in every pose, the helpers behind those of the skeleton.
    transforms: Vec<BoneTransforms>,
    helpers: Vec<Helper>,
    table: Option<HelperTable>,
}

impl Made {
    /// Counts the vertices of every helper; removes and returns helpers without any.
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

/// The skeleton with the helpers behind the known bones, and the motion of all bones for every set of poses.
fn with_helpers(rig: &Rig, sets: &[Poses], made: &Made) -> Result<(Skeleton, Vec<Motion>), CompileError> {
    let known = rig.skeleton();
    let mut names = known.names().to_vec();
    let mut parents = known.parents().to_vec();
    let mut bind = known.bind().to_vec();
    for helper in &made.helpers {
        names.push(helper.name.clone());
        parents.push(Some(helper.parent));
        bind.push(DAffine3::from_translation(helper.centre));
    }
    let skeleton = Skeleton::new(names, parents, bind)?;
    let mut transforms = made.transforms.iter();
    let mut titles: Vec<String> = sets.iter().map(|set| set.motion.name.clone()).collect();
    make_unique(&mut titles, " ");
    let motions = sets.iter().zip(titles).map(|(set, title)| {
        let mut motion = Motion { name: title, ..set.motion.clone() };
        for (frame, transforms) in motion.frames.iter_mut().zip(&mut transforms) {
            let helper = |(at, helper): (usize, &Helper)| {
                transforms[BoneIndex::new(known.len() + at)] * DAffine3::from_translation(helper.centre)
            };
            let helpers = made.helpers.iter().enumerate().map(helper);
            frame.pose = WorldPose::new(frame.pose.bones.iter().copied().chain(helpers).collect());
        }
        motion
    });
    let motions = motions.collect();
    Ok((skeleton, motions))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of three helpers behind two bones only the second has vertices; bones stay, whether or not they have any.
    #[test]
    fn helpers_without_vertices_are_removed_and_the_others_move_up() {
        let helper = |name: &str| Helper {
            name: name.into(),
            parent: BoneIndex::new(0),
            centre: DVec3::ZERO,
            radius: 0.0,
            joints: vec![],
            vertices: 0,
            explained: None,
        };
        let bone = |k: usize| DAffine3::from_translation(DVec3::X * k as f64);
        let row = |k: usize| vec![(BoneIndex::new(k), 1.0)];
        let mut made = Made {
            weights: Influences::from_rows([row(0), row(3), row(3)]).unwrap(),
            transforms: vec![BoneTransforms::new((0..5).map(bone).collect())],
            helpers: ["first", "second", "third"].map(helper).to_vec(),
            table: None,
        };
        let idle = made.without_idle(2);
        let names = |helpers: &[Helper]| helpers.iter().map(|h| h.name.clone()).collect::<Vec<_>>();
        assert_eq!((names(&idle), names(&made.helpers)), (vec!["first".into(), "third".into()], vec!["second".into()]));
        assert_eq!(made.helpers[0].vertices, 2);
        assert_eq!(made.weights, Influences::from_rows([row(0), row(2), row(2)]).unwrap());
        assert_eq!(made.transforms[0], BoneTransforms::new([0, 1, 3].map(bone).to_vec()));
    }
}
