//! A motion that shows whether a new rig moves right.
//!
//! A body on two legs gets the walk of the bundled body, retargeted. One on four legs gets a walk that [`dermis_motion::gait`] makes on its own skeleton.
//! Whatever else there is to be rigged, such as a hand, goes through its exercise.

use crate::error::Error;
use crate::verbs::demo;
use crate::verbs::inspect::moving;
use dermis_deform::lbs::lbs;
use dermis_motion::anatomy::{Anatomy, Part, Stance};
use dermis_motion::exercise::{ExerciseSettings, exercise};
use dermis_motion::gait;
use dermis_motion::retarget::{Character, Contacts, PairTable, Retargeted, Unpaired, retarget};
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{Influences, Mesh, Motion, Progress, Rig, Skeleton};
use serde_json::{Value, json};

/// A rig in motion.
#[derive(Debug)]
pub struct RigMotion {
    /// The rig, turned upright: its up is +Y.
    pub rig: Rig,
    /// What it does, with times.
    pub motion: Motion,
    /// Where the motion comes from.
    pub source: MotionSource,
    /// How its feet stand, of a walk.
    pub feet: Option<Feet>,
    /// Why it does not walk, if it was expected to.
    pub refusal: Option<String>,
}

/// Where the motion of a new rig comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MotionSource {
    /// The walk of the bundled body.
    Body,
    /// A walk on four legs.
    FourLegs,
    /// The exercise of the rig itself.
    Exercise,
}

/// How feet stand on the ground while they walk. Lengths are metres, and the ground is the lowest point of the skin at rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Feet {
    /// Times that a foot stands.
    pub contacts: usize,
    /// The farthest that a standing foot is from its mean place.
    pub slide: f64,
    /// The same of the source, times the ratio of the leg lengths; `None` if the walk was made on the rig itself.
    pub source_slide: Option<f64>,
    /// The deepest point of the skin below the ground, over all frames.
    pub sunk: f64,
    /// The highest that the lowest point of the skin is above the ground.
    pub lifted: f64,
    /// The length of a leg.
    pub leg: f64,
}

/// Frames of a stride on four legs, and strides.
const FRAMES: (usize, usize) = (24, 2);
/// Poses of an exercise on a page, and frames from one to the next.
const POSES: (usize, usize) = (12, 8);

impl MotionSource {
    /// What it is, in a few words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Body => "the walk of the bundled body",
            Self::FourLegs => "a walk on four legs",
            Self::Exercise => "its exercise",
        }
    }
}

impl RigMotion {
    /// The part "motion" of `rig --json`.
    pub fn json(&self) -> Value {
        let feet = self.feet.as_ref().map(|feet| {
            json!({
                "contacts": feet.contacts,
                "slide_mm": 1e3 * feet.slide,
                "source_slide_mm": feet.source_slide.map(|slide| 1e3 * slide),
                "sunk_mm": 1e3 * feet.sunk,
                "lifted_mm": 1e3 * feet.lifted,
                "leg_mm": 1e3 * feet.leg,
            })
        });
        json!({
            "source": match self.source {
                MotionSource::Body => "body",
                MotionSource::FourLegs => "four-legs",
                MotionSource::Exercise => "exercise",
            },
            "frames": self.motion.frames.len(),
            "feet": feet,
            "refusal": self.refusal,
        })
    }
}

/// The motion of a new rig, whose up is `up`.
///
/// # Errors
/// [`Error`] if neither a walk nor an exercise is possible.
pub fn motion(rig: &Rig, weights: &Influences, up: DVec3, progress: Progress<'_>) -> Result<RigMotion, Error> {
    let rig = upright(rig, weights, up)?;
    let moves = moving(rig.skeleton(), rig.weights());
    let anatomy = Anatomy::new(rig.skeleton(), |bone| moves[bone.get()]);
    let has = |part: Part| anatomy.roles.iter().filter(|role| role.is_some_and(|r| r.part == part)).count() >= 2;
    let source = match anatomy.frame.stance {
        _ if !has(Part::Thigh) => MotionSource::Exercise,
        Stance::Upright => MotionSource::Body,
        Stance::Level if has(Part::UpperArm) => MotionSource::FourLegs,
        Stance::Level => MotionSource::Exercise,
    };
    let walked = match source {
        MotionSource::Exercise => Ok(None),
        _ => walk(source, &rig, &anatomy, progress).map(Some),
    };
    match walked {
        Ok(Some(retargeted)) => {
            let feet = feet(&rig, &anatomy, &retargeted, source);
            Ok(RigMotion { motion: retargeted.motion, rig, source, feet: Some(feet), refusal: None })
        }
        Err(Error::Cancelled) => Err(Error::Cancelled),
        other => {
            let settings = ExerciseSettings { poses: POSES.0, in_betweens: POSES.1, ..ExerciseSettings::default() };
            let made = exercise(&rig, &anatomy, &settings)?;
            let refusal = other.err().map(|error| error.to_string());
            Ok(RigMotion { motion: made.motion, rig, source: MotionSource::Exercise, feet: None, refusal })
        }
    }
}

/// The rig turned so that its up is +Y.
fn upright(rig: &Rig, weights: &Influences, up: DVec3) -> Result<Rig, Error> {
    let turn = DQuat::from_rotation_arc(up.try_normalize().unwrap_or(DVec3::Y), DVec3::Y);
    let (mesh, skeleton) = (rig.mesh(), rig.skeleton());
    let mesh = Mesh { positions: mesh.positions.iter().map(|p| turn * *p).collect(), ..mesh.clone() };
    let bind = skeleton.bind().iter().map(|bind| DAffine3::from_quat(turn) * *bind).collect();
    let skeleton = Skeleton::new(skeleton.names().to_vec(), skeleton.parents().to_vec(), bind)?;
    let made = Rig::new(mesh, skeleton, Some(weights.clone())).map_err(|e| Error::Internal(e.to_string()))?;
    Ok(made.named(rig.name().to_owned()))
}

/// The walk of a source on a rig. One that is made on the rig itself is retargeted as well: that leaves it as it is, and finds when its feet stand.
fn walk(source: MotionSource, rig: &Rig, anatomy: &Anatomy, progress: Progress<'_>) -> Result<Retargeted, Error> {
    let to = Character { skeleton: rig.skeleton(), weights: rig.weights() };
    let made = match source {
        MotionSource::Body => {
            let (skeleton, weights, motion) = demo::walk()?;
            let from = Character { skeleton: &skeleton, weights: weights.as_ref() };
            retarget(from, &motion, to, &PairTable::new(), Unpaired::Allowed, Contacts::Kept, progress)
        }
        _ => {
            let motion =
                gait::walk(rig.skeleton(), anatomy, FRAMES.1, FRAMES.0).map_err(|e| Error::Internal(e.to_string()))?;
            retarget(to, &motion, to, &PairTable::new(), Unpaired::Allowed, Contacts::Kept, progress)
        }
    };
    Ok(made?)
}

/// How feet stand.
fn feet(rig: &Rig, anatomy: &Anatomy, made: &Retargeted, source: MotionSource) -> Feet {
    let mesh = rig.mesh();
    let lowest = |points: &[DVec3]| points.iter().map(|p| p.y).fold(f64::INFINITY, f64::min);
    let ground = lowest(&mesh.positions);
    let mut skin = vec![DVec3::ZERO; mesh.positions.len()];
    let (mut sunk, mut lifted) = (0.0_f64, 0.0_f64);
    for frame in &made.motion.frames {
        if let Some(weights) = rig.weights() {
            lbs(&mesh.positions, weights, &rig.skeleton().bone_transforms(&frame.pose), &mut skin);
            let height = lowest(&skin) - ground;
            (sunk, lifted) = (sunk.max(-height), lifted.max(height));
        }
    }
    let most = |lengths: &mut dyn Iterator<Item = f64>| lengths.fold(0.0, f64::max);
    let thighs = anatomy.roles.enumerate().filter(|(_, role)| role.is_some_and(|r| r.part == Part::Thigh));
    let leg = most(&mut thighs.map(|(bone, _)| rig.skeleton().bind()[bone].translation.y - ground));
    // What is left of rounding is nothing.
    let tidy = |length: f64| if length < 1e-6 * leg { 0.0 } else { length };
    let source_slide = || tidy(most(&mut made.contacts.iter().map(|c| c.source_slide)));
    Feet {
        contacts: made.contacts.len(),
        slide: tidy(most(&mut made.contacts.iter().map(|c| c.slide))),
        source_slide: (source == MotionSource::Body).then(source_slide),
        sunk: tidy(sunk),
        lifted: tidy(lifted),
        leg,
    }
}
