//! Percentiles of many non-negative numbers in bounded memory.
//!
//! Up to [`EXACT`] numbers are kept and the answer is exact. Beyond, they are counted in bins whose edges are the
//! floating-point numbers with ten bits of mantissa: 1024 bins per power of two, each 1/1024 of its number wide at
//! most. The middle of a bin then stands for its numbers, so an answer is off by at most 1/2048 (0.05 %) of itself. The
//! smallest and the largest number are always kept exactly. No logarithm is taken: the result depends on nothing but the
//! numbers, not on their order, nor on the machine.

/// Numbers kept before counting starts: 32 MiB of them.
pub const EXACT: usize = 1 << 22;

/// Bits of mantissa that choose a bin.
const BITS: u32 = 10;
const BINS: usize = 1 << BITS;

/// Collects numbers; answers percentiles.
#[derive(Clone, Debug)]
pub struct Quantiles {
    kept: Vec<f64>,
    /// One row of bins per power of two, made when it is first needed. Empty while all numbers are kept.
    counts: Vec<Option<Box<[u64; BINS]>>>,
    total: u64,
    smallest: f64,
    largest: f64,
    limit: usize,
}

impl Default for Quantiles {
    fn default() -> Self {
        Self::keeping(EXACT)
    }
}

impl Quantiles {
    /// Keeps at most `limit` numbers before it starts counting.
    pub fn keeping(limit: usize) -> Self {
        let (smallest, largest) = (f64::INFINITY, 0.0);
        Self { kept: Vec::new(), counts: Vec::new(), total: 0, smallest, largest, limit }
    }

    /// Adds numbers that are finite and not negative, as distances are; others are left out.
    pub fn extend(&mut self, numbers: &[f64]) {
        for &number in numbers.iter().filter(|x| x.is_finite() && **x >= 0.0) {
            self.total += 1;
            self.smallest = self.smallest.min(number);
            self.largest = self.largest.max(number);
            if !self.counts.is_empty() {
                self.count(number);
                continue;
            }
            if self.kept.len() < self.limit {
                self.kept.push(number);
                continue;
            }
            self.counts.resize(0x800, None);
            for earlier in std::mem::take(&mut self.kept) {
                self.count(earlier);
            }
            self.count(number);
        }
    }

    fn count(&mut self, number: f64) {
        // Sign bit clear: eleven bits of exponent, then the mantissa. abs() turns −0 into 0.
        let bits = number.abs().to_bits();
        let (power, bin) = ((bits >> 52) as usize, (bits >> (52 - BITS)) as usize & (BINS - 1));
        self.counts[power].get_or_insert_with(|| Box::new([0; BINS]))[bin] += 1;
    }

    /// Whether percentiles are exact, because every number was kept.
    pub fn is_exact(&self) -> bool {
        self.counts.is_empty()
    }

    /// The percentile `q` in 0..1, interpolated linearly between the two numbers beside position q (n − 1) of the
    /// sorted sequence. `None` without numbers.
    pub fn at(&self, q: f64) -> Option<f64> {
        if self.total == 0 {
            return None;
        }
        if self.is_exact() {
            return quantile(&mut self.kept.clone(), q);
        }
        let position = q.clamp(0.0, 1.0) * (self.total - 1) as f64;
        let low = self.ranked(position.floor() as u64);
        let high = self.ranked(position.ceil() as u64);
        Some(low + (high - low) * position.fract())
    }

    /// The number of rank `rank`, counted from zero, up to half the width of its bin.
    fn ranked(&self, rank: u64) -> f64 {
        let rank = rank.min(self.total - 1);
        if rank == 0 {
            return self.smallest;
        }
        let mut below = 0;
        for (power, bins) in self.counts.iter().enumerate() {
            let Some(bins) = bins else { continue };
            for (bin, &count) in bins.iter().enumerate() {
                below += count;
                if below == self.total {
                    // The last occupied bin holds the largest number, and perhaps others.
                    let last = rank + 1 == self.total;
                    return if last { self.largest } else { middle(power, bin).min(self.largest) };
                }
                if below > rank {
                    return middle(power, bin).max(self.smallest);
                }
            }
        }
        self.largest
    }
}

/// The middle of a bin; zero for what is below 2e-308.
fn middle(power: usize, bin: usize) -> f64 {
    if power == 0 {
        return 0.0;
    }
    let low = ((power << BITS | bin) as u64) << (52 - BITS);
    f64::from_bits(low | 1 << (51 - BITS))
}

/// The percentile `q` in 0..1 of numbers without NaN, reordering them: exact, interpolated linearly between the two
/// numbers beside position q (n − 1) of the sorted sequence. `None` without numbers.
pub fn quantile(numbers: &mut [f64], q: f64) -> Option<f64> {
    let last = numbers.len().checked_sub(1)?;
    let position = q.clamp(0.0, 1.0) * last as f64;
    let at = (position.floor() as usize).min(last);
    let (_, &mut low, above) = numbers.select_nth_unstable_by(at, f64::total_cmp);
    let high = above.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    Some(low + (high - low) * position.fract())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Distances as they occur: many small, few large, over eight powers of ten.
    fn numbers(count: usize) -> Vec<f64> {
        (0..count).map(|i| 1e-7 * (18.0 * ((i * 7919 % count) as f64 / count as f64)).exp()).collect()
    }

    #[test]
    fn percentiles_interpolate_between_neighbours() {
        assert_eq!(quantile(&mut [4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
        assert_eq!(quantile(&mut [5.0, 1.0, 2.0, 3.0, 4.0], 0.75), Some(4.0));
        assert_eq!(quantile(&mut [7.0], 0.95), Some(7.0));
        assert_eq!((quantile(&mut [1.0, 9.0], 0.0), quantile(&mut [1.0, 9.0], 1.0)), (Some(1.0), Some(9.0)));
        assert_eq!((quantile(&mut [], 0.5), Quantiles::default().at(0.5)), (None, None));
    }

    /// Oracle: sorting.
    #[test]
    fn bins_are_as_near_as_promised() {
        let numbers = numbers(10_007);
        let mut sorted = numbers.clone();
        sorted.sort_by(f64::total_cmp);
        let mut counted = Quantiles::keeping(100);
        numbers.chunks(1000).for_each(|chunk| counted.extend(chunk));
        assert!(!counted.is_exact());
        for q in [0.0, 0.01, 0.1, 0.5, 0.9, 0.95, 0.999, 1.0] {
            let position = q * (sorted.len() - 1) as f64;
            let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
            let expected = low + (high - low) * position.fract();
            let got = counted.at(q).unwrap();
            assert!((got - expected).abs() <= expected / 2048.0, "{q}: {got} for {expected}");
        }
        assert_eq!(counted.at(1.0), sorted.last().copied());
    }

    #[test]
    fn order_does_not_matter_and_zeros_count() {
        let mut numbers = numbers(5000);
        numbers.extend([0.0; 3000]);
        let (mut forward, mut backward) = (Quantiles::keeping(50), Quantiles::keeping(50));
        forward.extend(&numbers);
        numbers.reverse();
        backward.extend(&numbers);
        for q in [0.1, 0.3, 0.5, 0.95] {
            assert_eq!(forward.at(q), backward.at(q));
        }
        assert_eq!(forward.at(0.3), Some(0.0));
        assert_eq!(forward.at(0.0), Some(0.0));
        let mut same = Quantiles::keeping(2);
        same.extend(&[0.125; 9]);
        assert_eq!(same.at(0.5), Some(0.125));
        same.extend(&[f64::NAN, f64::INFINITY, -1.0]);
        assert_eq!(same.at(1.0), Some(0.125));
    }
}
