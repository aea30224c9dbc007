//! What the kernels of every base agree on.

/// Vertices of a block.
///
/// A block is a few thousand operations, so that choosing vector instructions for it costs nothing. It is small enough
/// that its positions stay in the nearest cache from the base to the correction.
pub(in crate::baked) const BLOCK: usize = 1024;

/// Marks a vertex that no bone carries: a rigid one that stays, or a correction seen from the world.
pub const NO_ANCHOR: u32 = u32::MAX;
