//! A learnt correction over a base deformer: p' = base + Π_v(δ_v), in each of its forms.
//!
//! Every form depends on the relative transforms of bones alone, vanishes where its features do, and is bounded by the
//! [guard](crate::guard).

use crate::base::Base;
use crate::enveloping::{Enveloping, PoseFeatures};
use crate::joints::{JointPose, Joints, SharedTerm};
use crate::pose_space::{CompiledShapes, PoseSpace};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::DVec3;

/// A correction in `f64`, the reference.
#[derive(Clone, Debug)]
pub enum Correction {
    /// Multi-weight enveloping.
    Enveloping(Enveloping),
    /// The joint model.
    Joints(Box<Joints>),
    /// Pose-space deformation.
    PoseSpace(PoseSpace),
    /// A pose space of shapes: pose blend shapes, EigenSkin, a compiled pose-space deformation.
    Shapes(CompiledShapes),
}

impl From<Enveloping> for Correction {
    fn from(correction: Enveloping) -> Self {
        Self::Enveloping(correction)
    }
}

impl From<Joints> for Correction {
    fn from(correction: Joints) -> Self {
        Self::Joints(Box::new(correction))
    }
}

impl From<PoseSpace> for Correction {
    fn from(correction: PoseSpace) -> Self {
        Self::PoseSpace(correction)
    }
}

impl From<CompiledShapes> for Correction {
    fn from(correction: CompiledShapes) -> Self {
        Self::Shapes(correction)
    }
}

impl Correction {
    /// Adds the correction of a pose to the base's positions; the result is the number of vertices the ball held back.
    ///
    /// `base` is prepared for the pose, as [`Base::evaluate`] leaves it.
    pub fn add(&self, rest: &[DVec3], transforms: &BoneTransforms, base: &Base, skin: &mut [DVec3]) -> usize {
        match self {
            Self::Enveloping(correction) => {
                let mut features = PoseFeatures::default();
                correction.features(transforms, &mut features);
                add(skin, |v| correction.at(v, &features, transforms))
            }
            Self::Joints(correction) => {
                let mut pose = JointPose::default();
                pose.prepare(correction, transforms);
                add(skin, |v| correction.at(v, rest[v], &pose))
            }
            Self::PoseSpace(correction) => correction.add(rest, transforms, base, skin),
            Self::Shapes(correction) => correction.add(rest, transforms, base, skin),
        }
    }

    /// The same times a factor, with the radii of its balls: g Π_ρ(δ) = Π_gρ(g δ). `None` for enveloping and for pose spaces that are not
    /// compiled.
    #[must_use]
    pub fn with_gain(&self, gain: f64) -> Option<Self> {
        let shapes = |shapes: &CompiledShapes| {
            let mut made = shapes.clone();
            made.displacements.iter_mut().for_each(|u| *u *= gain);
            made.radii.iter_mut().for_each(|radius| *radius *= gain);
            made
        };
        match self {
            Self::Joints(joints) => {
                let mut made = joints.clone();
                made.coefficients = joints.coefficients.map(|u| u * gain);
                made.shared = joints.shared.map(|term| SharedTerm {
                    offset: term.offset * gain,
                    weight: term.weight * gain,
                    ..*term
                });
                made.radii.iter_mut().for_each(|radius| *radius *= gain);
                made.layer = joints.layer.as_ref().map(shapes);
                Some(Self::Joints(made))
            }
            Self::Shapes(own) => Some(Self::Shapes(shapes(own))),
            Self::Enveloping(_) | Self::PoseSpace(_) => None,
        }
    }
}

fn add(skin: &mut [DVec3], at: impl Fn(usize) -> (DVec3, bool)) -> usize {
    let mut held = 0;
    for (v, p) in skin.iter_mut().enumerate() {
        let (delta, acted) = at(v);
        *p += delta;
        held += usize::from(acted);
    }
    held
}
