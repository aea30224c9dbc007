//! Multi-weight enveloping, fitting: ridge regression of the skin on the entries of the bone transforms.
//!
//! Every vertex has an anchor bone a and bones k where its influence map μ_k is positive. The fit regresses the correction
//! seen from the anchor, δ̃ = R_a⁻¹ (X − base), on the features
//!
//! ```text
//! x_j = [ μ_k (M̃_k[j,0], M̃_k[j,1], M̃_k[j,2], M̃_k[j,3] / L) ]  over bones k,     M̃_k = M_a⁻¹ M_k.
//! ```
//!
//! In the `row` form axis j of δ̃ reads x_j. In the `full` form every axis reads x_0, x_1 and x_2.
//!
//! **The published form** ([`MweSettings::published`]) regresses row features in the world. It takes principal axes of the
//! *centred* features, fits with the *uncentred* ones, and ties the ridge to the variance of each axis. It is kept to the
//! letter, with its shortcomings:
//! - It changes when the character turns as a whole, and it cannot move skin along a hinge's axis.
//! - It loses its constant.
//! - Only s_f bounds it: coefficients grow as s_f^(−1/4). With s_f = 0, or a ridge in units of the data's own variance
//!   ([`RidgeMode::Relative`]), it fits the rounding of a joint that never moved at full strength, and an unseen motion then
//!   throws vertices metres away.
//!
//! **The default form** sees full features from the vertex's dominant bone, so it is equivariant. It measures them from the
//! bind pose, where it is exact. One absolute ridge, in units of joint angle, bounds the correction, and
//! [`dermis_deform::guard`] bounds it in every pose whatever the ridge.
//!
//! **Frozen joints are welded** in the features. Two bones that always moved together share coefficients arbitrarily, so a
//! turn of their joint would move skin for no reason.
//!
//! **Local sculpts** say how the skin is where somebody touched it (`mask`). Rows of other vertices weigh c₀, and a vertex that
//! nobody touched keeps its base. Touched rows alone choose s, and only as far as they predict each other
//! ([`MweReport::left_out_share`]); else the fit takes the largest s that meets the sculpts.
//!
//! **The solve.** The fit chooses s on some vertices, by their principal axes and exact cross-validation. It then solves every
//! vertex at that s without principal axes, many at once. [`Resolver`] keeps what does not change when one number does.
//!
//! Source: Wang & Phillips 2002, "Multi-weight enveloping: least-squares approximation techniques for skin animation",
//! eqs. 3–9. Departures: diag(λ_h) where eq. 8 prints λ_h I, as its cost function says; the corner entry of eq. 3 is
//! unused; coefficients keep the rest position multiplied in, so they exist where it is zero.

mod accumulate;
mod axes;
mod blocks;
mod resolve;
mod scene;
mod settings;

pub use accumulate::{Accumulator, SeenPose, Statistics};
pub use resolve::Resolver;
pub use settings::{Anchor, Centring, MweSettings, RidgeMode, RowChoice, SolvePrecision, Solver, Strength, powers};

use crate::evidence::{Evidence, Movements, meeting, unknown};
use crate::training::{FitError, Progress, Ticker, Training};
use axes::{Variances, VertexProblem, VertexSolution};
use dermis_deform::enveloping::{Enveloping, EnvelopingForm};
use dermis_deform::features::about;
use dermis_rig::glam::DAffine3;
use dermis_rig::{BoneIndex, BoneTransforms, Influences, VertexIndex};
use dermis_solve::Folds;
use dermis_solve::cross_validation::{Fold, choose};
use rayon::prelude::*;
use scene::{Group, Local, Scene, Table};

/// One point of the sweep over s; rms distances in metres over vertices and poses, after duplicates are merged, poses
/// scaled by their importance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPoint {
    /// The ridge.
    pub s: f64,
    /// Training error.
    pub train: f64,
    /// Cross-validated error. Poses whose movement no other pose shows count with what the base leaves of them.
    pub validated: f64,
    /// Sum of squared held-out residuals (or of GCV values) of the poses that count, which the choice minimises.
    pub score: f64,
}

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct MweReport {
    /// The ridge used.
    pub s: f64,
    /// Row or full features.
    pub rows: EnvelopingForm,
    /// The sweep, if s was chosen by one. It is empty where s was given, and where no pose shows what another one moves, so that s
    /// is the largest that meets the examples.
    pub sweep: Vec<SweepPoint>,
    /// Of local sculpts, the least error over the grid on touched rows that are left out, over what the base leaves of them.
    pub left_out_share: Option<f64>,
    /// Vertices that some example says how to place: all of them without local sculpts.
    pub touched: usize,
    /// Joints that never moved in training and were welded.
    pub welded: Vec<BoneIndex>,
    /// Distinct (bones, anchor) sets.
    pub groups: usize,
    /// Poses merged as duplicates, summed over groups.
    pub merged: usize,
    /// Vertices solved by their principal axes, because their ridge is too small for the batched solver.
    pub by_axes: usize,
    /// Vertices solved in single precision.
    pub in_single: usize,
    /// Principal axes that were dropped at those, summed over vertices (and axes in the row form).
    pub axes_dropped: usize,
    /// Largest leverage of a training pose at any vertex looked at (128, evenly spread): 1 means a pose
    /// determines its own fit.
    pub largest_leverage: f64,
    /// 99th percentile over the vertices looked at of the largest leverage.
    pub leverage_p99: f64,
    /// Vertices with at least one coefficient.
    pub corrected: usize,
    /// What principal axes explain of the features, at the vertices whose leverage is looked at; `None` where no feature varies.
    pub principal_axes: Option<PrincipalAxes>,
}

/// What principal axes explain of the variance of features: means over regressions, of which a vertex has one, or one per axis in the
/// row form.
///
/// Wang & Phillips 2002 drop axes that hardly vary. Moments are taken about what the centring subtracts, which is the bind pose by
/// default.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct PrincipalAxes {
    /// Features of a regression.
    pub columns: f64,
    /// Axes that are kept.
    pub kept: f64,
    /// Axes that explain 99 % of the variance.
    pub for_99_percent: f64,
    /// The share of the variance that the axes kept explain, over all regressions.
    pub explained: f64,
}

/// A fitted correction with its report.
#[derive(Clone, Debug)]
pub struct Mwe {
    /// The correction.
    pub correction: Enveloping,
    /// What the fit found out.
    pub report: MweReport,
}

/// Fits the correction X − base. `maps` are the influence maps μ, one row per vertex.
///
/// # Errors
/// [`FitError`]: counts that disagree, numbers that are not finite, singular anchors, settings out of range,
/// cancellation.
pub fn fit_mwe(
    training: &Training<'_>,
    maps: &Influences,
    settings: &MweSettings,
    progress: Progress<'_>,
) -> Result<Mwe, FitError> {
    Resolver::new(training, maps, settings, progress).map(Resolver::into_model)
}

/// Returns the leverage of unseen poses, h = φᵀ (ΦᵀΦ + Λ)⁻¹ φ: the factor by which a fit multiplies the noise of its training.
///
/// |δ(x)| ≤ √h |Y|. A leverage far above one marks a pose that the training does not determine, and without the guard the
/// correction there is arbitrary. The result holds, per probe, the largest leverage over at most `most` vertices, evenly
/// spread. Joint limits are not applied.
///
/// # Errors
/// As [`fit_mwe`].
pub fn leverages(
    training: &Training<'_>,
    maps: &Influences,
    settings: &MweSettings,
    fitted: &MweReport,
    probes: &[&BoneTransforms],
    most: usize,
) -> Result<Vec<f64>, FitError> {
    check(training, maps, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let scene = Scene::new(training, settings);
    let anchors = scene::anchors(training, maps, settings);
    let maps = &scene.welded_maps(maps)?;
    let (groups, _, tables) = scene.groups(maps, &anchors, settings)?;
    let groups = sampled(&groups, scene.vertices(), most);
    let welded: Vec<Vec<DAffine3>> = probes
        .iter()
        .map(|pose| {
            let mut bones = Vec::new();
            scene.weld.apply(pose, &mut bones);
            bones.iter_mut().for_each(|m| *m = about(m, scene.origin));
            bones
        })
        .collect();
    let parts = groups
        .par_iter()
        .map(|group| {
            let mut largest = vec![0.0f64; probes.len()];
            let local = scene.local(group, &tables[group.table], settings)?;
            for &v in &group.vertices {
                for problem in VertexProblem::all(&local, maps, v as usize, fitted.rows) {
                    let of_probes = problem
                        .leverage(&local, settings, fitted.s, &welded, scene.unit)
                        .map_err(|source| FitError::Solve { vertex: VertexIndex::new(v as usize), source })?;
                    largest.iter_mut().zip(of_probes).for_each(|(most, h)| *most = most.max(h));
                }
            }
            Ok(largest)
        })
        .collect::<Result<Vec<_>, FitError>>()?;
    let mut largest = vec![0.0f64; probes.len()];
    for part in parts {
        largest.iter_mut().zip(part).for_each(|(most, h)| *most = most.max(h));
    }
    Ok(largest)
}

/// Counts and ranges.
fn check(training: &Training<'_>, maps: &Influences, settings: &MweSettings) -> Result<(), FitError> {
    training.check()?;
    training.check_base()?;
    check_form(training, maps, settings)
}

/// What does not depend on the examples.
fn check_form(training: &Training<'_>, maps: &Influences, settings: &MweSettings) -> Result<(), FitError> {
    let vertices = training.rest.len();
    if maps.vertices() != vertices {
        return Err(FitError::Counts {
            what: "vertices of the influence maps",
            found: maps.vertices(),
            expected: vertices,
        });
    }
    let bones = training.skeleton.len();
    if maps.bones_named() > bones {
        return Err(FitError::Counts {
            what: "bones of the influence maps",
            found: maps.bones_named(),
            expected: bones,
        });
    }
    if let Anchor::PerVertex(list) = &settings.anchor
        && list.len() != vertices
    {
        return Err(FitError::Counts { what: "anchors", found: list.len(), expected: vertices });
    }
    let rule = |name, value: f64, good: bool, rule| match good {
        true => Ok(()),
        false => Err(FitError::Setting { name, value, rule }),
    };
    if let Strength::Given(s) = settings.strength {
        rule("s", s, s >= 0.0 && s.is_finite(), "it must be finite and not negative")?;
    } else {
        rule("grid", settings.grid.len() as f64, !settings.grid.is_empty(), "it needs at least one value")?;
        for &s in &settings.grid {
            rule("s", s, s >= 0.0 && s.is_finite(), "it must be finite and not negative")?;
        }
    }
    Ok(())
}

/// Some of the vertices of groups, evenly spread over the mesh: of the `vertices` that some example says how to place, one in so many
/// that about `most` are looked at.
fn sampled(groups: &[Group], vertices: usize, most: usize) -> Vec<Group> {
    let stride = vertices.div_ceil(most.max(1)).max(1);
    let looked_at = |group: &Group| {
        group.of(group.vertices.iter().copied().filter(|v| (*v as usize).is_multiple_of(stride)).collect())
    };
    groups.iter().map(looked_at).filter(|group| !group.vertices.is_empty()).collect()
}

/// Row or full features, s, and how they were chosen.
struct Form {
    rows: EnvelopingForm,
    s: f64,
    sweep: Vec<SweepPoint>,
    left_out_share: Option<f64>,
}

/// Row or full, and s. Of local sculpts, touched rows alone count.
fn choose_form(
    scene: &Scene<'_>,
    groups: &[Group],
    tables: &[Table],
    maps: &Influences,
    settings: &MweSettings,
    ticker: &Ticker<'_>,
) -> Result<Form, FitError> {
    let settings = &MweSettings { untouched: 0.0, ..settings.clone() };
    let touched = |group: &Group| (0..scene.poses()).filter(|&s| group.touched(s)).count();
    let pairs = groups.iter().map(|group| group.vertices.len() * touched(group)).sum();
    choose_among(settings, pairs, scene.masks.is_some(), |grid, rows| {
        sweep(scene, groups, tables, maps, settings, grid, rows, ticker)
    })
}

/// Row or full, and s, by the sums a sweep gives over `pairs` of poses and vertices.
fn choose_among(
    settings: &MweSettings,
    pairs: usize,
    local_sculpts: bool,
    mut sweep: impl FnMut(&[f64], EnvelopingForm) -> Result<Swept, FitError>,
) -> Result<Form, FitError> {
    let forms = forms(settings);
    let given = match settings.strength {
        Strength::Given(s) if forms.len() == 1 => {
            return Ok(Form { rows: forms[0], s, sweep: vec![], left_out_share: None });
        }
        Strength::Given(s) => Some(s),
        _ => None,
    };
    let grid = given.map_or_else(|| settings.grid.clone(), |s| vec![s]);
    let pairs = pairs.max(1) as f64;
    let mut best: Option<(f64, Form)> = None;
    // Full features first: without evidence they are taken. Row features cannot meet every example.
    for &rows in forms.iter().rev() {
        let Swept { sums, evidence } = sweep(&grid, rows)?;
        let left: Vec<f64> = sums.iter().map(|sums| sums.0).collect();
        let met = || grid[meeting(&left, evidence.all())];
        let least = sums.iter().map(|sums| sums.1).fold(f64::INFINITY, f64::min);
        let known = |least: f64| (local_sculpts && evidence.all() > 0.0).then(|| (least / evidence.all()).sqrt());
        if evidence.is_missing() || local_sculpts && evidence.counted == 0.0 {
            return Ok(Form { rows, s: met(), sweep: vec![], left_out_share: known(evidence.all()) });
        }
        let left_out_share = known(least + evidence.others);
        let unknown = left_out_share.map_or(0.0, unknown);
        if unknown == 1.0 && best.is_none() {
            return Ok(Form { rows, s: met(), sweep: vec![], left_out_share });
        }
        let scores: Vec<f64> = sums.iter().map(|s| s.1).collect();
        let chosen = choose(&scores, settings.tolerance).unwrap_or(grid.len() - 1);
        let points = grid.iter().zip(&sums).map(|(&s, &(train, score))| SweepPoint {
            s,
            train: (train / pairs).sqrt(),
            validated: ((score + evidence.others) / pairs).sqrt(),
            score,
        });
        let s = match unknown {
            0.0 => grid[chosen],
            _ => (grid[chosen].ln() * (1.0 - unknown) + met().ln() * unknown).exp(),
        };
        if best.as_ref().is_none_or(|(score, _)| scores[chosen] <= *score) {
            let sweep = if given.is_some() { vec![] } else { points.collect() };
            best = Some((scores[chosen], Form { rows, s, sweep, left_out_share }));
        }
    }
    Ok(best.expect("there is at least one form").1)
}

/// The forms that are fitted.
fn forms(settings: &MweSettings) -> &'static [EnvelopingForm] {
    match settings.rows {
        RowChoice::Row => &[EnvelopingForm::Row],
        RowChoice::Full => &[EnvelopingForm::Full],
        RowChoice::Auto => &[EnvelopingForm::Row, EnvelopingForm::Full],
    }
}

/// Errors over the grid, summed over vertices and axes.
struct Swept {
    /// (Training, validation) per value of s; poses whose movement no other pose shows are not validated.
    sums: Vec<(f64, f64)>,
    /// What the base leaves, by whether a pose is validated.
    evidence: Evidence,
}

impl Swept {
    fn new(grid: &[f64]) -> Self {
        Self { sums: vec![(0.0, 0.0); grid.len()], evidence: Evidence::default() }
    }

    /// Adds those of other vertices.
    fn join(&mut self, other: Self) {
        for (sum, (train, validated)) in self.sums.iter_mut().zip(other.sums) {
            sum.0 += train;
            sum.1 += validated;
        }
        self.evidence.join(other.evidence);
    }
}

/// Errors over the grid of every vertex of some groups.
fn sweep(
    scene: &Scene<'_>,
    groups: &[Group],
    tables: &[Table],
    maps: &Influences,
    settings: &MweSettings,
    grid: &[f64],
    rows: EnvelopingForm,
    ticker: &Ticker<'_>,
) -> Result<Swept, FitError> {
    let of_group = |group: &Group| {
        let table = &tables[group.table];
        let local = scene.local(group, table, settings)?;
        let folds = match settings.strength {
            Strength::CrossValidated(folds) => folds,
            _ => Folds::Single,
        }
        .ranges(local.rows());
        let joints = scene.joints(&local);
        let movements = movements(scene, &local, settings, &folds, &joints);
        let of_chunk = |vertices: &[u32]| {
            ticker.tick(0)?;
            let (y, _) = scene.targets(&local, table, vertices, settings.centring);
            let mut swept = Swept::new(grid);
            for (at, &v) in vertices.iter().enumerate() {
                let counted = movements.as_ref().map_or_else(
                    || vec![true; folds.len()],
                    |of_group| {
                        let mu = |bone: BoneIndex| maps.value(v as usize, bone);
                        let larger = |&(from, to): &(Option<BoneIndex>, BoneIndex)| mu(to).max(from.map_or(0.0, mu));
                        of_group.counted(&joints.iter().map(|joint| larger(joint).powi(2)).collect::<Vec<_>>())
                    },
                );
                let targets = y.get(.., 3 * at..3 * at + 3);
                for (fold, &counts) in folds.iter().zip(&counted) {
                    swept.evidence.add(counts, targets.get(fold.start..fold.end, ..).squared_norm_l2());
                }
                let kept: Vec<Fold> =
                    folds.iter().zip(&counted).filter_map(|(fold, counts)| counts.then_some(*fold)).collect();
                for problem in VertexProblem::all(&local, maps, v as usize, rows) {
                    let targets = targets.get(.., problem.first_axis..problem.last_axis);
                    problem
                        .sweep(&local, settings, grid, &kept, targets, &mut swept.sums)
                        .map_err(|source| FitError::Solve { vertex: VertexIndex::new(v as usize), source })?;
                }
            }
            ticker.tick(vertices.len() as u64)?;
            Ok(swept)
        };
        group.vertices.par_chunks(SWEEP_CHUNK).map(of_chunk).collect::<Result<Vec<_>, FitError>>()
    };
    let parts = groups.par_iter().map(of_group).collect::<Result<Vec<_>, FitError>>()?;
    let mut total = Swept::new(grid);
    parts.into_iter().flatten().for_each(|part| total.join(part));
    Ok(total)
}

/// How far the joints of a group turn in every fold, and how much of that the other folds show; `None` where all folds count:
/// blocks of poses, and generalised cross-validation, which leaves none out.
fn movements(
    scene: &Scene<'_>,
    local: &Local,
    settings: &MweSettings,
    folds: &[Fold],
    joints: &[(Option<BoneIndex>, BoneIndex)],
) -> Option<Movements> {
    if settings.strength == Strength::Gcv || folds.len() < local.rows() {
        return None;
    }
    let rows: Vec<usize> = (0..local.rows()).collect();
    let single = folds.iter().map(|fold| (&rows[fold.start..fold.end], 1));
    let square = |row: usize, k: usize| scene.moved(local.pose(row), joints[k]);
    Some(Movements::new((local.rows(), joints.len()), square, single))
}

/// Vertices a task scores at a time.
const SWEEP_CHUNK: usize = 64;

/// The largest leverage of each vertex of some groups, at the s that was chosen, and what their principal axes explain.
fn training_leverages(
    scene: &Scene<'_>,
    groups: &[Group],
    tables: &[Table],
    maps: &Influences,
    settings: &MweSettings,
    rows: EnvelopingForm,
    s: f64,
) -> Result<(Vec<f64>, Variances), FitError> {
    let of_group = |group: &Group| {
        let local = scene.local(group, &tables[group.table], settings)?;
        let of_vertex = |&v: &u32| {
            let mut solution = VertexSolution::new(group.bones.len(), rows);
            for problem in VertexProblem::all(&local, maps, v as usize, rows) {
                let none = dermis_solve::faer::Mat::zeros(local.rows(), problem.last_axis - problem.first_axis);
                problem
                    .solve(&local, settings, s, none.as_ref(), &mut solution)
                    .map_err(|source| FitError::Solve { vertex: VertexIndex::new(v as usize), source })?;
            }
            Ok((solution.leverage, solution.variances))
        };
        group.vertices.par_iter().map(of_vertex).collect::<Result<Vec<_>, FitError>>()
    };
    let (mut all, mut variances) = (vec![], Variances::default());
    for (leverage, of_vertex) in groups.par_iter().map(of_group).collect::<Result<Vec<_>, _>>()?.into_iter().flatten() {
        all.push(leverage);
        variances.join(of_vertex);
    }
    all.sort_by(f64::total_cmp);
    Ok((all, variances))
}
