//! Where a correction points while the joint turns.
//!
//! The case is planar, with one example: a displacement δ of a vertex at the joint angle θ_s. The kernel gives the length of
//! the correction in every pose. In the forward form its direction is constant, β = arg δ. In the inverse form the vertex
//! carries it: β = arg δ + angle A(θ) − angle A(θ_s), with A = (1 − w) + w R(θ) the linear part of blending at weight w on
//! the turning bone. angle A is θ for w = 1 and θ/2 for w = ½, so the slopes are 1 and ½.

use super::{Learnt, chain};
use crate::FigureError;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DAffine3, DVec3};

/// θ_s, degrees.
pub(super) const EXAMPLE: f64 = 60.0;
/// arg δ, degrees.
pub(super) const ASKED: f64 = 25.0;
/// Weights on the turning bone.
const WEIGHTS: [f64; 2] = [1.0, 0.5];

/// What was measured at a vertex.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Direction {
    /// Its weight on the turning bone.
    pub(super) weight: f64,
    /// Joint angle, then the correction's direction in the forward and the inverse form, degrees.
    pub(super) points: Vec<[f64; 3]>,
    /// Degrees of direction per degree of the joint, forward and inverse: least squares over the points.
    pub(super) slopes: [f64; 2],
}

impl Direction {
    /// The direction of both forms in closed form.
    pub(super) fn expected(&self, degrees: f64) -> [f64; 2] {
        let carried = |degrees: f64| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            (self.weight * sin).atan2(1.0 - self.weight + self.weight * cos).to_degrees()
        };
        [ASKED, ASKED + carried(degrees) - carried(EXAMPLE)]
    }
}

/// Both forms at both weights, every five degrees from 5 to 120.
///
/// # Errors
/// As [`pose_space`](super::pose_space).
pub(super) fn measured() -> Result<Vec<Direction>, FigureError> {
    let rest: Vec<DVec3> = WEIGHTS.iter().map(|w| DVec3::new(0.6 * w, 0.2, 0.0)).collect();
    let weights = WEIGHTS.iter().map(|&w| vec![1.0 - w, w]).collect();
    let rig = chain("direction", &[-1.0, 0.0], rest, weights)?;
    let pose =
        |degrees: f64| BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(degrees.to_radians())]);
    // What blending makes of the example's pose, before anything is learnt.
    let blended = Learnt::new(&rig, &[(pose(EXAMPLE), rig.mesh().positions.clone())])?.skins(&pose(EXAMPLE))[0].clone();
    let (sin, cos) = ASKED.to_radians().sin_cos();
    let asked = blended.iter().map(|p| *p + 0.1 * DVec3::new(cos, sin, 0.0)).collect();
    let mut learnt = Learnt::new(&rig, &[(pose(EXAMPLE), asked)])?;
    let mut all: Vec<Direction> =
        WEIGHTS.iter().map(|&weight| Direction { weight, points: Vec::new(), slopes: [0.0; 2] }).collect();
    for step in 1..=24 {
        let degrees = 5.0 * f64::from(step);
        let [ssd, forward, inverse] = learnt.skins(&pose(degrees));
        for (v, direction) in all.iter_mut().enumerate() {
            let angle = |skin: &[DVec3]| (skin[v].y - ssd[v].y).atan2(skin[v].x - ssd[v].x).to_degrees();
            direction.points.push([degrees, angle(&forward), angle(&inverse)]);
        }
    }
    for direction in &mut all {
        direction.slopes = [1, 2].map(|form| slope(&direction.points, form));
    }
    Ok(all)
}

/// The slope of the line of least squares.
fn slope(points: &[[f64; 3]], form: usize) -> f64 {
    let count = points.len() as f64;
    let mean = |at: usize| points.iter().map(|p| p[at]).sum::<f64>() / count;
    let (x, y) = (mean(0), mean(form));
    let covariance: f64 = points.iter().map(|p| (p[0] - x) * (p[form] - y)).sum();
    covariance / points.iter().map(|p| (p[0] - x).powi(2)).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_direction_stands_still_in_the_forward_form_and_turns_with_the_skin_in_the_inverse_form() {
        let all = measured().unwrap();
        for (direction, slope) in all.iter().zip(WEIGHTS) {
            // Corrections of 1e-2 and more, computed to 1e-15: directions are good to 1e-11 degrees.
            assert!(direction.slopes[0].abs() < 1e-10, "{:?}", direction.slopes);
            assert!((direction.slopes[1] - slope).abs() < 1e-10, "{:?}", direction.slopes);
            for point in &direction.points {
                let expected = direction.expected(point[0]);
                assert!((point[1] - expected[0]).abs() < 1e-9 && (point[2] - expected[1]).abs() < 1e-9, "{point:?}");
            }
        }
    }
}
