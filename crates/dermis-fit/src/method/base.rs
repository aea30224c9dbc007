//! The deformer a correction is learnt over.

use super::{FitInput, MethodError};
use dermis_deform::{Base, DualQuaternions, StackPose};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Rig};
use serde::{Deserialize, Serialize};

/// The deformer a correction is learnt over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BaseChoice {
    /// Every vertex follows its dominant bone.
    Rigid,
    /// Linear blend skinning with the rig's weights.
    #[default]
    Lbs,
    /// Dual quaternion skinning with the rig's weights.
    Dqs,
    /// The rest pose itself: rest shapes are learnt, for another program to deform.
    Rest,
    /// Positions supplied with every pose.
    Given,
    /// Deformers one after another, which are handed in beside the rig.
    Stack,
}

impl BaseChoice {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Lbs => "lbs",
            Self::Dqs => "dqs",
            Self::Rest => "rest",
            Self::Given => "given",
            Self::Stack => "stack",
        }
    }

    /// Whether it is made of the rig's weights.
    pub fn needs_weights(self) -> bool {
        matches!(self, Self::Rigid | Self::Lbs | Self::Dqs)
    }

    /// The base for the rig of a fit.
    pub(super) fn of(self, input: &FitInput<'_>) -> Result<Base, MethodError> {
        let weights = || input.weights().cloned();
        Ok(match self {
            Self::Rigid => Base::Rigid(weights()?),
            Self::Lbs => Base::Lbs(weights()?),
            Self::Dqs => Base::Dqs(weights()?, DualQuaternions::new(input.rig.skeleton())),
            Self::Rest => Base::Rest,
            Self::Given => Base::Given,
            Self::Stack => {
                let stack = input.stack.ok_or(MethodError::InputLacks { what: "the deformers of the stack" })?;
                Base::Stack(Box::new(stack.clone()), StackPose::default())
            }
        })
    }

    /// Checks that a correction with frames of its own can be learnt over it.
    pub(super) fn check_for(self, method: &'static str) -> Result<(), MethodError> {
        match self {
            Self::Rest | Self::Stack => Err(MethodError::Base { base: self.name(), method }),
            _ => Ok(()),
        }
    }
}

/// Whether a base is a closed form per vertex, which need not be stored.
pub(super) fn has_closed_form(base: &Base) -> bool {
    matches!(base, Base::Rigid(_) | Base::Lbs(_) | Base::AnimationSpace(_) | Base::Rest)
}

/// The position of one vertex over a base with a closed form; at rest over any other.
pub(super) fn base_at(base: &Base, rig: &Rig, transforms: &BoneTransforms, v: usize) -> DVec3 {
    let rest = rig.mesh().positions[v];
    match base {
        Base::Rigid(weights) => weights.dominant(v).map_or(rest, |bone| transforms[bone].transform_point3(rest)),
        Base::Lbs(weights) => dermis_deform::lbs::blend(weights.of(v), transforms).transform_point3(rest),
        Base::AnimationSpace(space) => space.at(v, transforms),
        _ => rest,
    }
}

/// The base's positions in the training poses: computed, or as they were given.
pub(super) fn base_in_training(base: &mut Base, input: &FitInput<'_>) -> Result<Vec<Vec<DVec3>>, MethodError> {
    if !matches!(base, Base::Given) {
        return Ok(base_positions(base, input));
    }
    let given = input.base.ok_or(MethodError::InputLacks { what: "positions of the base" })?;
    let (vertices, poses) = (input.rig.mesh().positions.len(), input.examples.len());
    let counts = |what, found, expected| match found == expected {
        true => Ok(()),
        false => Err(MethodError::Counts { what, found, expected }),
    };
    counts("poses of the base", given.len(), poses)?;
    given.iter().try_for_each(|skin| counts("vertices of the base", skin.len(), vertices))?;
    Ok(given.to_vec())
}

fn base_positions(base: &mut Base, input: &FitInput<'_>) -> Vec<Vec<DVec3>> {
    let rest = &input.rig.mesh().positions;
    let skin = |transforms: &BoneTransforms| {
        let mut skin = vec![DVec3::ZERO; rest.len()];
        base.evaluate(rest, transforms, None, &mut skin);
        skin
    };
    input.examples.examples().iter().map(|example| &example.transforms).map(skin).collect()
}
