//! Pose-space deformation, fitting: displacements of the examples, interpolated over the pose by a Gaussian kernel.
//!
//! The model is that of [`dermis_deform::pose_space`]. Example s asks vertex v for the displacement
//!
//! ```text
//! d_s = A_sv⁻¹ (X_sv − base_sv)       (inverse form, A_sv the linear part of the base at v in pose s),
//! ```
//!
//! and per group of vertices with the same pose space W = (K + ρ)⁻¹ D, K_st = k(x_s, x_t). As ρ → 0 every example is met
//! exactly; a larger ρ smooths over noise. σ and ρ are two numbers for the whole model, chosen together by exact
//! leave-one-out (contiguous blocks of frames for a clip) unless they are given.
//!
//! **Pose spaces per vertex.** Joints are those between bones that share vertices. A joint counts by the squared influence maps of its two bones, a_j = max μ², rounded to
//! 1/64 so that vertices form groups; joints that never moved do not count. Examples that agree in all joints that count
//! are merged, and an example that agrees with the bind pose is dropped: the correction is zero there.
//!
//! It is the most accurate model where examples are many and clean, and it meets sculpted poses exactly. It costs memory
//! and time in proportion to the examples, and far from all of them it returns to the base.
//!
//! Source: Lewis, Cordner & Fong 2000; inverse form Sloan, Rose & Cohen 2001; leave-one-out Rippa 1999. Departures: see
//! [`dermis_deform::pose_space`]; where A is nearly singular its inverse is damped, and what then remains of the example is
//! reported, not kept.

use crate::training::{FitError, Progress, Ticker, Training};
use dermis_deform::Base;
use dermis_deform::guard::{BALL_FACTOR, FROZEN, LIMIT_FACTOR, Weld};
use dermis_deform::pose_space::{Carrier, Joint, Kernel, NO_GROUP, PoseSpace, coordinates, difference, square};
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::{BoneIndex, Influences, Skeleton};
use dermis_solve::faer::Mat;
use dermis_solve::{Folds, Interpolation, SolveError};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Smoothing that interpolates: examples are met to about 1e-9 of their size.
pub const EXACT: f64 = 1e-9;
/// Steps of a joint's relevance a: vertices that agree within them share a kernel. 13 380 vertices of a human body have
/// 4 326 pose spaces.
const STEPS: f64 = 64.0;
/// Displacements below this, in rest diagonals, are rounding: a vertex without larger ones is left out of the model.
const UNMOVED: f64 = 1e-9;
/// Weights beyond this many of the largest displacement of their group cancel too far for `f32`, whose rounding is 6e-8
/// of them: smoothing is raised there. It takes examples that nearly agree in pose and not in shape, and no smoothing.
const CANCELLATION: f64 = 1e5;
/// How many cubed examples leave-one-out looks at per point of its grid: groups beyond are skipped, evenly.
const SCORED: f64 = 1e8;

/// Where displacements live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// In the rest pose, before the base: the correction turns with the skin.
    Inverse,
    /// In the world, after the base, as first published: it does not turn with the character.
    Forward,
}

/// What a caller sets.
#[derive(Clone, Debug, PartialEq)]
pub struct PsdSettings {
    /// Where displacements live.
    pub form: Form,
    /// σ in chords; `None`: chosen.
    pub sigma: Option<f64>,
    /// ρ; `None`: chosen. [`EXACT`] interpolates. An example of importance r has ρ / r².
    pub smoothing: Option<f64>,
    /// What is left out at a time while they are chosen.
    pub folds: Folds,
    /// Values of σ that are tried, in mean distances between nearest examples.
    pub widths: Vec<f64>,
    /// Values of ρ that are tried, ascending.
    pub grid: Vec<f64>,
    /// Examples closer than this in a vertex's pose space are merged; negative: never.
    pub duplicates: f64,
    /// Welding, limits and the ball.
    pub guard: bool,
}

impl PsdSettings {
    /// The form to use: inverse, σ and ρ by leave-one-out (by five blocks of frames for a clip), guarded.
    pub fn new(is_clip: bool) -> Self {
        Self {
            form: Form::Inverse,
            sigma: None,
            smoothing: None,
            folds: if is_clip { Folds::Blocks(5) } else { Folds::Single },
            widths: (-2..=10).map(|half| 2f64.powf(f64::from(half) / 2.0)).collect(),
            grid: (-9..=0).map(|decade| 10f64.powi(decade)).collect(),
            duplicates: 1e-6,
            guard: true,
        }
    }
}

/// One point of the sweep over σ and ρ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PsdPoint {
    /// Width of the kernel.
    pub sigma: f64,
    /// Smoothing.
    pub smoothing: f64,
    /// Cross-validated error: rms distance in metres over the groups looked at.
    pub validated: f64,
    /// Sum of squared held-out residuals, the number that is minimised.
    pub score: f64,
}

/// What a caller learns.
#[derive(Clone, Debug, PartialEq)]
pub struct PsdReport {
    /// σ used.
    pub sigma: f64,
    /// ρ used.
    pub smoothing: f64,
    /// The sweep, σ after σ, if something was chosen.
    pub sweep: Vec<PsdPoint>,
    /// Vertices leave-one-out looked at.
    pub scored: usize,
    /// Mean distance between nearest examples in the pose spaces of the vertices.
    pub spacing: f64,
    /// Joints that never moved in training and were welded.
    pub welded: Vec<BoneIndex>,
    /// Distinct pose spaces.
    pub groups: usize,
    /// Kernel values per pose: the sum over groups of their examples.
    pub kernel_values: usize,
    /// Vertices with a correction.
    pub corrected: usize,
    /// Groups whose smoothing had to be raised to be solvable in `f64` and to run in `f32`.
    pub raised: usize,
    /// The worst reciprocal condition of a system solved.
    pub reciprocal_condition: f64,
    /// (vertex, example) pairs where the base's linear part is nearly singular, so that its inverse was damped.
    pub damped: usize,
    /// The largest part of an example that damping leaves, metres.
    pub largest_remainder: f64,
    /// The largest |W| over the largest displacement: how far kernel values cancel, and with them digits of `f32`.
    pub cancellation: f64,
}

/// A fitted correction with its report.
#[derive(Clone, Debug)]
pub struct Psd {
    /// The correction.
    pub correction: PoseSpace,
    /// What was learnt about it.
    pub report: PsdReport,
}

/// Fits the correction X − base. `base` is the deformer that made the training's base positions; `maps` are the influence
/// maps μ, one row per vertex.
///
/// # Errors
/// [`FitError`]: counts that disagree, numbers that are not finite, settings out of range, cancellation.
pub fn fit_psd(
    training: &Training<'_>,
    base: &Base,
    maps: &Influences,
    settings: &PsdSettings,
    progress: Progress<'_>,
) -> Result<Psd, FitError> {
    check(training, maps, settings)?;
    let included = training.included();
    let training = &training.with(&included);
    let carrier = match (settings.form, base) {
        (Form::Forward, _) => Carrier::World,
        (Form::Inverse, Base::Given) => {
            let dominant = |v| maps.dominant(v).unwrap_or(BoneIndex::new(0));
            Carrier::Bones((0..training.rest.len()).map(dominant).collect())
        }
        (Form::Inverse, _) => Carrier::Base,
    };
    let asked = Displacements::new(training, base, &carrier);
    let weights = match base {
        Base::Rigid(weights) | Base::Lbs(weights) | Base::Dqs(weights, _) => weights,
        Base::AnimationSpace(_) | Base::RotationalRegression(_) | Base::Given => maps,
    };
    let space = Space::new(training, maps, weights, settings);
    let groups = space.groups(&asked, settings);
    let vertices: u64 = groups.iter().map(|g| g.vertices.len() as u64).sum();
    let ticker = Ticker::new(2 * vertices, progress);

    let spacing = space.spacing(&groups);
    let (sigma, smoothing, sweep, scored) = space.choose(&groups, &asked, settings, spacing, &ticker)?;
    let solved = groups
        .par_iter()
        .map(|group| {
            let solved = space.solve(group, &asked, sigma, smoothing)?;
            ticker.tick(group.vertices.len() as u64)?;
            Ok(solved)
        })
        .collect::<Result<Vec<_>, FitError>>()?;

    let radii = match settings.guard {
        true => training.largest_residuals().iter().map(|rho| BALL_FACTOR * rho).collect(),
        false => Vec::new(),
    };
    let mut report = PsdReport {
        sigma,
        smoothing,
        sweep,
        scored,
        spacing,
        welded: space.weld.frozen().collect(),
        groups: groups.len(),
        kernel_values: groups.iter().map(|g| g.centres.len()).sum(),
        corrected: vertices as usize,
        raised: solved.iter().filter(|s| s.raised).count(),
        reciprocal_condition: solved.iter().map(|s| s.reciprocal_condition).fold(1.0, f64::min),
        damped: asked.damped,
        largest_remainder: asked.largest_remainder,
        cancellation: 0.0,
    };
    let correction = assemble(space, carrier, &groups, &solved, sigma, training.rest.len(), radii);
    let largest = |list: &mut dyn Iterator<Item = &DVec3>| list.map(|d| d.length()).fold(0.0, f64::max);
    let displacement = largest(&mut asked.all.iter().flatten());
    if displacement > 0.0 {
        report.cancellation = largest(&mut correction.weights.iter()) / displacement;
    }
    Ok(Psd { correction, report })
}

/// Counts and ranges.
fn check(training: &Training<'_>, maps: &Influences, settings: &PsdSettings) -> Result<(), FitError> {
    training.check()?;
    training.check_base()?;
    let counts = |what, found, expected, good: bool| match good {
        true => Ok(()),
        false => Err(FitError::Counts { what, found, expected }),
    };
    let (vertices, bones) = (training.rest.len(), training.skeleton.len());
    counts("vertices of the influence maps", maps.vertices(), vertices, maps.vertices() == vertices)?;
    counts("bones of the influence maps", maps.bones_named(), bones, maps.bones_named() <= bones)?;
    let positive = |name, value: f64| match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err(FitError::Setting { name, value, rule: "it must be positive and finite" }),
    };
    settings.sigma.map_or(Ok(()), |sigma| positive("sigma", sigma))?;
    settings.smoothing.map_or(Ok(()), |rho| positive("smoothing", rho))?;
    settings.widths.iter().try_for_each(|&width| positive("width", width))?;
    settings.grid.iter().try_for_each(|&rho| positive("smoothing", rho))?;
    let empty = (settings.sigma.is_none() && settings.widths.is_empty())
        || (settings.smoothing.is_none() && settings.grid.is_empty());
    match empty {
        true => Err(FitError::Setting { name: "grid", value: 0.0, rule: "it needs at least one value" }),
        false => Ok(()),
    }
}

/// What the examples ask of every vertex, in the frame displacements live in.
struct Displacements {
    /// Per example and vertex.
    all: Vec<Vec<DVec3>>,
    damped: usize,
    largest_remainder: f64,
}

impl Displacements {
    fn new(training: &Training<'_>, base: &Base, carrier: &Carrier) -> Self {
        let poses: Vec<_> = (0..training.examples.len())
            .into_par_iter()
            .map_init(
                || (base.clone(), vec![DVec3::ZERO; training.rest.len()]),
                |(base, skin), s| {
                    let (example, given) = (&training.examples[s], &training.base[s]);
                    // Leaves the base prepared for the pose.
                    base.evaluate(training.rest, &example.transforms, Some(given), skin);
                    let (mut damped, mut largest_remainder) = (0, 0.0f64);
                    let vertices = example.positions.iter().zip(given).enumerate();
                    let displacements: Vec<DVec3> = vertices
                        .map(|(v, (x, b))| {
                            let linear = match carrier {
                                Carrier::World => return *x - *b,
                                Carrier::Base => base.linear(v, &example.transforms),
                                Carrier::Bones(bones) => example.transforms[bones[v]].matrix3,
                            };
                            let (d, regular) = pull_back(linear, *x - *b);
                            if !regular && *x != *b {
                                damped += 1;
                                largest_remainder = largest_remainder.max((linear * d - (*x - *b)).length());
                            }
                            d
                        })
                        .collect();
                    (displacements, damped, largest_remainder)
                },
            )
            .collect();
        let mut made = Self { all: Vec::with_capacity(poses.len()), damped: 0, largest_remainder: 0.0 };
        for (displacements, damped, remainder) in poses {
            made.all.push(displacements);
            made.damped += damped;
            made.largest_remainder = made.largest_remainder.max(remainder);
        }
        made
    }
}

/// d with A d = r, and whether A is regular. Where a singular value is below a tenth of the mean one the inverse is damped,
/// (AᵀA + e)⁻¹ Aᵀ with e = 1e-4 of the mean squared singular value: a displacement then stays below 50 |r|.
pub fn pull_back(a: DMat3, r: DVec3) -> (DVec3, bool) {
    let norm = |m: &DMat3| m.to_cols_array().iter().map(|x| x * x).sum::<f64>().sqrt();
    let mean = norm(&a) / 3f64.sqrt();
    // 1 / |A⁻¹| is at most the smallest singular value.
    let inverse = a.inverse();
    if inverse.is_finite() && norm(&inverse) * 0.1 * mean <= 1.0 {
        return (inverse * r, true);
    }
    let damped = a.transpose() * a + DMat3::from_diagonal(DVec3::splat(1e-4 * mean * mean));
    let d = damped.inverse() * (a.transpose() * r);
    (if d.is_finite() { d } else { DVec3::ZERO }, false)
}

/// The joints and the examples' coordinates.
struct Space<'a> {
    training: &'a Training<'a>,
    weld: Weld,
    joints: Vec<Joint>,
    /// Per example, joints in order.
    examples: Vec<Vec<[f64; 9]>>,
    /// Per vertex: joints that count, in steps of relevance.
    relevance: Vec<Vec<(u32, u32)>>,
}

/// Vertices that share a pose space.
struct Group {
    relevance: Vec<(u32, f64)>,
    vertices: Vec<u32>,
    /// Example of each row: the first of those merged.
    centres: Vec<u32>,
    /// Examples of each row.
    merged: Vec<Vec<u32>>,
}

/// W of a group.
struct Solved {
    /// Rows × 3·vertices.
    weights: Mat<f64>,
    raised: bool,
    reciprocal_condition: f64,
}

impl<'a> Space<'a> {
    fn new(training: &'a Training<'a>, maps: &Influences, weights: &Influences, settings: &PsdSettings) -> Self {
        let skeleton = training.skeleton;
        let weld = match settings.guard {
            true => Weld::of_training(skeleton, training.examples.iter().map(|e| &e.transforms), training.unit()),
            false => Weld::default(),
        };
        // Bones that move as one count as the topmost of them, with the largest of their maps.
        let mut top: Vec<BoneIndex> = skeleton.bones().collect();
        for link in weld.links.iter().filter(|link| link.frozen) {
            top[link.to.get()] = top[link.from.get()];
        }
        let mut mapped = vec![false; skeleton.len()];
        maps.rows().flatten().filter(|(_, mu)| *mu > 0.0).for_each(|(bone, _)| mapped[top[bone.get()].get()] = true);
        let mut joints = joints(skeleton, &top, &mapped, weights);
        let mut welded = Vec::new();
        let mut all: Vec<Vec<[f64; 9]>> = training
            .examples
            .iter()
            .map(|example| {
                weld.apply(&example.transforms, &mut welded);
                let mut x = Vec::new();
                coordinates(&welded, &joints, &mut x);
                x
            })
            .collect();
        let largest: Vec<f64> =
            (0..joints.len()).map(|j| all.iter().map(|x| square(&x[j]).sqrt()).fold(0.0, f64::max)).collect();
        let moving = |j: usize| largest[j] >= FROZEN;
        for x in &mut all {
            *x = (0..joints.len()).filter(|&j| moving(j)).map(|j| x[j]).collect();
        }
        if settings.guard {
            joints.iter_mut().zip(&largest).for_each(|(joint, most)| joint.limit = LIMIT_FACTOR * most);
        }
        let joints: Vec<Joint> = (0..joints.len()).filter(|&j| moving(j)).map(|j| joints[j]).collect();
        let relevance = maps
            .rows()
            .map(|row| {
                let mut largest: BTreeMap<BoneIndex, f64> = BTreeMap::new();
                for &(bone, mu) in row.iter().filter(|(_, mu)| *mu > 0.0) {
                    let most = largest.entry(top[bone.get()]).or_insert(0.0);
                    *most = most.max(mu * mu);
                }
                let of = |bone: &BoneIndex| largest.get(bone).copied().unwrap_or(0.0);
                let steps = joints.iter().map(|joint| (of(&joint.parent).max(of(&joint.bone)) * STEPS).round() as u32);
                steps.enumerate().filter(|(_, a)| *a > 0).map(|(j, a)| (j as u32, a)).collect()
            })
            .collect();
        Self { training, weld, joints, examples: all, relevance }
    }

    fn importance(&self, s: u32) -> f64 {
        self.training.examples[s as usize].importance
    }

    /// Σ_j a_j |x_j − y_j|², y = 0 for no example.
    fn distance_squared(&self, relevance: &[(u32, f64)], s: u32, t: Option<u32>) -> f64 {
        let x = &self.examples[s as usize];
        let of = |&(j, a): &(u32, f64)| {
            let j = j as usize;
            a * t.map_or_else(|| square(&x[j]), |t| square(&difference(&x[j], &self.examples[t as usize][j])))
        };
        relevance.iter().map(of).sum()
    }

    /// Groups of the vertices that some example displaces.
    fn groups(&self, asked: &Displacements, settings: &PsdSettings) -> Vec<Group> {
        let least = UNMOVED * self.training.unit();
        let mut members: BTreeMap<&[(u32, u32)], Vec<u32>> = BTreeMap::new();
        for (v, relevance) in self.relevance.iter().enumerate().filter(|(_, relevance)| !relevance.is_empty()) {
            if asked.all.iter().any(|d| d[v].length() >= least) {
                members.entry(relevance).or_default().push(v as u32);
            }
        }
        let members: Vec<_> = members.into_iter().collect();
        let groups = members.into_par_iter().map(|(steps, vertices)| {
            let relevance: Vec<_> = steps.iter().map(|&(j, a)| (j, f64::from(a) / STEPS)).collect();
            let (centres, merged) = self.merge(&relevance, settings.duplicates);
            Group { relevance, vertices, centres, merged }
        });
        groups.filter(|group| !group.centres.is_empty()).collect()
    }

    /// Examples that agree, in order: each joins the first earlier one within `tolerance`, or the bind pose, where the
    /// correction is zero and nothing is to be learnt.
    fn merge(&self, relevance: &[(u32, f64)], tolerance: f64) -> (Vec<u32>, Vec<Vec<u32>>) {
        let close = |square: f64| square.sqrt() <= tolerance.max(0.0);
        let (mut leaders, mut merged): (Vec<u32>, Vec<Vec<u32>>) = Default::default();
        for s in 0..self.examples.len() as u32 {
            if close(self.distance_squared(relevance, s, None)) {
                continue;
            }
            let near = |&t: &u32| tolerance >= 0.0 && close(self.distance_squared(relevance, s, Some(t)));
            match leaders.iter().position(near) {
                Some(row) => merged[row].push(s),
                None => {
                    leaders.push(s);
                    merged.push(vec![s]);
                }
            }
        }
        (leaders, merged)
    }

    /// Mean over vertices of the mean distance of an example to its nearest, the bind pose among them.
    fn spacing(&self, groups: &[Group]) -> f64 {
        let of_groups: Vec<f64> = groups
            .par_iter()
            .map(|group| {
                let n = group.centres.len();
                let mut nearest = vec![f64::INFINITY; n + 1];
                for row in 0..n {
                    let to_rest = self.distance_squared(&group.relevance, group.centres[row], None).sqrt();
                    nearest[row] = nearest[row].min(to_rest);
                    nearest[n] = nearest[n].min(to_rest);
                    for other in 0..row {
                        let (s, t) = (group.centres[row], group.centres[other]);
                        let d = self.distance_squared(&group.relevance, s, Some(t)).sqrt();
                        nearest[row] = nearest[row].min(d);
                        nearest[other] = nearest[other].min(d);
                    }
                }
                nearest.iter().sum::<f64>() / (n + 1) as f64
            })
            .collect();
        let vertices: usize = groups.iter().map(|g| g.vertices.len()).sum();
        let sum: f64 = groups.iter().zip(of_groups).map(|(g, spacing)| g.vertices.len() as f64 * spacing).sum();
        if sum > 0.0 { sum / vertices as f64 } else { 1.0 }
    }

    /// Squared distances of a group's examples to each other, and to the bind pose.
    fn squares(&self, group: &Group) -> (Mat<f64>, Vec<f64>) {
        let n = group.centres.len();
        let mut squares = Mat::zeros(n, n);
        for i in 0..n {
            for j in 0..i {
                let d = self.distance_squared(&group.relevance, group.centres[i], Some(group.centres[j]));
                (squares[(i, j)], squares[(j, i)]) = (d, d);
            }
        }
        let rest = group.centres.iter().map(|&s| self.distance_squared(&group.relevance, s, None)).collect();
        (squares, rest)
    }

    /// Displacements of a group's vertices (rows × 3·vertices), examples merged by their importance.
    fn targets(&self, group: &Group, asked: &Displacements) -> Mat<f64> {
        let mut y = Mat::zeros(group.centres.len(), 3 * group.vertices.len());
        for (row, members) in group.merged.iter().enumerate() {
            let total: f64 = members.iter().map(|&s| self.importance(s).powi(2)).sum();
            for (at, &v) in group.vertices.iter().enumerate() {
                let sum: DVec3 =
                    members.iter().map(|&s| asked.all[s as usize][v as usize] * self.importance(s).powi(2)).sum();
                (sum / total).to_array().into_iter().enumerate().for_each(|(c, x)| y[(row, 3 * at + c)] = x);
            }
        }
        y
    }

    /// ρ / r² per row, r the largest importance of those merged.
    fn smoothing(&self, group: &Group, rho: f64) -> Vec<f64> {
        let largest = |members: &Vec<u32>| members.iter().map(|&s| self.importance(s)).fold(0.0, f64::max);
        group.merged.iter().map(|members| rho / largest(members).powi(2)).collect()
    }

    /// σ and ρ, the sweep, and how many vertices it looked at.
    fn choose(
        &self,
        groups: &[Group],
        asked: &Displacements,
        settings: &PsdSettings,
        spacing: f64,
        ticker: &Ticker<'_>,
    ) -> Result<(f64, f64, Vec<PsdPoint>, usize), FitError> {
        let widths = settings.widths.iter().map(|width| width * spacing).collect();
        let widths: Vec<f64> = settings.sigma.map_or(widths, |sigma| vec![sigma]);
        let grid = settings.smoothing.map_or_else(|| settings.grid.clone(), |rho| vec![rho]);
        if widths.len() * grid.len() == 1 {
            return Ok((widths[0], grid[0], Vec::new(), 0));
        }
        let work: f64 = groups.iter().map(|g| (g.centres.len() as f64).powi(3)).sum();
        let stride = ((work / SCORED).ceil() as usize).clamp(1, groups.len().div_ceil(32).max(1));
        let looked_at: Vec<&Group> = groups.iter().step_by(stride).collect();
        let parts = looked_at
            .par_iter()
            .map(|group| {
                ticker.tick(0)?;
                let sums = self.scores(group, asked, &widths, &grid, settings.folds)?;
                ticker.tick((group.vertices.len() * stride) as u64)?;
                Ok(sums)
            })
            .collect::<Result<Vec<_>, FitError>>()?;
        let scored: usize = looked_at.iter().map(|g| g.vertices.len()).sum();
        let held_out: usize = looked_at.iter().map(|g| g.vertices.len() * g.centres.len()).sum();
        let mut sweep = Vec::with_capacity(widths.len() * grid.len());
        for (i, &sigma) in widths.iter().enumerate() {
            for (j, &smoothing) in grid.iter().enumerate() {
                let score: f64 = parts.iter().map(|part| part[i * grid.len() + j]).sum();
                sweep.push(PsdPoint { sigma, smoothing, validated: (score / held_out.max(1) as f64).sqrt(), score });
            }
        }
        // Of equals the smoother, wider kernel.
        let finite = sweep.iter().filter(|p| p.score.is_finite());
        let best = finite.reduce(|best, p| if p.score <= best.score { p } else { best });
        let best = *best.unwrap_or(&sweep[sweep.len() - 1]);
        Ok((best.sigma, best.smoothing, sweep, scored))
    }

    /// Sums of squared held-out residuals of a group, ρ after ρ for each σ; infinite where the system cannot be solved.
    fn scores(
        &self,
        group: &Group,
        asked: &Displacements,
        widths: &[f64],
        grid: &[f64],
        folds: Folds,
    ) -> Result<Vec<f64>, FitError> {
        let y = self.targets(group, asked);
        let squares = self.squares(group);
        let folds = folds.ranges(group.centres.len());
        let mut sums = Vec::with_capacity(widths.len() * grid.len());
        for &sigma in widths {
            let kernel = conditioned(&squares, sigma);
            for &rho in grid {
                let scored = Interpolation::new(kernel.as_ref(), &self.smoothing(group, rho))
                    .and_then(|solved| solved.left_out(solved.weights(y.as_ref()).as_ref(), &folds));
                sums.push(match scored {
                    Ok(residual) => residual.squared_norm_l2(),
                    Err(SolveError::NotPositive) => f64::INFINITY,
                    Err(source) => return Err(FitError::Solve { vertex: group.vertices[0] as usize, source }),
                });
            }
        }
        Ok(sums)
    }

    fn solve(&self, group: &Group, asked: &Displacements, sigma: f64, rho: f64) -> Result<Solved, FitError> {
        let kernel = conditioned(&self.squares(group), sigma);
        let targets = self.targets(group, asked);
        let mut raised = 1.0;
        loop {
            let solved = Interpolation::new(kernel.as_ref(), &self.smoothing(group, raised * rho))
                .map_err(|source| FitError::Solve { vertex: group.vertices[0] as usize, source })?;
            let weights = solved.weights(targets.as_ref());
            if weights.norm_max() <= CANCELLATION * targets.norm_max() || raised * rho >= 1.0 {
                let raised = raised > 1.0 || solved.raised > 1.0;
                return Ok(Solved { weights, raised, reciprocal_condition: solved.reciprocal_condition });
            }
            raised *= 10.0;
        }
    }
}

/// k(x_s, x_t) = φ(x_s, x_t) − φ(x_s, 0) φ(0, x_t) from squared distances to each other and to the bind pose.
fn conditioned((squares, rest): &(Mat<f64>, Vec<f64>), sigma: f64) -> Mat<f64> {
    let phi = |square: f64| (-square / (sigma * sigma)).exp();
    let at_rest: Vec<f64> = rest.iter().map(|&square| phi(square)).collect();
    Mat::from_fn(rest.len(), rest.len(), |i, j| phi(squares[(i, j)]) - at_rest[i] * at_rest[j])
}

/// Joints between bones that matter: a maximum spanning forest of the overlaps Σ_v min(w_va, w_vb).
///
/// A bone and the nearest one above it come first, then any bones that share vertices, then bones above without overlap;
/// larger overlaps first, ties by index. So a foot that hangs on a control bone beside the leg still meets the shin that
/// its skin hangs on, and where the hierarchy is that of the skin the joints are those of the hierarchy.
fn joints(skeleton: &Skeleton, top: &[BoneIndex], mapped: &[bool], weights: &Influences) -> Vec<Joint> {
    let above = |bone: BoneIndex| skeleton.parents()[bone].map(|parent| top[parent.get()]);
    let ancestors = |bone: BoneIndex| std::iter::successors(above(bone), |b| above(*b));
    let mut overlaps: BTreeMap<(BoneIndex, BoneIndex), f64> = BTreeMap::new();
    for row in weights.rows() {
        let mut shares: BTreeMap<BoneIndex, f64> = BTreeMap::new();
        let positive = row.iter().filter(|(bone, w)| *w > 0.0 && mapped[top[bone.get()].get()]);
        positive.for_each(|(bone, w)| *shares.entry(top[bone.get()]).or_insert(0.0) += w);
        let shares: Vec<_> = shares.into_iter().collect();
        for (at, &(a, wa)) in shares.iter().enumerate() {
            shares[at + 1..].iter().for_each(|&(b, wb)| *overlaps.entry((a, b)).or_insert(0.0) += wa.min(wb));
        }
    }
    let mut candidates: Vec<(u8, f64, (BoneIndex, BoneIndex))> = Vec::new();
    for bone in skeleton.bones().filter(|b| top[b.get()] == *b && mapped[b.get()]) {
        if let Some(parent) = ancestors(bone).find(|b| mapped[b.get()]) {
            let pair = (bone.min(parent), bone.max(parent));
            let overlap = overlaps.remove(&pair).unwrap_or(0.0);
            candidates.push((if overlap > 0.0 { 0 } else { 2 }, overlap, pair));
        }
    }
    candidates.extend(overlaps.into_iter().map(|(pair, overlap)| (1, overlap, pair)));
    candidates.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let mut tree: Vec<usize> = (0..skeleton.len()).collect();
    let mut joints = Vec::new();
    for (_, _, (a, b)) in candidates {
        let (of_a, of_b) = (tree[a.get()], tree[b.get()]);
        if of_a != of_b {
            tree.iter_mut().filter(|t| **t == of_b).for_each(|t| *t = of_a);
            let (parent, bone) = if ancestors(b).count() < ancestors(a).count() { (b, a) } else { (a, b) };
            joints.push(Joint { parent, bone, limit: f64::INFINITY });
        }
    }
    joints.sort_by_key(|joint| (joint.bone, joint.parent));
    joints
}

/// Puts the groups' answers into one correction, vertices in order.
fn assemble(
    space: Space<'_>,
    carrier: Carrier,
    groups: &[Group],
    solved: &[Solved],
    sigma: f64,
    vertices: usize,
    radii: Vec<f64>,
) -> PoseSpace {
    let examples = space.examples.concat();
    let mut kernel = Kernel::new(sigma, space.weld, space.joints, examples);
    let mut place = vec![(NO_GROUP, 0); vertices];
    for (g, group) in groups.iter().enumerate() {
        kernel.push(&group.relevance, &group.centres);
        for (at, &v) in group.vertices.iter().enumerate() {
            place[v as usize] = (g as u32, 3 * at);
        }
    }
    let mut made = PoseSpace { kernel, carrier, groups: Vec::new(), offsets: vec![0], weights: Vec::new(), radii };
    for (group, at) in place {
        made.groups.push(group);
        if group != NO_GROUP {
            let w = &solved[group as usize].weights;
            made.weights.extend((0..w.nrows()).map(|row| DVec3::new(w[(row, at)], w[(row, at + 1)], w[(row, at + 2)])));
        }
        made.offsets.push(made.weights.len() as u32);
    }
    made
}
