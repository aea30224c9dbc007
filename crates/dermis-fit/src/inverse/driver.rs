//! Calls the deformer for all lanes at once.

use super::coupled;
use super::{Calls, Coupled, Dependence, Inverse, InverseError, InverseMethod, InverseSettings};
use dermis_deform::Deform;
use dermis_rig::glam::{DMat3, DVec3};
use dermis_rig::skeleton::frobenius;
use dermis_solve::Random;
use dermis_solve::lane::Jacobian;
use dermis_solve::{DirectionSet, GaussNewton, Lane, Problem};
use rayon::prelude::*;

/// Step of finite differences in lengths L: rounding of f64 then spoils derivatives by 1e-11, curvature by 1e-5.
const STEP: f64 = 1e-5;
/// The same for single precision, whose rounding is 6e-8.
const STEP_SINGLE: f64 = 1e-3;
/// How far the probe moves vertices, in lengths.
const PROBE: f64 = 1e-3;
/// What counts as rounding of a result, in units of its last place.
const ROUNDING: f64 = 16.0;

/// What either way of solving finds.
struct Solved {
    displacements: Vec<DVec3>,
    calls: Calls,
    by_gauss_newton: usize,
    by_direction_set: usize,
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
}

impl<'a, D: Deform> Driver<'a, D> {
    pub(super) fn new(
        deformer: &'a mut D,
        rest: &'a [DVec3],
        target: &'a [DVec3],
        settings: &'a InverseSettings,
    ) -> Self {
        let out = vec![DVec3::ZERO; rest.len()];
        Self { deformer, rest, target, settings, points: rest.to_vec(), out, calls: 0 }
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
        let rounding = largest * f64::from(f32::EPSILON);
        let exact = self.settings.ftol.sqrt() * length;
        let tolerance = if single { exact.max(rounding) } else { exact };
        let step = length * if single { STEP_SINGLE } else { STEP };
        let jacobians = match self.settings.method {
            InverseMethod::DirectionSet if self.settings.epsilon == 0.0 && probe == Dependence::Independent => {
                vec![[[0.0; 3]; 3]; self.rest.len()]
            }
            _ => self.jacobians(&start, step)?,
        };
        let epsilons: Vec<f64> = jacobians.iter().map(|j| damping(j, self.settings.epsilon)).collect();
        let measuring = self.calls + 1;
        let solved = match probe {
            Dependence::Independent => {
                let goal = tolerance * tolerance;
                let problem = |epsilon: &f64| Problem { length, epsilon: *epsilon, goal, step };
                let problems: Vec<Problem> = epsilons.iter().map(problem).collect();
                self.by_vertex(&start, &jacobians, &problems, tolerance)?
            }
            Dependence::Coupled { .. } => {
                let inverses: Vec<DMat3> = jacobians.iter().zip(&epsilons).map(|(j, e)| inverse(j, *e)).collect();
                let residual = self.target.iter().zip(&start).map(|(t, s)| *t - *s).collect();
                let displacements = coupled::iterate(residual, &inverses, tolerance, |d| match self.may_call() {
                    true => self.residual(d).map(Some),
                    false => Ok(None),
                })?;
                let calls = Calls { coupled: self.calls + 1 - measuring, ..Calls::default() };
                Solved { displacements, calls, by_gauss_newton: 0, by_direction_set: 0 }
            }
        };

        let remainders: Vec<DVec3> = self.residual(&solved.displacements)?;
        let residuals: Vec<f64> = remainders.iter().map(|w| w.length()).collect();
        Ok(Inverse {
            unresolved: residuals.iter().filter(|w| **w > tolerance).count(),
            damped: epsilons.iter().filter(|e| **e > 0.0).count(),
            displacements: solved.displacements,
            by_gauss_newton: solved.by_gauss_newton,
            by_direction_set: solved.by_direction_set,
            calls: Calls { measuring, ..solved.calls },
            remainders,
            residuals,
            tolerance,
            single_precision: single,
            probe,
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
        let mut searching = problems.to_vec();
        if self.settings.method != InverseMethod::DirectionSet {
            let lanes = found.iter().zip(problems).zip(jacobians);
            let mut lanes: Vec<_> = lanes.map(|(((d, r), p), j)| GaussNewton::new(*p, *d, *r, *j)).collect();
            calls.gauss_newton = self.lock_step(&mut lanes)?;
            for ((lane, found), problem) in lanes.iter().zip(&mut found).zip(&mut searching) {
                *found = lane.best();
                if lane.converged() {
                    // Nothing is left to search here: the lane is at its goal from the start.
                    problem.goal = f64::INFINITY;
                }
            }
        }
        let reached = |r: &[f64; 3]| DVec3::from_array(*r).length() <= tolerance;
        let by_gauss_newton = match self.settings.method {
            InverseMethod::DirectionSet => 0,
            _ => found.iter().filter(|(_, r)| reached(r)).count(),
        };
        if self.settings.method != InverseMethod::GaussNewton {
            let lanes = found.iter().zip(&searching);
            let mut lanes: Vec<_> = lanes.map(|((d, r), p)| DirectionSet::new(*p, *d, *r)).collect();
            calls.direction_set = self.lock_step(&mut lanes)?;
            lanes.iter().zip(&mut found).for_each(|(lane, found)| *found = lane.best());
        }
        Ok(Solved {
            displacements: found.iter().map(|(d, _)| DVec3::from_array(*d)).collect(),
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

    /// Calls until every lane has finished, or no calls are left but one; how many it took.
    fn lock_step<L: Lane + Send + Sync>(&mut self, lanes: &mut [L]) -> Result<usize, InverseError<D::Error>> {
        let before = self.calls;
        while self.may_call() && lanes.par_iter().any(|lane| !lane.finished()) {
            let points = self.points.par_iter_mut().zip(self.rest).zip(&*lanes);
            points.with_min_len(512).for_each(|((point, rest), lane)| {
                *point = *rest + DVec3::from_array(lane.point());
            });
            self.call()?;
            let results = lanes.par_iter_mut().zip(&self.out).zip(self.target);
            results.with_min_len(512).for_each(|((lane, out), target)| lane.take((*out - *target).to_array()));
        }
        Ok(self.calls - before)
    }
}

/// (AᵀA + e)⁻¹ Aᵀ; zero where that does not exist.
fn inverse(jacobian: &Jacobian, epsilon: f64) -> DMat3 {
    let a = DMat3::from_cols_array_2d(jacobian);
    let inverse = (a.transpose() * a + DMat3::from_diagonal(DVec3::splat(epsilon))).inverse() * a.transpose();
    if inverse.is_finite() { inverse } else { DMat3::ZERO }
}

/// e of a vertex: `epsilon` of the mean squared singular value where the smallest is below a tenth of the mean one.
fn damping(jacobian: &Jacobian, epsilon: f64) -> f64 {
    let a = DMat3::from_cols_array_2d(jacobian);
    let mean = frobenius(&a) / 3f64.sqrt();
    let inverse = a.inverse();
    let regular = inverse.is_finite() && frobenius(&inverse) * 0.1 * mean <= 1.0;
    if regular { 0.0 } else { epsilon * mean * mean }
}
