//! A baked deformer with the rig it moves.
//!
//! A deformer alone cannot be shown, scored or exported: that takes the rest mesh, the skeleton and the skinning weights.
//! [`RiggedDeformer`] holds them together. Its parts agree in vertices and bones from construction on.

use crate::baked::{Baked, BakedBase};
use crate::secondary::Springs;
use crate::training::TrainingPoses;
use crate::{Base, Deformer};
use dermis_rig::{BoneIndex, Influences, Rig};

/// A deformer, its rig, and the poses it was learnt from.
#[derive(Clone, Debug)]
pub struct RiggedDeformer {
    rig: Rig,
    fitted: Option<Influences>,
    baked: Baked,
    training: Option<TrainingPoses>,
    springs: Option<Springs>,
}

/// Why a deformer and a rig do not belong together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RiggedError {
    /// A part is for another number of vertices.
    #[error("the {part} has {found} vertices, but the rig's mesh has {vertices}")]
    Vertices {
        /// The part.
        part: &'static str,
        /// Vertices it has.
        found: usize,
        /// Vertices of the mesh.
        vertices: usize,
    },
    /// A part names a bone that does not exist.
    #[error("the {part} names bone {bone}, but the skeleton has {bones} bones")]
    Bones {
        /// The part.
        part: &'static str,
        /// The largest bone it names.
        bone: usize,
        /// Bones of the skeleton.
        bones: usize,
    },
}

impl RiggedDeformer {
    /// A deformer with its rig.
    ///
    /// - `fitted`: skinning weights that were fitted; `None` if the rig's own serve
    /// - `training`: the poses the deformer was learnt from; `None` if it was not learnt
    ///
    /// # Errors
    /// [`RiggedError`], naming the part that disagrees with the rig.
    pub fn new(
        rig: Rig,
        fitted: Option<Influences>,
        baked: Baked,
        training: Option<TrainingPoses>,
    ) -> Result<Self, RiggedError> {
        let (vertices, bones) = (rig.mesh().positions.len(), rig.skeleton().len());
        let check = |part, found: usize, named: usize| {
            if found != vertices {
                return Err(RiggedError::Vertices { part, found, vertices });
            }
            if named > bones {
                return Err(RiggedError::Bones { part, bone: named - 1, bones });
            }
            Ok(())
        };
        check("deformer", baked.vertices(), baked.bones().number())?;
        if let Some(fitted) = &fitted {
            check("fitted weights", fitted.vertices(), fitted.bones_named())?;
        }
        if let Some(training) = &training {
            check("training poses", vertices, count_of(training.joints.iter().flat_map(|j| [j.0, j.1])))?;
        }
        Ok(Self { rig, fitted, baked, training, springs: None })
    }

    /// The same deformer on another rig.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_rig(self, rig: Rig) -> Result<Self, RiggedError> {
        Self::new(rig, self.fitted, self.baked, self.training)?.with_springs(self.springs)
    }

    /// The same deformer with other fitted weights, or none.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_fitted_weights(self, fitted: Option<Influences>) -> Result<Self, RiggedError> {
        Self::new(self.rig, fitted, self.baked, self.training)?.with_springs(self.springs)
    }

    /// The same rig under another deformer.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_baked(self, baked: Baked) -> Result<Self, RiggedError> {
        Self::new(self.rig, self.fitted, baked, self.training)?.with_springs(self.springs)
    }

    /// The same deformer with other training poses, or none.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub fn with_training(self, training: Option<TrainingPoses>) -> Result<Self, RiggedError> {
        Self::new(self.rig, self.fitted, self.baked, training)?.with_springs(self.springs)
    }

    /// The same deformer with other springs for its secondary motion, or none.
    ///
    /// # Errors
    /// [`RiggedError::Vertices`].
    pub fn with_springs(self, springs: Option<Springs>) -> Result<Self, RiggedError> {
        let vertices = self.rig.mesh().positions.len();
        match springs.as_ref().map(|springs| springs.vertices().len()).filter(|found| *found != vertices) {
            Some(found) => Err(RiggedError::Vertices { part: "springs", found, vertices }),
            None => Ok(Self { springs, ..self }),
        }
    }

    /// The rig the deformer moves.
    pub fn rig(&self) -> &Rig {
        &self.rig
    }

    /// The deformer.
    pub fn baked(&self) -> &Baked {
        &self.baked
    }

    /// The poses the deformer was learnt from; none if it was not learnt.
    pub fn training(&self) -> Option<&TrainingPoses> {
        self.training.as_ref()
    }

    /// The springs of secondary motion that was learnt, if it was.
    pub fn springs(&self) -> Option<&Springs> {
        self.springs.as_ref()
    }

    /// Skinning weights that were fitted; `None` if the rig's own serve.
    pub fn fitted_weights(&self) -> Option<&Influences> {
        self.fitted.as_ref()
    }

    /// The skinning weights to show the model with: fitted ones, else the rig's.
    pub fn weights(&self) -> Option<&Influences> {
        self.fitted.as_ref().or(self.rig.weights())
    }

    /// Linear blending of the rig's own weights, which a model is compared with.
    ///
    /// `None` without weights, and for a model of rest shapes: no skinning makes those.
    pub fn baseline(&self) -> Option<Baked> {
        let weights = self.rig.weights().cloned().filter(|_| !matches!(self.baked.base(), BakedBase::Rest))?;
        Deformer::new(self.rig.mesh().positions.clone(), Base::Lbs(weights), None).ok().map(Deformer::into_baked)
    }
}

/// One more than the largest of some bones.
fn count_of(bones: impl Iterator<Item = BoneIndex>) -> usize {
    bones.map(|bone| bone.get() + 1).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::glam::DVec3;
    use dermis_testkit::{Arm, ArmPose};

    fn blended(arm: &Arm, weights: Influences) -> Baked {
        Deformer::new(arm.rig.mesh().positions.clone(), Base::Lbs(weights), None).unwrap().bake()
    }

    #[test]
    fn parts_of_another_size_are_refused_by_name() {
        let arm = Arm::new(6, 4);
        let own = arm.rig.weights().unwrap();
        let (vertices, bones) = (own.vertices(), arm.rig.skeleton().len());
        let made =
            |weights: &Influences, baked| RiggedDeformer::new(arm.rig.clone(), Some(weights.clone()), baked, None);
        assert!(made(own, blended(&arm, own.clone())).is_ok());
        let short = Influences::from_rows(own.rows().skip(1).map(<[_]>::to_vec)).unwrap();
        let part = "fitted weights";
        let refused = made(&short, blended(&arm, own.clone())).unwrap_err();
        assert_eq!(refused, RiggedError::Vertices { part, found: vertices - 1, vertices });
        let rows = own.rows().map(|_| vec![(BoneIndex::new(bones), 1.0)]);
        let beyond = Influences::from_rows(rows).unwrap();
        let refused = made(own, blended(&arm, beyond.clone())).unwrap_err();
        assert_eq!(refused, RiggedError::Bones { part: "deformer", bone: bones, bones });
        let refused = made(&beyond, blended(&arm, own.clone())).unwrap_err();
        assert_eq!(refused, RiggedError::Bones { part, bone: bones, bones });
    }

    #[test]
    fn the_baseline_blends_the_rigs_own_weights_also_under_fitted_ones() {
        let arm = Arm::new(6, 4);
        let own = arm.rig.weights().unwrap();
        let all_on_one = Influences::from_rows(own.rows().map(|_| vec![(BoneIndex::new(0), 1.0)])).unwrap();
        let baked = blended(&arm, all_on_one.clone());
        let model = RiggedDeformer::new(arm.rig.clone(), Some(all_on_one.clone()), baked, None).unwrap();
        assert_eq!(model.weights(), Some(&all_on_one));
        let poses: Vec<_> = ArmPose::some(3, 1).iter().map(|pose| arm.transforms(pose)).collect();
        let wanted = blended(&arm, own.clone());
        assert_eq!(model.baseline().unwrap().largest_difference(&wanted, &poses).unwrap(), 0.0);
        let rest = Deformer::new(vec![DVec3::ZERO; own.vertices()], Base::Rest, None).unwrap().into_baked();
        assert!(model.with_baked(rest).unwrap().baseline().is_none());
    }
}
