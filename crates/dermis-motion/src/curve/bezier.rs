//! Cubic Bézier curves in the plane of time and value, read as functions of time.

/// A cubic Bézier curve whose time never goes back.
#[derive(Clone, Debug, PartialEq)]
pub struct Bezier {
    /// (seconds, value) of key, handle, handle, key.
    points: [[f64; 2]; 4],
}

impl Bezier {
    /// A curve from key, handle, handle, key. The keys' times ascend, and each handle is on the side of the other key.
    ///
    /// A handle that reaches beyond the other key is shortened until it ends at its time: then time is monotone along the curve.
    /// Blender shows such keys the same way (`BKE_fcurve_correct_bezpart`).
    pub fn new(points: [[f64; 2]; 4]) -> Self {
        let [a, mut leave, mut arrive, b] = points;
        let length = b[0] - a[0];
        for (key, handle) in [(a, &mut leave), (b, &mut arrive)] {
            let reach = (handle[0] - key[0]).abs();
            if reach > length {
                let factor = length / reach;
                *handle = [0, 1].map(|i| key[i] + factor * (handle[i] - key[i]));
            }
        }
        Self { points: [a, leave, arrive, b] }
    }

    /// The value at a time between the keys.
    ///
    /// Finds the parameter s in 0..1 with time(s) = `time` by Newton steps, each kept inside the bracket that bisection would keep.
    /// It stops when the time is met to 1e-12 of the interval or the bracket is as narrow as `f64` allows.
    pub fn value(&self, time: f64) -> f64 {
        let [a, _, _, b] = self.points;
        let length = b[0] - a[0];
        let (mut low, mut high) = (0.0, 1.0);
        let mut s = ((time - a[0]) / length).clamp(0.0, 1.0);
        for _ in 0..80 {
            let (at, slope) = self.polynomial(0, s);
            let miss = at - time;
            if miss.abs() <= 1e-12 * length || high - low <= f64::EPSILON {
                break;
            }
            if miss > 0.0 {
                high = s
            } else {
                low = s
            }
            let newton = s - miss / slope;
            s = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        }
        self.polynomial(1, s).0
    }

    /// Value per second at the first key and at the last. Where a handle lies on its key, towards the other handle or key.
    pub fn end_slopes(&self) -> [f64; 2] {
        let [a, leave, arrive, b] = self.points;
        let slope = |key: [f64; 2], towards: [[f64; 2]; 3]| {
            let other = towards.into_iter().find(|point| point[0] != key[0]);
            other.map_or(0.0, |point| (point[1] - key[1]) / (point[0] - key[0]))
        };
        [slope(a, [leave, arrive, b]), slope(b, [arrive, leave, a])]
    }

    /// Coordinate `axis` at parameter s, and its derivative.
    fn polynomial(&self, axis: usize, s: f64) -> (f64, f64) {
        let [a, b, c, d] = self.points.map(|point| point[axis]);
        let r = 1.0 - s;
        let value = r * r * r * a + 3.0 * r * r * s * b + 3.0 * r * s * s * c + s * s * s * d;
        let slope = 3.0 * (r * r * (b - a) + 2.0 * r * s * (c - b) + s * s * (d - c));
        (value, slope)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Oracle: points on the curve at known parameters; their times must lead back to their values.
    #[test]
    fn times_on_the_curve_give_the_values_there() {
        for (leave, arrive) in [
            ([0.5, 3.0], [1.5, -2.0]),
            ([2.0, 1.0], [0.0, 0.0]),
            ([0.0, 4.0], [2.0, -4.0]),
            ([0.0, 0.0], [0.0, 1.0]),
            ([0.9, 1.0], [1.1, 1.0]),
        ] {
            let curve = Bezier::new([[0.0, 0.0], leave, arrive, [2.0, 1.0]]);
            for step in 0..=200 {
                let s = f64::from(step) / 200.0;
                let ((time, speed), (value, steep)) = (curve.polynomial(0, s), curve.polynomial(1, s));
                // The time is met to 2e-12; the value is off by that times its slope over time.
                let tolerance = 1e-9f64.max(4e-12 * (steep / speed).abs().min(1e6));
                assert!((curve.value(time) - value).abs() < tolerance, "{leave:?} {arrive:?} at {s}");
            }
        }
    }

    /// Handles on the chord, a third of the way, make a straight line at constant speed.
    #[test]
    fn a_straight_line() {
        let curve = Bezier::new([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [4.0, 8.0]]);
        assert!((0..=30).map(|i| 1.0 + f64::from(i) / 10.0).all(|t| (curve.value(t) - 2.0 * t).abs() < 1e-12));
        assert_eq!(curve.end_slopes(), [2.0, 2.0]);
    }

    #[test]
    fn handles_that_reach_too_far_are_shortened() {
        let long = Bezier::new([[0.0, 0.0], [4.0, 2.0], [1.0, 1.0], [2.0, 1.0]]);
        assert_eq!(long.points[1], [2.0, 1.0]);
        let (mut last, mut time) = (f64::NEG_INFINITY, 0.0);
        while time <= 2.0 {
            let s = time / 2.0;
            assert!(long.polynomial(0, s).0 >= last);
            (last, time) = (long.polynomial(0, s).0, time + 0.01);
        }
    }
}
