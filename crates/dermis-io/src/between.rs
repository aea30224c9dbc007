//! Shapes in between, which a whole shape passes through as its weight w grows.
//!
//! What is displaced is piecewise linear in w: zero at 0, d_k at the knot t_k of shape k, and straight on beyond the last knot on either
//! side. That is Σ_k h_k(w) d_k, with h_k the function that is linear between the knots, 1 at t_k, and 0 at 0 and at the others. Each shape
//! is a morph target of its own, and h_k(w) its weight. FBX and USD mean the same by it.

/// Weights closer than this are one.
pub(crate) const SAME_KNOT: f64 = 1e-6;

/// The name of a shape that `whole` passes through at a weight: with its percentage behind it.
pub(crate) fn name(whole: &str, weight: f64) -> String {
    format!("{whole}_{}", (1e4 * weight).round() / 100.0)
}

/// The weights at which the shapes of one whole are shown alone, ascending, with the zero at which none is.
#[derive(Clone, Debug)]
pub(crate) struct Knots(Vec<f64>);

impl Knots {
    /// - `shapes`: the weights of the shapes, ascending and further apart than [`SAME_KNOT`]; none is zero
    pub(crate) fn new(shapes: &[f64]) -> Self {
        let below = shapes.partition_point(|knot| *knot < 0.0);
        let mut knots = shapes.to_vec();
        knots.insert(below, 0.0);
        Self(knots)
    }

    /// The weight of the shape at the knot `knot` while the whole has the weight `whole`.
    pub(crate) fn weight(&self, knot: f64, whole: f64) -> f64 {
        let after = self.0.partition_point(|own| *own <= whole).clamp(1, self.0.len() - 1);
        let (low, high) = (self.0[after - 1], self.0[after]);
        let part = (whole - low) / (high - low);
        match knot {
            _ if knot == low => 1.0 - part,
            _ if knot == high => part,
            _ => 0.0,
        }
    }

    /// The knots between two weights of the whole: where the weights of shapes change their slope.
    pub(crate) fn within(&self, a: f64, b: f64) -> &[f64] {
        let (low, high) = (a.min(b), a.max(b));
        let from = self.0.partition_point(|own| *own <= low);
        &self.0[from..self.0.partition_point(|own| *own < high).max(from)]
    }

    /// Their bits, by which whole shapes of several meshes are told to be shown alike.
    pub(crate) fn bits(&self) -> Vec<u64> {
        self.0.iter().map(|knot| knot.to_bits()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights of shapes as `UsdSkelBlendShapeQuery::ComputeSubShapeWeights` of usd-core 26.11 says them, printed with five digits.
    #[test]
    fn weights_are_those_of_usd_skel() {
        let two =
            [(-2.0, [-8.0, 0.0, 0.0]), (-0.25, [-1.0, 0.0, 0.0]), (0.1, [0.4, 0.0, 0.0]), (0.25, [1.0, 0.0, 0.0])];
        let above = [(0.5, [0.5, 0.5, 0.0]), (0.9, [0.0, 0.4, 0.6]), (1.0, [0.0, 0.0, 1.0]), (1.2, [0.0, -0.8, 1.8])];
        let below =
            [(-2.0, [4.0, 0.0, 0.0]), (-0.25, [0.5, 0.0, 0.0]), (0.1, [0.0, 0.1, 0.0]), (2.0, [0.0, -1.0, 2.0])];
        for (knots, expected) in [([0.25, 0.75, 1.0], &two), ([0.25, 0.75, 1.0], &above), ([-0.5, 1.0, 1.5], &below)] {
            let all = Knots::new(&knots);
            for (whole, expected) in expected {
                for (knot, expected) in knots.iter().zip(expected) {
                    let found = all.weight(*knot, *whole);
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{found} is not {expected}: {knot} of {knots:?} at {whole}"
                    );
                }
            }
        }
    }
}
