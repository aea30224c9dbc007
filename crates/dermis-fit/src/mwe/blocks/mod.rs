//! Vertices solved in the lanes of the vector registers, without principal axes.
//!
//! A ridge tied to the variance of each axis is a function of the Gram matrix, Re (G + i a I)⁻¹. One complex factorisation
//! without pivoting therefore replaces the eigenproblem. When there are fewer poses than features, the solver works in the
//! dual. Vertices for which this is not reliable (a ridge too small for the precision, a cut-off that matters, an absolute
//! ridge without the guard) take their principal axes in [`axes`](super::axes), the reference.
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
//! With fewer rows than columns the dual form solves the same over the rows: with P = X D² Xᵀ, t = X D x̄,
//!
//! ```text
//! D Xᵀ y ↦ D Xᵀ Re (P + i a I)⁻¹ y,     x̄ ↦ −D Xᵀ Im (P + i a I)⁻¹ t / a.
//! ```

mod part;
mod run;
mod systems;

use super::scene::{Local, Scene, Table};
use super::settings::{Centring, MweSettings, RidgeMode};
use dermis_deform::enveloping::EnvelopingForm;
use dermis_rig::{BoneIndex, Influences};
use dermis_solve::element::Element;
use dermis_solve::simd::{self, Buffer, LANES_F32, LANES_F64};
use part::{Part, RANGE_SINGLE, Shift, frozen};
use run::Run;

/// Lanes of the widest block.
pub(super) const WIDEST: usize = LANES_F32;

/// Cut-offs of principal axes up to this are harmless: directions below vanish by themselves.
const HARMLESS: f64 = 1e-8;

/// The same for singular values of the published regression, which the ridge keeps above this.
const HARMLESS_SINGULAR: f64 = 1e-12;

/// The regressions of one group.
pub(super) struct Blocks<T> {
    parts: Vec<Part<T>>,
    bones: usize,
    rows: usize,
    form: EnvelopingForm,
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
    pub fn new(local: &Local, table: &Table, settings: &MweSettings, rows: EnvelopingForm, s: f64) -> Option<Self> {
        let paper = settings.centring == Centring::Paper;
        let shift = |reference: f64| match settings.ridge {
            // Without the guard nothing welds joints that never moved, and only principal axes drop their rounding.
            RidgeMode::Absolute if paper || !settings.guard => None,
            RidgeMode::Absolute => (s > 0.0).then_some(Shift::Real(s)),
            _ if settings.eig_tol > HARMLESS || local.mass <= 0.0 => None,
            _ if paper && settings.svd_tol > HARMLESS_SINGULAR => None,
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
            EnvelopingForm::Full => &[(0, 3)],
            EnvelopingForm::Row => &[(0, 1), (1, 1), (2, 1)],
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
    pub fn summed(bones: usize, rows: EnvelopingForm, s: f64, gram: impl Fn(usize, usize) -> f64) -> Self {
        let axes: &[(usize, usize)] = match rows {
            EnvelopingForm::Full => &[(0, 3)],
            EnvelopingForm::Row => &[(0, 1), (1, 1), (2, 1)],
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

    /// Solves up to [`LANES_F64`] vertices from their maps on the group's bones and their Xᵀ y, which is laid out as
    /// coefficients are and replaced by them. The result is which vertices could not be solved here.
    pub fn solve_summed(&self, maps: &[Vec<f64>], slots: &mut [Vec<f64>], room: &mut Room<f64>) -> [bool; WIDEST] {
        let mu = room.maps.get(self.bones * LANES_F64);
        mu.fill(0.0);
        for (lane, maps) in maps.iter().enumerate() {
            maps.iter().enumerate().for_each(|(k, value)| mu[k * LANES_F64 + lane] = *value);
        }
        let sums = room.targets.get(36 * self.bones * LANES_F64);
        sums.fill(0.0);
        for (lane, slot) in slots.iter().enumerate() {
            slot.iter().enumerate().for_each(|(at, sum)| sums[at * LANES_F64 + lane] = *sum);
        }
        let mut refused = [false; WIDEST];
        for part in &self.parts {
            let lanes = simd::run_with(Run { blocks: self, part, room });
            (0..LANES_F64).for_each(|lane| refused[lane] |= !lanes[lane]);
        }
        let u = room.coefficients.get(36 * self.bones * LANES_F64);
        for (lane, slot) in slots.iter_mut().enumerate() {
            let of_lane = (0..slot.len()).map(|at| u[at * LANES_F64 + lane]);
            refused[lane] |= of_lane.clone().any(|u| !u.is_finite());
            if !refused[lane] {
                slot.iter_mut().zip(of_lane).for_each(|(place, u)| *place = u);
            }
        }
        refused
    }
}

impl<T: Element> Blocks<T> {
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
                for j in (0..3).filter(|&j| self.form == EnvelopingForm::Full || (c % 12) / 4 == j) {
                    let within = if self.form == EnvelopingForm::Full { 12 * j + c % 12 } else { c % 12 };
                    constants[lane][j] += slot[c / 12 * size + within] * rest;
                }
            }
            refused[lane] |= slot.iter().any(|u| !u.is_finite());
        }
        Solved { constants, largest, refused }
    }
}
