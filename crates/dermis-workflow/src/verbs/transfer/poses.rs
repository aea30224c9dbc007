//! The poses in which clothes are held against the skin.

use crate::error::Error;
use dermis_deform::{Base, Deformer};
use dermis_io::ModelFile;
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneTransforms, Example, Influences, Mesh};
use dermis_transfer::{Body, Clearance, Skin};
use rayon::prelude::*;

/// Poses that are looked at, at most.
const MOST: usize = 16;

/// Poses by number: some of those that a model was trained on, or those of examples.
pub(super) struct Poses(Vec<(usize, BoneTransforms)>);

/// Some of the training poses, evenly spread; none for a rig. Where the character stands is not known of them: roots are at rest.
pub(super) fn of_training(file: &ModelFile) -> Poses {
    let Some(training) = file.training() else { return Poses(vec![]) };
    let skeleton = file.rig().skeleton();
    // Every set may have the bind pose, where nothing moves.
    let features = |at: usize| &training.features[at * training.joints.len()..][..training.joints.len()];
    let moves = |at: &usize| features(*at).iter().flatten().any(|x| x.abs() > 1e-6);
    let all: Vec<usize> = (0..training.poses()).filter(moves).collect();
    let step = all.len().div_ceil(MOST).max(1);
    let pose = |at: usize| {
        let mut maps = vec![DAffine3::IDENTITY; skeleton.len()];
        for (bone, parent) in skeleton.parents().enumerate() {
            let Some(parent) = *parent else { continue };
            // A joint may leap over bones that another character alone has.
            let joint = training.joints.iter().position(|joint| joint.1 == bone && joint.0 < bone);
            let parent = joint.map_or(parent, |joint| training.joints[joint].0);
            let relative = joint.map_or(DAffine3::IDENTITY, |joint| {
                let f = features(at)[joint].map(f64::from);
                let row = |j: usize| DVec3::new(f[4 * j], f[4 * j + 1], f[4 * j + 2]) * std::f64::consts::SQRT_2;
                DAffine3 {
                    matrix3: DMat3::IDENTITY + DMat3::from_cols(row(0), row(1), row(2)).transpose(),
                    translation: DVec3::new(f[3], f[7], f[11]) * training.length,
                }
            });
            maps[bone.get()] = maps[parent.get()] * relative;
        }
        BoneTransforms::new(maps)
    };
    Poses(all.into_iter().step_by(step).map(|at| (at, pose(at))).collect())
}

impl Poses {
    /// The poses of examples.
    pub(super) fn of(examples: &[Example]) -> Self {
        Self(examples.iter().map(|example| example.transforms.clone()).enumerate().collect())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Number and transforms of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = &(usize, BoneTransforms)> {
        self.0.iter()
    }

    /// How a mesh lies over the model's skin in each pose, `below`, as it was carried and with weights alone.
    pub(super) fn worn(
        &self,
        file: &ModelFile,
        below: &[Vec<DVec3>],
        body: &Body,
        mesh: &Mesh,
        carried: &Deformer,
        weights: &Influences,
    ) -> Result<Vec<super::WornPose>, Error> {
        if self.0.is_empty() {
            return Ok(vec![]);
        }
        let triangles = &file.rig().mesh().triangles;
        let at_rest = Skin::new(&file.rig().mesh().positions, triangles).distances(&mesh.positions);
        let blended = Deformer::new(mesh.positions.clone(), Base::Lbs(weights.clone()), None)
            .map_err(|e| Error::Internal(e.to_string()))?;
        let (worn, alone) = (self.skins(carried)?, self.skins(&blended)?);
        let one = |at: usize| {
            let skin = Skin::new(&below[at], triangles);
            let over = |cloth: &[DVec3]| Clearance::of(&at_rest, &skin.distances(cloth), body.unit());
            super::WornPose { pose: self.0[at].0, carried: over(&worn[at]), weights_alone: over(&alone[at]) }
        };
        Ok((0..self.0.len()).into_par_iter().map(one).collect())
    }

    /// The skin of a model in each pose, as it is delivered.
    pub(super) fn skins(&self, model: &Deformer) -> Result<Vec<Vec<DVec3>>, Error> {
        let baked = model.bake();
        let mut runner = baked.runner();
        let skin = |(_, pose): &(usize, BoneTransforms)| {
            let skin = runner.skin(pose).map_err(|e| Error::Internal(e.to_string()))?;
            Ok(skin.iter().map(|p| p.as_dvec3()).collect())
        };
        self.0.iter().map(skin).collect()
    }
}
