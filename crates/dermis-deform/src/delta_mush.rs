//! Direct delta mush: skinning that smooths the posed surface and keeps its rest detail, as a function of the bones alone.
//!
//! With S the mean over the neighbours along polygon edges, B = (I + ½(S − I))ⁿ for n steps, and p̂ = [p; 1] at rest:
//!
//! ```text
//! Ψ_ik = Σ_j B_ij w_jk p̂_j p̂_jᵀ
//! q    = Σ_k M_k Ψ_ik e₄,   p̄ = Σ_k (Ψ_ik e₄)_xyz,   C = Σ_k M_k Ψ_ik[:, :3] − q p̄ᵀ
//! p'   = q + R (p − p̄),     C = U Σ Vᵀ,   R = U diag(1, 1, det UVᵀ) Vᵀ
//! ```
//!
//! q is where linear blending carries the smoothed surface, and R the rotation that fits best how it carries the neighbourhood. Pairs
//! (i, k) whose weight Σ_j B_ij w_jk is below [`LEAST_WEIGHT`](crate::smoothing::LEAST_WEIGHT) are dropped, and the others divided by the sum kept.
//!
//! The moments are stored about p̄_i instead of the origin: the same C, without the difference of two large matrices. A vertex
//! without neighbours, or n = 0, follows linear blending.
//!
//! **Properties.** It is exact at the bind pose, where C = Cᵀ has the rotation I. It turns and moves with the character. No vertex
//! leaves linear blending by more than |p − p̄| + max_{j: B_ij > 0} |LBS_j − LBS_i|. R is not continuous where s₂ + det(UVᵀ) s₃ → 0.
//!
//! Source: Le & Lewis 2019, *Direct Delta Mush Skinning and Variants*, variant 0. There B is implicit, (I + λL)⁻ᵖ; here it is the
//! power that modelling programs' delta mush and corrective smooth apply.

use crate::smoothing::{Smoothed, Smoothing, middle, smoothed, split_vertices};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::{cofactor, nearest_rotation};
use dermis_rig::{BoneIndex, BoneTransforms, Influences, Mesh, Rows};

/// What a bone has of the neighbourhood of a vertex: its part of the moments of order 0, 1 and 2 about the vertex's p̄.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Moments {
    /// Weight; those of a vertex sum to one.
    pub weight: f64,
    /// First moment, metres; those of a vertex sum to zero.
    pub first: DVec3,
    /// Second moment, square metres: xx, xy, xz, yy, yz, zz.
    pub second: [f64; 6],
}

/// Direct delta mush of a rig.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectDeltaMush {
    /// Per vertex, bones and their moments.
    pub terms: Rows<(BoneIndex, Moments)>,
    /// p̄ of every vertex, rest world, metres.
    pub centres: Vec<DVec3>,
}

impl Moments {
    /// The matrix of second moments.
    pub fn second(&self) -> DMat3 {
        let [xx, xy, xz, yy, yz, zz] = self.second;
        DMat3::from_cols_array(&[xx, xy, xz, xy, yy, yz, xz, yz, zz])
    }

    /// w p̂ p̂ᵀ, as [`DirectDeltaMush::of_moments`] takes it.
    pub fn of(weight: f64, p: DVec3) -> [f64; CHANNELS] {
        let DVec3 { x, y, z } = p;
        [1.0, x, y, z, x * x, x * y, x * z, y * y, y * z, z * z].map(|m| weight * m)
    }

    /// From moments about the origin, divided by the sum kept, to those about `centre`.
    fn about(centre: DVec3, m: &[f64; CHANNELS], kept: f64) -> Self {
        let [w, x, y, z, second @ ..] = m.map(|m| m / kept);
        let DVec3 { x: a, y: b, z: c } = centre;
        let shift = [2.0 * a * x, a * y + b * x, a * z + c * x, 2.0 * b * y, b * z + c * y, 2.0 * c * z];
        let square = [a * a, a * b, a * c, b * b, b * c, c * c];
        Self {
            weight: w,
            first: DVec3::new(x, y, z) - w * centre,
            second: std::array::from_fn(|i| second[i] - shift[i] + w * square[i]),
        }
    }
}

/// The weight, then first and second moments.
pub const CHANNELS: usize = 10;

impl DirectDeltaMush {
    /// Direct delta mush with `steps` smoothing steps.
    ///
    /// - `weights`: one row per vertex, each summing to one
    ///
    /// # Panics
    /// If mesh and weights differ in their number of vertices.
    pub fn new(mesh: &Mesh, weights: &Influences, steps: u32) -> Self {
        let smoothing = Smoothing { steps: &[steps], ..Smoothing::default() };
        Self::of_smoothing(mesh, weights, &smoothing).pop().unwrap_or_default()
    }

    /// Direct delta mush for each number of steps. One run of the smoothing passes through all of them.
    ///
    /// # Panics
    /// As [`new`](Self::new).
    pub fn of_smoothing(mesh: &Mesh, weights: &Influences, smoothing: &Smoothing<'_>) -> Vec<Self> {
        let (vertices, wanted) = (mesh.positions.len(), smoothing.of);
        let place = split_vertices(mesh, weights);
        let (size, middle) = (mesh.extent(), middle(mesh));
        let at = |v: usize| mesh.positions[v] - middle;
        let all = smoothed((mesh, &place), weights, smoothing, |w, v| Moments::of(w, at(v)));
        let of_steps = |rows: Smoothed<CHANNELS>| {
            let row = |v: usize| if wanted(v) { &rows[place[v] as usize][..] } else { &[] };
            Self::of_moments(&mesh.positions, (size, middle), (0..vertices).map(row))
        };
        all.into_iter().map(of_steps).collect()
    }

    /// Of moments Ψ about `middle`, a row per vertex: weight, x, y, z, xx, xy, xz, yy, yz, zz. They are divided by the sum of a vertex's
    /// weights; a vertex without a row stays at rest. Moments about the middle of the character keep the most digits.
    ///
    /// - `size`: L, below a millionth of which a neighbourhood has no extent
    pub fn of_moments<'a>(
        rest: &[DVec3],
        (size, middle): (f64, DVec3),
        rows: impl Iterator<Item = &'a [(BoneIndex, [f64; CHANNELS])]>,
    ) -> Self {
        let (mut terms, mut centres) = (Rows::default(), Vec::with_capacity(rest.len()));
        for (p, row) in rest.iter().zip(rows) {
            let kept: f64 = row.iter().map(|(_, m)| m[0]).sum();
            let first: DVec3 = row.iter().map(|(_, m)| DVec3::new(m[1], m[2], m[3])).sum();
            let centre = if row.is_empty() { *p - middle } else { first / kept };
            let mut own: Vec<_> = row.iter().map(|(bone, m)| (*bone, Moments::about(centre, m, kept))).collect();
            spread(&mut own, size);
            terms.push(own).expect("moments that lie in memory already can be counted");
            centres.push(centre + middle);
        }
        Self { terms, centres }
    }

    /// The moments of vertex `v` about `middle`, as [`of_moments`](Self::of_moments) takes them.
    pub fn moments(&self, v: usize, middle: DVec3) -> impl Iterator<Item = (BoneIndex, [f64; CHANNELS])> {
        let DVec3 { x: a, y: b, z: c } = self.centres[v] - middle;
        self.of(v).iter().map(move |(bone, m)| {
            let (w, DVec3 { x, y, z }) = (m.weight, m.first);
            let shift = [2.0 * a * x, a * y + b * x, a * z + c * x, 2.0 * b * y, b * z + c * y, 2.0 * c * z];
            let square = [a * a, a * b, a * c, b * b, b * c, c * c];
            let [xx, xy, xz, yy, yz, zz] = std::array::from_fn(|i| m.second[i] + shift[i] + w * square[i]);
            (*bone, [w, x + w * a, y + w * b, z + w * c, xx, xy, xz, yy, yz, zz])
        })
    }

    /// Bones and moments of vertex `v`.
    pub fn of(&self, v: usize) -> &[(BoneIndex, Moments)] {
        self.terms.of(v)
    }

    /// q and C of a vertex in a pose: where linear blending carries its neighbourhood, and how.
    pub fn carried(&self, v: usize, transforms: &BoneTransforms) -> (DVec3, DMat3) {
        let (centre, terms) = (self.centres[v], self.of(v));
        if terms.is_empty() {
            return (centre, DMat3::ZERO);
        }
        // Translations count relative to a point that moves with the vertex: first moments sum to zero.
        let along = terms.iter().map(|(bone, m)| transforms[*bone].transform_point3(centre) * m.weight).sum::<DVec3>();
        let (mut q, mut c) = (along, DMat3::ZERO);
        for (bone, m) in terms {
            let map = &transforms[*bone];
            q += map.matrix3 * m.first;
            c += map.matrix3 * m.second() + outer(map.transform_point3(centre) - along, m.first);
        }
        (q, c)
    }

    /// p' of vertex `v` with rest position `p`. A vertex without terms stays at rest.
    pub fn at(&self, v: usize, p: DVec3, transforms: &BoneTransforms) -> DVec3 {
        let (q, c) = self.carried(v, transforms);
        q + rotation_of(&c) * (p - self.centres[v])
    }

    /// R of vertex `v`, by which normals turn.
    pub fn rotation(&self, v: usize, transforms: &BoneTransforms) -> DMat3 {
        rotation_of(&self.carried(v, transforms).1)
    }
}

/// Gives a neighbourhood without extent in two directions, a vertex by itself or a row of them, a little of the blended bones: a
/// rotation where the moments leave it open. It does not move the vertex itself, whose p − p̄ has no part there.
fn spread(terms: &mut [(BoneIndex, Moments)], size: f64) {
    let whole = terms.iter().fold(DMat3::ZERO, |sum, (_, m)| sum + m.second());
    let trace = whole.x_axis.x + whole.y_axis.y + whole.z_axis.z;
    // The largest eigenvalue alone is the whole trace where the others are zero: then |S|² = (tr S)².
    let squares: f64 = whole.to_cols_array().iter().map(|x| x * x).sum();
    let (nothing, flat) = (trace <= (1e-6 * size).powi(2), trace * trace - squares <= 1e-6 * trace * trace);
    if nothing || flat {
        let part = if nothing { 1.0 } else { 1e-3 * trace };
        for (_, m) in terms {
            if nothing {
                (m.first, m.second) = (DVec3::ZERO, [0.0; 6]);
            }
            [0, 3, 5].into_iter().for_each(|i| m.second[i] += part * m.weight);
        }
    }
}

/// The rotation nearest to C; the identity for zero, the neighbourhood of a single vertex.
pub(crate) fn rotation_of(c: &DMat3) -> DMat3 {
    let size = c.to_cols_array().iter().fold(0.0f64, |most, x| most.max(x.abs()));
    if !(size > 0.0 && size.is_finite()) {
        return DMat3::IDENTITY;
    }
    let c = *c * size.recip();
    near_polar(&c).unwrap_or_else(|| nearest_rotation(&c))
}

/// R of C = R S in closed form (`baked::bases::delta_mush` has the equations), and a Newton step towards a rotation; `None` near
/// where R is not defined.
fn near_polar(c: &DMat3) -> Option<DMat3> {
    let area = cofactor(c);
    let squares = |m: &DMat3| m.to_cols_array().iter().map(|x| x * x).sum::<f64>();
    let (size, areas, det) = (squares(c), squares(&area), c.x_axis.dot(area.x_axis));
    let trace_of = |second: f64| (size + 2.0 * second).max(0.0).sqrt();
    let mut second = (areas + 2.0 * det.max(0.0) * trace_of(areas.sqrt())).sqrt();
    let mut step = second;
    for _ in 0..8 {
        let trace = trace_of(second);
        step = (second * second - areas - 2.0 * det * trace) / (2.0 * (second - det / trace));
        second -= step;
    }
    let trace = trace_of(second);
    let denominator = trace * second - det;
    let regular = denominator > 1e-3 * trace.powi(3) && step.abs() < 1e-8 * trace * trace;
    regular.then(|| {
        let r = area * trace + *c * (trace * trace - second) - *c * (c.transpose() * *c);
        let r = r * denominator.recip();
        0.5 * (r + r.inverse().transpose())
    })
}

/// a bᵀ.
fn outer(a: DVec3, b: DVec3) -> DMat3 {
    DMat3::from_cols(a * b.x, a * b.y, a * b.z)
}
