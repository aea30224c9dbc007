//! The two classical artefacts, measured: a tube with a joint in its middle, twisted (the candy wrapper) or bent (the
//! collapsing elbow), and how much volume and radius a deformer leaves it.
//!
//! The tube lies along x from 0 to its length; bone 0 carries the start, bone 1 the end, and the weight of bone 1 grows
//! linearly from 0 to 1 over the joint ± `half_width`. What linear blending does is known in closed form: with weights
//! (1 − u, u) a twist by a leaves the radius `√(1 − 2u(1 − u)(1 − cos a))`, and the blend zone keeps `1 − (1 − cos a)/3`
//! of its volume; a bend keeps `1 − (1 − cos a)/6` of it, for any radius, and thins the middle in its plane to cos(a/2).

use crate::volume::{ring_radius_ratio, volume};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms, BoneVec, InfluenceError, Influences, Mesh};
use serde::Serialize;
use std::f64::consts::TAU;
use std::ops::Range;

/// A closed tube: rings of vertices along x, ring after ring, then the centre of the cap at the start and at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tube {
    /// Radius.
    pub radius: f64,
    /// Length along x; the joint is in the middle.
    pub length: f64,
    /// Rings of vertices, the first and the last at the ends; at least 2.
    pub rings: usize,
    /// Vertices per ring; at least 3.
    pub segments: usize,
    /// Half the length of the zone in which both bones have weight.
    pub half_width: f64,
}

/// How the tube is deformed: bone 1 turns about the joint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Movement {
    /// About z, across the tube.
    Bend,
    /// About x, along the tube.
    Twist,
}

/// What a deformer leaves of the tube at one angle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Artefact {
    /// Angle of the joint, radians.
    pub angle: f64,
    /// Volume over volume at rest.
    pub volume_ratio: f64,
    /// The smallest ratio of a ring's radii about its centroid, over all rings.
    pub radius_ratio: f64,
}

/// Why there is no such tube.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TubeError {
    /// A length that is not positive, or not finite.
    #[error("the {what} of a tube must be positive and finite, not {value}")]
    Length {
        /// Radius, length or half width.
        what: &'static str,
        /// Its value.
        value: f64,
    },
    /// Too few rings or segments, or more than can be counted.
    #[error(
        "a tube needs 2 rings or more and 3 segments or more, at most {most} vertices: not {rings} times {segments}"
    )]
    Counts {
        /// Rings.
        rings: usize,
        /// Segments.
        segments: usize,
        /// The most vertices allowed.
        most: usize,
    },
    /// Weights that are not finite.
    #[error("the weights of the tube: {0}")]
    Weights(#[from] InfluenceError),
}

/// The most vertices of a tube: finer than any use, and 100 MB.
const MOST: usize = 1 << 22;

impl Tube {
    /// Checks that there is such a tube; the other functions rely on it.
    ///
    /// # Errors
    /// [`TubeError`].
    pub fn check(&self) -> Result<(), TubeError> {
        for (what, value) in [("radius", self.radius), ("length", self.length), ("half width", self.half_width)] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(TubeError::Length { what, value });
            }
        }
        let counted = self.rings.checked_mul(self.segments).filter(|&count| count <= MOST);
        if self.rings < 2 || self.segments < 3 || counted.is_none() {
            return Err(TubeError::Counts { rings: self.rings, segments: self.segments, most: MOST });
        }
        Ok(())
    }

    /// The tube at rest.
    ///
    /// # Errors
    /// [`TubeError`].
    pub fn mesh(&self) -> Result<Mesh, TubeError> {
        self.check()?;
        let (rings, segments) = (self.rings, self.segments);
        let around = |j: usize| TAU * j as f64 / segments as f64;
        let mut positions = Vec::with_capacity(rings * segments + 2);
        for ring in 0..rings {
            let x = self.length * ring as f64 / (rings - 1) as f64;
            let on_ring = |j| DVec3::new(x, self.radius * f64::cos(around(j)), self.radius * f64::sin(around(j)));
            positions.extend((0..segments).map(on_ring));
        }
        positions.extend([DVec3::ZERO, DVec3::X * self.length]);
        let at = |ring: usize, j: usize| (ring * segments + j % segments) as u32;
        let (start, end) = ((rings * segments) as u32, (rings * segments + 1) as u32);
        let mut triangles = Vec::with_capacity(2 * rings * segments);
        for j in 0..segments {
            for ring in 0..rings - 1 {
                let (here, next) = (at(ring, j), at(ring, j + 1));
                let (beyond, beyond_next) = (at(ring + 1, j), at(ring + 1, j + 1));
                triangles.extend([[here, next, beyond_next], [here, beyond_next, beyond]]);
            }
            triangles.extend([[start, at(0, j + 1), at(0, j)], [end, at(rings - 1, j), at(rings - 1, j + 1)]]);
        }
        Ok(Mesh { positions, triangles, ..Mesh::default() })
    }

    /// The vertices of a ring.
    pub fn ring(&self, ring: usize) -> Range<usize> {
        ring * self.segments..(ring + 1) * self.segments
    }

    /// The weights of its two bones at each of these rest positions.
    ///
    /// # Errors
    /// [`TubeError::Weights`] for a position that is not finite.
    pub fn weights(&self, positions: &[DVec3]) -> Result<Influences, TubeError> {
        let from = 0.5 * self.length - self.half_width;
        let row = |p: &DVec3| {
            let u = ((p.x - from) / (2.0 * self.half_width)).clamp(0.0, 1.0);
            vec![(BoneIndex::new(0), 1.0 - u), (BoneIndex::new(1), u)]
        };
        Ok(Influences::from_rows(positions.iter().map(row))?)
    }

    /// The joint of each bone at rest: the start of the tube, and its middle.
    pub fn joints(&self) -> BoneVec<DVec3> {
        BoneVec::new(vec![DVec3::ZERO, DVec3::X * (0.5 * self.length)])
    }

    /// Bone 0 at rest, bone 1 turned by `angle` radians about the joint.
    pub fn transforms(&self, movement: Movement, angle: f64) -> BoneTransforms {
        let joint = DVec3::X * (0.5 * self.length);
        let turn = match movement {
            Movement::Bend => DAffine3::from_rotation_z(angle),
            Movement::Twist => DAffine3::from_rotation_x(angle),
        };
        let about_joint = DAffine3::from_translation(joint) * turn * DAffine3::from_translation(-joint);
        BoneTransforms::new(vec![DAffine3::IDENTITY, about_joint])
    }

    /// Measures a deformer at each angle (radians). `deform` gets rest positions, weights, the pose, and where the
    /// posed positions go.
    ///
    /// # Errors
    /// [`TubeError`].
    pub fn artefacts(
        &self,
        movement: Movement,
        angles: &[f64],
        mut deform: impl FnMut(&[DVec3], &Influences, &BoneTransforms, &mut [DVec3]),
    ) -> Result<Vec<Artefact>, TubeError> {
        let mesh = self.mesh()?;
        let weights = self.weights(&mesh.positions)?;
        let at_rest = volume(&mesh.triangles, &mesh.positions);
        let mut posed = vec![DVec3::ZERO; mesh.positions.len()];
        let measure = |&angle: &f64| {
            deform(&mesh.positions, &weights, &self.transforms(movement, angle), &mut posed);
            let radii = (0..self.rings).filter_map(|r| ring_radius_ratio(self.ring(r), &mesh.positions, &posed));
            Artefact {
                angle,
                volume_ratio: volume(&mesh.triangles, &posed) / at_rest,
                radius_ratio: radii.fold(f64::INFINITY, f64::min),
            }
        };
        Ok(angles.iter().map(measure).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_deform::{DualQuaternions, lbs};
    use std::f64::consts::PI;

    fn tube(fineness: usize) -> Tube {
        let (rings, segments) = (20 * fineness + 1, 8 * fineness);
        Tube { radius: 0.25, length: 2.0, rings, segments, half_width: 0.3 }
    }

    const ANGLES: [f64; 4] = [0.25 * PI, 0.5 * PI, 0.75 * PI, PI];

    #[test]
    fn it_is_closed_and_has_the_volume_of_a_prism() {
        let tube = tube(2);
        let mesh = tube.mesh().unwrap();
        mesh.check().unwrap();
        assert!(mesh.is_closed());
        let prism = 0.5 * 16.0 * 0.25 * 0.25 * (TAU / 16.0).sin() * 2.0;
        assert!((volume(&mesh.triangles, &mesh.positions) - prism).abs() < 1e-14);
    }

    /// Closed forms for the smooth tube, where 0.3 of the length is blend zone. The mesh approaches them as h².
    #[test]
    fn linear_blending_loses_the_volume_of_the_closed_form() {
        for (movement, share) in [(Movement::Twist, 3.0), (Movement::Bend, 6.0)] {
            let off = |fineness: usize| {
                let measured = tube(fineness).artefacts(movement, &ANGLES, lbs).unwrap();
                let expected = ANGLES.map(|a| 1.0 - 0.3 * (1.0 - a.cos()) / share);
                measured.iter().zip(expected).map(|(m, e)| (m.volume_ratio - e).abs()).fold(0.0, f64::max)
            };
            let errors = [off(2), off(4), off(8)];
            assert!(errors[2] < 2e-3, "{movement:?}: {errors:?}");
            assert!(errors[0] < 1e-9 || errors[2] < errors[0] / 12.0, "{movement:?} falls as h²: {errors:?}");
        }
    }

    #[test]
    fn linear_blending_thins_the_middle_to_the_cosine_of_half_the_angle() {
        for movement in [Movement::Twist, Movement::Bend] {
            // The middle ring lies at u = 1/2, and two of its vertices in the plane of the bend.
            for measured in tube(2).artefacts(movement, &ANGLES, lbs).unwrap() {
                let expected = (0.5 * measured.angle).cos();
                assert!((measured.radius_ratio - expected).abs() < 1e-14, "{movement:?} {measured:?}");
            }
        }
    }

    /// The radius is kept at every vertex; flat triangles between turned rings cut off a volume that falls as h².
    #[test]
    fn dual_quaternions_keep_radius_and_volume() {
        let measure = |fineness: usize, movement| {
            let tube = tube(fineness);
            let mut blend = DualQuaternions::with_pivots(tube.joints());
            let skin = |rest: &[DVec3], weights: &Influences, pose: &BoneTransforms, out: &mut [DVec3]| {
                blend.prepare(pose);
                blend.deform(rest, weights, out);
            };
            tube.artefacts(movement, &ANGLES, skin).unwrap()
        };
        for (coarse, fine) in measure(4, Movement::Twist).iter().zip(measure(8, Movement::Twist)) {
            assert!((fine.radius_ratio - 1.0).abs() < 1e-13, "{fine:?}");
            let (coarse, fine) = (1.0 - coarse.volume_ratio, 1.0 - fine.volume_ratio);
            assert!(fine < 1e-3 && (3.5..4.5).contains(&(coarse / fine)), "{coarse} {fine}");
        }
        for measured in measure(8, Movement::Bend) {
            assert!((measured.volume_ratio - 1.0).abs() < 1e-3, "{measured:?}");
        }
    }

    #[test]
    fn tubes_that_are_none_are_refused() {
        let good = tube(1);
        for bad in [
            Tube { radius: 0.0, ..good },
            Tube { length: f64::NAN, ..good },
            Tube { half_width: f64::INFINITY, ..good },
            Tube { rings: 1, ..good },
            Tube { segments: 2, ..good },
            Tube { rings: usize::MAX, ..good },
        ] {
            assert!(bad.mesh().is_err(), "{bad:?}");
        }
    }
}
