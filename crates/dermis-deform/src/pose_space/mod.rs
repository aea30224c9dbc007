//! Pose-space deformation: displacements of examples, interpolated over the pose.
//!
//! For vertex v of group g, with examples s and their coordinates x_s,
//!
//! ```text
//! p' = S(p) + Π_v( C_v d + R_b w ),      d = Σ_s W_vs k_g(x, x_s) + Σ_i B_vi √a_gi x_i,      w = Σ_s V_vs k_g(x, x_s),
//! k_g(x, y) = φ_g(x, y) − φ_g(x, 0) φ_g(0, y),      φ_g(x, y) = exp(−Σ_j a_gj |x_j − y_j|² / σ²),
//! ```
//!
//! x_j the [coordinate](coordinates::Coordinates) of joint j, by default the nine numbers (R_j − I)/√2 of its rotation R_j
//! relative to its parent and to the bind pose, so that
//! |x_j − y_j| = 2 sin(angle/2) and the Gaussian is positive definite. a_gj says how much joint j matters to the
//! vertices of group g: every vertex has a pose space of its own, of the joints near it. k_g is the Gaussian conditioned
//! on a zero displacement at the bind pose (x = 0): as if the bind pose were an example met exactly, and exact in
//! floating point, because k_g(0, y) is zero whatever the rounding. Other kernels: [`Family`]. The linear term B is
//! optional.
//!
//! C_v carries the displacement into the posed world. In the inverse form d lives in the rest pose and C_v is the linear
//! part of the base S at v, so that p' = S(p + d) for bases that are affine per vertex. Through a [stack](crate::stack), which
//! is not affine, the correction is S(p + d) − S(p) + R_b w itself. In the forward form d lives in the
//! world, as first published, and C_v = 1. w is what S cannot produce where it is nearly singular: it lives in the frame of
//! the vertex's dominant bone b, and few vertices have it. Welding of frozen joints, limits of coordinates and the ball Π_v
//! are those of [`crate::guard`].
//!
//! Far from all examples d tends to zero, the base. Cost: a kernel value per group and example, and three
//! multiply-adds per vertex and example; unlike multi-weight enveloping both grow with the number of examples.
//! [`CompiledShapes`] is the same at a constant price.
//!
//! Source: Lewis, Cordner & Fong 2000, "Pose space deformation"; Sloan, Rose & Cohen 2001, "Shape by example" (inverse
//! form, linear term); Kurihara & Miyata 2004 (pose spaces per vertex); Xiao et al. 2006 (inverse as an optimisation,
//! singular poses). Departures: chords in place of angles, the kernel conditioned on the bind pose.

pub mod coordinates;
mod kernel;
mod shapes;

pub use coordinates::{Coordinates, JointPart, ROOM, coordinate, difference, square};
pub use kernel::{Channel, Family, Joint, Kernel, KernelValues, unlimited};
pub use shapes::{CompiledShapes, Window, reach, window};

use crate::base::Base;
use crate::guard::project;
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Rows};

/// Marks a vertex without correction.
pub const NO_GROUP: u32 = u32::MAX;

/// What carries a displacement into the posed world: C_v.
#[derive(Clone, Debug, PartialEq)]
pub enum Carrier {
    /// The base, S(p + d) − S(p): its linear part where it is affine at the vertex. The inverse form.
    Base,
    /// The linear part of a bone per vertex: the inverse form over a base that is not known as a map.
    Bones(Vec<BoneIndex>),
    /// Nothing: the published forward form, which does not turn with the character.
    World,
}

impl Carrier {
    /// C_v d.
    fn carry(&self, v: usize, p: DVec3, d: DVec3, base: &Base, transforms: &BoneTransforms) -> DVec3 {
        match self {
            Self::Base => base.carry(v, p, d, transforms),
            Self::Bones(bones) => transforms[bones[v]].matrix3 * d,
            Self::World => d,
        }
    }
}

/// What the base cannot produce: w of the vertices that have one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Remainders {
    /// The vertices, ascending.
    pub vertices: Vec<u32>,
    /// The bone whose frame each w lives in.
    pub bones: Vec<BoneIndex>,
    /// V_vs of each, metres, in the order of the values of the vertex's group.
    pub weights: Rows<DVec3>,
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
    /// W_vs of every vertex, metres, in the order of the group's values.
    pub weights: Rows<DVec3>,
    /// What the base cannot produce.
    pub remainders: Remainders,
    /// Radius of the ball per vertex, metres; empty without the guard.
    pub radii: Vec<f64>,
}

impl PoseSpace {
    /// Adds the correction of a pose to the positions of `base` in it; how many vertices the ball held back. `rest` is the rest
    /// mesh, metres.
    pub fn add(&self, rest: &[DVec3], transforms: &BoneTransforms, base: &Base, skin: &mut [DVec3]) -> usize {
        let mut values = vec![0.0; self.kernel.values()];
        self.kernel.evaluate(transforms, &mut KernelValues::default(), &mut values, |k| k);
        let mut held = 0;
        for (v, p) in skin.iter_mut().enumerate() {
            let world = self.carrier.carry(v, rest[v], self.displacement(v, &values), base, transforms);
            let world = world + self.remainder(v, &values, transforms);
            let (world, acted) = match self.radii.get(v) {
                Some(&radius) => project(world, radius),
                None => (world, false),
            };
            *p += world;
            held += usize::from(acted);
        }
        held
    }

    /// d of vertex `v`, from the values of the pose.
    pub fn displacement(&self, v: usize, values: &[f64]) -> DVec3 {
        if self.groups[v] == NO_GROUP {
            return DVec3::ZERO;
        }
        dot(self.weights.of(v), &values[self.kernel.range(self.groups[v] as usize)])
    }

    /// R_b w of vertex `v`.
    fn remainder(&self, v: usize, values: &[f64], transforms: &BoneTransforms) -> DVec3 {
        let r = &self.remainders;
        let Ok(at) = r.vertices.binary_search(&(v as u32)) else { return DVec3::ZERO };
        transforms[r.bones[at]].matrix3 * dot(r.weights.of(at), &values[self.kernel.range(self.groups[v] as usize)])
    }
}

fn dot(weights: &[DVec3], values: &[f64]) -> DVec3 {
    weights.iter().zip(values).map(|(w, k)| *w * *k).sum()
}
