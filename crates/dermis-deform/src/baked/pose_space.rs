//! Pose-space deformation as it runs.

use super::blend::Columns;
use super::block::{BLOCK, Corrected};
use super::lbs::Lbs;
use super::settle::settle_one;
use super::{BakedBase, Scratch};
use crate::pose_space::{Carrier, Kernel, NO_GROUP, PoseSpace, Remainders, Shapes};
use dermis_rig::glam::Vec3;
use dermis_rig::{BoneIndex, BoneTransforms};
use dermis_solve::simd::{self, Fma};

/// [`PoseSpace`] in `f32`; kernel values are computed in `f64` and rounded once.
#[derive(Clone, Debug)]
pub struct BakedPoseSpace {
    /// What a pose is compared with.
    pub kernel: Kernel,
    /// What carries displacements into the posed world.
    pub carrier: Carrier,
    /// Group of each vertex, or [`NO_GROUP`].
    pub groups: Vec<u32>,
    /// Where the displacements of vertex v start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// W_vs, in the order of the group's values.
    pub weights: Vec<Vec3>,
    /// What the base cannot produce.
    pub remainders: BakedRemainders,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

/// [`Remainders`] in `f32`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BakedRemainders {
    /// The vertices, ascending.
    pub vertices: Vec<u32>,
    /// The bone whose frame each remainder lives in.
    pub bones: Vec<BoneIndex>,
    /// Where the weights of each start; one more entry than vertices.
    pub offsets: Vec<u32>,
    /// V_vs, in the order of the values of the vertex's group.
    pub weights: Vec<Vec3>,
}

impl BakedRemainders {
    fn of(r: &Remainders) -> Self {
        Self {
            vertices: r.vertices.clone(),
            bones: r.bones.clone(),
            offsets: r.offsets.clone(),
            weights: r.weights.iter().map(|w| w.as_vec3()).collect(),
        }
    }
}

impl BakedPoseSpace {
    pub(super) fn of(correction: &PoseSpace) -> Self {
        Self {
            kernel: correction.kernel.clone(),
            carrier: correction.carrier.clone(),
            groups: correction.groups.clone(),
            offsets: correction.offsets.clone(),
            weights: correction.weights.iter().map(|w| w.as_vec3()).collect(),
            remainders: BakedRemainders::of(&correction.remainders),
            radii: correction.radii.iter().map(|&r| r as f32).collect(),
        }
    }

    /// The same in `f64`, for fits that start from a model.
    pub fn widened(&self) -> PoseSpace {
        let wide = |list: &[Vec3]| list.iter().map(|w| w.as_dvec3()).collect();
        let r = &self.remainders;
        PoseSpace {
            kernel: self.kernel.clone(),
            carrier: self.carrier.clone(),
            groups: self.groups.clone(),
            offsets: self.offsets.clone(),
            weights: wide(&self.weights),
            remainders: Remainders {
                vertices: r.vertices.clone(),
                bones: r.bones.clone(),
                offsets: r.offsets.clone(),
                weights: wide(&r.weights),
            },
            radii: self.radii.iter().map(|&r| f64::from(r)).collect(),
        }
    }

    /// Kernel values of the pose into the scratch; how many joints were limited, of how many.
    pub(super) fn prepare(&self, transforms: &BoneTransforms, scratch: &mut Scratch) -> (usize, usize) {
        scratch.kernel_values.resize(self.kernel.values(), 0.0);
        self.kernel.evaluate(transforms, &mut scratch.kernel, &mut scratch.kernel_values, |k| k as f32);
        (scratch.kernel.limited, self.kernel.width())
    }

    pub(super) fn bytes(&self) -> usize {
        let r = &self.remainders;
        self.kernel.bytes()
            + self.carrier.bytes()
            + 4 * (self.groups.len() + self.offsets.len() + r.vertices.len() + r.bones.len() + r.offsets.len())
            + 12 * (self.weights.len() + r.weights.len())
    }

    /// The correction of vertex `v` in posed world, before the ball.
    pub(super) fn at(&self, v: usize, base: &BakedBase, scratch: &Scratch) -> Vec3 {
        if self.groups[v] == NO_GROUP {
            return Vec3::ZERO;
        }
        let values = &scratch.kernel_values[self.kernel.range(self.groups[v] as usize)];
        let d = dot(&self.weights[self.offsets[v] as usize..self.offsets[v + 1] as usize], values);
        let mut world = self.carrier.carry_f32(v, d, base, scratch);
        let r = &self.remainders;
        if let Ok(at) = r.vertices.binary_search(&(v as u32)) {
            let w = dot(&r.weights[r.offsets[at] as usize..r.offsets[at + 1] as usize], values);
            world += scratch.turns[r.bones[at].get()] * w;
        }
        world
    }
}

fn dot(weights: &[Vec3], values: &[f32]) -> Vec3 {
    weights.iter().zip(values).fold(Vec3::ZERO, |sum, (w, k)| sum + *w * *k)
}

impl Carrier {
    fn carry_f32(&self, v: usize, d: Vec3, base: &BakedBase, scratch: &Scratch) -> Vec3 {
        match self {
            Self::Base => base.at(v, d.extend(0.0), scratch),
            Self::Bones(bones) => scratch.turns[bones[v].get()] * d,
            Self::World => d,
        }
    }

    fn bytes(&self) -> usize {
        if let Self::Bones(bones) = self { 4 * bones.len() } else { 0 }
    }
}

/// [`Shapes`] in `f32`; their weights are computed in `f64` and rounded once.
#[derive(Clone, Debug)]
pub struct BakedShapes {
    /// Everything but displacements and radii, which are those below.
    pub model: Shapes,
    /// u_vl of each term.
    pub displacements: Vec<Vec3>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

impl BakedShapes {
    pub(super) fn of(correction: &Shapes) -> Self {
        let displacements = correction.displacements.iter().map(|u| u.as_vec3()).collect();
        let radii = correction.radii.iter().map(|&r| r as f32).collect();
        Self { model: Shapes { displacements: vec![], radii: vec![], ..correction.clone() }, displacements, radii }
    }

    /// The same in `f64`, for fits that start from a model.
    pub fn widened(&self) -> Shapes {
        Shapes {
            displacements: self.displacements.iter().map(|u| u.as_dvec3()).collect(),
            radii: self.radii.iter().map(|&r| f64::from(r)).collect(),
            ..self.model.clone()
        }
    }

    pub(super) fn prepare(&self, transforms: &BoneTransforms, scratch: &mut Scratch) -> (usize, usize) {
        let kernel = &self.model.kernel;
        scratch.exact_values.resize(kernel.values(), 0.0);
        kernel.evaluate(transforms, &mut scratch.kernel, &mut scratch.exact_values, |k| k);
        self.model.weights(&scratch.exact_values, |c| c as f32, &mut scratch.kernel_values);
        scratch.turning.clear();
        scratch.turning.extend(scratch.bones.iter().map(Columns::without_translation));
        (scratch.kernel.limited, kernel.width())
    }

    pub(super) fn bytes(&self) -> usize {
        let model = &self.model;
        model.kernel.bytes()
            + model.carrier.bytes()
            + 8 * model.coefficients.len()
            + 4 * (model.regions.len() + model.offsets.len() + model.terms.len())
            + 12 * self.displacements.len()
    }

    /// Adds the correction to a block; at how many vertices the ball held it back.
    pub(super) fn add_block(&self, block: Corrected<'_>, radii: &[f32], out: &mut [Vec3]) -> usize {
        let (mut sums, mut carried) = ([Vec3::ZERO; BLOCK], [Vec3::ZERO; BLOCK]);
        let (sums, carried) = (&mut sums[..out.len()], &mut carried[..out.len()]);
        simd::run(Sum { correction: self, from: block.from, weights: &block.scratch.kernel_values, out: sums });
        let carrier = &self.model.carrier;
        let carried = match (carrier, block.base) {
            (Carrier::World, _) => sums,
            // Displacements are positions that no bone moves.
            (Carrier::Base, BakedBase::Lbs(weights)) if !weights.fours.is_empty() => {
                let (from, table, rest) = (block.from, &block.scratch.turning[..], &sums[..]);
                Lbs { from, weights, table, rest, behind: Vec3::ZERO, out: carried, normals: None }.run();
                carried
            }
            _ => {
                for (i, (sum, carried)) in sums.iter().zip(&mut *carried).enumerate() {
                    *carried = carrier.carry_f32(block.from + i, *sum, block.base, block.scratch);
                }
                carried
            }
        };
        let each = out.iter_mut().zip(&*carried).enumerate();
        each.map(|(i, (p, d))| settle_one(*d, radii.get(i), block.scratch.behind, p)).sum()
    }
}

/// The weighted sums of shapes.
struct Sum<'a> {
    correction: &'a BakedShapes,
    /// The first vertex.
    from: usize,
    /// Of the shapes.
    weights: &'a [f32],
    out: &'a mut [Vec3],
}

impl simd::Kernel for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        let model = &self.correction.model;
        let offsets = &model.offsets[self.from..=self.from + self.out.len()];
        for (sum, ends) in self.out.iter_mut().zip(offsets.windows(2)) {
            let range = ends[0] as usize..ends[1] as usize;
            let mut d = [0.0f32; 3];
            for (&l, u) in model.terms[range.clone()].iter().zip(&self.correction.displacements[range]) {
                let c = self.weights[l as usize];
                for axis in 0..3 {
                    d[axis] = F::f32(c, u[axis], d[axis]);
                }
            }
            *sum = Vec3::from_array(d);
        }
    }
}
