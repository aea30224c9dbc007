//! A minimum along a line by values alone: a bracket, then Brent's method. Fed from outside, one value at a time.
//!
//! The bracket grows from the first step by the golden ratio, or to where a parabola through the last three points has its
//! minimum, up to [`MOST_GROWTH`] times as far. Inside the bracket a parabola is tried first, and the golden section where
//! parabolas do not shrink fast enough.
//!
//! Source: Brent 1973, "Algorithms for minimization without derivatives", chapter 5; bracketing as in Press et al., "Numerical Recipes",
//! section 10.1. Departures: Brent's method starts with the three points of the bracket, and a parabola that foretold the value at its
//! minimum ends the search. A quadratic is so solved with three values, where checking either side would take five, and a
//! minimum nearer to the start than the tolerance is not missed.

const GOLD: f64 = 1.618_034;
const SECTION: f64 = 0.381_966;
/// How far a parabola may extrapolate, in lengths of the last interval.
const MOST_GROWTH: f64 = 100.0;
/// Tolerance of the minimum in first steps. 1e-2, 1e-4 and 1e-6 left residuals of 2e-4, 2e-7 and 2e-11 of the length.
const TOLERANCE: f64 = 1e-6;
/// A parabola foretold a value if it misses by less than this part of the decrease it promised.
const FORETOLD: f64 = 1e-6;
/// What counts as rounding of a value.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// Least tolerance, in lengths.
const FLOOR: f64 = 1e-15;
/// Values at most.
const MOST: usize = 80;

/// A point on the line and its value.
#[derive(Clone, Copy, Debug)]
struct At {
    t: f64,
    f: f64,
}

/// The search, started at t = 0.
#[derive(Clone, Debug)]
pub struct LineSearch {
    start: f64,
    step: f64,
    tolerance: f64,
    best: At,
    /// Where a value is wanted.
    t: f64,
    taken: usize,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// The first step.
    First,
    /// From a downhill to b; c is wanted.
    Second(At, At),
    /// a, b, c downhill; a point is wanted, and what it is.
    Grow(At, At, At, Guess),
    /// Lowest x, second w, third v in the bracket, the last two moves, and the value a parabola foretells.
    Brent { low: f64, high: f64, x: At, w: At, v: At, last: f64, before: f64, foretold: f64 },
}

/// Where a point of a growing bracket lies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Guess {
    Inside,
    Beyond,
    Plain,
}

impl LineSearch {
    /// A search from t = 0, where the value is `start`, with a first step; `length` is the size of the problem.
    pub fn new(start: f64, step: f64, length: f64) -> Self {
        Self {
            start,
            step,
            tolerance: (TOLERANCE * step).max(FLOOR * length),
            best: At { t: 0.0, f: start },
            t: step,
            taken: 0,
            phase: Phase::First,
        }
    }

    /// Where a value is wanted.
    pub fn at(&self) -> f64 {
        self.t
    }

    /// The first step.
    pub fn step(&self) -> f64 {
        self.step
    }

    /// |t| of the lowest point so far.
    pub fn moved(&self) -> f64 {
        self.best.t.abs()
    }

    /// By how much the lowest value so far is below the first.
    pub fn gained(&self) -> f64 {
        self.start - self.best.f
    }

    /// Takes the value at [`at`](Self::at); says whether the search is over.
    pub fn take(&mut self, f: f64) -> bool {
        let u = At { t: self.t, f };
        if f < self.best.f {
            self.best = u;
        }
        self.taken += 1;
        // Values of a wild function may be infinite; comparisons below are made so that they end.
        if self.taken >= MOST || !f.is_finite() {
            return true;
        }
        match self.phase {
            Phase::First => {
                let zero = At { t: 0.0, f: self.start };
                let (a, b) = if f > self.start { (u, zero) } else { (zero, u) };
                self.phase = Phase::Second(a, b);
                self.t = b.t + GOLD * (b.t - a.t);
                false
            }
            Phase::Second(a, b) => self.grow(a, b, u),
            Phase::Grow(a, b, c, guess) => match guess {
                Guess::Inside if u.f < c.f => self.bracketed(b, u, c),
                Guess::Inside if u.f > b.f => self.bracketed(a, b, u),
                Guess::Inside => self.want(a, b, c, c.t + GOLD * (c.t - b.t), Guess::Plain),
                Guess::Beyond if u.f < c.f => self.want(b, c, u, u.t + GOLD * (u.t - c.t), Guess::Plain),
                Guess::Beyond | Guess::Plain => self.grow(b, c, u),
            },
            Phase::Brent { low, high, x, w, v, last, before, foretold } => {
                let met = (u.f - foretold).abs() <= FORETOLD * (x.f - foretold) + ROUNDING * x.f;
                met || self.narrow(u, (low, high), (x, w, v), last, before)
            }
        }
    }

    fn want(&mut self, a: At, b: At, c: At, t: f64, guess: Guess) -> bool {
        (self.t, self.phase) = (t, Phase::Grow(a, b, c, guess));
        false
    }

    /// b is no higher than a; if c is lower still, the bracket grows.
    fn grow(&mut self, a: At, b: At, c: At) -> bool {
        if b.f <= c.f {
            return self.bracketed(a, b, c);
        }
        let r = (b.t - a.t) * (b.f - c.f);
        let q = (b.t - c.t) * (b.f - a.f);
        let bottom = 2.0 * (q - r).abs().max(1e-300).copysign(q - r);
        let u = b.t - ((b.t - c.t) * q - (b.t - a.t) * r) / bottom;
        let limit = b.t + MOST_GROWTH * (c.t - b.t);
        if (b.t - u) * (u - c.t) > 0.0 {
            self.want(a, b, c, u, Guess::Inside)
        } else if (c.t - u) * (u - limit) > 0.0 {
            self.want(a, b, c, u, Guess::Beyond)
        } else if (u - limit) * (limit - c.t) >= 0.0 {
            self.want(a, b, c, limit, Guess::Plain)
        } else {
            self.want(a, b, c, c.t + GOLD * (c.t - b.t), Guess::Plain)
        }
    }

    /// b between a and c, no higher than either.
    fn bracketed(&mut self, a: At, b: At, c: At) -> bool {
        let (w, v) = if a.f <= c.f { (a, c) } else { (c, a) };
        let wide = (c.t - a.t).abs();
        self.propose((a.t.min(c.t), a.t.max(c.t)), (b, w, v), wide, wide)
    }

    /// The next point of Brent's method, or the end.
    fn propose(&mut self, (low, high): (f64, f64), (x, w, v): (At, At, At), last: f64, before: f64) -> bool {
        let middle = 0.5 * (low + high);
        let tol = self.tolerance;
        if (x.t - middle).abs() <= 2.0 * tol - 0.5 * (high - low) {
            return true;
        }
        let section = |x: f64| if x >= middle { low - x } else { high - x };
        let (mut last, mut before) = (last, before);
        let (mut parabola, mut foretold) = (false, f64::NAN);
        if before.abs() > tol {
            let r = (x.t - w.t) * (x.f - v.f);
            let q = (x.t - v.t) * (x.f - w.f);
            let p = (x.t - v.t) * q - (x.t - w.t) * r;
            let q = 2.0 * (q - r);
            let (p, q) = if q > 0.0 { (-p, q) } else { (p, -q) };
            if p.abs() < (0.5 * q * before).abs() && p > q * (low - x.t) && p < q * (high - x.t) {
                (before, last, parabola) = (last, p / q, true);
                let slope = |a: At| (a.f - x.f) / (a.t - x.t);
                foretold = x.f - (slope(w) - slope(v)) / (w.t - v.t) * last * last;
                if x.f - foretold <= ROUNDING * x.f {
                    return true;
                }
                let u = x.t + last;
                if u - low < 2.0 * tol || high - u < 2.0 * tol {
                    (last, foretold) = (tol.copysign(middle - x.t), f64::NAN);
                }
            }
        }
        if !parabola {
            before = section(x.t);
            last = SECTION * before;
        }
        // Only a parabola whose minimum can be checked may step by less than the tolerance.
        let by = if last.abs() >= tol || !foretold.is_nan() { last } else { tol.copysign(last) };
        self.t = x.t + by;
        self.phase = Phase::Brent { low, high, x, w, v, last, before, foretold };
        false
    }

    fn narrow(&mut self, u: At, (low, high): (f64, f64), (x, w, v): (At, At, At), last: f64, before: f64) -> bool {
        if u.f <= x.f {
            let ends = if u.t >= x.t { (x.t, high) } else { (low, x.t) };
            self.propose(ends, (u, x, w), last, before)
        } else {
            let ends = if u.t < x.t { (u.t, high) } else { (low, u.t) };
            let points = if u.f <= w.f || w.t == x.t {
                (x, u, w)
            } else if u.f <= v.f || v.t == x.t || v.t == w.t {
                (x, w, u)
            } else {
                (x, w, v)
            };
            self.propose(ends, points, last, before)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches to the end; says where values were wanted, and where the lowest was.
    fn searched(f: impl Fn(f64) -> f64, step: f64) -> (Vec<f64>, f64) {
        let mut search = LineSearch::new(f(0.0), step, 1.0);
        let mut asked = Vec::new();
        loop {
            asked.push(search.at());
            if search.take(f(search.at())) {
                return (asked, search.best.t);
            }
        }
    }

    fn assert_near(asked: &[f64], wanted: &[f64]) {
        assert_eq!(asked.len(), wanted.len(), "{asked:?} for {wanted:?}");
        assert!(asked.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs()), "{asked:?} for {wanted:?}");
    }

    /// After two steps the parabola through three values has its minimum where a quadratic has.
    #[test]
    fn a_quadratic_needs_the_values_that_its_bracket_needs() {
        let (one, two) = (1.0, 1.0 + GOLD);
        for (minimum, wanted) in [
            (2.0, vec![one, two, 2.0]),
            (0.3, vec![one, -GOLD, 0.3]),
            // Beyond the points that were tried: one value more, on its other side.
            (50.0, vec![one, two, 50.0, 50.0 + GOLD * (50.0 - two)]),
            // Farther than a parabola may reach.
            (1e3, vec![one, two, one + MOST_GROWTH * GOLD, 1e3]),
        ] {
            for sign in [1.0, -1.0] {
                let (asked, found) = searched(|t| 3.0 + (t - minimum * sign) * (t - minimum * sign), sign);
                assert!((found - minimum * sign).abs() < 1e-6 * minimum, "{found} for {minimum}");
                let wanted: Vec<f64> = wanted.iter().map(|t| t * sign).collect();
                assert_near(&asked[..wanted.len()], &wanted);
            }
        }
    }

    /// A parabola that opens downwards has no minimum: the bracket grows by the golden ratio.
    #[test]
    fn where_the_slope_steepens_steps_grow_by_the_golden_ratio() {
        let f = |t: f64| if t < 10.0 { -t * t } else { 10.0 * t - 200.0 };
        let (asked, found) = searched(f, 1.0);
        let growing = [0, 1, 2, 3, 4].map(|n| GOLD.powi(n));
        let wanted: Vec<f64> = (1..=5).map(|n| growing[..n].iter().sum()).collect();
        assert_near(&asked[..5], &wanted);
        assert!((found - 10.0).abs() < 1e-4, "{found}");
    }

    /// Kinks, steep sides, flat bottoms, large offsets: within two tolerances, or within what rounding hides where the bottom
    /// is flat, and in about as many values as golden sections need.
    #[test]
    fn minima_of_every_shape_are_found() {
        let (mut searches, mut values) = (0, 0);
        for minimum in [0.013, 0.4, 1.0, 1.7, 2.6, 7.0, 300.0] {
            for (power, offset) in [(1.0, 0.0), (1.5, 0.0), (2.0, 0.1), (3.0, 1.0), (1.2, 10.0)] {
                for tilt in [1.0, 3.0, 20.0] {
                    let f = |t: f64| {
                        let away = (t - minimum) / minimum;
                        offset + if away < 0.0 { -away } else { tilt * away }.powf(power)
                    };
                    let (asked, found) = searched(f, 1.0);
                    let hidden = f64::EPSILON.powf(1.0 / power) * minimum;
                    let off = (found - minimum).abs();
                    assert!(off <= 2.0 * TOLERANCE + 4.0 * hidden, "{minimum} {power} {offset} {tilt}: {off:e}");
                    assert!(asked.len() < 50, "{minimum} {power} {offset} {tilt}: {asked:?}");
                    (searches, values) = (searches + 1, values + asked.len());
                }
            }
        }
        let mean = values as f64 / f64::from(searches);
        println!("{mean:.2} values");
        assert!(mean < 25.0, "{mean}");
    }

    #[test]
    fn on_a_constant_nothing_moves() {
        let mut search = LineSearch::new(1.0, 0.5, 1.0);
        while !search.take(1.0) {}
        assert_eq!((search.moved(), search.gained()), (0.0, 0.0));
    }
}
