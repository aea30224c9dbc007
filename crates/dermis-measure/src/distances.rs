//! Root mean square and largest of many distances.

/// rms and largest distance, metres.
pub type Distance = (f64, f64);

/// Distances, added one by one.
#[derive(Clone, Debug, Default)]
pub struct Distances {
    squares: f64,
    largest: f64,
    count: usize,
}

impl Distances {
    /// Adds one distance.
    pub fn add(&mut self, distance: f64) {
        self.squares += distance * distance;
        self.largest = self.largest.max(distance);
        self.count += 1;
    }
    /// The rms and the largest distance; both zero if none was added.
    pub fn finish(&self) -> Distance {
        ((self.squares / self.count.max(1) as f64).sqrt(), self.largest)
    }
}
