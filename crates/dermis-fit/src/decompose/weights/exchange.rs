//! Support exchange: which bones a vertex should have.
//!
//! A bone j may enter where a step towards it lowers |x − y|² (a Frank-Wolfe step bounds the gain without a solve). If none
//! enters, one member may be exchanged for one bone. Every change is solved exactly before it is accepted. The cost of a
//! vertex is one row of H per member, over all bones.

use super::room::Room;
use super::support::{MOST, Support};
use crate::decompose::gram::{Gram, combine, squares};
use crate::decompose::problem::MONOMIALS;
use crate::decompose::ties::slack;
use dermis_solve::simd::Simd;

/// What a pass over the vertices may do.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// K.
    pub most: usize,
    /// How many bones may enter a vertex. With none, weights are solved on the support they have.
    pub entries: usize,
    /// Whether a member may be exchanged when none enters.
    pub swap: bool,
    /// A change of support must lower the energy by this part of |x|².
    pub threshold: f64,
}

/// Lets bones enter or be exchanged, and returns the energy |x − y|² after that.
#[inline(always)]
pub fn look_around<S: Simd>(
    simd: S,
    gram: &Gram,
    monomials: &[f64; MONOMIALS],
    square: f64,
    support: &mut Support,
    mut energy: f64,
    pass: Pass,
    room: &mut Room,
) -> f64 {
    let stride = gram.stride;
    let needed = pass.threshold * square;
    if energy <= needed {
        return energy;
    }
    squares(simd, gram, monomials, &mut room.diagonal);
    let mut improved = false;
    for _ in 0..pass.entries {
        fill(simd, gram, monomials, support, room);
        let gain = blend_gains(support, gram.columns, stride, room);
        let Some((j, gain)) = gain else { break };
        if gain <= needed {
            break;
        }
        match exchange(support, None, j, pass.most, room) {
            Some((changed, value)) if square + value < energy - needed => {
                (*support, energy) = (changed, square + value);
                improved = true;
            }
            _ => break,
        }
    }
    if pass.swap
        && !improved
        && support.n == pass.most
        && support.n > 1
        && let Some((changed, value)) = swap(gram, support, energy - square - needed, pass.most, room)
    {
        (*support, energy) = (changed, square + value);
    }
    energy
}

/// Fills H and g of the support, and the rows of H between its members and all bones.
#[inline(always)]
pub fn fill<S: Simd>(simd: S, gram: &Gram, monomials: &[f64; MONOMIALS], support: &Support, room: &mut Room) {
    let stride = gram.stride;
    room.quadratic.n = support.n;
    for a in 0..support.n {
        let k = support.bones[a] as usize;
        let table = &gram.wide[k * MONOMIALS * stride..(k + 1) * MONOMIALS * stride];
        combine(simd, table, stride, monomials, &mut room.rows[a * stride..(a + 1) * stride]);
        room.quadratic.g[a] = room.g[k];
    }
    for a in 0..support.n {
        for b in 0..support.n {
            room.quadratic.h[a][b] = room.rows[a * stride + support.bones[b] as usize];
        }
    }
}

/// Returns the bone towards which a step from the present blend gains most, and the gain.
///
/// With d_j = w·∇ − ∇_j and n_j² = |p̃ T_j − y|² the step l = min(1, d_j / n_j²) gains l (2 d_j − l n_j²).
#[inline(always)]
fn blend_gains(support: &Support, columns: usize, stride: usize, room: &mut Room) -> Option<(usize, f64)> {
    let blend = &mut room.blend[..stride];
    blend.fill(0.0);
    for a in 0..support.n {
        let w = support.weights[a];
        let row = &room.rows[a * stride..(a + 1) * stride];
        for k in 0..stride {
            blend[k] += w * row[k];
        }
    }
    let (mut level, mut size) = (0.0, 0.0);
    for (k, w) in support.members() {
        level += w * (blend[k] - room.g[k]);
        size += w * blend[k];
    }
    best_step(support, level, size, columns, stride, room)
}

/// Returns the bone towards which a step from `room.blend` gains most, and the gain.
///
/// `level` is w·∇ and `size` is |y|² at the blend.
#[inline(always)]
pub fn best_step(
    support: &Support,
    level: f64,
    size: f64,
    columns: usize,
    stride: usize,
    room: &mut Room,
) -> Option<(usize, f64)> {
    let (g, diagonal, blend) = (&room.g[..stride], &room.diagonal[..stride], &room.blend[..stride]);
    let gain = &mut room.gain[..stride];
    for k in 0..stride {
        let d = level - (blend[k] - g[k]);
        let n = (diagonal[k] - 2.0 * blend[k] + size).max(1e-300);
        let l = (d / n).clamp(0.0, 1.0);
        gain[k] = l * (2.0 * d - l * n);
    }
    let mut best = None;
    for k in 0..columns {
        let least = best.map_or(0.0, |(_, gain)| gain + slack(gain, size.abs() + diagonal[k]));
        if gain[k] > least && !support.holds(k) {
            best = Some((k, gain[k]));
        }
    }
    best
}

/// Solves the support with bone `j` in and member `out` gone, and returns it with wᵀHw − 2 w·g.
///
/// While more than `most` weights are positive, the least useful member goes too. `None` if no weight stays positive.
#[inline(always)]
pub fn exchange(
    support: &Support,
    out: Option<usize>,
    j: usize,
    most: usize,
    room: &mut Room,
) -> Option<(Support, f64)> {
    let stride = room.blend.len();
    let mut changed = *support;
    let trial = &mut room.trial;
    trial.copy(&room.quadratic);
    if let Some(out) = out {
        trial.remove(out);
        changed.bones[out] = changed.bones[changed.n - 1];
        changed.n -= 1;
    }
    let n = trial.n;
    for a in 0..n {
        // Rows are those of the support as it was.
        let from = if Some(a) == out { support.n - 1 } else { a };
        let h = room.rows[from * stride + j];
        (trial.h[a][n], trial.h[n][a]) = (h, h);
    }
    trial.h[n][n] = room.diagonal[j];
    trial.g[n] = room.g[j];
    trial.n = n + 1;
    changed.bones[n] = j as u32;
    changed.n = n + 1;
    let mut value = trial.minimise(&mut changed.weights);
    let mut positive = changed.weights[..changed.n].iter().filter(|&&w| w >= 1e-9).count();
    while positive > most {
        let mut at = 0;
        while at < changed.n {
            if changed.weights[at] < 1e-9 {
                trial.remove(at);
                changed.bones[at] = changed.bones[changed.n - 1];
                changed.weights[at] = changed.weights[changed.n - 1];
                changed.n -= 1;
            } else {
                at += 1;
            }
        }
        let goes = trial.cheapest(&changed.weights);
        trial.remove(goes);
        changed.bones[goes] = changed.bones[changed.n - 1];
        changed.n -= 1;
        value = trial.minimise(&mut changed.weights);
        positive = changed.weights[..changed.n].iter().filter(|&&w| w >= 1e-9).count();
    }
    if !value.is_finite() || positive == 0 {
        return None;
    }
    changed.normalise();
    Some((changed, value))
}

/// Returns the best exchange of one member for another bone whose value lies below `limit`.
///
/// For every member i, the support without i is solved. For every bone j, the gain is measured along its direction, with
/// the tangent space of the remaining members projected out. The best three pairs are then solved exactly.
#[inline(always)]
fn swap(gram: &Gram, support: &Support, limit: f64, most: usize, room: &mut Room) -> Option<(Support, f64)> {
    let stride = gram.stride;
    let mut best = [(limit, 0usize, 0usize); 3];
    for out in 0..support.n {
        let trial = &mut room.trial;
        trial.copy(&room.quadratic);
        trial.remove(out);
        let mut w = [0.0; MOST];
        let value = trial.minimise(&mut w);
        let row_of = |a: usize| if a == out { support.n - 1 } else { a };
        let pulls: f64 = (0..trial.n).map(|a| w[a] * trial.g[a]).sum();
        let members = trial.n;
        let tangent = trial.tangent(&w);
        let blend = &mut room.blend[..stride];
        blend.fill(0.0);
        for a in 0..members {
            let row = &room.rows[row_of(a) * stride..][..stride];
            for k in 0..stride {
                blend[k] += w[a] * row[k];
            }
        }
        let at = |a: usize| support.bones[row_of(a)] as usize;
        let size: f64 = (0..members).map(|a| w[a] * blend[at(a)]).sum();
        let level: f64 = size - pulls;
        let (diagonal, g, gain) = (&room.diagonal[..stride], &room.g[..stride], &mut room.gain[..stride]);
        // `gain` first holds the Schur complement.
        for k in 0..stride {
            gain[k] = diagonal[k] - 2.0 * blend[k] + size;
        }
        let reference = &room.rows[row_of(tangent.reference) * stride..][..stride];
        for t in 0..tangent.m {
            let member = tangent.members[t];
            let shift = blend[at(member)] - blend[at(tangent.reference)];
            let row = &room.rows[row_of(member) * stride..][..stride];
            let (known, z) = room.tangent.split_at_mut(t * stride);
            let z = &mut z[..stride];
            for k in 0..stride {
                z[k] = row[k] - reference[k] - shift;
            }
            for (c, known) in known.chunks_exact(stride).enumerate() {
                let l = tangent.l[t][c];
                for k in 0..stride {
                    z[k] -= l * known[k];
                }
            }
            let scale = tangent.l[t][t];
            for k in 0..stride {
                z[k] *= scale;
                gain[k] -= z[k] * z[k];
            }
        }
        for k in 0..stride {
            let d = (level - (blend[k] - g[k])).max(0.0);
            let full = (diagonal[k] - 2.0 * blend[k] + size) * 1e-9 + 1e-300;
            gain[k] = value - d * d / gain[k].max(full);
        }
        for k in 0..gram.columns {
            let below = |other: f64| gain[k] < other - slack(other, diagonal[k]);
            if below(best[2].0) && !support.holds(k) {
                let place = if below(best[0].0) { 0 } else { 1 + usize::from(!below(best[1].0)) };
                best[place..].rotate_right(1);
                best[place] = (gain[k], out, k);
            }
        }
    }
    let mut found: Option<(Support, f64)> = None;
    for (bound, out, j) in best {
        if bound >= limit {
            break;
        }
        if let Some((changed, value)) = exchange(support, Some(out), j, most, room)
            && value < found.as_ref().map_or(limit, |f| f.1 - slack(f.1, 0.0))
        {
            found = Some((changed, value));
        }
    }
    found
}
