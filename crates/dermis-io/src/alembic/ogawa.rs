//! The container of an Alembic file: groups of children, and blocks of bytes.
//!
//! `Ogawa`, a byte 0xff once the file is complete, a version in two bytes, and at byte 8 the offset of the root group. A
//! group is a count and as many offsets; the highest bit of an offset says that a block stands there, which is a length
//! and its bytes. Offset 0 is the empty group or block. All numbers are little-endian and 64 bits wide.

use crate::contents::{Format, ReadError};

/// The bit that tells a block from a group.
pub(super) const BLOCK: u64 = 1u64 << 63;

pub(super) fn damaged(reason: impl Into<String>) -> ReadError {
    ReadError::Damaged { format: Format::Alembic, reason: reason.into() }
}

/// A group: a view into the file, which takes no memory of its own.
#[derive(Clone, Copy)]
pub(super) struct Group<'a> {
    file: &'a [u8],
    /// Eight bytes per child.
    children: &'a [u8],
}

/// Little-endian number of up to eight bytes at `at`, if the bytes are there.
pub(super) fn number(bytes: &[u8], at: usize, size: usize) -> Option<u64> {
    let word = bytes.get(at..at.checked_add(size)?)?;
    Some(word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

impl<'a> Group<'a> {
    /// The root group of a file.
    ///
    /// # Errors
    /// [`ReadError::WrongKind`] for another kind of file, [`ReadError::Unsupported`] for Alembic kept in HDF5,
    /// [`ReadError::Damaged`] for one that was never finished or ends early.
    pub fn root(file: &'a [u8]) -> Result<Self, ReadError> {
        if file.starts_with(b"\x89HDF\r\n\x1a\n") {
            return Err(ReadError::Unsupported { feature: "Alembic kept in HDF5 (write it as Ogawa)".into() });
        }
        if !file.starts_with(b"Ogawa") {
            let reason = "it does not start with \"Ogawa\"".into();
            return Err(ReadError::WrongKind { format: Format::Alembic, reason });
        }
        let (Some(frozen), Some(version), Some(at)) = (file.get(5), number(file, 6, 2), number(file, 8, 8)) else {
            return Err(damaged(format!("the header is cut short: {} of 16 bytes", file.len())));
        };
        if *frozen != 0xff {
            return Err(damaged("the program that wrote it never finished"));
        }
        if version.swap_bytes() >> 48 != 1 {
            return Err(ReadError::Unsupported { feature: format!("version {} of Ogawa", version.swap_bytes() >> 48) });
        }
        Self::at(file, at)
    }

    fn at(file: &'a [u8], at: u64) -> Result<Self, ReadError> {
        if at == 0 {
            return Ok(Self { file, children: &[] });
        }
        let beyond = || damaged(format!("a group at byte {at} runs past the end at {}", file.len()));
        let at = usize::try_from(at).map_err(|_| beyond())?;
        let count = number(file, at, 8).and_then(|count| usize::try_from(count).ok()).ok_or_else(beyond)?;
        let length = count.checked_mul(8).ok_or_else(beyond)?;
        let children = file[at + 8..].get(..length).ok_or_else(beyond)?;
        Ok(Self { file, children })
    }

    /// Number of children.
    pub fn len(&self) -> usize {
        self.children.len() / 8
    }

    fn child(&self, at: usize) -> Result<u64, ReadError> {
        let missing = || damaged(format!("a group has {} children, but child {at} is asked for", self.len()));
        at.checked_mul(8).and_then(|byte| number(self.children, byte, 8)).ok_or_else(missing)
    }

    /// The child `at`, which must be a group.
    pub fn group(&self, at: usize) -> Result<Self, ReadError> {
        match self.child(at)? {
            block if block & BLOCK != 0 => Err(damaged(format!("child {at} of a group is a block, not a group"))),
            group => Self::at(self.file, group),
        }
    }

    /// The child `at`, which must be a block.
    pub fn block(&self, at: usize) -> Result<&'a [u8], ReadError> {
        let child = self.child(at)?;
        if child & BLOCK == 0 {
            return Err(damaged(format!("child {at} of a group is a group, not a block")));
        }
        let place = child & !BLOCK;
        if place == 0 {
            return Ok(&[]);
        }
        let beyond = || damaged(format!("a block at byte {place} runs past the end at {}", self.file.len()));
        let start = usize::try_from(place).map_err(|_| beyond())?;
        let length = number(self.file, start, 8).and_then(|length| usize::try_from(length).ok()).ok_or_else(beyond)?;
        self.file[start + 8..].get(..length).ok_or_else(beyond)
    }

    /// The last child, which must be a block: the headers of the others.
    pub fn last_block(&self) -> Result<&'a [u8], ReadError> {
        self.block(self.len().checked_sub(1).ok_or_else(|| damaged("a group without headers"))?)
    }
}
