//! Distances of compiled skins from the model's skin and from the true one.

use super::Poses;
use crate::CompileError;
use dermis_deform::{RiggedDeformer, lbs};
use dermis_measure::{Distance, Distances, run_motion, within_memory};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Influences, Motion, Progress};

/// One step on the way from the model to the compiled skin.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// What the skin is made of after it.
    pub name: String,
    /// Distance to the model's skin over all poses.
    pub to_model: Distance,
    /// Distance to the true skin over the poses where it is known.
    pub to_truth: Option<Distance>,
}

/// The steps in poses that the compilation has not seen.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// What the set of poses is called.
    pub name: String,
    /// How many poses.
    pub poses: usize,
    /// The model, the linear blend without helpers, and the compiled skin if its helpers are driven.
    pub steps: Vec<Step>,
}

/// Poses with the model's skin, and the true one where it is known.
pub(super) struct Judge<'a> {
    pub rest: &'a [DVec3],
    pub poses: Vec<BoneTransforms>,
    pub skins: Vec<Vec<DVec3>>,
    truth: Vec<Option<&'a [DVec3]>>,
}

impl<'a> Judge<'a> {
    /// Runs the model in all poses.
    pub fn new(model: &'a RiggedDeformer, sets: &'a [&Poses], progress: Progress<'_>) -> Result<Self, CompileError> {
        let rig = model.rig();
        let frames = sets.iter().flat_map(|set| set.motion.frames.iter().cloned()).collect();
        let all = Motion { name: String::new(), frames };
        within_memory(&all, rig, 24 * 8)?;
        let (skins, _) = run_motion(model, &all, None, progress)?;
        let truth = |set: &&'a Poses| -> Vec<Option<&'a [DVec3]>> {
            match &set.truth {
                Some(truth) => truth.iter().map(|skin| Some(skin.as_slice())).collect(),
                None => vec![None; set.motion.frames.len()],
            }
        };
        Ok(Self {
            rest: &rig.mesh().positions,
            poses: all.frames.iter().map(|f| rig.skeleton().bone_transforms(&f.pose)).collect(),
            skins,
            truth: sets.iter().flat_map(truth).collect(),
        })
    }

    /// The model itself.
    pub fn model(&self, method: &str) -> Step {
        self.measured(method, |s| self.skins[s].clone())
    }

    /// A linear blend.
    pub fn blend(&self, name: &str, weights: &Influences, transforms: &[BoneTransforms]) -> Step {
        let mut skin = vec![DVec3::ZERO; self.rest.len()];
        self.measured(name, |s| {
            lbs(self.rest, weights, &transforms[s], &mut skin);
            skin.clone()
        })
    }

    fn measured(&self, name: &str, mut skin: impl FnMut(usize) -> Vec<DVec3>) -> Step {
        let (mut to_model, mut to_truth) = (Distances::default(), Distances::default());
        for (s, (model, truth)) in self.skins.iter().zip(&self.truth).enumerate() {
            let skin = skin(s);
            skin.iter().zip(model).for_each(|(y, x)| to_model.add(y.distance(*x)));
            truth.iter().for_each(|truth| skin.iter().zip(*truth).for_each(|(y, x)| to_truth.add(y.distance(*x))));
        }
        let known = self.truth.iter().any(Option::is_some);
        Step { name: name.into(), to_model: to_model.finish(), to_truth: known.then(|| to_truth.finish()) }
    }
}
