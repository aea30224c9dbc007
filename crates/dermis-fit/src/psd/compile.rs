//! A pose space at a chosen cost: k shapes with m kernels each, however many examples there were. Every pose space can be
//! compiled.
//!
//! The model's displacements d_v(x) are sampled at its training poses, at fractions of them, and at recombinations in which
//! every joint takes its rotation from a random training pose. The region of a joint holds the vertices it matters to. The
//! regions are a partition of unity, π_vj = a_vj / Σ_j a_vj, so that nothing tears at a border. Global shapes would need
//! global pose spaces, which predict several times worse. Per region
//!
//! ```text
//! π_j D ≈ C U     (N × 3V_j, its first singular vectors)      c_l(x) = Σ_s A_ls k_j(x, x_s),
//! ```
//!
//! over the pose space of the region: the mean of its vertices' a, weighted by how much they move. The k shapes have the
//! largest singular values of all regions. The m centres of a region are training poses, each one where the earlier centres
//! determine the kernel least (pivoted Cholesky). Last, ridge regression on the computed weights solves the displacements u of
//! every vertex again, which also repairs what the truncation of one region spoils in another. A vertex may be limited to
//! a few shapes, chosen by matching pursuit.
//!
//! Own work. The low-rank factor follows EigenSkin (Kry, James & Pai 2002).

use crate::training::{FitError, of_table};
use dermis_deform::guard::Weld;
use dermis_deform::guard::project;
use dermis_deform::pose_space::{CompiledShapes, Kernel, KernelValues, NO_GROUP, PoseSpace, ROOM};
use dermis_rig::VertexIndex;
use dermis_rig::glam::DVec3;
use dermis_solve::Random;
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::{principal_axes, solve_shifted};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Poses of each kind that the model is sampled at, at most.
const MOST_SAMPLES: usize = 96;
/// Poses it is judged at that it was not compiled from.
const UNSEEN: usize = 64;
/// Where the random poses start.
const SEED: u64 = 1;
/// Joints of a region's pose space below this fraction of the largest are left out.
const RELEVANT: f64 = 1.0 / 64.0;
/// Ridge of the weights and displacements, as a fraction of the mean square of what they multiply.
const RIDGE: f64 = 1e-6;
/// Numbers of sampled displacements, at most: half a gigabyte.
const MOST_NUMBERS: usize = 1 << 26;

/// What a compiled pose space may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Shapes altogether.
    pub shapes: usize,
    /// Kernels per region.
    pub centres: usize,
    /// Shapes per vertex; `None`: as many as reach it.
    pub per_vertex: Option<usize>,
}

/// What a budget costs, against the model that was compiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BudgetPoint {
    /// The budget.
    pub budget: Budget,
    /// Shapes made.
    pub shapes: usize,
    /// Kernel values per pose.
    pub kernel_values: usize,
    /// Displacements kept.
    pub terms: usize,
    /// Rms distance from the model over its training poses and the vertices it corrects, metres at rest.
    pub trained: f64,
    /// The same over fractions and recombinations of training poses that were not compiled from.
    pub unseen: f64,
    /// Rms of the model's own displacements over these, to compare with.
    pub size: f64,
}

/// A model whose displacements are known at many poses.
pub struct Compiler<'a> {
    model: &'a PoseSpace,
    /// Vertices with a correction.
    vertices: Vec<u32>,
    /// Coordinates of the poses: training, then others, then those that only judge.
    poses: Vec<Vec<[f64; ROOM]>>,
    trained: usize,
    fitted: usize,
    /// Poses × 3·vertices.
    samples: Mat<f64>,
    /// Per coordinate: places among `vertices` with their π.
    regions: Vec<Vec<(usize, f64)>>,
    /// Per coordinate: singular vectors of π D over the fitted poses, and the squares of the singular values.
    axes: Vec<(Vec<f64>, Mat<f64>)>,
}

impl<'a> Compiler<'a> {
    /// Samples a model.
    ///
    /// # Errors
    /// [`FitError::Region`] or [`FitError::Solve`] if numbers are not finite.
    pub fn new(model: &'a PoseSpace) -> Result<Self, FitError> {
        let vertices: Vec<u32> =
            (0..model.groups.len() as u32).filter(|&v| model.groups[v as usize] != NO_GROUP).collect();
        let (poses, trained, fitted) = poses(&model.kernel, vertices.len());
        let mut samples = Mat::zeros(poses.len(), 3 * vertices.len());
        let rows: Vec<Vec<DVec3>> = poses
            .par_iter()
            .map_init(
                || (KernelValues::default(), vec![0.0; model.kernel.values()]),
                |(scratch, values), x| {
                    model.kernel.values_at(x, scratch, values, |k| k);
                    vertices
                        .iter()
                        .map(|&v| within_ball(model, v as usize, model.displacement(v as usize, values)))
                        .collect()
                },
            )
            .collect();
        for (s, row) in rows.into_iter().enumerate() {
            for (at, d) in row.into_iter().enumerate() {
                d.to_array().into_iter().enumerate().for_each(|(c, x)| samples[(s, 3 * at + c)] = x);
            }
        }
        let mut regions = vec![Vec::new(); model.kernel.width()];
        for (at, &v) in vertices.iter().enumerate() {
            let relevance = model.kernel.relevance_of(model.groups[v as usize] as usize);
            let total: f64 = relevance.iter().map(|r| r.1).sum();
            relevance.iter().for_each(|&(j, a)| regions[j as usize].push((at, a / total)));
        }
        let mut made = Self { model, vertices, poses, trained, fitted, samples, regions, axes: Vec::new() };
        let axes = made.regions.par_iter().enumerate().map(|(at, region)| {
            let part = made.part(region);
            let axes = principal_axes((&part * part.transpose()).as_ref())
                .map_err(|source| FitError::Region { region: at, source })?;
            Ok((axes.values, axes.vectors))
        });
        made.axes = axes.collect::<Result<_, FitError>>()?;
        Ok(made)
    }

    /// π D of a region over the fitted poses.
    fn part(&self, region: &[(usize, f64)]) -> Mat<f64> {
        Mat::from_fn(self.fitted, 3 * region.len(), |s, c| {
            let (at, share) = region[c / 3];
            share * self.samples[(s, 3 * at + c % 3)]
        })
    }

    /// The most shapes that there are.
    pub fn most(&self) -> usize {
        self.axes.iter().map(|(values, _)| positive(values)).sum()
    }

    /// The best shapes within a budget, and what they cost.
    ///
    /// # Errors
    /// [`FitError`]: a budget of nothing, numbers that are not finite.
    pub fn compile(&self, budget: Budget) -> Result<(CompiledShapes, BudgetPoint), FitError> {
        let rule = "it must be at least one";
        for (name, value) in [("shapes", budget.shapes), ("kernels", budget.centres)] {
            if value == 0 {
                return Err(FitError::Setting { name, value: 0.0, rule });
            }
        }
        if budget.per_vertex == Some(0) {
            return Err(FitError::Setting { name: "shapes per vertex", value: 0.0, rule });
        }
        let mut ranked: Vec<(usize, usize, f64)> = Vec::new();
        for (j, (values, _)) in self.axes.iter().enumerate() {
            ranked.extend(values[..positive(values)].iter().enumerate().map(|(l, value)| (j, l, *value)));
        }
        ranked.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)).then(a.1.cmp(&b.1)));
        ranked.truncate(budget.shapes);
        let mut kept = vec![0usize; self.axes.len()];
        ranked.iter().for_each(|&(j, _, _)| kept[j] += 1);

        let model = &self.model.kernel;
        let mut kernel = Kernel::new(model.sigma, model.weld.clone(), model.joints.clone(), model.examples.clone());
        (kernel.coordinates, kernel.family, kernel.linear, kernel.channels) =
            (model.coordinates, model.family, model.linear, model.channels.clone());
        let with_centres = (0..model.groups()).any(|g| !model.centres(g).is_empty());
        let (mut regions, mut coefficients, mut shape_region) = (vec![0u32], Vec::new(), Vec::new());
        let mut weights = Mat::<f64>::zeros(self.poses.len(), ranked.len());
        for j in (0..kept.len()).filter(|&j| kept[j] > 0) {
            let relevance = self.relevance(j);
            let centres = match with_centres {
                true => self.centres(&relevance, budget.centres)?,
                false => Vec::new(),
            };
            kernel.push(&relevance, &centres).map_err(of_table("the kernel"))?;
            let values = self.values(&kernel, kernel.groups() - 1);
            let seen = values.subrows(0, self.fitted);
            let gram = seen.transpose() * seen;
            let mean = (0..gram.nrows()).map(|i| gram[(i, i)]).sum::<f64>() / gram.nrows().max(1) as f64;
            let wanted = self.axes[j].1.subcols(0, kept[j]);
            let a =
                solve_shifted(gram.as_ref(), RIDGE * mean + f64::MIN_POSITIVE, (seen.transpose() * wanted).as_ref())
                    .map_err(|source| FitError::Region { region: j, source })?;
            let first = regions[regions.len() - 1] as usize;
            weights.subcols_mut(first, kept[j]).copy_from(&values * &a);
            regions.push((first + kept[j]) as u32);
            shape_region.extend(std::iter::repeat_n(j, kept[j]));
            for l in 0..kept[j] {
                coefficients.extend((0..a.nrows()).map(|i| a[(i, l)]));
            }
        }
        let shapes = self.shapes(kernel, regions, coefficients, &shape_region, &weights, budget)?;
        let point = self.judge(&shapes, &weights, budget);
        Ok((shapes, point))
    }

    /// a of a region's pose space: the mean over its vertices, weighted by how much they move.
    fn relevance(&self, j: usize) -> Vec<(u32, f64)> {
        let mut sums: BTreeMap<u32, f64> = BTreeMap::new();
        let mut total = 0.0;
        for &(at, share) in &self.regions[j] {
            let moved: f64 = (0..3).map(|c| self.samples.col(3 * at + c).squared_norm_l2()).sum();
            let weight = share * share * moved;
            total += weight;
            let group = self.model.groups[self.vertices[at] as usize] as usize;
            for &(k, a) in self.model.kernel.relevance_of(group) {
                *sums.entry(k).or_insert(0.0) += weight * a;
            }
        }
        let most = sums.values().fold(0.0f64, |most, a| most.max(*a));
        sums.into_iter().filter(|(_, a)| *a >= RELEVANT * most && *a > 0.0).map(|(k, a)| (k, a / total)).collect()
    }

    /// Training poses as centres: the pivots of a Cholesky factorisation of their kernel, at most `most`.
    fn centres(&self, relevance: &[(u32, f64)], most: usize) -> Result<Vec<u32>, FitError> {
        let model = &self.model.kernel;
        let count = model.examples.len() / model.width().max(1);
        let all: Vec<u32> = thinned(count, 4 * MOST_SAMPLES).map(|s| s as u32).collect();
        let mut kernel = Kernel::new(model.sigma, Weld::default(), model.joints.clone(), model.examples.clone());
        (kernel.coordinates, kernel.family, kernel.channels) =
            (model.coordinates, model.family, model.channels.clone());
        kernel.push(relevance, &all).map_err(of_table("the kernel"))?;
        let mut scratch = KernelValues::default();
        let mut k = Mat::<f64>::zeros(all.len(), all.len());
        let mut row = vec![0.0; all.len()];
        for (i, &s) in all.iter().enumerate() {
            kernel.values_at(
                &model.examples[s as usize * model.width()..][..model.width()],
                &mut scratch,
                &mut row,
                |k| k,
            );
            row.iter().enumerate().for_each(|(c, x)| k[(i, c)] = *x);
        }
        let mut left: Vec<f64> = (0..all.len()).map(|i| k[(i, i)]).collect();
        let largest = left.iter().copied().fold(0.0, f64::max);
        let (mut factor, mut pivots): (Vec<Vec<f64>>, Vec<u32>) = Default::default();
        while pivots.len() < most {
            let next = (0..all.len()).fold(0, |best, i| if left[i] > left[best] { i } else { best });
            if all.is_empty() || left[next].is_nan() || left[next] <= 1e-9 * largest {
                break;
            }
            let root = left[next].sqrt();
            let column: Vec<f64> = (0..all.len())
                .map(|i| (k[(i, next)] - factor.iter().map(|f| f[i] * f[next]).sum::<f64>()) / root)
                .collect();
            left.iter_mut().zip(&column).for_each(|(left, x)| *left -= x * x);
            left[next] = f64::NEG_INFINITY;
            factor.push(column);
            pivots.push(all[next]);
        }
        pivots.sort_unstable();
        Ok(pivots)
    }

    /// Values of one group of a kernel at all poses.
    fn values(&self, kernel: &Kernel, group: usize) -> Mat<f64> {
        let range = kernel.range(group);
        let rows: Vec<Vec<f64>> = self
            .poses
            .par_iter()
            .map_init(
                || (KernelValues::default(), vec![0.0; kernel.values()]),
                |(scratch, values), x| {
                    kernel.values_at(x, scratch, values, |k| k);
                    values[range.clone()].to_vec()
                },
            )
            .collect();
        Mat::from_fn(self.poses.len(), range.len(), |s, i| rows[s][i])
    }

    /// Displacements of every vertex for weights as they are computed.
    fn shapes(
        &self,
        kernel: Kernel,
        regions: Vec<u32>,
        coefficients: Vec<f64>,
        shape_region: &[usize],
        weights: &Mat<f64>,
        budget: Budget,
    ) -> Result<CompiledShapes, FitError> {
        let seen = weights.subrows(0, self.fitted);
        let gram = seen.transpose() * seen;
        let right = seen.transpose() * self.samples.subrows(0, self.fitted);
        // Vertices that the same regions reach share a system.
        let mut reached: Vec<Vec<bool>> = vec![vec![false; self.regions.len()]; self.vertices.len()];
        for (j, region) in self.regions.iter().enumerate() {
            region.iter().for_each(|&(at, _)| reached[at][j] = true);
        }
        let mut alike: BTreeMap<Vec<u32>, Vec<usize>> = BTreeMap::new();
        for (at, reached) in reached.iter().enumerate() {
            let shapes = (0..shape_region.len() as u32).filter(|&l| reached[shape_region[l as usize]]).collect();
            alike.entry(shapes).or_default().push(at);
        }
        let solve = |shapes: &[u32], members: &[usize]| -> Result<Mat<f64>, FitError> {
            let pick = |l: usize| shapes[l] as usize;
            let a = Mat::from_fn(shapes.len(), shapes.len(), |i, k| gram[(pick(i), pick(k))]);
            let mean = (0..shapes.len()).map(|i| a[(i, i)]).sum::<f64>() / shapes.len().max(1) as f64;
            let b = Mat::from_fn(shapes.len(), 3 * members.len(), |i, c| right[(pick(i), 3 * members[c / 3] + c % 3)]);
            solve_shifted(a.as_ref(), RIDGE * mean + f64::MIN_POSITIVE, b.as_ref()).map_err(|source| FitError::Solve {
                vertex: VertexIndex::new(self.vertices[members[0]] as usize),
                source,
            })
        };
        type Terms = Vec<(u32, DVec3)>;
        let terms_of = |shapes: &[u32], u: &Mat<f64>, at: usize| -> Terms {
            let of = |(i, &l): (usize, &u32)| (l, DVec3::new(u[(i, 3 * at)], u[(i, 3 * at + 1)], u[(i, 3 * at + 2)]));
            shapes.iter().enumerate().map(of).collect()
        };
        let alike: Vec<_> = alike.into_iter().filter(|(shapes, _)| !shapes.is_empty()).collect();
        let solved = alike
            .par_iter()
            .map(|(shapes, members)| {
                let Some(most) = budget.per_vertex.filter(|most| *most < shapes.len()) else {
                    let u = solve(shapes, members)?;
                    return Ok(members.iter().enumerate().map(|(i, &at)| (at, terms_of(shapes, &u, i))).collect());
                };
                // Orthogonal matching pursuit: each next shape is the one that takes most from what those before it leave.
                let few = |&at: &usize| {
                    let (mut few, mut u) = (Vec::<u32>::new(), Mat::<f64>::zeros(0, 3));
                    for _ in 0..most {
                        let gain = |l: usize| -> f64 {
                            let known = |c: usize| -> f64 {
                                few.iter().enumerate().map(|(i, k)| gram[(l, *k as usize)] * u[(i, c)]).sum()
                            };
                            let squares = (0..3).map(|c| (right[(l, 3 * at + c)] - known(c)).powi(2)).sum::<f64>();
                            if gram[(l, l)] > 0.0 { squares / gram[(l, l)] } else { 0.0 }
                        };
                        let free = shapes.iter().filter(|l| !few.contains(l)).map(|&l| (l, gain(l as usize)));
                        let best = free.reduce(|best, other| if other.1 > best.1 { other } else { best });
                        let Some((next, _)) = best.filter(|(_, gain)| *gain > 0.0) else { break };
                        few.push(next);
                        u = solve(&few, &[at])?;
                    }
                    let mut terms = terms_of(&few, &u, 0);
                    terms.sort_unstable_by_key(|t| t.0);
                    Ok((at, terms))
                };
                members.iter().map(few).collect::<Result<Vec<_>, FitError>>()
            })
            .collect::<Result<Vec<Vec<(usize, Terms)>>, FitError>>()?;
        let count = self.model.groups.len();
        let mut of_vertex: Vec<Terms> = vec![Vec::new(); count];
        solved.into_iter().flatten().for_each(|(at, terms)| of_vertex[self.vertices[at] as usize] = terms);
        let (terms, displacements) = super::eigenskin::terms_of(of_vertex)?;
        let (carrier, radii) = (self.model.carrier.clone(), self.model.radii.clone());
        let (names, clamp) = (vec![], None);
        Ok(CompiledShapes {
            kernel,
            regions,
            coefficients,
            carrier,
            terms,
            displacements,
            radii,
            names,
            clamp,
            windows: vec![],
        })
    }

    fn judge(&self, shapes: &CompiledShapes, weights: &Mat<f64>, budget: Budget) -> BudgetPoint {
        let sums: Vec<(f64, f64)> = (0..self.poses.len())
            .into_par_iter()
            .map(|s| {
                let weights: Vec<f64> = (0..weights.ncols()).map(|l| weights[(s, l)]).collect();
                let of = |(at, &v): (usize, &u32)| {
                    let c = |c: usize| self.samples[(s, 3 * at + c)];
                    let wanted = DVec3::new(c(0), c(1), c(2));
                    ((shapes.displacement(v as usize, &weights) - wanted).length_squared(), wanted.length_squared())
                };
                self.vertices.iter().enumerate().map(of).fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1))
            })
            .collect();
        let rms = |list: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
            (list.iter().map(of).sum::<f64>() / (list.len() * self.vertices.len()).max(1) as f64).sqrt()
        };
        BudgetPoint {
            budget,
            shapes: shapes.count(),
            kernel_values: shapes.kernel.values(),
            terms: shapes.terms.entries().len(),
            trained: rms(&sums[..self.trained], |s| s.0),
            unseen: rms(&sums[self.fitted..], |s| s.0),
            size: rms(&sums[self.fitted..], |s| s.1),
        }
    }
}

/// Singular values that are more than rounding.
fn positive(squares: &[f64]) -> usize {
    let first = squares.first().copied().unwrap_or(0.0);
    squares.iter().take_while(|v| **v > 1e-12 * first).count()
}

/// At most `most` of `count`, evenly.
fn thinned(count: usize, most: usize) -> impl Iterator<Item = usize> {
    let taken = count.min(most);
    (0..taken).map(move |i| i * count / taken)
}

/// Coordinates of sample poses: how many are training poses, and how many serve the fit.
fn poses(kernel: &Kernel, vertices: usize) -> (Vec<Vec<[f64; ROOM]>>, usize, usize) {
    let width = kernel.width();
    let training: Vec<Vec<[f64; ROOM]>> = kernel.examples.chunks_exact(width.max(1)).map(<[_]>::to_vec).collect();
    // Three kinds for the fit, and the unseen ones.
    let most = (MOST_NUMBERS / (3 * vertices.max(1))).saturating_sub(UNSEEN) / 3;
    let chosen: Vec<usize> = thinned(training.len(), MOST_SAMPLES.min(most.max(8))).collect();
    let mut random = Random::seeded(SEED);
    let mut made: Vec<Vec<[f64; ROOM]>> = chosen.iter().map(|&s| training[s].clone()).collect();
    let trained = made.len();
    if training.is_empty() {
        return (made, 0, 0);
    }
    let mut any = |many: usize| random.below(many);
    let mut mixed = |scaled: bool| {
        let one = any(training.len());
        let factor = (1 + any(1000)) as f64 / 1000.0;
        (0..width)
            .map(|j| match scaled {
                true => training[one][j].map(|x| x * factor),
                false => training[any(training.len())][j],
            })
            .collect::<Vec<_>>()
    };
    let more = trained.max(32);
    made.extend((0..2 * more).map(|i| mixed(i % 2 == 0)));
    let fitted = made.len();
    made.extend((0..UNSEEN).map(|i| mixed(i % 2 == 0)));
    (made, trained, fitted)
}
/// A displacement as the ball of the guard lets the model show it, up to how the base turns it: a linear term without the ball goes
/// to any length in poses that recombine those of training.
fn within_ball(model: &PoseSpace, v: usize, d: DVec3) -> DVec3 {
    let radius = model.radii.get(v).filter(|_| model.kernel.linear);
    radius.map_or(d, |&radius| project(d, radius).0)
}
