//! The deformer a correction is learnt over.

use super::mush::{Seen, best_steps};
use super::{FitInput, MethodError};
use dermis_deform::delta_mush::MOST_STEPS;
use dermis_deform::{Base, DirectDeltaMush, DualQuaternions, StackPose};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneTransforms, Rig};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The deformer a correction is learnt over.
///
/// In text: rigid, lbs, dqs, ddm, ddm:N, auto, rest, given, stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum BaseChoice {
    /// Every vertex follows its dominant bone.
    Rigid,
    /// Linear blend skinning with the rig's weights.
    #[default]
    Lbs,
    /// Dual quaternion skinning with the rig's weights.
    Dqs,
    /// Direct delta mush of the rig's weights, with so many smoothing steps; `None` takes those of least training error.
    DirectDeltaMush(Option<u32>),
    /// Linear blend skinning or direct delta mush, whichever leaves the joint model less cross-validated error; linear blend skinning
    /// for local sculpts, which were made over it.
    Auto,
    /// The rest pose itself: rest shapes are learnt, for another program to deform.
    Rest,
    /// Positions supplied with every pose.
    Given,
    /// Deformers one after another, which are handed in beside the rig.
    Stack,
}

impl BaseChoice {
    /// What it is called, without its number of steps.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Lbs => "lbs",
            Self::Dqs => "dqs",
            Self::DirectDeltaMush(_) => "ddm",
            Self::Auto => "auto",
            Self::Rest => "rest",
            Self::Given => "given",
            Self::Stack => "stack",
        }
    }

    /// Whether it is made of the rig's weights.
    pub fn needs_weights(self) -> bool {
        matches!(self, Self::Rigid | Self::Lbs | Self::Dqs | Self::DirectDeltaMush(_) | Self::Auto)
    }

    /// The base for the rig of a fit.
    pub(super) fn of(self, input: &FitInput<'_>) -> Result<Base, MethodError> {
        let weights = || input.weights().cloned();
        Ok(match self {
            Self::Rigid => Base::Rigid(weights()?),
            Self::Lbs => Base::Lbs(weights()?),
            Self::Dqs => Base::Dqs(weights()?, DualQuaternions::new(input.rig.skeleton())),
            Self::DirectDeltaMush(steps) => {
                let steps = match steps {
                    Some(steps) => steps,
                    None => best_steps(&Seen::of(input)?)?,
                };
                Base::DirectDeltaMush(DirectDeltaMush::new(input.rig.mesh(), input.weights()?, steps))
            }
            Self::Auto => return Err(MethodError::Base { base: self.name(), method: "this" }),
            Self::Rest => Base::Rest,
            Self::Given => Base::Given,
            Self::Stack => {
                let stack = input.stack.ok_or(MethodError::InputLacks { what: "the deformers of the stack" })?;
                Base::Stack(Box::new(stack.clone()), StackPose::default())
            }
        })
    }

    /// Checks a number of smoothing steps; only the joint model can choose between bases.
    pub(super) fn check(self, method: &'static str) -> Result<(), MethodError> {
        match self {
            Self::DirectDeltaMush(Some(steps)) if !(1..=MOST_STEPS).contains(&steps) => {
                let rule = format!("it must lie in 1..{MOST_STEPS}");
                Err(MethodError::Setting { setting: "smoothing steps of the base", value: f64::from(steps), rule })
            }
            Self::Auto if method != "joint" => Err(MethodError::Base { base: self.name(), method }),
            _ => Ok(()),
        }
    }

    /// Checks that a correction with frames of its own can be learnt over it.
    pub(super) fn check_for(self, method: &'static str) -> Result<(), MethodError> {
        self.check(method)?;
        match self {
            Self::Rest | Self::Stack => Err(MethodError::Base { base: self.name(), method }),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for BaseChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DirectDeltaMush(Some(steps)) => write!(f, "ddm:{steps}"),
            _ => f.write_str(self.name()),
        }
    }
}

impl From<BaseChoice> for String {
    fn from(base: BaseChoice) -> Self {
        base.to_string()
    }
}

impl TryFrom<String> for BaseChoice {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let named = [
            Self::Rigid,
            Self::Lbs,
            Self::Dqs,
            Self::DirectDeltaMush(None),
            Self::Auto,
            Self::Rest,
            Self::Given,
            Self::Stack,
        ];
        let steps = || Some(Self::DirectDeltaMush(Some(text.strip_prefix("ddm:")?.parse().ok()?)));
        let found = named.into_iter().find(|base| base.name() == text).or_else(steps);
        found.ok_or_else(|| format!("\"{text}\" is no base: rigid, lbs, dqs, ddm, ddm:N, auto, rest, given"))
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
