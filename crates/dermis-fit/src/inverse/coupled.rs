//! Inverting a deformer that moves vertices because others moved, such as one that smooths.
//!
//! No vertex can then be searched on its own. The search iterates on the whole mesh instead,
//!
//! ```text
//! d ← d + g(d),      g_v = A_v⁻¹ (t − S(p + d))_v
//! ```
//!
//! where A_v says how vertex v moves when all vertices are shifted together. A deformer that smooths a little passes shifts on
//! unchanged, and the iteration converges. It converges slowly where the deformer smooths strongly, and no displacement brings
//! back what the deformer flattens altogether.
//! Anderson acceleration combines the last iterates so that the linear part of g vanishes. The best iterate is kept.
//!
//! Source: Anderson 1965; as formulated by Walker & Ni 2011, "Anderson acceleration for fixed-point iterations".

use dermis_rig::glam::{DMat3, DVec3};

/// Iterates that are combined.
const DEPTH: usize = 8;
/// A change that differs from later ones by less than this part of itself tells nothing new.
const ALIKE: f64 = 1e-7;
/// The iteration ends when this many calls did not lower the residual by [`WORTH`] of it.
const PATIENCE: usize = 40;
const WORTH: f64 = 0.01;
/// A residual this many times the best one sends the iteration back there, with half the step.
const LOST: f64 = 4.0;

/// The last iterate with its step g, and how both changed before.
#[derive(Default)]
struct History {
    d: Vec<DVec3>,
    g: Vec<DVec3>,
    /// Δg and Δd + Δg, the oldest first.
    changes: Vec<(Vec<DVec3>, Vec<DVec3>)>,
}

/// Iterates from rest until every vertex is within the tolerance, nothing is gained, or no call is left.
///
/// - `residual`: t − S(p); `inverses`: A_v⁻¹
/// - `evaluate`: returns t − S(p + d), or `None` if no call is left for it
/// - result: the best displacements
///
/// # Errors
/// The error of `evaluate`.
pub(super) fn iterate<E>(
    mut residual: Vec<DVec3>,
    inverses: &[DMat3],
    tolerance: f64,
    mut evaluate: impl FnMut(&[DVec3]) -> Result<Option<Vec<DVec3>>, E>,
) -> Result<Vec<DVec3>, E> {
    let mut d = vec![DVec3::ZERO; residual.len()];
    let mut best = (squares(&residual), d.clone(), residual.clone());
    let (mut marked, mut since, mut damping) = (best.0, 0, 1.0);
    let mut history = History::default();
    while residual.iter().any(|r| r.length() > tolerance) {
        let g: Vec<DVec3> = inverses.iter().zip(&residual).map(|(a, r)| *a * *r * damping).collect();
        d = history.next(d, g);
        let Some(next) = evaluate(&d)? else { break };
        residual = next;
        let size = squares(&residual);
        if size < best.0 {
            best = (size, d.clone(), residual.clone());
        } else if size > LOST * LOST * best.0 {
            (d, residual) = (best.1.clone(), best.2.clone());
            history = History::default();
            damping *= 0.5;
        }
        since += 1;
        if best.0 < (1.0 - WORTH) * (1.0 - WORTH) * marked {
            (marked, since) = (best.0, 0);
        } else if since >= PATIENCE {
            break;
        }
    }
    // The last iterate may be the first within the tolerance everywhere without the least sum of squares.
    let done = residual.iter().all(|r| r.length() <= tolerance);
    Ok(if done { d } else { best.1 })
}

impl History {
    /// d + g − Σ γ_j (Δd_j + Δg_j), with γ the least squares solution of g ≈ Σ γ_j Δg_j.
    fn next(&mut self, d: Vec<DVec3>, g: Vec<DVec3>) -> Vec<DVec3> {
        if !self.d.is_empty() {
            if self.changes.len() == DEPTH {
                self.changes.remove(0);
            }
            let of_g = difference(&g, &self.g);
            let of_both = add(&difference(&d, &self.d), 1.0, &of_g);
            self.changes.push((of_g, of_both));
        }
        let mut next = add(&d, 1.0, &g);
        // Gram and Schmidt, the newest first: Δg becomes orthogonal, and Δd + Δg follows.
        let mut orthogonal: Vec<(Vec<DVec3>, Vec<DVec3>, f64)> = Vec::new();
        for (of_g, of_both) in self.changes.iter().rev() {
            let (mut q, mut both) = (of_g.clone(), of_both.clone());
            for (earlier, earlier_both, square) in &orthogonal {
                let share = dot(&q, earlier) / square;
                (q, both) = (add(&q, -share, earlier), add(&both, -share, earlier_both));
            }
            let square = dot(&q, &q);
            if square > ALIKE * ALIKE * dot(of_g, of_g) {
                next = add(&next, -dot(&q, &g) / square, &both);
                orthogonal.push((q, both, square));
            }
        }
        (self.d, self.g) = (d, g);
        next
    }
}

/// a + t b
fn add(a: &[DVec3], t: f64, b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a + *b * t).collect()
}

fn difference(a: &[DVec3], b: &[DVec3]) -> Vec<DVec3> {
    a.iter().zip(b).map(|(a, b)| *a - *b).collect()
}

fn dot(a: &[DVec3], b: &[DVec3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.dot(*b)).sum()
}

fn squares(r: &[DVec3]) -> f64 {
    dot(r, r)
}
