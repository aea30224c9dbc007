//! Vertices solved in the lanes of the vector registers, without principal axes.
//!
//! With X the centred features of a group (rows × columns, scaled by r), D the vertex's influence map μ on the diagonal, y
//! its scaled targets, G = D XᵀX D and m = Σ r²,
//!
//! ```text
//! absolute ridge:      u = D (G + s I)⁻¹ D Xᵀ y
//! ridge over variance: u = D K⁻¹ D Xᵀ y,     K⁻¹ = Re (G + i a I)⁻¹,
//!                      a² = s m (Paper), s m² (Unit), s m² v_ref² (Relative)
//! ```
//!
//! since λ_h = s / v_h = s m / g_h makes K = G + s m G⁻¹ on the principal axes. Where the regression reads features as they
//! are but takes axes of centred ones (Paper), K gains m x̄ x̄ᵀ with x̄ = D mean, and by Sherman and Morrison
//!
//! ```text
//! z = q₁ − q₂ m (x̄ᵀq₁) / (1 + m x̄ᵀq₂),     q₁ = K⁻¹ (D Xᵀ y + x̄ Σ r y),     q₂ = K⁻¹ x̄.
//! ```
//!
//! With fewer rows than columns the same is solved among the rows (the dual form): with P = X D² Xᵀ, t = X D x̄,
//!
//! ```text
//! D Xᵀ y ↦ D Xᵀ Re (P + i a I)⁻¹ y,     x̄ ↦ −D Xᵀ Im (P + i a I)⁻¹ t / a.
//! ```

use super::scene::{Local, Scene, Table};
use super::settings::{Centring, MweSettings, RidgeMode};
use dermis_deform::enveloping::Rows;
use dermis_rig::{BoneIndex, Influences};
use dermis_solve::batched::{Complex, Number, Real, Systems, solve};
use dermis_solve::element::Element;
use dermis_solve::simd::{self, Buffer, Fma, Kernel, LANES_F32, Simd, WithSimd};
use std::ops::RangeInclusive;

/// Lanes of the widest block.
pub(super) const WIDEST: usize = LANES_F32;

/// What is added to the diagonal.
#[derive(Clone, Copy, Debug)]
enum Shift {
    /// s.
    Real(f64),
    /// a.
    Imaginary(f64),
}

impl Shift {
    /// Traces that are solved here in double precision, poses weighing `mass` in all.
    fn traces(self, mass: f64) -> RangeInclusive<f64> {
        match self {
            Self::Real(s) => 0.0..=s * MOST.0,
            Self::Imaginary(a) => LEAST * mass..=a * MOST.1,
        }
    }

    /// Traces that are solved in single precision.
    fn single_traces(self) -> RangeInclusive<f64> {
        let (least, shift, most) = match self {
            Self::Real(s) => (0.0, s, MOST_SINGLE.0),
            Self::Imaginary(a) => (LEAST_SINGLE * a, a, MOST_SINGLE.1),
        };
        match RANGE_SINGLE.contains(&shift) {
            true => least..=(shift * most).min(*RANGE_SINGLE.end()),
            false => 1.0..=0.0,
        }
    }
}

/// The largest trace over shift that is solved here; beyond, rounding is amplified too far and the principal axes,
/// which drop directions, take over. A real shift is only divided by, an imaginary one also separates g from a²/g.
const MOST: (f64, f64) = (1e12, 1e7);
/// The least trace over mass that is solved here: what hardly moves is left to the principal axes, which drop it.
const LEAST: f64 = 1e-14;
/// [`MOST`] in single precision, whose coefficients are off by up to about 6e-8 times the trace over the shift: 2 % at 6e5
/// under a real shift, where unseen poses of an arm differ by 2e-5 of its length. An imaginary one counts the mean as well.
const MOST_SINGLE: (f64, f64) = (1e6, 1e5);
/// The least trace over an imaginary shift in single precision: below, real parts are what is left of imaginary ones.
const LEAST_SINGLE: f64 = 1e-3;
/// Shifts and traces whose squares single precision can hold.
const RANGE_SINGLE: RangeInclusive<f64> = 1e-15..=1e15;

/// A column whose sum of squares is below the first, or below the second times that of all, does not move but for
/// rounding; under an absolute ridge it counts as zero, as do such principal axes of the reference.
const FROZEN_COLUMN: (f64, f64) = (1e-12, 1e-9);
/// The sum of squares up to which a column counts as zero.
fn frozen(squares: &[f64]) -> f64 {
    FROZEN_COLUMN.0.max(FROZEN_COLUMN.1 * squares.iter().sum::<f64>())
}

/// Cut-offs of principal axes up to this are harmless: directions below vanish by themselves.
const HARMLESS: f64 = 1e-8;

/// One regression of a group: all axes on all columns, or one axis on its own.
struct Part<T> {
    first_axis: usize,
    axes: usize,
    /// Columns of the group's matrices.
    columns: Vec<usize>,
    shift: Shift,
    /// Traces of D XᵀX D that are solved here.
    traces: RangeInclusive<f64>,
    /// X, column after column.
    x: Vec<T>,
    /// XᵀX, packed lower triangle; empty in the dual form.
    gram: Vec<T>,
    /// X_b X_bᵀ of each bone, packed lower triangle, one bone after another; empty in the primal form.
    kernels: Vec<T>,
    /// The diagonal of XᵀX.
    squares: Vec<T>,
    /// Mean of each column, where the regression reads features as they are; else empty.
    mean: Vec<T>,
    /// X_b mean_b of each bone, bones innermost (dual form).
    mean_rows: Vec<T>,
}

/// The regressions of one group.
pub(super) struct Blocks<T> {
    parts: Vec<Part<T>>,
    bones: usize,
    rows: usize,
    form: Rows,
    mass: f64,
    scale: Vec<f64>,
    centring: Centring,
    /// Whether targets come as Xᵀ y, rows summed already; always the primal form.
    summed: bool,
    /// What turns coefficients into the correction at the bind pose: rest − x0 per column; empty if zero.
    rest: Vec<f64>,
}

/// Memory a thread reuses, for each precision.
#[derive(Default)]
pub(super) struct Rooms {
    pub double: Room<f64>,
    pub single: Room<f32>,
}

/// Memory of one of them.
#[derive(Default)]
pub(super) struct Room<T> {
    factor: Buffer<T>,
    targets: Buffer<T>,
    sides: Buffer<T>,
    answers: Buffer<T>,
    coefficients: Buffer<T>,
    maps: Buffer<T>,
}

impl Rooms {
    /// The rooms of this thread, for one task.
    pub fn lent<T>(task: impl FnOnce(&mut Self) -> T) -> T {
        thread_local! {
            static ROOMS: std::cell::RefCell<Rooms> = std::cell::RefCell::default();
        }
        ROOMS.with_borrow_mut(task)
    }
}

/// A vertex, and the place of its coefficients.
pub(super) type Unsolved<'a> = (u32, &'a mut [f64]);

/// The vertices of a block, solved.
pub(super) struct Solved {
    /// Correction at the bind pose.
    pub constants: [[f64; 3]; WIDEST],
    /// ρ.
    pub largest: [f64; WIDEST],
    /// Whether the vertex could not be solved here.
    pub refused: [bool; WIDEST],
}

impl Blocks<f64> {
    /// The regressions of a group, or `None` if its form is not solved here.
    pub fn new(local: &Local, table: &Table, settings: &MweSettings, rows: Rows, s: f64) -> Option<Self> {
        let paper = settings.centring == Centring::Paper;
        let shift = |reference: f64| match settings.ridge {
            // Without the guard nothing welds joints that never moved, and only principal axes drop their rounding.
            RidgeMode::Absolute if paper || !settings.guard => None,
            RidgeMode::Absolute => (s > 0.0).then_some(Shift::Real(s)),
            _ if settings.eig_tol > HARMLESS || local.mass <= 0.0 => None,
            ridge => {
                let a = match ridge {
                    RidgeMode::Paper => (s * local.mass).sqrt(),
                    RidgeMode::Unit => s.sqrt() * local.mass,
                    _ => s.sqrt() * local.mass * reference,
                };
                (a > 0.0).then_some(Shift::Imaginary(a))
            }
        };
        let axes: &[(usize, usize)] = match rows {
            Rows::Full => &[(0, 3)],
            Rows::Row => &[(0, 1), (1, 1), (2, 1)],
        };
        let bones = local.bones.len();
        let parts = axes
            .iter()
            .filter(|_| bones > 0)
            .map(|&(first_axis, axes)| {
                let reference = local.reference[if axes == 3 { 3 } else { first_axis }];
                let own = |c: &usize| axes == 3 || (c % 12) / 4 == first_axis;
                let columns: Vec<usize> = (0..12 * bones).filter(own).collect();
                Some(Part::new(local, table, rows, first_axis, axes, columns, shift(reference)?, paper))
            })
            .collect::<Option<Vec<_>>>()?;
        let off = |c: usize| f64::from(u8::from(c % 4 == (c % 12) / 4)) - local.centre[c];
        let rest: Vec<f64> = (0..12 * bones).map(off).collect();
        Some(Self {
            parts,
            bones,
            rows: local.rows(),
            form: rows,
            mass: local.mass,
            scale: local.scale.clone(),
            centring: settings.centring,
            summed: false,
            rest: if rest.iter().all(|x| *x == 0.0) { vec![] } else { rest },
        })
    }

    /// The regressions of a group of `bones` bones under an absolute ridge s > 0, measured from the bind pose, of which
    /// the rows are summed already: `gram` gives the entries of XᵀX among columns 12·bone + entry.
    pub fn summed(bones: usize, rows: Rows, s: f64, gram: impl Fn(usize, usize) -> f64) -> Self {
        let axes: &[(usize, usize)] = match rows {
            Rows::Full => &[(0, 3)],
            Rows::Row => &[(0, 1), (1, 1), (2, 1)],
        };
        let parts = axes.iter().filter(|_| bones > 0).map(|&(first_axis, axes)| {
            let own = |c: &usize| axes == 3 || (c % 12) / 4 == first_axis;
            let columns: Vec<usize> = (0..12 * bones).filter(own).collect();
            let mut squares: Vec<f64> = columns.iter().map(|&c| gram(c, c)).collect();
            let frozen = frozen(&squares);
            squares.iter_mut().filter(|square| **square <= frozen).for_each(|square| *square = 0.0);
            let places = (0..columns.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            let packed = places.map(|(i, j)| match squares[i] > 0.0 && squares[j] > 0.0 {
                true => gram(columns[i], columns[j]),
                false => 0.0,
            });
            let (gram, shift, none) = (packed.collect(), Shift::Real(s), Vec::new);
            let (x, kernels, mean, mean_rows) = (none(), none(), none(), none());
            let traces = shift.traces(0.0);
            Part { first_axis, axes, columns, shift, traces, x, gram, kernels, squares, mean, mean_rows }
        });
        Self {
            parts: parts.collect(),
            bones,
            rows: 0,
            form: rows,
            mass: 0.0,
            scale: vec![],
            centring: Centring::Rest,
            summed: true,
            rest: vec![],
        }
    }

    /// Whether a vertex with this influence map can be solved in single precision.
    pub fn suits_single(&self, local: &Local, map: &[(BoneIndex, f64)]) -> bool {
        let squared = |k: usize| map.iter().find(|(b, _)| *b == local.bones[k]).map_or(0.0, |(_, mu)| mu * mu);
        let squared: Vec<f64> = (0..self.bones).map(squared).collect();
        self.parts.iter().all(|part| {
            let per_bone = part.columns.len() / self.bones.max(1);
            let trace: f64 = part.squares.iter().enumerate().map(|(c, square)| squared[c / per_bone] * square).sum();
            // What the regression reads where it reads features as they are.
            let mean = part.mean.iter().enumerate().map(|(c, mean)| squared[c / per_bone] * mean * mean);
            let traces = part.shift.single_traces();
            part.traces.contains(&trace)
                && traces.contains(&trace)
                && trace + self.mass * mean.sum::<f64>() <= *traces.end()
        })
    }

    /// The same in single precision: every number rounded once.
    pub fn single(&self) -> Blocks<f32> {
        let parts = self.parts.iter().map(|part| {
            let all = |numbers: &[f64]| numbers.iter().map(|x| *x as f32).collect();
            Part {
                first_axis: part.first_axis,
                axes: part.axes,
                columns: part.columns.clone(),
                shift: part.shift,
                traces: 0.0..=*RANGE_SINGLE.end(),
                x: all(&part.x),
                gram: all(&part.gram),
                kernels: all(&part.kernels),
                squares: all(&part.squares),
                mean: all(&part.mean),
                mean_rows: all(&part.mean_rows),
            }
        });
        let Self { bones, rows, form, mass, centring, summed, .. } = *self;
        let (scale, rest) = (self.scale.clone(), self.rest.clone());
        Blocks { parts: parts.collect(), bones, rows, form, mass, scale, centring, summed, rest }
    }
}

impl<T: Element> Blocks<T> {
    /// Solves up to [`Element::LANES`] vertices from their maps on the group's bones and their Xᵀ y, which is laid out as
    /// coefficients are and replaced by them. The result is which vertices could not be solved here.
    pub fn solve_summed(&self, maps: &[Vec<f64>], slots: &mut [Vec<f64>], room: &mut Room<T>) -> [bool; WIDEST] {
        let mu = room.maps.get(self.bones * T::LANES);
        mu.fill(T::default());
        for (lane, maps) in maps.iter().enumerate() {
            maps.iter().enumerate().for_each(|(k, value)| mu[k * T::LANES + lane] = T::rounded(*value));
        }
        let sums = room.targets.get(36 * self.bones * T::LANES);
        sums.fill(T::default());
        for (lane, slot) in slots.iter().enumerate() {
            slot.iter().enumerate().for_each(|(at, sum)| sums[at * T::LANES + lane] = T::rounded(*sum));
        }
        let mut refused = [false; WIDEST];
        for part in &self.parts {
            let lanes = simd::run_with(Run { blocks: self, part, room });
            (0..T::LANES).for_each(|lane| refused[lane] |= !lanes[lane]);
        }
        let u = room.coefficients.get(36 * self.bones * T::LANES);
        for (lane, slot) in slots.iter_mut().enumerate() {
            let of_lane = (0..slot.len()).map(|at| u[at * T::LANES + lane].wide());
            refused[lane] |= of_lane.clone().any(|u| !u.is_finite());
            if !refused[lane] {
                slot.iter_mut().zip(of_lane).for_each(|(place, u)| *place = u);
            }
        }
        refused
    }

    /// Solves up to [`Element::LANES`] vertices of the group; their coefficients go to their places, of 12 or 36 numbers per
    /// bone of the group.
    pub fn solve(
        &self,
        scene: &Scene<'_>,
        local: &Local,
        table: &Table,
        maps: &Influences,
        block: &mut [Unsolved<'_>],
        room: &mut Room<T>,
    ) -> Solved {
        let mut vertices = [0; WIDEST];
        vertices.iter_mut().zip(&*block).for_each(|(v, (of_lane, _))| *v = *of_lane);
        let vertices = &vertices[..block.len()];
        let mu = room.maps.get(self.bones * T::LANES);
        mu.fill(T::default());
        for (lane, &v) in vertices.iter().enumerate() {
            // Both lists ascend by bone.
            let mut row = maps.of(v as usize).iter();
            for (k, &bone) in local.bones.iter().enumerate() {
                mu[k * T::LANES + lane] = T::rounded(row.find(|(b, _)| *b == bone).map_or(0.0, |(_, mu)| *mu));
            }
        }
        let y = room.targets.get(3 * self.rows * T::LANES);
        y.fill(T::default());
        let largest = scene.residual_block(local, table, vertices, y);
        let mut means = [[0.0; 3]; WIDEST];
        if self.centring == Centring::Mean && self.mass > 0.0 {
            for (lane, means) in means.iter_mut().enumerate().take(vertices.len()) {
                for (j, mean) in means.iter_mut().enumerate() {
                    let of = |row: usize| (j * self.rows + row) * T::LANES + lane;
                    *mean = (0..self.rows).map(|row| self.scale[row] * y[of(row)].wide()).sum::<f64>() / self.mass;
                    (0..self.rows).for_each(|row| {
                        y[of(row)] = T::rounded(y[of(row)].wide() - self.scale[row] * *mean);
                    });
                }
            }
        }
        let mut refused = [false; WIDEST];
        for part in &self.parts {
            let lanes = simd::run_with(Run { blocks: self, part, room });
            (0..T::LANES).for_each(|lane| refused[lane] |= !lanes[lane]);
        }
        let mut constants = means;
        let size = self.form.coefficients();
        let u = room.coefficients.get(36 * self.bones * T::LANES);
        for (lane, (_, slot)) in block.iter_mut().enumerate() {
            for (at, place) in slot.iter_mut().enumerate() {
                *place = u[at * T::LANES + lane].wide();
            }
            for (c, rest) in self.rest.iter().enumerate() {
                for j in (0..3).filter(|&j| self.form == Rows::Full || (c % 12) / 4 == j) {
                    let within = if self.form == Rows::Full { 12 * j + c % 12 } else { c % 12 };
                    constants[lane][j] += slot[c / 12 * size + within] * rest;
                }
            }
            refused[lane] |= slot.iter().any(|u| !u.is_finite());
        }
        Solved { constants, largest, refused }
    }
}

impl Part<f64> {
    fn new(
        local: &Local,
        table: &Table,
        form: Rows,
        first_axis: usize,
        axes: usize,
        columns: Vec<usize>,
        shift: Shift,
        paper: bool,
    ) -> Self {
        let (rows, bones) = (local.rows(), local.bones.len());
        let per_bone = columns.len() / bones.max(1);
        let mut x = Vec::with_capacity(rows * columns.len());
        columns.iter().for_each(|&c| x.extend_from_slice(local.centred.col_as_slice(c)));
        let mut squares: Vec<f64> = vec![0.0; columns.len()];
        for (square, column) in squares.iter_mut().zip(x.chunks_exact(rows.max(1))) {
            *square = column.iter().map(|x| x * x).sum();
        }
        let frozen = match shift {
            Shift::Real(_) => frozen(&squares),
            Shift::Imaginary(_) => 0.0,
        };
        for (square, column) in squares.iter_mut().zip(x.chunks_exact_mut(rows.max(1))) {
            if *square <= frozen {
                column.fill(0.0);
                *square = 0.0;
            }
        }
        let column = |at: usize| &x[at * rows..(at + 1) * rows];
        let mean: Vec<f64> = if paper { columns.iter().map(|&c| local.mean[c]).collect() } else { vec![] };
        let dual = rows < columns.len();
        let (mut gram, mut kernels, mut mean_rows) = (vec![], vec![], vec![]);
        if dual {
            kernels = vec![0.0; rows * (rows + 1) / 2 * bones];
            simd::run(PerBone { x: &x, rows, per_bone, kernels: &mut kernels });
            if paper {
                mean_rows = vec![0.0; rows * bones];
                for at in 0..columns.len() {
                    for (row, x) in column(at).iter().enumerate() {
                        mean_rows[row * bones + at / per_bone] += x * mean[at];
                    }
                }
            }
        } else {
            gram = table.gram(local, &columns, form);
            let moves = |c: usize| squares[c] > 0.0;
            let places = (0..columns.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
            for (entry, (i, j)) in gram.iter_mut().zip(places) {
                if !moves(i) || !moves(j) {
                    *entry = 0.0;
                }
            }
        }
        let traces = shift.traces(local.mass);
        Self { first_axis, axes, columns, shift, traces, x, gram, kernels, squares, mean, mean_rows }
    }
}

impl<T> Part<T> {
    fn dual(&self) -> bool {
        self.gram.is_empty()
    }
}

/// X_b X_bᵀ of each bone.
struct PerBone<'a> {
    x: &'a [f64],
    rows: usize,
    per_bone: usize,
    kernels: &'a mut [f64],
}

impl Kernel for PerBone<'_> {
    type Output = ();

    #[inline(always)]
    fn run<F: Fma>(self) {
        let Self { x, rows, per_bone, kernels } = self;
        if rows == 0 {
            return;
        }
        let size = rows * (rows + 1) / 2;
        for (x, kernel) in x.chunks_exact(rows * per_bone).zip(kernels.chunks_exact_mut(size)) {
            for column in x.chunks_exact(rows) {
                let mut rest = &mut *kernel;
                for i in 0..rows {
                    let (row, after) = rest.split_at_mut(i + 1);
                    for (entry, other) in row.iter_mut().zip(column) {
                        *entry = F::f64(column[i], *other, *entry);
                    }
                    rest = after;
                }
            }
        }
    }
}

/// One part of one block.
struct Run<'a, T> {
    blocks: &'a Blocks<T>,
    part: &'a Part<T>,
    room: &'a mut Room<T>,
}

impl<T: Element> WithSimd for Run<'_, T> {
    /// Which lanes are well enough conditioned.
    type Output = [bool; WIDEST];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [bool; WIDEST] {
        let Self { blocks, part, room } = self;
        let (rows, bones, columns) = (blocks.rows, blocks.bones, part.columns.len());
        let per_bone = columns / bones.max(1);
        // A block of `T::LANES` numbers is this many vectors of the level.
        let vectors = T::LANES / T::lanes::<S>();
        let dual = part.dual();
        let size = if dual { rows } else { columns };
        let paper = !part.mean.is_empty();
        let sides = part.axes + usize::from(paper);
        let mut fine = [true; WIDEST];
        let mu = T::vectors::<S>(room.maps.get(bones * T::LANES));
        let targets = if blocks.summed { 36 * bones } else { 3 * rows };
        let y = T::vectors::<S>(room.targets.get(targets * T::LANES));
        // Where a column and axis stand in a vertex's coefficients.
        let place = |axis: usize, c: usize| match blocks.form {
            Rows::Full => 36 * (c / 12) + 12 * axis + c % 12,
            Rows::Row => c,
        };
        let out = T::vectors_mut::<S>(room.coefficients.get(36 * bones * T::LANES));
        for h in 0..vectors {
            let zero = T::splat(simd, T::default());
            let mu_at = |bone: usize| mu[bone * vectors + h];
            let y_at = |axis: usize, row: usize| y[((part.first_axis + axis) * rows + row) * vectors + h];
            // Squared maps, then right-hand sides, then answers, one vector each.
            let b = T::vectors_mut::<S>(room.sides.get((bones + columns + (sides + 1) * size) * T::lanes::<S>()));
            let (maps, b) = b.split_at_mut(bones);
            let (scales, b) = b.split_at_mut(columns);
            let mut trace = zero;
            for k in 0..bones {
                maps[k] = T::mul(simd, mu_at(k), mu_at(k));
            }
            for c in 0..columns {
                scales[c] = mu_at(c / per_bone);
                trace = T::mul_add(simd, maps[c / per_bone], T::splat(simd, part.squares[c]), trace);
            }
            let mut traces = [T::default(); WIDEST];
            T::store(simd, &mut traces[..T::lanes::<S>()], trace);
            for lane in 0..T::lanes::<S>() {
                fine[h * T::lanes::<S>() + lane] = part.traces.contains(&traces[lane].wide());
            }
            // Σ r y of each axis, by which features as they are differ from centred ones.
            let mut sums = [zero; 3];
            if paper {
                for axis in 0..part.axes {
                    for row in 0..rows {
                        let r = T::splat(simd, T::rounded(blocks.scale[row]));
                        sums[axis] = T::mul_add(simd, y_at(axis, row), r, sums[axis]);
                    }
                }
            }
            for axis in 0..part.axes {
                let side = &mut b[axis * size..(axis + 1) * size];
                if dual {
                    for row in 0..rows {
                        side[row] = y_at(axis, row);
                    }
                } else if blocks.summed {
                    for c in 0..columns {
                        side[c] = match part.squares[c] > T::default() {
                            true => T::mul(simd, y[place(axis, part.columns[c]) * vectors + h], scales[c]),
                            false => zero,
                        };
                    }
                } else {
                    let from = (part.first_axis + axis) * rows * vectors;
                    product::<S, T>(simd, &part.x, rows, &y[from..from + rows * vectors], h, vectors, side);
                    for c in 0..columns {
                        if paper {
                            side[c] = T::mul_add(simd, T::splat(simd, part.mean[c]), sums[axis], side[c]);
                        }
                        side[c] = T::mul(simd, side[c], scales[c]);
                    }
                }
            }
            if paper {
                let side = &mut b[part.axes * size..(part.axes + 1) * size];
                for i in 0..size {
                    side[i] = match dual {
                        true => {
                            let mut sum = zero;
                            for k in 0..bones {
                                sum = T::mul_add(simd, maps[k], T::splat(simd, part.mean_rows[i * bones + k]), sum);
                            }
                            sum
                        }
                        false => T::mul(simd, T::splat(simd, part.mean[i]), scales[i]),
                    };
                }
            }
            let z = T::vectors_mut::<S>(room.answers.get((sides + 1) * size * T::lanes::<S>()));
            {
                let (b, z) = (&*b, &mut *z);
                let imaginary_side = if paper && dual { part.axes } else { usize::MAX };
                match (part.shift, dual) {
                    (Shift::Real(s), false) => {
                        let mut systems = Primal { simd, gram: &part.gram, scales, b, z, size };
                        solve::<S, T, Real<T::Vector<S>>>(
                            simd,
                            &mut room.factor,
                            size,
                            T::rounded(s),
                            sides,
                            &mut systems,
                        );
                    }
                    (Shift::Real(s), true) => {
                        let mut systems = Dual { simd, kernels: &part.kernels, maps, b, z, size, imaginary_side };
                        solve::<S, T, Real<T::Vector<S>>>(
                            simd,
                            &mut room.factor,
                            size,
                            T::rounded(s),
                            sides,
                            &mut systems,
                        );
                    }
                    (Shift::Imaginary(a), false) => {
                        let mut systems = Primal { simd, gram: &part.gram, scales, b, z, size };
                        solve::<S, T, Complex<T::Vector<S>>>(
                            simd,
                            &mut room.factor,
                            size,
                            T::rounded(a),
                            sides,
                            &mut systems,
                        );
                    }
                    (Shift::Imaginary(a), true) => {
                        let mut systems = Dual { simd, kernels: &part.kernels, maps, b, z, size, imaginary_side };
                        solve::<S, T, Complex<T::Vector<S>>>(
                            simd,
                            &mut room.factor,
                            size,
                            T::rounded(a),
                            sides,
                            &mut systems,
                        );
                    }
                }
            }
            if paper {
                let (q, rest) = z.split_at_mut(part.axes * size);
                let q2 = &mut rest[..size];
                let mean = &b[part.axes * size..(part.axes + 1) * size];
                if let (Shift::Imaginary(a), true) = (part.shift, dual) {
                    let by = T::splat(simd, T::rounded(-1.0 / a));
                    for i in 0..size {
                        q2[i] = T::mul(simd, q2[i], by);
                    }
                    for axis in 0..part.axes {
                        for i in 0..size {
                            q[axis * size + i] = T::mul_add(simd, sums[axis], q2[i], q[axis * size + i]);
                        }
                    }
                }
                let mass = T::splat(simd, T::rounded(blocks.mass));
                let mut under = zero;
                for i in 0..size {
                    under = T::mul_add(simd, mean[i], q2[i], under);
                }
                let under = T::mul_add(simd, mass, under, T::splat(simd, T::rounded(1.0)));
                for axis in 0..part.axes {
                    let q1 = &mut q[axis * size..(axis + 1) * size];
                    let mut over = zero;
                    for i in 0..size {
                        over = T::mul_add(simd, mean[i], q1[i], over);
                    }
                    let by = T::div(simd, T::mul(simd, mass, over), under);
                    for i in 0..size {
                        q1[i] = T::less_product(simd, q1[i], q2[i], by);
                    }
                }
            }
            let made = T::vectors_mut::<S>(room.factor.get(columns * T::lanes::<S>()));
            for axis in 0..part.axes {
                let z = &z[axis * size..(axis + 1) * size];
                if dual {
                    product::<S, T>(simd, &part.x, rows, z, 0, 1, made);
                }
                for (at, &c) in part.columns.iter().enumerate() {
                    let u = match dual {
                        true => T::mul(simd, maps[at / per_bone], made[at]),
                        false => T::mul(simd, scales[at], z[at]),
                    };
                    out[place(axis, c) * vectors + h] = u;
                }
            }
        }
        fine
    }
}

/// Xᵀ y: `x` column after column, y_row at `step`·row + `first`, into one vector per column.
#[inline(always)]
fn product<S: Simd, T: Element>(
    simd: S,
    x: &[T],
    rows: usize,
    y: &[T::Vector<S>],
    first: usize,
    step: usize,
    out: &mut [T::Vector<S>],
) {
    const COLUMNS: usize = 8;
    if rows == 0 {
        return;
    }
    for (x, out) in x.chunks(COLUMNS * rows).zip(out.chunks_mut(COLUMNS)) {
        let mut sums = [T::splat(simd, T::default()); COLUMNS];
        if out.len() == COLUMNS {
            let columns: [&[T]; COLUMNS] = [
                &x[..rows],
                &x[rows..2 * rows],
                &x[2 * rows..3 * rows],
                &x[3 * rows..4 * rows],
                &x[4 * rows..5 * rows],
                &x[5 * rows..6 * rows],
                &x[6 * rows..7 * rows],
                &x[7 * rows..8 * rows],
            ];
            for row in 0..rows {
                let y = y[row * step + first];
                for k in 0..COLUMNS {
                    sums[k] = T::mul_add(simd, T::splat(simd, columns[k][row]), y, sums[k]);
                }
            }
        } else {
            for (sum, x) in sums.iter_mut().zip(x.chunks_exact(rows)) {
                for row in 0..rows {
                    *sum = T::mul_add(simd, T::splat(simd, x[row]), y[row * step + first], *sum);
                }
            }
        }
        out.copy_from_slice(&sums[..out.len()]);
    }
}

/// D XᵀX D among the columns.
struct Primal<'a, S: Simd, T: Element> {
    simd: S,
    gram: &'a [T],
    scales: &'a [T::Vector<S>],
    b: &'a [T::Vector<S>],
    z: &'a mut [T::Vector<S>],
    size: usize,
}

impl<S: Simd, T: Element> Primal<'_, S, T> {
    #[inline(always)]
    fn gram(&self, i: usize, j: usize) -> T::Vector<S> {
        let g = T::splat(self.simd, self.gram[i * (i + 1) / 2 + j]);
        T::mul(self.simd, T::mul(self.simd, self.scales[i], self.scales[j]), g)
    }
}

/// X D² Xᵀ among the rows.
struct Dual<'a, S: Simd, T: Element> {
    simd: S,
    kernels: &'a [T],
    maps: &'a [T::Vector<S>],
    b: &'a [T::Vector<S>],
    z: &'a mut [T::Vector<S>],
    size: usize,
    /// The side of which the imaginary part is wanted.
    imaginary_side: usize,
}

impl<S: Simd, T: Element> Dual<'_, S, T> {
    #[inline(always)]
    fn kernel(&self, i: usize, j: usize) -> T::Vector<S> {
        let of_bone = self.size * (self.size + 1) / 2;
        let own = self.kernels.iter().skip(i * (i + 1) / 2 + j).step_by(of_bone);
        let mut sum = T::splat(self.simd, T::default());
        for (k, map) in own.zip(self.maps) {
            sum = T::mul_add(self.simd, T::splat(self.simd, *k), *map, sum);
        }
        sum
    }
}

impl<S: Simd, T: Element, N: Number<S, T>> Systems<S, T, N> for Primal<'_, S, T> {
    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> T::Vector<S> {
        self.gram(i, j)
    }
    #[inline(always)]
    fn side(&self, r: usize, i: usize) -> T::Vector<S> {
        self.b[r * self.size + i]
    }
    #[inline(always)]
    fn take(&mut self, r: usize, i: usize, x: N) {
        self.z[r * self.size + i] = x.parts(self.simd).0;
    }
}

impl<S: Simd, T: Element, N: Number<S, T>> Systems<S, T, N> for Dual<'_, S, T> {
    #[inline(always)]
    fn entry(&self, i: usize, j: usize) -> T::Vector<S> {
        self.kernel(i, j)
    }
    #[inline(always)]
    fn side(&self, r: usize, i: usize) -> T::Vector<S> {
        self.b[r * self.size + i]
    }
    #[inline(always)]
    fn take(&mut self, r: usize, i: usize, x: N) {
        let (re, im) = x.parts(self.simd);
        self.z[r * self.size + i] = if r == self.imaginary_side { im } else { re };
    }
}
