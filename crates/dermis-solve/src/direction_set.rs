//! Powell's direction sets for one lane of three unknowns: minimises without derivatives, by line searches alone.
//!
//! Directions start as the axes. A sweep searches along one after another, from d₀ with f₀ to d with f. Then, with D the largest
//! decrease of a single search and f_e = f(2d − d₀),
//!
//! ```text
//! f_e < f₀  and  2 (f₀ − 2f + f_e)(f₀ − f − D)² < D (f₀ − f_e)²
//! ```
//!
//! says that the sweep's direction d − d₀ is worth keeping. Then a search follows it, and it replaces the direction of the
//! largest decrease. On a quadratic this makes the directions conjugate. No search ever accepts an increase.
//!
//! All steps scale with the problem: a first search starts with half of √f₀, later ones with half the last move along the same
//! direction. A lane stops at its goal, when a sweep moves or gains nothing beyond rounding, or after 30 sweeps.
//!
//! Source: Powell 1964; the test follows Press et al., "Numerical Recipes", section 10.7.

use crate::lane::{Lane, Problem, Three, along, dot};
use crate::line_search::LineSearch;

/// Sweeps at most.
const MOST_SWEEPS: usize = 30;
/// A sweep that gains less than this part of f has converged.
const GAIN: f64 = 1e-15;
/// A sweep that moves less than this, in lengths, has converged.
const STILL: f64 = 1e-14;
/// Least first step of a search, in lengths, in the first sweep.
const LEAST_STEP: f64 = 1e-4;
/// A search may start with this part of the last search's first step, however little that moved.
const SHRINK: f64 = 1e-3;

const AXES: [Three; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// One lane.
#[derive(Clone, Debug)]
pub struct DirectionSet {
    problem: Problem,
    d: Three,
    r: Three,
    value: f64,
    /// Unit directions, and the first step along each.
    directions: [Three; 3],
    steps: [f64; 3],
    along_axes: bool,
    /// Where the sweep began.
    from: Three,
    from_value: f64,
    /// The largest decrease of the sweep and its direction.
    largest: (f64, usize),
    sweeps: usize,
    phase: Phase,
}

#[derive(Clone, Debug)]
enum Phase {
    /// Along direction 0, 1 or 2; from which point.
    Search(usize, Three, LineSearch),
    /// f(2d − d₀) is wanted.
    Extrapolate,
    /// Along the sweep's direction.
    Extra(Three, Three, LineSearch),
    Finished,
}

impl DirectionSet {
    /// A lane at `d` with residual `r`.
    pub fn new(problem: Problem, d: Three, r: Three) -> Self {
        let value = problem.value(d, r);
        let step = (0.5 * value.sqrt()).max(LEAST_STEP * problem.length);
        let mut lane = Self {
            problem,
            d,
            r,
            value,
            directions: AXES,
            along_axes: true,
            steps: [step; 3],
            from: d,
            from_value: value,
            largest: (0.0, 0),
            sweeps: 0,
            phase: Phase::Finished,
        };
        if value > problem.goal {
            lane.search(0);
        }
        lane
    }

    /// A sweep along the axes, with first steps as in the first.
    fn restart(&mut self) {
        (self.directions, self.along_axes) = (AXES, true);
        self.steps = [(0.5 * self.value.sqrt()).max(STILL * self.problem.length); 3];
        self.sweep();
    }

    fn search(&mut self, i: usize) {
        self.phase = Phase::Search(i, self.d, LineSearch::new(self.value, self.steps[i], self.problem.length));
    }

    fn sweep(&mut self) {
        (self.from, self.from_value, self.largest) = (self.d, self.value, (0.0, 0));
        self.sweeps += 1;
        match self.sweeps < MOST_SWEEPS {
            true => self.search(0),
            false => self.phase = Phase::Finished,
        }
    }

    /// Takes a point if it is better.
    fn keep(&mut self, d: Three, r: Three, value: f64) {
        if value < self.value {
            (self.d, self.r, self.value) = (d, r, value);
        }
    }
}

impl Lane for DirectionSet {
    fn point(&self) -> Three {
        match &self.phase {
            Phase::Search(i, start, line) => along(*start, line.at(), self.directions[*i]),
            Phase::Extrapolate => [0, 1, 2].map(|c| 2.0 * self.d[c] - self.from[c]),
            Phase::Extra(start, direction, line) => along(*start, line.at(), *direction),
            Phase::Finished => self.d,
        }
    }

    fn take(&mut self, residual: Three) {
        let d = self.point();
        let value = self.problem.value(d, residual);
        let before = self.value;
        match std::mem::replace(&mut self.phase, Phase::Finished) {
            Phase::Search(i, start, mut line) => {
                self.keep(d, residual, value);
                if self.value <= self.problem.goal {
                    return;
                }
                if !line.take(value) {
                    self.phase = Phase::Search(i, start, line);
                    return;
                }
                self.steps[i] = (0.5 * line.moved()).max(SHRINK * self.steps[i]);
                if line.gained() > self.largest.0 {
                    self.largest = (line.gained(), i);
                }
                if i < 2 {
                    self.search(i + 1);
                    return;
                }
                let by = along(self.d, -1.0, self.from);
                let still = dot(by, by).sqrt() <= STILL * self.problem.length;
                if still || self.from_value - self.value <= GAIN * self.from_value {
                    // Directions that were replaced may no longer span space: only the axes show that nothing is left.
                    if !self.along_axes {
                        self.restart();
                    }
                    return;
                }
                self.phase = Phase::Extrapolate;
            }
            Phase::Extrapolate => {
                let (f0, f, fe, most) = (self.from_value, before, value, self.largest.0);
                let worth = fe < f0 && 2.0 * (f0 - 2.0 * f + fe) * (f0 - f - most).powi(2) < most * (f0 - fe).powi(2);
                let by = along(self.d, -1.0, self.from);
                let length = dot(by, by).sqrt();
                if worth && length > 0.0 {
                    let line = LineSearch::new(f, 0.5 * length, self.problem.length);
                    self.phase = Phase::Extra(self.d, by.map(|x| x / length), line);
                } else {
                    self.keep(d, residual, value);
                    match self.value <= self.problem.goal {
                        true => self.phase = Phase::Finished,
                        false => self.sweep(),
                    }
                }
            }
            Phase::Extra(start, direction, mut line) => {
                self.keep(d, residual, value);
                if self.value <= self.problem.goal {
                    return;
                }
                if !line.take(value) {
                    self.phase = Phase::Extra(start, direction, line);
                    return;
                }
                self.along_axes = false;
                let worst = self.largest.1;
                (self.directions[worst], self.steps[worst]) = (self.directions[2], self.steps[2]);
                (self.directions[2], self.steps[2]) = (direction, (0.5 * line.moved()).max(SHRINK * line.step()));
                self.sweep();
            }
            Phase::Finished => {}
        }
    }

    fn finished(&self) -> bool {
        matches!(self.phase, Phase::Finished)
    }

    fn best(&self) -> (Three, Three) {
        (self.d, self.r)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::run;

    fn problem(epsilon: f64) -> Problem {
        Problem { length: 1.0, epsilon, goal: 1e-22, step: 1e-5 }
    }

    /// Closed form: an affine residual A d − b has its zero at A⁻¹ b, here with A unit upper triangular.
    #[test]
    fn an_affine_residual_is_solved_whatever_the_directions() {
        let of = |d: Three| [d[0] + 0.9 * d[1] - 0.8 * d[2] - 0.1, d[1] + 0.95 * d[2] + 0.2, d[2] - 0.3];
        let mut lane = DirectionSet::new(problem(0.0), [0.0; 3], of([0.0; 3]));
        let calls = run(&mut lane, of, 400);
        let z = 0.3;
        let y = -0.2 - 0.95 * z;
        let x = 0.1 - 0.9 * y + 0.8 * z;
        let off = along(lane.best().0, -1.0, [x, y, z]);
        assert!(dot(off, off).sqrt() < 1e-10 && calls < 150, "{off:?} after {calls}");
    }

    /// Rosenbrock's valley as a residual, (10 (y − x²), 1 − x), from its usual start; the zero is (1, 1).
    #[test]
    fn a_curved_valley_is_followed_to_its_end_and_f_never_rises() {
        let of = |d: Three| [10.0 * (d[1] - d[0] * d[0]), 1.0 - d[0], d[2]];
        let start = [-1.2, 1.0, 0.5];
        let mut lane = DirectionSet::new(problem(0.0), start, of(start));
        let mut least = f64::INFINITY;
        let mut calls = 0;
        while !lane.finished() {
            let d = lane.point();
            lane.take(of(d));
            calls += 1;
            let (best, r) = lane.best();
            assert!(dot(r, r) <= least && r == of(best));
            least = dot(r, r);
        }
        let (d, _) = lane.best();
        assert!((d[0] - 1.0).abs() < 1e-9 && (d[1] - 1.0).abs() < 1e-9 && calls < 1500, "{d:?} after {calls}");
    }

    /// Closed form: |d − b|² + e |d|² is least at b / (1 + e).
    #[test]
    fn the_penalty_shortens_the_answer() {
        let b = [0.3, -0.4, 0.1];
        let of = |d: Three| along(d, -1.0, b);
        let mut lane = DirectionSet::new(problem(0.25), [0.0; 3], of([0.0; 3]));
        run(&mut lane, of, 2000);
        let off = along(lane.best().0, -0.8, b);
        // f is flat at its minimum: values tell it to the root of their rounding.
        assert!(dot(off, off).sqrt() < 1e-7, "{off:?}");
    }

    /// A residual that is not a number away from the start, and one that nothing changes.
    #[test]
    fn lanes_end_on_residuals_without_sense() {
        for of in [|_: Three| [f64::NAN; 3], |_: Three| [f64::INFINITY; 3], |_: Three| [1.0, 2.0, 3.0]] {
            let mut lane = DirectionSet::new(problem(0.0), [0.5; 3], [1.0, 2.0, 3.0]);
            run(&mut lane, of, 30_000);
            assert!(lane.finished());
            assert_eq!(lane.best(), ([0.5; 3], [1.0, 2.0, 3.0]));
        }
    }
}
