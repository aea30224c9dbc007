//! Gauss-Newton steps for one lane of three unknowns.
//!
//! With J = ∂r/∂d the step δ solves the damped normal equations
//!
//! ```text
//! (JᵀJ + (e + λ m²) 1) δ = −(Jᵀ r + e d),     m² the mean of the diagonal of JᵀJ,
//! ```
//!
//! by their pseudo-inverse, so directions in which r does not move stay as they are. Only decreases of f are accepted.
//! λ starts at zero: a residual that is affine in d is solved by the first step.
//!
//! J is measured by forward differences, three evaluations. After a good step, Broyden's update corrects J
//! from the step itself, without a call. J is measured again when a step with an old J fails or gains less than [`SLOW`].
//!
//! Source: Levenberg 1944, Marquardt 1963; Broyden 1965, "A class of methods for solving nonlinear simultaneous equations".

use crate::lane::{Jacobian, Lane, Problem, Three, along, dot};

/// A step that leaves more than this part of the residual asks for a new Jacobian before the next.
pub const SLOW: f64 = 0.25;
/// Steps at most, taken or refused.
const MOST_STEPS: usize = 40;
/// λ after the first refusal, and beyond which a lane gives up.
const DAMPING: (f64, f64) = (1e-3, 1e6);
/// Eigenvalues of JᵀJ below this part of the largest count as zero.
const FLAT: f64 = 1e-13;
/// A step that promises to lower f by less than this part of it is rounding.
const STILL: f64 = 1e-15;

/// One lane.
#[derive(Clone, Debug)]
pub struct GaussNewton {
    problem: Problem,
    d: Three,
    r: Three,
    value: f64,
    jacobian: Jacobian,
    lambda: f64,
    steps: usize,
    stationary: bool,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The derivative by this unknown is being measured.
    Column(usize),
    /// This move is being tried; whether the Jacobian was measured where it starts.
    Step(Three, bool),
    Finished,
}

impl GaussNewton {
    /// A lane at `d` with residual `r`; `jacobian` as measured there.
    pub fn new(problem: Problem, d: Three, r: Three, jacobian: Jacobian) -> Self {
        let value = problem.value(d, r);
        let (stationary, phase) = (false, Phase::Finished);
        let mut lane = Self { problem, d, r, value, jacobian, lambda: 0.0, steps: 0, stationary, phase };
        if value > problem.goal {
            lane.step(true);
        }
        lane
    }

    /// Whether the goal is reached, or f has no slope left: then no method will lower it from here.
    pub fn converged(&self) -> bool {
        self.value <= self.problem.goal || self.stationary
    }

    /// Proposes the step from here.
    fn step(&mut self, fresh: bool) {
        let g = self.gradient();
        let mut normal = [[0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                normal[i][j] = dot(self.jacobian[i], self.jacobian[j]);
            }
        }
        let mean = (normal[0][0] + normal[1][1] + normal[2][2]) / 3.0;
        for (i, row) in normal.iter_mut().enumerate() {
            row[i] += self.problem.epsilon + self.lambda * mean;
        }
        let move_by = pseudo_solve(normal, g.map(|g| -g));
        let length = dot(move_by, move_by).sqrt();
        let promised = -dot(g, move_by);
        // Not `<=`, so that NaN finishes too.
        self.phase = if !(promised > STILL * self.value && length > 0.0 && length.is_finite()) {
            // What an old Jacobian says must be measured before it is believed.
            self.stationary = fresh;
            if fresh { Phase::Finished } else { Phase::Column(0) }
        } else {
            // Beyond the character's own size a local model says nothing.
            Phase::Step(move_by.map(|x| x * (self.problem.length / length).min(1.0)), fresh)
        };
    }

    /// Half the gradient of f: Jᵀ r + e d.
    fn gradient(&self) -> Three {
        [0, 1, 2].map(|i| dot(self.jacobian[i], self.r) + self.problem.epsilon * self.d[i])
    }
}

impl Lane for GaussNewton {
    fn point(&self) -> Three {
        match self.phase {
            Phase::Column(i) => {
                let mut d = self.d;
                d[i] += self.problem.step;
                d
            }
            Phase::Step(by, _) => along(self.d, 1.0, by),
            Phase::Finished => self.d,
        }
    }

    fn take(&mut self, residual: Three) {
        match self.phase {
            Phase::Column(i) => {
                // The step as it was taken, after rounding.
                let h = (self.d[i] + self.problem.step) - self.d[i];
                self.jacobian[i] = along(residual, -1.0, self.r).map(|x| x / h);
                match i {
                    2 => self.step(true),
                    _ => self.phase = Phase::Column(i + 1),
                }
            }
            Phase::Step(by, fresh) => {
                self.steps += 1;
                let d = along(self.d, 1.0, by);
                let value = self.problem.value(d, residual);
                let better = value < self.value;
                let gain = (value / self.value).sqrt();
                if better {
                    // J += (r₁ − r₀ − J δ) δᵀ / |δ|²
                    let foretold = [0, 1, 2].map(|c| {
                        self.r[c]
                            + self.jacobian[0][c] * by[0]
                            + self.jacobian[1][c] * by[1]
                            + self.jacobian[2][c] * by[2]
                    });
                    let surprise = along(residual, -1.0, foretold);
                    let square = dot(by, by);
                    for i in 0..3 {
                        self.jacobian[i] = along(self.jacobian[i], by[i] / square, surprise);
                    }
                    (self.d, self.r, self.value) = (d, residual, value);
                    self.lambda = if self.lambda > DAMPING.0 { 0.1 * self.lambda } else { 0.0 };
                } else if fresh {
                    self.lambda = (10.0 * self.lambda).max(DAMPING.0);
                }
                if self.value <= self.problem.goal || self.steps >= MOST_STEPS || self.lambda > DAMPING.1 {
                    self.phase = Phase::Finished;
                } else if better && gain <= SLOW {
                    self.step(false);
                } else if better || !fresh {
                    self.phase = Phase::Column(0);
                } else {
                    self.step(true);
                }
            }
            Phase::Finished => {}
        }
    }

    fn finished(&self) -> bool {
        self.phase == Phase::Finished
    }

    fn best(&self) -> (Three, Three) {
        (self.d, self.r)
    }
}

/// A⁺ b for a symmetric positive semidefinite A, by its eigenvectors (Jacobi's rotations).
pub fn pseudo_solve(a: [[f64; 3]; 3], b: Three) -> Three {
    let (values, vectors) = eigen(a);
    let most = values.iter().copied().fold(0.0, f64::max);
    let mut x = [0.0; 3];
    for (value, vector) in values.into_iter().zip(vectors) {
        if value > FLAT * most {
            x = along(x, dot(vector, b) / value, vector);
        }
    }
    x
}

/// Eigenvalues and unit eigenvectors of a symmetric matrix, in no order.
pub(crate) fn eigen(mut a: [[f64; 3]; 3]) -> (Three, [Three; 3]) {
    let mut v = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    for _ in 0..20 {
        let off = a[0][1].abs() + a[0][2].abs() + a[1][2].abs();
        if off <= 1e-17 * (a[0][0].abs() + a[1][1].abs() + a[2][2].abs()) {
            break;
        }
        for (p, q) in [(0, 1), (0, 2), (1, 2)] {
            if a[p][q] == 0.0 {
                continue;
            }
            let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
            let t = theta.signum() / (theta.abs() + theta.hypot(1.0));
            let c = 1.0 / t.hypot(1.0);
            let s = t * c;
            for k in 0..3 {
                (a[k][p], a[k][q]) = (c * a[k][p] - s * a[k][q], s * a[k][p] + c * a[k][q]);
            }
            for k in 0..3 {
                (a[p][k], a[q][k]) = (c * a[p][k] - s * a[q][k], s * a[p][k] + c * a[q][k]);
                (v[p][k], v[q][k]) = (c * v[p][k] - s * v[q][k], s * v[p][k] + c * v[q][k]);
            }
        }
    }
    ([a[0][0], a[1][1], a[2][2]], v)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::run;

    fn problem(epsilon: f64) -> Problem {
        Problem { length: 1.0, epsilon, goal: 1e-22, step: 1e-5 }
    }

    fn measured(of: impl Fn(Three) -> Three, d: Three) -> Jacobian {
        [0, 1, 2].map(|i| {
            let mut moved = d;
            moved[i] += 1e-5;
            along(of(moved), -1.0, of(d)).map(|x| x / 1e-5)
        })
    }

    fn lane(of: impl Fn(Three) -> Three, epsilon: f64, start: Three) -> GaussNewton {
        GaussNewton::new(problem(epsilon), start, of(start), measured(&of, start))
    }

    #[test]
    fn an_affine_residual_takes_one_step() {
        let of = |d: Three| [d[0] + 0.9 * d[1] - 0.1, d[1] + 0.5 * d[2] + 0.2, d[2] - 0.3];
        let mut lane = lane(of, 0.0, [0.0; 3]);
        assert_eq!(run(&mut lane, of, 10), 1);
        let y = -0.2 - 0.5 * 0.3;
        let off = along(lane.best().0, -1.0, [0.1 - 0.9 * y, y, 0.3]);
        assert!(dot(off, off).sqrt() < 1e-11 && lane.converged());
    }

    #[test]
    fn a_lane_that_starts_at_its_goal_asks_for_nothing() {
        let (start, residual) = ([0.5, 0.0, 0.0], [1e-3, 0.0, 0.0]);
        let problem = Problem { goal: problem(0.1).value(start, residual), ..problem(0.1) };
        let lane = GaussNewton::new(problem, start, residual, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
        assert!(lane.finished() && lane.converged() && lane.best() == (start, residual));
    }

    #[test]
    fn a_smooth_residual_takes_few_calls_because_jacobians_are_updated() {
        let of = |d: Three| {
            [d[0] + 0.2 * d[1] * d[1] - 0.1, d[1] + 0.1 * (3.0 * d[2]).sin() + 0.1, d[2] + 0.2 * d[0] * d[1] - 0.05]
        };
        let mut lane = lane(of, 0.0, [0.0; 3]);
        let calls = run(&mut lane, of, 100);
        let (d, r) = lane.best();
        assert!(lane.converged() && calls <= 7 && dot(r, r) <= 1e-22 && r == of(d), "{calls}");
    }

    #[test]
    fn a_curved_valley_is_followed_to_its_end() {
        let of = |d: Three| [10.0 * (d[1] - d[0] * d[0]), 1.0 - d[0], d[2]];
        let mut lane = lane(of, 0.0, [-1.2, 1.0, 0.5]);
        run(&mut lane, of, 300);
        let (d, _) = lane.best();
        assert!(lane.converged() && (d[0] - 1.0).abs() < 1e-9 && (d[1] - 1.0).abs() < 1e-9, "{d:?}");
    }

    /// Closed forms: b / (1 + e) with a penalty; in directions that change nothing, no move.
    #[test]
    fn the_penalty_shortens_the_answer_and_flat_directions_stay() {
        let of = |d: Three| [d[0] - 0.3, d[1] + 0.4, 0.7];
        for (epsilon, d) in [(0.0, [0.3, -0.4, 0.0]), (0.25, [0.24, -0.32, 0.0])] {
            let mut lane = lane(of, epsilon, [0.0; 3]);
            assert!(run(&mut lane, of, 100) < 20);
            let off = along(lane.best().0, -1.0, d);
            assert!(dot(off, off).sqrt() < 1e-10 && lane.converged(), "{epsilon} {off:?}");
        }
    }

    #[test]
    fn lanes_end_on_residuals_without_sense() {
        for of in [|_: Three| [f64::NAN; 3], |_: Three| [f64::INFINITY; 3], |_: Three| [1.0, 2.0, 3.0]] {
            for jacobian in [[[0.0; 3]; 3], [[f64::NAN; 3]; 3], [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]] {
                let mut lane = GaussNewton::new(problem(0.0), [0.5; 3], [1.0, 2.0, 3.0], jacobian);
                run(&mut lane, of, 1000);
                assert!(lane.finished());
                assert_eq!(lane.best(), ([0.5; 3], [1.0, 2.0, 3.0]));
            }
        }
    }

    /// Oracle: E diag(v) Eᵀ multiplied out again.
    #[test]
    fn eigenvectors_rebuild_the_matrix() {
        for a in [
            [[2.0, -1.0, 0.3], [-1.0, 3.0, 0.7], [0.3, 0.7, 1.0]],
            [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]],
            [[0.0; 3]; 3],
        ] {
            let (values, vectors) = eigen(a);
            for i in 0..3 {
                for j in 0..3 {
                    let sum: f64 = (0..3).map(|h| values[h] * vectors[h][i] * vectors[h][j]).sum();
                    let unit = if i == j { 1.0 } else { 0.0 };
                    assert!((sum - a[i][j]).abs() < 1e-14 && (dot(vectors[i], vectors[j]) - unit).abs() < 1e-14);
                }
            }
        }
    }
}
