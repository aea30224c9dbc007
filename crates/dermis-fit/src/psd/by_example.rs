//! Shapes by example: every example is a shape, and its weight is a cardinal function of the pose and its channels.
//!
//! Pose and adjectives (channels such as "muscular" or "age") span an abstract space. Example e has a shape d_e, its displacement
//! at rest, and a weight that is one in its own place and zero in the places of the others:
//!
//! ```text
//! p' = S(p + d(x)),      d(x) = Σ_e w_e(x) d_e,      w_e(x) = Σ_l a_el x_l + Σ_j r_ej k(x, x_j),      w_e(x_f) = δ_ef
//! ```
//!
//! The linear part comes first, by least squares of minimum norm, and radial functions of the examples interpolate what it leaves:
//! with X the examples' coordinates (a row each) and K their kernel values,
//!
//! ```text
//! a = X⁺,      r = (K + ρ)⁻¹ (I − X X⁺).
//! ```
//!
//! X⁺ takes the principal directions of X that have more than a share of the largest variance, by held-out error; radial functions
//! have the others. With all directions, examples that are fewer than the coordinates are met by the linear part alone, which then
//! continues their noise.
//!
//! So whatever is linear in the coordinates over the examples is linear in every pose, also far from them, up to the guard. The
//! weights are the same for all vertices: a pose costs N functions, a vertex N multiply-adds, and an engine has the d_e as morph targets.
//! Pose spaces per vertex ([`super::fit_psd`]) have less error where many joints move; shapes by example have names, and
//! extrapolate.
//!
//! **The bind pose** is an example with no displacement. It lies at x = 0, where k and the linear part vanish to the last bit, so
//! that it needs no shape. Its weight is what the others leave, 1 − Σ_e w_e.
//!
//! **σ, ρ and the share** are those with the least held-out error, found by fitting again without each fold, linear part included: Rippa's
//! rule does not hold for least squares before kernels. The displacements enter through their products alone, D Dᵀ, so that a
//! point of the sweep costs the same for any number of vertices. Radial functions so wide that ρ would have to be raised are no
//! candidates. As ρ vanishes the weights are refined until they are cardinal to 1e-12.
//!
//! Source: Sloan, Rose & Cohen 2001, "Shape by example"; Rose, Cohen & Bodenheimer 1998, "Verbs and adverbs". Departures:
//! - The linear part has no constant, which would be zero at the bind pose alone up to rounding.
//! - Published radial functions are cubic B-splines, each with a support of twice the distance to its nearest example. Here they are
//!   the kernels of the other pose spaces, with one width for all, by held-out error, conditioned on the bind pose
//!   ([`Family::conditioned`]). Their matrix is positive definite for any number of coordinates, which that of B-splines need not
//!   be, and an engine that drives pose spaces drives these. `dermis figures pose-space` has the errors of both.
//! - Directions of little variance are left to the radial functions.
//! - A ρ above zero smooths over examples that are noisy.
//! - The guard: welding, limits of coordinates, and the ball.

use super::correctives::{left, names, unique};
use super::eigenskin::terms_of;
use super::regress::{Choice, Regressor, best_of, gram, tried};
use super::space::{Group, Space};
use super::{CANCELLATION, EXACT, Form, Prepared, PsdPoint, PsdSettings, Reach, SCORED, UNMOVED, check, prepare};
use crate::training::{FitError, Progress, Ticker, Training, of_table};
use dermis_deform::Base;
use dermis_deform::pose_space::{CompiledShapes, Family, KernelValues};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, Influences, Rows, VertexIndex};
use dermis_solve::cross_validation::Fold;
use dermis_solve::faer::Mat;
use dermis_solve::symmetric::principal_axes;
use dermis_solve::{Interpolation, SolveError, pseudo_inverse};
use rayon::prelude::*;

/// How near to δ the weights of a fit that interpolates are brought.
const CARDINAL: f64 = 1e-12;
/// Shares of the largest variance below which a direction of the examples is left to the radial functions, where the fit chooses.
/// The last leaves them all: noise along directions in which examples hardly differ is not continued beyond them.
const SHARES: [f64; 6] = [1e-20, 1e-4, 1e-3, 1e-2, 1e-1, 1.0];
/// Refinements of the weights, at most.
const REFINED: usize = 40;

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct ByExampleReport {
    /// Kernel used.
    pub family: Family,
    /// σ used.
    pub sigma: f64,
    /// ρ used.
    pub smoothing: f64,
    /// The sweep, σ after σ. Empty if nothing was chosen.
    pub sweep: Vec<PsdPoint>,
    /// Mean distance between nearest examples.
    pub spacing: f64,
    /// Joints that never moved in training and were welded.
    pub welded: Vec<BoneIndex>,
    /// The shapes, in their order in the model.
    pub shapes: Vec<ExampleShape>,
    /// Examples at the bind pose and without adjectives, which have no shape.
    pub at_bind: Vec<String>,
    /// Numbers of the space, how many directions of it the examples span, and how many the linear part takes; with a given share the
    /// last two are one.
    pub coordinates: (usize, usize, usize),
    /// The largest |w_e(x_f) − δ_ef|.
    pub off_cardinal: f64,
    /// Whether smoothing had to be raised.
    pub raised: bool,
    /// The reciprocal condition of the system solved.
    pub reciprocal_condition: f64,
    /// (vertex, example) pairs where the base is nearly singular, so that its inverse was damped and a remainder is left.
    pub damped: usize,
    /// The largest distance of the model from an example in its pose, metres.
    pub left: f64,
    /// Vertices without a partner on the other side, at which mirrored examples say that the base is right.
    pub without_partner: usize,
}

/// An example as a shape.
#[derive(Clone, Debug, PartialEq)]
pub struct ExampleShape {
    /// Its name: that of the example, made unique.
    pub name: String,
    /// The other examples in its place, whose mean with it the shape is.
    pub merged: Vec<String>,
    /// The distance to the nearest other example, or to the bind pose.
    pub nearest: f64,
    /// Vertices that it moves.
    pub vertices: usize,
    /// How far, at most, metres.
    pub largest: f64,
}

/// Fits a shape and a cardinal weight per example.
///
/// `share`: the linear part takes the principal directions of the coordinates with more than this share of the largest variance;
/// `None` chooses by held-out error.
///
/// `maps` say which bones move skin at all. Of the settings, the form, the reach, the linear term and sparse examples are fixed: the
/// shapes live at rest, their weights are the same for every vertex, and the linear part comes first.
///
/// # Errors
/// As [`super::fit_psd`].
pub fn fit_by_example(
    training: &Training<'_>,
    base: &Base,
    maps: &Influences,
    settings: &PsdSettings,
    share: Option<f64>,
    progress: Progress<'_>,
) -> Result<(CompiledShapes, ByExampleReport), FitError> {
    let settings =
        &PsdSettings { form: Form::Inverse, reach: Reach::Global, linear: true, sparse: false, ..settings.clone() };
    let maps = std::slice::from_ref(maps);
    check(training, maps, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let mut prepared = prepare(training, base, maps, settings, Regressor::Coordinates, progress)?;
    let without_partner = prepared.asked.all.iter().map(|d| d.iter().filter(|d| d.is_nan()).count()).max().unwrap_or(0);
    prepared.asked.all.iter_mut().flatten().filter(|d| d.is_nan()).for_each(|d| *d = DVec3::ZERO);
    // All vertices compare alike, so that there is one group, or none where nothing is displaced.
    let group = prepared.space.groups(&prepared.asked, settings).into_iter().next();
    let Prepared { space, carrier, asked, radii, .. } = prepared;
    let names = all_names(training, space.examples.len());
    let at_bind = (0..space.examples.len())
        .filter(|s| group.as_ref().is_some_and(|g| !g.merged.iter().any(|m| m.contains(&(*s as u32)))))
        .map(|s| names[s].clone())
        .collect();
    let mut report = ByExampleReport {
        family: settings.family.unwrap_or_default(),
        sigma: settings.sigma.unwrap_or(1.0),
        smoothing: settings.smoothing.unwrap_or(EXACT),
        sweep: vec![],
        spacing: 0.0,
        welded: space.weld.frozen().collect(),
        shapes: vec![],
        at_bind,
        coordinates: (0, 0, 0),
        off_cardinal: 0.0,
        raised: false,
        reciprocal_condition: 1.0,
        damped: asked.damped,
        left: 0.0,
        without_partner,
    };
    let mut shapes = CompiledShapes {
        kernel: space.clone().kernel(1.0, report.family, true),
        regions: vec![0],
        coefficients: vec![],
        carrier,
        terms: Rows::by_row(training.rest.len(), vec![]),
        displacements: vec![],
        radii,
        names: vec![],
        clamp: None,
        windows: vec![],
    };
    if let Some(group) = group {
        let targets = space.targets(&group, &asked.all);
        report.spacing = space.spacing(std::slice::from_ref(&group));
        let shares = share.map_or(SHARES.to_vec(), |share| vec![share]);
        let places =
            shares.into_iter().map(|share| Place::new(&space, &group, share)).collect::<Result<Vec<_>, _>>()?;
        let (place, regressor, choice) = choose(&places, &targets, settings, report.spacing, progress)?;
        report.coordinates = (place.x.ncols(), places[0].rank(), place.rank());
        (report.family, report.sigma, report.smoothing) = (regressor.family(), choice.sigma, choice.smoothing);
        report.sweep = choice.sweep;
        let solved = place.cardinal(regressor, choice.sigma, choice.smoothing)?;
        (report.raised, report.reciprocal_condition) = (solved.raised, solved.reciprocal_condition);

        shapes.kernel = space.clone().kernel(choice.sigma, regressor.family(), true);
        shapes.kernel.push(&group.relevance, &group.centres).map_err(of_table("the kernel"))?;
        shapes.coefficients = columns(&solved.weights);
        shapes.regions.push(group.centres.len() as u32);
        shapes.names = group.centres.iter().map(|&s| names[s as usize].clone()).collect();
        (shapes.terms, shapes.displacements) =
            terms_of(terms(&group, &targets, training.rest.len(), UNMOVED * training.unit()))?;
        report.shapes = report_shapes(&space, &group, &names, &shapes);
        report.off_cardinal = off_cardinal(&shapes, &space, &group);
    }
    report.left = left(training, base, &shapes).into_iter().fold(0.0, f64::max);
    Ok((shapes, report))
}

/// The examples of a space, and what their weights are linear in.
struct Place<'a> {
    space: &'a Space<'a>,
    group: &'a Group,
    /// Coordinates, a row per example.
    x: Mat<f64>,
    /// X⁺ along the directions of the linear part.
    inverse: Mat<f64>,
    /// The relative singular value from which a direction is one of them.
    cut: f64,
}

/// The weights of the examples: values (kernels, then coordinates) × examples.
struct Cardinal {
    weights: Mat<f64>,
    raised: bool,
    reciprocal_condition: f64,
}

impl<'a> Place<'a> {
    fn new(space: &'a Space<'a>, group: &'a Group, share: f64) -> Result<Self, FitError> {
        let (x, cut) = (space.linear(group), share.sqrt());
        let inverse = pseudo_inverse(x.as_ref(), cut).map_err(|source| failed(group, source))?;
        Ok(Self { space, group, x, inverse, cut })
    }

    /// Directions that the linear part takes: the trace of the projection X X⁺.
    fn rank(&self) -> usize {
        let trace: f64 = (0..self.x.nrows()).map(|i| (self.x.row(i) * self.inverse.col(i)).max(0.0)).sum();
        trace.round() as usize
    }

    /// Σ_e w_e(x) is an answer to K r + X a = I, up to ρ r.
    fn cardinal(&self, regressor: Regressor, sigma: f64, rho: f64) -> Result<Cardinal, FitError> {
        let n = self.x.nrows();
        let kernel = gram(regressor, &self.space.squares(&self.group.relevance, &self.group.centres), &self.x, sigma);
        let left = self.left();
        let (solved, raised) = self.solvable(&kernel, &left, rho)?;
        let mut radial = solved.weights(left.as_ref());
        if rho == EXACT {
            // What smoothing left, again and again: (K + ρ)⁻¹ contracts it wherever K is not singular.
            let mut off = &left - &kernel * &radial;
            for _ in 0..REFINED {
                if off.norm_max() <= CARDINAL {
                    break;
                }
                let refined = &radial + solved.weights(off.as_ref());
                let now = &left - &kernel * &refined;
                if now.norm_max() >= off.norm_max() || refined.norm_max() > CANCELLATION {
                    break;
                }
                (radial, off) = (refined, now);
            }
        }
        let columns = self.x.ncols();
        let weights =
            Mat::from_fn(n + columns, n, |i, e| if i < n { radial[(i, e)] } else { self.inverse[(i - n, e)] });
        Ok(Cardinal { weights, raised, reciprocal_condition: solved.reciprocal_condition })
    }

    /// What the linear part leaves to the radial functions: I − X X⁺.
    fn left(&self) -> Mat<f64> {
        let n = self.x.nrows();
        Mat::<f64>::identity(n, n) - &self.x * &self.inverse
    }

    /// (K + ρ)⁻¹, with ρ raised until it exists and its answers do not cancel, and whether it was.
    fn solvable(&self, kernel: &Mat<f64>, left: &Mat<f64>, rho: f64) -> Result<(Interpolation, bool), FitError> {
        let mut raised = 1.0;
        loop {
            let smoothing = self.space.smoothing(self.group, raised * rho);
            let solved =
                Interpolation::new(kernel.as_ref(), &smoothing).map_err(|source| failed(self.group, source))?;
            if solved.weights(left.as_ref()).norm_max() <= CANCELLATION || raised * rho >= 1.0 {
                let raised = raised > 1.0 || solved.raised > 1.0;
                return Ok((solved, raised));
            }
            raised *= 10.0;
        }
    }

    /// Sums of squared residuals of `y` (examples × c) in the folds, each predicted from the others, ρ after ρ for each σ; infinite
    /// where ρ would have to be raised.
    fn held_out(
        &self,
        regressor: Regressor,
        y: &Mat<f64>,
        widths: &[f64],
        grid: &[f64],
        folds: &[Fold],
    ) -> Result<Vec<f64>, FitError> {
        let n = self.x.nrows();
        let squares = self.space.squares(&self.group.relevance, &self.group.centres);
        let kernels: Vec<Mat<f64>> = widths.iter().map(|&sigma| gram(regressor, &squares, &self.x, sigma)).collect();
        let of_fold = |fold: &Fold| -> Result<Vec<f64>, FitError> {
            let kept: Vec<usize> = (0..n).filter(|i| !(fold.start..fold.end).contains(i)).collect();
            let out: Vec<usize> = (fold.start..fold.end).collect();
            let part = |m: &Mat<f64>, rows: &[usize]| Mat::from_fn(rows.len(), m.ncols(), |i, c| m[(rows[i], c)]);
            let (x, y_kept, y_out) = (part(&self.x, &kept), part(y, &kept), part(y, &out));
            let linear = pseudo_inverse(x.as_ref(), self.cut).map_err(|source| failed(self.group, source))? * &y_kept;
            let (left, plain) = (&y_kept - &x * &linear, &y_out - part(&self.x, &out) * &linear);
            let mut sums = Vec::with_capacity(widths.len() * grid.len());
            for kernel in &kernels {
                let own = Mat::from_fn(kept.len(), kept.len(), |i, k| kernel[(kept[i], kept[k])]);
                let across = Mat::from_fn(out.len(), kept.len(), |i, k| kernel[(out[i], kept[k])]);
                for &rho in grid {
                    let smoothing = self.space.smoothing(self.group, rho);
                    let smoothing: Vec<f64> = kept.iter().map(|&i| smoothing[i]).collect();
                    sums.push(match Interpolation::new(own.as_ref(), &smoothing) {
                        Ok(solved) => (&plain - &across * solved.weights(left.as_ref())).squared_norm_l2(),
                        Err(SolveError::NotPositive) => f64::INFINITY,
                        Err(source) => return Err(failed(self.group, source)),
                    });
                }
            }
            Ok(sums)
        };
        let parts = folds.par_iter().map(of_fold).collect::<Result<Vec<_>, FitError>>()?;
        let mut sums: Vec<f64> =
            (0..widths.len() * grid.len()).map(|i| parts.iter().map(|part| part[i]).sum()).collect();
        let left = self.left();
        for (kernel, sums) in kernels.iter().zip(sums.chunks_exact_mut(grid.len())) {
            for (&rho, sum) in grid.iter().zip(sums) {
                if self.solvable(kernel, &left, rho)?.1 {
                    *sum = f64::INFINITY;
                }
            }
        }
        Ok(sums)
    }
}

/// Chooses the linear part, the kernel, σ and ρ by what the examples predict of each other.
fn choose<'p, 's>(
    places: &'p [Place<'s>],
    targets: &Mat<f64>,
    settings: &PsdSettings,
    spacing: f64,
    progress: Progress<'_>,
) -> Result<(&'p Place<'s>, Regressor, Choice), FitError> {
    let group = places[0].group;
    let families = settings.family.map_or(vec![Family::Gaussian, Family::Wendland], |family| vec![family]);
    let regressors: Vec<Regressor> =
        families.into_iter().map(|family| Regressor::Kernels { family, linear: true }).collect();
    let (vertices, n) = (group.vertices.len(), group.centres.len());
    let ticker = Ticker::new((places.len() * regressors.len()) as u64, progress);
    let y = principal(targets).map_err(|source| failed(group, source))?;
    let mut folds = settings.folds.ranges(n);
    // Of many examples, as many folds as the work allows, evenly.
    let most = ((SCORED / (n as f64).powi(3)).ceil() as usize).max(5);
    let stride = folds.len().div_ceil(most).max(1);
    folds = folds.into_iter().step_by(stride).collect();
    let held_out: usize = folds.iter().map(|fold| fold.end - fold.start).sum();
    let mut best: Option<(&Place<'_>, Regressor, Choice)> = None;
    for (place, &regressor) in places.iter().flat_map(|place| regressors.iter().map(move |r| (place, r))) {
        let (widths, grid) = tried(settings, regressor, spacing);
        let choice = match (widths.as_slice(), grid.as_slice()) {
            (&[sigma], &[smoothing]) if places.len() == 1 => Choice { sigma, smoothing, sweep: vec![], scored: 0 },
            _ => {
                let sums = place.held_out(regressor, &y, &widths, &grid, &folds)?;
                let point = |(i, score): (usize, f64)| PsdPoint {
                    sigma: widths[i / grid.len()],
                    smoothing: grid[i % grid.len()],
                    validated: (score / (held_out * vertices).max(1) as f64).sqrt(),
                    score,
                };
                let sweep: Vec<PsdPoint> = sums.into_iter().enumerate().map(point).collect();
                // The narrowest radial functions have the best condition.
                let any = sweep.iter().any(|p| p.score.is_finite());
                let at = if any { best_of(&sweep, spacing) } else { sweep[grid.len() - 1] };
                Choice { sigma: at.sigma, smoothing: at.smoothing, sweep, scored: vertices }
            }
        };
        ticker.tick(1)?;
        // Of equals the larger linear part, which comes first: rounding is no reason to give it up.
        let floor = CARDINAL * y.squared_norm_l2();
        if best.as_ref().is_none_or(|(_, _, least)| choice.score() + floor < least.score()) {
            best = Some((place, regressor, choice));
        }
    }
    best.ok_or(FitError::Counts { what: "kernels", found: 0, expected: 1 })
}

/// F with F Fᵀ = D Dᵀ and no more columns than rows: residuals of any linear prediction of the rows have the same sum of squares.
fn principal(d: &Mat<f64>) -> Result<Mat<f64>, SolveError> {
    let products = d * d.transpose();
    let axes = principal_axes(products.as_ref())?;
    Ok(Mat::from_fn(d.nrows(), axes.values.len(), |i, h| axes.vectors[(i, h)] * axes.values[h].max(0.0).sqrt()))
}

fn failed(group: &Group, source: SolveError) -> FitError {
    FitError::Solve { vertex: VertexIndex::new(group.vertices[0] as usize), source }
}

/// The columns of a matrix, one after another.
fn columns(m: &Mat<f64>) -> Vec<f64> {
    (0..m.ncols()).flat_map(|e| (0..m.nrows()).map(move |i| m[(i, e)])).collect()
}

/// The shapes that move each vertex by at least `least`.
fn terms(group: &Group, targets: &Mat<f64>, vertices: usize, least: f64) -> Vec<Vec<(u32, DVec3)>> {
    let mut of_vertex = vec![Vec::new(); vertices];
    for (at, &v) in group.vertices.iter().enumerate() {
        let displacement = |e: usize| DVec3::from_array([0, 1, 2].map(|c| targets[(e, 3 * at + c)]));
        let moved = (0..targets.nrows()).map(|e| (e as u32, displacement(e))).filter(|(_, d)| d.length() >= least);
        of_vertex[v as usize] = moved.collect();
    }
    of_vertex
}

/// Names of the examples, and of their mirror images after them.
fn all_names(training: &Training<'_>, count: usize) -> Vec<String> {
    let mut all = names(training);
    for s in all.len()..count {
        let own = all[s - training.examples.len()].clone();
        all.push(unique(&format!("{own}.mirrored"), &all));
    }
    all
}

fn report_shapes(space: &Space<'_>, group: &Group, names: &[String], shapes: &CompiledShapes) -> Vec<ExampleShape> {
    let mut moved = vec![(0, 0.0f64); group.centres.len()];
    for (&l, u) in shapes.terms.entries().iter().zip(&shapes.displacements) {
        let (count, largest) = &mut moved[l as usize];
        (*count, *largest) = (*count + 1, largest.max(u.length()));
    }
    let nearest = |row: usize| {
        let s = group.centres[row];
        let others = group.centres.iter().filter(|&&t| t != s).map(|&t| Some(t));
        let square = |t| space.distance_squared(&group.relevance, s, t);
        others.chain([None]).map(square).fold(f64::INFINITY, f64::min).sqrt()
    };
    let shape = |(row, (vertices, largest)): (usize, (usize, f64))| ExampleShape {
        name: shapes.names[row].clone(),
        merged: group.merged[row][1..].iter().map(|&s| names[s as usize].clone()).collect(),
        nearest: nearest(row),
        vertices,
        largest,
    };
    moved.into_iter().enumerate().map(shape).collect()
}

/// The largest |w_e(x_f) − δ_ef| of the model itself.
fn off_cardinal(shapes: &CompiledShapes, space: &Space<'_>, group: &Group) -> f64 {
    let (mut values, mut weights) = (vec![0.0; shapes.kernel.values()], vec![]);
    let mut off = 0.0f64;
    for (row, &s) in group.centres.iter().enumerate() {
        let mut pose = KernelValues::default();
        shapes.kernel.values_at(&space.examples[s as usize], &mut pose, &mut values, |k| k);
        shapes.weights(&values, &pose, |w| w, &mut weights);
        let of = |(e, w): (usize, &f64)| (w - f64::from(u8::from(e == row))).abs();
        off = weights.iter().enumerate().map(of).fold(off, f64::max);
    }
    off
}
