//! A pose space of shapes as it runs.

use super::block::Corrected;
use super::settle::settle_one;
use crate::baked::bases::{BLOCK, BakedBase, Lbs};
use crate::baked::lanes::Columns;
use crate::pose_space::{Carrier, CompiledShapes, KernelValues};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{Mat3, Vec3};
use dermis_solve::simd::{self, Fma};

/// [`CompiledShapes`] in `f32`; their weights are computed in `f64` and rounded once.
#[derive(Clone, Debug)]
pub struct BakedShapes {
    /// Everything but displacements and radii, which are those below.
    pub model: CompiledShapes,
    /// u_vl of each term.
    pub displacements: Vec<Vec3>,
    /// Radii of the guard; empty without it.
    pub radii: Vec<f32>,
}

/// Memory of this correction.
#[derive(Clone, Debug, Default)]
pub(in crate::baked) struct ShapesScratch {
    /// The linear parts of M_k.
    pub(in crate::baked) turns: Vec<Mat3>,
    /// The bones less the character's shift, without translations.
    turning: Vec<Columns>,
    kernel: KernelValues,
    exact_values: Vec<f64>,
    /// Weights of the shapes.
    pub(in crate::baked) weights: Vec<f32>,
}

impl BakedShapes {
    /// Weights of the shapes in a pose into the scratch; how many joints were limited, of how many.
    pub(super) fn prepare(
        &self,
        transforms: &BoneTransforms,
        table: &[Columns],
        scratch: &mut ShapesScratch,
    ) -> (usize, usize) {
        scratch.turns.clear();
        scratch.turns.extend(transforms.iter().map(|m| m.matrix3.as_mat3()));
        let kernel = &self.model.kernel;
        scratch.exact_values.resize(kernel.values(), 0.0);
        kernel.evaluate(transforms, &mut scratch.kernel, &mut scratch.exact_values, |k| k);
        self.model.weights(&scratch.exact_values, &scratch.kernel, |c| c as f32, &mut scratch.weights);
        scratch.turning.clear();
        scratch.turning.extend(table.iter().map(Columns::without_translation));
        (scratch.kernel.limited, kernel.width())
    }

    pub(super) fn bytes(&self) -> usize {
        let model = &self.model;
        model.pose_bytes()
            + model.carrier.bytes()
            + 4 * (model.terms.offsets().len() + model.terms.entries().len())
            + 12 * self.displacements.len()
    }

    /// Adds the correction to a block; at how many vertices the ball held it back.
    pub(super) fn add_block(
        &self,
        block: Corrected<'_>,
        scratch: &ShapesScratch,
        radii: &[f32],
        out: &mut [Vec3],
    ) -> usize {
        let (mut sums, mut carried) = ([Vec3::ZERO; BLOCK], [Vec3::ZERO; BLOCK]);
        let (sums, carried) = (&mut sums[..out.len()], &mut carried[..out.len()]);
        simd::run(Sum { correction: self, from: block.from, weights: &scratch.weights, out: sums });
        let carrier = &self.model.carrier;
        let carried = match (carrier, block.base) {
            (Carrier::World, _) => sums,
            // Displacements are positions that no bone moves.
            (Carrier::Base, BakedBase::Lbs(weights)) if !weights.fours.is_empty() => {
                let (from, table, rest) = (block.from, &scratch.turning[..], &sums[..]);
                Lbs { from, weights, table, rest, behind: Vec3::ZERO, out: carried, normals: None }.run();
                carried
            }
            _ => {
                for (i, (sum, carried)) in sums.iter().zip(&mut *carried).enumerate() {
                    let v = block.from + i;
                    let at = (v, block.rest[v]);
                    *carried = carrier.carry_f32(at, *sum, (block.base, block.pose), &scratch.turns);
                }
                carried
            }
        };
        let each = out.iter_mut().zip(&*carried).enumerate();
        each.map(|(i, (p, d))| settle_one(*d, radii.get(i), block.behind, p)).sum()
    }
}

impl CompiledShapes {
    /// Bytes of the arrays from which weights are computed.
    pub(super) fn pose_bytes(&self) -> usize {
        self.kernel.bytes()
            + 8 * (self.coefficients.len() + self.windows.iter().map(|w| 1 + w.relevance.len()).sum::<usize>())
            + 4 * self.regions.len()
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
        let (offsets, terms) = (model.terms.offsets(), model.terms.entries());
        let offsets = &offsets[self.from..=self.from + self.out.len()];
        for (sum, ends) in self.out.iter_mut().zip(offsets.windows(2)) {
            let range = ends[0] as usize..ends[1] as usize;
            let mut d = [0.0f32; 3];
            for (&l, u) in terms[range.clone()].iter().zip(&self.correction.displacements[range]) {
                let c = self.weights[l as usize];
                for axis in 0..3 {
                    d[axis] = F::f32(c, u[axis], d[axis]);
                }
            }
            *sum = Vec3::from_array(d);
        }
    }
}
