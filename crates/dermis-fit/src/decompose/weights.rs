//! Weights given transforms: every vertex by itself, from Gram matrices that no frame is read for.
//!
//! With G = T Tᵀ, H_kl = p̃ G_kl p̃ᵀ is ten monomials of p̃ times a table of bone pairs, and g_k = p̃ T_k xᵀ comes from
//! one product U Tᵀ.

use super::lanes::Eight;
use super::matrix::{Matrix, multiply};
use super::problem::{LANES, MONOMIALS, PAIRS, Points};
use super::support::{MOST, Quadratic, Support};
use dermis_solve::faer::MatRef;
use dermis_solve::simd::{self, Fma, Kernel};
use rayon::prelude::*;
use std::cell::RefCell;

/// Bones are padded to a multiple of the widest registers.
const PAD: usize = 8;
/// Vertices that share a product and a thread.
const BLOCK: usize = 64;

/// The transforms of the bones, T: row i·stride + k is coordinate i of bone k, r columns.
#[derive(Clone, Debug)]
pub(super) struct Bones {
    pub count: usize,
    /// `count` rounded up; the rows beyond are zero.
    pub stride: usize,
    pub t: Matrix,
}

impl Bones {
    pub fn zeros(count: usize, cols: usize) -> Self {
        let stride = count.next_multiple_of(PAD);
        Self { count, stride, t: Matrix::zeros(4 * stride, cols) }
    }
    pub fn row(&self, i: usize, k: usize) -> &[f64] {
        self.t.row(i * self.stride + k)
    }
    pub fn row_mut(&mut self, i: usize, k: usize) -> &mut [f64] {
        self.t.row_mut(i * self.stride + k)
    }
    /// The bones `from`, in that order.
    pub fn selected(&self, from: &[usize]) -> Self {
        let mut made = Self::zeros(from.len(), self.t.cols);
        for (k, &old) in from.iter().enumerate() {
            (0..4).for_each(|i| made.row_mut(i, k).copy_from_slice(self.row(i, old)));
        }
        made
    }
    /// The bones of all parts, one part after the other.
    pub fn joined(parts: &[&Self]) -> Self {
        let mut made = Self::zeros(parts.iter().map(|part| part.count).sum(), parts[0].t.cols);
        let every = parts.iter().flat_map(|part| (0..part.count).map(move |k| (part, k)));
        for (k, (part, old)) in every.enumerate() {
            (0..4).for_each(|i| made.row_mut(i, k).copy_from_slice(part.row(i, old)));
        }
        made
    }
}

/// The tables of H between bones (rows) and columns, which are the same bones or candidates for new ones.
#[derive(Clone)]
pub(super) struct Gram {
    /// Columns, padded.
    stride: usize,
    columns: usize,
    /// [row][monomial][column].
    wide: Vec<f64>,
    /// [row][column][monomial]; empty for candidates.
    near: Vec<[f64; MONOMIALS]>,
    /// [monomial][column] of H_jj.
    diagonal: Vec<f64>,
}

impl Gram {
    pub fn of(bones: &Bones) -> Self {
        Self::between(bones, bones, true)
    }
    /// H between the bones and candidates.
    pub fn candidates(bones: &Bones, candidates: &Bones) -> Self {
        Self::between(bones, candidates, false)
    }
    fn between(rows: &Bones, columns: &Bones, same: bool) -> Self {
        let (b, stride) = (rows.count, columns.stride);
        let g = rows.t.times_transposed(&columns.t);
        let own = if same { None } else { Some(columns.t.times_transposed(&columns.t)) };
        let mut wide = vec![0.0; b * MONOMIALS * stride];
        for k in 0..b {
            for (m, &(i, j)) in PAIRS.iter().enumerate() {
                let table = &mut wide[(k * MONOMIALS + m) * stride..][..stride];
                table.copy_from_slice(&g.row(i * rows.stride + k)[j * stride..][..stride]);
                if i != j {
                    let other = &g.row(j * rows.stride + k)[i * stride..][..stride];
                    table.iter_mut().zip(other).for_each(|(t, o)| *t += o);
                }
            }
        }
        let own = own.as_ref().unwrap_or(&g);
        let mut diagonal = vec![0.0; MONOMIALS * stride];
        for (m, &(i, j)) in PAIRS.iter().enumerate() {
            let twice = if i == j { 1.0 } else { 2.0 };
            (0..stride).for_each(|k| diagonal[m * stride + k] = twice * own.row(i * stride + k)[j * stride + k]);
        }
        let near = if same {
            (0..b * stride)
                .map(|at| std::array::from_fn(|m| wide[((at / stride) * MONOMIALS + m) * stride + at % stride]))
                .collect()
        } else {
            Vec::new()
        };
        Self { stride, columns: columns.count, wide, near, diagonal }
    }
}

/// What a pass over the vertices may do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pass {
    /// K.
    pub most: usize,
    /// How many bones may enter a vertex; none: weights are solved on the support they have.
    pub entries: usize,
    /// Whether a member may be exchanged when none enters.
    pub swap: bool,
    /// A change of support must lower the energy by this part of |x|².
    pub threshold: f64,
}

/// How well a vertex is met by y = Σ w p̃ T.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fit {
    /// |x − y|².
    pub energy: f64,
    /// x · y.
    pub pull: f64,
}

/// Room for one vertex at a time.
struct Room {
    /// H between the members and all bones.
    rows: Vec<f64>,
    blend: Vec<f64>,
    diagonal: Vec<f64>,
    g: Vec<f64>,
    gain: Vec<f64>,
    tangent: Vec<f64>,
    product: Vec<f64>,
    /// g of the members and the energy, for every vertex of the block.
    pulls: Vec<[f64; MOST]>,
    energies: Vec<f64>,
    quadratic: Quadratic,
    trial: Quadratic,
}

thread_local! {
    static ROOM: RefCell<Room> = RefCell::new(Room::new(0));
}

impl Room {
    /// Lends this thread's room for tables of `stride` columns.
    fn lent<R>(stride: usize, work: impl FnOnce(&mut Self) -> R) -> R {
        ROOM.with_borrow_mut(|room| {
            if room.blend.len() != stride {
                *room = Self::new(stride);
            }
            work(room)
        })
    }

    fn new(stride: usize) -> Self {
        Self {
            rows: vec![0.0; MOST * stride],
            blend: vec![0.0; stride],
            diagonal: vec![0.0; stride],
            g: vec![0.0; stride],
            gain: vec![0.0; stride],
            tangent: vec![0.0; MOST * stride],
            product: vec![0.0; BLOCK * 4 * stride],
            pulls: vec![[0.0; MOST]; BLOCK],
            energies: vec![0.0; BLOCK],
            quadratic: Quadratic::default(),
            trial: Quadratic::default(),
        }
    }
}

/// Improves the weights of every vertex. Returns the sum of the energies.
pub(super) fn improve(
    points: &Points,
    bones: &Bones,
    gram: &Gram,
    supports: &mut [Support],
    fits: &mut [Fit],
    pass: Pass,
) -> f64 {
    let blocks = supports.par_chunks_mut(BLOCK).zip(fits.par_chunks_mut(BLOCK));
    blocks.enumerate().for_each(|(block, (supports, fits))| {
        Room::lent(bones.stride, |room| {
            let first = block * BLOCK;
            if pass.entries > 0 {
                products(points, first, supports.len(), bones, &mut room.product);
            }
            simd::run(Improve { points, bones, gram, supports, fits, pass, first, room });
        });
    });
    fits.iter().map(|fit| fit.energy).sum()
}

/// Single bones for all vertices: the one that comes closest.
pub(super) fn nearest(points: &Points, bones: &Bones, gram: &Gram) -> Vec<Support> {
    let mut supports = vec![Support::single(0); points.len()];
    supports.par_chunks_mut(BLOCK).enumerate().for_each(|(block, supports)| {
        Room::lent(bones.stride, |room| {
            let first = block * BLOCK;
            products(points, first, supports.len(), bones, &mut room.product);
            for (at, support) in supports.iter_mut().enumerate() {
                let v = first + at;
                pull(points, v, &room.product[at * 4 * bones.stride..], &mut room.g);
                squares(gram, &points.monomials[v], &mut room.diagonal);
                let energy = |k: usize| room.diagonal[k] - 2.0 * room.g[k];
                *support = Support::single((1..bones.count).fold(0, |b, k| if energy(k) < energy(b) { k } else { b }));
            }
        });
    });
    supports
}

/// U Tᵀ for a block of vertices.
fn products(points: &Points, first: usize, count: usize, bones: &Bones, product: &mut [f64]) {
    let (r, wide) = (points.trajectories.cols, 4 * bones.stride);
    let u = MatRef::from_row_major_slice(&points.trajectories.values[first * r..(first + count) * r], count, r);
    multiply(&mut product[..count * wide], u, bones.t.view().transpose());
}

/// g_k = Σ_i p̃_i (U Tᵀ)_ik.
#[inline(always)]
fn pull(points: &Points, v: usize, product: &[f64], g: &mut [f64]) {
    let p = &points.rest[v];
    let stride = g.len();
    let (a, rest) = product.split_at(stride);
    let (b, rest) = rest.split_at(stride);
    let (c, rest) = rest.split_at(stride);
    let d = &rest[..stride];
    for k in 0..stride {
        g[k] = p[0] * a[k] + p[1] * b[k] + p[2] * c[k] + p[3] * d[k];
    }
}

/// H_jj of every column.
#[inline(always)]
fn squares(gram: &Gram, monomials: &[f64; MONOMIALS], into: &mut [f64]) {
    combine(&gram.diagonal, gram.stride, monomials, into);
}

/// into_k = Σ_m monomial_m table[m][k].
#[inline(always)]
fn combine(table: &[f64], stride: usize, monomials: &[f64; MONOMIALS], into: &mut [f64]) {
    let into = &mut into[..stride];
    let rows: [&[f64]; MONOMIALS] = std::array::from_fn(|m| &table[m * stride..(m + 1) * stride]);
    for k in 0..stride {
        let even = monomials[0] * rows[0][k]
            + monomials[2] * rows[2][k]
            + monomials[4] * rows[4][k]
            + monomials[6] * rows[6][k]
            + monomials[8] * rows[8][k];
        let odd = monomials[1] * rows[1][k]
            + monomials[3] * rows[3][k]
            + monomials[5] * rows[5][k]
            + monomials[7] * rows[7][k]
            + monomials[9] * rows[9][k];
        into[k] = even + odd;
    }
}

struct Improve<'a> {
    points: &'a Points,
    bones: &'a Bones,
    gram: &'a Gram,
    supports: &'a mut [Support],
    fits: &'a mut [Fit],
    pass: Pass,
    first: usize,
    room: &'a mut Room,
}

impl Kernel for Improve<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(mut self) {
        let wide = 4 * self.bones.stride;
        let look = self.pass.entries > 0;
        for at in 0..self.supports.len() {
            let v = self.first + at;
            for (a, (k, _)) in self.supports[at].members().enumerate() {
                self.room.pulls[at][a] = match look {
                    true => pull_of(self.points, v, &self.room.product[at * wide..], self.bones.stride, k),
                    false => pulled(self.points, v, self.bones, k),
                };
            }
        }
        self.solve_eights::<2>();
        self.solve_eights::<3>();
        self.solve_eights::<4>();
        self.solve_eights::<5>();
        for at in 0..self.supports.len() {
            if !(2..=5).contains(&self.supports[at].n) {
                self.solve_alone(at);
            }
            let pulls = &self.room.pulls[at];
            let mut pull = (0..self.supports[at].n).map(|a| self.supports[at].weights[a] * pulls[a]).sum();
            let support = &mut self.supports[at];
            if support.weights[..support.n].iter().any(|&w| w < 1e-9) {
                support.normalise();
            }
            let mut energy = self.room.energies[at];
            if look {
                let v = self.first + at;
                let (monomials, square) = (&self.points.monomials[v], self.points.squares[v]);
                let room = &mut *self.room;
                self::pull(self.points, v, &room.product[at * wide..(at + 1) * wide], &mut room.g);
                energy = look_around(self.gram, monomials, square, support, energy, self.pass, room);
                pull = support.members().map(|(k, w)| w * room.g[k]).sum();
            }
            self.fits[at] = Fit { energy: energy.max(0.0), pull };
        }
    }
}

impl Improve<'_> {
    /// Weights on the support they have, of every vertex with N bones; where one would be negative the vertex is solved
    /// alone.
    #[inline(always)]
    fn solve_eights<const N: usize>(&mut self) {
        let mut chosen = [0; BLOCK];
        let mut count = 0;
        for at in (0..self.supports.len()).filter(|&at| self.supports[at].n == N) {
            chosen[count] = at;
            count += 1;
        }
        for start in (0..count).step_by(LANES) {
            let lanes = LANES.min(count - start);
            // Lanes beyond the last vertex repeat it.
            let vertices: [usize; LANES] = std::array::from_fn(|lane| chosen[start + lane.min(lanes - 1)]);
            let supports = &self.supports;
            let table = |a: usize, b: usize, at: usize| {
                let bones = &supports[at].bones;
                &self.gram.near[bones[a] as usize * self.gram.stride + bones[b] as usize]
            };
            let eight = Eight::<N> {
                monomials: vertices.map(|at| &self.points.monomials[self.first + at]),
                tables: std::array::from_fn(|a| {
                    std::array::from_fn(|b| vertices.map(|at| table(a.max(b), a.min(b), at)))
                }),
                g: std::array::from_fn(|a| vertices.map(|at| self.room.pulls[at][a])),
            };
            let had = std::array::from_fn(|a| vertices.map(|at| supports[at].weights[a]));
            let solved = eight.solve(&had);
            for (lane, &at) in vertices.iter().enumerate().take(lanes) {
                let square = self.points.squares[self.first + at];
                if (0..N).any(|a| solved.weights[a][lane] < 0.0) {
                    self.solve_alone(at);
                } else if solved.value[lane] < solved.before[lane] {
                    (0..N).for_each(|a| self.supports[at].weights[a] = solved.weights[a][lane]);
                    self.room.energies[at] = square + solved.value[lane];
                } else {
                    self.room.energies[at] = square + solved.before[lane];
                }
            }
        }
    }

    /// Weights on the support it has, of one vertex.
    #[inline(always)]
    fn solve_alone(&mut self, at: usize) {
        let monomials = &self.points.monomials[self.first + at];
        let square = self.points.squares[self.first + at];
        let (support, room) = (&mut self.supports[at], &mut *self.room);
        let n = support.n;
        room.quadratic.n = n;
        for a in 0..n {
            room.quadratic.g[a] = room.pulls[at][a];
            for b in 0..=a {
                let table = &self.gram.near[support.bones[a] as usize * self.gram.stride + support.bones[b] as usize];
                let h = (0..MONOMIALS).map(|m| monomials[m] * table[m]).sum();
                (room.quadratic.h[a][b], room.quadratic.h[b][a]) = (h, h);
            }
        }
        let before = square + room.quadratic.value(&support.weights);
        let mut w = support.weights;
        let solved = square + room.quadratic.minimise(&mut w);
        room.energies[at] = before;
        if solved < before {
            (support.weights, room.energies[at]) = (w, solved);
        }
    }
}

/// g_k of one bone from the products of its vertex.
#[inline(always)]
fn pull_of(points: &Points, v: usize, product: &[f64], stride: usize, k: usize) -> f64 {
    let p = &points.rest[v];
    p[0] * product[k] + p[1] * product[stride + k] + p[2] * product[2 * stride + k] + p[3] * product[3 * stride + k]
}

/// g_k of one bone.
#[inline(always)]
fn pulled(points: &Points, v: usize, bones: &Bones, k: usize) -> f64 {
    let (p, u) = (&points.rest[v], points.trajectories.row(v));
    let rows: [&[f64]; 4] = std::array::from_fn(|i| &bones.row(i, k)[..u.len()]);
    // Eight sums at once: the order of additions is the same on every machine.
    let mut sums = [0.0; 8];
    let whole = u.len() / 8 * 8;
    for at in (0..whole).step_by(8) {
        for lane in 0..8 {
            let c = at + lane;
            sums[lane] += u[c] * (p[0] * rows[0][c] + p[1] * rows[1][c] + p[2] * rows[2][c] + p[3] * rows[3][c]);
        }
    }
    let mut sum: f64 = sums.iter().sum();
    for c in whole..u.len() {
        sum += u[c] * (p[0] * rows[0][c] + p[1] * rows[1][c] + p[2] * rows[2][c] + p[3] * rows[3][c]);
    }
    sum
}

/// Lets bones enter or be exchanged; returns the energy.
#[inline(always)]
fn look_around(
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
    squares(gram, monomials, &mut room.diagonal);
    let mut improved = false;
    for _ in 0..pass.entries {
        fill(gram, monomials, support, room);
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

/// H and g of the support, with the rows of H against all bones.
#[inline(always)]
fn fill(gram: &Gram, monomials: &[f64; MONOMIALS], support: &Support, room: &mut Room) {
    let stride = gram.stride;
    room.quadratic.n = support.n;
    for a in 0..support.n {
        let k = support.bones[a] as usize;
        let table = &gram.wide[k * MONOMIALS * stride..(k + 1) * MONOMIALS * stride];
        combine(table, stride, monomials, &mut room.rows[a * stride..(a + 1) * stride]);
        room.quadratic.g[a] = room.g[k];
    }
    for a in 0..support.n {
        for b in 0..support.n {
            room.quadratic.h[a][b] = room.rows[a * stride + support.bones[b] as usize];
        }
    }
}

/// The bone towards which a step from the present blend gains most, and the gain: with d_j = w·∇ − ∇_j and
/// n_j² = |p̃ T_j − y|² the step l = min(1, d_j / n_j²) gains l (2 d_j − l n_j²).
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

/// The bone towards which a step from `room.blend` gains most, and the gain; `level` is w·∇ and `size` |y|² there.
#[inline(always)]
fn best_step(
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
        if gain[k] > best.map_or(0.0, |(_, gain)| gain) && !support.holds(k) {
            best = Some((k, gain[k]));
        }
    }
    best
}

/// The support with bone `j` in and member `out` gone, solved; the least useful member goes too if they are too many.
/// Returns it with wᵀHw − 2 w·g.
#[inline(always)]
fn exchange(support: &Support, out: Option<usize>, j: usize, most: usize, room: &mut Room) -> Option<(Support, f64)> {
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

/// The best exchange of one member for another bone, if it gets below `limit`.
///
/// For every member i the optimum without i is taken; then, for every bone j, the gain along its direction with the
/// tangent space of the remaining members projected out. The best three pairs are solved exactly.
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
        // gain holds the Schur complement first.
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
            if gain[k] < best[2].0 && !support.holds(k) {
                best[2] = (gain[k], out, k);
                if best[2].0 < best[1].0 {
                    best.swap(1, 2);
                }
                if best[1].0 < best[0].0 {
                    best.swap(0, 1);
                }
            }
        }
    }
    let mut found: Option<(Support, f64)> = None;
    for (bound, out, j) in best {
        if bound >= limit {
            break;
        }
        if let Some((changed, value)) = exchange(support, Some(out), j, most, room)
            && value < found.as_ref().map_or(limit, |f| f.1)
        {
            found = Some((changed, value));
        }
    }
    found
}

/// For candidates: how much every vertex would gain from each, summed over vertices, against the present blend.
pub(super) fn candidate_gains(
    points: &Points,
    supports: &[Support],
    fits: &[Fit],
    candidates: &Bones,
    against: &Gram,
) -> Vec<f64> {
    let blocks: Vec<Vec<f64>> = supports
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, supports)| {
            let mut product = vec![0.0; BLOCK * 4 * candidates.stride];
            let mut total = vec![0.0; candidates.stride];
            products(points, block * BLOCK, supports.len(), candidates, &mut product);
            simd::run(Gains {
                points,
                against,
                supports,
                fits,
                product: &product,
                first: block * BLOCK,
                total: &mut total,
                steps: None,
            });
            total
        })
        .collect();
    let mut total = vec![0.0; candidates.count];
    for block in blocks {
        total.iter_mut().zip(block).for_each(|(t, b)| *t += b);
    }
    total
}

/// The step l_v of every vertex towards one candidate.
pub(super) fn candidate_steps(
    points: &Points,
    supports: &[Support],
    fits: &[Fit],
    candidate: &Bones,
    against: &Gram,
) -> Vec<f64> {
    let mut steps = vec![0.0; supports.len()];
    steps.par_chunks_mut(BLOCK).zip(supports.par_chunks(BLOCK)).enumerate().for_each(|(block, (steps, supports))| {
        let mut product = vec![0.0; BLOCK * 4 * candidate.stride];
        let mut total = vec![0.0; candidate.stride];
        products(points, block * BLOCK, supports.len(), candidate, &mut product);
        simd::run(Gains {
            points,
            against,
            supports,
            fits,
            product: &product,
            first: block * BLOCK,
            total: &mut total,
            steps: Some(steps),
        });
    });
    steps
}

struct Gains<'a> {
    points: &'a Points,
    against: &'a Gram,
    supports: &'a [Support],
    /// Of all points.
    fits: &'a [Fit],
    product: &'a [f64],
    first: usize,
    total: &'a mut [f64],
    /// Filled with the steps towards the first candidate.
    steps: Option<&'a mut [f64]>,
}

impl Kernel for Gains<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(mut self) {
        let stride = self.against.stride;
        let (mut g, mut diagonal, mut blend, mut row) =
            (vec![0.0; stride], vec![0.0; stride], vec![0.0; stride], vec![0.0; stride]);
        for (at, support) in self.supports.iter().enumerate() {
            let v = self.first + at;
            let monomials = &self.points.monomials[v];
            pull(self.points, v, &self.product[at * 4 * stride..(at + 1) * 4 * stride], &mut g);
            squares(self.against, monomials, &mut diagonal);
            blend.fill(0.0);
            for (k, w) in support.members() {
                let table = &self.against.wide[k * MONOMIALS * stride..(k + 1) * MONOMIALS * stride];
                combine(table, stride, monomials, &mut row);
                for c in 0..stride {
                    blend[c] += w * row[c];
                }
            }
            // |y|² and y·(y − x), from |x − y|² and x·y.
            let fit = self.fits[v];
            let size = fit.energy - self.points.squares[v] + 2.0 * fit.pull;
            let level = size - fit.pull;
            let (g, diagonal, blend, total) =
                (&g[..stride], &diagonal[..stride], &blend[..stride], &mut self.total[..stride]);
            for c in 0..stride {
                let d = level - (blend[c] - g[c]);
                let n = (diagonal[c] - 2.0 * blend[c] + size).max(1e-300);
                let l = (d / n).clamp(0.0, 1.0);
                total[c] += l * (2.0 * d - l * n);
            }
            if let Some(steps) = &mut self.steps {
                let d = level - (blend[0] - g[0]);
                let n = (diagonal[0] - 2.0 * blend[0] + size).max(1e-300);
                steps[at] = (d / n).clamp(0.0, 1.0);
            }
        }
    }
}

/// What it would cost to do without each bone: over its vertices, the energy re-solved without it, one entry allowed,
/// less the present one.
pub(super) fn removal_costs(
    points: &Points,
    bones: &Bones,
    gram: &Gram,
    supports: &[Support],
    fits: &[Fit],
    most: usize,
) -> Vec<f64> {
    let blocks: Vec<Vec<f64>> = supports
        .par_chunks(BLOCK)
        .enumerate()
        .map(|(block, supports)| {
            Room::lent(bones.stride, |room| {
                let first = block * BLOCK;
                let mut costs = vec![0.0; bones.count];
                products(points, first, supports.len(), bones, &mut room.product);
                simd::run(Removal { points, gram, supports, fits, most, first, room, costs: &mut costs });
                costs
            })
        })
        .collect();
    let mut total = vec![0.0; bones.count];
    for block in blocks {
        total.iter_mut().zip(block).for_each(|(t, b)| *t += b);
    }
    total
}

struct Removal<'a> {
    points: &'a Points,
    gram: &'a Gram,
    supports: &'a [Support],
    fits: &'a [Fit],
    most: usize,
    first: usize,
    room: &'a mut Room,
    costs: &'a mut [f64],
}

impl Kernel for Removal<'_> {
    type Output = ();
    #[inline(always)]
    fn run<F: Fma>(self) {
        let stride = self.gram.stride;
        for (at, support) in self.supports.iter().enumerate() {
            let v = self.first + at;
            let (monomials, square) = (&self.points.monomials[v], self.points.squares[v]);
            pull(self.points, v, &self.room.product[at * 4 * stride..(at + 1) * 4 * stride], &mut self.room.g);
            squares(self.gram, monomials, &mut self.room.diagonal);
            fill(self.gram, monomials, support, self.room);
            for (out, (bone, _)) in support.members().enumerate() {
                let value = without(support, out, bone, self.gram.columns, stride, self.most, self.room);
                self.costs[bone] += (square + value - self.fits[v].energy).max(0.0);
            }
        }
    }
}

/// wᵀHw − 2 w·g without one member, one other bone allowed in.
#[inline(always)]
fn without(
    support: &Support,
    out: usize,
    bone: usize,
    columns: usize,
    stride: usize,
    most: usize,
    room: &mut Room,
) -> f64 {
    let row_of = |a: usize| if a == out { support.n - 1 } else { a };
    let trial = &mut room.trial;
    trial.copy(&room.quadratic);
    if support.n == 1 {
        let value = |k: usize| room.diagonal[k] - 2.0 * room.g[k];
        return (0..columns).filter(|&k| k != bone).map(value).fold(f64::INFINITY, f64::min);
    }
    trial.remove(out);
    let mut w = [0.0; MOST];
    let value = trial.minimise(&mut w);
    let blend = &mut room.blend[..stride];
    blend.fill(0.0);
    for a in 0..trial.n {
        let row = &room.rows[row_of(a) * stride..][..stride];
        for k in 0..stride {
            blend[k] += w[a] * row[k];
        }
    }
    let (mut size, mut level) = (0.0, 0.0);
    for a in 0..trial.n {
        let k = support.bones[row_of(a)] as usize;
        size += w[a] * blend[k];
        level += w[a] * (blend[k] - room.g[k]);
    }
    let Some((j, _)) = best_step(support, level, size, columns, stride, room) else { return value };
    exchange(support, Some(out), j, most, room).map_or(value, |(_, exact)| exact.min(value))
}
