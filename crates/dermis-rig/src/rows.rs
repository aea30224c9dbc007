//! Rows of different lengths in one list: a list per vertex, per joint, per region.

use std::ops::Range;

/// Rows of different lengths, one after another in one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows<T> {
    /// Where each row starts, and where the last one ends: rises from 0 to the number of entries.
    offsets: Vec<u32>,
    entries: Vec<T>,
}

/// Why offsets and entries are no rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowsError {
    /// Offsets for another number of rows.
    #[error("it has {found} offsets, but {rows} rows need one more than rows")]
    Rows {
        /// The offsets.
        found: usize,
        /// The rows.
        rows: usize,
    },
    /// Offsets that do not start at zero.
    #[error("the offsets of its rows do not start at 0")]
    Start,
    /// Offsets that fall.
    #[error("row {row} ends before it starts")]
    Falls {
        /// The row.
        row: usize,
    },
    /// Offsets for another number of entries.
    #[error("its rows end at {found}, but there are {entries} entries")]
    End {
        /// Where the last row ends.
        found: usize,
        /// The entries.
        entries: usize,
    },
    /// More entries than 32 bits can count.
    #[error("it has more than 4 billion entries")]
    TooMany,
}

impl<T> Default for Rows<T> {
    fn default() -> Self {
        Self { offsets: vec![0], entries: Vec::new() }
    }
}

impl<T> Rows<T> {
    /// Rows of these lengths, as a file or a door hands them over.
    ///
    /// # Errors
    /// [`RowsError`], naming the row.
    pub fn new(offsets: Vec<u32>, entries: Vec<T>) -> Result<Self, RowsError> {
        check_offsets(&offsets, offsets.len().saturating_sub(1), entries.len())?;
        Ok(Self { offsets, entries })
    }

    /// `rows` rows from (row, entry) pairs in any order; each row keeps the order of its pairs.
    ///
    /// # Panics
    /// If a pair names a row that there is not, or there are more than 4 billion pairs.
    pub fn by_row(rows: usize, mut pairs: Vec<(u32, T)>) -> Self {
        pairs.sort_by_key(|(row, _)| *row);
        let mut offsets = vec![0u32; rows + 1];
        for (row, _) in &pairs {
            offsets[*row as usize + 1] += 1;
        }
        for row in 0..rows {
            offsets[row + 1] += offsets[row];
        }
        Self { offsets, entries: pairs.into_iter().map(|(_, entry)| entry).collect() }
    }

    /// Appends a row.
    ///
    /// # Errors
    /// [`RowsError::TooMany`]; the rows are then as before.
    pub fn push(&mut self, row: impl IntoIterator<Item = T>) -> Result<(), RowsError> {
        let before = self.entries.len();
        self.entries.extend(row);
        let Ok(end) = u32::try_from(self.entries.len()) else {
            self.entries.truncate(before);
            return Err(RowsError::TooMany);
        };
        self.offsets.push(end);
        Ok(())
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Row `row`.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn of(&self, row: usize) -> &[T] {
        &self.entries[self.range(row)]
    }

    /// The entries of row `row` as places in [`Self::entries`], and in every list that runs beside it.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn range(&self, row: usize) -> Range<usize> {
        self.offsets[row] as usize..self.offsets[row + 1] as usize
    }

    /// Every row in turn.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[T]> {
        (0..self.len()).map(|row| self.of(row))
    }

    /// All entries, row after row.
    pub fn entries(&self) -> &[T] {
        &self.entries
    }

    /// Where each row starts, and where the last one ends.
    pub fn offsets(&self) -> &[u32] {
        &self.offsets
    }

    /// The same rows with entries made of theirs.
    pub fn map<U>(&self, of: impl FnMut(&T) -> U) -> Rows<U> {
        Rows { offsets: self.offsets.clone(), entries: self.entries.iter().map(of).collect() }
    }

    /// Offsets and entries.
    pub fn into_parts(self) -> (Vec<u32>, Vec<T>) {
        (self.offsets, self.entries)
    }
}

/// Checks the offsets of `rows` rows whose entries lie in one or several lists of length `entries`: they rise from 0 to `entries`.
///
/// # Errors
/// [`RowsError`], naming the row.
pub fn check_offsets(offsets: &[u32], rows: usize, entries: usize) -> Result<(), RowsError> {
    if offsets.len() != rows + 1 {
        return Err(RowsError::Rows { found: offsets.len(), rows });
    }
    if offsets[0] != 0 {
        return Err(RowsError::Start);
    }
    if let Some(row) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        return Err(RowsError::Falls { row });
    }
    match offsets[rows] as usize {
        end if end == entries => Ok(()),
        found => Err(RowsError::End { found, entries }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_what_was_pushed() {
        let mut rows = Rows::default();
        for row in [vec![1, 2], vec![], vec![3]] {
            rows.push(row).unwrap();
        }
        assert_eq!(rows.iter().collect::<Vec<_>>(), [&[1, 2][..], &[], &[3]]);
        assert_eq!((rows.len(), rows.range(2), rows.offsets()), (3, 2..3, &[0, 2, 2, 3][..]));
        assert_eq!(Rows::by_row(3, vec![(2, 3), (0, 1), (0, 2)]), rows);
        assert_eq!(rows.map(|x| x * 2).entries(), [2, 4, 6]);
        let (offsets, entries) = rows.clone().into_parts();
        assert_eq!(Rows::new(offsets, entries), Ok(rows));
    }

    #[test]
    fn offsets_that_are_no_rows_are_named() {
        let made = |offsets: &[u32]| Rows::new(offsets.to_vec(), vec!['a', 'b']);
        assert_eq!(made(&[]), Err(RowsError::Rows { found: 0, rows: 0 }));
        assert_eq!(made(&[1, 2]), Err(RowsError::Start));
        assert_eq!(made(&[0, 2, 1, 2]), Err(RowsError::Falls { row: 1 }));
        assert_eq!(made(&[0, 1]), Err(RowsError::End { found: 1, entries: 2 }));
        assert_eq!(made(&[0, u32::MAX]), Err(RowsError::End { found: u32::MAX as usize, entries: 2 }));
        assert!(made(&[0, 0, 2]).is_ok() && Rows::<u8>::new(vec![0], vec![]).is_ok());
    }
}
