//! Progress and cancelling, as an argument of everything that takes long.

use std::ops::ControlFlow;

/// Called as work proceeds with (done, total); breaking cancels the work.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) -> ControlFlow<Cancelled> + Sync);

/// The caller asked to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

/// Progress that nobody watches.
pub fn silent(_done: u64, _total: u64) -> ControlFlow<Cancelled> {
    ControlFlow::Continue(())
}

/// Reports that `done` of `total` is done.
///
/// # Errors
/// [`Cancelled`] if the caller asked to stop.
pub fn proceed(progress: Progress<'_>, done: usize, total: usize) -> Result<(), Cancelled> {
    match progress(done as u64, total as u64) {
        ControlFlow::Break(cancelled) => Err(cancelled),
        ControlFlow::Continue(()) => Ok(()),
    }
}
