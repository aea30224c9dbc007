//! The stages of a decomposition.

use super::gram::Bones;
use super::outliers::Mended;
use super::problem::{Frames, Points, Problem, Units};
use super::sample::stratified;
use super::search::{Search, Until};
use super::smooth::{Surface, spread};
use super::transforms::{self, Motion, frame_transforms};
use super::weights::{MOST, Support};
use super::{
    BoneKind, DecomposeError, DecomposeReport, DecomposeSettings, Decomposition, Effort, Sequence, Stopped, Task,
};
use crate::training::{Progress, Ticker};
use dermis_rig::glam::DVec3;
use dermis_rig::{BoneIndex, BoneTransforms, Influences};
use dermis_solve::Random;
use rayon::prelude::*;

/// Vertices that a search looks at: half of them, with these bounds. Of some thousand vertices 500 raise the error by 1 to 7 %, and 2000
/// change it by less than 2 % either way.
const SAMPLE: (usize, usize) = (300, 1000);
const LARGE_SAMPLE: usize = 2000;
/// Frames in which rigid bones are searched. Their solve is the one part whose cost grows with the frames.
const MOST_FRAMES: usize = 96;
/// The most bones of a search, whose time grows with their cube.
const MOST_BONES: usize = 512;
/// With [`Effort::Quality`]: the bones that are added and eliminated again, and how often at most.
const BREATH: (usize, usize) = (4, 12);

/// Finds bones and weights that reproduce a sequence. The module documents method, source and departures.
///
/// A search runs on a sample of the vertices: it grows twice the bones where the error is, lets them settle, and eliminates the
/// least useful. Then all vertices are iterated, with momentum. E never rises from one accepted step to the next, and every
/// loop is capped. Same input, same bits, for any number of threads.
///
/// # Errors
/// [`DecomposeError`]: nothing to decompose, counts that disagree, numbers that are not finite, cancelled.
pub fn decompose(
    sequence: &Sequence,
    task: &Task,
    settings: &DecomposeSettings,
    progress: Progress,
) -> Result<Decomposition, DecomposeError> {
    let bones = check(sequence, task, settings)?;
    let searches = match task {
        Task::Search { .. } if settings.effort == Effort::Quality => 2,
        // Doubling up to the most bones, then halving the distance.
        Task::Fewest { .. } => 8,
        _ => 1,
    };
    let ticker = Ticker::new(searches * (3 * bones as u64 + 40), progress);
    let kind = if matches!(task, Task::Helpers { .. }) { BoneKind::Rigid } else { settings.kind };
    let run = Run { sequence, settings, kind, most: settings.influences.min(MOST - 1), ticker: &ticker, bones };
    // Within the pool: from outside, every parallel step would wake a thread and wait for it.
    rayon::scope(|_| match Mended::of(sequence) {
        None => run.solved(task),
        Some(mended) => run.without_outliers(task, mended),
    })
}

/// Checks everything the caller gives; returns the number of bones.
fn check(sequence: &Sequence, task: &Task, settings: &DecomposeSettings) -> Result<usize, DecomposeError> {
    let counts = |what, found, expected| match found == expected {
        true => Ok(()),
        false => Err(DecomposeError::Counts { what, found, expected }),
    };
    let (vertices, frames) = (sequence.rest.len(), sequence.frames.len());
    let bones = match task {
        Task::Search { bones } | Task::Fewest { most: bones, .. } => *bones,
        Task::Weights { transforms } => transforms.first().map_or(0, |pose| pose.len()),
        Task::Helpers { transforms, helpers } => transforms.first().map_or(0, |pose| pose.len()) + helpers,
        Task::Transforms { weights } | Task::Refine { weights, .. } => weights.bones_named(),
    };
    if vertices == 0 || frames == 0 || bones == 0 || settings.influences == 0 {
        return Err(DecomposeError::Empty { vertices, frames, bones, influences: settings.influences });
    }
    let searched = match task {
        Task::Search { bones } | Task::Fewest { most: bones, .. } | Task::Helpers { helpers: bones, .. } => *bones,
        _ => 0,
    };
    if searched > MOST_BONES {
        return Err(DecomposeError::TooMany { bones: searched, most: MOST_BONES });
    }
    if settings.smooth.is_some() && sequence.triangles.is_empty() {
        return Err(DecomposeError::NoSurface);
    }
    if let Some(&corner) = sequence.triangles.iter().flatten().find(|&&corner| corner as usize >= vertices) {
        return Err(DecomposeError::Counts {
            what: "the corner of a triangle",
            found: corner as usize,
            expected: vertices,
        });
    }
    for positions in sequence.frames {
        counts("vertices of a frame", positions.len(), vertices)?;
    }
    let shapes = std::iter::once(("the rest shape".to_string(), sequence.rest))
        .chain(sequence.frames.iter().enumerate().map(|(frame, x)| (format!("frame {frame}"), *x)));
    for (place, positions) in shapes {
        if let Some(vertex) = positions.iter().position(|p| !p.is_finite()) {
            return Err(DecomposeError::NotFinite { place, vertex });
        }
    }
    match task {
        Task::Search { .. } | Task::Fewest { .. } => {}
        Task::Weights { transforms } | Task::Helpers { transforms, .. } => {
            counts("poses of the given bones", transforms.len(), frames)?;
            let given = transforms[0].len();
            for (frame, pose) in transforms.iter().enumerate() {
                counts("bones of a given pose", pose.len(), given)?;
                if let Some(bone) = pose.iter().position(|m| !m.is_finite()) {
                    return Err(DecomposeError::Transform { frame, bone });
                }
            }
        }
        Task::Transforms { weights } => counts("vertices of the given weights", weights.vertices(), vertices)?,
        Task::Refine { weights, frozen } => {
            counts("vertices of the given weights", weights.vertices(), vertices)?;
            if let Some(&vertex) = frozen.iter().find(|&&v| v >= vertices) {
                return Err(DecomposeError::Counts {
                    what: "the number of a frozen vertex",
                    found: vertex,
                    expected: vertices,
                });
            }
        }
    }
    Ok(bones)
}

#[derive(Clone, Copy)]
pub(super) struct Run<'a> {
    sequence: &'a Sequence<'a>,
    settings: &'a DecomposeSettings,
    kind: BoneKind,
    most: usize,
    ticker: &'a Ticker<'a>,
    pub bones: usize,
}

/// How often bones and weights are solved again for where they take outliers, and the change, in parts of the extent, below which that ends.
const AGAIN: (usize, f64) = (8, 1e-9);

impl<'a> Run<'a> {
    fn solved(&self, task: &Task) -> Result<Decomposition, DecomposeError> {
        match task {
            Task::Search { .. } => self.search(),
            Task::Fewest { error, most } => self.fewest(*error, *most),
            Task::Weights { transforms } => self.weights(transforms),
            Task::Helpers { transforms, helpers } => self.helpers(transforms, *helpers),
            Task::Transforms { weights } => self.with_weights(weights, None),
            Task::Refine { weights, frozen } => self.with_weights(weights, Some(frozen)),
        }
    }

    /// The least squares over all positions but the outliers, which follow what is found.
    fn without_outliers(&self, task: &Task, mut mended: Mended<'_>) -> Result<Decomposition, DecomposeError> {
        let extent = 2.0 * Units::of(self.sequence.rest).length;
        let of = |mended: &Mended<'_>, work: &dyn Fn(&Run<'_>) -> Result<Decomposition, DecomposeError>| {
            let frames = mended.frames();
            work(&Run { sequence: &Sequence { frames: &frames, ..*self.sequence }, ..*self })
        };
        let keeps = |v: usize| match task {
            Task::Transforms { .. } => true,
            Task::Refine { frozen, .. } => frozen.contains(&v),
            _ => false,
        };
        let mut found = of(&mended, &|run| run.solved(task))?;
        for _ in 0..AGAIN.0 {
            let solved = mended.solved(&found.weights, &found.transforms, self.most, &keeps);
            found.weights = solved.map_err(DecomposeError::Weights)?;
            if mended.follow(&found.weights, &found.transforms) <= AGAIN.1 * extent {
                break;
            }
            let again = of(&mended, &|run| match task {
                Task::Search { .. } | Task::Fewest { .. } => run.with_bones(found.report.bones).resumed(&found),
                given => run.solved(given),
            })?;
            let before = std::mem::replace(&mut found, again).report;
            let report = &mut found.report;
            report.iterations += before.iterations;
            (report.bones_requested, report.too_few) = (before.bones_requested, before.too_few);
            report.fewer_because = report.fewer_because.take().or(before.fewer_because);
        }
        let solved = mended.solved(&found.weights, &found.transforms, self.most, &keeps);
        found.weights = solved.map_err(DecomposeError::Weights)?;
        mended.follow(&found.weights, &found.transforms);
        found.report.outliers = mended.outliers();
        // What reproduces all but some positions is not exact.
        if found.report.stopped == Stopped::Exact {
            found.report.stopped = Stopped::Converged;
        }
        Ok(found)
    }

    /// Goes on with bones and weights that were found in nearly the same sequence.
    fn resumed(&self, found: &Decomposition) -> Result<Decomposition, DecomposeError> {
        let problem = Problem::new(*self.sequence, self.bones, self.settings.seed);
        let inward = |pose: &BoneTransforms| pose.iter().map(|m| problem.units.inward(m)).collect();
        let poses: Vec<Vec<_>> = found.transforms.iter().map(inward).collect();
        let motion = Motion::from_full(transforms::given(&poses, &problem.frames), &problem.frames, self.kind);
        let supports = supports(&found.weights);
        let mut search =
            Search::from(&problem.points, &problem.frames, self.kind, self.most, motion, supports, self.ticker);
        search.improve(search.pass(0, false));
        self.finish(&problem, search, self.until(&problem.units))
    }

    /// With effort the fast search comes first, and its result stays where the longer one ends above it.
    fn search(&self) -> Result<Decomposition, DecomposeError> {
        if self.settings.effort == Effort::Fast {
            return self.one_search();
        }
        let fast = DecomposeSettings { effort: Effort::Fast, ..*self.settings };
        let fast = Run { settings: &fast, ..*self }.one_search()?;
        if matches!(fast.report.stopped, Stopped::Exact | Stopped::Enough) {
            return Ok(fast);
        }
        let long = self.one_search()?;
        Ok(if self.objective(&long) <= self.objective(&fast) { long } else { fast })
    }

    /// What is minimised, times M², per vertex and frame.
    fn objective(&self, found: &Decomposition) -> f64 {
        let strength = self.settings.smooth.unwrap_or(0.0);
        found.report.mean_square + strength * spread(self.sequence.rest) * found.report.roughness.unwrap_or(0.0)
    }

    pub(super) fn with_bones(&self, bones: usize) -> Self {
        Self { bones, ..*self }
    }

    fn one_search(&self) -> Result<Decomposition, DecomposeError> {
        let some = self.some_frames();
        let part = self.part(&some);
        let motion = self.found(&part)?;
        self.finished(&part, motion)
    }

    /// The frames in which bones are looked for: the middle of each of as many stretches as there may be frames.
    pub(super) fn some_frames(&self) -> Vec<&'a [DVec3]> {
        let chosen = self.chosen_frames();
        chosen.iter().map(|&frame| self.sequence.frames[frame]).collect()
    }

    fn chosen_frames(&self) -> Vec<usize> {
        let frames = self.sequence.frames.len();
        match self.kind == BoneKind::Affine || frames <= MOST_FRAMES {
            true => (0..frames).collect(),
            false => (0..MOST_FRAMES).map(|at| (2 * at + 1) * frames / (2 * MOST_FRAMES)).collect(),
        }
    }

    pub(super) fn part<'f>(&self, frames: &'f [&'f [DVec3]]) -> Problem<'f>
    where
        'a: 'f,
    {
        Problem::new(Sequence { frames, ..*self.sequence }, 2 * self.bones, self.settings.seed)
    }

    /// All vertices and all frames, from bones that were found in some frames.
    pub(super) fn finished(&self, part: &Problem, motion: Motion) -> Result<Decomposition, DecomposeError> {
        let frames = self.sequence.frames.len();
        let chosen = self.chosen_frames();
        let mut first = Search::cold(&part.points, &part.frames, self.kind, self.most, motion, self.ticker);
        if chosen.len() == frames {
            return self.finish(part, first, self.until(&part.units));
        }
        first.iterate(Until { iterations: 30, ..self.until(&part.units) })?;
        let full = first.motion.full(&part.frames);
        let supports = first.supports;

        let problem = Problem::new(*self.sequence, self.bones, self.settings.seed);
        let near = |frame: usize| {
            let after = chosen.partition_point(|&c| c < frame).min(chosen.len() - 1);
            let before = after.saturating_sub(1);
            if frame.abs_diff(chosen[before]) < frame.abs_diff(chosen[after]) { before } else { after }
        };
        let of_frame = |frame: usize| -> Vec<_> {
            let moved = frame_transforms(&full, &part.frames, near(frame));
            moved.iter().map(|&(a, t)| problem.units.inward(&part.units.transform(a, t))).collect()
        };
        let poses: Vec<_> = (0..frames).map(of_frame).collect();
        let mut motion = Motion::from_full(transforms::given(&poses, &problem.frames), &problem.frames, self.kind);
        for _ in 0..6 {
            motion = transforms::solve(&problem.points, &problem.frames, &supports, &motion, self.kind);
        }
        let mut search =
            Search::from(&problem.points, &problem.frames, self.kind, self.most, motion, supports, self.ticker);
        search.improve(search.pass(1, false));
        self.finish(&problem, search, self.until(&problem.units))
    }

    /// When iterations over all vertices stop.
    fn until(&self, units: &Units) -> Until {
        let enough = self.settings.enough.map(|rms| rms / units.length);
        match self.settings.effort {
            Effort::Fast => Until { iterations: 120, decrease: 1.5e-3, swap: true, enough },
            Effort::Quality => Until { iterations: 250, decrease: 5e-4, swap: true, enough },
        }
    }

    /// The surface that weights are smooth over, if they are to be.
    fn surface(&self, units: &Units) -> Option<(Surface, f64)> {
        self.settings.smooth.map(|strength| (Surface::of(self.sequence, units), strength))
    }

    fn smooth<'p>(&self, mut search: Search<'p>, surface: Option<&'p (Surface, f64)>) -> Search<'p> {
        if let Some((surface, strength)) = surface {
            search.smooth_over(surface, *strength);
        }
        search
    }

    /// Bones from a search on some of the vertices.
    fn found(&self, problem: &Problem) -> Result<Motion, DecomposeError> {
        let points = self.sample(problem);
        Ok(self.searched(&points, &problem.frames)?.motion)
    }

    /// The vertices in which bones are looked for.
    pub(super) fn sample(&self, problem: &Problem) -> Points {
        let count = match self.settings.effort {
            Effort::Quality => LARGE_SAMPLE,
            Effort::Fast => (self.sequence.rest.len() / 2).clamp(SAMPLE.0, SAMPLE.1),
        };
        problem.points.subset(&stratified(self.sequence.rest, count, self.settings.seed))
    }

    /// Grow, settle, eliminate, iterate; with effort, breathe.
    pub(super) fn searched<'p>(&'p self, points: &'p Points, frames: &'p Frames) -> Result<Search<'p>, DecomposeError> {
        let (kind, bones) = (self.kind, self.bones);
        let mut random = Random::seeded(self.settings.seed);
        let mut search = Search::one_bone(points, frames, kind, self.most, self.ticker);
        let until = |iterations| Until { iterations, decrease: 1e-4, swap: true, enough: None };
        // Beyond a bone for four points more bones only take time.
        search.grow((2 * bones).min(bones.max(points.len() / 4)), bones, &mut random)?;
        search.iterate(until(3))?;
        search.eliminate(bones)?;
        search.iterate(until(10))?;
        if self.settings.effort == Effort::Quality {
            let (mut extra, mut small) = (BREATH.0.min(bones), 0);
            for _ in 0..BREATH.1 {
                if extra == 0 || search.is_exact() {
                    break;
                }
                let before = search.clone();
                search.grow(bones + extra, bones, &mut random)?;
                search.iterate(until(3))?;
                search.eliminate(bones)?;
                search.iterate(until(6))?;
                small = if before.energy - search.energy < 2e-3 * before.energy { small + 1 } else { 0 };
                if search.energy >= before.energy {
                    search = before;
                }
                if small == 2 {
                    (extra, small) = (extra - 1, 0);
                }
            }
        }
        Ok(search)
    }

    /// All vertices, from the bones of a search.
    fn finish(&self, problem: &Problem, search: Search, until: Until) -> Result<Decomposition, DecomposeError> {
        let surface = self.surface(&problem.units);
        let mut search = self.smooth(search, surface.as_ref());
        let (mut done, mut stopped) = search.iterate(until)?;
        // A bone that lost its vertices starts again where the error is. Three times at most: on a mesh with fewer
        // different motions than bones it would happen for ever.
        for round in 0..3u64 {
            let idle = search.idle();
            let missing = self.bones.saturating_sub(search.bones() - idle.len());
            if missing == 0 || search.is_exact() {
                break;
            }
            search.drop_bones(&idle);
            let mut random = Random::seeded(self.settings.seed.wrapping_add(round + 1));
            search.grow(self.bones, self.bones, &mut random)?;
            let again = search.iterate(until)?;
            (done, stopped) = (done + again.0, again.1);
        }
        let idle = search.idle();
        search.drop_bones(&idle);
        let bones = search.bones();
        let fewer = (bones < self.bones).then(|| {
            if search.is_exact() {
                format!("what {bones} bones leave is too little for another one to follow")
            } else {
                format!("{} bones were tried again and again but no vertex follows them", self.bones - bones)
            }
        });
        self.deliver(problem, search, done, stopped, fewer)
    }

    /// Grow, settle and eliminate among the bones that are not given, on a sample; then all vertices.
    fn helpers(&self, given: &[BoneTransforms], helpers: usize) -> Result<Decomposition, DecomposeError> {
        let problem = Problem::new(*self.sequence, self.bones + helpers, self.settings.seed);
        let motion = self.given(&problem, given);
        let known = motion.bones.count;
        let sample = stratified(self.sequence.rest, LARGE_SAMPLE, self.settings.seed);
        let points = problem.points.subset(&sample);
        let mut random = Random::seeded(self.settings.seed);
        let mut search = Search::cold(&points, &problem.frames, self.kind, self.most, motion, self.ticker);
        let until = |iterations| Until { iterations, decrease: 1e-4, swap: true, enough: None };
        search.grow(known + 2 * helpers, self.bones, &mut random)?;
        search.iterate(until(3))?;
        search.eliminate(self.bones)?;
        search.iterate(until(10))?;
        let all = Search::cold(&problem.points, &problem.frames, self.kind, self.most, search.motion, self.ticker);
        self.finish(&problem, all, self.until(&problem.units))
    }

    /// Returns the given transforms in the solver's units. None of them may move.
    fn given(&self, problem: &Problem, given: &[BoneTransforms]) -> Motion {
        let poses: Vec<Vec<_>> =
            given.iter().map(|pose| pose.iter().map(|m| problem.units.inward(m)).collect()).collect();
        let full = transforms::given(&poses, &problem.frames);
        let fixed = full.count;
        let mut motion = Motion::from_full(full, &problem.frames, BoneKind::Rigid);
        motion.fixed = fixed;
        motion
    }

    fn weights(&self, given: &[BoneTransforms]) -> Result<Decomposition, DecomposeError> {
        let problem = Problem::new(*self.sequence, self.bones, self.settings.seed);
        let motion = self.given(&problem, given);
        let mut search =
            Search::cold(&problem.points, &problem.frames, BoneKind::Rigid, self.most, motion, self.ticker);
        search.exact_threshold();
        let surface = self.surface(&problem.units);
        let mut search = self.smooth(search, surface.as_ref());
        let mut passes = 0;
        loop {
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            let before = search.energy;
            search.improve(search.pass(self.most, true));
            passes += 1;
            if before - search.energy <= 1e-9 * before || passes == 20 {
                break;
            }
        }
        let stopped = if search.is_exact() { Stopped::Exact } else { Stopped::Converged };
        let weights = self.influences(&search.supports)?;
        let made = Made { weights, transforms: given.to_vec(), iterations: passes, stopped, fewer: None };
        Ok(self.delivered(made, search.roughness()))
    }

    fn with_weights(&self, weights: &Influences, refine: Option<&[usize]>) -> Result<Decomposition, DecomposeError> {
        let problem = Problem::new(*self.sequence, self.bones, self.settings.seed);
        let kind = self.kind;
        let most_given = weights.largest_count();
        if most_given > MOST {
            return Err(DecomposeError::Counts {
                what: "influences of a vertex in the given weights",
                found: most_given,
                expected: MOST,
            });
        }
        let supports = supports(weights);
        let mut motion = Motion::still(self.bones, &problem.frames, kind);
        // Rigid bones approach their best by sweeps; the others are there after one solve.
        let sweeps = if kind == BoneKind::Affine { 1 } else { 60 };
        let mut search =
            Search::from(&problem.points, &problem.frames, kind, self.most, motion.clone(), supports, self.ticker);
        search.freeze(&(0..self.sequence.rest.len()).collect::<Vec<_>>());
        let (mut done, mut stopped) = (0, Stopped::IterationLimit);
        let mut last = f64::INFINITY;
        for _ in 0..sweeps {
            self.ticker.tick(1).map_err(|_| DecomposeError::Cancelled)?;
            motion = transforms::solve(&problem.points, &problem.frames, &search.supports, &motion, kind);
            search.set_motion(motion.clone());
            search.improve(search.pass(0, false));
            done += 1;
            if last.is_finite() && last - search.energy <= 1e-9 * last {
                stopped = Stopped::Converged;
                break;
            }
            last = search.energy;
        }
        let surface = self.surface(&problem.units);
        if let Some(frozen) = refine {
            search.freeze(frozen);
            search = self.smooth(search, surface.as_ref());
            (done, stopped) = search.iterate(Until { iterations: 40, decrease: 1e-4, swap: true, enough: None })?;
        }
        self.deliver(&problem, search, done, stopped, None)
    }

    /// Transforms over all columns and in the caller's units.
    fn deliver(
        &self,
        problem: &Problem,
        search: Search,
        iterations: usize,
        stopped: Stopped,
        fewer: Option<String>,
    ) -> Result<Decomposition, DecomposeError> {
        let mut full = search.motion.full(&problem.frames);
        if problem.frames.basis.is_some() {
            let moments = problem.moments(&search.supports, full.stride);
            full = transforms::solve_full(
                &problem.points,
                &search.supports,
                &full,
                moments,
                search.motion.fixed,
                &problem.frames,
                self.kind,
            );
        }
        let transforms = self.transforms(problem, &full);
        let made = Made { weights: self.influences(&search.supports)?, transforms, iterations, stopped, fewer };
        Ok(self.delivered(made, search.roughness()))
    }

    fn transforms(&self, problem: &Problem, full: &Bones) -> Vec<BoneTransforms> {
        (0..self.sequence.frames.len())
            .into_par_iter()
            .map(|frame| {
                let moved = frame_transforms(full, &problem.frames, frame);
                BoneTransforms::new(moved.into_iter().map(|(a, t)| problem.units.transform(a, t)).collect())
            })
            .collect()
    }

    fn influences(&self, supports: &[Support]) -> Result<Influences, DecomposeError> {
        let rows = supports.iter().map(|s| s.members().map(|(k, w)| (BoneIndex::new(k), w)).collect());
        Influences::from_rows(rows).map_err(DecomposeError::Weights)
    }

    fn delivered(&self, made: Made, roughness: Option<f64>) -> Decomposition {
        let Made { weights, transforms, iterations, stopped, fewer } = made;
        let (mean_square, farthest) = distances(self.sequence, &weights, &transforms);
        let bones = transforms.first().map_or(0, |pose| pose.len());
        let exact = EXACT * Units::of(self.sequence.rest).length;
        // A search ends where its sums no longer tell anything. Whether that is an exact result only the vertices know.
        let is_exact = mean_square.sqrt() <= exact && farthest <= 10.0 * exact;
        let fewer_because = match is_exact {
            true => fewer.map(|_| format!("{bones} bones reproduce the sequence to rounding")),
            false => fewer,
        };
        let report = DecomposeReport {
            bones_requested: self.bones,
            bones,
            fewer_because,
            iterations,
            stopped: if stopped == Stopped::Exact && !is_exact { Stopped::Converged } else { stopped },
            mean_square,
            roughness,
            too_few: None,
            outliers: vec![],
        };
        Decomposition { weights, transforms, report }
    }
}

/// What a run ends with.
struct Made {
    weights: Influences,
    transforms: Vec<BoneTransforms>,
    iterations: usize,
    stopped: Stopped,
    fewer: Option<String>,
}

/// The weights of every vertex as the search holds them.
fn supports(weights: &Influences) -> Vec<Support> {
    let of = |row: &[(BoneIndex, f64)]| {
        let mut support = Support::single(0);
        support.n = row.len();
        for (at, &(bone, w)) in row.iter().enumerate() {
            (support.bones[at], support.weights[at]) = (bone.get() as u32, w);
        }
        support
    };
    weights.rows().map(of).collect()
}

/// An rms distance up to which a result is exact, in half extents, and a tenth of such a distance of one position: ten roundings of single precision, as
/// which sequences are stored.
const EXACT: f64 = 1e-6;

/// E / (V P) and the largest distance, from the vertices.
fn distances(sequence: &Sequence, weights: &Influences, transforms: &[BoneTransforms]) -> (f64, f64) {
    let of_frame = |(positions, pose): (&&[DVec3], &BoneTransforms)| -> (f64, f64) {
        let posed = |v: usize| -> DVec3 {
            weights.of(v).iter().map(|&(k, w)| w * pose[k].transform_point3(sequence.rest[v])).sum()
        };
        let squares = positions.iter().enumerate().map(|(v, x)| (*x - posed(v)).length_squared());
        squares.fold((0.0, 0.0), |(sum, most), square| (sum + square, most.max(square)))
    };
    let sums: Vec<(f64, f64)> = sequence.frames.par_iter().zip(transforms.par_iter()).map(of_frame).collect();
    let (sum, most) = sums.iter().fold((0.0, 0.0_f64), |(sum, most), of| (sum + of.0, most.max(of.1)));
    (sum / (sequence.rest.len() * sequence.frames.len()) as f64, most.sqrt())
}
