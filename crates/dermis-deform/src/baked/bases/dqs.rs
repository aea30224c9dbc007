//! Dual quaternion skinning, block by block; see [`crate::dual_quaternion`].

use super::lbs::{blended, moved};
use super::turn::{Turned, turned};
use super::weights::Weights;
use crate::baked::lanes::{
    self, Columns, DualQuaternion, EIGHT, Eight, EightKernel, FEW, Four, Table, cross, numbers, padded, store,
};
use crate::dual_quaternion::DualQuaternions;
use dermis_rig::BoneTransforms;
use dermis_rig::glam::{DVec3, Quat, Vec3, Vec4};
use dermis_solve::simd::Apart;

/// The bones of one pose, less the character's shift: the memory of this base.
#[derive(Clone, Debug, Default)]
pub(in crate::baked) struct BlendedBones {
    pub(in crate::baked) rigid: Vec<DualQuaternion>,
    /// What each does to the rest pose before it moves rigidly.
    pub(in crate::baked) stretches: Vec<Columns>,
    /// Whether some bone stretches.
    pub(in crate::baked) stretched: bool,
}

impl BlendedBones {
    pub(in crate::baked) fn prepare(&mut self, blend: &DualQuaternions, transforms: &BoneTransforms, shift: DVec3) {
        self.rigid.clear();
        self.stretches.clear();
        self.stretched = false;
        blend.split(transforms, shift, |real, dual, stretch, stretched| {
            let (q, e) = (real.as_quat().to_array(), dual.as_quat().to_array());
            self.rigid.push(DualQuaternion([q[0], q[1], q[2], q[3], e[0], e[1], e[2], e[3]]));
            self.stretches.push(Columns::of(stretch));
            self.stretched |= stretched;
        });
        let entries = self.rigid.len().max(FEW);
        self.rigid.resize(entries, DualQuaternion([0.0; 8]));
    }
}

/// Below this square length a blend has no direction, and the dominant bone takes its place.
const VANISHING: f32 = 1e-18;

/// Dual quaternion skinning of the vertices from `from` on: `out = q p q* + 2 vec(e q*) + behind`, q and e the blend over its
/// length, p the position at rest after the blended stretch; normals by the same rotation, after the stretch.
pub(in crate::baked) struct Dqs<'a> {
    pub(in crate::baked) from: usize,
    pub(in crate::baked) weights: &'a Weights,
    pub(in crate::baked) bones: &'a BlendedBones,
    /// The bones' own matrices, for blends that vanish.
    pub(in crate::baked) whole: &'a [Columns],
    pub(in crate::baked) rest: &'a [Vec3],
    pub(in crate::baked) behind: Vec3,
    /// What the table is seen from: a vertex without influences stays where it is.
    pub(in crate::baked) shift: Vec3,
    pub(in crate::baked) out: &'a mut [Vec3],
    pub(in crate::baked) normals: Option<Turned<'a>>,
}

impl Dqs<'_> {
    pub(in crate::baked) fn run(self) {
        let table = &self.bones.rigid[..];
        match <&[DualQuaternion; FEW]>::try_from(table) {
            Ok(table) => self.run_with(table),
            Err(_) => self.run_with(table),
        }
    }

    fn run_with<T: Table<DualQuaternion> + ?Sized>(self, table: &T) {
        let Self { from, weights, bones, whole, rest, behind, shift, out, mut normals } = self;
        let range = from..from + out.len();
        let (fours, rests, more) = (&weights.fours[range.clone()], &rest[range.clone()], weights.more_of(range));
        // A vertex whose blend has no direction follows its dominant bone, or stays at rest without one.
        let without_blend = |v: usize| match weights.bones.of(v).is_empty() {
            true => rest[v] - shift + behind,
            false => whole[weights.fours[v].index(0) as usize].apply::<Apart>(rest[v].extend(1.0)) + behind,
        };
        let split = out.len() / EIGHT * EIGHT;
        let (some, last) = out.split_at_mut(split);
        let (before, after) = more.split_at(more.partition_point(|e| (e.0 as usize) < from + split));
        let (normals, last_normals) = normals.as_mut().map(|n| n.split_at(split)).unzip();
        lanes::run(Chunks {
            from,
            fours: &fours[..split],
            more: before,
            table,
            bones,
            rest: &rests[..split],
            behind,
            without_blend,
            out: some,
            normals,
        });
        if !last.is_empty() {
            let (mut positions, mut turned) = ([Vec3::ZERO; EIGHT], [Vec3::ZERO; EIGHT]);
            let (rest_normals, by) = last_normals.as_ref().map(|n| (padded(n.rest), n.by)).unzip();
            let end = from + split + last.len();
            lanes::run(Chunks {
                from: from + split,
                fours: &padded(&fours[split..]),
                more: after,
                table,
                bones,
                rest: &padded(&rests[split..]),
                behind,
                without_blend: |v| if v < end { without_blend(v) } else { Vec3::ZERO },
                out: &mut positions,
                normals: rest_normals.as_ref().zip(by).map(|(rest, by)| Turned { by, rest, out: &mut turned }),
            });
            last.copy_from_slice(&positions[..last.len()]);
            if let Some(normals) = last_normals {
                normals.out.copy_from_slice(&turned[..last.len()]);
            }
        }
    }
}

/// [`Dqs`] of whole chunks of eight vertices.
struct Chunks<'a, T: ?Sized, W> {
    from: usize,
    fours: &'a [Four],
    more: &'a [(u32, Four)],
    table: &'a T,
    bones: &'a BlendedBones,
    rest: &'a [Vec3],
    behind: Vec3,
    /// Where a vertex lies whose blend has no direction.
    without_blend: W,
    out: &'a mut [Vec3],
    normals: Option<Turned<'a>>,
}

impl<T: Table<DualQuaternion> + ?Sized, W: Fn(usize) -> Vec3> EightKernel for Chunks<'_, T, W> {
    #[inline(always)]
    fn run<E: Eight>(self, e: E) {
        let Self { from, fours, mut more, table, bones, rest, behind, without_blend, out, normals } = self;
        let mut normals = normals.map(|n| (n.by, n.rest.as_chunks().0, n.out.as_chunks_mut().0));
        let chunks = out.as_chunks_mut().0.iter_mut().zip(rest.as_chunks().0).zip(fours.as_chunks().0);
        for (at, ((out, rest), fours)) in chunks.enumerate() {
            let (first, mut of_stretches) = (from + at * EIGHT, more);
            let q = summed(e, first, fours, &mut more, table);
            let mut p = e.split(numbers(rest));
            let mut stretch = None;
            if bones.stretched {
                let maps = blended::<4, true, E>(e, first, fours, &mut of_stretches, &bones.stretches[..]);
                p = moved(e, &maps, p, Vec3::ZERO);
                stretch = Some(maps);
            }
            let (moved, square) = transformed(e, &q, p, behind);
            store(e, moved, out);
            // A blend that is no number takes the same way out.
            let directed = e.less(e.splat(VANISHING), square);
            if !e.all(directed) {
                for (l, &directed) in e.array(directed).iter().enumerate() {
                    if directed.to_bits() == 0 {
                        out[l] = without_blend(first + l);
                    }
                }
            }
            if let Some((by, rests, outs)) = &mut normals {
                let mut n = e.split(numbers(&rests[at]));
                if let Some(maps) = &stretch {
                    n = turned(e, *by, maps, n);
                }
                store(e, rotated(e, &q, n), &mut outs[at]);
            }
        }
    }
}

/// The blends of eight vertices from `first` on, not normalised; takes what belongs to them from the beginning of `more`.
#[inline(always)]
pub(in crate::baked) fn summed<E: Eight>(
    e: E,
    first: usize,
    [a, b, c, d, p, q, r, s]: &[Four; EIGHT],
    more: &mut &[(u32, Four)],
    table: &(impl Table<DualQuaternion> + ?Sized),
) -> [E::Lanes; 8] {
    // Without a loop the sums stay in registers.
    let (a, b) = (sum(e, first, a, more, table), sum(e, first + 1, b, more, table));
    let (c, d) = (sum(e, first + 2, c, more, table), sum(e, first + 3, d, more, table));
    let some = e.four_motions([a, b, c, d]);
    let (p, q) = (sum(e, first + 4, p, more, table), sum(e, first + 5, q, more, table));
    let (r, s) = (sum(e, first + 6, r, more, table), sum(e, first + 7, s, more, table));
    e.motions(some, e.four_motions([p, q, r, s]))
}

/// The blend of one vertex, on the side of the sphere that its first influence is on.
#[inline(always)]
fn sum<E: Eight>(
    e: E,
    v: usize,
    four: &Four,
    more: &mut &[(u32, Four)],
    table: &(impl Table<DualQuaternion> + ?Sized),
) -> E::Motion {
    let reference = table.at(four.index(0));
    let mut sum = e.add_four(e.still(), four, reference, table);
    while let Some(((_, four), others)) = more.split_first().filter(|(entry, _)| entry.0 as usize == v) {
        sum = e.add_four(sum, four, reference, table);
        *more = others;
    }
    sum
}

/// q p q* + 2 vec(e q*) over |q|², with q = (b, w), and |q|².
#[inline(always)]
fn transformed<E: Eight>(e: E, q: &[E::Lanes; 8], p: [E::Lanes; 3], behind: Vec3) -> ([E::Lanes; 3], E::Lanes) {
    let [x, y, z, w, dx, dy, dz, dw] = *q;
    let (b, d, square) = ([x, y, z], [dx, dy, dz], squared(e, q));
    let twice = e.div(e.splat(2.0), square);
    // t = b × p + w p; then p + 2 (b × t + w d − d_w b + b × d) / |q|².
    let (mut t, bd) = (cross(e, b, p), cross(e, b, d));
    for j in 0..3 {
        t[j] = e.mul_add(w, p[j], t[j]);
    }
    let (bt, mut moved) = (cross(e, b, t), p);
    for j in 0..3 {
        let dual = e.mul_add(w, d[j], e.sub_mul(dw, b[j], bd[j]));
        moved[j] = e.add(e.mul_add(twice, e.add(bt[j], dual), p[j]), e.splat(behind[j]));
    }
    (moved, square)
}

/// |q|².
#[inline(always)]
fn squared<E: Eight>(e: E, q: &[E::Lanes; 8]) -> E::Lanes {
    e.add(e.mul_add(q[0], q[0], e.mul(q[1], q[1])), e.mul_add(q[2], q[2], e.mul(q[3], q[3])))
}

/// Below this square length of a blend of unit quaternions, `f32` leaves too few digits of a normal.
const SHORT: f32 = 1e-4;

/// q n q* over |q|² of unit normals; zero where the blend is short.
#[inline(always)]
fn rotated<E: Eight>(e: E, q: &[E::Lanes; 8], n: [E::Lanes; 3]) -> [E::Lanes; 3] {
    let (b, w, square) = ([q[0], q[1], q[2]], q[3], squared(e, q));
    let (twice, regular) = (e.div(e.splat(2.0), square), e.less(e.splat(SHORT), square));
    let mut t = cross(e, b, n);
    for j in 0..3 {
        t[j] = e.mul_add(w, n[j], t[j]);
    }
    let (bt, mut out) = (cross(e, b, t), n);
    for j in 0..3 {
        out[j] = e.and(regular, e.mul_add(twice, bt[j], n[j]));
    }
    out
}

/// The map of one vertex applied to a homogeneous rest position, or to a displacement, whose last entry is zero.
///
/// `whole` are the bones' own matrices, `shift` is what they are moved back by.
pub(in crate::baked) fn blend_quaternions(
    weights: &Weights,
    v: usize,
    bones: &BlendedBones,
    (whole, shift): (&[Columns], Vec3),
    rest: Vec4,
) -> Vec3 {
    let mut dominant: Option<(usize, f32)> = None;
    for (bone, w) in weights.of_vertex(v) {
        if dominant.is_none_or(|(_, most)| w > most) {
            dominant = Some((bone, w));
        }
    }
    let Some((dominant, _)) = dominant else { return rest.truncate() - shift * rest.w };
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
        return whole[dominant].apply::<Apart>(rest);
    }
    let (b, e) = (Quat::from_vec4(b / length), Quat::from_vec4(e / length));
    let along = (e * b.conjugate()).xyz() * 2.0;
    b * p + along * rest.w
}
