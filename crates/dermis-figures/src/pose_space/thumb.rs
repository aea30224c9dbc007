//! A thumb in the plane: two bones, one sculpt of its bend.
//!
//! The wanted shape has a closed form at every angle θ: X(p) = R(θ w) (p + c b(p)). Here w is the vertex's weight on the
//! outer bone and R a rotation about the joint. b is a pad that swells on the inner side and a knuckle on the outer one.
//! c = sin(θ/2)/sin(θ_s/2), so the sculpt at θ_s has all of b. Linear blending makes neither, and thins at the joint.

use super::{FigurePose, Learnt, PoseKind, chain};
use crate::FigureError;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DAffine3, DVec3};

/// The angle sculpted, degrees.
pub(super) const SCULPT: f64 = 66.8;
/// Angles shown.
pub(super) const ANGLES: [f64; 4] = [45.0, 60.0, SCULPT, 90.0];
/// Half the thickness of the thumb.
const HALF: f64 = 0.23;
/// Half the length over which weights go from one bone to the other.
const RAMP: f64 = 0.4;

/// The figure.
#[derive(Clone, Debug)]
pub(super) struct Thumb {
    /// One per angle of [`ANGLES`].
    pub(super) views: Vec<FigurePose>,
}

impl Thumb {
    /// Learns from the sculpt and looks at all angles.
    ///
    /// # Errors
    /// As [`pose_space`](super::pose_space).
    pub(super) fn new() -> Result<Self, FigureError> {
        let rest = outline();
        let weights = rest.iter().map(|p| vec![1.0 - weight(p.x), weight(p.x)]).collect();
        let rig = chain("thumb", &[-1.0, 0.0], rest.clone(), weights)?;
        let pose = |degrees: f64| {
            BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(degrees.to_radians())])
        };
        let wanted = |degrees: f64| -> Vec<DVec3> { rest.iter().map(|p| wanted(*p, degrees)).collect() };
        let mut learnt = Learnt::new(&rig, &[(pose(SCULPT), wanted(SCULPT))])?;
        let view = |degrees: f64| {
            let kind = if degrees == SCULPT { PoseKind::Sculpted } else { PoseKind::Unseen };
            learnt.view(format!("bent by {degrees}°"), kind, pose(degrees), wanted(degrees))
        };
        Ok(Self { views: ANGLES.into_iter().map(view).collect() })
    }
}

/// The outline, counter-clockwise: below to the tip, round it, and back above.
fn outline() -> Vec<DVec3> {
    let side = 70;
    let along = |i: usize| -1.0 + (2.0 - HALF) * i as f64 / side as f64;
    let below = (0..side).map(|i| DVec3::new(along(i), -HALF, 0.0));
    let tip = (0..=24).map(|i| {
        let (sin, cos) = (std::f64::consts::PI * (f64::from(i) / 24.0 - 0.5)).sin_cos();
        DVec3::new(1.0 - HALF + HALF * cos, HALF * sin, 0.0)
    });
    let above = (0..side).rev().map(|i| DVec3::new(along(i), HALF, 0.0));
    below.chain(tip).chain(above).collect()
}

/// The weight on the outer bone.
fn weight(x: f64) -> f64 {
    let t = ((x + RAMP) / (2.0 * RAMP)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// The pad on the inner side and the knuckle on the outer one.
fn bulge(p: DVec3) -> DVec3 {
    let bump = |at: f64, width: f64| (-((p.x - at) / width).powi(2)).exp();
    let above = (p.y / HALF).clamp(-1.0, 1.0);
    match above > 0.0 {
        true => DVec3::Y * (above * 0.16 * bump(0.5, 0.22)),
        false => DVec3::Y * (above * 0.07 * bump(0.0, 0.16)),
    }
}

fn wanted(p: DVec3, degrees: f64) -> DVec3 {
    let half = |degrees: f64| (0.5 * degrees.to_radians()).sin();
    let turn = DAffine3::from_rotation_z(degrees.to_radians() * weight(p.x));
    turn.transform_point3(p + bulge(p) * (half(degrees) / half(SCULPT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sculpt_is_met_and_between_rest_and_sculpt_the_inverse_form_is_nearest() {
        let views = Thumb::new().unwrap().views;
        for view in &views {
            let [ssd, forward, inverse] = view.errors.map(|e| e.rms);
            if view.kind == PoseKind::Sculpted {
                // ρ = 1e-9 of corrections of at most 0.3.
                assert!(forward < 1e-8 && inverse < 1e-8 && ssd > 0.02, "{:?}", view.errors);
            } else {
                assert!(inverse < forward && forward < ssd, "{}: {:?}", view.title, view.errors);
            }
        }
    }

    /// Where one bone holds the skin the wanted shape is that bone's motion of it, and at rest it is the rest shape.
    #[test]
    fn the_wanted_shape_is_rigid_at_both_ends_and_at_rest() {
        for p in outline() {
            assert_eq!(wanted(p, 0.0), p);
            if p.x < -RAMP - 0.5 {
                // The knuckle and the pad have faded to exp(-16) there.
                assert!(wanted(p, 60.0).distance(p) < 1e-7);
            }
        }
    }
}
