//! Weights as whole numbers, as engines store them.

use crate::training::{FitError, table};
use dermis_rig::Influences;

/// How many bits a stored weight has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WeightBits {
    /// Multiples of 1/255.
    Eight,
    /// Multiples of 1/65535.
    Sixteen,
}

impl WeightBits {
    /// The whole number that stands for one.
    pub fn one(self) -> u32 {
        match self {
            Self::Eight => 255,
            Self::Sixteen => 65535,
        }
    }
}

/// Weights that are multiples of 1/255 or 1/65535 and sum to exactly one at every vertex, and the largest change of a weight.
///
/// Every weight is rounded down; what is missing goes to the largest remainders, ties to the lower bone (Hamilton's method), so a weight
/// changes by less than one step. Rows must be convex weights: non-negative, of sum one.
pub fn quantised(weights: &Influences, bits: WeightBits) -> Result<(Influences, f64), FitError> {
    let one = f64::from(bits.one());
    let mut largest = 0.0f64;
    let rows: Vec<Vec<_>> = weights
        .rows()
        .map(|row| {
            let scaled = |w: f64| w.clamp(0.0, 1.0) * one;
            // A weight that is a whole number but for rounding is that number.
            let mut whole: Vec<f64> = row.iter().map(|(_, w)| (scaled(*w) + 1e-9).floor()).collect();
            let mut order: Vec<usize> = (0..row.len()).collect();
            let remainder: Vec<f64> = row.iter().zip(&whole).map(|((_, w), q)| scaled(*w) - q).collect();
            order.sort_by(|&a, &b| remainder[b].total_cmp(&remainder[a]).then(a.cmp(&b)));
            let missing = (one - whole.iter().sum::<f64>()).max(0.0) as usize;
            order.iter().cycle().take(if order.is_empty() { 0 } else { missing }).for_each(|&at| whole[at] += 1.0);
            for ((_, w), q) in row.iter().zip(&whole) {
                largest = largest.max((w - q / one).abs());
            }
            row.iter().zip(&whole).map(|(&(bone, _), q)| (bone, q / one)).collect()
        })
        .collect();
    Ok((table("the whole weights", rows)?, largest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dermis_rig::BoneIndex;

    fn row(weights: &[f64]) -> Influences {
        let row = weights.iter().enumerate().map(|(b, &w)| (BoneIndex::new(b), w)).collect();
        Influences::from_rows([row]).unwrap()
    }

    /// Sums are checked in whole numbers: that is what an engine adds.
    #[test]
    fn sums_are_exact_and_a_weight_changes_by_less_than_one_step() {
        let mut state = 1u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f64 + 1.0
        };
        for case in 0..2000 {
            let raw: Vec<f64> = (0..1 + case % 9).map(|_| next()).collect();
            let sum: f64 = raw.iter().sum();
            let weights = row(&raw.iter().map(|w| w / sum).collect::<Vec<_>>());
            for bits in [WeightBits::Eight, WeightBits::Sixteen] {
                let one = f64::from(bits.one());
                let (whole, change) = quantised(&weights, bits).unwrap();
                let total: f64 = whole.of(0).iter().map(|(_, w)| (w * one).round()).sum();
                assert_eq!(total, one);
                assert!(whole.of(0).iter().all(|(_, w)| ((w * one).round() - w * one).abs() < 1e-9));
                assert!(change < 1.0 / one, "{change}");
                assert_eq!(quantised(&whole, bits).unwrap(), (whole.clone(), 0.0), "whole weights stay");
            }
        }
    }

    #[test]
    fn equal_remainders_go_to_the_lower_bone() {
        let (whole, _) = quantised(&row(&[0.5, 0.5]), WeightBits::Eight).unwrap();
        assert_eq!(whole.of(0).iter().map(|e| (e.1 * 255.0).round()).collect::<Vec<_>>(), [128.0, 127.0]);
        let third = quantised(&row(&[1.0 / 3.0; 3]), WeightBits::Sixteen).unwrap().0;
        assert!(third.of(0).iter().all(|e| e.1 == 21845.0 / 65535.0));
        assert_eq!(quantised(&row(&[0.999, 0.001]), WeightBits::Eight).unwrap().0.of(0), [(BoneIndex::new(0), 1.0)]);
    }
}
