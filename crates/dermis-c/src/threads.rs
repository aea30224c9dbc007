//! Threads, and the process that they belong to: a process that is forked gets none of its parent's, and would wait for them for ever.

use crate::status::{DERMIS_ERROR_THREADS, Failure};
use std::sync::atomic::{AtomicU32, Ordering};

/// The process that threads were started in.
#[derive(Debug)]
pub(crate) struct Home(AtomicU32);

/// Of the threads that the runners of a process share.
pub(crate) static SHARED: Home = Home(AtomicU32::new(0));

impl Home {
    /// Of threads that this process starts now.
    pub(crate) fn here() -> Self {
        Self(AtomicU32::new(std::process::id()))
    }

    /// Refuses to use the threads in any other process than the first that does.
    pub(crate) fn enter(&self) -> Result<(), Failure> {
        let own = std::process::id();
        match self.0.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
            Err(first) if first != own => {
                let message = "this process was forked after the threads were started, and has none of them: make runners \
                               with threads of their own (threads > 0) in it";
                Err(Failure::new(DERMIS_ERROR_THREADS, message))
            }
            _ => Ok(()),
        }
    }
}
