//! Vertices solved by their principal axes, one at a time: the reference. The choice of s and the forms with a cut-off use
//! it, too.

use super::PrincipalAxes;
use super::scene::Local;
use super::settings::{Centring, MweSettings, RidgeMode, Strength};
use dermis_deform::enveloping::EnvelopingForm;
use dermis_deform::features::relative_features;
use dermis_rig::Influences;
use dermis_rig::glam::DAffine3;
use dermis_solve::SolveError;
use dermis_solve::cross_validation::{Fold, gcv, press};
use dermis_solve::faer::{Mat, MatRef};
use dermis_solve::ridge::augmented_ridge;
use dermis_solve::symmetric::{principal_axes, solve_shifted};

/// One regression of one vertex: all three axes on shared features, or one axis on its own.
pub(super) struct VertexProblem {
    /// Columns of the group's matrices.
    columns: Vec<usize>,
    /// μ of each column.
    mu: Vec<f64>,
    /// Axes first..last are targets.
    pub first_axis: usize,
    pub last_axis: usize,
    /// v_ref.
    reference: f64,
}

impl VertexProblem {
    /// The regressions of vertex `v`: one in the full form, three in the row form.
    pub fn all(local: &Local, maps: &Influences, v: usize, rows: EnvelopingForm) -> Vec<Self> {
        let mu_of: Vec<f64> = local.bones.iter().map(|&bone| maps.value(v, bone)).collect();
        let part = |keep: &dyn Fn(usize) -> bool, first_axis, last_axis, reference| {
            let columns: Vec<usize> = (0..12 * local.bones.len()).filter(|&c| keep(c)).collect();
            let mu = columns.iter().map(|c| mu_of[c / 12]).collect();
            Self { columns, mu, first_axis, last_axis, reference }
        };
        match rows {
            EnvelopingForm::Full => vec![part(&|_| true, 0, 3, local.reference[3])],
            EnvelopingForm::Row => (0..3).map(|j| part(&|c| (c % 12) / 4 == j, j, j + 1, local.reference[j])).collect(),
        }
    }
}

/// Principal axes of one problem with the ridge's effect on them.
struct Decomposition {
    /// Sums of squares along the kept axes.
    values: Vec<f64>,
    /// D E: columns that turn centred features into components (columns × kept).
    axes: Mat<f64>,
    /// Orthonormal components of the training rows (rows × kept).
    q: Mat<f64>,
    /// All sums of squares, dropped ones too.
    all: Vec<f64>,
    /// Axes dropped.
    dropped: usize,
}

impl VertexProblem {
    fn scaled_gram(&self, local: &Local) -> Mat<f64> {
        let n = self.columns.len();
        Mat::from_fn(n, n, |i, j| local.gram()[(self.columns[i], self.columns[j])] * self.mu[i] * self.mu[j])
    }

    /// The columns of a group's matrix, times μ.
    fn scaled(&self, from: &Mat<f64>) -> Mat<f64> {
        Mat::from_fn(from.nrows(), self.columns.len(), |row, c| from[(row, self.columns[c])] * self.mu[c])
    }

    /// Which eigenvalues (sums of squares, descending) are kept: a count.
    fn kept(&self, values: &[f64], local: &Local, settings: &MweSettings) -> usize {
        let Some(&largest) = values.first() else { return 0 };
        match settings.ridge {
            RidgeMode::Absolute => values.iter().filter(|g| **g > 1e-9 * largest && **g > 1e-12).count(),
            _ if largest / local.mass <= 1e-14 || local.mass <= 0.0 => 0,
            _ => values.iter().filter(|g| **g > settings.eig_tol * largest).count(),
        }
    }

    /// Principal axes, on the side (features or poses) that is smaller.
    fn decompose(&self, local: &Local, settings: &MweSettings) -> Result<Decomposition, SolveError> {
        let (rows, columns) = (local.centred.nrows(), self.columns.len());
        let x = self.scaled(&local.centred);
        if columns <= rows {
            let found = principal_axes(self.scaled_gram(local).as_ref())?;
            let kept = self.kept(&found.values, local, settings);
            let e = found.vectors.get(.., ..kept);
            let mut q = &x * e;
            for h in 0..kept {
                let sigma = found.values[h].sqrt();
                for row in 0..rows {
                    q[(row, h)] /= sigma;
                }
            }
            let axes = Mat::from_fn(columns, kept, |c, h| self.mu[c] * e[(c, h)]);
            Ok(Decomposition {
                values: found.values[..kept].to_vec(),
                axes,
                q,
                all: found.values,
                dropped: columns - kept,
            })
        } else {
            let found = principal_axes((&x * x.transpose()).as_ref())?;
            let kept = self.kept(&found.values, local, settings);
            let q = found.vectors.get(.., ..kept).to_owned();
            let mut axes = x.transpose() * &q;
            for h in 0..kept {
                let sigma = found.values[h].sqrt();
                for c in 0..columns {
                    axes[(c, h)] *= self.mu[c] / sigma;
                }
            }
            Ok(Decomposition {
                values: found.values[..kept].to_vec(),
                axes,
                q,
                all: found.values,
                dropped: columns - kept,
            })
        }
    }

    /// f_h = g_h / (g_h + λ_h) for sums of squares g_h.
    fn filter(&self, values: &[f64], s: f64, local: &Local, settings: &MweSettings) -> Vec<f64> {
        values.iter().map(|&g| g / (g + self.ridge(g / local.mass, s, local, settings))).collect()
    }

    /// λ_h for variance v_h.
    fn ridge(&self, v: f64, s: f64, local: &Local, settings: &MweSettings) -> f64 {
        match settings.ridge {
            RidgeMode::Absolute => s,
            RidgeMode::Paper => s / v,
            RidgeMode::Unit => s * local.mass / v,
            RidgeMode::Relative => s * local.mass * self.reference * self.reference / v,
        }
    }

    /// The smoother's orthonormal columns, with the intercept's column if there is one.
    fn with_intercept(q: &Mat<f64>, local: &Local, settings: &MweSettings) -> Mat<f64> {
        if settings.centring != Centring::Mean || local.mass <= 0.0 {
            return q.clone();
        }
        let root = local.mass.sqrt();
        Mat::from_fn(
            q.nrows(),
            q.ncols() + 1,
            |row, h| if h == q.ncols() { local.scale[row] / root } else { q[(row, h)] },
        )
    }

    /// Adds training and validation sums for every s of the grid.
    pub fn sweep(
        &self,
        local: &Local,
        settings: &MweSettings,
        grid: &[f64],
        folds: &[Fold],
        y: MatRef<'_, f64>,
        sums: &mut [(f64, f64)],
    ) -> Result<(), SolveError> {
        let mut score = |at: usize, q: MatRef<'_, f64>, filter: &[f64]| -> Result<(), SolveError> {
            let qty = q.transpose() * y;
            let damped = Mat::from_fn(qty.nrows(), qty.ncols(), |h, c| filter[h] * qty[(h, c)]);
            sums[at].0 += (y - q * damped).squared_norm_l2();
            sums[at].1 += match settings.strength {
                Strength::Gcv => gcv(q, filter, y, qty.as_ref()),
                _ => press(q, filter, y, qty.as_ref(), folds)?,
            };
            Ok(())
        };
        if settings.centring == Centring::Paper {
            for (at, &s) in grid.iter().enumerate() {
                let left = self.published(local, settings, s, y)?.2.left;
                score(at, left.as_ref(), &vec![1.0; left.ncols()])?;
            }
            return Ok(());
        }
        let parts = self.decompose(local, settings)?;
        let q = Self::with_intercept(&parts.q, local, settings);
        for (at, &s) in grid.iter().enumerate() {
            let mut filter = self.filter(&parts.values, s, local, settings);
            filter.resize(q.ncols(), 1.0);
            score(at, q.as_ref(), &filter)?;
        }
        Ok(())
    }

    /// The published regression: E from the centred features, C = A E from the uncentred ones. Beside it, the sums of squares along
    /// all principal axes.
    fn published(
        &self,
        local: &Local,
        settings: &MweSettings,
        s: f64,
        y: MatRef<'_, f64>,
    ) -> Result<(Mat<f64>, Vec<f64>, dermis_solve::ridge::AugmentedRidge), SolveError> {
        let found = principal_axes(self.scaled_gram(local).as_ref())?;
        let kept = self.kept(&found.values, local, settings);
        let axes = Mat::from_fn(self.columns.len(), kept, |c, h| self.mu[c] * found.vectors[(c, h)]);
        let raw = Mat::from_fn(local.raw.nrows(), self.columns.len(), |row, c| {
            local.scale[row] * local.raw[(row, self.columns[c])]
        });
        let components = raw * &axes;
        let lambda: Vec<f64> =
            found.values[..kept].iter().map(|g| self.ridge(g / local.mass, s, local, settings)).collect();
        Ok((axes, found.values, augmented_ridge(components.as_ref(), &lambda, y, settings.svd_tol)?))
    }

    /// φᵀ (ΦᵀΦ + Λ)⁻¹ φ of poses, φ their features as the regression saw them.
    pub fn leverage(
        &self,
        local: &Local,
        settings: &MweSettings,
        s: f64,
        poses: &[Vec<DAffine3>],
        unit: f64,
    ) -> Result<Vec<f64>, SolveError> {
        // Components of the training rows, and the ridge along each.
        let (axes, components, values) = if settings.centring == Centring::Paper {
            let empty = Mat::<f64>::zeros(local.raw.nrows(), 0);
            let (axes, values, _) = self.published(local, settings, s, empty.as_ref())?;
            let raw = Mat::from_fn(local.raw.nrows(), self.columns.len(), |row, c| {
                local.scale[row] * local.raw[(row, self.columns[c])]
            });
            (axes.clone(), raw * axes, values)
        } else {
            let parts = self.decompose(local, settings)?;
            let components =
                Mat::from_fn(parts.q.nrows(), parts.q.ncols(), |i, h| parts.q[(i, h)] * parts.values[h].sqrt());
            (parts.axes, components, parts.values)
        };
        let kept = axes.ncols();
        let mut normal = components.transpose() * &components;
        for h in 0..kept {
            normal[(h, h)] += self.ridge(values[h] / local.mass, s, local, settings);
        }
        let features = Mat::from_fn(self.columns.len(), poses.len(), |c, pose| {
            let column = self.columns[c];
            let f = relative_features(&poses[pose], local.anchor, local.bones[column / 12], unit);
            let entry = column % 12;
            f[entry] + f64::from(u8::from(entry % 4 == entry / 4)) - local.centre[column]
        });
        let seen = axes.transpose() * features;
        if settings.centring == Centring::Paper {
            // The regression drops small singular values, and so does its leverage.
            let found = principal_axes(normal.as_ref())?;
            let least = settings.svd_tol * settings.svd_tol * found.values.first().copied().unwrap_or(0.0);
            let along = found.vectors.transpose() * seen;
            let of = |pose: usize| {
                let terms = found.values.iter().enumerate().filter(|(_, value)| **value > least);
                terms.map(|(h, value)| along[(h, pose)] * along[(h, pose)] / value).sum()
            };
            return Ok((0..poses.len()).map(of).collect());
        }
        let solved = solve_shifted(normal.as_ref(), 0.0, seen.as_ref())?;
        let dot = |pose: usize| (0..kept).map(|h| seen[(h, pose)] * solved[(h, pose)]).sum();
        Ok((0..poses.len()).map(dot).collect())
    }

    /// Coefficients and leverage at one s.
    pub fn solve(
        &self,
        local: &Local,
        settings: &MweSettings,
        s: f64,
        y: MatRef<'_, f64>,
        solution: &mut VertexSolution,
    ) -> Result<(), SolveError> {
        if self.columns.is_empty() {
            return Ok(());
        }
        if settings.centring == Centring::Paper {
            let (axes, values, ridge) = self.published(local, settings, s, y)?;
            solution.dropped += self.columns.len() - axes.ncols();
            solution.variances.add(self.columns.len(), &values, axes.ncols());
            let u = &axes * &ridge.coefficients;
            solution.add_leverage(ridge.left.as_ref(), &vec![1.0; ridge.left.ncols()]);
            solution.store(self, local, &u);
            return Ok(());
        }
        let parts = self.decompose(local, settings)?;
        solution.dropped += parts.dropped;
        solution.variances.add(self.columns.len(), &parts.all, parts.values.len());
        let filter = self.filter(&parts.values, s, local, settings);
        let mut w = parts.q.transpose() * y;
        for h in 0..w.nrows() {
            for t in 0..w.ncols() {
                w[(h, t)] *= filter[h] / parts.values[h].sqrt();
            }
        }
        let u = &parts.axes * &w;
        solution.add_leverage(parts.q.as_ref(), &filter);
        solution.store(self, local, &u);
        Ok(())
    }
}

/// The answer of one vertex.
pub(super) struct VertexSolution {
    rows: EnvelopingForm,
    /// [`EnvelopingForm::coefficients`] numbers per bone of the local.
    pub coefficients: Vec<f64>,
    /// Correction at the bind pose.
    pub constant: [f64; 3],
    pub leverage: f64,
    pub dropped: usize,
    pub variances: Variances,
}

/// What principal axes explain of the variance of features, summed over regressions.
#[derive(Clone, Copy, Default)]
pub(super) struct Variances {
    regressions: usize,
    columns: usize,
    kept: usize,
    for_99: usize,
    explained: f64,
    all: f64,
}

impl Variances {
    /// Adds a regression: its columns, its eigenvalues from the largest on, and how many of them are kept.
    fn add(&mut self, columns: usize, values: &[f64], kept: usize) {
        let all: f64 = values.iter().sum();
        let mut sum = 0.0;
        let reached = values.iter().position(|value| {
            sum += value;
            sum >= 0.99 * all
        });
        self.regressions += 1;
        self.columns += columns;
        self.kept += kept;
        self.for_99 += reached.map_or(0, |at| at + 1);
        self.explained += values[..kept].iter().sum::<f64>();
        self.all += all;
    }

    /// Adds those of other vertices.
    pub fn join(&mut self, other: Self) {
        self.regressions += other.regressions;
        self.columns += other.columns;
        self.kept += other.kept;
        self.for_99 += other.for_99;
        self.explained += other.explained;
        self.all += other.all;
    }

    /// Returns their means over the regressions; `None` where no feature varies.
    pub fn means(&self) -> Option<PrincipalAxes> {
        let mean = |sum: usize| sum as f64 / self.regressions as f64;
        (self.all > 0.0).then(|| PrincipalAxes {
            columns: mean(self.columns),
            kept: mean(self.kept),
            for_99_percent: mean(self.for_99),
            explained: self.explained / self.all,
        })
    }
}

impl VertexSolution {
    pub fn new(bones: usize, rows: EnvelopingForm) -> Self {
        Self {
            rows,
            coefficients: vec![0.0; bones * rows.coefficients()],
            constant: [0.0; 3],
            leverage: 0.0,
            dropped: 0,
            variances: Variances::default(),
        }
    }

    /// Largest diagonal entry of H = Q diag(f) Qᵀ.
    fn add_leverage(&mut self, q: MatRef<'_, f64>, filter: &[f64]) {
        for row in 0..q.nrows() {
            let h: f64 = (0..filter.len()).map(|h| filter[h] * q[(row, h)] * q[(row, h)]).sum();
            self.leverage = self.leverage.max(h);
        }
    }

    /// Stores the coefficients of a problem's axes and what they give at the bind pose: U (x_rest − x0).
    fn store(&mut self, problem: &VertexProblem, local: &Local, u: &Mat<f64>) {
        let size = self.rows.coefficients();
        for (target, axis) in (problem.first_axis..problem.last_axis).enumerate() {
            for (at, &column) in problem.columns.iter().enumerate() {
                let (bone, entry) = (column / 12, column % 12);
                let place = match self.rows {
                    EnvelopingForm::Full => bone * size + axis * 12 + entry,
                    EnvelopingForm::Row => bone * size + entry,
                };
                self.coefficients[place] = u[(at, target)];
                let rest = f64::from(u8::from(entry % 4 == entry / 4));
                self.constant[axis] += u[(at, target)] * (rest - local.centre[column]);
            }
        }
    }
}
