//! Least squares over the simplex: few non-negative numbers that sum to one, by a primal active set.
//!
//! Minimises q(w) = wᵀH w − 2 gᵀw over w ≥ 0, Σ w = 1, with H = AᵀA and g = Aᵀb of a least-squares problem |A w − b|². Entries
//! may be held at given values; the others then share what is left of one. The number of entries can be limited to K.
//!
//! ```
//! use dermis_solve::simplex::{Entry, Quadratic};
//! // The point of the segment between (1, 0) and (0, 1) nearest to (0.9, 0.3): w = (0.8, 0.2).
//! let q = Quadratic::new(vec![1.0, 0.0, 0.0, 1.0], vec![0.9, 0.3])?;
//! let w = q.minimise(&[Entry::Free; 2], None).weights;
//! assert!((w[0] - 0.8).abs() < 1e-15 && (w[1] - 0.2).abs() < 1e-15);
//! # Ok::<(), dermis_solve::SolveError>(())
//! ```
//!
//! Source: Nocedal & Wright 2006, Numerical Optimization, algorithm 16.3, with the sum eliminated by the largest entry. Departure: H
//! may be singular. A free direction of no curvature is followed to its first bound, so free entries stay independent.

use crate::SolveError;

/// Entries at or below this are no entries when they are counted.
pub const NEGLIGIBLE: f64 = 1e-9;

/// Which values an entry may take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Entry {
    /// Any non-negative number.
    Free,
    /// This number; zero leaves the entry out.
    Held(f64),
}

/// A convex quadratic q(w) = wᵀH w − 2 gᵀw.
#[derive(Clone, Debug, PartialEq)]
pub struct Quadratic {
    /// H, n × n, symmetric positive semidefinite.
    gram: Vec<f64>,
    /// g.
    linear: Vec<f64>,
}

/// A minimum of a [`Quadratic`].
#[derive(Clone, Debug, PartialEq)]
pub struct Minimum {
    /// w.
    pub weights: Vec<f64>,
    /// q(w).
    pub value: f64,
    /// Steps of the active set.
    pub steps: usize,
    /// Whether the conditions of a minimum hold to the tolerance; false if the steps ran out first.
    pub converged: bool,
}

impl Minimum {
    /// How many entries exceed [`NEGLIGIBLE`].
    pub fn count(&self) -> usize {
        self.weights.iter().filter(|w| **w > NEGLIGIBLE).count()
    }
}

impl Quadratic {
    /// A quadratic from H (n × n, either order of its entries: it is symmetric) and g (n).
    ///
    /// # Errors
    /// [`SolveError::Shape`], [`SolveError::NotFinite`].
    pub fn new(gram: Vec<f64>, linear: Vec<f64>) -> Result<Self, SolveError> {
        if gram.len() != linear.len() * linear.len() {
            return Err(SolveError::Shape { rows: gram.len(), targets: linear.len() });
        }
        if !gram.iter().chain(&linear).all(|x| x.is_finite()) {
            return Err(SolveError::NotFinite);
        }
        Ok(Self { gram, linear })
    }

    /// How many entries w has.
    pub fn len(&self) -> usize {
        self.linear.len()
    }
    /// Whether w has no entry.
    pub fn is_empty(&self) -> bool {
        self.linear.is_empty()
    }
    /// The mean of H's diagonal; zero without entries.
    pub fn mean_diagonal(&self) -> f64 {
        let n = self.len();
        (0..n).map(|i| self.gram[i * n + i]).sum::<f64>() / n.max(1) as f64
    }

    /// How q curves from entry j to entry i: H_ii − 2 H_ij + H_jj, the squared distance of two columns of A.
    pub fn curvature(&self, i: usize, j: usize) -> f64 {
        let n = self.len();
        self.gram[i * n + i] - 2.0 * self.gram[i * n + j] + self.gram[j * n + j]
    }

    /// Adds d |w − towards|², but for a constant.
    ///
    /// # Panics
    /// If `towards` has another number of entries.
    pub fn add_ridge(&mut self, d: f64, towards: &[f64]) {
        let n = self.len();
        assert_eq!(towards.len(), n, "a ridge towards another number of entries");
        for (i, t) in towards.iter().enumerate() {
            self.gram[i * n + i] += d;
            self.linear[i] += d * t;
        }
    }

    /// Adds Σ dᵢ wᵢ² − 2 Σ lᵢ wᵢ.
    ///
    /// # Panics
    /// If there are fewer numbers than entries.
    pub fn add(&mut self, d: &[f64], l: &[f64]) {
        let n = self.len();
        for i in 0..n {
            self.gram[i * n + i] += d[i];
            self.linear[i] += l[i];
        }
    }

    /// Adds s (wᵢ² − wᵢ wⱼ), or s wᵢ² without j. Called for i and j and for j and i, it adds s (wᵢ − wⱼ)².
    pub fn couple(&mut self, i: usize, j: Option<usize>, s: f64) {
        let n = self.len();
        self.gram[i * n + i] += s;
        if let Some(j) = j {
            self.gram[i * n + j] -= 0.5 * s;
            self.gram[j * n + i] -= 0.5 * s;
        }
    }

    /// q(w).
    pub fn value(&self, w: &[f64]) -> f64 {
        let n = self.len();
        (0..n).filter(|&i| w[i] != 0.0).map(|i| w[i] * (dot(&self.gram[i * n..][..n], w) - 2.0 * self.linear[i])).sum()
    }

    /// The minimum over w ≥ 0, Σ w = 1, with some entries held.
    ///
    /// Stops when every multiplier H w − g + ν of an entry at zero is at least −1e-11 tr(H)/n. If held entries leave nothing of one,
    /// or no entry is free, free entries are zero and only the held ones count. `start` is where to begin; its free entries
    /// are scaled to what is left. Without it, the best single entry.
    ///
    /// # Panics
    /// If `entries` or `start` have another number of entries.
    pub fn minimise(&self, entries: &[Entry], start: Option<&[f64]>) -> Minimum {
        assert_eq!(entries.len(), self.len(), "another number of entries");
        let mut w: Vec<f64> = entries.iter().map(|e| if let Entry::Held(value) = e { *value } else { 0.0 }).collect();
        let left = 1.0 - w.iter().sum::<f64>();
        let free: Vec<usize> = (0..w.len()).filter(|&i| entries[i] == Entry::Free).collect();
        if free.is_empty() || left <= 0.0 {
            let value = self.value(&w);
            return Minimum { weights: w, value, steps: 0, converged: true };
        }
        let begun = start.is_some_and(|start| {
            assert_eq!(start.len(), w.len(), "a start with another number of entries");
            let sum: f64 = free.iter().map(|&i| start[i].max(0.0)).sum();
            if sum > 0.0 {
                free.iter().for_each(|&i| w[i] = start[i].max(0.0) * (left / sum));
            }
            sum > 0.0
        });
        if !begun {
            let gradient = self.gradient(&w);
            let alone = |i: usize| left * (left * self.gram[i * self.len() + i] + 2.0 * gradient[i]);
            if let Some(&best) = free.iter().min_by(|&&a, &&b| alone(a).total_cmp(&alone(b))) {
                w[best] = left;
            }
        }
        let (steps, converged) = self.active_set(&free, &mut w, left);
        let value = self.value(&w);
        Minimum { weights: w, value, steps, converged }
    }

    /// As [`Quadratic::minimise`], with at most `most` entries above [`NEGLIGIBLE`]; held ones count, but one free entry always remains.
    ///
    /// While there are too many, the smallest free one is left out and the rest solved again. A heuristic: the best subset is a
    /// combinatorial problem.
    pub fn minimise_sparse(&self, entries: &[Entry], most: usize) -> Minimum {
        let (mut entries, mut found) = (entries.to_vec(), self.minimise(entries, None));
        let is_free = |e: &Entry| *e == Entry::Free;
        while found.count() > most {
            let w = &found.weights;
            let used: Vec<usize> = (0..w.len()).filter(|&i| is_free(&entries[i]) && w[i] > NEGLIGIBLE).collect();
            if used.len() < 2 {
                break;
            }
            // In single precision: of entries that are equal but for rounding, as on a plane of symmetry, the first goes.
            let by = |at: usize| w[at] as f32;
            let Some(&least) = used.iter().min_by(|&&a, &&b| by(a).total_cmp(&by(b))) else { break };
            entries[least] = Entry::Held(0.0);
            found = self.minimise(&entries, Some(&found.weights));
        }
        if found.weights.iter().zip(&entries).any(|(w, e)| is_free(e) && *w > 0.0 && *w <= NEGLIGIBLE) {
            let dust = |(e, w): (&Entry, &f64)| if is_free(e) && *w <= NEGLIGIBLE { Entry::Held(0.0) } else { *e };
            let entries: Vec<Entry> = entries.iter().zip(&found.weights).map(dust).collect();
            found = self.minimise(&entries, Some(&found.weights));
        }
        found
    }

    /// A sparse minimum made better by exchanging one entry at a time for another of `pool`, until no exchange helps.
    ///
    /// `entries` are those of the call that found it. Every exchange lowers q, so this ends; it is cut off after as many exchanges as
    /// there are entries.
    pub fn exchange(&self, entries: &[Entry], pool: &[usize], found: Minimum) -> Minimum {
        let mut best = found;
        for _ in 0..self.len() {
            let used: Vec<usize> =
                (0..self.len()).filter(|&i| entries[i] == Entry::Free && best.weights[i] > 0.0).collect();
            let mut only: Vec<Entry> = entries.to_vec();
            only.iter_mut().filter(|e| **e == Entry::Free).for_each(|e| *e = Entry::Held(0.0));
            used.iter().for_each(|&i| only[i] = Entry::Free);
            let mut better: Option<Minimum> = None;
            let slack = 1e-12 * (best.value.abs() + self.mean_diagonal());
            for &new in pool.iter().filter(|&&i| entries[i] == Entry::Free && best.weights[i] == 0.0) {
                only[new] = Entry::Free;
                for &old in &used {
                    only[old] = Entry::Held(0.0);
                    let tried = self.minimise(&only, Some(&best.weights));
                    if tried.value < better.as_ref().map_or(best.value - slack, |b| b.value) {
                        better = Some(tried);
                    }
                    only[old] = Entry::Free;
                }
                only[new] = Entry::Held(0.0);
            }
            match better {
                Some(better) => best = better,
                None => break,
            }
        }
        best
    }

    /// Half the gradient, H w − g.
    fn gradient(&self, w: &[f64]) -> Vec<f64> {
        let n = self.len();
        let mut gradient: Vec<f64> = self.linear.iter().map(|g| -g).collect();
        for (j, &weight) in w.iter().enumerate().filter(|(_, w)| **w != 0.0) {
            for (out, h) in gradient.iter_mut().zip(&self.gram[j * n..][..n]) {
                *out += weight * h;
            }
        }
        gradient
    }

    /// Moves the free entries of `w`, which are feasible and sum to `left`, to the minimum. Steps taken, and whether it was reached.
    fn active_set(&self, free: &[usize], w: &mut [f64], left: f64) -> (usize, bool) {
        let n = self.len();
        let tolerance = 1e-11 * self.mean_diagonal();
        let cap = 100 + 20 * free.len();
        let mut active: Vec<usize> = free.iter().copied().filter(|&i| w[i] > 0.0).collect();
        let mut barred = vec![false; n];
        let mut added = None;
        for step in 0..cap {
            if active.len() > 1 {
                let (direction, curved) = self.direction(&active, w);
                let limit = |d: f64, i: usize| if d < 0.0 { w[i] / -d } else { f64::INFINITY };
                let block = (0..active.len())
                    .min_by(|&a, &b| limit(direction[a], active[a]).total_cmp(&limit(direction[b], active[b])));
                let Some(block) = block else { return (step, false) };
                let longest = limit(direction[block], active[block]);
                let stopped = longest.is_finite() && (!curved || longest < 1.0);
                let length = if stopped { longest } else { f64::from(u8::from(curved)) };
                for (&i, d) in active.iter().zip(&direction) {
                    w[i] = (w[i] + length * d).max(0.0);
                }
                if stopped {
                    // Rounding can make an entry that was just let in want to leave at once: it stays out.
                    let out = active.remove(block);
                    w[out] = 0.0;
                    barred[out] |= added == Some(out) && length == 0.0;
                    continue;
                }
                active.retain(|&i| w[i] > 0.0);
            }
            let gradient = self.gradient(w);
            let nu = -active.iter().map(|&i| w[i] * gradient[i]).sum::<f64>() / left;
            let outside = free.iter().copied().filter(|&i| w[i] == 0.0 && !barred[i]);
            let next = outside.min_by(|&a, &b| gradient[a].total_cmp(&gradient[b]));
            match next.filter(|&i| gradient[i] + nu < -tolerance) {
                None => {
                    // What rounding left of the sum goes to the largest entry.
                    let sum: f64 = free.iter().map(|&i| w[i]).sum();
                    if let Some(&largest) = active.iter().max_by(|&&a, &&b| w[a].total_cmp(&w[b])) {
                        w[largest] += left - sum;
                    }
                    return (step, true);
                }
                Some(i) => {
                    active.push(i);
                    added = Some(i);
                }
            }
        }
        (cap, false)
    }

    /// Where the minimum over the active entries lies, seen from `w`, and true; or a direction of no curvature along which q does not
    /// rise, and false. Its entries sum to zero.
    fn direction(&self, active: &[usize], w: &[f64]) -> (Vec<f64>, bool) {
        let n = self.len();
        let h = |i: usize, j: usize| self.gram[active[i] * n + active[j]];
        let largest = |a: &usize, b: &usize| w[active[*a]].total_cmp(&w[active[*b]]);
        let pivot = (0..active.len()).max_by(largest).unwrap_or(0);
        let others: Vec<usize> = (0..active.len()).filter(|&i| i != pivot).collect();
        let gradient = self.gradient(w);
        let slope: Vec<f64> = others.iter().map(|&i| gradient[active[i]] - gradient[active[pivot]]).collect();
        let m = others.len();
        let mut factor = vec![0.0; m * m];
        let mut shift: Vec<f64> = slope.iter().map(|s| -s).collect();
        let mut curved = true;
        for i in 0..m {
            let (a, size) = (others[i], h(others[i], others[i]) + h(pivot, pivot));
            for j in 0..=i {
                let b = others[j];
                let reduced = h(a, b) - h(a, pivot) - h(pivot, b) + h(pivot, pivot);
                let left = reduced - dot(&factor[i * m..][..j], &factor[j * m..][..j]);
                if j < i {
                    factor[i * m + j] = left / factor[j * m + j];
                } else if left > 1e-12 * reduced + 1e-15 * size {
                    factor[i * m + i] = left.sqrt();
                } else {
                    // Column i is a combination of those before it: L_beforeᵀ z = −l_i gives the direction (z, 1, 0, …).
                    shift = vec![0.0; m];
                    (0..i).for_each(|k| shift[k] = -factor[i * m + k]);
                    shift[i] = 1.0;
                    solve_transposed(&factor, m, i, &mut shift);
                    if dot(&shift, &slope) > 0.0 {
                        shift.iter_mut().for_each(|s| *s = -*s);
                    }
                    curved = false;
                }
            }
            if !curved {
                break;
            }
            shift[i] = (shift[i] - dot(&factor[i * m..][..i], &shift[..i])) / factor[i * m + i];
        }
        if curved {
            solve_transposed(&factor, m, m, &mut shift);
        }
        let mut direction = vec![0.0; active.len()];
        direction[pivot] = -shift.iter().sum::<f64>();
        others.iter().zip(&shift).for_each(|(&i, s)| direction[i] = *s);
        (direction, curved)
    }
}

/// Solves Lᵀ x = b in place for the leading `size` rows of a lower triangular L stored in rows of `m`.
fn solve_transposed(factor: &[f64], m: usize, size: usize, b: &mut [f64]) {
    for i in (0..size).rev() {
        let known: f64 = (i + 1..size).map(|k| factor[k * m + i] * b[k]).sum();
        b[i] = (b[i] - known) / factor[i * m + i];
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stream of numbers in −1..1 (linear congruential, high bits).
    struct Stream(u64);
    impl Stream {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
        }
        fn below(&mut self, n: usize) -> usize {
            ((self.next() + 1.0) * 0.5 * n as f64) as usize % n
        }
        fn many(&mut self, n: usize) -> Vec<f64> {
            (0..n).map(|_| self.next()).collect()
        }
    }

    /// |A w − b|² as a quadratic, with its constant b·b. `columns` are those of A.
    fn normal_equations(columns: &[Vec<f64>], b: &[f64]) -> (Quadratic, f64) {
        let gram = columns.iter().flat_map(|a| columns.iter().map(move |c| dot(a, c))).collect();
        (Quadratic::new(gram, columns.iter().map(|a| dot(a, b)).collect()).unwrap(), dot(b, b))
    }

    fn random(stream: &mut Stream, n: usize, rows: usize) -> (Quadratic, f64) {
        let columns: Vec<Vec<f64>> = (0..n).map(|_| stream.many(rows)).collect();
        let b = stream.many(rows);
        normal_equations(&columns, &b)
    }

    /// The conditions of a minimum: feasible, gradients of positive entries equal, none at zero smaller.
    fn assert_minimum(q: &Quadratic, entries: &[Entry], found: &Minimum, tolerance: f64) {
        assert!(found.converged, "{found:?}");
        let (w, gradient) = (&found.weights, q.gradient(&found.weights));
        let held: f64 = entries.iter().map(|e| if let Entry::Held(v) = e { *v } else { 0.0 }).sum();
        assert!((w.iter().sum::<f64>() - held.max(1.0)).abs() < 1e-14 || entries.iter().all(|e| *e != Entry::Free));
        let free = || (0..w.len()).filter(|&i| entries[i] == Entry::Free);
        let least = free().map(|i| gradient[i]).fold(f64::INFINITY, f64::min);
        for i in free() {
            assert!(w[i] >= 0.0, "{w:?}");
            assert!(w[i] == 0.0 || gradient[i] - least <= tolerance, "{w:?} {gradient:?}");
        }
        for (i, entry) in entries.iter().enumerate() {
            assert!(*entry == Entry::Free || *entry == Entry::Held(w[i]));
        }
    }

    /// Enough rows and too few, equal columns, zero columns, huge and tiny scales, held entries: it always ends at a minimum.
    /// Tolerance: the solver's 1e-11 tr(H)/n, and rounding of the normal equations at conditions up to 1e12 (the pivots' cut).
    #[test]
    fn a_hundred_thousand_random_problems_end_at_a_minimum() {
        let mut stream = Stream(5);
        for case in 0..100_000 {
            let (n, rows) = (1 + stream.below(8), 1 + stream.below(12));
            let scale = 10f64.powi(stream.below(9) as i32 - 4);
            let mut columns: Vec<Vec<f64>> =
                (0..n).map(|_| stream.many(rows).iter().map(|x| x * scale).collect()).collect();
            match case % 5 {
                0 if n > 1 => columns[n - 1] = columns[0].clone(),
                1 => columns[stream.below(n)] = vec![0.0; rows],
                2 => columns[n - 1] = columns[0].iter().map(|x| x * (1.0 + 1e-9)).collect(),
                _ => {}
            }
            let b: Vec<f64> = stream.many(rows).iter().map(|x| x * scale).collect();
            let (q, _) = normal_equations(&columns, &b);
            let mut entries = vec![Entry::Free; n];
            if case % 7 == 0 {
                entries[stream.below(n)] = Entry::Held([0.0, 0.3, 1.0, 1.4][stream.below(4)]);
            }
            let found = q.minimise(&entries, None);
            assert_minimum(&q, &entries, &found, 1e-9 * scale * scale * rows as f64);
            assert!(found.steps < 60, "{} steps", found.steps);
        }
    }

    /// Oracle: the best over all subsets of entries, each solved by its own linear system (bordered, by elimination) if feasible.
    #[test]
    fn the_minimum_is_that_of_enumeration() {
        let mut stream = Stream(11);
        for _ in 0..3000 {
            let n = 1 + stream.below(5);
            let (q, _) = random(&mut stream, n, n + 3);
            let best =
                (1u32..1 << n).filter_map(|set| bordered(&q, set)).map(|w| q.value(&w)).fold(f64::INFINITY, f64::min);
            let found = q.minimise(&vec![Entry::Free; n], None);
            assert!((found.value - best).abs() < 1e-11, "{} {best}", found.value);
        }
    }

    /// The stationary point on a subset of entries by Gauss elimination of [H 1; 1ᵀ 0], or `None` if an entry is negative.
    fn bordered(q: &Quadratic, set: u32) -> Option<Vec<f64>> {
        let n = q.len();
        let at: Vec<usize> = (0..n).filter(|i| set >> i & 1 == 1).collect();
        let m = at.len() + 1;
        let mut rows: Vec<Vec<f64>> = (0..m)
            .map(|i| {
                let entry = |j: usize| match (at.get(i), at.get(j)) {
                    (Some(a), Some(b)) => q.gram[a * n + b],
                    (None, None) => 0.0,
                    _ => 1.0,
                };
                (0..m).map(entry).chain([at.get(i).map_or(1.0, |&a| q.linear[a])]).collect()
            })
            .collect();
        for c in 0..m {
            let p = (c..m).max_by(|&a, &b| rows[a][c].abs().total_cmp(&rows[b][c].abs()))?;
            rows.swap(c, p);
            for r in (0..m).filter(|&r| r != c) {
                let f = rows[r][c] / rows[c][c];
                for k in c..=m {
                    rows[r][k] -= f * rows[c][k];
                }
            }
        }
        let mut w = vec![0.0; n];
        at.iter().enumerate().for_each(|(i, &a)| w[a] = rows[i][m] / rows[i][i]);
        w.iter().all(|w| *w >= 0.0).then_some(w)
    }

    #[test]
    fn exact_data_give_exact_weights() {
        let mut stream = Stream(3);
        for _ in 0..200 {
            let columns: Vec<Vec<f64>> = (0..6).map(|_| stream.many(15)).collect();
            let mut w = [0.5, 0.0, 0.2, 0.3, 0.0, 0.0];
            w.rotate_left(stream.below(6));
            let b: Vec<f64> = (0..15).map(|r| (0..6).map(|k| columns[k][r] * w[k]).sum()).collect();
            let (q, constant) = normal_equations(&columns, &b);
            let found = q.minimise(&[Entry::Free; 6], None);
            assert!(found.weights.iter().zip(w).all(|(a, b)| (a - b).abs() < 1e-12), "{:?}", found.weights);
            assert!((found.value + constant).abs() < 1e-12);
            let sparse = q.minimise_sparse(&[Entry::Free; 6], 3).weights;
            assert!(sparse.iter().zip(w).all(|(a, b)| (a - b).abs() < 1e-12 && (*a > 0.0) == (b > 0.0)), "{sparse:?}");
        }
    }

    /// Oracle: every subset of that many entries. With exchanges the error |A w − b| is within 1 % of the best subset's, and never
    /// worse than without.
    #[test]
    fn few_entries_are_nearly_the_best_few() {
        let mut stream = Stream(23);
        let (mut worst, mut worst_without, mut missed) = (1.0f64, 1.0f64, 0);
        for _ in 0..1500 {
            let (n, most) = (5 + stream.below(4), 2 + stream.below(3));
            let (q, constant) = random(&mut stream, n, 20);
            let subsets = (0u32..1 << n).filter(|s| s.count_ones() as usize == most);
            let best = subsets
                .map(|set| {
                    let entry = |i| if set >> i & 1 == 1 { Entry::Free } else { Entry::Held(0.0) };
                    q.minimise(&(0..n).map(entry).collect::<Vec<_>>(), None).value
                })
                .fold(f64::INFINITY, f64::min);
            let free = vec![Entry::Free; n];
            let plain = q.minimise_sparse(&free, most);
            let exchanged = q.exchange(&free, &(0..n).collect::<Vec<_>>(), plain.clone());
            assert!(plain.count() <= most && exchanged.count() <= most && exchanged.value <= plain.value);
            let ratio = |value: f64| ((value + constant) / (best + constant)).sqrt();
            worst = worst.max(ratio(exchanged.value));
            worst_without = worst_without.max(ratio(plain.value));
            missed += usize::from(ratio(exchanged.value) > 1.0 + 1e-9);
        }
        println!("worst {worst}, without exchanges {worst_without}, missed {missed}");
        assert!(worst < 1.01 && worst_without > worst, "{worst} {worst_without}");
    }

    #[test]
    fn a_start_changes_the_way_and_not_the_end() {
        let mut stream = Stream(31);
        for _ in 0..500 {
            let (q, _) = random(&mut stream, 7, 12);
            let cold = q.minimise(&[Entry::Free; 7], None);
            let start: Vec<f64> = stream.many(7);
            let warm = q.minimise(&[Entry::Free; 7], Some(&start));
            assert!(cold.weights.iter().zip(&warm.weights).all(|(a, b)| (a - b).abs() < 1e-9));
            assert!(q.minimise(&[Entry::Free; 7], Some(&cold.weights)).steps <= 1);
        }
    }

    #[test]
    fn nothing_to_go_by_still_gives_weights() {
        let alone = Quadratic::new(vec![2.0], vec![7.0]).unwrap();
        assert_eq!(alone.minimise(&[Entry::Free], None).weights, [1.0]);
        let mut flat = Quadratic::new(vec![0.0; 9], vec![0.0; 3]).unwrap();
        assert_eq!(flat.minimise(&[Entry::Free; 3], None).weights.iter().sum::<f64>(), 1.0);
        flat.add_ridge(1e-9, &[1.0 / 3.0; 3]);
        let even = flat.minimise(&[Entry::Free; 3], None).weights;
        assert!(even.iter().all(|w| (w - 1.0 / 3.0).abs() < 1e-12), "{even:?}");
        let none = Quadratic::new(vec![], vec![]).unwrap();
        assert!(none.is_empty() && none.minimise(&[], None).weights.is_empty());
        assert_eq!(alone.minimise(&[Entry::Held(0.25)], None).weights, [0.25]);
        assert!(Quadratic::new(vec![1.0; 3], vec![1.0; 2]).is_err());
        assert_eq!(Quadratic::new(vec![f64::NAN], vec![1.0]), Err(SolveError::NotFinite));
    }

    #[test]
    fn a_ridge_shares_between_equal_columns() {
        let (mut q, _) = normal_equations(&[vec![1.0, 0.0], vec![1.0, 0.0], vec![0.0, 1.0]], &[0.8, 0.2]);
        q.add_ridge(1e-9, &[1.0 / 3.0; 3]);
        let w = q.minimise(&[Entry::Free; 3], None).weights;
        assert!((w[0] - 0.4).abs() < 1e-8 && (w[1] - 0.4).abs() < 1e-8, "{w:?}");
    }
}
