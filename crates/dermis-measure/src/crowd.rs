//! Levels of detail: near instances by the full model, far ones by linear blending, the farthest in poses that they share.
//!
//! Skins are evaluated in batches of [`BATCH`], each in its own memory: a crowd of any size holds that many skins. Instances of a
//! batch run in parallel, and every skin is computed on its own, so threads change no bit.

use crate::{ErrorAccumulator, ErrorStats, MeasureError};
use dermis_deform::baked::BakedBase;
use dermis_deform::{Baked, Base, Deformer, RiggedDeformer, Scratch};
use dermis_rig::BoneTransforms;
use dermis_rig::Progress;
use dermis_rig::glam::{DAffine3, DVec3, Vec3};
use dermis_rig::progress::proceed;
use rayon::prelude::*;

/// Skins that are held at once.
pub const BATCH: usize = 64;

/// How closely an instance is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// By the model.
    Full,
    /// By linear blending of the model's skinning weights: fitted ones, else the rig's.
    Blended,
    /// As [`Level::Blended`], in one of a few poses that all instances of a clip share: a lower rate.
    Shared,
}

impl Level {
    /// All levels, the closest first.
    pub const ALL: [Self; 3] = [Self::Full, Self::Blended, Self::Shared];

    /// The level in a word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Blended => "blended",
            Self::Shared => "shared",
        }
    }
}

/// Up to which distance from the eye instances are shown closely, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelReach {
    /// By the full model.
    pub full: f64,
    /// In poses of their own.
    pub blended: f64,
}

impl LevelReach {
    /// The level at a distance from the eye, metres.
    pub fn level(&self, distance: f64) -> Level {
        match distance {
            near if near <= self.full => Level::Full,
            middle if middle <= self.blended => Level::Blended,
            _ => Level::Shared,
        }
    }
}

/// A model at every level.
#[derive(Clone, Debug)]
pub struct LevelModels<'a> {
    full: &'a Baked,
    blended: Option<Baked>,
}

impl<'a> LevelModels<'a> {
    /// The levels of a model. One without skinning weights has the full level alone.
    ///
    /// # Errors
    /// [`MeasureError::NoGiven`] for a model over given positions, which a crowd has not.
    pub fn new(model: &'a RiggedDeformer) -> Result<Self, MeasureError> {
        if model.baked().needs_given() {
            return Err(MeasureError::NoGiven { found: 0, poses: 1 });
        }
        // A model of rest shapes has no weights that make its skin.
        let weights = model.weights().filter(|_| !matches!(model.baked().base(), BakedBase::Rest)).cloned();
        let rest = model.rig().mesh().positions.clone();
        let blended = weights.and_then(|weights| Deformer::new(rest, Base::Lbs(weights), None).ok());
        Ok(Self { full: model.baked(), blended: blended.map(Deformer::into_baked) })
    }

    /// Whether there are weights for far instances.
    pub fn can_blend(&self) -> bool {
        self.blended.is_some()
    }

    /// The deformer of a level; the full one where there is no other.
    pub fn of(&self, level: Level) -> &Baked {
        match level {
            Level::Full => self.full,
            Level::Blended | Level::Shared => self.blended.as_ref().unwrap_or(self.full),
        }
    }
}

/// Evaluates the skin of every task, batch by batch.
///
/// - `pose`: level and pose of a task
/// - `done`: takes the tasks of a batch and their skins, in the world of their poses
///
/// # Errors
/// [`MeasureError::Pose`] for a pose of another skeleton, [`MeasureError::Cancelled`], and what `done` says.
pub fn each_skin<T: Sync, E: From<MeasureError>>(
    models: &LevelModels<'_>,
    tasks: &[T],
    pose: impl Fn(&T) -> (Level, BoneTransforms) + Sync,
    mut done: impl FnMut(&[T], &[&[Vec3]]) -> Result<(), E>,
    progress: Progress<'_>,
) -> Result<(), E> {
    let vertices = models.full.vertices();
    let held = tasks.len().min(BATCH);
    let mut room: Vec<(Scratch, Vec<Vec3>)> =
        (0..held).map(|_| (Scratch::default(), vec![Vec3::ZERO; vertices])).collect();
    for (at, batch) in tasks.chunks(BATCH).enumerate() {
        proceed(progress, at * BATCH, tasks.len()).map_err(MeasureError::from)?;
        (batch.par_iter().zip(&mut room)).try_for_each(|(task, (scratch, skin))| {
            let (level, pose) = pose(task);
            models.of(level).evaluate(&pose, None, scratch, skin).map(|_| ()).map_err(MeasureError::from)
        })?;
        let skins: Vec<&[Vec3]> = room.iter().take(batch.len()).map(|(_, skin)| skin.as_slice()).collect();
        done(batch, &skins)?;
    }
    Ok(())
}

/// What a level of an instance costs: the skin it shows beside that of the full model.
#[derive(Clone, Debug)]
pub struct LevelSample {
    /// What it is called.
    pub label: String,
    /// The level shown.
    pub level: Level,
    /// The pose shown and where it is put.
    pub shown: (BoneTransforms, DAffine3),
    /// The pose that the full model would have, and where it would be put.
    pub full: (BoneTransforms, DAffine3),
}

/// The distance of skins as they are shown from those of the full model at the same time, metres.
///
/// This is what a level costs against the model; how far the model is from the true skin is another error, which its fit reports.
///
/// `None` without samples.
///
/// # Errors
/// [`MeasureError`]: a pose of another skeleton, or a skin that is not finite.
pub fn level_cost(models: &LevelModels<'_>, samples: &[LevelSample]) -> Result<Option<ErrorStats>, MeasureError> {
    let rest: Vec<DVec3> = models.full.rest().iter().map(|p| p.as_dvec3()).collect();
    let low = rest.iter().fold(DVec3::INFINITY, |a, b| a.min(*b));
    let high = rest.iter().fold(DVec3::NEG_INFINITY, |a, b| a.max(*b));
    let mut errors = ErrorAccumulator::new(rest.len(), low.distance(high));
    let mut scratch = Scratch::default();
    let mut skin = vec![Vec3::ZERO; rest.len()];
    let mut placed = |baked: &Baked, (pose, place): &(BoneTransforms, DAffine3)| -> Result<Vec<DVec3>, MeasureError> {
        baked.evaluate(pose, None, &mut scratch, &mut skin)?;
        Ok(skin.iter().map(|p| place.transform_point3(p.as_dvec3())).collect())
    };
    for sample in samples {
        let shown = placed(models.of(sample.level), &sample.shown)?;
        let full = placed(models.full, &sample.full)?;
        errors.add_frame(&sample.label, &full, &shown)?;
    }
    Ok(errors.finish().map(|report| report.error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::progress::silent;
    use dermis_testkit::{Arm, ArmPose};

    /// A model that differs from its weights: rigid, each vertex on one bone.
    fn model(arm: &Arm) -> RiggedDeformer {
        let own = arm.rig.weights().unwrap();
        let most = |row: &[(dermis_rig::BoneIndex, f64)]| row.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
        let rigid = dermis_rig::Influences::from_rows(own.rows().map(|row| vec![(most(row), 1.0)])).unwrap();
        let baked = Deformer::new(arm.rig.mesh().positions.clone(), Base::Lbs(rigid), None).unwrap().bake();
        RiggedDeformer::new(arm.rig.clone(), None, baked, None).unwrap()
    }

    #[test]
    fn levels_follow_the_distance() {
        let reach = LevelReach { full: 5.0, blended: 20.0 };
        let found = [0.0, 5.0, 5.1, 20.0, 21.0, f64::INFINITY].map(|d| reach.level(d));
        use Level::{Blended, Full, Shared};
        assert_eq!(found, [Full, Full, Blended, Blended, Shared, Shared]);
    }

    /// More tasks than a batch holds, against the deformers one by one.
    #[test]
    fn batches_give_the_skins_of_the_deformers() {
        let arm = Arm::new(6, 4);
        let model = model(&arm);
        let models = LevelModels::new(&model).unwrap();
        let poses: Vec<BoneTransforms> = ArmPose::some(150, 3).iter().map(|pose| arm.transforms(pose)).collect();
        let tasks: Vec<usize> = (0..poses.len()).collect();
        let level = |at: &usize| Level::ALL[at % 3];
        let (mut seen, mut skin) = (0, vec![Vec3::ZERO; model.baked().vertices()]);
        let done = |batch: &[usize], skins: &[&[Vec3]]| {
            assert!(batch.len() == skins.len() && batch.len() <= BATCH);
            for (at, found) in batch.iter().zip(skins) {
                let baked = if at % 3 == 0 { model.baked().clone() } else { model.baseline().unwrap() };
                baked.evaluate(&poses[*at], None, &mut Scratch::default(), &mut skin).unwrap();
                assert_eq!(*found, &skin[..]);
                seen += 1;
            }
            Ok::<(), MeasureError>(())
        };
        each_skin(&models, &tasks, |at| (level(at), poses[*at].clone()), done, &silent).unwrap();
        assert_eq!(seen, 150);
        let stop = |_: u64, _: u64| std::ops::ControlFlow::Break(dermis_rig::progress::Cancelled);
        let none = |_: &[usize], _: &[&[Vec3]]| Ok::<(), MeasureError>(());
        let stopped = each_skin(&models, &tasks, |at| (level(at), poses[*at].clone()), none, &stop);
        assert_eq!(stopped, Err(MeasureError::Cancelled));
    }

    /// A skin that is moved by a known distance costs that distance; a level that is the model costs nothing.
    #[test]
    fn the_cost_of_a_level_is_its_distance_from_the_model() {
        let arm = Arm::new(6, 4);
        let model = model(&arm);
        let models = LevelModels::new(&model).unwrap();
        let pose = arm.transforms(&ArmPose::some(3, 1)[2]);
        let place = DAffine3::from_scale(DVec3::splat(2.0));
        let away = DAffine3::from_translation(DVec3::new(0.0, 0.3, 0.4)) * place;
        let sample = |level, shown| LevelSample {
            label: "one".into(),
            level,
            shown: (pose.clone(), shown),
            full: (pose.clone(), place),
        };
        let moved = level_cost(&models, &[sample(Level::Full, away)]).unwrap().unwrap();
        assert!((moved.rms - 0.5).abs() < 1e-9 && (moved.max - 0.5).abs() < 1e-9);
        assert_eq!(level_cost(&models, &[sample(Level::Full, place)]).unwrap().unwrap().max, 0.0);
        // Twice the distance of the two deformers, as the instance has twice the size.
        let apart = model.baseline().unwrap().largest_difference(model.baked(), [&pose]).unwrap();
        let found = level_cost(&models, &[sample(Level::Blended, place)]).unwrap().unwrap().max;
        assert!(apart > 0.01 && (found - 2.0 * f64::from(apart)).abs() < 1e-6, "{found} {apart}");
        assert!(level_cost(&models, &[]).unwrap().is_none());
    }

    #[test]
    fn without_weights_there_is_the_full_level_alone() {
        let arm = Arm::new(6, 4);
        let bare = dermis_rig::Rig::new(arm.rig.mesh().clone(), arm.rig.skeleton().clone(), None).unwrap();
        let model = model(&arm).with_rig(bare).unwrap();
        assert!(!LevelModels::new(&model).unwrap().can_blend());
        let given = Deformer::new(model.rig().mesh().positions.clone(), Base::Given, None).unwrap().bake();
        let model = model.with_baked(given).unwrap();
        assert!(matches!(LevelModels::new(&model), Err(MeasureError::NoGiven { .. })));
    }
}
