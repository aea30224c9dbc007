//! Smooth noise of one variable, the same on every machine.

/// Gradient noise in −1..1: zero at whole numbers, with a random slope there, and smooth between.
///
/// n(x) = lerp(g(i) f, g(i+1) (f − 1), f³ (6 f² − 15 f + 10)) · 2 with i = ⌊x⌋, f = x − i and slopes g in −1..1 from a hash of i and the
/// seed. Of one seed, values a few units apart have nothing to do with each other. The seed is rounded to a whole number.
///
/// Source: Perlin 2002, "Improving noise", in one dimension; the hash is SplitMix64 of Steele, Lea & Flood 2014.
pub fn noise(x: f64, seed: f64) -> f64 {
    let cell = x.floor();
    let f = x - cell;
    let slope = |i: f64| {
        // A cast saturates: numbers beyond the whole ones that `f64` has are all one cell, where f is zero.
        let bits = mixed((i as i64 as u64).wrapping_add(mixed(seed.round() as i64 as u64)));
        (bits >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    };
    let (left, right) = (slope(cell) * f, slope(cell + 1.0) * (f - 1.0));
    let fade = f * f * f * (f * (6.0 * f - 15.0) + 10.0);
    2.0 * (left + (right - left) * fade)
}

/// SplitMix64: every bit of the result depends on every bit of `x`.
fn mixed(x: u64) -> u64 {
    let x = x.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_zero_at_whole_numbers_smooth_and_bounded() {
        let (mut largest, mut sum, h) = (0f64, 0.0, 1e-3);
        for i in -3000..3000 {
            let x = f64::from(i) * 0.0101;
            let (a, b) = (noise(x, 7.0), noise(x + h, 7.0));
            // The steepest slope of a cell is below 8.
            assert!((b - a).abs() < 8.0 * h, "{x}");
            largest = largest.max(a.abs());
            sum += a;
        }
        assert!(largest > 0.5 && largest <= 1.0, "{largest}");
        assert!((sum / 6000.0).abs() < 0.05, "no side is preferred: {sum}");
        assert!((-5..5).all(|i| noise(f64::from(i), 3.0) == 0.0));
    }

    #[test]
    fn seeds_and_places_are_unlike_and_huge_numbers_are_finite() {
        assert!(noise(0.5, 1.0) != noise(0.5, 2.0) && noise(0.5, 1.0) != noise(1.5, 1.0));
        assert!([1e300, -1e300, 1e18, f64::MAX].iter().all(|&x| noise(x, x).is_finite()));
    }
}
