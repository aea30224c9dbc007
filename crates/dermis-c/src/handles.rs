//! Handles: numbers that stand for objects of the library. A number is never given twice, and never followed as an address:
//! one of a freed object, or of an object of another kind, is refused, whatever the memory holds.

use crate::status::{DERMIS_ERROR_HANDLE, Failure};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

/// The next number. Zero is no object, so that memory filled with zeros is no handle.
static NEXT: AtomicU64 = AtomicU64::new(1);

/// The living objects of one kind.
pub(crate) struct Objects<T> {
    /// What messages call one.
    kind: &'static str,
    living: LazyLock<RwLock<HashMap<u64, Arc<T>>>>,
}

impl<T> Objects<T> {
    pub(crate) const fn new(kind: &'static str) -> Self {
        Self { kind, living: LazyLock::new(RwLock::default) }
    }

    /// Takes an object in; its number.
    pub(crate) fn insert(&self, object: T) -> u64 {
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        self.living.write().unwrap_or_else(PoisonError::into_inner).insert(id, Arc::new(object));
        id
    }

    /// The object of a number. It stays alive while the caller holds it, also if it is freed meanwhile.
    pub(crate) fn get(&self, id: u64) -> Result<Arc<T>, Failure> {
        let living = self.living.read().unwrap_or_else(PoisonError::into_inner);
        living.get(&id).cloned().ok_or_else(|| self.unknown(id))
    }

    /// Gives an object up.
    pub(crate) fn remove(&self, id: u64) -> Result<(), Failure> {
        let removed = self.living.write().unwrap_or_else(PoisonError::into_inner).remove(&id);
        // Dropped without the lock: a large model takes a while.
        removed.map(drop).ok_or_else(|| self.unknown(id))
    }

    fn unknown(&self, id: u64) -> Failure {
        let message = match id {
            0 => format!("the {} handle is zero: it was never opened", self.kind),
            _ => format!("handle {id} is no {}: it was freed, or stands for something else", self.kind),
        };
        Failure::new(DERMIS_ERROR_HANDLE, message)
    }
}
