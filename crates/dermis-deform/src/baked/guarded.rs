//! What the guard did.

/// What the guard did in one pose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guarded {
    /// Vertices whose correction the ball held back.
    pub held: usize,
    /// Features of the pose whose limit acted: pairs of bones, or joints.
    pub limited: usize,
    /// Features of the pose altogether.
    pub features: usize,
}
