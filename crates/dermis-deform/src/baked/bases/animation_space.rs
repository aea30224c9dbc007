//! Animation space, block by block.

use crate::baked::lanes::{Columns, EIGHT, Eight, EightKernel, store};
use dermis_rig::glam::{Vec3, Vec4};

/// Animation space: `out = Σ M a + behind`.
pub(in crate::baked) struct AnimationSpace<'a> {
    /// Where the block's vertices start; one more entry than vertices.
    pub(in crate::baked) offsets: &'a [u32],
    pub(in crate::baked) bones: &'a [u32],
    pub(in crate::baked) a: &'a [Vec4],
    pub(in crate::baked) table: &'a [Columns],
    pub(in crate::baked) behind: Vec3,
    /// What the table is seen from: a vertex without terms lies at the origin.
    pub(in crate::baked) shift: Vec3,
    pub(in crate::baked) out: &'a mut [Vec3],
}

impl EightKernel for AnimationSpace<'_> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let whole = self.out.len() / EIGHT * EIGHT;
        let (offsets, last_offsets) = (&self.offsets[..=whole], &self.offsets[whole..]);
        let (out, last) = self.out.split_at_mut(whole);
        for (at, out) in out.as_chunks_mut::<EIGHT>().0.iter_mut().enumerate() {
            if let Some(offsets) = offsets[at * EIGHT..].first_chunk() {
                positions(e, offsets, (self.bones, self.a, self.table), (self.behind, self.shift), out);
            }
        }
        if !last.is_empty() {
            let mut offsets = [last_offsets[last.len()]; EIGHT + 1];
            offsets[..=last.len()].copy_from_slice(last_offsets);
            let mut all = [Vec3::ZERO; EIGHT];
            positions(e, &offsets, (self.bones, self.a, self.table), (self.behind, self.shift), &mut all);
            last.copy_from_slice(&all[..last.len()]);
        }
    }
}

/// Of eight vertices.
#[inline(always)]
fn positions<E: Eight>(
    e: E,
    offsets: &[u32; EIGHT + 1],
    (bones, a, table): (&[u32], &[Vec4], &[Columns]),
    (behind, shift): (Vec3, Vec3),
    out: &mut [Vec3; EIGHT],
) {
    let mut products = [e.zero(); EIGHT];
    for (lane, products) in products.iter_mut().enumerate() {
        let range = offsets[lane] as usize..offsets[lane + 1] as usize;
        let mut sum = e.zero();
        for (&bone, a) in bones[range.clone()].iter().zip(&a[range]) {
            sum = e.add_product(sum, &table[bone as usize], a.as_ref());
        }
        *products = sum;
    }
    let [p, q, r, s, t, u, v, w] = products;
    let [x, y, z, moved] = e.maps(e.four_maps([p, q, r, s]), e.four_maps([t, u, v, w]));
    let mut sums = x;
    for j in 0..3 {
        sums[j] = e.add(e.add(e.add(x[j], z[j]), e.add(y[j], moved[j])), e.splat(behind[j]));
    }
    store(e, sums, out);
    for lane in 0..EIGHT {
        if offsets[lane] == offsets[lane + 1] {
            out[lane] = behind - shift;
        }
    }
}
