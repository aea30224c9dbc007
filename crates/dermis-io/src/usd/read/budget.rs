//! What may be made of a file's bytes.

use super::damaged;
use crate::contents::ReadError;
use dermis_rig::memory::at_most;
use std::cell::Cell;

/// Bytes of memory that may still be taken: 256 for every byte read, and 64 MiB. Binary layers compress and share values, and
/// references repeat prims, so that a small file may ask for far more.
pub(super) struct Budget {
    left: Cell<usize>,
    read: Cell<usize>,
}

impl Budget {
    pub fn new(file: usize) -> Self {
        let made = Self { left: Cell::new(64 << 20), read: Cell::new(0) };
        made.grow(file);
        made
    }

    /// Another file of `file` bytes was read.
    pub fn grow(&self, file: usize) {
        self.read.set(self.read.get().saturating_add(file));
        self.left.set(self.left.get().saturating_add(file.saturating_mul(256)).min(at_most(8u64 << 30)));
    }

    /// Takes `bytes` off.
    pub fn charge(&self, bytes: usize) -> Result<(), ReadError> {
        let left = self.left.get().checked_sub(bytes);
        self.left.set(
            left.ok_or_else(|| {
                damaged(format!("its {} bytes ask for more memory than they can fill", self.read.get()))
            })?,
        );
        Ok(())
    }
}
