//! What a bundle of corrections says of itself: sculpts that were brought back to rest through a deformer.
//!
//! [`npz::inverted`](crate::npz::inverted) reads and writes it.

use crate::stack_file::StackFile;

/// What a bundle of corrections holds as `vertices`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerticesSpace {
    /// The sculpts, in their poses.
    Posed,
    /// The corrected rest shapes p + d.
    Rest,
}

/// The deformer that corrections go before.
#[derive(Clone, Debug, PartialEq)]
pub enum CorrectedDeformer {
    /// Linear blend skinning with the rig's weights.
    Lbs,
    /// Dual quaternion skinning with the rig's weights.
    Dqs,
    /// Every vertex follows its dominant bone.
    Rigid,
    /// Deformers one after another, in the bundle's axes and unit.
    Stack(StackFile),
    /// A program of its own.
    Program,
}

/// What a bundle of corrections says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Inverted {
    /// What its `vertices` are.
    pub vertices: VerticesSpace,
    /// What they were inverted through.
    pub deformer: CorrectedDeformer,
    /// Whether the shapes of the records are skins in their poses: sculpts, or computed from rest shapes.
    pub skins: bool,
}

impl VerticesSpace {
    /// The text of `vertices_space`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Posed => "posed",
            Self::Rest => "rest",
        }
    }
}

impl CorrectedDeformer {
    /// What it is, in words.
    pub fn words(&self) -> String {
        match self {
            Self::Lbs => "linear blend skinning".into(),
            Self::Dqs => "dual quaternion skinning".into(),
            Self::Rigid => "rigid binding".into(),
            Self::Stack(file) => file.name(),
            Self::Program => "a program".into(),
        }
    }
}

impl Inverted {
    /// What it is, in a sentence for people.
    pub fn sentence(&self) -> String {
        let deformer = self.deformer.words();
        match (self.vertices, self.skins) {
            (VerticesSpace::Posed, _) => {
                format!("corrections inverted through {deformer}; its \"vertices\" are the sculpts")
            }
            (VerticesSpace::Rest, true) => {
                format!(
                    "corrected rest shapes, inverted through {deformer}; the skins are computed through it, with the remainders"
                )
            }
            (VerticesSpace::Rest, false) => {
                format!("corrected rest shapes, inverted through {deformer}; its \"vertices\" are no skins")
            }
        }
    }
}
