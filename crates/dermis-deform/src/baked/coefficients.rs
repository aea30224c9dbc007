//! Coefficients of corrections as they are stored and read: `f32`, or 16-bit fixed point with a scale per vertex.

#[cfg(target_arch = "x86_64")]
use pulp::{cast, x86::V3};
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m256i};

/// How the coefficients of a correction are stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
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
    pub fn precision(&self) -> Precision {
        match self {
            Self::Single(_) => Precision::Single,
            Self::Sixteen { .. } => Precision::Sixteen,
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
    pub fn stored(&self, precision: Precision, starts: impl Iterator<Item = usize> + Clone) -> Self {
        if precision == self.precision() {
            return self.clone();
        }
        let wide = self.widened(starts.clone());
        if precision == Precision::Single {
            return Self::Single(wide);
        }
        let (mut values, mut units) = (Vec::with_capacity(wide.len()), Vec::new());
        let mut starts = starts.peekable();
        while let (Some(from), Some(&to)) = (starts.next(), starts.peek()) {
            let of_vertex = &wide[from..to];
            let largest = of_vertex.iter().fold(0.0f32, |most, u| most.max(u.abs()));
            let unit = largest / 32767.0;
            let finite = of_vertex.iter().all(|u| u.is_finite()) && unit > 0.0;
            units.push(if finite { unit } else { 0.0 });
            // The quotient is at most 32767 up to rounding, and a cast saturates.
            values.extend(of_vertex.iter().map(|u| if finite { (u / unit).round() as i16 } else { 0 }));
        }
        Self::Sixteen { values, units }
    }
}

/// How many bytes ahead of their use evaluation asks memory for coefficients.
pub(super) const AHEAD: usize = 4096;

/// A stored coefficient.
pub(super) trait Stored: Copy {
    /// In units of its vertex.
    fn wide(self) -> f32;

    /// Whether twelve coefficients are arranged in two halves of sixteen as those of even and those of odd index, each half
    /// filled up; otherwise they stand in their order, and the end is filled up.
    const INTERLEAVED: bool;
    /// What multiplies the features that arranged coefficients are multiplied with.
    const SCALE: f32;
    /// The first twelve coefficients of a list, arranged, in units of `SCALE` over that of their vertex.
    fn arranged(list: &[Self]) -> [f32; 16];
    /// [`arranged`](Self::arranged), where features are zero in the places filled up.
    #[cfg(target_arch = "x86_64")]
    fn registers(v3: V3, list: &[Self]) -> [__m256; 2];

    /// Twelve features arranged as coefficients are.
    fn arrange(features: &[f64; 12]) -> [f32; 16] {
        let mut made = [0.0; 16];
        for (i, f) in features.iter().enumerate() {
            let at = if Self::INTERLEAVED { 8 * (i % 2) + i / 2 } else { i };
            made[at] = *f as f32 * Self::SCALE;
        }
        made
    }
}

impl Stored for f32 {
    #[inline(always)]
    fn wide(self) -> f32 {
        self
    }

    const INTERLEAVED: bool = false;
    const SCALE: f32 = 1.0;

    #[inline(always)]
    fn arranged(list: &[f32]) -> [f32; 16] {
        let mut made = [0.0; 16];
        made[..12].copy_from_slice(&list[..12]);
        made
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn registers(v3: V3, list: &[f32]) -> [__m256; 2] {
        let (low, high) = list[..12].split_at(8);
        let low: [f32; 8] = std::array::from_fn(|i| low[i]);
        let high: [f32; 4] = std::array::from_fn(|i| high[i]);
        [cast(low), v3.avx._mm256_zextps128_ps256(cast(high))]
    }
}

impl Stored for i16 {
    #[inline(always)]
    fn wide(self) -> f32 {
        f32::from(self)
    }

    /// Two coefficients lie in 32 bits: one is what is left of them after a shift, the other after its bits are taken away, each
    /// 2¹⁶ times too large. That spares widening them.
    const INTERLEAVED: bool = true;
    const SCALE: f32 = 1.0 / 65536.0;

    #[inline(always)]
    fn arranged(list: &[i16]) -> [f32; 16] {
        let mut made = [0.0; 16];
        for (i, u) in list[..12].iter().enumerate() {
            made[8 * (i % 2) + i / 2] = f32::from(*u) * 65536.0;
        }
        made
    }

    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    fn registers(v3: V3, list: &[i16]) -> [__m256; 2] {
        // Twelve are 24 bytes; four more, whatever they are, make a register.
        let all: __m256i = match list.first_chunk::<16>() {
            Some(all) => cast(*all),
            None => {
                let mut all = [0; 16];
                all[..12].copy_from_slice(&list[..12]);
                cast(all)
            }
        };
        let odd = v3.avx2._mm256_and_si256(all, cast([0xffff_0000u32; 8]));
        let even = v3.avx2._mm256_slli_epi32::<16>(all);
        [v3.avx._mm256_cvtepi32_ps(even), v3.avx._mm256_cvtepi32_ps(odd)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_bits_are_off_by_half_a_unit_of_the_vertex_at_most() {
        let wide: Vec<f32> = (0..300).map(|i| ((i * 37 % 101) as f32 - 50.0) * 10f32.powi(i / 60 - 3)).collect();
        let starts = [0usize, 7, 7, 100, 300];
        let single = Coefficients::Single(wide.clone());
        let narrow = single.stored(Precision::Sixteen, starts.into_iter());
        assert_eq!(narrow.precision(), Precision::Sixteen);
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
        assert_eq!(Coefficients::Single(again).stored(Precision::Sixteen, starts.into_iter()), narrow);
    }

    #[test]
    fn coefficients_that_are_not_finite_are_dropped_with_their_vertex() {
        let bad = Coefficients::Single(vec![1.0, f32::NAN, 3.0, 1e-45]);
        let narrow = bad.stored(Precision::Sixteen, [0, 2, 3, 4].into_iter());
        assert_eq!(narrow.widened([0, 2, 3, 4].into_iter()), [0.0, 0.0, 3.0, 0.0]);
    }
}
