//! Multi-weight enveloping, fitting: ridge regression of the skin on the entries of the bone transforms.
//!
//! Per vertex, with anchor bone a and bones k where its influence map μ_k > 0, the correction seen from the anchor,
//! δ̃ = R_a⁻¹ (X − base), is regressed on the features
//!
//! ```text
//! x_j = [ μ_k (M̃_k[j,0], M̃_k[j,1], M̃_k[j,2], M̃_k[j,3] / L) ]  over bones k,     M̃_k = M_a⁻¹ M_k.
//! ```
//!
//! In the `row` form axis j of δ̃ reads x_j; in the `full` form every axis reads x_0, x_1 and x_2.
//!
//! **The published form** ([`MweSettings::published`]) regresses in the world on row features, takes principal axes of
//! the *centred* features but fits with the *uncentred* ones, and ties the ridge to each axis' own variance. It is kept
//! to the letter, with its shortcomings: it turns when the character turns, it cannot move skin along a hinge's axis, it
//! loses its constant, and nothing bounds it but s_f: coefficients grow as s_f^(−1/4), and with s_f = 0, or a ridge in
//! units of the data's own variance ([`RidgeMode::Relative`]), the rounding of a joint that never moved is fitted at full
//! strength, so that an unseen motion throws vertices metres away. **The default form** anchors features in the vertex's dominant bone (equivariant), reads full features,
//! measures them from the bind pose (exact there), and uses one absolute ridge in units of joint angle, which bounds the
//! correction; [`dermis_deform::correction`] bounds it in every pose whatever the ridge.
//!
//! Source: Wang & Phillips 2002, "Multi-weight enveloping: least-squares approximation techniques for skin animation",
//! eqs. 3–9. Departures: diag(λ_h) where eq. 8 prints λ_h I, as its cost function says; the corner entry of eq. 3 is
//! unused; coefficients keep the rest position multiplied in, so they exist where it is zero.

use crate::training::{FitError, Progress, Training};
use dermis_deform::enveloping::{Enveloping, Pair, Rows};
use dermis_deform::features::relative_features;
use dermis_deform::guard::{BALL_FACTOR, FROZEN, LIMIT_FACTOR, Weld};
use dermis_rig::glam::{DAffine3, DVec3};
use dermis_rig::skeleton::invert;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_solve::cross_validation::{Fold, choose, gcv, press};
use dermis_solve::faer::{Mat, MatRef};
use dermis_solve::ridge::augmented_ridge;
use dermis_solve::symmetric::{principal_axes, solve_shifted};
use dermis_solve::{Folds, SolveError};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

/// The frame a vertex's features and correction are seen from.
#[derive(Clone, Debug, PartialEq)]
pub enum Anchor {
    /// The world: published, and not equivariant.
    World,
    /// The skeleton's first root.
    Root,
    /// The bone of largest μ at the vertex, ties to the lowest index.
    Dominant,
    /// One bone for all vertices.
    Bone(BoneIndex),
    /// A bone for every vertex.
    PerVertex(Vec<BoneIndex>),
}

/// Which rows of the transforms an axis reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowChoice {
    /// Axis j reads row j.
    Row,
    /// Every axis reads all rows.
    Full,
    /// Both are fitted, the smaller cross-validated error wins.
    Auto,
}

/// What is subtracted from the features.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Centring {
    /// The bind pose's features: the correction vanishes there by construction.
    Rest,
    /// The weighted mean, with an unpenalised intercept.
    Mean,
    /// Nothing, and no intercept.
    Raw,
    /// Published: principal axes of the centred features, regression on the uncentred ones, no intercept.
    Paper,
}

/// How the ridge λ_h of principal axis h depends on s. v_h is the variance along the axis, m the sum of pose weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RidgeMode {
    /// λ = s on unnormalised sums of squares: a ridge in joint angle, one number for every direction.
    Absolute,
    /// λ = s / v_h (published).
    Paper,
    /// λ = s m / v_h.
    Unit,
    /// λ = s m v_ref² / v_h, v_ref the largest variance before μ is multiplied in.
    Relative,
}

/// How the strength of the ridge is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Strength {
    /// Given.
    Given(f64),
    /// By exact cross-validation over the grid.
    CrossValidated(Folds),
    /// By generalised cross-validation over the grid.
    Gcv,
}

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct MweSettings {
    /// Frame of features and correction.
    pub anchor: Anchor,
    /// Row or full features.
    pub rows: RowChoice,
    /// What is subtracted from the features.
    pub centring: Centring,
    /// How λ depends on s.
    pub ridge: RidgeMode,
    /// How s is found.
    pub strength: Strength,
    /// Values of s that are tried, ascending.
    pub grid: Vec<f64>,
    /// Cross-validation takes the largest s whose rms is within this factor of the best; 1 takes the best.
    pub tolerance: f64,
    /// Principal axes with a variance at or below this times the largest are dropped (not in `Absolute`).
    pub eig_tol: f64,
    /// Singular values at or below this times the largest are dropped (`Paper` centring only).
    pub svd_tol: f64,
    /// Poses whose features around a vertex agree within this are merged; negative switches merging off.
    pub duplicates: f64,
    /// Welding, limits and the ball. Off only in the published form.
    pub guard: bool,
}

impl MweSettings {
    /// The form to use: full features (row or full by cross-validation below 16 poses), seen from the dominant bone,
    /// measured from the bind pose, one absolute ridge by leave-one-out (by five blocks of frames for a clip), guarded.
    pub fn for_poses(poses: usize, is_clip: bool) -> Self {
        Self {
            anchor: Anchor::Dominant,
            rows: if poses < 16 { RowChoice::Auto } else { RowChoice::Full },
            centring: Centring::Rest,
            ridge: RidgeMode::Absolute,
            strength: Strength::CrossValidated(if is_clip { Folds::Blocks(5) } else { Folds::Single }),
            grid: half_decades(1e-4, 10.0),
            tolerance: 1.03,
            eig_tol: 1e-10,
            svd_tol: 1e-12,
            duplicates: 1e-6,
            guard: true,
        }
    }

    /// The published form to the letter, with its ridge scale s_f.
    pub fn published(s_f: f64) -> Self {
        Self {
            anchor: Anchor::World,
            rows: RowChoice::Row,
            centring: Centring::Paper,
            ridge: RidgeMode::Paper,
            strength: Strength::Given(s_f),
            grid: half_decades(1e-10, 10.0),
            tolerance: 1.0,
            eig_tol: 1e-10,
            svd_tol: 1e-12,
            duplicates: 1e-6,
            guard: false,
        }
    }
}

/// `low`, `low`·√10, … up to `high`.
pub fn half_decades(low: f64, high: f64) -> Vec<f64> {
    let steps = ((high / low).log10() * 2.0).round() as i32;
    let start = (low.log10() * 2.0).round() as i32;
    (start..=start + steps).map(|half| 10f64.powf(f64::from(half) / 2.0)).collect()
}

/// One point of the sweep over s; rms distances in metres over vertices and poses, after duplicates are merged, poses
/// scaled by their importance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SweepPoint {
    /// The ridge.
    pub s: f64,
    /// Training error.
    pub train: f64,
    /// Cross-validated error.
    pub validated: f64,
    /// Sum of squared held-out residuals (or of GCV values), the number that is minimised.
    pub score: f64,
}

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct MweReport {
    /// The ridge used.
    pub s: f64,
    /// Row or full features.
    pub rows: Rows,
    /// The sweep, if s was chosen by one.
    pub sweep: Vec<SweepPoint>,
    /// Joints that never moved in training and were welded.
    pub welded: Vec<BoneIndex>,
    /// Distinct (bones, anchor) sets.
    pub groups: usize,
    /// Poses merged as duplicates, summed over groups.
    pub merged: usize,
    /// Principal axes that were dropped, summed over vertices (and axes in the row form).
    pub axes_dropped: usize,
    /// Largest leverage of a training pose at any vertex: 1 means a pose determines its own fit.
    pub largest_leverage: f64,
    /// 99th percentile over vertices of the largest leverage.
    pub leverage_p99: f64,
    /// Vertices with at least one coefficient.
    pub corrected: usize,
}

/// A fitted correction with its report.
#[derive(Clone, Debug)]
pub struct Mwe {
    /// The correction.
    pub correction: Enveloping,
    /// What was learnt about it.
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
    check(training, maps, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let scene = Scene::new(training, settings);
    let anchors = anchors(training, maps, settings);
    let maps = &scene.welded_maps(maps);
    let (groups, pairs) = scene.groups(maps, &anchors, settings)?;
    let forms: &[Rows] = match settings.rows {
        RowChoice::Row => &[Rows::Row],
        RowChoice::Full => &[Rows::Full],
        RowChoice::Auto => &[Rows::Row, Rows::Full],
    };
    let sweeps = match settings.strength {
        Strength::Given(_) if forms.len() == 1 => None,
        _ => Some(forms.len() as u64),
    };
    let vertices = training.rest.len() as u64;
    let ticker = Ticker { done: AtomicU64::new(0), total: vertices * (1 + sweeps.unwrap_or(0)), progress };

    let (rows, s, sweep) = choose_form(&scene, &groups, maps, settings, forms, sweeps.is_some(), &ticker)?;
    let solved = scene.solve(&groups, maps, settings, rows, s, &ticker)?;
    Ok(assemble(&scene, &groups, pairs, anchors, settings, rows, s, sweep, solved))
}

/// Leverage of unseen poses: h = φᵀ (ΦᵀΦ + Λ)⁻¹ φ, by which a fit multiplies the noise of its training.
///
/// |δ(x)| ≤ √h |Y|: a leverage far above one is a pose the training says nothing about, and without the guard the
/// correction there is arbitrary. Looked at on at most `most` vertices, evenly spread; joint limits are not applied.
/// Result: the largest leverage per probe.
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
    let anchors = anchors(training, maps, settings);
    let maps = &scene.welded_maps(maps);
    let (groups, _) = scene.groups(maps, &anchors, settings)?;
    let stride = training.rest.len().div_ceil(most.max(1)).max(1);
    let welded: Vec<Vec<DAffine3>> = probes
        .iter()
        .map(|pose| {
            let mut bones = Vec::new();
            scene.weld.apply(pose, &mut bones);
            bones
        })
        .collect();
    let parts = groups
        .par_iter()
        .map(|group| {
            let mut largest = vec![0.0f64; probes.len()];
            for &v in group.vertices.iter().filter(|v| (**v as usize).is_multiple_of(stride)) {
                for problem in group.problems(maps, v as usize, fitted.rows) {
                    let of_probes = problem
                        .leverage(group, settings, fitted.s, &welded, scene.unit)
                        .map_err(|source| FitError::Solve { vertex: v as usize, source })?;
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

/// The anchor of every vertex.
fn anchors(training: &Training<'_>, maps: &Influences, settings: &MweSettings) -> Vec<Option<BoneIndex>> {
    let root = BoneIndex::new(0);
    (0..training.rest.len())
        .map(|v| match &settings.anchor {
            Anchor::World => None,
            Anchor::Root => Some(root),
            Anchor::Dominant => Some(maps.dominant(v).unwrap_or(root)),
            Anchor::Bone(bone) => Some(*bone),
            Anchor::PerVertex(list) => Some(list[v]),
        })
        .collect()
}

/// Poses ready to be looked at from any anchor.
struct Scene<'a> {
    training: &'a Training<'a>,
    weld: Weld,
    /// Welded bone transforms per pose.
    welded: Vec<Vec<DAffine3>>,
    /// For each bone, the topmost bone it is welded to.
    representative: Vec<BoneIndex>,
    unit: f64,
}

/// Vertices that share bones and anchor, with their common matrices.
struct Group {
    anchor: Option<BoneIndex>,
    bones: Vec<BoneIndex>,
    /// Pair of each bone, for the correction's terms.
    pairs: Vec<u32>,
    vertices: Vec<u32>,
    /// Poses of each row: one, or several merged as duplicates.
    clusters: Vec<Vec<u32>>,
    /// r of each row.
    scale: Vec<f64>,
    /// Sum of r².
    mass: f64,
    /// Unscaled features of each row (rows × 12·bones), as they are.
    raw: Mat<f64>,
    /// x0 as the regression uses it: zero in the published form, which centres for the principal axes only.
    centre: Vec<f64>,
    /// diag(r)(raw − x0).
    centred: Mat<f64>,
    /// centredᵀ centred.
    gram: Mat<f64>,
    /// Largest variance before μ, per axis of the row form and, last, of all columns.
    reference: [f64; 4],
}

/// Vertices a task solves at a time.
const CHUNK: usize = 128;

impl<'a> Scene<'a> {
    fn new(training: &'a Training<'a>, settings: &MweSettings) -> Self {
        let (skeleton, unit) = (training.skeleton, training.unit());
        let weld = match settings.guard {
            true => Weld::of_training(skeleton, training.examples.iter().map(|e| &e.transforms), unit),
            false => Weld::default(),
        };
        let mut representative: Vec<BoneIndex> = skeleton.bones().collect();
        for link in weld.links.iter().filter(|link| link.frozen) {
            representative[link.to.get()] = representative[link.from.get()];
        }
        let welded = training
            .examples
            .iter()
            .map(|example| {
                let mut bones = Vec::new();
                weld.apply(&example.transforms, &mut bones);
                bones
            })
            .collect();
        Self { training, weld, welded, representative, unit }
    }

    /// The maps of welded bones: a group of bones that move as one has the largest of their maps.
    fn welded_maps(&self, maps: &Influences) -> Influences {
        let rows = maps.rows().map(|row| {
            let mut largest: BTreeMap<BoneIndex, f64> = BTreeMap::new();
            for &(bone, mu) in row.iter().filter(|(_, mu)| *mu > 0.0) {
                let most = largest.entry(self.representative[bone.get()]).or_insert(0.0);
                *most = most.max(mu);
            }
            largest.into_iter().collect()
        });
        Influences::from_rows(rows).unwrap_or_default()
    }

    fn poses(&self) -> usize {
        self.welded.len()
    }

    /// Groups vertices by anchor and bones, and finds the pairs they use.
    fn groups(
        &self,
        maps: &Influences,
        anchors: &[Option<BoneIndex>],
        settings: &MweSettings,
    ) -> Result<(Vec<Group>, Vec<Pair>), FitError> {
        self.check_anchors(anchors)?;
        let mut pairs: Vec<Pair> = Vec::new();
        let mut known: BTreeMap<(Option<BoneIndex>, BoneIndex), Option<u32>> = BTreeMap::new();
        let mut members: BTreeMap<(Option<BoneIndex>, Vec<BoneIndex>), Vec<u32>> = BTreeMap::new();
        // The anchor's own features are constant; only without centring do they serve, as an intercept.
        let keep_anchor = settings.centring == Centring::Raw;
        for (v, row) in maps.rows().enumerate() {
            let anchor = anchors[v];
            let bones: Vec<BoneIndex> = row
                .iter()
                .map(|&(bone, _)| bone)
                .filter(|&bone| {
                    known
                        .entry((anchor, bone))
                        .or_insert_with(|| {
                            let limit = self.limit(anchor, bone, settings, keep_anchor)?;
                            pairs.push(Pair { anchor, bone, limit });
                            Some(pairs.len() as u32 - 1)
                        })
                        .is_some()
                })
                .collect();
            members.entry((anchor, bones)).or_default().push(v as u32);
        }
        let members: Vec<_> = members.into_iter().collect();
        let groups = members
            .into_par_iter()
            .map(|((anchor, bones), vertices)| {
                let indices = bones.iter().filter_map(|&bone| known[&(anchor, bone)]).collect();
                self.group(anchor, bones, indices, vertices, settings)
            })
            .collect::<Result<Vec<_>, _>>()?;
        Ok((groups, pairs))
    }

    /// The limit of a pair, or `None` if it can have no influence.
    fn limit(
        &self,
        anchor: Option<BoneIndex>,
        bone: BoneIndex,
        settings: &MweSettings,
        keep_anchor: bool,
    ) -> Option<f64> {
        let own = anchor.is_some_and(|a| self.representative[a.get()] == bone);
        if own && !keep_anchor {
            return None;
        }
        if !settings.guard {
            return Some(f64::INFINITY);
        }
        let largest = (0..self.poses())
            .map(|s| relative_features(&self.welded[s], anchor, bone, self.unit))
            .map(|f| f.iter().map(|x| x * x).sum::<f64>().sqrt())
            .fold(0.0, f64::max);
        (largest >= FROZEN || own).then_some(LIMIT_FACTOR * largest)
    }

    fn check_anchors(&self, anchors: &[Option<BoneIndex>]) -> Result<(), FitError> {
        let mut used: Vec<BoneIndex> = anchors.iter().flatten().copied().collect();
        used.sort_unstable();
        used.dedup();
        for bone in used {
            if bone.get() >= self.training.skeleton.len() {
                let expected = self.training.skeleton.len();
                return Err(FitError::Counts { what: "bones, by an anchor", found: bone.get() + 1, expected });
            }
            for example in self.training.examples {
                if invert(&example.transforms[bone]).is_none() {
                    return Err(FitError::SingularAnchor {
                        bone: self.training.skeleton.names()[bone].clone(),
                        example: example.label.clone(),
                    });
                }
            }
        }
        Ok(())
    }

    /// The matrices vertices of one group share.
    fn group(
        &self,
        anchor: Option<BoneIndex>,
        bones: Vec<BoneIndex>,
        pairs: Vec<u32>,
        vertices: Vec<u32>,
        settings: &MweSettings,
    ) -> Result<Group, FitError> {
        let columns = 12 * bones.len();
        let identity = |c: usize| f64::from(u8::from(c % 4 == (c % 12) / 4));
        let mut all = Mat::<f64>::zeros(self.poses(), columns);
        for s in 0..self.poses() {
            for (k, &bone) in bones.iter().enumerate() {
                let f = relative_features(&self.welded[s], anchor, bone, self.unit);
                for c in 0..12 {
                    all[(s, 12 * k + c)] = f[c] + identity(c);
                }
            }
        }
        let importance: Vec<f64> = self.training.examples.iter().map(|e| e.importance).collect();
        let clusters = clusters(all.as_ref(), settings.duplicates);
        let scale: Vec<f64> = clusters
            .iter()
            .map(|members| members.iter().map(|&s| importance[s as usize]).fold(0.0, f64::max))
            .collect();
        let raw =
            Mat::from_fn(clusters.len(), columns, |row, c| weighted_mean(&clusters[row], &importance, |s| all[(s, c)]));
        let mass: f64 = scale.iter().map(|r| r * r).sum();
        let centre: Vec<f64> = (0..columns)
            .map(|c| match settings.centring {
                Centring::Rest => identity(c),
                Centring::Raw => 0.0,
                Centring::Mean | Centring::Paper if mass > 0.0 => {
                    (0..scale.len()).map(|row| scale[row] * scale[row] * raw[(row, c)]).sum::<f64>() / mass
                }
                Centring::Mean | Centring::Paper => 0.0,
            })
            .collect();
        let centred = Mat::from_fn(scale.len(), columns, |row, c| scale[row] * (raw[(row, c)] - centre[c]));
        let gram = centred.transpose() * &centred;
        let reference = match settings.ridge {
            RidgeMode::Relative => reference_variances(&gram, bones.len(), mass)
                .map_err(|source| FitError::Solve { vertex: vertices[0] as usize, source })?,
            _ => [0.0; 4],
        };
        let centre = if settings.centring == Centring::Paper { vec![0.0; columns] } else { centre };
        Ok(Group { anchor, bones, pairs, vertices, clusters, scale, mass, raw, centre, centred, gram, reference })
    }

    /// Scaled targets of some vertices of a group (rows × 3·vertices), and their weighted means if centred by the mean.
    fn targets(&self, group: &Group, vertices: &[u32], centring: Centring) -> (Mat<f64>, Vec<f64>) {
        let examples = self.training.examples;
        let importance: Vec<f64> = examples.iter().map(|e| e.importance).collect();
        // The anchor's turn back, once per pose; the identity for the world.
        let back: Vec<_> =
            examples.iter().map(|e| group.anchor.and_then(|a| invert(&e.transforms[a])).map(|m| m.matrix3)).collect();
        let residual = |s: usize, v: usize| -> DVec3 {
            let world = examples[s].positions[v] - self.training.base[s][v];
            back[s].map_or(world, |turn| turn * world)
        };
        let mut y = Mat::<f64>::zeros(group.clusters.len(), 3 * vertices.len());
        for (at, &v) in vertices.iter().enumerate() {
            for (row, members) in group.clusters.iter().enumerate() {
                let mean = if let [only] = members[..] {
                    residual(only as usize, v as usize)
                } else {
                    let axis = |j: usize| weighted_mean(members, &importance, |s| residual(s, v as usize)[j]);
                    DVec3::new(axis(0), axis(1), axis(2))
                };
                for j in 0..3 {
                    y[(row, 3 * at + j)] = mean[j];
                }
            }
        }
        let mut means = vec![0.0; y.ncols()];
        for column in 0..y.ncols() {
            if centring == Centring::Mean && group.mass > 0.0 {
                let weighted = (0..y.nrows()).map(|row| group.scale[row] * group.scale[row] * y[(row, column)]);
                means[column] = weighted.sum::<f64>() / group.mass;
            }
            for row in 0..y.nrows() {
                y[(row, column)] = group.scale[row] * (y[(row, column)] - means[column]);
            }
        }
        (y, means)
    }

    /// Runs `work` on every chunk of every group, in parallel, results in order.
    fn for_chunks<T: Send>(
        &self,
        groups: &[Group],
        centring: Centring,
        ticker: &Ticker<'_>,
        work: impl Fn(&Group, &[u32], &Mat<f64>, &[f64]) -> Result<T, SolveError> + Sync,
    ) -> Result<Vec<T>, FitError> {
        let chunks: Vec<(&Group, &[u32])> =
            groups.iter().flat_map(|g| g.vertices.chunks(CHUNK).map(move |chunk| (g, chunk))).collect();
        chunks
            .into_par_iter()
            .map(|(group, vertices)| {
                ticker.tick(0)?;
                let (y, means) = self.targets(group, vertices, centring);
                let result = work(group, vertices, &y, &means)
                    .map_err(|source| FitError::Solve { vertex: vertices[0] as usize, source })?;
                ticker.tick(vertices.len() as u64)?;
                Ok(result)
            })
            .collect()
    }

    /// Errors over the grid, summed over vertices and axes: (training, validation) per value of s.
    fn sweep(
        &self,
        groups: &[Group],
        maps: &Influences,
        settings: &MweSettings,
        grid: &[f64],
        rows: Rows,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<(f64, f64)>, FitError> {
        let parts = self.for_chunks(groups, settings.centring, ticker, |group, vertices, y, _| {
            let mut sums = vec![(0.0, 0.0); grid.len()];
            let folds = match settings.strength {
                Strength::CrossValidated(folds) => folds,
                _ => Folds::Single,
            }
            .ranges(y.nrows());
            for (at, &v) in vertices.iter().enumerate() {
                for problem in group.problems(maps, v as usize, rows) {
                    let targets = y.get(.., 3 * at + problem.first_axis..3 * at + problem.last_axis);
                    problem.sweep(group, settings, grid, &folds, targets, &mut sums)?;
                }
            }
            Ok(sums)
        })?;
        let mut total = vec![(0.0, 0.0); grid.len()];
        for part in parts {
            for (sum, (train, validated)) in total.iter_mut().zip(part) {
                sum.0 += train;
                sum.1 += validated;
            }
        }
        Ok(total)
    }

    /// Coefficients of every vertex at one s.
    fn solve(
        &self,
        groups: &[Group],
        maps: &Influences,
        settings: &MweSettings,
        rows: Rows,
        s: f64,
        ticker: &Ticker<'_>,
    ) -> Result<Vec<Vec<VertexSolution>>, FitError> {
        self.for_chunks(groups, settings.centring, ticker, |group, vertices, y, means| {
            vertices
                .iter()
                .enumerate()
                .map(|(at, &v)| {
                    let mut solution = VertexSolution::new(group.bones.len(), rows);
                    for problem in group.problems(maps, v as usize, rows) {
                        let targets = y.get(.., 3 * at + problem.first_axis..3 * at + problem.last_axis);
                        problem.solve(group, settings, s, targets, &mut solution)?;
                    }
                    for j in 0..3 {
                        solution.constant[j] += means[3 * at + j];
                    }
                    Ok(solution)
                })
                .collect()
        })
    }
}

/// The largest eigenvalue of the Gram matrix over the mass, for each axis' own columns and for all of them.
fn reference_variances(gram: &Mat<f64>, bones: usize, mass: f64) -> Result<[f64; 4], SolveError> {
    let mut reference = [0.0; 4];
    for (at, value) in reference.iter_mut().enumerate() {
        let columns: Vec<usize> = (0..12 * bones).filter(|c| at == 3 || (c % 12) / 4 == at).collect();
        let part = Mat::from_fn(columns.len(), columns.len(), |i, j| gram[(columns[i], columns[j])]);
        *value = principal_axes(part.as_ref())?.values.first().map_or(0.0, |v| v / mass);
    }
    Ok(reference)
}

/// Poses that agree: in pose order, a pose joins the first earlier leader whose features all lie within `tolerance`.
fn clusters(features: MatRef<'_, f64>, tolerance: f64) -> Vec<Vec<u32>> {
    let poses = features.nrows();
    if tolerance < 0.0 {
        return (0..poses as u32).map(|s| vec![s]).collect();
    }
    if features.ncols() == 0 {
        return vec![(0..poses as u32).collect()];
    }
    let close =
        |a: usize, b: usize| (0..features.ncols()).all(|c| (features[(a, c)] - features[(b, c)]).abs() <= tolerance);
    // Leaders sorted by the column that varies most: only those within the tolerance there are compared in full.
    let spread = |c: usize| {
        let column = (0..poses).map(|s| features[(s, c)]);
        column.clone().fold(f64::NEG_INFINITY, f64::max) - column.fold(f64::INFINITY, f64::min)
    };
    let key = (0..features.ncols()).max_by(|&a, &b| spread(a).total_cmp(&spread(b))).unwrap_or(0);
    let mut clusters: Vec<Vec<u32>> = Vec::new();
    let mut leaders: Vec<(f64, usize)> = Vec::new();
    for s in 0..poses {
        let value = features[(s, key)];
        let from = leaders.partition_point(|&(x, _)| x < value - tolerance);
        let near = leaders[from..].iter().take_while(|(x, _)| *x <= value + tolerance);
        let leader = near.map(|&(_, at)| at).filter(|&at| close(clusters[at][0] as usize, s)).min();
        match leader {
            Some(at) => clusters[at].push(s as u32),
            None => {
                leaders.insert(leaders.partition_point(|&(x, _)| x < value), (value, clusters.len()));
                clusters.push(vec![s as u32]);
            }
        }
    }
    clusters
}

/// The r²-weighted mean over members.
fn weighted_mean(members: &[u32], importance: &[f64], value: impl Fn(usize) -> f64) -> f64 {
    if let [only] = members {
        return value(*only as usize);
    }
    let mass: f64 = members.iter().map(|&s| importance[s as usize].powi(2)).sum();
    members.iter().map(|&s| importance[s as usize].powi(2) * value(s as usize)).sum::<f64>() / mass
}

/// One regression of one vertex: all three axes on shared features, or one axis on its own.
struct VertexProblem {
    /// Columns of the group's matrices.
    columns: Vec<usize>,
    /// μ of each column.
    mu: Vec<f64>,
    /// Axes first..last are targets.
    first_axis: usize,
    last_axis: usize,
    /// v_ref.
    reference: f64,
}

impl Group {
    /// The regressions of vertex `v`: one in the full form, three in the row form.
    fn problems(&self, maps: &Influences, v: usize, rows: Rows) -> Vec<VertexProblem> {
        let mu_of: Vec<f64> = self.bones.iter().map(|&bone| maps.value(v, bone)).collect();
        let part = |keep: &dyn Fn(usize) -> bool, first_axis, last_axis, reference| {
            let columns: Vec<usize> = (0..12 * self.bones.len()).filter(|&c| keep(c)).collect();
            let mu = columns.iter().map(|c| mu_of[c / 12]).collect();
            VertexProblem { columns, mu, first_axis, last_axis, reference }
        };
        match rows {
            Rows::Full => vec![part(&|_| true, 0, 3, self.reference[3])],
            Rows::Row => (0..3).map(|j| part(&|c| (c % 12) / 4 == j, j, j + 1, self.reference[j])).collect(),
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
    /// Axes dropped.
    dropped: usize,
}

impl VertexProblem {
    fn scaled_gram(&self, group: &Group) -> Mat<f64> {
        let n = self.columns.len();
        Mat::from_fn(n, n, |i, j| group.gram[(self.columns[i], self.columns[j])] * self.mu[i] * self.mu[j])
    }

    /// The columns of a group's matrix, times μ.
    fn scaled(&self, from: &Mat<f64>) -> Mat<f64> {
        Mat::from_fn(from.nrows(), self.columns.len(), |row, c| from[(row, self.columns[c])] * self.mu[c])
    }

    /// Which eigenvalues (sums of squares, descending) are kept: a count.
    fn kept(&self, values: &[f64], group: &Group, settings: &MweSettings) -> usize {
        let Some(&largest) = values.first() else { return 0 };
        match settings.ridge {
            RidgeMode::Absolute => values.iter().filter(|g| **g > 1e-9 * largest && **g > 1e-12).count(),
            _ if largest / group.mass <= 1e-14 || group.mass <= 0.0 => 0,
            _ => values.iter().filter(|g| **g > settings.eig_tol * largest).count(),
        }
    }

    /// Principal axes, on the side (features or poses) that is smaller.
    fn decompose(&self, group: &Group, settings: &MweSettings) -> Result<Decomposition, SolveError> {
        let (rows, columns) = (group.centred.nrows(), self.columns.len());
        let x = self.scaled(&group.centred);
        if columns <= rows {
            let found = principal_axes(self.scaled_gram(group).as_ref())?;
            let kept = self.kept(&found.values, group, settings);
            let e = found.vectors.get(.., ..kept);
            let mut q = &x * e;
            for h in 0..kept {
                let sigma = found.values[h].sqrt();
                for row in 0..rows {
                    q[(row, h)] /= sigma;
                }
            }
            let axes = Mat::from_fn(columns, kept, |c, h| self.mu[c] * e[(c, h)]);
            Ok(Decomposition { values: found.values[..kept].to_vec(), axes, q, dropped: columns - kept })
        } else {
            let found = principal_axes((&x * x.transpose()).as_ref())?;
            let kept = self.kept(&found.values, group, settings);
            let q = found.vectors.get(.., ..kept).to_owned();
            let mut axes = x.transpose() * &q;
            for h in 0..kept {
                let sigma = found.values[h].sqrt();
                for c in 0..columns {
                    axes[(c, h)] *= self.mu[c] / sigma;
                }
            }
            Ok(Decomposition { values: found.values[..kept].to_vec(), axes, q, dropped: columns - kept })
        }
    }

    /// f_h = g_h / (g_h + λ_h) for sums of squares g_h.
    fn filter(&self, values: &[f64], s: f64, group: &Group, settings: &MweSettings) -> Vec<f64> {
        values.iter().map(|&g| g / (g + self.ridge(g / group.mass, s, group, settings))).collect()
    }

    /// λ_h for variance v_h.
    fn ridge(&self, v: f64, s: f64, group: &Group, settings: &MweSettings) -> f64 {
        match settings.ridge {
            RidgeMode::Absolute => s,
            RidgeMode::Paper => s / v,
            RidgeMode::Unit => s * group.mass / v,
            RidgeMode::Relative => s * group.mass * self.reference * self.reference / v,
        }
    }

    /// The smoother's orthonormal columns, with the intercept's column if there is one.
    fn with_intercept(q: &Mat<f64>, group: &Group, settings: &MweSettings) -> Mat<f64> {
        if settings.centring != Centring::Mean || group.mass <= 0.0 {
            return q.clone();
        }
        let root = group.mass.sqrt();
        Mat::from_fn(
            q.nrows(),
            q.ncols() + 1,
            |row, h| if h == q.ncols() { group.scale[row] / root } else { q[(row, h)] },
        )
    }

    /// Adds training and validation sums for every s of the grid.
    fn sweep(
        &self,
        group: &Group,
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
                let left = self.published(group, settings, s, y)?.1.left;
                score(at, left.as_ref(), &vec![1.0; left.ncols()])?;
            }
            return Ok(());
        }
        let parts = self.decompose(group, settings)?;
        let q = Self::with_intercept(&parts.q, group, settings);
        for (at, &s) in grid.iter().enumerate() {
            let mut filter = self.filter(&parts.values, s, group, settings);
            filter.resize(q.ncols(), 1.0);
            score(at, q.as_ref(), &filter)?;
        }
        Ok(())
    }

    /// The published regression: E from the centred features, C = A E from the uncentred ones.
    fn published(
        &self,
        group: &Group,
        settings: &MweSettings,
        s: f64,
        y: MatRef<'_, f64>,
    ) -> Result<(Mat<f64>, dermis_solve::ridge::AugmentedRidge), SolveError> {
        let found = principal_axes(self.scaled_gram(group).as_ref())?;
        let kept = self.kept(&found.values, group, settings);
        let axes = Mat::from_fn(self.columns.len(), kept, |c, h| self.mu[c] * found.vectors[(c, h)]);
        let raw = Mat::from_fn(group.raw.nrows(), self.columns.len(), |row, c| {
            group.scale[row] * group.raw[(row, self.columns[c])]
        });
        let components = raw * &axes;
        let lambda: Vec<f64> =
            found.values[..kept].iter().map(|g| self.ridge(g / group.mass, s, group, settings)).collect();
        Ok((axes, augmented_ridge(components.as_ref(), &lambda, y, settings.svd_tol)?))
    }

    /// φᵀ (ΦᵀΦ + Λ)⁻¹ φ of poses, φ their features as the regression saw them.
    fn leverage(
        &self,
        group: &Group,
        settings: &MweSettings,
        s: f64,
        poses: &[Vec<DAffine3>],
        unit: f64,
    ) -> Result<Vec<f64>, SolveError> {
        // Components of the training rows, and the ridge along each.
        let (axes, components, values) = if settings.centring == Centring::Paper {
            let empty = Mat::<f64>::zeros(group.raw.nrows(), 0);
            let (axes, _) = self.published(group, settings, s, empty.as_ref())?;
            let raw = Mat::from_fn(group.raw.nrows(), self.columns.len(), |row, c| {
                group.scale[row] * group.raw[(row, self.columns[c])]
            });
            let values = principal_axes(self.scaled_gram(group).as_ref())?.values;
            (axes.clone(), raw * axes, values)
        } else {
            let parts = self.decompose(group, settings)?;
            let components =
                Mat::from_fn(parts.q.nrows(), parts.q.ncols(), |i, h| parts.q[(i, h)] * parts.values[h].sqrt());
            (parts.axes, components, parts.values)
        };
        let kept = axes.ncols();
        let mut normal = components.transpose() * &components;
        for h in 0..kept {
            normal[(h, h)] += self.ridge(values[h] / group.mass, s, group, settings);
        }
        let features = Mat::from_fn(self.columns.len(), poses.len(), |c, pose| {
            let column = self.columns[c];
            let f = relative_features(&poses[pose], group.anchor, group.bones[column / 12], unit);
            let entry = column % 12;
            f[entry] + f64::from(u8::from(entry % 4 == entry / 4)) - group.centre[column]
        });
        let seen = axes.transpose() * features;
        let solved = solve_shifted(normal.as_ref(), 0.0, seen.as_ref())?;
        let dot = |pose: usize| (0..kept).map(|h| seen[(h, pose)] * solved[(h, pose)]).sum();
        Ok((0..poses.len()).map(dot).collect())
    }

    /// Coefficients and leverage at one s.
    fn solve(
        &self,
        group: &Group,
        settings: &MweSettings,
        s: f64,
        y: MatRef<'_, f64>,
        solution: &mut VertexSolution,
    ) -> Result<(), SolveError> {
        if self.columns.is_empty() {
            return Ok(());
        }
        if settings.centring == Centring::Paper {
            let (axes, ridge) = self.published(group, settings, s, y)?;
            solution.dropped += self.columns.len() - axes.ncols();
            let u = &axes * &ridge.coefficients;
            solution.add_leverage(ridge.left.as_ref(), &vec![1.0; ridge.left.ncols()]);
            solution.store(self, group, &u);
            return Ok(());
        }
        let parts = self.decompose(group, settings)?;
        solution.dropped += parts.dropped;
        let filter = self.filter(&parts.values, s, group, settings);
        let mut w = parts.q.transpose() * y;
        for h in 0..w.nrows() {
            for t in 0..w.ncols() {
                w[(h, t)] *= filter[h] / parts.values[h].sqrt();
            }
        }
        let u = &parts.axes * &w;
        solution.add_leverage(parts.q.as_ref(), &filter);
        solution.store(self, group, &u);
        Ok(())
    }
}

/// The answer of one vertex.
struct VertexSolution {
    rows: Rows,
    /// [`Rows::coefficients`] numbers per bone of the group.
    coefficients: Vec<f64>,
    /// Correction at the bind pose.
    constant: [f64; 3],
    leverage: f64,
    dropped: usize,
}

impl VertexSolution {
    fn new(bones: usize, rows: Rows) -> Self {
        Self {
            rows,
            coefficients: vec![0.0; bones * rows.coefficients()],
            constant: [0.0; 3],
            leverage: 0.0,
            dropped: 0,
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
    fn store(&mut self, problem: &VertexProblem, group: &Group, u: &Mat<f64>) {
        let size = self.rows.coefficients();
        for (target, axis) in (problem.first_axis..problem.last_axis).enumerate() {
            for (at, &column) in problem.columns.iter().enumerate() {
                let (bone, entry) = (column / 12, column % 12);
                let place = match self.rows {
                    Rows::Full => bone * size + axis * 12 + entry,
                    Rows::Row => bone * size + entry,
                };
                self.coefficients[place] = u[(at, target)];
                let rest = f64::from(u8::from(entry % 4 == entry / 4));
                self.constant[axis] += u[(at, target)] * (rest - group.centre[column]);
            }
        }
    }
}

/// Row or full, and s.
fn choose_form(
    scene: &Scene<'_>,
    groups: &[Group],
    maps: &Influences,
    settings: &MweSettings,
    forms: &[Rows],
    sweeping: bool,
    ticker: &Ticker<'_>,
) -> Result<(Rows, f64, Vec<SweepPoint>), FitError> {
    let given = match settings.strength {
        Strength::Given(s) => Some(s),
        _ => None,
    };
    if !sweeping {
        // Only a given s needs no sweep.
        return Ok((forms[0], given.unwrap_or(0.0), Vec::new()));
    }
    let grid = given.map_or_else(|| settings.grid.clone(), |s| vec![s]);
    let pairs = (scene.training.examples.len() * scene.training.rest.len()).max(1) as f64;
    let mut best: Option<(f64, Rows, f64, Vec<SweepPoint>)> = None;
    for &rows in forms {
        let sums = scene.sweep(groups, maps, settings, &grid, rows, ticker)?;
        let scores: Vec<f64> = sums.iter().map(|s| s.1).collect();
        let chosen = choose(&scores, settings.tolerance).unwrap_or(grid.len() - 1);
        let points = grid.iter().zip(&sums).map(|(&s, &(train, score))| SweepPoint {
            s,
            train: (train / pairs).sqrt(),
            validated: (score / pairs).sqrt(),
            score,
        });
        let candidate = (scores[chosen], rows, grid[chosen], points.collect());
        if best.as_ref().is_none_or(|b| candidate.0 < b.0) {
            best = Some(candidate);
        }
    }
    let (_, rows, s, points) = best.expect("there is at least one form");
    Ok((rows, s, if given.is_some() { Vec::new() } else { points }))
}

/// Puts the groups' answers into one correction, vertices in order.
fn assemble(
    scene: &Scene<'_>,
    groups: &[Group],
    pairs: Vec<Pair>,
    anchors: Vec<Option<BoneIndex>>,
    settings: &MweSettings,
    rows: Rows,
    s: f64,
    sweep: Vec<SweepPoint>,
    solved: Vec<Vec<VertexSolution>>,
) -> Mwe {
    let vertices = anchors.len();
    let mut place: Vec<Option<(&Group, VertexSolution)>> = (0..vertices).map(|_| None).collect();
    let members = groups.iter().flat_map(|g| g.vertices.iter().map(move |&v| (g, v as usize)));
    for ((group, v), solution) in members.zip(solved.into_iter().flatten()) {
        place[v] = Some((group, solution));
    }
    let mut correction = Enveloping {
        rows,
        length: scene.unit,
        weld: scene.weld.clone(),
        pairs,
        anchors,
        offsets: vec![0],
        terms: Vec::new(),
        coefficients: Vec::new(),
        constants: Vec::new(),
        radii: match settings.guard {
            true => scene.training.largest_residuals().iter().map(|rho| BALL_FACTOR * rho).collect(),
            false => Vec::new(),
        },
    };
    let mut leverages = Vec::with_capacity(vertices);
    let mut report = MweReport {
        s,
        rows,
        sweep,
        welded: scene.weld.frozen().collect(),
        groups: groups.len(),
        merged: groups.iter().map(|g| scene.poses() - g.clusters.len()).sum(),
        axes_dropped: 0,
        largest_leverage: 0.0,
        leverage_p99: 0.0,
        corrected: 0,
    };
    let size = rows.coefficients();
    for (group, solution) in place.into_iter().flatten() {
        for (k, &pair) in group.pairs.iter().enumerate() {
            let block = &solution.coefficients[k * size..(k + 1) * size];
            if block.iter().any(|u| *u != 0.0) {
                correction.terms.push(pair);
                correction.coefficients.extend_from_slice(block);
            }
        }
        report.corrected += usize::from(correction.terms.len() as u32 > *correction.offsets.last().unwrap_or(&0));
        correction.offsets.push(correction.terms.len() as u32);
        correction.constants.push(DVec3::from_array(solution.constant));
        report.axes_dropped += solution.dropped;
        leverages.push(solution.leverage);
    }
    if correction.constants.iter().all(|c| *c == DVec3::ZERO) {
        correction.constants.clear();
    }
    leverages.sort_by(f64::total_cmp);
    report.largest_leverage = leverages.last().copied().unwrap_or(0.0);
    report.leverage_p99 = leverages.get(leverages.len() * 99 / 100).copied().unwrap_or(0.0);
    Mwe { correction, report }
}

/// Counts finished vertices and listens for cancellation.
pub(crate) struct Ticker<'a> {
    pub(crate) done: AtomicU64,
    pub(crate) total: u64,
    pub(crate) progress: Progress<'a>,
}

impl Ticker<'_> {
    pub(crate) fn tick(&self, more: u64) -> Result<(), FitError> {
        let done = self.done.fetch_add(more, Ordering::Relaxed) + more;
        match (self.progress)(done, self.total) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(_) => Err(FitError::Cancelled),
        }
    }
}
