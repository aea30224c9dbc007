//! Any deformer in one fixed pose, seen from outside.
//!
//! Whatever lies inside (the stack of this crate, a program at the other end of a pipe, a closure), it is a map of the
//! whole mesh: rest points in, posed points out. That is all that `dermis_fit::inverse` needs to bring sculpted
//! corrections back to rest.

use dermis_rig::glam::DVec3;

/// A map of the whole mesh in one fixed pose: rest points in, posed points out, vertex for vertex.
///
/// Every function `FnMut(&[DVec3], &mut [DVec3]) -> Result<(), E>` is one. The map must depend on the points alone: the
/// same points give the same result.
pub trait Deform {
    /// Why a call can fail; [`Infallible`](std::convert::Infallible) where it cannot.
    type Error;

    /// Puts the posed position of every point into `out`.
    ///
    /// - `points`: rest positions, or positions near them, rest world; one per vertex
    /// - `out`: posed positions, posed world; as many as `points`
    ///
    /// # Errors
    /// Whatever the deformer finds wrong. A call that fails leaves `out` undefined.
    fn deform(&mut self, points: &[DVec3], out: &mut [DVec3]) -> Result<(), Self::Error>;
}

impl<F, E> Deform for F
where
    F: FnMut(&[DVec3], &mut [DVec3]) -> Result<(), E>,
{
    type Error = E;

    fn deform(&mut self, points: &[DVec3], out: &mut [DVec3]) -> Result<(), E> {
        self(points, out)
    }
}
