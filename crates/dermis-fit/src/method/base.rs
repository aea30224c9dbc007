//! The deformer a correction is learnt over.

use super::mush::{Seen, stated};
use super::{FitInput, MethodError};
use dermis_deform::baked::{Baked, Scratch};
use dermis_deform::smoothing::MOST_STEPS;
use dermis_deform::{Base, CorrectiveSmooth, DirectDeltaMush, DualQuaternions, StackPose};
use dermis_rig::glam::{DVec3, Vec3};
use dermis_rig::{BoneTransforms, Example, Rig};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The deformer a correction is learnt over.
///
/// In text: rigid, lbs, dqs, ddm, ddm:N, smooth, smooth:N, smooth:N,FACTOR, auto, rest, given, stack, model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Corrective smoothing of the rig's weights; `None` takes steps and factor of least training error.
    Smooth(Option<SmoothingSteps>),
    /// Linear blend skinning, direct delta mush or corrective smoothing, whichever leaves the joint model less cross-validated error;
    /// linear blend skinning for local sculpts, which were made over it.
    Auto,
    /// The rest pose itself: rest shapes are learnt, for another program to deform.
    Rest,
    /// Positions supplied with every pose.
    Given,
    /// Deformers one after another, which are handed in beside the rig.
    Stack,
    /// A model with its corrections, which is handed in beside the rig.
    Model,
}

/// How far corrective smoothing smooths.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SmoothingSteps {
    /// Smoothing steps.
    pub steps: u32,
    /// How far a step moves a vertex towards the mean of its neighbours, above 0 and to 1.
    pub factor: f64,
}

impl SmoothingSteps {
    /// The factor of a text without one, that of modelling programs.
    const FACTOR: f64 = 0.5;
}

impl BaseChoice {
    /// What it is called, without its number of steps.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rigid => "rigid",
            Self::Lbs => "lbs",
            Self::Dqs => "dqs",
            Self::DirectDeltaMush(_) => "ddm",
            Self::Smooth(_) => "smooth",
            Self::Auto => "auto",
            Self::Rest => "rest",
            Self::Given => "given",
            Self::Stack => "stack",
            Self::Model => "model",
        }
    }

    /// Whether it is made of the rig's weights.
    pub fn needs_weights(self) -> bool {
        matches!(self, Self::Rigid | Self::Lbs | Self::Dqs | Self::DirectDeltaMush(_) | Self::Smooth(_) | Self::Auto)
    }

    /// The base for the rig of a fit.
    pub(super) fn of(self, input: &FitInput<'_>) -> Result<Base, MethodError> {
        let weights = || input.weights().cloned();
        Ok(match self {
            Self::Rigid => Base::Rigid(weights()?),
            Self::Lbs => Base::Lbs(weights()?),
            Self::Dqs => Base::Dqs(weights()?, DualQuaternions::new(input.rig.skeleton())),
            Self::DirectDeltaMush(Some(steps)) => {
                Base::DirectDeltaMush(DirectDeltaMush::new(input.rig.mesh(), input.weights()?, steps))
            }
            Self::Smooth(Some(SmoothingSteps { steps, factor })) => {
                Base::CorrectiveSmooth(CorrectiveSmooth::new(input.rig.mesh(), input.weights()?, steps, factor))
            }
            Self::DirectDeltaMush(None) | Self::Smooth(None) => stated(self, &Seen::of(input)?)?.of(input)?,
            Self::Auto => return Err(MethodError::Base { base: self.name(), method: "this" }),
            Self::Rest => Base::Rest,
            Self::Given => Base::Given,
            Self::Stack => {
                let stack = input.stack.ok_or(MethodError::InputLacks { what: "the deformers of the stack" })?;
                Base::Stack(Box::new(stack.clone()), StackPose::default())
            }
            Self::Model => match input.beneath()?.baked().widened()?.into_parts().1 {
                base @ (Base::Stack(..) | Base::Rest | Base::Given) => {
                    return Err(MethodError::Beneath {
                        why: format!("its own base, {}, cannot be run beneath another correction", named(&base)),
                    });
                }
                base => base,
            },
        })
    }

    /// Checks a number of smoothing steps; only the joint model can choose between bases.
    pub(super) fn check(self, method: &'static str) -> Result<(), MethodError> {
        match self {
            Self::DirectDeltaMush(Some(steps)) | Self::Smooth(Some(SmoothingSteps { steps, .. }))
                if !(1..=MOST_STEPS).contains(&steps) =>
            {
                let rule = format!("it must lie in 1..{MOST_STEPS}");
                Err(MethodError::Setting { setting: "smoothing steps of the base", value: f64::from(steps), rule })
            }
            Self::Smooth(Some(SmoothingSteps { factor, .. })) if !(factor > 0.0 && factor <= 1.0) => {
                let rule = "it must be above 0, and 1 at most".into();
                Err(MethodError::Setting { setting: "smoothing factor of the base", value: factor, rule })
            }
            Self::Auto if method != "joint" => Err(MethodError::Base { base: self.name(), method }),
            _ => Ok(()),
        }
    }

    /// Checks that a correction with frames of its own can be learnt over it.
    pub(super) fn check_for(self, method: &'static str) -> Result<(), MethodError> {
        self.check(method)?;
        match self {
            // A joint model also teaches the other side, and a stack need not have the symmetry of the rig.
            Self::Stack if method == "mwe" => Ok(()),
            Self::Rest | Self::Stack => Err(MethodError::Base { base: self.name(), method }),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for BaseChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DirectDeltaMush(Some(steps)) => write!(f, "ddm:{steps}"),
            Self::Smooth(Some(SmoothingSteps { steps, factor: SmoothingSteps::FACTOR })) => write!(f, "smooth:{steps}"),
            Self::Smooth(Some(SmoothingSteps { steps, factor })) => write!(f, "smooth:{steps},{factor}"),
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
            Self::Smooth(None),
            Self::Auto,
            Self::Rest,
            Self::Given,
            Self::Stack,
            Self::Model,
        ];
        let steps = || Some(Self::DirectDeltaMush(Some(text.strip_prefix("ddm:")?.parse().ok()?)));
        let smooth = || {
            let said = text.strip_prefix("smooth:")?;
            let (steps, factor) = match said.split_once(',') {
                Some((steps, factor)) => (steps, factor.parse().ok()?),
                None => (said, SmoothingSteps::FACTOR),
            };
            Some(Self::Smooth(Some(SmoothingSteps { steps: steps.parse().ok()?, factor })))
        };
        let found = named.into_iter().find(|base| base.name() == text).or_else(steps).or_else(smooth);
        found.ok_or_else(|| {
            format!(
                "\"{text}\" is no base: rigid, lbs, dqs, ddm, ddm:N, smooth, smooth:N, smooth:N,FACTOR, auto, rest, given, \
                 model:FILE"
            )
        })
    }
}

/// Whether what a correction is learnt over is a closed form per vertex, which need not be stored.
pub(super) fn has_closed_form(base: &Base, input: &FitInput<'_>) -> bool {
    input.model.is_none() && matches!(base, Base::Rigid(_) | Base::Lbs(_) | Base::AnimationSpace(_) | Base::Rest)
}

/// What a base that no correction may be learnt over is called.
fn named(base: &Base) -> &'static str {
    match base {
        Base::Stack(..) => "deformers one after another",
        Base::Rest => "the rest pose",
        _ => "given positions",
    }
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

/// The positions in the training poses that a correction is learnt over: those of the base, computed or as they were given, or
/// those of a model.
pub(super) fn base_in_training(base: &mut Base, input: &FitInput<'_>) -> Result<Vec<Vec<DVec3>>, MethodError> {
    if let Some(model) = input.model {
        return model_positions(model.baked(), input);
    }
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

/// The positions of a model in the training poses, as it is delivered.
fn model_positions(model: &Baked, input: &FitInput<'_>) -> Result<Vec<Vec<DVec3>>, MethodError> {
    let (mut scratch, mut skin) = (Scratch::default(), vec![Vec3::ZERO; model.vertices()]);
    let mut wide = |example: &Example| {
        model.evaluate(&example.transforms, None, &mut scratch, &mut skin)?;
        Ok(skin.iter().map(|p| p.as_dvec3()).collect())
    };
    input.examples.examples().iter().map(&mut wide).collect()
}
