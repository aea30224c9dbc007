//! An arm whose forearm twists: shoulder, upper arm, forearm along x.
//!
//! Weights on the forearm bone rise from the elbow to the wrist. At weight w and twist τ, linear blending scales the
//! cross-section by |1 − w + w exp(iτ)|: the candy wrapper. The wanted shape turns every cross-section by τ w, keeps it
//! round, and moves with the upper arm. The shoulder never moves in the sculpts, so both forms compare poses by the twist
//! alone. They differ only in the space of their displacements.

use super::{FigurePose, Learnt, PoseKind, chain};
use crate::FigureError;
use dermis_report::svg::RingTube;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DAffine3, DVec3};

/// Twists sculpted, degrees.
pub(super) const SCULPTS: [f64; 2] = [60.0, 120.0];
/// Poses shown: twist, and roll of the upper arm in the shoulder, degrees.
pub(super) const POSES: [(f64, f64); 4] = [(90.0, 0.0), (120.0, 0.0), (90.0, 80.0), (120.0, 80.0)];
/// The mesh of the arm.
pub(super) const TUBE: RingTube = RingTube { rings: 33, around: 24 };
/// Where the shoulder is.
const SHOULDER: f64 = -1.0;

/// The figure.
#[derive(Clone, Debug)]
pub(super) struct Arm {
    /// One per entry of [`POSES`].
    pub(super) views: Vec<FigurePose>,
}

impl Arm {
    /// Learns from the sculpts and looks at all poses.
    ///
    /// # Errors
    /// As [`pose_space`](super::pose_space).
    pub(super) fn new() -> Result<Self, FigureError> {
        let rest = tube();
        let weights = rest.iter().map(|p| vec![0.0, 1.0 - weight(p.x), weight(p.x)]).collect();
        let rig = chain("arm", &[SHOULDER, SHOULDER, 0.0], rest.clone(), weights)?;
        let shape = |twist: f64, turn: f64| -> Vec<DVec3> {
            let upper = upper(turn);
            let turned = |p: &DVec3| DAffine3::from_rotation_x(twist.to_radians() * weight(p.x)).transform_point3(*p);
            rest.iter().map(|p| upper.transform_point3(turned(p))).collect()
        };
        let sculpts = SCULPTS.map(|twist| (pose(twist, 0.0), shape(twist, 0.0)));
        let mut learnt = Learnt::new(&rig, &sculpts)?;
        let view = |(twist, turn): (f64, f64)| {
            let title = match turn == 0.0 {
                true => format!("twist {twist}°"),
                false => format!("twist {twist}°, shoulder {turn}°"),
            };
            let sculpted = turn == 0.0 && SCULPTS.contains(&twist);
            let kind = if sculpted { PoseKind::Sculpted } else { PoseKind::Unseen };
            learnt.view(title, kind, pose(twist, turn), shape(twist, turn))
        };
        Ok(Self { views: POSES.into_iter().map(view).collect() })
    }
}

/// The upper arm's motion: a roll in the shoulder.
fn upper(turn: f64) -> DAffine3 {
    let shoulder = DAffine3::from_translation(DVec3::X * SHOULDER);
    shoulder * DAffine3::from_rotation_x(turn.to_radians()) * shoulder.inverse()
}

fn pose(twist: f64, turn: f64) -> BoneTransforms {
    let upper = upper(turn);
    BoneTransforms::new(vec![DAffine3::IDENTITY, upper, upper * DAffine3::from_rotation_x(twist.to_radians())])
}

/// The weight on the forearm bone.
fn weight(x: f64) -> f64 {
    ((x - 0.05) / 0.85).clamp(0.0, 1.0)
}

/// A limb from shoulder to wrist, ring after ring.
fn tube() -> Vec<DVec3> {
    let ring = |i: usize| {
        let t = i as f64 / (TUBE.rings - 1) as f64;
        let (x, radius) = (-1.0 + 2.0 * t, 0.28 - 0.1 * t + 0.03 * (9.0 * t).sin());
        (0..TUBE.around).map(move |k| {
            let (sin, cos) = (std::f64::consts::TAU * k as f64 / TUBE.around as f64).sin_cos();
            DVec3::new(x, radius * cos, radius * sin)
        })
    };
    (0..TUBE.rings).flat_map(ring).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_form_does_not_see_the_upper_arm_and_the_forward_form_does() {
        let views = Arm::new().unwrap().views;
        for (straight, turned) in [(0, 2), (1, 3)] {
            let (straight, turned) = (&views[straight], &views[turned]);
            for form in [0, 2] {
                let (a, b) = (straight.errors[form].rms, turned.errors[form].rms);
                assert!((a - b).abs() < 1e-7, "{}: {a} {b}", super::super::NAMES[form]);
            }
            assert!(turned.errors[1].rms > straight.errors[1].rms + 0.02, "{:?}", turned.errors);
        }
        assert!(views[1].kind == PoseKind::Sculpted && views[1].errors[1].rms < 1e-8 && views[1].errors[2].rms < 1e-8);
    }

    /// The candy wrapper in closed form: at weight w every point is off by its radius times |exp(iτw) − 1 + w − w exp(iτ)|.
    #[test]
    fn linear_blending_collapses_as_predicted() {
        let views = Arm::new().unwrap().views;
        let tau = POSES[0].0.to_radians();
        for (p, error) in tube().iter().zip(views[0].skins[0].iter().zip(&views[0].wanted)) {
            let w = weight(p.x);
            let real = (tau * w).cos() - 1.0 + w - w * tau.cos();
            let imaginary = (tau * w).sin() - w * tau.sin();
            let expected = p.y.hypot(p.z) * real.hypot(imaginary);
            assert!((error.0.distance(*error.1) - expected).abs() < 1e-14);
        }
    }
}
