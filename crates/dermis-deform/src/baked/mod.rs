//! Deformers as they run: `f32`, flat arrays, parallel over vertices, no allocation per pose.
//!
//! [`Deformer::bake`](crate::Deformer::bake) is the one place where `f64` becomes `f32`. Bone matrices are read in `f64`; what depends on the
//! pose alone (features, blended bones) is computed in `f64` and rounded once. Positions are computed less the
//! character's shift, which is added at the end, so a character far from the origin keeps its digits up to the
//! rounding of the result.
//!
//! Vertices are computed in blocks of fixed size, each in a fixed order of operations: the same bits for any number of
//! threads. The blocks run with the machine's vector instructions ([`dermis_solve::simd`]), which differ in rounding alone.

mod bake;
mod bases;
mod check;
mod corrections;
mod guarded;
mod lanes;
mod leaving;
mod model;
mod pass;
mod pose;
mod scratch;
mod widen;

pub use bases::{BakedBase, BakedCorrectiveSmooth, BakedDeltaMush, NO_ANCHOR, Weights};
pub use corrections::{
    BakedCorrection, BakedEnveloping, BakedJoints, BakedLayer, BakedPoseSpace, BakedRemainders, BakedShapes,
    BakedSharedTerm, CoefficientPrecision, Coefficients, FreePart, padded,
};
pub use guarded::Guarded;
pub use leaving::RoundedBone;
pub use model::Baked;
pub use pass::Normals;
pub use pose::{CorrectionData, PoseData};
pub use scratch::Scratch;
