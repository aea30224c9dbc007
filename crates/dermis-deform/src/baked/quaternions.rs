//! Dual quaternion skinning, block by block; see [`crate::dual_quaternion`].

use super::Scratch;
use super::blend::Columns;
use super::weights::{Four, Weights};
use crate::dual_quaternion::DualQuaternions;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DVec3, Quat, Vec3, Vec4};
use dermis_solve::simd::{Apart, Fma, Kernel, LANES_F32};

/// The bones of one pose, about the character's middle.
#[derive(Clone, Debug, Default)]
pub(super) struct BlendedBones {
    pub(super) rigid: Vec<DualQuaternion>,
    /// What each does to the rest pose before it moves rigidly.
    pub(super) stretches: Vec<Columns>,
    /// Whether some bone stretches.
    pub(super) stretched: bool,
}

impl BlendedBones {
    pub(super) fn prepare(&mut self, blend: &DualQuaternions, transforms: &BoneTransforms, middle: DVec3) {
        self.rigid.clear();
        self.stretches.clear();
        self.stretched = false;
        blend.split(transforms, middle, |real, dual, stretch, stretched| {
            let (q, e) = (real.as_quat().to_array(), dual.as_quat().to_array());
            self.rigid.push(DualQuaternion([q[0], q[1], q[2], q[3], e[0], e[1], e[2], e[3]]));
            self.stretches.push(Columns::of(stretch));
            self.stretched |= stretched;
        });
    }
}

/// A rigid motion as two quaternions (x, y, z, w), the real and the dual part: one register of eight lanes.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(32))]
pub(super) struct DualQuaternion(pub(super) [f32; 8]);

/// Below this square length a blend has no direction, and the dominant bone takes its place.
const VANISHING: f32 = 1e-18;

/// Σ ± w (q, e) of the vertex's influences, each on the side of the sphere that `reference` is on.
#[inline(always)]
fn add_four<F: Fma>(four: &Four, reference: &[f32; 8], table: &[DualQuaternion], sum: &mut [f32; 8]) {
    for k in 0..4 {
        let q = &table[four.bones[k] as usize].0;
        let same = (q[0] * reference[0] + q[2] * reference[2]) + (q[1] * reference[1] + q[3] * reference[3]);
        let w = if same >= 0.0 { four.weights[k] } else { -four.weights[k] };
        for l in 0..8 {
            sum[l] = F::f32(w, q[l], sum[l]);
        }
    }
}

/// The blend of one vertex, not normalised.
#[inline(always)]
pub(super) fn blend<F: Fma>(weights: &Weights, v: usize, more: &[(u32, Four)], table: &[DualQuaternion]) -> [f32; 8] {
    let four = &weights.fours[v];
    let Some(reference) = table.get(four.bones[0] as usize) else { return [0.0; 8] };
    let mut sum = [0.0; 8];
    add_four::<F>(four, &reference.0, table, &mut sum);
    for (_, four) in more {
        add_four::<F>(four, &reference.0, table, &mut sum);
    }
    sum
}

/// Turns and moves positions in place: `out = q out q* + 2 vec(e q*) + behind`, q and e the blend over its length.
///
/// `out` holds positions at rest, after the blended stretch where bones stretch.
pub(super) struct Dqs<'a> {
    pub(super) from: usize,
    pub(super) weights: &'a Weights,
    pub(super) table: &'a [DualQuaternion],
    /// The bones' own matrices, for blends that vanish.
    pub(super) whole: &'a [Columns],
    pub(super) rest: &'a [Vec3],
    pub(super) behind: Vec3,
    /// What the table is seen from: a vertex without influences stays where it is.
    pub(super) middle: Vec3,
    pub(super) out: &'a mut [Vec3],
}

impl Kernel for Dqs<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        let Self { from, weights, table, whole, rest, behind, middle, out } = self;
        // A vertex whose blend has no direction follows its dominant bone, or stays at rest without one.
        let without_blend = |v: usize| match weights.offsets[v] == weights.offsets[v + 1] {
            true => rest[v] - middle,
            false => whole[weights.fours[v].bones[0] as usize].apply::<F>(rest[v].extend(1.0)),
        };
        let mut more = weights.more_of(from..from + out.len());
        for (at, out) in out.chunks_mut(LANES_F32).enumerate() {
            let start = from + at * LANES_F32;
            // Sixteen vertices, one per lane: q.x, q.y, q.z, q.w, e.x, e.y, e.z, e.w, then the position.
            let (mut q, mut p) = ([[0.0f32; LANES_F32]; 8], [[0.0f32; LANES_F32]; 3]);
            for l in 0..out.len() {
                let (own, others) = more.split_at(count_of(more, start + l));
                let sum = blend::<F>(weights, start + l, own, table);
                more = others;
                for i in 0..8 {
                    q[i][l] = sum[i];
                }
                for j in 0..3 {
                    p[j][l] = out[l][j];
                }
            }
            let (moved, squares) = transformed::<F>(&q, &p);
            for l in 0..out.len() {
                out[l] = Vec3::new(moved[0][l], moved[1][l], moved[2][l]) + behind;
                // A blend that is no number takes the same way out.
                if squares[l] < VANISHING || squares[l].is_nan() {
                    out[l] = without_blend(start + l) + behind;
                }
            }
        }
    }
}

/// How many entries at the beginning of a list belong to a vertex.
fn count_of(list: &[(u32, Four)], v: usize) -> usize {
    list.iter().take_while(|e| e.0 as usize == v).count()
}

/// q p q* + 2 vec(e q*) over |q|², and |q|², lane by lane.
#[inline(always)]
fn transformed<F: Fma>(
    q: &[[f32; LANES_F32]; 8],
    p: &[[f32; LANES_F32]; 3],
) -> ([[f32; LANES_F32]; 3], [f32; LANES_F32]) {
    let (mut moved, mut squares) = ([[0.0f32; LANES_F32]; 3], [0.0f32; LANES_F32]);
    for l in 0..LANES_F32 {
        let (x, y, z, w) = (q[0][l], q[1][l], q[2][l], q[3][l]);
        let (ex, ey, ez, ew) = (q[4][l], q[5][l], q[6][l], q[7][l]);
        let (px, py, pz) = (p[0][l], p[1][l], p[2][l]);
        let n = F::f32(x, x, y * y) + F::f32(z, z, w * w);
        // b × p + w p, then twice b × of it; and w e − e_w b + b × e.
        let (tx, ty, tz) = (
            F::f32(w, px, F::f32(y, pz, -(z * py))),
            F::f32(w, py, F::f32(z, px, -(x * pz))),
            F::f32(w, pz, F::f32(x, py, -(y * px))),
        );
        let (ux, uy, uz) = (
            F::f32(w, ex, F::f32(-ew, x, F::f32(y, ez, -(z * ey)))),
            F::f32(w, ey, F::f32(-ew, y, F::f32(z, ex, -(x * ez)))),
            F::f32(w, ez, F::f32(-ew, z, F::f32(x, ey, -(y * ex)))),
        );
        let twice = 2.0 / n;
        moved[0][l] = F::f32(twice, F::f32(y, tz, F::f32(-z, ty, ux)), px);
        moved[1][l] = F::f32(twice, F::f32(z, tx, F::f32(-x, tz, uy)), py);
        moved[2][l] = F::f32(twice, F::f32(x, ty, F::f32(-y, tx, uz)), pz);
        squares[l] = n;
    }
    (moved, squares)
}

/// The map of one vertex applied to a homogeneous rest position, or to a displacement, whose last entry is zero.
pub(super) fn blend_quaternions(weights: &Weights, v: usize, scratch: &Scratch, rest: Vec4) -> Vec3 {
    let mut dominant: Option<(usize, f32)> = None;
    for (bone, w) in weights.of_vertex(v) {
        if dominant.is_none_or(|(_, most)| w > most) {
            dominant = Some((bone, w));
        }
    }
    let Some((dominant, _)) = dominant else { return rest.truncate() - scratch.middle * rest.w };
    let bones = &scratch.quaternions;
    let half = |bone: usize, at: usize| Vec4::from_slice(&bones.rigid[bone].0[at..at + 4]);
    let (mut b, mut e, mut p) = (Vec4::ZERO, Vec4::ZERO, Vec3::ZERO);
    for (bone, w) in weights.of_vertex(v) {
        let real = half(bone, 0);
        let signed = if real.dot(half(dominant, 0)) >= 0.0 { w } else { -w };
        b += real * signed;
        e += half(bone, 4) * signed;
        p += bones.stretches[bone].apply::<Apart>(rest) * w;
    }
    let length = b.length();
    if length < 1e-9 {
        return scratch.bones[dominant].apply::<Apart>(rest);
    }
    let (b, e) = (Quat::from_vec4(b / length), Quat::from_vec4(e / length));
    let shift = (e * b.conjugate()).xyz() * 2.0;
    b * p + shift * rest.w
}
