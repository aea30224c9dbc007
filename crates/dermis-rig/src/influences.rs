//! Sparse per-vertex influences: skinning weights, or influence maps.

use crate::index::BoneIndex;
use crate::rows::{Rows, RowsError};

/// (bone, value) pairs per vertex, bones ascending, no zero values, every value finite.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Influences {
    rows: Rows<(BoneIndex, f64)>,
}

/// Why numbers are no influences.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum InfluenceError {
    /// NaN or infinity.
    #[error("vertex {vertex}: the value for bone {bone} is not finite")]
    NotFinite {
        /// The vertex.
        vertex: usize,
        /// The bone.
        bone: usize,
    },
    /// A table that does not consist of rows of `bones` numbers.
    #[error("a table of {numbers} numbers has no rows of {bones} bones")]
    Table {
        /// Numbers of the table.
        numbers: usize,
        /// Numbers that a row should have.
        bones: usize,
    },
    /// More entries than 32 bits can count.
    #[error(transparent)]
    Rows(#[from] RowsError),
}

/// What normalising had to mend.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mended {
    /// Vertices whose sum was off by more than 1e-6 and was scaled to one.
    pub rescaled: usize,
    /// The largest distance of a sum from one.
    pub worst: f64,
    /// Vertices with no positive weight, bound to the first bone.
    pub unbound: usize,
    /// Negative weights set to zero.
    pub negative: usize,
}

/// What pruning cost, in weights; its cost in positions depends on the pose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Pruned {
    /// Vertices that lost an influence.
    pub vertices: usize,
    /// Influences dropped.
    pub dropped: usize,
    /// The largest total weight dropped at one vertex.
    pub largest_loss: f64,
}

impl Influences {
    /// Influences from one list of (bone, value) per vertex, in any order. Repeated bones are summed, zeros dropped.
    ///
    /// # Errors
    /// [`InfluenceError`] for NaN or infinity.
    pub fn from_rows(rows: impl IntoIterator<Item = Vec<(BoneIndex, f64)>>) -> Result<Self, InfluenceError> {
        let mut made = Self::default();
        for (vertex, row) in rows.into_iter().enumerate() {
            if let Some(&(bone, _)) = row.iter().find(|(_, value)| !value.is_finite()) {
                return Err(InfluenceError::NotFinite { vertex, bone: bone.get() });
            }
            made.rows.push(summed(row))?;
        }
        Ok(made)
    }

    /// Influences of value one from a list of bones per vertex, in any order. Repeated bones count once.
    ///
    /// # Errors
    /// [`InfluenceError::Rows`] for too many.
    pub fn of_bones(rows: impl IntoIterator<Item = Vec<BoneIndex>>) -> Result<Self, InfluenceError> {
        let mut made = Self::default();
        for mut row in rows {
            row.sort_unstable();
            row.dedup();
            made.rows.push(row.into_iter().map(|bone| (bone, 1.0)))?;
        }
        Ok(made)
    }

    /// Makes influences from a dense (vertices × bones) table, row after row.
    ///
    /// # Errors
    /// [`InfluenceError::Table`] if `bones` is zero or does not divide the table; [`InfluenceError::NotFinite`].
    pub fn from_dense(table: &[f64], bones: usize) -> Result<Self, InfluenceError> {
        if bones == 0 || !table.len().is_multiple_of(bones) {
            return Err(InfluenceError::Table { numbers: table.len(), bones });
        }
        Self::from_rows(table.chunks_exact(bones).map(|row| {
            row.iter().enumerate().filter(|(_, w)| **w != 0.0).map(|(b, &w)| (BoneIndex::new(b), w)).collect()
        }))
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.rows.len()
    }
    /// Number of (vertex, bone) pairs.
    pub fn count(&self) -> usize {
        self.rows.entries().len()
    }
    /// One more than the largest bone named; zero if none is.
    pub fn bones_named(&self) -> usize {
        self.rows.entries().iter().map(|(bone, _)| bone.get() + 1).max().unwrap_or(0)
    }
    /// The influences of vertex `v`, bones ascending.
    pub fn of(&self, v: usize) -> &[(BoneIndex, f64)] {
        self.rows.of(v)
    }
    /// The influences of every vertex in turn.
    pub fn as_rows(&self) -> &Rows<(BoneIndex, f64)> {
        &self.rows
    }

    /// The entries of every vertex in turn.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[(BoneIndex, f64)]> {
        self.rows.iter()
    }
    /// The value of bone `bone` at vertex `v`; zero if it is not listed.
    pub fn value(&self, v: usize, bone: BoneIndex) -> f64 {
        let row = self.of(v);
        row.binary_search_by_key(&bone, |&(b, _)| b).map_or(0.0, |at| row[at].1)
    }
    /// The bone of largest value at vertex `v`, ties to the lowest index; `None` without influences.
    pub fn dominant(&self, v: usize) -> Option<BoneIndex> {
        dominant(self.of(v))
    }
    /// The largest number of influences at one vertex.
    pub fn largest_count(&self) -> usize {
        self.rows.iter().map(<[_]>::len).max().unwrap_or(0)
    }

    /// Weights that are non-negative and sum to one at every vertex, and what had to be mended.
    ///
    /// A vertex with no positive weight is bound to bone 0, because translations must not scale.
    pub fn normalised(&self) -> (Self, Mended) {
        let mut mended = Mended::default();
        let made = self.with_rows(|row| {
            mended.negative += row.iter().filter(|(_, w)| *w < 0.0).count();
            let sum: f64 = row.iter().map(|(_, w)| w.max(0.0)).sum();
            if sum <= 0.0 || !sum.is_finite() {
                mended.unbound += 1;
                return vec![(BoneIndex::new(0), 1.0)];
            }
            let off = (sum - 1.0).abs();
            mended.worst = mended.worst.max(off);
            mended.rescaled += usize::from(off > 1e-6);
            row.iter().filter(|(_, w)| *w > 0.0).map(|&(b, w)| (b, w / sum)).collect()
        });
        (made, mended)
    }

    /// Keeps at most `most` of the largest weights that exceed `eps`, zero or more (ties: lower bone index) and scales them to sum to
    /// one; where none survives, the largest alone with weight one.
    pub fn pruned(&self, most: usize, eps: f64) -> (Self, Pruned) {
        let mut report = Pruned::default();
        let made = self.with_rows(|row| {
            let mut kept: Vec<_> = row.to_vec();
            kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            let largest = kept.first().copied();
            kept.retain(|(_, w)| *w > eps.max(0.0));
            kept.truncate(most);
            if kept.is_empty() {
                kept.push((largest.map_or(BoneIndex::new(0), |(bone, _)| bone), 1.0));
            }
            let (all, sum): (f64, f64) = (row.iter().map(|e| e.1).sum(), kept.iter().map(|e| e.1).sum());
            if kept.len() < row.len() {
                report.vertices += 1;
                report.dropped += row.len() - kept.len();
                report.largest_loss = report.largest_loss.max(all - sum);
            }
            kept.iter().map(|&(b, w)| (b, w / sum)).collect()
        });
        (made, report)
    }

    /// The same influences with bones renamed: `place[old] = new`.
    ///
    /// # Panics
    /// If a bone is not covered by `place`.
    pub fn with_bones(&self, place: &[usize]) -> Self {
        self.with_rows(|row| row.iter().map(|&(b, w)| (BoneIndex::new(place[b.get()]), w)).collect())
    }

    /// Rows made of these, of as many entries at most (or one), which therefore can be counted. Their values are shares of
    /// finite ones, and a value that is not finite all the same is a fault of this module.
    fn with_rows(&self, of: impl FnMut(&[(BoneIndex, f64)]) -> Vec<(BoneIndex, f64)>) -> Self {
        match Self::from_rows(self.rows().map(of)) {
            Ok(made) => made,
            Err(fault) => unreachable!("shares of finite influences: {fault}"),
        }
    }
}

/// A row with its bones ascending, those that repeat summed, and zeros dropped; the sum of finite values stays finite.
fn summed(mut row: Vec<(BoneIndex, f64)>) -> Vec<(BoneIndex, f64)> {
    row.sort_by_key(|&(bone, _)| bone);
    row.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        if same {
            kept.1 = (kept.1 + next.1).clamp(f64::MIN, f64::MAX);
        }
        same
    });
    row.retain(|(_, value)| *value != 0.0);
    row
}

/// The bone of largest value in a row, ties to the first; `None` without influences.
pub fn dominant(row: &[(BoneIndex, f64)]) -> Option<BoneIndex> {
    let mut best: Option<(BoneIndex, f64)> = None;
    for &(bone, value) in row {
        if best.is_none_or(|(_, most)| value > most) {
            best = Some((bone, value));
        }
    }
    best.map(|(bone, _)| bone)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bone(at: usize) -> BoneIndex {
        BoneIndex::new(at)
    }

    #[test]
    fn rows_are_sorted_summed_and_freed_of_zeros() {
        let made =
            Influences::from_rows([vec![(bone(2), 0.5), (bone(0), 0.25), (bone(2), 0.25), (bone(1), 0.0)]]).unwrap();
        assert_eq!(made.of(0), [(bone(0), 0.25), (bone(2), 0.75)]);
        assert_eq!(made.dominant(0), Some(bone(2)));
        assert_eq!(made.bones_named(), 3);
    }

    #[test]
    fn normalising_counts_what_it_mends() {
        let table = [0.5, 0.497, 0.0, 0.0, -1.0, 0.5];
        let (fixed, mended) = Influences::from_dense(&table, 2).unwrap().normalised();
        assert_eq!((mended.rescaled, mended.unbound, mended.negative), (2, 1, 1));
        assert!(fixed.rows().all(|row| (row.iter().map(|e| e.1).sum::<f64>() - 1.0).abs() < 1e-15));
        assert_eq!(fixed.of(1), [(bone(0), 1.0)]);
    }

    #[test]
    fn pruning_is_idempotent_and_says_what_it_cost() {
        let (once, report) = Influences::from_dense(&[0.4, 0.4, 0.2, 0.0, 1.0, 0.0], 3).unwrap().pruned(2, 0.0);
        assert_eq!(report, Pruned { vertices: 1, dropped: 1, largest_loss: 1.0 - 0.8 });
        assert_eq!(once.of(0), [(bone(0), 0.5), (bone(1), 0.5)]);
        assert_eq!(once.pruned(2, 0.0).0, once);
    }

    #[test]
    fn nan_is_named() {
        let table = [1.0, 0.0, f64::NAN, 1.0];
        assert_eq!(Influences::from_dense(&table, 2), Err(InfluenceError::NotFinite { vertex: 1, bone: 0 }));
        for bones in [0, 3] {
            assert_eq!(Influences::from_dense(&[0.5; 4], bones), Err(InfluenceError::Table { numbers: 4, bones }));
        }
    }
}
