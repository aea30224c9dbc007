//! A model of a body in coefficient form on another mesh.
//!
//! What corrects a vertex is linear in its coefficients, so the target's coefficients are P times the body's, and the target is an
//! ordinary model that needs no body at run time:
//!
//! ```text
//! U_ge = Σ_v P_gv U_ve,   b_gk = Σ_v P_gv b_vk,   b_gk q_gk = Σ_v P_gv b_vk q_vk,   b_gk ω_gk = Σ_v P_gv b_vk ω_vk,   ρ_g = Σ_v P_gv ρ_v
//! ```
//!
//! (U holds √a already.) In exact terms the correction to carry is that of the body in the frames of its vertices, put into the frame
//! of the target's vertex: p'_g = base_g + F_g Σ_v P_gv F_vᵀ δ_v. The free part and remembered sculpts are that, up to the ball; the
//! shared part is where F_g = F_v, and takes the target's own rest position.
//!
//! **Bases.** Linear blending and dual quaternions take the target's weights. Direct delta mush has Ψ_gk = Σ_v P_gv Ψ_vk; both are
//! exact at the bind pose, because p' = q + R (p − p̄). Corrective smoothing becomes direct delta mush whose moments are those of the
//! rings of the smoothed surface (`ring_moments`): corners of the target would be of another size, and folds of cloth may lie on one point of the body.
//! Animation space has a_gk = Σ_v P_gv a_vk and, for what the target is away from its matches, the target's weights. A target that keeps weights of
//! its own is blended by them: the base has w_g − Σ_v P_gv w_v more of every bone, at the centre of the moments.
//!
//! **Rigid islands** take one row, which under linear blending still shears them. Over linear blending the base becomes direct delta
//! mush, with moments of one point and its vertex for all others, and with one rotation for all of an island. Changes of weights (ω) are left out there.
//!
//! **Kept.** The bind pose; the ball, 1.5 ρ_g ≤ the largest of the body's around; that the target never moves where the body never
//! does; that everything turns with the character.
//!
//! A term of a joint is left out where the coefficients left out of a vertex amount to less than a thousandth of its ball.

use crate::error::TransferError;
use crate::islands::Held;
use crate::operator::Operator;
use crate::weights::carried_weights;
use dermis_deform::base::AnimationSpace;
use dermis_deform::corrective_smooth::CorrectiveSmooth;
use dermis_deform::delta_mush::{CHANNELS, DirectDeltaMush, Moments};
use dermis_deform::joints::{Joints, SharedTerm};
use dermis_deform::pose_space::{Carrier, CompiledShapes};
use dermis_deform::{Base, Correction, Deformer};
use dermis_rig::glam::{DMat3, DVec3, DVec4};
use dermis_rig::{BoneIndex, Influences, Mesh, Rows};
use rayon::prelude::*;
use std::collections::BTreeSet;

/// Coefficients left out of a vertex amount to less than this part of its ball's radius.
const LEFT_OUT: f64 = 1e-3;
/// A term that no more of a vertex's row has is left out.
const LEAST_SHARE: f64 = 1e-6;
/// Numbers of several bones are carried at a time, so many.
const AT_A_TIME: usize = 16;
/// The radius of the neighbourhood that turns as the blend of weights does, metres on a body of usual size.
const ROUND: f64 = 0.05;

/// The model on another mesh.
///
/// - `mesh`, `weights`: those of the target
/// - `replaced`: the body's weights, where the target keeps its own; `None` where they are carried
/// - `unit`: what a metre on a body of usual size is, as [`Body::unit`](crate::Body::unit) has it
///
/// # Errors
/// [`TransferError::Part`] for a base or a correction whose numbers belong to the body's vertices, [`TransferError::Solve`].
pub fn carried_model(
    deformer: &Deformer,
    operator: &Operator,
    (mesh, weights): (&Mesh, &Influences),
    replaced: Option<&Influences>,
    unit: f64,
) -> Result<Deformer, TransferError> {
    let changes = replaced.map(|body| changes(operator, body, weights)).transpose()?;
    let target = Target { operator, mesh, weights, changes, unit };
    let base = target.base(deformer.base())?;
    let bare = Deformer::new(mesh.positions.clone(), base, None)?;
    corrected(bare, deformer, |joints| target.joints(joints), |shapes| target.shapes(shapes))
}

/// The model `bare` with the corrections of another, each one changed.
///
/// # Errors
/// [`TransferError::Part`] for a correction that belongs to the vertices of the other, and what the changes say.
pub(crate) fn corrected(
    bare: Deformer,
    of: &Deformer,
    joints: impl Fn(&Joints) -> Result<Joints, TransferError>,
    shapes: impl Fn(&CompiledShapes) -> Result<CompiledShapes, TransferError>,
) -> Result<Deformer, TransferError> {
    of.corrections().iter().try_fold(bare, |made, correction| match correction {
        Correction::Joints(own) => Ok(made.followed_by(joints(own)?)?),
        Correction::Shapes(own) => Ok(made.followed_by(shapes(own)?)?),
        Correction::Enveloping(_) => Err(TransferError::Part { part: "multi-weight enveloping" }),
        Correction::PoseSpace(_) => Err(TransferError::Part { part: "a pose space that is not compiled" }),
    })
}

/// Why a base is not carried whose numbers belong to the vertices of the body.
pub(crate) fn kept_back(base: &Base) -> TransferError {
    let part = match base {
        Base::RotationalRegression(_) => "rotational regression",
        Base::Stack(..) => "a stack of deformers",
        _ => "a base of rest shapes",
    };
    TransferError::Part { part }
}

/// Displacements at rest, carried: P Δ.
///
/// # Errors
/// [`TransferError::Solve`].
pub fn carried_displacements(
    operator: &Operator,
    of: impl Fn(usize) -> DVec3 + Sync,
) -> Result<Vec<DVec3>, TransferError> {
    let carried = operator.carry(3, |v, share, row| add(row, &of(v).to_array(), share))?;
    Ok(carried.chunks_exact(3).map(DVec3::from_slice).collect())
}

struct Target<'a> {
    operator: &'a Operator,
    mesh: &'a Mesh,
    weights: &'a Influences,
    /// What the target's own weights are more than those of the body would be, carried.
    changes: Option<Vec<Vec<(BoneIndex, f64)>>>,
    unit: f64,
}

/// w_g − Σ_v P_gv w_v.
fn changes(
    operator: &Operator,
    body: &Influences,
    own: &Influences,
) -> Result<Vec<Vec<(BoneIndex, f64)>>, TransferError> {
    let carried = carried_weights(operator, body, usize::MAX)?;
    let change = |v: usize| {
        let mut row = own.of(v).to_vec();
        for &(bone, w) in carried.of(v) {
            match row.iter_mut().find(|(at, _)| *at == bone) {
                Some((_, sum)) => *sum -= w,
                None => row.push((bone, -w)),
            }
        }
        row.retain(|(_, change)| *change != 0.0);
        row
    };
    Ok((0..own.vertices()).map(change).collect())
}

/// The terms of a vertex: what each is of, and its numbers.
type Terms = Vec<(u32, Vec<f64>)>;

fn add(row: &mut [f64], numbers: &[f64], share: f64) {
    row.iter_mut().zip(numbers).for_each(|(sum, x)| *sum += share * x);
}

impl Target<'_> {
    /// Carries the terms of vertices: `of` visits those of a body vertex, all of one kind having as many numbers as `widths` says.
    /// A term is kept where its share of a vertex's row counts.
    fn terms(
        &self,
        widths: &[usize],
        of: impl Fn(usize, &mut dyn FnMut(u32, &[f64])) + Sync,
    ) -> Result<Vec<Terms>, TransferError> {
        // Kinds that a body vertex has none of anywhere are not solved for.
        let used: BTreeSet<u32> = (0..self.operator.body_vertices()).fold(BTreeSet::new(), |mut used, v| {
            of(v, &mut |kind, _| {
                used.insert(kind);
            });
            used
        });
        let used: Vec<u32> = used.into_iter().collect();
        let mut chunks: Vec<&[u32]> = vec![];
        let mut rest = &used[..];
        while !rest.is_empty() {
            let mut numbers = 0;
            let fits = |kind: &&u32| {
                numbers += widths[**kind as usize] + 1;
                numbers <= AT_A_TIME * 4
            };
            let count = rest.iter().take_while(fits).count().max(1);
            let (chunk, others) = rest.split_at(count);
            chunks.push(chunk);
            rest = others;
        }
        let carried = |chunk: &&[u32]| {
            let mut starts = vec![0];
            chunk.iter().for_each(|kind| starts.push(starts[starts.len() - 1] + widths[*kind as usize] + 1));
            let width = starts[chunk.len()];
            let table = self.operator.carry(width, |v, share, row| {
                of(v, &mut |kind, numbers| {
                    if let Ok(at) = chunk.binary_search(&kind) {
                        row[starts[at]] += share;
                        add(&mut row[starts[at] + 1..starts[at + 1]], numbers, share);
                    }
                });
            })?;
            let of_vertex = |row: &[f64]| -> Terms {
                let counts = |at: &usize| row[starts[*at]] > LEAST_SHARE;
                (0..chunk.len())
                    .filter(counts)
                    .map(|at| (chunk[at], row[starts[at] + 1..starts[at + 1]].to_vec()))
                    .collect()
            };
            Ok(table.chunks_exact(width).map(of_vertex).collect::<Vec<Terms>>())
        };
        let tables: Vec<Vec<Terms>> = chunks.par_iter().map(carried).collect::<Result<_, TransferError>>()?;
        let mut all: Vec<Terms> = vec![vec![]; self.operator.vertices()];
        for table in tables {
            all.iter_mut().zip(table).for_each(|(terms, more)| terms.extend(more));
        }
        for (v, terms) in all.iter_mut().enumerate() {
            if let Some(at) = self.operator.copies(v) {
                terms.clear();
                of(at, &mut |kind, numbers| terms.push((kind, numbers.to_vec())));
            }
        }
        Ok(all)
    }

    /// One number per vertex, if the body has one, which fades with the correction.
    fn numbers(&self, of: &[f64]) -> Result<Vec<f64>, TransferError> {
        if of.is_empty() {
            return Ok(vec![]);
        }
        let mut made = self.operator.carry(1, |v, share, row| row[0] += share * of[v])?;
        made.iter_mut().enumerate().for_each(|(v, x)| *x *= self.operator.fade(v));
        Ok(made)
    }

    /// Terms of a correction, faded.
    fn faded(&self, all: &mut [Terms]) {
        for (v, terms) in all.iter_mut().enumerate() {
            let fade = self.operator.fade(v);
            if fade < 1.0 {
                terms.iter_mut().flat_map(|(_, numbers)| numbers).for_each(|x| *x *= fade);
            }
        }
    }

    /// Vertices of rigid islands, and the centre of each one's.
    fn rigid(&self) -> Vec<(&[u32], DVec3)> {
        let islands = self.operator.islands().iter().filter(|island| island.held == Held::Rigid);
        let centre = |vertices: &[u32]| {
            vertices.iter().map(|&v| self.mesh.positions[v as usize]).sum::<DVec3>() / vertices.len() as f64
        };
        islands.map(|island| (&island.vertices[..], centre(&island.vertices))).collect()
    }

    fn base(&self, base: &Base) -> Result<Base, TransferError> {
        Ok(match base {
            Base::Rigid(_) => {
                let row = |v| self.weights.dominant(v).map(|bone| (bone, 1.0)).into_iter().collect();
                Base::Rigid(Influences::from_rows((0..self.weights.vertices()).map(row))?)
            }
            Base::Lbs(_) => {
                let turns = |(vertices, _): &(&[u32], DVec3)| self.weights.of(vertices[0] as usize).len() > 1;
                if self.rigid().iter().any(turns) {
                    let own = |v: usize| {
                        let p = self.mesh.positions[v] - self.middle();
                        self.weights.of(v).iter().map(|&(bone, w)| (bone, Moments::of(w, p))).collect()
                    };
                    Base::DirectDeltaMush(self.mush((0..self.operator.vertices()).map(own).collect()))
                } else {
                    Base::Lbs(self.weights.clone())
                }
            }
            Base::Dqs(_, blend) => Base::Dqs(self.weights.clone(), blend.clone()),
            Base::DirectDeltaMush(mush) => {
                let middle = self.middle();
                let rows = self.bones(mush.terms.entries().iter().map(|(bone, _)| *bone), CHANNELS, |v, each| {
                    mush.moments(v, middle).for_each(|(bone, m)| each(bone, &m));
                })?;
                let rows = rows.into_iter().map(|row| row.into_iter().map(|(b, m)| (b, fixed(&m))).collect()).collect();
                match self.changes {
                    Some(_) => Base::DirectDeltaMush(self.mush(rows)),
                    None => self.with_copies(mush, self.mush(rows)),
                }
            }
            Base::CorrectiveSmooth(_) if self.operator.is_identity() && self.changes.is_none() => base.clone(),
            Base::CorrectiveSmooth(smooth) => {
                let middle = self.middle();
                let moments: Vec<Vec<(BoneIndex, [f64; CHANNELS])>> = (0..self.operator.body_vertices())
                    .into_par_iter()
                    .map(|v| ring_moments(smooth, v, middle))
                    .collect();
                let named = moments.iter().flatten().map(|(bone, _)| *bone);
                let rows = self.bones(named, CHANNELS, |v, each| {
                    moments[v].iter().for_each(|(bone, m)| each(*bone, m));
                })?;
                let rows = rows.into_iter().map(|row| row.into_iter().map(|(b, m)| (b, fixed(&m))).collect()).collect();
                Base::DirectDeltaMush(self.mush(rows))
            }
            Base::AnimationSpace(space) => Base::AnimationSpace(self.animation_space(space)?),
            Base::RotationalRegression(_) | Base::Stack(..) | Base::Rest | Base::Given => return Err(kept_back(base)),
        })
    }

    fn middle(&self) -> DVec3 {
        let (low, high) = self.mesh.bounds();
        0.5 * (low + high)
    }

    /// Terms of bones, carried.
    fn bones(
        &self,
        named: impl Iterator<Item = BoneIndex>,
        width: usize,
        of: impl Fn(usize, &mut dyn FnMut(BoneIndex, &[f64])) + Sync,
    ) -> Result<Vec<Vec<(BoneIndex, Vec<f64>)>>, TransferError> {
        let count = named.map(|bone| bone.get() + 1).max().unwrap_or(0);
        let carried = self.terms(&vec![width; count], |v, each| {
            of(v, &mut |bone, numbers| each(bone.get() as u32, numbers));
        })?;
        let bone = |terms: Terms| terms.into_iter().map(|(at, m)| (BoneIndex::new(at as usize), m)).collect();
        Ok(carried.into_iter().map(bone).collect())
    }

    /// Direct delta mush of moments, with one neighbourhood for every rigid island.
    fn mush(&self, mut rows: Vec<Vec<(BoneIndex, [f64; CHANNELS])>>) -> DirectDeltaMush {
        let middle = self.middle();
        for (row, changes) in rows.iter_mut().zip(self.changes.iter().flatten()) {
            // At the centre of the moments a weight changes q and leaves R alone.
            let kept: f64 = row.iter().map(|(_, m)| m[0]).sum();
            let centre = row.iter().map(|(_, m)| DVec3::new(m[1], m[2], m[3])).sum::<DVec3>() / kept;
            for &(bone, change) in changes {
                let change = Moments::of(change * kept, centre);
                match row.iter_mut().find(|(at, _)| *at == bone) {
                    Some((_, m)) => m.iter_mut().zip(change).for_each(|(m, more)| *m += more),
                    None => row.push((bone, change)),
                }
            }
        }
        for (vertices, centre) in self.rigid() {
            let weights = self.weights.of(vertices[0] as usize);
            let round = (ROUND * self.unit).powi(2);
            let moments = |&(bone, w): &(BoneIndex, f64)| {
                let mut moments = Moments::of(w, centre - middle);
                [4, 7, 9].into_iter().for_each(|at| moments[at] += w * round);
                (bone, moments)
            };
            let row: Vec<_> = weights.iter().map(moments).collect();
            vertices.iter().for_each(|&v| rows[v as usize] = row.clone());
        }
        let size = self.mesh.extent();
        let rows = rows.iter().map(Vec::as_slice);
        DirectDeltaMush::of_moments(&self.mesh.positions, (size, middle), rows)
    }

    /// The same with the body's own numbers at vertices that are the body's.
    fn with_copies(&self, body: &DirectDeltaMush, made: DirectDeltaMush) -> Base {
        let (mut terms, mut centres) = (Rows::default(), made.centres);
        for (v, centre) in centres.iter_mut().enumerate() {
            let own = self.operator.copies(v);
            let row = own.map_or(made.terms.of(v), |at| body.of(at));
            *centre = own.map_or(*centre, |at| body.centres[at]);
            terms.push(row.iter().copied()).expect("moments that lie in memory already can be counted");
        }
        Base::DirectDeltaMush(DirectDeltaMush { terms, centres })
    }

    fn animation_space(&self, space: &AnimationSpace) -> Result<AnimationSpace, TransferError> {
        let rows = self.bones(space.terms.entries().iter().map(|(bone, _)| *bone), 4, |v, each| {
            space.terms.of(v).iter().for_each(|(bone, a)| each(*bone, &a.to_array()));
        })?;
        let mut terms = Rows::default();
        for (v, mut row) in rows.into_iter().enumerate() {
            // Vertices of the body without weights have no terms.
            let kept: f64 = row.iter().map(|(_, a)| a[3]).sum();
            if self.operator.copies(v).is_none() && kept > 0.0 {
                row.iter_mut().flat_map(|(_, a)| a).for_each(|x| *x /= kept);
            }
            let own: DVec3 = row.iter().map(|(_, a)| DVec3::from_slice(a)).sum();
            let away = self.mesh.positions[v] - own;
            let mut row: Vec<(BoneIndex, DVec4)> =
                row.into_iter().map(|(bone, a)| (bone, DVec4::from_slice(&a))).collect();
            let moved = self.weights.of(v).iter().filter(|_| self.operator.copies(v).is_none());
            let moved = moved.map(|&(bone, w)| (bone, (away * w).extend(0.0)));
            let changes = self.changes.iter().flat_map(|changes| &changes[v]);
            let changed = changes.map(|&(bone, change)| (bone, (own * change).extend(change)));
            for (bone, more) in moved.chain(changed) {
                match row.iter_mut().find(|(at, _)| *at == bone) {
                    Some((_, a)) => *a += more,
                    None => row.push((bone, more)),
                }
            }
            terms.push(row).map_err(|_| TOO_MANY)?;
        }
        Ok(AnimationSpace { terms })
    }

    fn joints(&self, joints: &Joints) -> Result<Joints, TransferError> {
        let counts: Vec<usize> = joints.numbers().collect();
        let widths: Vec<usize> = counts.iter().map(|count| 3 * count).collect();
        let mut free = self.terms(&widths, |v, each| {
            let (mut rest, terms) = (joints.coefficients.of(v), joints.terms.of(v));
            for &term in terms {
                let (own, others) = rest.split_at(widths[term as usize]);
                each(term, own);
                rest = others;
            }
        })?;
        self.faded(&mut free);
        let radii = self.numbers(&joints.radii)?;
        for (v, terms) in free.iter_mut().enumerate() {
            if self.operator.copies(v).is_none() {
                drop_least(terms, radii.get(v).map_or(0.0, |radius| LEFT_OUT * radius));
            }
        }
        let (mut terms, mut coefficients) = (Rows::default(), Rows::default());
        for row in free {
            terms.push(row.iter().map(|(term, _)| *term)).map_err(|_| TOO_MANY)?;
            coefficients.push(row.into_iter().flat_map(|(_, numbers)| numbers)).map_err(|_| TOO_MANY)?;
        }
        let mut shared_limits = self.numbers(&joints.shared_limits)?;
        let named = joints.shared.entries().iter().map(|term| term.bone);
        let carried = self.bones(named, 5, |v, each| {
            for term in joints.shared.of(v) {
                let (b, q) = (term.relevance, term.offset * term.relevance);
                each(term.bone, &[b, q.x, q.y, q.z, b * term.weight]);
            }
        })?;
        let mut is_rigid = vec![false; self.operator.vertices()];
        for (vertices, _) in self.rigid() {
            for &v in vertices {
                is_rigid[v as usize] = true;
                // The norm of the features depends on the place.
                if let Some(limit) = shared_limits.get_mut(v as usize) {
                    *limit = f64::INFINITY;
                }
            }
        }
        let mut shared = Rows::default();
        for (v, row) in carried.into_iter().enumerate() {
            let own = self.operator.copies(v).map(|at| joints.shared.of(at).to_vec());
            let term = |(bone, m): (BoneIndex, Vec<f64>)| {
                let (relevance, fade) = (m[0], self.operator.fade(v));
                let offset = DVec3::new(m[1], m[2], m[3]) / relevance;
                let weight = if is_rigid[v] { 0.0 } else { m[4] / relevance };
                (relevance > 0.0).then_some(SharedTerm { bone, relevance: relevance * fade, offset, weight })
            };
            let row = own.unwrap_or_else(|| row.into_iter().filter_map(term).collect());
            shared.push(row).map_err(|_| TOO_MANY)?;
        }
        let layer = joints.layer.as_ref().map(|layer| self.shapes(layer)).transpose()?;
        Ok(Joints {
            weights: self.weights.clone(),
            terms,
            coefficients,
            shared,
            shared_limits,
            radii,
            layer,
            length: joints.length,
            kernel: joints.kernel,
            frame: joints.frame,
            joints: joints.joints.clone(),
            gravity: joints.gravity.clone(),
            weld: joints.weld.clone(),
        })
    }

    fn shapes(&self, shapes: &CompiledShapes) -> Result<CompiledShapes, TransferError> {
        let mut carried = self.terms(&vec![3; shapes.count()], |v, each| {
            let displacements = &shapes.displacements[shapes.terms.range(v)];
            shapes.terms.of(v).iter().zip(displacements).for_each(|(&shape, u)| each(shape, &u.to_array()));
        })?;
        self.faded(&mut carried);
        let radii = self.numbers(&shapes.radii)?;
        for (v, row) in carried.iter_mut().enumerate().filter(|(v, _)| self.operator.copies(*v).is_none()) {
            drop_least(row, radii.get(v).map_or(0.0, |radius| LEFT_OUT * radius));
        }
        let (mut terms, mut displacements) = (Rows::default(), Vec::new());
        for row in carried {
            displacements.extend(row.iter().map(|(_, u)| DVec3::from_slice(u)));
            terms.push(row.into_iter().map(|(shape, _)| shape)).map_err(|_| TOO_MANY)?;
        }
        let carrier = match &shapes.carrier {
            Carrier::Base => Carrier::Base,
            Carrier::World => Carrier::World,
            Carrier::Bones(_) => {
                let bone = |v| self.weights.dominant(v).unwrap_or(BoneIndex::new(0));
                Carrier::Bones((0..self.weights.vertices()).map(bone).collect())
            }
        };
        Ok(CompiledShapes { terms, displacements, radii, carrier, ..shapes.clone() })
    }
}

/// A list that `u32` cannot count.
pub(crate) const TOO_MANY: TransferError = TransferError::Part { part: "a list of more than 4 billion entries" };

/// Moments of a vertex of corrective smoothing, about `middle`: those of direct delta mush whose q is the smoothed surface, and whose R
/// turns as the ring of the vertex on that surface does.
///
/// With c_k = (x_k, w_k) of the smoothed surface, e_u = q̄_u − q̄_v along the ring, and f_k = x_vk − w_vk q̄_v,
///
/// ```text
/// Σ_u (q_u − q_v) e_uᵀ = Σ_k R_k S_k + (M_k q̄_v) y_kᵀ,   S_k = Σ_u (x_uk − x_vk − (w_uk − w_vk) q̄_v) e_uᵀ,   y_k = Σ_u (w_uk − w_vk) e_u
/// ```
///
/// Direct delta mush has f_k in the place of y_k. The two are parallel where weights are linear, so S is scaled by the s that fits s y to f
/// best, and its symmetric part is taken.
pub(crate) fn ring_moments(smooth: &CorrectiveSmooth, v: usize, middle: DVec3) -> Vec<(BoneIndex, [f64; CHANNELS])> {
    let terms = |u: usize| smooth.smoothed().terms.of(u);
    let of = |u: usize, bone: BoneIndex| terms(u).iter().find(|(b, _)| *b == bone).map_or(DVec4::ZERO, |(_, a)| *a);
    let centre = smooth.centres()[v];
    let ring: BTreeSet<u32> = smooth.corners().of(v).iter().flatten().copied().collect();
    let spans: Vec<(usize, DVec3)> =
        ring.iter().map(|&u| (u as usize, smooth.centres()[u as usize] - centre)).collect();
    let mut made = Vec::with_capacity(terms(v).len());
    let (mut along, mut square) = (0.0, 0.0);
    for &(bone, a) in terms(v) {
        let (mut turn, mut slope) = (DMat3::ZERO, DVec3::ZERO);
        for &(u, e) in &spans {
            let change = of(u, bone) - a;
            let x = change.truncate() - centre * change.w;
            let share = 1.0 / e.length_squared().max(1e-12);
            turn += DMat3::from_cols(x * e.x, x * e.y, x * e.z) * share;
            slope += e * change.w * share;
        }
        let first = a.truncate() - centre * a.w;
        along += first.dot(slope);
        square += slope.length_squared();
        made.push((bone, a, first, 0.5 * (turn + turn.transpose())));
    }
    let scale = if square > 0.0 && along > 0.0 { along / square } else { 1.0 };
    let p = centre - middle;
    let absolute = |(bone, a, first, turn): (BoneIndex, DVec4, DVec3, DMat3)| {
        let (w, s) = (a.w, turn * scale);
        let pair = |i: usize, j: usize| s.col(j)[i] + first[i] * p[j] + p[i] * first[j] + w * p[i] * p[j];
        let x = first + p * w;
        (bone, [w, x.x, x.y, x.z, pair(0, 0), pair(0, 1), pair(0, 2), pair(1, 1), pair(1, 2), pair(2, 2)])
    };
    made.into_iter().map(absolute).collect()
}

fn fixed(numbers: &[f64]) -> [f64; CHANNELS] {
    std::array::from_fn(|at| numbers[at])
}

/// Leaves out the smallest terms, which together amount to at most `most`.
fn drop_least(terms: &mut Terms, most: f64) {
    let norm = |numbers: &[f64]| numbers.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut norms: Vec<(f64, u32)> = terms.iter().map(|(term, numbers)| (norm(numbers), *term)).collect();
    norms.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut sum = 0.0;
    let within = |(norm, _): &&(f64, u32)| {
        sum += norm;
        sum <= most
    };
    let dropped: BTreeSet<u32> = norms.iter().take_while(within).map(|(_, term)| *term).collect();
    terms.retain(|(term, _)| !dropped.contains(term));
}
