//! A deformer: a base, and a correction over it. The reference in `f64`.

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
    correction: Option<Correction>,
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
        let mut bones = base.check(rest.len())?;
        if let Some(correction) = &correction {
            bones = together(bones, correction.check(rest.len())?)?;
        }
        Ok(Self { rest, base, correction, bones })
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
        Self { correction: None, ..self }
    }

    /// Rest positions, rest world, metres.
    pub fn rest(&self) -> &[DVec3] {
        &self.rest
    }

    /// What is corrected.
    pub fn base(&self) -> &Base {
        &self.base
    }

    /// The learnt correction, if any.
    pub fn correction(&self) -> Option<&Correction> {
        self.correction.as_ref()
    }

    /// The bones of a pose that the deformer reads.
    pub fn bones(&self) -> BoneCount {
        self.bones
    }

    /// The parts: rest positions, base, correction.
    pub fn into_parts(self) -> (Vec<DVec3>, Base, Option<Correction>) {
        (self.rest, self.base, self.correction)
    }

    /// Computes the positions in a pose; returns at how many vertices the ball held the correction back.
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
        Ok(self.correction.as_ref().map_or(0, |c| c.add(&self.rest, transforms, &self.base, out)))
    }
}
