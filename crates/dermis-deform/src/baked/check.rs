//! Whether the parts of a baked model belong together, and the bones that they read.

use super::bases::{BakedBase, NO_ANCHOR, Weights};
use super::corrections::{
    BakedCorrection, BakedEnveloping, BakedJoints, BakedLayer, BakedPoseSpace, BakedShapes, Coefficients,
};
use crate::parts::{DeformerError, beside, covers, covers_or_lacks, names, together};
use crate::pose_size::BoneCount;
use crate::pose_space::NO_GROUP;

impl BakedBase {
    /// Checks the base of a mesh; the bones it reads.
    pub(super) fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        match self {
            Self::Rigid(bones) => {
                covers("bones of a rigid base", vertices, bones.len())?;
                Ok(named(bones))
            }
            Self::Lbs(weights) => weights.check(vertices),
            Self::Dqs(weights, blend) => together(BoneCount::Exactly(blend.pivots().len()), weights.check(vertices)?),
            Self::DirectDeltaMush(mush) => {
                covers("centres of neighbourhoods", vertices, mush.vertices())?;
                Ok(BoneCount::naming(mush.bones()))
            }
            Self::CorrectiveSmooth(smooth) => {
                covers("coefficients of the smoothed surface", vertices, smooth.vertices())?;
                Ok(named(smooth.bones().entries()))
            }
            Self::AnimationSpace { bones, a } => {
                covers("animation space terms", vertices, bones.len())?;
                beside("animation space terms", bones.entries().len(), a.len())?;
                Ok(named(bones.entries()))
            }
            Self::RotationalRegression(model) => model.check(vertices),
            Self::Stack(stack) => stack.check(vertices),
            Self::Rest | Self::Given => Ok(BoneCount::AtLeast(0)),
        }
    }
}

impl BakedCorrection {
    /// Checks the correction of a mesh; the bones it reads.
    pub(super) fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers_or_lacks("radii", vertices, self.radii().len())?;
        match self {
            Self::Enveloping(correction) => correction.check(vertices),
            Self::Joints(correction) => correction.check(vertices),
            Self::PoseSpace(correction) => correction.check(vertices),
            Self::Shapes(correction) => correction.check(vertices),
        }
    }
}

impl BakedEnveloping {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers("anchors", vertices, self.anchors.len())?;
        covers("enveloping terms", vertices, self.terms.len())?;
        let terms = self.terms.entries();
        names("enveloping terms", terms.iter().map(|&pair| pair as usize), self.shared.pairs.len())?;
        let numbers = terms.len() * self.shared.rows.coefficients();
        beside("enveloping coefficients", self.coefficients.len(), numbers)?;
        self.coefficients.check(vertices)?;
        covers_or_lacks("constants", vertices, self.constants.len())?;
        together(BoneCount::naming(self.shared.bones()), named(&self.anchors))
    }
}

impl BakedJoints {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers("anchors", vertices, self.anchors.len())?;
        covers("free terms", vertices, self.free.vertices())?;
        if !self.free.counts().eq(self.model.numbers()) {
            return Err(DeformerError::List { part: "inducing rotations" });
        }
        covers("shared terms", vertices, self.shared.len())?;
        covers_or_lacks("limits of the shared part", vertices, self.limits.len())?;
        let shared = self.shared.entries().iter().map(|term| term.bone as usize);
        let mut read = together(BoneCount::naming(self.model.bones().chain(shared)), named(&self.anchors))?;
        let BakedLayer { terms, displacements } = &self.layer;
        if let Some(layer) = &self.model.layer {
            covers("terms of the layer", vertices, terms.len())?;
            names("terms of the layer", terms.entries().iter().map(|&shape| shape as usize), layer.count())?;
            beside("displacements of the layer", displacements.len(), terms.entries().len())?;
            read = together(read, layer.check_layer(0, 0)?)?;
        }
        together(read, self.weights.check(vertices)?)
    }
}

impl BakedPoseSpace {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        let groups = self.groups.iter().filter(|group| **group != NO_GROUP);
        covers("groups of the pose space", vertices, self.groups.len())?;
        names("groups of the pose space", groups.map(|&group| group as usize), self.kernel.groups())?;
        covers("displacements", vertices, self.weights.len())?;
        let r = &self.remainders;
        covers("remainders", r.vertices.len(), r.weights.len())?;
        names("remainders", r.vertices.iter().map(|&v| v as usize), vertices)?;
        beside("remainders", r.bones.len(), r.vertices.len())?;
        self.carrier.check(vertices)?;
        let remainders = r.bones.iter().map(|bone| bone.get());
        Ok(BoneCount::naming(self.kernel.bones().chain(self.carrier.bones()).chain(remainders)))
    }
}

impl BakedShapes {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        self.model.check_with(vertices, self.displacements.len(), self.radii.len())
    }
}

impl Coefficients {
    fn check(&self, vertices: usize) -> Result<(), DeformerError> {
        match self {
            Self::Single(_) => Ok(()),
            Self::Sixteen { units, .. } => covers("units of coefficients", vertices, units.len()),
        }
    }
}

impl Weights {
    fn check(&self, vertices: usize) -> Result<BoneCount, DeformerError> {
        covers("skinning weights", vertices, self.bones.len())?;
        beside("skinning weights", self.bones.entries().len(), self.weights.len())?;
        covers_or_lacks("skinning weights", vertices, self.fours.len())?;
        Ok(named(self.bones.entries()))
    }
}

fn named(bones: &[u32]) -> BoneCount {
    BoneCount::naming(bones.iter().filter(|bone| **bone != NO_ANCHOR).map(|bone| *bone as usize))
}
