//! A deformer: a base, and corrections over it, one after another. The reference in `f64`.
//!
//! ```text
//! p' = base + Σ_i Π_iv(δ_iv)
//! ```
//!
//! Each correction is learnt over what those before it leave, and has a ball of its own.

use crate::base::Base;
use crate::correction::Correction;
use crate::parts::{DeformerError, together};
use crate::pose_size::{BoneCount, PoseError};
use dermis_rig::BoneTransforms;
use dermis_rig::glam::DVec3;

/// A deformer in `f64`. Its parts are of one mesh and one skeleton, which its constructor checks once; evaluation then
/// fails only for a pose, given positions or an output of another size.
#[derive(Clone, Debug)]
pub struct Deformer {
    rest: Vec<DVec3>,
    base: Base,
    corrections: Vec<Correction>,
    bones: BoneCount,
}

impl Deformer {
    /// A deformer of its parts.
    ///
    /// - `rest`: rest positions, rest world, metres
    /// - `base`: what carries the vertices
    /// - `correction`: what is added to the base
    ///
    /// # Errors
    /// [`DeformerError`] if a part is of another mesh, no pose suits all parts, or a list names what does not exist.
    pub fn new(rest: Vec<DVec3>, base: Base, correction: Option<Correction>) -> Result<Self, DeformerError> {
        Self::of_parts(rest, base, correction.into_iter().collect())
    }

    /// The same with one correction more, over all that it has.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn followed_by(mut self, correction: impl Into<Correction>) -> Result<Self, DeformerError> {
        self.corrections.push(correction.into());
        Self::of_parts(self.rest, self.base, self.corrections)
    }

    pub(crate) fn of_parts(rest: Vec<DVec3>, base: Base, corrections: Vec<Correction>) -> Result<Self, DeformerError> {
        let mut bones = base.check(rest.len())?;
        for correction in &corrections {
            bones = together(bones, correction.check(rest.len())?)?;
        }
        Ok(Self { rest, base, corrections, bones })
    }

    /// The same for a skeleton of `bones` bones: other poses are errors, also those with more bones than the parts name.
    ///
    /// # Errors
    /// [`DeformerError::Bones`] if a part names a bone beyond them.
    pub fn for_bones(mut self, bones: usize) -> Result<Self, DeformerError> {
        self.bones = together(self.bones, BoneCount::Exactly(bones))?;
        Ok(self)
    }

    /// The same with its base alone.
    #[must_use]
    pub fn without_correction(self) -> Self {
        Self { corrections: vec![], ..self }
    }

    /// The same with all that corrects its base times a factor; `None` where a correction has no such form
    /// ([`Correction::with_gain`]).
    #[must_use]
    pub fn with_gain(&self, gain: f64) -> Option<Self> {
        let corrections =
            self.corrections.iter().map(|correction| correction.with_gain(gain)).collect::<Option<_>>()?;
        Some(Self { corrections, ..self.clone() })
    }

    /// Rest positions, rest world, metres.
    pub fn rest(&self) -> &[DVec3] {
        &self.rest
    }

    /// What is corrected.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The learnt corrections, each over what those before it leave.
    pub fn corrections(&self) -> &[Correction] {
        &self.corrections
    }

    /// The bones of a pose that the deformer reads.
    pub fn bones(&self) -> BoneCount {
        self.bones
    }

    /// The parts: rest positions, base, corrections.
    pub fn into_parts(self) -> (Vec<DVec3>, Base, Vec<Correction>) {
        (self.rest, self.base, self.corrections)
    }

    /// Computes the positions in a pose; returns how often a ball held a correction back, summed over corrections and vertices.
    ///
    /// - `given`: base positions, posed world, metres; read by [`Base::Given`] alone
    /// - `out`: a position per vertex, posed world, metres
    ///
    /// # Errors
    /// [`PoseError`] if the pose, `given` or `out` has another size than the deformer, or `given` is missing where the
    /// base needs it.
    pub fn evaluate(
        &mut self,
        transforms: &BoneTransforms,
        given: Option<&[DVec3]>,
        out: &mut [DVec3],
    ) -> Result<usize, PoseError> {
        let expected = self.rest.len();
        self.bones.admit(transforms.len())?;
        if matches!(self.base, Base::Given) {
            crate::pose_size::admit_given(expected, given.map(<[_]>::len))?;
        }
        if out.len() != expected {
            return Err(PoseError::Output { expected, found: out.len() });
        }
        self.base.evaluate(&self.rest, transforms, given, out);
        Ok(self.corrections.iter().map(|c| c.add(&self.rest, transforms, &self.base, out)).sum())
    }
}
