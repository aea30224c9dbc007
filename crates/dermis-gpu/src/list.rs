//! Lists of terms per vertex, stored for 32 neighbours at once, so that neighbours read neighbouring words.

use crate::GpuError;

/// Vertices whose terms are stored together.
pub(crate) const SLICE: usize = 32;

/// Where the terms of every vertex stand: term k of vertex v at `starts[v / 32] + 32 k + v % 32`.
///
/// Every slice has room for as many terms as its richest vertex has; what the others do not use is never read.
pub(crate) struct Places {
    starts: Vec<u32>,
    counts: Vec<u32>,
    /// Places altogether, a multiple of 32.
    pub(crate) len: usize,
}

impl Places {
    /// For terms in compressed rows, `vertices + 1` offsets.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] for more places than an index of 32 bits reaches.
    pub(crate) fn new(offsets: &[u32]) -> Result<Self, GpuError> {
        let counts: Vec<u32> = offsets.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        let (mut starts, mut len) = (Vec::new(), 0u64);
        for slice in counts.chunks(SLICE) {
            starts.push(len as u32);
            len += SLICE as u64 * u64::from(slice.iter().copied().max().unwrap_or(0));
            if len > u64::from(u32::MAX) {
                return Err(GpuError::TooLarge { what: "terms of all vertices", size: len, most: u32::MAX.into() });
            }
        }
        Ok(Self { starts, counts, len: len as usize })
    }

    /// Puts the tables into `words`; where each begins.
    pub(crate) fn tables(&self, words: &mut Vec<u32>) -> (u32, u32) {
        (append(words, &self.starts), append(words, &self.counts))
    }

    /// An array with one entry per place. `of(t)` is that of term t of the compressed rows.
    pub(crate) fn plane<T: Clone + Default>(&self, of: impl Fn(usize) -> T) -> Vec<T> {
        let mut plane = vec![T::default(); self.len];
        self.each(|t, v, k| plane[self.place(v, k)] = of(t));
        plane
    }

    /// An array with N entries per term, each array of N spread so that entry j of term k of vertex v is at
    /// `N starts[v / 32] + 32 (N k + j) + v % 32`.
    pub(crate) fn blocks<T: Clone + Default, const N: usize>(&self, of: impl Fn(usize) -> [T; N]) -> Vec<T> {
        let mut made = vec![T::default(); self.len * N];
        self.each(|t, v, k| {
            let start = N * self.starts[v / SLICE] as usize + v % SLICE;
            for (j, entry) in of(t).into_iter().enumerate() {
                made[start + SLICE * (N * k + j)] = entry;
            }
        });
        made
    }

    fn place(&self, v: usize, k: usize) -> usize {
        self.starts[v / SLICE] as usize + SLICE * k + v % SLICE
    }

    /// Every term: its number, its vertex, and which of the vertex's it is.
    fn each(&self, mut visit: impl FnMut(usize, usize, usize)) {
        let mut t = 0;
        for (v, &count) in self.counts.iter().enumerate() {
            for k in 0..count as usize {
                visit(t, v, k);
                t += 1;
            }
        }
    }
}

/// Appends a section; where it begins.
pub(crate) fn append<T: Clone>(all: &mut Vec<T>, section: &[T]) -> u32 {
    let start = all.len() as u32;
    all.extend_from_slice(section);
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_lie_side_by_side_and_every_term_has_a_place_of_its_own() {
        // 70 vertices with v mod 5 terms.
        let mut offsets = vec![0u32];
        (0..70).for_each(|v| offsets.push(offsets[v as usize] + v % 5));
        let places = Places::new(&offsets).unwrap();
        assert_eq!((places.len, places.starts.as_slice()), (3 * 4 * 32, &[0u32, 128, 256][..]));
        let plane = places.plane(|t| t + 1);
        assert_eq!(plane.iter().filter(|&&t| t > 0).count(), offsets[70] as usize);
        assert_eq!((plane[1], plane[2], plane[2 + 32], plane[33 - 32 + 128]), (1, 2, 3, offsets[33] as usize + 1));
        let blocks = places.blocks(|t| [10 * t, 10 * t + 1]);
        let t = offsets[33] as usize + 2;
        assert_eq!((blocks[2 * 128 + 32 * 4 + 1], blocks[2 * 128 + 32 * 5 + 1]), (10 * t, 10 * t + 1));
        assert_eq!(Places::new(&[0]).unwrap().len, 0);
    }

    #[test]
    fn more_places_than_an_index_reaches_are_refused() {
        let richest = [0, 140_000_000];
        assert!(matches!(Places::new(&richest), Err(GpuError::TooLarge { .. })));
    }
}
