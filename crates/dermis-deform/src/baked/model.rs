//! A model ready to run.

use super::bases::BakedBase;
use super::corrections::{BakedCorrection, CoefficientPrecision};
use crate::parts::{DeformerError, together};
use crate::pose_size::BoneCount;
use dermis_rig::glam::Vec3;

/// A deformer ready to run. Its parts are of one mesh and one skeleton, which its constructor checks once; evaluation
/// then fails only for a pose, given positions or an output of another size.
#[derive(Clone, Debug)]
pub struct Baked {
    pub(super) rest: Vec<Vec3>,
    pub(super) base: BakedBase,
    pub(super) correction: Option<BakedCorrection>,
    pub(super) bones: BoneCount,
    /// The bones carry this point near the posed character: the first rest vertex.
    pub(super) point: Vec3,
}

impl Baked {
    /// A model of parts that are in `f32` already; [`Deformer::bake`](crate::Deformer::bake) makes one of others.
    ///
    /// - `rest`: rest positions, rest world, metres
    ///
    /// # Errors
    /// [`DeformerError`] if a part is of another mesh, no pose suits all parts, or a list names what does not exist.
    pub fn new(rest: Vec<Vec3>, base: BakedBase, correction: Option<BakedCorrection>) -> Result<Self, DeformerError> {
        let mut bones = base.check(rest.len())?;
        if let Some(correction) = &correction {
            bones = together(bones, correction.check(rest.len())?)?;
        }
        Ok(Self::unchecked(rest, base, correction, bones))
    }

    /// A model of parts that were checked before they were rounded.
    pub(super) fn unchecked(
        rest: Vec<Vec3>,
        base: BakedBase,
        mut correction: Option<BakedCorrection>,
        bones: BoneCount,
    ) -> Self {
        if let Some(BakedCorrection::Joints(joints)) = &mut correction {
            joints.arrange();
        }
        let point = rest.first().copied().unwrap_or(Vec3::ZERO);
        Self { rest, base, correction, bones, point }
    }

    /// The same for a skeleton of `bones` bones: other poses are errors, also those with more bones than the parts name.
    ///
    /// # Errors
    /// [`DeformerError::Bones`] if a part names a bone beyond them.
    pub fn for_bones(mut self, bones: usize) -> Result<Self, DeformerError> {
        self.bones = together(self.bones, BoneCount::Exactly(bones))?;
        Ok(self)
    }

    /// The same over another base.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_base(self, base: BakedBase) -> Result<Self, DeformerError> {
        Self::new(self.rest, base, self.correction)
    }

    /// The same with another correction, or none.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn with_correction(self, correction: Option<BakedCorrection>) -> Result<Self, DeformerError> {
        Self::new(self.rest, self.base, correction)
    }

    /// The same with its correction changed, if it has one.
    ///
    /// # Errors
    /// As [`new`](Self::new), if the changed correction does not belong to the model.
    pub fn edited(mut self, change: impl FnOnce(&mut BakedCorrection)) -> Result<Self, DeformerError> {
        self.correction.as_mut().map(change);
        Self::new(self.rest, self.base, self.correction)
    }

    /// The same with its base alone.
    #[must_use]
    pub fn without_correction(self) -> Self {
        Self { correction: None, ..self }
    }

    /// The same without the shapes that a joint model remembers; the gate stays.
    #[must_use]
    pub fn without_remembered(mut self) -> Self {
        if let Some(BakedCorrection::Joints(joints)) = &mut self.correction {
            joints.layer.displacements.fill(Vec3::ZERO);
        }
        self
    }

    /// The parts: rest positions, base, correction.
    pub fn into_parts(self) -> (Vec<Vec3>, BakedBase, Option<BakedCorrection>) {
        (self.rest, self.base, self.correction)
    }

    /// Rest positions, rest world, metres.
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    /// The base.
    pub fn base(&self) -> &BakedBase {
        &self.base
    }

    /// The correction, if any.
    pub fn correction(&self) -> Option<&BakedCorrection> {
        self.correction.as_ref()
    }

    /// The bones of a pose that the model reads.
    pub fn bones(&self) -> BoneCount {
        self.bones
    }

    /// The same model with its correction's coefficients stored in another precision; corrections that have one only
    /// (pose spaces) stay as they are.
    ///
    /// What 16 bits cost is measured by [`largest_difference`](Self::largest_difference).
    #[must_use]
    pub fn with_precision(mut self, precision: CoefficientPrecision) -> Self {
        self.correction = self.correction.map(|correction| match correction {
            BakedCorrection::Enveloping(c) => BakedCorrection::Enveloping(Box::new(c.with_precision(precision))),
            BakedCorrection::Joints(c) => BakedCorrection::Joints(Box::new(c.with_precision(precision))),
            other => other,
        });
        self
    }

    /// How the correction's coefficients are stored.
    pub fn precision(&self) -> CoefficientPrecision {
        match &self.correction {
            Some(BakedCorrection::Enveloping(c)) => c.coefficients.precision(),
            Some(BakedCorrection::Joints(c)) => c.free.precision(),
            _ => CoefficientPrecision::Single,
        }
    }

    /// Number of vertices.
    pub fn vertices(&self) -> usize {
        self.rest.len()
    }

    /// Whether every pose must come with the base's positions.
    pub fn needs_given(&self) -> bool {
        matches!(self.base, BakedBase::Given)
    }

    /// Bytes of the arrays that evaluation reads, the rest mesh apart.
    pub fn bytes(&self) -> usize {
        self.base.bytes() + self.correction.as_ref().map_or(0, BakedCorrection::bytes)
    }
}
