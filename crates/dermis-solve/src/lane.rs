//! Many small minimisations in lock step: every lane says where it wants the residual, and one call evaluates all lanes.
//!
//! A lane has three unknowns d and sees a residual r(d) of three numbers; it minimises
//!
//! ```text
//! f(d) = |r(d)|² + e |d|²
//! ```
//!
//! Lanes are independent and never wait for each other: while one measures a derivative another may already step. The slowest lane sets the number of calls. A lane that has finished asks for its best point again.

/// Three unknowns, or three residuals.
pub type Three = [f64; 3];

/// Derivatives ∂r/∂d, a column per unknown.
pub type Jacobian = [Three; 3];

/// One minimisation that is fed from outside.
pub trait Lane {
    /// Where the residual is wanted next; the best point once the lane has finished.
    fn point(&self) -> Three;
    /// Takes the residual at [`point`](Self::point). A finished lane ignores it.
    fn take(&mut self, residual: Three);
    /// Whether the lane wants nothing more.
    fn finished(&self) -> bool;
    /// The best point, and its residual as it was measured there.
    fn best(&self) -> (Three, Three);
}

/// The goal of a lane, and its scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Problem {
    /// L: the size of a large move; all steps scale with it.
    pub length: f64,
    /// e ≥ 0, a number in f.
    pub epsilon: f64,
    /// The lane has finished once f ≤ goal, which is in squared lengths.
    pub goal: f64,
    /// Step of finite differences.
    pub step: f64,
}

impl Problem {
    /// f(d) of a residual.
    pub fn value(&self, d: Three, r: Three) -> f64 {
        dot(r, r) + self.epsilon * dot(d, d)
    }
}

pub(crate) fn dot(a: Three, b: Three) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// a + t b
pub(crate) fn along(a: Three, t: f64, b: Three) -> Three {
    [a[0] + t * b[0], a[1] + t * b[1], a[2] + t * b[2]]
}

/// Feeds a lane until it has finished or `most` values were given; how many were.
#[cfg(test)]
pub(crate) fn run(lane: &mut impl Lane, of: impl Fn(Three) -> Three, most: usize) -> usize {
    let mut calls = 0;
    while !lane.finished() && calls < most {
        lane.take(of(lane.point()));
        calls += 1;
    }
    calls
}
