//! An arm of three bones along x, of an oval cross-section with swellings, whose weights are known in closed form.

use crate::FigureError;
use crate::limb::chain;
use dermis_deform::lbs;
use dermis_rig::glam::{DAffine3, DQuat, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Skeleton};
use std::f64::consts::TAU;

/// Mean radius of the arm; a bone has length one.
pub(super) const RADIUS: f64 = 0.2;
/// Half the width over which bones blend.
const BLEND: f64 = 0.3;
/// Where the bones begin.
pub(super) const HEADS: [f64; 3] = [0.0, 1.0, 2.0];
const LENGTH: f64 = 3.0;

/// The arm as one mesh of it.
pub(super) struct Arm {
    pub(super) mesh: Mesh,
    pub(super) weights: Influences,
    pub(super) skeleton: Skeleton,
}

impl Arm {
    /// A mesh of so many rings and vertices per ring; the first vertex of every ring stands at `turn` of a step.
    pub(super) fn new(rings: usize, around: usize, turn: f64) -> Result<Self, FigureError> {
        let mesh = mesh(rings, around, turn);
        let weights = Influences::from_rows(mesh.positions.iter().map(|p| row(p.x)))?;
        Ok(Self { mesh, weights, skeleton: chain(&HEADS)? })
    }

    /// The skin by weights.
    pub(super) fn skin(&self, weights: &Influences, pose: &BoneTransforms) -> Vec<DVec3> {
        let mut out = vec![DVec3::ZERO; self.mesh.positions.len()];
        lbs(&self.mesh.positions, weights, pose, &mut out);
        out
    }
}

/// The true weights at a place along the arm.
fn row(x: f64) -> Vec<(BoneIndex, f64)> {
    let share = |joint: f64| {
        let t = ((x - joint + BLEND) / (2.0 * BLEND)).clamp(0.0, 1.0);
        t * t * (3.0 - 2.0 * t)
    };
    let (elbow, wrist) = (share(HEADS[1]), share(HEADS[2]));
    let weights = [1.0 - elbow, elbow * (1.0 - wrist), elbow * wrist];
    weights.into_iter().enumerate().filter(|(_, w)| *w > 0.0).map(|(b, w)| (BoneIndex::new(b), w)).collect()
}

/// Elbow and wrist turned by rotation vectors, degrees.
pub(super) fn pose(elbow: [f64; 3], wrist: [f64; 3]) -> BoneTransforms {
    let turn = |at: f64, degrees: [f64; 3]| {
        let place = DAffine3::from_translation(DVec3::X * at);
        let rotation = DQuat::from_scaled_axis(DVec3::from_array(degrees.map(f64::to_radians)));
        place * DAffine3::from_quat(rotation) * place.inverse()
    };
    let forearm = turn(HEADS[1], elbow);
    BoneTransforms::new(vec![DAffine3::IDENTITY, forearm, forearm * turn(HEADS[2], wrist)])
}

fn mesh(rings: usize, around: usize, turn: f64) -> Mesh {
    let mut positions = Vec::with_capacity(rings * around + 2);
    for ring in 0..rings {
        let x = LENGTH * ring as f64 / (rings - 1) as f64;
        let swell = 1.0 + 0.18 * (2.4 * x).sin();
        for k in 0..around {
            let angle = TAU * (k as f64 + turn) / around as f64;
            let oval = 1.0 + 0.22 * (2.0 * angle).cos() + 0.12 * (x * 2.0 + 3.0 * angle).cos();
            let (sin, cos) = angle.sin_cos();
            positions.push(DVec3::new(x, RADIUS * swell * oval * cos, RADIUS * swell * oval * sin));
        }
    }
    positions.extend([DVec3::ZERO, DVec3::X * LENGTH]);
    let at = |ring: usize, k: usize| (ring * around + k % around) as u32;
    let (start, end) = ((rings * around) as u32, (rings * around + 1) as u32);
    let mut triangles = Vec::with_capacity(2 * rings * around);
    for k in 0..around {
        for ring in 0..rings - 1 {
            triangles.push([at(ring, k), at(ring, k + 1), at(ring + 1, k + 1)]);
            triangles.push([at(ring, k), at(ring + 1, k + 1), at(ring + 1, k)]);
        }
        triangles.extend([[start, at(0, k + 1), at(0, k)], [end, at(rings - 1, k), at(rings - 1, k + 1)]]);
    }
    Mesh { positions, triangles, ..Mesh::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_measure::volume;

    #[test]
    fn the_arm_is_closed_and_its_weights_are_a_partition_of_one() {
        let arm = Arm::new(25, 16, 0.0).unwrap();
        assert!(arm.mesh.is_closed() && volume(&arm.mesh.triangles, &arm.mesh.positions) > 0.0);
        for row in arm.weights.rows() {
            assert!((row.iter().map(|(_, w)| w).sum::<f64>() - 1.0).abs() < 1e-12);
        }
        // A hand that turns as a whole keeps its shape; the upper arm stays.
        let skin = arm.skin(&arm.weights, &pose([0.0, 0.0, 90.0], [0.0; 3]));
        let (rest, last) = (&arm.mesh.positions, skin.len() - 1);
        assert!(skin[0].distance(rest[0]) < 1e-12);
        assert!(skin[last].distance(DVec3::new(1.0, 2.0, 0.0)) < 1e-12);
    }
}
