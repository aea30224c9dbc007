//! Calls the deformer for all lanes at once.

use super::coupled;
use super::{Calls, Coupled, Dependence, Inverse, InverseError, InverseMethod, InverseSettings, Stopped};
use dermis_deform::Deform;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::rotation::nearest_rotation;
use dermis_rig::skeleton::frobenius;
use dermis_solve::Random;
use dermis_solve::lane::Jacobian;
use dermis_solve::{DirectionSet, GaussNewton, Lane, Problem};
use rayon::prelude::*;

/// Step of finite differences in lengths L: rounding of f64 then spoils derivatives by 1e-11, curvature by 1e-5.
const STEP: f64 = 1e-5;
/// The same for single precision, whose rounding is 6e-8: as long as the longest move that the target asks for, within these
/// lengths. Derivatives then serve that move best: shorter steps lose digits, longer ones see curvature.
const STEP_SINGLE: (f64, f64) = (1e-3, 1e-2);
/// What a single-precision deformer may lose, in units in the last place of the largest coordinate. An armature and a lattice of
/// Blender lose 1.9 of them at the worst of 13,380 vertices.
const ROUNDINGS: f64 = 2.0;
/// How far the probe moves vertices, in lengths.
const PROBE: f64 = 1e-3;
/// What counts as rounding of a result, in units of its last place.
const ROUNDING: f64 = 16.0;

/// A Jacobian whose smallest singular value is below this part of the mean one is nearly singular.
const SINGULAR: f64 = 0.1;
/// What a nearly singular Jacobian gets added in a coupled deformer, in parts of its mean singular value.
const TURN: f64 = 0.5;

/// What either way of solving finds.
struct Solved {
    displacements: Vec<DVec3>,
    /// t − S(p + d), as each vertex was measured last.
    remainders: Vec<DVec3>,
    calls: Calls,
    by_gauss_newton: usize,
    by_direction_set: usize,
    limit: f64,
    stopped: Stopped,
}

/// A deformer with its points and the count of its calls.
pub(super) struct Driver<'a, D> {
    deformer: &'a mut D,
    rest: &'a [DVec3],
    target: &'a [DVec3],
    settings: &'a InverseSettings,
    points: Vec<DVec3>,
    out: Vec<DVec3>,
    calls: usize,
    /// Whether the last call found at least half of the vertices at answers that were measured before, and nothing else there.
    confirmed: bool,
}

impl<'a, D: Deform> Driver<'a, D> {
    pub(super) fn new(
        deformer: &'a mut D,
        rest: &'a [DVec3],
        target: &'a [DVec3],
        settings: &'a InverseSettings,
    ) -> Self {
        let out = vec![DVec3::ZERO; rest.len()];
        Self { deformer, rest, target, settings, points: rest.to_vec(), out, calls: 0, confirmed: false }
    }

    /// S at `points`. What the deformer does not write is found out.
    fn call(&mut self) -> Result<(), InverseError<D::Error>> {
        self.calls += 1;
        self.out.fill(DVec3::NAN);
        let called = self.deformer.deform(&self.points, &mut self.out);
        called.map_err(|source| InverseError::Deformer { call: self.calls, source })?;
        let missing = || self.out.iter().enumerate().filter(|(_, p)| !p.is_finite());
        match missing().next() {
            None => Ok(()),
            Some((vertex, _)) => Err(InverseError::Output { call: self.calls, vertex, count: missing().count() }),
        }
    }

    pub(super) fn run(mut self) -> Result<Inverse, InverseError<D::Error>> {
        let length = self.settings.length;
        self.call()?;
        let start = self.out.clone();
        let (probe, single) = self.probe(&start)?;
        if let (Dependence::Coupled { moved, farthest }, Coupled::Refuse) = (probe, self.settings.coupled) {
            return Err(InverseError::Coupled { moved, farthest });
        }
        let largest = start.iter().chain(self.target).map(|p| p.abs().max_element()).fold(length, f64::max);
        let rounding = ROUNDINGS * largest * f64::from(f32::EPSILON);
        let exact = self.settings.ftol.sqrt() * length;
        let tolerance = if single { exact.max(rounding) } else { exact };
        let asked = start.iter().zip(self.target).map(|(s, t)| s.distance(*t)).fold(0.0, f64::max);
        let step = if single { asked.clamp(STEP_SINGLE.0 * length, STEP_SINGLE.1 * length) } else { STEP * length };
        let jacobians = match self.settings.method {
            InverseMethod::DirectionSet if self.settings.epsilon == 0.0 && probe == Dependence::Independent => {
                vec![[[0.0; 3]; 3]; self.rest.len()]
            }
            _ => self.jacobians(&start, step)?,
        };
        let epsilons: Vec<f64> = jacobians.iter().map(|j| damping(j, self.settings.epsilon)).collect();
        let measuring = self.calls;
        let mut solved = match probe {
            Dependence::Independent => {
                let goal = exact * exact;
                let problem = |epsilon: &f64| Problem { length, epsilon: *epsilon, goal, step };
                let problems: Vec<Problem> = epsilons.iter().map(problem).collect();
                self.by_vertex(&start, &jacobians, &problems, tolerance)?
            }
            Dependence::Coupled { .. } => self.coupled(&start, &jacobians, tolerance)?,
        };
        solved.calls.measuring += measuring;
        let residuals: Vec<f64> = solved.remainders.iter().map(|w| w.length()).collect();
        let unresolved = residuals.iter().filter(|w| **w > tolerance).count();
        Ok(Inverse {
            unresolved,
            damped: epsilons.iter().filter(|e| **e > 0.0).count(),
            limited: solved.displacements.iter().filter(|d| d.length() >= 0.999_999 * solved.limit).count(),
            stopped: if unresolved == 0 { Stopped::Reached } else { solved.stopped },
            displacements: solved.displacements,
            by_gauss_newton: solved.by_gauss_newton,
            by_direction_set: solved.by_direction_set,
            calls: solved.calls,
            remainders: solved.remainders,
            residuals,
            tolerance,
            limit: solved.limit,
            single_precision: single,
            probe,
        })
    }

    /// The whole mesh at once.
    fn coupled(
        &mut self,
        start: &[DVec3],
        jacobians: &[Jacobian],
        tolerance: f64,
    ) -> Result<Solved, InverseError<D::Error>> {
        let before = self.calls;
        let inverses: Vec<DMat3> = jacobians.iter().map(bounded_inverse).collect();
        let residual: Vec<DVec3> = self.target.iter().zip(start).map(|(t, s)| *t - *s).collect();
        let asked = inverses.iter().zip(&residual).map(|(a, r)| (*a * *r).length()).fold(0.0, f64::max);
        let limit = self.settings.max_correction * asked;
        let found = coupled::iterate(residual, &inverses, tolerance, limit, |d| {
            if self.calls < self.settings.max_calls { self.residual(d).map(Some) } else { Ok(None) }
        })?;
        Ok(Solved {
            displacements: found.displacements,
            remainders: found.residual,
            calls: Calls { coupled: self.calls - before, ..Calls::default() },
            by_gauss_newton: 0,
            by_direction_set: 0,
            limit,
            stopped: found.stopped,
        })
    }

    /// All vertices in lock step, each on its own.
    fn by_vertex(
        &mut self,
        start: &[DVec3],
        jacobians: &[Jacobian],
        problems: &[Problem],
        tolerance: f64,
    ) -> Result<Solved, InverseError<D::Error>> {
        let mut calls = Calls::default();
        let residual = |(s, t): (&DVec3, &DVec3)| ([0.0; 3], (*s - *t).to_array());
        let mut found: Vec<([f64; 3], [f64; 3])> = start.iter().zip(self.target).map(residual).collect();
        let reached = |r: &[f64; 3]| DVec3::from_array(*r).length() <= tolerance;
        let mut searching = problems.to_vec();
        if self.settings.method != InverseMethod::DirectionSet {
            let lanes = found.iter().zip(problems).zip(jacobians);
            let mut lanes: Vec<_> = lanes.map(|(((d, r), p), j)| GaussNewton::new(*p, *d, *r, *j)).collect();
            calls.gauss_newton = self.lock_step(&mut lanes, tolerance)?;
            for ((lane, found), problem) in lanes.iter().zip(&mut found).zip(&mut searching) {
                *found = lane.best();
                if lane.converged() || reached(&found.1) {
                    // Nothing is left to search here: the lane is at its goal from the start.
                    problem.goal = f64::INFINITY;
                }
            }
        }
        let by_gauss_newton = match self.settings.method {
            InverseMethod::DirectionSet => 0,
            _ => found.iter().filter(|(_, r)| reached(r)).count(),
        };
        if self.settings.method != InverseMethod::GaussNewton {
            let lanes = found.iter().zip(&searching);
            let mut lanes: Vec<_> = lanes.map(|((d, r), p)| DirectionSet::new(*p, *d, *r)).collect();
            calls.direction_set = self.lock_step(&mut lanes, tolerance)?;
            lanes.iter().zip(&mut found).for_each(|(lane, found)| *found = lane.best());
        }
        let displacements: Vec<DVec3> = found.iter().map(|(d, _)| DVec3::from_array(*d)).collect();
        let stopped = if self.may_call() { Stopped::NoGain } else { Stopped::Calls };
        // A call with all vertices at their answers, unless the last one was that, or was as good as that.
        let answered = self.points.iter().zip(self.rest).zip(&displacements).all(|((at, p), d)| *at == *p + *d);
        let remainders = if self.confirmed && !answered {
            found.iter().map(|(_, r)| -DVec3::from_array(*r)).collect()
        } else {
            if !answered {
                self.move_by(&displacements);
                self.call()?;
                calls.measuring += 1;
            }
            self.target.iter().zip(&self.out).map(|(t, s)| *t - *s).collect()
        };
        Ok(Solved {
            remainders,
            displacements,
            limit: f64::INFINITY,
            stopped,
            by_direction_set: found.iter().filter(|(_, r)| reached(r)).count().saturating_sub(by_gauss_newton),
            by_gauss_newton,
            calls,
        })
    }

    /// Whether a call is left besides the last one, which checks the result.
    fn may_call(&self) -> bool {
        self.calls + 1 < self.settings.max_calls
    }

    /// t − S(p + d).
    fn residual(&mut self, displacements: &[DVec3]) -> Result<Vec<DVec3>, InverseError<D::Error>> {
        self.move_by(displacements);
        self.call()?;
        Ok(self.target.iter().zip(&self.out).map(|(t, s)| *t - *s).collect())
    }

    fn move_by(&mut self, displacements: &[DVec3]) {
        for ((point, rest), d) in self.points.iter_mut().zip(self.rest).zip(displacements) {
            *point = *rest + *d;
        }
    }

    /// Moves a random half of the vertices; the others must stay. Also whether the results are single-precision numbers.
    fn probe(&mut self, start: &[DVec3]) -> Result<(Dependence, bool), InverseError<D::Error>> {
        let mut random = Random::seeded(self.settings.seed);
        let mut vector = || DVec3::new(random.unit(), random.unit(), random.unit()) - DVec3::splat(0.5);
        let common = vector();
        let by: Vec<DVec3> = (0..self.rest.len())
            .map(|_| {
                let (own, side) = (vector(), vector());
                // A common part, so that what depends on a mean shows too.
                if side.x > 0.0 { (common + own) * (PROBE * self.settings.length) } else { DVec3::ZERO }
            })
            .collect();
        self.move_by(&by);
        self.call()?;
        let single = |p: &DVec3| p.as_vec3().as_dvec3() == *p;
        let single = !self.out.is_empty() && self.out.iter().all(single);
        let (mut moved, mut farthest) = (0, 0.0_f64);
        for ((by, before), after) in by.iter().zip(start).zip(&self.out) {
            let distance = (*after - *before).length();
            let size = before.abs().max_element().max(self.settings.length);
            if *by == DVec3::ZERO && distance > ROUNDING * f64::EPSILON * size {
                moved += 1;
                farthest = farthest.max(distance / self.settings.length);
            }
        }
        let found = if moved == 0 { Dependence::Independent } else { Dependence::Coupled { moved, farthest } };
        Ok((found, single))
    }

    /// ∂S/∂d of every vertex by forward differences, all vertices moved together.
    fn jacobians(&mut self, start: &[DVec3], step: f64) -> Result<Vec<Jacobian>, InverseError<D::Error>> {
        let mut jacobians = vec![[[0.0; 3]; 3]; self.rest.len()];
        for (axis, unit) in DVec3::AXES.into_iter().enumerate() {
            self.points.iter_mut().zip(self.rest).for_each(|(point, rest)| *point = *rest + unit * step);
            self.call()?;
            for (v, jacobian) in jacobians.iter_mut().enumerate() {
                // The step as it was taken, after rounding.
                let taken = self.points[v][axis] - self.rest[v][axis];
                jacobian[axis] = ((self.out[v] - start[v]) / taken).to_array();
            }
        }
        Ok(jacobians)
    }

    /// Calls until every lane has finished, or no calls are left but one; how many it took. Once all are within the tolerance,
    /// which is the rounding of single precision where the goal of the lanes is finer, one call more may come nearer.
    fn lock_step<L: Lane + Send + Sync>(
        &mut self,
        lanes: &mut [L],
        tolerance: f64,
    ) -> Result<usize, InverseError<D::Error>> {
        let before = self.calls;
        let within = |lane: &L| DVec3::from_array(lane.best().1).length() <= tolerance;
        let mut last = false;
        while self.may_call() && !last && lanes.par_iter().any(|lane| !lane.finished()) {
            last = lanes.par_iter().all(within);
            let points = self.points.par_iter_mut().zip(self.rest).zip(&*lanes);
            points.with_min_len(512).for_each(|((point, rest), lane)| {
                *point = *rest + DVec3::from_array(lane.point());
            });
            self.call()?;
            self.confirmed = self.confirms(lanes);
            let results = lanes.par_iter_mut().zip(&self.out).zip(self.target);
            results.with_min_len(512).for_each(|((lane, out), target)| lane.take((*out - *target).to_array()));
        }
        Ok(self.calls - before)
    }

    /// Whether at least half of the lanes had finished, and the call gave each of them what it had measured: their vertices did
    /// not move although others did.
    fn confirms<L: Lane>(&self, lanes: &[L]) -> bool {
        let finished = lanes.iter().zip(&self.out).zip(self.target).filter(|((lane, _), _)| lane.finished());
        let (mut stayed, mut moved) = (0, 0);
        for ((lane, out), target) in finished {
            let distance = (*out - *target).distance(DVec3::from_array(lane.best().1));
            let still = distance <= ROUNDING * f64::EPSILON * out.abs().max_element().max(self.settings.length);
            *(if still { &mut stayed } else { &mut moved }) += 1;
        }
        moved == 0 && 2 * stayed >= lanes.len()
    }
}

/// A⁻¹; where A is nearly singular, (A + f m R)⁻¹ with R the rotation nearest to A and m its mean singular value: what A flattens
/// is taken for a rotation, as it is on both sides of a contact. Zero where A is.
fn bounded_inverse(jacobian: &Jacobian) -> DMat3 {
    let a = DMat3::from_cols_array_2d(jacobian);
    let inverse = match is_regular(&a) {
        true => a.inverse(),
        false => (a + nearest_rotation(&a) * (TURN * mean_singular_value(&a))).inverse(),
    };
    if inverse.is_finite() { inverse } else { DMat3::ZERO }
}

/// The root of the mean squared singular value.
fn mean_singular_value(a: &DMat3) -> f64 {
    frobenius(a) / 3f64.sqrt()
}

fn is_regular(a: &DMat3) -> bool {
    let inverse = a.inverse();
    inverse.is_finite() && frobenius(&inverse) * SINGULAR * mean_singular_value(a) <= 1.0
}

/// e of a vertex: `epsilon` of the mean squared singular value where the smallest is below a tenth of the mean one.
fn damping(jacobian: &Jacobian, epsilon: f64) -> f64 {
    let a = DMat3::from_cols_array_2d(jacobian);
    if is_regular(&a) { 0.0 } else { epsilon * mean_singular_value(&a).powi(2) }
}
