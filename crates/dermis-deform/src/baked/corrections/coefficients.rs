//! Coefficients of corrections as they are stored and read: `f32`, or 16-bit fixed point with a scale per vertex.

/// How the coefficients of a correction are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoefficientPrecision {
    /// `f32`.
    #[default]
    Single,
    /// 16-bit fixed point: half the memory, and half the time where memory is what limits.
    Sixteen,
}

/// Coefficients of all vertices, one vertex after the other.
#[derive(Clone, Debug, PartialEq)]
pub enum Coefficients {
    /// As they are.
    Single(Vec<f32>),
    /// In units of a number per vertex, its largest coefficient over 32767: each is off by half a unit at most.
    Sixteen {
        /// The coefficients in units of their vertex.
        values: Vec<i16>,
        /// The unit of each vertex.
        units: Vec<f32>,
    },
}

impl Coefficients {
    /// Number of coefficients.
    pub fn len(&self) -> usize {
        match self {
            Self::Single(values) => values.len(),
            Self::Sixteen { values, .. } => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How they are stored.
    pub fn precision(&self) -> CoefficientPrecision {
        match self {
            Self::Single(_) => CoefficientPrecision::Single,
            Self::Sixteen { .. } => CoefficientPrecision::Sixteen,
        }
    }

    /// Bytes of the arrays.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Single(values) => 4 * values.len(),
            Self::Sixteen { values, units } => 2 * values.len() + 4 * units.len(),
        }
    }

    /// In `f32`; `starts` says where the coefficients of each vertex begin, and after the last one where they end.
    ///
    /// # Panics
    /// If `starts` does not ascend, or ends elsewhere.
    pub fn widened(&self, starts: impl Iterator<Item = usize>) -> Vec<f32> {
        match self {
            Self::Single(values) => values.clone(),
            Self::Sixteen { values, units } => {
                let mut starts = starts.peekable();
                let mut wide = Vec::with_capacity(values.len());
                let mut units = units.iter();
                while let (Some(from), Some(&to)) = (starts.next(), starts.peek()) {
                    let unit = units.next().copied().unwrap_or(0.0);
                    wide.extend(values[from..to].iter().map(|&u| f32::from(u) * unit));
                }
                wide
            }
        }
    }

    /// With another precision; `starts` as in [`widened`](Self::widened).
    ///
    /// A vertex with a coefficient that is not finite keeps none.
    ///
    /// # Panics
    /// As [`widened`](Self::widened).
    pub fn stored(&self, precision: CoefficientPrecision, starts: impl Iterator<Item = usize> + Clone) -> Self {
        if precision == self.precision() {
            return self.clone();
        }
        let wide = self.widened(starts.clone());
        if precision == CoefficientPrecision::Single {
            return Self::Single(wide);
        }
        let (mut values, mut units) = (Vec::with_capacity(wide.len()), Vec::new());
        let mut starts = starts.peekable();
        while let (Some(from), Some(&to)) = (starts.next(), starts.peek()) {
            let of_vertex = unit(wide[from..to].iter().copied());
            units.push(of_vertex);
            values.extend(wide[from..to].iter().map(|&u| narrowed(u, of_vertex)));
        }
        Self::Sixteen { values, units }
    }
}

/// What the 16 bits of a vertex are measured in: its largest coefficient over 32767; zero where one is not finite.
pub(super) fn unit(coefficients: impl Iterator<Item = f32>) -> f32 {
    let (largest, finite) =
        coefficients.fold((0.0f32, true), |(most, finite), u| (most.max(u.abs()), finite && u.is_finite()));
    if finite { largest / 32767.0 } else { 0.0 }
}

/// A coefficient in 16 bits. The quotient is at most 32767 up to rounding, and a cast saturates.
pub(super) fn narrowed(coefficient: f32, unit: f32) -> i16 {
    if unit > 0.0 { (coefficient / unit).round() as i16 } else { 0 }
}

/// How many bytes ahead of their use evaluation asks memory for coefficients.
pub(super) const AHEAD: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_are_off_by_half_a_unit_of_the_vertex_at_most() {
        let wide: Vec<f32> = (0..300).map(|i| ((i * 37 % 101) as f32 - 50.0) * 10f32.powi(i / 60 - 3)).collect();
        let starts = [0usize, 7, 7, 100, 300];
        let single = Coefficients::Single(wide.clone());
        let narrow = single.stored(CoefficientPrecision::Sixteen, starts.into_iter());
        assert_eq!(narrow.precision(), CoefficientPrecision::Sixteen);
        let again = narrow.widened(starts.into_iter());
        for row in starts.windows(2) {
            let of_vertex = &wide[row[0]..row[1]];
            let unit = of_vertex.iter().fold(0.0f32, |most, u| most.max(u.abs())) / 32767.0;
            for (u, v) in of_vertex.iter().zip(&again[row[0]..row[1]]) {
                // Rounding of the product adds 2⁻²³ of 32767 units.
                assert!((u - v).abs() <= 0.51 * unit, "{u} {v} {unit}");
            }
        }
        // What 16 bits hold is kept exactly.
        assert_eq!(Coefficients::Single(again).stored(CoefficientPrecision::Sixteen, starts.into_iter()), narrow);
    }

    #[test]
    fn coefficients_that_are_not_finite_are_dropped_with_their_vertex() {
        let bad = Coefficients::Single(vec![1.0, f32::NAN, 3.0, 1e-45]);
        let narrow = bad.stored(CoefficientPrecision::Sixteen, [0, 2, 3, 4].into_iter());
        assert_eq!(narrow.widened([0, 2, 3, 4].into_iter()), [0.0, 0.0, 3.0, 0.0]);
    }
}
