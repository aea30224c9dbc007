//! The weights of one vertex: a quadratic over a simplex of a few bones.
//!
//! E(w) = |x|² − 2 w·g + wᵀ H w with H_kl = y_k·y_l and g_k = y_k·x, y_k being where bone k takes the vertex.

use crate::decompose::ties::EQUAL;

/// The most bones of a vertex, one that is about to enter included.
pub const MOST: usize = 24;
/// Weights below are zero.
const TINY: f64 = 1e-9;
/// The ridge of an equality solve over the trace of its matrix.
pub const RIDGE: f64 = 1e-10;

/// The bones of a vertex and their weights: the first `n` of each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Support {
    pub n: usize,
    pub bones: [u32; MOST],
    pub weights: [f64; MOST],
}

impl Support {
    pub fn single(bone: usize) -> Self {
        let mut support = Self { n: 1, bones: [0; MOST], weights: [0.0; MOST] };
        (support.bones[0], support.weights[0]) = (bone as u32, 1.0);
        support
    }
    pub fn members(&self) -> impl Iterator<Item = (usize, f64)> {
        (0..self.n).map(|i| (self.bones[i] as usize, self.weights[i]))
    }
    pub fn holds(&self, bone: usize) -> bool {
        self.bones[..self.n].contains(&(bone as u32))
    }
    /// Takes a bone out and scales the others up; false if it was alone.
    pub fn without(&self, bone: usize) -> Option<Self> {
        let mut rest = Self { n: 0, ..*self };
        for (k, w) in self.members().filter(|&(k, _)| k != bone) {
            (rest.bones[rest.n], rest.weights[rest.n]) = (k as u32, w);
            rest.n += 1;
        }
        rest.n.gt(&0).then(|| {
            rest.normalise();
            rest
        })
    }
    /// Drops zeros and makes the sum one.
    pub fn normalise(&mut self) {
        let mut n = 0;
        for i in 0..self.n {
            if self.weights[i] >= TINY {
                (self.bones[n], self.weights[n]) = (self.bones[i], self.weights[i]);
                n += 1;
            }
        }
        self.n = n;
        let sum: f64 = self.weights[..n].iter().sum();
        self.weights[..n].iter_mut().for_each(|w| *w /= sum);
    }
}

/// How close y = Σ_k w_k p̃ T_k comes to the trajectory x of a vertex.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fit {
    /// |x − y|².
    pub energy: f64,
    /// x · y.
    pub pull: f64,
}

/// H and g of a few bones.
#[derive(Clone, Debug)]
pub struct Quadratic {
    pub n: usize,
    pub h: [[f64; MOST]; MOST],
    pub g: [f64; MOST],
    differences: Differences,
}

impl Default for Quadratic {
    fn default() -> Self {
        let differences = Differences { members: [0; MOST], m: 0, reference: 0, l: [[0.0; MOST]; MOST] };
        Self { n: 0, h: [[0.0; MOST]; MOST], g: [0.0; MOST], differences }
    }
}

/// The Cholesky factor of the quadratic in differences to one member, the reference. With A those differences and
/// L z = Aᵀc, |z|² is what of a direction c lies in the tangent space of the members.
#[derive(Clone, Debug)]
pub struct Differences {
    /// Members but the reference: the first `m`.
    pub members: [usize; MOST],
    pub m: usize,
    pub reference: usize,
    /// Lower factor; the diagonal holds reciprocals.
    pub l: [[f64; MOST]; MOST],
}

impl Quadratic {
    /// wᵀ H w − 2 w·g.
    #[inline(always)]
    pub fn value(&self, w: &[f64; MOST]) -> f64 {
        (0..self.n).map(|i| w[i] * ((0..self.n).map(|j| self.h[i][j] * w[j]).sum::<f64>() - 2.0 * self.g[i])).sum()
    }
    /// Takes member `i` out; the last one moves into its place.
    #[inline(always)]
    pub fn remove(&mut self, i: usize) {
        let last = self.n - 1;
        self.h[i] = self.h[last];
        (0..self.n).for_each(|r| self.h[r][i] = self.h[r][last]);
        self.g[i] = self.g[last];
        self.n = last;
    }

    /// Copies H and g, and nothing else, from another.
    #[inline(always)]
    pub fn copy(&mut self, other: &Self) {
        self.n = other.n;
        for a in 0..other.n {
            self.h[a][..other.n].copy_from_slice(&other.h[a][..other.n]);
            self.g[a] = other.g[a];
        }
    }

    #[inline(always)]
    fn factor(&mut self, active: &[usize]) {
        let d = &mut self.differences;
        (d.m, d.reference) = (active.len() - 1, active[0]);
        d.members[..d.m].copy_from_slice(&active[1..]);
        let r = d.reference;
        let mut trace = 0.0;
        for a in 0..d.m {
            let i = d.members[a];
            for b in 0..=a {
                let j = d.members[b];
                d.l[a][b] = self.h[i][j] - self.h[i][r] - self.h[r][j] + self.h[r][r];
            }
            trace += d.l[a][a];
        }
        let ridge = RIDGE * trace + 1e-300;
        for a in 0..d.m {
            d.l[a][a] += ridge;
            for b in 0..=a {
                let known: f64 = (0..b).map(|c| d.l[a][c] * d.l[b][c]).sum();
                let left = d.l[a][b] - known;
                d.l[a][b] = if b < a { left * d.l[b][b] } else { 1.0 / left.max(ridge * 1e-3).sqrt() };
            }
        }
    }

    /// The least value on the affine hull of `active`; its other entries of `w` are zero.
    #[inline(always)]
    fn on_hull(&mut self, active: &[usize], w: &mut [f64; MOST]) {
        w[..self.n].fill(0.0);
        if active.len() == 1 {
            w[active[0]] = 1.0;
            return;
        }
        self.factor(active);
        let d = &self.differences;
        let r = d.reference;
        let mut y = [0.0; MOST];
        for a in 0..d.m {
            let i = d.members[a];
            let right = (self.g[i] - self.g[r]) - (self.h[i][r] - self.h[r][r]);
            let known: f64 = (0..a).map(|c| d.l[a][c] * y[c]).sum();
            y[a] = (right - known) * d.l[a][a];
        }
        for a in (0..d.m).rev() {
            let known: f64 = (a + 1..d.m).map(|c| d.l[c][a] * y[c]).sum();
            y[a] = (y[a] - known) * d.l[a][a];
        }
        let mut sum = 0.0;
        for a in 0..d.m {
            w[d.members[a]] = y[a];
            sum += y[a];
        }
        w[r] = 1.0 - sum;
    }

    /// The least value on the simplex, by an active set that starts from all members; returns it.
    #[inline(always)]
    pub fn minimise(&mut self, w: &mut [f64; MOST]) -> f64 {
        let mut active = [0usize; MOST];
        (0..self.n).for_each(|i| active[i] = i);
        let mut count = self.n;
        // Every round drops or takes in one member; rounding could make it go round in circles.
        for _ in 0..4 * MOST {
            self.on_hull(&active[..count], w);
            let mut lowest = 0;
            (1..count).for_each(|a| {
                if w[active[a]] < w[active[lowest]] - EQUAL {
                    lowest = a;
                }
            });
            if w[active[lowest]] < 0.0 {
                active[lowest] = active[count - 1];
                count -= 1;
                continue;
            }
            if count == self.n {
                break;
            }
            let gradient = |i: usize| (0..self.n).map(|j| self.h[i][j] * w[j]).sum::<f64>() - self.g[i];
            let level: f64 = (0..self.n).map(|i| w[i] * gradient(i)).sum();
            let scale = (0..self.n).map(|i| self.h[i][i]).fold(0.0, f64::max);
            let (mut worst, mut enters) = (1e-13 * scale, None);
            for i in (0..self.n).filter(|i| !active[..count].contains(i)) {
                if level - gradient(i) > worst * (1.0 + EQUAL) {
                    (worst, enters) = (level - gradient(i), Some(i));
                }
            }
            let Some(i) = enters else { break };
            active[count] = i;
            count += 1;
        }
        w[..self.n].iter_mut().for_each(|w| *w = w.max(0.0));
        self.value(w)
    }

    /// The member whose removal costs least: w_i² / P_ii, P the inverse of the quadratic on zero-sum vectors.
    #[inline(always)]
    pub fn cheapest(&mut self, w: &[f64; MOST]) -> usize {
        let mut active = [0usize; MOST];
        (0..self.n).for_each(|i| active[i] = i);
        self.factor(&active[..self.n]);
        let d = &self.differences;
        // Columns of L⁻¹: P = L⁻ᵀ L⁻¹ on the differences; the reference's entry is minus the sum of the others.
        let mut p = [0.0; MOST];
        let mut reference = [0.0; MOST];
        for c in 0..d.m {
            let mut column = [0.0; MOST];
            for a in c..d.m {
                let known: f64 = (c..a).map(|b| d.l[a][b] * column[b]).sum();
                column[a] = (f64::from(u8::from(a == c)) - known) * d.l[a][a];
            }
            p[d.members[c]] = (c..d.m).map(|a| column[a] * column[a]).sum();
            (c..d.m).for_each(|a| reference[a] += column[a]);
        }
        p[d.reference] = reference[..d.m].iter().map(|x| x * x).sum();
        let cost = |i: usize| w[i] * w[i] / p[i].max(1e-300);
        (1..self.n).fold(0, |best, i| if cost(i) < cost(best) * (1.0 - EQUAL) { i } else { best })
    }

    /// The differences of the members of positive weight.
    #[inline(always)]
    pub fn tangent(&mut self, w: &[f64; MOST]) -> &Differences {
        let mut active = [0usize; MOST];
        let mut count = 0;
        for i in (0..self.n).filter(|&i| w[i] > TINY) {
            active[count] = i;
            count += 1;
        }
        self.factor(&active[..count.max(1)]);
        &self.differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_solve::Random;

    fn quadratic(n: usize, dimensions: usize, random: &mut Random) -> Quadratic {
        let y: Vec<Vec<f64>> = (0..n).map(|_| (0..dimensions).map(|_| random.unit() - 0.5).collect()).collect();
        let x: Vec<f64> = (0..dimensions).map(|_| random.unit() - 0.5).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let mut q = Quadratic { n, ..Default::default() };
        for i in 0..n {
            q.g[i] = dot(&y[i], &x);
            (0..n).for_each(|j| q.h[i][j] = dot(&y[i], &y[j]));
        }
        q
    }

    /// Oracle: the least feasible value over the hulls of all subsets.
    fn exhaustive(q: &mut Quadratic) -> f64 {
        let mut best = f64::INFINITY;
        for subset in 1u32..1 << q.n {
            let active: Vec<usize> = (0..q.n).filter(|i| subset >> i & 1 == 1).collect();
            let mut w = [0.0; MOST];
            q.on_hull(&active, &mut w);
            if w[..q.n].iter().all(|&w| w >= 0.0) {
                best = best.min(q.value(&w));
            }
        }
        best
    }

    #[test]
    fn the_least_value_on_the_simplex_is_that_of_its_best_face() {
        let mut random = Random::seeded(5);
        for case in 0..2000 {
            // Fewer dimensions than members: the quadratic is singular.
            let (n, dimensions) = (1 + random.below(6), 1 + random.below(8));
            let mut q = quadratic(n, dimensions, &mut random);
            let mut w = [0.0; MOST];
            let value = q.minimise(&mut w);
            assert!((w[..n].iter().sum::<f64>() - 1.0).abs() < 1e-9 && w.iter().all(|&w| w >= 0.0), "case {case}");
            // The ridge of 1e-10 of the trace is what both may be off by.
            assert!(value <= exhaustive(&mut q) + 1e-8, "case {case}: {value} against {}", exhaustive(&mut q));
        }
    }

    /// Oracle: every member removed in turn and the rest solved on its hull.
    #[test]
    fn the_cheapest_member_is_the_one_whose_removal_raises_least() {
        let mut random = Random::seeded(9);
        for _ in 0..300 {
            let mut q = quadratic(4, 9, &mut random);
            let mut w = [0.0; MOST];
            let all: Vec<usize> = (0..4).collect();
            q.on_hull(&all, &mut w);
            let cheapest = q.cheapest(&w);
            let value = |q: &mut Quadratic, out: usize| {
                let rest: Vec<usize> = (0..4).filter(|&i| i != out).collect();
                let mut w = [0.0; MOST];
                q.on_hull(&rest, &mut w);
                q.value(&w)
            };
            let least = (0..4).map(|out| value(&mut q, out)).fold(f64::INFINITY, f64::min);
            assert!(value(&mut q, cheapest) <= least + 1e-9);
        }
    }

    #[test]
    fn a_removed_member_leaves_the_quadratic_of_the_others() {
        let mut q = quadratic(5, 7, &mut Random::seeded(2));
        let before = q.clone();
        q.remove(1);
        let order = [0, 4, 2, 3];
        for (a, &i) in order.iter().enumerate() {
            assert_eq!(q.g[a], before.g[i]);
            order.iter().enumerate().for_each(|(b, &j)| assert_eq!(q.h[a][b], before.h[i][j]));
        }
    }
}
