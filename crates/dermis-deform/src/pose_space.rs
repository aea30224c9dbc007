//! Pose-space deformation: displacements of examples, interpolated over the pose.
//!
//! For vertex v of group g, with examples s and their coordinates x_s,
//!
//! ```text
//! p' = S(p) + Π_v( C_v d ),      d = Σ_s W_vs k_g(x, x_s),
//! k_g(x, y) = φ_g(x, y) − φ_g(x, 0) φ_g(0, y),      φ_g(x, y) = exp(−Σ_j a_gj |x_j − y_j|² / σ²),
//! ```
//!
//! x_j the nine numbers (R_j − I)/√2 of joint j's rotation R_j relative to its parent and to the bind pose, so that
//! |x_j − y_j| = 2 sin(angle/2) and the Gaussian is positive definite. a_gj says how much joint j matters to the
//! vertices of group g: every vertex has a pose space of its own, of the joints near it. k_g is the Gaussian conditioned
//! on a zero displacement at the bind pose (x = 0): as if the bind pose were an example met exactly, and exact in
//! floating point, because k_g(0, y) is zero whatever the rounding.
//!
//! C_v carries the displacement into the posed world. In the inverse form d lives in the rest pose and C_v is the linear
//! part of the base S at v, so that p' = S(p + d) for bases that are affine per vertex; in the forward form d lives in the
//! world, as first published, and C_v = 1. Welding of frozen joints, limits of coordinates and the ball Π_v are those of
//! [`crate::guard`].
//!
//! Far from all examples d tends to zero, the base. Cost: a kernel value per group and example, and three
//! multiply-adds per vertex and example; unlike multi-weight enveloping both grow with the number of examples.
//!
//! Source: Lewis, Cordner & Fong 2000, "Pose space deformation"; Sloan, Rose & Cohen 2001, "Shape by example" (inverse
//! form); Kurihara & Miyata 2004 (pose spaces per vertex); Xiao et al. 2006 (inverse as an optimisation). Departures:
//! chords in place of angles, the kernel conditioned on the bind pose.

use crate::guard::{Weld, project};
use crate::{Base, features::relative};
use dermis_rig::glam::{DAffine3, DMat3, DVec3};
use dermis_rig::{BoneIndex, BoneTransforms};
use rayon::prelude::*;
use std::f64::consts::FRAC_1_SQRT_2;

/// Marks a vertex without correction.
pub const NO_GROUP: u32 = u32::MAX;
/// Kernel values a thread takes at least.
const CHUNK: usize = 1024;

/// A joint whose rotation is a coordinate of the pose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Joint {
    /// The bone it is seen from.
    pub parent: BoneIndex,
    /// The bone.
    pub bone: BoneIndex,
    /// Largest norm its coordinate may have; infinite without limits.
    pub limit: f64,
}

/// What carries a displacement into the posed world: C_v.
#[derive(Clone, Debug, PartialEq)]
pub enum Carrier {
    /// The linear part of the base at the vertex: the inverse form.
    Base,
    /// The linear part of a bone per vertex: the inverse form over a base that is not known as a map.
    Bones(Vec<BoneIndex>),
    /// Nothing: the published forward form, which does not turn with the character.
    World,
}

/// Everything of the model that a pose is compared with: joints, examples, and the groups of vertices that compare alike.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// σ, in chords: 2 sin(angle/2) of a joint with a = 1.
    pub sigma: f64,
    /// Joints that never moved in training.
    pub weld: Weld,
    /// The joints that count.
    pub joints: Vec<Joint>,
    /// Coordinates of the examples, limited: joints in order, example after example.
    pub examples: Vec<[f64; 9]>,
    /// Where the joints of group g start in `relevance`; one more entry than groups.
    pub joint_offsets: Vec<u32>,
    /// Joints of each group with their a.
    pub relevance: Vec<(u32, f64)>,
    /// Where the kernel values of group g start; one more entry than groups.
    pub offsets: Vec<u32>,
    /// Example of each kernel value.
    pub centres: Vec<u32>,
    /// Group and φ_g(0, x_s) of each kernel value.
    at_rest: Vec<(u32, f64)>,
}

/// What one pose gives to all vertices; its memory is reused from pose to pose.
#[derive(Clone, Debug, Default)]
pub struct KernelValues {
    /// Joints whose limit acted.
    pub limited: usize,
    welded: Vec<DAffine3>,
    coordinates: Vec<[f64; 9]>,
    /// |x_j|² per joint, then |x_j − x_sj|² joints in order, example after example.
    squares: Vec<f64>,
    /// φ_g(x, 0) per group.
    rest: Vec<f64>,
}

impl Kernel {
    /// A kernel of these joints and examples, no groups yet.
    pub fn new(sigma: f64, weld: Weld, joints: Vec<Joint>, examples: Vec<[f64; 9]>) -> Self {
        let (joint_offsets, offsets) = (vec![0], vec![0]);
        let (relevance, centres, at_rest) = (vec![], vec![], vec![]);
        Self { sigma, weld, joints, examples, joint_offsets, relevance, offsets, centres, at_rest }
    }

    /// Adds a group of vertices: joints with their a, and the examples that are its centres.
    ///
    /// # Panics
    /// If a joint or an example does not exist.
    pub fn push(&mut self, relevance: &[(u32, f64)], centres: &[u32]) {
        let group = self.groups() as u32;
        self.relevance.extend_from_slice(relevance);
        self.joint_offsets.push(self.relevance.len() as u32);
        for &s in centres {
            let x = &self.examples[s as usize * self.joints.len()..][..self.joints.len()];
            let square = relevance.iter().map(|&(j, a)| a * square(&x[j as usize])).sum::<f64>();
            self.centres.push(s);
            self.at_rest.push((group, self.gaussian(square)));
        }
        self.offsets.push(self.centres.len() as u32);
    }

    /// Number of groups.
    pub fn groups(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of kernel values a pose has.
    pub fn values(&self) -> usize {
        self.centres.len()
    }

    /// The kernel values of group `g`.
    pub fn range(&self, g: usize) -> std::ops::Range<usize> {
        self.offsets[g] as usize..self.offsets[g + 1] as usize
    }

    fn gaussian(&self, square: f64) -> f64 {
        (-square / (self.sigma * self.sigma)).exp()
    }

    /// k_g(x, x_s) of a pose x for every group and centre, into `out`; computed in `f64`, rounded once by `round`.
    pub fn evaluate<T: Send>(
        &self,
        transforms: &BoneTransforms,
        scratch: &mut KernelValues,
        out: &mut [T],
        round: impl Fn(f64) -> T + Sync,
    ) {
        self.weld.apply(transforms, &mut scratch.welded);
        scratch.limited = coordinates(&scratch.welded, &self.joints, &mut scratch.coordinates);
        let (x, joints) = (&scratch.coordinates, self.joints.len());
        scratch.squares.clear();
        scratch.squares.extend(x.iter().map(square));
        if joints > 0 {
            let to_examples = self.examples.chunks_exact(joints);
            scratch.squares.extend(to_examples.flat_map(|y| x.iter().zip(y).map(|(x, y)| square(&difference(x, y)))));
        }
        let squares = &scratch.squares;
        let phi = |g: usize, from: usize| {
            let terms = &self.relevance[self.joint_offsets[g] as usize..self.joint_offsets[g + 1] as usize];
            self.gaussian(terms.iter().map(|&(j, a)| a * squares[from + j as usize]).sum())
        };
        scratch.rest.clear();
        scratch.rest.extend((0..self.groups()).map(|g| phi(g, 0)));
        let rest = &scratch.rest;
        let values = out.par_iter_mut().zip(self.centres.par_iter().zip(&self.at_rest)).with_min_len(CHUNK);
        values.for_each(|(value, (&s, &(g, at_rest)))| {
            let g = g as usize;
            *value = round(phi(g, (s as usize + 1) * joints) - rest[g] * at_rest);
        });
    }

    /// Bytes of the arrays that evaluation reads.
    pub fn bytes(&self) -> usize {
        72 * self.examples.len()
            + 16 * (self.joints.len() + self.relevance.len() + self.at_rest.len())
            + 4 * (self.joint_offsets.len() + self.offsets.len() + self.centres.len())
    }
}

/// x_j of every joint in a welded pose, limited; how many limits acted.
pub fn coordinates(welded: &[DAffine3], joints: &[Joint], out: &mut Vec<[f64; 9]>) -> usize {
    let mut limited = 0;
    out.clear();
    out.extend(joints.iter().map(|joint| {
        let mut x = coordinate(&welded[joint.parent.get()], &welded[joint.bone.get()]);
        let norm = square(&x).sqrt();
        if norm > joint.limit {
            limited += 1;
            x = x.map(|x| x * (joint.limit / norm));
        }
        x
    }));
    limited
}

/// (R − I)/√2 of `bone` seen from `parent`, column after column; zero if the parent is singular.
pub fn coordinate(parent: &DAffine3, bone: &DAffine3) -> [f64; 9] {
    let turn = relative(parent, bone).map_or(DMat3::IDENTITY, |m| m.matrix3);
    ((turn - DMat3::IDENTITY) * FRAC_1_SQRT_2).to_cols_array()
}

/// |x|².
pub fn square(x: &[f64; 9]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

/// x − y.
pub fn difference(x: &[f64; 9], y: &[f64; 9]) -> [f64; 9] {
    std::array::from_fn(|i| x[i] - y[i])
}

/// The correction in `f64`, the reference.
#[derive(Clone, Debug)]
pub struct PoseSpace {
    /// What a pose is compared with.
    pub kernel: Kernel,
    /// What carries displacements into the posed world.
    pub carrier: Carrier,
    /// Group of each vertex, or [`NO_GROUP`].
    pub groups: Vec<u32>,
    /// Where the displacements of vertex v start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// W_vs, metres, in the order of the group's centres.
    pub weights: Vec<DVec3>,
    /// Radius of the ball per vertex, metres; empty without the guard.
    pub radii: Vec<f64>,
}

impl PoseSpace {
    /// Adds the correction of a pose to the positions of `base` in it; how many vertices the ball held back.
    pub fn add(&self, transforms: &BoneTransforms, base: &Base, skin: &mut [DVec3]) -> usize {
        let mut values = vec![0.0; self.kernel.values()];
        self.kernel.evaluate(transforms, &mut KernelValues::default(), &mut values, |k| k);
        let mut held = 0;
        for (v, p) in skin.iter_mut().enumerate() {
            let d = self.displacement(v, &values);
            let world = match &self.carrier {
                Carrier::Base => base.linear(v, transforms) * d,
                Carrier::Bones(bones) => transforms[bones[v]].matrix3 * d,
                Carrier::World => d,
            };
            let (world, acted) = match self.radii.get(v) {
                Some(&radius) => project(world, radius),
                None => (world, false),
            };
            *p += world;
            held += usize::from(acted);
        }
        held
    }

    /// d of vertex `v`, from kernel values of the pose.
    pub fn displacement(&self, v: usize, values: &[f64]) -> DVec3 {
        if self.groups[v] == NO_GROUP {
            return DVec3::ZERO;
        }
        let weights = &self.weights[self.offsets[v] as usize..self.offsets[v + 1] as usize];
        let values = &values[self.kernel.range(self.groups[v] as usize)];
        weights.iter().zip(values).map(|(w, k)| *w * *k).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_of_two_rotations_is_the_chord_of_their_angle() {
        let turn = |angle: f64| DAffine3::from_axis_angle(DVec3::new(0.6, 0.0, 0.8), angle);
        let parent = DAffine3::from_rotation_y(1.1);
        for (a, b) in [(0.0, 0.3), (-2.0, 0.9), (0.1, 3.1)] {
            let [x, y] = [a, b].map(|angle| coordinate(&parent, &(parent * turn(angle))));
            let chord = 2.0 * f64::sin((a - b) / 2.0).abs();
            assert!((square(&difference(&x, &y)).sqrt() - chord).abs() < 1e-14, "{a} {b}");
        }
    }

    #[test]
    fn the_kernel_vanishes_at_the_bind_pose_to_the_last_bit() {
        let joint = Joint { parent: BoneIndex::new(0), bone: BoneIndex::new(1), limit: f64::INFINITY };
        let examples: Vec<_> =
            [0.3, 1.7, -2.0].map(|a| coordinate(&DAffine3::IDENTITY, &DAffine3::from_rotation_z(a))).to_vec();
        let mut kernel = Kernel::new(0.7, Weld::default(), vec![joint], examples);
        kernel.push(&[(0, 0.3)], &[0, 2]);
        kernel.push(&[(0, 1.0)], &[1]);
        let mut values = [f64::NAN; 3];
        let mut scratch = KernelValues::default();
        kernel.evaluate(&BoneTransforms::identity(2), &mut scratch, &mut values, |k| k);
        assert_eq!(values, [0.0; 3]);
        let posed = BoneTransforms::new(vec![DAffine3::IDENTITY, DAffine3::from_rotation_z(0.5)]);
        kernel.evaluate(&posed, &mut scratch, &mut values, |k| k);
        // 2 sin(angle/2), squared, for x against 0.3, 0 against x, 0 against 0.3.
        let phi = |angle: f64| (-0.3 * (2.0 * (angle / 2.0).sin()).powi(2) / 0.49).exp();
        assert!((values[0] - (phi(0.2) - phi(0.5) * phi(0.3))).abs() < 1e-15);
    }
}
